//! The server, the history and the statements that windrow is compared with.

use anyhow::{Context as _, Result};
use postgres::Client;
use windrow::bundle::Statement;
use windrow::demo::FAMILIES_SETTING;
use windrow::dialect::Dialect;
use windrow::graph::{self, Graph};
use windrow::render;
use windrow::sandbox::{Postgres, Settings};
use windrow::spec;

use crate::installer::{Installer, SPEC};
use crate::observe::connect;

const HISTORY_34: &str =
    include_str!("../../specs/systems/dolphinscheduler/postgres/history-3.4.sql");
const SCHEMA_34: &str =
    include_str!("../../specs/systems/dolphinscheduler/postgres/schema-3.4.sql");

/// What the limit deletes and the digest counts.
/// A login with the rights of an operator.
pub(crate) const OPERATOR: &str = "bench_operator";

pub(crate) const TABLES: [&str; 11] = [
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

/// The limit knows no families that share a member, nor roots below others. The history marks their links with task 0.
pub(crate) const WITHOUT_SHARED_MEMBERS: &str =
    "DELETE FROM t_ds_relation_workflow_instance WHERE parent_task_instance_id = 0;
     DELETE FROM t_ds_relation_sub_workflow WHERE greatest(parent_workflow_instance_id, sub_workflow_instance_id) > 1000000000";

/// A transaction of the live load: the first statement answers the id that the others take.
pub(crate) const LIVE: [&str; 4] = [
    "INSERT INTO t_ds_workflow_instance (name, workflow_definition_code, workflow_definition_version, project_code, state, start_time, is_sub_workflow, executor_id)
     VALUES ('live', 1, 1, 8104250113728, 1, now() AT TIME ZONE 'UTC', 0, 1) RETURNING id",
    "INSERT INTO t_ds_task_instance (name, task_type, task_code, task_definition_version, workflow_instance_id, state, submit_time, host, log_path)
     SELECT 'live', 'SHELL', number, 1, $1, 1, now() AT TIME ZONE 'UTC', 'worker-0.internal:1234', '/opt/dolphinscheduler/logs/live.log'
     FROM generate_series(1, 2) AS number",
    "UPDATE t_ds_workflow_instance SET state = 7, end_time = now() AT TIME ZONE 'UTC' WHERE id = $1",
    "SELECT FROM t_ds_workflow_instance WHERE id = $1",
];

/// The graph of the spec.
pub(crate) fn graph() -> Result<Graph> {
    let text = std::fs::read_to_string(SPEC).context("cannot read the spec")?;
    let spec = spec::parse(&text).0.context("the spec is not TOML")?;
    Ok(graph::build(&spec, &text).0)
}

/// How many families a history has on PostgreSQL.
pub(crate) fn families() -> Result<u32> {
    families_or(42_000)
}

/// How many families a history has, unless the environment says otherwise.
pub(crate) fn families_or(usual: u32) -> Result<u32> {
    std::env::var("WINDROW_BENCH_FAMILIES")
        .map_or(Ok(usual), |number| number.parse())
        .context("WINDROW_BENCH_FAMILIES is not a number")
}

/// The control schema and the statements that install it.
pub(crate) fn statements(dialect: Dialect) -> Result<(String, Vec<Statement>)> {
    statements_of(&graph()?, dialect)
}

/// The same of another graph.
pub(crate) fn statements_of(graph: &Graph, dialect: Dialect) -> Result<(String, Vec<Statement>)> {
    let bundle = render::bundle(graph, dialect)?;
    let numbered = bundle.files.into_iter().filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_digit()) && !name.starts_with("90")
    });
    Ok((
        bundle.control,
        numbered.flat_map(|file| file.statements).collect(),
    ))
}

/// The database in which runs are measured.
pub(crate) const RUN: &str = "run";

/// A durable server with the history in a database that every run copies.
pub(crate) struct Lab {
    pub(crate) server: Postgres,
    admin: Client,
    pub(crate) control: String,
    /// All rows of the history.
    pub(crate) rows: i64,
    /// The moment from which all cutoffs are counted.
    pub(crate) as_of: String,
}

/// A server that writes to disk as one in service does, and does nothing on its own while it is measured.
pub(crate) fn server() -> Result<Postgres> {
    Postgres::start(&Settings {
        durable: true,
        extra: [
            ("shared_buffers", "2GB"),
            ("max_wal_size", "8GB"),
            ("autovacuum", "off"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        ..Settings::default()
    })
}

/// Applies generated statements.
pub(crate) fn install(client: &mut Client, statements: &[Statement]) -> Result<()> {
    for statement in statements {
        client
            .batch_execute(&statement.sql)
            .with_context(|| format!("cannot {}", statement.what))?;
    }
    Ok(())
}

impl Lab {
    pub(crate) fn open(families: u32) -> Result<Self> {
        Self::open_by(&Installer::This, families)
    }

    /// The same, installed by another state of windrow.
    pub(crate) fn open_by(installer: &Installer, families: u32) -> Result<Self> {
        let server = server()?;
        let mut admin = connect(&server.url("postgres", "postgres"))?;
        admin.batch_execute("CREATE DATABASE history")?;
        let mut client = connect(&server.url("history", "postgres"))?;
        client.batch_execute(SCHEMA_34)?;
        client.batch_execute(&format!("SET {FAMILIES_SETTING} = {families}"))?;
        client.batch_execute(HISTORY_34)?;
        client.batch_execute(WITHOUT_SHARED_MEMBERS)?;
        let (control, statements) = statements(Dialect::Postgres)?;
        if !installer.install(&server.url("history", "postgres"))? {
            install(&mut client, &statements)?;
        }
        client.batch_execute(&format!(
            "CREATE ROLE {OPERATOR} LOGIN IN ROLE {control}_operator"
        ))?;
        // A copy is cold, which a table in service is not.
        client.batch_execute("CREATE EXTENSION pg_prewarm")?;
        client.batch_execute("VACUUM (FREEZE, ANALYZE)")?;
        let as_of = client
            .query_one("SELECT clock_timestamp()::text", &[])?
            .get(0);
        let mut lab = Self {
            server,
            admin,
            control,
            rows: 0,
            as_of,
        };
        lab.rows = lab.digest(&mut client)?.iter().sum();
        Ok(lab)
    }

    /// Copies the history, with or without files to be recorded; ends all sessions of the copy before.
    pub(crate) fn fresh(&mut self, outbox: bool) -> Result<()> {
        self.fresh_as(RUN, outbox)
    }

    /// The same into a database of this name.
    pub(crate) fn fresh_as(&mut self, database: &str, outbox: bool) -> Result<()> {
        self.admin
            .batch_execute(&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)"))?;
        self.admin
            .batch_execute(&format!("CREATE DATABASE {database} TEMPLATE history"))?;
        let mut client = connect(&self.server.url(database, "postgres"))?;
        client.batch_execute(&format!("CALL {}.arm()", self.control))?;
        client.execute(
            &format!(
                "SELECT {}.set_policy(jsonb_build_object('scope', code::text, 'retention', '30d', 'enabled', true, 'artifacts', $1::boolean))
                 FROM t_ds_project",
                self.control
            ),
            &[&outbox],
        )?;
        client.batch_execute(
            "SELECT pg_prewarm(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i');
             CHECKPOINT",
        )?;
        Ok(())
    }

    pub(crate) fn connect(&self) -> Result<Client> {
        connect(&self.server.url(RUN, "postgres"))
    }

    /// A session as pg_cron has one: with the rights of an operator.
    pub(crate) fn operator(&self) -> Result<Client> {
        self.operator_of(RUN)
    }

    /// The same in another database.
    pub(crate) fn operator_of(&self, database: &str) -> Result<Client> {
        connect(&self.server.url(database, OPERATOR))
    }

    /// A session that holds a snapshot as long as it lives.
    pub(crate) fn old_snapshot(&self) -> Result<Client> {
        let mut client = self.connect()?;
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM t_ds_project")?;
        Ok(client)
    }

    /// The number of rows in each table, then in the outbox.
    pub(crate) fn digest(&self, client: &mut Client) -> Result<Vec<i64>> {
        let counts = TABLES.map(|table| format!("(SELECT count(*) FROM {table})"));
        let row = client.query_one(
            &format!(
                "SELECT ARRAY[{}, (SELECT count(*) FROM {}.artifact)]",
                counts.join(", "),
                self.control
            ),
            &[],
        )?;
        Ok(row.get(0))
    }

    /// The end of the retention in the application's own clock.
    fn cutoff(&self) -> String {
        format!(
            "('{}'::timestamptz AT TIME ZONE 'UTC' - interval '31 days')",
            self.as_of
        )
    }
}

/// The limit: find all families with sets, then one DELETE per table, in one transaction and with memory to spare.
pub(crate) fn unbatched(lab: &Lab, outbox: bool) -> String {
    let cutoff = lab.cutoff();
    let over = format!("(i.state IN (3, 5, 6, 7) AND i.end_time < {cutoff})");
    let artifacts = format!(
        "INSERT INTO {}.artifact (run_id, rule, host, path)
         SELECT 1, 'workflow_instances', t.host, t.log_path
         FROM t_ds_task_instance AS t JOIN doomed AS d ON d.id = t.workflow_instance_id
         WHERE t.log_path <> '';",
        lab.control
    );
    format!(
        "SET work_mem = '256MB';
         SET jit = off;
         BEGIN;
         CREATE TEMP TABLE member ON COMMIT DROP AS
         WITH RECURSIVE member (root, id) AS (
             SELECT i.id, i.id::bigint FROM t_ds_workflow_instance AS i WHERE i.is_sub_workflow = 0 AND {over}
             UNION
             SELECT m.root, l.child
             FROM member AS m
             JOIN (
                 SELECT parent_workflow_instance_id::bigint AS parent, workflow_instance_id::bigint AS child
                 FROM t_ds_relation_workflow_instance
                 UNION ALL
                 SELECT parent_workflow_instance_id, sub_workflow_instance_id FROM t_ds_relation_sub_workflow
             ) AS l ON l.parent = m.id
         )
         SELECT root, id FROM member;
         ANALYZE member;
         CREATE TEMP TABLE doomed ON COMMIT DROP AS
         SELECT m.id
         FROM member AS m
         WHERE m.root NOT IN (
             SELECT f.root FROM member AS f JOIN t_ds_workflow_instance AS i ON i.id = f.id WHERE {over} IS NOT TRUE
         );
         ANALYZE doomed;
         {artifacts}
         DELETE FROM t_ds_task_instance_context AS c USING t_ds_task_instance AS t, doomed AS d
         WHERE c.task_instance_id = t.id AND t.workflow_instance_id = d.id;
         DELETE FROM t_ds_task_group_queue AS q USING doomed AS d WHERE q.workflow_instance_id = d.id;
         DELETE FROM t_ds_task_group_queue AS q USING t_ds_task_instance AS t, doomed AS d
         WHERE q.task_id = t.id AND t.workflow_instance_id = d.id;
         DELETE FROM t_ds_task_instance AS t USING doomed AS d WHERE t.workflow_instance_id = d.id;
         DELETE FROM t_ds_alert_send_status AS s USING t_ds_alert AS a, doomed AS d
         WHERE s.alert_id = a.id AND a.workflow_instance_id = d.id;
         DELETE FROM t_ds_alert AS a USING doomed AS d WHERE a.workflow_instance_id = d.id;
         DELETE FROM t_ds_command AS c USING doomed AS d WHERE c.workflow_instance_id = d.id;
         DELETE FROM t_ds_error_command AS c USING doomed AS d WHERE c.workflow_instance_id = d.id;
         DELETE FROM t_ds_serial_command AS c USING doomed AS d WHERE c.workflow_instance_id = d.id;
         DELETE FROM t_ds_relation_workflow_instance AS l USING doomed AS d WHERE l.parent_workflow_instance_id = d.id;
         DELETE FROM t_ds_relation_workflow_instance AS l USING doomed AS d WHERE l.workflow_instance_id = d.id;
         DELETE FROM t_ds_relation_sub_workflow AS l USING doomed AS d WHERE l.parent_workflow_instance_id = d.id;
         DELETE FROM t_ds_relation_sub_workflow AS l USING doomed AS d WHERE l.sub_workflow_instance_id = d.id;
         DELETE FROM t_ds_workflow_instance AS i USING doomed AS d WHERE i.id = d.id;
         COMMIT",
        artifacts = if outbox { artifacts.as_str() } else { "" }
    )
}

/// What the naive loop needs: an index for its order, and a place for its progress.
pub(crate) const NAIVE_SETUP: &str =
    "CREATE INDEX naive ON t_ds_workflow_instance (end_time);
     CREATE TABLE naive_progress AS SELECT 0::bigint AS deleted_rows, 0::bigint AS batches, clock_timestamp() AS updated_at";

pub(crate) const NAIVE_PROGRESS: &str = "SELECT deleted_rows, batches, extract(epoch FROM updated_at)::double precision FROM naive_progress";

/// The loop that everybody writes first: the oldest rows again and again, one subselect per table, no cursor.
pub(crate) fn naive(lab: &Lab, seconds: u64) -> String {
    let oldest = format!(
        "SELECT id FROM t_ds_workflow_instance WHERE state IN (3, 5, 6, 7) AND end_time < {} ORDER BY end_time LIMIT 400",
        lab.cutoff()
    );
    let tasks =
        format!("SELECT id FROM t_ds_task_instance WHERE workflow_instance_id IN ({oldest})");
    let alerts = format!("SELECT id FROM t_ds_alert WHERE workflow_instance_id IN ({oldest})");
    let deletes: String = [
        ("t_ds_task_instance_context", "task_instance_id", &tasks),
        ("t_ds_task_group_queue", "workflow_instance_id", &oldest),
        ("t_ds_task_instance", "workflow_instance_id", &oldest),
        ("t_ds_alert_send_status", "alert_id", &alerts),
        ("t_ds_alert", "workflow_instance_id", &oldest),
        ("t_ds_command", "workflow_instance_id", &oldest),
        ("t_ds_error_command", "workflow_instance_id", &oldest),
        ("t_ds_serial_command", "workflow_instance_id", &oldest),
        (
            "t_ds_relation_workflow_instance",
            "parent_workflow_instance_id",
            &oldest,
        ),
        (
            "t_ds_relation_workflow_instance",
            "workflow_instance_id",
            &oldest,
        ),
        (
            "t_ds_relation_sub_workflow",
            "parent_workflow_instance_id",
            &oldest,
        ),
        (
            "t_ds_relation_sub_workflow",
            "sub_workflow_instance_id",
            &oldest,
        ),
        ("t_ds_workflow_instance", "id", &oldest),
    ]
    .iter()
    .map(|(table, column, keys)| {
        format!(
            "DELETE FROM {table} WHERE {column} IN ({keys});
             GET DIAGNOSTICS v_rows = ROW_COUNT;
             v_sum := v_sum + v_rows;\n"
        )
    })
    .collect();
    format!(
        "DO $$
         DECLARE
             v_rows bigint;
             v_sum bigint;
             v_end timestamptz := clock_timestamp() + interval '{seconds} seconds';
         BEGIN
             LOOP
                 v_sum := 0;
                 {deletes}
                 EXIT WHEN v_sum = 0 OR clock_timestamp() > v_end;
                 UPDATE naive_progress
                 SET deleted_rows = deleted_rows + v_sum, batches = batches + 1, updated_at = clock_timestamp();
                 COMMIT;
             END LOOP;
         END $$"
    )
}
