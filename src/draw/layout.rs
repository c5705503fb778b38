//! Where the boxes and arrows of a picture are.

use std::collections::BTreeMap;

use super::card::{Boxed, Card, TITLE, long};
use super::labels::Port;
use crate::graph::TableId;

/// Room around what a card holds.
pub(super) const PAD: f64 = 14.0;

/// Height of the two lines above it.
pub(super) const HEAD: f64 = 46.0;

/// Room between boxes of a layer.
const GAP: f64 = 12.0;

/// Room between two layers, in which arrows bend.
const BEND: f64 = 60.0;

/// How wide a card becomes at most by boxes without arrows, and a row of cards by cards.
pub(super) const WIDE: f64 = 1140.0;

/// A box, or the place where a long arrow passes a layer (`shown` is none).
struct Node {
    shown: Option<usize>,
    layer: usize,
    y: f64,
    height: f64,
}

/// An arrow between two neighbouring layers.
struct Piece {
    from: usize,
    to: usize,
    /// Distance of its start from the middle of `from`.
    offset: f64,
    /// The arrow that it is a piece of: of whose boxes, by which line.
    of: (usize, usize),
    last: bool,
}

/// Where a box is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An arrow, from the line of a box over the places where it passes layers to the box that it names.
#[derive(Clone, Debug)]
pub(super) struct Arrow {
    pub(super) port: Port,
    /// Points from right to left: two for each stretch, which is straight where both have the same height.
    pub(super) points: Vec<(f64, f64)>,
}

/// A card with places: boxes in the order of the card.
pub(super) struct Layout {
    pub(super) boxes: Vec<Area>,
    pub(super) arrows: Vec<Arrow>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Layout {
    /// Layers from left to right: the root, then what belongs to it, and so on; below them, what no arrow connects.
    pub(super) fn of(card: &Card, root: TableId) -> Layout {
        let layers = card.layers(root);
        let at: BTreeMap<TableId, usize> = card.boxes.iter().map(|it| it.table).zip(0..).collect();
        let named: Vec<TableId> = card
            .boxes
            .iter()
            .flat_map(|it| it.lines.iter().filter_map(|line| line.to))
            .collect();
        let is_loose =
            |it: &Boxed| it.table != root && layers[&it.table] == 0 && !named.contains(&it.table);
        let mut net = Net::default();
        for (index, it) in card.boxes.iter().enumerate().filter(|it| !is_loose(it.1)) {
            net.place.insert(index, net.nodes.len());
            net.nodes.push(Node {
                shown: Some(index),
                layer: layers[&it.table],
                y: 0.0,
                height: it.height(),
            });
        }
        for (index, it) in card.boxes.iter().enumerate() {
            for (line, to) in it.lines.iter().enumerate() {
                if let Some(to) = to.to {
                    let half = it.height() / 2.0;
                    let offset = it.baseline(line) - 4.0 - half;
                    net.connect(index, line, at[&to], offset);
                }
            }
        }
        net.place_rows();
        let mut layout = net.laid_out(card);
        let loose: Vec<usize> = (0..card.boxes.len())
            .filter(|index| is_loose(&card.boxes[*index]))
            .collect();
        layout.add_grid(card, &loose);
        let title = long(&card.rule, TITLE).max(long(&card.told, super::card::SMALL));
        layout.width = (layout.width.max(title) + 2.0 * PAD).ceil();
        layout.height = (layout.height + HEAD + 2.0 * PAD).ceil();
        for area in &mut layout.boxes {
            area.x += PAD;
            area.y += PAD + HEAD;
        }
        for point in layout.arrows.iter_mut().flat_map(|it| &mut it.points) {
            point.0 += PAD;
            point.1 += PAD + HEAD;
        }
        layout
    }

    /// Places boxes that no arrow leads to or from in rows below the others.
    fn add_grid(&mut self, card: &Card, loose: &[usize]) {
        let boxes = loose.iter().map(|index| &card.boxes[*index]);
        let width = boxes.map(Boxed::width).fold(0.0, f64::max);
        if loose.is_empty() {
            return;
        }
        // As many columns as fit, and no more than make rows of about the same length.
        let fit = ((WIDE - 2.0 * PAD + GAP) / (width + GAP)).floor().max(1.0);
        let rows = (loose.len() as f64 / fit).ceil();
        let columns = (loose.len() as f64 / rows).ceil() as usize;
        let mut y = self.height + if self.height > 0.0 { GAP } else { 0.0 };
        for row in loose.chunks(columns) {
            let heights = row.iter().map(|index| card.boxes[*index].height());
            let height = heights.fold(0.0, f64::max);
            for (column, index) in row.iter().enumerate() {
                let x = column as f64 * (width + GAP);
                self.boxes[*index] = Area {
                    x,
                    y,
                    width,
                    height,
                };
                self.width = self.width.max(x + width);
            }
            self.height = y + height;
            y += height + GAP;
        }
    }
}

/// Boxes and arrows in layers, before they have places from left to right.
#[derive(Default)]
struct Net {
    nodes: Vec<Node>,
    pieces: Vec<Piece>,
    /// The node of each box.
    place: BTreeMap<usize, usize>,
}

impl Net {
    /// Adds an arrow from a line of a box, over the layers in between.
    fn connect(&mut self, index: usize, line: usize, to: usize, offset: f64) {
        let (mut from, mut offset) = (self.place[&index], offset);
        let last = self.place[&to];
        let (first, end) = (self.nodes[from].layer, self.nodes[last].layer);
        for layer in (end + 1..first).rev() {
            self.nodes.push(Node {
                shown: None,
                layer,
                y: 0.0,
                height: 10.0,
            });
            let to = self.nodes.len() - 1;
            self.pieces.push(Piece {
                from,
                to,
                offset,
                of: (index, line),
                last: false,
            });
            (from, offset) = (to, 0.0);
        }
        self.pieces.push(Piece {
            from,
            to: last,
            offset,
            of: (index, line),
            last: true,
        });
    }

    fn layers(&self) -> usize {
        let layers = self.nodes.iter().map(|node| node.layer + 1);
        layers.max().unwrap_or(0)
    }

    /// Gives the layers their places from left to right, and boxes and arrows theirs.
    fn laid_out(&self, card: &Card) -> Layout {
        let (mut lefts, mut widths) = (Vec::new(), Vec::new());
        let mut x = 0.0;
        for layer in 0..self.layers() {
            let nodes = self.nodes.iter().filter(|node| node.layer == layer);
            let boxes = nodes.filter_map(|node| Some(card.boxes[node.shown?].width()));
            let width = boxes.fold(0.0, f64::max);
            lefts.push(x);
            widths.push(width);
            x += width + BEND;
        }
        let nothing = Area {
            x: 0.0,
            y: 0.0,
            width: 0.0,
            height: 0.0,
        };
        let mut layout = Layout {
            boxes: vec![nothing; card.boxes.len()],
            arrows: Vec::new(),
            width: (x - BEND).max(0.0),
            height: 0.0,
        };
        for node in &self.nodes {
            layout.height = layout.height.max(node.y + node.height / 2.0);
            if let Some(index) = node.shown {
                layout.boxes[index] = Area {
                    x: lefts[node.layer],
                    y: node.y - node.height / 2.0,
                    width: widths[node.layer],
                    height: node.height,
                };
            }
        }
        let mut points: Vec<(f64, f64)> = Vec::new();
        for piece in &self.pieces {
            let (from, to) = (&self.nodes[piece.from], &self.nodes[piece.to]);
            if from.shown.is_none() {
                // Through the layer that it passes.
                let right = lefts[from.layer] + widths[from.layer];
                points.push((right, from.y));
            }
            points.push((lefts[from.layer], from.y + piece.offset));
            points.push((lefts[to.layer] + widths[to.layer], to.y));
            if piece.last {
                let (index, line) = piece.of;
                let port = card.boxes[index].lines[line].port;
                if let Some(end) = points.last_mut() {
                    end.1 += landing(port, to.height);
                }
                layout.arrows.push(Arrow {
                    port,
                    points: std::mem::take(&mut points),
                });
            }
        }
        layout
    }

    /// Orders each layer by what its boxes are connected with, then moves each box near those, without overlaps.
    fn place_rows(&mut self) {
        let mut order: Vec<Vec<usize>> = (0..self.layers())
            .map(|layer| {
                (0..self.nodes.len())
                    .filter(|&node| self.nodes[node].layer == layer)
                    .collect()
            })
            .collect();
        for layer in &order {
            self.stack(layer, None);
        }
        let count = order.len();
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
        self.close_up();
    }

    /// Takes out what is empty from left to right, and lets the first box begin at the top.
    fn close_up(&mut self) {
        let top = |node: &Node| node.y - node.height / 2.0;
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by(|a, b| top(&self.nodes[*a]).total_cmp(&top(&self.nodes[*b])));
        let (mut bottom, mut shift) = (f64::NEG_INFINITY, 0.0);
        for at in order {
            let node = &mut self.nodes[at];
            let begin = node.y - node.height / 2.0;
            if bottom == f64::NEG_INFINITY {
                shift = begin;
            } else if begin - bottom > 2.0 * GAP {
                shift += begin - bottom - 2.0 * GAP;
            }
            bottom = bottom.max(begin + node.height);
            node.y -= shift;
        }
    }

    /// Where each box would like to be: amid what it is connected with on one side, or where it is.
    fn wishes(&self, layer: &[usize], from_children: bool) -> BTreeMap<usize, f64> {
        let wish = |node: usize| {
            let near = self.pieces.iter().filter_map(|piece| match from_children {
                true if piece.to == node => Some(self.nodes[piece.from].y + piece.offset),
                false if piece.from == node => Some(self.nodes[piece.to].y - piece.offset),
                _ => None,
            });
            let near: Vec<f64> = near.collect();
            let own = self.nodes[node].y;
            let wish = match near.len() {
                0 => own,
                count => near.iter().sum::<f64>() / count as f64,
            };
            // The own place counts a little, so that equal wishes keep their order.
            wish * 0.9 + own * 0.1
        };
        layer.iter().map(|&node| (node, wish(node))).collect()
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

/// Where an arrow ends, from the middle of a box: those of one kind in one place.
fn landing(port: Port, height: f64) -> f64 {
    let part = match port {
        Port::Link => -0.25,
        Port::Belongs => 0.0,
        Port::Keeps => 0.2,
        Port::Releases => 0.35,
    };
    part * height
}
