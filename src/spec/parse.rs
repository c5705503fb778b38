//! From text to spec: whatever TOML or serde finds wrong becomes a diagnostic like all the others.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Span, did_you_mean, line_and_column};
use crate::spec::Spec;

/// Serde stops at the first thing that it cannot read. That entry is taken out and the rest is read again, so that
/// one look shows everything.
pub(super) fn spec(text: &str) -> (Option<Spec>, Vec<Diagnostic>) {
    let (mut table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return (None, syntax_errors(text, &errors));
    }
    let mut diagnostics = Vec::new();
    for (key, value) in table.get_ref() {
        reserved_key(key, &mut diagnostics);
        reserved_value(value, &mut diagnostics);
    }
    loop {
        let error = match Spec::deserialize(toml::Deserializer::from(table.clone())) {
            Ok(spec) => return (Some(spec), diagnostics),
            Err(error) => error,
        };
        let span = error.span().unwrap_or(0..0);
        let culprit = take_out(table.get_mut(), &span);
        diagnostics.push(shape_error(error.message(), span, culprit.as_deref()));
        if culprit.is_none() {
            return (None, diagnostics);
        }
    }
}

/// What generated files use for themselves: the end of a routine's body, and the beginnings of lines that cut a file into
/// statements.
const RESERVED: [&str; 3] = ["$windrow$", "\n--# ", "\n--! "];

fn reserved_key(key: &Spanned<DeString<'_>>, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.extend(reserved(key.get_ref(), key.span()));
}

fn reserved_value(value: &Spanned<DeValue<'_>>, diagnostics: &mut Vec<Diagnostic>) {
    match value.get_ref() {
        DeValue::String(text) => diagnostics.extend(reserved(text, value.span())),
        DeValue::Array(values) => {
            for value in values {
                reserved_value(value, diagnostics);
            }
        }
        DeValue::Table(table) => {
            for (key, value) in table {
                reserved_key(key, diagnostics);
                reserved_value(value, diagnostics);
            }
        }
        _ => {}
    }
}

fn reserved(text: &str, span: Span) -> Option<Diagnostic> {
    let found = RESERVED.iter().find(|reserved| {
        let at_start = reserved.strip_prefix('\n');
        text.contains(*reserved) || at_start.is_some_and(|start| text.starts_with(start))
    })?;
    let found = found.trim();
    Some(Diagnostic::error(
        "reserved-text",
        span,
        format!("`{found}` has a meaning in generated files"),
        format!("write it without `{found}`; a table or column of that name cannot be managed"),
    ))
}

fn syntax_errors(text: &str, errors: &[toml::de::Error]) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut repeated_headers = Vec::new();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let line = line_and_column(text, span.start).0;
        // The parser continues after an error; what it stumbles over in the same line is mostly the same mistake.
        if diagnostics
            .iter()
            .any(|earlier| line_and_column(text, earlier.span.start).0 == line)
        {
            continue;
        }
        if error.message() != "duplicate key" {
            diagnostics.push(Diagnostic::error(
                "toml-syntax",
                span,
                error.message(),
                "correct the TOML at the mark: strings are in quotes, arrays in `[…]`, tables in `{…}` or under a `[header]`",
            ));
            continue;
        }
        let section = section(text, span.start);
        if header(text, span.start).is_some() {
            repeated_headers.push(section);
        } else if repeated_headers.contains(&section) {
            // Under a header that is there twice every key seems to be a second one.
            continue;
        }
        diagnostics.push(duplicate_key(text, span));
    }
    diagnostics
}

fn duplicate_key(text: &str, span: Span) -> Diagnostic {
    let written = text.get(span.clone()).unwrap_or_default();
    let name = written.trim_matches(['"', '\'']).escape_debug();
    let diagnostic = Diagnostic::error(
        "duplicate-key",
        span.clone(),
        format!("`{name}` is defined twice"),
        "remove one of the two, or give it another name",
    )
    .labelled("second definition");
    // The parser does not say where the first one is. It is in the same section, or it is an equal header.
    let first = match header(text, span.start) {
        Some(header) => lines(text, 0..span.start)
            .find(|(_, line)| line.split('#').next().map(str::trim) == Some(header)),
        None => lines(text, section(text, span.start)..span.start).find(|(_, line)| {
            let behind = line.strip_prefix(written).map(str::trim_start);
            behind.is_some_and(|behind| behind.starts_with('='))
        }),
    };
    match first {
        Some((start, line)) if start + line.len() <= span.start => {
            let length = line
                .find(written)
                .map_or(line.len(), |at| at + written.len());
            let from = length - written.len().min(length);
            diagnostic.related(start + from..start + length, "first definition")
        }
        _ => diagnostic,
    }
}

/// The lines of a part of the text, each with the place of its first byte.
fn lines(text: &str, part: Span) -> impl Iterator<Item = (usize, &str)> {
    let mut start = part.start;
    text.get(part)
        .unwrap_or_default()
        .split_inclusive('\n')
        .map(move |line| {
            let at = start;
            start += line.len();
            (at, line.trim_end())
        })
}

/// The header of a section, if that is what is in the line of this byte.
fn header(text: &str, byte: usize) -> Option<&str> {
    let start = text
        .get(..byte)?
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next()?;
    line.starts_with('[')
        .then(|| line.split('#').next().unwrap_or_default().trim())
}

/// Where the section of this byte begins: its header, or the text.
fn section(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or_default();
    let header = if before.starts_with('[') {
        Some(0)
    } else {
        None
    };
    before
        .rfind("\n[")
        .map(|newline| newline + 1)
        .or(header)
        .unwrap_or(0)
}

/// Removes the entry whose key or value has this span, or whose array holds such a value; answers its name.
fn take_out(table: &mut DeTable<'_>, span: &Span) -> Option<String> {
    let hit = table
        .iter()
        .find(|(key, value)| {
            key.span() == *span || (value.span() == *span && !value.get_ref().is_table())
        })
        .map(|(key, _)| key.clone());
    if let Some(key) = hit {
        table.remove(&key);
        return Some(key.into_inner().into_owned());
    }
    let names: Vec<_> = table.keys().cloned().collect();
    for name in names {
        let Some(value) = table.get_mut(&name) else {
            continue;
        };
        let whole = value.span() == *span;
        let inner = match value.get_mut() {
            DeValue::Table(inner) => take_out(inner, span),
            DeValue::Array(array) => {
                array
                    .iter_mut()
                    .find_map(
                        |element: &mut Spanned<DeValue<'_>>| match element.get_mut() {
                            DeValue::Table(inner) => take_out(inner, span),
                            _ => None,
                        },
                    )
            }
            _ => None,
        };
        if inner.is_some() {
            return inner;
        }
        let holds = |value: &DeValue<'_>| match value {
            DeValue::Array(array) => array.iter().any(|element| element.span() == *span),
            _ => false,
        };
        if whole || holds(value.get_ref()) {
            table.remove(&name);
            return Some(name.into_inner().into_owned());
        }
    }
    None
}

fn shape_error(message: &str, span: Span, culprit: Option<&str>) -> Diagnostic {
    // The second half of such a message lists the known words, each between backticks.
    let words = |message: &str| -> Vec<String> {
        let known = message
            .split_once(", expected ")
            .map_or("", |(_, known)| known);
        known
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let wrong = message.split('`').nth(1).unwrap_or_default();
    if message.starts_with("unknown field") {
        let known = words(message);
        let otherwise = format!("known here: {}", listed(&known));
        return Diagnostic::error(
            "unknown-field",
            span,
            format!("unknown field `{wrong}`"),
            did_you_mean(wrong, known.iter().map(String::as_str), &otherwise),
        );
    }
    if message.starts_with("unknown variant") {
        let known = words(message);
        let otherwise = format!("known values: {}", listed(&known));
        return Diagnostic::error(
            "unknown-value",
            span,
            format!("unknown `{}`: `{wrong}`", culprit.unwrap_or("value")),
            did_you_mean(wrong, known.iter().map(String::as_str), &otherwise),
        );
    }
    if message.starts_with("missing field") {
        return Diagnostic::error(
            "missing-field",
            span,
            format!("`{wrong}` is missing"),
            format!("add `{wrong} = …`"),
        );
    }
    if message.starts_with("wanted string or table") {
        let field = culprit.unwrap_or("this");
        return Diagnostic::error(
            "wrong-type",
            span,
            "not one of a few words",
            format!(
                "`{field}` takes a word in quotes; docs/reference/spec.md lists those that it takes"
            ),
        );
    }
    // Serde names Rust's types.
    let (found, expected) = message
        .split_once(", expected ")
        .unwrap_or((message, "something else"));
    let expected = match expected {
        "a string" => "a string in quotes",
        "a sequence" => "an array in `[…]`",
        "a map" => "a table in `{…}`",
        "a boolean" => "`true` or `false`",
        "i64" => "a whole number",
        other => other,
    };
    let help = format!("`{}` takes {expected}", culprit.unwrap_or("this"));
    Diagnostic::error("wrong-type", span, found, help)
}

fn listed(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
