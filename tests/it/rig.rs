//! What the tests of the generated SQL share: a DolphinScheduler with windrow installed, a database of its own for each
//! test, and the questions whether a family was torn apart and whether the ledger tells the truth.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crate::support::systems::dolphinscheduler::{FAMILIES_SETTING, HISTORY_34, SCHEMA_34};
use anyhow::{Context, Result, anyhow, ensure};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::dialect::Dialect;
use windrow::graph::{Graph, Shared};
use windrow::render;
use windrow::sandbox::{Postgres, Settings};

use crate::support::defect;
use crate::support::graphs::dolphinscheduler;
use crate::support::patience::until;

/// The control schema.
pub(crate) const W: &str = "windrow_dolphinscheduler";

/// The database that the others are copied from: nobody may be connected to it.
const ORIGIN: &str = "origin";

/// The specification with batches that are small beside the history.
pub(crate) fn graph() -> Graph {
    let mut graph = dolphinscheduler(Shared::Closed);
    graph.rules[0].limits.said.insert("batch_families", 200);
    graph
}

/// The generated files. Rendered once: it takes a third of a second in a test's build, a second on a busy machine, in
/// which a run that a test wants to disturb may be over.
pub(crate) fn bundle() -> Result<Bundle> {
    static BUNDLE: OnceLock<Bundle> = OnceLock::new();
    if let Some(bundle) = BUNDLE.get() {
        return Ok(bundle.clone());
    }
    let bundle = render::bundle(&graph(), Dialect::Postgres)?;
    let bundle = defect::of_this_process(bundle, &graph(), Dialect::Postgres);
    Ok(BUNDLE.get_or_init(|| bundle).clone())
}

/// Applies the numbered files but the last, as `windrow install` does.
pub(crate) fn install(client: &mut Client) -> Result<()> {
    apply(client, |name| name < "90")
}

/// Applies the file of the schedule alone.
pub(crate) fn schedule(client: &mut Client) -> Result<()> {
    apply(client, |name| name.starts_with("60"))
}

/// Applies the file that undoes everything.
pub(crate) fn uninstall(client: &mut Client) -> Result<()> {
    apply(client, |name| name.starts_with("90"))
}

fn apply(client: &mut Client, wanted: impl Fn(&str) -> bool) -> Result<()> {
    for file in bundle()?.files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        if !wanted(name) {
            continue;
        }
        for statement in file.statements {
            client
                .batch_execute(&statement.sql)
                .with_context(|| format!("{name}: {}", statement.what))?;
        }
    }
    Ok(())
}

/// A copy of every key and of what belongs to what, and the questions about them.
const BEFORE: &str = "
CREATE SCHEMA before;
CREATE VIEW before.present AS
          SELECT 'instance' AS tab, id FROM t_ds_workflow_instance
UNION ALL SELECT 'task', id FROM t_ds_task_instance
UNION ALL SELECT 'context', id FROM t_ds_task_instance_context
UNION ALL SELECT 'queue', id FROM t_ds_task_group_queue
UNION ALL SELECT 'alert', id FROM t_ds_alert
UNION ALL SELECT 'send', id FROM t_ds_alert_send_status
UNION ALL SELECT 'command', id FROM t_ds_command
UNION ALL SELECT 'error', id FROM t_ds_error_command
UNION ALL SELECT 'serial', id FROM t_ds_serial_command
UNION ALL SELECT 'relation', id FROM t_ds_relation_workflow_instance
UNION ALL SELECT 'dynamic', id FROM t_ds_relation_sub_workflow;
CREATE TABLE before.row AS SELECT * FROM before.present;
CREATE TABLE before.instance AS TABLE t_ds_workflow_instance;
CREATE TABLE before.owner AS
SELECT o.*
FROM (
              SELECT 'instance' AS tab, id, id::bigint AS instance FROM t_ds_workflow_instance
    UNION ALL SELECT 'task', id, workflow_instance_id FROM t_ds_task_instance
    UNION ALL SELECT 'context', c.id, t.workflow_instance_id FROM t_ds_task_instance_context AS c JOIN t_ds_task_instance AS t ON t.id = c.task_instance_id
    UNION ALL SELECT 'queue', id, workflow_instance_id FROM t_ds_task_group_queue
    UNION ALL SELECT 'queue', q.id, t.workflow_instance_id FROM t_ds_task_group_queue AS q JOIN t_ds_task_instance AS t ON t.id = q.task_id
    UNION ALL SELECT 'alert', id, workflow_instance_id FROM t_ds_alert
    UNION ALL SELECT 'send', s.id, a.workflow_instance_id FROM t_ds_alert_send_status AS s JOIN t_ds_alert AS a ON a.id = s.alert_id
    UNION ALL SELECT 'command', id, workflow_instance_id FROM t_ds_command
    UNION ALL SELECT 'error', id, workflow_instance_id FROM t_ds_error_command
    UNION ALL SELECT 'serial', id, workflow_instance_id FROM t_ds_serial_command
    UNION ALL SELECT 'relation', id, parent_workflow_instance_id FROM t_ds_relation_workflow_instance
    UNION ALL SELECT 'relation', id, workflow_instance_id FROM t_ds_relation_workflow_instance
    UNION ALL SELECT 'dynamic', id, parent_workflow_instance_id FROM t_ds_relation_sub_workflow
    UNION ALL SELECT 'dynamic', id, sub_workflow_instance_id FROM t_ds_relation_sub_workflow
) AS o
WHERE o.instance IN (SELECT i.id FROM before.instance AS i);
CREATE TABLE before.link AS
SELECT l.*
FROM (
    SELECT parent_workflow_instance_id::bigint AS upper, workflow_instance_id::bigint AS lower FROM t_ds_relation_workflow_instance
    UNION
    SELECT parent_workflow_instance_id, sub_workflow_instance_id FROM t_ds_relation_sub_workflow
) AS l
WHERE l.upper IN (SELECT i.id FROM before.instance AS i)
  AND l.lower IN (SELECT i.id FROM before.instance AS i);
-- A row is there if and only if everything is there that it belonged to; linked instances share their fate.
CREATE FUNCTION before.torn() RETURNS SETOF text LANGUAGE sql AS $$
    SELECT 'row ' || b.tab || ' ' || b.id
    FROM before.row AS b
    LEFT JOIN before.present AS p ON p.tab = b.tab AND p.id = b.id
    LEFT JOIN before.owner AS o ON o.tab = b.tab AND o.id = b.id
    LEFT JOIN t_ds_workflow_instance AS i ON i.id = o.instance
    GROUP BY b.tab, b.id
    HAVING bool_and(p.id IS NOT NULL) <> bool_and(o.instance IS NULL OR i.id IS NOT NULL)
    UNION ALL
    SELECT 'link ' || l.upper || ' ' || l.lower
    FROM before.link AS l
    LEFT JOIN t_ds_workflow_instance AS u ON u.id = l.upper
    LEFT JOIN t_ds_workflow_instance AS d ON d.id = l.lower
    WHERE (u.id IS NULL) <> (d.id IS NULL)
$$;
CREATE FUNCTION before.gone() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM (SELECT * FROM before.row EXCEPT ALL SELECT * FROM before.present) AS gone
$$;
ANALYZE;
";

/// A server whose database `origin` holds a history of so many families, with windrow installed but not armed, and a
/// policy for every project.
pub(crate) fn start(families: u32, settings: &Settings) -> Result<Postgres> {
    let server = Postgres::start(settings)?;
    Client::connect(&server.url("postgres", "postgres"), NoTls)?
        .batch_execute(&format!("CREATE DATABASE {ORIGIN}"))?;
    let mut client = Client::connect(&server.url(ORIGIN, "postgres"), NoTls)?;
    load(&mut client, families)?;
    install(&mut client)?;
    set_policies(&mut client)?;
    Ok(server)
}

/// The schema, the history and a copy of its keys.
pub(crate) fn load(client: &mut Client, families: u32) -> Result<()> {
    client.batch_execute(SCHEMA_34)?;
    client.batch_execute(&format!("SET {FAMILIES_SETTING} = {families}"))?;
    client.batch_execute(HISTORY_34)?;
    client.batch_execute("VACUUM ANALYZE")?;
    client.batch_execute(BEFORE)?;
    Ok(())
}

/// Every project is cleaned after thirty days.
pub(crate) fn set_policies(client: &mut Client) -> Result<()> {
    client.batch_execute(&format!(
        "SELECT {W}.set_policy(jsonb_build_object('scope', code::text)) FROM t_ds_project"
    ))?;
    Ok(())
}

/// One server for the tests that do not hurt it.
pub(crate) fn shared() -> Result<&'static Postgres> {
    static SERVER: OnceLock<std::result::Result<Postgres, String>> = OnceLock::new();
    SERVER
        .get_or_init(|| start(400, &Settings::default()).map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// A database of its own.
pub(crate) struct Database {
    url: String,
}

impl Database {
    /// A copy of `origin`, armed.
    pub(crate) fn create(server: &Postgres) -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Client::connect(&server.url("postgres", "postgres"), NoTls)?
            .batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {ORIGIN}"))?;
        let database = Self {
            url: server.url(&name, "postgres"),
        };
        database
            .connect()?
            .batch_execute(&format!("CALL {W}.arm()"))?;
        Ok(database)
    }

    /// A copy on the shared server.
    pub(crate) fn shared() -> Result<Self> {
        Self::create(shared()?)
    }

    /// Its address, for the program.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn connect(&self) -> Result<Client> {
        Ok(Client::connect(&self.url, NoTls)?)
    }

    /// The same database for another user, who needs no password.
    pub(crate) fn connect_as(&self, user: &str) -> Result<Client> {
        Ok(Client::connect(
            &self.url.replace("//postgres@", &format!("//{user}@")),
            NoTls,
        )?)
    }
}

/// Calls run().
pub(crate) fn run(client: &mut Client, options: &Value) -> Result<Value> {
    Ok(client
        .query_one(&format!("CALL {W}.run('{options}')"), &[])?
        .get(0))
}

/// Calls run() and takes its only rule's document.
pub(crate) fn run_rule(client: &mut Client, options: &Value) -> Result<(Value, Value)> {
    let result = run(client, options)?;
    let rule = result["rules"][0].clone();
    Ok((result, rule))
}

/// Calls a function that takes and answers a document.
pub(crate) fn call(client: &mut Client, function: &str, options: &Value) -> Result<Value> {
    Ok(client
        .query_one(&format!("SELECT {W}.{function}('{options}')"), &[])?
        .get(0))
}

/// Calls purge().
pub(crate) fn purge(client: &mut Client, options: &Value) -> Result<Value> {
    Ok(client
        .query_one(&format!("CALL {W}.purge('{options}')"), &[])?
        .get(0))
}

/// Overrides a limit.
pub(crate) fn set(client: &mut Client, name: &str, value: i64) -> Result<()> {
    call(
        client,
        "set_setting",
        &json!({"name": name, "value": value}),
    )?;
    Ok(())
}

/// The one number that a query answers.
pub(crate) fn number(client: &mut Client, query: &str) -> Result<i64> {
    let row = client
        .query_one(&format!("SELECT ({query})::bigint"), &[])
        .with_context(|| query.to_owned())?;
    Ok(row.get(0))
}

/// The first column of a query, as texts.
pub(crate) fn texts(client: &mut Client, query: &str) -> Result<Vec<String>> {
    let rows = client.query(query, &[]).with_context(|| query.to_owned())?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// The SQLSTATE of an error from the server.
pub(crate) fn sqlstate(error: &anyhow::Error) -> String {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<postgres::Error>())
        .and_then(|error| error.code())
        .map_or_else(|| "no SQLSTATE".to_owned(), |code| code.code().to_owned())
}

/// Fails unless a result is an error with this SQLSTATE.
pub(crate) fn refused<T>(
    result: std::result::Result<T, impl Into<anyhow::Error>>,
    code: &str,
) -> Result<()> {
    match result {
        Ok(_) => Err(anyhow!("not refused, although {code} was expected")),
        Err(error) => {
            let error = error.into();
            ensure!(sqlstate(&error) == code, "not {code}: {error:?}");
            Ok(())
        }
    }
}

/// Ids of due roots that go, oldest first.
pub(crate) fn due(client: &mut Client, limit: usize) -> Result<Vec<i64>> {
    Ok(client
        .query(
            &format!(
                "SELECT n.root::bigint
                 FROM {W}.workflow_instances_next(clock_timestamp(), NULL, NULL, '-infinity', 0, {limit} * 3) AS n
                 WHERE n.root IN (
                     SELECT g.id FROM (
                         SELECT unnest(o_members) AS id FROM {W}.judge(
                             'workflow_instances', ARRAY(SELECT x.root::bigint FROM {W}.workflow_instances_next(clock_timestamp(), NULL, NULL, '-infinity', 0, {limit} * 3) AS x),
                             clock_timestamp(), NULL, NULL, false, false, '{{}}')
                     ) AS g
                 )
                 ORDER BY n.ended, n.root LIMIT {limit}"
            ),
            &[],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect())
}

/// No family is torn apart, and the ledger accounts for every row that is gone.
pub(crate) fn check_whole(client: &mut Client) -> Result<()> {
    let torn = texts(client, "SELECT before.torn()")?;
    ensure!(torn.is_empty(), "torn apart: {torn:?}");
    check_ledger(client)
}

/// The ledger accounts for every row that is gone, by rule and by table.
pub(crate) fn check_ledger(client: &mut Client) -> Result<()> {
    let gone = number(client, "SELECT before.gone()")?;
    for table in ["run_rule", "run_table"] {
        let told = number(
            client,
            &format!(
                "SELECT coalesce(sum(t.deleted_rows), 0) FROM {W}.{table} AS t JOIN {W}.run AS r USING (run_id) WHERE NOT r.dry_run"
            ),
        )?;
        ensure!(
            gone == told,
            "{gone} rows are gone, {table} tells of {told}"
        );
    }
    let families = number(
        client,
        "SELECT count(*) FROM before.instance AS b WHERE b.is_sub_workflow = 0 AND NOT EXISTS (SELECT FROM t_ds_workflow_instance AS i WHERE i.id = b.id)",
    )?;
    let told = number(
        client,
        &format!(
            "SELECT coalesce(sum(t.families), 0) FROM {W}.run_rule AS t JOIN {W}.run AS r USING (run_id) WHERE NOT r.dry_run"
        ),
    )?;
    ensure!(
        families == told,
        "{families} families are gone, the ledger tells of {told}"
    );
    Ok(())
}

/// No session of this database holds an advisory lock.
pub(crate) fn check_unlocked(client: &mut Client) -> Result<()> {
    let locks = number(
        client,
        "SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database() WHERE l.locktype = 'advisory'",
    )?;
    ensure!(locks == 0, "{locks} advisory locks are left");
    Ok(())
}

/// Lets every deletion from some tables take its time, so that a blow falls inside a batch.
pub(crate) fn slow_down(client: &mut Client, milliseconds: u32) -> Result<()> {
    client.batch_execute(&format!(
        "CREATE FUNCTION before.slow() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_sleep({milliseconds} / 1000.0); RETURN NULL; END $$"
    ))?;
    for table in [
        "alert",
        "task_instance",
        "relation_workflow_instance",
        "workflow_instance",
    ] {
        client.batch_execute(&format!(
            "CREATE TRIGGER slow AFTER DELETE ON t_ds_{table} FOR EACH STATEMENT EXECUTE FUNCTION before.slow()"
        ))?;
    }
    Ok(())
}

/// Waits until a run later than `after` has committed a batch, and answers its id and backend.
pub(crate) fn until_batches(client: &mut Client, after: i64) -> Result<(i64, i32)> {
    let mut found = None;
    until("a run is under way", || {
        found = client
            .query_opt(
                &format!("SELECT r.run_id, r.backend_pid FROM {W}.run AS r JOIN {W}.run_rule AS p USING (run_id) WHERE r.status = 'running' AND r.trigger <> 'PURGE' AND p.batches > 0 AND r.run_id > {after} ORDER BY r.run_id DESC LIMIT 1"),
                &[],
            )?
            .map(|row| (row.get(0), row.get(1)));
        Ok(found.is_some())
    })?;
    found.context("a run")
}

/// The thread's result; a panic there is a failure here.
pub(crate) fn joined<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("the thread panicked"))?
}
