//! Tables outside the spec whose rows refer to covered ones: a question at the place where they would be listed.

use std::collections::BTreeMap;

use super::edits::Edits;
use super::subject::{Change, ChangeKind, Subject};
use super::trials;
use crate::catalog::{CatalogColumn, CatalogTable, ForeignKey};
use crate::fit::{self, Finding};
use crate::graph::ACTING;
use crate::graph::TableId;
use crate::inspect::words::{bare, line, small, string};

/// The spec with a question for each such table, and the questions.
pub(super) fn ask(subject: &Subject<'_>) -> (String, Vec<Change>) {
    let mut edits = Edits::of(subject.text);
    let mut questions: BTreeMap<String, (usize, Change, String)> = BTreeMap::new();
    let graph = subject.graph;
    let known = |name: &str| {
        graph.tables.iter().any(|table| table.name == name)
            || graph.ignored.iter().any(|ignored| ignored.table == name)
    };
    let mut told = Vec::new();
    let mut written = Vec::new();
    for finding in fit::compare(graph, subject.catalog) {
        let name = &finding.object;
        if finding.code == "unlisted-reference" {
            told.extend(further_key(subject, &finding, &mut written, &mut edits));
        }
        let Some(live) = subject.catalog.tables.get(name).filter(|_| !known(name)) else {
            continue;
        };
        if !["unlisted-reference", "unlisted-column"].contains(&finding.code) {
            continue;
        }
        let mut edges = edges(subject, live);
        if edges.is_empty() {
            edges = alike(subject, live);
        }
        let last = edges.iter().map(|(end, _)| *end).max();
        let Some(end) = last.or_else(|| subject.tables().map(|(id, ..)| end(subject, id.0)).max())
        else {
            continue;
        };
        let change = Change {
            kind: ChangeKind::Unknown,
            what: format!("table {}", string(name)),
            why: format!("it {}", finding.message),
            asks: true,
        };
        let acts = live
            .foreign_keys
            .iter()
            .any(|key| covered(subject, key).is_some() && ACTING.contains(&effect(key)));
        let mut lines = lines(name, &edges, acts);
        if let Some(why) = trials::of_table(subject, name, &edges) {
            lines += &line_by_line(&format!("\n# As the spec is, that is refused: {why}"));
        }
        questions
            .entry(name.clone())
            .or_insert((end, change, lines));
    }
    for (end, change, lines) in questions.values() {
        edits.below(
            *end,
            &format!(
                "{}. Are its rows to be deleted with those? Then write\n{lines}",
                change.comment()
            ),
        );
    }
    told.extend(questions.into_values().map(|(_, change, _)| change));
    (edits.apply(), told)
}

/// A foreign key of a table of the spec that the spec does not know. That it sets columns to NULL changes nothing of what is deleted, and
/// is written into the spec if that accepts it; any other is asked about.
fn further_key(
    subject: &Subject<'_>,
    finding: &Finding,
    before: &mut Vec<(TableId, String)>,
    edits: &mut Edits<'_>,
) -> Option<Change> {
    let (name, message) = (&finding.object, &finding.message);
    let mut tables = subject.tables();
    let (id, written, table) = tables.find(|(id, ..)| subject.graph.table(*id).name == *name)?;
    let live = subject.live(id)?;
    let mut keys = live.foreign_keys.iter();
    let key = keys.find(|key| message.contains(&format!("`{}`", key.name)))?;
    let at = covered(subject, key)?;
    let parent = subject.spec.tables.keys().nth(at)?.get_ref();
    let text = edge(live, key, parent);
    let entry = written.span().start;
    let refused = trials::of_edge(subject, before, id, &key.name, &text);
    let sets = key.on_delete == "SET NULL" && refused.is_none();
    let last = table.parents.last().filter(|_| sets);
    if last.is_some() {
        before.push((id, text.clone()));
    }
    let change = Change {
        kind: if last.is_some() {
            ChangeKind::Mended
        } else {
            ChangeKind::Unknown
        },
        what: match last {
            Some(_) => format!("parents of {}", string(name)),
            None => format!("a foreign key of {}", string(name)),
        },
        why: format!("it {message}"),
        asks: last.is_none(),
    };
    match last {
        Some(last) => {
            let end = last.span().end;
            edits.replace(end..end, format!(", {}", string(&text)));
            edits.note(written.span(), entry, &change.comment());
        }
        None => {
            let advice = match refused {
                None => format!("{}\n#   {}", asked(&text), line(&string(&text))),
                // What `check` would say instead.
                Some(_) if !finding.help.contains(&format!("`{text}`")) => {
                    format!("To do: {}", line(&finding.help))
                }
                Some(why) => line(&format!("As the spec is, `{text}` is refused: {why}")),
            };
            edits.below(
                end(subject, id.0),
                &format!("{}. {advice}", change.comment()),
            );
        }
    }
    Some(change)
}

/// What to write, as comments.
fn lines(name: &str, edges: &[(usize, String)], acts: bool) -> String {
    let parents: Vec<String> = edges.iter().map(|(_, edge)| string(edge)).collect();
    let parents = if parents.is_empty() {
        "\"column -> table.key\"".to_owned()
    } else {
        parents.join(", ")
    };
    let mut lines = format!("#   {} = {{ parents = [{parents}] }}", bare(name));
    if !acts {
        lines += &format!(
            "\n# or, if they are kept whatever is deleted, below [ignore]:\n#   {} = \"why they may be kept\"",
            bare(name)
        );
    }
    line_by_line(&lines)
}

fn line_by_line(text: &str) -> String {
    let lines = text.lines().map(line);
    lines.collect::<Vec<_>>().join("\n")
}

/// The edges from foreign keys, each with the place in the spec for it.
fn edges(subject: &Subject<'_>, live: &CatalogTable) -> Vec<(usize, String)> {
    let keys = live.foreign_keys.iter();
    keys.filter_map(|key| {
        let at = covered(subject, key)?;
        let parent = subject.spec.tables.keys().nth(at)?.get_ref();
        Some((end(subject, at), edge(live, key, parent)))
    })
    .collect()
}

/// The edges that names say: a column is called like that of an edge.
fn alike(subject: &Subject<'_>, live: &CatalogTable) -> Vec<(usize, String)> {
    let graph = subject.graph;
    let edges = graph.tables.iter().flat_map(|table| &table.edges);
    let edges = edges.filter(|edge| edge.further.is_empty() && !edge.alone);
    let mut found: Vec<(usize, String)> = edges
        .filter(|edge| live.column(&edge.column.name).is_some())
        .filter_map(|edge| {
            let at = edge.parent.0;
            let parent = subject.spec.tables.keys().nth(at)?.get_ref();
            let (column, named) = (&edge.column.name, &edge.parent_column.name);
            let text = format!("{} -> {}.{}", small(column), small(parent), small(named));
            Some((end(subject, at), text))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

fn edge(live: &CatalogTable, key: &ForeignKey, parent: &str) -> String {
    let nullable = || {
        let mut columns = key.columns.iter().filter_map(|name| live.column(name));
        columns.any(CatalogColumn::may_lack)
    };
    // As `inspect` reads them.
    let action = match key.on_delete.as_str() {
        "CASCADE" => "",
        "SET NULL" => " set null",
        // Of some columns alone: no spec says that.
        partly if partly.starts_with("SET NULL (") => " restrict",
        _ if nullable() => " restrict",
        _ => "",
    };
    match (&key.columns[..], &key.target_columns[..]) {
        ([column], [named]) => {
            format!(
                "{} -> {}.{}{action}",
                small(column),
                small(parent),
                small(named)
            )
        }
        (columns, named) => {
            let list = |names: &[String]| {
                let names = names.iter().map(|name| small(name));
                names.collect::<Vec<_>>().join(", ")
            };
            format!(
                "{} -> {}({}){action}",
                list(columns),
                small(parent),
                list(named)
            )
        }
    }
}

/// The question to which an edge is the answer.
fn asked(edge: &str) -> &'static str {
    if edge.ends_with(" set null") {
        "Is the row to be kept without that one? Then write into its `parents`"
    } else if edge.ends_with(" restrict") {
        "Is the row to keep that one? Then write into its `parents`"
    } else {
        "Is the row to be deleted with that one? Then write into its `parents`"
    }
}

/// What a foreign key does, to all of its columns or to some.
fn effect(key: &ForeignKey) -> &str {
    key.on_delete.split(" (").next().unwrap_or_default()
}

/// The place among the tables of the spec of the one that a key names.
fn covered(subject: &Subject<'_>, key: &ForeignKey) -> Option<usize> {
    let own = key.target.strip_prefix(&subject.catalog.schema)?;
    let own = own.strip_prefix('.')?;
    let mut tables = subject.graph.tables.iter();
    tables.position(|table| table.name == own)
}

/// Where the entry of a table ends, if it has its own lines.
fn end(subject: &Subject<'_>, at: usize) -> usize {
    let start = subject
        .spec
        .tables
        .keys()
        .nth(at)
        .map_or(0, |name| name.span().start);
    super::edits::end_of(subject.text, start)
}
