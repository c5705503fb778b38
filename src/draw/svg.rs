//! The graph as a picture: a card for each rule.

use std::fmt::Write as _;

use super::card::{Boxed, Card, LINE, SMALL, Whose, long, short};
use super::labels::Port;
use super::layout::{Area, Arrow, HEAD, Layout, PAD, WIDE};
use crate::graph::{Graph, Rule};
use crate::markup::escaped;

/// Room between cards.
const BETWEEN: f64 = 14.0;

/// Draws the graph as a picture of its own.
pub fn svg(graph: &Graph) -> String {
    let drawn: Vec<Drawn> = graph
        .rules
        .iter()
        .map(|rule| Drawn::of(graph, rule))
        .collect();
    let widest = drawn.iter().map(|it| it.layout.width);
    let wide = widest.fold(WIDE, f64::max);
    let mut body = String::new();
    let (mut x, mut y, mut row, mut width) = (0.0_f64, 46.0_f64, 0.0_f64, 0.0_f64);
    for it in &drawn {
        if x > 0.0 && x + it.layout.width > wide {
            (x, y, row) = (0.0, y + row + BETWEEN, 0.0);
        }
        let (left, top) = (tidy(x + MARGIN), tidy(y));
        let _ = writeln!(body, "  <g transform=\"translate({left} {top})\">");
        it.paint(&mut body);
        body += "  </g>\n";
        x += it.layout.width + BETWEEN;
        row = row.max(it.layout.height);
        width = width.max(x - BETWEEN);
    }
    y += row + BETWEEN;
    let title = short(&format!("{}: what is deleted, and with what", graph.title));
    width = width.max(long(&title, 16.0)) + 2.0 * MARGIN;
    let mut legend = Legend::of(&drawn, width - 2.0 * MARGIN);
    let _ = write!(
        body,
        "  <g transform=\"translate({MARGIN} {})\">\n{}  </g>\n",
        tidy(y),
        std::mem::take(&mut legend.body)
    );
    let (width, height) = (tidy(width), tidy(y + legend.height + MARGIN));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" role=\"img\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n  <title>{}</title>\n  <style>\n{STYLE}  </style>\n  \
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n  \
         <text class=\"heading\" x=\"{MARGIN}\" y=\"30\">{}</text>\n{body}</svg>\n",
        escaped(&title),
        escaped(&title)
    )
}

/// A part of a picture that is alone on a page, which has the style.
pub struct Part {
    /// The rule; none: the legend.
    pub rule: Option<String>,
    /// The `svg` element.
    pub svg: String,
    /// How wide it is, in pixels.
    pub width: f64,
}

/// The same picture in parts, one for each rule and one for the legend.
pub fn parts(graph: &Graph) -> Vec<Part> {
    let drawn: Vec<Drawn> = graph
        .rules
        .iter()
        .map(|rule| Drawn::of(graph, rule))
        .collect();
    let mut parts: Vec<Part> = drawn
        .iter()
        .map(|it| {
            let mut body = String::new();
            it.paint(&mut body);
            let title = format!("rule {}: {}", it.card.rule, it.card.told);
            Part {
                rule: Some(it.card.rule.clone()),
                svg: part(
                    it.layout.width,
                    it.layout.height,
                    &title,
                    &it.described(),
                    &body,
                ),
                width: it.layout.width,
            }
        })
        .collect();
    let legend = Legend::of(&drawn, 330.0);
    parts.push(Part {
        rule: None,
        svg: part(
            legend.width,
            legend.height,
            "what the symbols mean",
            "",
            &legend.body,
        ),
        width: legend.width,
    });
    parts
}

fn part(width: f64, height: f64, title: &str, described: &str, body: &str) -> String {
    let (width, height) = (tidy(width), tidy(height));
    let described = match described {
        "" => String::new(),
        text => format!("  <desc>{}</desc>\n", escaped(text)),
    };
    format!(
        "<svg class=\"graph\" role=\"img\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n  \
         <title>{}</title>\n{described}{body}</svg>\n",
        escaped(title)
    )
}

const MARGIN: f64 = 20.0;

/// How pictures look, in light and in dark.
pub const STYLE: &str = include_str!("style.css");

/// A rule with what is drawn of it.
struct Drawn {
    card: Card,
    layout: Layout,
}

impl Drawn {
    fn of(graph: &Graph, rule: &Rule) -> Drawn {
        let card = Card::of(graph, rule);
        let layout = Layout::of(&card, rule.root);
        Drawn { card, layout }
    }

    /// The same in words, for those who hear it.
    fn described(&self) -> String {
        let name = |table| {
            let mut boxes = self.card.boxes.iter();
            boxes.find(|it| it.table == table).map_or("", |it| &it.name)
        };
        let mut told = Vec::new();
        for it in &self.card.boxes {
            let lines = it.lines.iter().map(|line| match line.to {
                Some(to) => format!("{} names {}", line.text, name(to)),
                None => line.text.clone(),
            });
            let lines: Vec<String> = lines.collect();
            let goes = match it.number {
                Some(number) => format!("deleted as number {number}"),
                None => "kept".to_owned(),
            };
            told.push(match lines.is_empty() {
                true => format!("{}: {goes}.", it.name),
                false => format!("{}: {goes}; {}.", it.name, lines.join("; ")),
            });
        }
        told.join(" ")
    }

    fn paint(&self, out: &mut String) {
        let (width, height) = (tidy(self.layout.width), tidy(self.layout.height));
        let (title, told) = (escaped(&self.card.rule), escaped(&self.card.told));
        let _ = write!(
            out,
            "    <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n    \
             <text class=\"title\" x=\"{PAD}\" y=\"{}\">{title}</text>\n    \
             <text class=\"told\" x=\"{PAD}\" y=\"{}\">{told}</text>\n",
            width - 1.0,
            height - 1.0,
            PAD + 14.0,
            PAD + HEAD - 14.0
        );
        for arrow in &self.layout.arrows {
            paint_arrow(arrow, out);
        }
        for (shown, area) in self.card.boxes.iter().zip(&self.layout.boxes) {
            paint_box(shown, *area, out);
        }
    }
}

fn paint_arrow(arrow: &Arrow, out: &mut String) {
    let class = arrow.port.class();
    let mut path = String::new();
    let last = arrow.points.len() - 1;
    for (at, pair) in arrow.points.windows(2).enumerate() {
        let [(x, y), (to_x, to_y)] = *pair else {
            continue;
        };
        if at == 0 {
            let _ = write!(path, "M{} {}", tidy(x), tidy(y));
        }
        // The head takes the last few pixels.
        let to_x = if at + 1 == last { to_x + 8.0 } else { to_x };
        if (y - to_y).abs() < 0.05 {
            let _ = write!(path, " H{}", tidy(to_x));
        } else {
            let middle = tidy((x + to_x) / 2.0);
            let (y, to_x, to_y) = (tidy(y), tidy(to_x), tidy(to_y));
            let _ = write!(path, " C{middle} {y} {middle} {to_y} {to_x} {to_y}");
        }
    }
    let (tip, y) = arrow.points[last];
    let _ = writeln!(
        out,
        "    <path class=\"arrow {class}\" d=\"{path}\"/>\n    <path class=\"head {class}\" d=\"M{} {} l9 -4.5 v9 z\"/>",
        tidy(tip),
        tidy(y)
    );
}

fn paint_box(shown: &Boxed, area: Area, out: &mut String) {
    let class = match shown.whose {
        Whose::Root => "box root",
        Whose::Own => "box",
        Whose::Referrer => "box beside",
    };
    let (left, top) = (tidy(area.x), tidy(area.y));
    let _ = writeln!(
        out,
        "    <g class=\"table\"><rect class=\"{class}\" x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
        tidy(area.width),
        tidy(area.height)
    );
    let mut write = |class: &str, y: f64, text: &str| {
        let (x, y) = (tidy(area.x + 11.0), tidy(area.y + y));
        let text = escaped(text);
        let _ = writeln!(
            out,
            "    <text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"
        );
    };
    write("name", 18.0, &shown.name);
    if !shown.key.is_empty() {
        write("key", 17.0 + LINE, &shown.key);
    }
    for (at, line) in shown.lines.iter().enumerate() {
        let class = format!("column {}", line.port.class());
        write(&class, shown.baseline(at), &line.text);
    }
    if let Some(number) = shown.number {
        let (x, y) = (tidy(area.x + area.width - 16.0), tidy(area.y + 14.0));
        let _ = writeln!(
            out,
            "    <circle class=\"badge\" cx=\"{x}\" cy=\"{y}\" r=\"9.5\"/><text class=\"number\" x=\"{x}\" y=\"{}\">{number}</text>",
            tidy(y + 4.0)
        );
    }
    *out += "    </g>\n";
}

/// What the signs mean, in as many lines as its width asks for.
struct Legend {
    body: String,
    width: f64,
    height: f64,
}

impl Legend {
    fn of(drawn: &[Drawn], wide: f64) -> Legend {
        let mut legend = Legend {
            body: String::new(),
            width: 0.0,
            height: 12.0,
        };
        let mut x = 0.0;
        let mut put = |sign: &dyn Fn(f64, f64) -> String, text: &str| {
            let width = 44.0 + long(text, SMALL);
            if x > 0.0 && x + width > wide {
                (x, legend.height) = (0.0, legend.height + 22.0);
            }
            let y = legend.height;
            legend.body += &sign(x, y);
            let _ = writeln!(
                legend.body,
                "    <text class=\"legend\" x=\"{}\" y=\"{}\">{text}</text>",
                tidy(x + 40.0),
                tidy(y + 4.0)
            );
            x += width + 16.0;
            legend.width = f64::max(legend.width, x - 16.0);
        };
        put(
            &|x, y| {
                format!(
                    "    <rect class=\"root box\" x=\"{}\" y=\"{}\" width=\"30\" height=\"14\" rx=\"3\"/>\n",
                    x + 1.0,
                    y - 7.0
                )
            },
            "the root table",
        );
        put(
            &|x, y| {
                let (x, text) = (x + 16.0, y + 4.0);
                format!(
                    "    <circle class=\"badge\" cx=\"{x}\" cy=\"{y}\" r=\"9.5\"/><text class=\"number\" x=\"{x}\" y=\"{text}\">1</text>\n"
                )
            },
            "the order in which tables are deleted from",
        );
        let mut ports: Vec<Port> = drawn.iter().flat_map(|it| it.card.ports()).collect();
        ports.sort_unstable();
        ports.dedup();
        for port in ports {
            let class = port.class();
            put(
                &|x, y| {
                    format!(
                        "    <path class=\"arrow {class}\" d=\"M{} {y} H{}\"/><path class=\"head {class}\" d=\"M{x} {y} l9 -4.5 v9 z\"/>\n",
                        x + 32.0,
                        x + 8.0
                    )
                },
                port.told(),
            );
        }
        if drawn
            .iter()
            .any(|it| it.card.boxes.iter().any(|it| it.whose == Whose::Referrer))
        {
            put(
                &|x, y| {
                    format!(
                        "    <rect class=\"beside box\" x=\"{}\" y=\"{}\" width=\"30\" height=\"14\" rx=\"3\"/>\n",
                        x + 1.0,
                        y - 7.0
                    )
                },
                "a table whose rows are kept",
            );
        }
        legend.height += 14.0;
        legend
    }
}

/// A coordinate with at most one digit after the point, so that a picture has a stable text.
fn tidy(value: f64) -> f64 {
    let value = (value * 10.0).round() / 10.0;
    if value == 0.0 { 0.0 } else { value }
}
