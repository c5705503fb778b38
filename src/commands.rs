//! What the subcommands do: one file each, and here what they share.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::bundle::{Bundle, Probe};
use crate::calls::Calls;
use crate::cli::{Command, OnDatabase, Output, Selection};
use crate::db::url::{RawUrl, Url};
use crate::db::{self, Database, Server};
use crate::diagnostic::{self, Colour, Diagnostic};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::lint;
use crate::render;
use crate::spec;
use crate::ui::Ui;

mod archive;
mod artifacts;
mod check;
mod demo;
mod diff;
mod generate;
mod graph;
mod install;
mod operate;
mod overlap;
mod plan;
mod preview;
mod run;
mod show;
mod uninstall;

/// How a command ended that could be done; what could not be done is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done and clean.
    Clean,
    /// Done, but something was found.
    Found,
}

/// Does what the command line says.
pub fn dispatch(command: Command, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Command::Check(args) => check::check(&args, ui),
        Command::Graph(args) => graph::graph(&args, ui),
        Command::Schema => graph::schema(ui),
        Command::Generate(args) => generate::generate(&args, ui),
        Command::Install(args) => install::install(&args, ui),
        Command::Uninstall(args) => uninstall::uninstall(&args, ui),
        Command::Preview(args) => preview::preview(&args, ui),
        Command::Run(args) => run::run(&args, ui),
        Command::Purge(args) => run::purge(&args, ui),
        Command::Stamp(args) => run::stamp(&args, ui),
        Command::Verify(args) => show::verify(&args, ui),
        Command::Diff(args) => diff::diff(&args, ui),
        Command::Status(args) => show::status(&args, ui),
        Command::History(args) => show::history(&args, ui),
        Command::Policy(args) => operate::policy(&args, ui),
        Command::Hold(args) => operate::hold(&args, ui),
        Command::Settings(args) => operate::settings(&args, ui),
        Command::Window(args) => operate::window(&args, ui),
        Command::Plan(args) => plan::plan(&args, ui),
        Command::Arm(args) => operate::arm(&args, ui),
        Command::Pause(args) => operate::pause(&args, ui),
        Command::Resume(args) => operate::resume(&args, ui),
        Command::Demo(args) => demo::demo(&args, ui),
        Command::Archive(args) => archive::archive(&args, ui),
        Command::Artifacts(args) => artifacts::artifacts(&args, ui),
    }
}

/// A spec without errors; what it says in passing is printed.
fn load(path: &Path, ui: &Ui) -> anyhow::Result<Graph> {
    match try_load(path, ui)? {
        Some(graph) => Ok(graph),
        None => Err(
            Failure::new(format!("the spec `{}` has errors", path.display()))
                .hint(format!(
                    "`windrow check {}` shows them alone",
                    path.display()
                ))
                .into(),
        ),
    }
}

/// A spec, or none where it has errors; what was found is printed.
fn try_load(path: &Path, ui: &Ui) -> anyhow::Result<Option<Graph>> {
    let (graph, found) = read_spec(path)?;
    if !found.diagnostics.is_empty() {
        ui.findings(&found.text());
    }
    Ok(graph)
}

/// What was found in a spec, with what is needed to show it.
struct Found {
    path: String,
    source: String,
    diagnostics: Vec<Diagnostic>,
}

impl Found {
    fn text(&self) -> String {
        diagnostic::render(&self.diagnostics, &self.path, &self.source, Colour::Always)
    }

    fn json(&self) -> Value {
        diagnostic::to_json(&self.diagnostics, &self.path, &self.source)
    }
}

fn read_spec(path: &Path) -> anyhow::Result<(Option<Graph>, Found)> {
    let name = path.display().to_string();
    let source = fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read the spec `{name}`")).caused_by(error))?;
    let (graph, diagnostics) = lint::load(&source);
    Ok((
        graph,
        Found {
            path: name,
            source,
            diagnostics,
        },
    ))
}

/// The generated files.
fn bundle(graph: &Graph, dialect: Dialect) -> anyhow::Result<Bundle> {
    render::bundle(graph, dialect)
}

/// The statements to EXPLAIN.
fn probes(graph: &Graph, dialect: Dialect) -> Vec<Probe> {
    render::probes(graph, dialect)
}

/// The calls of the control schema of a spec, on a server that it is for.
fn calls(graph: &Graph, dialect: Dialect) -> anyhow::Result<Calls> {
    if !graph.dialects.contains(&dialect) {
        let titles: Vec<&str> = graph
            .dialects
            .iter()
            .map(|dialect| dialect.facts().title)
            .collect();
        let server = dialect.facts().title;
        return Err(Failure::new(format!(
            "the spec `{}` is for {}, and this server is {server}",
            graph.name,
            titles.join(" and ")
        ))
        .hint("give the address of another server, or list this one under `dialects` in the spec")
        .into());
    }
    let name = render::control_name(graph);
    Ok(Calls::new(dialect, &name, &render::run_lock(&name)))
}

/// The JSON Schema of a spec.
fn schema() -> anyhow::Result<String> {
    Ok(spec::json_schema())
}

/// The explanation of a code of the spec's own checks.
fn explain_diagnostic(code: &str) -> Option<&'static str> {
    lint::explain::explain(code)
}

/// A spec and a session on the database where it is installed, or will be.
struct Session {
    graph: Graph,
    server: Server,
    calls: Calls,
    url: Url,
    database: Box<dyn Database>,
}

impl Session {
    fn open(on: &OnDatabase, ui: &Ui) -> anyhow::Result<Session> {
        let graph = load(&on.spec, ui)?;
        let url = address(on.url.as_ref(), on.password_file.as_deref())?;
        let mut database = db::connect(&url)?;
        // What the address says of MySQL and MariaDB does not count: the server knows which it is.
        let server = database.server()?;
        let calls = calls(&graph, server.dialect)?;
        Ok(Session {
            graph,
            server,
            calls,
            url,
            database,
        })
    }

    /// One JSON document that a statement answers.
    fn document(&mut self, sql: &str, parameters: &[Option<&str>]) -> anyhow::Result<Value> {
        let rows = self.database.query(sql, parameters)?;
        document(rows)
    }

    /// A list of JSON documents, one in each row that a statement answers.
    fn documents(&mut self, sql: &str, parameters: &[Option<&str>]) -> anyhow::Result<Value> {
        let rows = self.database.query(sql, parameters)?;
        rows.into_iter().map(|row| document(vec![row])).collect()
    }

    /// Calls a routine of the control schema with an option document.
    fn ask(&mut self, routine: &str, options: &Value) -> anyhow::Result<Value> {
        let sql = self.calls.ask(routine);
        self.document(&sql, &[Some(&options.to_string())])
    }
}

/// The first value of the first row as JSON; null where there is none.
fn document(rows: Vec<db::Row>) -> anyhow::Result<Value> {
    let Some(text) = rows
        .into_iter()
        .next()
        .and_then(|row| row.into_iter().next())
        .flatten()
    else {
        return Ok(Value::Null);
    };
    // A function that answers nothing answers ''.
    if text.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&text).map_err(|error| {
        Failure::new("the database's answer is not JSON")
            .caused_by(error)
            .into()
    })
}

/// The address, with a password from where there is one: the address itself, the file, PGPASSWORD or MYSQL_PWD.
fn address(url: Option<&RawUrl>, password_file: Option<&Path>) -> anyhow::Result<Url> {
    let Some(url) = url.filter(|url| !url.is_empty()) else {
        return Err(Failure::new("no database is given")
            .hint("add `--url postgres://user@host/database` or `--url mysql://user@host/`, or set WINDROW_URL")
            .into());
    };
    let mut url = url.parse()?;
    if let Some(file) = password_file {
        let text = fs::read_to_string(file).map_err(|error| {
            Failure::new(format!(
                "cannot read the password file `{}`",
                file.display()
            ))
            .caused_by(error)
        })?;
        url = url.or_password(text.lines().next().map(str::to_owned));
    }
    let variable = url.scheme.password_variable();
    Ok(url.or_password(
        std::env::var(variable)
            .ok()
            .filter(|password| !password.is_empty()),
    ))
}

/// An option document: only what was given.
fn options<const N: usize>(given: [(&str, Option<Value>); N]) -> Map<String, Value> {
    given
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// The options that preview and run share.
fn selection(selection: &Selection) -> Map<String, Value> {
    let text = |value: &Option<String>| value.clone().map(Value::from);
    options([
        ("rule", text(&selection.rule)),
        ("scope", text(&selection.scope)),
        ("retention", text(&selection.retention)),
        ("as_of", text(&selection.as_of)),
        ("run_families", selection.run_families.map(Value::from)),
    ])
}

/// Shows a document in the form that was asked for.
fn show(ui: &Ui, output: Output, document: &Value, text: impl FnOnce(&Value) -> String) {
    match output {
        Output::Json => ui.json(document),
        Output::Text => ui.data(&text(document)),
    }
}
