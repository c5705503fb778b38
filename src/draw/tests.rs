//! Nothing of a picture lies on something else: by the places of the layout, of all specs and of random graphs.

use std::fmt::Write as _;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::card::{Card, NAME, SMALL, TITLE, long};
use super::labels::Port;
use super::layout::{Area, HEAD, Layout, PAD};
use super::{parts, svg};
use crate::graph::Graph;
use crate::lint;
use crate::spec::SHIPPED;

/// A spec with tables that name each other at random.
fn random(random: &mut SmallRng) -> String {
    let count = random.random_range(1..30);
    let mut text = String::from("name = \"x\"\n[tables]\n");
    let mut long = |name: String, most| name + &"n".repeat(random.random_range(0..most));
    let names: Vec<String> = (0..count).map(|at| long(format!("t{at}_"), 50)).collect();
    for (at, name) in names.iter().enumerate() {
        let mut edges = Vec::new();
        let mut parents = 0;
        // One in four belongs to nothing: it keeps what it names, or outlives it.
        let is_beside = at > 0 && random.random_range(0..4) == 0;
        for edge in 0..random.random_range(1..5) {
            let what = match random.random_range(0..4) {
                0 | 1 if is_beside => " restrict",
                0 => " set null",
                _ if is_beside => " set null",
                _ => "",
            };
            // The first one leads to the root over tables before.
            let what = if edge == 0 && !is_beside { "" } else { what };
            if at == 0 && what.is_empty() {
                continue;
            }
            parents += usize::from(what.is_empty());
            let to = random.random_range(0..if what == " set null" { count } else { at });
            let column = format!("c{edge}_{}", "m".repeat(random.random_range(0..40)));
            edges.push(format!("\"{column} -> {}.id{what}\"", names[to]));
        }
        let with = if parents > 1 { ", with = \"any\"" } else { "" };
        let edges = edges.join(", ");
        let _ = writeln!(
            text,
            "{name} = {{ key = \"id integer\", parents = [{edges}]{with} }}"
        );
    }
    text + &format!(
        "[rules.x]\nstrategy = \"end-time\"\nroot = \"{}\"\nfinal = {{ state = 1 }}\nend_time = \"ended\"\nretention = {{ default \
             = \"30d\" }}\n",
        names[0]
    )
}

/// Whether two areas share more than an edge.
fn overlap(a: &Area, b: &Area) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

fn is_legible(graph: &Graph) {
    for rule in &graph.rules {
        let card = Card::of(graph, rule);
        let layout = Layout::of(&card, rule.root);
        let inner = Area {
            x: PAD,
            y: PAD + HEAD,
            width: layout.width - 2.0 * PAD,
            height: layout.height - HEAD - 2.0 * PAD,
        };
        assert!(long(&card.rule, TITLE) <= inner.width && long(&card.told, SMALL) <= inner.width);
        for (at, (shown, area)) in card.boxes.iter().zip(&layout.boxes).enumerate() {
            let is_inside = area.x >= inner.x
                && area.x + area.width <= inner.x + inner.width + 1.0
                && area.y >= inner.y - 0.01
                && area.y + area.height <= inner.y + inner.height + 1.0;
            assert!(is_inside, "{area:?} is not in {inner:?}");
            for (other, place) in card.boxes.iter().zip(&layout.boxes).skip(at + 1) {
                assert!(!overlap(area, place), "{} and {}", shown.name, other.name);
            }
            // The texts are in their box, each on its line, and the name next to the number.
            let room = area.width - 22.0;
            assert!(long(&shown.key, SMALL) <= room);
            assert!(
                long(&shown.name, NAME) <= room - if shown.number.is_some() { 20.0 } else { 0.0 }
            );
            for (line, text) in shown.lines.iter().enumerate() {
                assert!(long(&text.text, SMALL) <= room);
                assert!(shown.baseline(line) + 3.0 < area.height);
            }
        }
        for arrow in &layout.arrows {
            // From right to left, and where it passes a layer, next to the boxes of that.
            for (at, pair) in arrow.points.windows(2).enumerate() {
                assert!(pair[0].0 >= pair[1].0, "{arrow:?}");
                if at % 2 == 1 {
                    let passes = Area {
                        x: pair[1].0,
                        y: pair[1].1 - 3.0,
                        width: pair[0].0 - pair[1].0,
                        height: 6.0,
                    };
                    assert!(
                        layout.boxes.iter().all(|area| !overlap(area, &passes)),
                        "{arrow:?}"
                    );
                }
            }
        }
    }
    let whole = svg(graph);
    assert!(!whole.contains("NaN") && !whole.contains("inf\""));
    let parts = parts(graph);
    assert_eq!(parts.len(), graph.rules.len() + 1);
    let boxes = |text: &str| text.matches("<rect class=\"box").count();
    let in_parts: usize = parts.iter().map(|part| boxes(&part.svg)).sum();
    assert_eq!(boxes(&whole), in_parts);
}

#[test]
fn nothing_lies_on_something_else() {
    for text in SHIPPED {
        is_legible(&lint::load(text).0.expect("a spec without errors"));
    }
    let mut drawn = 0;
    for seed in 0..600 {
        let text = random(&mut SmallRng::seed_from_u64(seed));
        if let Some(graph) = lint::load(&text).0 {
            is_legible(&graph);
            drawn += 1;
        }
    }
    assert!(drawn > 100, "only {drawn} graphs were drawn");
}

#[test]
fn what_outlives_a_row_is_drawn() {
    let text = "name = \"x\"\n[tables]\na = { key = \"id integer\" }\nb = { parents = [\"a_id -> a.id set null\"] }\n\
                c = { parents = [\"a_id -> a.id restrict\"] }\n[rules.x]\nstrategy = \"end-time\"\nroot = \"a\"\n\
                final = { state = 1 }\nend_time = \"ended\"\nretention = { default = \"30d\" }\n";
    let graph = lint::load(text).0.expect("a spec");
    let card = Card::of(&graph, &graph.rules[0]);
    let layout = Layout::of(&card, graph.rules[0].root);
    let ports: Vec<Port> = layout.arrows.iter().map(|arrow| arrow.port).collect();
    assert_eq!(ports, [Port::Releases, Port::Keeps]);
    let drawn = svg(&graph);
    for piece in [
        "<path class=\"arrow releases\"",
        ">a_id, set null<",
        ">a_id, keeps it<",
        "box beside",
    ] {
        assert!(drawn.contains(piece), "{piece} is not in {drawn}");
    }
}
