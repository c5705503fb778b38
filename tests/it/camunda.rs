//! Camunda 7 on its real schema: what goes by removal time, on PostgreSQL.

mod cases;
mod oracle;

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windrow::demo::camunda7::HISTORY_724;
use windrow::demo::dolphinscheduler::FAMILIES_SETTING;

use crate::support::camunda::{Camunda, W};
use crate::support::database::{call, message};

/// The same for all tests of a realistic history, and long enough ago for no removal time to come meanwhile.
const NOW: &str = "2026-06-01 12:00:00";
const AS_OF: &str = "2026-06-01T12:00:00Z";

/// The realistic history.
fn history(families: u32) -> Camunda {
    let mut camunda = Camunda::new();
    camunda.execute(&format!(
        "SET {FAMILIES_SETTING} = {families}; SET windrow.demo_now = '{NOW}';"
    ));
    camunda.execute(HISTORY_724);
    camunda.execute("ANALYZE");
    camunda.execute("CALL W.arm()");
    camunda
}

fn options() -> Value {
    json!({"as_of": AS_OF})
}

fn rule<'a>(document: &'a Value, name: &str) -> &'a Value {
    let rules = document["rules"].as_array().expect("rules");
    rules
        .iter()
        .find(|rule| rule["rule"] == name)
        .unwrap_or_else(|| panic!("no rule {name} in {document}"))
}

/// Rows of process families whose root has gone, in any table.
const TORN: &str = "SELECT sum(o.orphans) FROM W.orphans() AS o WHERE o.edge LIKE '%root_proc_inst_id_' OR o.edge LIKE '%dec_inst_id_' OR o.edge LIKE '%bytearray_id_'";

#[test]
fn a_run_on_a_realistic_history_does_what_preview_says() {
    let mut camunda = history(1_000);
    let preview = camunda.select("preview", options());
    let dry = camunda.run(json!({"as_of": AS_OF, "dry_run": true}));
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    for name in ["history", "task_metrics"] {
        for figure in [
            "rows",
            "families",
            "batches",
            "tables",
            "skipped",
            "skipped_samples",
        ] {
            assert_eq!(
                rule(&run, name)[figure],
                rule(&preview, name)[figure],
                "{name} {figure}"
            );
            assert_eq!(
                rule(&run, name)[figure],
                rule(&dry, name)[figure],
                "{name} {figure}"
            );
        }
    }
    let history = rule(&run, "history");
    assert!(history["rows"].as_i64() > Some(40_000), "{history}");
    for table in history["tables"].as_object().expect("tables") {
        assert!(table.1.as_i64() > Some(0), "{table:?}");
    }
    let reasons: Vec<&String> = history["skipped"]
        .as_object()
        .expect("reasons")
        .keys()
        .collect();
    assert_eq!(
        reasons,
        [
            "NON_FINAL_MEMBER",
            "REFERENCED",
            "RETENTION_NOT_REACHED",
            "UNDATED_MEMBER"
        ]
    );
    assert_eq!(camunda.number(TORN), 0);
    let kept =
        camunda.number("SELECT count(*) FROM act_ge_bytearray WHERE deployment_id_ IS NOT NULL");
    assert_eq!(kept, 12, "the resources of a deployment stay");

    let verify = camunda.select("verify", json!({}));
    let wrong: Vec<&Value> = verify["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["severity"] == "violation")
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let again = camunda.run(options());
    assert_eq!(rule(&again, "history")["rows"], 0);
    assert_eq!(rule(&again, "task_metrics")["rows"], 0);
    let metrics = camunda.texts(
        "SELECT name || ' ' || value FROM W.metrics WHERE labels ->> 'rule' = 'history' ORDER BY 1",
    );
    assert!(
        metrics
            .iter()
            .any(|metric| metric.starts_with("windrow_backlog_families ")),
        "{metrics:?}"
    );
}

#[test]
fn no_window_has_more_rows_of_a_table_than_the_setting_says() {
    let mut camunda = history(1_000);
    camunda.set_setting("batch_rows", 150);
    camunda.execute("CREATE TABLE public.seen (t text, n bigint, times bigint)");
    camunda.execute(
        "CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             INSERT INTO public.seen SELECT TG_TABLE_NAME, count(*), count(DISTINCT removal_time_) FROM gone;
             RETURN NULL;
         END $$",
    );
    for table in [
        "act_hi_detail",
        "act_hi_actinst",
        "act_hi_job_log",
        "act_hi_procinst",
    ] {
        camunda.execute(&format!(
            "CREATE TRIGGER see AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.see()"
        ));
    }
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert!(rule(&run, "history")["batches"].as_i64() > Some(20));
    assert_eq!(
        camunda.number("SELECT count(*) FROM public.seen WHERE n > 150 AND times > 1"),
        0
    );
    // What someone set by hand has one instant, and goes at once.
    assert!(
        camunda.number("SELECT count(DISTINCT t) FROM public.seen WHERE n > 150 AND times = 1")
            >= 1
    );
}

#[test]
fn a_hold_on_any_member_keeps_its_family_and_purge_takes_one_family() {
    let mut camunda = history(1_000);
    let part = camunda.texts(
        "SELECT id_ FROM act_hi_procinst WHERE id_ <> root_proc_inst_id_ AND removal_time_ < '2026-04-01' ORDER BY removal_time_ LIMIT 1",
    );
    let root = camunda.texts(&format!(
        "SELECT root_proc_inst_id_ FROM act_hi_procinst WHERE id_ = '{}'",
        part[0]
    ));
    let rows = format!(
        "SELECT (SELECT count(*) FROM act_hi_actinst WHERE root_proc_inst_id_ = '{0}') + (SELECT count(*) FROM act_hi_procinst WHERE root_proc_inst_id_ = '{0}')",
        root[0]
    );
    let whole = camunda.number(&rows);
    camunda.select(
        "set_hold",
        json!({"rule": "history", "key": part[0], "reason": "audit"}),
    );
    let run = camunda.run(options());
    assert_eq!(rule(&run, "history")["skipped"]["HELD"], 1, "{run}");
    assert_eq!(
        rule(&run, "history")["skipped_samples"]["HELD"],
        json!([root[0]])
    );
    assert_eq!(camunda.number(&rows), whole);

    let purge = |camunda: &mut Camunda, key: &str| {
        let answer = camunda.purge(json!({"rule": "history", "key": [key]}));
        answer["refused"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(purge(&mut camunda, &root[0]), "HELD");
    camunda.select("release_hold", json!({"rule": "history", "key": part[0]}));
    assert_eq!(purge(&mut camunda, &part[0]), "NOT_A_ROOT");
    assert_eq!(purge(&mut camunda, "nobody"), "NOT_A_ROOT");
    assert_eq!(purge(&mut camunda, &root[0]), "");
    assert_eq!(camunda.number(&rows), 0);
    let one = |camunda: &mut Camunda, which: &str| {
        let sql = format!(
            "SELECT id_ FROM act_hi_procinst AS p WHERE id_ = root_proc_inst_id_ AND {which} ORDER BY id_ LIMIT 1"
        );
        camunda.texts(&sql).remove(0)
    };
    // Whatever its removal time, but only when it has ended, and with nothing that refers to it.
    let running = one(&mut camunda, "end_time_ IS NULL");
    assert_eq!(purge(&mut camunda, &running), "NON_FINAL_MEMBER");
    let tied = one(
        &mut camunda,
        "end_time_ IS NOT NULL AND EXISTS (SELECT FROM act_ge_bytearray AS b JOIN act_ru_variable AS v ON v.bytearray_id_ = b.id_ WHERE b.root_proc_inst_id_ = p.id_)",
    );
    assert_eq!(purge(&mut camunda, &tied), "REFERENCED");
    let young = one(
        &mut camunda,
        "removal_time_ > '2026-06-02' AND end_time_ IS NOT NULL AND NOT EXISTS (SELECT FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = p.id_)",
    );
    assert_eq!(purge(&mut camunda, &young), "");
    assert_eq!(camunda.number(TORN), 0);
}

#[test]
fn a_poisoned_instant_is_found_recorded_and_passed_over() {
    let mut camunda = history(1_000);
    let poison = camunda.texts(
        "SELECT root_proc_inst_id_ FROM act_hi_procinst WHERE removal_time_ BETWEEN '2026-03-01' AND '2026-03-05' AND id_ = root_proc_inst_id_ AND end_time_ IS NOT NULL
           AND NOT EXISTS (SELECT FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = act_hi_procinst.id_) ORDER BY removal_time_ LIMIT 1",
    );
    camunda.execute(&format!(
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF OLD.root_proc_inst_id_ = '{}' THEN RAISE EXCEPTION 'not this one'; END IF;
             RETURN OLD;
         END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON act_hi_detail FOR EACH ROW EXECUTE FUNCTION public.refuse()",
        poison[0]
    ));
    let run = camunda.run(options());
    assert_eq!(run["status"], "failed", "{run}");
    let history = rule(&run, "history");
    assert_eq!(history["failures"][0]["message"], "not this one");
    assert_eq!(
        history["skipped_samples"]["FAILED"],
        json!([poison[0]]),
        "{history}"
    );
    assert_eq!(history["failures"].as_array().map(Vec::len), Some(1));
    assert_eq!(camunda.number(TORN), 0);

    // A trigger that keeps rows without a word does not tear a family either.
    camunda.execute(&format!(
        "CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             RETURN CASE WHEN OLD.root_proc_inst_id_ = '{}' THEN NULL ELSE OLD END;
         END $$",
        poison[0]
    ));
    let run = camunda.run(options());
    let message = &rule(&run, "history")["failures"][0]["message"];
    assert_eq!(
        message, "rows of act_hi_detail could not be deleted",
        "{run}"
    );
    camunda.execute("DROP FUNCTION public.refuse() CASCADE");
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(rule(&run, "history")["families"], 1);
    assert_eq!(camunda.number(TORN), 0);
}

#[test]
fn what_another_session_holds_is_left_to_it() {
    let mut camunda = history(1_000);
    let free = "end_time_ IS NOT NULL AND removal_time_ < '2026-04-01' AND NOT EXISTS (SELECT FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = act_hi_procinst.root_proc_inst_id_)";
    let family = camunda.texts(&format!(
        "SELECT root_proc_inst_id_ FROM act_hi_procinst WHERE {free} ORDER BY removal_time_ LIMIT 1"
    ));
    camunda.set_setting("lock_timeout", 20);
    camunda.set_setting("retries", 0);
    let mut rival = camunda.connect();
    let mut transaction = rival.transaction().expect("a transaction");
    // Someone sets new removal times for a family, table by table, as the engine does.
    let later = |table: &str| {
        format!(
            "UPDATE {table} SET removal_time_ = '2027-01-01' WHERE root_proc_inst_id_ = '{}'",
            family[0]
        )
    };
    transaction
        .batch_execute(&later("act_hi_detail"))
        .expect("an update");
    let run = camunda.run(options());
    let history = rule(&run, "history");
    assert_eq!(
        history["skipped_samples"]["LOCKED"],
        json!([family[0]]),
        "{history}"
    );
    assert_eq!(run["status"], "done", "{run}");
    for table in ["act_hi_actinst", "act_hi_procinst"] {
        transaction.batch_execute(&later(table)).expect("an update");
    }
    transaction.commit().expect("a commit");
    let left = camunda.number(&format!(
        "SELECT count(*) FROM act_hi_taskinst WHERE root_proc_inst_id_ = '{}'",
        family[0]
    ));
    assert!(
        left > 0,
        "the family is whole until its removal time is set everywhere"
    );
}

#[test]
fn what_a_lost_session_leaves_is_whole_and_the_next_run_finishes() {
    let mut camunda = history(1_000);
    let mut twin = history(1_000);
    let state = "SELECT (SELECT count(*) FROM act_hi_detail) || ' ' || (SELECT count(*) FROM act_hi_procinst) || ' ' || (SELECT md5(string_agg(id_, ' ' ORDER BY id_)) FROM act_hi_actinst)";
    twin.run(options());
    let expected = twin.texts(state);

    camunda.set_setting("batch_rows", 200);
    camunda.execute(
        "CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.004); RETURN NULL; END $$;
         CREATE TRIGGER slow AFTER DELETE ON act_hi_detail FOR EACH STATEMENT EXECUTE FUNCTION public.slow();
         CREATE TRIGGER slow AFTER DELETE ON act_hi_procinst FOR EACH STATEMENT EXECUTE FUNCTION public.slow()",
    );
    for blow in 1..=3 {
        let mut session = camunda.connect();
        let pid: i32 = session
            .query_one("SELECT pg_backend_pid()", &[])
            .expect("a pid")
            .get(0);
        let runner = std::thread::spawn(move || call(&mut session, W, "run", options()).is_err());
        let began = Instant::now();
        let batches = format!(
            "SELECT coalesce(sum(batches), 0) FROM W.run_rule WHERE run_id = (SELECT max(run_id) FROM W.run) AND (SELECT max(run_id) FROM W.run) >= {blow}"
        );
        while camunda.number(&batches) < 3 {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "the run does not begin"
            );
            sleep(Duration::from_millis(2));
        }
        camunda.execute(&format!("SELECT pg_terminate_backend({pid}, 5000)"));
        assert!(runner.join().expect("no panic"), "the run survived");
        assert_eq!(camunda.number(TORN), 0, "blow {blow}");
    }
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(camunda.texts(state), expected);
    let statuses = camunda.texts("SELECT status FROM W.run ORDER BY run_id");
    assert_eq!(statuses, ["crashed", "crashed", "crashed", "done"]);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let mut camunda = Camunda::new();
    let refused = |camunda: &mut Camunda, function: &str, options: Value| match camunda
        .attempt(function, options)
    {
        Ok(answer) => panic!("not refused: {answer}"),
        Err(error) => message(&error),
    };
    assert_eq!(
        refused(
            &mut camunda,
            "preview",
            json!({"rule": "history", "retention": "400d"})
        ),
        "22023: rule history has no retention of its own"
    );
    assert_eq!(
        refused(
            &mut camunda,
            "preview",
            json!({"rule": "task_metrics", "retention": "10d"})
        ),
        "22023: a retention of 10d is under the minimum of rule task_metrics"
    );
    assert_eq!(
        refused(
            &mut camunda,
            "set_setting",
            json!({"rule": "history", "name": "batch_families", "value": 5})
        ),
        "22023: no such setting: 'batch_families'"
    );
    assert_eq!(
        refused(
            &mut camunda,
            "set_setting",
            json!({"rule": "history", "name": "batch_rows", "value": 100_001})
        ),
        "22023: batch_rows is beyond its limits: 100001"
    );
    let preview = camunda.select(
        "preview",
        json!({"rule": "task_metrics", "retention": "800d"}),
    );
    assert_eq!(rule(&preview, "task_metrics")["rows"], 0);
}

#[test]
fn verify_tells_rows_apart_from_their_family_and_rows_without_a_removal_time() {
    let mut camunda = history(1_000);
    let strays = |camunda: &mut Camunda| -> BTreeMap<String, i64> {
        let verify = camunda.select("verify", json!({}));
        let checks = verify["checks"].as_array().expect("checks").clone();
        checks
            .iter()
            .filter(|check| check["check"] == "removal_time" && check["count"] != 0)
            .map(|check| {
                (
                    check["object"].as_str().unwrap_or_default().to_owned(),
                    check["count"].as_i64().unwrap_or_default(),
                )
            })
            .collect()
    };
    let before = strays(&mut camunda);
    // The resources of deployments, beside what runs or is too old to have one.
    assert!(before["history act_ge_bytearray"] >= 12, "{before:?}");
    camunda.execute("UPDATE act_hi_comment SET removal_time_ = removal_time_ + interval '1 day' WHERE removal_time_ IS NOT NULL");
    let after = strays(&mut camunda);
    assert!(
        after["history act_hi_comment"]
            > before
                .get("history act_hi_comment")
                .copied()
                .unwrap_or_default()
                + 100,
        "{after:?}"
    );
}

#[test]
fn an_age_knows_candidates_holds_and_undated_rows() {
    let mut camunda = history(1_000);
    camunda.execute("UPDATE act_ru_task_meter_log SET timestamp_ = NULL WHERE id_ IN (SELECT id_ FROM act_ru_task_meter_log ORDER BY timestamp_ LIMIT 3)");
    let held = camunda.texts("SELECT id_ FROM act_ru_task_meter_log WHERE timestamp_ IS NOT NULL ORDER BY timestamp_ LIMIT 1");
    camunda.select(
        "set_hold",
        json!({"rule": "task_metrics", "key": held[0], "reason": "audit"}),
    );
    let due = camunda.number("SELECT count(*) FROM act_ru_task_meter_log WHERE timestamp_ < timestamp '2026-06-01 12:00' - interval '551 days'");
    let run = camunda.run(json!({"rule": "task_metrics", "as_of": AS_OF}));
    let metrics = rule(&run, "task_metrics");
    assert_eq!(metrics["rows"], due - 1, "{metrics}");
    assert_eq!(metrics["skipped"], json!({"HELD": 1, "UNDATED_MEMBER": 3}));
}
