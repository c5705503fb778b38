//! Camunda 7 on its real schema: what goes by removal time, on every server.

mod agree;
mod by_end;
mod families;
mod killed;
mod oracle;
mod others;
mod rootless;
mod stamp;
mod stamp_of;
mod twins;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::{Body, Test, every_server, postgres_first, tests};
use crate::support::camunda::{Camunda, graph_by_window};
use crate::support::installation::violations;
use crate::support::patience::until;

tests! {
    within: [agree::tests, by_end::tests, families::tests, killed::tests, oracle::tests, others::tests, rootless::tests, stamp::tests, stamp_of::tests, twins::tests],
    every_server: [
        no_window_has_more_rows_of_a_table_than_the_setting_says,
        options_that_make_no_sense_are_refused,
        verify_tells_rows_apart_from_their_family_and_rows_without_a_removal_time,
        an_age_knows_holds_and_undated_rows,
    ],
    in_each_unit: [
        a_run_on_a_realistic_history_does_what_preview_says,
        a_hold_on_any_member_keeps_its_family_and_purge_takes_one_family,
        a_poisoned_instant_is_found_recorded_and_passed_over,
        what_another_session_holds_is_left_to_it,
    ],
    in_each_unit_on_postgres: [
        what_a_lost_session_leaves_is_whole_and_the_next_run_finishes,
    ],
}

/// The same for all tests of a realistic history, and long enough ago for no removal time to come meanwhile.
const NOW: &str = "2026-06-01 12:00:00";
const AS_OF: &str = "2026-06-01T12:00:00Z";

/// Runs by families on every server, and by windows on PostgreSQL: families take by windows, too, what belongs to none.
fn in_each_unit(module: &str, name: &str, body: fn(Unit, Dialect)) -> Vec<Test> {
    let mut tests = postgres_first(&by_window(module), name, in_unit(Unit::Window, body));
    tests.extend(every_server(
        &by_family(module),
        name,
        in_unit(Unit::Family, body),
    ));
    tests
}

/// Runs by families and by windows on every server.
fn in_each_unit_everywhere(module: &str, name: &str, body: fn(Unit, Dialect)) -> Vec<Test> {
    let mut tests = every_server(&by_window(module), name, in_unit(Unit::Window, body));
    tests.extend(every_server(
        &by_family(module),
        name,
        in_unit(Unit::Family, body),
    ));
    tests
}

/// Runs by families and by windows on PostgreSQL: that others do it on MySQL and MariaDB is shown elsewhere.
fn in_each_unit_on_postgres(module: &str, name: &str, body: fn(Unit, Dialect)) -> Vec<Test> {
    let mut tests = postgres_first(&by_window(module), name, in_unit(Unit::Window, body));
    tests.extend(postgres_first(
        &by_family(module),
        name,
        in_unit(Unit::Family, body),
    ));
    tests
}

fn by_window(module: &str) -> String {
    format!("{module}::by_window")
}

fn by_family(module: &str) -> String {
    format!("{module}::by_family")
}

fn in_unit(unit: Unit, body: fn(Unit, Dialect)) -> impl Body<()> {
    move |dialect| body(unit, dialect)
}

/// What one transaction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Window,
    Family,
}

impl Unit {
    /// Empty tables.
    fn empty(self, dialect: Dialect) -> Camunda {
        match self {
            Unit::Window => Camunda::of(dialect, &graph_by_window()),
            Unit::Family => Camunda::new(dialect),
        }
    }

    /// Has a run take little at once, so that it has many batches.
    fn in_small_batches(self, camunda: &mut Camunda) {
        camunda.set_setting("batch_rows", 200);
        if self == Unit::Family {
            camunda.set_setting("batch_families", 10);
        }
    }

    /// The realistic history.
    fn history(self, dialect: Dialect) -> Camunda {
        let mut camunda = self.empty(dialect);
        camunda.remember(400, NOW);
        camunda
    }
}

/// The realistic history, that goes by windows.
fn history(dialect: Dialect) -> Camunda {
    Unit::Window.history(dialect)
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

fn a_run_on_a_realistic_history_does_what_preview_says(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.history(dialect);
    // One that was due for long has ended only now.
    camunda.execute(&format!(
        "UPDATE act_hi_procinst SET end_time_ = '{NOW}' WHERE id_ = (
             SELECT s.id FROM (SELECT MIN(id_) AS id FROM act_hi_procinst WHERE removal_time_ < '2026-02-01' AND end_time_ IS NOT NULL AND id_ = root_proc_inst_id_) AS s
         )"
    ));
    let preview = camunda.call("preview", options());
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
                rule(&dry, name)[figure],
                rule(&preview, name)[figure],
                "{name} {figure}"
            );
            // Where the families are gone, there are fewer windows to look through.
            if unit == Unit::Window || figure != "batches" {
                assert_eq!(
                    rule(&run, name)[figure],
                    rule(&dry, name)[figure],
                    "{name} {figure}"
                );
            }
        }
    }
    let history = rule(&run, "history");
    assert!(history["rows"].as_i64() > Some(15_000), "{history}");
    for table in history["tables"].as_object().expect("tables") {
        assert!(table.1.as_i64() > Some(0), "{table:?}");
        assert!(camunda.tables().contains(table.0), "{table:?}");
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
    assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
    let kept =
        camunda.number("SELECT count(*) FROM act_ge_bytearray WHERE deployment_id_ IS NOT NULL");
    assert_eq!(kept, 12, "the resources of a deployment stay");

    let verify = camunda.call("verify", json!({}));
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let again = camunda.run(options());
    assert_eq!(rule(&again, "history")["rows"], 0);
    assert_eq!(rule(&again, "task_metrics")["rows"], 0);
    let text = camunda.either("text", "char");
    let metrics = camunda.texts(&format!(
        "SELECT CONCAT(name, ' ', value) FROM W.metrics WHERE CAST(labels AS {text}) LIKE '%history%' ORDER BY 1"
    ));
    assert!(
        metrics
            .iter()
            .any(|metric| metric.starts_with("windrow_backlog_families ")),
        "{metrics:?}"
    );
}

fn no_window_has_more_rows_of_a_table_than_the_setting_says(dialect: Dialect) {
    let mut camunda = history(dialect);
    camunda.set_setting("batch_rows", 60);
    camunda.execute("CREATE TABLE seen (tab varchar(64), batch bigint, due varchar(40))");
    if dialect == Dialect::Postgres {
        camunda.execute(
            "CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 INSERT INTO public.seen SELECT TG_TABLE_NAME, r.batches, OLD.removal_time_::text FROM W.run_rule AS r WHERE r.rule = 'history';
                 RETURN NULL;
             END $$",
        );
    }
    for table in [
        "act_hi_detail",
        "act_hi_actinst",
        "act_hi_job_log",
        "act_hi_procinst",
    ] {
        let body = camunda.either(
            "EXECUTE FUNCTION public.see()".to_owned(),
            format!("INSERT INTO seen SELECT '{table}', r.batches, OLD.removal_time_ FROM W.run_rule AS r WHERE r.rule = 'history'"),
        );
        camunda.execute(&format!(
            "CREATE TRIGGER see_{table} AFTER DELETE ON {table} FOR EACH ROW {body}"
        ));
    }
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert!(rule(&run, "history")["batches"].as_i64() > Some(20));
    let windows = "SELECT tab, batch, count(*) AS n, count(DISTINCT due) AS times FROM seen GROUP BY tab, batch";
    assert_eq!(
        camunda.number(&format!(
            "SELECT count(*) FROM ({windows}) AS s WHERE n > 60 AND times > 1"
        )),
        0
    );
    // What someone set by hand has one instant, and goes at once.
    assert!(
        camunda.number(&format!(
            "SELECT count(*) FROM ({windows}) AS s WHERE n > 60 AND times = 1"
        )) >= 1
    );
}

fn a_hold_on_any_member_keeps_its_family_and_purge_takes_one_family(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.history(dialect);
    let part = camunda.texts(
        "SELECT id_ FROM act_hi_procinst WHERE id_ <> root_proc_inst_id_ AND removal_time_ < '2026-04-01' ORDER BY removal_time_, id_ LIMIT 1",
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
    camunda.call(
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
    camunda.call("release_hold", json!({"rule": "history", "key": part[0]}));
    assert_eq!(purge(&mut camunda, &part[0]), "NOT_A_ROOT");
    assert_eq!(purge(&mut camunda, "nobody"), "NOT_A_ROOT");
    let dry = camunda.purge(json!({"rule": "history", "key": [root[0]], "dry_run": true}));
    assert_eq!(camunda.number(&rows), whole, "{dry}");
    let done = camunda.purge(json!({"rule": "history", "key": [root[0]]}));
    assert_eq!(done["refused"], json!({}), "{done}");
    assert_eq!(
        rule(&done, "history")["tables"],
        rule(&dry, "history")["tables"]
    );
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
        "end_time_ IS NOT NULL AND EXISTS (SELECT 1 FROM act_ge_bytearray AS b JOIN act_ru_variable AS v ON v.bytearray_id_ = b.id_ WHERE b.root_proc_inst_id_ = p.id_)",
    );
    assert_eq!(purge(&mut camunda, &tied), "REFERENCED");
    let young = one(
        &mut camunda,
        "removal_time_ > '2026-06-02' AND end_time_ IS NOT NULL AND NOT EXISTS (SELECT 1 FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = p.id_)",
    );
    assert_eq!(purge(&mut camunda, &young), "");
    assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
}

fn a_poisoned_instant_is_found_recorded_and_passed_over(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.history(dialect);
    let poison = camunda.texts(
        "SELECT root_proc_inst_id_ FROM act_hi_procinst AS p WHERE removal_time_ BETWEEN '2026-03-01' AND '2026-03-05' AND id_ = root_proc_inst_id_ AND end_time_ IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = p.id_) ORDER BY removal_time_, id_ LIMIT 1",
    );
    let key = &poison[0];
    camunda.execute(&camunda.either(
        format!(
            "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF OLD.root_proc_inst_id_ = '{key}' THEN RAISE EXCEPTION 'not this one' USING ERRCODE = '42501'; END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON act_hi_detail FOR EACH ROW EXECUTE FUNCTION public.refuse()"
        ),
        format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON act_hi_detail FOR EACH ROW
             BEGIN
                 IF OLD.root_proc_inst_id_ = '{key}' THEN SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = 'not this one'; END IF;
             END"
        ),
    ));
    for dry_run in [true, false] {
        let run = camunda.run(json!({"as_of": AS_OF, "dry_run": dry_run}));
        assert_eq!(run["status"], "failed", "{run}");
        let history = rule(&run, "history");
        assert_eq!(history["failures"][0]["message"], "not this one");
        assert_eq!(
            history["skipped_samples"]["FAILED"],
            json!([key]),
            "{history}"
        );
        assert_eq!(history["failures"].as_array().map(Vec::len), Some(1));
        assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
    }
    let purge = camunda.purge(json!({"rule": "history", "key": [key]}));
    assert_eq!(purge["refused"][key], "FAILED", "{purge}");

    if dialect == Dialect::Postgres {
        // A trigger that keeps rows without a word does not tear a family either; elsewhere there are none such.
        camunda.execute(&format!(
            "CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 RETURN CASE WHEN OLD.root_proc_inst_id_ = '{key}' THEN NULL ELSE OLD END;
             END $$"
        ));
        let run = camunda.run(options());
        let message = &rule(&run, "history")["failures"][0]["message"];
        assert_eq!(
            message, "rows of act_hi_detail could not be deleted",
            "{run}"
        );
        let purge = camunda.purge(json!({"rule": "history", "key": [key]}));
        assert_eq!(purge["refused"][key], "FAILED", "{purge}");
        assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
    }
    camunda.execute(camunda.either(
        "DROP FUNCTION public.refuse() CASCADE",
        "DROP TRIGGER refuse",
    ));
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(rule(&run, "history")["families"], 1);
    assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
}

fn what_another_session_holds_is_left_to_it(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.history(dialect);
    let families = camunda.texts(
        "SELECT id_ FROM act_hi_procinst AS p WHERE id_ = root_proc_inst_id_ AND end_time_ IS NOT NULL AND removal_time_ < '2025-12-20'
           AND NOT EXISTS (SELECT 1 FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ = p.root_proc_inst_id_) ORDER BY removal_time_, id_ LIMIT 2",
    );
    camunda.set_setting("lock_timeout", 20);
    camunda.set_setting("retries", 0);
    unit.in_small_batches(&mut camunda);
    // Someone sets new removal times for a family, table by table, as the engine does; for another one he has begun with
    // the instance itself.
    let later = |camunda: &Camunda, table: &str, family: &str| {
        camunda.named(&format!(
            "UPDATE {table} SET removal_time_ = '2027-01-01' WHERE root_proc_inst_id_ = '{family}'"
        ))
    };
    let mut rival = camunda.connect();
    rival.execute("BEGIN").expect("a transaction");
    for (table, family) in [
        ("act_hi_detail", &families[0]),
        ("act_hi_procinst", &families[1]),
    ] {
        rival
            .execute(&later(&camunda, table, family))
            .expect("an update");
    }
    // Each wait takes a second on some servers: a few days are enough.
    let run = camunda.run(json!({"rule": "history", "as_of": "2025-12-20T00:00:00Z"}));
    assert_eq!(run["status"], "done", "{run}");
    let history = rule(&run, "history");
    assert!(history["families"].as_i64() > Some(3), "{history}");
    assert_eq!(
        history["skipped_samples"]["LOCKED"],
        json!(families),
        "{history}"
    );
    for table in ["act_hi_actinst", "act_hi_procinst"] {
        rival
            .execute(&later(&camunda, table, &families[0]))
            .expect("an update");
    }
    rival.execute("COMMIT").expect("a commit");
    for family in &families {
        let left = camunda.number(&format!(
            "SELECT count(*) FROM act_hi_taskinst WHERE root_proc_inst_id_ = '{family}'"
        ));
        assert!(
            left > 0,
            "the family is whole until its removal time is set everywhere"
        );
    }
}

/// Every row that a run of a rule by removal time may take.
fn state(camunda: &mut Camunda) -> Vec<String> {
    camunda.texts(
        "SELECT CONCAT('d', id_) FROM act_hi_detail UNION ALL SELECT CONCAT('a', id_) FROM act_hi_actinst
         UNION ALL SELECT CONCAT('b', id_) FROM act_ge_bytearray UNION ALL SELECT CONCAT('p', id_) FROM act_hi_procinst
         UNION ALL SELECT CONCAT('m', id_) FROM act_ru_task_meter_log ORDER BY 1",
    )
}

fn what_a_lost_session_leaves_is_whole_and_the_next_run_finishes(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.history(dialect);
    let mut twin = unit.history(dialect);
    twin.run(options());
    let expected = state(&mut twin);

    unit.in_small_batches(&mut camunda);
    // A trigger for each statement, or, where there are none, for some of the rows.
    if dialect == Dialect::Postgres {
        camunda.execute("CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.004); RETURN NULL; END $$");
    }
    for table in ["act_hi_detail", "act_hi_procinst"] {
        let body = camunda.either(
            "FOR EACH STATEMENT EXECUTE FUNCTION public.slow()",
            "FOR EACH ROW BEGIN DECLARE v integer; IF CRC32(OLD.id_) % 16 = 0 THEN SET v = SLEEP(0.004); END IF; END",
        );
        camunda.execute(&format!(
            "CREATE TRIGGER slow_{table} AFTER DELETE ON {table} {body}"
        ));
    }
    for blow in 1..=3 {
        let (runner, _, session) = camunda.call_aside("run", options());
        until("the run is under way", || {
            Ok(camunda.number(&format!(
                "SELECT coalesce(max(p.batches), 0) FROM W.run_rule AS p JOIN W.run AS r ON r.run_id = p.run_id WHERE r.backend_pid = {session}",
            )) >= 3)
        })
        .expect("it begins");
        camunda.execute(&camunda.either(
            format!("SELECT pg_terminate_backend({session}, 5000)"),
            format!("KILL CONNECTION {session}"),
        ));
        let (_, answer) = runner.join().expect("no panic");
        assert!(answer.is_err(), "the run survived");
        camunda.windrow.until_gone(session);
        assert!(
            camunda.torn().is_empty(),
            "blow {blow}: {:?}",
            camunda.torn()
        );
    }
    let run = camunda.run(options());
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(state(&mut camunda), expected);
    let statuses = camunda.texts("SELECT status FROM W.run ORDER BY run_id");
    assert_eq!(statuses, ["crashed", "crashed", "crashed", "done"]);
}

fn options_that_make_no_sense_are_refused(dialect: Dialect) {
    let mut camunda = Unit::Window.empty(dialect);
    for (routine, options, message) in [
        (
            "preview",
            json!({"rule": "history", "retention": "400d"}),
            "rule history has no retention of its own",
        ),
        (
            "preview",
            json!({"rule": "task_metrics", "retention": "10d"}),
            "a retention of 10d is below the minimum of rule task_metrics",
        ),
        (
            "set_setting",
            json!({"rule": "history", "name": "batch_families", "value": 5}),
            "no such setting: 'batch_families'",
        ),
        (
            "set_setting",
            json!({"rule": "history", "name": "batch_rows", "value": 100_001}),
            "batch_rows is out of range: 100001",
        ),
    ] {
        match camunda.attempt(routine, options) {
            Ok(answer) => panic!("not refused: {answer}"),
            Err(error) => {
                let said = format!("{error:#}");
                assert!(said.contains("22023") && said.contains(message), "{said}");
            }
        }
    }
    let preview = camunda.call(
        "preview",
        json!({"rule": "task_metrics", "retention": "800d"}),
    );
    assert_eq!(rule(&preview, "task_metrics")["rows"], 0);
}

fn verify_tells_rows_apart_from_their_family_and_rows_without_a_removal_time(dialect: Dialect) {
    let mut camunda = history(dialect);
    let strays = |camunda: &mut Camunda| -> BTreeMap<String, i64> {
        let verify = camunda.call("verify", json!({}));
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
    let bytes = camunda.named("history act_ge_bytearray");
    assert!(before[&bytes] >= 12, "{before:?}");
    let a_day_later = camunda.either(
        "removal_time_ + interval '1 day'",
        "removal_time_ + INTERVAL 1 DAY",
    );
    camunda.execute(&format!(
        "UPDATE act_hi_comment SET removal_time_ = {a_day_later} WHERE removal_time_ IS NOT NULL"
    ));
    let after = strays(&mut camunda);
    let comments = camunda.named("history act_hi_comment");
    assert!(
        after[&comments] > before.get(&comments).copied().unwrap_or_default() + 50,
        "{after:?}"
    );
}

fn an_age_knows_holds_and_undated_rows(dialect: Dialect) {
    let mut camunda = history(dialect);
    let oldest =
        camunda.texts("SELECT id_ FROM act_ru_task_meter_log ORDER BY timestamp_, id_ LIMIT 4");
    camunda.execute(&format!(
        "UPDATE act_ru_task_meter_log SET timestamp_ = NULL WHERE id_ IN ('{}')",
        oldest[..3].join("', '")
    ));
    camunda.call(
        "set_hold",
        json!({"rule": "task_metrics", "key": oldest[3], "reason": "audit"}),
    );
    // 551 days before.
    let due = camunda
        .number("SELECT count(*) FROM act_ru_task_meter_log WHERE timestamp_ < '2024-11-27 12:00'");
    assert!(due > 100, "{due}");
    let run = camunda.run(json!({"rule": "task_metrics", "as_of": AS_OF}));
    let metrics = rule(&run, "task_metrics");
    assert_eq!(metrics["rows"], due - 1, "{metrics}");
    assert_eq!(metrics["skipped"], json!({"HELD": 1, "UNDATED_MEMBER": 3}));
}
