//! The parts of runs and purges, called by hand by an operator: nothing goes that no ledger shows.

use anyhow::Result;
use serde_json::json;
use windrow::dialect::Dialect;
use windrow::failure;

use crate::harness::tests;
use crate::rights::user;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session};

tests! {
    on_postgres: [
        a_purge_by_parts_takes_what_it_was_told,
        a_part_of_a_run_leaves_the_runs_of_others_alone,
        no_step_prunes_what_is_too_young,
    ],
}

const SPEC: &str = r#"
name = "unnamed"

[tables]
job  = { key = "id bigint" }
task = { key = "id bigint" }
line = { key = "place bigint, word varchar" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d" }
archive   = true

[rules.tasks]
strategy  = "end-time"
root      = "task"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d" }

[rules.lines]
strategy = "expiry"
root     = "line"
time     = "ended timestamp"
"#;

const SCHEMA: &str = "
CREATE TABLE job (id bigint PRIMARY KEY, state text, ended timestamp);
CREATE TABLE task (id bigint PRIMARY KEY, state text, ended timestamp);
CREATE TABLE line (place bigint, word varchar(20), ended timestamp, PRIMARY KEY (place, word));
CREATE INDEX line_ended ON line (ended);
INSERT INTO job SELECT n, 'done', '2020-01-01' FROM generate_series(1, 50) AS n;
INSERT INTO task SELECT n, 'done', '2020-01-01' FROM generate_series(1, 50) AS n;
INSERT INTO line SELECT n, 'a \"word\"', '2020-01-01' FROM generate_series(1, 5) AS n";

fn database() -> Installation {
    let mut windrow = Installation::of(Dialect::Postgres, SCHEMA, &graph_of(SPEC));
    windrow.arm();
    windrow
}

/// What an operator asks, as text.
fn ask(windrow: &Installation, session: &mut Session, sql: &str) -> Result<String> {
    let sql = sql.replace("W.", &format!("{}.", windrow.control));
    let rows = session.query(&sql, &[])?;
    Ok(rows
        .first()
        .and_then(|row| row[0].clone())
        .unwrap_or_default())
}

#[track_caller]
fn refused(windrow: &Installation, session: &mut Session, sql: &str) {
    let error = ask(windrow, session, sql).expect_err(sql);
    assert_eq!(failure::sqlstate(&error), Some("55000"), "{sql}: {error:#}");
}

fn a_purge_by_parts_takes_what_it_was_told() {
    let mut windrow = database();
    let mut olga = user(&mut windrow, Some("operator"));
    let begin = r#"SELECT W.purge_begin('{"rule": "jobs", "key": ["7", 8, "999"]}')"#;
    let run = ask(&windrow, &mut olga, begin).expect("a purge");
    for call in [
        "W.purge_one(RUN, 'tasks', ARRAY['7'], true)",
        "W.purge_one(RUN, 'jobs', ARRAY['1'], true)",
        "W.purge_one(RUN, 'jobs', ARRAY['7', '1'], false)",
        "W.purge_one(RUN, 'jobs', ARRAY['7', NULL], false)",
        "W.purge_one(RUN, 'jobs', NULL, false)",
        "W.purge_one(RUN, 'none', ARRAY['7'], true)",
        // Nor is it a run.
        "W.step(RUN, 'jobs')",
        "W.begin_rule(RUN, 'jobs')",
    ] {
        refused(
            &windrow,
            &mut olga,
            &format!("SELECT {}", call.replace("RUN", &run)),
        );
    }
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 50);
    for keys in ["'7'", "'8', '999'"] {
        let call = format!("SELECT W.purge_one({run}, 'jobs', ARRAY[{keys}], false)::text");
        ask(&windrow, &mut olga, &call).expect("what was named");
    }
    let end = format!("SELECT W.purge_end({run}, '{{}}', '{{}}', '{{}}')");
    ask(&windrow, &mut olga, &end).expect("an end");
    ask(&windrow, &mut olga, "SELECT 1::text FROM W.run_unlock()").expect("no lock");
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 48);
    assert_eq!(windrow.number("SELECT count(*) FROM task"), 50);
    let noted = windrow.number("SELECT sum(deleted_rows) FROM W.run_rule");
    assert_eq!(noted, 2);
    // Whoever names them as the spec and JSON allow is understood.
    for (rule, key, left) in [
        ("jobs", json!([10, "11", 11, 12]), 45),
        (
            "lines",
            json!([[1, "a \"word\""], "[2, \"a \\\"word\\\"\"]"]),
            3,
        ),
    ] {
        let purge = windrow
            .purge(json!({"rule": rule, "key": key}))
            .expect("a purge");
        assert_eq!(purge["status"], "done", "{purge}");
        let table = rule.trim_end_matches('s');
        assert_eq!(
            windrow.number(&format!("SELECT count(*) FROM {table}")),
            left,
            "{purge}"
        );
    }
}

fn a_part_of_a_run_leaves_the_runs_of_others_alone() {
    let mut windrow = database();
    let mut olga = user(&mut windrow, Some("operator"));
    let mut other = windrow.connect();
    let options = [
        r#"{"dry_run": true}"#,
        r#"{"retention": "40d", "rule": "jobs"}"#,
        r#"{"as_of": "2026-01-01", "rule": "jobs"}"#,
        "{}",
    ];
    let state = "SELECT json_agg(to_json(r) ORDER BY r.run_id, r.rule)::text FROM W.run_rule AS r";
    for options in options {
        let begin = format!("SELECT o_run FROM W.run_begin('{options}')");
        let run = ask(&windrow, &mut other, &begin).expect("a run");
        let before = windrow.texts(state);
        let call = format!("SELECT W.begin_rule({run}, 'jobs')");
        let told = ask(&windrow, &mut olga, &call).expect("an answer");
        assert_eq!(told, "the run was ended from outside", "{options}");
        assert_eq!(windrow.texts(state), before, "{options}");
        let end = format!("SELECT W.run_end({run}, ARRAY['nothing left'])");
        ask(&windrow, &mut other, &end).expect("an end");
        ask(&windrow, &mut other, "SELECT 1::text FROM W.run_unlock()").expect("no lock");
        // Nor one that is over.
        let before = windrow.texts(state);
        let call = format!("SELECT W.begin_rule({run}, 'jobs')");
        ask(&windrow, &mut other, &call).expect("an answer");
        assert_eq!(windrow.texts(state), before, "{options}");
    }
}

fn no_step_prunes_what_is_too_young() {
    let mut windrow = database();
    let mut olga = user(&mut windrow, Some("operator"));
    let archived = windrow.run(json!({"rule": "jobs"})).expect("a run")["run"].clone();
    let days = json!({"rule": "jobs", "name": "archive_days", "value": 30});
    windrow.call("set_setting", days).expect("a setting");
    let begin = r#"SELECT o_run FROM W.run_begin('{"rule": "tasks"}')"#;
    let run = ask(&windrow, &mut olga, begin).expect("a run");
    let steps = ["1, 0", "2, 0"];
    for step in steps {
        let call = format!(
            "SELECT o_rows FROM W.archive_step({run}, NULL, clock_timestamp() - interval '31 days', {archived}, {step})"
        );
        refused(&windrow, &mut olga, &call);
    }
    // Nor is anything dropped that a run is still adding to.
    let call = format!("SELECT o_rows FROM W.archive_step(0, {run}, NULL, {run}, 1, 0)");
    refused(&windrow, &mut olga, &call);
    let end = format!("SELECT W.run_end({run}, ARRAY['nothing left'])");
    ask(&windrow, &mut olga, &end).expect("an end");
    ask(&windrow, &mut olga, "SELECT 1::text FROM W.run_unlock()").expect("no lock");
    assert_eq!(windrow.number("SELECT count(*) FROM W.archive_job"), 50);
    // What is old enough is pruned as ever.
    windrow.execute("UPDATE W.archive_job SET windrow_archived_at = '2020-01-01'");
    windrow.run(json!({"rule": "tasks"})).expect("a run");
    assert_eq!(windrow.number("SELECT count(*) FROM W.archive_job"), 0);
}
