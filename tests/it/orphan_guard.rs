//! Triggers that refuse a row whose parent is gone or going, for schemas without foreign keys.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::{Value, json};
use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Shared;
use windrow::render;

use crate::harness::tests;
use crate::support::effort::first_seed;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::history::{Client, History, joined, refused};
use crate::support::installation::{self, Installation};
use crate::support::patience::until;

tests! {
    lint: [
        the_generated_triggers,
    ],
    on_postgres: [
        a_root_that_is_named_by_another_key_is_locked_by_its_own,
    ],
    mysql_or_mariadb: [
        two_specs_have_no_trigger_in_common,
    ],
    every_server: [
        a_row_without_a_parent_is_refused_and_all_others_come_in,
        who_comes_while_a_batch_works_waits_and_is_refused,
        with_triggers_rivals_leave_no_orphan,
        a_trigger_that_is_missing_or_edited_is_told_and_put_back,
        the_archive_restores_through_the_triggers,
    ],
}

/// The triggers as the spec of `DolphinScheduler` would have them, on two tables.
fn the_generated_triggers() {
    let mut graph = dolphinscheduler(Shared::Closed);
    let files = |graph: &_, dialect| render::bundle(graph, dialect).expect("it renders").files;
    let before: usize = DIALECTS.iter().map(|it| files(&graph, *it).len()).sum();
    graph.rules[0].orphan_guard = true;
    let mut text = String::new();
    let mut after = 0;
    for dialect in DIALECTS {
        for file in files(&graph, *dialect) {
            after += 1;
            if !file.path.ends_with("/48_orphan_guard.sql")
                && !file.path.ends_with("/52_triggers.sql")
            {
                continue;
            }
            for statement in file.statements {
                let of = ["t_ds_command", "t_ds_task_group_queue"];
                if of.iter().any(|table| statement.sql.contains(table)) {
                    text.push_str(&format!(
                        "-- {}: {}\n{}\n\n",
                        file.path, statement.what, statement.sql
                    ));
                }
            }
        }
    }
    // On PostgreSQL the functions have a file of their own.
    assert_eq!(after, before + 4);
    insta::assert_snapshot!(text);
}

/// A row of Airflow's root table has a number for a key, and its children name another one.
fn a_root_that_is_named_by_another_key_is_locked_by_its_own() {
    let text = include_str!("../../specs/airflow-3.toml");
    let (graph, _) = windrow::lint::load(text);
    let mut graph = graph.expect("a spec without errors");
    for rule in &mut graph.rules {
        rule.orphan_guard = rule.timed().is_none() && rule.single().is_none();
    }
    for (dialect, way) in [
        (
            Dialect::Postgres,
            "SELECT q.\"id\" FROM \"public\".\"task_instance\" AS p JOIN \"public\".\"dag_run\" AS q ON p.\"dag_id\" = q.\"dag_id\" AND p.\"run_id\" = q.\"run_id\" WHERE NEW.\"ti_id\" = p.\"id\"",
        ),
        (
            Dialect::Mysql,
            "(SELECT q.`id` FROM `airflow`.`task_instance` AS p JOIN `airflow`.`dag_run` AS q ON p.`dag_id` = q.`dag_id` AND p.`run_id` = q.`run_id` WHERE NEW.`ti_id` = p.`id`)",
        ),
    ] {
        let files = render::bundle(&graph, dialect).expect("it renders").files;
        // However the lines are broken.
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            files.iter().any(|file| one_line(&file.text).contains(way)),
            "{dialect:?}"
        );
    }
}

/// A history with triggers.
fn guarded(dialect: Dialect) -> Result<History> {
    let mut history = History::shared(dialect)?;
    history.graph.rules[0].orphan_guard = true;
    history.install()?;
    Ok(history)
}

/// A row of a table that names a parent.
fn row(table: &str, parent: &str) -> String {
    /// A task has one context of each type.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let (columns, values) = match table {
        "t_ds_task_instance" => (
            "name, task_type, task_code, task_definition_version, workflow_instance_id",
            format!("'rival', 'SHELL', 1, 1, {parent}"),
        ),
        "t_ds_task_instance_context" => (
            "task_instance_id, context, context_type, create_time, update_time",
            format!(
                "{parent}, 'rival', '{}', '2020-01-01', '2020-01-01'",
                NUMBER.fetch_add(1, Ordering::Relaxed)
            ),
        ),
        "t_ds_relation_workflow_instance" => (
            "parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id",
            format!("{parent}, -7, 0"),
        ),
        "t_ds_serial_command" => (
            "workflow_instance_id, workflow_definition_code, workflow_definition_version, command, create_time, update_time",
            format!("{parent}, 1, 1, 'rival', '2020-01-01', '2020-01-01'"),
        ),
        _ => panic!("{table} is not known here"),
    };
    format!("INSERT INTO {table} ({columns}) VALUES ({values})")
}

/// Fails unless a trigger has refused, naming the parent.
fn orphaned<T>(client: &Client, result: Result<T>, parent: &str) -> Result<()> {
    let result = result.map_err(|error| {
        let named = format!("{error:#}")
            .contains(&format!("names a row of {parent} that does not exist: "));
        error.context(if named {
            "it names the parent"
        } else {
            "unclear"
        })
    });
    if let Err(error) = &result {
        ensure!(error.to_string() == "it names the parent", "{error:#}");
    }
    refused(result, client.either("23503", "23000"))
}

fn a_row_without_a_parent_is_refused_and_all_others_come_in(dialect: Dialect) -> Result<()> {
    let history = guarded(dialect)?;
    let mut client = history.connect()?;
    let key = client.number("SELECT MIN(workflow_instance_id) FROM t_ds_task_instance")?;
    let task = client.number("SELECT MIN(id) FROM t_ds_task_instance")?;
    for (table, there, parent) in [
        ("t_ds_task_instance", key, "t_ds_workflow_instance"),
        ("t_ds_serial_command", key, "t_ds_workflow_instance"),
        (
            "t_ds_relation_workflow_instance",
            key,
            "t_ds_workflow_instance",
        ),
        ("t_ds_task_instance_context", task, "t_ds_task_instance"),
    ] {
        client.execute(&row(table, &there.to_string()))?;
        let lost = client.execute(&row(table, "2000000000"));
        orphaned(&client, lost, parent).context(table)?;
        let lost = client.execute(&format!(
            "{}, {}",
            row(table, &there.to_string()),
            row(table, "2000000000")
                .split_once("VALUES ")
                .context("values")?
                .1
        ));
        orphaned(&client, lost, parent).context(table)?;
    }

    // NULL and what means "none yet" name no row.
    client.execute(&row("t_ds_task_instance", "NULL"))?;
    client.execute("INSERT INTO t_ds_command (command_type, workflow_definition_code, executor_id, workflow_instance_id) VALUES (1, 1, 1, 0)")?;

    // A parent that the same transaction has made; one that it has deleted.
    client.execute(&format!(
        "BEGIN; INSERT INTO t_ds_workflow_instance (id, name, workflow_definition_code, workflow_definition_version, project_code, executor_id, is_sub_workflow, state)
         VALUES (1900000000, 'new', 1, 1, 1, 1, 0, 1); {}; COMMIT",
        row("t_ds_task_instance", "1900000000")
    ))?;
    client.execute("BEGIN; DELETE FROM t_ds_workflow_instance WHERE id = 1900000000")?;
    let lost = client.execute(&row("t_ds_task_instance", "1900000000"));
    orphaned(&client, lost, "t_ds_workflow_instance")?;
    client.execute("ROLLBACK")?;

    // An orphan that was there before may change, but for what it names.
    client.execute("DELETE FROM t_ds_workflow_instance WHERE id = 1900000000")?;
    let of = "workflow_instance_id = 1900000000";
    client.execute(&format!(
        "UPDATE t_ds_task_instance SET pid = 1, {of} WHERE {of}"
    ))?;
    let lost = client.execute(&format!(
        "UPDATE t_ds_task_instance SET workflow_instance_id = 1900000001 WHERE {of}"
    ));
    orphaned(&client, lost, "t_ds_workflow_instance")?;
    client.execute(&format!(
        "UPDATE t_ds_task_instance SET workflow_instance_id = {key} WHERE {of}"
    ))?;

    // The writer needs no rights on the parents.
    let role = format!("guarded_{}", history.name);
    let insert = row("t_ds_task_instance", &key.to_string());
    let lost = row("t_ds_task_instance", "2000000000");
    if dialect == Dialect::Postgres {
        client.execute(&format!(
            "CREATE ROLE {role}; GRANT INSERT ON t_ds_task_instance TO {role};
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}; SET ROLE {role}; SET search_path = public"
        ))?;
        client.execute(&insert)?;
        let lost = client.execute(&lost);
        orphaned(&client, lost, "t_ds_workflow_instance")?;
        client.execute(&format!(
            "RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}"
        ))?;
        // What comes from elsewhere has been looked at there.
        client.execute("SET session_replication_role = replica")?;
        client.execute(&row("t_ds_task_instance", "2000000000"))?;
    } else {
        client.execute(&format!(
            "CREATE USER {role}; GRANT INSERT ON {}.t_ds_task_instance TO {role}",
            history.name
        ))?;
        let mut writer = history.connect_as(&role)?;
        writer.execute(&insert)?;
        let lost = writer.execute(&lost);
        orphaned(&writer, lost, "t_ds_workflow_instance")?;
        client.execute(&format!("DROP USER {role}"))?;
    }
    Ok(())
}

/// Lets a batch wait at the root table, which comes last, as long as a session holds a lock.
fn gate(client: &mut Client) -> Result<()> {
    client.execute(client.either(
        "CREATE FUNCTION public.before_gate() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN WHILE NOT pg_try_advisory_xact_lock_shared(7) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN NULL; END $$;
         CREATE TRIGGER gate AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION public.before_gate()",
        "CREATE TRIGGER gate BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW
         BEGIN
             DECLARE v_got integer;
             SET v_got = GET_LOCK(CONCAT('gate ', SCHEMA()), 60);
             SET v_got = RELEASE_LOCK(CONCAT('gate ', SCHEMA()));
         END",
    ))?;
    client.rows(client.either(
        "SELECT pg_advisory_lock(7)::text",
        "SELECT GET_LOCK(CONCAT('gate ', SCHEMA()), 1)",
    ))?;
    Ok(())
}

/// The batch has deleted the children and not yet their parents: without triggers, a child that comes now is an orphan.
fn who_comes_while_a_batch_works_waits_and_is_refused(dialect: Dialect) -> Result<()> {
    for with_triggers in [false, true] {
        let history = if with_triggers {
            guarded(dialect)?
        } else {
            History::shared(dialect)?
        };
        let mut client = history.connect()?;
        let key = client.due(1)?[0];
        let task = client.number(&format!(
            "SELECT MIN(id) FROM t_ds_task_instance WHERE workflow_instance_id = {key}"
        ))?;
        let rows = [
            (
                row("t_ds_task_instance", &key.to_string()),
                "t_ds_workflow_instance",
            ),
            (
                row("t_ds_task_instance_context", &task.to_string()),
                "t_ds_task_instance",
            ),
        ];
        gate(&mut client)?;
        let mut session = history.connect()?;
        let runner = thread::spawn(move || session.call("purge", &json!({"key": [key]})));
        let asleep = client.either(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'".to_owned(),
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE db IN (DATABASE(), '{}') AND state = 'User lock'", history.control),
        );
        until("the batch is at the root table", || {
            Ok(client.number(&asleep)? == 1)
        })?;
        let mut writers = Vec::new();
        for (insert, parent) in rows {
            let mut hasty = history.connect()?;
            hasty.execute(hasty.either(
                "SET lock_timeout = '50ms'",
                "SET SESSION innodb_lock_wait_timeout = 1",
            ))?;
            if with_triggers {
                // The writer's own timeout ends his wait.
                let started = Instant::now();
                let answer = hasty.execute(&insert);
                refused(answer, hasty.either("55P03", "HY000")).context(insert.clone())?;
                ensure!(started.elapsed() < Duration::from_secs(5), "it took long");
                let mut session = history.connect()?;
                writers.push(thread::spawn(move || {
                    let answer = session.execute(&insert);
                    orphaned(&session, answer, parent)
                }));
            } else {
                hasty.execute(&insert)?;
            }
        }
        thread::sleep(Duration::from_millis(100));
        ensure!(
            !writers.iter().any(thread::JoinHandle::is_finished),
            "a writer did not wait"
        );
        client.rows(client.either(
            "SELECT pg_advisory_unlock(7)",
            "SELECT RELEASE_LOCK(CONCAT('gate ', SCHEMA()))",
        ))?;
        for writer in writers {
            joined(writer)?;
        }
        let result = joined(runner)?;
        ensure!(result["rules"][0]["families"] == 1, "{result}");
        ensure!(!client.is_there(key)?);
        let orphans = client.number(&format!(
            "SELECT (SELECT COUNT(*) FROM t_ds_task_instance WHERE workflow_instance_id = {key}) + (SELECT COUNT(*) FROM t_ds_task_instance_context WHERE task_instance_id = {task})"
        ))?;
        ensure!(
            orphans == if with_triggers { 0 } else { 2 },
            "{orphans} orphans, with triggers: {with_triggers}"
        );
    }
    Ok(())
}

/// Writers that give children to old families, at all depths, all the time while runs go on.
fn with_triggers_rivals_leave_no_orphan(dialect: Dialect) -> Result<()> {
    let history = guarded(dialect)?;
    let mut client = history.connect()?;
    client.set("batch_families", 6)?;
    let first = client.number("SELECT COALESCE(MAX(id), 0) FROM t_ds_task_instance")?;
    let enough = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3_u64)
        .map(|number| {
            let mut session = history.connect()?;
            let enough = Arc::clone(&enough);
            Ok(thread::spawn(move || {
                let mut random = SmallRng::seed_from_u64(first_seed() + number);
                let (mut written, mut lost, mut longest) = (0, 0, Duration::ZERO);
                while !enough.load(Ordering::Relaxed) {
                    let instance = random.random_range(1..600).to_string();
                    let task = random.random_range(1..first).to_string();
                    let table = match random.random_range(0..4) {
                        0 => row("t_ds_task_instance", &instance),
                        1 => row("t_ds_serial_command", &instance),
                        2 => row("t_ds_relation_workflow_instance", &instance),
                        _ => row("t_ds_task_instance_context", &task),
                    };
                    let began = Instant::now();
                    match session.execute(&table) {
                        Ok(()) => written += 1,
                        Err(error) => {
                            lost += 1;
                            let said = format!("{error:#}");
                            ensure!(said.contains("that does not exist: "), "{said}");
                        }
                    }
                    longest = longest.max(began.elapsed());
                    thread::sleep(Duration::from_millis(1));
                }
                Ok((written, lost, longest))
            }))
        })
        .collect::<Result<_>>()?;
    let (start, mut deleted) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) || deleted < 40 {
        ensure!(
            start.elapsed() < Duration::from_secs(60),
            "only {deleted} families went"
        );
        let (result, rule) = client.run_rule(&json!({"run_families": 18}))?;
        ensure!(rule["failures"] == json!([]), "{result}");
        deleted += rule["families"].as_i64().unwrap_or_default();
    }
    enough.store(true, Ordering::Relaxed);
    let (mut written, mut lost) = (0, 0);
    for writer in writers {
        let (more, refusals, longest) = joined(writer)?;
        written += more;
        lost += refusals;
        ensure!(
            longest < Duration::from_secs(2),
            "a writer waited for {longest:?}"
        );
    }
    ensure!(
        written > 50 && lost > 5,
        "{written} rows written, {lost} refused"
    );
    for (what, query) in [
        (
            "tasks",
            "SELECT CONCAT(t.id) FROM t_ds_task_instance AS t WHERE t.name = 'rival' AND NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = t.workflow_instance_id)",
        ),
        (
            "contexts",
            "SELECT CONCAT(t.id) FROM t_ds_task_instance_context AS t WHERE t.context = 'rival' AND NOT EXISTS (SELECT 1 FROM t_ds_task_instance AS i WHERE i.id = t.task_instance_id)",
        ),
        (
            "commands",
            "SELECT CONCAT(t.id) FROM t_ds_serial_command AS t WHERE t.command = 'rival' AND NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = t.workflow_instance_id)",
        ),
        (
            "links",
            "SELECT CONCAT(t.id) FROM t_ds_relation_workflow_instance AS t WHERE t.parent_task_instance_id = -7 AND NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = t.parent_workflow_instance_id)",
        ),
    ] {
        let orphans = client.texts(query)?;
        ensure!(orphans.is_empty(), "{what} without a parent: {orphans:?}");
    }
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "{torn:?}");
    Ok(())
}

/// What verify says of triggers that are not as they should be, and of how many it knows.
fn faults(client: &mut Client) -> Result<(usize, Vec<Value>)> {
    let document = client.call("verify", &json!({}))?;
    let checks = document["checks"].as_array().context("checks")?;
    let triggers: Vec<_> = checks
        .iter()
        .filter(|it| it["check"] == "trigger")
        .collect();
    let wrong = triggers.iter().filter(|it| it["severity"] != "ok");
    Ok((
        triggers.len(),
        wrong.map(|it| it["detail"].clone()).collect(),
    ))
}

fn a_trigger_that_is_missing_or_edited_is_told_and_put_back(dialect: Dialect) -> Result<()> {
    let history = guarded(dialect)?;
    let mut client = history.connect()?;
    let count = client.either(10, 20);
    ensure!(
        faults(&mut client)? == (count, vec![]),
        "{:?}",
        faults(&mut client)?
    );
    let missing = json!(client.either(
        "missing; run windrow install",
        "missing, or unseen by the owner role; run windrow install"
    ));
    let edited = json!("edited by hand; windrow install puts it back");
    if dialect == Dialect::Postgres {
        let name = format!("{}_orphan_guard", history.control);
        let function = format!("{}.orphan_guard_t_ds_command", history.control);
        client.execute(&format!(
            "DROP TRIGGER {name} ON t_ds_alert; ALTER TABLE t_ds_task_instance DISABLE TRIGGER {name};
             CREATE OR REPLACE TRIGGER {name} AFTER INSERT ON t_ds_command FOR EACH ROW EXECUTE FUNCTION {function}()"
        ))?;
        let disabled = json!("disabled: ALTER TABLE ... ENABLE TRIGGER");
        let (_, mut told) = faults(&mut client)?;
        told.sort_by_key(Value::to_string);
        ensure!(told == [disabled, edited, missing], "{told:?}");
        client.execute(&format!(
            "ALTER TABLE t_ds_task_instance ENABLE TRIGGER {name}"
        ))?;
    } else {
        let name = |table: &str| format!("{}${table}_insert", history.control);
        client.execute(&format!(
            "DROP TRIGGER {}; DROP TRIGGER {};
             CREATE TRIGGER {} BEFORE INSERT ON t_ds_command FOR EACH ROW BEGIN END",
            name("t_ds_alert"),
            name("t_ds_command"),
            name("t_ds_command")
        ))?;
        let (_, told) = faults(&mut client)?;
        ensure!(told.len() == 2 && told.contains(&missing), "{told:?}");
        client.execute(&format!(
            "DROP TRIGGER {}; CREATE DEFINER = `{}` TRIGGER {} BEFORE INSERT ON t_ds_command FOR EACH ROW BEGIN END",
            name("t_ds_command"), render::role_name(dialect, &history.control, "owner"), name("t_ds_command")
        ))?;
        let (_, told) = faults(&mut client)?;
        ensure!(told.len() == 2 && told.contains(&edited), "{told:?}");
    }
    history.install()?;
    ensure!(
        faults(&mut client)?.1.is_empty(),
        "{:?}",
        faults(&mut client)?
    );

    history.uninstall()?;
    let left = client.number(client.either(
        "SELECT COUNT(*) FROM pg_trigger WHERE tgname LIKE 'windrow%'",
        "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE() AND trigger_name LIKE 'windrow%'",
    ))?;
    ensure!(left == 0, "{left} triggers are left");
    client.execute(&row("t_ds_task_instance", "2000000000"))
}

/// One spec has the name of the other and the begin of a name of its table. An installation leaves the other's triggers alone, under
/// whatever name, and drops those that an earlier version made for its own.
fn two_specs_have_no_trigger_in_common(dialect: Dialect) -> Result<()> {
    let tables = "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended datetime NULL);
        CREATE TABLE b_c (id bigint PRIMARY KEY, job_id bigint); CREATE INDEX b_c_job ON b_c (job_id);
        CREATE TABLE c (id bigint PRIMARY KEY, job_id bigint); CREATE INDEX c_job ON c (job_id)";
    let text = |name: &str, database: &str, table: &str, guard: bool| {
        format!(
            "name = '{name}'\ndatabase = '{database}'\n[tables]\njob = {{ key = 'id bigint' }}\n\
                 {table} = {{ key = 'id bigint', parents = ['job_id -> job.id'] }}\n[rules.jobs]\nstrategy = 'end-time'\n\
                 root = 'job'\nfinal = {{ state = 'done' }}\nend_time = 'ended'\nretention = {{ default = '30d' }}\norphan_guard = {guard}\n"
        )
    };
    let beside = graph_of(&text("beside", "beside", "c", false));
    let mut place = Installation::of(dialect, tables, &beside);
    let (database, folder) = (place.name.clone(), tempfile::tempdir()?);
    let spec = |name: &str, table: &str| -> Result<PathBuf> {
        let path = folder.path().join(format!("{name}.toml"));
        std::fs::write(&path, text(name, &database, table, true))?;
        Ok(path)
    };
    let names = [format!("{database}_x"), format!("{database}_x_b")];
    let [one, other] = [spec(&names[0], "b_c")?, spec(&names[1], "c")?];
    let windrow = |words: &[&str], spec: &PathBuf| -> Result<()> {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(words)
            .arg(spec)
            .args(["--url", &place_url(dialect, &database)])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{words:?}: {said}");
        Ok(())
    };
    let triggers =
        "SELECT CONCAT(event_object_table, ' ', trigger_name) FROM information_schema.triggers
        WHERE trigger_schema = DATABASE() ORDER BY 1";
    let of = |name: &str, table: &str| {
        ["insert", "update"].map(|event| format!("{table} windrow_{name}${table}_{event}"))
    };
    let both: Vec<String> = [of(&names[0], "b_c"), of(&names[1], "c")].concat();
    windrow(&["install"], &one)?;
    windrow(&["install"], &other)?;
    assert_eq!(place.texts(triggers), both, "{dialect:?}");
    // What earlier versions made has one name for both.
    let old = |spec: &str, table: &str| {
        format!(
            "CREATE DEFINER = `{}` TRIGGER windrow_{}_b_c_insert BEFORE INSERT ON {table} FOR EACH ROW SET @old = 1",
            render::role_name(dialect, &format!("windrow_{spec}"), "owner"),
            names[0]
        )
    };
    place.execute(&old(&names[1], "c"));
    windrow(&["install"], &one)?;
    assert_eq!(place.texts(triggers).len(), 5, "{dialect:?}");
    windrow(&["install"], &other)?;
    assert_eq!(place.texts(triggers), both, "{dialect:?}");
    place.execute(&old(&names[0], "b_c"));
    // Without the new triggers, the old ones still refuse orphans.
    windrow(&["install", "--skip", "52_triggers.sql"], &one)?;
    assert_eq!(place.texts(triggers).len(), 5, "{dialect:?}");
    windrow(&["install"], &one)?;
    assert_eq!(place.texts(triggers), both, "{dialect:?}");
    // An uninstallation leaves none whose definer it drops, and those of the other.
    place.execute(&old(&names[1], "c"));
    place.execute(&old(&names[0], "job").replace("b_c_insert", "job_insert"));
    windrow(&["uninstall", "--yes"], &one)?;
    assert_eq!(place.texts(triggers).len(), 3, "{dialect:?}");
    place.execute("INSERT INTO b_c VALUES (1, NULL); INSERT INTO job (id) VALUES (1)");
    windrow(&["install"], &other)?;
    assert_eq!(place.texts(triggers), of(&names[1], "c"), "{dialect:?}");
    windrow(&["verify"], &other).or_else(|error| {
        // On this server no event runs.
        let told = format!("{error:#}");
        ensure!(!told.contains("trigger"), "{told}");
        Ok(())
    })?;
    place.execute(&old(&names[1], "c"));
    windrow(&["uninstall", "--yes"], &other)?;
    place.execute("INSERT INTO c VALUES (1, NULL)");
    // The file by hand.
    windrow(&["install"], &one)?;
    place.execute(&old(&names[0], "b_c"));
    let bundle = render::bundle(&graph_of(&text(&names[0], &database, "b_c", true)), dialect)?;
    let undo = bundle.files.iter().find(|it| it.path.contains("/90_"));
    for statement in &undo.context("an undo")?.statements {
        place.execute(&statement.sql);
    }
    assert!(place.texts(triggers).is_empty(), "{dialect:?}");
    place.execute("INSERT INTO b_c VALUES (2, NULL)");
    Ok(())
}

fn place_url(dialect: Dialect, database: &str) -> String {
    installation::server(dialect).url(database, "root")
}

fn the_archive_restores_through_the_triggers(dialect: Dialect) -> Result<()> {
    let mut history = History::shared(dialect)?;
    history.graph.rules[0].orphan_guard = true;
    history.graph.rules[0].archive = history.graph.rules[0].order.clone();
    history.install()?;
    let mut client = history.connect()?;
    let before = client.digest()?;
    client.execute("CALL W.arm()")?;
    let (result, rule) = client.run_rule(&json!({"run_families": 50}))?;
    ensure!(rule["families"] == 50, "{result}");
    ensure!(client.digest()? != before);
    let restored = client.call("archive_restore", &json!({"run": result["run"]}))?;
    ensure!(client.digest()? == before, "{restored}");
    Ok(())
}
