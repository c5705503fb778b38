//! The triggers of orphan guards on MySQL and MariaDB. To make one waits for the writers of its table, and they wait for that; on MySQL
//! there is none in between: one that is as its file makes it is left as it is.

use crate::bundle::{Bundle, File, Kind, Statement, What};
use crate::commands::session::Session;
use crate::dialect::Dialect;
use crate::render;

/// What is there of the triggers that the files make, by their names.
#[derive(Default)]
pub(super) struct Triggers {
    /// Those that are as they would be made.
    same: Vec<String>,
    /// Those on another table, which has been renamed since: no statement replaces them.
    astray: Vec<String>,
}

impl Triggers {
    /// Looks at the triggers as they are before the installation.
    pub(super) fn look(session: &mut Session, bundle: &Bundle) -> anyhow::Result<Self> {
        let dialect = session.server.dialect;
        let mut found = Self::default();
        let statements = bundle.files.iter().flat_map(|file| &file.statements);
        let made: Vec<&Statement> = statements.filter(|it| trigger(it).is_some()).collect();
        if dialect == Dialect::Postgres || made.is_empty() {
            return Ok(found);
        }
        let graph = session.graph.named_for(dialect);
        let home = render::home(&graph, dialect);
        let owner = render::role_name(dialect, &bundle.control, "owner");
        let owners = [owner.clone(), format!("{owner}@"), format!("{owner}@%")];
        let sql = "SELECT t.trigger_name, t.event_object_table, t.action_timing, t.event_manipulation, t.definer, t.sql_mode,
                       t.action_statement, @@lower_case_table_names
                   FROM information_schema.triggers AS t WHERE t.event_object_schema = ?";
        for row in session.database.query(sql, &[Some(home)])? {
            let cells: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
            let [name, table, time, event, definer, mode, body, folds] = &cells[..] else {
                continue;
            };
            let [home, name, table] = [home, name, table].map(|it| dialect.ident(it));
            let name = format!("{home}.{name}");
            let Some(made) = made.iter().find(|it| trigger(it) == Some(&name)) else {
                continue;
            };
            // The server may write a table in small letters that the spec writes otherwise.
            let spelt = |sql: &str| match folds.as_str() {
                "0" => sql.to_owned(),
                _ => sql.to_lowercase(),
            };
            let text = spelt(&made.sql);
            let of_table = format!(" ON {home}.{table} FOR EACH ROW\n");
            let shown = made.shown.as_ref();
            let mode = format!("sql_mode = '{mode}'");
            let mut files = bundle.files.iter();
            let file = files.find(|file| file.statements.iter().any(|it| trigger(it).is_some()));
            let is_same = text.contains(&spelt(&format!("\n{time} {event}{of_table}")))
                && shown.is_some_and(|it| it.hash == render::body_fingerprint(dialect, body))
                && owners.contains(definer)
                && file.is_some_and(|file| file.text.contains(&mode));
            if is_same {
                found.same.push(name);
            } else if !text.contains(&spelt(&of_table)) {
                found.astray.push(name);
            }
        }
        Ok(found)
    }

    /// The file without the statements that make anew what is as it should be.
    pub(super) fn spare(&self, mut file: File) -> File {
        let is_of = |statement: &Statement, verb: &str, names: &[String]| {
            let words = statement.what.as_str().strip_prefix(verb);
            words.is_some_and(|name| names.iter().any(|it| it == name))
        };
        file.statements.retain(|it| {
            !is_of(it, "drop trigger ", &self.same) && !is_of(it, "create trigger ", &self.same)
        });
        let mut statements = Vec::new();
        for statement in file.statements {
            // MySQL's file drops it by itself.
            if is_of(&statement, "create trigger ", &self.astray)
                && let Some(name) = trigger(&statement)
            {
                statements.push(Statement {
                    what: What::new(&format!("drop trigger {name}")),
                    sql: format!("DROP TRIGGER IF EXISTS {name}"),
                    alone: false,
                    shown: None,
                });
            }
            statements.push(statement);
        }
        file.statements = statements;
        file
    }
}

/// The name of the trigger that a statement makes.
fn trigger(statement: &Statement) -> Option<&String> {
    let made = statement.what.made()?;
    (made.kind == Kind::Trigger).then_some(&made.name)
}
