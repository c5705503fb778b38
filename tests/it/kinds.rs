//! Columns of types that not every server has: what a spec may ask of them, and what a run then does.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        enumerated_states_are_asked_by_their_labels,
    ],
    every_server: [
        decimal_states_are_asked_by_whole_numbers,
        a_key_that_may_be_null_is_refused_in_rules_of_every_strategy,
    ],
    on_postgres: [
        texts_that_the_server_prints_otherwise_are_told,
        keys_and_scopes_of_other_types_are_found_by_their_indexes,
    ],
}

fn spec(states: &str) -> String {
    format!(
        r#"
name = "kinds"
schema = "public"
database = "kinds"

[tables]
job = {{ key = "id integer" }}
step = {{ parents = ["job_id -> job.id"] }}

[rules.jobs]
strategy = "end-time"
root = "job"
candidates = {{ sort = "batch" }}
final = {{ state = [{states}] }}
end_time = "ended_at"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
"#
    )
}

/// What is said of types.
fn findings(database: &Installation, spec: &str) -> Vec<String> {
    let found = all_findings(database, database.dialect, spec);
    let of_types = found.iter().filter(|found| found.code == "type-differs");
    of_types.map(ToString::to_string).collect()
}

fn enumerated_states_are_asked_by_their_labels(dialect: Dialect) {
    let (before, sort, state, time) = match dialect {
        Dialect::Postgres => (
            "CREATE TYPE job_sort AS ENUM ('batch', 'service');
             CREATE TYPE \"Job State\" AS ENUM ('new', 'it''s running', 'done', 'lost');",
            "job_sort",
            "\"Job State\"",
            "timestamp",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "",
            "ENUM('batch', 'service')",
            "ENUM('new', 'it''s running', 'done', 'lost')",
            "datetime",
        ),
    };
    let schema = format!(
        "{before}
         CREATE TABLE job (id integer PRIMARY KEY, sort {sort} NOT NULL, state {state}, ended_at {time} NULL);
         CREATE TABLE step (id integer PRIMARY KEY, job_id integer NOT NULL);"
    );
    let as_written = spec("\"done\", \"lost\"");
    let mut database = Installation::of(dialect, &schema, &graph_of(&as_written));
    assert_eq!(findings(&database, &as_written), [""; 0]);

    database.arm();
    database.execute(
        "INSERT INTO job VALUES
             (1, 'batch', 'done', '2024-01-01'), (2, 'batch', 'lost', '2024-01-01'), (3, 'batch', 'it''s running', '2024-01-01'),
             (4, 'service', 'done', '2024-01-01'), (5, 'batch', NULL, '2024-01-01'), (6, 'batch', 'done', NULL);
         INSERT INTO step SELECT id, id FROM job",
    );
    let preview = database.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], 2, "{preview}");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert_eq!(
        database.texts("SELECT CAST(id AS char(1)) FROM job ORDER BY id"),
        ["3", "4", "5", "6"]
    );
    assert_eq!(database.number("SELECT COUNT(*) FROM step"), 4);

    if dialect == Dialect::Postgres {
        // The server refuses a statement with such a text; InnoDB finds no row by it.
        let told = findings(&database, &spec("\"done\", \"gone\""));
        let said = "error[type-differs]: `job.state`: is `\"Job State\"`, which has no `gone`\n  help: it has `new`, `it's running`, `done`, `lost`";
        assert_eq!(told, [said]);
    }
}

fn decimal_states_are_asked_by_whole_numbers(dialect: Dialect) {
    let spec = spec("3, 7").replace("\"batch\"", "1");
    let schema = "CREATE TABLE job (id integer PRIMARY KEY, sort decimal(3) NOT NULL, state decimal(5, 2), ended_at timestamp NULL);
         CREATE TABLE step (id integer PRIMARY KEY, job_id integer NOT NULL);";
    let spec = match dialect {
        Dialect::Postgres => spec,
        Dialect::Mysql | Dialect::Mariadb => spec.replace("ended_at", "ended_at timestamptz"),
    };
    let mut database = Installation::of(dialect, schema, &graph_of(&spec));
    assert_eq!(findings(&database, &spec), [""; 0]);
    database.arm();
    database.execute(
        "INSERT INTO job VALUES (1, 1, 3, '2024-01-01'), (2, 1, 7.00, '2024-01-01'), (3, 1, 3.01, '2024-01-01'),
             (4, 2, 3, '2024-01-01'), (5, 1, NULL, '2024-01-01')",
    );
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert_eq!(
        database.texts("SELECT CAST(id AS char(1)) FROM job ORDER BY id"),
        ["3", "4", "5"]
    );
}

/// Bytes have two spellings, and a condition compares the text: with the other one it would keep nothing.
fn texts_that_the_server_prints_otherwise_are_told() {
    let schema = "CREATE TABLE job (id integer PRIMARY KEY, sort varchar(9) NOT NULL, state integer, ended_at timestamp);
         CREATE TABLE step (id integer PRIMARY KEY, job_id integer NOT NULL, mark bytea);";
    let kept = |texts: &str| {
        let step = "step = { parents = [\"job_id -> job.id\"]";
        spec("3").replace(
            step,
            &format!("{step}, kept = {{ mark = {{ text = {texts} }} }}"),
        )
    };
    let plain = kept("'\\x01'");
    let database = Installation::of(Dialect::Postgres, schema, &graph_of(&plain));
    let told = |spec: &str| {
        let found = all_findings(&database, Dialect::Postgres, spec);
        let found = found.iter().filter(|found| found.code == "never-printed");
        found.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(&plain), [""; 0]);
    let said = "[never-printed]: `step.mark`: is `bytea`, of which the server prints no value as `\\001`: no row has it\n  help: write it as the server prints it, like `\\x01ab`";
    assert_eq!(told(&kept("'\\001'")), [format!("error{said}")]);
    assert_eq!(
        told(&kept("['\\001', '\\x01']")),
        [format!("warning{said}")]
    );
}

/// A type of PostgreSQL, the word for it in a spec, and values in their order.
const KEYS: [(&str, &str, [&str; 6]); 6] = [
    (
        "numeric(30)",
        "numeric",
        [
            "-999999999999999999999999999999",
            "-1",
            "0",
            "7",
            "9223372036854775808",
            "999999999999999999999999999999",
        ],
    ),
    (
        "numeric",
        "numeric",
        ["-1.5", "0", "0.000000000000000001", "1", "1.5", "1e40"],
    ),
    (
        "bytea",
        "bytea",
        [
            "'\\x'",
            "'\\x00'",
            "'\\x0000'",
            "'\\x01ff'",
            "'\\x22'",
            "'\\xffffffffffffffffffffffffffffffff'",
        ],
    ),
    (
        "char(8)",
        "char",
        ["''", "' a'", "'A'", "'a'", "'it''s'", "'zzzzzzzz'"],
    ),
    (
        "short_text",
        "varchar",
        ["'A'", "'a'", "'a '", "'b\"c'", "'it''s'", "'zz'"],
    ),
    (
        "small_number",
        "integer",
        ["-2147483648", "-1", "0", "1", "2", "2147483647"],
    ),
];

fn keys_and_scopes_of_other_types_are_found_by_their_indexes() {
    for (kind, word, values) in KEYS {
        let spec = format!(
            r#"
name = "kinds"
dialects = ["postgres"]

[tables]
job = {{ key = "id {word}" }}
step = {{ key = "id {word}", parents = ["job_id -> job.id"], indexed = ["job_id"] }}
part = {{ parents = ["step_id -> step.id"], indexed = ["step_id"] }}

[rules.jobs]
strategy = "end-time"
root = "job"
final = {{ state = "done" }}
end_time = "ended_at"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant {word}", opt_in = false }}
limits = {{ batch_families = 1 }}
"#
        );
        let schema = format!(
            "CREATE DOMAIN some_text AS varchar(10);
             CREATE DOMAIN short_text AS some_text CHECK (value <> '');
             CREATE DOMAIN small_number AS integer;
             CREATE TABLE job (id {kind} PRIMARY KEY, state char(6) NOT NULL, tenant {kind}, ended_at timestamp(0));
             CREATE TABLE step (id {kind} PRIMARY KEY, job_id {kind} NOT NULL REFERENCES job);
             CREATE INDEX ON step (job_id);
             CREATE TABLE part (step_id {kind} NOT NULL);
             CREATE INDEX ON part (step_id);"
        );
        let mut database = Installation::of(Dialect::Postgres, &schema, &graph_of(&spec));
        assert_eq!(findings(&database, &spec), [""; 0], "{kind}");
        database.arm();
        // As a scope is written.
        database.execute("SET bytea_output = 'hex'");
        for (at, value) in values.iter().enumerate() {
            // The first is young, the second is held, the third has a policy that keeps it, the others go.
            let ended = if at == 0 { "now()" } else { "'2024-01-01'" };
            let tenant = values[if at == 2 { 2 } else { 3 }];
            database.execute(&format!(
                "INSERT INTO job VALUES ({value}, 'done', {tenant}, {ended});
                 INSERT INTO step VALUES ({value}, {value}); INSERT INTO part VALUES ({value}), ({value})"
            ));
        }
        let text = |database: &mut Installation, value: &str| {
            database
                .texts(&format!("SELECT ({value}::{kind})::text"))
                .remove(0)
        };
        let held = text(&mut database, values[1]);
        database
            .set_hold(json!({ "key": held, "reason": "audit" }))
            .expect("a hold");
        let kept = text(&mut database, values[2]);
        database
            .set_policy(json!({ "scope": kept, "retention": "3650d" }))
            .expect("a policy");

        let preview = database.preview(json!({})).expect("a preview");
        let rule = &preview["rules"][0];
        assert_eq!(rule["families"], 3, "{kind}: {preview}");
        assert_eq!(rule["skipped"], json!({ "HELD": 1 }), "{kind}: {preview}");
        let samples = rule["sample_roots"].as_array().expect("keys").iter();
        let samples: Vec<String> = samples
            .map(|key| key.as_str().map_or_else(|| key.to_string(), str::to_owned))
            .collect();
        let going = [3, 4, 5].map(|at| text(&mut database, values[at]));
        assert_eq!(samples, going, "{kind}: {preview}");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(
            run["rules"][0]["tables"],
            json!({ "part": 6, "step": 3, "job": 3 }),
            "{kind}: {run}"
        );
        let left = format!(
            "SELECT count(*) FROM job WHERE id IN ({}, {}, {})",
            values[0], values[1], values[2]
        );
        assert_eq!(database.number(&left), 3, "{kind}");
        assert_eq!(database.number("SELECT count(*) FROM part"), 6, "{kind}");
        let plans: Vec<String> = all_findings(&database, Dialect::Postgres, &spec)
            .iter()
            .filter(|found| found.code == "seq-scan")
            .map(ToString::to_string)
            .collect();
        assert_eq!(plans, [""; 0], "{kind}");
    }
}

/// A rule of each strategy, and what belongs to their rows, with keys of one and of two columns.
const STRATEGIES: &str = r#"
name = "keys"
schema = "public"
database = "keys"

[tables]
job   = { key = "id integer" }
step  = { key = "id integer", unique = ["job_id integer, name varchar"], parents = ["job_id -> job.id"] }
event = { key = "id integer" }
visit = { key = "id integer" }
page  = { key = "id integer", parents = ["visit_id -> visit.id"] }
lease = { key = "owner varchar, number integer" }
stray = { key = "id integer" }
trace = { key = "id integer" }
day   = { key = "id integer" }

[rules.job]
strategy = "end-time"
root = "job"
final = { state = ["done"] }
end_time = "ended"
retention = { default = "30d" }

[rules.event]
strategy = "age"
root = "event"
time = "at"
retention = { default = "30d" }

[rules.visit]
strategy = "removal-time"
root = "visit"
time = "removal"
unit = "family"
tables = ["page: visit_id", "visit: id"]

[rules.lease]
strategy = "expiry"
root = "lease"
time = "until_at"

[rules.stray]
strategy = "orphan"
root = "stray"
needs = ["job_id -> job.id"]
time = "made"
retention = { default = "30d" }

[rules.trace]
strategy = "keep-last"
root = "trace"
keep = { newest = 2, per = "owner varchar", by = "number integer" }

[rules.day]
strategy = "partition"
root = "day"
time = "at"
retention = { default = "30d" }
"#;

/// A unique index allows any number of NULLs, and a row without a key is found by none: it stayed, and nobody was told.
fn a_key_that_may_be_null_is_refused_in_rules_of_every_strategy(dialect: Dialect) {
    let (time, alter) = match dialect {
        Dialect::Postgres => ("timestamp", "ALTER COLUMN SET NOT NULL"),
        Dialect::Mysql | Dialect::Mariadb => ("datetime", "MODIFY COLUMN TYPE NOT NULL"),
    };
    let partitions = match dialect {
        Dialect::Postgres => {
            "PARTITION BY RANGE (at);
             CREATE TABLE day_1 PARTITION OF day FOR VALUES FROM ('2024-01-01') TO ('2024-01-02')"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "PARTITION BY RANGE COLUMNS (at) (PARTITION p1 VALUES LESS THAN ('2024-01-02'))"
        }
    };
    let of_day = match dialect {
        Dialect::Postgres => "",
        Dialect::Mysql | Dialect::Mariadb => ", UNIQUE (id, at)",
    };
    let schema = format!(
        "CREATE TABLE job (id integer UNIQUE, state varchar(9), ended {time});
         CREATE TABLE step (id integer UNIQUE, job_id integer, name varchar(20), UNIQUE (job_id, name));
         CREATE TABLE event (id integer UNIQUE, at {time});
         CREATE TABLE visit (id integer UNIQUE, removal {time});
         CREATE TABLE page (id integer UNIQUE, visit_id integer, removal {time});
         CREATE TABLE lease (owner varchar(20), number integer, until_at {time}, UNIQUE (owner, number));
         CREATE TABLE stray (id integer UNIQUE, job_id integer, made {time});
         CREATE TABLE trace (id integer UNIQUE, owner varchar(20) NOT NULL, number integer NOT NULL);
         CREATE TABLE day (id integer, at {time} NOT NULL{of_day}) {partitions};"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(STRATEGIES));
    let told = |database: &Installation| {
        let found = all_findings(database, dialect, STRATEGIES);
        let found = found.iter().filter(|found| found.code == "nullable-key");
        let found =
            found.map(|found| format!("{:?} {}: {}", found.severity, found.object, found.message));
        let mut found: Vec<String> = found.collect();
        found.sort();
        found
    };
    let id = |table: &str| format!("Error {table}: the key may be NULL: id is not NOT NULL");
    // Its rows go with their partitions.
    let day = id("day").replace("Error", "Warning");
    assert_eq!(
        told(&database),
        [
            id("event"),
            id("job"),
            "Error lease: the key may be NULL: owner, number are not NOT NULL".to_owned(),
            id("page"),
            // What may name it besides its key may be NULL.
            id("step"),
            id("stray"),
            id("trace"),
            id("visit"),
            day.clone(),
        ]
    );
    let found = all_findings(&database, dialect, STRATEGIES);
    let lease = found
        .iter()
        .find(|it| it.code == "nullable-key" && it.object == "lease");
    let alter_both = match dialect {
        Dialect::Postgres => "ALTER \"owner\" SET NOT NULL, ALTER \"number\" SET NOT NULL",
        Dialect::Mysql | Dialect::Mariadb => {
            "MODIFY `owner` … NOT NULL, MODIFY `number` … NOT NULL"
        }
    };
    let help = &lease.expect("a finding").help;
    assert!(help.contains(alter_both), "{help}");
    for (table, column, kind) in [
        ("lease", "owner", "varchar(20)"),
        ("lease", "number", "integer"),
    ] {
        let alter = alter.replace("COLUMN", column).replace("TYPE", kind);
        database.execute(&format!("ALTER TABLE {table} {alter}"));
    }
    // A primary key is NOT NULL.
    let mut tables = vec!["event", "job", "page", "step", "stray", "trace", "visit"];
    if dialect == Dialect::Postgres {
        // Nor does a domain take one, or what is made of it.
        database.execute("CREATE DOMAIN given AS integer NOT NULL; CREATE DOMAIN named AS given; ALTER TABLE event ALTER id TYPE given; ALTER TABLE page ALTER id TYPE named");
        tables.retain(|table| !["event", "page"].contains(table));
    }
    for table in tables {
        database.execute(&format!("ALTER TABLE {table} ADD PRIMARY KEY (id)"));
    }
    assert_eq!(told(&database), [day]);
}
