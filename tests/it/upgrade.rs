//! Installations of earlier versions become those of this one in place: what people and runs have written stays, and the
//! next run goes on. `tests/upgrade/<version>/<system>/` holds a spec and what `windrow generate` of that version made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use windrow::db::Row;
use windrow::demo::{Decision, SYSTEMS, System};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

use crate::agree::hide;
use crate::harness::tests;
use crate::idempotence::{apply_by_client, assert_same, catalog};
use crate::support::database;
use crate::support::effort;
use crate::support::graphs::graph_of;
use crate::support::installation::{Session, call, connect, server, violations};

tests! {
    every_server: [
        an_installation_of_an_earlier_version_is_upgraded_in_place,
    ],
}

/// An installation of an earlier version, in a database of its own.
struct Old {
    dialect: Dialect,
    system: &'static System,
    /// The folder with the spec.
    folder: PathBuf,
    graph: Graph,
    control: String,
    session: Session,
}

fn an_installation_of_an_earlier_version_is_upgraded_in_place(dialect: Dialect) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upgrade");
    let mut seen = 0;
    for version in folders(&root) {
        let specs = folders(&version).into_iter();
        let specs = specs.filter(|spec| spec.join(dialect.facts().folder).is_dir());
        // The last one has an archive.
        for spec in specs.rev().take(effort::size(1, usize::MAX)) {
            upgrade(dialect, spec);
            seen += 1;
        }
    }
    assert!(seen > 0, "no spec in {}", root.display());
}

/// The folders in a folder, in the order of their names.
fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap_or_else(|error| panic!("{}: {error}", of.display()));
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn upgrade(dialect: Dialect, folder: PathBuf) {
    let mut old = Old::new(dialect, folder);
    old.apply();
    old.use_it();
    let now = old.now();
    let documents = old.documents(&now);
    let columns = old.columns();
    let mut before = old.written(&columns);
    assert!(before.len() > 15, "{before:#?}");
    // Earlier versions had these limits of a run for each rule.
    let first = Some(old.graph.rules[0].name.clone());
    let of_runs = ["time_budget", "ledger_days"].map(|name| Some(name.to_owned()));
    if let Some(had) = before.get_mut("rule_limit") {
        had.retain(|row| row[1] == first || !of_runs.contains(&row[0]));
        // What nobody has set follows the default, which was less.
        let rests = had
            .iter_mut()
            .filter(|row| row[0] == Some("scheduled_nice".to_owned()));
        for value in rests.flatten().flatten().filter(|value| *value == "10000") {
            "15000".clone_into(value);
        }
    }

    let said = old.windrow(&["install"]);
    let mut after = old.written(&columns);
    // Limits that the earlier version did not have are new; those that it had are what they were.
    if let (Some(had), Some(has)) = (before.get("rule_limit"), after.get_mut("rule_limit")) {
        let had: BTreeSet<_> = had.iter().map(|row| &row[0]).collect();
        has.retain(|row| had.contains(&row[0]));
    }
    assert_eq!(before, after, "{said}");
    // Field by field, what callers read is what it was.
    for ((name, was), (_, is)) in documents.iter().zip(old.documents(&now)) {
        match was {
            // A metric may come with the second count.
            Value::Array(metrics) => {
                let is = is.as_array().expect("a list");
                let gone: Vec<_> = metrics.iter().filter(|it| !is.contains(it)).collect();
                assert!(gone.is_empty(), "{name}: {gone:?} are gone");
            }
            _ => assert_eq!(*was, is, "{name}: left is what it was"),
        }
    }
    old.windrow(&["diff"]);
    let verify = old.call("verify", json!({}));
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");

    // A policy that it wrote can follow the spec.
    if let Decision::Policies(..) = old.system.decision {
        let scope = format!("SELECT MIN(scope) FROM {}.policy", old.control);
        let scope = old.query(&scope)[0][0].clone();
        let policy = json!({"rule": old.first_rule(), "scope": scope, "retention": "default"});
        let policy = old.call("set_policy", policy);
        assert_eq!(policy["follows_spec"], true, "{policy}");
    }

    // It is still armed, and goes on where the last run of the earlier version ended.
    let run = old.call("run", json!({}));
    assert_eq!(run["status"], "done", "{run}");
    let deleted = run["rules"].as_array().expect("rules").iter();
    let deleted: i64 = deleted.filter_map(|rule| rule["rows"].as_i64()).sum();
    assert!(deleted > 0, "{run}");
    if old.archives() {
        let restored = old.call("archive_restore", json!({"run": 1}));
        assert!(restored["rows"].as_i64() > Some(0), "{restored}");
    }

    // Tables, constraints, routines and rights are those of a new installation.
    let upgraded = old.facts();
    let uninstall: &[&str] = match old.archives() {
        true => &["uninstall", "--yes", "--drop-archive"],
        false => &["uninstall", "--yes"],
    };
    old.windrow(uninstall);
    old.windrow(&["install"]);
    assert_same(&old.facts(), &upgraded);
    old.windrow(&["uninstall", "--yes"]);
}

impl Old {
    fn new(dialect: Dialect, folder: PathBuf) -> Self {
        let name = folder.file_name().and_then(|name| name.to_str());
        let system = SYSTEMS
            .iter()
            .find(|system| Some(system.name) == name)
            .unwrap_or_else(|| panic!("{}: no such system", folder.display()));
        let graph = graph_of(&fs::read_to_string(folder.join("spec.toml")).expect("a spec"));
        let control = render::control_name(&graph);
        let database = &graph.database;
        let mut session = connect(&match dialect {
            Dialect::Postgres => database::server().url("postgres", "postgres"),
            Dialect::Mysql | Dialect::Mariadb => server(dialect).url("", "root"),
        });
        session
            .execute(&format!("CREATE DATABASE {database}"))
            .expect("a database is created");
        let scripts = system.scripts(dialect).expect("a system of this server");
        let mut old = Self {
            dialect,
            system,
            folder,
            control,
            session,
            graph,
        };
        old.session = connect(&old.url());
        for script in [
            scripts.schema,
            &format!("SET {} = 60", scripts.size),
            scripts.history,
        ] {
            old.session.execute(script).expect("the history loads");
        }
        old
    }

    fn url(&self) -> String {
        let database = &self.graph.database;
        match self.dialect {
            Dialect::Postgres => database::server().url(database, "postgres"),
            _ => server(self.dialect).url(database, "root"),
        }
    }

    fn archives(&self) -> bool {
        self.graph.rules.iter().any(|rule| !rule.archive.is_empty())
    }

    /// Applies the files of the earlier version as a DBA does.
    fn apply(&self) {
        let _only = (self.dialect == Dialect::Postgres).then(database::exclusive);
        let folder = self.folder.join(self.dialect.facts().folder);
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| {
                let path = path.to_string_lossy();
                let file = path.rsplit('/').next().unwrap_or_default();
                file.ends_with(".sql")
                    && database::is_numbered(&format!("/{file}"))
                    && !file.starts_with("90_")
            })
            .collect();
        files.sort();
        assert!(files.len() > 8, "{files:?}");
        for file in files {
            let text = fs::read(&file).expect("a readable file");
            let (dialect, database) = (self.dialect, &self.graph.database);
            let path = file.display().to_string();
            apply_by_client(dialect, database, "SELECT 1", &path, &text);
        }
    }

    /// What people set, and a run that ends before it is through.
    fn use_it(&mut self) {
        let arm = format!("CALL {}.arm()", self.control);
        self.session.execute(&arm).expect("it is armed");
        let rule = self.first_rule();
        match self.system.decision {
            Decision::Policies(table, column, _) => {
                let scopes = format!("SELECT DISTINCT {column} FROM {table} ORDER BY 1");
                let scopes = self.session.query(&scopes, &[]).expect("scopes");
                for scope in scopes.into_iter().flatten().flatten() {
                    let policy = json!({"rule": rule, "scope": scope, "retention": "31d"});
                    self.call("set_policy", policy);
                }
            }
            Decision::Hold(rule, key) => {
                let hold =
                    json!({"rule": rule, "key": key, "reason": "audit", "even_if_absent": true});
                self.call("set_hold", hold);
            }
        }
        let hold = json!({"rule": rule, "key": "7", "reason": "audit", "even_if_absent": true});
        self.call("set_hold", hold);
        let setting = json!({"rule": rule, "name": "retries", "value": 5});
        self.call("set_setting", setting);
        let windows = json!({"windows": ["mon-sun 00:00-00:00"]});
        self.call("set_windows", windows);
        let control = &self.control;
        self.session
            .execute(&format!(
                "CALL {control}.pause('a look'); CALL {control}.resume()"
            ))
            .expect("it goes on");
        let run = self.call("run", json!({"rule": rule, "run_families": 3}));
        assert_eq!(run["reason"], "run_families reached", "{run}");
        self.call("run", json!({"rule": rule, "dry_run": true}));
    }

    /// The rule that the demo of the system is about.
    fn first_rule(&self) -> String {
        let of = |table: &str| {
            let mut rules = self.graph.rules.iter();
            rules.find(|rule| self.graph.table(rule.root).name == table)
        };
        match self.system.decision {
            Decision::Policies(table, ..) => of(table).expect("a rule").name.clone(),
            Decision::Hold(rule, _) => rule.to_owned(),
        }
    }

    /// The present instant, as options have it.
    fn now(&mut self) -> String {
        let now = self.query(match self.dialect {
            Dialect::Postgres => {
                "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%sZ')"
            }
        });
        now[0][0].clone().expect("an instant")
    }

    /// What callers read: the documents whole but for what is of one call alone, of the state of the ledger the fields.
    fn documents(&mut self, as_of: &str) -> Vec<(&'static str, Value)> {
        let mut preview = self.call("preview", json!({"as_of": as_of}));
        let mut run = self.call("run", json!({"as_of": as_of, "dry_run": true}));
        hide(&mut preview, &OF_ONE_CALL);
        hide(&mut run, &OF_ONE_CALL);
        // Fields that came later.
        if let Some(preview) = preview.as_object_mut() {
            preview.remove("not_armed");
        }
        for rule in run["rules"].as_array_mut().into_iter().flatten() {
            if let Some(rule) = rule.as_object_mut() {
                rule.remove("work_ms");
            }
        }
        let verify = self.call("verify", json!({}));
        let metrics = format!(
            "SELECT name, labels FROM {}.metrics ORDER BY 1, 2",
            self.control
        );
        let metrics = self.query(&metrics);
        let status = self.windrow(&["status", "--output", "json"]);
        let status = serde_json::from_str(&status).expect("a document");
        vec![
            ("preview", preview),
            ("run", run),
            ("verify", fields(&verify)),
            ("metrics", json!(metrics)),
            ("status", fields(&status)),
        ]
    }

    /// The tables of the control schema with their columns, as a query reads them.
    fn columns(&mut self) -> BTreeMap<String, Vec<String>> {
        let columns = self.query(&format!(
            "SELECT c.table_name, c.column_name FROM information_schema.columns AS c
             JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
             WHERE c.table_schema = '{}' AND t.table_type = 'BASE TABLE'
             ORDER BY c.table_name, c.column_name",
            self.control
        ));
        let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in columns {
            let mut cells = row.into_iter().map(|cell| cell.expect("a name"));
            let (table, column) = (cells.next(), cells.next());
            let column = self.dialect.ident(&column.expect("a column"));
            let columns = tables.entry(table.expect("a table")).or_default();
            columns.push(match self.dialect {
                Dialect::Postgres => format!("{column}::text"),
                Dialect::Mysql | Dialect::Mariadb => column,
            });
        }
        // What an installation itself records of the catalog, of the spec and of its version is no matter at the next: each writes it
        // anew, and `diff` compares it. The limits in the document of a rule are in a table of their own.
        if let Some(columns) = tables.get_mut("rule") {
            columns.retain(|column| !column.contains("document"));
        }
        tables.retain(|table, _| {
            !["catalog_state", "installed_version", "spec"].contains(&table.as_str())
                && !table.starts_with("known_")
        });
        tables
    }

    /// The rows of these tables.
    fn written(&mut self, tables: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<Row>> {
        let mut written = BTreeMap::new();
        for (table, columns) in tables {
            let columns = columns.join(", ");
            let mut rows = self.query(&format!("SELECT {columns} FROM {}.{table}", self.control));
            rows.sort();
            written.insert(table.clone(), rows);
        }
        written
    }

    /// What stands in the catalog. On MySQL and MariaDB the comments of tables stay what they were, and so do the names of
    /// constraints and the order in which one lists values.
    fn facts(&mut self) -> Vec<String> {
        let facts = catalog::facts(&mut self.session, self.dialect, &self.graph.name, true);
        if self.dialect == Dialect::Postgres {
            return facts;
        }
        let mut facts: Vec<String> = facts
            .into_iter()
            .map(|fact| match fact.split(' ').next() {
                Some("table") => fact.split(' ').take(7).collect::<Vec<_>>().join(" "),
                Some("check" | "constraint") => {
                    let sign = |c: char| !c.is_alphanumeric() && c != '_';
                    let words = fact.split(sign).filter(|word| !word.contains("_chk_"));
                    let mut words: Vec<&str> = words.collect();
                    words.sort_unstable();
                    words.join(" ")
                }
                _ => fact,
            })
            .collect();
        facts.sort();
        facts
    }

    fn query(&mut self, sql: &str) -> Vec<Row> {
        self.session
            .query(sql, &[])
            .unwrap_or_else(|error| panic!("{error:#}\n\n{sql}"))
    }

    fn call(&mut self, routine: &str, options: Value) -> Value {
        call(
            &mut self.session,
            self.dialect,
            &self.control,
            routine,
            &options,
        )
        .unwrap_or_else(|error| panic!("{routine}: {error:#}"))
    }

    /// A command of this version that must work.
    fn windrow(&self, words: &[&str]) -> String {
        let _only = (self.dialect == Dialect::Postgres).then(database::exclusive);
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg(words[0])
            .arg(self.folder.join("spec.toml"))
            .args(&words[1..])
            .args(["--url", &self.url()])
            .output()
            .expect("windrow runs");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{words:?}: {said}");
        said
    }
}

/// What differs from call to call.
const OF_ONE_CALL: [&str; 6] = [
    "run",
    "started_at",
    "finished_at",
    "duration_ms",
    "durationMillis",
    "estimated_seconds",
];

/// The names of all fields of a document, at any depth; of a list, those of its items together.
fn fields(document: &Value) -> Value {
    match document {
        Value::Object(object) => {
            let fields = object
                .iter()
                .map(|(name, value)| (name.clone(), fields(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let mut all = serde_json::Map::new();
            for item in items {
                if let Value::Object(item) = fields(item) {
                    all.extend(item);
                }
            }
            Value::Object(all)
        }
        _ => Value::Null,
    }
}

impl Drop for Old {
    fn drop(&mut self) {
        let database = &self.graph.database;
        let (control, address) = match self.dialect {
            Dialect::Postgres => (
                String::new(),
                database::server().url("postgres", "postgres"),
            ),
            _ => (
                format!("DROP DATABASE IF EXISTS {};", self.control),
                server(self.dialect).url("", "root"),
            ),
        };
        let force = match self.dialect {
            Dialect::Postgres => " WITH (FORCE)",
            _ => "",
        };
        // What cannot be dropped is gone with the server.
        let _ = connect(&address).execute(&format!(
            "{control} DROP DATABASE IF EXISTS {database}{force}"
        ));
    }
}
