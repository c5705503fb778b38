//! What of a spec a database lacks, and may lack: tables, edges, rules.
//!
//! Nothing that keeps a row is left out unless the spec says that it is optional. What is not left out remains in the spec, so
//! that a comparison with the database finds it missing: to be an error is what happens to everything that nobody has thought of.

use std::collections::{BTreeMap, BTreeSet};

use super::subject::{Subject, is_optional};
use crate::fit;
use crate::graph::{Action, Edge, Graph, Link, Rule, Single, TableId, With};

/// Why something is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) text: String,
    /// Whether the spec says that it may be.
    pub(super) expected: bool,
}

/// What is left out.
#[derive(Debug, Default)]
pub(super) struct Lacks {
    pub(super) tables: BTreeMap<TableId, Why>,
    /// By their place among the rules.
    pub(super) rules: BTreeMap<usize, Why>,
    /// By table, and by their place among its edges.
    pub(super) edges: BTreeMap<(TableId, usize), String>,
}

/// Finds what is left out.
pub(super) fn find(subject: &Subject<'_>) -> Lacks {
    let mut lacks = Lacks::default();
    for (id, name, table) in subject.tables() {
        if subject.live(id).is_some() || subject.unseen.contains(&subject.graph.table(id).name) {
            continue;
        }
        let expected = is_optional(table.optional.as_ref());
        if expected || subject.asks && !holds(subject, id) && !is_needed(subject, name.get_ref()) {
            let text = "not in this database".to_owned();
            lacks.tables.insert(id, Why { text, expected });
        }
    }
    for (at, _, written, rule) in subject.rules() {
        if let Some(why) = lacks.tables.get(&rule.root) {
            let name = &subject.graph.table(rule.root).name;
            let text = format!("its rows belong to `{name}`, which is not in this database");
            let expected = why.expected;
            lacks.rules.insert(at, Why { text, expected });
        } else if is_optional(written.optional.as_ref())
            && let Some(lacking) = fit::lacking(subject.graph, rule, subject.catalog).first()
        {
            let text = match lacking.code {
                "not-a-table" => format!("`{}` {}", lacking.object, lacking.message),
                _ => format!("`{}` is not in this database", lacking.object),
            };
            let expected = true;
            lacks.rules.insert(at, Why { text, expected });
        }
    }
    // What hangs on what is left out.
    loop {
        edges(subject, &mut lacks);
        let before = lacks.tables.len();
        unreached(subject, &mut lacks);
        if lacks.tables.len() == before {
            return lacks;
        }
    }
}

/// Whether rows of a table keep others, or would, if it has another name here: then it is not left out on suspicion.
fn holds(subject: &Subject<'_>, id: TableId) -> bool {
    let table = subject.graph.table(id);
    if table.keeps().next().is_some() || !table.r#final.is_empty() {
        return true;
    }
    let name = &table.name;
    let by_tables = is_waited_for(subject.graph, id, &BTreeMap::new())
        || subject.graph.tables.iter().any(|other| {
            let mut finals = other.r#final.named.iter();
            finals.any(|named| named.edge.parent == id)
        });
    let by_rule = |rule: &Rule| {
        let needs = rule.single().into_iter().flat_map(Single::needs);
        let over = |link: &Link| link.over.as_ref().is_some_and(|over| over.table == id);
        rule.hierarchy
            .iter()
            .any(|link| link.table == id || over(link))
            || rule.last.as_ref().is_some_and(|last| last.table == id)
            || rule
                .definitions()
                .any(|definition| definition.table == *name)
            || needs.map(|need| &need.table).any(|table| table == name)
            || rule.timed().is_some_and(|timed| {
                timed
                    .references
                    .iter()
                    .any(|reference| reference.table == *name)
            })
    };
    by_tables || subject.graph.rules.iter().any(by_rule)
}

/// Whether a rule that is not optional has its roots there.
fn is_needed(subject: &Subject<'_>, name: &str) -> bool {
    subject.rules().any(|(_, _, written, _)| {
        let root = written.root.as_ref();
        root.is_some_and(|root| root.get_ref() == name) && !is_optional(written.optional.as_ref())
    })
}

/// The edges that lead to what is left out, and those that may be absent and are.
fn edges(subject: &Subject<'_>, lacks: &mut Lacks) {
    for (id, _, written) in subject.tables() {
        let texts = subject.edge_texts(written);
        let table = subject.graph.table(id);
        for (at, (edge, text)) in table.edges.iter().zip(&texts).enumerate() {
            let parent = text.table.get_ref();
            let absent = || {
                let live = subject.live(id)?;
                let own = edge.pairs().map(|(column, _)| &column.name);
                let between = edge.through.iter().flat_map(|through| &through.pairs);
                let mut columns = own.chain(between.map(|(column, _)| column));
                columns.find(|column| live.column(column).is_none())
            };
            let between = edge.through.as_ref().map(|through| through.table);
            let mut named = std::iter::once(edge.parent).chain(between);
            if named.any(|parent| lacks.tables.contains_key(&parent)) {
                let why = format!("`{parent}` is left out");
                lacks.edges.entry((id, at)).or_insert(why);
            } else if text.optional
                && let Some(column) = absent()
            {
                let why = format!("the column `{column}` is not in this database");
                lacks.edges.entry((id, at)).or_insert(why);
            }
        }
    }
}

/// Leaves out the tables that no rule reaches any more.
fn unreached(subject: &Subject<'_>, lacks: &mut Lacks) {
    let graph = subject.graph;
    let mut reached: BTreeSet<TableId> = BTreeSet::new();
    let left = |lacks: &Lacks, at: usize| lacks.rules.contains_key(&at);
    for (at, rule) in graph.rules.iter().enumerate() {
        if left(lacks, at) {
            continue;
        }
        reached.insert(rule.root);
        let members = rule.timed().into_iter().flat_map(|timed| &timed.members);
        reached.extend(members.map(|member| member.table));
    }
    let stays = |lacks: &Lacks, id: TableId, at: usize| {
        !lacks.tables.contains_key(&id) && !lacks.edges.contains_key(&(id, at))
    };
    let edges = || each_edge(graph);
    loop {
        let before = reached.len();
        for (id, at, edge) in edges() {
            if edge.action == Action::Delete
                && reached.contains(&edge.parent)
                && stays(lacks, id, at)
            {
                reached.insert(id);
            }
        }
        if reached.len() == before {
            break;
        }
    }
    let keepers: Vec<TableId> = edges()
        .filter(|(id, at, edge)| {
            edge.action != Action::Delete
                && reached.contains(&edge.parent)
                && stays(lacks, *id, *at)
        })
        .map(|(id, ..)| id)
        .collect();
    reached.extend(keepers);
    let named: Vec<TableId> = graph
        .tables
        .iter()
        .enumerate()
        .filter(|(at, _)| !lacks.tables.contains_key(&TableId(*at)))
        .flat_map(|(_, table)| &table.r#final.named)
        .map(|named| named.edge.parent)
        .collect();
    reached.extend(named);
    for (at, _) in graph.tables.iter().enumerate() {
        let id = TableId(at);
        // Where rows are there that others wait for, what is left is no spec.
        let waited_for = subject.live(id).is_some() && is_waited_for(graph, id, &lacks.tables);
        if !reached.contains(&id) && !lacks.tables.contains_key(&id) && !waited_for {
            let text = "no remaining rule reaches it".to_owned();
            let expected = true;
            lacks.tables.insert(id, Why { text, expected });
        }
    }
}

/// Whether rows of other tables are kept as long as those of this one are there: as one of their parents, or as what names them.
fn is_waited_for(graph: &Graph, id: TableId, gone: &BTreeMap<TableId, Why>) -> bool {
    let tables = graph.tables.iter().enumerate();
    let mut tables = tables.filter(|(at, _)| !gone.contains_key(&TableId(*at)));
    tables.any(|(_, other)| {
        let mut edges = other.edges.iter().filter(|edge| edge.parent == id);
        edges.any(|edge| edge.alone || other.with == With::All && other.parents().count() > 1)
    })
}

/// Every edge with its table, and its place among the edges of that.
fn each_edge(graph: &Graph) -> impl Iterator<Item = (TableId, usize, &Edge)> {
    let tables = graph.tables.iter().enumerate();
    tables.flat_map(|(id, table)| {
        let edges = table.edges.iter().enumerate();
        edges.map(move |(at, edge)| (TableId(id), at, edge))
    })
}
