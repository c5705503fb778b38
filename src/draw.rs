//! Drawings of a graph: a tree for the terminal, Graphviz, Mermaid, and a picture with a layout of its own.
//!
//! Pure functions from a graph to text. An arrow leads from a table to what its rows belong to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::graph::{Edge, Graph, Literal, Rule, Table, TableId};

/// Draws trees for the terminal, one per rule, with the delete order in brackets.
pub fn text(graph: &Graph) -> String {
    let mut out = format!("{}: {}\n", graph.name, graph.title);
    for rule in &graph.rules {
        let _ = write!(out, "\nrule {}\n\n", rule.name);
        let mut seen = Vec::new();
        branch(graph, rule, rule.root, "", "", &[], &mut seen, &mut out);
        // A rule by time may have tables beside the families.
        for &id in rule.order.iter().rev() {
            if !seen.contains(&id) {
                branch(graph, rule, id, "", "", &[], &mut seen, &mut out);
            }
        }
        out += &beside(graph, rule);
    }
    if !graph.ignored.is_empty() {
        out += "\nleft alone\n\n";
        for ignored in &graph.ignored {
            let _ = writeln!(out, "{}: {}", ignored.table, ignored.reason);
        }
    }
    out += "\n[n] is the delete order; the names after a table are its columns that name the row it belongs to\n";
    out
}

/// What keeps families of a rule, or lets go of them, a line each.
fn beside(graph: &Graph, rule: &Rule) -> String {
    let mut out = String::new();
    for table in &graph.tables {
        for edge in table.keeps().filter(|edge| place_of(rule, edge)) {
            let (column, parent) = (edge_label(edge), &graph.table(edge.parent).name);
            let _ = writeln!(out, "\n{}: {column}  keeps {parent}", table.name);
        }
        for edge in table.releases().filter(|edge| place_of(rule, edge)) {
            let (column, parent) = (edge_label(edge), &graph.table(edge.parent).name);
            let _ = writeln!(out, "\n{}: {column}  lets go of {parent}", table.name);
        }
    }
    out
}

/// Draws the graph in the language of Graphviz.
pub fn dot(graph: &Graph) -> String {
    let mut out = format!("digraph {} {{\n", dot_text(&graph.name));
    out += "    rankdir=RL;\n    node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=monospace];\n";
    out += "    edge [fontname=monospace, fontsize=10];\n";
    for (at, rule) in graph.rules.iter().enumerate() {
        let _ = write!(
            out,
            "\n    subgraph cluster_{at} {{\n        label={};\n",
            dot_text(&rule.name)
        );
        for &id in &rule.order {
            let label = format!("{}. {}", order(rule, id), heading(graph.table(id)));
            let fill = if id == rule.root {
                ", fillcolor=\"#fde68a\""
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "        r{at}_t{} [label={}{fill}];",
                id.0,
                dot_text(&label)
            );
        }
        for arrow in arrows(graph, rule) {
            let style = if arrow.hierarchy {
                ", style=dashed"
            } else {
                ""
            };
            let (child, parent, label) = (arrow.child.0, arrow.parent.0, dot_text(&arrow.label));
            let _ = writeln!(
                out,
                "        r{at}_t{child} -> r{at}_t{parent} [label={label}{style}];"
            );
        }
        out += "    }\n";
    }
    out += "}\n";
    out
}

/// Draws the graph in the language of Mermaid, for Markdown.
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart RL\n");
    for (at, rule) in graph.rules.iter().enumerate() {
        let _ = writeln!(out, "    subgraph r{at} [\"{}\"]", mermaid_text(&rule.name));
        for &id in &rule.order {
            let label = format!("{}. {}", order(rule, id), heading(graph.table(id)));
            let _ = writeln!(out, "        r{at}_t{}[\"{}\"]", id.0, mermaid_text(&label));
        }
        for arrow in arrows(graph, rule) {
            let line = if arrow.hierarchy { "-.->" } else { "-->" };
            let (child, parent, label) =
                (arrow.child.0, arrow.parent.0, mermaid_text(&arrow.label));
            let _ = writeln!(
                out,
                "        r{at}_t{child} {line}|\"{label}\"| r{at}_t{parent}"
            );
        }
        out += "    end\n";
        let _ = writeln!(
            out,
            "    style r{at}_t{} fill:#fde68a,stroke:#b45309",
            rule.root.0
        );
    }
    out
}

/// Draws the graph as a picture.
pub fn svg(graph: &Graph) -> String {
    let mut body = String::new();
    let (mut width, mut y) = (640.0_f64, MARGIN);
    for rule in &graph.rules {
        let layout = Layout::of(graph, rule);
        let heading = format!("{}: rule {}", graph.title, rule.name);
        let _ = writeln!(
            body,
            "  <text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
            tidy(y + 16.0),
            xml_text(&heading)
        );
        y += 44.0;
        let _ = writeln!(body, "  <g transform=\"translate({MARGIN} {})\">", tidy(y));
        layout.paint(graph, rule, &mut body);
        body += "  </g>\n";
        y += layout.height + 24.0;
        width = width.max(layout.width + 2.0 * MARGIN);
    }
    paint_legend(
        y,
        graph.rules.iter().any(|rule| !rule.hierarchy.is_empty()),
        &mut body,
    );
    y += 28.0 + MARGIN;
    let (width, height) = (tidy(width), tidy(y));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         {STYLE}  <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n"
    )
}

/// One arrow: a row of `child` belongs to the row of `parent` that the labelled column names.
struct Arrow {
    child: TableId,
    parent: TableId,
    label: String,
    hierarchy: bool,
}

fn arrows(graph: &Graph, rule: &Rule) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for &child in &rule.order {
        for edge in graph
            .table(child)
            .parents()
            .filter(|edge| rule.order.contains(&edge.parent))
        {
            let hierarchy = is_hierarchy(rule, child, edge);
            arrows.push(Arrow {
                child,
                parent: edge.parent,
                label: edge_label(edge),
                hierarchy,
            });
        }
    }
    arrows.extend(rule.links_within().map(|link| Arrow {
        child: rule.root,
        parent: rule.root,
        label: link.parent.name.clone(),
        hierarchy: true,
    }));
    arrows
}

fn is_hierarchy(rule: &Rule, table: TableId, edge: &Edge) -> bool {
    rule.hierarchy.iter().any(|link| {
        link.table == table && [&link.parent.name, &link.child.name].contains(&&edge.column.name)
    })
}

fn edge_label(edge: &Edge) -> String {
    match &edge.none {
        None => edge.columns(),
        Some(Literal::Integer(value)) => format!("{} unless {value}", edge.column.name),
        Some(Literal::Text(value)) => format!("{} unless '{value}'", edge.column.name),
    }
}

fn heading(table: &Table) -> String {
    let key: Vec<&str> = table
        .key
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    if key.is_empty() {
        table.name.clone()
    } else {
        format!("{} ({})", table.name, key.join(", "))
    }
}

/// Position in the delete order, from 1.
fn order(rule: &Rule, id: TableId) -> usize {
    rule.order
        .iter()
        .position(|&other| other == id)
        .map_or(0, |at| at + 1)
}

#[expect(
    clippy::too_many_arguments,
    reason = "a recursion over one tree, in one place"
)]
fn branch(
    graph: &Graph,
    rule: &Rule,
    id: TableId,
    lead: &str,
    fork: &str,
    edges: &[&Edge],
    seen: &mut Vec<TableId>,
    out: &mut String,
) {
    let table = graph.table(id);
    let again = seen.contains(&id);
    let columns: Vec<String> = edges.iter().map(|edge| edge_label(edge)).collect();
    let _ = write!(out, "{lead}{fork}[{}] {}", order(rule, id), heading(table));
    if !columns.is_empty() {
        let _ = write!(out, "  {}", columns.join(", "));
    }
    if let Some(link) = rule.hierarchy.iter().find(|link| link.table == id) {
        let _ = write!(
            out,
            "  (hierarchy: {} has {})",
            link.parent.name, link.child.name
        );
    }
    out.push_str(if again { "  (see above)\n" } else { "\n" });
    if again {
        return;
    }
    seen.push(id);
    let lead = match fork {
        "" => lead.to_owned(),
        "└─ " => format!("{lead}   "),
        _ => format!("{lead}│  "),
    };
    let children: Vec<TableId> = rule
        .order
        .iter()
        .copied()
        .filter(|&child| child != id && graph.table(child).parents().any(|edge| edge.parent == id))
        .collect();
    for (at, &child) in children.iter().enumerate() {
        let edges: Vec<&Edge> = graph
            .table(child)
            .parents()
            .filter(|edge| edge.parent == id)
            .collect();
        let fork = if at + 1 == children.len() {
            "└─ "
        } else {
            "├─ "
        };
        branch(graph, rule, child, &lead, fork, &edges, seen, out);
    }
}

fn dot_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn mermaid_text(text: &str) -> String {
    text.replace('&', "#amp;")
        .replace('"', "#quot;")
        .replace('<', "#lt;")
        .replace('>', "#gt;")
}

fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

const MARGIN: f64 = 24.0;
/// Advance of one character of the fixed-width font, at 12 pixels.
const CHARACTER: f64 = 7.25;
const PORT: f64 = 19.0;
const GAP: f64 = 16.0;
/// Room between two layers in which arrows bend.
const BEND: f64 = 100.0;
const BADGE: f64 = 30.0;

const STYLE: &str = "  <style>
    .paper { fill: #ffffff }
    text { font: 12px 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2937 }
    .title { font: bold 15px system-ui, 'DejaVu Sans', sans-serif }
    .legend { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #4b5563 }
    .box { fill: #f8fafc; stroke: #94a3b8; stroke-width: 1.2 }
    .root { fill: #fef3c7; stroke: #b45309; stroke-width: 2 }
    .name { font-weight: bold }
    .key { fill: #64748b; font-size: 11px }
    .badge { fill: #334155 }
    .number { fill: #ffffff; font-size: 11px; text-anchor: middle }
    .arrow { fill: none; stroke: #64748b; stroke-width: 1.3 }
    .link { stroke: #b45309; stroke-dasharray: 5 3 }
    .head { fill: #64748b }
    .column { font-size: 11px; fill: #475569 }
    .linked { fill: #b45309 }
  </style>
";

/// A box, or the place where a long arrow passes a layer (`table` is none).
#[derive(Clone)]
struct Node {
    table: Option<TableId>,
    layer: usize,
    y: f64,
    width: f64,
    height: f64,
}

/// An arrow between two neighbouring layers.
struct Piece {
    from: usize,
    to: usize,
    /// Distance of its start from the middle of `from`.
    offset: f64,
    label: Option<String>,
    hierarchy: bool,
    last: bool,
}

/// Layers from left to right: the root, then what belongs to it, and so on.
struct Layout {
    nodes: Vec<Node>,
    pieces: Vec<Piece>,
    /// Left edge of each layer.
    lefts: Vec<f64>,
    /// Width of each layer's boxes.
    widths: Vec<f64>,
    /// Width of the labels left of each layer.
    labels: Vec<f64>,
    width: f64,
    height: f64,
}

impl Layout {
    fn of(graph: &Graph, rule: &Rule) -> Layout {
        let layers = layers(graph, rule);
        let mut nodes: Vec<Node> = Vec::new();
        let mut place: BTreeMap<TableId, usize> = BTreeMap::new();
        for &id in rule.order.iter().rev() {
            let table = graph.table(id);
            let key: usize = table
                .key
                .iter()
                .map(|column| column.name.chars().count() + 2)
                .sum();
            let characters = table.name.chars().count().max(key);
            let ports = table
                .parents()
                .filter(|edge| edge.parent != id && place_of(rule, edge))
                .count() as f64;
            place.insert(id, nodes.len());
            nodes.push(Node {
                table: Some(id),
                layer: layers[&id],
                y: 0.0,
                width: characters as f64 * CHARACTER + BADGE + 22.0,
                height: (ports * PORT + 10.0).max(if table.key.is_empty() { 34.0 } else { 44.0 }),
            });
        }
        let mut pieces = Vec::new();
        for &id in rule.order.iter().rev() {
            let from = place[&id];
            let mut edges: Vec<&Edge> = graph
                .table(id)
                .parents()
                .filter(|edge| edge.parent != id && place_of(rule, edge))
                .collect();
            edges.sort_by_key(|edge| layers[&edge.parent]);
            for (port, edge) in edges.iter().enumerate() {
                let offset = (port as f64 - (edges.len() as f64 - 1.0) / 2.0) * PORT;
                let hierarchy = is_hierarchy(rule, id, edge);
                let (mut from, mut offset, mut label) = (from, offset, Some(edge_label(edge)));
                for layer in (layers[&edge.parent] + 1..layers[&id]).rev() {
                    nodes.push(Node {
                        table: None,
                        layer,
                        y: 0.0,
                        width: 0.0,
                        height: 12.0,
                    });
                    let to = nodes.len() - 1;
                    pieces.push(Piece {
                        from,
                        to,
                        offset,
                        label: label.take(),
                        hierarchy,
                        last: false,
                    });
                    (from, offset) = (to, 0.0);
                }
                pieces.push(Piece {
                    from,
                    to: place[&edge.parent],
                    offset,
                    label,
                    hierarchy,
                    last: true,
                });
            }
        }
        let mut layout = Layout {
            nodes,
            pieces,
            lefts: Vec::new(),
            widths: Vec::new(),
            labels: Vec::new(),
            width: 0.0,
            height: 0.0,
        };
        layout.place_columns();
        layout.place_rows();
        layout.sort_ports();
        layout
    }

    fn place_columns(&mut self) {
        let count = self
            .nodes
            .iter()
            .map(|node| node.layer + 1)
            .max()
            .unwrap_or(0);
        let mut x = 0.0;
        for layer in 0..count {
            let widest = self
                .nodes
                .iter()
                .filter(|node| node.layer == layer)
                .map(|node| node.width)
                .fold(0.0, f64::max);
            let label = self
                .pieces
                .iter()
                .filter(|piece| self.nodes[piece.from].layer == layer)
                .filter_map(|piece| piece.label.as_ref())
                .map(|label| label.chars().count() as f64 * CHARACTER * 11.0 / 12.0 + 12.0)
                .fold(0.0, f64::max);
            x += if label > 0.0 { label + BEND } else { 0.0 };
            self.labels.push(label);
            self.lefts.push(x);
            self.widths.push(widest);
            x += widest;
        }
        self.width = x;
    }

    /// Orders each layer by what its boxes are connected with, then moves each box near those, without overlaps.
    fn place_rows(&mut self) {
        let count = self.lefts.len();
        let mut order: Vec<Vec<usize>> = (0..count)
            .map(|layer| {
                (0..self.nodes.len())
                    .filter(|&node| self.nodes[node].layer == layer)
                    .collect()
            })
            .collect();
        for layer in &order {
            self.stack(layer, None);
        }
        for sweep in 0..12 {
            let upwards = sweep % 2 == 1;
            for step in 0..count {
                let layer = if upwards { count - 1 - step } else { step };
                let wish = self.wishes(&order[layer], upwards);
                order[layer].sort_by(|a, b| wish[a].total_cmp(&wish[b]));
                let layer = order[layer].clone();
                self.stack(&layer, Some(&wish));
            }
        }
        let top = self
            .nodes
            .iter()
            .map(|node| node.y - node.height / 2.0)
            .fold(f64::INFINITY, f64::min);
        for node in &mut self.nodes {
            node.y -= top;
        }
        self.height = self
            .nodes
            .iter()
            .map(|node| node.y + node.height / 2.0)
            .fold(0.0, f64::max);
    }

    /// Lets the arrows of one box start in the order in which they end, so that they do not cross at once.
    fn sort_ports(&mut self) {
        for node in 0..self.nodes.len() {
            let mut own: Vec<usize> = (0..self.pieces.len())
                .filter(|&piece| self.pieces[piece].from == node)
                .collect();
            let mut offsets: Vec<f64> =
                own.iter().map(|&piece| self.pieces[piece].offset).collect();
            offsets.sort_by(f64::total_cmp);
            own.sort_by(|&a, &b| {
                let end = |piece: usize| self.nodes[self.pieces[piece].to].y;
                end(a).total_cmp(&end(b))
            });
            for (piece, offset) in own.into_iter().zip(offsets) {
                self.pieces[piece].offset = offset;
            }
        }
    }

    /// Where each box would like to be: amid what it is connected with on one side, or where it is.
    fn wishes(&self, layer: &[usize], from_children: bool) -> BTreeMap<usize, f64> {
        layer
            .iter()
            .map(|&node| {
                let near: Vec<f64> = self
                    .pieces
                    .iter()
                    .filter_map(|piece| match from_children {
                        true if piece.to == node => Some(self.nodes[piece.from].y + piece.offset),
                        false if piece.from == node => Some(self.nodes[piece.to].y - piece.offset),
                        _ => None,
                    })
                    .collect();
                let own = self.nodes[node].y;
                let wish = if near.is_empty() {
                    own
                } else {
                    near.iter().sum::<f64>() / near.len() as f64
                };
                // The own place counts a little, so that equal wishes keep their order.
                (node, wish * 0.9 + own * 0.1)
            })
            .collect()
    }

    fn stack(&mut self, layer: &[usize], wish: Option<&BTreeMap<usize, f64>>) {
        let mut bottom = f64::NEG_INFINITY;
        let mut off = 0.0;
        for &node in layer {
            let half = self.nodes[node].height / 2.0;
            let wished = wish.map_or(0.0, |wish| wish[&node]);
            let y = wished.max(bottom + GAP + half);
            off += y - wished;
            self.nodes[node].y = y;
            bottom = y + half;
        }
        if wish.is_some() {
            let shift = off / layer.len().max(1) as f64;
            for &node in layer {
                self.nodes[node].y -= shift;
            }
        }
    }

    fn paint(&self, graph: &Graph, rule: &Rule, out: &mut String) {
        for piece in &self.pieces {
            self.paint_arrow(piece, out);
        }
        for node in &self.nodes {
            if let Some(id) = node.table {
                self.paint_box(graph, rule, node, id, out);
            }
        }
    }

    fn paint_arrow(&self, piece: &Piece, out: &mut String) {
        let (from, to) = (&self.nodes[piece.from], &self.nodes[piece.to]);
        let class = if piece.hierarchy {
            "arrow link"
        } else {
            "arrow"
        };
        let start = self.lefts[from.layer];
        let y = from.y + piece.offset;
        // All arrows of a layer bend left of its longest label, so that none crosses a text.
        let bend = start - self.labels[from.layer];
        let right = self.lefts[to.layer]
            + if to.table.is_some() {
                to.width
            } else {
                self.widths[to.layer]
            };
        let end = if piece.last { right + 8.0 } else { right };
        let middle = (bend + end) / 2.0;
        let mut path = String::new();
        if from.table.is_none() {
            // Through the layer that a long arrow passes.
            let _ = write!(
                path,
                "M{} {} H{} ",
                tidy(start + self.widths[from.layer]),
                tidy(y),
                tidy(start)
            );
        } else {
            let _ = write!(path, "M{} {} ", tidy(start), tidy(y));
        }
        let _ = write!(
            path,
            "H{} C{} {} {} {} {} {}",
            tidy(bend),
            tidy(middle),
            tidy(y),
            tidy(middle),
            tidy(to.y),
            tidy(end),
            tidy(to.y)
        );
        let _ = writeln!(out, "    <path class=\"{class}\" d=\"{path}\"/>");
        if piece.last {
            let (tip, y) = (tidy(right), to.y);
            let _ = writeln!(
                out,
                "    <path class=\"head\" d=\"M{tip} {} l9 -4.5 v9 z\"/>",
                tidy(y)
            );
        }
        if let Some(label) = &piece.label {
            let width = label.chars().count() as f64 * CHARACTER * 11.0 / 12.0 + 6.0;
            let class = if piece.hierarchy {
                "column linked"
            } else {
                "column"
            };
            let _ = writeln!(
                out,
                "    <text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
                tidy(start - width),
                tidy(y - 4.0),
                xml_text(label)
            );
        }
    }

    fn paint_box(&self, graph: &Graph, rule: &Rule, node: &Node, id: TableId, out: &mut String) {
        let table = graph.table(id);
        let (x, top) = (self.lefts[node.layer], node.y - node.height / 2.0);
        let within: Vec<&str> = rule
            .links_within()
            .filter(|link| link.table == id)
            .map(|link| link.parent.name.as_str())
            .collect();
        if !within.is_empty() {
            // Rows that name another of the same table: a loop on the box.
            let _ = writeln!(
                out,
                "    <path class=\"arrow link\" d=\"M{} {} v-14 h-24 v6\"/>\n    <path class=\"head\" d=\"M{} {} l-4.5 -9 h9 z\"/>\n    \
                 <text class=\"column linked\" x=\"{}\" y=\"{}\">{}</text>",
                tidy(x + 36.0),
                tidy(top),
                tidy(x + 12.0),
                tidy(top),
                tidy(x + 42.0),
                tidy(top - 5.0),
                xml_text(&within.join(", "))
            );
        }
        let class = if id == rule.root { "box root" } else { "box" };
        let _ = writeln!(
            out,
            "    <rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>",
            tidy(x),
            tidy(top),
            tidy(node.width),
            tidy(node.height)
        );
        let badge = x + node.width - 18.0;
        let _ = writeln!(
            out,
            "    <circle class=\"badge\" cx=\"{}\" cy=\"{}\" r=\"10\"/>",
            tidy(badge),
            tidy(node.y)
        );
        let _ = writeln!(
            out,
            "    <text class=\"number\" x=\"{}\" y=\"{}\">{}</text>",
            tidy(badge),
            tidy(node.y + 4.0),
            order(rule, id)
        );
        let key: Vec<&str> = table
            .key
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let name = if key.is_empty() {
            node.y + 4.0
        } else {
            node.y - 3.0
        };
        let _ = writeln!(
            out,
            "    <text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
            tidy(x + 10.0),
            tidy(name),
            xml_text(&table.name)
        );
        if !key.is_empty() {
            let _ = writeln!(
                out,
                "    <text class=\"key\" x=\"{}\" y=\"{}\">{}</text>",
                tidy(x + 10.0),
                tidy(node.y + 13.0),
                xml_text(&key.join(", "))
            );
        }
    }
}

fn place_of(rule: &Rule, edge: &Edge) -> bool {
    rule.order.contains(&edge.parent)
}

/// The layer of each table: one more than the deepest of its parents.
fn layers(graph: &Graph, rule: &Rule) -> BTreeMap<TableId, usize> {
    let mut layers: BTreeMap<TableId, usize> = rule.order.iter().map(|&id| (id, 0)).collect();
    // Parents come after children in the delete order, so one walk from the end would do; a few more do no harm
    // should an order be out of line.
    for _ in 0..rule.order.len() {
        for &id in rule.order.iter().rev().filter(|&&id| id != rule.root) {
            let parents = graph
                .table(id)
                .parents()
                .filter(|edge| edge.parent != id && place_of(rule, edge));
            let deepest = parents
                .map(|edge| layers[&edge.parent] + 1)
                .max()
                .unwrap_or(1);
            layers.insert(id, deepest.min(rule.order.len()));
        }
    }
    layers
}

fn paint_legend(y: f64, hierarchy: bool, out: &mut String) {
    let y = y + 8.0;
    let _ = writeln!(
        out,
        "  <path class=\"arrow\" d=\"M{} {} h-24\"/>\n  <path class=\"head\" d=\"M{MARGIN} {} l9 -4.5 v9 z\"/>\n  \
         <text class=\"legend\" x=\"{}\" y=\"{}\">a row goes with the row that its column names</text>",
        MARGIN + 32.0,
        tidy(y),
        tidy(y),
        MARGIN + 42.0,
        tidy(y + 4.0)
    );
    let x = MARGIN + 352.0;
    let _ = writeln!(
        out,
        "  <circle class=\"badge\" cx=\"{x}\" cy=\"{}\" r=\"8\"/>\n  <text class=\"legend\" x=\"{}\" y=\"{}\">delete order</text>",
        tidy(y),
        x + 16.0,
        tidy(y + 4.0)
    );
    if hierarchy {
        let x = x + 130.0;
        let _ = writeln!(
            out,
            "  <path class=\"arrow link\" d=\"M{x} {} h32\"/>\n  <text class=\"legend\" x=\"{}\" y=\"{}\">links a member to its descendants</text>",
            tidy(y),
            x + 42.0,
            tidy(y + 4.0)
        );
    }
}

/// A coordinate with at most one digit after the point, so that a picture has a stable text.
fn tidy(value: f64) -> f64 {
    let value = (value * 10.0).round() / 10.0;
    if value == 0.0 { 0.0 } else { value }
}
