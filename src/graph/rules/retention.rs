//! How long families are kept, and what says so.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::graph::{Column, Definition, Kind, Retention, Source, names};
use crate::spec::{
    self, Days, Text,
    duration::{self, DAY},
    grammar, in_file_order,
};

/// What a definition's column may count, with its seconds.
const UNITS: [(&str, i64); 4] = [
    ("days", 86_400),
    ("hours", 3_600),
    ("minutes", 60),
    ("seconds", 1),
];

pub(super) fn retention(
    text: &str,
    rule: &Text,
    written: Option<&Spanned<spec::Retention>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Retention> {
    let says =
        |it: &spec::Retention| it.default.is_some() || it.from.is_some() || it.by_value.is_some();
    let Some(written) = written.filter(|written| says(written.get_ref())) else {
        diagnostics.push(Diagnostic::error(
            "rule-without-retention",
            written.map_or(rule.span(), |written| written.span()),
            format!(
                "rule `{}` does not say how long families are kept",
                rule.get_ref().escape_debug()
            ),
            "add `retention = { default = \"30d\" }`",
        ));
        return None;
    };
    let written = written.get_ref();
    let before = diagnostics.len();
    let default = written.default.as_ref();
    let length = names::milliseconds(default, 30 * DAY, 1_000, 1_000, diagnostics);
    let minimum = names::milliseconds(written.minimum.as_ref(), 7 * DAY, 1_000, 1_000, diagnostics);
    let clear = diagnostics.len() == before;
    let safety_lag = names::milliseconds(written.safety_lag.as_ref(), DAY, 1_000, 0, diagnostics);
    if let Some(default) = default.filter(|_| clear && length < minimum) {
        diagnostics.push(under_minimum(
            "the default retention",
            default,
            minimum,
            written.minimum.as_ref(),
        ));
    }
    let per = written
        .per
        .as_ref()
        .and_then(|per| scope(text, per, diagnostics));
    let opt_in = written
        .opt_in
        .as_ref()
        .is_some_and(|opt_in| *opt_in.get_ref());
    if let (Some(flag), None, true) = (&written.opt_in, &written.per, opt_in) {
        diagnostics.push(Diagnostic::error(
            "opt-in-without-scope",
            flag.span(),
            "`opt_in` needs scopes that can opt in",
            "add `per = \"column\"`: the column of the root table for which policies are set",
        ));
    }
    check_combination(written, diagnostics);
    let source = match (&written.from, &written.by_value) {
        (Some(from), _) => {
            let kind = per.as_ref().map_or(Kind::Bigint, |per| per.kind);
            definition(text, from, kind, diagnostics).map(Source::Definition)
        }
        (None, Some(values)) => Some(Source::Values(by_value(
            values,
            per.as_ref(),
            clear.then_some(minimum),
            written.minimum.as_ref(),
            diagnostics,
        ))),
        (None, None) => None,
    };
    Some(Retention {
        default: default.map(|_| length / 1_000),
        minimum: minimum / 1_000,
        safety_lag: safety_lag / 1_000,
        per,
        opt_in,
        source,
        calendar: written
            .days
            .as_ref()
            .is_some_and(|days| *days.get_ref() == Days::Calendar),
    })
}

/// A source says how long the scopes are kept, so that it needs these, and nothing else that says so.
fn check_combination(written: &spec::Retention, diagnostics: &mut Vec<Diagnostic>) {
    two_sources(
        written.from.as_ref(),
        written.by_value.as_ref(),
        diagnostics,
    );
    let from = written.from.as_ref().map(|from| ("from", from.span()));
    let values = written.by_value.as_ref();
    let values = values.map(|values| ("by_value", values.span()));
    let Some((name, span)) = from.or(values) else {
        return;
    };
    if written.per.is_none() {
        diagnostics.push(Diagnostic::error(
            "source-without-scope",
            span.clone(),
            format!("`{name}` needs a column to look up"),
            "add `per = \"column type\"`: the column of the root table that refers to the definition, or has the value",
        ));
    }
    if let Some(flag) = &written.opt_in
        && *flag.get_ref()
    {
        diagnostics.push(
            Diagnostic::error(
                "opt-in-with-source",
                flag.span(),
                format!("with `opt_in`, `{name}` would never be used"),
                "remove `opt_in`: policies override the source, and a disabled policy keeps its scope",
            )
            .related(span, "the retention of scopes without a policy"),
        );
    }
}

/// Only one of `from` and `by_value` can say how long something is kept.
pub(super) fn two_sources(
    from: Option<&Text>,
    by_value: Option<&Spanned<BTreeMap<Text, Text>>>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if let (Some(first), Some(second)) = (from, by_value) {
        diagnostics.push(
            Diagnostic::error(
                "two-sources",
                second.span(),
                "both `from` and `by_value` say how long a scope without a policy is kept",
                "keep one of the two; policies override either",
            )
            .related(first.span(), "the other one"),
        );
    }
}

pub(super) fn definition(
    text: &str,
    written: &Text,
    kind: Kind,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Definition> {
    let read = grammar::source(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    names::identifier(&read.table, "table", diagnostics);
    names::identifier(&read.key, "column", diagnostics);
    names::identifier(&read.column, "column", diagnostics);
    let unit = UNITS
        .iter()
        .find(|(name, _)| name == read.unit.get_ref())
        .map(|(_, seconds)| *seconds);
    if unit.is_none() {
        let known = UNITS.map(|(name, _)| name);
        diagnostics.push(Diagnostic::error(
            "unknown-value",
            read.unit.span(),
            format!("unknown unit `{}`", read.unit.get_ref().escape_debug()),
            did_you_mean(
                read.unit.get_ref(),
                known,
                &format!("known units: `{}`", known.join("`, `")),
            ),
        ));
    }
    Some(Definition {
        table: read.table.get_ref().clone(),
        key: Column {
            name: read.key.get_ref().clone(),
            kind,
        },
        column: read.column.get_ref().clone(),
        unit: unit?,
    })
}

pub(super) fn by_value(
    values: &Spanned<BTreeMap<Text, Text>>,
    per: Option<&Column>,
    minimum: Option<i64>,
    written_minimum: Option<&Text>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(String, i64)> {
    let mut read = Vec::new();
    if values.get_ref().is_empty() {
        diagnostics.push(Diagnostic::error(
            "empty-condition",
            values.span(),
            "`by_value` names no value",
            "list at least one, or remove it",
        ));
    }
    for (value, written) in in_file_order(values.get_ref()) {
        let shown = value.get_ref().escape_debug();
        if let Some(per) = per.filter(|per| !is_spelt(value.get_ref(), per.kind)) {
            diagnostics.push(Diagnostic::error(
                "invalid-value",
                value.span(),
                format!(
                    "`{shown}` is not a value of a `{}`",
                    names::kind_name(per.kind)
                ),
                "write it as the server does: a whole number without leading zeros, a uuid in lower case, a string that is not empty",
            ));
        }
        let before = diagnostics.len();
        let length = names::milliseconds(Some(written), 30 * DAY, 1_000, 1_000, diagnostics);
        if let Some(minimum) =
            minimum.filter(|least| diagnostics.len() == before && length < *least)
        {
            let what = format!("the retention of `{shown}`,");
            diagnostics.push(under_minimum(&what, written, minimum, written_minimum));
        }
        read.push((value.get_ref().clone(), length / 1_000));
    }
    read
}

/// Whether a text is how a server writes a value of this kind.
fn is_spelt(value: &str, kind: Kind) -> bool {
    let number = |low: i64, high: i64| {
        let read = value.parse::<i64>().ok();
        read.is_some_and(|number| number.to_string() == value && (low..=high).contains(&number))
    };
    match kind {
        Kind::Smallint => number(i16::MIN.into(), i16::MAX.into()),
        Kind::Integer => number(i32::MIN.into(), i32::MAX.into()),
        Kind::Bigint => number(i64::MIN, i64::MAX),
        Kind::Uuid => {
            let parts: Vec<&str> = value.split('-').collect();
            let hexadecimal = |digit: char| digit.is_ascii_digit() || ('a'..='f').contains(&digit);
            parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
                && parts.iter().all(|part| part.chars().all(hexadecimal))
        }
        Kind::Numeric => value.parse::<i128>().is_ok(),
        Kind::Varchar | Kind::Char | Kind::Bytea | Kind::Timestamp | Kind::Timestamptz => {
            let is_odd = |sign: char| sign.is_control() || names::is_no_character(sign);
            !value.is_empty() && !value.contains(is_odd)
        }
    }
}

fn under_minimum(
    what: &str,
    written: &Text,
    minimum: i64,
    written_minimum: Option<&Text>,
) -> Diagnostic {
    let shown = duration::show(minimum);
    let finding = Diagnostic::error(
        "retention-under-minimum",
        written.span(),
        format!(
            "{what} `{}` is below the minimum `{shown}`",
            written.get_ref()
        ),
        format!("keep families for at least `{shown}`, or lower `minimum`"),
    );
    match written_minimum {
        Some(minimum) => finding.related(minimum.span(), "the minimum"),
        None => finding.labelled(format!("the default of `minimum` is `{shown}`")),
    }
}

fn scope(text: &str, written: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Column> {
    let wrong = |kind: &str| format!("policies cannot be set for a `{kind}`");
    naming(text, written, wrong, diagnostics)
}

/// A column whose values name something, so that it has the type of a key; `wrong` says what cannot be with another one.
pub(super) fn naming(
    text: &str,
    written: &Text,
    wrong: impl Fn(&str) -> String,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let read = grammar::column(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    let column = names::column(&read, Kind::Bigint, diagnostics)?;
    if !names::identifies(column.kind) {
        diagnostics.push(Diagnostic::error(
            "type-mismatch",
            read.kind.map_or(written.span(), |kind| kind.span()),
            wrong(names::kind_name(column.kind)),
            "scopes and keys are `smallint`, `integer`, `bigint`, `numeric`, `uuid`, `varchar`, `char`, or `bytea` (`binary` on MySQL and MariaDB)",
        ));
        return None;
    }
    Some(column)
}
