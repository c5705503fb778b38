//! Single values of a spec: names, types, time zone, schedule, durations and counts.

use std::collections::BTreeSet;

use toml::Spanned;

use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::dialect::{DIALECTS, Dialect};
use crate::facts;
use crate::graph::{Column, Epoch, Graph, Kind};
use crate::schedule::{Problem, Schedule};
use crate::spec::grammar::{ColumnText, place};
use crate::spec::{Names, Spec, Text, duration, each};

/// The longest name that every server takes, in bytes.
const LONGEST_NAME: usize = 63;
/// The longest name that MySQL and MariaDB take, in characters.
const LONGEST_ELSEWHERE: usize = 64;
/// What is left of the former for the spec's name, with `windrow_` before it and room for suffixes behind.
const LONGEST_SPEC_NAME: usize = 40;
/// What is left of it for a rule's name, with what its routines and indexes add.
const LONGEST_RULE_NAME: usize = 30;

/// What no rule may be called: with a verb after it, it would be the name of a routine of the kernel.
pub const RESERVED_RULES: [&str; 7] =
    ["archived", "in", "lock", "may", "next", "record", "time_of"];

const KINDS: [(&str, Kind); 11] = [
    ("smallint", Kind::Smallint),
    ("integer", Kind::Integer),
    ("bigint", Kind::Bigint),
    ("uuid", Kind::Uuid),
    ("numeric", Kind::Numeric),
    ("varchar", Kind::Varchar),
    ("char", Kind::Char),
    ("bytea", Kind::Bytea),
    // The word of MySQL and MariaDB.
    ("binary", Kind::Bytea),
    ("timestamp", Kind::Timestamp),
    ("timestamptz", Kind::Timestamptz),
];

/// The word for a kind in a spec.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    KINDS
        .iter()
        .find(|(_, known)| *known == kind)
        .map_or("", |(name, _)| name)
}

/// True for the kinds that identify rows.
pub(super) fn identifies(kind: Kind) -> bool {
    !matches!(kind, Kind::Timestamp | Kind::Timestamptz)
}

/// True for whole numbers of any width.
pub(super) fn is_integer(kind: Kind) -> bool {
    matches!(kind, Kind::Smallint | Kind::Integer | Kind::Bigint)
}

/// Checks the spec's name and answers it; empty if there is none.
pub(super) fn spec_name(name: Option<&Text>, diagnostics: &mut Vec<Diagnostic>) -> String {
    let Some(name) = name else {
        let help = "begin the spec with `name = \"…\"`; the control schema is `windrow_<name>`";
        diagnostics.push(Diagnostic::error(
            "missing-field",
            0..0,
            "the spec has no `name`",
            help,
        ));
        return String::new();
    };
    let text = name.get_ref();
    let legal =
        |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || "_.-".contains(sign);
    if !text.starts_with(|sign: char| sign.is_ascii_lowercase()) || !text.chars().all(legal) {
        diagnostics.push(Diagnostic::error(
            "invalid-spec-name",
            name.span(),
            format!("`{}` cannot name a spec", text.escape_debug()),
            "begin with a lower-case letter and use only lower-case letters, digits, `_`, `-` and `.`",
        ));
    } else if text.len() > LONGEST_SPEC_NAME {
        diagnostics.push(Diagnostic::error(
            "invalid-spec-name",
            name.span(),
            format!("the spec's name has {} characters", text.len()),
            format!("use at most {LONGEST_SPEC_NAME}: `windrow_<name>` and names made from it must fit in {LONGEST_NAME} bytes"),
        ));
    }
    text.clone()
}

/// Checks a rule's name.
pub(super) fn rule_name(name: &Text, diagnostics: &mut Vec<Diagnostic>) {
    let text = name.get_ref().as_str();
    if RESERVED_RULES.contains(&text) {
        diagnostics.push(Diagnostic::error(
            "invalid-rule-name",
            name.span(),
            format!("`{text}` cannot name a rule: windrow's own routines have such names"),
            format!("name it after what it deletes, such as `{text}_rows`"),
        ));
    }
    routine_name(name, "a rule", diagnostics);
}

fn routine_name(name: &Text, what: &str, diagnostics: &mut Vec<Diagnostic>) {
    let text = name.get_ref();
    let legal = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
    if !text.starts_with(|sign: char| sign.is_ascii_lowercase()) || !text.chars().all(legal) {
        diagnostics.push(Diagnostic::error(
            "invalid-rule-name",
            name.span(),
            format!("`{}` cannot name {what}", text.escape_debug()),
            "begin with a lower-case letter and use only lower-case letters, digits and `_`",
        ));
    } else if text.len() > LONGEST_RULE_NAME {
        diagnostics.push(Diagnostic::error(
            "invalid-rule-name",
            name.span(),
            format!("the rule's name has {} characters", text.len()),
            format!("use at most {LONGEST_RULE_NAME}: routines and indexes are named after it"),
        ));
    }
}

/// Checks the name of a stamp of a rule: both together name its routines.
pub(super) fn stamp_name(rule: &Text, name: &Text, diagnostics: &mut Vec<Diagnostic>) {
    let before = diagnostics.len();
    routine_name(name, "a stamp", diagnostics);
    let length = rule.get_ref().len() + 1 + name.get_ref().len();
    if diagnostics.len() == before && length > LONGEST_RULE_NAME {
        diagnostics.push(Diagnostic::error(
            "invalid-rule-name",
            name.span(),
            format!("together with its rule's name, the name has {length} characters"),
            format!("use at most {LONGEST_RULE_NAME}: its routines are named after both"),
        ));
    }
}

/// Checks the name of something in the catalog.
pub(super) fn identifier(name: &Text, what: &str, diagnostics: &mut Vec<Diagnostic>) {
    let text = name.get_ref();
    let shown = text.escape_debug();
    let (message, help) = if text.is_empty() {
        (
            format!("the name of a {what} is empty"),
            "write the name as in the catalog",
        )
    } else if text.chars().any(char::is_control) {
        (
            format!("the {what} `{shown}` has a control character in its name"),
            "write the name as in the catalog",
        )
    } else if text.chars().count() > LONGEST_ELSEWHERE {
        let help =
            "no server has a name of more than 64 characters: write the name as in the catalog";
        let length = text.chars().count();
        (
            format!("the name of the {what} `{shown}` has {length} characters"),
            help,
        )
    } else {
        return;
    };
    diagnostics.push(Diagnostic::error(
        "invalid-identifier",
        name.span(),
        message,
        help,
    ));
}

/// Finds names that are too long for PostgreSQL, which counts bytes; MySQL and MariaDB count characters.
pub(super) fn lengths(graph: &Graph, text: &str, diagnostics: &mut Vec<Diagnostic>) {
    if !graph.dialects.contains(&Dialect::Postgres) {
        return;
    }
    let names = graph.names().into_iter().chain([graph.schema.clone()]);
    let names: BTreeSet<String> = names.collect();
    for name in names.iter().filter(|name| name.len() > LONGEST_NAME) {
        // Of longer ones, it is known already.
        if name.chars().count() > LONGEST_ELSEWHERE {
            continue;
        }
        let span = text
            .find(name.as_str())
            .map_or(0..0, |at| at..at + name.len());
        diagnostics.push(Diagnostic::error(
            "invalid-identifier",
            span,
            format!("the name `{}` has {} bytes", name.escape_debug(), name.len()),
            "PostgreSQL cuts names off after 63 bytes: write the name as in the catalog; if the spec is for other servers, list them under \
             `dialects`",
        ));
    }
}

/// Whether Unicode says that a sign is no character: windrow has such signs of its own while it writes SQL.
pub(super) fn is_no_character(sign: char) -> bool {
    ('\u{fdd0}'..='\u{fdef}').contains(&sign)
}

/// Checks a text that a column may hold.
pub(super) fn value(text: &str, shown: &str, span: Span, diagnostics: &mut Vec<Diagnostic>) {
    if text.contains(|sign| sign == '\0' || is_no_character(sign)) {
        let message = format!("a value of `{shown}` contains NUL or a Unicode noncharacter");
        let help = "no column can store it: remove it";
        diagnostics.push(Diagnostic::error("invalid-value", span, message, help));
    }
}

/// Checks the title: it becomes part of comments.
pub(super) fn title(title: &Text, diagnostics: &mut Vec<Diagnostic>) {
    if title.get_ref().chars().any(char::is_control) {
        let help = "keep the title on one line, without control characters";
        let message = "the title has a line break or another control character";
        diagnostics.push(Diagnostic::error(
            "invalid-title",
            title.span(),
            message,
            help,
        ));
    }
}

/// Checks a column's name and resolves its type; no answer if the type is unknown.
pub(super) fn column(
    column: &ColumnText,
    default: Kind,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    identifier(&column.name, "column", diagnostics);
    let kind = match &column.kind {
        Some(kind) => self::kind(kind, diagnostics)?,
        None => default,
    };
    Some(Column {
        name: column.name.get_ref().clone(),
        kind,
    })
}

fn kind(word: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Kind> {
    let found = KINDS
        .iter()
        .find(|(name, _)| name == word.get_ref())
        .map(|(_, kind)| *kind);
    if found.is_none() {
        if let Some(epoch) = Epoch::ALL.iter().find(|it| it.word() == word.get_ref()) {
            diagnostics.push(Diagnostic::error(
                "epoch-elsewhere",
                word.span(),
                format!("`{}` is not allowed here", epoch.word()),
                "a number or a date can be the `end_time` of a rule of the strategy `end-time`, without `max` and `else`, or the \
                 `time` of any other but `removal-time`; elsewhere add a generated column of a time type to the table, and use that",
            ));
            return None;
        }
        let names = KINDS.map(|(name, _)| name);
        let otherwise = format!(
            "known types: `{}`; and for the time of a rule `{}`",
            names.join("`, `"),
            Epoch::ALL.map(Epoch::word).join("`, `")
        );
        diagnostics.push(Diagnostic::error(
            "unknown-type",
            word.span(),
            format!("unknown type `{}`", word.get_ref().escape_debug()),
            did_you_mean(word.get_ref(), names, &otherwise),
        ));
    }
    found
}

/// Checks that the zone is one of the IANA database, with the spelling that it has there.
pub(super) fn time_zone(zone: &Text, diagnostics: &mut Vec<Diagnostic>) {
    let database = jiff::tz::TimeZoneDatabase::bundled();
    let found = database.get(zone.get_ref());
    if found.is_ok_and(|found| found.iana_name() == Some(zone.get_ref())) {
        return;
    }
    let known: Vec<String> = database
        .available()
        .map(|name| name.as_str().to_owned())
        .collect();
    diagnostics.push(Diagnostic::error(
        "unknown-time-zone",
        zone.span(),
        format!("unknown time zone `{}`", zone.get_ref().escape_debug()),
        did_you_mean(
            zone.get_ref(),
            known.iter().map(String::as_str),
            "use a name of the IANA time zone database, e.g. `UTC` or `Europe/Berlin`",
        ),
    ));
}

/// The servers of a spec, in the order in which files are generated.
pub(super) fn dialects(
    written: Option<&Spanned<Vec<Spanned<Dialect>>>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Dialect> {
    let Some(written) = written else {
        return DIALECTS.to_vec();
    };
    let listed = written.get_ref();
    if listed.is_empty() {
        diagnostics.push(Diagnostic::error(
            "no-dialect",
            written.span(),
            "the spec is for no server",
            "name at least one of `postgres`, `mysql` and `mariadb`, or remove `dialects`: then it is for all",
        ));
    }
    once_each(listed, diagnostics);
    DIALECTS
        .iter()
        .copied()
        .filter(|dialect| listed.iter().any(|it| it.get_ref() == dialect))
        .collect()
}

/// The servers on which all names are in upper case; `dialects` are those of the spec.
pub(super) fn upper_case(
    spec: &Spec,
    dialects: &[Dialect],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Dialect> {
    let Some(written) = &spec.upper_case else {
        return Vec::new();
    };
    let listed = written.get_ref();
    once_each(listed, diagnostics);
    for dialect in listed {
        if !dialects.contains(dialect.get_ref()) {
            let folder = dialect.get_ref().facts().folder;
            diagnostics.push(Diagnostic::error(
                "server-not-listed",
                dialect.span(),
                format!("the spec is not for `{folder}`"),
                format!("add `\"{folder}\"` to `dialects`, or remove it here"),
            ));
        }
    }
    let mut names: Vec<&Text> = spec.tables.keys().chain(spec.ignore.keys()).collect();
    names.sort_by_key(|name| name.span().start);
    for (at, name) in names.iter().enumerate() {
        let alike = names[..at].iter().find(|earlier| {
            let (name, earlier) = (name.get_ref(), earlier.get_ref());
            name != earlier && name.eq_ignore_ascii_case(earlier)
        });
        if let (Some(first), false) = (alike, listed.is_empty()) {
            diagnostics.push(
                Diagnostic::error(
                    "same-in-upper-case",
                    name.span(),
                    format!(
                        "`{}` and `{}` are the same name in upper case",
                        first.get_ref().escape_debug(),
                        name.get_ref().escape_debug()
                    ),
                    "remove one of the two, or `upper_case`",
                )
                .related(first.span(), "first here"),
            );
        }
    }
    listed.iter().map(|dialect| *dialect.get_ref()).collect()
}

/// Routines of a rule would be called like those of another rule or of a stamp, which is named at `first`.
pub(super) fn like_another(name: &str, span: Span, first: Span) -> Diagnostic {
    let message = format!("`{name}` cannot name a rule: routines of another one have such names");
    let help = format!("name it after what it deletes, such as `{name}_rows`");
    Diagnostic::error("invalid-rule-name", span, message, help).related(first, "of this one")
}

/// A value stands twice in a list; `first` is where it was before.
pub(super) fn twice(value: &str, span: Span, first: Span) -> Diagnostic {
    let message = format!("`{}` is listed twice", value.escape_debug());
    Diagnostic::error("duplicate-value", span, message, "remove one of the two")
        .related(first, "first here")
}

fn once_each(listed: &[Spanned<Dialect>], diagnostics: &mut Vec<Diagnostic>) {
    for (at, dialect) in listed.iter().enumerate() {
        if let Some(first) = listed[..at]
            .iter()
            .find(|earlier| earlier.get_ref() == dialect.get_ref())
        {
            let name = dialect.get_ref().facts().folder;
            diagnostics.push(twice(name, dialect.span(), first.span()));
        }
    }
}

/// When scheduled runs start; hourly, if left out.
pub(super) fn schedules(
    text: &str,
    field: Option<&Spanned<Names>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Schedule> {
    let Some(field) = field else {
        return vec![Schedule::hourly()];
    };
    let written = each(field);
    if written.is_empty() {
        diagnostics.push(Diagnostic::error(
            "invalid-schedule",
            field.span(),
            "this list of schedules is empty",
            "list when scheduled runs start, or remove it for the default: seven minutes past every hour",
        ));
    }
    written
        .iter()
        .filter_map(|line| schedule(text, line, diagnostics))
        .collect()
}

/// Reads five cron fields, or `N seconds`.
fn schedule(text: &str, written: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Schedule> {
    const HELP: &str = "write five fields (minute, hour, day of month, month, day of week) of `*`, numbers, `a-b`, `*/n` \
                        and lists of these, in UTC; or `N seconds` with N from 1 to 59";
    let problems = match Schedule::parse(written.get_ref()) {
        Ok(schedule) => return Some(schedule),
        Err(problems) => problems,
    };
    let message = format!("`{}` is not a schedule", written.get_ref().escape_debug());
    for problem in problems {
        let (span, label) = match problem {
            Problem::Fields(count) => (written.span(), format!("{count} fields")),
            Problem::Field {
                place: part,
                name,
                range: (low, high),
            } => (
                place(text, written, part),
                format!("{name}: {low} to {high}"),
            ),
        };
        diagnostics.push(
            Diagnostic::error("invalid-schedule", span, message.clone(), HELP).labelled(label),
        );
    }
    None
}

/// A duration in milliseconds that is a multiple of `unit` and at least `least`.
pub(super) fn milliseconds(
    field: Option<&Text>,
    default: i64,
    unit: i64,
    least: i64,
    diagnostics: &mut Vec<Diagnostic>,
) -> i64 {
    let Some(field) = field else { return default };
    let mut wrong = |code, message: String, help: String| {
        diagnostics.push(Diagnostic::error(code, field.span(), message, help));
    };
    match duration::parse(field.get_ref()) {
        Err(problem) => wrong("invalid-duration", problem.message, problem.help.to_owned()),
        Ok(value) if value % unit != 0 => wrong(
            "out-of-range",
            format!("`{}` is not a whole number of seconds", field.get_ref()),
            "only `lock_timeout` and `target_batch` are in milliseconds; round it to seconds"
                .to_owned(),
        ),
        Ok(value) if value < least => wrong(
            "out-of-range",
            format!("`{}` is too short", field.get_ref()),
            format!("write at least `{}`", duration::show(least)),
        ),
        Ok(value) => return value,
    }
    default
}

/// Days after which archived rows are deleted; 0: never.
pub(super) fn archive_days(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) -> i64 {
    if let Some(field) = &spec.archive_days
        && spec.rules.values().all(|rule| rule.archive.is_none())
    {
        diagnostics.push(Diagnostic::error(
            "days-without-archive",
            field.span(),
            "no rule archives anything",
            "write `archive = true` in a rule, or remove it",
        ));
    }
    let limit = facts::ARCHIVE_DAYS;
    let bounds = 1..=limit.greatest;
    count(
        spec.archive_days.as_ref(),
        limit.default,
        bounds,
        diagnostics,
    )
}

/// A number within bounds.
pub(super) fn count(
    field: Option<&Spanned<i64>>,
    default: i64,
    bounds: std::ops::RangeInclusive<i64>,
    diagnostics: &mut Vec<Diagnostic>,
) -> i64 {
    let Some(field) = field else { return default };
    if bounds.contains(field.get_ref()) {
        return *field.get_ref();
    }
    let help = format!("write a number from {} to {}", bounds.start(), bounds.end());
    diagnostics.push(out_of_range(
        field.span(),
        format!("{} is out of range", field.get_ref()),
        help,
    ));
    default
}

fn out_of_range(span: Span, message: String, help: String) -> Diagnostic {
    Diagnostic::error("out-of-range", span, message, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_schedule(text: &str) -> bool {
        let mut diagnostics = Vec::new();
        schedule("", &Spanned::new(0..0, text.to_owned()), &mut diagnostics);
        diagnostics.is_empty()
    }

    #[test]
    fn schedules_are_five_fields_or_seconds() {
        for good in [
            "7 * * * *",
            "*/10 0-6,22-23 1,15 * 1-5",
            "0-30/5 * * * 7",
            "30 seconds",
            " 0  3 * * 0 ",
        ] {
            assert!(is_schedule(good), "{good}");
        }
        for bad in [
            "",
            "7 * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
        ] {
            assert!(!is_schedule(bad), "{bad}");
        }
        for bad in [
            "@hourly",
            "0 seconds",
            "60 seconds",
            "* * * * mon",
            "*/0 * * * *",
            "5/10 * * * *",
            "1,,2 * * * *",
        ] {
            assert!(!is_schedule(bad), "{bad}");
        }
    }

    #[test]
    fn time_zones_need_no_files_of_the_system() {
        let unknown = |zone: &str| {
            let mut diagnostics = Vec::new();
            time_zone(&Spanned::new(0..0, zone.to_owned()), &mut diagnostics);
            diagnostics.pop().map(|diagnostic| diagnostic.help)
        };
        assert_eq!(unknown("UTC"), None);
        assert_eq!(unknown("Europe/Berlin"), None);
        assert_eq!(
            unknown("Europe/berlin").as_deref(),
            Some("did you mean `Europe/Berlin`?")
        );
        assert!(unknown("+01:00").is_some());
    }
}
