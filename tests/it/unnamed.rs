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
        what_a_purge_may_take_is_noted_once,
        what_no_key_is_to_blame_for_ends_a_purge,
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

/// Where many keys are named, no call reads all of them. What is noted is gone with the purge, or with the next one that begins.
fn what_a_purge_may_take_is_noted_once() {
    let mut windrow = database();
    let mut olga = user(&mut windrow, Some("operator"));
    let begin = r#"SELECT W.purge_begin('{"rule": "jobs", "key": [7, "8", 9], "force": true}')"#;
    let run = ask(&windrow, &mut olga, begin).expect("a purge");
    windrow.execute(&format!(
        "UPDATE W.run SET options = '{{}}' WHERE run_id = {run}"
    ));
    for (keys, again) in [("'7'", true), ("'8', '9'", false)] {
        let call = format!("SELECT W.purge_one({run}, 'jobs', ARRAY[{keys}], {again})::text");
        let told = ask(&windrow, &mut olga, &call).expect("what was named");
        assert!(told.contains("NULL"), "{told}");
    }
    refused(
        &windrow,
        &mut olga,
        &format!("SELECT W.purge_one({run}, 'jobs', ARRAY['10'], true)"),
    );
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 47);
    // Nobody else ends it.
    let end = format!("SELECT W.purge_end({run}, '{{}}', '{{}}', '{{}}')");
    let mut other = windrow.connect();
    ask(&windrow, &mut other, &end).expect("an answer");
    assert_eq!(windrow.number("SELECT count(*) FROM W.run_key"), 3);
    ask(&windrow, &mut olga, &end).expect("an end");
    assert_eq!(windrow.number("SELECT count(*) FROM W.run_key"), 0);
    ask(&windrow, &mut olga, "SELECT 1::text FROM W.run_unlock()").expect("no lock");
    ask(&windrow, &mut olga, begin).expect("a purge");
    let session = olga.session().expect("a session has a number");
    drop(olga);
    windrow.until_gone(session);
    let purge = windrow.purge(json!({"rule": "jobs", "key": [11]}));
    assert_eq!(purge.expect("a purge")["status"], "done");
    assert_eq!(windrow.number("SELECT count(*) FROM W.run_key"), 0);
}

/// The ledger says once why, and of none of the keys that it failed.
fn what_no_key_is_to_blame_for_ends_a_purge() {
    let mut windrow = database();
    windrow.execute(
        r#"CREATE FUNCTION changes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             UPDATE W.catalog_state AS s SET state = jsonb_set(s.state, '{table job}', '"1 id"');
             RETURN NULL;
         END $$;
         CREATE TRIGGER changes AFTER DELETE ON job FOR EACH ROW WHEN (OLD.id > 2) EXECUTE FUNCTION changes()"#,
    );
    let keys: Vec<i64> = (1..=9).collect();
    let error = windrow
        .purge(json!({"rule": "jobs", "key": keys}))
        .expect_err("another table");
    let told = "catalog changed: table job is another one";
    assert!(format!("{error:#}").contains(told), "{error:#}");
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 48);
    let ended = windrow.texts("SELECT concat_ws(' ', status, reason) FROM W.run");
    assert!(
        ended.len() == 1 && ended[0].starts_with(&format!("failed error WD001: {told}")),
        "{ended:?}"
    );
    let noted = windrow.number(
        "SELECT (SELECT count(*) FROM W.run_failure) + (SELECT count(*) FROM W.run_skip) + (SELECT count(*) FROM W.run_key)",
    );
    assert_eq!(noted, 0);
    windrow.execute("DROP TRIGGER changes ON job");
    let purge = windrow.purge(json!({"rule": "jobs", "key": keys}));
    assert_eq!(purge.expect("a purge")["status"], "done");
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 41);
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
