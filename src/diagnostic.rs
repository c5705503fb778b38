//! What is wrong with a spec: where, what, and how to mend it.
//!
//! A diagnostic knows bytes of the spec, not its path; both come together when it is shown.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use schemars::JsonSchema;
use serde::Serialize;

/// Byte range in the text of the spec.
pub type Span = Range<usize>;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DiagnosticSeverity")]
pub enum Severity {
    /// Nothing can be generated from this spec.
    Error,
    /// The spec works, but probably not as wished.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name in kebab case; `windrow check --explain` takes it.
    pub code: &'static str,
    /// What is wrong, as half a sentence in lower case.
    pub message: String,
    /// The bytes that are wrong.
    pub span: Span,
    /// What the mark under those bytes says; may be empty.
    pub label: String,
    /// Further places that belong to the finding, e.g. the first definition of a duplicate.
    pub related: Vec<(Span, String)>,
    /// How to mend it.
    pub help: String,
}

/// A finding with its place, for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Located {
    /// Stable name in kebab case; `windrow check --explain` takes it.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The spec file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How to mend it.
    pub help: String,
}

/// Whether rendered text carries terminal colours; they decorate, the text says everything without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Text only.
    Never,
    /// ANSI escape sequences.
    Always,
}

impl Diagnostic {
    /// A finding that stops everything that follows.
    pub fn error(
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            span,
            label: String::new(),
            related: Vec::new(),
            help: help.into(),
        }
    }

    /// A finding that only warns.
    pub fn warning(
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, span, message, help)
        }
    }

    /// The same finding with words at its mark.
    pub fn labelled(self, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            label: label.into(),
            ..self
        }
    }

    /// The same finding with one more place that belongs to it.
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.related.push((span, label.into()));
        self
    }
}

/// True if one of the findings is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// The findings as text for people: message, place, line with marks, help; one blank line between two.
pub fn render(diagnostics: &[Diagnostic], path: &str, text: &str, colour: Colour) -> String {
    let renderer = match colour {
        Colour::Never => Renderer::plain(),
        Colour::Always => Renderer::styled(),
    };
    let rendered: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| render_one(&renderer, diagnostic, path, text))
        .collect();
    rendered.join("\n\n")
}

/// The findings with their places, for programs.
pub fn located(diagnostics: &[Diagnostic], path: &str, text: &str) -> Vec<Located> {
    diagnostics
        .iter()
        .map(|diagnostic| {
            let (line, column) = line_and_column(text, diagnostic.span.start);
            Located {
                code: diagnostic.code,
                severity: diagnostic.severity,
                message: diagnostic.message.clone(),
                file: path.to_owned(),
                line,
                column,
                help: diagnostic.help.clone(),
            }
        })
        .collect()
}

/// Line and column of a byte, both counted from 1, the column in characters.
pub fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..floor(text, byte)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

/// The known word that the wrong one was most likely meant to be.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let limit = (wrong.chars().count() / 3).clamp(1, 6);
    let distance = |word: &str| {
        let word = word.to_lowercase();
        // `int` is meant to be `integer`, however much is missing.
        let begun = wrong.chars().count() >= 3 && word.starts_with(&wrong);
        if begun {
            1
        } else {
            strsim::damerau_levenshtein(&wrong, &word)
        }
    };
    known
        .into_iter()
        .map(|word| (distance(word), word))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, word)| word)
}

/// Help for a wrong word: the nearest known one, or what else to do.
pub fn did_you_mean<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match nearest(wrong, known) {
        Some(word) => format!("did you mean `{word}`?"),
        None => otherwise.to_owned(),
    }
}

fn render_one(renderer: &Renderer, diagnostic: &Diagnostic, path: &str, text: &str) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut primary = AnnotationKind::Primary.span(inside(text, &diagnostic.span));
    if !diagnostic.label.is_empty() {
        primary = primary.label(diagnostic.label.as_str());
    }
    let related = diagnostic.related.iter().map(|(span, label)| {
        AnnotationKind::Context
            .span(inside(text, span))
            .label(label.as_str())
    });
    let report = &[level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code)
        .element(
            Snippet::source(text)
                .path(path)
                .annotation(primary)
                .annotations(related),
        )
        .element(Level::HELP.message(diagnostic.help.as_str()))];
    renderer.render(report)
}

/// The span cut down to whole characters of the text.
fn inside(text: &str, span: &Span) -> Span {
    let start = floor(text, span.start);
    start..floor(text, span.end).max(start)
}

fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "eins\nzwölf x";
        assert_eq!(line_and_column(text, text.len() - 1), (2, 7));
        assert_eq!(line_and_column(text, 999), (2, 8));
    }

    #[test]
    fn the_nearest_word_must_be_near() {
        assert_eq!(
            nearest("retentoin", ["retention", "report"]),
            Some("retention")
        );
        assert_eq!(
            nearest("Europe/berlin", ["Europe/Berlin"]),
            Some("Europe/Berlin")
        );
        assert_eq!(nearest("limits", ["retention", "report"]), None);
    }

    #[test]
    fn a_finding_is_understood_without_colour() {
        let text = "name = \"x\"\nrots = 1\n";
        let findings = [Diagnostic::error(
            "unknown-field",
            11..15,
            "unknown field `rots`",
            "did you mean `root`?",
        )
        .labelled("not a field of a rule")
        .related(0..4, "beside this")];
        insta::assert_snapshot!(render(&findings, "a.toml", text, Colour::Never), @r###"
error[unknown-field]: unknown field `rots`
 --> a.toml:2:1
  |
1 | name = "x"
  | ---- beside this
2 | rots = 1
  | ^^^^ not a field of a rule
  |
  = help: did you mean `root`?
"###);
        let json = serde_json::to_string(&located(&findings, "a.toml", text)).unwrap_or_default();
        insta::assert_snapshot!(json, @r###"
[{"code":"unknown-field","severity":"error","message":"unknown field `rots`","file":"a.toml","line":2,"column":1,"help":"did you mean `root`?"}]
"###);
    }
}
