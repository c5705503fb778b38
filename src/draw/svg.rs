//! The graph as a picture.

use std::fmt::Write as _;

use super::labels::{beside, order};
use super::layout::{CHARACTER, Layout, Node, Piece};
use crate::graph::{Graph, Rule, TableId};

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
        for it in beside(graph, rule) {
            let line = it.line(graph);
            let _ = writeln!(
                body,
                "  <text class=\"legend\" x=\"{MARGIN}\" y=\"{}\">{}</text>",
                tidy(y),
                xml_text(&line)
            );
            y += 18.0;
            width = width.max(line.chars().count() as f64 * CHARACTER + 2.0 * MARGIN);
        }
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

fn xml_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

const MARGIN: f64 = 24.0;

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

impl Layout {
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
        let within: Vec<String> = rule
            .links_of_root()
            .filter(|link| link.table == id)
            .map(|link| match &link.over {
                Some(over) => format!("{} by {}", link.parent.name, graph.table(over.table).name),
                None => link.parent.name.clone(),
            })
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
