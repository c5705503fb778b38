//! Keys as long as a run can remember, on MySQL and MariaDB.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of};

tests! {
    mysql_and_mariadb: [
        the_longest_keys_are_remembered,
    ],
    either_flavour: [
        what_is_longer_is_told_before,
    ],
}

/// Families that are linked, and rows that go by their age.
fn spec(kind: &str) -> String {
    format!(
        r#"
name = "long"
dialects = ["mysql", "mariadb"]

[tables]
job  = {{ key = "id {kind}" }}
step = {{ parents = ["job_id -> job.id"], indexed = ["job_id"] }}
tick = {{ key = "id {kind}" }}
visit = {{ key = "id {kind}" }}
note = {{ parents = ["visit_id -> visit.id"], indexed = ["visit_id", "due"] }}

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = {{ state = "done" }}
end_time  = "ended_at"
hierarchy = ["job: parent_id -> id"]
shared    = "closed"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
limits    = {{ batch_families = 1 }}

[rules.ticks]
strategy  = "age"
root      = "tick"
time      = "at"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
limits    = {{ batch_rows = 1 }}

[rules.visits]
strategy = "removal-time"
root     = "visit"
time     = "due"
tables   = ["note: visit_id", "visit"]
"#
    )
}

fn schema(kind: &str) -> String {
    format!(
        "CREATE TABLE job (id {kind} PRIMARY KEY, parent_id {kind}, state char(6) NOT NULL, ended_at datetime, KEY (parent_id), KEY (ended_at));
         CREATE TABLE step (number integer PRIMARY KEY, job_id {kind} NOT NULL, KEY (job_id));
         CREATE TABLE tick (id {kind} PRIMARY KEY, at datetime, KEY (at));
         CREATE TABLE visit (id {kind} PRIMARY KEY, due datetime, KEY (due));
         CREATE TABLE note (number integer PRIMARY KEY, visit_id {kind}, due datetime, KEY (visit_id), KEY (due))"
    )
}

/// How long a text may be that is a key.
fn characters(dialect: Dialect) -> usize {
    if dialect == Dialect::Mysql { 384 } else { 700 }
}

/// A key that differs from the others in its last sign alone: as SQL, and as people see it.
fn key(kind: &str, last: char) -> (String, String) {
    let length = kind.trim_start_matches("varchar(").trim_end_matches(')');
    let length: usize = length.parse().expect("a length");
    let text = "k".repeat(length - 1) + &last.to_string();
    (format!("'{text}'"), text)
}

fn the_longest_keys_are_remembered(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    remembered(
        dialect,
        &format!("varchar({})", characters(dialect)),
        "varchar",
    );
}

fn remembered(dialect: Dialect, kind: &str, written: &str) {
    let spec = spec(written);
    let mut database = Installation::of(dialect, &schema(kind), &graph_of(&spec));
    let found = all_findings(&database, dialect, &spec);
    assert!(!found.iter().any(|it| it.code == "long-key"), "{found:#?}");
    database.arm();
    // Held, without an end, busy below one that has ended, and four that may go: two of them one below the other.
    for (number, (last, parent, state, end)) in [
        ('a', None, "done", "'2024-01-01'"),
        ('b', None, "done", "NULL"),
        ('c', None, "done", "'2024-01-02'"),
        ('d', Some('c'), "busy", "NULL"),
        ('e', None, "done", "'2024-01-03'"),
        ('f', Some('e'), "done", "'2024-01-04'"),
        ('g', None, "done", "'2024-01-05'"),
        ('h', None, "done", "'2024-01-06'"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = key(kind, last).0;
        let parent = parent.map_or("NULL".to_owned(), |last| key(kind, last).0);
        database.execute(&format!(
            "INSERT INTO job VALUES ({id}, {parent}, '{state}', {end}); INSERT INTO step VALUES ({number}, {id}); INSERT INTO tick VALUES ({id}, {end});
             INSERT INTO visit VALUES ({id}, {end}); INSERT INTO note VALUES ({number}, {id}, {end})"
        ));
    }
    let told = |last: char| key(kind, last).1;
    for rule in ["jobs", "ticks", "visits"] {
        database
            .set_hold(json!({ "rule": rule, "key": told('a'), "reason": "audit" }))
            .expect("a hold");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let jobs = &run["rules"][0];
    assert_eq!(jobs["families"], 4, "{run}");
    let samples = json!({ "HELD": [told('a')], "NON_FINAL_MEMBER": [told('c')], "UNDATED_MEMBER": [told('b')] });
    assert_eq!(jobs["skipped_samples"], samples, "{run}");
    let left = |database: &mut Installation, table: &str| {
        database.texts(&format!(
            "SELECT RIGHT(HEX(id), 2) FROM {table} ORDER BY id"
        ))
    };
    assert_eq!(
        left(&mut database, "job"),
        ["61", "62", "63", "64"],
        "{run}"
    );
    // Two of the ticks have no time.
    assert_eq!(left(&mut database, "tick"), ["61", "62", "64"], "{run}");
    assert_eq!(database.number("SELECT COUNT(*) FROM step"), 4);
    assert_eq!(left(&mut database, "visit"), ["61", "62", "64"], "{run}");
    assert_eq!(database.number("SELECT COUNT(*) FROM note"), 3);
}

fn what_is_longer_is_told_before(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let most = characters(dialect);
    let text = format!("varchar({})", most + 1);
    for (kind, written, most) in [
        (text.as_str(), "varchar", format!("{most} characters")),
        ("varbinary(351)", "binary", "350 bytes".to_owned()),
    ] {
        let spec = spec(written);
        let database = Installation::of(dialect, &schema(kind), &graph_of(&spec));
        let found = all_findings(&database, dialect, &spec);
        let long = found.iter().filter(|it| it.code == "long-key");
        let long: Vec<String> = long.map(ToString::to_string).collect();
        assert_eq!(long.len(), 3, "{long:#?}");
        assert!(
            long[0].contains("job.id") && long[0].contains(&most),
            "{long:#?}"
        );
    }
}
