//! What the plan says: how much is due, of which tables, and how it becomes less night after night.

use super::html::{Cell, Html, Line, code, said, table, ticked};
use crate::forecast::{Forecast, Report, RuleForecast, TableForecast};
use crate::report;
use crate::ui::{count, counted};

/// How many nights a chart shows at most.
const NIGHTS: usize = 366;

/// The plan.
pub(super) fn plan(html: &mut Html, plan: &Report) {
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
        "rule",
        "due",
        "may be deleted",
        "rows",
        "batches",
        "work",
        "runs",
        "done in",
    ];
    table(html, "The backlog by rule", &heads, &rows);
    for rule in plan.rules.iter().filter(|rule| rule.left.len() > 2) {
        backlog(html, rule, unit);
    }
    if total.rows.round() > 0.0 {
        tables(html, &plan.tables);
        let log = report::log(outlook, &plan.tables);
        // The last line is the sum, which is above.
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
