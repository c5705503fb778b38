//! The queries for objects of others under the names of an installation, and for what others may change.

use anyhow::Result;

use super::names::{control_name, role_name};
use super::templates::{Shown, Templates};
use super::{archive, document, kernel, stamp};
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan::Plan;

/// Who asks what belongs to others, and when.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// An installation, or before it.
    Installing,
    /// `windrow diff`.
    Later,
    /// The program, of the accounts of MySQL and MariaDB, which not everybody may see.
    OfAccounts,
}

/// The queries of `windrow diff`.
pub(super) fn deviations(
    graph: &Graph,
    plan: &Plan,
    dialect: Dialect,
    shown: &mut Shown,
) -> Result<Vec<String>> {
    let control = control_name(graph);
    if dialect == Dialect::Postgres {
        let who = who(graph, plan, Asked::Later);
        return Ok(vec![
            kernel::claims(&who),
            kernel::rights(dialect, &control, &who),
            kernel::shapes(dialect, &control, &who),
        ]);
    }
    Ok(vec![
        query("claims.sql", dialect, shown, Asked::Later)?,
        kernel::rights(dialect, &control, ""),
        query("claims.sql", dialect, shown, Asked::OfAccounts)?,
        query("rights.sql", dialect, shown, Asked::OfAccounts)?,
        kernel::shapes(dialect, &control, ""),
    ])
}

/// The query of `windrow diff` for the schedule.
pub(super) fn schedule(graph: &Graph, plan: &Plan, dialect: Dialect) -> String {
    let who = match dialect {
        Dialect::Postgres => who(graph, plan, Asked::Later),
        Dialect::Mysql | Dialect::Mariadb => String::new(),
    };
    kernel::schedule(dialect, &control_name(graph), &who)
}

/// A query that several others have in them.
pub(super) fn query(
    template: &str,
    dialect: Dialect,
    shown: &mut Shown,
    asked: Asked,
) -> Result<String> {
    shown.show("installing", &(asked == Asked::Installing));
    shown.show("accounts", &(asked == Asked::OfAccounts));
    let text = Templates::of(dialect.facts().templates).text(template, shown)?;
    Ok(text.trim_end().to_owned())
}

/// The names of an installation on PostgreSQL, as a query that answers one row: what view `installation` has inside of one.
pub(super) fn who(graph: &Graph, plan: &Plan, asked: Asked) -> String {
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
        (role("schedule"), "login"),
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
        (list(document::dropped(graph)), "dropped"),
    ];
    let columns = columns.map(|(value, name)| format!("{value} AS {name}"));
    format!("SELECT {}", columns.join(", "))
}
