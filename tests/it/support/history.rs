//! A DolphinScheduler with a history and with windrow on each of the servers, a database of its own for each test.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::support::systems::dolphinscheduler as postgres;
use crate::support::systems::dolphinscheduler::mysql;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use url::Url;
use windrow::db;
use windrow::dialect::Dialect;
use windrow::failure::is_lock_timeout;
use windrow::graph::{Graph, Shared};
use windrow::render;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings as MysqlSettings};
use windrow::sandbox::{Postgres, Settings};

use super::defect;
use super::graphs::{DOLPHINSCHEDULER, dolphinscheduler, graph_of};
use super::installation::{Session, call, dialect_of, home_of};
use super::patience::until;

mod client;

pub(crate) use client::Client;

/// The database that the others are copied from. On PostgreSQL, nobody may be connected to it.
const ORIGIN: &str = "origin";

/// How many families the history of the shared servers has.
const FAMILIES: u32 = 400;

/// A server whose database `origin` holds a history.
pub(crate) enum Server {
    Postgres(Postgres),
    Mysql(Mysql),
}

impl Server {
    /// A server without a history.
    pub(crate) fn bare(dialect: Dialect) -> Result<Self> {
        let flavour = match dialect {
            Dialect::Postgres => {
                return Ok(Self::Postgres(Postgres::start(&Settings::default())?));
            }
            Dialect::Mysql => Flavour::Mysql,
            Dialect::Mariadb => Flavour::Mariadb,
        };
        Ok(Self::Mysql(Mysql::start(&MysqlSettings::new(flavour))?))
    }

    /// A server with a history of so many families.
    pub(crate) fn start(dialect: Dialect, families: u32) -> Result<Self> {
        Self::bare(dialect)?.filled(families)
    }

    /// The same server with a history of so many families.
    pub(crate) fn filled(self, families: u32) -> Result<Self> {
        match self.dialect() {
            Dialect::Postgres => self.fill_postgres(families)?,
            Dialect::Mysql | Dialect::Mariadb => self.fill_mysql(families)?,
        }
        Ok(self)
    }

    fn fill_mysql(&self, families: u32) -> Result<()> {
        let mut session = open(&self.url(""))?;
        session.execute(&format!("CREATE DATABASE {ORIGIN}; USE {ORIGIN}"))?;
        session.execute(mysql::SCHEMA_34)?;
        session.execute(&format!("SET {} = {families}", mysql::FAMILIES_VARIABLE))?;
        session.execute(mysql::HISTORY_34)?;
        for statement in BEFORE {
            session.execute(statement).context(statement)?;
        }
        Ok(())
    }

    /// There, a copy of a database has everything, so windrow is installed once.
    fn fill_postgres(&self, families: u32) -> Result<()> {
        open(&self.url("postgres"))?.execute(&format!("CREATE DATABASE {ORIGIN}"))?;
        let mut session = open(&self.url(ORIGIN))?;
        session.execute(postgres::SCHEMA_34)?;
        session.execute(&format!("SET {} = {families}", postgres::FAMILIES_SETTING))?;
        session.execute(postgres::HISTORY_34)?;
        for statement in BEFORE {
            session.execute(statement).context(statement)?;
        }
        install(
            &mut session,
            Dialect::Postgres,
            &graph(Dialect::Postgres, 0),
        )?;
        session.execute("VACUUM ANALYZE")?;
        Ok(())
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Mysql(server) => dialect_of(server.flavour()),
        }
    }

    /// The address of a database for the superuser.
    pub(crate) fn url(&self, database: &str) -> String {
        match self {
            Self::Postgres(server) => server.url(database, "postgres"),
            Self::Mysql(server) => server.url(database, "root"),
        }
    }

    /// Kills the server at once and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<()> {
        match self {
            Self::Postgres(server) => server.kill(),
            Self::Mysql(server) => server.kill(),
        }
    }

    /// Starts it again on the same port.
    pub(crate) fn restart(&mut self) -> Result<()> {
        match self {
            Self::Postgres(server) => server.restart(),
            Self::Mysql(server) => server.restart(),
        }
    }
}

/// The servers of this test process for tests that do not hurt them.
fn shared(dialect: Dialect) -> &'static Server {
    static POSTGRES: LazyLock<Server> = LazyLock::new(|| start(Dialect::Postgres));
    static MYSQL: LazyLock<Server> = LazyLock::new(|| start(Dialect::Mysql));
    static MARIADB: LazyLock<Server> = LazyLock::new(|| start(Dialect::Mariadb));
    fn start(dialect: Dialect) -> Server {
        Server::start(dialect, FAMILIES).expect("a throw-away server starts")
    }
    match dialect {
        Dialect::Postgres => &POSTGRES,
        Dialect::Mysql => &MYSQL,
        Dialect::Mariadb => &MARIADB,
    }
}

/// The specification with batches that are small beside the history.
fn graph(dialect: Dialect, number: usize) -> Graph {
    let mut graph = dolphinscheduler(Shared::Closed);
    graph.rules[0].limits.said.insert("batch_families", 200);
    numbered(graph, dialect, number)
}

/// On MySQL and MariaDB the control schema is a database too, and its name is the spec's.
fn numbered(mut graph: Graph, dialect: Dialect, number: usize) -> Graph {
    if dialect != Dialect::Postgres {
        graph.name = format!("h{number}");
        graph.database = format!("history_{number}");
    }
    graph
}

fn next_number() -> usize {
    static NUMBER: AtomicUsize = AtomicUsize::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Applies the numbered files but the last, as `windrow install` does, and sets a policy for every project.
fn install(session: &mut Session, dialect: Dialect, graph: &Graph) -> Result<()> {
    apply(session, dialect, graph, |name, sql| {
        (name < "90").then(|| sql.to_owned())
    })?;
    let projects = match graph.rules[0].retention.opt_in {
        true => session.query("SELECT code FROM t_ds_project", &[])?,
        false => Vec::new(),
    };
    for project in projects.into_iter().flatten().flatten() {
        let control = render::control_name(graph);
        call(
            session,
            dialect,
            &control,
            "set_policy",
            &json!({"scope": project}),
        )?;
    }
    Ok(())
}

/// Applies statements of the generated files as they are edited, given the file's name.
fn apply(
    session: &mut Session,
    dialect: Dialect,
    graph: &Graph,
    mut edited: impl FnMut(&str, &str) -> Option<String>,
) -> Result<()> {
    let bundle = defect::of_this_process(render::bundle(graph, dialect)?, graph, dialect);
    let home = home_of(session);
    for file in bundle.files {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        for statement in &file.statements {
            if let Some(sql) = edited(name, &statement.sql) {
                session
                    .execute(&sql)
                    .with_context(|| format!("{name}: {}", statement.what))?;
            }
        }
    }
    if let Some(home) = home {
        session.execute(&home)?;
    }
    Ok(())
}

/// A copy of every key and of what belongs to what.
const BEFORE: [&str; 9] = [
    "CREATE VIEW before_present AS
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
UNION ALL SELECT 'dynamic', id FROM t_ds_relation_sub_workflow",
    "CREATE TABLE before_row AS SELECT * FROM before_present",
    "CREATE INDEX before_row_key ON before_row (tab, id)",
    "CREATE TABLE before_instance AS SELECT * FROM t_ds_workflow_instance",
    "CREATE INDEX before_instance_key ON before_instance (id)",
    "CREATE TABLE before_owner AS
SELECT o.*
FROM (
              SELECT 'instance' AS tab, id, id AS instance FROM t_ds_workflow_instance
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
WHERE o.instance IN (SELECT i.id FROM before_instance AS i)",
    "CREATE INDEX before_owner_key ON before_owner (tab, id)",
    "CREATE TABLE before_link AS
SELECT l.*
FROM (
    SELECT parent_workflow_instance_id AS upper_id, workflow_instance_id AS lower_id FROM t_ds_relation_workflow_instance
    UNION
    SELECT parent_workflow_instance_id, sub_workflow_instance_id FROM t_ds_relation_sub_workflow
) AS l
WHERE l.upper_id IN (SELECT i.id FROM before_instance AS i)
  AND l.lower_id IN (SELECT i.id FROM before_instance AS i)",
    "CREATE INDEX before_link_key ON before_link (upper_id, lower_id)",
];

/// A database with a history of its own and windrow in it.
pub(crate) struct History {
    pub(crate) dialect: Dialect,
    /// Name of the database with the application's tables.
    pub(crate) name: String,
    /// Name of the control schema.
    pub(crate) control: String,
    pub(crate) graph: Graph,
    spec: &'static str,
    url: String,
}

impl History {
    /// A database of the shared server, armed.
    pub(crate) fn shared(dialect: Dialect) -> Result<Self> {
        Self::create(shared(dialect))
    }

    /// A copy of a server's `origin`, armed.
    pub(crate) fn create(server: &Server) -> Result<Self> {
        /// PostgreSQL copies a database for one session at a time.
        static ONE_BY_ONE: Mutex<()> = Mutex::new(());
        let number = next_number();
        let dialect = server.dialect();
        let graph = graph(dialect, number);
        let history = Self::named(server, number, graph, DOLPHINSCHEDULER);
        let name = &history.name;
        if dialect == Dialect::Postgres {
            let mut admin = open(&server.url("postgres"))?;
            let _only = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
            // The session that filled the origin may take a moment to end.
            until("nobody is connected to the origin", || {
                Ok(admin
                    .execute(&format!("CREATE DATABASE {name} TEMPLATE {ORIGIN}"))
                    .is_ok())
            })?;
        } else {
            let mut session = open(&server.url(""))?;
            session.execute(&format!("CREATE DATABASE {name}; USE {name}"))?;
            let tables = session.query(
                &format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{ORIGIN}' AND table_type = 'BASE TABLE'"),
                &[],
            )?;
            for table in tables.into_iter().flatten().flatten() {
                session.execute(&format!("CREATE TABLE {table} LIKE {ORIGIN}.{table}; INSERT INTO {table} SELECT * FROM {ORIGIN}.{table}"))?;
            }
            session.execute(BEFORE[0])?;
            let tables = session.query("SHOW TABLES", &[])?;
            for table in tables.into_iter().flatten().flatten() {
                if table != "before_present" {
                    session.query(&format!("ANALYZE TABLE {table}"), &[])?;
                }
            }
            install(&mut session, dialect, &history.graph)?;
        }
        history.connect()?.execute("CALL W.arm()")?;
        Ok(history)
    }

    /// A database of its own with the tables and rows of another spec, armed.
    pub(crate) fn of(
        server: &Server,
        spec: &'static str,
        tables: &str,
        rows: &str,
    ) -> Result<Self> {
        let number = next_number();
        let graph = numbered(graph_of(spec), server.dialect(), number);
        let history = Self::named(server, number, graph, spec);
        let system = match server {
            Server::Postgres(_) => "postgres",
            Server::Mysql(_) => "mysql",
        };
        open(&server.url(system))?.execute(&format!("CREATE DATABASE {}", history.name))?;
        let mut client = history.connect()?;
        client.execute(tables)?;
        client.execute(&format!("BEGIN;\n{rows}COMMIT;"))?;
        history.install()?;
        client.execute("CALL W.arm()")?;
        Ok(history)
    }

    fn named(server: &Server, number: usize, graph: Graph, spec: &'static str) -> Self {
        let name = format!("history_{number}");
        Self {
            dialect: server.dialect(),
            url: server.url(&name),
            name,
            control: render::control_name(&graph),
            graph,
            spec,
        }
    }

    /// A session of the superuser.
    pub(crate) fn connect(&self) -> Result<Client> {
        Ok(Client {
            session: open(&self.url)?,
            dialect: self.dialect,
            control: self.control.clone(),
        })
    }

    /// A session of another user, who has no password.
    pub(crate) fn connect_as(&self, user: &str) -> Result<Client> {
        Ok(Client {
            session: open(&self.url.replace("//root@", &format!("//{user}@")))?,
            dialect: self.dialect,
            control: self.control.clone(),
        })
    }

    /// A run in a thread and a session of its own.
    pub(crate) fn run_aside(&self, options: Value) -> JoinHandle<Result<Value>> {
        let client = self.connect();
        thread::spawn(move || client?.run(&options))
    }

    /// Installs as `windrow install` does, and sets a policy for every project.
    pub(crate) fn install(&self) -> Result<()> {
        install(&mut open(&self.url)?, self.dialect, &self.graph)
    }

    /// Applies the file that undoes everything.
    pub(crate) fn uninstall(&self) -> Result<()> {
        let attempt = || {
            let mut session = open(&self.url)?;
            apply(&mut session, self.dialect, &self.graph, |name, sql| {
                name.starts_with("90").then(|| sql.to_owned())
            })
        };
        // As its comment says where a transaction is open on a table.
        for _ in 0..10 {
            match attempt() {
                Err(error) if is_lock_timeout(&error) => (),
                done => return done,
            }
        }
        attempt()
    }

    /// Applies some statements of the files anew, edited perhaps, given a file's name and a statement.
    pub(crate) fn install_some(
        &self,
        edited: impl FnMut(&str, &str) -> Option<String>,
    ) -> Result<()> {
        apply(&mut open(&self.url)?, self.dialect, &self.graph, edited)
    }

    /// Writes the spec that this was installed from.
    pub(crate) fn write_spec(&self, path: &Path) -> Result<()> {
        let (name, database) = (&self.graph.name, &self.graph.database);
        let workers = self.graph.workers;
        let head = format!("name = \"{name}\"\ndatabase = \"{database}\"\nworkers = {workers}\n");
        let lines = self.spec.lines();
        let rest =
            lines.filter(|line| !line.starts_with("name ") && !line.starts_with("database "));
        let rest: Vec<&str> = rest.collect();
        fs::write(path, head + &rest.join("\n"))?;
        Ok(())
    }

    /// The TCP port of the server.
    pub(crate) fn port(&self) -> Result<u16> {
        Url::parse(&self.url)?.port().context("a port")
    }

    /// The address of the database at another port, for the superuser.
    pub(crate) fn url_at(&self, port: u16) -> Result<String> {
        let old = format!("127.0.0.1:{}", self.port()?);
        Ok(self.url.replace(&old, &format!("127.0.0.1:{port}")))
    }
}

fn open(url: &str) -> Result<Session> {
    db::connect_as_application(&url.parse()?)
}

/// The thread's result; a panic there is a failure here.
pub(crate) fn joined<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("the thread panicked"))?
}

/// Fails unless a result is an error with this SQLSTATE.
pub(crate) fn refused<T>(result: Result<T>, code: &str) -> Result<()> {
    let Err(error) = result else {
        bail!("not refused, although {code} was expected");
    };
    let said = format!("SQLSTATE {code})");
    ensure!(
        error.chain().any(|cause| cause.to_string().contains(&said)),
        "not {code}: {error:?}"
    );
    Ok(())
}
