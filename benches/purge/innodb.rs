//! The measurements on MySQL and MariaDB: windrow beside what deletes the same rows there otherwise.
//!
//! CPU seconds are those of the whole server, until what was deleted is also cleared away, and of the client program
//! where there is one; windrow, the unbatched DELETE and the loop take one call. Where CPU seconds are compared, the
//! server runs on one core: what is cleared away beside the deletions slows them down on a neighbouring core, and what
//! is cleared away after them does not, though it is the same work.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};
use windrow::bundle::Statement;
use windrow::db::{self, Database};
use windrow::demo::FAMILIES_VARIABLE;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::sandbox::Mysql;
use windrow::sandbox::mysql::{Flavour, Settings};

use crate::data::{self, TABLES, WITHOUT_SHARED_MEMBERS, families, statements};
use crate::earlier::Installer;
use crate::report::{LIVE_RANKS, Report, percentile};
use crate::{
    CATALOG, CATALOG_BAR, LOOKS, Plan, QUIET, ROUNDS, Run, earlier, guard, observed, on_time, scale,
};

const HISTORY_34: &str = include_str!("../../specs/systems/dolphinscheduler/mysql/history-3.4.sql");
const SCHEMA_34: &str = include_str!("../../specs/systems/dolphinscheduler/mysql/schema-3.4.sql");

/// Rows of a table at a time, in the loop and in pt-archiver.
const CHUNK: usize = 1000;

/// Families of a small batch, to see what the size of a transaction does to others.
const SMALL_BATCH: usize = 100;

/// Rounds of windrow and the unbatched DELETE: their ratio is near its bar, and a busy host moves single rounds a lot.
const PAIRS: usize = 7;

/// Events that the server keeps: more than all statements of a run.
const EVENTS: &str = "50000";

/// How long the loop may take.
const NAIVE_SECONDS: u64 = 120;

/// How often the progress of a run is read. The server's CPU for that counts against the run.
const POLL: Duration = Duration::from_millis(100);

/// How long the server must have written nothing to be at rest.
const REST: Duration = Duration::from_secs(1);

/// Rows per CPU second beside one unbatched DELETE per table, and beside both modes of pt-archiver.
const LIMIT_BAR: f64 = 0.9;
const BULK_BAR: f64 = 1.0;
const ROW_BAR: f64 = 2.5;

type Session = Box<dyn Database>;

/// A column that leads to a member, by itself or over a row of another table that has a member.
type Way = (&'static str, Option<&'static str>);

/// Whose rows go, in order.
const TARGETS: [(&str, &[Way]); 11] = [
    (
        "t_ds_task_instance_context",
        &[("task_instance_id", Some("t_ds_task_instance"))],
    ),
    (
        "t_ds_task_group_queue",
        &[
            ("workflow_instance_id", None),
            ("task_id", Some("t_ds_task_instance")),
        ],
    ),
    ("t_ds_task_instance", &[("workflow_instance_id", None)]),
    (
        "t_ds_alert_send_status",
        &[("alert_id", Some("t_ds_alert"))],
    ),
    ("t_ds_alert", &[("workflow_instance_id", None)]),
    ("t_ds_command", &[("workflow_instance_id", None)]),
    ("t_ds_error_command", &[("workflow_instance_id", None)]),
    ("t_ds_serial_command", &[("workflow_instance_id", None)]),
    (
        "t_ds_relation_workflow_instance",
        &[
            ("parent_workflow_instance_id", None),
            ("workflow_instance_id", None),
        ],
    ),
    (
        "t_ds_relation_sub_workflow",
        &[
            ("parent_workflow_instance_id", None),
            ("sub_workflow_instance_id", None),
        ],
    ),
    ("t_ds_workflow_instance", &[("id", None)]),
];

/// A durable server, and the history as a data directory that every run copies.
struct Lab {
    server: Mysql,
    dialect: Dialect,
    control: String,
    /// All rows of the history.
    rows: i64,
    /// The moment from which all cutoffs are counted, as a text of the server.
    as_of: String,
}

/// What a way to delete took.
struct Cost {
    cpu: f64,
    wall: f64,
    client: f64,
    binlog: f64,
}

/// Everything that the plan wants on one of the servers.
pub(crate) fn measure(flavour: Flavour, plan: &Plan) -> Result<Report> {
    let families = families()?;
    let own = [
        "limit",
        "statements",
        "workers",
        "flat",
        "live",
        "guard",
        "catalog",
    ];
    if !own.into_iter().any(|part| plan.wants(part)) {
        let mut report = Report::titled(flavour.title());
        if plan.wants("earlier") {
            earlier(flavour, families, &mut report)?;
        }
        return Ok(report);
    }
    let mut lab = Lab::open(flavour, families)?;
    let mut report = Report::new(flavour.title(), families, lab.rows);
    if plan.wants("limit") {
        side_by_side(&mut lab, &mut report)?;
    }
    if plan.wants("statements") && flavour == Flavour::Mysql {
        statements_alone(&mut lab, &mut report)?;
    }
    if plan.wants("workers") {
        workers(&mut lab, &mut report)?;
    }
    if plan.wants("flat") {
        flatness(&mut lab, &mut report)?;
    }
    if plan.wants("live") {
        live_load(&mut lab, &mut report)?;
    }
    if plan.wants("guard") {
        orphan_guard(&mut lab, &mut report)?;
    }
    if plan.wants("catalog") {
        catalog(&mut lab, &mut report)?;
    }
    Ok(report)
}

/// This state and an earlier one, each with a server of its own.
fn earlier(flavour: Flavour, families: u32, report: &mut Report) -> Result<()> {
    let mut this = Lab::open(flavour, families)?;
    let mut other = Lab::open_by(&Installer::earlier()?, flavour, families)?;
    earlier::measure([&mut this, &mut other], report, |lab| {
        lab.fresh_on_one_core()?;
        let run = lab.windrow()?;
        Ok((run, lab.digest()?))
    })
}

/// What each batch takes for its two looks at the catalog, beside all that it does. A procedure calls them as a run does.
fn catalog(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let mut shares = Vec::new();
    for _ in 0..ROUNDS {
        lab.fresh_on_one_core()?;
        let run = lab.windrow()?;
        let mut session = lab.connect()?;
        let control = &lab.control;
        session.execute("DROP PROCEDURE IF EXISTS bench.looks")?;
        session.execute(&format!(
            "CREATE PROCEDURE bench.looks() BEGIN
                 DECLARE v_left integer DEFAULT {LOOKS};
                 DECLARE v_changed boolean;
                 WHILE v_left > 0 DO
                     CALL {control}.take_tables();
                     CALL {control}.look_again(0, false, v_changed);
                     CALL {control}.look_again(0, true, v_changed);
                     SET v_left = v_left - 1;
                 END WHILE;
             END"
        ))?;
        at_rest(&mut session)?;
        let before = lab.server.cpu_seconds();
        session.execute("CALL bench.looks()")?;
        let look = (lab.server.cpu_seconds() - before) / f64::from(LOOKS);
        shares.push(look / (run.cpu / run.batches as f64));
    }
    report.share(CATALOG, &shares, CATALOG_BAR);
    Ok(())
}

/// A fresh copy of a history of so many families, for one run.
pub(crate) fn scale_lab(flavour: Flavour, families: u32) -> Result<scale::Lab> {
    let mut lab = Lab::open(flavour, families)?;
    lab.fresh()?;
    let server = Rc::new(lab.server);
    let clock = Rc::clone(&server);
    Ok(scale::Lab {
        url: server.url("dolphinscheduler", "root"),
        as_of: format!("{}Z", lab.as_of.replace(' ', "T")),
        progress: format!(
            "SELECT deleted_rows, batches, UNIX_TIMESTAMP(updated_at) FROM {}.run_rule",
            lab.control
        ),
        pid: server.pid(),
        cpu: Box::new(move || clock.cpu_seconds()),
        server: Box::new(server),
    })
}

impl Lab {
    fn open(flavour: Flavour, families: u32) -> Result<Self> {
        Self::open_by(&Installer::This, flavour, families)
    }

    /// The same, installed by another state of windrow.
    fn open_by(installer: &Installer, flavour: Flavour, families: u32) -> Result<Self> {
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
        let server = Mysql::start(&Settings {
            durable: true,
            extra: extra
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            ..Settings::new(flavour)
        })?;
        let mut session = connect(&server, "")?;
        session.execute(
            "CREATE DATABASE dolphinscheduler; CREATE DATABASE bench; USE dolphinscheduler",
        )?;
        session.execute(SCHEMA_34)?;
        session.execute(&format!("SET {FAMILIES_VARIABLE} = {families}"))?;
        session.execute(HISTORY_34)?;
        session.execute(WITHOUT_SHARED_MEMBERS)?;
        let dialect = match flavour {
            Flavour::Mysql => Dialect::Mysql,
            Flavour::Mariadb => Dialect::Mariadb,
        };
        let (control, statements) = statements(dialect)?;
        if !installer.install(&server.url("dolphinscheduler", "root"))? {
            install(&mut session, &statements)?;
        }
        session.execute("USE dolphinscheduler")?;
        session.query(&format!("CALL {control}.arm()"), &[])?;
        for project in session.query("SELECT code FROM t_ds_project", &[])? {
            let options = json!({"scope": project[0], "retention": "30d", "enabled": true, "artifacts": false});
            session.query(&format!("CALL {control}.set_policy('{options}')"), &[])?;
        }
        session.query(&format!("ANALYZE TABLE {}", TABLES.join(", ")), &[])?;
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
            control,
            rows,
            as_of,
        };
        lab.server.stop()?;
        fs::rename(lab.data(), lab.history())?;
        Ok(lab)
    }

    fn data(&self) -> PathBuf {
        self.server.dir().join("data")
    }

    fn history(&self) -> PathBuf {
        self.server.dir().join("history")
    }

    /// Starts the server anew on a copy of the history.
    fn fresh(&mut self) -> Result<()> {
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
    fn fresh_on_one_core(&mut self) -> Result<()> {
        self.fresh()?;
        let status = fs::read_to_string("/proc/self/status")?;
        let cores = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .context("no list of cores")?
            .trim();
        let first = cores.split([',', '-']).next().unwrap_or_default();
        let pid = self.server.pid().to_string();
        let bound = Command::new("taskset")
            .args(["--all-tasks", "--cpu-list", "--pid", first, &pid])
            .stdout(Stdio::null())
            .status()
            .context("cannot run `taskset` of util-linux")?;
        ensure!(bound.success(), "cannot bind the server to core {first}");
        Ok(())
    }

    fn connect(&self) -> Result<Session> {
        connect(&self.server, "dolphinscheduler")
    }

    /// A session that holds a snapshot as long as it lives.
    fn old_snapshot(&self) -> Result<Session> {
        let mut session = self.connect()?;
        session.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        Ok(session)
    }

    /// What is left: the number of rows of each table and a sum over their keys.
    fn digest(&self) -> Result<Vec<String>> {
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
    fn costs<T>(&mut self, work: impl FnOnce(&Self) -> Result<T>) -> Result<(Cost, T)> {
        self.fresh_on_one_core()?;
        self.costs_here(work)
    }

    /// The same on what stands there.
    fn costs_here<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<(Cost, T)> {
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
    fn windrow(&self) -> Result<Run> {
        let (mut worker, mut reader) = (self.connect()?, self.connect()?);
        let call = self.call(1);
        let progress = format!(
            "SELECT deleted_rows, batches, UNIX_TIMESTAMP(updated_at) FROM {}.run_rule",
            self.control
        );
        self.observed(&mut reader, &progress, || done(&mut worker, &call))
    }

    /// `CALL run` of one worker.
    fn call(&self, worker: u32) -> String {
        let mut options = json!({
            "run_families": 1_000_000_000, "time_budget": "1h", "as_of": format!("{}Z", self.as_of.replace(' ', "T")),
        });
        // A spec without workers does not know the option.
        if worker > 1 {
            options["worker"] = worker.into();
        }
        format!("CALL {}.run('{options}')", self.control)
    }

    /// Two workers at once.
    fn workers(&self) -> Result<()> {
        thread::scope(|scope| {
            let mut runs = Vec::new();
            for worker in 1..=2 {
                let (mut session, call) = (self.connect()?, self.call(worker));
                runs.push(scope.spawn(move || done(&mut session, &call)));
            }
            runs.into_iter()
                .try_for_each(|run| run.join().expect("the worker does not panic"))
        })
    }

    /// The loop that everybody writes first, on a fresh copy.
    fn naive(&self) -> Result<Run> {
        let (mut worker, mut reader) = (self.connect()?, self.connect()?);
        for sql in naive() {
            worker.execute(&sql)?;
        }
        worker.execute(&self.finding(""))?;
        let progress =
            "SELECT deleted_rows, batches, UNIX_TIMESTAMP(updated_at) FROM bench.progress";
        self.observed(&mut reader, progress, || {
            worker.execute("CALL bench.naive()")
        })
    }

    fn observed(
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

    /// Finds the members of all families that may go, with sets.
    fn finding(&self, temporary: &str) -> String {
        let over = format!(
            "(i.state IN (3, 5, 6, 7) AND i.end_time < '{}' - INTERVAL 31 DAY)",
            self.as_of
        );
        format!(
            "CREATE TEMPORARY TABLE bench.family (root bigint, member bigint, PRIMARY KEY (root, member), KEY (member));
             CREATE TEMPORARY TABLE bench.stays (root bigint PRIMARY KEY);
             CREATE {temporary} TABLE bench.doomed (member bigint PRIMARY KEY);
             INSERT INTO bench.family (root, member)
             WITH RECURSIVE m (root, member) AS (
                 SELECT i.id, i.id FROM t_ds_workflow_instance AS i WHERE i.is_sub_workflow = 0 AND {over}
                 UNION
                 SELECT m.root, l.workflow_instance_id
                 FROM m JOIN t_ds_relation_workflow_instance AS l ON l.parent_workflow_instance_id = m.member
                 UNION
                 SELECT m.root, l.sub_workflow_instance_id
                 FROM m JOIN t_ds_relation_sub_workflow AS l ON l.parent_workflow_instance_id = m.member
             )
             SELECT m.root, m.member FROM m;
             INSERT INTO bench.stays (root)
             SELECT DISTINCT f.root
             FROM bench.family AS f JOIN t_ds_workflow_instance AS i ON i.id = f.member
             WHERE {over} IS NOT TRUE;
             INSERT INTO bench.doomed (member)
             SELECT DISTINCT f.member
             FROM bench.family AS f LEFT JOIN bench.stays AS s ON s.root = f.root
             WHERE s.root IS NULL"
        )
    }

    /// The limit: one joined DELETE per table and way to its rows, in one transaction.
    fn unbatched(&self) -> Result<()> {
        let mut session = self.connect()?;
        let deletes: String = ways()
            .map(|(table, column, through)| {
                let (by, key) = match through {
                    Some(through) => (
                        format!("STRAIGHT_JOIN {through} AS p ON p.workflow_instance_id = d.member"),
                        "p.id",
                    ),
                    None => (String::new(), "d.member"),
                };
                format!("DELETE x FROM bench.doomed AS d {by} STRAIGHT_JOIN {table} AS x ON x.{column} = {key};\n")
            })
            .collect();
        session.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")?;
        session.execute(&format!(
            "{}; START TRANSACTION; {deletes} COMMIT",
            self.finding("TEMPORARY")
        ))
    }

    /// What `work` costs in DELETE statements on tables of the application, and altogether: CPU seconds of its session.
    fn in_deletes<T>(&mut self, work: impl FnOnce(&Self) -> Result<T>) -> Result<(f64, f64)> {
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
        let deletes = number(
            &mut session,
            &format!(
                "SELECT SUM(e.cpu_time) / 1e12 {ours} AND e.sql_text REGEXP '^DELETE [tx][[:space:]]'"
            ),
        )?;
        Ok((deletes, whole))
    }

    /// pt-archiver, a process per table, each along the primary key.
    fn archiver(&self, options: &[&str]) -> Result<()> {
        self.connect()?.execute(&self.finding(""))?;
        for (table, _) in TARGETS {
            let source = format!(
                "S={},u=root,D=dolphinscheduler,t={table},i=PRIMARY",
                self.server.socket().display()
            );
            let output = Command::new("pt-archiver")
                .args(["--source", &source, "--where", &condition(table)])
                .args(["--purge", "--limit", &CHUNK.to_string(), "--commit-each"])
                .args(["--primary-key-only", "--no-safe-auto-increment"])
                .args(["--no-check-charset", "--no-version-check"])
                .args(options)
                .stdin(Stdio::null())
                .output()
                .context("cannot run `pt-archiver`: `.ci/setup bench` installs it")?;
            ensure!(
                output.status.success(),
                "pt-archiver failed on {table}\n\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    }
}

fn install(session: &mut Session, statements: &[Statement]) -> Result<()> {
    for statement in statements {
        session
            .execute(&statement.sql)
            .with_context(|| format!("cannot {}", statement.what))?;
    }
    Ok(())
}

/// Calls a run, which must end well.
fn done(session: &mut Session, call: &str) -> Result<()> {
    let rows = session.query(call, &[])?;
    let text = rows.first().and_then(|row| row.first()?.as_deref());
    let answer: Value = serde_json::from_str(text.context("the run answers nothing")?)?;
    ensure!(answer["status"] == "done", "the run ended with {answer}");
    Ok(())
}

/// Tables, columns and the tables between, one by one.
fn ways() -> impl Iterator<Item = (&'static str, &'static str, Option<&'static str>)> {
    TARGETS
        .into_iter()
        .flat_map(|(table, ways)| ways.iter().map(move |(column, by)| (table, *column, *by)))
}

/// What tells the rows of a table that go, for statements that cannot join. A scalar subquery stays what it is: a
/// look-up by key for each row that is passed.
fn condition(table: &str) -> String {
    ways()
        .filter(|(of, _, _)| *of == table)
        .map(|(_, column, through)| match through {
            Some(through) => format!(
                "(SELECT d.member FROM dolphinscheduler.{through} AS p JOIN bench.doomed AS d ON d.member = p.workflow_instance_id WHERE p.id = {table}.{column}) IS NOT NULL"
            ),
            None => format!(
                "(SELECT d.member FROM bench.doomed AS d WHERE d.member = {table}.{column}) IS NOT NULL"
            ),
        })
        .collect::<Vec<_>>()
        .join(" OR ")
}

/// DELETE … LIMIT again and again, table by table.
fn naive() -> [String; 3] {
    let loops: String = TARGETS
        .iter()
        .map(|(table, _)| {
            format!(
                "REPEAT
                     START TRANSACTION;
                     DELETE FROM dolphinscheduler.{table} WHERE {} LIMIT {CHUNK};
                     SET n = ROW_COUNT();
                     UPDATE bench.progress
                     SET deleted_rows = deleted_rows + n, batches = batches + 1, updated_at = UTC_TIMESTAMP(6);
                     COMMIT;
                 UNTIL n = 0 OR UTC_TIMESTAMP() > stop END REPEAT;\n",
                condition(table)
            )
        })
        .collect();
    [
        "CREATE TABLE bench.progress (deleted_rows bigint NOT NULL, batches bigint NOT NULL, updated_at datetime(6) NOT NULL)".to_owned(),
        "INSERT INTO bench.progress VALUES (0, 0, UTC_TIMESTAMP(6))".to_owned(),
        format!(
            "CREATE PROCEDURE bench.naive()
             BEGIN
                 DECLARE n bigint;
                 DECLARE stop datetime DEFAULT UTC_TIMESTAMP() + INTERVAL {NAIVE_SECONDS} SECOND;
                 {loops}
             END"
        ),
    ]
}

/// All ways to delete the same rows take turns, and must leave the same.
fn side_by_side(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let mut costs: [(&str, Vec<Cost>); 5] = [
        ("windrow", Vec::new()),
        ("one DELETE per table, one transaction", Vec::new()),
        ("loop of DELETE … LIMIT, table by table", Vec::new()),
        ("pt-archiver, in bulk", Vec::new()),
        ("pt-archiver, row by row", Vec::new()),
    ];
    let mut runs = Vec::new();
    for round in 0..PAIRS {
        let mut left = None;
        let ways = if round < ROUNDS { costs.len() } else { 2 };
        for (name, costs) in &mut costs[..ways] {
            let (cost, run) = lab.costs(|lab| match *name {
                "windrow" => lab.windrow().map(Some),
                "one DELETE per table, one transaction" => lab.unbatched().map(|()| None),
                "loop of DELETE … LIMIT, table by table" => lab.naive().map(|_| None),
                "pt-archiver, in bulk" => lab.archiver(&["--bulk-delete"]).map(|()| None),
                _ => lab.archiver(&[]).map(|()| None),
            })?;
            costs.push(cost);
            runs.extend(run);
            let digest = lab.digest()?;
            let expected = left.get_or_insert_with(|| digest.clone());
            ensure!(
                *expected == digest,
                "windrow left {expected:?}, {name} {digest:?}"
            );
        }
    }
    let rows = runs[0].rows;
    for (name, costs) in &costs {
        let times: Vec<_> = costs.iter().map(|cost| (cost.cpu, cost.wall)).collect();
        report.variant(name, rows, &times);
    }
    for (name, costs) in &costs[3..] {
        let client: Vec<f64> = costs.iter().map(|cost| cost.client / cost.cpu).collect();
        report.range(&format!("{name}: the client's part of the CPU"), &client, 2);
    }
    let cpu = |index: usize| {
        costs[index]
            .1
            .iter()
            .map(|cost| cost.cpu)
            .collect::<Vec<_>>()
    };
    for (index, bar) in [
        (1, Some(LIMIT_BAR)),
        (2, None),
        (3, Some(BULK_BAR)),
        (4, Some(ROW_BAR)),
    ] {
        report.ratio(costs[index].0, &cpu(0), &cpu(index), bar);
    }
    for (name, costs) in &costs {
        let bytes: Vec<f64> = costs.iter().map(|cost| cost.binlog / rows as f64).collect();
        report.range(&format!("{name}: bytes of binary log per row"), &bytes, 0);
    }
    report.batches(
        runs[0].batches,
        &runs.iter().map(|run| run.longest).collect::<Vec<_>>(),
    );
    let whole: Vec<f64> = costs[1].1.iter().map(|cost| cost.wall * 1e3).collect();
    report.range("the unbatched transaction, ms", &whole, 0);
    Ok(())
}

/// A run and two workers of the same spec take turns, on all cores; both must leave the same rows.
fn workers(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let graph = Graph {
        workers: 2,
        ..data::graph()?
    };
    let (_, of_two) = data::statements_of(&graph, lab.dialect)?;
    let (mut alone, mut both) = (Vec::new(), Vec::new());
    let mut rows = 0;
    for _ in 0..ROUNDS {
        lab.fresh()?;
        let (cost, run) = lab.costs_here(Lab::windrow)?;
        rows = run.rows;
        alone.push((cost.cpu, cost.wall));
        let expected = lab.digest()?;

        lab.fresh()?;
        let mut session = lab.connect()?;
        install(&mut session, &of_two)?;
        at_rest(&mut session)?;
        let (cost, ()) = lab.costs_here(Lab::workers)?;
        both.push((cost.cpu, cost.wall));
        let left = lab.digest()?;
        ensure!(
            left == expected,
            "two workers left {left:?}, one {expected:?}"
        );
    }
    report.workers(rows, &alone, &both);
    Ok(())
}

/// What an inserted row costs plain, with the triggers of `orphan_guard` and with a foreign key, in turns.
fn orphan_guard(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let triggers = guard::triggers(lab.dialect)?;
    for (table, insert, key) in guard::CHILDREN {
        let mut times = guard::Times::default();
        for _ in 0..ROUNDS {
            for (variant, times) in times.iter_mut().enumerate() {
                lab.fresh_on_one_core()?;
                let mut session = lab.connect()?;
                match variant {
                    0 => (),
                    1 => install(&mut session, &triggers)?,
                    // Rows that hang on nothing stay as they are.
                    _ => session.execute(&format!(
                        "SET foreign_key_checks = 0; ALTER TABLE {table} {key}; SET foreign_key_checks = 1"
                    ))?,
                }
                let keys = session.query(&guard::parents(table), &[])?;
                ensure!(!keys.is_empty(), "no parents");
                at_rest(&mut session)?;
                session.execute("START TRANSACTION")?;
                let (cpu, began) = (lab.server.cpu_seconds(), Instant::now());
                for row in keys.iter().cycle().take(guard::ROWS) {
                    session.query(insert, &[row[0].as_deref()])?;
                }
                session.execute("COMMIT")?;
                times.push((
                    lab.server.cpu_seconds() - cpu,
                    began.elapsed().as_secs_f64(),
                ));
            }
        }
        guard::tell(report, table, &times);
    }
    Ok(())
}

/// How much of the CPU is in the deletions themselves. Only MySQL tells.
fn statements_alone(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let windrow = lab.in_deletes(Lab::windrow)?;
        let unbatched = lab.in_deletes(Lab::unbatched)?;
        ratios.push(unbatched.0 / windrow.0);
        ours.push(windrow.1 - windrow.0);
        theirs.push(unbatched.1 - unbatched.0);
    }
    report.range(
        "windrow / one DELETE per table, DELETE statements alone, by CPU of the session",
        &ratios,
        2,
    );
    report.range(
        "windrow: CPU seconds to choose, judge and lock families and to keep the ledger",
        &ours,
        2,
    );
    report.range(
        "one DELETE per table: CPU seconds to find the families",
        &theirs,
        2,
    );
    Ok(())
}

/// Cost per row over a run, without and with an old snapshot that keeps every deleted row.
fn flatness(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut plain, mut held) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        lab.fresh_on_one_core()?;
        plain.push(lab.windrow()?.steepness());
        lab.fresh_on_one_core()?;
        let _snapshot = lab.old_snapshot()?;
        held.push(lab.windrow()?.steepness());
    }
    lab.fresh_on_one_core()?;
    let _snapshot = lab.old_snapshot()?;
    let naive = lab.naive()?;
    report.flat("plain", &plain, None);
    report.flat("with an old snapshot open", &held, None);
    report.naive(&naive.deciles(1), naive.rows, naive.wall);
    Ok(())
}

/// Latencies of small transactions, without a purge and during one; and beside what else keeps two cores busy: threads
/// that only compute, and the unbatched DELETE.
fn live_load(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    let (mut longest, mut smallest) = (Vec::new(), Vec::new());
    let (mut small, mut computing, mut unbatched) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        lab.fresh()?;
        quiet.extend(on_time(writers(lab)?, || sleep(QUIET))?);
        computing.extend(on_time(writers(lab)?, || compute(QUIET))?);
        let mut run = Err(anyhow!("the purge did not start"));
        busy.extend(on_time(writers(lab)?, || run = lab.windrow())?);
        longest.push(run?.longest);
        lab.fresh()?;
        lab.connect()?.query(
            &format!(
                "CALL {}.set_setting('{{\"name\": \"batch_families\", \"value\": {SMALL_BATCH}}}')",
                lab.control
            ),
            &[],
        )?;
        let mut run = Err(anyhow!("the purge did not start"));
        small.extend(on_time(writers(lab)?, || run = lab.windrow())?);
        smallest.push(run?.longest);
        lab.fresh()?;
        let mut done = Ok(());
        unbatched.extend(on_time(writers(lab)?, || done = lab.unbatched())?);
        done?;
    }
    report.live(
        LIVE_RANKS.map(|rank| percentile(&mut quiet, rank)),
        LIVE_RANKS.map(|rank| percentile(&mut busy, rank)),
        &longest,
        busy.len(),
        None,
    );
    let batches = format!("during a purge with {SMALL_BATCH} families a batch");
    for (what, latencies) in [
        (batches.as_str(), &mut small),
        ("beside two threads that only compute", &mut computing),
        ("during the unbatched DELETE", &mut unbatched),
    ] {
        report.beside(
            what,
            LIVE_RANKS.map(|rank| percentile(latencies, rank)),
            latencies.len(),
        );
    }
    report.range(
        &format!("longest batch transaction with {SMALL_BATCH} families beside this load, ms"),
        &smallest,
        0,
    );
    Ok(())
}

/// Keeps two cores busy with nothing that a server could be asked for: as busy as a purge and the clearing away behind it.
fn compute(duration: Duration) {
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while began.elapsed() < duration {
                    std::hint::spin_loop();
                }
            });
        }
    });
}

/// Two sessions that each do what an instance with two tasks does.
fn writers(lab: &Lab) -> Result<Vec<impl FnMut() -> Result<()> + Send>> {
    const TASK: &str = "('live', 'SHELL', 1, 1, @id, 1, UTC_TIMESTAMP(), 'worker-0.internal:1234', '/opt/dolphinscheduler/logs/live.log')";
    let statements = [
        "START TRANSACTION".to_owned(),
        "INSERT INTO t_ds_workflow_instance (name, workflow_definition_code, workflow_definition_version, project_code, state, start_time, is_sub_workflow, executor_id)
         VALUES ('live', 1, 1, 8104250113728, 1, UTC_TIMESTAMP(), 0, 1)".to_owned(),
        "SET @id = LAST_INSERT_ID()".to_owned(),
        format!(
            "INSERT INTO t_ds_task_instance (name, task_type, task_code, task_definition_version, workflow_instance_id, state, submit_time, host, log_path)
             VALUES {TASK}, {TASK}"
        ),
        "UPDATE t_ds_workflow_instance SET state = 7, end_time = UTC_TIMESTAMP() WHERE id = @id".to_owned(),
        "DO (SELECT state FROM t_ds_workflow_instance WHERE id = @id)".to_owned(),
        "COMMIT".to_owned(),
    ];
    (0..2)
        .map(|_| {
            let mut session = lab.connect()?;
            // What the driver is not told of may be left out.
            session.execute("SET SESSION sql_mode = ''")?;
            let statements = statements.clone();
            Ok(move || {
                statements
                    .iter()
                    .try_for_each(|statement| session.execute(statement))
            })
        })
        .collect()
}

/// A session of the administrator.
fn connect(server: &Mysql, database: &str) -> Result<Session> {
    db::connect(&server.url(database, "root").parse()?)
}

fn text(session: &mut Session, sql: &str) -> Result<String> {
    let rows = session.query(sql, &[])?;
    let row = rows.into_iter().next().unwrap_or_default();
    row.into_iter().next().flatten().context("no answer")
}

fn number(session: &mut Session, sql: &str) -> Result<f64> {
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
fn at_rest(session: &mut Session) -> Result<()> {
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
