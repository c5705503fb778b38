//! A spec made to fit a database that is of another version of the application: what that lacks is left out.
//!
//! Pure functions: the spec as text and the catalog come in, the text of another spec goes out, with a comment at each place
//! that is not as it was. One spec serves several versions in this way, and what a command does is what a file says.

mod edits;
mod lacks;
mod reading;
mod strangers;
mod subject;
mod trials;
mod types;
mod write;

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::fit::{self, Finding, Severity};
use crate::graph::Graph;
use crate::spec;

pub use subject::{Change, ChangeKind};
pub use write::place;

use reading::read;
use subject::Subject;

/// A spec that fits.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// Its text.
    pub text: String,
    /// What it means.
    pub graph: Graph,
    /// What is not as it was.
    pub changes: Vec<Change>,
    /// Conditions that cannot be asked here, where nobody answers what is to replace them.
    pub wrong: Vec<Finding>,
}

impl Adapted {
    /// What the database lacks nevertheless.
    pub fn lacking(&self, catalog: &Catalog) -> Vec<Finding> {
        let found = fit::compare(&self.graph.named_for(catalog.dialect), catalog).into_iter();
        let found = found.filter(|finding| {
            finding.severity == Severity::Error && LACKING.contains(&finding.code)
        });
        self.wrong.iter().cloned().chain(found).collect()
    }
}

/// The codes of what a spec cannot do without.
const LACKING: [&str; 5] = [
    "missing-table",
    "not-a-table",
    "missing-column",
    "missing-schema",
    "type-differs",
];

/// How far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only what the spec says is optional is left out.
    Strict,
    /// The result is a draft that somebody reads: what keeps nothing is left out in any case, types are corrected, and what is not
    /// known is asked.
    Draft,
}

/// Whether a spec has anything that may be left out.
pub fn has_optional(text: &str) -> bool {
    let (Some(spec), _) = spec::parse(text) else {
        return false;
    };
    let tables = spec.tables.values();
    let rules = spec.rules.values();
    tables
        .clone()
        .any(|table| subject::is_optional(table.optional.as_ref()))
        || tables
            .flat_map(|table| &table.parents)
            .any(|edge| spec::edge(text, edge).is_ok_and(|edge| edge.optional))
        || rules
            .clone()
            .any(|rule| subject::is_optional(rule.optional.as_ref()))
        || rules
            .filter_map(|rule| rule.keep.as_ref())
            .flat_map(spec::each_keep)
            .any(|keep| subject::is_optional(keep.get_ref().optional.as_ref()))
}

/// Makes a spec without errors fit. `unseen` are tables that the account may not see, whether they are there or not.
///
/// # Errors
/// Why the remaining parts are no valid spec.
pub fn adapt(
    text: &str,
    catalog: &Catalog,
    unseen: &BTreeSet<String>,
    mode: Mode,
) -> Result<Adapted, String> {
    let mut changes = Vec::new();
    let mut wrong = Vec::new();
    let mut text = pass(text, catalog, unseen, mode, |subject| {
        let (text, found, cannot) = write::without(subject, &lacks::find(subject));
        changes.extend(found);
        wrong.extend(cannot);
        text
    })?;
    if mode == Mode::Draft {
        // The type of a key is that of the columns which name it, unless these say otherwise.
        for _ in 0..4 {
            let mut mended = Vec::new();
            text = pass(&text, catalog, unseen, mode, |subject| {
                let (text, found) = types::mend(subject);
                mended.extend(found);
                text
            })?;
            if mended.is_empty() {
                break;
            }
            changes.extend(mended);
        }
        text = pass(&text, catalog, unseen, mode, |subject| {
            let (text, found) = strangers::ask(subject);
            changes.extend(found);
            text
        })?;
    }
    let graph = read(&text)?.1;
    Ok(Adapted {
        text,
        graph,
        changes,
        wrong,
    })
}

/// One look at a text, and what comes of it.
fn pass(
    text: &str,
    catalog: &Catalog,
    unseen: &BTreeSet<String>,
    mode: Mode,
    work: impl FnOnce(&Subject<'_>) -> String,
) -> Result<String, String> {
    let (spec, graph) = read(text)?;
    Ok(work(&Subject {
        text,
        spec: &spec,
        graph: &graph.named_for(catalog.dialect),
        catalog,
        unseen,
        asks: mode == Mode::Draft,
    }))
}

#[cfg(test)]
mod tests;
