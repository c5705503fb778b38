//! `-infinity` of PostgreSQL is no time, as NULL is none: applications write it for what they do not know.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::facts::UNDATED_COUNTED;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, numbers};

tests! {
    every_server: [
        a_run_counts_a_bounded_number_of_what_has_no_time,
    ],
    on_postgres: [
        a_row_at_minus_infinity_has_no_time_in_any_strategy,
        the_last_row_of_a_root_may_have_no_time,
        a_partition_with_a_row_without_a_time_is_kept,
    ],
}

const SPEC: &str = r#"
name = "undated"
dialects = ["postgres"]

[tables]
job     = { key = "id integer" }
part    = { key = "id integer", parents = ["job_id -> job.id"], indexed = ["job_id"] }
branch  = { key = "id integer" }
day     = { key = "id integer" }
slot    = { key = "id integer" }
item    = { key = "id integer" }
entry   = { key = "id integer" }
session = { key = "id integer" }
token   = { key = "id integer" }
lone    = { key = "id integer" }
version = { key = "id integer" }
shot    = { key = "id integer" }

[rules.jobs]
strategy = "end-time"
root = "job"
final = { state = 1 }
end_time = "ended_at"
retention = { default = "30d" }

[rules.branches]
strategy = "end-time"
root = "branch"
final = { state = 1 }
end_time = "ended_at timestamptz"
retention = { default = "30d", per = "tenant integer", opt_in = true }

[rules.days]
strategy = "end-time"
root = "day"
final = { state = 1 }
end_time = "ended_on date"
retention = { default = "30d" }

[rules.slots]
strategy = "end-time"
root = "slot"
final = { state = 1 }
end_time = "ended_at"
retention = { default = "30d", per = "tenant integer", opt_in = false }
keep = { newest = 1, per = "tenant integer", by = "place integer" }

[rules.entries]
strategy = "age"
root = "entry"
time = "at"
retention = { default = "30d" }

[rules.items]
strategy = "removal-time"
root = "item"
time = "remove_at"
end_time = "ended_at"
tables = ["item"]

[rules.sessions]
strategy = "expiry"
root = "session"
time = "expires_at"

[rules.tokens]
strategy = "expiry"
root = "token"
time = "expires_at timestamptz"
fallback = { time = "created_at timestamptz", retention = { default = "30d" } }

[rules.lone]
strategy = "orphan"
root = "lone"
needs = ["owner_id -> owner.id"]
time = "at"
retention = { default = "30d" }

[rules.versions]
strategy = "keep-last"
root = "version"
keep = { newest = 1, per = "thing integer", by = "place integer" }
time = "at"
retention = { default = "30d" }

[rules.shots]
strategy = "keep-last"
root = "shot"
keep = { newest = 1, per = "thing integer", by = "at timestamp" }
"#;

/// Tables with rows 1 (old), 2 (`-infinity`), 3 (no time), 4 (`infinity`), and what is needed besides.
const TABLES: &[(&str, &str, &str)] = &[
    ("job", "state integer, ended_at timestamp", "1, $t"),
    (
        "branch",
        "state integer, ended_at timestamptz, tenant integer",
        "1, $t, 7",
    ),
    ("day", "state integer, ended_on date", "1, $t"),
    (
        "slot",
        "state integer, ended_at timestamp, tenant integer, place integer",
        "1, $t, 7, $n",
    ),
    ("entry", "at timestamp", "$t"),
    (
        "item",
        "remove_at timestamp, ended_at timestamp",
        "'2024-01-01', $t",
    ),
    ("session", "expires_at timestamp", "$t"),
    (
        "token",
        "expires_at timestamptz, created_at timestamptz",
        "$t, '2024-01-01'",
    ),
    ("lone", "owner_id integer, at timestamp", "99, $t"),
    (
        "version",
        "thing integer, place integer, at timestamp",
        "7, $n, $t",
    ),
    ("shot", "thing integer, at timestamp", "7, $t"),
];

fn schema() -> String {
    let mut schema = "CREATE TABLE owner (id integer PRIMARY KEY);".to_owned();
    for (table, columns, _) in TABLES {
        schema += &format!("CREATE TABLE {table} (id integer PRIMARY KEY, {columns});");
    }
    schema
        + "CREATE TABLE part (id integer PRIMARY KEY, job_id integer NOT NULL); CREATE INDEX ON part (job_id);"
}

fn fill(database: &mut Installation) {
    let times = ["'2024-01-01'", "'-infinity'", "NULL", "'infinity'"];
    for (table, _, values) in TABLES {
        for (id, time) in (1..).zip(times) {
            let values = values.replace("$t", time).replace("$n", &id.to_string());
            database.execute(&format!("INSERT INTO {table} VALUES ({id}, {values})"));
        }
    }
    // What is newer, so that these are not the newest; and of a group of its own.
    database.execute(
        "INSERT INTO version VALUES (9, 7, 9, 'infinity'); INSERT INTO shot VALUES (9, 7, 'infinity'), (8, 7, '2023-01-01');
         INSERT INTO slot VALUES (9, 1, '2024-06-01', 7, 9); INSERT INTO part SELECT n, n FROM generate_series(1, 4) AS n",
    );
}

fn left(database: &mut Installation, table: &str) -> String {
    let ids = format!("SELECT string_agg(id::text, ' ' ORDER BY id) FROM {table}");
    database.texts(&ids).remove(0)
}

fn rule<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut rules = document["rules"].as_array().expect("rules").iter();
    rules.find(|rule| rule["rule"] == name).expect("a rule")
}

fn a_row_at_minus_infinity_has_no_time_in_any_strategy() {
    let graph = graph_of(SPEC);
    let mut database = Installation::of(Dialect::Postgres, &schema(), &graph);
    database.arm();
    fill(&mut database);
    let policy = json!({"rule": "branches", "scope": "7", "retention": "30d"});
    database.set_policy(policy).expect("a policy");
    let preview = database.preview(json!({})).expect("a preview");
    for name in [
        "jobs", "branches", "days", "entries", "sessions", "lone", "versions",
    ] {
        assert_eq!(rule(&preview, name)["families"], 1, "{name}: {preview}");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    for (table, rest) in [
        ("job", "2 3 4"),
        ("part", "2 3 4"),
        ("branch", "2 3 4"),
        ("day", "2 3 4"),
        ("slot", "2 3 4 9"),
        ("entry", "2 3 4"),
        ("item", "2 3 4"),
        ("session", "2 3 4"),
        // Without an expiry it has a fallback.
        ("token", "2 4"),
        ("lone", "2 3 4"),
        ("version", "2 3 4 9"),
        ("shot", "2 3 9"),
    ] {
        assert_eq!(left(&mut database, table), rest, "{table}: {run}");
    }
    for (name, reason, count) in [
        ("jobs", "UNDATED_MEMBER", 2),
        ("branches", "UNDATED_MEMBER", 2),
        ("days", "UNDATED_MEMBER", 2),
        ("slots", "UNDATED_MEMBER", 2),
        ("entries", "UNDATED_MEMBER", 2),
        ("items", "NON_FINAL_MEMBER", 2),
        ("tokens", "UNDATED_MEMBER", 1),
        ("lone", "UNDATED_MEMBER", 2),
        ("versions", "UNDATED_MEMBER", 2),
    ] {
        for document in [&preview, &run] {
            let skipped = &rule(document, name)["skipped"];
            assert_eq!(skipped[reason], count, "{name}: {document}");
        }
    }
    assert_eq!(
        rule(&preview, "shots")["unranked"],
        rule(&preview, "shots")["unranked"]
    );
    // Nothing is due any more but what is kept because it has not ended.
    let due = database.texts("SELECT rule FROM W.due_now(1000) WHERE families > 0");
    assert_eq!(due, ["items"]);
    // By force, a purge asks for no time.
    for (force, refused) in [(false, json!({"2": "UNDATED_MEMBER"})), (true, json!({}))] {
        let purge = database
            .purge(json!({"rule": "jobs", "key": [2], "force": force}))
            .expect("a purge");
        assert_eq!(purge["refused"], refused, "{purge}");
    }
}

fn the_last_row_of_a_root_may_have_no_time() {
    let spec = r#"
name = "undated"
dialects = ["postgres"]

[tables]
job  = { key = "id integer" }
task = { key = "id integer", parents = ["job_id -> job.id"], indexed = ["job_id"] }

[rules.jobs]
strategy = "end-time"
root = "job"
final = { state = 1 }
end_time = "max(task.ended_at) else ended_at"
start_time = "began_at"
retention = { default = "30d" }
"#;
    let schema = "CREATE TABLE job (id integer PRIMARY KEY, state integer, began_at timestamp, ended_at timestamp);
         CREATE TABLE task (id integer PRIMARY KEY, job_id integer NOT NULL, ended_at timestamp); CREATE INDEX ON task (job_id);";
    let mut database = Installation::of(Dialect::Postgres, schema, &graph_of(spec));
    database.arm();
    database.execute(
        "INSERT INTO job SELECT n, 1, '2024-01-01', NULL FROM generate_series(1, 4) AS n;
         INSERT INTO job VALUES (5, 1, '2024-01-01', '-infinity'), (6, 1, '2024-01-01', '2024-01-02'), (7, 1, '-infinity', '2024-01-02');
         INSERT INTO task VALUES (1, 1, '2024-01-02'), (2, 2, '2024-01-02'), (3, 2, '-infinity'), (4, 3, '-infinity'), (5, 4, NULL)",
    );
    let preview = database.preview(json!({})).expect("a preview");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database, "job"), "2 3 4 5 7", "{run}");
    for document in [&preview, &run] {
        assert_eq!(document["rules"][0]["families"], 2, "{document}");
        assert_eq!(
            document["rules"][0]["skipped"]["UNDATED_MEMBER"], 5,
            "{document}"
        );
    }
}

/// Gives the partitions an owner of whom windrow's owner role is a member.
fn own(database: &mut Installation) {
    let control = database.control.clone();
    database.execute(&format!(
        "DO $$ BEGIN CREATE ROLE {control}_app NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
         GRANT CREATE ON SCHEMA public TO {control}_app; GRANT {control}_app TO {control}_owner;
         ALTER TABLE event OWNER TO {control}_app; ALTER TABLE event_first OWNER TO {control}_app;
         ALTER TABLE event_second OWNER TO {control}_app"
    ));
}

fn a_partition_with_a_row_without_a_time_is_kept() {
    let spec = |name: &str, more: &str| {
        format!(
            "name = \"{name}\"\ndialects = [\"postgres\"]\n[tables]\nevent = {{ key = \"id integer\" }}\n\
             [rules.events]\nstrategy = \"partition\"\nroot = \"event\"\ntime = \"at\"\nretention = {{ default = \"30d\" }}\n{more}"
        )
    };
    let schema = "CREATE TABLE event (id integer, at timestamp, ended_at timestamp) PARTITION BY RANGE (at);
         CREATE TABLE event_first PARTITION OF event FOR VALUES FROM (MINVALUE) TO ('2024-01-01');
         CREATE TABLE event_second PARTITION OF event FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');";
    let partitions = "SELECT relid::text FROM pg_partition_tree('event') WHERE isleaf ORDER BY 1";
    // The owner role of each is a member of another role, with which the next installation would refuse it.
    for (name, more) in [
        ("undated_counted", ""),
        ("undated_estimated", "rows = \"estimated\"\n"),
        ("undated_ended", "end_time = \"ended_at\"\n"),
    ] {
        let mut database =
            Installation::of(Dialect::Postgres, schema, &graph_of(&spec(name, more)));
        own(&mut database);
        database.arm();
        database.execute(
            "INSERT INTO event VALUES (1, '2023-01-01', '2023-01-01'), (2, '-infinity', '2023-01-01'), (3, '2024-01-01', '2024-01-01');
             ANALYZE event_first; ANALYZE event_second",
        );
        if more.starts_with("end") {
            database.execute("DELETE FROM event WHERE id = 2; UPDATE event SET ended_at = '-infinity' WHERE id = 1");
        }
        let preview = database.preview(json!({})).expect("a preview");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(database.texts(partitions), ["event_first"], "{run}");
        for document in [&preview, &run] {
            assert_eq!(document["rules"][0]["families"], 1, "{document}");
            assert_eq!(
                document["rules"][0]["skipped"],
                json!({"UNDATED_MEMBER": 1}),
                "{document}"
            );
        }
    }
}

/// However many have none, a run lists no more than it says.
fn a_run_counts_a_bounded_number_of_what_has_no_time(dialect: Dialect) {
    let spec = r#"
name = "undated_many"

[tables]
job   = { key = "id integer" }
item  = { key = "id integer" }
entry = { key = "id integer" }
token = { key = "id integer" }

[rules.jobs]
strategy = "end-time"
root = "job"
final = { state = 1 }
end_time = "at"
retention = { default = "30d" }

[rules.items]
strategy = "removal-time"
root = "item"
time = "at"
tables = ["item"]

[rules.entries]
strategy = "age"
root = "entry"
time = "at"
retention = { default = "30d" }

[rules.tokens]
strategy = "expiry"
root = "token"
time = "at"
fallback = { time = "made", retention = { default = "30d" } }
"#;
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let tables = ["job", "item", "entry", "token"];
    let schema: String = tables
        .iter()
        .map(|table| {
            format!("CREATE TABLE {table} (id integer PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time}, made {time});")
        })
        .collect();
    let mut database = Installation::of(dialect, &schema, &graph_of(spec));
    database.arm();
    let most = UNDATED_COUNTED;
    for table in tables {
        let rows = numbers(dialect, most + 7);
        database.execute(&format!("INSERT INTO {table} (id) SELECT n FROM {rows}"));
    }
    let preview = database.preview(json!({})).expect("a preview");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    for document in [&preview, &run] {
        for rule in document["rules"].as_array().expect("rules") {
            assert_eq!(rule["skipped"], json!({"UNDATED_MEMBER": most}), "{rule}");
            assert_eq!(rule["skipped_families"], most, "{rule}");
            let first = rule["skipped_samples"]["UNDATED_MEMBER"].as_array();
            assert_eq!(first.map(Vec::len), Some(10), "{rule}");
        }
    }
}
