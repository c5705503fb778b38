//! One family that cannot be deleted: it is recorded and passed over, and all others go.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::parts;
use crate::support::history::{Client, History};

tests! {
    on_postgres: [
        a_trigger_that_keeps_rows_keeps_their_families,
        an_assertion_in_a_trigger_keeps_one_family,
        row_security_on_a_table_of_the_family_ends_the_run,
    ],
    mysql_alone: [
        behind_warnings_a_refusal_is_told_apart,
    ],
    mysql_or_mariadb: [
        a_trigger_that_refuses_a_whole_day_ends_the_run_soon,
        a_session_that_keeps_no_conditions_says_what_failed,
        what_every_family_would_meet_ends_the_run,
        what_no_family_is_to_blame_for_ends_a_purge,
    ],
    every_server: [
        one_poison_among_two_hundred_is_found_by_halving,
        a_foreign_key_from_outside_keeps_one_family,
        a_trigger_that_raises_for_one_family,
        a_trigger_that_refuses_as_if_a_right_were_missing,
        a_trigger_that_refuses_all_ends_the_run_soon,
        a_trigger_that_refuses_the_oldest_keeps_them_alone,
    ],
}

struct Poisoned {
    client: Client,
    /// Due roots that go, oldest first.
    due: Vec<i64>,
    families: i64,
}

fn poisoned(dialect: Dialect) -> Result<Poisoned> {
    let mut client = History::shared(dialect)?.connect()?;
    let due = client.due(200)?;
    let preview = client.call("preview", &json!({}))?;
    let families = preview["rules"][0]["families"].as_i64().unwrap_or_default();
    Ok(Poisoned {
        client,
        due,
        families,
    })
}

/// The run goes red because of one family, twice; without the poison that family goes too.
fn check(
    poisoned: &mut Poisoned,
    key: i64,
    code: &str,
    message: &str,
    cure: &str,
) -> Result<Value> {
    let client = &mut poisoned.client;
    let (first, rule) = client.run_rule(&json!({}))?;
    ensure!(
        first["status"] == "failed" && first["reason"] == "nothing left",
        "{first}"
    );
    ensure!(
        rule["families"] == poisoned.families - 1,
        "{} expected: {rule}",
        poisoned.families - 1
    );
    check_failure(&rule, key, code, message)?;
    ensure!(
        rule["skipped"]["FAILED"] == 1
            && rule["skipped_samples"]["FAILED"] == json!([key.to_string()]),
        "{rule}"
    );
    ensure!(client.is_there(key)?);
    client.check_whole()?;

    let (again, rule) = client.run_rule(&json!({}))?;
    ensure!(again["status"] == "failed" && rule["rows"] == 0, "{again}");
    check_failure(&rule, key, code, message)?;
    // A dry run tells the same and changes nothing.
    let (dry, rule) = client.run_rule(&json!({"dry_run": true}))?;
    ensure!(dry["status"] == "failed", "{dry}");
    check_failure(&rule, key, code, message)?;
    // So does a purge by name.
    let purge = client.call("purge", &json!({"key": [key]}))?;
    ensure!(
        purge["status"] == "failed" && purge["refused"][key.to_string()] == "FAILED",
        "{purge}"
    );
    check_failure(&purge["rules"][0], key, code, message)?;
    client.check_whole()?;

    client.execute(cure)?;
    let (cured, rule) = client.run_rule(&json!({}))?;
    ensure!(
        cured["status"] == "done" && rule["families"] == 1,
        "{cured}"
    );
    client.check_whole()?;
    client.check_unlocked()?;
    ensure!(!client.is_there(key)?);
    Ok(first)
}

fn check_failure(rule: &Value, key: i64, code: &str, message: &str) -> Result<()> {
    let failures = rule["failures"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    ensure!(
        failures.len() == 1
            && failures[0]["key"] == json!(key.to_string())
            && failures[0]["sqlstate"] == code
            && failures[0]["message"]
                .as_str()
                .unwrap_or_default()
                .contains(message),
        "{key} with {code} and `{message}` expected: {rule}"
    );
    Ok(())
}

fn a_foreign_key_from_outside_keeps_one_family(dialect: Dialect) -> Result<()> {
    for (parent, clause) in [
        ("t_ds_workflow_instance", "NO ACTION"),
        (
            "t_ds_workflow_instance",
            "NO ACTION DEFERRABLE INITIALLY DEFERRED",
        ),
        ("t_ds_task_instance", "RESTRICT"),
    ] {
        if clause.contains("DEFERRABLE") && dialect != Dialect::Postgres {
            continue;
        }
        let mut poisoned = poisoned(dialect)?;
        let client = &mut poisoned.client;
        let key = poisoned.due[137];
        let referenced = if parent == "t_ds_task_instance" {
            client.number(&format!(
                "SELECT max(id) FROM t_ds_task_instance WHERE workflow_instance_id = {key}"
            ))?
        } else {
            key
        };
        client.execute(&format!(
            "CREATE TABLE outside (instance integer, FOREIGN KEY (instance) REFERENCES {parent} (id) ON DELETE {clause});
             CREATE INDEX outside_key ON outside (instance);
             INSERT INTO outside VALUES ({referenced})"
        ))?;
        let code = match dialect {
            // PostgreSQL 18 tells RESTRICT apart.
            Dialect::Postgres
                if clause == "RESTRICT" && client.session.server()?.version_num >= 180_000 =>
            {
                "23001"
            }
            Dialect::Postgres => "23503",
            Dialect::Mysql | Dialect::Mariadb => "23000",
        };
        let result = check(&mut poisoned, key, code, "outside", "DELETE FROM outside")?;
        let rule = &result["rules"][0];
        let attempts = rule["batches"].as_i64().unwrap_or_default()
            + rule["retries"].as_i64().unwrap_or_default();
        // Once more than where the family itself is at fault: the row may have come meanwhile.
        ensure!(attempts <= 21, "{attempts} attempts: {rule}");
    }
    Ok(())
}

/// Wherever the poison stands among 200 families, it is found within 2 log2(200) attempts.
fn one_poison_among_two_hundred_is_found_by_halving(dialect: Dialect) -> Result<()> {
    let Poisoned {
        mut client, due, ..
    } = poisoned(dialect)?;
    client.set("run_families", 200)?;
    client.execute(
        "CREATE TABLE outside (instance integer, FOREIGN KEY (instance) REFERENCES t_ds_workflow_instance (id));
         CREATE INDEX outside_key ON outside (instance)",
    )?;
    for place in [0, 66, 100, 199] {
        client.execute(&format!(
            "DELETE FROM outside; INSERT INTO outside VALUES ({})",
            due[place]
        ))?;
        let (result, rule) = client.run_rule(&json!({"dry_run": true}))?;
        let attempts = rule["batches"].as_i64().unwrap_or_default()
            + rule["retries"].as_i64().unwrap_or_default();
        ensure!(
            result["status"] == "failed" && attempts <= 20,
            "{attempts} attempts with the poison at {place}: {result}"
        );
    }
    Ok(())
}

fn a_trigger_that_raises_for_one_family(dialect: Dialect) -> Result<()> {
    raises_for_one_family(poisoned(dialect)?, "AU001", "audit wants")
}

/// `max_error_count = 0`, be it of the caller or of the server: the handler of a batch has no condition to read then. On MySQL
/// only who administers the server may change that, and the owner does not.
fn a_session_that_keeps_no_conditions_says_what_failed(dialect: Dialect) -> Result<()> {
    let mut poisoned = poisoned(dialect)?;
    let client = &mut poisoned.client;
    let (refusal, code, message) = match dialect {
        Dialect::Mysql => (UNKNOWN, "HY000", UNKNOWN),
        Dialect::Postgres | Dialect::Mariadb => {
            ("unknown option: 'worker'", "AU001", "audit wants")
        }
    };
    client.execute("SET SESSION max_error_count = 0; CALL W.run_scheduled(7)")?;
    let said = client.texts("SELECT reason FROM W.run ORDER BY run_id DESC LIMIT 1")?;
    ensure!(said[0].contains(refusal), "{said:?}");
    ensure!(client.number("SELECT @@max_error_count")? == 0);
    // What is refused before the session is settled.
    client.execute("START TRANSACTION; SELECT COUNT(*) FROM W.run")?;
    let error = client.run(&json!({})).err().context("in a transaction")?;
    ensure!(format!("{error:#}").contains("25001"), "{error:#}");
    client.execute("ROLLBACK")?;
    // A batch that others are in the way of is tried again, and one that may not do what it needs ends the run.
    for (error, status, failed) in [("1205", "done", 0), ("1142", "failed", 0)] {
        let state = if error == "1142" { "42000" } else { "HY000" };
        client.execute(&format!(
            "CREATE TRIGGER veto BEFORE DELETE ON t_ds_task_instance FOR EACH ROW
             SIGNAL SQLSTATE '{state}' SET MYSQL_ERRNO = {error}, MESSAGE_TEXT = 'not now'"
        ))?;
        let (answer, rule) = client.run_rule(&json!({"dry_run": true, "run_families": 1}))?;
        client.execute("DROP TRIGGER veto")?;
        let skipped = rule["skipped"]["FAILED"].as_i64().unwrap_or_default();
        ensure!(
            skipped == failed && (answer["status"] == status || rule["skipped"]["LOCKED"] == 1),
            "{error}: {answer}"
        );
    }
    raises_for_one_family(poisoned, code, message)
}

/// MySQL keeps as many conditions as the session says: warnings leave the error out, and where there is no room for one, a refusal
/// with the state of a missing right is one all the same.
fn behind_warnings_a_refusal_is_told_apart(dialect: Dialect) -> Result<()> {
    let warnings = "unknown: more warnings than max_error_count";
    for (room, state, told) in [
        (0, "42000", UNKNOWN),
        (1, "42000", warnings),
        (1, "AU001", warnings),
    ] {
        let mut poisoned = poisoned(dialect)?;
        let key = poisoned.due[3];
        let condition = format!("OLD.workflow_instance_id = {key}");
        let (veto, cure) = veto(&poisoned.client, &condition, state);
        poisoned.client.execute(&format!(
            "CREATE TRIGGER warns BEFORE DELETE ON t_ds_task_instance FOR EACH ROW
             SIGNAL SQLSTATE '01000' SET MYSQL_ERRNO = 1592, MESSAGE_TEXT = 'unsafe';
             {veto};
             SET SESSION max_error_count = {room}"
        ))?;
        check(&mut poisoned, key, "HY000", told, cure)?;
    }
    for room in [0, 1] {
        let mut poisoned = poisoned(dialect)?;
        let key = poisoned.due[3];
        poisoned.client.execute(&format!(
            "CREATE TRIGGER warns BEFORE DELETE ON t_ds_task_instance FOR EACH ROW
             SIGNAL SQLSTATE '01000' SET MYSQL_ERRNO = 1592, MESSAGE_TEXT = 'unsafe';
             CREATE TABLE outside (task integer, FOREIGN KEY (task) REFERENCES t_ds_task_instance (id));
             INSERT INTO outside SELECT MAX(id) FROM t_ds_task_instance WHERE workflow_instance_id = {key};
             SET SESSION max_error_count = {room}"
        ))?;
        let refuses = "a foreign key refuses";
        check(&mut poisoned, key, "23000", refuses, "DELETE FROM outside")?;
    }
    Ok(())
}

/// A server of a group or of a cluster refuses tables, and no family; as a partition that cannot be exchanged is no matter of its rows.
fn what_every_family_would_meet_ends_the_run(dialect: Dialect) -> Result<()> {
    let mut client = History::shared(dialect)?.connect()?;
    let prohibits = "Percona-XtraDB-Cluster prohibits use of DML command on a table (t.log) without an explicit primary key";
    for (number, message, ends) in [
        (1731, "Found a row", 1),
        (1785, "Statement violates GTID consistency", 1),
        (3098, "The table does not comply with the requirements", 1),
        (1105, prohibits, 1),
        (1105, "Unknown error", 0),
        (1451, "Cannot delete or update a parent row", 0),
    ] {
        client.execute(&format!(
            "CALL W.fault_of({number}, 'HY000', '{message}', 7, @before_busy, @before_state)"
        ))?;
        let found = client.number("SELECT @before_state IS NOT NULL AND NOT @before_busy")?;
        ensure!(found == ends, "{number}: {message}");
    }
    Ok(())
}

/// The ledger says once why, and of none of the families that it failed.
fn what_no_family_is_to_blame_for_ends_a_purge(dialect: Dialect) -> Result<()> {
    let Poisoned {
        mut client, due, ..
    } = poisoned(dialect)?;
    let keys = &due[..4];
    let changed = "catalog changed: something now acts";
    for (body, told) in [
        (
            "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1142, MESSAGE_TEXT = 'not now'",
            "not now",
        ),
        (
            "UPDATE W.catalog_state SET state = '{}', beside = '{}'",
            changed,
        ),
    ] {
        client.execute(&format!(
            "CREATE TRIGGER veto BEFORE DELETE ON t_ds_task_instance FOR EACH ROW {body}"
        ))?;
        let purge = client.call("purge", &json!({"key": keys}));
        client.execute("DROP TRIGGER veto")?;
        let error = format!("{:#}", purge.err().context("a purge that ends")?);
        ensure!(error.contains(told), "{error}");
        let ended = client.texts(
            "SELECT CONCAT_WS(' ', r.status, r.reason,
                 (SELECT COUNT(*) FROM W.run_failure AS f WHERE f.run_id = r.run_id),
                 (SELECT COUNT(*) FROM W.run_skip AS s WHERE s.run_id = r.run_id)
             ) FROM W.run AS r ORDER BY r.run_id DESC LIMIT 1",
        )?;
        ensure!(
            ended[0].starts_with("failed error ")
                && ended[0].contains(told)
                && ended[0].ends_with(" 0 0"),
            "{ended:?}"
        );
        client.check_whole()?;
    }
    for key in keys {
        ensure!(client.is_there(*key)?);
    }
    ensure!(client.call("purge", &json!({"key": keys}))?["status"] == "done");
    client.check_unlocked()
}

const UNKNOWN: &str = "unknown: max_error_count is 0";

fn raises_for_one_family(mut poisoned: Poisoned, code: &str, message: &str) -> Result<()> {
    let key = poisoned.due[3];
    let condition = format!("OLD.workflow_instance_id = {key}");
    let (veto, cure) = veto(&poisoned.client, &condition, "AU001");
    poisoned.client.execute(&veto)?;
    check(&mut poisoned, key, code, message, cure)?;
    Ok(())
}

/// A trigger on the tasks that raises an error with a state, where a condition holds; and what removes it.
fn veto(client: &Client, condition: &str, state: &str) -> (String, &'static str) {
    client.either(
        (
            format!(
                "CREATE FUNCTION before_veto() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN
                     IF {condition} THEN RAISE EXCEPTION 'audit wants this' USING ERRCODE = '{state}'; END IF;
                     RETURN OLD;
                 END $$;
                 CREATE TRIGGER veto BEFORE DELETE ON t_ds_task_instance FOR EACH ROW EXECUTE FUNCTION before_veto()"
            ),
            "DROP FUNCTION before_veto() CASCADE",
        ),
        (
            format!(
                "CREATE TRIGGER veto BEFORE DELETE ON t_ds_task_instance FOR EACH ROW
                 IF {condition} THEN SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = 'audit wants this'; END IF"
            ),
            "DROP TRIGGER veto",
        ),
    )
}

/// States that stand for missing rights, resources or a cancel, where the server itself raises them.
fn states(dialect: Dialect) -> [&'static str; 3] {
    match dialect {
        Dialect::Postgres => ["42501", "54001", "57014"],
        Dialect::Mysql | Dialect::Mariadb => ["42000", "28000", "70100"],
    }
}

fn a_trigger_that_refuses_as_if_a_right_were_missing(dialect: Dialect) -> Result<()> {
    for state in states(dialect) {
        let mut poisoned = poisoned(dialect)?;
        let key = poisoned.due[3];
        let condition = format!("OLD.workflow_instance_id = {key}");
        let (veto, cure) = veto(&poisoned.client, &condition, state);
        poisoned.client.execute(&veto)?;
        check(&mut poisoned, key, state, "audit wants", cure)?;
    }
    Ok(())
}

/// How many refusals of this kind a run takes for those of families.
const ENOUGH: i64 = 100;

/// What concerns no family fails with each: some are tried, and the run ends with the error.
fn a_trigger_that_refuses_all_ends_the_run_soon(dialect: Dialect) -> Result<()> {
    let Poisoned { mut client, .. } = poisoned(dialect)?;
    let state = states(dialect)[0];
    let (veto, cure) = veto(&client, "true", state);
    client.execute(&veto)?;
    let (result, rule) = client.run_rule(&json!({}))?;
    let reason = result["reason"].as_str().unwrap_or_default();
    ensure!(
        result["status"] == "failed" && reason.contains(state) && reason.contains("audit wants"),
        "{result}"
    );
    let attempts =
        rule["batches"].as_i64().unwrap_or_default() + rule["retries"].as_i64().unwrap_or_default();
    ensure!(
        rule["skipped"]["FAILED"] == ENOUGH && attempts <= 3 * ENOUGH + 20,
        "{attempts} attempts: {rule}"
    );
    client.check_whole()?;
    client.execute(cure)?;
    ensure!(client.run(&json!({}))?["status"] == "done");
    client.check_whole()?;
    client.check_unlocked()
}

/// Those of one customer, say, who is there for longer than all others: what is behind them goes, in the same run.
fn a_trigger_that_refuses_the_oldest_keeps_them_alone(dialect: Dialect) -> Result<()> {
    let Poisoned {
        mut client,
        due,
        families,
    } = poisoned(dialect)?;
    let refused = ENOUGH * 6 / 10;
    let oldest: Vec<String> = due
        .iter()
        .take(refused as usize)
        .map(i64::to_string)
        .collect();
    let condition = format!("OLD.workflow_instance_id IN ({})", oldest.join(", "));
    for state in states(dialect) {
        let (veto, cure) = veto(&client, &condition, state);
        client.execute(&veto)?;
        let (result, rule) = client.run_rule(&json!({"dry_run": true}))?;
        client.execute(cure)?;
        ensure!(
            result["reason"] == "nothing left"
                && rule["skipped"]["FAILED"] == refused
                && rule["families"] == families - refused,
            "{state} {result}"
        );
    }
    Ok(())
}

/// Nor does the first look at the rows of one instant, which tells of none.
fn a_trigger_that_refuses_a_whole_day_ends_the_run_soon(dialect: Dialect) -> Result<()> {
    let veto = |condition: &str| {
        format!(
            "CREATE TRIGGER veto BEFORE DELETE ON log FOR EACH ROW
             IF {condition} THEN SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = 'audit wants this'; END IF"
        )
    };
    let mut database = parts::day(dialect, 300, 100);
    database.execute(&veto("true"));
    let run = database.run(json!({}))?;
    let rule = &run["rules"][0];
    let attempts =
        rule["batches"].as_i64().unwrap_or_default() + rule["retries"].as_i64().unwrap_or_default();
    let reason = run["reason"].as_str().unwrap_or_default();
    ensure!(
        run["status"] == "failed" && reason.contains("audit wants") && attempts <= 3 * ENOUGH,
        "{attempts} attempts: {run}"
    );
    database.execute("DROP TRIGGER veto");
    let run = database.run(json!({}))?;
    ensure!(
        run["status"] == "done" && run["rules"][0]["rows"] == 300,
        "{run}"
    );

    // Many, but not more than may be: both looks meet the same.
    let mut database = parts::day(dialect, 300, 100);
    database.execute(&veto("OLD.id BETWEEN 201 AND 260"));
    let run = database.run(json!({}))?;
    let rule = &run["rules"][0];
    ensure!(
        rule["rows"] == 240 && rule["skipped"]["FAILED"] == 60,
        "{run}"
    );
    Ok(())
}

/// In PL/pgSQL, OTHERS does not stand for a failed ASSERT.
fn an_assertion_in_a_trigger_keeps_one_family() -> Result<()> {
    let mut poisoned = poisoned(Dialect::Postgres)?;
    let key = poisoned.due[3];
    poisoned.client.execute(&format!(
        "CREATE FUNCTION before_veto() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             ASSERT OLD.workflow_instance_id <> {key}, 'audit wants this';
             RETURN OLD;
         END $$;
         CREATE TRIGGER veto BEFORE DELETE ON t_ds_task_instance FOR EACH ROW EXECUTE FUNCTION before_veto()"
    ))?;
    let cure = "DROP FUNCTION before_veto() CASCADE";
    check(&mut poisoned, key, "P0004", "audit wants", cure)?;
    Ok(())
}

/// A trigger or rule that keeps rows silently: whoever owns the row, its whole family stays.
fn a_trigger_that_keeps_rows_keeps_their_families() -> Result<()> {
    let kept = |table: &str, condition: &str| {
        format!(
            "CREATE FUNCTION before_keep() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF {condition} THEN RETURN NULL; END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER keep BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION before_keep()"
        )
    };
    for table in [
        "t_ds_workflow_instance",
        "t_ds_task_instance",
        "t_ds_task_instance_context",
    ] {
        let mut poisoned = poisoned(Dialect::Postgres)?;
        let key = poisoned.due[20];
        let condition = match table {
            "t_ds_workflow_instance" => format!("OLD.id = {key}"),
            "t_ds_task_instance" => format!("OLD.workflow_instance_id = {key}"),
            _ => format!(
                "OLD.task_instance_id IN (SELECT o.task FROM public.before_task AS o WHERE o.instance = {key})"
            ),
        };
        poisoned.client.execute(
            "CREATE TABLE before_task AS SELECT id AS task, workflow_instance_id AS instance FROM t_ds_task_instance;
             GRANT SELECT ON before_task TO PUBLIC",
        )?;
        poisoned.client.execute(&kept(table, &condition))?;
        check(
            &mut poisoned,
            key,
            "P0001",
            "could not be deleted",
            "DROP FUNCTION before_keep() CASCADE",
        )?;
    }
    Ok(())
}

/// Rows that a row security policy hides from the owner role would stay as orphans: the run refuses to guess.
fn row_security_on_a_table_of_the_family_ends_the_run() -> Result<()> {
    let mut poisoned = poisoned(Dialect::Postgres)?;
    let client = &mut poisoned.client;
    client.execute(
        "ALTER TABLE t_ds_task_instance ENABLE ROW LEVEL SECURITY;
         CREATE POLICY a_few ON t_ds_task_instance USING (id % 2 = 0)",
    )?;
    let (result, rule) = client.run_rule(&json!({}))?;
    ensure!(
        result["status"] == "failed" && rule["rows"] == 0,
        "{result}"
    );
    ensure!(
        result["reason"]
            .as_str()
            .unwrap_or_default()
            .contains("42501"),
        "{result}"
    );
    client.check_whole()?;
    client.execute("ALTER TABLE t_ds_task_instance DISABLE ROW LEVEL SECURITY")?;
    ensure!(client.run(&json!({}))?["status"] == "done");
    client.check_whole()?;
    ensure!(client.number("SELECT count(*) FROM W.run_failure")? == 0);
    Ok(())
}
