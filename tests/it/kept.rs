//! `kept` of a table: rows that stay when those go that they belong to, and what is around them.

use std::thread;
use std::time::Duration;

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};
use crate::support::keyed::{Cleaned, cleaned};
use crate::support::patience::until;

tests! {
    lint: [
        a_picture_says_that_some_rows_are_kept,
    ],
    every_server: [
        what_is_kept_ties_and_keeps_no_family,
        a_row_that_is_kept_meanwhile_stays_with_what_is_its,
        what_belongs_to_single_rows_is_kept,
        what_is_kept_is_neither_archived_nor_in_the_way_of_what_comes_back,
        triggers_let_what_is_kept_be_changed,
        the_example_of_the_docs_keeps_the_history_of_assets,
        rows_are_kept_by_values_of_every_kind,
        a_foreign_key_behind_such_rows_is_told_before_anything_fails,
    ],
}

/// The spec that the docs show.
fn dagster() -> String {
    let docs = include_str!("../../docs/retention.md");
    let (_, section) = docs
        .split_once("## Rows that outlive their family")
        .expect("a section");
    let (_, block) = section.split_once("```toml\n").expect("a spec");
    block.split_once("```").expect("its end").0.to_owned()
}

fn a_picture_says_that_some_rows_are_kept() {
    let graph = graph_of(&dagster());
    let text = windrow::draw::text(&graph);
    let line = "─ [2] event_logs (id)  run_id  (kept: dagster_event_type = ASSET_MATERIALIZATION or ASSET_OBSERVATION)\n";
    assert!(text.contains(line), "{text}");
    // Where the table is the root itself, nothing is kept.
    assert_eq!(text.matches("kept").count(), 1, "{text}");
    for picture in [windrow::draw::dot(&graph), windrow::draw::mermaid(&graph)] {
        assert!(picture.contains("run_id, some kept"), "{picture}");
    }
}

/// With and without fractions, as the servers have it.
fn time(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    }
}

fn left(database: &mut Installation, table: &str) -> Vec<i64> {
    let ids = database.texts(&format!("SELECT CAST(id AS char(10)) FROM {table}"));
    let mut ids: Vec<i64> = ids
        .iter()
        .map(|id| id.trim().parse().expect("a number"))
        .collect();
    ids.sort_unstable();
    ids
}

/// What `verify` says against it.
fn wrong(database: &mut Installation) -> Vec<String> {
    let verify = database.call("verify", json!({})).expect("a verification");
    violations(&verify)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Four runs: two are old and done, one goes on, one is young. Each has an event of each sort, with a tag.
fn the_example_of_the_docs_keeps_the_history_of_assets(dialect: Dialect) {
    let spec = dagster();
    let time = time(dialect);
    let schema = format!(
        "CREATE TABLE runs (id bigint PRIMARY KEY, run_id varchar(255) NOT NULL UNIQUE, status varchar(63), update_timestamp {time});
CREATE TABLE run_tags (id bigint PRIMARY KEY, run_id varchar(255), word varchar(20),
    FOREIGN KEY (run_id) REFERENCES runs (run_id) ON DELETE CASCADE);
CREATE TABLE event_logs (id bigint PRIMARY KEY, run_id varchar(255) NOT NULL, dagster_event_type varchar(100), \"timestamp\" {time});
CREATE TABLE asset_event_tags (id bigint PRIMARY KEY, event_id bigint,
    FOREIGN KEY (event_id) REFERENCES event_logs (id) ON DELETE CASCADE);
"
    );
    let schema = match dialect {
        Dialect::Postgres => schema,
        Dialect::Mysql | Dialect::Mariadb => schema.replace("\"timestamp\"", "`timestamp`"),
    };
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    let findings = all_findings(&database, dialect, &spec);
    let severe = findings
        .iter()
        .filter(|it| it.severity != windrow::fit::Severity::Notice && it.code != "event-scheduler");
    let told: Vec<String> = severe.map(ToString::to_string).collect();
    assert_eq!(told, [""; 0]);
    database.arm();
    let runs = [
        ("SUCCESS", "2025-11-01"),
        ("FAILURE", "2025-11-02"),
        ("STARTED", "2025-11-03"),
        ("SUCCESS", "2026-01-14"),
    ];
    let sorts = [
        ("'STEP_SUCCESS'", "2025-11-01"),
        ("NULL", "2025-11-01"),
        ("'ASSET_MATERIALIZATION'", "2020-01-01"),
        ("'ASSET_OBSERVATION'", "2024-11-01"),
        ("'ASSET_OBSERVATION'", "2025-11-01"),
    ];
    for (number, (status, ended)) in (1..).zip(runs) {
        database.execute(&format!(
            "INSERT INTO runs VALUES ({number}, 'run-{number}', '{status}', '{ended}');
             INSERT INTO run_tags VALUES ({number}, 'run-{number}', 'word')"
        ));
        for (sort, (kind, at)) in (1..).zip(sorts) {
            let id = number * 10 + sort;
            database.execute(&format!(
                "INSERT INTO event_logs VALUES ({id}, 'run-{number}', {kind}, '{at}');
                 INSERT INTO asset_event_tags VALUES ({id}, {id})"
            ));
        }
    }
    let at = |instant: &str| json!({"as_of": instant});
    let mut dry = at("2026-01-15T00:00:00Z");
    dry["dry_run"] = json!(true);
    let preview = database
        .preview(at("2026-01-15T00:00:00Z"))
        .expect("a preview");
    let dry = database.run(dry).expect("a dry run");
    let run = database.run(at("2026-01-15T00:00:00Z")).expect("a run");
    let rows = json!({"run_tags": 2, "asset_event_tags": 4, "event_logs": 4, "runs": 2});
    for document in [&preview, &dry, &run] {
        assert_eq!(document["rules"][0]["families"], 2, "{document}");
        assert_eq!(document["rules"][0]["tables"], rows, "{document}");
        assert_eq!(document["rules"][0]["skipped"], json!({}), "{document}");
    }
    // Orphans are known as such once their runs are gone, which they are for no preview.
    assert_eq!(preview["rules"][1]["families"], 0, "{preview}");
    assert_eq!(
        run["rules"][1]["tables"],
        json!({"asset_event_tags": 2, "event_logs": 2}),
        "{run}"
    );
    let mut expected: Vec<i64> = vec![13, 15, 23, 25];
    expected.extend((31..=35).chain(41..=45));
    assert_eq!(left(&mut database, "event_logs"), expected);
    assert_eq!(left(&mut database, "asset_event_tags"), expected);
    assert_eq!(left(&mut database, "runs"), [3, 4]);
    assert_eq!(wrong(&mut database), [""; 0]);
    let again = database.run(at("2026-01-15T00:00:00Z")).expect("a run");
    assert_eq!(again["rules"][0]["families"], 0, "{again}");
    assert_eq!(again["rules"][1]["families"], 0, "{again}");

    // A year later.
    database.run(at("2026-06-15T00:00:00Z")).expect("a run");
    let mut expected = vec![13, 15, 23, 25, 31, 32, 33, 34, 35, 43, 45];
    assert_eq!(left(&mut database, "event_logs"), expected);
    database.run(at("2026-11-15T00:00:00Z")).expect("a run");
    expected.retain(|id| [13, 23, 43].contains(id) || (31..=35).contains(id));
    assert_eq!(left(&mut database, "event_logs"), expected);
    assert_eq!(left(&mut database, "asset_event_tags"), expected);
    assert_eq!(wrong(&mut database), [""; 0]);

    // What is kept no more has no parent.
    database.execute("UPDATE event_logs SET dagster_event_type = 'STEP_SUCCESS' WHERE id = 13");
    let found = wrong(&mut database);
    assert!(
        found.len() == 1 && found[0].contains("event_logs.run_id"),
        "{found:#?}"
    );
}

/// A condition, and the rows that it keeps, of those in which the column has each of the values.
const KINDS: [(&str, &str, &[&str], &[i64]); 9] = [
    ("one = 2", "integer", &["1", "2", "NULL"], &[2]),
    (
        "many = [1, 3000000000]",
        "bigint",
        &["1", "3000000000", "2", "NULL"],
        &[1, 2],
    ),
    (
        "word = \"it's; \\\\ -- \\\"a\\\"\"",
        "varchar(40)",
        &["'it''s; \\ -- \"a\"'", "'b'", "''", "NULL"],
        &[1],
    ),
    (
        "words = [\"a\", \"c\"]",
        "varchar(20)",
        &["'a'", "'b'", "'c'", "NULL"],
        &[1, 3],
    ),
    ("truth = true", "boolean", &["true", "false", "NULL"], &[1]),
    (
        "falsehood = false",
        "FLAG",
        &["FALSE", "TRUE", "NULL"],
        &[1],
    ),
    ("label = [\"b\"]", "LABEL", &["'a'", "'b'", "NULL"], &[2]),
    (
        "nothing = { null = true }",
        "integer",
        &["0", "1", "NULL"],
        &[3],
    ),
    (
        "something = { null = false }",
        "varchar(20)",
        &["''", "'a'", "NULL"],
        &[1, 2],
    ),
];

fn rows_are_kept_by_values_of_every_kind(dialect: Dialect) {
    let mut tables = String::new();
    let (before, flag, label) = match dialect {
        Dialect::Postgres => (
            "CREATE TYPE label AS ENUM ('a', 'b');\n",
            "boolean",
            "label",
        ),
        Dialect::Mysql | Dialect::Mariadb => ("", "bit(1)", "ENUM('a', 'b')"),
    };
    let time = time(dialect);
    let mut schema = format!(
        "{before}CREATE TABLE runs (id integer PRIMARY KEY, state integer, ended {time});\n"
    );
    for (place, (kept, kind, ..)) in KINDS.iter().enumerate() {
        let column = kept.split(' ').next().unwrap_or_default();
        let kind = kind.replace("FLAG", flag).replace("LABEL", label);
        tables += &format!(
            "part_{place} = {{ parents = [\"run_id -> runs.id\"], kept = {{ {kept} }} }}\n"
        );
        schema += &format!(
            "CREATE TABLE part_{place} (id integer PRIMARY KEY, run_id integer, {column} {kind} NULL);\n"
        );
    }
    // All conditions must hold.
    tables += "pairs = { parents = [\"run_id -> runs.id\"], kept = { one = 1, two = { null = true } } }\n";
    schema +=
        "CREATE TABLE pairs (id integer PRIMARY KEY, run_id integer, one integer, two integer);\n";
    let spec = format!(
        "name = \"kept\"\n[tables]\nruns = {{ key = \"id integer\" }}\n{tables}\n[rules.runs]\nstrategy = \"end-time\"\nroot = \"runs\"\n\
         final = {{ state = 1 }}\nend_time = \"ended\"\nretention = {{ default = \"30d\" }}\n"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    let findings = all_findings(&database, dialect, &spec);
    let of_types = findings
        .iter()
        .filter(|it| ["type-differs", "missing-column"].contains(&it.code));
    let told: Vec<String> = of_types.map(ToString::to_string).collect();
    assert_eq!(told, [""; 0]);
    database.arm();
    // One run that goes, and one that does not.
    database.execute("INSERT INTO runs VALUES (1, 1, '2024-01-01'), (2, 2, '2024-01-01')");
    let flag = match dialect {
        Dialect::Postgres => ["true", "false"],
        Dialect::Mysql | Dialect::Mariadb => ["b'1'", "b'0'"],
    };
    for (place, (_, _, values, _)) in KINDS.iter().enumerate() {
        for (id, value) in (1..).zip(*values) {
            let value = value.replace("TRUE", flag[0]).replace("FALSE", flag[1]);
            database.execute(&format!(
                "INSERT INTO part_{place} VALUES ({id}, 1, {value}), ({id} + 100, 2, {value})"
            ));
        }
    }
    database.execute(
        "INSERT INTO pairs VALUES (1, 1, 1, NULL), (2, 1, 1, 1), (3, 1, 2, NULL), (4, 1, NULL, NULL), (5, NULL, 2, 2)",
    );
    let Cleaned {
        families, tables, ..
    } = cleaned(&mut database, "");
    assert_eq!(families, 1);
    for (place, (kept, _, values, expected)) in KINDS.iter().enumerate() {
        let table = format!("part_{place}");
        let others = (101..).take(values.len());
        let expected: Vec<i64> = expected.iter().copied().chain(others).collect();
        assert_eq!(left(&mut database, &table), expected, "{kept}");
        let gone = 2 * values.len() - expected.len();
        assert_eq!(tables[&table], gone, "{kept}");
    }
    assert_eq!(left(&mut database, "pairs"), [1, 5]);
    assert_eq!(wrong(&mut database), [""; 0]);
}

const FAMILY: &str = r#"
name = "kept"

[tables]
runs   = { key = "id integer", unique = ["name varchar, place integer"] }
steps  = { key = "id integer", parents = ["run_name, run_place -> runs(name, place)", "other_id -> runs.id"], with = "WITH", kept = { kind = "kept" } }
marks  = { key = "id integer", parents = ["step_id -> steps.id"] }
files  = { parents = ["mark_id -> marks.id"] }
bills  = { parents = ["mark_id -> marks.id restrict"] }
alarms = { key = "id integer", parents = ["step_id -> steps.id"], final = { rung = 1 } }
words  = { parents = ["mark_id -> marks.id set null"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1, lock_timeout = "20s" }
"#;

pub(crate) fn graph() -> Graph {
    graph_of(&FAMILY.replace("WITH", "all"))
}

fn family(dialect: Dialect, with: &str) -> Installation {
    let time = time(dialect);
    let schema = format!(
        "CREATE TABLE runs (id integer PRIMARY KEY, name varchar(20), place integer, state varchar(20), ended {time}, UNIQUE (name, place));
CREATE TABLE steps (id integer PRIMARY KEY, run_name varchar(20), run_place integer, other_id integer, kind varchar(20));
CREATE TABLE marks (id integer PRIMARY KEY, step_id integer, FOREIGN KEY (step_id) REFERENCES steps (id));
CREATE TABLE files (id integer PRIMARY KEY, mark_id integer, FOREIGN KEY (mark_id) REFERENCES marks (id) ON DELETE CASCADE);
CREATE TABLE bills (id integer PRIMARY KEY, mark_id integer);
CREATE TABLE alarms (id integer PRIMARY KEY, step_id integer, rung integer);
CREATE TABLE words (id integer PRIMARY KEY, mark_id integer);
"
    );
    let graph = graph_of(&FAMILY.replace("WITH", with));
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    for number in 1..=4 {
        let state = if number == 4 { "running" } else { "done" };
        database.execute(&format!(
            "INSERT INTO runs VALUES ({number}, 'run', {number}, '{state}', '2025-01-0{number}')"
        ));
    }
    // 11 is kept and would be shared with the run that goes on; 12 is its like, which goes; 21 and 22 belong to one run alone.
    for (id, place, other, kind) in [
        (11, 1, "4", "'kept'"),
        (12, 1, "2", "'gone'"),
        (21, 2, "NULL", "NULL"),
        (22, 2, "NULL", "'kept'"),
        (31, 3, "4", "'gone'"),
    ] {
        database.execute(&format!(
            "INSERT INTO steps VALUES ({id}, 'run', {place}, {other}, {kind});
             INSERT INTO marks VALUES ({id}, {id});
             INSERT INTO files VALUES ({id}, {id});
             INSERT INTO words VALUES ({id}, {id});
             INSERT INTO alarms VALUES ({id}, {id}, 1)"
        ));
    }
    // They keep what stays in any case.
    database.execute("INSERT INTO bills VALUES (11, 11), (22, 22); UPDATE alarms SET rung = 0 WHERE id IN (11, 22)");
    database
}

/// With all of its parents a shared row ties their families, and one below it keeps them; not where the row is kept.
fn what_is_kept_ties_and_keeps_no_family(dialect: Dialect) {
    let mut database = family(dialect, "all");
    let Cleaned {
        families, skipped, ..
    } = cleaned(&mut database, "all");
    assert_eq!(families, 2);
    // 31 belongs to a run that goes on as well.
    assert_eq!(skipped, json!({"SHARED_MEMBER": 1}));
    for table in ["steps", "marks", "files", "alarms"] {
        assert_eq!(left(&mut database, table), [11, 22, 31], "{table}");
    }
    let named = database
        .texts("SELECT CAST(id AS char(2)) FROM words WHERE mark_id IS NOT NULL ORDER BY id");
    assert_eq!(named, ["11", "22", "31"]);
    assert_eq!(left(&mut database, "words").len(), 5);
    assert_eq!(wrong(&mut database), [""; 0]);
    database.execute("UPDATE runs SET state = 'done' WHERE id = 4");
    let Cleaned { families, .. } = cleaned(&mut database, "all");
    assert_eq!(families, 2);
    assert_eq!(left(&mut database, "marks"), [11, 22]);
    assert_eq!(left(&mut database, "runs"), [0; 0]);
    assert_eq!(wrong(&mut database), [""; 0]);

    let mut database = family(dialect, "any");
    let Cleaned { families, .. } = cleaned(&mut database, "any");
    assert_eq!(families, 3);
    for table in ["steps", "marks", "files", "alarms"] {
        assert_eq!(left(&mut database, table), [11, 22], "{table}");
    }
    assert_eq!(wrong(&mut database), [""; 0]);
    let key = json!({"rule": "runs", "key": ["4"]});
    database.execute("UPDATE runs SET state = 'done' WHERE id = 4");
    let purge = database.purge(key).expect("a purge");
    assert_eq!(purge["rules"][0]["families"], 1, "{purge}");
    assert_eq!(left(&mut database, "steps"), [11, 22]);
}

/// Waits until a call aside waits for a row that somebody holds.
pub(crate) fn until_waiting<T>(
    database: &mut Installation,
    runner: &thread::JoinHandle<T>,
    session: i64,
) {
    let waits = match database.dialect {
        Dialect::Postgres => {
            format!(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = {session} AND wait_event_type = 'Lock'"
            )
        }
        Dialect::Mysql | Dialect::Mariadb => format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {session} AND trx_state = 'LOCK WAIT'"
        ),
    };
    until("a batch that waits", || {
        assert!(!runner.is_finished(), "it ended");
        // InnoDB shows what it has shown a tenth of a second before.
        thread::sleep(Duration::from_millis(200));
        Ok(database.number(&waits) == 1)
    })
    .expect("it gets there");
}

/// Whoever changes a row while a batch is about to take it comes first.
fn a_row_that_is_kept_meanwhile_stays_with_what_is_its(dialect: Dialect) {
    let mut database = family(dialect, "any");
    let mut writer = database.connect();
    writer.execute("BEGIN").expect("a transaction");
    let begun = "UPDATE steps SET kind = 'kept' WHERE id = 21";
    writer.execute(&database.named(begun)).expect("an update");
    let (runner, _, session) = database.call_aside("run", json!({}));
    until_waiting(&mut database, &runner, session);
    writer.execute("COMMIT").expect("a commit");
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    for table in ["steps", "marks", "files", "alarms"] {
        assert_eq!(left(&mut database, table), [11, 21, 22], "{table}");
    }
    assert_eq!(wrong(&mut database), [""; 0]);
}

/// What the server does by itself, and what is said of it.
const KEYS: [(&str, &str); 3] = [
    ("ON DELETE CASCADE", "it would delete or change them"),
    ("ON DELETE SET NULL", "it would delete or change them"),
    (
        "",
        "it prevents deleting a row that one of them refers to: each such batch would fail",
    ),
];

fn a_foreign_key_behind_such_rows_is_told_before_anything_fails(dialect: Dialect) {
    let spec = FAMILY.replace("WITH", "any");
    for (action, said) in KEYS {
        let mut database = family(dialect, "any");
        database.execute("UPDATE steps SET run_place = 1 WHERE id = 22");
        let key = format!(
            "ALTER TABLE steps ADD CONSTRAINT behind FOREIGN KEY (run_name, run_place) REFERENCES runs (name, place) {action}"
        );
        database.execute(&key);
        let findings = all_findings(&database, dialect, &spec);
        let severe = findings
            .iter()
            .filter(|it| it.severity == windrow::fit::Severity::Error);
        let told: Vec<String> = severe.map(ToString::to_string).collect();
        assert_eq!(told.len(), 1, "{action}: {told:#?}");
        assert!(
            told[0].contains("error[kept-reference]: `steps`: references `runs` by `behind`"),
            "{told:#?}"
        );
        assert!(told[0].contains(said), "{told:#?}");
        let run = database.run(json!({}));
        assert_eq!(
            left(&mut database, "steps").len(),
            if action.is_empty() { 2 } else { 5 },
            "{action}: {run:?}"
        );
        if action.is_empty() {
            // A family whose rows are kept is passed over, and the others go.
            let run = run.expect("a run");
            assert_eq!(run["rules"][0]["skipped"]["FAILED"], 1, "{run}");
            assert_eq!(left(&mut database, "runs"), [1, 4]);
        } else {
            let refused = run.expect_err("a refusal").to_string();
            assert!(refused.contains("steps"), "{refused}");
        }
    }
    // One that sets NULL where the spec says so is none of these.
    let graph_text = spec
        .replace(
            "\"other_id -> runs.id\"]",
            "\"other_id -> runs.id set null\"]",
        )
        .replace(", with = \"any\"", "");
    let mut database = family(dialect, "any");
    database.execute("ALTER TABLE steps ADD CONSTRAINT behind FOREIGN KEY (other_id) REFERENCES runs (id) ON DELETE SET NULL");
    let findings = all_findings(&database, dialect, &graph_text);
    assert!(
        findings.iter().all(|it| it.code != "kept-reference"),
        "{findings:#?}"
    );
}

/// A rule of single rows with what belongs to them.
fn what_belongs_to_single_rows_is_kept(dialect: Dialect) {
    let time = time(dialect);
    let spec = r#"
name = "kept"
[tables]
notes = { key = "id integer" }
lines = { key = "id integer", parents = ["note_id -> notes.id"], kept = { kind = "kept" } }
marks = { parents = ["line_id -> lines.id"] }
tails = { parents = ["note_id -> notes.id"], kept = { kind = "kept" } }
[rules.notes]
strategy  = "expiry"
root      = "notes"
time      = "expires"
[rules.lines]
strategy  = "orphan"
root      = "lines"
time      = "written"
retention = { default = "365d" }
"#;
    let schema = format!(
        "CREATE TABLE notes (id integer PRIMARY KEY, expires {time});
CREATE TABLE lines_of (id integer);
CREATE TABLE marks (id integer PRIMARY KEY, line_id integer);
CREATE TABLE tails (id integer PRIMARY KEY, note_id integer, kind varchar(20));
"
    );
    let quoted = match dialect {
        Dialect::Postgres => "\"lines\"",
        Dialect::Mysql | Dialect::Mariadb => "`lines`",
    };
    let schema = schema.replace(
        "CREATE TABLE lines_of (id integer);",
        &format!("CREATE TABLE {quoted} (id integer PRIMARY KEY, note_id integer, kind varchar(20), written {time});"),
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(spec));
    database.arm();
    database.execute(&format!(
        "INSERT INTO notes VALUES (1, '2025-01-01'), (2, '2025-01-01'), (3, '2036-01-01');
         INSERT INTO {quoted} VALUES (11, 1, 'kept', '2025-06-01'), (12, 1, 'gone', '2025-06-01'), (13, 1, NULL, '2025-06-01'),
             (14, 1, 'kept', '2024-01-01'), (31, 3, 'kept', '2020-01-01'), (32, 3, 'gone', '2020-01-01');
         INSERT INTO marks VALUES (11, 11), (12, 12), (13, 13), (14, 14), (31, 31), (32, 32);
         INSERT INTO tails VALUES (11, 1, 'kept'), (12, 1, 'gone'), (31, 3, 'gone')"
    ));
    let options = json!({"as_of": "2026-01-15T00:00:00Z"});
    let preview = database.preview(options.clone()).expect("a preview");
    let run = database.run(options).expect("a run");
    let rows = json!({"lines": 2, "marks": 2, "tails": 1, "notes": 2});
    assert_eq!(preview["rules"][0]["tables"], rows, "{preview}");
    assert_eq!(run["rules"][0]["tables"], rows, "{run}");
    assert_eq!(
        run["rules"][1]["tables"],
        json!({"marks": 1, "lines": 1}),
        "{run}"
    );
    assert_eq!(left(&mut database, quoted), [11, 31, 32]);
    assert_eq!(left(&mut database, "marks"), [11, 31, 32]);
    assert_eq!(left(&mut database, "tails"), [11, 31]);
    assert_eq!(wrong(&mut database), [""; 0]);
}

fn history(more: &str) -> String {
    format!(
        r#"
name = "kept"
[tables]
runs   = {{ key = "id integer" }}
events = {{ key = "id integer", parents = ["run_id -> runs.id"], kept = {{ kind = "kept" }} }}
tags   = {{ parents = ["event_id -> events.id"] }}
[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = {{ state = "done" }}
end_time  = "ended"
retention = {{ default = "30d" }}
{more}
[rules.events]
strategy  = "orphan"
root      = "events"
time      = "written"
retention = {{ default = "365d" }}
archive   = true
"#
    )
}

fn recorded(dialect: Dialect, more: &str) -> Installation {
    let time = time(dialect);
    let schema = format!(
        "CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), ended {time});
CREATE TABLE events (id integer PRIMARY KEY, run_id integer, kind varchar(20), written {time}, path varchar(20));
CREATE TABLE tags (id integer PRIMARY KEY, event_id integer);
"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(&history(more)));
    database.arm();
    database.execute(
        "INSERT INTO runs VALUES (1, 'done', '2025-01-01'), (2, 'running', NULL);
         INSERT INTO events VALUES (11, 1, 'kept', '2025-06-01', '/11'), (12, 1, 'gone', '2025-06-01', '/12'),
             (13, 1, 'kept', '2023-06-01', '/13'), (21, 2, 'gone', '2023-06-01', '/21');
         INSERT INTO tags VALUES (11, 11), (12, 12), (13, 13), (21, 21)",
    );
    database
}

fn what_is_kept_is_neither_archived_nor_in_the_way_of_what_comes_back(dialect: Dialect) {
    let more = "archive = true\nartifacts = [{ table = \"events\", path = \"path\" }]";
    let mut database = recorded(dialect, more);
    let at = |instant: &str| json!({"as_of": instant});
    let first = database.run(at("2024-02-15T00:00:00Z")).expect("a run");
    assert_eq!(first["rules"][0]["families"], 0, "{first}");
    let run = database.run(at("2025-03-15T00:00:00Z")).expect("a run");
    // Event 13 goes by its own rule, in the same run.
    assert_eq!(left(&mut database, "events"), [11, 21]);
    assert_eq!(left(&mut database, "tags"), [11, 21]);
    let files = database.texts("SELECT path FROM W.artifact ORDER BY path");
    assert_eq!(files, ["/12"]);
    let list = database
        .call("archive_list", json!({"run": run["run"]}))
        .expect("a list");
    assert_eq!(
        list["runs"][0]["tables"],
        json!({"runs": 1, "events": 2, "tags": 2}),
        "{list}"
    );
    let back = database
        .call("archive_restore", json!({"run": run["run"]}))
        .expect("all of it");
    assert_eq!(back["not_archived"], json!([]), "{back}");
    assert_eq!(left(&mut database, "events"), [11, 12, 13, 21]);
    assert_eq!(left(&mut database, "runs"), [1, 2]);
    // A row that became old enough goes by its own rule, after the family went again.
    database.execute("DELETE FROM W.hold");
    database.run(at("2026-10-15T00:00:00Z")).expect("a run");
    assert_eq!(left(&mut database, "events"), [21]);
    assert_eq!(left(&mut database, "tags"), [21]);
    assert_eq!(wrong(&mut database), [""; 0]);
}

fn triggers_let_what_is_kept_be_changed(dialect: Dialect) {
    let mut database = recorded(dialect, "orphan_guard = true");
    database
        .run(json!({"as_of": "2025-03-15T00:00:00Z"}))
        .expect("a run");
    assert_eq!(left(&mut database, "events"), [11, 21]);
    database.execute("UPDATE events SET path = '/new' WHERE id = 11");
    database.execute("INSERT INTO tags VALUES (99, 11)");
    for late in [
        "INSERT INTO events VALUES (98, 1, 'kept', '2025-06-01', '/')",
        "UPDATE events SET run_id = 1 WHERE id = 21",
        "INSERT INTO tags VALUES (97, 12)",
    ] {
        assert!(database.attempt(late).is_err(), "{late}");
    }
    database.execute("UPDATE events SET run_id = 2 WHERE id = 11");
    assert_eq!(wrong(&mut database), [""; 0]);
}
