//! Rules of rows that follow no time, on tables with more rows than are counted: what is due lies behind these.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use windrow::answers;
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::report;

use super::{figures, rule};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, apply, numbers};

tests! {
    every_server: [
        what_lies_behind_the_counted_rows_is_planned,
        of_rows_that_were_not_counted_nothing_is_said,
    ],
}

const SPEC: &str = r#"
name = "uncounted"

[tables]
note    = { key = "id bigint" }
attempt = { key = "id bigint" }

[rules.notes]
strategy = "orphan"
root     = "note"
needs    = ["asset_id -> asset.id"]
at_once  = true

[rules.attempts]
strategy = "keep-last"
root     = "attempt"
keep     = { newest = 1, per = "kind bigint", by = "id bigint" }
"#;

const RULES: [&str; 2] = ["notes", "attempts"];

/// How many rows that stay lie before those that are due, and how many these are.
const BEFORE: i64 = 300;
const DUE: i64 = 60;

/// Of the attempts, three that are due are among the first.
const FIRST: i64 = 3;

fn filled(dialect: Dialect) -> Installation {
    let schema = "CREATE TABLE asset (id bigint PRIMARY KEY);
        CREATE TABLE note (id bigint PRIMARY KEY, asset_id bigint NOT NULL);
        CREATE TABLE attempt (id bigint PRIMARY KEY, kind bigint NOT NULL);\n";
    let mut installation = Installation::of(dialect, schema, &graph_of(SPEC));
    installation.arm();
    let (before, due) = (numbers(dialect, BEFORE), numbers(dialect, DUE));
    for sql in [
        "INSERT INTO asset VALUES (1)".to_owned(),
        format!("INSERT INTO note SELECT n, 1 FROM {before}"),
        format!("INSERT INTO note SELECT {BEFORE} + n, 2 FROM {due}"),
        format!("INSERT INTO attempt SELECT n, n FROM {before}"),
        format!("INSERT INTO attempt SELECT {BEFORE} + n, {BEFORE} + 1 FROM {due}"),
        format!("INSERT INTO attempt VALUES ({BEFORE} + {DUE} + 1, {BEFORE} + 1)"),
        format!(
            "INSERT INTO attempt SELECT 1000 + n, 5 FROM {}",
            numbers(dialect, FIRST)
        ),
    ] {
        installation.execute(&sql);
    }
    installation
}

/// What the binary plans.
fn plan(installation: &Installation, words: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.toml");
    let name = installation.control.replacen("windrow_", "", 1);
    let named = format!("name = \"{name}\"\ndatabase = \"{}\"", installation.name);
    fs::write(&spec, SPEC.replace("name = \"uncounted\"", &named)).expect("a spec");
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .arg("plan")
        .arg(&spec)
        .args(["--quiet", "--url", &installation.superuser()])
        .args(words)
        .output()
        .expect("windrow starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

fn document(installation: &Installation, words: &[&str]) -> Value {
    let out = plan(installation, &[&["--output", "json"], words].concat());
    serde_json::from_str(&out).expect("a document")
}

const FIGURES: [&str; 4] = ["due_families", "families", "rows", "sampled_families"];

fn what_lies_behind_the_counted_rows_is_planned(dialect: Dialect) {
    let installation = filled(dialect);

    // Among the first hundred rows nothing is due, or three; a preview comes upon ten, and ends there.
    let some = document(&installation, &["--count", "100", "--sample", "10"]);
    for name in RULES {
        let some = rule(&some, name);
        assert_eq!(figures(some, FIGURES), [10.0; 4], "{some:#}");
        assert_eq!(some["due_complete"], false, "{some:#}");
        assert_eq!(some["runs"], 1, "{some:#}");
    }
    assert_eq!(figures(&some["total"], ["families", "rows"]), [20.0; 2]);
    let table = |name: &str| {
        some["tables"]
            .as_array()
            .expect("tables")
            .iter()
            .any(|it| it["table"] == name)
    };
    assert!(table("note") && table("attempt"), "{some:#}");
    let text = plan(&installation, &["--count", "100", "--sample", "10"]);
    for line in [
        "10 at least",
        "counted among the first 100 rows of the table; there may be more (`--count`)",
    ] {
        assert_eq!(text.matches(line).count(), 2, "{line}: {text}");
    }

    // One that comes to the end has seen everything.
    let all = document(&installation, &["--count", "100", "--sample", "100"]);
    for (name, due) in [("notes", DUE), ("attempts", DUE + FIRST)] {
        let all = rule(&all, name);
        let [due_families, families, rows] = figures(all, ["due_families", "families", "rows"]);
        assert_eq!([due_families, families, rows], [due as f64; 3], "{all:#}");
        assert!(
            all["exact"] == true && all["due_complete"] == true,
            "{all:#}"
        );
    }
}

/// Counts a hundred rows, and twenty in a scrape, instead of a million and of 10,000.
fn counts_less(installation: &mut Installation) {
    let mut bundle = installation.bundle(&graph_of(SPEC));
    let mut places = 0;
    for statement in bundle
        .files
        .iter_mut()
        .flat_map(|file| &mut file.statements)
    {
        let made = statement.what.to_string();
        for (what, from, to) in [
            ("count_backlog", "1000000", "100"),
            ("left_by", "1000000", "100"),
            ("backlog", "due_now(10000)", "due_now(20)"),
            ("due_now", "10000", "20"),
        ] {
            let is_it = made.starts_with("create ") && made.ends_with(what);
            if is_it && statement.sql.contains(from) {
                statement.sql = statement.sql.replace(from, to);
                places += 1;
            }
        }
    }
    assert!(places >= 2, "{places}");
    apply(&mut installation.session, &bundle);
    installation.arm();
}

/// What `status` says of a rule.
fn told(installation: &mut Installation, rule: &str) -> String {
    let calls = Calls::new(installation.dialect, &installation.control, "uncounted");
    let status = installation.document(&calls.status(), "uncounted");
    let screen = report::status(&answers::read("status", &status).expect("a status"));
    let mut lines = screen.lines();
    let line = lines.find(|line| line.split_whitespace().next() == Some(rule));
    line.unwrap_or_else(|| panic!("{screen}")).to_owned()
}

/// The metrics of all rules, by their names.
fn metrics(installation: &mut Installation) -> Vec<String> {
    installation.texts("SELECT DISTINCT m.name FROM W.metrics AS m")
}

fn of_rows_that_were_not_counted_nothing_is_said(dialect: Dialect) {
    let mut installation = filled(dialect);
    counts_less(&mut installation);
    installation.execute("DELETE FROM attempt WHERE id > 1000");
    let says = |installation: &mut Installation, due: &str, verdict: &str| {
        for rule in RULES {
            let line = told(installation, rule);
            let counted = line
                .split_whitespace()
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ");
            assert!(counted.starts_with(due) && line.contains(verdict), "{line}");
        }
    };
    says(
        &mut installation,
        "0 at least",
        "no run has examined everything",
    );
    let one = json!({"run_families": 1});
    for _ in 0..2 {
        installation.run(one.clone()).expect("a run");
        installation.execute(match dialect {
            Dialect::Postgres => {
                "UPDATE W.run_backlog SET counted_at = counted_at - interval '1 hour'"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "UPDATE W.run_backlog SET counted_at = counted_at - INTERVAL 1 HOUR"
            }
        });
    }
    says(
        &mut installation,
        "0 at least",
        "not yet: too many to count how many become due",
    );
    let seen = metrics(&mut installation);
    let has = |name: &str| seen.iter().any(|it| it == name);
    assert!(
        has("windrow_backlog_families") && has("windrow_deleted_families_per_hour"),
        "{seen:?}"
    );
    for name in [
        "windrow_backlog_counted_timestamp_seconds",
        "windrow_due_families_per_hour",
    ] {
        assert!(!has(name), "{name}: {seen:?}");
    }
    installation.run(json!({})).expect("a run");
    // On PostgreSQL such a run knows what it left.
    let (due, verdict) = match dialect {
        Dialect::Postgres => ("0 ", "yes: nothing is due"),
        Dialect::Mysql | Dialect::Mariadb => (
            "0 at least",
            "yes: the last run left nothing that may be deleted",
        ),
    };
    says(&mut installation, due, verdict);
    // Few enough to be counted by a run, and then by a scrape.
    for left in [50, 10] {
        installation.execute(&format!("DELETE FROM note WHERE id > {left}"));
        installation.execute(&format!("DELETE FROM attempt WHERE id > {left}"));
        installation.run(json!({})).expect("a run");
        says(&mut installation, "0 ", "yes: nothing is due");
        for rule in RULES {
            assert!(!told(&mut installation, rule).contains("at least"));
        }
    }
}
