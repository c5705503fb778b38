//! Windrow installed in a database of its own on each of the servers, for tests of what holds on all of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::systems::dolphinscheduler::{SCHEMA_34, mysql};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::db;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use super::database::{self, Database};
use super::patience::{despite_cancels, until};
use super::pool::{self, Lot};
use super::world::{DEFINITIONS, SECOND, Source, TABLES, World};
use super::{defect, explained, tables};

/// A session as the command line has it, with texts for values.
pub(crate) type Session = Box<dyn db::Database>;

/// See [`Installation::call_aside`].
pub(crate) type Aside = (
    JoinHandle<(Session, anyhow::Result<Value>)>,
    db::Cancel,
    i64,
);

static MYSQL: LazyLock<Mysql> = LazyLock::new(|| start(Flavour::Mysql));
static MARIADB: LazyLock<Mysql> = LazyLock::new(|| start(Flavour::Mariadb));
static NUMBER: AtomicU32 = AtomicU32::new(0);

fn start(flavour: Flavour) -> Mysql {
    let server = Mysql::start(&Settings::new(flavour)).expect("a throw-away server starts");
    run(&mut connect(&server.url("mysql", "root")), BERLIN);
    server
}

/// The server of this test process that is neither stopped nor configured by a test.
pub(crate) fn server(dialect: Dialect) -> &'static Mysql {
    match dialect {
        Dialect::Mysql => &MYSQL,
        Dialect::Mariadb => &MARIADB,
        Dialect::Postgres => unreachable!("see support::database"),
    }
}

/// A database with the tables of DolphinScheduler and windrow, dropped with this value.
pub(crate) struct Installation {
    pub(crate) dialect: Dialect,
    /// A session of the superuser.
    pub(crate) session: Session,
    /// Name of the control schema.
    pub(crate) control: String,
    /// Name of the database with the application's tables.
    pub(crate) name: String,
    /// What reads all rows of the tables of a world.
    contents: String,
    /// The address of the server, with `DATABASE` and `USER` to fill in.
    address: String,
    /// What drops a database of PostgreSQL.
    _postgres: Option<Database>,
    /// What goes back to the pool.
    lot: Option<Lot>,
}

/// See [`Installation::address`].
const PLACES: [&str; 2] = ["DATABASE", "USER"];

impl Installation {
    /// Windrow installed from a graph, not armed.
    pub(crate) fn new(dialect: Dialect, graph: &Graph) -> Self {
        match dialect {
            Dialect::Postgres => Self::of(dialect, SCHEMA_34, graph),
            Dialect::Mysql | Dialect::Mariadb => Self::of(dialect, mysql::SCHEMA_34, graph),
        }
    }

    /// The same, armed, with the table of definitions beside the application's.
    pub(crate) fn with_definitions(dialect: Dialect, graph: &Graph) -> Self {
        let schema = match dialect {
            Dialect::Postgres => SCHEMA_34,
            Dialect::Mysql | Dialect::Mariadb => mysql::SCHEMA_34,
        };
        let mut installation = Self::of(dialect, &format!("{schema}{DEFINITIONS}"), graph);
        installation.arm();
        installation
    }

    /// The same with the tables of another system.
    pub(crate) fn of(dialect: Dialect, schema: &str, graph: &Graph) -> Self {
        if dialect == Dialect::Postgres {
            let database = Database::of(schema, graph);
            return Self {
                dialect,
                session: connect(&database::server().url(&database.name, "postgres")),
                control: database.control.clone(),
                name: database.name.clone(),
                address: database::server().url(PLACES[0], PLACES[1]),
                contents: TABLES
                    .map(|table| format!("SELECT '{table}', id, t::text FROM {table} AS t"))
                    .join(" UNION ALL "),
                _postgres: Some(database),
                lot: None,
            };
        }
        let made_of = format!("{schema}{graph:?}");
        let lot = pool::take(dialect, &made_of).unwrap_or_else(|| {
            let (name, control) = make(server(dialect), schema, graph);
            Lot::new(dialect, name, control, made_of)
        });
        let (name, control) = (lot.name.clone(), lot.control.clone());
        let mut installation = Self::open(server(dialect), name, control);
        installation.lot = Some(lot);
        installation
    }

    /// The same on a certain server of MySQL or MariaDB, which must outlive it.
    pub(crate) fn on(server: &Mysql, graph: &Graph) -> Self {
        Self::with(server, mysql::SCHEMA_34, graph)
    }

    /// The same with the tables of another system.
    pub(crate) fn with(server: &Mysql, schema: &str, graph: &Graph) -> Self {
        let (name, control) = make(server, schema, graph);
        Self::open(server, name, control)
    }

    fn open(server: &Mysql, name: String, control: String) -> Self {
        let mut installation = Self {
            dialect: dialect_of(server.flavour()),
            session: connect(&server.url(&name, "root")),
            control,
            name,
            contents: String::new(),
            address: server.url(PLACES[0], PLACES[1]),
            _postgres: None,
            lot: None,
        };
        let columns = installation.texts(
            "SELECT CONCAT('SELECT ''', table_name, ''', id, JSON_ARRAY(', GROUP_CONCAT(column_name), ') FROM ', table_name)
             FROM information_schema.columns WHERE table_schema = DATABASE() GROUP BY table_name",
        );
        installation.contents = columns
            .into_iter()
            .filter(|select| {
                TABLES
                    .iter()
                    .any(|table| select.contains(&format!("'{table}'")))
            })
            .collect::<Vec<_>>()
            .join(" UNION ALL ");
        // Texts are written as PostgreSQL reads them.
        installation.execute(
            "SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES,NO_BACKSLASH_ESCAPES')",
        );
        installation
    }

    /// The same, armed.
    pub(crate) fn armed(dialect: Dialect, graph: &Graph) -> Self {
        let mut installation = Self::new(dialect, graph);
        installation.arm();
        installation
    }

    /// The document that a query of one parameter answers.
    pub(crate) fn document(&mut self, sql: &str, parameter: &str) -> Value {
        let rows = self.session.query(sql, &[Some(parameter)]);
        let text = rows.expect("an answer")[0][0].clone().expect("a document");
        serde_json::from_str(&text).expect("JSON")
    }

    /// A further session of the superuser.
    pub(crate) fn connect(&self) -> Session {
        connect(&self.superuser())
    }

    /// The address of the database for the superuser.
    pub(crate) fn superuser(&self) -> String {
        let user = match self.dialect {
            Dialect::Postgres => "postgres",
            Dialect::Mysql | Dialect::Mariadb => "root",
        };
        self.url(&self.name, user)
    }

    /// A session of a user without a password, in another database.
    pub(crate) fn connect_to(&self, database: &str, user: &str) -> Session {
        connect(&self.url(database, user))
    }

    fn url(&self, database: &str, user: &str) -> String {
        self.address
            .replace(PLACES[0], database)
            .replace(PLACES[1], user)
    }

    /// Installs from another graph over what stands, as `windrow install` does.
    pub(crate) fn install(&mut self, graph: &Graph) {
        let bundle = self.bundle(graph);
        apply(&mut self.session, &bundle);
    }

    /// What is generated for it from a graph.
    pub(crate) fn bundle(&self, graph: &Graph) -> Bundle {
        let mut graph = graph.clone();
        if self.dialect != Dialect::Postgres {
            let name = self.control.strip_prefix("windrow_").expect("a prefix");
            graph.name = name.to_owned();
            graph.database = self.name.clone();
        }
        bundle(self.dialect, &graph)
    }

    /// What `windrow diff` tells beside bodies.
    pub(crate) fn deviations(&mut self, graph: &Graph) -> Vec<String> {
        let bundle = self.bundle(graph);
        let mut queries = bundle.deviations;
        // No pg_cron is here.
        if self.dialect != Dialect::Postgres {
            queries.push(bundle.schedule);
        }
        let rows = queries.iter().flat_map(|query| self.rows(query));
        rows.map(|row| row.into_iter().flatten().collect::<Vec<_>>().join("; "))
            .collect()
    }

    pub(crate) fn arm(&mut self) {
        self.execute("CALL W.arm()");
    }

    pub(crate) fn run(&mut self, options: Value) -> anyhow::Result<Value> {
        self.call("run", options)
    }

    pub(crate) fn purge(&mut self, options: Value) -> anyhow::Result<Value> {
        self.call("purge", options)
    }

    pub(crate) fn preview(&mut self, options: Value) -> anyhow::Result<Value> {
        self.call("preview", options)
    }

    pub(crate) fn set_policy(&mut self, options: Value) -> anyhow::Result<Value> {
        self.call("set_policy", options)
    }

    pub(crate) fn set_hold(&mut self, options: Value) -> anyhow::Result<Value> {
        self.call("set_hold", options)
    }

    pub(crate) fn set_setting(&mut self, name: &str, value: i64) -> anyhow::Result<Value> {
        self.call("set_setting", json!({"name": name, "value": value}))
    }

    /// Calls a routine that takes and answers one document.
    pub(crate) fn call(&mut self, routine: &str, options: Value) -> anyhow::Result<Value> {
        call(
            &mut self.session,
            self.dialect,
            &self.control,
            routine,
            &options,
        )
    }

    /// The same in a thread and a session of its own, which is given back, with what cancels it and its number.
    pub(crate) fn call_aside(&self, routine: &'static str, options: Value) -> Aside {
        let mut session = self.connect();
        let cancel = session.cancel();
        let number = session.session().expect("a session has a number");
        let (dialect, control) = (self.dialect, self.control.clone());
        let runner = thread::spawn(move || {
            let answer = call(&mut session, dialect, &control, routine, &options);
            (session, answer)
        });
        (runner, cancel, number)
    }

    /// A run that rests after its first batch while something happens, and goes on at full speed then.
    pub(crate) fn run_meanwhile(
        &mut self,
        mut options: Value,
        happens: impl FnOnce(&mut Self),
    ) -> anyhow::Result<Value> {
        self.set_setting("rate", 1)?;
        options["time_budget"] = json!("1h");
        let (runner, _, _) = self.call_aside("run", options);
        let rests =
            "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for IS NOT NULL";
        until("a run that rests", || Ok(self.number(rests) > 0))?;
        happens(self);
        self.set_setting("rate", 1_000_000)?;
        runner.join().expect("no panic").1
    }

    /// Calls a routine in a session of its own, cancels it while it sleeps in a trigger, and lets the session commit: MySQL
    /// runs no handler at KILL QUERY, and what a batch had done so far may be committed.
    pub(crate) fn kill_asleep(&mut self, round: &str, routine: &'static str, options: Value) {
        let (runner, cancel, number) = self.call_aside(routine, options);
        self.until_asleep(round, &runner, number);
        while !runner.is_finished() {
            cancel().expect("a cancel");
            thread::sleep(Duration::from_millis(20));
        }
        let (mut session, answer) = runner.join().expect("no panic");
        assert!(answer.is_err(), "{round}: it survived");
        despite_cancels(|| session.execute("COMMIT")).expect("a commit");
        drop(session);
        self.until_gone(number);
    }

    /// Waits until a call aside sleeps in a trigger.
    pub(crate) fn until_asleep<T>(&mut self, round: &str, runner: &JoinHandle<T>, session: i64) {
        until(round, || {
            assert!(!runner.is_finished(), "{round}: it ended");
            Ok(match self.dialect {
                Dialect::Postgres => self.number(&format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE pid = {session} AND wait_event = 'PgSleep'"
                )) == 1,
                Dialect::Mysql | Dialect::Mariadb => {
                    self.state_of(session).as_deref() == Some("User sleep")
                }
            })
        })
        .expect("it gets there");
    }

    /// What a session does on MySQL and MariaDB, if it is there. On MySQL the view of the same list is an error while a statement in it
    /// has a sign of four bytes.
    fn state_of(&mut self, session: i64) -> Option<String> {
        let session = Some(session.to_string());
        let mut all = self.rows("SHOW PROCESSLIST").into_iter();
        all.find(|row| row[0] == session)
            .map(|row| row[6].clone().unwrap_or_default())
    }

    /// Waits until a call aside is at an UPDATE of a row that somebody holds.
    pub(crate) fn until_locked<T>(&mut self, round: &str, runner: &JoinHandle<T>, session: i64) {
        let waits = match self.dialect {
            Dialect::Postgres => format!(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = {session} AND wait_event_type = 'Lock'"
            ),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {session} AND state IN ('Updating', 'Searching rows for update')"
            ),
        };
        until(round, || {
            assert!(!runner.is_finished(), "{round}: it ended");
            Ok(self.number(&waits) == 1)
        })
        .expect("it gets there");
    }

    /// Waits until a session has ended.
    pub(crate) fn until_gone(&mut self, session: i64) {
        until("the session is gone", || {
            Ok(match self.dialect {
                Dialect::Postgres => {
                    let there =
                        format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {session}");
                    self.number(&there) == 0
                }
                Dialect::Mysql | Dialect::Mariadb => self.state_of(session).is_none(),
            })
        })
        .expect("it ends");
    }

    /// Whether verify tells of a batch that is half done.
    pub(crate) fn is_unfinished(&mut self) -> bool {
        let verify = self.call("verify", json!({})).expect("a report");
        let checks = verify["checks"].as_array().expect("checks");
        checks.iter().any(|check| check["check"] == "unfinished")
    }

    /// Executes statements that must work; `W.` stands for the control schema.
    pub(crate) fn execute(&mut self, sql: &str) {
        let sql = self.named(sql);
        run(&mut self.session, &sql);
    }

    /// Executes a statement; `W.` stands for the control schema.
    pub(crate) fn attempt(&mut self, sql: &str) -> anyhow::Result<()> {
        let sql = self.named(sql);
        self.session.execute(&sql)
    }

    /// One number; `W.` stands for the control schema.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        let texts = match self.dialect {
            Dialect::Postgres => self.texts(&format!("SELECT ({sql})::bigint")),
            Dialect::Mysql | Dialect::Mariadb => self.texts(&format!("SELECT ({sql})")),
        };
        texts[0]
            .parse()
            .unwrap_or_else(|_| panic!("not a number: {texts:?}\n\n{sql}"))
    }

    /// The first column of all rows, in the order of the query; `W.` stands for the control schema.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        self.rows(sql)
            .into_iter()
            .map(|row| row[0].clone().expect("no NULL"))
            .collect()
    }

    /// How often the session has done something with rows or entries of indexes, as MySQL and MariaDB count it: `read`,
    /// `read_next`, `write`.
    pub(crate) fn handled(&mut self, what: &str) -> i64 {
        self.counted(&format!("Handler_{what}%"))
    }

    /// The sum of the counters of the session with such a name.
    pub(crate) fn counted(&mut self, name: &str) -> i64 {
        let counts = self.rows(&format!("SHOW SESSION STATUS LIKE '{name}'"));
        let counts = counts.iter().map(|row| row[1].as_deref());
        counts
            .map(|count| count.expect("a value").parse::<i64>().expect("a number"))
            .sum()
    }

    /// All rows; `W.` stands for the control schema.
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<db::Row> {
        let sql = self.named(sql);
        match self.session.query(&sql, &[]) {
            Ok(rows) => rows,
            Err(error) => panic!("{error:#}\n\n{sql}"),
        }
    }

    /// Brings the tables into the state of a world.
    pub(crate) fn load(&mut self, world: &World) {
        let mut script = String::new();
        for table in TABLES {
            script += &format!("DELETE FROM {table};\n");
        }
        for table in ["policy", "hold", "artifact", "setting", "run_failure"] {
            script += &format!("DELETE FROM W.{table};\n");
        }
        if world.source == Source::Definitions {
            script += "DELETE FROM project_keep;\n";
        }
        for row in &world.rows {
            script += &format!("{};\n", row.insert());
        }
        // Foreign keys, where there are any, would have an order of their own.
        let (off, on) = match self.dialect {
            Dialect::Postgres => (
                "SET session_replication_role = replica",
                "SET session_replication_role = origin",
            ),
            Dialect::Mysql | Dialect::Mariadb => {
                ("SET foreign_key_checks = 0", "SET foreign_key_checks = 1")
            }
        };
        self.execute(&format!("{off};\n{script}{on}"));
        let families = i64::try_from(world.batch_families).expect("a small number");
        self.set_setting("batch_families", families)
            .expect("a setting");
    }

    /// Every row of the tables of a world, whole, by table and id.
    pub(crate) fn contents(&mut self) -> BTreeMap<(String, i32), String> {
        let sql = self.contents.clone();
        self.rows(&sql)
            .into_iter()
            .map(|row| {
                let mut values = row.into_iter().map(Option::unwrap_or_default);
                let mut next = || values.next().expect("three columns");
                let (table, id) = (next(), next().parse().expect("an id"));
                ((table, id), next())
            })
            .collect()
    }

    /// The smallest step of the application's clock, in microseconds.
    pub(crate) fn tick(&self) -> i64 {
        tick(self.dialect)
    }

    /// Every row of a table, or of what has its columns, byte by byte, in an order of its own.
    pub(crate) fn bytes(&mut self, table: &str, from: &str) -> Vec<String> {
        let columns = self.texts(&columns_of(self.dialect, table));
        self.texts(&bytes_of(self.dialect, &columns, from))
    }

    /// `W.` stands for the control schema.
    pub(crate) fn named(&self, sql: &str) -> String {
        sql.replace("W.", &format!("{}.", self.control))
    }
}

/// The dialect of a server of MySQL or MariaDB.
pub(crate) fn dialect_of(flavour: Flavour) -> Dialect {
    match flavour {
        Flavour::Mysql => Dialect::Mysql,
        Flavour::Mariadb => Dialect::Mariadb,
    }
}

/// The tables of an application with windrow, in databases of their own; answers the names of both.
fn make(server: &Mysql, schema: &str, graph: &Graph) -> (String, String) {
    // The control schema is a database too, and its name is the spec's.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("test_{number}");
    let is_asked = explained::is_asked(dialect_of(server.flavour()), &graph.name);
    let graph = Graph {
        name: format!("t{number}"),
        database: name.clone(),
        ..graph.clone()
    };
    let control = render::control_name(&graph);
    let mut admin = connect(&server.url("mysql", "root"));
    admin
        .execute(&format!("CREATE DATABASE {name}"))
        .expect("a database is created");
    let mut session = connect(&server.url(&name, "root"));
    tables::make(&mut session, server.pid(), schema);
    let dialect = dialect_of(server.flavour());
    if is_asked {
        explained::all(dialect, &graph, |sql| {
            let plan = session.query(sql, &[]);
            plan.map(|_| ()).map_err(|error| format!("{error:#}"))
        });
    }
    apply(&mut session, &bundle(dialect, &graph));
    (name, control)
}

impl Drop for Installation {
    fn drop(&mut self) {
        match self.lot.take() {
            // What a test that failed did with it, nobody knows.
            Some(lot) if thread::panicking() => lot.drop(),
            Some(lot) => pool::leave(lot),
            None if self.dialect == Dialect::Postgres => (),
            None => pool::drop_both(&self.url("mysql", "root"), &self.name, &self.control),
        }
    }
}

/// Calls a routine of a control schema in any session.
pub(crate) fn call(
    session: &mut Session,
    dialect: Dialect,
    control: &str,
    routine: &str,
    options: &Value,
) -> anyhow::Result<Value> {
    let sql = match (dialect, routine) {
        (Dialect::Postgres, "run" | "purge" | "stamp" | "archive_drop") => {
            format!("CALL {control}.{routine}($1::pg_catalog.jsonb)")
        }
        (Dialect::Postgres, _) => {
            format!("SELECT {control}.{routine}($1::pg_catalog.jsonb)::pg_catalog.text")
        }
        (Dialect::Mysql | Dialect::Mariadb, _) => format!("CALL {control}.{routine}(?)"),
    };
    let rows = session.query(&sql, &[Some(&options.to_string())])?;
    let text = rows[0][0].as_deref().expect("a document");
    Ok(serde_json::from_str(text)?)
}

/// What lists the columns of a table.
pub(crate) fn columns_of(dialect: Dialect, table: &str) -> String {
    let schema = match dialect {
        Dialect::Postgres => "'public'",
        Dialect::Mysql | Dialect::Mariadb => "DATABASE()",
    };
    format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = {schema} AND table_name = '{table}' ORDER BY column_name"
    )
}

/// What reads these columns of every row, byte by byte.
pub(crate) fn bytes_of(dialect: Dialect, columns: &[String], from: &str) -> String {
    let values: Vec<String> = columns
        .iter()
        .map(|column| match dialect {
            Dialect::Postgres => {
                format!("coalesce(encode(convert_to(\"{column}\"::text, 'UTF8'), 'hex'), 'none')")
            }
            Dialect::Mysql | Dialect::Mariadb => {
                format!("COALESCE(HEX(CAST(`{column}` AS BINARY)), 'none')")
            }
        })
        .collect();
    let values = values.join(", ");
    format!("SELECT concat_ws(' ', {values}) FROM {from} ORDER BY 1")
}

/// The smallest step of the application's clock, in microseconds: its schema for MySQL knows whole seconds.
pub(crate) fn tick(dialect: Dialect) -> i64 {
    match dialect {
        Dialect::Postgres => 1,
        Dialect::Mysql | Dialect::Mariadb => SECOND,
    }
}

/// A zone for servers that know none: summer time from 30 March to 26 October 2025, and so on until 2037.
const BERLIN: &str = "
INSERT INTO mysql.time_zone (time_zone_id, use_leap_seconds) VALUES (1, 'N');
INSERT INTO mysql.time_zone_name (name, time_zone_id) VALUES ('Europe/Berlin', 1);
INSERT INTO mysql.time_zone_transition_type (time_zone_id, transition_type_id, `Offset`, is_dst, abbreviation)
VALUES (1, 0, 3600, 0, 'CET'), (1, 1, 7200, 1, 'CEST');
INSERT INTO mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id)
VALUES (1, 1743296400, 1), (1, 1761440400, 0), (1, 1774746000, 1), (1, 1792890000, 0), (1, 1806195600, 1),
    (1, 1824944400, 0), (1, 1837645200, 1), (1, 1856394000, 0), (1, 1869094800, 1), (1, 1887843600, 0),
    (1, 1901149200, 1), (1, 1919293200, 0), (1, 1932598800, 1), (1, 1950742800, 0), (1, 1964048400, 1),
    (1, 1982797200, 0), (1, 1995498000, 1), (1, 2014246800, 0), (1, 2026947600, 1), (1, 2045696400, 0),
    (1, 2058397200, 1), (1, 2077146000, 0), (1, 2090451600, 1), (1, 2108595600, 0), (1, 2121901200, 1),
    (1, 2140045200, 0);";

/// The rendered files of a graph.
pub(crate) fn bundle(dialect: Dialect, graph: &Graph) -> Bundle {
    let bundle = render::bundle(graph, dialect).expect("the templates render");
    defect::of_this_process(bundle, graph, dialect)
}

/// Applies every numbered file except the uninstallation, statement by statement, as `windrow install` does.
pub(crate) fn apply(session: &mut Session, bundle: &Bundle) {
    let home = home_of(session);
    for file in &bundle.files {
        if !database::is_numbered(&file.path) || file.path.contains("/90_") {
            continue;
        }
        for statement in &file.statements {
            if let Err(error) = session.execute(&statement.sql) {
                panic!("{}, {}: {error:#}", file.path, statement.what);
            }
        }
    }
    if let Some(home) = home {
        run(session, &home);
    }
}

/// What leads a session of MySQL or MariaDB back to its database: the files of the kernel use the control database.
pub(crate) fn home_of(session: &mut Session) -> Option<String> {
    // PostgreSQL does not know the function.
    let rows = session.query("SELECT DATABASE()", &[]).ok()?;
    Some(format!("USE `{}`", rows.first()?.first()?.as_ref()?))
}

fn run(session: &mut Session, sql: &str) {
    if let Err(error) = session.execute(sql) {
        panic!("{error:#}\n\n{sql}");
    }
}

/// A session at an address.
pub(crate) fn connect(url: &str) -> Session {
    let url = url.parse().expect("an address");
    db::connect_as_application(&url).expect("the server accepts us")
}

/// What verify() says is wrong; the servers of the tests come without their event scheduler. That the routines are others
/// is no news where a defect was slipped into them.
pub(crate) fn violations(verify: &Value) -> Vec<&Value> {
    let checks = verify["checks"].as_array().expect("checks");
    assert!(!checks.is_empty(), "{verify}");
    let wrong = checks.iter().filter(|check| {
        check["severity"] == "violation"
            && check["object"] != "event_scheduler"
            && (check["check"] != "routine" || !defect::is_expected())
    });
    wrong.collect()
}

/// A query of the integers from one to `last`, as `n`.
pub(crate) fn numbers(dialect: Dialect, last: i64) -> String {
    if dialect == Dialect::Postgres {
        return format!("generate_series(1, {last}) AS s(n)");
    }
    // Neither has a series without an engine or a limit on recursion.
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
        UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    let places = last.to_string().len();
    let from: Vec<String> = (0..places)
        .map(|place| format!("{digits} AS d{place}"))
        .collect();
    let sum: Vec<String> = (0..places)
        .map(|place| format!("d{place}.d * {}", 10_i64.pow(place as u32)))
        .collect();
    format!(
        "(SELECT n FROM (SELECT 1 + {} AS n FROM {}) AS a WHERE n <= {last}) AS s",
        sum.join(" + "),
        from.join(" CROSS JOIN ")
    )
}
