//! The spec changes, and what earlier runs archived can still be listed, dropped, pruned and restored.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::refused;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

tests! {
    every_server: [
        a_run_is_restored_whatever_the_spec_archives_since,
        a_table_that_is_not_archived_any_more_is_not_forgotten,
        what_comes_back_is_held_without_an_end,
    ],
    on_postgres: [
        a_hold_that_is_set_during_a_restoration_waits_for_nothing,
    ],
    each_server: [
        what_is_dropped_during_a_restoration_undoes_it,
        what_an_earlier_spec_archived_is_still_written,
        who_reads_the_ledger_reads_no_archive_of_an_earlier_spec,
        what_is_left_of_an_archive_is_windrows,
    ],
}

const SCHEMA: &str = "
CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended timestamp NULL, told timestamp NULL);
CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint);
CREATE TABLE part (id bigint PRIMARY KEY, step_id bigint);
CREATE TABLE gate (id bigint PRIMARY KEY, goes bigint)";

/// Job 1 is due with two steps and four parts; so is whatever is loaded again.
const JOB: &str = "
INSERT INTO job VALUES (1, 'done', '2020-01-01', NULL);
INSERT INTO step VALUES (1, 1), (2, 1);
INSERT INTO part VALUES (1, 1), (2, 1), (3, 2), (4, 2)";

/// Rules of jobs, by their names and what they archive; one is by end, the other takes what is told.
fn graph(rule: &str, archive: &str, told: &str) -> Graph {
    graph_of(&format!(
        r#"
name = "changes"
archive_days = 400
[tables]
job  = {{ key = "id bigint" }}
step = {{ key = "id bigint", parents = ["job_id -> job.id"] }}
part = {{ key = "id bigint", parents = ["step_id -> step.id"] }}
[rules.{rule}]
strategy  = "end-time"
root      = "job"
final     = {{ state = "done" }}
end_time  = "ended"
retention = {{ default = "30d" }}
archive   = {archive}
[rules.told]
strategy  = "expiry"
root      = "job"
time      = "told"
archive   = {told}
"#
    ))
}

/// The spec archives nothing any more: its tables are still there, with what checks their rows.
fn what_is_left_of_an_archive_is_windrows(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    let none = graph("jobs", "false", "false");
    windrow.install(&none);
    let left = windrow.number("SELECT COUNT(*) FROM W.unarchived");
    assert_eq!(left, 0);
    let verify = windrow.call("verify", json!({})).expect("verify");
    let mut wrong = violations(&verify);
    wrong.retain(|it| it["check"] != "schedule");
    assert!(wrong.is_empty(), "{dialect:?}: {wrong:?}");
    if dialect == Dialect::Postgres {
        assert_eq!(windrow.deviations(&none), [""; 0]);
    }
}

fn run(windrow: &mut Installation) -> i64 {
    let run = windrow.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    windrow.execute("DELETE FROM W.hold");
    run["run"].as_i64().expect("a number")
}

/// What the run of an earlier version noted.
fn forget(windrow: &mut Installation) {
    windrow.execute(match windrow.dialect {
        Dialect::Postgres => "UPDATE W.run_rule SET archived = NULL",
        Dialect::Mysql | Dialect::Mariadb => "UPDATE W.run_table SET archived = NULL",
    });
}

fn clear(windrow: &mut Installation) {
    windrow.execute("DELETE FROM part; DELETE FROM step; DELETE FROM job; DELETE FROM W.hold");
}

fn restore(windrow: &mut Installation, options: Value) -> Value {
    let said = options.to_string();
    let back = windrow.call("archive_restore", options);
    back.unwrap_or_else(|error| panic!("{said}: {error:#}"))
}

/// The tables that come back, and those that do not.
fn came(back: &Value) -> (Value, Value) {
    (back["tables"].clone(), back["not_archived"].clone())
}

fn a_run_is_restored_whatever_the_spec_archives_since(dialect: Dialect) {
    let all = json!({"job": 1, "step": 2, "part": 4});
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    // What a run archives, and what the spec says later, under which name.
    let cases = [
        (
            ["[\"job\"]", "[\"job\"]"],
            ["jobs", "true", "true"],
            json!({"job": 1}),
            json!(["part", "step"]),
        ),
        (
            ["true", "[\"job\"]"],
            ["jobs", "true", "true"],
            all.clone(),
            json!([]),
        ),
        (
            ["[\"job\", \"step\"]", "true"],
            ["works", "true", "true"],
            json!({"job": 1, "step": 2}),
            json!(["part"]),
        ),
        (
            ["true", "[\"job\"]"],
            ["works", "true", "[\"job\"]"],
            all,
            json!([]),
        ),
    ];
    for (how, (first, then, tables, lost)) in cases.into_iter().enumerate() {
        let case = format!("{first:?} {then:?}");
        let [rule, archive, told] = then;
        windrow.install(&graph("jobs", first[0], first[1]));
        windrow.arm();
        windrow.execute(JOB);
        let number = run(&mut windrow);
        windrow.install(&graph(rule, archive, told));
        // As a whole; where an earlier version did not note what the run archives; and by its key.
        let mut options = json!({"run": number});
        match how % 3 {
            0 => {}
            1 => forget(&mut windrow),
            _ => {
                options["rule"] = json!(rule);
                options["key"] = json!([1]);
            }
        }
        let back = restore(&mut windrow, options);
        assert_eq!(came(&back), (tables, lost), "{case}: {back}");
        clear(&mut windrow);
    }
    // A table between two that are archived: by keys nothing leads from one to the other.
    windrow.install(&graph("jobs", "[\"job\", \"part\"]", "[\"job\"]"));
    windrow.arm();
    windrow.execute(JOB);
    let number = run(&mut windrow);
    windrow.install(&graph("works", "true", "[\"job\"]"));
    let options = json!({"run": number, "rule": "works", "key": [1]});
    let error = refused(windrow.call("archive_restore", options));
    assert!(
        error.contains("did not archive") && error.contains("step"),
        "{error}"
    );
    // Nobody takes copies away.
    windrow.execute("DELETE FROM W.archive_part WHERE id = 4");
    for forgets in [false, true] {
        if forgets {
            forget(&mut windrow);
        }
        let error = refused(windrow.call("archive_restore", json!({"run": number})));
        assert!(error.contains("is incomplete: table part"), "{error}");
    }
}

fn a_table_that_is_not_archived_any_more_is_not_forgotten(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    let first = run(&mut windrow);
    windrow.execute(JOB);
    let second = run(&mut windrow);
    let less = graph("jobs", "[\"job\"]", "[\"job\"]");
    windrow.install(&less);
    windrow.arm();
    assert_eq!(windrow.deviations(&less), [""; 0]);
    let list = windrow
        .call("archive_list", json!({"run": first}))
        .expect("a list");
    assert_eq!(
        list["runs"][0]["tables"],
        json!({"job": 1, "step": 2, "part": 4}),
        "{list}"
    );

    // Its rows are neither lost nor left behind.
    for options in [
        json!({"run": first}),
        json!({"run": first, "rule": "jobs", "key": [1]}),
    ] {
        let error = refused(windrow.call("archive_restore", options));
        assert!(
            error.contains("part") && error.contains("does not archive"),
            "{error}"
        );
    }
    windrow.install(&graph("jobs", "true", "[\"job\"]"));
    let back = restore(&mut windrow, json!({"run": first}));
    assert_eq!(
        came(&back),
        (json!({"job": 1, "step": 2, "part": 4}), json!([])),
        "{back}"
    );
    clear(&mut windrow);

    // A run of the spec as it is now does not need it.
    windrow.install(&less);
    windrow.arm();
    windrow.execute(JOB);
    let third = run(&mut windrow);
    let back = restore(&mut windrow, json!({"run": third}));
    assert_eq!(
        came(&back),
        (json!({"job": 1}), json!(["part", "step"])),
        "{back}"
    );
    clear(&mut windrow);

    // It is pruned, and dropped.
    let old = "2020-01-01 00:00:00";
    for table in ["job", "step", "part"] {
        windrow.execute(&format!("UPDATE W.archive_{table} SET windrow_archived_at = '{old}' WHERE windrow_run_id = {second}"));
    }
    let pruned = windrow.run(json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], 7, "{pruned}");
    windrow.install(&graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    let last = run(&mut windrow);
    windrow.install(&less);
    windrow.arm();
    // A table that somebody has dropped is in nobody's way.
    windrow.execute("DROP TABLE W.archive_step CASCADE");
    run(&mut windrow);
    let dropped = windrow
        .call("archive_drop", json!({"run": last}))
        .expect("a drop");
    assert_eq!(dropped["rows"], 5, "{dropped}");
    run(&mut windrow);
    let list = windrow.call("archive_list", json!({})).expect("a list");
    assert_eq!(list["rows"], 0, "{list}");
}

fn what_is_dropped_during_a_restoration_undoes_it(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    windrow.execute("INSERT INTO gate VALUES (1, 0)");
    let number = run(&mut windrow);
    // Between the look at what there is and the list of what comes back.
    let (name, control) = (windrow.name.clone(), windrow.control.clone());
    windrow.execute(&match dialect {
        Dialect::Postgres => "CREATE OR REPLACE FUNCTION W.check_archive(p_rule text) RETURNS void LANGUAGE plpgsql STABLE SECURITY DEFINER AS
             $$ BEGIN PERFORM public.waits(); END $$;
             CREATE FUNCTION public.waits() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'UPDATE public.gate SET goes = 1'".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "DROP PROCEDURE {control}.check_archive; CREATE PROCEDURE {control}.check_archive(IN p_rule varchar(64)) UPDATE {name}.gate SET goes = goes + 1"
        ),
    });
    let mut holder = windrow.connect();
    holder
        .execute("BEGIN; UPDATE gate SET goes = goes + 1")
        .expect("a lock");
    let (runner, _, session) = windrow.call_aside("archive_restore", json!({"run": number}));
    windrow.until_locked("restores", &runner, session);
    // One table of it, by a step of archive_drop().
    let place = windrow.number("SELECT position + 1 FROM W.known_archive WHERE name = 'step'");
    windrow.execute(&match dialect {
        Dialect::Postgres => {
            format!("SELECT W.archive_step(0, {number}, NULL, {number}, {place}, 0)")
        }
        Dialect::Mysql | Dialect::Mariadb => format!(
            "SET @run = {number}, @place = {place}, @after = 0; CALL W.archive_step(0, {number}, NULL, @run, @place, @after, @rows)"
        ),
    });
    assert_eq!(windrow.number("SELECT count(*) FROM W.archive_step"), 0);
    holder.execute("COMMIT").expect("an end");
    let (session, answer) = runner.join().expect("no panic");
    drop(session);
    let error = refused(answer);
    assert!(error.contains("were dropped from the archive"), "{error}");
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 0);
}

/// Both hold the same row. The restoration waits for a table before it is done.
fn a_hold_that_is_set_during_a_restoration_waits_for_nothing() {
    let dialect = Dialect::Postgres;
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    let number = run(&mut windrow);
    let mut holder = windrow.connect();
    holder
        .execute("BEGIN; LOCK TABLE step IN SHARE MODE")
        .expect("a lock");
    let (runner, _, session) = windrow.call_aside("archive_restore", json!({"run": number}));
    windrow.until_locked("restores", &runner, session);
    let hold = json!({"rule": "jobs", "key": 1, "reason": "audit", "until": "2999-01-01T00:00:00Z", "even_if_absent": true});
    windrow.execute("SET lock_timeout = '5s'");
    windrow.set_hold(hold).expect("a hold");
    holder.execute("COMMIT").expect("an end");
    let (session, answer) = runner.join().expect("no panic");
    drop(session);
    let restored = answer.expect("a restoration");
    assert_eq!(restored["holds"], 2, "{restored}");
    let holds =
        windrow.texts("SELECT concat_ws('/', rule, key, reason, until) FROM W.hold ORDER BY rule");
    let by_it = format!("restored from the archive of run {number}");
    assert_eq!(
        holds,
        [format!("jobs/1/audit; {by_it}"), format!("told/1/{by_it}")]
    );
}

/// A spec of the same tables that archives nothing.
const NONE: &str = r#"
[tables]
job  = { key = "id bigint" }
step = { key = "id bigint", parents = ["job_id -> job.id"] }
part = { key = "id bigint", parents = ["step_id -> step.id"] }
[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;

/// The rows of an archive are the application's, also where the spec archives nothing any more.
fn who_reads_the_ledger_reads_no_archive_of_an_earlier_spec(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    run(&mut windrow);
    let none = graph_of(&format!("name = \"changes\"\n{NONE}"));
    let (control, role) = (
        windrow.control.clone(),
        windrow.control.replace("windrow_", "reader_"),
    );
    windrow.execute(&match dialect {
        Dialect::Postgres => format!("CREATE ROLE {role} LOGIN; GRANT {control}_auditor TO {role}"),
        Dialect::Mysql => format!("CREATE USER {role}; GRANT {control}_auditor TO {role}; SET DEFAULT ROLE {control}_auditor TO {role}"),
        Dialect::Mariadb => format!("CREATE USER {role}; GRANT {control}_auditor TO {role}; SET DEFAULT ROLE {control}_auditor FOR {role}"),
    });
    for _ in 0..2 {
        windrow.install(&none);
        let database = match dialect {
            Dialect::Postgres => windrow.name.clone(),
            Dialect::Mysql | Dialect::Mariadb => String::new(),
        };
        let mut reader = windrow.connect_to(&database, &role);
        for table in ["run", "run_rule", "policy", "control"] {
            let read = windrow.named(&format!("SELECT count(*) FROM W.{table}"));
            reader.query(&read, &[]).expect("the ledger");
        }
        for table in ["archive_job", "archive_part", "into_archive_step"] {
            let read = windrow.named(&format!("SELECT count(*) FROM W.{table}"));
            let denied = format!("{:#}", reader.query(&read, &[]).expect_err("no right"));
            assert!(denied.contains("denied"), "{denied}");
        }
    }
    windrow.execute(&match dialect {
        Dialect::Postgres => format!("DROP ROLE {role}"),
        Dialect::Mysql | Dialect::Mariadb => format!("DROP USER {role}"),
    });
}

/// A hold that would end keeps what came back no longer than that.
fn what_comes_back_is_held_without_an_end(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    let number = run(&mut windrow);
    let hold = json!({"rule": "jobs", "key": 1, "reason": "audit", "until": "2998-01-01", "even_if_absent": true});
    windrow.set_hold(hold).expect("a hold");
    let back = restore(&mut windrow, json!({"run": number}));
    let reasons = "SELECT reason FROM W.hold WHERE rule = 'jobs' AND until IS NULL";
    assert_eq!(
        windrow.texts(reasons),
        [format!("audit; restored from the archive of run {number}")],
        "{back}"
    );
}

/// The tables stay where no rule archives any more, and so do the rows: who looks for them learns where they are.
fn what_an_earlier_spec_archived_is_still_written(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, SCHEMA, &graph("jobs", "true", "true"));
    windrow.arm();
    windrow.execute(JOB);
    run(&mut windrow);
    windrow.install(&graph("jobs", "false", "false"));
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.toml");
    let name = windrow.control.replacen("windrow_", "", 1);
    let text = format!("name = \"{name}\"\ndatabase = \"{}\"\n{NONE}", windrow.name);
    std::fs::write(&spec, text).expect("a spec");
    let url = windrow.superuser();
    let command = |more: &[&str]| {
        let done = std::process::Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(["archive", more[0]])
            .arg(&spec)
            .args(["--url", &url])
            .args(&more[1..])
            .output()
            .expect("it starts");
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (done.status.success(), said)
    };
    for refused in [
        &["list"][..],
        &["drop", "--run", "1"],
        &["restore", "--run", "1"],
    ] {
        let (done, said) = command(refused);
        assert!(!done, "{said}");
        assert!(
            said.contains("archives nothing any more") && said.contains("archive_job"),
            "{said}"
        );
    }
    let (done, said) = command(&["export", "--table", "job"]);
    assert!(done && said.contains("windrow_run_id"), "{said}");
}
