//! Other installations that delete from the same tables: what is held or paused in one does not bind the others.

use std::collections::{BTreeMap, BTreeSet};

use super::session::Session;
use crate::answers::Overlap;
use crate::catalog::{Catalog, CatalogIndex};
use crate::db::Row;
use crate::graph::Graph;
use crate::render;
use crate::ui::Ui;

/// What to do about it.
pub(super) const HINT: &str =
    "`windrow hold set SPEC --also OTHER_SPEC` places a hold in both, or in neither";

/// The installations besides this one, as far as the account may see them: on MySQL and MariaDB one that may not read the
/// grants of others sees none.
pub(super) fn overlaps(session: &mut Session) -> anyhow::Result<Vec<Overlap>> {
    let ours = deleted(&session.graph.named_for(session.server.dialect));
    sharing(session, "DELETE", &ours)
}

/// The installations besides this one that have a right on some of these tables, with names in lower case.
fn sharing(
    session: &mut Session,
    right: &str,
    ours: &BTreeSet<String>,
) -> anyhow::Result<Vec<Overlap>> {
    let dialect = session.server.dialect;
    let graph = session.graph.named_for(dialect);
    let control = render::control_name(&graph);
    let owner = render::role_name(dialect, &control, "owner");
    let home = render::home(&graph, dialect);
    let rows = session.database.query(
        session.calls.overlaps(),
        &[Some(&owner), Some(home), Some(right)],
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

/// The indexes that other installations need, also those that delete nothing from these tables, and look into them.
pub(super) fn needed_indexes(session: &mut Session, ui: &Ui) -> anyhow::Result<Needed> {
    let mut needed = Needed::default();
    let dialect = session.server.dialect;
    let graph = session.graph.named_for(dialect);
    let tables = graph.tables.iter().map(|table| table.name.to_lowercase());
    let others = sharing(session, "SELECT", &tables.collect())?;
    if others.is_empty() {
        return Ok(needed);
    }
    let catalog = session.database.catalog(render::home(&graph, dialect))?;
    let ours = render::index_statements(&session.graph, dialect).into_iter();
    let ours: BTreeSet<String> = ours.map(|index| index.name).collect();
    for other in others {
        let control = &control_of(session, &other.owner)?;
        let sql = session.calls.needed_indexes(control);
        match session.database.query(&sql, &[]) {
            Ok(rows) => {
                for need in Need::read(rows) {
                    let served = need.served(&catalog, &ours);
                    let names = served.into_iter().chain([need.index]);
                    let names = names.map(|name| (name, control.to_owned()));
                    needed.known.extend(names);
                }
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

/// An index that another installation needs.
struct Need {
    table: String,
    index: String,
    /// The columns with which one has to lead that serves in its place.
    columns: Vec<String>,
}

impl Need {
    /// Reads rows of table, index and column.
    fn read(rows: Vec<Row>) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        for row in rows {
            let mut cells = row.into_iter();
            let mut cell = || cells.next().flatten();
            let (Some(table), Some(index), column) = (cell(), cell(), cell()) else {
                continue;
            };
            match needs.last_mut() {
                Some(last) if last.table == table && last.index == index => {
                    last.columns.extend(column);
                }
                _ => needs.push(Need {
                    table,
                    index,
                    columns: column.into_iter().collect(),
                }),
            }
        }
        needs
    }

    /// Those of our indexes that serve in its place: it was not made, since they were there, and no other one serves.
    fn served(&self, catalog: &Catalog, ours: &BTreeSet<String>) -> Vec<String> {
        let tables = catalog.tables.iter();
        let mut tables = tables.filter(|(name, _)| name.eq_ignore_ascii_case(&self.table));
        let indexes = tables.next().map(|(_, table)| &table.indexes[..]);
        let usable = indexes.unwrap_or_default().iter();
        let usable: Vec<&CatalogIndex> = usable.filter(|it| it.valid && it.ready).collect();
        if self.columns.is_empty() || usable.iter().any(|it| it.name == self.index) {
            return Vec::new();
        }
        // The parts of one on an expression are printed otherwise than they are written.
        let plain = |name: &String| name.to_lowercase().replace(['"', '`', '(', ')', ' '], "");
        let wanted: Vec<String> = self.columns.iter().map(plain).collect();
        let serves = |index: &&CatalogIndex| {
            let leads: Vec<String> = index.leads().iter().map(plain).collect();
            index.predicate.is_none() && leads.starts_with(&wanted)
        };
        let serving: Vec<&CatalogIndex> = usable.into_iter().filter(serves).collect();
        if serving.iter().any(|index| !ours.contains(&index.name)) {
            return Vec::new();
        }
        serving.into_iter().map(|it| it.name.clone()).collect()
    }
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
