//! Every code of a finding with its explanation, for `check --explain`.

/// Every code with its explanation.
pub const CODES: [(&str, &str); 50] = [
    (
        "foreign-claim",
        "A role, a schema or an object with one of windrow's names, or in its schema, belongs to somebody else, or somebody \
         else may act as the owner role. The owner of an object decides what happens when it is used: an installation, \
         which often has all rights, would run code prepared by that owner, who could also obtain the rights that it \
         grants. Correct what the finding names, or drop it if windrow is not installed yet; `--force` does not overrule this.",
    ),
    (
        "left-out",
        "\
This database lacks an optional part of the spec: a table, an edge, a rule, a `keep`. `check`, `diff`, `install` and all \
other commands use the spec without it, and without what depends on it. `windrow init --from` writes that spec as a file. \
Once the application is upgraded and has it, install again. It is an error if nothing useful is left, because rows of other \
tables wait for rows that no rule would reach.",
    ),
    (
        "missing-schema",
        "The spec's schema does not exist in this database. Often the address names another database, or the application is \
         in another schema: set `schema` in the spec.",
    ),
    (
        "missing-table",
        "\
A table of the spec does not exist. Most often the spec is for another version of the application. A spec that names a \
missing table cannot be installed, unless the table is marked `optional`: then it is left out.",
    ),
    (
        "not-a-table",
        "A table of the spec, or one that a rule only reads (`needs`, `from`, `references`), is a view, a materialized view or \
         a foreign table. No row of it can be locked, the tables behind it may be altered or replaced unseen, and MariaDB may \
         end where a routine reads what has become a view. `arm` and runs refuse. A rule that is \
         `optional` is left out instead, with a notice.",
    ),
    (
        "missing-column",
        "\
A column that the spec names does not exist in its table. Most often the spec is for another version of the application. It \
is not left out: without a column, a condition is weaker, and rows that should be kept would be deleted.",
    ),
    (
        "type-differs",
        "A column has another type than the spec declares. If the types cannot be compared at all, this is an error; if \
         only the width differs, values still compare, but an index may not be used as planned.",
    ),
    (
        "never-printed",
        "\
A condition `{ text = \"…\" }` compares what the server prints of a value, and it prints none of this column like that: bytes are \
`\\x01ab` on PostgreSQL, truth values `true` and `false`, days `2026-11-23`, and instants are in UTC. No row has such a text. It is \
an error if that leaves the condition without any text that a row may have: `kept` would keep nothing, and `final` find nothing.",
    ),
    (
        "key-not-unique",
        "No unique index covers the key that the spec declares. If two rows can share a key, deleting one family could take rows of another.",
    ),
    (
        "nullable-key",
        "A column of the key that the spec declares may be NULL: it is neither in the primary key nor NOT NULL, by itself or by its domain. A unique index does \
         not help, as it allows any number of NULLs. Rows are listed, held and found again by their key, and NULL is equal to \
         nothing: such a row stays, or keeps its family. Make the column NOT NULL, or name other columns as `key`. Where rows go with \
         their partitions alone it is a warning: a row without a key cannot be held.",
    ),
    (
        "long-key",
        "A key may be longer than what a run can remember of it: 384 characters on MySQL, 700 on MariaDB, or 350 bytes, which stand \
         as hexadecimal digits. The rule would fail at such a key. Make the column shorter, or name another unique column as `key`.",
    ),
    (
        "not-nullable",
        "A column of an edge with `set null` is declared NOT NULL, so every batch with such a row would fail. Drop the \
         constraint, or let the row be deleted with its parent.",
    ),
    (
        "unlisted-reference",
        "A foreign key to a covered table is not an edge of the spec: from a managed table (a second key, or one to \
         itself), from an ignored table, from a table that the spec does not name, from another schema or database. If it \
         acts by itself (CASCADE, SET NULL, SET DEFAULT), rows would be deleted or changed without a rule, a count or a \
         copy: an error, and runs are refused. If it refuses (NO ACTION, RESTRICT), nothing is lost, but families that it \
         refers to cannot be deleted. Make it an edge: `column -> table.key`, with `set null` if the key does that, with \
         `restrict` if the rows are to be kept. `[ignore]` is no remedy: an ignored table keeps its rows.",
    ),
    (
        "kept-reference",
        "\
A foreign key exists for an edge of a table with `kept`. The key ignores `kept`: when a row is deleted, the key deletes or \
changes the kept rows that refer to it (CASCADE, SET NULL, SET DEFAULT), or prevents the deletion as long as one of them \
exists (NO ACTION, RESTRICT). Drop the key, or let these rows be deleted with the others. An edge with `set null` may have one.",
    ),
    (
        "rule",
        "A covered table has a PostgreSQL rule (CREATE RULE … ON DELETE). It acts in addition to each DELETE, or instead of \
         it, and nothing counts what it does. Runs are refused.",
    ),
    (
        "inheritance",
        "A table inherits from a covered one (INHERITS; not a partition). Statements on the covered table would also read \
         and delete its rows. Runs are refused.",
    ),
    (
        "foreign-partition",
        "A partition of a covered table is a foreign table (PostgreSQL). A batch would delete rows on another server, which do \
         not come back when it is rolled back: runs and `arm` refuse. Detach the partition, or let a rule cover the \
         ordinary partitions as tables of their own.",
    ),
    (
        "unseen-databases",
        "Tables of other databases may refer to covered ones (MySQL, MariaDB), and the account cannot see all of them. The \
         privilege REFERENCES on `*.*` shows foreign keys, but no rows.",
    ),
    (
        "unseen-triggers",
        "MySQL shows the triggers of a table only to accounts with TRIGGER on it, MariaDB also to those with INSERT, UPDATE or \
         DELETE. To any other, a table looks like one without triggers, so nothing is said of those that fire for each row \
         that windrow deletes. TRIGGER also lets an account create triggers: instead of granting it, an administrator can \
         run `check` once, or list the triggers.",
    ),
    (
        "unlisted-column",
        "A table that is neither in the spec nor ignored has a column with the same name as an edge of the spec. Its rows \
         may belong to deleted rows and would be left behind. Add it to `[tables]`, or to the ignored tables with a reason.",
    ),
    (
        "ignored-missing",
        "A table that the spec ignores does not exist. Remove the line, or correct the name.",
    ),
    (
        "index-serves",
        "\
The application has an index that leads with the columns by which rows are found, and the spec does not say so. `windrow \
install` uses it and creates none. If the columns are listed under `indexed` of the table, files applied by hand create none \
either, and `check` reports when the application drops the index.",
    ),
    (
        "missing-index",
        "No index leads with a column by which rows are found, so every batch would read the whole table. The generated \
         file `20_indexes.sql` creates it.",
    ),
    (
        "invalid-index",
        "An index that is needed is marked invalid: an earlier CREATE INDEX CONCURRENTLY failed or was stopped. `windrow \
         install` drops and rebuilds it if it is one of windrow's; drop any other by hand.",
    ),
    (
        "trigger",
        "A covered table, or a partition of it, has an enabled trigger that fires on DELETE, or on UPDATE of a column that \
         windrow sets (`set null`, `stamp`); on PostgreSQL also on INSERT, if such a column determines the partition of a \
         row. It is code that windrow cannot account for: read it, and accept it by name (`triggers = [\"…\"]`). It fires \
         for each row that windrow deletes or sets: it costs time, and may write or refuse. On MySQL and MariaDB it cannot \
         write to the table that its own table's rows belong to (error 1442): those families are kept, as FAILED.",
    ),
    (
        "row-security",
        "Row level security is on for a covered table. A role that does not see all rows would leave children behind, or \
         treat an unfinished family as finished.",
    ),
    (
        "partitioned",
        "A covered table is partitioned. Keys are unique only together with the partition column, and each statement \
         touches all partitions; windrow deletes from it as from any table. A rule of the strategy `partition` drops whole \
         partitions of a table that is partitioned by range of a time.",
    ),
    (
        "not-partitioned",
        "A rule of the strategy `partition` needs a table that is partitioned by range of the one column that `time` names. \
         With `strategy = \"age\"` the same rule deletes rows, of any table.",
    ),
    (
        "partition-bound",
        "A dropped partition asks no foreign key row by row, and fires no trigger. A rule of the strategy `partition` \
         therefore refuses a table that other tables refer to, or that has a trigger on DELETE. Between tables of one such \
         rule, foreign keys can go from each partition to the one of its family.",
    ),
    (
        "partition-owner",
        "Only the owner of a partition can drop it; PostgreSQL has no right for that which could be granted. The owner role \
         of windrow must be a member of the role that owns the partitions, and where they are archived, of the one that owns \
         the table. Give the table and its partitions an owner of \
         their own, so that it owns nothing else.",
    ),
    (
        "partition-width",
        "Partitions that are made in advance (`ahead`) are as wide as the newest ones. No partition of the table has a begin \
         and an end, so that nothing says how wide they are: make two by hand. That the newest two differ, a run and verify() \
         say.",
    ),
    (
        "nullable-rank",
        "A column by which a rule groups or orders rows (`keep-last`) may be NULL. A row without a group, or without a \
         position in it, is neither deleted nor counted among the newest; verify() reports how many there are.",
    ),
    (
        "seq-scan",
        "According to EXPLAIN, a generated statement does a full scan of a big table. Each batch would do so. The statement \
         lacks an index, or the table lacks statistics: run ANALYZE and check again.",
    ),
    (
        "not-explained",
        "The server refused to EXPLAIN a generated statement, so a run would also fail on it.",
    ),
    (
        "engine",
        "A covered table has another storage engine than InnoDB (MySQL, MariaDB). Without transactions and row locks, an \
         interrupted run would leave half a family behind, and a run would lock out the application.",
    ),
    (
        "system-versioning",
        "A table whose rows are deleted is WITH SYSTEM VERSIONING (MariaDB): the server keeps each deleted row as history, \
         with all its data. A run frees no space, and data that must be deleted by law still exists. `DELETE HISTORY FROM … \
         BEFORE SYSTEM_TIME …` deletes the history; this needs a separate privilege that windrow does not ask for; `ALTER \
         TABLE … DROP SYSTEM VERSIONING` ends it.",
    ),
    (
        "collation-differs",
        "Two columns that statements compare, such as the two ends of an edge, a link of `hierarchy` or a pair of `needs`, are strings \
         with different character sets or collations. On MySQL and MariaDB, comparing them is an error (1267), or prevents the server from using the index, so each batch would read \
         the whole table; ALTER TABLE … MODIFY gives both the same. On PostgreSQL comparing them is an error (42P22), and a \
         nondeterministic collation treats different keys as equal, so rows of a family that is kept would be deleted. Where a table \
         is only read (`needs`, `references`), what keeps a row would not be found. Runs are refused.",
    ),
    (
        "edge-type-differs",
        "Two columns that statements compare, such as the two ends of an edge or a pair of `needs`, hold values of different kinds. \
         MySQL and MariaDB compare a string with a number as floating-point numbers: without the index, and large keys only \
         roughly. PostgreSQL compares whole numbers with `double precision` in the same way, and most others not at all. A time with \
         a zone (`timestamptz`; `TIMESTAMP` of MySQL and MariaDB) compared with a day or a time without one depends on the zone of the \
         session. A day and a time without a zone compare exactly, and so do numbers of any size. A value that is not found counts as \
         missing: runs are refused.",
    ),
    (
        "sign-differs",
        "One end of an edge is UNSIGNED and the other is not (MySQL, MariaDB). Equal values still match by the index; a \
         value beyond the range of the other end matches nothing, and its rows would be left behind as orphans.",
    ),
    (
        "on-update",
        "Each UPDATE of a row sets this column to the current time (ON UPDATE CURRENT_TIMESTAMP; MySQL, MariaDB). If it is \
         the end time of a rule, a manual correction makes an old family young again. In tables whose removal times a stamp sets, and in \
         those with `set null`, windrow updates rows: `untouched` of the rule's `stamp` names columns that must stay as they are. \
         Elsewhere it does not matter.",
    ),
    (
        "generated-column",
        "A column that the spec names is a generated column (MySQL, MariaDB). windrow reads it like any column; a virtual \
         one needs an index to be found by.",
    ),
    (
        "no-primary-key",
        "A covered table has no primary key, and the binary log is on (MySQL, MariaDB). With row-based replication, each \
         replica then reads the whole table for each deleted row.",
    ),
    (
        "binlog-statement",
        "The binary log has the format STATEMENT (MySQL, MariaDB). The batches skip locked rows and use temporary tables: \
         such statements may have a different result on a replica, and the server refuses them (1665, 3748). Set \
         binlog_format to ROW or MIXED.",
    ),
    (
        "policy-under-minimum",
        "\
A policy of the installation keeps rows for a shorter time than the `minimum` of its rule in this spec. Nothing is deleted \
below the minimum, so the policy would promise something untrue, and the installation is refused. Change the policy, or \
lower `minimum`; `--force` does not overrule this.",
    ),
    (
        "orphaned",
        "\
Holds, policies, pauses or settings of the installation match no rule of this spec: the rule was renamed or left out, or its root \
table, its key or the column of its scopes is another one. They would have no effect, so what they keep would be deleted. Keep the name \
and the columns of the rule; or install with `--force`, which disarms, set them for the rule that they are meant for, and take the old \
ones away: `windrow hold release`, `policy drop`, `resume` and `settings reset` take the old name with `--rule`. Until then `verify` \
lists them, and windrow cannot be armed. What matches no rule of the installed spec either, as an earlier version left it over, is a \
warning: it has no effect now, and an installation neither refuses nor disarms over it. Over a setting alone it never disarms.",
    ),
    (
        "another-spec",
        "\
The control schema is that of a spec with another name. `-`, `.` and `_` are the same in the name of a control schema, so the spec \
would replace the other one. Give one of them another name. If the spec was renamed, `windrow install --force` installs it, and disarms.",
    ),
    (
        "unknown-zone",
        "\
The server does not know a time zone by its name (MySQL, MariaDB): its time zone tables are empty, as after a fresh \
installation. Cutoffs and windows in that zone cannot be computed, and runs are refused. `mysql_tzinfo_to_sql \
/usr/share/zoneinfo | mysql mysql` (MariaDB: `mariadb-tzinfo-to-sql`) fills them.",
    ),
    (
        "event-scheduler",
        "The event scheduler is off (MySQL, MariaDB), so the events of `60_schedule.sql` do not start. This is the default \
         of MariaDB. `SET GLOBAL event_scheduler = ON`, and the same in the option file; or schedule `windrow run` in \
         another way and skip that file.",
    ),
    (
        "pg-cron-seconds",
        "The spec has a schedule like `30 seconds`, and the extension pg_cron of this database is older than 1.5, which is the \
         first that knows seconds. `60_schedule.sql`, the last file of an installation, would fail at it. Upgrade pg_cron (Debian 12 \
         has 1.4), or write five cron fields: `* * * * *` starts a run each minute.",
    ),
    (
        "lower-case-names",
        "The server stores or compares table names in lower case (lower_case_table_names; MySQL, MariaDB), and the spec \
         names a table with capitals. windrow treats both names as the same table. On a server with another setting they are two tables.",
    ),
];

/// The explanation of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    CODES
        .iter()
        .find(|(name, _)| *name == code)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_explained() {
        assert!(explain("seq-scan").is_some_and(|text| text.contains("EXPLAIN")));
        assert_eq!(explain("nonsense"), None);
    }
}
