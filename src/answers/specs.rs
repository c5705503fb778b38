//! What the commands answer that read and write specs and generated files.

use schemars::JsonSchema;
use serde::Serialize;

use crate::adapt::Change;
use crate::diagnostic::Located;
use crate::drift::Drift;
use crate::fit::Finding;
use crate::graph::{Action, Graph, Literal};

/// What `check` found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Checked {
    /// Name of the spec; null if it has errors.
    pub spec: Option<String>,
    /// What was found in the spec itself.
    pub diagnostics: Vec<Located>,
    /// Findings in the database.
    pub findings: Vec<Finding>,
}

/// What `check --explain` says about a code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// The code.
    pub code: String,
    /// What it means, and what to do.
    pub explanation: &'static str,
}

/// What `diff` found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Differences {
    /// Name of the spec.
    pub spec: String,
    /// Name of the control schema.
    pub control: String,
    /// Whether everything that this account may see is as generated.
    pub clean: bool,
    /// The differences.
    pub drift: Vec<Drift>,
    /// What this account may not see, so that it is not compared.
    pub not_compared: Vec<String>,
}

/// What `report` wrote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reported {
    /// Name of the spec.
    pub spec: String,
    /// The file that was written.
    pub out: String,
    /// Its size.
    pub bytes: usize,
    /// Whether a database was read.
    pub database: bool,
    /// What was found in the spec itself.
    pub diagnostics: Vec<Located>,
    /// Findings in the database.
    pub findings: Vec<Finding>,
    /// How many objects differ from what the spec generates; null if they could not be compared.
    pub differences: Option<usize>,
    /// What could not be read from the database.
    pub missing: Vec<MissingPart>,
}

/// A part that is not on the page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MissingPart {
    /// The command that would show it: `check`, `policy list` (and `hold list`), `plan`, `preview` or `diff`.
    pub part: &'static str,
    /// Why not.
    pub reason: String,
}

/// What `generate` wrote, or would write.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Generated {
    /// The folder.
    pub folder: String,
    /// Whether files were written; with `--check`, none are.
    pub written: bool,
    /// How many were stale.
    pub stale: usize,
    /// Every file, by its path.
    pub files: Vec<GeneratedFile>,
}

/// A generated file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GeneratedFile {
    /// Its path below the folder.
    pub path: String,
    /// What was done, or is to be done.
    pub change: FileChange,
    /// For a check, the unified diff from the existing file to the generated one.
    pub diff: Option<String>,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileChange {
    /// Nothing: it is up to date.
    None,
    /// It is written for the first time.
    Created,
    /// Its text changes.
    Changed,
    /// It is no longer generated.
    Removed,
}

/// What `init` made of a spec.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fitted {
    /// The spec it started from.
    pub from: String,
    /// The file that was written; null: none.
    pub out: Option<String>,
    /// The text of the fitted spec.
    pub draft: String,
    /// What was changed; changes with a question need an answer.
    pub changes: Vec<Change>,
}

/// What `inspect` drafted for a root table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Drafted {
    /// The root table.
    pub root: String,
    /// The text of a spec.
    pub draft: String,
    /// The questions for a person: the lines of the draft with `# ?`.
    pub questions: Vec<Question>,
}

/// A question of a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Question {
    /// The line of the draft, from 1.
    pub line: usize,
    /// The question.
    pub question: String,
}

/// The ten tables that look most like roots, the biggest first, and of one size the one with the oldest rows: what `inspect` returns
/// without one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Candidates {
    /// Schema or database.
    pub schema: String,
    /// The tables.
    pub tables: Vec<Candidate>,
}

/// A table that looks like a root.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Candidate {
    /// Its name.
    pub table: String,
    /// Rows, by the server's statistics.
    pub estimated_rows: i64,
    /// Its size with indexes.
    pub bytes: i64,
    /// How many tables are below it.
    pub tables_below: usize,
    /// How many days ago its first row ended, if known.
    pub ended_days_ago: Option<i64>,
    /// The column with that time.
    pub time: Option<String>,
}

/// What a spec means: what `graph` returns.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Drawn {
    /// Name of the spec.
    pub spec: String,
    /// One line about the system.
    pub title: String,
    /// The tables.
    pub nodes: Vec<Node>,
    /// Which table refers to which.
    pub edges: Vec<Arrow>,
    /// The rules, in the order of a run.
    pub rules: Vec<DrawnRule>,
    /// Tables that are left alone on purpose.
    pub left_alone: Vec<LeftAlone>,
}

/// A table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Node {
    /// Its name.
    pub table: String,
    /// The columns of its key.
    pub key: Vec<String>,
}

/// A row of a table refers to one of another.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Arrow {
    /// The table whose rows refer to others.
    pub table: String,
    /// By these columns.
    pub columns: Vec<String>,
    /// The table that they refer to.
    pub parent: String,
    /// The columns of that table.
    pub parent_columns: Vec<String>,
    /// What happens to the row when the one that it refers to is deleted: `delete`, `restrict` (it keeps that row), `set null`.
    pub action: &'static str,
    /// A value besides NULL that means no parent.
    pub unless: Option<String>,
}

/// A rule.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DrawnRule {
    /// Its name.
    pub rule: String,
    /// Its strategy.
    pub strategy: &'static str,
    /// Its root table.
    pub root: String,
    /// The tables whose rows are deleted, in the order of deletion.
    pub order: Vec<String>,
    /// The columns that link rows to their parents.
    pub hierarchy: Vec<Below>,
}

/// A column that links a row to its parent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Below {
    /// The table.
    pub table: String,
    /// The column that refers to the parent.
    pub parent_column: String,
    /// The column that refers to the child.
    pub child_column: String,
}

/// A table that is left alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftAlone {
    /// Its name.
    pub table: String,
    /// Why.
    pub reason: String,
}

impl Drawn {
    /// What a graph means.
    pub fn of(graph: &Graph) -> Drawn {
        let name = |id| graph.table(id).name.clone();
        let nodes = graph.tables.iter().map(|table| Node {
            table: table.name.clone(),
            key: table.key.iter().map(|column| column.name.clone()).collect(),
        });
        let edges = graph.tables.iter().flat_map(|table| {
            table.edges.iter().map(|edge| Arrow {
                table: table.name.clone(),
                columns: edge.pairs().map(|(own, _)| own.name.clone()).collect(),
                parent: name(edge.parent),
                parent_columns: edge.pairs().map(|(_, named)| named.name.clone()).collect(),
                action: match edge.action {
                    Action::Delete => "delete",
                    Action::Restrict => "restrict",
                    Action::SetNull => "set null",
                },
                unless: edge.none.as_ref().map(|none| match none {
                    Literal::Integer(value) => value.to_string(),
                    Literal::Text(value) => value.clone(),
                }),
            })
        });
        let rules = graph.rules.iter().map(|rule| DrawnRule {
            rule: rule.name.clone(),
            strategy: rule.strategy.name(),
            root: name(rule.root),
            order: rule.order.iter().map(|id| name(*id)).collect(),
            hierarchy: rule
                .hierarchy
                .iter()
                .map(|link| Below {
                    table: name(link.table),
                    parent_column: link.parent.name.clone(),
                    child_column: link.child.name.clone(),
                })
                .collect(),
        });
        Drawn {
            spec: graph.name.clone(),
            title: graph.title.clone(),
            nodes: nodes.collect(),
            edges: edges.collect(),
            rules: rules.collect(),
            left_alone: graph
                .ignored
                .iter()
                .map(|ignored| LeftAlone {
                    table: ignored.table.clone(),
                    reason: ignored.reason.clone(),
                })
                .collect(),
        }
    }
}

impl Drafted {
    /// A draft with its questions.
    pub fn new(root: String, draft: String) -> Drafted {
        let lines = draft.lines().enumerate();
        let questions = lines.filter_map(|(at, text)| {
            let (_, question) = text.split_once("# ? ")?;
            Some(Question {
                line: at + 1,
                question: question.trim().to_owned(),
            })
        });
        Drafted {
            questions: questions.collect(),
            root,
            draft,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_knows_its_questions() {
        let draft = "name = \"x\"\n# ? how long?\nzone = \"UTC\"   # ? which zone\n";
        let drafted = Drafted::new("t".to_owned(), draft.to_owned());
        let found: Vec<_> = drafted
            .questions
            .iter()
            .map(|it| (it.line, it.question.as_str()))
            .collect();
        assert_eq!(found, [(2, "how long?"), (3, "which zone")]);
    }
}
