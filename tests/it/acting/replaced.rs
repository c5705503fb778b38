//! Tables and columns that are no longer those that somebody looked at: swapped, altered, moved.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use super::{assert_told, changed_during_a_run, made};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of, violations};
use crate::support::patience::until;

tests! {
    each_server: [
        a_table_in_the_place_of_another_is_told,
        a_column_by_which_a_rule_decides_may_not_hold_something_else,
    ],
    every_server: [
        a_table_with_more_columns_in_the_place_of_another_is_told,
        other_columns_are_told,
        columns_that_stand_elsewhere_are_told,
        a_column_that_another_one_replaces_is_told,
    ],
    on_postgres: [
        a_column_by_which_a_rule_decides_may_not_go,
    ],
    mysql_and_mariadb: [
        a_condition_on_what_became_a_number_is_told,
    ],
}

/// As log rotation, gh-ost and pt-online-schema-change do it.
pub(super) fn swap(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "ALTER TABLE uses RENAME TO uses_old; CREATE TABLE uses (LIKE uses_old INCLUDING ALL);
             GRANT ALL ON uses TO PUBLIC"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TABLE uses_new LIKE uses; RENAME TABLE uses TO uses_old, uses_new TO uses"
        }
    }
}

/// InnoDB knows by the second when a table was made.
pub(super) fn until_a_second_old(installation: &mut Installation, dialect: Dialect) {
    if dialect != Dialect::Postgres {
        let young = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND create_time > NOW() - INTERVAL 2 SECOND";
        until("tables of another second", || {
            Ok(installation.number(young) == 0)
        })
        .expect("time passes");
    }
}

fn a_table_in_the_place_of_another_is_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    // An ALTER TABLE between two runs is nothing to stop for.
    installation.execute("ALTER TABLE uses ADD COLUMN note varchar(20)");
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    installation.execute(swap(dialect));
    let told = "catalog changed: table uses is another one";
    let error = installation
        .run(json!({}))
        .expect_err("a table that was swapped");
    assert_told(&error, told);
    let verify = installation.call("verify", json!({})).expect("verify");
    let named = violations(&verify);
    assert!(
        named.iter().any(|check| check["check"] == "catalog"),
        "{named:?}"
    );
    // Who arms it has looked.
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let run = changed_during_a_run(
        &mut installation,
        &swap(dialect).replace("uses_old", "uses_older"),
    );
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(
        run["status"] == "failed" && reason.contains("catalog changed: table uses"),
        "{run}"
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), 3);
    assert_eq!(installation.number("SELECT COUNT(*) FROM uses_old"), 3);
}

/// As a migration does it that adds a column without a lock.
fn a_table_with_more_columns_in_the_place_of_another_is_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let swap = match dialect {
        Dialect::Postgres => swap(dialect).to_owned() + "; ALTER TABLE uses ADD note integer",
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TABLE uses_new LIKE uses; ALTER TABLE uses_new ADD note integer; RENAME TABLE uses TO uses_old, uses_new TO uses".to_owned()
        }
    };
    installation.execute(&swap);
    let error = installation.run(json!({})).expect_err("another table");
    assert_told(&error, "catalog changed: table uses is another one");
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), 6);
}

/// What a key is compared by is no longer what it was: wider, or with another collation.
fn other_columns_are_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let wider = match dialect {
        Dialect::Postgres => "ALTER TABLE uses ALTER run_id TYPE bigint",
        Dialect::Mysql | Dialect::Mariadb => "ALTER TABLE uses MODIFY run_id bigint NOT NULL",
    };
    let run = changed_during_a_run(&mut installation, wider);
    let told = "catalog changed: table uses has other columns for its keys or edges";
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(run["status"] == "failed" && reason.contains(told), "{run}");
    let error = installation.run(json!({})).expect_err("another type");
    assert_told(&error, told);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    // An index is none of these.
    installation.execute("INSERT INTO runs (id, state, ended) VALUES (7, 'done', '2025-01-01 00:00:00'), (8, 'done', '2025-01-02 00:00:00'), (9, 'done', '2025-01-03 00:00:00')");
    let run = changed_during_a_run(&mut installation, "CREATE INDEX of_art ON uses (art_id)");
    assert_eq!(run["status"], "done", "{run}");
}

/// Another column came in the place of one, by its name; columns that are new change nothing.
fn columns_that_stand_elsewhere_are_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let new = match dialect {
        Dialect::Postgres => {
            "ALTER TABLE uses ADD note varchar(20); ALTER TABLE runs ADD note integer; ALTER TABLE memos ADD note integer"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "ALTER TABLE uses ADD note varchar(20) FIRST; ALTER TABLE runs ADD note integer AFTER id; ALTER TABLE memos ADD note integer, DROP KEY run_id"
        }
    };
    let run = changed_during_a_run(&mut installation, new);
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(4)),
        "{run}"
    );
    installation.execute("INSERT INTO runs (id, state, ended) VALUES (7, 'done', '2025-01-01 00:00:00'), (8, 'done', '2025-01-02 00:00:00'), (9, 'done', '2025-01-03 00:00:00')");
    until_a_second_old(&mut installation, dialect);
    let swap = match dialect {
        Dialect::Postgres => {
            "ALTER TABLE uses RENAME run_id TO run_was; ALTER TABLE uses ADD run_id integer"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "ALTER TABLE uses CHANGE run_id run_was integer NOT NULL, ADD run_id integer NOT NULL"
        }
    };
    let run = changed_during_a_run(&mut installation, swap);
    let told = match dialect {
        Dialect::Postgres => "catalog changed: table uses has other columns for its keys or edges",
        Dialect::Mysql | Dialect::Mariadb => {
            "catalog changed: table uses has its columns in another order: another column may be in the place of one of its keys or edges"
        }
    };
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(run["status"] == "failed" && reason.contains(told), "{run}");
    let error = installation.run(json!({})).expect_err("another column");
    // An error of MySQL and MariaDB has room for its beginning, and for what to do.
    assert_told(&error, told.split(": another").next().expect("a part"));
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}

/// Two columns of one type exchange their names: rows would go by the time of something else. Of those that no rule names, they may.
fn a_column_that_another_one_replaces_is_told(dialect: Dialect) {
    let mut installation = made(dialect);
    let (time, named) = match dialect {
        Dialect::Postgres => (
            "timestamp",
            "table runs has another column by the name ended",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "timestamp NULL",
            "table runs may have another column in the place of ended",
        ),
    };
    installation.execute(&format!(
        "ALTER TABLE runs ADD created {time}; ALTER TABLE runs ADD first_note {time}; ALTER TABLE runs ADD last_note {time};
         UPDATE runs SET created = '2024-01-01 00:00:00'"
    ));
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let exchange = |one: &str, other: &str| {
        [(one, "held"), (other, one), ("held", other)]
            .map(|(from, to)| match dialect {
                Dialect::Postgres => format!("ALTER TABLE runs RENAME {from} TO {to}"),
                Dialect::Mysql | Dialect::Mariadb => {
                    format!("ALTER TABLE runs CHANGE {from} {to} {time}")
                }
            })
            .join("; ")
    };
    installation.execute(&exchange("first_note", "last_note"));
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    installation.execute(&exchange("ended", "created"));
    let told = format!("catalog changed: {named}");
    let error = installation.run(json!({})).expect_err("another column");
    assert_told(&error, &told);
    let back = exchange("ended", "created");
    installation.execute(&back);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let run = changed_during_a_run(&mut installation, &exchange("ended", "created"));
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(run["status"] == "failed" && reason.contains(&told), "{run}");
    installation.execute(&back);
    installation.arm();
    let left = installation.number("SELECT COUNT(*) FROM runs");
    assert_eq!(left, 3, "{run}");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
}

/// What no rule names holds something else from now on.
const OTHERS: [&str; 5] = [
    "MODIFY payload integer",
    "MODIFY payload datetime",
    "MODIFY stat bigint",
    "MODIFY estate time",
    "MODIFY `pay load.ended` decimal(5,1)",
];

/// A number is compared with a text as if that were a number: 0 is 'done' then. PostgreSQL refuses to compare them.
fn a_condition_on_what_became_a_number_is_told(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut installation = made(dialect);
    // One has a name within that of another.
    installation.execute(
        "ALTER TABLE runs ADD payload varchar(20), ADD stat varchar(20), ADD `pay load.ended` varchar(20), ADD estate varchar(20)",
    );
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let rows = installation.number("SELECT COUNT(*) FROM runs");
    // A longer text is none.
    installation.execute("ALTER TABLE runs MODIFY state varchar(77) NOT NULL");
    installation
        .run(json!({"dry_run": true}))
        .expect("a run of longer texts");
    // Of what no rule names, any change.
    for change in OTHERS {
        installation.execute(&format!("ALTER TABLE runs {change}"));
        let run = installation.run(json!({"dry_run": true}));
        let run = run.unwrap_or_else(|error| panic!("{change}: {error:#}"));
        assert_eq!(run["rules"][0]["families"], 4, "{change}: {run}");
    }
    until_a_second_old(&mut installation, dialect);
    let during = changed_during_a_run(
        &mut installation,
        "ALTER TABLE runs MODIFY payload varchar(9)",
    );
    assert_eq!(during["status"], "done", "{during}");
    let rows = rows - 4;
    installation
        .execute("UPDATE runs SET state = '0'; ALTER TABLE runs MODIFY state integer NOT NULL");
    let error = installation
        .run(json!({}))
        .expect_err("a text that became a number");
    assert_told(
        &error,
        "catalog changed: table runs has another kind of values in column state",
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), rows);
}

/// Rules that decide by times, states, scopes, orders and SQL of their own.
const DECIDES: &str = r#"
name   = "decides"
schema = "public"

[tables]
runs  = { key = "id integer" }
steps = { key = "id integer", parents = ["run_id -> runs.id"], final = { mood = ["calm"] } }
bills = { key = "id integer", parents = ["run_id -> runs.id"] }
shots = { key = "id integer" }
marks = { key = "id integer" }
lots  = { key = "id integer" }
trips = { key = "id integer" }

[rules.runs]
strategy   = "end-time"
root       = "runs"
candidates = { sort = "batch" }
final      = { state = "done" }
end_time   = "ended"
where_sql  = """{root}.Paid < '2030-01-01' AND {root}.grade IS NULL AND {root}.level IS NULL AND {root}.weight IS NULL
    AND {root}.word IS NULL
    AND {root}.tries IS NULL AND {root}.tags IS NULL AND {root}.mass IS NULL AND {root}.code IS NULL
    AND {root}.price IS NULL AND NOT EXISTS (
    SELECT 1 FROM {schema}.bills AS b WHERE b.run_id = {root}.id AND b.due > '2030-01-01')"""
retention  = { default = "30d", per = "tenant varchar" }

[rules.shots]
strategy  = "keep-last"
root      = "shots"
keep      = { newest = 1, per = "place varchar", by = "number integer" }
time      = "made"
retention = { default = "30d" }

[rules.marks]
strategy  = "age"
root      = "marks"
time      = "at epoch-s"
retention = { default = "30d" }

[rules.lots]
strategy  = "end-time"
root      = "lots"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d", per = "unit integer" }

[rules.trips]
strategy = "expiry"
root     = "trips"
time     = "until_at"
fallback = { time = "made", retention = { default = "30d" } }
"#;

/// Tables and columns, their types, and what they may not become: on PostgreSQL, and on MySQL and MariaDB.
const BECOMES: [(&str, &str, [&str; 2], [&str; 2]); 30] = [
    (
        "runs",
        "ended",
        ["timestamp", "datetime"],
        ["timestamptz", "timestamp NULL"],
    ),
    ("runs", "ended", ["timestamp", "datetime"], ["date", "date"]),
    (
        "runs",
        "state",
        ["varchar(20)", "varchar(20)"],
        ["\"char\"", "varchar(20) COLLATE utf8mb4_bin"],
    ),
    (
        "runs",
        "sort",
        ["varchar(20)", "varchar(20)"],
        ["bytea", "integer"],
    ),
    (
        "runs",
        "tenant",
        ["varchar(20)", "varchar(20)"],
        ["integer", "integer"],
    ),
    ("runs", "paid", ["date", "date"], ["text", "varchar(30)"]),
    ("runs", "paid", ["date", "date"], ["timestamp", "datetime"]),
    (
        "runs",
        "tenant",
        ["varchar(20)", "varchar(20)"],
        ["varchar(20) COLLATE ci", "varbinary(20)"],
    ),
    (
        "runs",
        "grade",
        ["varchar(20)", GRADE],
        ["varchar(20) COLLATE \"C\"", GRADE_BY_LETTER],
    ),
    ("bills", "due", ["timestamp", "datetime"], ["date", "date"]),
    (
        "shots",
        "place",
        ["varchar(20)", "varchar(20) NOT NULL"],
        [
            "varchar(20) COLLATE ci",
            "varchar(20) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL",
        ],
    ),
    (
        "steps",
        "mood",
        ["varchar(20)", "varchar(20)"],
        ["bytea", "integer"],
    ),
    (
        "shots",
        "number",
        ["integer", "integer"],
        ["text", "varchar(30)"],
    ),
    (
        "shots",
        "made",
        ["timestamp", "datetime"],
        ["timestamptz", "timestamp NULL"],
    ),
    (
        "marks",
        "at",
        ["integer", "integer"],
        ["double precision", "varchar(30)"],
    ),
    ("trips", "made", ["timestamp", "datetime"], ["date", "date"]),
    // Another order of the same labels, or none.
    (
        "runs",
        "level",
        ["rising", "enum('low','high')"],
        ["falling", "enum('high','low')"],
    ),
    (
        "runs",
        "level",
        ["rising", "enum('low','high')"],
        ["text", "varchar(20)"],
    ),
    // Not every number of it is one of the other.
    ("marks", "at", ["integer", "integer"], ["real", "double"]),
    (
        "runs",
        "weight",
        ["real", "float"],
        ["numeric", "decimal(20,5)"],
    ),
    // Where they are the same letters, blanks at the end may count.
    (
        "runs",
        "word",
        ["varchar(20)", WORD],
        [
            "varchar(20) COLLATE \"C\"",
            "varchar(20) COLLATE utf8mb4_unicode_520_ci",
        ],
    ),
    // The scope 5 is written 5.00, so that no policy is found for it.
    (
        "lots",
        "unit",
        ["integer", "integer"],
        ["numeric(12,2)", "decimal(12,2)"],
    ),
    (
        "lots",
        "unit",
        ["integer", "integer"],
        ["numeric", "bit(8)"],
    ),
    (
        "lots",
        "unit",
        ["integer", "integer"],
        ["numeric(9,1)", "integer zerofill"],
    ),
    (
        "runs",
        "price",
        ["numeric(12,2)", "decimal(12,2)"],
        ["numeric(14,4)", "decimal(14,4)"],
    ),
    // On PostgreSQL, three halves are one among whole numbers.
    (
        "runs",
        "tries",
        ["integer", "integer"],
        ["numeric(20)", "decimal(20,1)"],
    ),
    // Blanks at the end are part of one of them.
    ("runs", "word", ["varchar(20)", WORD], ["char(20)", FILLED]),
    (
        "runs",
        "code",
        ["char(6)", "binary(6)"],
        ["char(9)", "binary(9)"],
    ),
    (
        "runs",
        "tags",
        ["text[]", "varbinary(9)"],
        ["text[] COLLATE \"C\"", "binary(9)"],
    ),
    // Each number of the one is one of the other, and not the other way round.
    (
        "runs",
        "mass",
        ["double precision", "double"],
        ["real", "float"],
    ),
];

/// As many applications have it that were made for three bytes.
const WORD: &str = "varchar(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci";

const FILLED: &str = "char(20) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci";

/// Labels of such a length that the collation behind them is beyond what is noted of a type, one with a sign that is between the notes.
const GRADE: &str = concat!(
    "enum('a|b','",
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
    "','",
    "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
    "','",
    "2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901",
    "') COLLATE utf8mb4_bin"
);
const GRADE_BY_LETTER: &str = "enum('a|b','a') COLLATE utf8mb4_general_ci";

/// What they may.
const WIDER: [(&str, &str, [&str; 2]); 14] = [
    ("runs", "state", ["text", "varchar(99)"]),
    ("runs", "state", ["varchar(120)", "varchar(120)"]),
    (
        "runs",
        "word",
        [
            "text",
            "text CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        ],
    ),
    ("runs", "ended", ["timestamp(6)", "datetime(6)"]),
    ("runs", "level", ["labels", "enum('low','high','top')"]),
    ("runs", "weight", ["double precision", "double"]),
    (
        "runs",
        "word",
        [
            "varchar(40)",
            "varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        ],
    ),
    ("bills", "due", ["timestamp(6)", "datetime(6)"]),
    ("shots", "number", ["bigint", "bigint"]),
    ("marks", "at", ["bigint", "bigint"]),
    ("marks", "at", ["bigint", "decimal(20)"]),
    ("runs", "price", ["numeric(14,2)", "decimal(14,2)"]),
    ("lots", "unit", ["bigint", "decimal(20)"]),
    ("runs", "tries", ["bigint", "decimal(20)"]),
];

/// A migration of the application makes another type of it between two runs: texts sort otherwise than numbers, a day begins before its
/// times, and what was a time of the clock is an instant.
fn a_column_by_which_a_rule_decides_may_not_hold_something_else(dialect: Dialect) {
    let (time, grade, at) = match dialect {
        Dialect::Postgres => ("timestamp(3)", "varchar(20)", 0),
        Dialect::Mysql | Dialect::Mariadb => ("datetime(3)", GRADE, 1),
    };
    let (level, weight, word) = match dialect {
        Dialect::Postgres => ("rising", "real", "varchar(20)"),
        Dialect::Mysql | Dialect::Mariadb => ("enum('low','high')", "float", WORD),
    };
    let (code, tags) = match dialect {
        Dialect::Postgres => ("char(6)", "text[]"),
        Dialect::Mysql | Dialect::Mariadb => ("binary(6)", "varbinary(9)"),
    };
    let collation = match dialect {
        Dialect::Postgres => {
            "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
             CREATE TYPE rising AS ENUM ('low', 'high'); CREATE TYPE falling AS ENUM ('high', 'low'); CREATE DOMAIN labels AS rising; "
        }
        Dialect::Mysql | Dialect::Mariadb => "",
    };
    let schema = format!(
        "{collation}CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), sort varchar(20), ended {time}, paid date, tenant varchar(20),
             grade {grade}, level {level}, weight {weight}, word {word}, tries integer, code {code}, tags {tags},
             mass double precision, price decimal(12,2));
         CREATE TABLE bills (id integer PRIMARY KEY, run_id integer, due {time});
         CREATE TABLE steps (id integer PRIMARY KEY, run_id integer, mood varchar(20));
         CREATE TABLE shots (id integer PRIMARY KEY, place varchar(20) NOT NULL, number integer NOT NULL, made {time});
         CREATE TABLE marks (id integer PRIMARY KEY, at integer);
         CREATE TABLE lots (id integer PRIMARY KEY, state varchar(20), ended {time}, unit integer);
         CREATE TABLE trips (id integer PRIMARY KEY, until_at {time}, made {time})"
    );
    let mut installation = Installation::of(dialect, &schema, &graph_of(DECIDES));
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let alter = |table: &str, column: &str, kind: &str| match dialect {
        Dialect::Postgres => {
            format!("ALTER TABLE {table} ALTER {column} TYPE {kind} USING NULL")
        }
        Dialect::Mysql | Dialect::Mariadb => format!("ALTER TABLE {table} MODIFY {column} {kind}"),
    };
    for (table, column, was, becomes) in BECOMES {
        if table == "shots" && dialect == Dialect::Postgres {
            installation.execute(&format!("ALTER TABLE shots ALTER {column} DROP NOT NULL"));
        }
        installation.execute(&alter(table, column, becomes[at]));
        let told =
            format!("catalog changed: table {table} has another kind of values in column {column}");
        let error = installation
            .run(json!({}))
            .expect_err(&format!("{table}.{column} as {}", becomes[at]));
        assert_told(&error, &told);
        installation.execute(&alter(table, column, was[at]));
        let run = installation.run(json!({}));
        run.unwrap_or_else(|error| panic!("{table}.{column} as it was: {error:#}"));
    }
    for (table, column, wider) in WIDER {
        installation.execute(&alter(table, column, wider[at]));
        let run = installation.run(json!({}));
        let run = run.unwrap_or_else(|error| panic!("{table}.{column}: {error:#}"));
        assert_eq!(run["status"], "done", "{run}");
    }
}

/// SQL of a spec may name columns as the catalog has them, with any sign, or in other letters. Servers other than PostgreSQL run no
/// statement that names what is gone.
fn a_column_by_which_a_rule_decides_may_not_go() {
    let dialect = Dialect::Postgres;
    let schema = "CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), ended timestamp, \"handed: in\" date, \"paid-at\" date, due date);
         CREATE TABLE uses (id integer PRIMARY KEY, run_id integer NOT NULL)";
    let spec = r#"
name   = "decides"
schema = "public"

[tables]
runs = { key = "id integer" }
uses = { key = "id integer", parents = ["run_id -> runs.id"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
where_sql = '{root}."handed: in" IS NULL AND {root}."paid-at" IS NULL AND {root}.Due IS NULL'
retention = { default = "30d" }
"#;
    let mut installation = Installation::of(dialect, schema, &graph_of(spec));
    installation.arm();
    for column in ["handed: in", "paid-at", "due"] {
        for (change, told, back) in [
            (
                format!("ALTER \"{column}\" TYPE text"),
                format!("table runs has another kind of values in column {column} "),
                format!("ALTER \"{column}\" TYPE date USING NULL"),
            ),
            (
                format!("RENAME \"{column}\" TO other"),
                format!("table runs has no column {column} any more"),
                format!("RENAME other TO \"{column}\""),
            ),
        ] {
            installation.execute(&format!("ALTER TABLE runs {change}"));
            let error = installation.run(json!({})).expect_err(&change);
            assert_told(&error, &told);
            installation.execute(&format!("ALTER TABLE runs {back}"));
            let run = installation.run(json!({}));
            run.unwrap_or_else(|error| panic!("{column} as it was: {error:#}"));
        }
    }
}
