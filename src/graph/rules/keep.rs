//! `keep` of a rule by the end of families: the newest of each group are kept.

use toml::Spanned;

use super::columns;
use super::fields::check_there;
use crate::diagnostic::Diagnostic;
use crate::graph::conditions::conditions;
use crate::graph::{Kind, Newest, names};
use crate::spec::{self, Text};

/// Tells what is missing in `keep`.
fn check_keep(rule: &Text, written: &Spanned<&spec::Keep>, diagnostics: &mut Vec<Diagnostic>) {
    let keep = written.get_ref();
    let fields = [
        (
            "newest",
            keep.newest.is_some(),
            "add `newest = 1`: how many of each group are kept",
        ),
        (
            "per",
            keep.per.is_some(),
            "add `per = \"column type\"`: the column that defines the groups",
        ),
        (
            "by",
            keep.by.is_some(),
            "add `by = \"column type\"`: the column that says which are the newest",
        ),
    ];
    let what = format!("`keep` of rule `{}`", rule.get_ref().escape_debug());
    check_there(&what, written.span(), &fields, diagnostics);
}

/// What is kept as the newest of its group, in each of the ways that are written.
pub(super) fn newest(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Newest> {
    let Some(written) = &rule.keep else {
        return Vec::new();
    };
    let keeps = spec::each_keep(written);
    if keeps.is_empty() {
        diagnostics.push(Diagnostic::error(
            "empty-condition",
            written.span(),
            format!(
                "`keep` of rule `{}` keeps nothing",
                name.get_ref().escape_debug()
            ),
            "list at least one group, or remove `keep`",
        ));
    }
    keeps
        .iter()
        .filter_map(|keep| newest_of(text, name, keep, diagnostics))
        .collect()
}

fn newest_of(
    text: &str,
    rule: &Text,
    written: &Spanned<&spec::Keep>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Newest> {
    check_keep(rule, written, diagnostics);
    let keep = written.get_ref();
    let mut seen = Vec::new();
    let mut columns = |written: &Option<Spanned<spec::Names>>, default| {
        let written = spec::each(written.as_ref()?);
        columns::columns(text, &written, default, &mut seen, diagnostics)
    };
    let (per, by) = (
        columns(&keep.per, Kind::Bigint),
        columns(&keep.by, Kind::Timestamp),
    );
    let of = conditions(&keep.of, diagnostics);
    keep.newest.as_ref()?;
    let count = names::count(keep.newest.as_ref(), 1, 1..=1_000, diagnostics);
    let (per, by) = (per?, by?);
    for (field, columns) in [("per", &per), ("by", &by)] {
        if columns.is_empty() {
            diagnostics.push(Diagnostic::error(
                "empty-condition",
                written.span(),
                format!("`{field}` has no columns"),
                "name at least one",
            ));
        }
    }
    (!per.is_empty() && !by.is_empty()).then_some(Newest { count, per, by, of })
}
