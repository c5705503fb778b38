//! What each code means, for `windrow check --explain`.

use crate::lint::RULES;

/// Errors of the spec and the graph, sorted by code; warnings explain themselves in their rule's file.
const ERRORS: &[(&str, &str)] = &[
    (
        "artifact-too-deep",
        "\
Files are recorded by the keys of the deleted members. A table whose rows refer to members only through another table, or by \
another key, cannot be searched by these keys.",
    ),
    (
        "at-once-with-time",
        "\
`at_once` says that orphans are deleted however young they are, and `time` with `retention` how old they must be at least. \
One of the two is wrong.",
    ),
    (
        "belongs-to-cycle",
        "\
The edges under `parents` lead from a table back to itself, so no order deletes children before parents. Edges mean \
ownership: a row is deleted when its parent is. Remove the edge that is only a reference. A relation table with two edges to \
one parent is not a cycle; rows of a root table that belong together are linked under `hierarchy`, by such a table or by a \
column of their own.",
    ),
    (
        "child-not-listed",
        "\
The rule deletes rows of a parent table but does not list its child table: the child rows would be left behind as orphans. \
List the child before the parent, or remove the edge if it is only a reference.",
    ),
    (
        "composite-key",
        "\
The table's key has several columns. Rows are collected by keys of one column. Write a unique key of several columns that \
children refer to under `unique`; they are found through the row that has both. A table that is nobody's parent needs no key \
at all. Only if all rules of the table delete single rows (`expiry`, `orphan`, `keep-last`) may a key have several columns.",
    ),
    (
        "days-without-archive",
        "\
`archive_days` says how long archived copies of deleted rows are kept (`archive`). No rule archives anything.",
    ),
    (
        "duplicate-artifact",
        "The same column of the same table is listed twice under `artifacts`, so each file would be queued twice.",
    ),
    (
        "duplicate-edge",
        "\
The same column refers to the same parent twice under `parents`. One edge is enough. Only a parent that itself refers to the \
row (`or alone`) may do so by several of its columns.",
    ),
    (
        "duplicate-key",
        "\
TOML allows every name once in a table: one entry for each table, one `[rules.NAME]` for each rule, one value for each \
field.",
    ),
    (
        "duplicate-link",
        "The same table with the same two columns is listed twice under `hierarchy`.",
    ),
    (
        "duplicate-value",
        "A value is listed twice. Probably another value was meant.",
    ),
    (
        "edge-at-odds",
        "\
An edge of `parents` that is written as a table has as many columns under `key`, and under `type`, as under `column`, and no \
two fields that exclude each other: `unless` and `alone` are for one column; for a foreign key (`on_delete = \"cascade\"`) \
only NULL means no parent; and a row that others refer to is deleted with them.",
    ),
    (
        "empty-archive",
        "`archive` with an empty list archives nothing, like a rule without it.",
    ),
    (
        "empty-condition",
        "A condition without values matches no row, so the rule would never delete anything.",
    ),
    (
        "empty-final",
        "\
`final` says which rows no longer change; without it a running instance could be deleted. Name at least one column and its \
final values.",
    ),
    (
        "empty-kept",
        "\
`kept` of a table says which of its rows are kept when their parent is deleted: name a column, and the values of these rows.",
    ),
    (
        "end-outside-root",
        "\
`max(table.column)` must name a table whose rows refer to the key of the rule's root by one column: a root ended with the \
last of these rows. Rows further down, and relation tables with two ends, cannot provide this.",
    ),
    (
        "family-of-the-root-alone",
        "\
With `unit = \"family\"` one transaction deletes whole families: the root with every row that refers to it. No table under \
`tables` says by which column its rows do, so there are no families; without `unit`, each row is deleted by its own removal time.",
    ),
    (
        "field-of-other-strategy",
        "\
Each strategy has its own fields. A field of another strategy would have no effect, although its author relies on it.",
    ),
    (
        "final-keeps-nothing",
        "\
`final` of a table says which of its rows are finished; any other row keeps what it belongs to, with the whole family. A row \
of this table belongs to nothing.",
    ),
    (
        "final-not-asked",
        "\
`final` of a table says which of its rows are finished; any other row keeps what it belongs to. Only rules by end time check \
this. A rule by time, or one that deletes single rows, would delete such rows whatever they contain; a rule for orphans is \
allowed if it needs exactly these rows (`needs`), as none of them is deleted with a row that nothing refers to.",
    ),
    (
        "final-of-many",
        "\
`final` of a table checks a column of one row that another row refers to. If the edge says `or alone`, it is the other way \
round: several rows may refer to one, and may have different values.",
    ),
    (
        "heartbeat-of-postgres",
        "\
`heartbeat` is for MySQL and MariaDB. PostgreSQL itself knows how far its replicas have got, and `max_replica_lag` reads it \
there; on it, nothing is installed for `heartbeat = \"windrow\"`, and there is nothing for `windrow heartbeat` to do.",
    ),
    (
        "ignored-without-reason",
        "\
A table under `[ignore]` is left alone although it refers to rows that are deleted. The reason is for the next reader of the \
spec: why may its rows be kept?",
    ),
    (
        "invalid-duration",
        "\
Durations are written short (`30d`, `12h`, `1d12h`, `90m`, `45s`, `100ms`, `2w`; longest unit first) or in ISO-8601 \
(`P30D`, `PT12H`, `P1DT12H`, `P4W`). A day is 86,400 seconds. Months and years are refused: they have no fixed length.",
    ),
    (
        "invalid-identifier",
        "\
Names of schemas, tables, columns and report fields must not be empty, must not contain control characters, and have at \
most 63 bytes: PostgreSQL cuts off the rest without an error. Write names as the catalog has them, case included.",
    ),
    (
        "invalid-rule-name",
        "\
Routines and indexes are named after the rule: a lower-case letter, then lower-case letters, digits and `_`, at most 30 \
in all.",
    ),
    (
        "invalid-schedule",
        "\
A schedule has the five fields of cron (minute, hour, day of month, month, day of week), each `*`, a number, `a-b`, \
`*/n`, `a-b/n` or a list of these, in UTC; or it is `N seconds` with N from 1 to 59. Names of days, `5/10` and `@hourly` are \
refused because not every server's scheduler reads them alike. Several schedules are a list; each becomes its own job.",
    ),
    (
        "invalid-spec-name",
        "\
The control schema is `windrow_<name>`: a lower-case letter, then lower-case letters, digits, `_`, `-` and `.`, at most \
40 in all. `-` and `.` become `_`.",
    ),
    (
        "invalid-title",
        "The title becomes part of SQL comments, so it must stay on one line.",
    ),
    (
        "invalid-value",
        "\
No server stores a string with a NUL character, and a value of `by_value` that is not spelt like the values of its column \
matches none of them. windrow itself uses the Unicode noncharacters U+FDD0 to U+FDEF while it writes SQL.",
    ),
    (
        "invalid-window",
        "\
A window has days, a start and an end, and perhaps a zone: `mon-fri 22:00-06:00 Europe/Berlin`. Days are `mon` to `sun`, \
ranges and lists of these, or `daily`; they are the days on which the window begins. Times have two digits each, from 00:00 to \
23:59; an end that is not after its start is on the next day. `always` and `never` are used alone.",
    ),
    (
        "keeper-goes",
        "\
A row with a `restrict` edge keeps that parent's family as long as the row exists. The rows of this table also belong to \
families of the same rule, so some would be deleted and thereby release families that they kept a moment before: a preview \
could not predict what a run will do. A row either is deleted with a family or keeps one.",
    ),
    (
        "kept-by-another",
        "\
`kept` needs columns of the row itself. Once another row is deleted, its columns can no longer be read, but the row must \
still be kept then.",
    ),
    (
        "kept-cascades",
        "\
With `cascade` the foreign key deletes the rows of a table, kept or not. A table with `kept` must have no foreign key to its \
parent.",
    ),
    (
        "kept-hierarchy",
        "\
Rows that link members (`hierarchy`) are deleted with these. A link that was kept would refer to a deleted member, and hold \
the rest of the family together.",
    ),
    (
        "kept-not-asked",
        "\
`kept` says which rows are kept when their parent is deleted. A rule by removal time deletes each row by a stored time, or \
with its family, and does not check `kept`.",
    ),
    (
        "kept-with-others",
        "\
Rows that belong to a kept row are kept with it. So none of the tables below may have a second way to be deleted: another \
parent, several rows that refer to it (`or alone`), or a parent without a key of its own, whose children are found without it.",
    ),
    (
        "kept-without-parent",
        "\
`kept` of a table says which of its rows are kept when their parent is deleted. A row of this table belongs to nothing: one \
that refers to others by `restrict` or `set null` is kept in any case. If the table is the root of a rule, the rule's \
`candidates` say which rows it deletes.",
    ),
    (
        "lag-without-heartbeat",
        "\
PostgreSQL knows its replicas. A MySQL or MariaDB server does not know how far its replicas have got: `heartbeat` names a \
column in which each replica reports this, or says `windrow`: then the command `windrow heartbeat` finds it out. Without \
either, `max_replica_lag` would never make a run wait.",
    ),
    (
        "link-over-nothing",
        "\
A row of the root table may refer to its parent through a row of another table: `flow_run: parent_task_run_id -> \
task_run.flow_run_id`. The table between has a key, which the row refers to, and its column is an edge to the rule's root: \
its rows are deleted with the member that they refer to, so that a link exists as long as that member; if it has several \
parents, with all of them. A foreign key from the root table to it is an edge with `set null`.",
    ),
    (
        "malformed-text",
        "\
Some texts have a small grammar: a key is `column type`; a parent is `column [type] -> table.column [unless value] [restrict | set null | cascade | or alone] [optional]`, or `a, b -> table(a, b)`; a \
relation is `table: parent_column -> child_column`; a source of retentions is `table: key -> column days`; a figure is its \
name or `rows of table`. Write names with spaces or dots in double quotes, and strings after `unless` in single quotes.",
    ),
    (
        "managed-and-ignored",
        "A table is listed both under `[tables]` and under `[ignore]`. It must be one or the other.",
    ),
    (
        "max-of-one-dialect",
        "\
`end_time = \"max(table.column)\"` is generated for PostgreSQL only. A spec for other servers as well needs a column of the \
root table for the end.",
    ),
    (
        "minimum-without-end-time",
        "\
A stored removal time already includes the retention. `minimum` adds a bound that no removal time can undercut: no run \
deletes a family until this long after its end. Only the root table's `end_time` tells when it ended.",
    ),
    (
        "missing-field",
        "A field that every spec or every rule needs is missing.",
    ),
    (
        "named-by-nothing",
        "\
The rows of a table under `named` get the removal time of the rows that refer to them. The `parents` of the rule's tables \
say which these are; none of them refers to this table.",
    ),
    (
        "no-condition",
        "\
`where_sql` is put in brackets into the statements that find and check rows: one condition, without `;` and comments, with \
all brackets and quotes closed. It names columns of the row as `{root}.column`, and other tables as `{schema}.table`.",
    ),
    (
        "no-dialect",
        "`dialects` lists the servers that the managed system runs on. Without it, the spec is for all of them.",
    ),
    (
        "epoch-elsewhere",
        "\
`epoch-s`, `epoch-ms` and `epoch-us` say that a number counts from the beginning of 1970 in UTC, and `date` that a column \
contains a day. The `end_time` of a rule of the strategy `end-time` can be such a number or date, and the `time` of any other but \
`removal-time`; a rule of the strategy `expiry` then has no `fallback`. Keys, conditions and other times have the types of the \
database.",
    ),
    (
        "no-index-on-expression",
        "\
If another column replaces an end time that is NULL, roots are read in the order of both together, by an index on that \
expression. MariaDB has no such indexes, so every batch would read the whole table.",
    ),
    (
        "no-query",
        "\
`wait_while_sql` holds SQL that windrow does not read: a single `SELECT` of one value, which is put in brackets into a \
routine. A second statement, or a comment that hides the closing bracket, would break it.",
    ),
    (
        "no-rules",
        "A spec without a rule deletes nothing. Add at least one `[rules.NAME]`.",
    ),
    (
        "no-windows",
        "\
An empty list could mean that scheduled runs may work always, or never. Write `always` (as without the field) or `never`.",
    ),
    (
        "nothing-to-guard",
        "\
`orphan_guard` puts triggers on the tables whose rows are deleted with a family: they refuse a row whose parent is deleted. \
Here no other row is deleted with a row of the root table, so there is no table to put them on.",
    ),
    (
        "one-parent",
        "\
`with` says whether a row with several parents is deleted with all of them or with any. A row of this table has one parent, \
or none: edges with `restrict` and `set null` are not parents.",
    ),
    (
        "opt-in-without-scope",
        "`opt_in = true` cleans only scopes with a policy, so `per` must name the column that holds the scope.",
    ),
    (
        "opt-in-with-source",
        "\
With `opt_in = true` only scopes with a policy are cleaned, and each policy has its own retention or the default: `from` or `by_value` \
would never apply. Without it, policies override the source one by one.",
    ),
    (
        "out-of-range",
        "\
A number or duration is too small or too large: the help names the limits. All durations but `lock_timeout` and `target_batch` are \
in whole seconds. A `lock_timeout` of 0 would wait forever.",
    ),
    (
        "own-through-nothing",
        "\
`own` finds rows that do not refer to an instance themselves through rows of another table that do. That table must also be \
listed, with the column that refers to the instance. Only a row of the root table can be referred to by another column than \
the key.",
    ),
    (
        "parent-before-child",
        "\
Rows are deleted in the order in which the rule lists its tables. A table listed after its parent would have orphans for a \
moment, and a foreign key would refuse.",
    ),
    (
        "parent-without-key",
        "An edge points at a table that declares no key. Add the `key` that its children refer to.",
    ),
    (
        "parents-never-all",
        "\
A row that is deleted with all of its parents needs a rule that can delete these together: one with `strategy = \
\"end-time\"` and `shared = \"closed\"` that covers all of the parents that any rule covers. Two rules would wait for each \
other forever, a rule of single rows decides for each row alone, one by removal time by the row's own time or that of its \
root, and with `shared = \"literal\"` each family is decided alone. Write `with = \"any\"` if the row is deleted with the \
first of its parents.",
    ),
    (
        "partitions-by-number",
        "\
The bounds of partitions are read from the catalog as times. Of a table that is partitioned by a number that counts seconds \
or the like, no partition is dropped; `strategy = \"age\"` deletes its rows.",
    ),
    (
        "partitions-of-one-dialect",
        "\
On PostgreSQL the partitions of several tables are dropped in one transaction, and rows that refer to one keep it. MySQL and \
MariaDB commit each change of a table, so there each table has a rule of its own. A spec for these servers as well uses \
`strategy = \"age\"` where rows must go together or keep others.",
    ),
    (
        "relation-one-end",
        "\
Both columns of a relation under `hierarchy` must be edges from the relation table to the rule's root table, and two \
different ones. Otherwise a link would outlive one of its ends and lead to a deleted family. Rows of the root table that \
refer to each other need no relation table: `root: parent_id -> id`.",
    ),
    (
        "reserved-report-field",
        "The preview and run documents have, or may get, a key of this name. Choose another.",
    ),
    (
        "reserved-text",
        "\
`$windrow$` ends the body of a generated routine on PostgreSQL, and lines that begin with `--# ` or `--! ` cut a file into \
statements. No name and no value in a spec may contain them.",
    ),
    (
        "retention-under-minimum",
        "\
`minimum` is the lower bound for every policy, option and run, so the spec's own values must not be below it. The default \
of `minimum` is `7d`.",
    ),
    (
        "retention-without-time",
        "\
A retention counts from a time of the row, and the rule names none. Name the column under `time`, or remove the retention: \
then rows are deleted as soon as nothing else keeps them.",
    ),
    (
        "root-not-listed",
        "\
`tables` lists everything that a rule by removal time deletes, the root table too: its rows are the families.",
    ),
    (
        "root-without-key",
        "A rule's root table needs a key: it identifies families.",
    ),
    (
        "row-referred-to",
        "\
These strategies (`expiry`, `orphan`, `keep-last`) delete rows with all rows that belong to them, over any number of edges. \
They check no rows that would keep those (`restrict`), and set no columns to NULL (`set null`): only rules by end time do.",
    ),
    (
        "rule-without-retention",
        "\
A rule must say how long ended families are kept: `retention = { default = \"30d\" }`, or where to find it (`from`, `by_value`).",
    ),
    (
        "source-without-scope",
        "\
`from` and `by_value` say how long the rows of a scope are kept, so `per` must name the column of the root table that \
names the definition, or holds the value.",
    ),
    (
        "same-in-upper-case",
        "\
On the servers under `upper_case` all table names are in upper case. Two tables whose names differ only in case would be one \
there.",
    ),
    (
        "server-not-listed",
        "\
`upper_case` names a server that `dialects` does not list, so nothing is generated for it. Or `schema` or `database` says where \
the application's tables are, in a spec that is for no server with that field: PostgreSQL has `schema`, MySQL and MariaDB have \
`database`, whose default is the spec's name. The rules would apply to another database than the one that is written there.",
    ),
    (
        "set-null-by-time",
        "\
An edge with `set null` points at a table whose rows are deleted by a time of their own. Such a rule deletes slices of \
removal time and does not know the single rows whose references would have to be set to NULL.",
    ),
    (
        "set-null-shared",
        "\
A column of an edge with `set null` is also part of a key of its table or of another edge. Once it is NULL, what else the \
row belongs to is unknown.",
    ),
    (
        "start-without-max",
        "\
`start_time` is for roots whose end is in another table (`end_time = \"max(table.column)\"`): no index finds these by their \
end, so they are searched by their start. If the root table itself has the end time, `start_time` has no use.",
    ),
    (
        "table-outside-family",
        "\
`artifacts` and `rows of` must name a table whose rows belong, over any number of edges, to the rule's root table; \
`references` and `stamp` one of the rule's `tables`.",
    ),
    (
        "toml-syntax",
        "The text is not TOML. Nothing else was checked.",
    ),
    (
        "two-sources",
        "A retention comes from a table (`from`) or from the spec (`by_value`). Policies override either.",
    ),
    (
        "type-mismatch",
        "\
Types do not match. A column that refers to a key has the key's type, and whole numbers of any width match each other; a \
column has one type in the whole table; keys and scopes are not times; end times are; the values of a condition are all \
whole numbers or all strings.",
    ),
    (
        "type-of-one-dialect",
        "\
Bytes (`binary`, on PostgreSQL `bytea`) can also be keys and scopes on MySQL and MariaDB, except in a rule with stamps, in \
an edge with a value that means no parent, and in `by_value`.",
    ),
    (
        "unknown-column",
        "An edge must point at the key of its parent table, and `indexed` lists columns of the table's own edges.",
    ),
    (
        "unknown-field",
        "There is no such field here. Nothing is silently ignored: a misspelt safety margin would have no effect.",
    ),
    (
        "unknown-figure",
        "`report` gives other names to windrow's figures; there is no such figure in this document.",
    ),
    (
        "unknown-edge",
        "\
`final` of a table may check a column of a row that its rows refer to: `callback_id -> callback.state`. The part before the \
dot is an edge of the table, written with the columns and the table as in `parents`; it says how that row is found.",
    ),
    (
        "unknown-table",
        "\
The table is not under `[tables]`. Every named table must be described there; write names as in the catalog, case included.",
    ),
    (
        "unknown-time-zone",
        "`time_zone` is a name of the IANA time zone database, in its spelling, e.g. `UTC` or `Europe/Berlin`.",
    ),
    (
        "unknown-type",
        "\
Types of keys and other columns are `smallint`, `integer`, `bigint`, `numeric`, `uuid`, `varchar` (a string of any length), `char` and bytes (`binary`, \
on PostgreSQL `bytea`); those of times are `timestamp`, `timestamptz`, `date`, `epoch-s`, `epoch-ms` and `epoch-us`. Not every \
field takes each of them; the help names those that it takes.",
    ),
    (
        "unknown-value",
        "The field takes one of a few words, and this is none of them.",
    ),
    (
        "unreachable-table",
        "\
No rule deletes rows of this table, because its edges lead to no rule's root, and no `final` of another table checks its \
rows. Add the missing edge or rule, or remove the table; a table that is left alone on purpose belongs under `[ignore]`.",
    ),
    (
        "window-beside-others",
        "\
With `always` or `never`, another window in the same list has no effect.",
    ),
    (
        "where-beside-references",
        "\
A rule by age with `references` checks its rows table by table, where SQL of the spec cannot be used. `where_sql` \
can say the same: `NOT EXISTS (SELECT 1 FROM {schema}.other AS o WHERE o.row_id = {root}.id)`.",
    ),
    (
        "wrong-type",
        "The field needs another kind of TOML value, e.g. a string instead of a number.",
    ),
    (
        "workers-without-work",
        "\
Workers share out families (`end-time`, and `unit = \"family\"`), the rows of rules with one table by removal time or age, \
and single rows. Slices of time over several tables, and rows that refer to others of their table, are deleted in an order \
that only one worker can keep: the others wait for it. If all rules are of this kind, several workers are no faster than one.",
    ),
];

/// What a code means; none for a code that does not exist.
pub fn explain(code: &str) -> Option<&'static str> {
    let rule = RULES
        .iter()
        .find(|rule| rule.code == code)
        .map(|rule| rule.explanation);
    rule.or_else(|| {
        ERRORS
            .iter()
            .find(|(known, _)| *known == code)
            .map(|(_, explanation)| *explanation)
    })
}

/// Every code, sorted.
pub fn codes() -> Vec<&'static str> {
    let mut codes: Vec<&str> = ERRORS
        .iter()
        .map(|(code, _)| *code)
        .chain(RULES.iter().map(|rule| rule.code))
        .collect();
    codes.sort_unstable();
    codes
}
