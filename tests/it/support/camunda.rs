//! Databases with the tables of Camunda 7 and windrow, on the server of `support::database`.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::demo::camunda7::SCHEMA_724;
use windrow::graph::Graph;
use windrow::lint;

use super::database::{self, bundle, call, is_numbered, message};

/// The control schema.
pub(crate) const W: &str = "windrow_camunda7";

static TEMPLATE: Mutex<bool> = Mutex::new(false);
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The graph of `specs/camunda7.toml`.
pub(crate) fn graph() -> Graph {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/camunda7.toml");
    let text = std::fs::read_to_string(path).expect("a readable spec");
    lint::load(&text).0.expect("a good spec")
}

/// A database of its own, with windrow installed and armed; dropped with this value.
pub(crate) struct Camunda {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Camunda {
    pub(crate) fn new() -> Self {
        let _only = database::exclusive();
        let mut made = TEMPLATE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut admin = connect("postgres");
        if !*made {
            run(&mut admin, "CREATE DATABASE template_camunda");
            let mut client = connect("template_camunda");
            run(&mut client, SCHEMA_724);
            for file in &bundle(&graph()).files {
                if is_numbered(&file.path) && !file.path.contains("/90_") {
                    for statement in &file.statements {
                        run(&mut client, &statement.sql);
                    }
                }
            }
            *made = true;
        }
        let name = format!("camunda_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name} TEMPLATE template_camunda");
        // The session that filled the template may take a moment to end.
        let mut attempts = 0;
        while let Err(error) = admin.batch_execute(&create) {
            attempts += 1;
            assert!(attempts < 100, "{error:?}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let mut camunda = Self {
            client: connect(&name),
            name,
        };
        camunda.execute("CALL W.arm()");
        camunda
    }

    pub(crate) fn connect(&self) -> Client {
        connect(&self.name)
    }

    pub(crate) fn run(&mut self, options: Value) -> Value {
        call(&mut self.client, W, "run", options)
            .unwrap_or_else(|error| panic!("{}", message(&error)))
    }

    pub(crate) fn purge(&mut self, options: Value) -> Value {
        call(&mut self.client, W, "purge", options)
            .unwrap_or_else(|error| panic!("{}", message(&error)))
    }

    /// Calls a function that takes and answers one document.
    pub(crate) fn select(&mut self, function: &str, options: Value) -> Value {
        self.attempt(function, options)
            .unwrap_or_else(|error| panic!("{}", message(&error)))
    }

    pub(crate) fn attempt(
        &mut self,
        function: &str,
        options: Value,
    ) -> Result<Value, postgres::Error> {
        let sql = format!("SELECT {W}.{function}($1)");
        Ok(self.client.query_one(&sql, &[&options])?.get(0))
    }

    pub(crate) fn set_setting(&mut self, name: &str, value: i64) {
        self.select(
            "set_setting",
            json!({"rule": "history", "name": name, "value": value}),
        );
    }

    /// Executes statements that must work; `W.` stands for the control schema.
    pub(crate) fn execute(&mut self, sql: &str) {
        run(&mut self.client, &sql.replace("W.", &format!("{W}.")));
    }

    /// The first column of all rows; `W.` stands for the control schema.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        let sql = sql.replace("W.", &format!("{W}."));
        match self.client.query(&sql, &[]) {
            Ok(rows) => rows.iter().map(|row| row.get(0)).collect(),
            Err(error) => panic!("{}\n\n{sql}", message(&error)),
        }
    }

    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        let texts = self.texts(&format!("SELECT ({sql})::text"));
        texts[0].parse().expect("a number")
    }
}

impl Drop for Camunda {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        if let Ok(mut admin) =
            Client::connect(&database::server().url("postgres", "postgres"), NoTls)
        {
            let _ = admin.batch_execute(&sql);
        }
    }
}

fn connect(database: &str) -> Client {
    Client::connect(&database::server().url(database, "postgres"), NoTls)
        .expect("the server accepts us")
}

fn run(client: &mut Client, sql: &str) {
    if let Err(error) = client.batch_execute(sql) {
        panic!("{}\n\n{}", message(&error), &sql[..sql.len().min(2_000)]);
    }
}
