//! One family that cannot be deleted: it is recorded and passed over, and all others go.

use anyhow::{Result, ensure};
use postgres::Client;
use serde_json::{Value, json};

use crate::rig::{self, Database, W};

struct Poisoned {
    client: Client,
    /// Due roots that go, oldest first.
    due: Vec<i64>,
    families: i64,
    _database: Database,
}

fn database() -> Result<Poisoned> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let due = rig::due(&mut client, 200)?;
    ensure!(due.len() == 200, "{}", due.len());
    let preview = rig::call(&mut client, "preview", &json!({}))?;
    let families = preview["rules"][0]["families"].as_i64().unwrap_or_default();
    Ok(Poisoned {
        client,
        due,
        families,
        _database: database,
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
    let (first, rule) = rig::run_rule(client, &json!({}))?;
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
    ensure!(rig::is_there(client, key)?);
    rig::check_whole(client)?;

    let (again, rule) = rig::run_rule(client, &json!({}))?;
    ensure!(again["status"] == "failed" && rule["rows"] == 0, "{again}");
    check_failure(&rule, key, code, message)?;
    // A dry run tells the same and changes nothing.
    let (dry, rule) = rig::run_rule(client, &json!({"dry_run": true}))?;
    ensure!(dry["status"] == "failed", "{dry}");
    check_failure(&rule, key, code, message)?;
    // So does a purge by name.
    let purge = rig::purge(client, &json!({"key": [key]}))?;
    ensure!(
        purge["status"] == "failed" && purge["refused"][key.to_string()] == "FAILED",
        "{purge}"
    );
    check_failure(&purge["rules"][0], key, code, message)?;
    rig::check_whole(client)?;

    client.batch_execute(cure)?;
    let (cured, rule) = rig::run_rule(client, &json!({}))?;
    ensure!(
        cured["status"] == "done" && rule["families"] == 1,
        "{cured}"
    );
    rig::check_whole(client)?;
    rig::check_unlocked(client)?;
    ensure!(!rig::is_there(client, key)?);
    Ok(first)
}

fn check_failure(rule: &Value, key: i64, code: &str, message: &str) -> Result<()> {
    let failures = rule["failures"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    ensure!(
        failures.len() == 1
            && failures[0]["key"] == key.to_string()
            && failures[0]["sqlstate"] == code
            && failures[0]["message"]
                .as_str()
                .unwrap_or_default()
                .contains(message),
        "{key} with {code} and `{message}` expected: {rule}"
    );
    Ok(())
}

#[test]
fn a_foreign_key_from_outside_keeps_one_family() -> Result<()> {
    for (parent, clause) in [
        ("t_ds_workflow_instance", "NO ACTION"),
        (
            "t_ds_workflow_instance",
            "NO ACTION DEFERRABLE INITIALLY DEFERRED",
        ),
        ("t_ds_task_instance", "RESTRICT"),
    ] {
        let mut poisoned = database()?;
        let key = poisoned.due[137];
        let referenced = if parent == "t_ds_task_instance" {
            format!("(SELECT max(id) FROM t_ds_task_instance WHERE workflow_instance_id = {key})")
        } else {
            key.to_string()
        };
        poisoned.client.batch_execute(&format!(
            "CREATE TABLE outside (instance integer REFERENCES {parent} (id) ON DELETE {clause});
             CREATE INDEX ON outside (instance);
             INSERT INTO outside SELECT {referenced}"
        ))?;
        // PostgreSQL 18 tells RESTRICT apart.
        let code = if clause == "RESTRICT"
            && rig::number(
                &mut poisoned.client,
                "SELECT current_setting('server_version_num')::integer",
            )? >= 180_000
        {
            "23001"
        } else {
            "23503"
        };
        let result = check(&mut poisoned, key, code, "outside", "TRUNCATE outside")?;
        let rule = &result["rules"][0];
        let attempts = rule["batches"].as_i64().unwrap_or_default()
            + rule["retries"].as_i64().unwrap_or_default();
        ensure!(attempts <= 20, "{attempts} attempts: {rule}");
    }
    Ok(())
}

/// Wherever the poison stands among 200 families, it is found within 2 log2(200) attempts.
#[test]
fn one_poison_among_two_hundred_is_found_by_halving() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let due = rig::due(&mut client, 200)?;
    rig::call(
        &mut client,
        "set_setting",
        &json!({"name": "run_families", "value": 200}),
    )?;
    client.batch_execute(
        "CREATE TABLE outside (instance integer REFERENCES t_ds_workflow_instance (id));
         CREATE INDEX ON outside (instance)",
    )?;
    for place in [0, 1, 66, 99, 100, 133, 170, 198, 199] {
        client.batch_execute(&format!(
            "TRUNCATE outside; INSERT INTO outside VALUES ({})",
            due[place]
        ))?;
        let (result, rule) = rig::run_rule(&mut client, &json!({"dry_run": true}))?;
        let attempts = rule["batches"].as_i64().unwrap_or_default()
            + rule["retries"].as_i64().unwrap_or_default();
        ensure!(
            result["status"] == "failed" && attempts <= 20,
            "{attempts} attempts with the poison at {place}: {result}"
        );
    }
    Ok(())
}

#[test]
fn a_trigger_that_raises_for_one_family() -> Result<()> {
    let mut poisoned = database()?;
    let key = poisoned.due[3];
    poisoned.client.batch_execute(&format!(
        "CREATE FUNCTION before.veto() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF OLD.workflow_instance_id = {key} THEN RAISE EXCEPTION 'audit wants %', OLD.id USING ERRCODE = 'AU001'; END IF;
             RETURN OLD;
         END $$;
         CREATE TRIGGER veto BEFORE DELETE ON t_ds_task_instance FOR EACH ROW EXECUTE FUNCTION before.veto()"
    ))?;
    check(
        &mut poisoned,
        key,
        "AU001",
        "audit wants",
        "DROP FUNCTION before.veto() CASCADE",
    )?;
    Ok(())
}

/// A trigger or rule that keeps rows silently: whoever owns the row, its whole family stays.
#[test]
fn a_trigger_that_keeps_rows_keeps_their_families() -> Result<()> {
    let kept = |table: &str, condition: &str| {
        format!(
            "CREATE FUNCTION before.keep() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF {condition} THEN RETURN NULL; END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER keep BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION before.keep()"
        )
    };
    for table in [
        "t_ds_workflow_instance",
        "t_ds_task_instance",
        "t_ds_task_instance_context",
    ] {
        let mut poisoned = database()?;
        let key = poisoned.due[20];
        let condition = match table {
            "t_ds_workflow_instance" => format!("OLD.id = {key}"),
            "t_ds_task_instance" => format!("OLD.workflow_instance_id = {key}"),
            _ => format!(
                "OLD.task_instance_id IN (SELECT o.task FROM before.task AS o WHERE o.instance = {key})"
            ),
        };
        poisoned.client.batch_execute(
            "CREATE TABLE before.task AS SELECT id AS task, workflow_instance_id AS instance FROM t_ds_task_instance;
             GRANT USAGE ON SCHEMA before TO PUBLIC; GRANT SELECT ON before.task TO PUBLIC",
        )?;
        poisoned.client.batch_execute(&kept(table, &condition))?;
        check(
            &mut poisoned,
            key,
            "P0001",
            "could not be deleted",
            "DROP FUNCTION before.keep() CASCADE",
        )?;
    }
    let mut poisoned = database()?;
    let key = poisoned.due[20];
    poisoned.client.batch_execute(&format!(
        "CREATE RULE keep AS ON DELETE TO t_ds_alert WHERE OLD.workflow_instance_id = {key} DO INSTEAD NOTHING;
         INSERT INTO t_ds_alert (id, workflow_instance_id) SELECT -1, {key}"
    ))?;
    poisoned
        .client
        .batch_execute("INSERT INTO before.row VALUES ('alert', -1)")?;
    poisoned.client.batch_execute(&format!(
        "INSERT INTO before.owner VALUES ('alert', -1, {key})"
    ))?;
    check(
        &mut poisoned,
        key,
        "P0001",
        "could not be deleted",
        "DROP RULE keep ON t_ds_alert",
    )?;
    Ok(())
}

/// Rows that a row security policy hides from the owner role would stay as orphans: the run refuses to guess.
#[test]
fn row_security_on_a_table_of_the_family_ends_the_run() -> Result<()> {
    let mut poisoned = database()?;
    let client = &mut poisoned.client;
    client.batch_execute(
        "ALTER TABLE t_ds_task_instance ENABLE ROW LEVEL SECURITY;
         CREATE POLICY a_few ON t_ds_task_instance USING (id % 2 = 0)",
    )?;
    let (result, rule) = rig::run_rule(client, &json!({}))?;
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
    rig::check_whole(client)?;
    client.batch_execute("ALTER TABLE t_ds_task_instance DISABLE ROW LEVEL SECURITY")?;
    ensure!(rig::run(client, &json!({}))?["status"] == "done");
    rig::check_whole(client)?;
    ensure!(rig::number(client, &format!("SELECT count(*) FROM {W}.run_failure"))? == 0);
    Ok(())
}
