//! The statements of the rules that change tables of the application, as the generated files have them.

use anyhow::Result;

use super::files::{MarkedText, Press};
use super::marks::{said, unmarked};
use super::names::table_name;
use super::spec_view::spec_view;
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan;

/// Such a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The rule.
    pub rule: String,
    /// The routine that has it, without its schema.
    pub routine: String,
    /// The table whose rows it deletes or sets, as the server spells it.
    pub table: String,
    /// Whether it deletes rows; else it sets columns to NULL.
    pub deletes: bool,
    /// The lines of the generated file, moved to the left.
    pub sql: String,
}

/// Every statement of a spec's rules that deletes or sets rows of the application, in the order of the files.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub fn changes(graph: &Graph, dialect: Dialect) -> Result<Vec<Change>> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    let view = spec_view(graph, &plan, dialect);
    let mut press = Press::new(graph, dialect, &view)?;
    let files = press.early()?;
    let mut found = Vec::new();
    for MarkedText { of, routines, .. } in press.marked()? {
        // What sets removal times belongs to no run.
        let Some(rule) = of.strip_prefix("rule ") else {
            continue;
        };
        let path = format!("/30_{rule}.sql");
        let mut files = files.iter();
        let file = files.find(|file| file.path.ends_with(&path));
        let text = Squeezed::of(file.map_or("", |file| file.text.as_str()));
        for routine in &routines {
            for statement in &routine.statements {
                let whole = said(statement, str::to_owned);
                let Some((at, deletes)) = changing(&whole) else {
                    continue;
                };
                // The row that changes has this alias in all templates.
                let named = graph.tables.iter().filter_map(|table| {
                    let name = format!("{} AS t", table_name(graph, dialect, &table.name));
                    let place = whole[at..].match_indices(&name).map(|(place, _)| place);
                    let ends = place.into_iter().find(|place| {
                        let rest = &whole[at + place + name.len()..];
                        !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '_')
                    });
                    Some((ends?, &table.name))
                });
                let Some((_, table)) = named.min() else {
                    continue;
                };
                let bare = unmarked(statement);
                found.push(Change {
                    rule: rule.to_owned(),
                    routine: routine.name.clone(),
                    table: table.clone(),
                    deletes,
                    sql: text.lines_of(&bare).unwrap_or(bare),
                });
            }
        }
    }
    Ok(found)
}

/// Where a statement begins to change rows, and whether it deletes them.
fn changing(statement: &str) -> Option<(usize, bool)> {
    if statement.starts_with("UPDATE ") {
        return Some((0, false));
    }
    let begins = |words: &str| statement.starts_with(words).then_some(0);
    let inside = statement.find("(DELETE ").map(|at| at + 1);
    begins("DELETE ").or(inside).map(|at| (at, true))
}

/// A text without its blanks, in which statements are found however they are laid out.
struct Squeezed<'a> {
    text: &'a str,
    squeezed: String,
    /// Where each byte of it is in the text.
    places: Vec<usize>,
}

impl<'a> Squeezed<'a> {
    fn of(text: &'a str) -> Self {
        let mut squeezed = String::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len());
        for (at, sign) in text.char_indices().filter(|(_, it)| !it.is_whitespace()) {
            squeezed.push(sign);
            places.extend((0..sign.len_utf8()).map(|byte| at + byte));
        }
        Squeezed {
            text,
            squeezed,
            places,
        }
    }

    /// The lines of a statement, without what is in front of all of them.
    fn lines_of(&self, statement: &str) -> Option<String> {
        let words: String = statement.split_whitespace().collect();
        let at = self.squeezed.find(&words)?;
        let from = *self.places.get(at)?;
        let mut to = *self.places.get(at + words.len() - 1)? + 1;
        if self.text[to..].starts_with(';') {
            to += 1;
        }
        let line = self.text[..from].rfind('\n').map_or(0, |at| at + 1);
        let indent = self.text[line..from].len() - self.text[line..from].trim_start().len();
        let lines = self.text[from..to].lines().map(|line| {
            let blank = line.len() - line.trim_start().len();
            &line[blank.min(indent)..]
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::lint;
    use crate::render;

    /// Every statement of a generated file that deletes is found, as the file has it, with its table; and each table of a rule is
    /// deleted from.
    #[test]
    fn no_statement_that_deletes_is_left_out() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/specs");
        for entry in fs::read_dir(folder).expect("the specs") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|it| it != "toml") {
                continue;
            }
            let source = fs::read_to_string(&path).expect("a spec");
            let graph = lint::load(&source).0.expect("a spec without errors");
            for dialect in graph.dialects.clone() {
                let bundle = render::review(&graph, dialect).expect("files");
                let changes = changes(&graph, dialect).expect("statements");
                let named = graph.named_for(dialect);
                for rule in &named.rules {
                    let path = format!("/30_{}.sql", rule.name);
                    let file = bundle.files.iter().find(|it| it.path.ends_with(&path));
                    let text = &file.expect("a file of the rule").text;
                    let own: Vec<&Change> =
                        changes.iter().filter(|it| it.rule == rule.name).collect();
                    let code = text.lines().filter(|it| !it.trim_start().starts_with("--"));
                    let deletes = code
                        .filter(|line| {
                            line.contains("DELETE FROM \"")
                                || line.contains("DELETE FROM ONLY")
                                || line.contains("DELETE t")
                                || line.contains("'DELETE FROM `")
                        })
                        .count();
                    let shown = own.iter().filter(|it| it.deletes).count();
                    assert_eq!(shown, deletes, "{path:?} {dialect:?} {}", rule.name);
                    for id in &rule.order {
                        let table = &named.table(*id).name;
                        assert!(
                            own.iter().any(|it| it.deletes && it.table == *table),
                            "{table}"
                        );
                    }
                    for change in own {
                        for line in change.sql.lines() {
                            assert!(text.contains(line), "{line}");
                        }
                        let words: Vec<&str> = change.sql.split_whitespace().collect();
                        assert!(
                            words.contains(&"DELETE")
                                || words[0] == "UPDATE"
                                || change.sql.contains("(DELETE")
                        );
                    }
                }
            }
        }
    }
}
