//! Databases for tests: one throw-away server per test process, one database per test.
//!
//! The server is never stopped by the tests: statics are not dropped. Its watchdog ends it with the process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::support::systems::dolphinscheduler::SCHEMA_34;
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;
use windrow::sandbox::{Postgres, Settings};

use super::{defect, explained};

static SERVER: LazyLock<Postgres> = LazyLock::new(|| {
    // Many small databases on few cores: what the server does in each of them by itself is none of a test's business.
    let extra = [
        ("autovacuum", "off"),
        ("jit", "off"),
        ("max_parallel_workers_per_gather", "0"),
        // What some database may have, and nothing of windrow may mind: every test shows that.
        ("plpgsql.extra_errors", "all"),
        ("IntervalStyle", "sql_standard"),
        ("bytea_output", "escape"),
        ("transform_null_equals", "on"),
        ("array_nulls", "off"),
        ("quote_all_identifiers", "on"),
    ];
    let settings = Settings {
        extra: extra
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..Settings::default()
    };
    Postgres::start(&settings).expect("a throw-away server starts")
});

/// Databases to copy, by what was done in them. Roles belong to the whole server, and a database that is copied must
/// have no sessions: who holds this lock is the only one to create databases, install and uninstall.
static TEMPLATES: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// A database is copied file by file: row by row through the log takes twice as long, where nothing is synced.
const COPIED: &str = " STRATEGY file_copy";

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The server of this test process.
pub(crate) fn server() -> &'static Postgres {
    &SERVER
}

/// A database of its own, dropped with this value.
pub(crate) struct Database {
    /// A session of the superuser.
    pub(crate) client: Client,
    /// Name of the database.
    pub(crate) name: String,
    /// Name of the control schema, once windrow is installed.
    pub(crate) control: String,
}

impl Database {
    /// The tables of DolphinScheduler 3.4, without rows of instances and without windrow.
    pub(crate) fn bare() -> Self {
        Self::copy_of("bare", SCHEMA_34, |_| ())
    }

    /// The tables of a system, and windrow installed from its graph, not armed.
    pub(crate) fn of(schema: &str, graph: &Graph) -> Self {
        let mut database = Self::copy_of(&format!("{schema}{graph:?}"), schema, |client| {
            if explained::is_asked(Dialect::Postgres, &graph.name) {
                explained::all(Dialect::Postgres, graph, |sql| {
                    let plan = client.batch_execute(sql);
                    plan.map_err(|error| format!("{error:?}"))
                });
            }
            apply(client, &bundle(graph));
        });
        database.control = render::control_name(graph);
        database
    }

    fn copy_of(template: &str, schema: &str, fill: impl FnOnce(&mut Client)) -> Self {
        let mut templates = lock();
        let mut admin = connect("postgres");
        if !templates.contains_key(template) {
            let name = new_name("template");
            admin
                .batch_execute(&format!("CREATE DATABASE {name}{COPIED}"))
                .expect("a database is created");
            let mut client = connect(&name);
            client.batch_execute(schema).expect("the schema loads");
            fill(&mut client);
            templates.insert(template.to_owned(), name);
        }
        let name = new_name("test");
        // The session that filled the template may take a moment to end.
        let create = format!(
            "CREATE DATABASE {name} TEMPLATE {}{COPIED}",
            templates[template]
        );
        let mut attempts = 0;
        while let Err(error) = admin.batch_execute(&create) {
            attempts += 1;
            assert!(attempts < 100, "{error:?}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Self {
            client: connect(&name),
            name,
            control: String::new(),
        }
    }

    pub(crate) fn arm(&mut self) {
        let sql = format!("CALL {}.arm()", self.control);
        self.client.batch_execute(&sql).expect("arm() works");
    }

    /// `CALL run`, in this database's session.
    pub(crate) fn run(&mut self, options: Value) -> Result<Value, postgres::Error> {
        call(&mut self.client, &self.control, "run", options)
    }

    pub(crate) fn verify(&mut self) -> Result<Value, postgres::Error> {
        self.select("verify", json!({}))
    }

    pub(crate) fn set_policy(&mut self, options: Value) -> Result<Value, postgres::Error> {
        self.select("set_policy", options)
    }

    pub(crate) fn set_hold(&mut self, options: Value) -> Result<Value, postgres::Error> {
        self.select("set_hold", options)
    }

    pub(crate) fn set_setting(&mut self, name: &str, value: i64) -> Result<Value, postgres::Error> {
        self.select("set_setting", json!({"name": name, "value": value}))
    }

    /// Calls a function of the control schema that takes and answers one document.
    pub(crate) fn select(
        &mut self,
        function: &str,
        options: Value,
    ) -> Result<Value, postgres::Error> {
        let sql = format!("SELECT {}.{function}($1)", self.control);
        Ok(self.client.query_one(&sql, &[&options])?.get(0))
    }

    /// Executes statements that must work; `W.` stands for the control schema.
    pub(crate) fn execute(&mut self, sql: &str) {
        let sql = sql.replace("W.", &format!("{}.", self.control));
        self.client
            .batch_execute(&sql)
            .unwrap_or_else(|error| panic!("{}\n\n{sql}", message(&error)));
    }

    /// The first column of all rows as texts, in the order of the query; `W.` stands for the control schema.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        let sql = sql.replace("W.", &format!("{}.", self.control));
        match self.client.query(&sql, &[]) {
            Ok(rows) => rows.iter().map(|row| row.get(0)).collect(),
            Err(error) => panic!("{}\n\n{sql}", message(&error)),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // A server that a test has killed takes its databases along.
        if let Ok(mut admin) = Client::connect(&server().url("postgres", "postgres"), NoTls) {
            let _ = admin.batch_execute(&sql);
        }
    }
}

/// `CALL run` or `CALL purge` in any session.
pub(crate) fn call(
    client: &mut Client,
    control: &str,
    procedure: &str,
    options: Value,
) -> Result<Value, postgres::Error> {
    let sql = format!("CALL {control}.{procedure}($1)");
    Ok(client.query_one(&sql, &[&options])?.get(0))
}

/// SQLSTATE and message of an error that the server answered.
pub(crate) fn message(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{}: {}", error.code().code(), error.message()),
        None => error.to_string(),
    }
}

/// The rendered files of a graph.
pub(crate) fn bundle(graph: &Graph) -> Bundle {
    let bundle = render::bundle(graph, Dialect::Postgres).expect("the templates render");
    defect::of_this_process(bundle, graph, Dialect::Postgres)
}

/// Keeps others from installing meanwhile: for tests that do so by themselves.
pub(crate) fn exclusive() -> impl Drop {
    lock()
}

fn lock() -> MutexGuard<'static, HashMap<String, String>> {
    // A test that failed while it held the lock has left nothing half done that others depend on.
    TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect(database: &str) -> Client {
    Client::connect(&server().url(database, "postgres"), NoTls).expect("the server accepts us")
}

fn new_name(prefix: &str) -> String {
    format!("{prefix}_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn apply(client: &mut Client, bundle: &Bundle) {
    for file in &bundle.files {
        if is_numbered(&file.path) && !file.path.contains("/90_") {
            apply_file(client, file);
        }
    }
}

/// Whether a file is part of an installation or uninstallation, not only to be read.
pub(crate) fn is_numbered(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_digit()))
}

/// One statement after the other, as `windrow install` does.
fn apply_file(client: &mut Client, file: &windrow::bundle::File) {
    for statement in &file.statements {
        client
            .batch_execute(&statement.sql)
            .unwrap_or_else(|error| {
                panic!("{}, {}: {}", file.path, statement.what, message(&error))
            });
    }
}
