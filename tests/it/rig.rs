//! What the tests of the generated SQL share: a DolphinScheduler with windrow installed, a database of its own for each
//! test, and the questions whether a family was torn apart and whether the ledger tells the truth.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::demo::dolphinscheduler::{FAMILIES_SETTING, HISTORY_34, SCHEMA_34};
use windrow::dialect::Dialect;
use windrow::graph::{
    Artifact, Column, Condition, Edge, Graph, Kind, Limits, Link, Literal, Retention, Rule, Shared,
    Table, TableId,
};
use windrow::render;
use windrow::sandbox::{Postgres, Settings};

/// The control schema.
pub(crate) const W: &str = "windrow_dolphinscheduler";

/// The database that the others are copied from: nobody may be connected to it.
const ORIGIN: &str = "origin";

/// The specification `dolphinscheduler`, built by hand.
pub(crate) fn graph() -> Graph {
    let names = [
        "t_ds_alert",
        "t_ds_alert_send_status",
        "t_ds_command",
        "t_ds_error_command",
        "t_ds_relation_sub_workflow",
        "t_ds_relation_workflow_instance",
        "t_ds_serial_command",
        "t_ds_task_group_queue",
        "t_ds_task_instance",
        "t_ds_task_instance_context",
        "t_ds_workflow_instance",
    ];
    let id = |name: &str| {
        TableId(
            names
                .iter()
                .position(|known| *known == name)
                .expect("a known table"),
        )
    };
    let column = |name: &str, kind: Kind| Column {
        name: name.to_owned(),
        kind,
    };
    let edge = |name: &str, kind: Kind, parent: &str, none: Option<i64>| Edge {
        column: column(name, kind),
        parent: id(parent),
        parent_column: column("id", Kind::Integer),
        none: none.map(Literal::Integer),
    };
    const ROOT: &str = "t_ds_workflow_instance";
    const TASK: &str = "t_ds_task_instance";
    const UPPER: &str = "parent_workflow_instance_id";
    let table = |name: &str, indexed: &[&str], edges: Vec<Edge>| Table {
        name: name.to_owned(),
        key: if ["t_ds_alert", TASK, ROOT].contains(&name) {
            vec![column("id", Kind::Integer)]
        } else {
            Vec::new()
        },
        indexed: indexed.iter().map(ToString::to_string).collect(),
        edges,
    };
    let own = |none| edge("workflow_instance_id", Kind::Integer, ROOT, none);
    let tables = vec![
        table(names[0], &[], vec![own(None)]),
        table(
            names[1],
            &["alert_id"],
            vec![edge("alert_id", Kind::Integer, "t_ds_alert", None)],
        ),
        table(names[2], &[], vec![own(Some(0))]),
        table(names[3], &[], vec![own(Some(0))]),
        table(
            names[4],
            &[UPPER, "sub_workflow_instance_id"],
            vec![
                edge(UPPER, Kind::Bigint, ROOT, None),
                edge("sub_workflow_instance_id", Kind::Bigint, ROOT, None),
            ],
        ),
        table(
            names[5],
            &[UPPER, "workflow_instance_id"],
            vec![edge(UPPER, Kind::Integer, ROOT, None), own(Some(0))],
        ),
        table(
            names[6],
            &["workflow_instance_id"],
            vec![edge("workflow_instance_id", Kind::Bigint, ROOT, None)],
        ),
        table(
            names[7],
            &["workflow_instance_id", "task_id"],
            vec![own(None), edge("task_id", Kind::Integer, TASK, None)],
        ),
        table(names[8], &[], vec![own(None)]),
        table(
            names[9],
            &["task_instance_id"],
            vec![edge("task_instance_id", Kind::Integer, TASK, None)],
        ),
        table(names[10], &["id"], Vec::new()),
    ];
    let is_one_of = |name: &str, values: &[i64]| Condition {
        column: column(name, Kind::Integer),
        values: values.iter().copied().map(Literal::Integer).collect(),
    };
    let rule = Rule {
        name: "workflow_instances".to_owned(),
        root: id(ROOT),
        candidates: vec![is_one_of("is_sub_workflow", &[0])],
        r#final: vec![is_one_of("state", &[3, 5, 6, 7])],
        end_time: column("end_time", Kind::Timestamp),
        hierarchy: vec![
            Link {
                table: id(names[5]),
                parent: column(UPPER, Kind::Integer),
                child: column("workflow_instance_id", Kind::Integer),
            },
            Link {
                table: id(names[4]),
                parent: column(UPPER, Kind::Bigint),
                child: column("sub_workflow_instance_id", Kind::Bigint),
            },
        ],
        shared: Shared::Closed,
        retention: Retention {
            default: 30 * 86_400,
            minimum: 7 * 86_400,
            safety_lag: 86_400,
            per: Some(column("project_code", Kind::Bigint)),
            opt_in: true,
        },
        limits: Limits {
            batch_families: 200,
            run_families: 10_000,
            time_budget: 1_800,
            lock_timeout: 100,
            retries: 3,
        },
        artifacts: vec![Artifact {
            table: id(TASK),
            host: Some("host".to_owned()),
            path: "log_path".to_owned(),
        }],
        report: Vec::new(),
        order: [1, 0, 9, 7, 8, 2, 3, 6, 5, 4, 10].map(TableId).to_vec(),
    };
    Graph {
        name: "dolphinscheduler".to_owned(),
        title: "Apache DolphinScheduler 3.4".to_owned(),
        schema: "public".to_owned(),
        database: "dolphinscheduler".to_owned(),
        time_zone: "UTC".to_owned(),
        tables,
        ignored: Vec::new(),
        rules: vec![rule],
        schedule: "7 * * * *".to_owned(),
    }
}

/// The generated files. Rendered once: it takes a third of a second in a test's build, a second on a busy machine, in
/// which a run that a test wants to disturb may be over.
pub(crate) fn bundle() -> Result<Bundle> {
    static BUNDLE: OnceLock<Bundle> = OnceLock::new();
    if let Some(bundle) = BUNDLE.get() {
        return Ok(bundle.clone());
    }
    let bundle = render::bundle(&graph(), Dialect::Postgres)?;
    Ok(BUNDLE.get_or_init(|| bundle).clone())
}

/// Applies the numbered files but the last, as `windrow install` does.
pub(crate) fn install(client: &mut Client) -> Result<()> {
    apply(client, |name| name < "90")
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

/// The present instant of a server, to count cutoffs from in several runs.
pub(crate) fn present(server: &Postgres) -> Result<String> {
    let mut client = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
    Ok(texts(&mut client, "SELECT now()::text")?.remove(0))
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
    name: String,
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
            name,
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

    pub(crate) fn name(&self) -> &str {
        &self.name
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

    /// A run in a thread and a session of its own.
    pub(crate) fn run_aside(&self, options: Value) -> JoinHandle<Result<Value>> {
        let url = self.url.clone();
        thread::spawn(move || run(&mut Client::connect(&url, NoTls)?, &options))
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
                         SELECT unnest(o_members) AS id FROM {W}.workflow_instances_judge(
                             ARRAY(SELECT x.root FROM {W}.workflow_instances_next(clock_timestamp(), NULL, NULL, '-infinity', 0, {limit} * 3) AS x),
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

/// Whether the root-table row is there.
pub(crate) fn is_there(client: &mut Client, id: i64) -> Result<bool> {
    Ok(number(
        client,
        &format!("SELECT count(*) FROM t_ds_workflow_instance WHERE id = {id}"),
    )? == 1)
}

/// The state of the application's tables.
pub(crate) fn digest(client: &mut Client) -> Result<String> {
    Ok(client
        .query_one(
            "SELECT md5(string_agg(tab || id, ',' ORDER BY tab, id)) FROM before.present",
            &[],
        )?
        .get(0))
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

/// Waits until something holds, for ten seconds at most.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds().with_context(|| format!("while waiting for: {what}"))? {
        ensure!(Instant::now() < deadline, "still not so after 10 s: {what}");
        thread::sleep(Duration::from_millis(3));
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
