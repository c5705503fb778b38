//! What each code means, for `windrow check --explain`.

use crate::lint::RULES;

/// Errors of the spec and the graph, sorted by code; warnings explain themselves in their rule's file.
const ERRORS: &[(&str, &str)] = &[
    (
        "artifact-too-deep",
        "\
Files are noted by the keys of the members that go. A table whose rows name them only through another table, or by \
another key, cannot be searched by these.",
    ),
    (
        "at-once-with-time",
        "\
`at_once` says that orphans go however young they are, and `time` with `retention` how old they must be at least. One of \
the two is wrong.",
    ),
    (
        "belongs-to-cycle",
        "\
The edges under `parents` lead from a table back to itself, so no order deletes children before parents. Edges mean \
ownership: a row goes when its parent goes. Remove the edge that is only a reference. A relation table with two edges \
to one parent is no cycle; rows of a root table that belong together are linked under `hierarchy`, by such a table or by \
a column of their own.",
    ),
    (
        "child-not-listed",
        "\
The rule empties a table to whose rows those of another table belong, but does not list that table: its rows would be \
left behind as orphans. List it before the parent, or take the edge out if it is a mere reference.",
    ),
    (
        "composite-key",
        "\
The table's key has several columns. Rows are collected by keys of one column. A unique key of several columns that \
children name stands under `unique`; they are found through the row that has both. A table that is nobody's parent needs \
no key at all. Only where rows go one by one (`expiry`, `orphan`, `keep-last`, and nothing else) a key may have several.",
    ),
    (
        "days-without-archive",
        "\
`archive_days` says how long copies of rows are kept that a rule makes before it deletes them (`archive`). No rule makes any.",
    ),
    (
        "duplicate-artifact",
        "The same column of the same table is listed twice under `artifacts`, so each file would be queued twice.",
    ),
    (
        "duplicate-edge",
        "\
The same column names the same parent twice under `parents`. One edge says everything. Only a parent that names the row \
itself (`or alone`) may do so by several columns of its own.",
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
        "A value is listed twice. Probably another one was meant.",
    ),
    (
        "edge-at-odds",
        "\
An edge of `parents` that is written as a table has as many columns under `key`, and under `type`, as under `column`, and no two \
fields that exclude each other: `unless` and `alone` are for one column, a foreign key (`on_delete = \"cascade\"`) knows no value \
but NULL that names nothing, and a row that is named by others goes with them.",
    ),
    (
        "empty-archive",
        "`archive` with an empty list keeps nothing, which is what a rule without it does.",
    ),
    (
        "empty-condition",
        "A condition without values matches no row, so the rule would never delete anything.",
    ),
    (
        "empty-final",
        "\
`final` says which rows will not change any more; without it a running instance could be deleted. Name at least one \
column and its final values.",
    ),
    (
        "empty-kept",
        "\
`kept` of a table says which of its rows stay when what they belong to goes: name a column, and the values of these rows.",
    ),
    (
        "end-outside-root",
        "\
`max(table.column)` must name a table whose rows name the key of the rule's root by one column: with the last of them a \
root ended. Rows further down, and relation tables with two ends, cannot say it.",
    ),
    (
        "family-of-the-root-alone",
        "\
With `unit = \"family\"` one transaction takes a family: the root with every row that names it. No table under `tables` \
says by which column its rows do, so there are no families to take; without `unit`, each row goes by its own removal time.",
    ),
    (
        "field-of-other-strategy",
        "\
Each strategy has its own fields. A field of another one would be ignored, and whoever wrote it would believe in it.",
    ),
    (
        "final-keeps-nothing",
        "\
`final` of a table says which of its rows have nothing before them any more; any other keeps what it belongs to, with the \
whole family. A row of this table belongs to nothing.",
    ),
    (
        "final-not-asked",
        "\
`final` of a table says which of its rows have nothing before them any more; any other keeps what it belongs to. Only rules \
by end time ask for that. A rule by time, or one whose rows go one by one, would take such rows whatever they hold; one for \
orphans passes where it needs just these rows (`needs`), since none of them goes with a row that nothing names.",
    ),
    (
        "final-of-many",
        "\
`final` of a table asks what one row holds that another names. Where the edge says `or alone`, it is the other way round: several \
rows may name one, and may hold different things.",
    ),
    (
        "ignored-without-reason",
        "\
A table under `[ignore]` is left alone although it refers to rows that go. The reason is for whoever reads the spec \
next: why may its rows stay?",
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
refused because not every server's scheduler reads them alike. Several schedules are a list; each is a job of its own.",
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
A text with a NUL character is stored by no server, and a value of `by_value` that is not spelt like those of its column \
is equal to none of them: it matches nothing. Signs that Unicode says are no characters (U+FDD0 to U+FDEF) are windrow's own \
while it writes SQL.",
    ),
    (
        "invalid-window",
        "\
A window has days, a start and an end, and perhaps a zone: `mon-fri 22:00-06:00 Europe/Berlin`. Days are `mon` to `sun`, \
ranges and lists of these, or `daily`; they are those on which the window begins. Times have two digits each, from 00:00 to \
23:59; an end that is not after its start is on the next day. `always` and `never` stand for themselves.",
    ),
    (
        "keeper-goes",
        "\
A parent with `restrict` keeps its family as long as the row is there. The rows of this table also belong to families of \
the same rule, so that some would go and set free what they kept a moment before: a preview could not tell what a run \
will do. A row goes with a family or keeps one.",
    ),
    (
        "kept-by-another",
        "\
`kept` asks for columns of the row itself. What another row holds nobody can ask once that is gone, and the row is to be kept \
then.",
    ),
    (
        "kept-cascades",
        "\
With `cascade` the rows of a table go by its foreign key, which deletes all of them, kept or not. A table with `kept` has no \
foreign key to what it belongs to.",
    ),
    (
        "kept-hierarchy",
        "\
Rows that link members (`hierarchy`) go with these. One that stayed would name a member that is gone, and hold together what \
is left of the family.",
    ),
    (
        "kept-not-asked",
        "\
`kept` says which rows stay when what they belong to goes. A rule by removal time takes each row by a stored time, or with its \
family, and does not ask.",
    ),
    (
        "kept-with-others",
        "\
What belongs to a row that is kept stays with it. So none of the tables below may have a second way to go: another parent, \
several rows that name it (`or alone`), or a parent without a key of its own, around which its rows go.",
    ),
    (
        "kept-without-parent",
        "\
`kept` of a table says which of its rows stay when what they belong to goes. A row of this table belongs to nothing: one that \
names others by `restrict` or `set null` stays in any case. Which rows a rule takes whose root it is, the rule's `candidates` say.",
    ),
    (
        "lag-without-heartbeat",
        "\
PostgreSQL knows its replicas. A server of MySQL or MariaDB does not know how far another one has got that reads from it: \
`heartbeat` names a column in which each replica has its say, and without it `max_replica_lag` would never make a run wait.",
    ),
    (
        "link-over-nothing",
        "\
A row of the root table may name the one above it by a row of another table: `flow_run: parent_task_run_id -> \
task_run.flow_run_id`. The table between has a key, which the row names, and its column is an edge to the rule's root: its rows \
go with the member that they name, so that a link is there for as long as that; if it has several parents, with \
all of them. A foreign key from the root table to it is an edge with `set null`.",
    ),
    (
        "malformed-text",
        "\
Some texts have a small grammar: a key is `column type`; a parent is `column [type] -> table.column [unless value] [restrict | set null | or alone]`, or `a, b -> table(a, b)`; a \
relation is `table: parent_column -> child_column`; a source of retentions is `table: key -> column days`; a figure is its name or `rows of table`. Names with spaces or dots \
stand between double quotes, texts after `unless` between single quotes.",
    ),
    (
        "managed-and-ignored",
        "A table stands both under `[tables]` and under `[ignore]`. It is one or the other.",
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
A stored removal time holds the retention already. What `minimum` adds is a bound that no removal time can undercut: \
no family goes before it has been over for so long. Whether it is over, only the root table's `end_time` tells.",
    ),
    (
        "missing-field",
        "A field that every spec or every rule needs is missing.",
    ),
    (
        "named-by-nothing",
        "\
The rows of a table under `named` get the removal time of the rows that name them. Which these are is said by the \
`parents` of the rule's tables; none of them names this table.",
    ),
    (
        "no-condition",
        "\
`where_sql` is set between brackets in the statements that look for rows and judge them: one condition, without `;` and comments, in \
which all brackets and quotes are closed. It names columns of the row as `{root}.column`, and other tables as `{schema}.table`.",
    ),
    (
        "no-dialect",
        "`dialects` lists the servers that the managed system runs on. Left out, the spec is for all of them.",
    ),
    (
        "epoch-elsewhere",
        "\
`epoch-s`, `epoch-ms` and `epoch-us` say that a number counts from the beginning of 1970 in UTC, and `date` that a column says \
the day. The `end_time` of a rule of the strategy `end-time` can be such a number or date, and the `time` of any other but \
`removal-time`; a rule of the strategy `expiry` then has no `fallback`. Keys, conditions and other times have the types of the \
database.",
    ),
    (
        "no-index-on-expression",
        "\
Where another column stands in for an end time that is NULL, roots are read in the order of both together, by an index on \
that expression. MariaDB has no such indexes, and every batch would read the whole table.",
    ),
    (
        "no-query",
        "\
`wait_while_sql` is the one place where a spec holds SQL that windrow does not read: a single `SELECT` of one value, which \
stands between brackets in a routine. A second statement, or a comment that hides the closing bracket, would break it.",
    ),
    (
        "no-rules",
        "A spec without a rule purges nothing. Add at least one `[rules.NAME]`.",
    ),
    (
        "no-windows",
        "\
An empty list could mean that scheduled runs may always work, or never. The spec says which: `always` (as without the \
field) or `never`.",
    ),
    (
        "nothing-to-guard",
        "\
`orphan_guard` puts triggers on the tables whose rows go with a family: they refuse a row whose parent is gone. Here no \
other row goes with a row of the root table, so that there is no table to put them on.",
    ),
    (
        "one-parent",
        "\
`with` says whether a row of several parents goes with all of them or with any. A row of this table has one, or none: \
edges with `restrict` and `set null` are no parents.",
    ),
    (
        "opt-in-without-scope",
        "`opt_in = true` cleans only scopes with a policy, so `per` must name the column that holds the scope.",
    ),
    (
        "opt-in-with-source",
        "\
With `opt_in = true` only scopes with a policy are cleaned, and each policy brings a retention of its own: what `from` or \
`by_value` says would never count. Without it, policies override the source one by one.",
    ),
    (
        "out-of-range",
        "\
A number or duration is too small or too large: counts and durations are positive, only `retries` and `safety_lag` may \
be 0, and all but `lock_timeout` count whole seconds. A `lock_timeout` of 0 would wait for ever.",
    ),
    (
        "own-through-nothing",
        "\
`own` finds rows that name no instance themselves through the rows of another table that do. That table must be listed, \
too, with the column that names the instance. Only of the root table can a row name another column than the key.",
    ),
    (
        "parent-before-child",
        "\
Rows go in the order in which the rule lists its tables. A table that is listed behind one to which its rows belong \
would have orphans for a moment, and a foreign key would refuse.",
    ),
    (
        "parent-without-key",
        "An edge points at a table that declares no key. Add the `key` that its children name.",
    ),
    (
        "parents-never-all",
        "\
A row that goes with all of its parents needs a rule that can take these together: one with `strategy = \"end-time\"` and \
`shared = \"closed\"`, which takes all of the parents that any rule takes. Two rules would wait for each other for ever, a \
rule of single rows takes each for itself, one by removal time by its own time or that of its root, and with \
`shared = \"literal\"` each family decides alone. Say `with = \"any\"` if the row goes with the first of its parents.",
    ),
    (
        "relation-one-end",
        "\
Both columns of a relation under `hierarchy` must be edges from the relation table to the rule's root table, and two \
different ones. Otherwise a link would outlive one of its ends and lead to a family that is gone. Rows of the root table \
that name each other need no relation table: `root: parent_id -> id`.",
    ),
    (
        "reserved-report-field",
        "The preview and run documents have, or may get, a key of this name. Choose another.",
    ),
    (
        "reserved-text",
        "\
`$windrow$` ends the body of a generated routine on PostgreSQL, and lines that begin with `--# ` or `--! ` cut a file into \
statements. No text of a spec can hold them, neither a name nor a value.",
    ),
    (
        "retention-under-minimum",
        "\
`minimum` is the floor that no policy, option or call can go under, so what the spec itself says must not be under it. \
`minimum` is `7d` where it is left out.",
    ),
    (
        "retention-without-time",
        "\
A retention counts from a time of the row, and the rule names none. Name the column under `time`, or take the retention \
out: the rows go as soon as nothing else keeps them.",
    ),
    (
        "root-not-listed",
        "\
`tables` lists everything that a rule by removal time deletes, the root table too: its rows are the families.",
    ),
    (
        "root-without-key",
        "A rule's root table needs a key: families are told apart by it.",
    ),
    (
        "row-referred-to",
        "\
Expired, lost and outnumbered rows go with all rows that belong to them, over any number of edges. They do not ask for \
rows that keep those (`restrict`), and let go of none (`set null`): a rule by end time does.",
    ),
    (
        "rule-without-retention",
        "\
A rule must say how long ended families are kept: `retention = { default = \"30d\" }`, or where that is written (`from`, \
`by_value`).",
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
On the servers under `upper_case` all names of tables are in upper case. Two tables whose names differ in case only would \
be one there.",
    ),
    (
        "server-not-listed",
        "`upper_case` names a server that `dialects` does not list, so that nothing is generated for it.",
    ),
    (
        "set-null-by-time",
        "\
An edge with `set null` points at a table whose rows go by a time of their own. Such a rule deletes whole windows of time \
and does not know the single rows that something would have to let go of.",
    ),
    (
        "set-null-shared",
        "\
A column of an edge with `set null` is also part of a key of its table or of another edge. Once it is NULL, nothing says \
any more what else the row belongs to.",
    ),
    (
        "start-without-max",
        "\
`start_time` is for roots whose end stands in another table (`end_time = \"max(table.column)\"`): no index finds these by \
their end, so they are looked for by their start. Where the root table itself says when a root ended, it says nothing.",
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
Types do not go together. A column that names a key has the key's type, where whole numbers of any width go together; \
a column has one type in the whole table; keys and scopes are not times; end times are; the values of a condition are \
all whole numbers or all texts.",
    ),
    (
        "type-of-one-dialect",
        "\
Bytes (`binary`, on PostgreSQL `bytea`) are keys and scopes on MySQL and MariaDB, too, but in a rule with stamps, in an edge with a \
value that names no row, and in `by_value`.",
    ),
    (
        "unknown-column",
        "An edge must point at the key of its parent table, and `indexed` lists columns of the table's own edges.",
    ),
    (
        "unknown-field",
        "The language has no such field here. Nothing is ignored silently: a misspelt safety margin would be none.",
    ),
    (
        "unknown-figure",
        "`report` gives further names to windrow's figures; there is no such figure in this document.",
    ),
    (
        "unknown-edge",
        "\
`final` of a table may ask for a column of a row that its rows name: `callback_id -> callback.state`. What stands before the \
point is an edge of the table, with the columns and the table as its `parents` have them; it says how that row is found.",
    ),
    (
        "unknown-table",
        "\
The table is not under `[tables]`. Every table that is named must be described there; names are written as the catalog \
has them, case included.",
    ),
    (
        "unknown-time-zone",
        "`time_zone` is a name of the IANA time zone database, in its spelling, e.g. `UTC` or `Europe/Berlin`.",
    ),
    (
        "unknown-type",
        "Types are `smallint`, `integer`, `bigint`, `uuid`, `varchar` (text of any length), `timestamp` and `timestamptz`.",
    ),
    (
        "unknown-value",
        "The field takes one of a few words, and this is none of them.",
    ),
    (
        "unreachable-table",
        "\
No rule deletes rows of this table, because its edges lead to the root of none, and no `final` of another table asks what its \
rows hold. Add the missing edge or rule, or take the table out; a table that is left alone on purpose belongs under `[ignore]`.",
    ),
    (
        "window-beside-others",
        "\
`always` and `never` leave nothing to say for another window in the same list.",
    ),
    (
        "where-beside-references",
        "\
A rule by age that asks foreign keys (`references`) judges its rows table by table, where SQL of the spec has no place. `where_sql` \
can say the same: `NOT EXISTS (SELECT 1 FROM {schema}.other AS o WHERE o.row_id = {root}.id)`.",
    ),
    (
        "wrong-type",
        "The field takes another kind of TOML value, e.g. a text instead of a number.",
    ),
    (
        "workers-without-work",
        "\
Workers share out families (`end-time`, and `unit = \"family\"`), the rows of rules with one table by removal time or age, \
and single rows. Windows of several tables, and rows that name others of their table, go in an order that one worker keeps: \
the others wait for it. Where all rules are of this kind, several workers are no faster than one.",
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
