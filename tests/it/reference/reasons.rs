//! `docs/reference/reasons.md`: why rows stay, why runs end or do not begin, what `verify` checks and what codes mean, by
//! `src/facts/` and what `windrow check --explain` says. The lists are held against the texts of the kernels.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use windrow::facts::{CHECKS, Outcome, REASONS, REFUSALS, STATUSES, STOPS, WAITS};
use windrow::{fit, lint};

use super::cell;

const HEAD: &str = "\
# Reasons and codes

Made of the lists in the code, which are compared with the SQL of both kernels. `…` is a figure or a name; more may follow.
";

pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str(
        "\n## Why a family is kept\n\nIn `skipped` of `preview` and `run`, in `refused` of `purge`, in table `run_skip` and view `undeletable`.\n\n\
         | reason | meaning | what to do |\n|---|---|---|\n",
    );
    for reason in &REASONS {
        let meaning = reason.explained.unwrap_or(reason.meaning);
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            reason.name,
            cell(meaning),
            cell(reason.remedy)
        );
    }
    page.push_str(
        "\nRoots that are not old enough, or that `keep` spares as one of the newest of their group, are not due, and so in no list.\n",
    );
    outcomes(
        &mut page,
        "How a run ends",
        "`status` of a run.",
        "status",
        &STATUSES,
    );
    outcomes(
        &mut page,
        "Why a run ended",
        "`reason` of a run. Of several rules, the reason that asks most for a look counts. ` while waiting for` behind it says what the \
         run waited for as it ended; `; rows of partition … are out of their table` (MySQL and MariaDB), that they could not go back: \
         see check `unfinished`.",
        "reason",
        &STOPS,
    );
    outcomes(
        &mut page,
        "What a run waits for",
        "`waiting_for` of a run under way, in `windrow status` and table `run`; `windrow settings` has what they obey.",
        "waiting for",
        &WAITS,
    );
    outcomes(
        &mut page,
        "Why no run begins",
        "`reason` where the status is `refused` (exit code 1, but for what is as it should be); of scheduled runs also in table `refusal`. \
         Where a person calls, some of them are errors.",
        "reason",
        &REFUSALS,
    );
    outcomes(
        &mut page,
        "What verify checks",
        "`check` of `windrow verify`. A violation ends it with exit code 1; a notice is good to know.",
        "check",
        &CHECKS,
    );
    page.push_str(
        "\n## Codes of findings\n\nWhat `windrow check` and `windrow install` find in a spec, and with a database. \
         `windrow check --explain CODE` says the same.\n",
    );
    for code in codes() {
        let text = fit::explain(code).or_else(|| lint::explain::explain(code));
        let _ = writeln!(page, "\n### {code}\n\n{}", text.expect(code).trim());
    }
    page
}

/// Every code that can be explained.
fn codes() -> BTreeSet<&'static str> {
    let of_database = fit::CODES.iter().map(|(code, _)| *code);
    of_database.chain(lint::explain::codes()).collect()
}

fn outcomes(page: &mut String, title: &str, where_: &str, head: &str, all: &[Outcome]) {
    let _ = writeln!(
        page,
        "\n## {title}\n\n{where_}\n\n| {head} | meaning | what to do |\n|---|---|---|"
    );
    for outcome in all {
        let words = outcome.words.replace("%s", "…").replace("%%", "%");
        let _ = writeln!(
            page,
            "| `{words}` | {} | {} |",
            cell(outcome.meaning),
            cell(outcome.remedy)
        );
    }
}

/// The files of a kernel, as one text each.
fn kernel(name: &str) -> Vec<String> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut texts = Vec::new();
    for folder in ["core", "features", "strategies"] {
        let folder = format!("{root}/templates/kernel/{name}/{folder}");
        for file in fs::read_dir(folder).expect("a folder") {
            texts.push(fs::read_to_string(file.expect("a file").path()).expect("a text"));
        }
    }
    texts
}

/// The texts in quotes that follow something.
fn behind<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(|rest| {
        let literal = rest.trim_start().strip_prefix('\'')?;
        literal.split('\'').next()
    })
}

/// Whether a text of a kernel is one of these: figures and names stand for themselves.
fn is_told(all: &[Outcome], literal: &str) -> bool {
    all.iter().any(|outcome| {
        let first = outcome.words.split("%s").next().unwrap_or_default();
        literal.starts_with(outcome.words) || literal.trim_end() == first.trim_end()
    })
}

/// Whether a kernel says it: the first words of it, in quotes.
fn is_said(texts: &[String], outcome: &Outcome) -> bool {
    let parts: Vec<&str> = outcome.words.split("%s").collect();
    let quoted = format!("'{}", parts[0]);
    let last = parts.last().copied().unwrap_or_default();
    texts
        .iter()
        .any(|text| text.contains(&quoted) && text.contains(last))
}

/// What only MySQL and MariaDB say.
const OF_INNODB: [&str; 5] = [
    "the server is read-only",
    "another server was armed",
    "no sign of life from its server for %s",
    "its server is no member of the cluster any more",
    "killed inside a batch",
];

pub(super) fn every_reason_of_the_kernels_is_told() {
    for name in ["postgres", "innodb"] {
        let texts = kernel(name);
        let mut seen = 0;
        for text in &texts {
            // What a step answers: `more`, `again` and `waits` are no ends.
            let mut states: Vec<&str> = behind(text, "o_state = ").collect();
            states.extend(behind(text, "o_state := "));
            for part in text.split("\n--# create function ").skip(1) {
                let is_step = ["_step", "step(", "begin_rule", "sweep_rest"];
                let head = part.lines().take(2).collect::<String>();
                if is_step.iter().any(|it| head.contains(it)) {
                    states.extend(behind(part, "RETURN "));
                    states.extend(behind(part, "RETURN format("));
                }
            }
            for state in states
                .into_iter()
                .filter(|it| !["more", "again", "waits"].contains(it))
            {
                assert!(
                    is_told(&STOPS, state),
                    "{name}: a run may end with `{state}`"
                );
                seen += 1;
            }
        }
        assert!(seen > 10, "{name}: {seen}");
        for outcome in STOPS.iter().chain(&REFUSALS) {
            let elsewhere: &[&str] = match name {
                "postgres" => &OF_INNODB,
                _ => &["no foreign key is checked", "the collation"],
            };
            let said = is_said(&texts, outcome) || elsewhere.contains(&outcome.words);
            assert!(said, "{name} does not say `{}`", outcome.words);
        }
        refusals(name, &texts);
        waits(name, &texts);
        let found = checks(&texts);
        let told = CHECKS.iter().map(|check| check.words.to_owned());
        let others = ["time zone", "unfinished"];
        let told: BTreeSet<String> = told
            .filter(|it| name == "innodb" || !others.contains(&it.as_str()))
            .collect();
        assert_eq!(found, told, "{name}: what verify checks");
        let statuses = texts.iter().find_map(|text| {
            let (_, list) = text
                .split_once("CHECK (status IN (")
                .or_else(|| text.split_once("CHECK (`status` IN ("))?;
            Some(list.split(')').next()?.to_owned())
        });
        let statuses = statuses.expect("a constraint");
        let told: Vec<String> = STATUSES
            .iter()
            .map(|it| format!("'{}'", it.words))
            .collect();
        assert_eq!(statuses, told.join(", "), "{name}");
    }
    let both = [kernel("postgres"), kernel("innodb")].concat();
    for outcome in &WAITS {
        assert!(
            is_said(&both, outcome),
            "no kernel says `{}`",
            outcome.words
        );
    }
    assert!(REASONS.iter().all(|reason| !reason.remedy.is_empty()));
}

/// What a run says that it waits for.
fn waits(name: &str, texts: &[String]) {
    let mut seen = 0;
    for text in texts {
        for routine in text.split("\n--# create ").skip(1) {
            let head = routine.lines().next().unwrap_or_default();
            let of_pace = ["throttle", "throttled", "pace", "at_others", "replica_lag"];
            if !of_pace.iter().any(|it| head.ends_with(&format!(" {it}"))) {
                continue;
            }
            let lines = routine.lines().filter(|line| !line.contains("RAISE"));
            let body = lines.collect::<Vec<_>>().join("\n");
            for before in [
                "RETURN format(",
                "text := format(",
                "THEN format(",
                "o_reason = CONCAT(",
                "0, CONCAT(",
            ] {
                for literal in behind(&body, before) {
                    assert!(is_told(&WAITS, literal), "{name}: {head}: `{literal}`");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 5, "{name}: {seen}");
}

/// What the routines say that let no run begin.
fn refusals(name: &str, texts: &[String]) {
    let routines = [
        "held_back",
        "kept_back",
        "run_begin",
        "stamp_begin",
        "stranger",
        "rule_paused",
        "why_paused",
    ];
    let mut seen = 0;
    for text in texts {
        for part in text.split("\n--# create ").skip(1) {
            let head = part.lines().next().unwrap_or_default();
            if !routines.iter().any(|it| head.ends_with(&format!(" {it}"))) {
                continue;
            }
            let lines = part.lines().filter(|line| {
                ["HINT", "RAISE", "CAST("]
                    .iter()
                    .all(|it| !line.contains(it))
            });
            let body = lines.collect::<Vec<_>>().join("\n");
            let body = body.replace("CALL not_ready(", "CALL refuse(");
            // What is an error has its own words.
            let errors = body.split("CALL refuse(").enumerate();
            let body: String = errors
                .map(|(at, rest)| match rest.split_once(");") {
                    Some((_, behind)) if at > 0 => behind,
                    _ => rest,
                })
                .collect();
            for before in [
                "o_refused := ",
                "o_refused = ",
                "THEN ",
                "format(",
                "CONCAT(",
            ] {
                let words = |it: &&str| it.starts_with(|first: char| first.is_ascii_lowercase());
                for literal in behind(&body, before).filter(words) {
                    assert!(is_told(&REFUSALS, literal), "{name}: {head}: `{literal}`");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 3, "{name}: {seen}");
}

/// The names of the checks of `verify`, and of those that the command adds.
fn checks(texts: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let routines = texts.iter().flat_map(|text| text.split("\n--# create "));
    for routine in routines.filter(|it| it.contains("check_name")) {
        found.extend(behind(routine, "'check_name', ").map(str::to_owned));
        for line in routine.lines() {
            let line = line
                .trim()
                .trim_start_matches("SELECT ")
                .trim_start_matches("VALUES (");
            let rest = line.trim_start_matches(|it: char| it.is_ascii_digit());
            if rest.len() < line.len()
                && let Some(name) = rest.strip_prefix(", '")
            {
                found.insert(name.split('\'').next().unwrap_or_default().to_owned());
            }
        }
    }
    found.extend(
        texts
            .iter()
            .flat_map(|text| behind(text, "'check', "))
            .map(str::to_owned),
    );
    let command = fs::read_to_string(format!(
        "{}/src/commands/show.rs",
        env!("CARGO_MANIFEST_DIR")
    ));
    let command = command.expect("a text").replace('"', "'");
    found.extend(behind(&command, "'check': ").map(str::to_owned));
    found
}
