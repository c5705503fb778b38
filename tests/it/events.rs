//! The scheduled run of MySQL and MariaDB: events of a real scheduler, and what replicas make of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windrow::graph::{Graph, Shared};
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};
use windrow::schedule::Schedule;

use crate::harness::tests;
use crate::oracle::now;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, apply, bundle, dialect_of};
use crate::support::oracle::{self, Outcome};
use crate::support::patience::PATIENCE;
use crate::support::world::{Row, SECOND, World};

tests! {
    mysql_and_mariadb: [
        a_replica_gets_the_purge_and_runs_no_event,
        a_scheduled_run_does_its_work_and_records_itself,
        verify_tells_why_no_event_runs,
    ],
    either_flavour: [
        overlapping_events_do_no_harm,
        errors_of_a_scheduled_run_are_in_the_ledger,
        every_worker_has_an_event,
    ],
}

static MYSQL: LazyLock<Mysql> = LazyLock::new(|| start(Flavour::Mysql));
static MARIADB: LazyLock<Mysql> = LazyLock::new(|| start(Flavour::Mariadb));

/// The server of this test process that runs events.
fn server(flavour: Flavour) -> &'static Mysql {
    match flavour {
        Flavour::Mysql => &MYSQL,
        Flavour::Mariadb => &MARIADB,
    }
}

fn with_events(flavour: Flavour) -> Settings {
    Settings {
        events: true,
        ..Settings::new(flavour)
    }
}

fn start(flavour: Flavour) -> Mysql {
    Mysql::start(&with_events(flavour)).expect("a throw-away server starts")
}

/// A run every second.
fn every_second() -> Graph {
    Graph {
        schedules: ["1 seconds"]
            .map(|line| Schedule::parse(line).expect("a schedule"))
            .to_vec(),
        ..dolphinscheduler(Shared::Closed)
    }
}

/// Waits for what must come.
#[track_caller]
fn until(what: &str, mut is_so: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(state) = is_so() {
        assert!(Instant::now() < deadline, "{what}: {state}");
        sleep(Duration::from_millis(100));
    }
}

/// Waits until a query answers one number above zero.
#[track_caller]
fn until_some(installation: &mut Installation, what: &str, sql: &str) {
    until(what, || match installation.number(sql) {
        0 => Err(format!("{:?}", installation.rows("SELECT * FROM W.run"))),
        _ => Ok(()),
    });
}

/// A world that runs need no options for, in which some families go and some stay.
fn world() -> (World, Outcome) {
    (1..)
        .map(|seed| World::random(seed, Shared::Closed, now(), SECOND))
        .map(|world| {
            let outcome = oracle::run(&world);
            (world, outcome)
        })
        .find(|(world, outcome)| {
            !world.as_of_is_option
                && world.options().is_empty()
                && outcome.families > 3
                && outcome.skipped.len() > 1
        })
        .expect("such a world")
}

fn check_gone(
    installation: &mut Installation,
    before: &BTreeMap<(String, i32), String>,
    gone: &Outcome,
) {
    let gone: Vec<_> = gone
        .deleted
        .iter()
        .map(|(table, id)| ((*table).to_owned(), *id))
        .collect();
    let mut expected = before.clone();
    expected.retain(|row, _| !gone.contains(row));
    assert_eq!(installation.contents(), expected);
}

fn a_scheduled_run_does_its_work_and_records_itself(flavour: Flavour) {
    let mut installation = Installation::on(server(flavour), &every_second());
    // Not armed: refused every second, and told once.
    let control = installation.control.clone();
    until_some(
        &mut installation,
        "refusals",
        &format!(
            "SELECT COUNT(*) FROM information_schema.events AS e, W.refusal AS f WHERE e.event_schema = '{control}'
             AND e.last_executed >= f.since + INTERVAL 2 SECOND"
        ),
    );
    let told = installation.texts("SELECT reason FROM W.refusal");
    assert!(
        told.len() == 1 && told[0].starts_with("not armed"),
        "{told:?}"
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), 0);

    let (world, outcome) = world();
    installation.load(&world);
    let before = installation.contents();
    let preview = installation.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], outcome.families);
    installation.arm();
    until_some(
        &mut installation,
        "a run",
        "SELECT COUNT(*) FROM W.run WHERE status = 'done'",
    );
    let run = installation.number("SELECT MIN(run_id) FROM W.run WHERE status = 'done'");
    let result = &installation.rows(&format!("CALL W.run_result({run})"))[0][0];
    let result: Value = serde_json::from_str(result.as_deref().unwrap_or_default()).expect("JSON");
    assert_eq!(result["trigger"], "SCHEDULED", "{result}");
    assert_eq!(result["dry_run"], false, "{result}");
    for figure in ["families", "rows", "tables", "skipped"] {
        assert_eq!(
            result["rules"][0][figure], preview["rules"][0][figure],
            "{result}"
        );
    }
    check_gone(&mut installation, &before, &outcome);
    let who = installation.texts(&format!(
        "SELECT started_by FROM W.run WHERE run_id = {run}"
    ));
    assert_eq!(who, ["event_scheduler@localhost"]);
    let schedule = checks(
        &installation.call("verify", json!({})).expect("verify"),
        "schedule",
    );
    assert_eq!(schedule.len(), 1, "{schedule:?}");
    assert_eq!(schedule[0]["severity"], "ok", "{schedule:?}");
    assert!(schedule[0]["detail"].to_string().contains("last executed"));
}

fn checks(document: &Value, name: &str) -> Vec<Value> {
    let checks = document["checks"].as_array().expect("checks");
    checks
        .iter()
        .filter(|check| check["check"] == name)
        .cloned()
        .collect()
}

fn overlapping_events_do_no_harm(flavour: Flavour) {
    let mut installation = Installation::on(server(flavour), &every_second());
    let (world, outcome) = world();
    installation.load(&world);
    for (name, value) in [("batch_families", 1), ("scheduled_nice", 0)] {
        installation.set_setting(name, value).expect("a setting");
    }
    let before = installation.contents();
    installation.execute(
        "CREATE TRIGGER slow BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW SET @slow = SLEEP(1.5)",
    );
    installation.arm();
    until_some(
        &mut installation,
        "a run",
        "SELECT COUNT(*) FROM W.run WHERE status = 'running'",
    );
    // The run goes on while later events start.
    let name = installation.control.clone();
    let seen = format!(
        "SELECT COUNT(*) FROM information_schema.events AS e, W.run AS r WHERE e.event_schema = '{name}'
         AND r.status = 'running' AND e.last_executed >= r.started_at + INTERVAL 2 SECOND"
    );
    until_some(&mut installation, "events beside the run", &seen);
    until_some(
        &mut installation,
        "the end of the run",
        "SELECT COUNT(*) FROM W.run WHERE status = 'done'",
    );
    // None of them took over, failed or thought the run dead; one that has just begun says nothing yet.
    let runs = installation.rows(
        "SELECT DISTINCT r.status, r.`trigger`, p.families > 0 FROM W.run AS r JOIN W.run_rule AS p ON p.run_id = r.run_id
         WHERE r.finished_at IS NOT NULL ORDER BY 3 DESC",
    );
    let expected = [["done", "SCHEDULED", "1"], ["done", "SCHEDULED", "0"]]
        .map(|row| row.map(|text| Some(text.to_owned())).to_vec());
    assert!(
        runs[0] == expected[0] && runs[1..].iter().all(|row| *row == expected[1]),
        "{runs:?}"
    );
    let busy = installation
        .number("SELECT COUNT(*) FROM W.run_rule WHERE families > 0 OR deleted_rows > 0");
    assert_eq!(busy, 1);
    assert_eq!(
        installation.number("SELECT MAX(families) FROM W.run_rule"),
        i64::try_from(outcome.families).expect("a small number")
    );
    check_gone(&mut installation, &before, &outcome);
}

fn errors_of_a_scheduled_run_are_in_the_ledger(flavour: Flavour) {
    let mut installation = Installation::on(server(flavour), &every_second());
    let (world, outcome) = world();
    installation.load(&world);
    // What comes later is to be tried, too.
    installation
        .set_setting("suspend_after", 0)
        .expect("a setting");
    let before = installation.contents();
    let (name, control) = (installation.name.clone(), installation.control.clone());
    let owner = installation.texts(&format!("SELECT SUBSTRING_INDEX(definer, '@', 1) FROM information_schema.events WHERE event_schema = '{control}'")).remove(0);
    let table = format!("{name}.t_ds_task_instance");
    installation.execute(&format!("REVOKE DELETE ON {table} FROM `{owner}`"));
    installation.arm();
    let failed = |text: &str| {
        format!(
            "SELECT COUNT(*) FROM W.run AS r LEFT JOIN W.run_failure AS f ON f.run_id = r.run_id
             WHERE r.`trigger` = 'SCHEDULED' AND r.status = 'failed' AND (r.reason LIKE '%{text}%' OR f.message LIKE '%{text}%')"
        )
    };
    until_some(
        &mut installation,
        "the missing right",
        &failed("denied to user"),
    );
    // A family goes whole or not at all.
    let deleted = installation.contents();
    for key in before.keys() {
        assert!(
            key.0 != "t_ds_task_instance" || deleted.contains_key(key),
            "{key:?}"
        );
    }
    installation.execute(&format!(
        "RENAME TABLE {name}.t_ds_alert TO {name}.elsewhere"
    ));
    // What is denied is found first.
    installation.execute(&format!("GRANT DELETE ON {table} TO `{owner}`"));
    until_some(&mut installation, "the missing table", &failed("exist"));
    installation.execute(&format!(
        "RENAME TABLE {name}.elsewhere TO {name}.t_ds_alert"
    ));
    // A routine that is not there is known before the ledger is opened.
    let last = installation.number("SELECT MAX(run_id) FROM W.run");
    until_some(
        &mut installation,
        "a run after the cure",
        &format!("SELECT COUNT(*) FROM W.run WHERE run_id > {last} AND status = 'done'"),
    );
    check_gone(&mut installation, &before, &outcome);
    installation.execute("DROP PROCEDURE W.run_begin");
    until_some(
        &mut installation,
        "the missing routine",
        &failed("run_begin does not exist"),
    );
}

fn every_worker_has_an_event(flavour: Flavour) {
    let graph = Graph {
        workers: 2,
        ..every_second()
    };
    let mut installation = Installation::on(server(flavour), &graph);
    let control = installation.control.clone();
    let events = installation.texts(&format!(
        "SELECT CONCAT(event_name, ' ', REGEXP_SUBSTR(event_definition, 'CALL .*;')) FROM information_schema.events WHERE event_schema = '{control}' ORDER BY event_name"
    ));
    assert_eq!(
        events,
        [1, 2].map(|worker| {
            let name = ["run", "run_worker_2"][worker - 1];
            format!("{name} CALL {control}.run_scheduled({worker});")
        })
    );
    let (world, outcome) = world();
    installation.load(&world);
    let before = installation.contents();
    // Both work on, and the runs that find nothing left hold no later one back.
    installation
        .set_setting("back_off_max", 0)
        .expect("a setting");
    installation.arm();
    until_some(
        &mut installation,
        "a run of each worker",
        "SELECT COUNT(DISTINCT s.worker) = 2 FROM W.run_sweep AS s JOIN W.run AS r ON r.run_id = s.run_id
         WHERE r.status = 'done' AND r.`trigger` = 'SCHEDULED'",
    );
    check_gone(&mut installation, &before, &outcome);
    let families = installation.number("SELECT SUM(families) FROM W.run_rule");
    assert_eq!(families, i64::try_from(outcome.families).expect("a number"));
    // Those of the second one go when the spec has it no more.
    installation.install(&every_second());
    let document = installation.call("verify", json!({})).expect("verify");
    let told = checks(&document, "schedule");
    assert!(
        told.iter()
            .any(|check| check["object"] == "run_worker_2" && check["severity"] == "violation"),
        "{told:?}"
    );
    installation.execute("DROP EVENT W.run_worker_2");
}

/// What verify() says of the schedule.
fn told(installation: &mut Installation) -> Vec<String> {
    let document = installation.call("verify", json!({})).expect("verify");
    checks(&document, "schedule")
        .iter()
        .map(|check| {
            format!(
                "{} {}: {}",
                check["severity"].as_str().unwrap_or_default(),
                check["object"].as_str().unwrap_or_default(),
                check["detail"].as_str().unwrap_or_default()
            )
        })
        .collect::<Vec<_>>()
}

fn verify_tells_why_no_event_runs(flavour: Flavour) {
    let graph = dolphinscheduler(Shared::Closed);
    // On the server that other tests use, no events run.
    let mut installation = Installation::new(dialect_of(flavour), &graph);
    let texts = told(&mut installation);
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("violation event_scheduler: it is OFF")),
        "{texts:?}"
    );
    installation.execute("UPDATE W.control SET scheduled = false");
    let texts = told(&mut installation);
    assert!(
        texts
            .iter()
            .any(|text| text.starts_with("notice event_scheduler: it is OFF")),
        "{texts:?}"
    );

    // It becomes read-only below.
    let own = start(flavour);
    let mut installation = Installation::on(&own, &graph);
    let control = installation.control.clone();
    let texts = told(&mut installation);
    assert!(texts.len() == 1 && texts[0].starts_with("ok "), "{texts:?}");
    installation.execute("ALTER EVENT W.run DISABLE");
    let texts = told(&mut installation);
    assert!(texts[0].contains("the event is disabled"), "{texts:?}");
    installation.execute(match flavour {
        Flavour::Mysql => "ALTER EVENT W.run DISABLE ON REPLICA",
        Flavour::Mariadb => "ALTER EVENT W.run DISABLE ON SLAVE",
    });
    let texts = told(&mut installation);
    assert!(
        texts[0].contains("SIDE_DISABLED") && texts[0].contains("ENABLE"),
        "{texts:?}"
    );
    let ghost = format!("ghost_{control}");
    installation.execute(&format!("CREATE USER {ghost}@localhost"));
    installation.execute(&format!(
        "ALTER DEFINER = {ghost}@localhost EVENT W.run ENABLE"
    ));
    installation.execute(&format!("DROP USER {ghost}@localhost"));
    let texts = told(&mut installation);
    assert!(
        texts[0].starts_with("violation ") && texts[0].contains(&ghost),
        "{texts:?}"
    );
    installation.execute("DROP EVENT W.run");
    let texts = told(&mut installation);
    assert!(texts[0].contains("no event"), "{texts:?}");

    armed_and_idle(&mut installation, &graph, flavour);
    installation.execute("UPDATE W.control SET armed = false");

    // Every line of the schedule is an event; one that the spec has no more is told.
    installation.install(&Graph {
        schedules: ["7 * * * *", "*/5 3 * * 0"]
            .map(|line| Schedule::parse(line).expect("a schedule"))
            .to_vec(),
        ..graph.clone()
    });
    let texts = told(&mut installation);
    assert!(
        texts.len() == 2 && texts[0].starts_with("ok run_line_2: "),
        "{texts:?}"
    );
    installation.install(&graph);
    let texts = told(&mut installation);
    assert!(
        texts.len() == 2 && texts[0].starts_with("violation run_line_2: the event is of no line"),
        "{texts:?}"
    );
    installation.execute("DROP EVENT W.run_line_2");
    installation.execute("DROP EVENT W.run");

    without_the_owner_role(&mut installation, graph);
}

/// Where windrow is armed, nobody notices that nothing starts a run: that is no notice.
fn armed_and_idle(installation: &mut Installation, graph: &Graph, flavour: Flavour) {
    installation.install(graph);
    installation.arm();
    let side = match flavour {
        Flavour::Mysql => "ALTER EVENT W.run DISABLE ON REPLICA",
        Flavour::Mariadb => "ALTER EVENT W.run DISABLE ON SLAVE",
    };
    for (change, says) in [
        ("ALTER EVENT W.run DISABLE", "the event is disabled"),
        (side, "SIDE_DISABLED"),
        ("DROP EVENT W.run", "no event: nothing runs by itself"),
    ] {
        installation.execute(change);
        let texts = told(installation);
        assert!(
            texts[0].starts_with("violation ")
                && texts[0].contains(says)
                && texts[0].ends_with("windrow install --skip 60_schedule.sql"),
            "{change}: {texts:?}"
        );
        let check = installation
            .rows("CALL W.schedule_check()")
            .concat()
            .remove(0)
            .expect("a document");
        assert!(
            check.contains("\"violation\"") && check.contains(says),
            "{check}"
        );
        // A replica starts none.
        installation.execute("SET GLOBAL read_only = ON");
        let texts = told(installation);
        installation.execute("SET GLOBAL read_only = OFF");
        assert!(texts[0].starts_with("notice "), "{change}: {texts:?}");
        // Where the schedule was left out, runs are started from elsewhere.
        installation.execute("UPDATE W.control SET scheduled = false");
        let texts = told(installation);
        installation.execute("UPDATE W.control SET scheduled = true");
        assert!(
            texts[0].starts_with("notice ") && !texts[0].contains("--skip"),
            "{change}: {texts:?}"
        );
    }
}

/// Without the owner role nothing works, verify() included; the file verify.sql tells why.
fn without_the_owner_role(installation: &mut Installation, graph: Graph) {
    let (dialect, control) = (installation.dialect, installation.control.clone());
    let graph = Graph {
        name: control.trim_start_matches("windrow_").to_owned(),
        database: installation.name.clone(),
        ..graph
    };
    let files = bundle(dialect, &graph).files;
    let definers = files
        .iter()
        .filter(|file| file.path.ends_with("/verify.sql"))
        .flat_map(|file| &file.statements)
        .find(|statement| statement.what.as_str() == "definers")
        .expect("the definers");
    let known = |installation: &mut Installation| -> Vec<String> {
        installation
            .rows(&definers.sql)
            .into_iter()
            .map(|row| row[3].clone().unwrap_or_default())
            .collect()
    };
    let answers = known(installation);
    assert!(
        !answers.is_empty() && answers.iter().all(|known| known == "1"),
        "{answers:?}"
    );
    installation.execute(&format!("DROP ROLE {control}_owner"));
    let answers = known(installation);
    assert!(answers.iter().all(|known| known == "0"), "{answers:?}");
    let error = installation
        .call("verify", json!({}))
        .expect_err("no definer");
    assert!(format!("{error:#}").contains("1449"), "{error:#}");
    apply(&mut installation.session, &bundle(dialect, &graph));
    let texts = told(installation);
    assert!(texts.len() == 1 && texts[0].starts_with("ok "), "{texts:?}");
    installation.arm();
    installation.run(json!({})).expect("a run");
}

/// All rows of both databases.
fn everything(server: &Mysql, installation: &Installation) -> BTreeMap<String, String> {
    let tables = server
        .query(&format!(
            "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables
             WHERE table_schema IN ('{}', '{}') AND table_type = 'BASE TABLE'",
            installation.name, installation.control
        ))
        .expect("the tables");
    tables
        .lines()
        .map(|table| {
            let rows = server
                .query(&format!("SELECT * FROM {table}"))
                .expect("the rows");
            let mut rows: Vec<&str> = rows.lines().collect();
            rows.sort_unstable();
            (table.to_owned(), rows.join("\n"))
        })
        .collect()
}

fn a_replica_gets_the_purge_and_runs_no_event(flavour: Flavour) {
    // Should an event of the replica run, nothing else keeps it from deleting.
    let source = start(flavour);
    let replica = source
        .start_replica(&with_events(flavour))
        .expect("a replica");
    for format in ["ROW", "MIXED"] {
        source
            .query(&format!("SET GLOBAL binlog_format = '{format}'"))
            .expect("a format");
        let mut installation = Installation::on(&source, &every_second());
        let (mut world, _) = world();
        let held = world.rows.iter().find_map(|row| match row {
            Row::Instance { id, .. }
                if oracle::run(&world)
                    .deleted
                    .contains(&("t_ds_workflow_instance", *id)) =>
            {
                Some(*id)
            }
            _ => None,
        });
        let held = held.expect("a family that goes");
        world.batch_families = 2;
        installation.load(&world);
        let before = installation.contents();

        // What is locked here, and so passed over, is not locked there.
        let mut other = installation.connect();
        other.execute("START TRANSACTION").expect("a transaction");
        other
            .query(
                &format!("SELECT id FROM t_ds_workflow_instance WHERE id = {held} FOR UPDATE"),
                &[],
            )
            .expect("a lock");
        installation.arm();
        until_some(
            &mut installation,
            "a run that passes a family over",
            "SELECT COUNT(*) FROM W.run AS r JOIN W.run_skip AS s ON s.run_id = r.run_id WHERE s.reason = 'LOCKED' AND r.finished_at IS NOT NULL",
        );
        assert!(
            installation
                .contents()
                .contains_key(&("t_ds_workflow_instance".to_owned(), held))
        );
        other.execute("ROLLBACK").expect("no transaction");
        until_some(
            &mut installation,
            "a run that takes it",
            "SELECT COUNT(*) FROM W.run AS r JOIN W.run_rule AS p ON p.run_id = r.run_id
             WHERE r.status = 'done' AND p.families > 0 AND NOT EXISTS (SELECT 1 FROM W.run_skip AS s WHERE s.run_id = r.run_id AND s.reason = 'LOCKED')",
        );
        check_gone(&mut installation, &before, &oracle::run(&world));

        // The source comes to rest; the replica's own scheduler goes on.
        installation.execute("CALL W.pause('comparison')");
        until_some(
            &mut installation,
            "the last run",
            "SELECT COUNT(*) = 0 FROM W.run WHERE status = 'running'",
        );
        installation.execute("ALTER EVENT W.run DISABLE");
        replica.catch_up(&source).expect("the replica follows");
        let there = everything(&replica, &installation);
        for (table, rows) in everything(&source, &installation) {
            assert_eq!(there.get(&table), Some(&rows), "{format}, {table}");
        }
        // What has refused a start for a moment, such as a lock on a busy machine, is told by the source alone.
        installation.execute("DELETE FROM W.refusal");
        is_no_later(&source, &replica, &installation.control);
        installation.execute("CALL W.resume()");
        installation.execute("ALTER EVENT W.run ENABLE");
        replica.catch_up(&source).expect("the replica follows");
        let control = &installation.control;
        let event = replica
            .query(&format!(
                "SELECT status, COALESCE(last_executed, 'never') FROM information_schema.events WHERE event_schema = '{control}'"
            ))
            .expect("the event");
        let disabled = match flavour {
            Flavour::Mysql => "REPLICA_SIDE_DISABLED",
            Flavour::Mariadb => "SLAVESIDE_DISABLED",
        };
        assert!(event.starts_with(disabled), "{event}");
        has_none_of_its_own(&replica, flavour);
        let verify = replica
            .query(&format!("CALL {control}.verify('{{}}')"))
            .expect("verify");
        assert!(
            verify.contains(disabled) && verify.contains("armed on another server"),
            "{verify}"
        );

        if format == "MIXED" {
            promote(&replica, flavour, control);
        }
    }
}

/// A replica starts no run, and is late where its source is.
fn is_no_later(source: &Mysql, replica: &Mysql, control: &str) {
    let late = format!(
        "SELECT m.name, m.labels, m.value FROM {control}.metrics AS m
         WHERE m.name IN ('windrow_refused', 'windrow_last_success_timestamp_seconds') ORDER BY m.name, m.labels"
    );
    let late = |server: &Mysql| server.query(&late).expect("the metrics");
    assert_eq!(late(source).lines().count(), 5);
    // An event that had begun before it was disabled may write down that it was refused.
    until("the same metrics", || {
        replica
            .catch_up(source)
            .map_err(|error| error.to_string())?;
        let (there, here) = (late(replica), late(source));
        if there != here {
            let refused = source.query(&format!("SELECT * FROM {control}.refusal"));
            return Err(format!(
                "{there} on the replica, {here} on its source: {refused:?}"
            ));
        }
        Ok(())
    });
}

/// Every transaction of the replica came from its source: no process, no identifier of its own.
fn has_none_of_its_own(replica: &Mysql, flavour: Flavour) {
    let own = replica
        .query(match flavour {
            Flavour::Mysql => "SELECT @@global.gtid_executed LIKE CONCAT('%', @@server_uuid, '%')",
            Flavour::Mariadb => {
                "SELECT @@global.gtid_binlog_pos LIKE CONCAT('%-', @@server_id, '-%')"
            }
        })
        .expect("the transactions");
    assert_eq!(own.trim(), "0");
}

/// Made the source, with the event enabled, it still waits for somebody to arm it.
fn promote(replica: &Mysql, flavour: Flavour, control: &str) {
    let stop = match flavour {
        Flavour::Mysql => "STOP REPLICA",
        Flavour::Mariadb => "STOP SLAVE",
    };
    replica
        .query(&format!("{stop}; ALTER EVENT {control}.run ENABLE"))
        .expect("a promotion");
    let refused = format!(
        "SELECT COUNT(*) FROM {control}.refusal WHERE reason LIKE 'armed on another server%'"
    );
    until("a refusal", || {
        let count = replica.query(&refused).expect("the refusals");
        if count.trim() == "0" {
            return Err(count);
        }
        Ok(())
    });
}
