//! Two versions of a spec, a database for them, and the command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use windrow::dialect::Dialect;

use crate::support::installation::{Session, connect};

/// What quotes, client variables, parameters of drivers and templates begin with.
pub(crate) const STATE: &str = r##"it's 100% :done %s \ ${x} #{y} {{ z }} """q"""##;

/// Of what the first version has, the next one lacks a rule, with its routines and its index; it has another rule, and an index
/// with another condition.
pub(crate) fn spec(version: u32, name: &str, dialect: Dialect) -> String {
    let (table, other, rest) = match version {
        1 => (
            "line",
            "",
            "[rules.lines]\nstrategy = \"age\"\nroot = \"line\"\ntime = \"written\"\nretention = { default = \"40d\" }\n",
        ),
        _ => (
            "mark",
            ", \"lost\"",
            "[rules.marks]\nstrategy = \"expiry\"\nroot = \"mark\"\ntime = \"expires\"\n",
        ),
    };
    let place = match dialect {
        Dialect::Postgres => String::new(),
        Dialect::Mysql | Dialect::Mariadb => format!("database = \"{name}_app\""),
    };
    format!(
        r#"
name = "{name}"
{place}
dialects = ["{}"]

[tables]
job  = {{ key = "id bigint" }}
part = {{ parents = ["job_id -> job.id"] }}
{table} = {{ key = "id bigint" }}

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = {{ state = [{STATE:?}{other}] }}
end_time  = "ended"
retention = {{ default = "30d" }}

{rest}"#,
        dialect.facts().folder
    )
}

/// The tables, and rows that are due.
pub(crate) fn schema(dialect: Dialect) -> String {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let state = dialect.text(STATE);
    // On MySQL and MariaDB a default that only a lenient session can give.
    let (lenient, zero, again) = match dialect {
        Dialect::Postgres => ("", "", ""),
        Dialect::Mysql | Dialect::Mariadb => (
            "SET SESSION sql_mode = '';\n",
            ", seen timestamp NOT NULL DEFAULT '0000-00-00 00:00:00'",
            "SET SESSION sql_mode = DEFAULT;\n",
        ),
    };
    format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(80), ended {time});
         CREATE TABLE part (id bigint PRIMARY KEY, job_id bigint NOT NULL);
         {lenient}CREATE TABLE line (id bigint PRIMARY KEY, written {time}{zero});
         {again}CREATE TABLE mark (id bigint PRIMARY KEY, expires {time});
         INSERT INTO job VALUES (1, {state}, '2025-01-01'), (2, {state}, '2025-01-02'), (3, {state}, '2025-01-03'), (4, 'on', NULL);
         INSERT INTO part VALUES (1, 1), (2, 1), (3, 2), (4, 3), (5, 4);
         INSERT INTO line (id, written) VALUES (1, '2025-01-01');
         INSERT INTO mark VALUES (1, '2025-01-01');"
    )
}

/// A database, a folder with the spec, and one for the migrations.
pub(crate) struct Stage {
    pub(crate) dialect: Dialect,
    pub(crate) name: String,
    /// The address of the database.
    pub(crate) url: String,
    pub(crate) session: Session,
    pub(crate) folder: TempDir,
}

impl Stage {
    /// A database that is made with a session of the superuser, at an address with `DATABASE` in it.
    pub(crate) fn new(dialect: Dialect, name: &str, address: &str) -> Self {
        let database = format!("{name}_app");
        let admin = match dialect {
            Dialect::Postgres => "postgres",
            Dialect::Mysql | Dialect::Mariadb => "mysql",
        };
        let mut admin = connect(&address.replace("DATABASE", admin));
        admin
            .execute(&format!("CREATE DATABASE {database}"))
            .expect("a database is made");
        let url = address.replace("DATABASE", &database);
        let mut session = connect(&url);
        for statement in schema(dialect)
            .split(";\n")
            .filter(|it| !it.trim().is_empty())
        {
            session
                .execute(statement.trim().trim_end_matches(';'))
                .expect("the tables are made");
        }
        let stage = Self {
            dialect,
            name: name.to_owned(),
            url,
            session,
            folder: tempfile::tempdir().expect("a scratch folder"),
        };
        stage.edit(1);
        stage
    }

    /// The spec.
    pub(crate) fn spec(&self) -> PathBuf {
        self.folder.path().join("spec.toml")
    }

    /// The folder of the migrations. Its parent is named like an application of Django.
    pub(crate) fn migrations(&self) -> PathBuf {
        self.folder.path().join("app/migrations")
    }

    /// Makes the spec that of a version.
    pub(crate) fn edit(&self, version: u32) {
        let text = spec(version, &self.name, self.dialect);
        fs::write(self.spec(), text).expect("a spec is written");
    }

    /// A command of windrow.
    pub(crate) fn windrow(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(words)
            .env("WINDROW_URL", &self.url)
            .env("WINDROW_SPEC", self.spec())
            .output()
            .expect("windrow starts")
    }

    /// The same, where it must be content.
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let output = self.windrow(words);
        let said = said(&output);
        assert!(output.status.success(), "{words:?}: {said}");
        said
    }

    /// Writes the next version, or none.
    pub(crate) fn generate(&self, runner: &str) -> String {
        let out = self.migrations().display().to_string();
        self.done(&["generate", "--for", runner, "--out", &out])
    }

    /// What is installed is what the spec says.
    pub(crate) fn is_as_generated(&self, round: &str) {
        let output = self.windrow(&["diff"]);
        let said = said(&output);
        assert!(
            output.status.success() && said.contains("as generated"),
            "{round}: {said}"
        );
    }

    /// A job goes with its parts, and no other.
    pub(crate) fn purge(&mut self, key: &str) {
        self.done(&["arm"]);
        self.done(&["purge", "--rule", "jobs", "--key", key]);
        for (table, column) in [("job", "id"), ("part", "job_id")] {
            assert_eq!(self.count(&format!("{table} WHERE {column} = {key}")), 0);
            assert!(self.count(&format!("{table} WHERE {column} = 4")) > 0);
        }
    }

    /// How many rows there are.
    pub(crate) fn count(&mut self, from: &str) -> i64 {
        let rows = self
            .session
            .query(
                &format!("SELECT CAST(COUNT(*) AS CHAR(20)) FROM {from}"),
                &[],
            )
            .expect("a count");
        let count = rows[0][0].clone().expect("a count");
        count.trim().parse().expect("a number")
    }

    /// Whether the control schema is there.
    pub(crate) fn is_installed(&mut self) -> bool {
        let control = format!("windrow_{}", self.name);
        self.count(&format!(
            "information_schema.schemata WHERE schema_name = '{control}'"
        )) > 0
    }

    /// How many indexes are windrow's.
    pub(crate) fn indexes(&mut self) -> i64 {
        match self.dialect {
            Dialect::Postgres => self.count("pg_indexes WHERE indexname LIKE 'windrow%'"),
            Dialect::Mysql | Dialect::Mariadb => self.count(&format!(
                "(SELECT DISTINCT table_name, index_name FROM information_schema.statistics
                  WHERE table_schema = '{}_app' AND index_name LIKE 'windrow%') AS i",
                self.name
            )),
        }
    }

    /// The files of the migrations with their texts.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        read(&self.migrations(), Path::new(""), &mut files);
        files
    }

    /// The files of a version, as the folder remembers them, in the order of their names.
    pub(crate) fn files_of(&self, version: usize) -> Vec<String> {
        let path = self
            .migrations()
            .join(format!("windrow.{}.lock", self.name));
        let text = fs::read_to_string(path).expect("the folder remembers");
        let memory: Value = serde_json::from_str(&text).expect("JSON");
        let files = memory["versions"][version - 1]["files"]
            .as_object()
            .expect("files");
        files.keys().cloned().collect()
    }
}

/// All that a command said.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn read(folder: &Path, below: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder.join(below)).into_iter().flatten() {
        let entry = entry.expect("an entry");
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            read(folder, &path, files);
        } else {
            let text = fs::read_to_string(entry.path()).expect("a text");
            files.insert(path.display().to_string(), text);
        }
    }
}
