//! A spec as a database has it: without what is optional and absent.

use std::collections::BTreeSet;

use crate::adapt::{self, Change, Mode};
use crate::catalog::Catalog;
use crate::db::Database;
use crate::dialect::Dialect;
use crate::failure;
use crate::fit::{self, Finding};
use crate::graph::Graph;
use crate::render;

/// What a command goes by.
pub(super) struct Fitting {
    /// The spec that fits.
    pub(super) graph: Graph,
    /// What it is without.
    pub(super) left_out: Vec<Change>,
    /// What cannot be left out, and is absent.
    pub(super) wrong: Vec<Finding>,
}

/// What `check` says of that.
pub(super) fn findings(left_out: &[Change], wrong: &[Finding]) -> Vec<Finding> {
    let left_out = left_out.iter();
    let left_out = left_out.map(|change| fit::left_out(&change.what, &change.why));
    left_out.chain(wrong.iter().cloned()).collect()
}

/// Leaves out what is optional and absent; what the database lacks besides is found by a comparison.
pub(super) fn fitting(
    graph: Graph,
    text: &str,
    dialect: Dialect,
    database: &mut dyn Database,
) -> anyhow::Result<Fitting> {
    let mut fitting = Fitting {
        graph,
        left_out: Vec::new(),
        wrong: Vec::new(),
    };
    if !adapt::has_optional(text) {
        return Ok(fitting);
    }
    let (catalog, unseen) = catalog(&fitting.graph, dialect, database)?;
    // Where everything is absent, it is the wrong place, and not another version.
    if catalog.tables.is_empty() {
        return Ok(fitting);
    }
    match adapt::adapt(text, &catalog, &unseen, Mode::Strict) {
        Ok(adapted) => {
            fitting = Fitting {
                graph: adapted.graph,
                left_out: adapted.changes,
                wrong: adapted.wrong,
            };
        }
        Err(why) => fitting
            .wrong
            .push(fit::nothing_left(&fitting.graph.name, &why)),
    }
    Ok(fitting)
}

/// What is in the database, spelt as the spec has it, and the tables of which this account may not know whether they are
/// there.
pub(super) fn catalog(
    graph: &Graph,
    dialect: Dialect,
    database: &mut dyn Database,
) -> anyhow::Result<(Catalog, BTreeSet<String>)> {
    let named = graph.named_for(dialect);
    let mut catalog = database.catalog(render::home(&named, dialect))?;
    catalog.spell_like(&named);
    let mut unseen = BTreeSet::new();
    // A view in the place of a table is there: it is no table that may be left out.
    let tables = named.tables.iter().map(|table| &table.name);
    unseen.extend(
        tables
            .filter(|name| catalog.others.contains_key(*name))
            .cloned(),
    );
    // PostgreSQL shows its catalog to everybody.
    if dialect == Dialect::Postgres {
        return Ok((catalog, unseen));
    }
    let tables = named.tables.iter().map(|table| &table.name);
    for table in tables.filter(|table| !catalog.tables.contains_key(*table)) {
        let name = dialect.qualified(render::home(&named, dialect), table);
        let looked = database.query(&format!("SELECT 1 FROM {name} LIMIT 0"), &[]);
        // Only one that may read all of the database learns that a table is not there.
        if !looked.is_err_and(|error| failure::sqlstate(&error) == Some("42S02")) {
            unseen.insert(table.clone());
        }
    }
    Ok((catalog, unseen))
}
