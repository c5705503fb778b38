//! Where the plan and a dialect meet: views for the templates, and the files that come of them.

use anyhow::Result;

use crate::bundle::{Bundle, File, Form};
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan;
use claims::Asked;
use files::Press;
use spec_view::spec_view;
use sql::tidy;
use templates::{Shown, Templates};

pub use acting::sets;
pub use changes::{Change, changes};
pub use indexes::{IndexName, IndexStatement, expressions, index_statements};
pub use kernel::planner;
pub use names::{control_name, home, meaning, named_zones, role_name, run_lock, sha256};
pub use orphan_guard::{OF_EARLIER_VERSIONS, guard_triggers};
pub use probes::{probes, unexplained};
pub use sql::body_fingerprint;

mod above;
mod acting;
mod adopt;
mod archive;
mod cascade;
mod changes;
mod claims;
mod document;
mod edges;
mod files;
mod grants;
mod held;
mod indexes;
mod innodb_probes;
mod jobs;
mod json;
mod keeps;
mod kept;
mod kernel;
mod last;
mod layout;
mod left;
mod marks;
pub mod monitoring;
mod names;
mod newest;
mod orphan_guard;
mod others;
mod partitions;
mod postgres_probes;
mod probes;
mod raw;
mod registry;
mod releases;
mod restore;
mod roots;
mod rule_view;
mod rules;
mod settings;
mod single;
mod source;
mod spec_view;
mod spelling;
mod sql;
mod stamp;
mod tables;
mod templates;
mod timed;
mod via;
mod views;
mod works;

/// All files of a spec for a dialect.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub fn bundle(graph: &Graph, dialect: Dialect) -> Result<Bundle> {
    made(graph, dialect, Form::Client)
}

/// What a person reviews of them: no file of the kernel, and nothing that only an installation asks.
///
/// # Errors
///
/// As [`bundle`].
pub fn review(graph: &Graph, dialect: Dialect) -> Result<Bundle> {
    made(graph, dialect, Form::Review)
}

fn made(graph: &Graph, dialect: Dialect, form: Form) -> Result<Bundle> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    let view = spec_view(graph, &plan, dialect);
    let mut press = Press::new(graph, dialect, &view)?;
    let mut files = press.files(form)?;
    let folder = Templates::of(monitoring::FOLDER);
    let (seen, monitored) = monitoring::files(graph, dialect, &view.control);
    let seen = Shown::of(&seen)?;
    for (template, path) in monitored {
        let text = folder.text(template, &seen)?;
        files.push(File {
            path,
            statements: Vec::new(),
            text: tidy(&text),
            kernel: false,
        });
    }
    let (deviations, schedule) = match form {
        Form::Client => (
            claims::deviations(graph, &plan, dialect, &mut press.shown)?,
            claims::schedule(graph, &plan, dialect),
        ),
        Form::Review => Default::default(),
    };
    Ok(Bundle {
        deviations,
        schedule,
        control: view.control.clone(),
        files,
        stand_ins: kernel::stand_ins(graph, dialect, &view.told),
    })
}

/// The queries for what somebody else has made under the names of an installation, which asks them first.
///
/// # Errors
///
/// Fails only where the template is broken.
pub fn claims(graph: &Graph, dialect: Dialect) -> Result<Vec<String>> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    if dialect == Dialect::Postgres {
        // PostgreSQL shows its roles to everybody: one question has it all.
        return Ok(vec![kernel::claims(&claims::who(
            graph,
            &plan,
            Asked::Installing,
        ))]);
    }
    let view = spec_view(graph, &plan, dialect);
    let mut press = Press::new(graph, dialect, &view)?;
    press.early()?;
    [Asked::Installing, Asked::OfAccounts]
        .iter()
        .map(|asked| claims::query("claims.sql", dialect, &mut press.shown, *asked))
        .collect()
}

#[cfg(test)]
mod tests;
