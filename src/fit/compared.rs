//! What statements compare: both columns must take the same values for equal. `strangers()` in the
//! database asks the same before a run and in every batch.

use super::columns::live_kind;
use super::finding::{Finding, error};
use super::kinds::is_whole;
use crate::catalog::{Catalog, CatalogColumn};
use crate::dialect::Dialect;
use crate::graph::{Compared, Graph, Kind};

/// Adds what one of two columns takes for another value than the other does.
pub(super) fn compare(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let mut all = graph.compared();
    // Of edges, MySQL and MariaDB are asked more.
    if catalog.dialect == Dialect::Postgres {
        all.extend(graph.compared_by_edges());
    }
    for it in all {
        let live = |table: &str, column: &str| catalog.tables.get(table)?.column(column);
        let ends = (live(it.table, it.own), live(it.parent, it.named));
        let (Some(own), Some(named)) = ends else {
            continue;
        };
        if let (Some(one), Some(other)) = (kind(catalog, own), kind(catalog, named))
            && one != other
        {
            let object = format!("{}.{}", it.table, it.own);
            // That it is not of the type that the spec says is enough.
            let is_told = |it: &Finding| it.code == "type-differs" && it.object == object;
            if !found.iter().any(is_told) {
                let message = format!(
                    "is `{}`, and `{}.{}` is `{}`",
                    own.kind, it.parent, it.named, named.kind
                );
                found.push(
                    error("edge-type-differs", &object, message)
                        .help("give both the same type: what is not found counts as missing"),
                );
            }
        }
        if catalog.dialect == Dialect::Postgres {
            found.extend(collations(&it, own, named));
        }
    }
}

/// What a column holds, where that is known: texts and exact numbers of any kind compare exactly among each other, and so do days
/// and times without a zone, since a day is the midnight with which it begins. What has a zone is another time in each session. On
/// PostgreSQL the trailing blanks of a `char` count beside a text, and do not count for a foreign key.
fn kind(catalog: &Catalog, column: &CatalogColumn) -> Option<String> {
    let postgres = catalog.dialect == Dialect::Postgres;
    let bare = column.kind.split(['(', ' ']).next().unwrap_or_default();
    let known = match live_kind(catalog.dialect, column) {
        Some(kind) if is_whole(kind) || kind == Kind::Numeric => "a number",
        Some(Kind::Varchar) => "a text",
        Some(Kind::Char) if !postgres => "a text",
        // Elsewhere bytes and identifiers are texts, too.
        Some(Kind::Bytea | Kind::Uuid) if !postgres => "a text",
        Some(Kind::Timestamp) => "a day or a time",
        None if bare == "date" => "a day or a time",
        Some(kind) => return Some(format!("{kind:?}")),
        None if ["double", "real", "float", "time"].contains(&bare) => bare,
        None => return None,
    };
    Some(known.to_owned())
}

/// Texts that compare otherwise on both ends would find other rows, or none (PostgreSQL).
fn collations(it: &Compared, own: &CatalogColumn, named: &CatalogColumn) -> Option<Finding> {
    let (one, other) = (own.collation.as_ref()?, named.collation.as_ref()?);
    if one == other {
        return None;
    }
    let object = format!("{}.{}", it.table, it.own);
    let kind = |fuzzy: bool| {
        if fuzzy {
            ", which treats different strings as equal"
        } else {
            ""
        }
    };
    let message = format!(
        "has the collation `{one}`{}, and `{}.{}` has `{other}`{}",
        kind(own.nondeterministic),
        it.parent,
        it.named,
        kind(named.nondeterministic)
    );
    let found = error("collation-differs", &object, message);
    Some(found.help("ALTER TABLE … ALTER COLUMN … TYPE … COLLATE: give both the same"))
}
