//! Every code of a finding with its explanation, for `check --explain`.

/// Every code with its explanation.
pub const CODES: [(&str, &str); 37] = [
    (
        "foreign-claim",
        "A role, a schema or an object that has one of windrow's names, or stands in its schema, belongs to somebody else, or somebody else may act as the owner role. Who owns a thing decides what happens when it is used: an installation, which often has all rights, would run what he prepared, and he could have the rights that it grants. Mend what the finding names, or drop it if windrow is not installed yet; `--force` does not overrule this.",
    ),
    (
        "left-out",
        "\
The spec says that something is optional, and this database lacks it: a table, an edge, a rule, a `keep`. `check`, \
`diff`, `install` and all other commands go by the spec without it, and without what hangs on it. `windrow init \
--from` writes that spec as a file. Once the application is upgraded and has it, install again. It is an error where nothing sensible is left, since rows \
of others wait for what would be out of reach.",
    ),
    (
        "missing-schema",
        "The schema that the spec names does not exist in this database. Often the address names another database, or the application lives in another schema: set `schema` in the spec.",
    ),
    (
        "missing-table",
        "\
A table of the spec does not exist. Most often the spec is for another version of the application. A spec that names \
what is not there cannot be installed, unless it says that the table is `optional`: then it is left out.",
    ),
    (
        "missing-column",
        "\
A column that the spec names does not exist in its table. Most often the spec is for another version of the \
application. It is not left out: without a column, a condition is weaker, and rows would go that stay.",
    ),
    (
        "type-differs",
        "A column has another type than the spec declares. Where the types cannot be compared at all this is an error; where only the width differs, values still compare, but an index may not be used as planned.",
    ),
    (
        "key-not-unique",
        "No unique index covers the key that the spec declares. If two rows can share a key, deleting one family could take rows of another.",
    ),
    (
        "not-nullable",
        "A column of an edge with `set null` is declared NOT NULL, so that every batch with such a row would fail. Drop the constraint, or let the row go with its parent.",
    ),
    (
        "unlisted-reference",
        "A foreign key to a covered table that is no edge of the spec: of a managed table (a second key, one to itself), of an ignored one, of one that the spec does not name, from another schema or database. Where it does something by itself (CASCADE, SET NULL, SET DEFAULT), rows would go or change without a rule, a count or a copy: an error, and runs refuse. Where it refuses (NO ACTION, RESTRICT), nothing is lost, but families that it names cannot go. Make it an edge: `column -> table.key`, with `set null` where the key does that, with `restrict` where the rows are to stay. `[ignore]` is no remedy: an ignored table keeps its rows.",
    ),
    (
        "kept-reference",
        "\
A foreign key stands behind an edge of a table with `kept`. It knows nothing of that: as a row goes, the key deletes or \
changes the rows that name it and are kept (CASCADE, SET NULL, SET DEFAULT), or does not let it go as long as one of them is \
there (NO ACTION, RESTRICT). Drop the key, or let these rows go with the others. An edge with `set null` may have one.",
    ),
    (
        "rule",
        "A rule of PostgreSQL (CREATE RULE … ON DELETE) stands on a covered table. It acts beside each DELETE, or instead of it, and nobody counts what it does. Runs refuse.",
    ),
    (
        "inheritance",
        "A table inherits from a covered one (INHERITS; not a partition). Statements about the covered table would read and delete its rows, too. Runs refuse.",
    ),
    (
        "unseen-databases",
        "Tables of other databases may refer to covered ones (MySQL, MariaDB), and the account does not see them all. The right REFERENCES on `*.*` shows foreign keys, and no row.",
    ),
    (
        "unlisted-column",
        "A table that is neither in the spec nor ignored has a column of the same name as an edge of the spec. It may hold rows that belong to what is deleted, and would be left behind. Add it to `[tables]`, or to the ignored tables with a reason.",
    ),
    (
        "ignored-missing",
        "A table that the spec ignores does not exist. The line can go, or the name is misspelt.",
    ),
    (
        "index-serves",
        "\
An index that the application has leads with the columns by which rows are found, and the spec does not say so. \
`windrow install` makes none beside it. With the columns under `indexed` of the table, files that are applied by \
hand make none, either, and `check` tells when the application drops it.",
    ),
    (
        "missing-index",
        "No index leads with a column by which rows are found, so that every batch would read the whole table. The generated file `20_indexes.sql` creates it.",
    ),
    (
        "invalid-index",
        "An index that is needed is marked invalid: an earlier CREATE INDEX CONCURRENTLY failed or was stopped. `windrow install` drops and builds it again where it is one of windrow's; drop another by hand.",
    ),
    (
        "trigger",
        "A covered table has an enabled trigger that fires on DELETE, or on UPDATE of a column that is set (`set null`, `stamp`), or a part of the table has one; on PostgreSQL also on INSERT, where a column that is set says to which partition a row belongs. It is code that windrow cannot account for: read it, and accept it by name (`triggers = [\"…\"]`). It will fire for each row that windrow deletes or sets: it costs time, and may write or refuse. On MySQL and MariaDB it cannot write to the table that its own table's rows belong to (error 1442): those families stay, as FAILED.",
    ),
    (
        "row-security",
        "Row level security is on for a covered table. A role that does not see all rows would leave children behind, or take a family for finished that is not.",
    ),
    (
        "partitioned",
        "A covered table is partitioned. Keys are unique only together with the partition column, and each statement touches all partitions; windrow deletes from it like from any table, and does not drop partitions.",
    ),
    (
        "nullable-rank",
        "A column by which a rule groups or orders rows (`keep-last`) may be NULL. A row without a group, or without a place in it, is neither deleted nor counted among the newest; verify() tells how many there are.",
    ),
    (
        "seq-scan",
        "A generated statement reads a big table from end to end, as EXPLAIN says. Each batch would do so. The statement lacks an index, or the table lacks statistics: run ANALYZE and check again.",
    ),
    (
        "not-explained",
        "The server refused to EXPLAIN a generated statement, so that a run would fail on it, too.",
    ),
    (
        "engine",
        "A covered table has another storage engine than InnoDB (MySQL, MariaDB). Without transactions and row locks, a run that is stopped would leave half a family behind, and would lock out the application while it runs.",
    ),
    (
        "system-versioning",
        "A table whose rows go is WITH SYSTEM VERSIONING (MariaDB): the server keeps each deleted row as history, with all that was in it. A run frees no space, and what must be deleted by law is still there. `DELETE HISTORY FROM … BEFORE SYSTEM_TIME …` deletes the history, which needs a right of its own that windrow does not ask for; `ALTER TABLE … DROP SYSTEM VERSIONING` ends it.",
    ),
    (
        "collation-differs",
        "The columns on both ends of an edge are texts with different character sets or collations. On MySQL and MariaDB, comparing them is an error (1267), or keeps the server from using the index, so that each batch would read the whole table; ALTER TABLE … MODIFY gives both the same. On PostgreSQL comparing them is an error (42P22), and a nondeterministic collation takes different keys for equal, so that rows of a family that stays would go: runs refuse.",
    ),
    (
        "edge-type-differs",
        "The columns on both ends of an edge are of different kinds, a text and a number (MySQL, MariaDB). The server compares them as floating-point numbers: without the index, and large keys only roughly.",
    ),
    (
        "sign-differs",
        "One end of an edge is UNSIGNED and the other is not (MySQL, MariaDB). Equal values still meet by the index; a value beyond the range of the other end finds nothing, and its rows would be left behind as orphans.",
    ),
    (
        "on-update",
        "A column is set to the time by each UPDATE of its row (ON UPDATE CURRENT_TIMESTAMP; MySQL, MariaDB). Where it is the end time of a rule, a correction by hand makes an old family young again. Otherwise windrow, which updates no row, leaves it alone.",
    ),
    (
        "generated-column",
        "A column that the spec names is generated from others (MySQL, MariaDB). windrow reads it like any column; a virtual one needs an index to be found by.",
    ),
    (
        "no-primary-key",
        "A covered table has no primary key, and the binary log is on (MySQL, MariaDB). With row-based replication, each replica then looks for each deleted row by reading the table.",
    ),
    (
        "binlog-statement",
        "The binary log has the format STATEMENT (MySQL, MariaDB). The batches choose rows that are not locked and use temporary tables: such statements may do something else on a replica, and the server refuses them (1665, 3748). Set binlog_format to ROW or MIXED.",
    ),
    (
        "policy-under-minimum",
        "\
A policy of the installation keeps rows for a shorter time than the `minimum` of its rule in this spec. Nothing \
goes under the minimum, so that the policy says what is not so, and the installation is refused. Set the policy \
anew, or lower `minimum`; `--force` does not overrule this.",
    ),
    (
        "unknown-zone",
        "\
The server does not know a time zone by its name (MySQL, MariaDB): its tables of zones are empty, as after a fresh \
installation. Cutoffs and windows in that zone cannot be counted, and runs refuse. `mysql_tzinfo_to_sql \
/usr/share/zoneinfo | mysql mysql` (MariaDB: `mariadb-tzinfo-to-sql`) fills them.",
    ),
    (
        "event-scheduler",
        "The event scheduler is off (MySQL, MariaDB), so that the events of `60_schedule.sql` do not start. MariaDB comes so. `SET GLOBAL event_scheduler = ON`, and the same in the option file; or schedule `windrow run` otherwise and skip that file.",
    ),
    (
        "lower-case-names",
        "The server stores the names of tables in lower case, or compares them so (lower_case_table_names; MySQL, MariaDB), and the spec names a table with capitals. windrow takes them for the same. On a server with another setting they are two tables.",
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
