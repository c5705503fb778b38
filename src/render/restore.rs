//! What the kernel knows about archives: which tables have one, and how rows leave it for the table that they came from:
//! parents first, and whole families.

use serde::Serialize;

use super::archive;
use crate::column::{Condition, Literal, Test};
use crate::dialect::Dialect;
use crate::graph::{Column, Edge, Graph, Member, Rule, TableId, Timed};

/// The archive of a table.
#[derive(Serialize)]
pub(super) struct ArchiveDocument<'a> {
    table: &'a str,
    /// In the order in which rows come back.
    place: usize,
    /// The table with the copies, and the view through which they come in.
    archive: String,
    entry: String,
    /// Of MySQL and MariaDB, where foreign keys are checked row by row: the columns that name rows of the same table, and its
    /// key, which they name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    uppers: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
}

/// What the document of a rule says of its archive.
#[derive(Serialize, Default)]
pub(super) struct KeptDocument<'a> {
    /// The tables whose rows are copied before they are deleted, in the order of deletion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archive: Vec<&'a str>,
    /// The table of which the archive does not say to which family its rows belong.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive_untold: Option<&'a str>,
    /// What a root is, of a rule not by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    candidates: Vec<ConditionDocument<'a>>,
    /// Columns of the root table that refer to the root of the family (rules by time), or the upper member.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archive_within: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archive_links: Vec<LinkDocument<'a>>,
    /// How the rows of the other tables are found, parents before children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archive_ways: Vec<WayDocument<'a>>,
    /// Of a rule by time: by what rows that come back are held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    archive_members: Vec<MemberDocument<'a>>,
}

/// What a column must hold: one of some values, NULL, or anything else.
#[derive(Serialize)]
struct ConditionDocument<'a> {
    column: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    null: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<serde_json::Value>,
    /// Whether the values are what the server prints of the column.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    printed: bool,
}

/// A relation table: the columns that name the upper member and the descendant.
#[derive(Serialize)]
struct LinkDocument<'a> {
    table: &'a str,
    parent: &'a str,
    child: &'a str,
}

/// Rows that refer to the root of their family, and rows that name found ones.
#[derive(Serialize)]
struct WayDocument<'a> {
    table: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    family: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parents: Vec<ParentDocument<'a>>,
}

/// A table whose rows are found, with its columns that are named by others.
#[derive(Serialize)]
struct ParentDocument<'a> {
    table: &'a str,
    columns: Vec<&'a str>,
    named: Vec<&'a str>,
}

/// The columns by which rows name their family, and the key of those that are held by themselves, under which conditions.
#[derive(Serialize)]
struct MemberDocument<'a> {
    table: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    family: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    own: Vec<ConditionDocument<'a>>,
}

/// The archives of a spec, in the order of its tables.
pub(super) fn archives(graph: &Graph, dialect: Dialect) -> Vec<ArchiveDocument<'_>> {
    let order = order(graph);
    let mut tables = order.clone();
    tables.sort();
    let document = |id: &TableId| {
        let table = &graph.table(*id).name;
        let [archive, entry] = archive::names(table, dialect);
        let uppers = match dialect {
            Dialect::Postgres => Vec::new(),
            Dialect::Mysql | Dialect::Mariadb => uppers(graph, *id),
        };
        ArchiveDocument {
            table,
            place: place(&order, *id),
            archive,
            entry,
            key: key_of(graph, *id).filter(|_| !uppers.is_empty()),
            uppers,
        }
    };
    tables.iter().map(document).collect()
}

/// The archived tables in the order in which their rows come back: the reverse of a deletion, and whatever names
/// another one after it.
fn order(graph: &Graph) -> Vec<TableId> {
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
fn place(order: &[TableId], id: TableId) -> usize {
    order
        .iter()
        .position(|other| *other == id)
        .map_or(0, |index| index + 1)
}

/// The columns by which rows of a table name rows of the same table.
fn uppers(graph: &Graph, id: TableId) -> Vec<&str> {
    let table = graph.table(id);
    let [key] = &table.key[..] else {
        return Vec::new();
    };
    let edges = table
        .edges
        .iter()
        .filter(|edge| edge.parent == id && edge.names_key(graph));
    let links = graph.rules.iter().filter(|rule| rule.root == id);
    let links = links
        .flat_map(Rule::links_within)
        .map(|link| &link.parent.name);
    let families = graph.rules.iter().filter(|rule| rule.root == id);
    let members = families
        .filter_map(|rule| rule.timed())
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
    names.into_iter().map(String::as_str).collect()
}

/// What the document of a rule says of its archive, and of what comes back from that of others.
pub(super) fn of_rule<'a>(graph: &'a Graph, rule: &'a Rule) -> KeptDocument<'a> {
    let order = order(graph);
    let name = |id: TableId| graph.table(id).name.as_str();
    let mut kept = KeptDocument {
        archive: rule.archived().iter().map(|id| name(*id)).collect(),
        ..KeptDocument::default()
    };
    match rule.timed() {
        Some(timed) => kept.archive_members = members(graph, rule, timed, &order),
        None if order.contains(&rule.root) => kept.candidates = conditions(&rule.candidates),
        None => {}
    }
    if rule.archive.is_empty() {
        return kept;
    }
    let is_archived = |id: TableId| rule.archive.contains(&id);
    let others = order
        .iter()
        .filter(|id| is_archived(**id) && **id != rule.root);
    kept.archive_ways = others.map(|id| way(graph, rule, *id)).collect();
    let ways = kept.archive_ways.iter();
    let mut untold: Vec<&str> = ways
        .filter(|way| !is_told(graph, rule, way))
        .map(|way| way.table)
        .collect();
    let relations = || rule.hierarchy.iter().filter(|link| link.table != rule.root);
    untold.extend(
        relations()
            .filter(|link| !is_archived(link.table))
            .map(|link| name(link.table)),
    );
    if is_archived(rule.root) {
        kept.archive_within = within(graph, rule);
        let links = relations().filter(|link| is_archived(link.table));
        kept.archive_links = links
            .map(|link| LinkDocument {
                table: name(link.table),
                parent: &link.parent.name,
                child: &link.child.name,
            })
            .collect();
    } else if !rule.hierarchy.is_empty() {
        untold.insert(0, name(rule.root));
    }
    // By the time that a member is copied, the row is gone by which it names the one above it.
    if rule.hierarchy.iter().any(|link| link.over.is_some()) {
        untold.insert(0, name(rule.root));
    }
    kept.archive_untold = untold.first().copied();
    kept
}

/// The edges that lead from a table to others whose rows are deleted with the families of a rule.
fn parents<'a>(graph: &'a Graph, rule: &'a Rule, id: TableId) -> impl Iterator<Item = &'a Edge> {
    let parents = graph.table(id).parents();
    parents.filter(move |edge| edge.parent != id && rule.order.contains(&edge.parent))
}

fn way<'a>(graph: &'a Graph, rule: &'a Rule, id: TableId) -> WayDocument<'a> {
    let is_archived = |id: TableId| rule.archive.contains(&id);
    let found = parents(graph, rule, id).filter(|edge| is_archived(edge.parent));
    let parents_found = found.map(|edge| ParentDocument {
        table: &graph.table(edge.parent).name,
        columns: edge.pairs().map(|(own, _)| own.name.as_str()).collect(),
        named: edge.pairs().map(|(_, named)| named.name.as_str()).collect(),
    });
    let mut family: Vec<&str> = family(rule, id).collect();
    let single_key = graph.table(rule.root).key.len() == 1;
    if family.is_empty() && !is_archived(rule.root) && rule.hierarchy.is_empty() && single_key {
        // The keys are given: nothing needs to be looked up in the root's archive.
        let direct = parents(graph, rule, id)
            .filter(|edge| edge.parent == rule.root && edge.names_key(graph));
        family.extend(direct.map(|edge| edge.column.name.as_str()));
    }
    WayDocument {
        table: &graph.table(id).name,
        family,
        parents: parents_found.collect(),
    }
}

/// Whether each row is led to: one that only a row outside of the archive leads to would be left out.
fn is_told(graph: &Graph, rule: &Rule, way: &WayDocument) -> bool {
    let mut ids = rule.archive.iter();
    let id = ids.find(|id| graph.table(**id).name == way.table);
    let edges = id.map_or(0, |id| parents(graph, rule, *id).count());
    way.parents.len() + way.family.len() >= edges.max(1)
}

/// The columns of a table that refer to the root of a family, where the rule says so.
fn family(rule: &Rule, id: TableId) -> impl Iterator<Item = &str> {
    let members = rule.timed().into_iter().flat_map(|timed| &timed.members);
    let of_table = members.filter(move |member| member.table == id);
    of_table
        .flat_map(|member| &member.family)
        .map(String::as_str)
}

/// The columns of the root table that refer to the root of the family, or the upper member.
fn within<'a>(graph: &'a Graph, rule: &'a Rule) -> Vec<&'a str> {
    let key = key_of(graph, rule.root);
    match rule.timed() {
        Some(_) => family(rule, rule.root)
            .filter(|column| Some(*column) != key)
            .collect(),
        None => rule
            .links_within()
            .map(|link| link.parent.name.as_str())
            .collect(),
    }
}

/// The column of a key that has one.
fn key_of(graph: &Graph, id: TableId) -> Option<&str> {
    match &graph.table(id).key[..] {
        [Column { name, .. }] => Some(name),
        _ => None,
    }
}

/// By what the rows that come back to the tables of a rule by time are held.
fn members<'a>(
    graph: &'a Graph,
    rule: &'a Rule,
    timed: &'a Timed,
    order: &[TableId],
) -> Vec<MemberDocument<'a>> {
    let member = |member: &'a Member| {
        let family: Vec<&str> = member.family.iter().map(String::as_str).collect();
        let key = key_of(graph, member.table);
        let other = timed.others().find(|it| it.root == member.table);
        let is_root = member.table == rule.root && !key.is_some_and(|key| family.contains(&key));
        MemberDocument {
            table: &graph.table(member.table).name,
            family,
            // A root need not name itself. What belongs to no family is held by itself.
            key: key.filter(|_| is_root || other.is_some()),
            own: match other {
                Some(other) if !is_root => conditions(&other.candidates),
                _ => Vec::new(),
            },
        }
    };
    let members = timed.members.iter();
    members
        .filter(|member| order.contains(&member.table))
        .map(member)
        .collect()
}

fn conditions(conditions: &[Condition]) -> Vec<ConditionDocument<'_>> {
    let conditions = conditions.iter();
    conditions
        .map(|condition| ConditionDocument {
            column: &condition.column.name,
            null: match condition.test {
                Test::Null => Some(true),
                Test::NotNull => Some(false),
                Test::OneOf(_) | Test::Is(_) | Test::Printed(_) => None,
            },
            values: match &condition.test {
                Test::OneOf(values) => values.iter().map(value).collect(),
                Test::Is(value) => vec![(*value).into()],
                Test::Printed(values) => values.iter().map(|text| text.as_str().into()).collect(),
                Test::Null | Test::NotNull => Vec::new(),
            },
            printed: matches!(condition.test, Test::Printed(_)),
        })
        .collect()
}

fn value(literal: &Literal) -> serde_json::Value {
    match literal {
        Literal::Integer(number) => (*number).into(),
        Literal::Text(text) => text.as_str().into(),
    }
}
