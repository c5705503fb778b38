//! What is to be indexed and deleted, in which order and why: dialect-neutral, made from a graph, never fails.

use crate::graph::{
    Action, Column, Condition, Edge, Graph, Kind, Link, Newest, Rule, Single, TableId, Test, Timed,
    Unit, With,
};

/// The plan of a whole spec.
#[derive(Debug)]
pub struct Plan {
    /// One purge per rule, in the order of the rules.
    pub purges: Vec<Purge>,
    /// Indexes that the statements need and the application does not bring, sorted by table and columns.
    pub indexes: Vec<IndexNeed>,
}

impl Plan {
    /// The indexes where there are partial ones, or where there are none: two that differ in their conditions alone are one then.
    pub fn indexes_for(self, partial: bool) -> Vec<IndexNeed> {
        let mut indexes: Vec<IndexNeed> = Vec::new();
        for need in self.indexes {
            let same = |other: &IndexNeed| {
                (other.table, &other.whole_columns, &other.otherwise)
                    == (need.table, &need.whole_columns, &need.otherwise)
            };
            if partial || !indexes.iter().any(same) {
                indexes.push(need);
            }
        }
        indexes
    }
}

/// How one rule deletes.
#[derive(Debug)]
pub struct Purge {
    /// Index of the rule in [`Graph::rules`].
    pub rule: usize,
    /// Type that holds every id of a member: the widest of the key and of the columns that link members.
    pub id_kind: Kind,
    /// Tables whose keys are collected before anything is deleted, parents first.
    pub collects: Vec<TableId>,
    /// The deletions, children first, the root last.
    pub steps: Vec<Step>,
    /// What keeps families, sorted by table.
    pub keeps: Vec<Keep>,
    /// The rows that families share, sorted by table.
    pub meets: Vec<Meet>,
    /// What lets go of rows that are deleted, sorted by table.
    pub releases: Vec<Release>,
}

/// Rows that stay when the row goes that they name, and name none afterwards.
#[derive(Debug)]
pub struct Release {
    /// Their table.
    pub table: TableId,
    /// The edge to the row that goes.
    pub edge: Edge,
    /// One sentence: becomes the comment above the statement.
    pub why: String,
}

/// Rows that keep the families of the rows they name, by one way from there to the root table.
#[derive(Debug)]
pub struct Keep {
    /// From the root table's child down to the table of the rows that keep; where these are to go with all of their
    /// parents, up to one that no rule takes.
    pub hops: Vec<Hop>,
    /// One sentence: becomes the comment above the query.
    pub why: String,
}

/// Rows that go with all of their parents, and so keep together the families that these belong to.
#[derive(Debug)]
pub struct Meet {
    /// From the root table's child down to the table of those rows, and up again to the root table.
    pub hops: Vec<Hop>,
    /// One sentence: becomes the comment above the query.
    pub why: String,
}

/// A step from one table to another along an edge.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The table that is come to.
    pub table: TableId,
    /// The edge, which belongs to the lower of the two tables.
    pub edge: Edge,
    /// Whether the way goes from the row that names to the one that it names.
    pub up: bool,
}

impl Hop {
    fn down(table: TableId, edge: &Edge) -> Self {
        Self {
            table,
            edge: edge.clone(),
            up: false,
        }
    }

    fn up(edge: &Edge) -> Self {
        Self {
            table: edge.parent,
            edge: edge.clone(),
            up: true,
        }
    }
}

impl Keep {
    /// The rows that keep, with the edge by which they are found.
    pub fn keeper(&self) -> Option<&Hop> {
        self.hops.iter().rfind(|hop| !hop.up)
    }
}

/// The deletion from one table.
#[derive(Debug)]
pub struct Step {
    /// The table.
    pub table: TableId,
    /// The edges through which its rows belong to what goes; empty for the root table.
    pub edges: Vec<Edge>,
    /// One sentence: becomes the comment above the statement.
    pub why: String,
}

/// An index that a statement needs.
#[derive(Clone, Debug)]
pub struct IndexNeed {
    /// The table.
    pub table: TableId,
    /// Columns in order.
    pub columns: Vec<String>,
    /// What stands in for one of the columns where it is NULL, so that the index is on the first of both that is not:
    /// the column, and the one that stands in.
    pub otherwise: Option<(String, String)>,
    /// Conditions of a partial index.
    pub conditions: Vec<Condition>,
    /// A column that is NULL in all rows of a partial index.
    pub null: Option<String>,
    /// Columns in order where the dialect has no partial index: what is compared with one value comes first.
    pub whole_columns: Vec<String>,
    /// One sentence: becomes the comment above the statement.
    pub why: String,
}

/// Makes the plan of a graph.
pub fn make(graph: &Graph) -> Plan {
    let purges: Vec<Purge> = graph
        .rules
        .iter()
        .enumerate()
        .map(|(index, rule)| purge(graph, index, rule))
        .collect();
    let mut indexes: Vec<IndexNeed> = graph
        .rules
        .iter()
        .flat_map(|rule| match (&rule.timed, &rule.single) {
            (Some(timed), _) => timed_indexes(graph, rule, timed),
            (_, Some(single)) => single_indexes(graph, rule, single),
            (None, None) => std::iter::once(scan_index(graph, rule))
                .chain(
                    rule.newest
                        .iter()
                        .map(|newest| newest_index(graph, rule, newest)),
                )
                .chain(link_indexes(graph, rule))
                .collect(),
        })
        .collect();
    indexes.sort_by(|a, b| (a.table, &a.columns).cmp(&(b.table, &b.columns)));
    // One index for two searches has the rows of both.
    indexes.dedup_by(|a, b| {
        let same = (a.table, &a.columns, &a.otherwise) == (b.table, &b.columns, &b.otherwise);
        if same {
            b.conditions
                .retain(|condition| a.conditions.contains(condition));
        }
        same
    });
    let deleted = purges.iter().flat_map(|purge| &purge.steps);
    let deleted = deleted.map(|step| (step.table, step.edges.as_slice(), "go"));
    let kept = purges.iter().flat_map(|purge| &purge.keeps);
    let kept = kept.filter_map(Keep::keeper);
    let kept = kept.map(|hop| (hop.table, std::slice::from_ref(&hop.edge), "are due"));
    let released = purges.iter().flat_map(|purge| &purge.releases);
    let released = released.map(|it| (it.table, std::slice::from_ref(&it.edge), "go"));
    for (id, edges, when) in deleted.chain(kept).chain(released) {
        let table = graph.table(id);
        for edge in edges {
            let columns: Vec<String> = edge
                .pairs()
                .map(|(column, _)| column.name.clone())
                .collect();
            let known = indexes.iter().any(|index| {
                index.table == id && index.columns == columns && index.otherwise.is_none()
            });
            if known || table.indexed.contains(&edge.columns()) {
                continue;
            }
            indexes.push(IndexNeed {
                table: id,
                whole_columns: columns.clone(),
                columns,
                otherwise: None,
                conditions: Vec::new(),
                null: None,
                why: format!(
                    "{} is searched by the rows of {} that {when}.",
                    table.name,
                    graph.table(edge.parent).name
                ),
            });
        }
    }
    indexes.sort_by(|a, b| (a.table, &a.columns).cmp(&(b.table, &b.columns)));
    Plan { purges, indexes }
}

fn purge(graph: &Graph, index: usize, rule: &Rule) -> Purge {
    let steps: Vec<Step> = rule.order.iter().map(|id| step(graph, rule, *id)).collect();
    let releases = releases(graph, rule);
    // Keys are collected for tables that rows of this family, or rows that outlive it, name; from the root downwards.
    let collects = rule
        .order
        .iter()
        .rev()
        .copied()
        .filter(|id| {
            let mut edges = steps.iter().flat_map(|step| &step.edges);
            *id != rule.root
                && (edges.any(|edge| edge.parent == *id)
                    || releases.iter().any(|it| it.edge.parent == *id))
        })
        .collect();
    let root_kind = graph.table(rule.root).key[0].kind;
    let meets = meets(graph, rule);
    let ends = meets.iter().filter_map(|meet| meet.hops.last());
    let ends = ends.filter(|end| end.edge.names_key(graph));
    let links = rule.hierarchy.iter();
    let id_kind = links
        .flat_map(|link| [link.parent.kind, link.child.kind])
        .chain(ends.map(|end| end.edge.column.kind))
        .fold(root_kind, wider);
    Purge {
        rule: index,
        id_kind,
        collects,
        steps,
        keeps: keeps(graph, rule),
        meets,
        releases,
    }
}

fn releases(graph: &Graph, rule: &Rule) -> Vec<Release> {
    let mut releases = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        let edges = table.releases();
        for edge in edges.filter(|edge| rule.order.contains(&edge.parent)) {
            releases.push(Release {
                table: TableId(index),
                edge: edge.clone(),
                why: format!(
                    "{}: rows outlive those of {} that {} names.",
                    table.name,
                    graph.table(edge.parent).name,
                    edge.columns()
                ),
            });
        }
    }
    releases
}

fn keeps(graph: &Graph, rule: &Rule) -> Vec<Keep> {
    let mut keeps = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        for edge in table
            .keeps()
            .filter(|edge| rule.order.contains(&edge.parent))
        {
            for mut hops in ways(graph, rule, edge.parent) {
                hops.push(Hop::down(TableId(index), edge));
                keeps.push(Keep {
                    hops,
                    why: format!(
                        "A row of {} keeps the row of {} that {} names.",
                        table.name,
                        graph.table(edge.parent).name,
                        edge.columns()
                    ),
                });
            }
        }
        for (one, other) in rule.joint_parents(TableId(index), table) {
            if rule.order.contains(&other.parent) {
                continue;
            }
            for mut hops in ways(graph, rule, one.parent) {
                hops.extend([Hop::down(TableId(index), one), Hop::up(other)]);
                keeps.push(Keep {
                    hops,
                    why: format!(
                        "A row of {} that belongs to one of {} as well, by {}, goes when that is gone.",
                        table.name,
                        graph.table(other.parent).name,
                        other.columns()
                    ),
                });
            }
        }
    }
    keeps
}

fn meets(graph: &Graph, rule: &Rule) -> Vec<Meet> {
    let mut meets = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        let id = TableId(index);
        for (one, other) in rule.joint_parents(id, table) {
            if !rule.order.contains(&other.parent) {
                continue;
            }
            for up in ways(graph, rule, other.parent) {
                for mut hops in ways(graph, rule, one.parent) {
                    hops.extend([Hop::down(id, one), Hop::up(other)]);
                    hops.extend(up.iter().rev().map(|hop| Hop::up(&hop.edge)));
                    meets.push(Meet {
                        hops,
                        why: format!(
                            "{}: a row of the family of {} may belong to another's by {}.",
                            table.name,
                            one.columns(),
                            other.columns()
                        ),
                    });
                }
            }
        }
    }
    meets
}

/// Every way from the root table down to a table of its families.
fn ways(graph: &Graph, rule: &Rule, table: TableId) -> Vec<Vec<Hop>> {
    if table == rule.root {
        return vec![Vec::new()];
    }
    let parents = graph.table(table).parents();
    parents
        .filter(|edge| rule.order.contains(&edge.parent))
        .flat_map(|edge| {
            let mut ways = ways(graph, rule, edge.parent);
            for way in &mut ways {
                way.push(Hop::down(table, edge));
            }
            ways
        })
        .collect()
}

fn step(graph: &Graph, rule: &Rule, id: TableId) -> Step {
    let table = graph.table(id);
    if rule.timed.is_some() {
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!(
                "{}: rows whose {} has come.",
                table.name, rule.end_time.name
            ),
        };
    }
    if rule.single.is_some() && id == rule.root {
        let why = match rule.order.len() {
            1 => "each row for itself",
            _ => "each row with what belongs to it",
        };
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!("{}: {why}.", table.name),
        };
    }
    if id == rule.root {
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!("{}: the members themselves go last.", table.name),
        };
    }
    let edges: Vec<Edge> = table
        .parents()
        .filter(|edge| rule.order.contains(&edge.parent))
        .cloned()
        .collect();
    let mut parents: Vec<&str> = edges
        .iter()
        .map(|edge| graph.table(edge.parent).name.as_str())
        .collect();
    let both_ends = parents.len() == 2 && parents[0] == parents[1];
    parents.dedup();
    let why = if both_ends {
        format!(
            "{}: a link goes with either of its ends in {}.",
            table.name, parents[0]
        )
    } else {
        let joint = match table.with {
            With::All => " and ",
            With::Any => " or ",
        };
        format!("{}: rows belong to {}.", table.name, parents.join(joint))
    };
    Step {
        table: id,
        edges,
        why,
    }
}

/// Oldest first, without a sort: the scope, then the time, then the key. A state in front of the time would force a sort.
fn scan_index(graph: &Graph, rule: &Rule) -> IndexNeed {
    let mut columns = Vec::new();
    if let (Some(per), true) = (&rule.retention.per, rule.retention.listed()) {
        columns.push(per.name.clone());
    }
    let mut whole_columns = columns.clone();
    for condition in eligible(rule) {
        if condition.is_constant() && !whole_columns.contains(&condition.column.name) {
            whole_columns.push(condition.column.name);
        }
    }
    for column in [&rule.end_time.name, &graph.table(rule.root).key[0].name] {
        columns.push(column.clone());
        whole_columns.push(column.clone());
    }
    IndexNeed {
        table: rule.root,
        columns,
        whole_columns,
        otherwise: rule
            .otherwise
            .as_ref()
            .map(|other| (rule.end_time.name.clone(), other.name.clone())),
        conditions: eligible(rule),
        null: None,
        why: format!(
            "Rule {} reads the roots that are final, oldest first.",
            rule.name
        ),
    }
}

/// What is below a row of the root table that names it itself.
fn link_indexes(graph: &Graph, rule: &Rule) -> Vec<IndexNeed> {
    let indexed = &graph.table(rule.root).indexed;
    let links = rule
        .links_within()
        .filter(|link| !indexed.contains(&link.parent.name));
    let need = |link: &Link| IndexNeed {
        table: rule.root,
        columns: vec![link.parent.name.clone()],
        whole_columns: vec![link.parent.name.clone()],
        otherwise: None,
        conditions: Vec::new(),
        null: None,
        why: format!("Rule {} finds the rows below a row.", rule.name),
    };
    links.map(need).collect()
}

/// The newest of a group, from the end: the group, then what orders, then the key.
fn newest_index(graph: &Graph, rule: &Rule, newest: &Newest) -> IndexNeed {
    let conditions = counted(rule, newest);
    let mut columns: Vec<String> = newest.per.iter().map(|it| it.name.clone()).collect();
    let mut whole_columns = columns.clone();
    for condition in &conditions {
        let name = &condition.column.name;
        if condition.is_constant() && !whole_columns.contains(name) {
            whole_columns.push(name.clone());
        }
    }
    for column in newest.by.iter().chain(&graph.table(rule.root).key) {
        for columns in [&mut columns, &mut whole_columns] {
            if !columns.contains(&column.name) {
                columns.push(column.name.clone());
            }
        }
    }
    IndexNeed {
        table: rule.root,
        columns,
        whole_columns,
        otherwise: None,
        conditions,
        null: None,
        why: format!(
            "Rule {} keeps the newest roots of each {}.",
            rule.name,
            newest.group()
        ),
    }
}

/// The conditions that make a row of the root table one of those of which the newest stay.
pub fn counted(rule: &Rule, newest: &Newest) -> Vec<Condition> {
    rule.candidates.iter().chain(&newest.of).cloned().collect()
}

/// What a rule by time searches by: the time in each of its tables, and the root of a family where its name is given.
fn timed_indexes(graph: &Graph, rule: &Rule, timed: &Timed) -> Vec<IndexNeed> {
    let mut indexes = Vec::new();
    for member in &timed.members {
        let table = graph.table(member.table);
        let mut need = |column: &String, conditions: Vec<Condition>, why: String| {
            if table.indexed.contains(column) {
                return;
            }
            let mut whole_columns: Vec<String> = conditions
                .iter()
                .filter(|condition| condition.is_constant())
                .map(|condition| condition.column.name.clone())
                .collect();
            whole_columns.push(column.clone());
            indexes.push(IndexNeed {
                table: member.table,
                columns: vec![column.clone()],
                otherwise: None,
                conditions,
                null: None,
                whole_columns,
                why,
            });
        };
        let conditions = if member.table == rule.root {
            rule.candidates.clone()
        } else {
            Vec::new()
        };
        need(
            &rule.end_time.name,
            conditions,
            format!("Rule {} reads what is due, oldest first.", rule.name),
        );
        for column in &member.family {
            if member.table == rule.root && *column == graph.table(rule.root).key[0].name {
                continue;
            }
            need(
                column,
                Vec::new(),
                format!("Families of rule {} are found by their root.", rule.name),
            );
        }
        // A window asks whether what it would delete is named by rows of a family that stays.
        let of_families = timed.stamps.iter().filter(|stamp| stamp.of.is_none());
        let named: Vec<TableId> = of_families.flat_map(|stamp| stamp.named.clone()).collect();
        let edges = table.edges.iter().filter(|edge| {
            timed.unit == Unit::Family && named.contains(&edge.parent) && edge.further.is_empty()
        });
        for edge in edges {
            let there = Condition {
                column: edge.column.clone(),
                test: Test::NotNull,
            };
            need(
                &edge.column.name,
                vec![there],
                format!("Rule {} finds what names a row.", rule.name),
            );
        }
        let own = timed.stamps.iter().flat_map(|stamp| &stamp.own);
        let own = own.filter(|own| own.table == member.table);
        let others = timed.stamps.iter().filter(|stamp| stamp.of.is_some());
        let families = others.filter(|stamp| stamp.root == member.table);
        let families = families.filter_map(|stamp| stamp.family.as_ref());
        for column in own.map(|own| &own.column).chain(families) {
            need(
                column,
                Vec::new(),
                format!(
                    "A stamp of rule {} finds the rows of one instance.",
                    rule.name
                ),
            );
        }
    }
    indexes
}

/// What a rule of single rows goes along: an expiry time and its fallback, or the groups. Orphans are found along the key,
/// which has its index.
fn single_indexes(graph: &Graph, rule: &Rule, single: &Single) -> Vec<IndexNeed> {
    let table = graph.table(rule.root);
    let conditions = &rule.candidates;
    let equal: Vec<String> = conditions
        .iter()
        .filter(|condition| condition.is_constant())
        .map(|condition| condition.column.name.clone())
        .collect();
    let need = |along: &[&Column], null: Option<&Column>, why: String| {
        let mut columns: Vec<String> = along.iter().map(|column| column.name.clone()).collect();
        if table.indexed.contains(&columns.join(", ")) {
            return None;
        }
        for column in &table.key {
            if !columns.contains(&column.name) {
                columns.push(column.name.clone());
            }
        }
        let whole_columns = equal
            .iter()
            .chain(null.map(|column| &column.name))
            .chain(&columns)
            .cloned()
            .collect();
        Some(IndexNeed {
            table: rule.root,
            columns,
            otherwise: None,
            conditions: conditions.clone(),
            null: null.map(|column| column.name.clone()),
            whole_columns,
            why,
        })
    };
    let name = &rule.name;
    match single {
        Single::Expiry { fallback } => {
            let why = format!("Rule {name} reads what has expired, oldest first.");
            let expired = need(&[&rule.end_time], None, why);
            let fallback = fallback.as_ref().and_then(|fallback| {
                let why = format!("Rule {name} reads what has no {}.", rule.end_time.name);
                need(&[fallback], Some(&rule.end_time), why)
            });
            expired.into_iter().chain(fallback).collect()
        }
        Single::Orphan { .. } => Vec::new(),
        Single::KeepLast { group, order, .. } => {
            let along: Vec<&Column> = group.iter().chain(order).collect();
            let why = format!("Rule {name} reads group by group, the newest row last.");
            need(&along, None, why).into_iter().collect()
        }
    }
}

/// The table on which triggers refuse rows whose parent is gone or going.
#[derive(Debug)]
pub struct Guard {
    /// The table.
    pub table: TableId,
    /// What its rows name.
    pub edges: Vec<GuardedEdge>,
}

/// What a row names, and where the rows are that a batch locks before it deletes anything.
#[derive(Debug)]
pub struct GuardedEdge {
    /// The edge.
    pub edge: Edge,
    /// The root table.
    pub root: TableId,
    /// Every way from the root table down to the parent of the edge, none where that is the root table.
    pub ways: Vec<Vec<Hop>>,
}

/// The guards of a graph, sorted by table: one for each edge within the families of a rule that wants them.
pub fn guards(graph: &Graph) -> Vec<Guard> {
    let mut guards: Vec<Guard> = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        let id = TableId(index);
        let mut edges = Vec::new();
        for rule in graph.rules.iter().filter(|rule| rule.orphan_guard) {
            let of_rule = |edge: &&Edge| {
                rule.order.contains(&id) && rule.order.contains(&edge.parent) && !edge.alone
            };
            let links = rule.links_within().filter(|_| id == rule.root);
            let within = links.map(|link| link_edge(rule, link));
            for edge in table.parents().filter(of_rule).cloned().chain(within) {
                let ways = match edge.parent == rule.root {
                    true => Vec::new(),
                    false => ways(graph, rule, edge.parent),
                };
                let root = rule.root;
                let known = edges.iter().any(|it: &GuardedEdge| {
                    it.root == root
                        && it.edge.parent == edge.parent
                        && it.edge.columns() == edge.columns()
                });
                if !known {
                    edges.push(GuardedEdge { edge, root, ways });
                }
            }
        }
        if !edges.is_empty() {
            guards.push(Guard { table: id, edges });
        }
    }
    guards
}

/// A link between rows of the root table, as an edge.
fn link_edge(rule: &Rule, link: &Link) -> Edge {
    Edge {
        column: link.parent.clone(),
        parent: rule.root,
        parent_column: link.child.clone(),
        further: Vec::new(),
        none: None,
        action: Action::Delete,
        alone: false,
        cascades: false,
    }
}

/// The conditions that make a row of the root table a root that is final.
pub fn eligible(rule: &Rule) -> Vec<Condition> {
    rule.candidates
        .iter()
        .chain(&rule.r#final)
        .cloned()
        .collect()
}

fn wider(a: Kind, b: Kind) -> Kind {
    let rank = |kind| match kind {
        Kind::Smallint => 1,
        Kind::Integer => 2,
        Kind::Bigint => 3,
        Kind::Uuid | Kind::Varchar | Kind::Timestamp | Kind::Timestamptz => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}
