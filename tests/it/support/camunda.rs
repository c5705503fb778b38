//! Databases with the tables of Camunda 7 and windrow, on each of the servers.

use std::process::Command;

use crate::support::systems::camunda7::{self, mysql};
use crate::support::systems::dolphinscheduler as settings;
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::graphs::graph_of;
use super::installation::{Aside, Installation, Session};

/// The graph of `specs/camunda7.toml`.
pub(crate) fn graph() -> Graph {
    load("camunda7")
}

/// The same where every row goes by its own time.
pub(crate) fn graph_by_window() -> Graph {
    let time = "time       = \"removal_time_\"\n";
    let text = text("camunda7");
    assert!(text.contains(time), "{text}");
    graph_of(&text.replace(time, &format!("{time}unit = \"window\"\n")))
}

/// The spec, by which families go as such.
pub(crate) fn text_by_family() -> String {
    text("camunda7")
}

/// The graph of one of the specs.
pub(crate) fn load(spec: &str) -> Graph {
    graph_of(&text(spec))
}

fn text(spec: &str) -> String {
    let path = format!("{}/specs/{spec}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a readable spec")
}

/// A database of its own, with windrow installed and armed; dropped with this value.
pub(crate) struct Camunda {
    pub(crate) windrow: Installation,
}

impl Camunda {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self::of(dialect, &graph())
    }

    /// The same with windrow from another graph.
    pub(crate) fn of(dialect: Dialect, graph: &Graph) -> Self {
        let schema = match dialect {
            Dialect::Postgres => camunda7::SCHEMA_724,
            Dialect::Mysql | Dialect::Mariadb => mysql::SCHEMA_724,
        };
        let mut windrow = Installation::of(dialect, schema, graph);
        windrow.arm();
        Self { windrow }
    }

    /// What `windrow check --database` says of a spec.
    pub(crate) fn check(&self, text: &str) -> String {
        let name = &self.windrow.name;
        let path = std::env::temp_dir().join(format!("windrow-{name}.toml"));
        let text = text.replace("\"camunda7\"", &format!("\"{name}\""));
        std::fs::write(&path, text).expect("a spec is written");
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg("check")
            .arg(&path)
            .args(["--output", "json", "--database"])
            .arg(self.windrow.superuser())
            .output()
            .expect("windrow runs");
        std::fs::remove_file(&path).expect("a spec is removed");
        let mut said: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let findings = said["findings"].as_array_mut().expect("findings");
        // Events do not run at all on these servers.
        // Indexes of its own that serve are none to worry about.
        let known = ["event-scheduler", "index-serves"];
        findings.retain(|finding| !known.iter().any(|code| finding["code"] == *code));
        said.to_string()
    }

    /// Loads a realistic history of so many families, as it is at an instant in UTC, into empty tables.
    pub(crate) fn remember(&mut self, families: u32, now: &str) {
        let dialect = self.windrow.dialect;
        // In a session of its own: the scripts set what they need.
        let mut session = self.connect();
        let (sizes, history) = match dialect {
            Dialect::Postgres => (
                format!(
                    "SET {} = {families}; SET {} = '{now}'",
                    settings::FAMILIES_SETTING,
                    settings::NOW_SETTING
                ),
                camunda7::HISTORY_724,
            ),
            Dialect::Mysql | Dialect::Mariadb => (
                format!(
                    "SET {} = {families}, {} = '{now}'",
                    settings::mysql::FAMILIES_VARIABLE,
                    settings::mysql::NOW_VARIABLE
                ),
                mysql::HISTORY_724,
            ),
        };
        session.execute(&sizes).expect("settings");
        session.execute(history).expect("the history loads");
        let tables = self.tables();
        match dialect {
            Dialect::Postgres => self.execute("ANALYZE"),
            Dialect::Mysql | Dialect::Mariadb => {
                self.windrow
                    .rows(&format!("ANALYZE TABLE {}", tables.join(", ")));
            }
        }
    }

    /// What is written in one way for PostgreSQL and in another for MySQL and MariaDB.
    pub(crate) fn either<T>(&self, postgres: T, mysql: T) -> T {
        match self.windrow.dialect {
            Dialect::Postgres => postgres,
            Dialect::Mysql | Dialect::Mariadb => mysql,
        }
    }

    /// Every table of the application.
    pub(crate) fn tables(&mut self) -> Vec<String> {
        let home = self.either("current_schema()", "DATABASE()");
        self.windrow.texts(&format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = {home} ORDER BY 1"
        ))
    }

    pub(crate) fn connect(&self) -> Session {
        self.windrow.connect()
    }

    /// A call in a thread and a session of its own, which is given back.
    pub(crate) fn call_aside(&self, routine: &'static str, options: Value) -> Aside {
        self.windrow.call_aside(routine, options)
    }

    pub(crate) fn run(&mut self, options: Value) -> Value {
        self.call("run", options)
    }

    pub(crate) fn purge(&mut self, options: Value) -> Value {
        self.call("purge", options)
    }

    /// Calls a routine that takes and answers one document.
    pub(crate) fn call(&mut self, routine: &str, options: Value) -> Value {
        self.attempt(routine, options)
            .unwrap_or_else(|error| panic!("{routine}: {error:#}"))
    }

    pub(crate) fn attempt(&mut self, routine: &str, options: Value) -> anyhow::Result<Value> {
        self.windrow.call(routine, options)
    }

    pub(crate) fn set_setting(&mut self, name: &str, value: i64) {
        self.call(
            "set_setting",
            json!({"rule": "history", "name": name, "value": value}),
        );
    }

    /// Executes statements that must work; `W.` stands for the control schema, and tables are in lower case.
    pub(crate) fn execute(&mut self, sql: &str) {
        let sql = self.named(sql);
        self.windrow.execute(&sql);
    }

    /// The first column of all rows; see `execute`.
    pub(crate) fn texts(&mut self, sql: &str) -> Vec<String> {
        let sql = self.named(sql);
        self.windrow.texts(&sql)
    }

    /// One number; see `execute`.
    pub(crate) fn number(&mut self, sql: &str) -> i64 {
        let sql = self.named(sql);
        self.windrow.number(&sql)
    }

    /// A text with the names of tables as this server has them: what begins with `act_`.
    pub(crate) fn named(&self, text: &str) -> String {
        if self.windrow.dialect == Dialect::Postgres {
            return text.to_owned();
        }
        let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        text.split_inclusive(|sign| !is_part(sign))
            .map(|word| {
                if word.starts_with("act_") {
                    word.to_ascii_uppercase()
                } else {
                    word.to_owned()
                }
            })
            .collect()
    }

    /// Rows of families, decisions and byte arrays whose parent has gone.
    pub(crate) fn torn(&mut self) -> Vec<String> {
        let sql = self.either("SELECT edge, orphans FROM W.orphans()", "CALL W.orphans()");
        let rows = self.windrow.rows(sql);
        rows.into_iter()
            .map(|row| {
                let mut values = row.into_iter().map(Option::unwrap_or_default);
                (
                    values.next().unwrap_or_default(),
                    values.next().unwrap_or_default(),
                )
            })
            .filter(|(edge, orphans)| {
                let edge = edge.to_lowercase();
                let counts = ["root_proc_inst_id_", "dec_inst_id_", "bytearray_id_"];
                counts.iter().any(|column| edge.ends_with(column)) && orphans != "0"
            })
            .map(|(edge, orphans)| format!("{edge}: {orphans}"))
            .collect()
    }
}
