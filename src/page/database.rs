//! What a database says: the findings, the plan, the preview and the differences.

use super::html::{Cell, Html, Line, code, names, said, table, ticked};
use super::parts::{Missing, Page, Part, Reading, Tone, without};
use crate::answers::{Differences, Preview, PreviewRule};
use crate::diagnostic::Located;
use crate::facts::meaning;
use crate::fit::{Finding, Severity};
use crate::forecast::{Forecast, Report, RuleForecast, TableForecast};
use crate::report;
use crate::ui::{count, counted};

/// How many nights a chart shows at most.
const NIGHTS: usize = 366;

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
            format!("{} is what this spec makes", it.control),
        ),
        Ok(it) => {
            let differ = counted(it.drift.len() as i64, "object differs", "objects differ");
            (Tone::Look, differ, "from what this spec makes".to_owned())
        }
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
        Ok(_) => (Tone::Good, "no", "no run can delete before windrow arm"),
        Err(_) => (
            Tone::Open,
            "not known",
            "nothing of an installation can be read",
        ),
    };
    (tone, "Armed", text.to_owned(), more.to_owned())
}

fn due_state(reading: &Reading) -> Card {
    let (text, more) = match &reading.preview {
        Ok(it) => {
            let families: i64 = it.rules.iter().map(|rule| rule.figures.families).sum();
            let rows: i64 = it.rules.iter().map(|rule| rule.figures.rows).sum();
            (
                counted(rows, "row", "rows"),
                format!(
                    "of {}, by the next run",
                    counted(families, "family", "families")
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
        "What does not fit the database",
        "check",
        |html, found| findings(html, found),
    );
    left_out(html, page);
    html.put("</section>\n<section id=\"plan\"><h2>Plan</h2>\n");
    part(
        html,
        page,
        |it| &it.plan,
        "How much is due, and how many nights it takes,",
        "plan",
        plan,
    );
    html.put("</section>\n<section id=\"preview\"><h2>Preview</h2>\n");
    part(
        html,
        page,
        |it| &it.preview,
        "What a run would delete now, and what would stay and why,",
        "preview",
        preview,
    );
    html.put("</section>\n<section id=\"diff\"><h2>Differences</h2>\n");
    part(
        html,
        page,
        |it| &it.differences,
        "What differs from what is installed",
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
    html.put("<p><code>windrow check --explain CODE</code> tells more of each code.</p>\n");
}

fn left_out(html: &mut Html, page: &Page) {
    let left_out = page.reading.map_or(&[][..], |it| &it.left_out[..]);
    if !left_out.is_empty() {
        html.put("<p>This database lacks what the spec calls optional; this page goes by the spec without it:</p>\n");
        let lines: Vec<Line> = left_out.iter().map(|it| ticked(it)).collect();
        html.list(&lines);
    }
}

fn plan(html: &mut Html, plan: &Report) {
    match &plan.outlook {
        None if !plan.sees_tables => {
            html.put("<p class=\"open\">This account sees none of the tables of the spec.</p>\n");
        }
        None => {
            html.put("<p class=\"open\">What is due is counted by a routine of the installation, and there is none: only the \
                 indexes can be told. <code>windrow install</code> deletes nothing.</p>\n");
        }
        Some(outlook) => outlook_of(html, plan, outlook),
    }
    missing_indexes(html, plan);
}

fn outlook_of(html: &mut Html, plan: &Report, outlook: &Forecast) {
    let total = &outlook.total;
    let unit = outlook.schedule.unit;
    let mut line = vec![said(format!(
        "{} with {}: {} of work in {}",
        counted(total.families.round() as i64, "family", "families"),
        counted(total.rows.round() as i64, "row", "rows"),
        report::seconds(total.work_seconds),
        counted(total.batches.round() as i64, "batch", "batches"),
    ))];
    line.push(said(match total.days {
        Some(days) => format!("; done after {}.", counted(days, unit, &format!("{unit}s"))),
        None => "; not done within three years as things are.".to_owned(),
    }));
    html.put("<p class=\"lead\">").line(&line).put("</p>\n");
    let rows: Vec<Vec<Cell>> = plan.rules.iter().map(|rule| rule_row(rule, unit)).collect();
    let heads = [
        "rule", "due", "may go", "rows", "batches", "work", "runs", "done in",
    ];
    table(html, "The backlog by rule", &heads, &rows);
    for rule in plan.rules.iter().filter(|rule| rule.left.len() > 2) {
        backlog(html, rule, unit);
    }
    if total.rows.round() > 0.0 {
        tables(html, &plan.tables);
        let log = report::log(outlook, &plan.tables);
        // The last line is the sum, which stands above.
        let lines = log.lines().filter_map(|line| line.split_once("  "));
        for (name, text) in lines.filter(|(name, _)| *name != "together") {
            html.put("<p><strong>").text(name).put("</strong>: ");
            html.line(&ticked(text.trim())).put("</p>\n");
        }
    }
    for rule in &plan.rules {
        html.put("<h3><code>")
            .text(&rule.rule)
            .put("</code></h3>\n");
        let lines: Vec<Line> = report::notes(rule, unit)
            .iter()
            .map(|it| match it.strip_prefix("  ") {
                Some(remedy) => ticked(&format!("with {remedy}")),
                None => ticked(it),
            })
            .collect();
        html.list(&lines);
    }
}

fn rule_row(rule: &RuleForecast, unit: &str) -> Vec<Cell> {
    let about = if rule.exact { "" } else { "~" };
    let figure = |value: Option<f64>| {
        value.map_or("".to_owned(), |it| {
            format!("{about}{}", count(it.round() as i64))
        })
    };
    vec![
        Cell::Words(vec![code(&rule.rule)]),
        Cell::Figure(match rule.due_families {
            Some(due) if rule.due_complete => count(due as i64),
            Some(due) => format!("{} at least", count(due as i64)),
            None => "unknown".to_owned(),
        }),
        Cell::Figure(figure(rule.families)),
        Cell::Figure(figure(rule.rows)),
        Cell::Figure(figure(rule.batches)),
        Cell::Figure(rule.work_seconds.map_or(String::new(), report::seconds)),
        Cell::Figure(rule.runs.map_or(String::new(), count)),
        Cell::Words(vec![said(report::done(rule, unit))]),
    ]
}

/// A backlog over the nights of its runs.
fn backlog(html: &mut Html, rule: &RuleForecast, unit: &str) {
    let left = &rule.left[..rule.left.len().min(NIGHTS)];
    let most = left.iter().copied().fold(1.0, f64::max);
    let days = left.len() - 1;
    let last = left.last().copied().unwrap_or_default();
    html.put("<figure class=\"chart\"><figcaption>Families left of <code>")
        .text(&rule.rule)
        .put("</code>: ");
    html.text(&format!(
        "{} now, {} after {}",
        count(left[0].round() as i64),
        count(last.round() as i64),
        counted(days as i64, unit, &format!("{unit}s"))
    ));
    html.put("</figcaption>\n<div class=\"axis\"><span>")
        .text(&count(most.round() as i64))
        .put("</span></div>\n");
    html.put("<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"grid\" d=\"M0 25H100M0 \
         50H100M0 75H100\"/><path class=\"fill\" d=\"");
    let height = |families: f64| format!("{:.2}", 100.0 - families / most * 100.0);
    let mut path = format!("M0 100 V{}", height(left[0]));
    for (day, families) in left.iter().enumerate().skip(1) {
        path += &format!(
            " L{:.2} {}",
            day as f64 * 100.0 / days as f64,
            height(*families)
        );
    }
    html.text(&(path + " V100 Z"))
        .put("\"/></svg>\n<div class=\"axis\"><span>now</span><span>");
    html.text(&format!(
        "after {}",
        counted(days as i64, unit, &format!("{unit}s"))
    ))
    .put("</span></div></figure>\n");
}

/// Rows and bytes of each table, as bars.
fn tables(html: &mut Html, all: &[TableForecast]) {
    let most = |of: fn(&TableForecast) -> f64| all.iter().map(of).fold(1.0, f64::max);
    let (rows_most, bytes_most) = (
        most(|it| it.rows),
        most(|it| it.dead_bytes.unwrap_or_default()),
    );
    let mut all: Vec<&TableForecast> = all.iter().collect();
    all.sort_by(|a, b| b.rows.total_cmp(&a.rows));
    let rows: Vec<Vec<Cell>> = all
        .into_iter()
        .map(|it| {
            let share = it
                .share
                .map_or(String::new(), |share| format!(" ({:.0} %)", share * 100.0));
            let dead = it.dead_bytes.unwrap_or_default();
            let of = it.bytes.map_or(String::new(), |bytes| {
                format!(" of {}", report::size(bytes as f64))
            });
            vec![
                Cell::Words(vec![code(&it.table)]),
                Cell::Bar(
                    it.rows / rows_most,
                    format!("{}{share}", count(it.rows.round() as i64)),
                ),
                Cell::Bar(
                    dead / bytes_most,
                    it.dead_bytes.map_or("not known".to_owned(), |dead| {
                        format!("{}{of}", report::size(dead))
                    }),
                ),
                Cell::Figure(it.log_bytes.map_or(String::new(), report::size)),
            ]
        })
        .collect();
    let caption = "What is deleted of each table (parts by the statistics of the server)";
    table(
        html,
        caption,
        &["table", "rows", "free inside then", "log"],
        &rows,
    );
}

fn missing_indexes(html: &mut Html, plan: &Report) {
    if plan.indexes.is_empty() {
        html.put("<p>All indexes are there.</p>\n");
        return;
    }
    let rows: Vec<Vec<Cell>> = plan
        .indexes
        .iter()
        .map(|it| {
            vec![
                Cell::Words(vec![code(&it.index)]),
                Cell::Words(vec![code(&it.table)]),
                Cell::Figure(it.bytes.map_or("?".to_owned(), report::size)),
                Cell::Words(ticked(&it.why)),
            ]
        })
        .collect();
    table(
        html,
        "Indexes to build first",
        &["index", "table", "size at most", "for"],
        &rows,
    );
}

fn preview(html: &mut Html, preview: &Preview) {
    html.put("<p>As of ")
        .text(&report::instant(&preview.as_of))
        .put(". ");
    html.put(match (preview.paused, preview.armed) {
        (true, _) => "Paused: a run would be refused.",
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
                Cell::Figure(count(it.skipped_families)),
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
        "families go",
        "rows",
        "batches",
        "families stay",
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
            "One run takes at most {most}; the next goes on."
        ))]);
    }
    if let Some(families) = rule.without_policy.filter(|it| *it > 0) {
        let due = counted(families, "due family", "due families");
        lines.push(vec![said(format!(
            "{due} of scopes without a policy stay until somebody sets one."
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
                Cell::Figure(count(*families)),
                Cell::Words(vec![said(meaning(reason))]),
                Cell::Words(names(keys.iter().map(String::as_str))),
            ]
        })
        .collect();
    if rows.is_empty() {
        html.put("<p>Nothing that is due stays.</p>\n");
    } else {
        table(
            html,
            "What stays, and why",
            &["reason", "families", "meaning", "first keys"],
            &rows,
        );
    }
}

fn differences(html: &mut Html, found: &Differences) {
    if found.clean {
        html.put("<p>What is installed in <code>")
            .text(&found.control)
            .put("</code> is what this spec generates.</p>\n");
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
