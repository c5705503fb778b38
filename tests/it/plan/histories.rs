//! What `windrow plan` and `status` say of the shipped histories, beside what the runs then do.

use std::process::{Command, Output};

use serde_json::{Value, json};
use windrow::db;
use windrow::demo::{Decision, SYSTEMS, System};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use super::{figures, rule};
use crate::harness::tests;
use crate::support::effort::one_of;

tests! {
    every_server: [
        what_is_foretold_of_each_system_is_right_within_a_fifth,
    ],
}

/// How many families the histories have.
const FAMILIES: usize = 400;

/// How many rows a table of them has that no statement may read from end to end.
const BIG: &str = "2000";

/// A server with the history of a system, and the system's spec.
struct Stage {
    spec: String,
    url: String,
    _postgres: Option<Postgres>,
    _mysql: Option<Mysql>,
}

impl Stage {
    fn new(system: &System, dialect: Dialect) -> Stage {
        let scripts = system.scripts(dialect).expect("scripts");
        let (mut postgres, mut mysql) = (None, None);
        let url = match dialect {
            Dialect::Postgres => {
                let server = Postgres::start(&sandbox::Settings::default()).expect("a server");
                let url = server.url("postgres", "postgres");
                postgres = Some(server);
                url
            }
            Dialect::Mysql | Dialect::Mariadb => {
                let flavour = match dialect {
                    Dialect::Mysql => Flavour::Mysql,
                    _ => Flavour::Mariadb,
                };
                let server =
                    Mysql::start(&sandbox::mysql::Settings::new(flavour)).expect("a server");
                let address = server.url("", "root").parse().expect("a sound address");
                let mut session =
                    db::connect_as_application(&address).expect("the server accepts us");
                let create = format!("CREATE DATABASE {}", system.database);
                session.execute(&create).expect("a database");
                let url = server.url(system.database, "root");
                mysql = Some(server);
                url
            }
        };
        let mut session =
            db::connect_as_application(&url.parse().expect("an address")).expect("a session");
        let size = format!("SET {} = {FAMILIES}", scripts.size);
        for sql in [scripts.schema, &size, scripts.history] {
            session.execute(sql).expect("the history loads");
        }
        let statistics = match dialect {
            Dialect::Postgres => "VACUUM ANALYZE".to_owned(),
            Dialect::Mysql | Dialect::Mariadb => {
                let tables = "SELECT CONCAT('`', table_name, '`') FROM information_schema.tables WHERE table_schema = DATABASE()";
                let tables = session.query(tables, &[]).expect("tables");
                let names = tables.iter().map(|row| row[0].clone().expect("a name"));
                format!("ANALYZE TABLE {}", names.collect::<Vec<_>>().join(", "))
            }
        };
        session.query(&statistics, &[]).expect("statistics");
        // No run of a schedule comes between.
        let lines = system.spec.lines();
        let lines: Vec<&str> = lines
            .filter(|line| !line.starts_with("schedule ") && !line.starts_with("windows "))
            .collect();
        let spec = format!(
            "{}/{}-{}.toml",
            env!("CARGO_TARGET_TMPDIR"),
            system.name,
            dialect.facts().folder
        );
        std::fs::write(&spec, lines.join("\n")).expect("a spec is written");
        let stage = Stage {
            spec,
            url,
            _postgres: postgres,
            _mysql: mysql,
        };
        stage.plans_read_no_table_whole();
        stage.windrow("install");
        if let Decision::Policies(table, column, _) = system.decision {
            let text = match dialect {
                Dialect::Postgres => "text",
                _ => "char",
            };
            let scopes = format!("SELECT DISTINCT CAST({column} AS {text}) FROM {table}");
            let scopes = session.query(&scopes, &[]).expect("scopes");
            let named = stage.windrow("policy list --output json");
            assert!(named.contains('['), "{named}");
            for scope in scopes {
                let scope = scope[0].clone().expect("a scope");
                let rule = with_policies(system);
                stage.windrow(&format!(
                    "policy set {rule} --scope {scope} --retention 30d"
                ));
            }
        }
        stage
    }

    /// Each statement of a rule finds its rows by an index, as far as the server plans it for tables of this size.
    fn plans_read_no_table_whole(&self) {
        let output = output(&[
            "check",
            &self.spec,
            "--threshold",
            BIG,
            "--database",
            &self.url,
        ]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.contains("notice[missing-index]"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(!said.contains("error["), "{said}");
    }

    /// The binary, which does what it is told; what it wrote to stdout.
    #[track_caller]
    fn windrow(&self, words: &str) -> String {
        let mut words: Vec<&str> = words.split_whitespace().collect();
        let at = 1 + usize::from(["policy", "settings"].contains(&words[0]));
        words.insert(at, &self.spec);
        words.extend(["--url", &self.url]);
        let output = output(&words);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}{err}");
        said
    }

    #[track_caller]
    fn document(&self, words: &str) -> Value {
        let said = self.windrow(&format!("{words} --output json"));
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }
}

fn output(words: &[&str]) -> Output {
    let mut windrow = Command::new(env!("CARGO_BIN_EXE_windrow"));
    windrow.args(words).output().expect("windrow starts")
}

/// Which rule the policies are of, where there are several.
fn with_policies(system: &System) -> String {
    let graph = windrow::lint::load(system.spec).0.expect("a sound spec");
    let mut rules = graph.rules.iter();
    match rules.find(|rule| rule.retention.per.is_some()) {
        Some(rule) if graph.rules.len() > 1 => format!("--rule {}", rule.name),
        _ => String::new(),
    }
}

/// What is not right: further from what was than a fifth of it, or than so many.
fn wrong(name: &str, foretold: f64, real: f64, least: f64) -> Option<String> {
    let far = (foretold - real).abs() > (real * 0.2).max(least);
    far.then(|| format!("{name}: {foretold} was foretold, and {real} were"))
}

fn what_is_foretold_of_each_system_is_right_within_a_fifth(dialect: Dialect) {
    let mut all = Vec::new();
    let systems = SYSTEMS.iter().filter(|it| it.scripts(dialect).is_some());
    for system in one_of(3, systems) {
        let stage = Stage::new(system, dialect);
        let exact = stage.document("plan");
        let sampled = stage.document("plan --sample 100");
        stage.windrow("arm");
        stage.document("run --dry-run");
        let status = stage.document("status");
        let mut runs = vec![stage.document("run")];
        while rows(runs.last().expect("a run")) > 0.0 {
            runs.push(stage.document("run"));
        }
        all.extend(compare(system, &exact, &sampled, &status, &runs));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// The rows of a run.
fn rows(run: &Value) -> f64 {
    let rules = run["rules"].as_array().expect("rules");
    rules.iter().map(|rule| figures(rule, ["rows"])[0]).sum()
}

/// Each rule is foretold as if there were no other. Of these an earlier rule takes rows, or lets some become orphans.
const BESIDE: [&str; 5] = [
    "tries",
    "task_state",
    "callback",
    "asset_event",
    "input_tags",
];

fn compare(
    system: &System,
    exact: &Value,
    sampled: &Value,
    status: &Value,
    runs: &[Value],
) -> Vec<String> {
    let mut found = Vec::new();
    let mut all = [0.0; 4];
    let rules = runs[0]["rules"].as_array().expect("rules");
    for (at, first) in rules.iter().enumerate() {
        let name = first["rule"].as_str().expect("a name");
        let sum = |figure: &str| -> f64 {
            let each = runs.iter();
            each.map(|run| figures(&run["rules"][at], [figure])[0])
                .sum()
        };
        let due = status["rules"].as_array().expect("rules");
        let due = due.iter().find(|due| due["rule"] == json!(name));
        let due = due.unwrap_or_else(|| panic!("no {name}: {status:#}"));
        let of = |document: &Value, name: &str| document[name].as_f64().unwrap_or(0.0);
        let (exact, sampled) = (rule(exact, name), rule(sampled, name));
        let real = [sum("families"), sum("rows"), figures(first, ["batches"])[0]];
        let looked = figures(first, ["families"])[0] + figures(first, ["skipped_families"])[0];
        let told = [
            ("plan, families", of(exact, "families"), real[0], 2.0),
            ("plan, rows", of(exact, "rows"), real[1], 10.0),
            ("plan, batches", of(exact, "batches"), real[2], 2.0),
            ("sample, families", of(sampled, "families"), real[0], 2.0),
            ("sample, rows", of(sampled, "rows"), real[1], 10.0),
            ("sample, batches", of(sampled, "batches"), real[2], 2.0),
            ("status, families", of(due, "families"), looked, 2.0),
            ("status, rows", of(due, "rows"), real[1], 20.0),
        ];
        for (place, document) in [exact, sampled, due].into_iter().enumerate() {
            all[place] += of(document, "rows");
        }
        all[3] += real[1];
        if !BESIDE.contains(&name) {
            let label = |what: &str| format!("{}, {name}, {what}", system.name);
            found.extend(
                told.iter().filter_map(|(what, told, real, least)| {
                    wrong(&label(what), *told, *real, *least)
                }),
            );
        }
    }
    for (place, what) in ["plan", "sample", "status"].into_iter().enumerate() {
        let label = format!("{}, {what}, rows of all rules", system.name);
        found.extend(wrong(&label, all[place], all[3], 0.0));
    }
    found
}
