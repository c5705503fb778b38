//! A durable server of MySQL or MariaDB with the history, fresh for every measurement, and what is read from it.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use windrow::bundle::Statement;
use windrow::db::{self, Database};
use windrow::demo::FAMILIES_VARIABLE;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::sandbox::Mysql;
use windrow::sandbox::mysql::{Flavour, Settings};

use crate::data::{self, TABLES, WITHOUT_SHARED_MEMBERS};
use crate::installer::Installer;
use crate::observe::{Run, observed};

const HISTORY_34: &str =
    include_str!("../../../specs/systems/dolphinscheduler/mysql/history-3.4.sql");
const SCHEMA_34: &str =
    include_str!("../../../specs/systems/dolphinscheduler/mysql/schema-3.4.sql");

/// Events that the server keeps: more than all statements of a run.
const EVENTS: &str = "50000";

/// How often the progress of a run is read. The server's CPU for that counts against the run.
const POLL: Duration = Duration::from_millis(100);

/// How long the server must have written nothing to be at rest.
const REST: Duration = Duration::from_secs(1);

/// The database in which runs are measured, which has the name of the spec.
pub(super) const HOME: &str = "dolphinscheduler";

/// Another one for a run at the same time.
pub(super) const BESIDE: &str = "beside";

type Session = Box<dyn Database>;

/// A durable server, and the history as a data directory that every run copies.
pub(super) struct Lab {
    pub(super) server: Mysql,
    pub(super) dialect: Dialect,
    pub(super) control: String,
    /// All rows of the history.
    pub(super) rows: i64,
    /// The moment from which all cutoffs are counted, as a text of the server.
    pub(super) as_of: String,
}

/// What a way to delete took.
pub(super) struct Cost {
    pub(super) cpu: f64,
    pub(super) wall: f64,
    pub(super) client: f64,
    pub(super) binlog: f64,
}

impl Lab {
    pub(super) fn open(flavour: Flavour, families: u32) -> Result<Self> {
        Self::open_by(&Installer::This, flavour, families)
    }

    /// The same, installed by another state of windrow.
    pub(super) fn open_by(installer: &Installer, flavour: Flavour, families: u32) -> Result<Self> {
        Self::open_all(installer, flavour, families, &[HOME])
    }

    /// With the history in another database, too, for a run of its own at the same time.
    pub(super) fn open_beside(flavour: Flavour, families: u32) -> Result<Self> {
        Self::open_all(&Installer::This, flavour, families, &[BESIDE, HOME])
    }

    fn open_all(
        installer: &Installer,
        flavour: Flavour,
        families: u32,
        databases: &[&str],
    ) -> Result<Self> {
        let server = Mysql::start(&settings(flavour))?;
        let dialect = dialect_of(flavour);
        let mut session = connect(&server, "")?;
        session.execute("CREATE DATABASE bench")?;
        for database in databases {
            session.execute(&format!("CREATE DATABASE {database}; USE {database}"))?;
            session.execute(SCHEMA_34)?;
            session.execute(&format!("SET {FAMILIES_VARIABLE} = {families}"))?;
            session.execute(HISTORY_34)?;
            session.execute(WITHOUT_SHARED_MEMBERS)?;
            let graph = Graph {
                name: (*database).to_owned(),
                database: (*database).to_owned(),
                ..data::graph()?
            };
            let (control, statements) = data::statements_of(&graph, dialect)?;
            if !installer.install(&server.url(database, "root"))? {
                install(&mut session, &statements)?;
            }
            session.execute(&format!("USE {database}"))?;
            session.query(&format!("CALL {control}.arm()"), &[])?;
            for project in session.query("SELECT code FROM t_ds_project", &[])? {
                let options = json!({"scope": project[0], "retention": "30d", "enabled": true, "artifacts": false});
                session.query(&format!("CALL {control}.set_policy('{options}')"), &[])?;
            }
            session.query(&format!("ANALYZE TABLE {}", TABLES.join(", ")), &[])?;
        }
        let as_of = text(&mut session, "SELECT UTC_TIMESTAMP()")?;
        let mut rows = 0;
        for table in TABLES {
            rows += number(&mut session, &format!("SELECT COUNT(*) FROM {table}"))? as i64;
        }
        at_rest(&mut session)?;
        session.execute("SET GLOBAL innodb_max_dirty_pages_pct = 0; SET GLOBAL innodb_buffer_pool_dump_now = ON")?;
        wait("list of pages", || {
            Ok(status(&mut session, "Innodb_buffer_pool_dump_status")?.contains("completed"))
        })?;
        // A page or two may stay dirty as long as the server runs; the few of them are written when it ends.
        let written = Instant::now();
        while status(&mut session, "Innodb_buffer_pool_pages_dirty")?.parse::<u64>()? > 100
            && written.elapsed() < Duration::from_secs(60)
        {
            sleep(Duration::from_millis(50));
        }
        let mut lab = Self {
            server,
            dialect,
            control: control_of(HOME),
            rows,
            as_of,
        };
        lab.server.stop()?;
        fs::rename(lab.data(), lab.history())?;
        Ok(lab)
    }

    pub(super) fn data(&self) -> PathBuf {
        self.server.dir().join("data")
    }

    fn history(&self) -> PathBuf {
        self.server.dir().join("history")
    }

    /// Starts the server anew on a copy of the history.
    pub(super) fn fresh(&mut self) -> Result<()> {
        if self.data().exists() {
            self.server.kill()?;
            fs::remove_dir_all(self.data())?;
        }
        let copied = Command::new("cp")
            .arg("-a")
            .args([self.history(), self.data()])
            .status()?;
        ensure!(copied.success(), "cannot copy the history");
        self.server.restart()?;
        let mut session = self.connect()?;
        wait("a warm buffer pool", || {
            Ok(status(&mut session, "Innodb_buffer_pool_load_status")?.contains("completed"))
        })?;
        at_rest(&mut session)
    }

    /// A fresh copy whose server has one core.
    pub(super) fn fresh_on_one_core(&mut self) -> Result<()> {
        self.fresh()?;
        on_one_core(&self.server)
    }

    pub(super) fn connect(&self) -> Result<Session> {
        connect(&self.server, HOME)
    }

    /// A session that holds a snapshot as long as it lives.
    pub(super) fn old_snapshot(&self) -> Result<Session> {
        let mut session = self.connect()?;
        session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        Ok(session)
    }

    /// What is left: the number of rows of each table and a sum over their keys.
    pub(super) fn digest(&self) -> Result<Vec<String>> {
        let mut session = self.connect()?;
        TABLES
            .iter()
            .map(|table| {
                text(
                    &mut session,
                    &format!(
                        "SELECT CONCAT_WS(' ', '{table}', COUNT(*), SUM(CRC32(id))) FROM {table}"
                    ),
                )
            })
            .collect()
    }

    /// What `work` costs on a fresh copy, and the time until the server is at rest after it.
    pub(super) fn costs<T>(&mut self, work: impl FnOnce(&Self) -> Result<T>) -> Result<(Cost, T)> {
        self.fresh_on_one_core()?;
        self.costs_here(work)
    }

    /// The same on what stands there.
    pub(super) fn costs_here<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<(Cost, T)> {
        let mut session = self.connect()?;
        let binlog = binlog_bytes(&mut session)?;
        let (server, client, began) = (self.server.cpu_seconds(), client_cpu()?, Instant::now());
        let done = work(self)?;
        let (wall, client) = (began.elapsed().as_secs_f64(), client_cpu()? - client);
        at_rest(&mut session)?;
        let cost = Cost {
            cpu: self.server.cpu_seconds() - server + client,
            wall,
            client,
            binlog: binlog_bytes(&mut session)? - binlog,
        };
        Ok((cost, done))
    }

    /// `CALL run` on a fresh copy.
    pub(super) fn windrow(&self) -> Result<Run> {
        let (mut worker, mut reader) = (self.connect()?, self.connect()?);
        let call = self.call(HOME, 1);
        let progress = format!(
            "SELECT deleted_rows, batches, UNIX_TIMESTAMP(updated_at) FROM {}.run_rule",
            self.control
        );
        self.observed(&mut reader, &progress, || done(&mut worker, &call))
    }

    /// `CALL run` of one worker.
    fn call(&self, database: &str, worker: u32) -> String {
        let mut options = json!({
            "run_families": 1_000_000_000, "time_budget": "1h", "as_of": format!("{}Z", self.as_of.replace(' ', "T")),
        });
        // A spec without workers does not know the option.
        if worker > 1 {
            options["worker"] = worker.into();
        }
        format!("CALL {}.run('{options}')", control_of(database))
    }

    /// Two runs at once, each in its database, of the worker with its number.
    pub(super) fn at_once(&self, runs: [(&str, u32); 2]) -> Result<()> {
        thread::scope(|scope| {
            let mut started = Vec::new();
            for (database, worker) in runs {
                let mut session = connect(&self.server, database)?;
                let call = self.call(database, worker);
                started.push(scope.spawn(move || done(&mut session, &call)));
            }
            started
                .into_iter()
                .try_for_each(|run| run.join().expect("the run does not panic"))
        })
    }

    pub(super) fn observed(
        &self,
        reader: &mut Session,
        progress: &str,
        work: impl FnOnce() -> Result<()> + Send,
    ) -> Result<Run> {
        let read = || {
            let rows = reader.query(progress, &[])?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let number = |column: usize| -> Result<f64> {
                Ok(row[column].as_deref().unwrap_or("0").parse()?)
            };
            Ok(Some((number(0)? as i64, number(1)? as i64, number(2)?)))
        };
        observed(POLL, || self.server.cpu_seconds(), read, work)
    }

    /// What `work` costs in DELETE statements on tables of the application, and altogether: CPU seconds of its session.
    pub(super) fn in_deletes<T>(
        &mut self,
        work: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<(f64, f64)> {
        self.fresh_on_one_core()?;
        let mut session = self.connect()?;
        session.execute(
            "UPDATE performance_schema.setup_consumers SET enabled = 'YES' WHERE name IN ('events_statements_cpu', 'events_statements_history_long')",
        )?;
        work(self)?;
        session.execute(
            "UPDATE performance_schema.setup_consumers SET enabled = 'NO' WHERE name = 'events_statements_history_long'",
        )?;
        let ours = "FROM performance_schema.events_statements_history_long AS e
             WHERE e.thread_id = (
                 SELECT d.thread_id FROM performance_schema.events_statements_history_long AS d
                 WHERE d.sql_text LIKE 'DELETE %' GROUP BY d.thread_id ORDER BY COUNT(*) DESC LIMIT 1
             )";
        let kept = number(&mut session, &format!("SELECT COUNT(*) {ours}"))?;
        ensure!(
            kept < EVENTS.parse()?,
            "the server has forgotten statements"
        );
        let whole = number(
            &mut session,
            // What a statement of a routine costs is counted with its CALL.
            &format!(
                "SELECT SUM(e.cpu_time) / 1e12 {ours} AND e.event_name NOT LIKE 'statement/sp/%'"
            ),
        )?;
        dearest(&mut session, ours)?;
        let deletes = number(
            &mut session,
            &format!(
                "SELECT SUM(e.cpu_time) / 1e12 {ours} AND e.sql_text REGEXP '^DELETE [tx][[:space:]]'"
            ),
        )?;
        Ok((deletes, whole))
    }
}

/// Prints what the statements of one session cost by themselves, without those that they call: the dearest first.
fn dearest(session: &mut Session, ours: &str) -> Result<()> {
    session.execute(&format!(
        "CREATE TEMPORARY TABLE bench.event (id bigint PRIMARY KEY, caller bigint, kind varchar(100), text longtext, cpu double)
         AS SELECT e.event_id AS id, e.nesting_event_id AS caller, e.event_name AS kind, e.sql_text AS text, e.cpu_time / 1e9 AS cpu {ours};
         CREATE TEMPORARY TABLE bench.called (id bigint PRIMARY KEY, cpu double)
         AS SELECT e.caller AS id, SUM(e.cpu) AS cpu FROM bench.event AS e WHERE e.caller IS NOT NULL GROUP BY e.caller"
    ))?;
    let rows = session.query(
        "SELECT CONCAT_WS('  ', LPAD(ROUND(SUM(e.cpu - COALESCE(c.cpu, 0))), 6, ' '), LPAD(COUNT(*), 6, ' '),
             MIN(COALESCE(LEFT(REGEXP_REPLACE(e.text, '[[:space:]]+', ' '), 150), e.kind)))
         FROM bench.event AS e LEFT JOIN bench.called AS c ON c.id = e.id
         GROUP BY COALESCE(LEFT(REGEXP_REPLACE(REGEXP_REPLACE(e.text, '[[:space:]]+', ' '), '[0-9]+', '#'), 150), e.kind)
         ORDER BY SUM(e.cpu - COALESCE(c.cpu, 0)) DESC LIMIT 45",
        &[],
    )?;
    let mut out = std::io::stderr().lock();
    for row in rows {
        let line = row.first().cloned().flatten();
        writeln!(out, "{}", line.unwrap_or_default())?;
    }
    session.execute("DROP TEMPORARY TABLE bench.event, bench.called")
}

/// Those of a server that writes to disk as one in service does.
pub(super) fn settings(flavour: Flavour) -> Settings {
    let mut extra = vec![
        ("innodb_buffer_pool_size", "2G"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("sync_binlog", "1"),
        // A copy is warm, as a table in service is.
        ("innodb_buffer_pool_load_at_startup", "ON"),
        ("innodb_buffer_pool_dump_pct", "100"),
    ];
    extra.extend(match flavour {
        Flavour::Mysql => vec![
            ("innodb_redo_log_capacity", "1G"),
            // As it comes, and as it is needed to see which statement costs what.
            ("performance_schema", "ON"),
            (
                "performance_schema_events_statements_history_long_size",
                EVENTS,
            ),
        ],
        Flavour::Mariadb => vec![("innodb_log_file_size", "1G")],
    });
    Settings {
        durable: true,
        extra: extra
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..Settings::new(flavour)
    }
}

pub(super) fn install(session: &mut Session, statements: &[Statement]) -> Result<()> {
    for statement in statements {
        session
            .execute(&statement.sql)
            .with_context(|| format!("cannot {}", statement.what))?;
    }
    Ok(())
}

/// Binds a server to one core.
pub(super) fn on_one_core(server: &Mysql) -> Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let cores = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .context("no list of cores")?
        .trim();
    let first = cores.split([',', '-']).next().unwrap_or_default();
    let pid = server.pid().to_string();
    let bound = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid", first, &pid])
        .stdout(Stdio::null())
        .status()
        .context("cannot run `taskset` of util-linux")?;
    ensure!(bound.success(), "cannot bind the server to core {first}");
    Ok(())
}

/// The dialect of a server.
pub(super) fn dialect_of(flavour: Flavour) -> Dialect {
    match flavour {
        Flavour::Mysql => Dialect::Mysql,
        Flavour::Mariadb => Dialect::Mariadb,
    }
}

/// Calls a run, which must end well.
pub(super) fn done(session: &mut Session, call: &str) -> Result<()> {
    let rows = session.query(call, &[])?;
    let text = rows.first().and_then(|row| row.first()?.as_deref());
    let answer: Value = serde_json::from_str(text.context("the run answers nothing")?)?;
    ensure!(answer["status"] == "done", "the run ended with {answer}");
    Ok(())
}

/// The control schema of a database.
fn control_of(database: &str) -> String {
    format!("windrow_{database}")
}

/// A session of the administrator.
fn connect(server: &Mysql, database: &str) -> Result<Session> {
    db::connect_as_application(&server.url(database, "root").parse()?)
}

pub(super) fn text(session: &mut Session, sql: &str) -> Result<String> {
    let rows = session.query(sql, &[])?;
    let row = rows.into_iter().next().unwrap_or_default();
    row.into_iter().next().flatten().context("no answer")
}

pub(super) fn number(session: &mut Session, sql: &str) -> Result<f64> {
    Ok(text(session, sql)?.parse()?)
}

fn status(session: &mut Session, name: &str) -> Result<String> {
    let rows = session.query(&format!("SHOW GLOBAL STATUS LIKE '{name}'"), &[])?;
    let value = rows.first().and_then(|row| row.get(1).cloned().flatten());
    Ok(value.unwrap_or_default())
}

fn wait(what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(180);
    while !done()? {
        ensure!(Instant::now() < deadline, "no {what} after three minutes");
        sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Waits until the server writes nothing more: what was deleted is cleared away, as far as no snapshot needs it.
pub(super) fn at_rest(session: &mut Session) -> Result<()> {
    let mut last = (String::new(), Instant::now());
    wait("rest", || {
        let written = status(session, "Innodb_os_log_written")?;
        if written != last.0 {
            last = (written, Instant::now());
        }
        Ok(last.1.elapsed() > REST)
    })
}

fn binlog_bytes(session: &mut Session) -> Result<f64> {
    let logs = session.query("SHOW BINARY LOGS", &[])?;
    let sizes = logs.iter().filter_map(|log| log.get(1)?.as_deref());
    sizes.map(|size| Ok(size.parse::<f64>()?)).sum()
}

/// CPU seconds of the programs that this one started and that have ended.
fn client_cpu() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field, the name in parentheses, may contain anything.
    let fields = stat.rsplit_once(')').context("no name")?.1;
    let ticks = fields.split_whitespace().skip(13).take(2);
    Ok(ticks
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0)
}
