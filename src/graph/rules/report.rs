//! Further names for the figures of the documents.

use std::collections::BTreeMap;

use super::family::Family;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::graph::{Document, Figure, ReportField, names};
use crate::spec::grammar::{self, FigureText};
use crate::spec::{self, Text, in_file_order};

/// Figures by name, and the document that alone has them.
const FIGURES: [(&str, Figure, Option<Document>); 8] = [
    ("families", Figure::Families, None),
    (
        "oldest_end_time",
        Figure::OldestEndTime,
        Some(Document::Preview),
    ),
    ("sample_roots", Figure::SampleRoots, Some(Document::Preview)),
    ("skipped", Figure::Skipped, None),
    ("skipped_families", Figure::SkippedFamilies, None),
    ("dry_run", Figure::DryRun, None),
    ("artifact_failures", Figure::ArtifactFailures, None),
    ("duration_ms", Figure::DurationMs, Some(Document::Run)),
];

/// The keys that windrow's own documents have for a rule, and the names of all figures.
const OWN_KEYS: [&str; 21] = [
    "artifact_failures",
    "batches",
    "dry_run",
    "duration_ms",
    "estimated_seconds",
    "failures",
    "families",
    "limited",
    "oldest_end_time",
    "retries",
    "root",
    "rows",
    "rule",
    "run_families",
    "sample_roots",
    "skipped",
    "skipped_families",
    "skipped_samples",
    "tables",
    "without_policy",
    "work_ms",
];

/// The further names of both documents.
pub(super) fn reports(
    text: &str,
    rule: &spec::Rule,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ReportField> {
    let mut found = Vec::new();
    for document in [Document::Preview, Document::Run] {
        let fields = fields(&rule.report, document);
        found.extend(report(text, document, fields, family, diagnostics));
    }
    found
}

fn report(
    text: &str,
    document: Document,
    fields: &BTreeMap<Text, Text>,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ReportField> {
    let mut report = Vec::new();
    for (name, written) in in_file_order(fields) {
        names::identifier(name, "report field", diagnostics);
        if OWN_KEYS.contains(&name.get_ref().as_str()) {
            let message = format!("`{}` is one of windrow's own keys", name.get_ref());
            let help = "the document has it or may get it: choose another name";
            diagnostics.push(Diagnostic::error(
                "reserved-report-field",
                name.span(),
                message,
                help,
            ));
        }
        let figure = match grammar::figure(text, written) {
            Err(diagnostic) => {
                diagnostics.push(*diagnostic);
                None
            }
            Ok(FigureText::RowsOf(table)) => family.require(&table, diagnostics).map(Figure::Table),
            Ok(FigureText::Word(word)) => self::figure(&word, document, diagnostics),
        };
        if let Some(figure) = figure {
            report.push(ReportField {
                name: name.get_ref().clone(),
                document,
                figure,
            });
        }
    }
    report
}

fn figure(word: &Text, document: Document, diagnostics: &mut Vec<Diagnostic>) -> Option<Figure> {
    let here: Vec<&str> = FIGURES
        .iter()
        .filter(|(_, _, only)| only.is_none_or(|only| only == document))
        .map(|(name, _, _)| *name)
        .collect();
    let known = FIGURES.iter().find(|(name, _, _)| name == word.get_ref());
    if let Some((_, figure, _)) = known.filter(|(name, _, _)| here.contains(name)) {
        return Some(figure.clone());
    }
    let shown = word.get_ref().escape_debug();
    let title = match document {
        Document::Preview => "preview",
        Document::Run => "run",
    };
    let otherwise = format!(
        "figures of the {title}: `{}`, `rows of TABLE`",
        here.join("`, `")
    );
    diagnostics.push(match known {
        Some(_) => Diagnostic::error(
            "unknown-figure",
            word.span(),
            format!("the {title} document has no figure `{shown}`"),
            otherwise,
        ),
        None => Diagnostic::error(
            "unknown-figure",
            word.span(),
            format!("unknown figure `{shown}`"),
            did_you_mean(word.get_ref(), here, &otherwise),
        ),
    });
    None
}

fn fields(report: &spec::Report, document: Document) -> &BTreeMap<Text, Text> {
    match document {
        Document::Preview => &report.preview,
        Document::Run => &report.run,
    }
}
