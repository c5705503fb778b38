//! The foreign keys that a spec accounts for: what the server may do by itself when a row of a managed table is deleted.

use crate::graph::{Action, Edge, Graph, Unit};

/// What a foreign key does to the referring rows when the row that they refer to is deleted.
pub const ACTING: [&str; 3] = ["CASCADE", "SET NULL", "SET DEFAULT"];

/// A foreign key, if there is one on these columns, with what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// The table that refers.
    pub table: String,
    /// Its columns, sorted, each with the one that it names.
    pub pairs: Vec<(String, String)>,
    /// The table that is named.
    pub parent: String,
    /// Which of [`ACTING`] it may do; refusing is always allowed.
    pub effects: &'static [&'static str],
}

impl KnownKey {
    fn new(table: &str, parent: &str, mut pairs: Vec<(String, String)>) -> KnownKey {
        pairs.sort();
        KnownKey {
            table: table.to_owned(),
            pairs,
            parent: parent.to_owned(),
            effects: &ACTING,
        }
    }

    /// The key that is behind an edge. Rows that belong to what is deleted are deleted first, and rows that keep a root are
    /// looked for under its lock: nothing is left for the key, whatever it does. A row that is released is kept, so that
    /// nothing but SET NULL may happen to it. The key may only refuse where it would act on rows that are kept: those with the
    /// value that means "no parent", those whose own time has not come, and those that are kept; nor may it take those that
    /// come to keep a row that nobody has locked.
    pub fn of_edge(graph: &Graph, table: &str, edge: &Edge) -> KnownKey {
        let pairs = edge
            .pairs()
            .map(|(column, named)| (column.name.clone(), named.name.clone()));
        KnownKey {
            effects: match edge.action {
                _ if edge.none.is_some() => &[],
                Action::Restrict if !graph.locks(edge) => &["SET NULL"],
                Action::Delete if graph.goes_by_itself(table, edge) => &[],
                Action::Delete if graph.keeps_some(table) => &[],
                Action::Delete | Action::Restrict => &ACTING,
                Action::SetNull => &["SET NULL"],
            },
            ..KnownKey::new(table, &graph.table(edge.parent).name, pairs.collect())
        }
    }

    /// The key to a row without a key of its own, after which it is deleted.
    fn of_through(graph: &Graph, table: &str, edge: &Edge) -> Option<KnownKey> {
        let through = edge.through.as_ref()?;
        let parent = &graph.table(through.table).name;
        Some(KnownKey {
            effects: KnownKey::of_edge(graph, table, edge).effects,
            ..KnownKey::new(table, parent, through.pairs.clone())
        })
    }
}

impl Graph {
    /// Whether rows of the parent are locked before those that keep them are looked for: roots are.
    fn locks(&self, edge: &Edge) -> bool {
        let mut edges = self.table(edge.parent).edges.iter();
        self.rules.iter().any(|rule| rule.root == edge.parent)
            && edges.all(|own| own.action != Action::Delete || own.parent == edge.parent)
    }

    /// Whether some rows of a table are kept when their parents are deleted.
    fn keeps_some(&self, table: &str) -> bool {
        let mut tables = self.tables.iter();
        tables.any(|it| it.name == table && !it.kept.is_empty())
    }

    /// Whether the rows of a table go by a time of their own, and not with those that they name.
    fn goes_by_itself(&self, table: &str, edge: &Edge) -> bool {
        let timed = self.rules.iter().filter_map(|rule| rule.timed());
        let mut windows = timed.filter(|timed| timed.unit == Unit::Window);
        windows.any(|timed| {
            let mut members = timed.members.iter();
            members.clone().any(|member| member.table == edge.parent)
                && members.any(|member| self.table(member.table).name == table)
        })
    }

    /// The foreign keys that the spec accounts for: its edges, the links within root tables, and the references of rules
    /// by time.
    ///
    /// Where it is the other row that names this one (`or alone`), the key is on the other side, and no edge is it.
    pub fn known_keys(&self) -> Vec<KnownKey> {
        let edges = self.tables.iter().flat_map(|table| {
            let named = table.edges.iter().filter(|edge| !edge.alone);
            named.flat_map(|edge| {
                let through = KnownKey::of_through(self, &table.name, edge);
                std::iter::once(KnownKey::of_edge(self, &table.name, edge)).chain(through)
            })
        });
        let links = self.rules.iter().flat_map(|rule| {
            let root = &self.table(rule.root).name;
            rule.links_within().map(move |link| {
                let pair = (link.parent.name.clone(), link.child.name.clone());
                let known = KnownKey::new(root, root, vec![pair]);
                let kept = self.keeps_some(root);
                KnownKey {
                    effects: if kept { &[] } else { known.effects },
                    ..known
                }
            })
        });
        let timed = self.rules.iter().filter_map(|rule| rule.timed());
        let references = timed.flat_map(|timed| &timed.references).map(|reference| {
            let to = self.table(reference.to);
            let named = to.key.first().map(|key| key.name.clone());
            let pair = (reference.column.clone(), named.unwrap_or_default());
            KnownKey::new(&reference.table, &to.name, vec![pair])
        });
        let mut known: Vec<KnownKey> = Vec::new();
        for key in edges.chain(links).chain(references) {
            if !known.contains(&key) {
                known.push(key);
            }
        }
        known
    }
}
