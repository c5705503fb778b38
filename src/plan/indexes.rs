//! The indexes that the statements need.

use std::collections::BTreeSet;

use super::purge::{Keep, Purge};
use crate::graph::{
    Column, Condition, Epoch, Graph, Link, Newest, Rule, Single, Strategy, TableId, Test, Timed,
    Unit,
};

/// An index that a statement needs.
#[derive(Clone, Debug)]
pub struct IndexNeed {
    /// The table.
    pub table: TableId,
    /// Columns in order.
    pub columns: Vec<String>,
    /// What the index is on in place of one of the columns.
    pub instead: Option<Instead>,
    /// Conditions of a partial index.
    pub conditions: Vec<Condition>,
    /// A column that is NULL in all rows of a partial index.
    pub null: Option<String>,
    /// Columns in order where the dialect has no partial index: what is compared with one value comes first.
    pub whole_columns: Vec<String>,
    /// One sentence: becomes the comment above the statement.
    pub why: String,
    /// Whether the names of its table and its columns, one after the other, also are those of another index.
    pub alike: bool,
    /// The same where the dialect has no partial index, and does not distinguish names by their case.
    pub whole_alike: bool,
}

impl IndexNeed {
    /// What it is named after: its table, and the columns that are read.
    fn named(&self, graph: &Graph, columns: &[String]) -> String {
        let other = self.otherwise();
        let parts = columns.iter().flat_map(|column| {
            let other = other.filter(|(of, _)| *of == column);
            std::iter::once(column).chain(other.map(|(_, other)| other))
        });
        let table = std::iter::once(&graph.table(self.table).name);
        let all: Vec<&str> = table.chain(parts).map(String::as_str).collect();
        all.join("_")
    }

    /// The column that counts where another one is NULL, after that.
    fn otherwise(&self) -> Option<(&String, &String)> {
        match self.instead.as_ref()? {
            Instead {
                column,
                by: Substitute::Otherwise(other),
            } => Some((column, other)),
            _ => None,
        }
    }

    /// Whether both are one index where a dialect has no partial ones.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        let whole = |it: &Self| (it.table, it.whole_columns.clone());
        whole(self) == whole(other) && self.otherwise() == other.otherwise()
    }
}

/// Notes which indexes would have one name if that said no more than the names of their columns.
fn note_alike(graph: &Graph, indexes: &mut [IndexNeed]) {
    let is_alike = |one: &IndexNeed, other: &IndexNeed| {
        let named = |it: &IndexNeed| it.named(graph, &it.columns);
        let differ = (one.table, &one.columns) != (other.table, &other.columns)
            || one.otherwise() != other.otherwise();
        differ && named(one) == named(other)
    };
    let is_whole_alike = |one: &IndexNeed, other: &IndexNeed| {
        let named = |it: &IndexNeed| it.named(graph, &it.whole_columns).to_lowercase();
        !one.is_one_with(other) && named(one) == named(other)
    };
    let notes: Vec<(bool, bool)> = indexes
        .iter()
        .map(|one| {
            let mut others = indexes.iter();
            let alike = others.clone().any(|other| is_alike(one, other));
            (alike, others.any(|other| is_whole_alike(one, other)))
        })
        .collect();
    for (index, (alike, whole_alike)) in indexes.iter_mut().zip(notes) {
        index.alike = alike;
        index.whole_alike = whole_alike;
    }
}

/// What an index is on in place of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The column.
    pub column: String,
    /// What represents it.
    pub by: Substitute,
}

/// What represents a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Substitute {
    /// The first of it and this column that is not NULL.
    Otherwise(String),
    /// PostgreSQL: the instant that its number says. The other servers compare the numbers.
    Instant(Epoch),
}

/// What the end of a root is, where it is not a column.
fn instead(rule: &Rule) -> Option<Instead> {
    let otherwise = rule.otherwise.as_ref();
    let otherwise = otherwise.map(|other| Substitute::Otherwise(other.name.clone()));
    let counted = rule.counted();
    let number = counted.and_then(|(time, epoch)| (*time == rule.end_time).then_some(epoch));
    Some(Instead {
        column: rule.end_time.name.clone(),
        by: otherwise.or(number.map(Substitute::Instant))?,
    })
}

/// The indexes that the statements of these purges need, sorted by table and columns.
pub(super) fn needs(graph: &Graph, purges: &[Purge]) -> Vec<IndexNeed> {
    let mut indexes: Vec<IndexNeed> = graph
        .rules
        .iter()
        .flat_map(|rule| match &rule.strategy {
            Strategy::Timed(timed) => timed_indexes(graph, rule, timed),
            Strategy::Single(single) => single_indexes(graph, rule, single),
            Strategy::EndTime => std::iter::once(scan_index(graph, rule))
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
        let same = (a.table, &a.columns, &a.instead) == (b.table, &b.columns, &b.instead);
        if same {
            b.conditions
                .retain(|condition| a.conditions.contains(condition));
        }
        same
    });
    add_searched(graph, purges, &mut indexes);
    for index in &mut indexes {
        // PostgreSQL takes no text that a setting could change, and this one could.
        index
            .conditions
            .retain(|it| !matches!(it.test, Test::Printed(_)));
        // A condition and a group may be of one column, which an index can have once.
        for columns in [&mut index.columns, &mut index.whole_columns] {
            let mut seen = BTreeSet::new();
            columns.retain(|it| seen.insert(it.to_lowercase()));
        }
    }
    indexes.sort_by(|a, b| (a.table, &a.columns).cmp(&(b.table, &b.columns)));
    note_alike(graph, &mut indexes);
    indexes
}

/// Adds an index for each edge by which rows are found, unless there is one already.
fn add_searched(graph: &Graph, purges: &[Purge], indexes: &mut Vec<IndexNeed>) {
    let deleted = purges.iter().flat_map(|purge| &purge.steps);
    let deleted = deleted.map(|step| (step.table, step.edges.as_slice(), "deleted"));
    let kept = purges.iter().flat_map(|purge| &purge.keeps);
    let kept = kept.filter_map(Keep::keeper);
    let kept = kept.map(|hop| (hop.table, std::slice::from_ref(&hop.edge), "due"));
    let released = purges.iter().flat_map(|purge| &purge.releases);
    let released = released.map(|it| (it.table, std::slice::from_ref(&it.edge), "deleted"));
    for (id, edges, when) in deleted.chain(kept).chain(released) {
        let table = graph.table(id);
        for edge in edges {
            let columns: Vec<String> = edge
                .pairs()
                .map(|(column, _)| column.name.clone())
                .collect();
            let known = indexes.iter().any(|index| {
                index.table == id && index.columns == columns && index.instead.is_none()
            });
            if known || table.indexed.contains(&edge.columns()) {
                continue;
            }
            indexes.push(IndexNeed {
                alike: false,
                whole_alike: false,
                table: id,
                whole_columns: columns.clone(),
                columns,
                instead: None,
                conditions: Vec::new(),
                null: None,
                why: format!(
                    "Finds the rows of {} that name {when} rows of {}.",
                    table.name,
                    graph.table(edge.parent).name
                ),
            });
        }
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
        alike: false,
        whole_alike: false,
        table: rule.root,
        columns,
        whole_columns,
        instead: instead(rule),
        conditions: eligible(rule),
        null: None,
        why: format!(
            "Rule {} reads its final roots by it, oldest first.",
            rule.name
        ),
    }
}

/// What is below a row of the root table that names it itself.
fn link_indexes(graph: &Graph, rule: &Rule) -> Vec<IndexNeed> {
    let indexed = &graph.table(rule.root).indexed;
    let links = rule
        .links_of_root()
        .filter(|link| !indexed.contains(&link.parent.name));
    let need = |link: &Link| IndexNeed {
        alike: false,
        whole_alike: false,
        table: rule.root,
        columns: vec![link.parent.name.clone()],
        whole_columns: vec![link.parent.name.clone()],
        instead: None,
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
        alike: false,
        whole_alike: false,
        table: rule.root,
        columns,
        whole_columns,
        instead: None,
        conditions,
        null: None,
        why: format!(
            "Rule {} keeps the newest roots of each {}.",
            rule.name,
            newest.group()
        ),
    }
}

/// The conditions that make a row of the root table one of those of which the newest are kept.
pub fn counted(rule: &Rule, newest: &Newest) -> Vec<Condition> {
    rule.candidates.iter().chain(&newest.of).cloned().collect()
}

/// What a rule by time searches by: the time in each of its tables, and the root of a family where its name is given.
fn timed_indexes(graph: &Graph, rule: &Rule, timed: &Timed) -> Vec<IndexNeed> {
    let mut indexes = Vec::new();
    // A partition is read from end to end, and dropped.
    if timed.partitioned {
        return indexes;
    }
    for member in &timed.members {
        let table = graph.table(member.table);
        let mut need = |columns: &[&String], conditions: Vec<Condition>, why: String| {
            let columns: Vec<String> = columns.iter().map(|it| (*it).clone()).collect();
            if table.indexed.contains(&columns.join(", ")) {
                return;
            }
            let mut whole_columns: Vec<String> = conditions
                .iter()
                .filter(|condition| condition.is_constant())
                .map(|condition| condition.column.name.clone())
                .collect();
            whole_columns.extend(columns.iter().cloned());
            indexes.push(IndexNeed {
                alike: false,
                whole_alike: false,
                table: member.table,
                // A rule of several tables has a time of its own kind.
                instead: instead(rule).filter(|it| columns.contains(&it.column)),
                columns,
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
            &[&rule.end_time.name],
            conditions,
            format!("Rule {} reads what is due, oldest first.", rule.name),
        );
        for column in &member.family {
            if member.table == rule.root && *column == graph.table(rule.root).key[0].name {
                continue;
            }
            need(
                &[column],
                Vec::new(),
                format!("Families of rule {} are found by their root.", rule.name),
            );
        }
        // A batch asks whether what it would delete is named by rows that are kept.
        let others: Vec<TableId> = timed.others().map(|stamp| stamp.root).collect();
        let mut edges = rule.crossings(member, table);
        edges.extend(table.parents().filter(|edge| {
            let is_asked = edge.parent != rule.root && !others.contains(&edge.parent);
            timed.unit == Unit::Family && is_asked
        }));
        for edge in edges {
            let there = Condition {
                column: edge.column.clone(),
                test: Test::NotNull,
            };
            let columns: Vec<&String> = edge.pairs().map(|(column, _)| &column.name).collect();
            let why = format!("Rule {} finds the rows that name a row.", rule.name);
            need(&columns, vec![there], why);
        }
        let own = timed.stamps.iter().flat_map(|stamp| &stamp.own);
        let own = own.filter(|own| own.table == member.table);
        let others = timed.stamps.iter().filter(|stamp| stamp.of.is_some());
        let families = others.filter(|stamp| stamp.root == member.table);
        let families = families.filter_map(|stamp| stamp.family.as_ref());
        for column in own.map(|own| &own.column).chain(families) {
            need(
                &[column],
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

/// What a rule of single rows follows: an expiry time and its fallback, or the groups. Orphans are found along the key,
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
            alike: false,
            whole_alike: false,
            table: rule.root,
            columns,
            instead: instead(rule).filter(|it| along.iter().any(|column| column.name == it.column)),
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

/// The conditions that make a row of the root table a root that is final.
pub fn eligible(rule: &Rule) -> Vec<Condition> {
    rule.candidates
        .iter()
        .chain(&rule.r#final)
        .cloned()
        .collect()
}
