//! Conditions: what columns of a table must hold.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::diagnostic::{Diagnostic, Span};
use crate::graph::names;
use crate::graph::{Column, Condition, Kind, Literal, Test};
use crate::spec::{Scalar, Text, Values, in_file_order};

pub(super) fn conditions(
    written: &BTreeMap<Text, Spanned<Values>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Condition> {
    in_file_order(written)
        .into_iter()
        .map(|(column, values)| condition(column, values, diagnostics))
        .collect()
}

/// What one column must hold.
pub(super) fn condition(
    column: &Text,
    values: &Spanned<Values>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Condition {
    names::identifier(column, "column", diagnostics);
    let shown = column.get_ref().escape_debug();
    let of = |kind: Kind, test: Test| Condition {
        column: Column {
            name: column.get_ref().clone(),
            kind,
        },
        test,
    };
    let listed: Vec<(Scalar, Span)> = match values.get_ref() {
        Values::Null(true) => return of(Kind::Varchar, Test::Null),
        Values::Null(false) => return of(Kind::Varchar, Test::NotNull),
        Values::Truth(value) => return of(Kind::Varchar, Test::Is(*value)),
        Values::One(value) => vec![(value.clone(), values.span())],
        Values::Many(values) => values
            .iter()
            .map(|value| (value.get_ref().clone(), value.span()))
            .collect(),
        Values::Printed(texts) => texts
            .iter()
            .map(|text| (Scalar::Text(text.get_ref().clone()), text.span()))
            .collect(),
    };
    if listed.is_empty() {
        let help = "list at least one value, or remove the column";
        let message = format!("`{shown}` has no values, so no row would match");
        diagnostics.push(Diagnostic::error(
            "empty-condition",
            values.span(),
            message,
            help,
        ));
    }
    let is_text = |value: &Scalar| matches!(value, Scalar::Text(_));
    for (index, (value, span)) in listed.iter().enumerate() {
        if let Some((_, first)) = listed[..index].iter().find(|(earlier, _)| earlier == value) {
            diagnostics.push(
                Diagnostic::error(
                    "duplicate-value",
                    span.clone(),
                    format!("`{shown}` lists a value twice"),
                    "remove one of the two",
                )
                .related(first.clone(), "first here"),
            );
        }
        if is_text(value) != is_text(&listed[0].0) {
            diagnostics.push(
                Diagnostic::error(
                    "type-mismatch",
                    span.clone(),
                    format!("`{shown}` lists whole numbers and strings"),
                    "a column has one or the other: write all values in the same way",
                )
                .related(listed[0].1.clone(), "unlike this"),
            );
            break;
        }
        if let Scalar::Text(text) = value {
            names::value(text, &shown.to_string(), span.clone(), diagnostics);
        }
    }
    let wide = listed.iter().any(
        |(value, _)| matches!(value, Scalar::Integer(number) if i32::try_from(*number).is_err()),
    );
    let kind = match listed.first() {
        Some((Scalar::Text(_), _)) => Kind::Varchar,
        _ if wide => Kind::Bigint,
        _ => Kind::Integer,
    };
    if let Values::Printed(texts) = values.get_ref() {
        let texts = texts.iter().map(|text| text.get_ref().clone());
        return of(Kind::Varchar, Test::Printed(texts.collect()));
    }
    let literals = listed.into_iter().map(|(value, _)| match value {
        Scalar::Integer(number) => Literal::Integer(number),
        Scalar::Text(text) => Literal::Text(text),
    });
    of(kind, Test::OneOf(literals.collect()))
}
