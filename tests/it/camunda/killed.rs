//! A run that is cancelled inside a batch: what its session then commits is told and finished.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{AS_OF, Unit, by_end, in_each_unit_on_postgres, options, rule, state};
use crate::harness::tests;
use crate::support::camunda::Camunda;

tests! {
    postgres_first: [
        what_a_killed_run_by_end_time_leaves_is_told_and_finished,
    ],
    in_each_unit_on_postgres: [
        what_the_session_of_a_killed_run_commits_is_told_and_finished,
    ],
}

/// Where a batch is killed: the table whose rows it deletes.
const POINTS: [&str; 4] = [
    "act_hi_actinst",
    "act_hi_detail",
    "act_ge_bytearray",
    "act_hi_procinst",
];

/// The same by end time: the rule, and the table.
const POINTS_BY_END: [(&str, &str); 6] = [
    ("process_instances", "act_hi_actinst"),
    ("process_instances", "act_ge_bytearray"),
    ("process_instances", "act_hi_procinst"),
    ("decisions", "act_hi_decinst"),
    ("batches", "act_hi_job_log"),
    ("batches", "act_hi_batch"),
];

/// Whether each family that is due has gone from all of these tables or from none.
fn whole(camunda: &mut Camunda) -> bool {
    camunda.number(
        "SELECT count(*) FROM act_hi_procinst AS p WHERE NOT EXISTS (SELECT 1 FROM act_hi_actinst AS a WHERE a.root_proc_inst_id_ = p.root_proc_inst_id_)",
    ) == 0
}

/// Cancels a call while it deletes from a table, and lets its session commit. Answers whether that is told.
fn kill(
    camunda: &mut Camunda,
    round: &str,
    routine: &'static str,
    options: Value,
    table: &str,
) -> bool {
    camunda.execute(&camunda.either(
        format!(
            "CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN OLD; END $$;
             CREATE TRIGGER stop BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION public.stop()"
        ),
        format!(
            "CREATE TRIGGER stop BEFORE DELETE ON {table} FOR EACH ROW BEGIN DECLARE v integer; SET v = SLEEP(600); END"
        ),
    ));
    camunda.windrow.kill_asleep(round, routine, options);
    camunda.execute(camunda.either("DROP FUNCTION public.stop() CASCADE", "DROP TRIGGER stop"));
    let told = camunda.windrow.is_unfinished();
    assert_eq!(told, camunda.windrow.dialect == Dialect::Mysql, "{round}");
    told
}

fn what_the_session_of_a_killed_run_commits_is_told_and_finished(unit: Unit, dialect: Dialect) {
    let mut twin = unit.history(dialect);
    let mut camunda = unit.history(dialect);
    unit.in_small_batches(&mut camunda);
    // A family that is named by hand although its time has not come: no later run finishes it but by another purge.
    let young = camunda.texts(
        "SELECT id_ FROM act_hi_procinst AS p WHERE removal_time_ > '2026-06-02' AND end_time_ IS NOT NULL AND id_ = root_proc_inst_id_
           AND NOT EXISTS (SELECT 1 FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = p.id_) ORDER BY id_ LIMIT 1",
    );
    let purge = json!({"rule": "history", "key": young});
    twin.purge(purge.clone());
    let run = twin.run(options());
    assert_eq!(run["status"], "done", "{run}");
    let expected = state(&mut twin);

    let mut rounds = Vec::from(POINTS.map(|table| ("run", options(), table)));
    rounds.push(("purge", purge.clone(), "act_hi_procinst"));
    for (routine, options, table) in rounds {
        let round = format!("a {routine} killed at {table}");
        let told = kill(&mut camunda, &round, routine, options, table);
        // Nothing is half done in silence, and nothing lacks its parent.
        assert!(told || whole(&mut camunda), "{round}");
        assert!(camunda.torn().is_empty(), "{round}: {:?}", camunda.torn());
        if routine == "purge" {
            let done = camunda.purge(purge.clone());
            assert_eq!(done["refused"], json!({}), "{round}: {done}");
        }
    }
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(state(&mut camunda), expected);
    assert!(!camunda.windrow.is_unfinished());
    assert_eq!(rule(&camunda.run(options()), "history")["rows"], 0);
}

/// A family by end time goes with all its instances, over any number of calls, or not at all; decisions and batches likewise.
fn what_a_killed_run_by_end_time_leaves_is_told_and_finished(dialect: Dialect) {
    let mut twin = by_end::realistic(dialect, 150);
    let mut camunda = by_end::realistic(dialect, 150);
    let run = twin.run(options());
    assert_eq!(run["status"], "done", "{run}");
    let expected = by_end::contents(&mut twin);
    let mut present = by_end::contents(&mut camunda);

    for name in ["process_instances", "decisions", "batches"] {
        let setting = json!({"rule": name, "name": "batch_families", "value": 10});
        camunda.call("set_setting", setting);
    }
    for (name, table) in POINTS_BY_END {
        let round = format!("{name} killed at {table}");
        let options = json!({"rule": name, "as_of": AS_OF});
        let told = kill(&mut camunda, &round, "run", options, table);
        // A batch is gone as a whole or not at all, unless it is told.
        let left = by_end::contents(&mut camunda);
        assert!(told || left == present, "{round}");
        present = left;
    }
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(by_end::contents(&mut camunda), expected);
    assert!(!camunda.windrow.is_unfinished());
    for name in ["process_instances", "decisions", "batches"] {
        assert_eq!(rule(&camunda.run(options()), name)["rows"], 0);
    }
}
