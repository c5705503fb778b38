//! Where the plan and a dialect meet: views for the templates, and the files that come of them.

use anyhow::Result;

use crate::bundle::{Bundle, File};
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan::{self, Plan};
use archive::ArchiveView;
use files::files;
use spec_view::{looked_into, spec_view};
use sql::tidy;
use templates::{Shown, Templates};
use views::SpecView;

pub use indexes::{IndexStatement, index_name, index_statements};
pub use names::{control_name, home, role_name, run_lock};
pub use probes::probes;
pub use sql::{body_fingerprint, routine_body, routine_text};

mod above;
mod acting;
mod adopt;
mod archive;
mod cascade;
mod document;
mod edges;
mod files;
mod grants;
mod held;
mod indexes;
mod jobs;
mod keeps;
mod kernel;
mod last;
pub mod monitoring;
mod mysql_probes;
mod names;
mod newest;
mod orphan_guard;
mod others;
mod probes;
mod registry;
mod releases;
mod restore;
mod rule_view;
mod settings;
mod single;
mod source;
mod spec_view;
mod sql;
mod stamp;
mod templates;
mod timed;
mod unarchive;
mod via;
mod views;

/// All files of a spec for a dialect.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub fn bundle(graph: &Graph, dialect: Dialect) -> Result<Bundle> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    let folder = Templates::of(dialect.facts().templates)?;
    let mut view = spec_view(graph, &plan, dialect);
    if dialect != Dialect::Postgres {
        learn(graph, folder, dialect, &mut view)?;
    }
    let mut files = files(graph, folder, dialect, &view)?;
    for (template, path, context) in monitoring::files(graph, dialect, &view.control) {
        let folder = Templates::of(monitoring::FOLDER)?;
        let text = folder.text(template, &Shown::of(&context)?)?;
        files.push(File {
            path,
            statements: Vec::new(),
            text: tidy(&text),
            kernel: false,
        });
    }
    let deviations = match dialect {
        Dialect::Postgres => {
            let who = who(graph, &plan, Asked::Later);
            vec![kernel::claims(&who), kernel::rights(&who)]
        }
        Dialect::Mysql | Dialect::Mariadb => [Asked::Later, Asked::OfAccounts]
            .iter()
            .flat_map(|asked| ["claims.sql", "rights.sql"].map(|template| (template, *asked)))
            .map(|(template, asked)| query(folder, template, &view, asked))
            .collect::<Result<_>>()?,
    };
    Ok(Bundle {
        deviations,
        control: view.control.clone(),
        files,
        stand_ins: kernel::stand_ins(graph, dialect, &view.told),
    })
}

/// Some files of MySQL and MariaDB name what others make: these are rendered once to learn it, then for good.
fn learn(graph: &Graph, folder: Templates, dialect: Dialect, view: &mut SpecView) -> Result<()> {
    let draft = files(graph, folder, dialect, view)?;
    view.shadows = shadows(graph, &view.archives, dialect);
    view.ledger = ledger(&draft, dialect);
    view.claims = query(folder, "claims.sql", view, Asked::Installing)?;
    view.triggers = orphan_guard::triggers(&draft, dialect);
    let is_grants = |file: &File| file.path.ends_with("/50_grants.sql");
    let before = draft.iter().take_while(|file| !is_grants(file));
    view.readable = archive::readable(&view.archives, before);
    Ok(())
}

/// The tables that the files of a draft make, as literals.
fn ledger(draft: &[File], dialect: Dialect) -> Vec<String> {
    let statements = draft.iter().flat_map(|file| &file.statements);
    let tables = statements.filter_map(|it| it.what.strip_prefix("create table "));
    let bare = tables.filter_map(|name| Some(dialect.bare(name.split_once('.')?.1)));
    bare.map(|name| dialect.text(&name)).collect()
}

/// Who asks what belongs to others, and when.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// An installation, or before it.
    Installing,
    /// `windrow diff`.
    Later,
    /// The program, of the accounts of MySQL and MariaDB, which not everybody may see.
    OfAccounts,
}

/// The queries for what somebody else has made under the names of an installation, or may change.
///
/// # Errors
///
/// Fails only where the template is broken.
pub fn claims(graph: &Graph, dialect: Dialect) -> Result<Vec<String>> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    if dialect == Dialect::Postgres {
        // PostgreSQL shows its roles to everybody: one question has it all.
        return Ok(vec![kernel::claims(&who(graph, &plan, Asked::Installing))]);
    }
    let mut view = spec_view(graph, &plan, dialect);
    let folder = Templates::of(dialect.facts().templates)?;
    let draft = files(graph, folder, dialect, &view)?;
    view.ledger = ledger(&draft, dialect);
    [Asked::Installing, Asked::OfAccounts]
        .iter()
        .map(|asked| query(folder, "claims.sql", &view, *asked))
        .collect()
}

/// The names of an installation on PostgreSQL, as a query that answers one row: what view `installation` has inside of one.
fn who(graph: &Graph, plan: &Plan, asked: Asked) -> String {
    let dialect = Dialect::Postgres;
    let control = control_name(graph);
    let list = |names: Vec<&str>| {
        let names: Vec<String> = names.iter().map(|name| dialect.text(name)).collect();
        format!("ARRAY[{}]::pg_catalog.text[]", names.join(", "))
    };
    let stamps = stamp::names(graph);
    let role = |suffix: &str| dialect.text(&role_name(dialect, &control, suffix));
    // Who may be a member of the owner role: the one who installs, or has installed.
    let installers = match asked {
        Asked::Installing => "ARRAY[current_user, session_user]".to_owned(),
        _ => format!("ARRAY(SELECT c.installed_by FROM {control}.control AS c)"),
    };
    let columns = [
        (dialect.text(&control), "control"),
        (role("owner"), "owner"),
        (role("operator"), "operator"),
        (role("auditor"), "auditor"),
        (dialect.text(&graph.schema), "schema"),
        (list(document::going(graph, plan)), "tables"),
        (
            list(graph.rules.iter().map(|rule| rule.name.as_str()).collect()),
            "rules",
        ),
        (list(stamps.iter().map(String::as_str).collect()), "stamps"),
        ((archive::first(graph).is_some()).to_string(), "archives"),
        (installers, "installers"),
        ((asked == Asked::Installing).to_string(), "installing"),
    ];
    let columns = columns.map(|(value, name)| format!("{value} AS {name}"));
    format!("SELECT {}", columns.join(", "))
}

/// A query that several others have in them.
fn query(folder: Templates, template: &str, view: &SpecView, asked: Asked) -> Result<String> {
    let shown = Shown::of(view)?
        .with("installing", &(asked == Asked::Installing))
        .with("accounts", &(asked == Asked::OfAccounts));
    Ok(folder.text(template, &shown)?.trim_end().to_owned())
}

/// The tables of the application that the routines of MySQL and MariaDB read, and the archives.
fn shadows(graph: &Graph, archives: &[ArchiveView], dialect: Dialect) -> Vec<String> {
    let tables = graph.tables.iter().map(|table| &table.name);
    let archives = archives
        .iter()
        .flat_map(|archive| [&archive.archive, &archive.entry]);
    let mut names: Vec<String> = tables
        .map(|name| dialect.qualified(home(graph, dialect), name))
        .chain(looked_into(graph, &[], dialect))
        .chain(archives.cloned())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests;
