//! What a database says: the findings, what people have decided, the preview and the differences.

use super::backlog::plan;
use super::html::{Cell, Html, Line, code, names, said, table, ticked};
use super::parts::{Decisions, Missing, Page, Part, Reading, Tone, without};
use crate::answers::{Differences, Preview, PreviewRule};
use crate::diagnostic::Located;
use crate::facts::meaning;
use crate::fit::{Finding, Severity};
use crate::report;
use crate::ui::{count, counted};

type Card = (Tone, &'static str, String, String);

/// What the first screen says.
pub(super) fn state(reading: &Reading) -> Vec<Card> {
    vec![
        check_state(reading),
        installed_state(reading),
        armed_state(reading),
        due_state(reading),
    ]
}

fn check_state(reading: &Reading) -> Card {
    let (tone, text) = match &reading.findings {
        Err(_) => (Tone::Bad, "could not be done".to_owned()),
        Ok(findings) => {
            let worst = findings.iter().map(|it| it.severity).max();
            let tone = match worst {
                None | Some(Severity::Notice) => Tone::Good,
                Some(Severity::Warning) => Tone::Look,
                Some(Severity::Error) => Tone::Bad,
            };
            (tone, report::summary(findings))
        }
    };
    (
        tone,
        "Check",
        text,
        "of the spec against this database".to_owned(),
    )
}

fn installed_state(reading: &Reading) -> Card {
    let (tone, text, more) = match &reading.differences {
        Ok(it) if it.clean => (
            Tone::Good,
            "as generated".to_owned(),
            format!("{} is what this spec makes{}", it.control, as_seen(it)),
        ),
        Ok(it) => {
            let differ = counted(it.drift.len() as i64, "object differs", "objects differ");
            (Tone::Look, differ, "from what this spec makes".to_owned())
        }
        Err(_) if reading.installed == Some(false) => (
            Tone::Open,
            "no".to_owned(),
            "or this account does not see it".to_owned(),
        ),
        Err(missing) => (
            Tone::Open,
            "no comparison".to_owned(),
            missing.reason.clone(),
        ),
    };
    (tone, "Installed", text, more)
}

fn armed_state(reading: &Reading) -> Card {
    let (tone, text, more) = match &reading.preview {
        Ok(it) if it.paused => (Tone::Open, "paused", "no run starts"),
        Ok(it) if it.armed => (Tone::Look, "yes", "scheduled runs delete"),
        Ok(Preview {
            not_armed: Some(reason),
            ..
        }) if !reason.starts_with("not armed") => (Tone::Look, "not here now", reason.as_str()),
        Ok(_) => (Tone::Good, "no", "no run can delete before windrow arm"),
        Err(_) => (
            Tone::Open,
            "not known",
            "nothing of an installation can be read",
        ),
    };
    (tone, "Armed", text.to_owned(), more.to_owned())
}

/// What is said of a preview and a plan where another spec is installed.
const OF_ANOTHER: &str = " of what is installed, which is not this spec";

fn due_state(reading: &Reading) -> Card {
    let (text, more) = match &reading.preview {
        Ok(it) => {
            let families: i64 = it.rules.iter().map(|rule| rule.figures.families).sum();
            let rows: i64 = it.rules.iter().map(|rule| rule.figures.rows).sum();
            (
                counted(rows, "row", "rows"),
                format!(
                    "of {}, by the next run{}",
                    counted(families, "family", "families"),
                    if reading.other { OF_ANOTHER } else { "" }
                ),
            )
        }
        Err(_) => ("not known".to_owned(), "no preview".to_owned()),
    };
    (Tone::Open, "Would be deleted", text, more)
}

/// The sections, whether or not a database was asked.
pub(super) fn sections(html: &mut Html, page: &Page) {
    html.put("<section id=\"check\"><h2>Check</h2>\n");
    warnings(html, page.warnings);
    part(
        html,
        page,
        |it| &it.findings,
        "what in it does not fit the spec",
        "check",
        |html, found| findings(html, found),
    );
    left_out(html, page);
    html.put("</section>\n<section id=\"decided\"><h2>Policies and holds</h2>\n");
    let what = "the policies and holds";
    part(
        html,
        page,
        |it| &it.decisions,
        what,
        "policy list",
        decisions,
    );
    html.put("</section>\n<section id=\"plan\"><h2>Plan</h2>\n");
    part(
        html,
        page,
        |it| &it.plan,
        "how much is due and how many nights it takes",
        "plan",
        plan,
    );
    html.put("</section>\n<section id=\"preview\"><h2>Preview</h2>\n");
    if page.reading.is_some_and(|it| it.other) {
        html.put("<p>Of what is installed, which is not this spec; see Differences.</p>\n");
    }
    part(
        html,
        page,
        |it| &it.preview,
        "what a run would delete now, what it would keep, and why",
        "preview",
        preview,
    );
    html.put("</section>\n<section id=\"diff\"><h2>Differences</h2>\n");
    part(
        html,
        page,
        |it| &it.differences,
        "how the installation differs from the spec",
        "diff",
        differences,
    );
    html.put("</section>\n");
}

/// A part of a reading, or why there is none.
fn part<T>(
    html: &mut Html,
    page: &Page,
    of: impl Fn(&Reading) -> &Part<T>,
    what: &str,
    command: &str,
    show: impl Fn(&mut Html, &T),
) {
    let Some(reading) = page.reading else {
        html.put("<p class=\"open\">")
            .line(&ticked(&without(what, command, page.file)))
            .put("</p>\n");
        return;
    };
    match of(reading) {
        Ok(answer) => show(html, answer),
        Err(Missing { reason, hint }) => {
            html.put("<p class=\"open\">This part is missing: ")
                .line(&ticked(reason))
                .put(".");
            if !hint.is_empty() {
                html.put(" ").line(&ticked(hint)).put(".");
            }
            html.put("</p>\n");
        }
    }
}

fn warnings(html: &mut Html, found: &[Located]) {
    if found.is_empty() {
        html.put("<p>The spec itself has no findings.</p>\n");
        return;
    }
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .map(|it| {
            vec![
                Cell::Words(vec![code(it.code)]),
                Cell::Words(vec![said(format!("line {}", it.line))]),
                Cell::Words(ticked(&it.message)),
                Cell::Words(ticked(&it.help)),
            ]
        })
        .collect();
    table(
        html,
        "In the spec itself",
        &["code", "where", "finding", "what mends it"],
        &rows,
    );
}

fn findings(html: &mut Html, found: &[Finding]) {
    if found.is_empty() {
        html.put("<p>The spec fits the database: no findings.</p>\n");
        return;
    }
    let rows: Vec<Vec<Cell>> = found
        .iter()
        .map(|it| {
            let severity = match it.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Notice => "notice",
            };
            vec![
                Cell::Words(vec![said(severity), said(" "), code(it.code)]),
                Cell::Words(vec![code(&it.object)]),
                Cell::Words(ticked(&it.message)),
                Cell::Words(ticked(&it.help)),
            ]
        })
        .collect();
    table(
        html,
        "In this database",
        &["finding", "object", "what", "what mends it"],
        &rows,
    );
    html.put("<p><code>windrow check --explain CODE</code> explains each code.</p>\n");
}

fn left_out(html: &mut Html, page: &Page) {
    let left_out = page.reading.map_or(&[][..], |it| &it.left_out[..]);
    if !left_out.is_empty() {
        html.put("<p>This database lacks what the spec calls optional; this page goes by the spec without it:</p>\n");
        let lines: Vec<Line> = left_out.iter().map(|it| ticked(it)).collect();
        html.list(&lines);
    }
}

/// How many policies or holds the page lists.
const LISTED: usize = 100;

fn decisions(html: &mut Html, decided: &Decisions) {
    let rows = decided.policies.iter().take(LISTED).map(|it| {
        vec![
            Cell::Words(vec![code(&it.scope)]),
            Cell::Words(vec![code(&it.rule)]),
            Cell::Words(vec![said(if it.enabled {
                report::kept_for(it)
            } else {
                "everything, for ever".to_owned()
            })]),
            Cell::Words(vec![said(it.note.as_deref().unwrap_or_default())]),
            Cell::Words(vec![code(&it.changed_by)]),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let heads = ["scope", "rule", "kept for", "note", "set by"];
    listed(
        html,
        "policy",
        "policies",
        &heads,
        &rows,
        decided.policies.len(),
    );
    let rows = decided.holds.iter().take(LISTED).map(|it| {
        vec![
            Cell::Words(vec![code(&it.key)]),
            Cell::Words(vec![code(&it.rule)]),
            Cell::Words(vec![said(&it.reason)]),
            Cell::Words(vec![said(match it.until.as_deref().map(report::instant) {
                None => "released".to_owned(),
                Some(until) if it.expired => format!("{until} (ended: it keeps nothing)"),
                Some(until) => until,
            })]),
            Cell::Words(vec![code(&it.placed_by)]),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let heads = ["key", "rule", "reason", "until", "placed by"];
    listed(html, "hold", "holds", &heads, &rows, decided.holds.len());
}

/// A table of the first of them, or that there are none.
fn listed(html: &mut Html, one: &str, many: &str, heads: &[&str], rows: &[Vec<Cell>], all: usize) {
    if rows.is_empty() {
        html.put("<p>No ").text(many).put(".</p>\n");
        return;
    }
    let mut caption = counted(all as i64, one, many);
    if all > rows.len() {
        caption += &format!(", of which the first {}", rows.len());
    }
    table(html, &caption, heads, rows);
}

fn preview(html: &mut Html, preview: &Preview) {
    html.put("<p>As of ")
        .text(&report::instant(&preview.as_of))
        .put(". ");
    html.put(match (preview.paused, preview.armed) {
        (true, _) => "Paused: a run would be refused.",
        (_, false) if report::though_armed(preview.not_armed.as_ref()).is_some() => {
            "Armed, but a run would be refused on this server."
        }
        (_, false) => "Not armed: a run would be refused.",
        _ => "Armed: the next scheduled run deletes.",
    });
    html.put("</p>\n");
    let rows: Vec<Vec<Cell>> = preview
        .rules
        .iter()
        .map(|rule| {
            let it = &rule.figures;
            vec![
                Cell::Words(vec![code(&it.rule)]),
                Cell::Figure(count(it.families)),
                Cell::Figure(count(it.rows)),
                Cell::Figure(count(it.batches)),
                Cell::Figure(report::all_kept(it)),
                Cell::Words(vec![said(
                    rule.oldest_end_time
                        .as_deref()
                        .map_or(String::new(), report::instant),
                )]),
            ]
        })
        .collect();
    let heads = [
        "rule",
        "families deleted",
        "rows",
        "batches",
        "families kept",
        "the oldest ended",
    ];
    table(html, "What one run would delete now", &heads, &rows);
    for rule in &preview.rules {
        preview_rule(html, rule);
    }
    if let Some(note) = report::several(preview.rules.iter().map(|rule| &rule.figures)) {
        html.put("<p>").line(&ticked(&note)).put(".</p>\n");
    }
}

fn preview_rule(html: &mut Html, rule: &PreviewRule) {
    let figures = &rule.figures;
    html.put("<h3><code>")
        .text(&figures.rule)
        .put("</code></h3>\n");
    let mut lines: Vec<Line> = Vec::new();
    if rule.limited {
        let most = counted(rule.run_families, "family", "families");
        lines.push(vec![said(format!(
            "One run takes at most {most}; the next continues."
        ))]);
    }
    if let Some(families) = rule.without_policy.filter(|it| *it > 0) {
        let due = counted(families, "due family", "due families");
        lines.push(vec![said(format!(
            "{due} of scopes without a policy are kept until somebody sets one."
        ))]);
    }
    let keys: Vec<String> = rule
        .sample_roots
        .iter()
        .flatten()
        .take(5)
        .map(report::plain)
        .collect();
    if !keys.is_empty() {
        let mut line = vec![said("The first keys of "), code(&rule.root), said(": ")];
        line.extend(names(keys.iter().map(String::as_str)));
        lines.push(line);
    }
    html.list(&lines);
    let most = figures
        .tables
        .iter()
        .flat_map(|it| &it.0)
        .map(|(_, rows)| *rows)
        .max()
        .unwrap_or(1)
        .max(1);
    let rows: Vec<Vec<Cell>> = figures
        .tables
        .iter()
        .flat_map(|it| &it.0)
        .map(|(name, rows)| {
            vec![
                Cell::Words(vec![code(name)]),
                Cell::Bar(*rows as f64 / most as f64, count(*rows)),
            ]
        })
        .collect();
    if figures.rows > 0 {
        table(
            html,
            "Rows that would be deleted",
            &["table", "rows"],
            &rows,
        );
    }
    let rows: Vec<Vec<Cell>> = figures
        .passes
        .iter()
        .filter(|it| it.rows > 0)
        .map(|it| {
            vec![
                Cell::Words(vec![code(&it.pass)]),
                Cell::Figure(count(it.rows)),
                Cell::Words(vec![said(report::because(&it.pass))]),
            ]
        })
        .collect();
    if !rows.is_empty() {
        table(
            html,
            "Why they are deleted",
            &["reason", "rows", "meaning"],
            &rows,
        );
    }
    stays(html, rule);
}

fn stays(html: &mut Html, rule: &PreviewRule) {
    let figures = &rule.figures;
    let rows: Vec<Vec<Cell>> = figures
        .skipped
        .0
        .iter()
        .map(|(reason, families)| {
            let samples = figures.skipped_samples.get(reason);
            let keys: Vec<String> = samples
                .into_iter()
                .flatten()
                .take(5)
                .map(report::plain)
                .collect();
            vec![
                Cell::Words(vec![code(reason)]),
                Cell::Figure(report::kept(reason, *families)),
                Cell::Words(vec![said(meaning(reason))]),
                Cell::Words(names(keys.iter().map(String::as_str))),
            ]
        })
        .collect();
    if rows.is_empty() {
        html.put("<p>Nothing that is due is kept.</p>\n");
    } else {
        table(
            html,
            "What is kept, and why",
            &["reason", "families", "meaning", "first keys"],
            &rows,
        );
    }
}

/// Behind "as generated", where some of it could not be read.
fn as_seen(found: &Differences) -> &'static str {
    match found.not_compared.is_empty() {
        true => "",
        false => ", as far as this account can see",
    }
}

fn differences(html: &mut Html, found: &Differences) {
    if found.clean {
        html.put("<p>What is installed in <code>")
            .text(&found.control)
            .put("</code> is what this spec generates")
            .put(as_seen(found))
            .put(".</p>\n");
        return;
    }
    let rows: Vec<Vec<Cell>> = found
        .drift
        .iter()
        .map(|it| {
            vec![
                Cell::Words(vec![code(&it.name)]),
                Cell::Words(vec![said(it.kind.title())]),
                Cell::Words(ticked(&it.detail)),
            ]
        })
        .collect();
    table(
        html,
        "What is not as this spec generates it",
        &["object", "kind", "what"],
        &rows,
    );
    for it in found
        .drift
        .iter()
        .filter(|it| !it.diff.is_empty() || !it.statement.is_empty())
    {
        html.put("<details><summary><code>")
            .text(&it.name)
            .put("</code></summary>\n<pre tabindex=\"0\"><code>");
        for line in it.diff.lines() {
            let added = line.starts_with('+') && !line.starts_with("+++");
            let removed = line.starts_with('-') && !line.starts_with("---");
            html.put(if added {
                "<ins>"
            } else if removed {
                "<del>"
            } else {
                ""
            })
            .text(line);
            html.put(if added {
                "</ins>\n"
            } else if removed {
                "</del>\n"
            } else {
                "\n"
            });
        }
        html.text(&it.statement).put("</code></pre></details>\n");
    }
}
