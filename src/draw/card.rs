//! What the picture of a rule shows: boxes with lines of text, and which of these lead to another box.

use std::collections::BTreeMap;

use super::labels::{Port, edge_label, is_hierarchy, is_within, order, referrers, some_kept};
use crate::graph::{Edge, Graph, Rule, Single, Strategy, TableId};
use crate::markup::width;
use crate::spec::duration;

/// Advance of one character of the fixed-width font, for each pixel of its size. No font of the list in the style is wider.
const ADVANCE: f64 = 0.61;

/// How many characters of a name or a list of columns are shown.
const LONGEST: usize = 64;

/// Sizes of the texts in pixels.
pub(super) const NAME: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;
pub(super) const TITLE: f64 = 14.0;

/// The height of a line in a box.
pub(super) const LINE: f64 = 16.0;

/// How wide a text is at most.
pub(super) fn long(text: &str, size: f64) -> f64 {
    width(text) as f64 * size * ADVANCE
}

/// Whose box it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// Of the table by whose rows the rule decides.
    Root,
    /// Of another table whose rows are deleted.
    Own,
    /// Of a table whose rows are kept.
    Referrer,
}

/// A line of a box, and where it leads.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) port: Port,
    /// The table that the arrow leads to; none: the text says it.
    pub(super) to: Option<TableId>,
}

/// A box.
#[derive(Clone, Debug)]
pub(super) struct Boxed {
    pub(super) table: TableId,
    pub(super) whose: Whose,
    pub(super) name: String,
    pub(super) key: String,
    pub(super) lines: Vec<Line>,
    /// Its place in the order of deletion.
    pub(super) number: Option<usize>,
}

impl Boxed {
    pub(super) fn height(&self) -> f64 {
        let lines = 1 + usize::from(!self.key.is_empty()) + self.lines.len();
        lines as f64 * LINE + 12.0
    }

    pub(super) fn width(&self) -> f64 {
        let lines = self.lines.iter().map(|line| long(&line.text, SMALL));
        let badge = if self.number.is_some() { 34.0 } else { 0.0 };
        let name = long(&self.name, NAME) + badge;
        let all = lines.chain([name, long(&self.key, SMALL)]);
        (all.fold(0.0, f64::max) + 24.0).ceil()
    }

    /// Where the text of a line is, below the top of the box.
    pub(super) fn baseline(&self, line: usize) -> f64 {
        let before = 1 + usize::from(!self.key.is_empty()) + line;
        before as f64 * LINE + 17.0
    }
}

/// What is drawn of a rule.
pub(super) struct Card {
    pub(super) rule: String,
    pub(super) told: String,
    pub(super) boxes: Vec<Boxed>,
}

impl Card {
    pub(super) fn of(graph: &Graph, rule: &Rule) -> Card {
        let mut boxes: BTreeMap<TableId, Boxed> = BTreeMap::new();
        for &id in &rule.order {
            let whose = if id == rule.root {
                Whose::Root
            } else {
                Whose::Own
            };
            let mut shown = boxed(graph, id, whose);
            shown.number = Some(order(rule, id));
            shown.lines = own_lines(graph, rule, id);
            boxes.insert(id, shown);
        }
        for it in referrers(graph, rule) {
            let shown = boxes
                .entry(it.child)
                .or_insert_with(|| boxed(graph, it.child, Whose::Referrer));
            shown.lines.push(Line {
                text: short(&format!("{}, {}", edge_label(it.edge), it.said)),
                port: it.port,
                to: Some(it.edge.parent),
            });
        }
        let mut card = Card {
            rule: rule.name.clone(),
            told: told(graph, rule),
            boxes: boxes.into_values().collect(),
        };
        card.settle(graph, rule);
        card
    }

    /// The layer of each box: one more than the deepest of those that it leads to; the root table is in the first one.
    pub(super) fn layers(&self, root: TableId) -> BTreeMap<TableId, usize> {
        let mut layers: BTreeMap<TableId, usize> =
            self.boxes.iter().map(|it| (it.table, 0)).collect();
        for _ in 0..self.boxes.len() {
            for it in self.boxes.iter().filter(|it| it.table != root) {
                let leads = it.lines.iter().filter_map(|line| line.to);
                let deepest = leads.map(|to| layers[&to] + 1).max();
                layers.insert(it.table, deepest.unwrap_or(0).min(self.boxes.len()));
            }
        }
        layers
    }

    /// Arrows lead from right to left only: where one would not, the text of its line says where it leads.
    fn settle(&mut self, graph: &Graph, rule: &Rule) {
        loop {
            let layers = self.layers(rule.root);
            let wrong = self.boxes.iter_mut().find_map(|it| {
                let here = layers[&it.table];
                it.lines
                    .iter_mut()
                    .find(|line| line.to.is_some_and(|to| layers[&to] >= here))
            });
            let Some(line) = wrong else {
                return;
            };
            if let Some(to) = line.to.take() {
                line.text = short(&format!("{} → {}", line.text, graph.table(to).name));
            }
        }
    }

    /// The kinds of lines that it has.
    pub(super) fn ports(&self) -> impl Iterator<Item = Port> {
        self.boxes
            .iter()
            .flat_map(|it| it.lines.iter().map(|line| line.port))
    }
}

fn boxed(graph: &Graph, id: TableId, whose: Whose) -> Boxed {
    let table = graph.table(id);
    let key: Vec<&str> = table.key.iter().map(|it| it.name.as_str()).collect();
    Boxed {
        table: id,
        whose,
        name: short(&table.name),
        key: match key.is_empty() {
            true => String::new(),
            false => short(&format!("key {}", key.join(", "))),
        },
        lines: Vec::new(),
        number: None,
    }
}

/// What a table of the rule says of others of it.
fn own_lines(graph: &Graph, rule: &Rule, id: TableId) -> Vec<Line> {
    let table = graph.table(id);
    let port = |edge: &Edge| match is_hierarchy(rule, id, edge) {
        true => Port::Link,
        false => Port::Belongs,
    };
    let edges = table.parents().filter(|edge| is_within(rule, edge));
    // A link within the root table comes below.
    let edges = edges.filter(|edge| id != rule.root || port(edge) != Port::Link);
    let mut lines: Vec<Line> = edges
        .map(|edge| Line {
            text: short(&format!(
                "{}{}{}",
                edge_label(edge),
                named(edge),
                some_kept(table)
            )),
            port: port(edge),
            to: Some(edge.parent),
        })
        .collect();
    if id == rule.root {
        lines.extend(rule.links_of_root().map(|link| Line {
            text: link.parent.name.clone(),
            port: Port::Link,
            to: Some(link.over.as_ref().map_or(rule.root, |over| over.table)),
        }));
    }
    let members = rule.timed().into_iter().flat_map(|timed| &timed.members);
    let member = members
        .filter(|member| member.table == id && id != rule.root && !member.family.is_empty())
        // Where an edge leads to the root, that says it.
        .find(|_| lines.iter().all(|line| line.to != Some(rule.root)));
    lines.extend(member.map(|member| Line {
        text: short(&format!("{} → family", member.family.join(" or "))),
        port: Port::Belongs,
        to: None,
    }));
    lines
}

/// The column by which the parent names the row, where it is the parent that does.
fn named(edge: &Edge) -> String {
    if edge.alone {
        format!(" = {}", edge.parent_column.name)
    } else {
        String::new()
    }
}

/// A name or a list that is not too long for a picture.
pub(super) fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

/// What a rule deletes, in a few words.
fn told(graph: &Graph, rule: &Rule) -> String {
    let kept = |seconds: i64| duration::show(seconds.saturating_mul(1_000));
    let after = match rule.retention.default {
        Some(seconds) => format!("{} after", kept(seconds)),
        None => "a policy's retention after".to_owned(),
    };
    let time = &rule.end_time.name;
    short(&match &rule.strategy {
        Strategy::EndTime => format!("families, {after} their end"),
        Strategy::Timed(timed) if timed.retention == 0 => format!("what is due by {time}"),
        Strategy::Timed(timed) if timed.partitioned => format!("partitions, {after} their end"),
        Strategy::Timed(_) => format!("rows, {after} {time}"),
        Strategy::Single(Single::Expiry { .. }) => format!("rows whose {time} has passed"),
        Strategy::Single(Single::Orphan { needs, .. }) => {
            let gone = needs.iter().filter_map(|chain| chain.first());
            let gone: Vec<&str> = gone.map(|need| need.table.as_str()).collect();
            format!("rows without {}", gone.join(" or "))
        }
        Strategy::Single(Single::KeepLast { keep, group, .. }) => {
            let group: Vec<&str> = group.iter().map(|it| it.name.as_str()).collect();
            match group.is_empty() {
                true => format!(
                    "all but the newest {keep} of {}",
                    graph.table(rule.root).name
                ),
                false => format!("all but the newest {keep} per {}", group.join(", ")),
            }
        }
    })
}
