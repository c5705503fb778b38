//! Where the boxes and arrows of a picture are.

use std::collections::BTreeMap;

use super::labels::{edge_label, is_hierarchy, is_within};
use crate::graph::{Edge, Graph, Rule, TableId};

/// Advance of one character of the fixed-width font, at 12 pixels.
pub(super) const CHARACTER: f64 = 7.25;

const PORT: f64 = 19.0;

const GAP: f64 = 16.0;

/// Room between two layers in which arrows bend.
const BEND: f64 = 100.0;

pub(super) const BADGE: f64 = 30.0;

/// A box, or the place where a long arrow passes a layer (`table` is none).
#[derive(Clone)]
pub(super) struct Node {
    pub(super) table: Option<TableId>,
    pub(super) layer: usize,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An arrow between two neighbouring layers.
pub(super) struct Piece {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Distance of its start from the middle of `from`.
    pub(super) offset: f64,
    pub(super) label: Option<String>,
    pub(super) hierarchy: bool,
    pub(super) last: bool,
}

/// Layers from left to right: the root, then what belongs to it, and so on.
pub(super) struct Layout {
    pub(super) nodes: Vec<Node>,
    pub(super) pieces: Vec<Piece>,
    /// Left edge of each layer.
    pub(super) lefts: Vec<f64>,
    /// Width of each layer's boxes.
    pub(super) widths: Vec<f64>,
    /// Width of the labels left of each layer.
    pub(super) labels: Vec<f64>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Layout {
    pub(super) fn of(graph: &Graph, rule: &Rule) -> Layout {
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
                .filter(|edge| edge.parent != id && is_within(rule, edge))
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
                .filter(|edge| edge.parent != id && is_within(rule, edge))
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
                .filter(|edge| edge.parent != id && is_within(rule, edge));
            let deepest = parents
                .map(|edge| layers[&edge.parent] + 1)
                .max()
                .unwrap_or(1);
            layers.insert(id, deepest.min(rule.order.len()));
        }
    }
    layers
}
