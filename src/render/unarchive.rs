//! How rows leave the archive for the tables that they came from: parents first, and whole families.

use serde::Serialize;

use super::archive::{self, ArchiveView};
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Rule, Stamp, Table, TableId};

/// What the template of restorations has beside the spec's view.
#[derive(Serialize)]
pub(super) struct UnarchiveView {
    /// The archived tables, parents before children.
    places: Vec<PlaceView>,
    /// The rules by whose keys archived rows are found.
    rules: Vec<RuleView>,
    /// What must be held, so that it is not deleted again.
    holds: Vec<HoldView>,
    /// The tables of archiving rules that are not archived, by rule; as literals.
    missing: Vec<MissingView>,
}

/// A table of the archive, by its place in the order in which rows come back.
#[derive(Clone, Serialize)]
struct PlaceView {
    place: usize,
    archive: ArchiveView,
    /// The key that its own rows name, and the columns that do; empty where none does.
    key: String,
    uppers: Vec<String>,
}

/// How the rows of a family are found in the archive of one run; rows are `t`.
#[derive(Serialize)]
struct RuleView {
    name: String,
    literal: String,
    /// Why they cannot be found; within a literal.
    unknown: String,
    /// The place of the root table, 0 where it is not archived, its archive and its key.
    root: usize,
    root_archive: String,
    root_name: String,
    key: String,
    key_type: &'static str,
    /// What finds a root by its key `k`, and what a root must be besides.
    is_named: String,
    /// That key as a text.
    key_text: String,
    conditions: Vec<String>,
    /// Whether rows name the root of their family.
    timed: bool,
    /// Relation tables: their archive, the column that names the upper member, and that of the descendant.
    links: Vec<LinkView>,
    /// Columns of the root table that name the upper member.
    within: Vec<String>,
    /// The other tables, parents before children.
    steps: Vec<StepView>,
}

#[derive(Serialize)]
struct LinkView {
    archive: String,
    parent: String,
    child: String,
}

#[derive(Serialize)]
struct StepView {
    place: usize,
    archive: String,
    /// The columns that name the root of the family.
    family: Vec<String>,
    edges: Vec<EdgeView>,
}

/// A way from found rows `p` of a parent to rows `t`.
#[derive(Serialize)]
struct EdgeView {
    place: usize,
    archive: String,
    /// The parent's columns that are named, and the child's that name them.
    pairs: Vec<PairView>,
}

#[derive(Serialize)]
struct PairView {
    parent: String,
    child: String,
}

/// Rows `t` of an archive, and the key of the rule under which they are held.
#[derive(Serialize)]
struct HoldView {
    rule: String,
    place: usize,
    archive: String,
    key: String,
    conditions: Vec<String>,
    /// Whether a row may have no such key.
    may_lack: bool,
}

#[derive(Serialize)]
struct MissingView {
    rule: String,
    tables: Vec<String>,
}

/// What the template of restorations has.
pub(super) fn view(graph: &Graph, dialect: Dialect) -> UnarchiveView {
    let order = order(graph);
    let archiving = || graph.rules.iter().filter(|rule| !rule.archive.is_empty());
    UnarchiveView {
        places: order
            .iter()
            .enumerate()
            .map(|(index, id)| PlaceView {
                place: index + 1,
                archive: archive::named(graph, *id, dialect),
                key: key_of(graph.table(*id), dialect),
                uppers: uppers(graph, *id, dialect),
            })
            .collect(),
        rules: archiving()
            .map(|rule| rule_view(graph, rule, &order, dialect))
            .collect(),
        holds: graph
            .rules
            .iter()
            .flat_map(|rule| holds(graph, rule, &order, dialect))
            .collect(),
        missing: archiving()
            .map(|rule| MissingView {
                rule: dialect.text(&rule.name),
                tables: rule
                    .order
                    .iter()
                    .filter(|id| !rule.archive.contains(id))
                    .map(|id| dialect.text(&graph.table(*id).name))
                    .collect(),
            })
            .collect(),
    }
}

/// The archived tables in the order in which their rows come back: the reverse of a deletion, and whatever names
/// another one after it.
pub(super) fn order(graph: &Graph) -> Vec<TableId> {
    let mut left: Vec<TableId> = Vec::new();
    for id in graph.rules.iter().flat_map(|rule| rule.order.iter().rev()) {
        let is_archived = graph.rules.iter().any(|rule| rule.archive.contains(id));
        if is_archived && !left.contains(id) {
            left.push(*id);
        }
    }
    let mut order = Vec::new();
    while !left.is_empty() {
        let waits = |id: &TableId| {
            let parents = graph.table(*id).edges.iter().map(|edge| edge.parent);
            parents
                .filter(|parent| parent != id)
                .any(|parent| left.contains(&parent))
        };
        // Tables that name each other in a circle have no order: the deletion's is as good as any.
        let next = left.iter().position(|id| !waits(id)).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

/// The place of a table, from 1; 0 where it is not archived.
pub(super) fn place(order: &[TableId], id: TableId) -> usize {
    order
        .iter()
        .position(|other| *other == id)
        .map_or(0, |index| index + 1)
}

fn key_of(table: &Table, dialect: Dialect) -> String {
    match &table.key[..] {
        [key] => dialect.ident(&key.name),
        _ => String::new(),
    }
}

/// The columns by which rows of a table name rows of the same table.
fn uppers(graph: &Graph, id: TableId, dialect: Dialect) -> Vec<String> {
    let table = graph.table(id);
    let [key] = &table.key[..] else {
        return Vec::new();
    };
    let edges = table
        .edges
        .iter()
        .filter(|edge| edge.parent == id && edge.names_key(graph));
    let links = graph
        .links_within(&table.name)
        .map(|link| &link.parent.name);
    let families = graph.rules.iter().filter(|rule| rule.root == id);
    let members = families
        .filter_map(|rule| rule.timed.as_ref())
        .flat_map(|timed| &timed.members);
    let families = members
        .filter(|member| member.table == id)
        .flat_map(|member| &member.family);
    let mut names: Vec<&String> = edges
        .map(|edge| &edge.column.name)
        .chain(links)
        .chain(families)
        .collect();
    names.retain(|name| **name != key.name);
    names.sort();
    names.dedup();
    names.into_iter().map(|name| dialect.ident(name)).collect()
}

fn rule_view(graph: &Graph, rule: &Rule, order: &[TableId], dialect: Dialect) -> RuleView {
    let root = graph.table(rule.root);
    let archived = |id: TableId| archive::named(graph, id, dialect).archive;
    let is_archived = |id: &TableId| rule.archive.contains(id);
    let has_root = is_archived(&rule.root);
    let ident = |name: &str| dialect.ident(name);
    let mut unknown = Vec::new();
    let mut steps = Vec::new();
    for id in order
        .iter()
        .filter(|id| is_archived(id) && **id != rule.root)
    {
        let table = graph.table(*id);
        let parents = || {
            table
                .parents()
                .filter(|edge| edge.parent != *id && rule.order.contains(&edge.parent))
        };
        let edges: Vec<EdgeView> = parents()
            .filter(|edge| is_archived(&edge.parent))
            .map(|edge| {
                edge_view(
                    edge,
                    place(order, edge.parent),
                    archived(edge.parent),
                    dialect,
                )
            })
            .collect();
        let mut family = family(rule, *id, dialect);
        if family.is_empty() && !has_root && rule.hierarchy.is_empty() && root.key.len() == 1 {
            // The keys are given: nothing needs to be looked up in the root's archive.
            let direct = parents().filter(|edge| edge.parent == rule.root && edge.names_key(graph));
            family.extend(direct.map(|edge| ident(&edge.column.name)));
        }
        // A row that only a row outside the archive leads to would stay behind.
        if edges.len() + family.len() < parents().count().max(1) {
            unknown.push(table.name.as_str());
        }
        steps.push(StepView {
            place: place(order, *id),
            archive: archived(*id),
            family,
            edges,
        });
    }
    let relations = || rule.hierarchy.iter().filter(|link| link.table != rule.root);
    unknown.extend(
        relations()
            .filter(|link| !is_archived(&link.table))
            .map(|link| graph.table(link.table).name.as_str()),
    );
    if !has_root && !rule.hierarchy.is_empty() {
        unknown.insert(0, root.name.as_str());
    }
    let key = key_of(root, dialect);
    let key_type = root.key.first().map_or("", |key| dialect.kind(key.kind));
    RuleView {
        name: rule.name.clone(),
        literal: dialect.text(&rule.name),
        unknown: unknown
            .first()
            .map_or_else(String::new, |name| super::names::escaped(dialect, name)),
        root: if has_root { place(order, rule.root) } else { 0 },
        root_archive: archived(rule.root),
        root_name: super::names::escaped(dialect, &root.name),
        is_named: is_named(root, dialect),
        key_text: key_text(root, dialect),
        conditions: match rule.timed {
            Some(_) => Vec::new(),
            None => rule
                .candidates
                .iter()
                .map(|it| dialect.condition_of("t", it))
                .collect(),
        },
        timed: rule.timed.is_some(),
        links: relations()
            .filter(|link| is_archived(&link.table))
            .map(|link| LinkView {
                archive: archived(link.table),
                parent: ident(&link.parent.name),
                child: ident(&link.child.name),
            })
            .collect(),
        within: match rule.timed {
            Some(_) => family(rule, rule.root, dialect)
                .into_iter()
                .filter(|column| *column != key)
                .collect(),
            None => rule
                .links_within()
                .map(|link| ident(&link.parent.name))
                .collect(),
        },
        steps,
        key,
        key_type,
    }
}

/// The columns of a table that name the root of a family, where the rule says so.
fn family(rule: &Rule, id: TableId, dialect: Dialect) -> Vec<String> {
    let members = rule.timed.iter().flat_map(|timed| &timed.members);
    let columns = members
        .filter(|member| member.table == id)
        .flat_map(|member| &member.family);
    columns.map(|column| dialect.ident(column)).collect()
}

fn edge_view(edge: &Edge, place: usize, archive: String, dialect: Dialect) -> EdgeView {
    EdgeView {
        place,
        archive,
        pairs: edge
            .pairs()
            .map(|(child, parent)| PairView {
                parent: dialect.ident(&parent.name),
                child: dialect.ident(&child.name),
            })
            .collect(),
    }
}

/// The key of row `t` of a table as the ledger writes it.
fn key_text(table: &Table, dialect: Dialect) -> String {
    let columns: Vec<String> = table
        .key
        .iter()
        .map(|key| format!("t.{}", dialect.ident(&key.name)))
        .collect();
    match (dialect, &columns[..]) {
        (Dialect::Postgres, [column]) => format!("{column}::text"),
        (Dialect::Postgres, columns) => format!("jsonb_build_array({})::text", columns.join(", ")),
        (_, [column]) => format!("CAST({column} AS CHAR)"),
        (_, columns) => format!("CAST(JSON_ARRAY({}) AS CHAR)", columns.join(", ")),
    }
}

/// Whether row `t` of a root table is named by the key `k.named`, a text.
fn is_named(table: &Table, dialect: Dialect) -> String {
    match &table.key[..] {
        [key] if dialect == Dialect::Postgres => {
            let column = dialect.ident(&key.name);
            format!("t.{column} = k.named::{}", dialect.kind(key.kind))
        }
        _ => format!("{} = k.named", key_text(table, dialect)),
    }
}

/// The key of row `t` of a table of what belongs to no family, unless it is none of these.
fn held_by_itself(other: &Stamp, key: &str, dialect: Dialect) -> String {
    let conditions = other.candidates.iter();
    let conditions: Vec<String> = conditions
        .map(|condition| dialect.condition_of("t", condition))
        .collect();
    match &conditions[..] {
        [] => key.to_owned(),
        conditions => format!("CASE WHEN {} THEN {key} END", conditions.join(" AND ")),
    }
}

/// The rows of a restoration that the rule would delete again, and under which key it holds them.
fn holds(graph: &Graph, rule: &Rule, order: &[TableId], dialect: Dialect) -> Vec<HoldView> {
    let hold = |id: TableId, key: String, conditions: Vec<String>| HoldView {
        rule: dialect.text(&rule.name),
        place: place(order, id),
        archive: archive::named(graph, id, dialect).archive,
        key,
        conditions,
        may_lack: rule.timed.is_some(),
    };
    let root = graph.table(rule.root);
    let Some(timed) = &rule.timed else {
        let conditions = rule
            .candidates
            .iter()
            .map(|it| dialect.condition_of("t", it))
            .collect();
        let is_archived = order.contains(&rule.root);
        return is_archived
            .then(|| hold(rule.root, key_text(root, dialect), conditions))
            .into_iter()
            .collect();
    };
    let members = timed
        .members
        .iter()
        .filter(|member| order.contains(&member.table));
    let held = members.map(|member| {
        let mut columns: Vec<String> = member
            .family
            .iter()
            .map(|name| format!("t.{}", dialect.ident(name)))
            .collect();
        let key = format!("t.{}", key_of(graph.table(member.table), dialect));
        if member.table == rule.root && !columns.contains(&key) {
            // A root need not name itself.
            columns.push(key);
        } else if let Some(other) = timed.others().find(|it| it.root == member.table) {
            // What belongs to no family is held by itself.
            columns.push(held_by_itself(other, &key, dialect));
        }
        let first = match (dialect, &columns[..]) {
            (_, []) => "NULL".to_owned(),
            (_, [column]) => column.clone(),
            (Dialect::Postgres, columns) => format!("coalesce({})", columns.join(", ")),
            (_, columns) => format!("COALESCE({})", columns.join(", ")),
        };
        let text = match dialect {
            Dialect::Postgres => format!("{first}::text"),
            Dialect::Mysql | Dialect::Mariadb => format!("CAST({first} AS CHAR)"),
        };
        hold(member.table, text, Vec::new())
    });
    held.collect()
}
