//! Other installations that delete from the same tables: what is held or paused in one does not bind the others.

use std::collections::{BTreeMap, BTreeSet};

use super::session::Session;
use crate::answers::Overlap;
use crate::graph::Graph;
use crate::render;
use crate::ui::Ui;

/// What to do about it.
pub(super) const HINT: &str =
    "`windrow hold set SPEC --also OTHER_SPEC` places a hold in both, or in neither";

/// The installations besides this one, as far as the account may see them: on MySQL and MariaDB one that may not read the
/// grants of others sees none.
pub(super) fn overlaps(session: &mut Session) -> anyhow::Result<Vec<Overlap>> {
    let dialect = session.server.dialect;
    let graph = session.graph.named_for(dialect);
    let ours = deleted(&graph);
    let control = render::control_name(&graph);
    let owner = render::role_name(dialect, &control, "owner");
    let rows = session.database.query(
        session.calls.overlaps(),
        &[Some(&owner), Some(render::home(&graph, dialect))],
    )?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows {
        if let [Some(other), Some(table)] = &row[..]
            && ours.contains(&table.to_lowercase())
        {
            found.entry(other.clone()).or_default().push(table.clone());
        }
    }
    Ok(found
        .into_iter()
        .map(|(owner, tables)| Overlap { owner, tables })
        .collect())
}

/// The indexes that other installations need.
#[derive(Default)]
pub(super) struct Needed {
    /// Each with the control schema of one that needs it.
    known: BTreeMap<String, String>,
    /// The control schema of one that could not be asked: it may need any.
    pub(super) unknown: Option<String>,
}

impl Needed {
    /// The control schema of an installation that needs an index or may need it, and how to say that.
    pub(super) fn by(&self, index: &str) -> Option<(&str, &'static str)> {
        match self.known.get(index) {
            Some(control) => Some((control, "also needs it")),
            None => Some((self.unknown.as_deref()?, "may need it")),
        }
    }
}

/// The indexes that other installations need.
pub(super) fn needed_indexes(session: &mut Session, ui: &Ui) -> anyhow::Result<Needed> {
    let mut needed = Needed::default();
    for other in overlaps(session)? {
        let control = &control_of(session, &other.owner)?;
        let sql = session.calls.needed_indexes(control);
        match session.database.query(&sql, &[]) {
            Ok(rows) => {
                let names = rows.into_iter().flatten().flatten();
                let names = names.map(|name| (name, control.to_owned()));
                needed.known.extend(names);
            }
            Err(error) => {
                ui.warning(&format!(
                    "cannot determine which indexes `{control}` needs: {error:#}"
                ));
                needed.unknown = Some(control.to_owned());
            }
        }
    }
    Ok(needed)
}

/// The control schema to which an owner role belongs. The role of a long name has only the beginning of it.
fn control_of(session: &mut Session, owner: &str) -> anyhow::Result<String> {
    let dialect = session.server.dialect;
    let schemas = session.database.query(
        "SELECT t.table_schema FROM information_schema.tables AS t WHERE t.table_name = 'control'",
        &[],
    )?;
    let schema = schemas
        .into_iter()
        .flatten()
        .flatten()
        .find(|schema| render::role_name(dialect, schema, "owner") == owner);
    // A schema that the account may not read is none of these.
    Ok(schema.unwrap_or_else(|| owner.strip_suffix("_owner").unwrap_or(owner).to_owned()))
}

/// The names of the tables that rows are deleted from, in lower case.
fn deleted(graph: &Graph) -> BTreeSet<String> {
    graph
        .rules
        .iter()
        .flat_map(|rule| &rule.order)
        .map(|table| graph.table(*table).name.to_lowercase())
        .collect()
}
