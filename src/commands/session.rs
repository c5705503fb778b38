//! A session on the database where a spec is installed, or will be, and what it answers.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::fitting::{Fitting, fitting};
use super::specs::load_with_text;
use crate::adapt::Change;
use crate::answers::{self, Setting};
use crate::calls::{Calls, List};
use crate::cli::OnDatabase;
use crate::db::url::{RawUrl, Url};
use crate::db::{self, Database, Server};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::fit::Finding;
use crate::graph::Graph;
use crate::render;
use crate::ui::Ui;

/// The calls of the control schema of a spec, on a server that it is for.
pub(super) fn calls(graph: &Graph, dialect: Dialect) -> anyhow::Result<Calls> {
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
        .hint("use the address of another server, or add this one to `dialects` in the spec")
        .into());
    }
    let name = render::control_name(graph);
    Ok(Calls::new(dialect, &name, &render::run_lock(&name)))
}

/// Whether what is installed was made of a spec that says something else. Where nothing is, or this account may not look, nobody
/// knows.
pub(super) fn is_of_another_spec(
    graph: &Graph,
    calls: &Calls,
    database: &mut dyn Database,
) -> bool {
    let meaning = render::meaning(graph, calls.dialect());
    match database.query(&calls.meaning(), &[]) {
        Ok(rows) => rows
            .first()
            .is_some_and(|row| row[0].as_ref() != Some(&meaning)),
        Err(_) => false,
    }
}

/// What is said of that.
pub(super) fn of_another_spec(path: &Path) -> String {
    format!(
        "`{}` is not the installed spec, or another version of windrow installed it: the installed one applies; `windrow \
         diff` compares, `windrow install` installs this one",
        path.display()
    )
}

/// How long an installation waits for another one: a server takes a moment to end the session of one that has just failed.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// A spec and a session on the database where it is installed, or will be.
pub(super) struct Session {
    /// The spec without what is optional and absent.
    pub(super) graph: Graph,
    /// That.
    pub(super) left_out: Vec<Change>,
    /// What cannot be left out, and is absent.
    pub(super) wrong: Vec<Finding>,
    pub(super) server: Server,
    pub(super) calls: Calls,
    pub(super) url: Url,
    pub(super) database: Box<dyn Database>,
}

impl Session {
    /// Opens one, and says where another spec is installed than the one that is given.
    pub(super) fn open(on: &OnDatabase, ui: &Ui) -> anyhow::Result<Session> {
        let mut session = Session::connect(on, ui)?;
        if session.is_of_another_spec() {
            ui.warning(&of_another_spec(&on.spec));
        }
        Ok(session)
    }

    /// Opens one, whatever is installed.
    pub(super) fn connect(on: &OnDatabase, ui: &Ui) -> anyhow::Result<Session> {
        let (graph, text) = load_with_text(&on.spec, ui)?;
        let url = address(on.url.as_ref(), on.password_file.as_deref())?;
        let mut database = db::connect(&url)?;
        // What the address says of MySQL and MariaDB does not count: the server knows which it is.
        let server = database.server()?;
        let calls = calls(&graph, server.dialect)?;
        let Fitting {
            graph,
            left_out,
            wrong,
        } = fitting(graph, &text, server.dialect, database.as_mut())?;
        Ok(Session {
            graph,
            left_out,
            wrong,
            server,
            calls,
            url,
            database,
        })
    }

    /// Whether what is installed was made of a spec that says something else.
    pub(super) fn is_of_another_spec(&mut self) -> bool {
        is_of_another_spec(&self.graph, &self.calls, self.database.as_mut())
    }

    /// Two installations at once would trip over each other, and so would one and an uninstallation; the lock ends with the session.
    pub(super) fn lock_install(&mut self) -> anyhow::Result<()> {
        let control = render::control_name(&self.graph);
        self.database.execute(self.calls.unlimited())?;
        let begin = Instant::now();
        loop {
            let sql = self.calls.lock_install();
            let rows = self.database.query(&sql, &[Some(&control)])?;
            if rows.first().and_then(|row| row.first()?.as_deref()) == Some("true") {
                return Ok(());
            }
            if begin.elapsed() >= LOCK_PATIENCE {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        // The lock is free for every login: who holds it need not be an installation.
        let sql = self.calls.install_lock_holder();
        let failure = Failure::new(format!(
            "another installation or uninstallation of `{control}` is in progress"
        ));
        // MySQL's view of all sessions is an error while a statement of any has a sign of four bytes (3854).
        let rows = match self.database.query(&sql, &[Some(&control)]) {
            Ok(rows) => rows,
            Err(error) => {
                return Err(failure
                    .detail(format!(
                        "which session holds its lock cannot be told: {error:#}"
                    ))
                    .hint("wait for it to finish")
                    .into());
            }
        };
        let Some(row) = rows.first() else {
            return Err(failure.hint("it has just finished: try again").into());
        };
        let told = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
        let mut holder = format!("session {}", told(0));
        for (what, value) in [("user", told(1)), ("application", told(2))] {
            if !value.is_empty() {
                holder += &format!(", {what} `{value}`");
            }
        }
        Err(failure
            .detail(format!("the installation lock is held by {holder}"))
            .hint("wait for it to finish; if that session does neither, end it")
            .into())
    }

    /// Rows that the last runs of a rule deleted, those that a schedule started or the others, the seconds for that, and how
    /// many runs they are.
    pub(super) fn speed(&mut self, rule: &str, scheduled: bool) -> anyhow::Result<(f64, f64, f64)> {
        let scheduled = if scheduled { "true" } else { "false" };
        let parameters = [Some(rule), Some(scheduled)];
        let rows = self.database.query(&self.calls.speed(), &parameters)?;
        let figure = |at: usize| -> f64 {
            let cell = rows.first().and_then(|row| row.get(at)?.as_deref());
            cell.and_then(|text| text.parse().ok()).unwrap_or(0.0)
        };
        Ok((figure(0), figure(1), figure(2)))
    }

    /// The settings of all rules.
    pub(super) fn settings(&mut self) -> anyhow::Result<Vec<Setting>> {
        let settings = self.documents(&self.calls.list(List::Setting), &[])?;
        Ok(answers::read("settings", &settings.into())?)
    }

    /// Why runs delete nothing on this server, nothing where they may; an error where this account may not look, or an installation of an
    /// earlier version does not say.
    pub(super) fn not_armed(&mut self) -> anyhow::Result<Option<String>> {
        let rows = self.database.query(&self.calls.not_armed(), &[])?;
        Ok(rows.into_iter().flatten().flatten().next())
    }

    /// One JSON document that a statement answers.
    pub(super) fn document(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
    ) -> anyhow::Result<Value> {
        let rows = self.database.query(sql, parameters)?;
        document(rows)
    }

    /// A list of JSON documents, one in each row that a statement answers.
    pub(super) fn documents(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
    ) -> anyhow::Result<Vec<Value>> {
        let rows = self.database.query(sql, parameters)?;
        rows.into_iter().map(|row| document(vec![row])).collect()
    }

    /// Calls a routine of the control schema with an option document.
    pub(super) fn ask(&mut self, routine: &str, options: &Value) -> anyhow::Result<Value> {
        let sql = self.calls.ask(routine);
        self.document(&sql, &[Some(&options.to_string())])
    }
}

/// The first value of the first row as JSON; null where there is none.
pub(super) fn document(rows: Vec<db::Row>) -> anyhow::Result<Value> {
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

/// The variable of the environment whose password counts before files of settings, on every server.
pub(super) const PASSWORD: &str = "WINDROW_PASSWORD";

/// The address, with a password from where there is one: the address itself, the file, WINDROW_PASSWORD, the files of settings of
/// the servers' own clients, PGPASSWORD or MYSQL_PWD, and last `.pgpass`.
pub(super) fn address(url: Option<&RawUrl>, password_file: Option<&Path>) -> anyhow::Result<Url> {
    let Some(url) = url.filter(|url| !url.is_empty()) else {
        return Err(Failure::new("no database given")
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
    let of_environment = |name| std::env::var(name).ok().filter(|it| !it.is_empty());
    let last = url.scheme.password_variable();
    Ok(url
        .or_password(of_environment(PASSWORD))
        .or_last_password(of_environment(last)))
}
