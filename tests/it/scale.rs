//! Sizes that nobody plans for: a family as deep as a thousand calls, one as big as a million rows, a spec of 500 tables.
//! The last two are for `make prove`; what `make test` does is smaller.

use std::fmt::Write as _;

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::effort;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of, numbers, violations};

tests! {
    every_server: [
        a_family_a_thousand_calls_deep_goes_whole_or_stays,
        a_family_of_very_many_rows_goes_whole,
        a_spec_of_very_many_tables_is_installed_and_runs,
        a_run_does_not_read_the_files_that_wait,
    ],
    either_flavour: [
        a_preview_writes_of_each_family_once,
        a_batch_does_not_write_down_every_hold,
    ],
}

/// Runs that call others, as deep as they like, with tasks and the notes of tasks.
const SPEC: &str = r#"
name = "scale"

[tables]
runs  = { key = "id bigint" }
calls = { parents = ["caller -> runs.id", "called -> runs.id"], with = "any" }
tasks = { key = "id bigint", parents = ["run -> runs.id"] }
notes = { parents = ["task -> tasks.id"] }

[rules.runs]
strategy   = "end-time"
root       = "runs"
candidates = { called = 0 }
final      = { state = "done" }
end_time   = "ended"
hierarchy  = ["calls: caller -> called"]
retention  = { default = "30d" }
"#;

const SCHEMA: &str = "CREATE TABLE runs (id bigint PRIMARY KEY, called integer NOT NULL, state varchar(20), ended timestamp NULL);
CREATE TABLE calls (caller bigint NOT NULL, called bigint NOT NULL, PRIMARY KEY (caller, called));
CREATE TABLE tasks (id bigint PRIMARY KEY, run bigint NOT NULL);
CREATE TABLE notes (id bigint PRIMARY KEY, task bigint NOT NULL);
";

fn count(installation: &mut Installation, table: &str) -> i64 {
    installation.number(&format!("SELECT COUNT(*) FROM {table}"))
}

fn a_family_a_thousand_calls_deep_goes_whole_or_stays(dialect: Dialect) {
    const DEPTH: i64 = 1_000;
    let mut installation = Installation::of(dialect, SCHEMA, &graph_of(SPEC));
    let series = numbers(dialect, DEPTH);
    // The deepest member of the second family is still running.
    for first in [0, DEPTH] {
        installation.execute(&format!(
            "INSERT INTO runs (id, called, state, ended)
             SELECT {first} + n, CASE WHEN n = 1 THEN 0 ELSE 1 END, 'done', '2025-01-01 00:00:00' FROM {series}"
        ));
        installation.execute(&format!(
            "INSERT INTO calls (caller, called) SELECT {first} + n, {first} + n + 1 FROM {series} WHERE n < {DEPTH}"
        ));
        installation.execute(&format!(
            "INSERT INTO tasks (id, run) SELECT {first} + n, {first} + n FROM {series}"
        ));
    }
    installation.execute(&format!(
        "UPDATE runs SET state = 'running', ended = NULL WHERE id = {}",
        2 * DEPTH
    ));
    installation.arm();
    let preview = installation.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], 1, "{preview}");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(
        run["rules"][0]["tables"],
        json!({"calls": DEPTH - 1, "notes": 0, "tasks": DEPTH, "runs": DEPTH}),
        "{run}"
    );
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"NON_FINAL_MEMBER": 1}),
        "{run}"
    );
    for (table, left) in [("runs", DEPTH), ("calls", DEPTH - 1), ("tasks", DEPTH)] {
        assert_eq!(count(&mut installation, table), left, "{table}");
    }
    assert_eq!(installation.number("SELECT MIN(id) FROM runs"), DEPTH + 1);
}

fn a_family_of_very_many_rows_goes_whole(dialect: Dialect) {
    let rows = effort::size(20_000, 1_000_000);
    let mut installation = Installation::of(dialect, SCHEMA, &graph_of(SPEC));
    // One family with very many rows between two small ones; the last is too young.
    installation.execute(
        "INSERT INTO runs (id, called, state, ended)
         VALUES (1, 0, 'done', '2025-01-01 00:00:00'), (2, 0, 'done', '2025-01-02 00:00:00'), (3, 0, 'done', CURRENT_TIMESTAMP)",
    );
    let half = rows / 2;
    installation.execute(&format!(
        "INSERT INTO tasks (id, run) SELECT n, 2 FROM {}",
        numbers(dialect, half)
    ));
    installation.execute("INSERT INTO notes (id, task) SELECT id, id FROM tasks");
    installation.execute(&format!(
        "INSERT INTO tasks (id, run) VALUES ({}, 1), ({}, 3)",
        half + 1,
        half + 2
    ));
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert_eq!(
        run["rules"][0]["tables"],
        json!({"calls": 0, "notes": half, "tasks": half + 1, "runs": 2}),
        "{run}"
    );
    assert_eq!(count(&mut installation, "notes"), 0);
    assert_eq!(installation.number("SELECT id FROM tasks"), half + 2);
    assert_eq!(installation.number("SELECT id FROM runs"), 3);
}

fn a_spec_of_very_many_tables_is_installed_and_runs(dialect: Dialect) {
    let tables = effort::size(60, 500);
    let mut spec = "name = \"wide\"\n\n[tables]\nt0 = { key = \"id bigint\" }\n".to_owned();
    let mut schema = "CREATE TABLE t0 (id bigint PRIMARY KEY, parent bigint, state varchar(20), ended timestamp NULL);\n".to_owned();
    for table in 1..tables {
        let parent = (table - 1) / 3;
        let _ = writeln!(
            spec,
            "t{table} = {{ key = \"id bigint\", parents = [\"parent -> t{parent}.id\"] }}"
        );
        let _ = writeln!(
            schema,
            "CREATE TABLE t{table} (id bigint PRIMARY KEY, parent bigint NOT NULL);"
        );
    }
    spec += "
[rules.all]
strategy  = \"end-time\"
root      = \"t0\"
final     = { state = \"done\" }
end_time  = \"ended\"
retention = { default = \"30d\" }
";
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    installation.execute(
        "INSERT INTO t0 (id, state, ended) VALUES (1, 'done', '2025-01-01 00:00:00'), (2, 'done', CURRENT_TIMESTAMP)",
    );
    for table in 1..tables {
        installation.execute(&format!(
            "INSERT INTO t{table} (id, parent) VALUES (1, 1), (2, 2)"
        ));
    }
    installation.arm();
    let preview = installation.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["rows"], tables, "{preview}");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["tables"], preview["rules"][0]["tables"]);
    assert_eq!(
        (&run["rules"][0]["families"], &run["rules"][0]["rows"]),
        (&json!(1), &json!(tables)),
        "{run}"
    );
    let left: Vec<String> = (0..tables)
        .map(|table| format!("SELECT id FROM t{table}"))
        .collect();
    let left = format!(
        "SELECT COUNT(*) * 10 + MIN(id) FROM ({}) AS a",
        left.join(" UNION ALL ")
    );
    assert_eq!(installation.number(&left), tables * 10 + 2);
    let verify = installation.call("verify", json!({})).expect("verify");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A run that says how many files could not be removed looked at all that wait.
fn a_run_does_not_read_the_files_that_wait(dialect: Dialect) {
    const WAITING: i64 = 20_000;
    let schema = SCHEMA.replacen(
        "called integer NOT NULL,",
        "called integer NOT NULL, log varchar(200),",
        1,
    );
    let spec = format!(
        "{SPEC}artifacts  = [{{ table = \"runs\", path = \"log\" }}]\n\n[rules.runs.report.run]\nfailed = \"artifact_failures\"\n\n[rules.runs.report.preview]\nfailed = \"artifact_failures\"\n"
    );
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    installation.arm();
    let mut read = |files: i64| -> i64 {
        if files > 0 {
            let waiting = format!(
                "INSERT INTO W.artifact (run_id, rule, path) SELECT 1, 'runs', 'x' FROM {}",
                numbers(dialect, files)
            );
            let waiting = installation.named(&waiting);
            installation.execute(&waiting);
        }
        let count = |installation: &mut Installation| match dialect {
            Dialect::Postgres => {
                installation.execute("SELECT pg_stat_force_next_flush()");
                let scanned = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'W.artifact'::regclass";
                let scanned = installation.named(scanned);
                installation.number(&scanned)
            }
            Dialect::Mysql | Dialect::Mariadb => installation.handled("read"),
        };
        if dialect == Dialect::Postgres {
            let analysed = installation.named("ANALYZE W.artifact");
            installation.execute(&analysed);
        }
        installation.run(json!({})).expect("a run");
        let before = count(&mut installation);
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["rules"][0]["failed"], 0, "{run}");
        count(&mut installation) - before
    };
    let (none, many) = (read(0), read(WAITING));
    assert!(
        many < none + WAITING / 10,
        "{many} with files, {none} without"
    );
    // Also what nobody claimed before.
    let first = installation.named("SELECT MIN(artifact_id) FROM W.artifact");
    let first = installation.number(&first);
    let call = match dialect {
        Dialect::Postgres => "SELECT",
        Dialect::Mysql | Dialect::Mariadb => "CALL",
    };
    let failed = installation.named(&format!(
        "{call} W.finish_artifact({first}, 'no such host')"
    ));
    installation.execute(&failed);
    let preview = installation.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["failed"], 1, "{preview}");
}

/// Each batch of a preview wrote down anew what the batches before it took.
fn a_preview_writes_of_each_family_once(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut installation = Installation::of(dialect, SCHEMA, &graph_of(SPEC));
    installation
        .set_setting("batch_families", 5)
        .expect("a setting");
    let mut written = |families: i64| -> i64 {
        installation.execute(&format!(
            "REPLACE INTO runs (id, called, state, ended) SELECT n, 0, 'done', '2025-01-01 00:00:00' FROM {}",
            numbers(dialect, families)
        ));
        let before = installation.handled("write");
        let preview = installation.preview(json!({})).expect("a preview");
        assert_eq!(preview["rules"][0]["families"], families, "{preview}");
        installation.handled("write") - before
    };
    let (few, many) = (written(200), written(400));
    assert!(many < few * 5 / 2, "{many} for 400 families, {few} for 200");
}

/// Each batch wrote down every hold of its rule, and looked each up among its rows.
fn a_batch_does_not_write_down_every_hold(flavour: Flavour) {
    const HOLDS: i64 = 500;
    let dialect = dialect_of(flavour);
    let written = |holds: i64| -> i64 {
        let mut installation = Installation::of(dialect, SCHEMA, &graph_of(SPEC));
        installation.arm();
        installation
            .set_setting("batch_families", 5)
            .expect("a setting");
        installation.execute(&format!(
            "INSERT INTO runs (id, called, state, ended) SELECT n, 0, 'done', '2025-01-01 00:00:00' FROM {}",
            numbers(dialect, 250)
        ));
        // All but one are of families that there are not yet.
        let held = format!(
            "INSERT INTO W.hold (rule, \"key\", reason) SELECT 'runs', 249 + n, 'audit' FROM {}",
            numbers(dialect, holds)
        );
        let held = installation.named(&held);
        installation.execute(&held);
        let before = installation.handled("write");
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["rules"][0]["families"], 249, "{run}");
        assert_eq!(run["rules"][0]["skipped"], json!({"HELD": 1}), "{run}");
        installation.handled("write") - before
    };
    let (one, many) = (written(1), written(HOLDS));
    assert!(
        many < one + 2 * HOLDS,
        "{many} with {HOLDS} holds, {one} with one"
    );
}
