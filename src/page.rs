//! The page for a change ticket (`report`): one HTML file with everything that a board asks about a deletion.
//!
//! Pure: what a spec means and what a database answered come in as values. The page has no script, and loads nothing.

mod backlog;
mod database;
mod html;
mod parts;
mod sql;
mod words;

use crate::draw;
use crate::graph::{Rule, TableId, Unit};
use crate::render::Change;
use crate::ui::{count, counted};
use crate::version::VERSION;
use html::{Cell, Html, Line, code, names, said, table, ticked};
use parts::Tone;

pub use parts::{Decisions, Generated, Missing, Page, Part, Reading};

/// The page.
pub fn html(page: &Page) -> String {
    let mut html = Html::default();
    head(&mut html, page);
    html.put("<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n<header>\n");
    title(&mut html, page);
    state(&mut html, page);
    html.put("</header>\n");
    contents(&mut html, page);
    html.put("<main id=\"main\">\n");
    deleted(&mut html, page);
    never(&mut html, page);
    picture(&mut html, page);
    for (at, rule) in page.graph.rules.iter().enumerate() {
        of_rule(&mut html, page, at, rule);
    }
    indexes(&mut html, page);
    when(&mut html, page);
    database::sections(&mut html, page);
    html.put("</main>\n<footer><p>Made by <code>windrow report</code> ")
        .text(VERSION);
    html.put(". The statements are those of <code>windrow generate</code>; the spec and the generated files are what \
         counts.</p></footer>\n");
    html.put("</body>\n</html>\n");
    html.finish()
}

fn head(html: &mut Html, page: &Page) {
    html.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.put("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src \
         data:; base-uri 'none'; form-action 'none'\">\n");
    html.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.put("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"windrow\">\n<title>");
    html.text(&page.graph.title)
        .put(": what is deleted, and what is kept</title>\n<style>\n");
    html.put(include_str!("page/page.css"))
        .put(draw::STYLE)
        .put("</style>\n</head>\n");
}

fn title(html: &mut Html, page: &Page) {
    let graph = page.graph;
    html.put("<p class=\"kind\">Retention change</p>\n<h1>")
        .text(&graph.title)
        .put("</h1>\n<dl class=\"facts\">\n");
    let mut fact = |name: &'static str, line: Line| {
        html.put(if name == "SHA-256" {
            "<div class=\"long\"><dt>"
        } else {
            "<div><dt>"
        })
        .put(name)
        .put("</dt><dd>")
        .line(&line)
        .put("</dd></div>\n");
    };
    let servers = page.servers.iter().map(|it| it.dialect.facts().title);
    match page.reading {
        Some(reading) => {
            fact(
                "Database",
                vec![
                    said(format!("{}, ", reading.server)),
                    code(&reading.address),
                ],
            );
            fact("Read at", vec![said(&reading.at)]);
        }
        None => fact(
            "Servers",
            vec![said(servers.collect::<Vec<_>>().join(", "))],
        ),
    }
    let mut homes: Vec<&str> = page.servers.iter().map(|it| it.home.as_str()).collect();
    homes.dedup();
    fact("Tables are in", names(homes));
    let control = page.servers.first().map_or("", |it| it.control.as_str());
    fact(
        "Routines are in",
        vec![code(control), said(" (the control schema)")],
    );
    fact("Spec", vec![code(page.file)]);
    fact("SHA-256", vec![code(page.hash)]);
    fact("windrow", vec![said(VERSION)]);
    html.put("</dl>\n");
}

/// What the first screen says of the state of things.
fn state(html: &mut Html, page: &Page) {
    let tables: std::collections::BTreeSet<_> = page
        .graph
        .rules
        .iter()
        .flat_map(|rule| &rule.order)
        .collect();
    let mut cards = vec![(
        Tone::Open,
        "Scope",
        counted(page.graph.rules.len() as i64, "rule", "rules"),
        format!(
            "deletes rows of {}",
            counted(tables.len() as i64, "table", "tables")
        ),
    )];
    cards.push(match page.warnings.len() as i64 {
        0 => (
            Tone::Good,
            "Spec",
            "no findings".to_owned(),
            "windrow check".to_owned(),
        ),
        found => (
            Tone::Look,
            "Spec",
            counted(found, "warning", "warnings"),
            "see below".to_owned(),
        ),
    });
    match page.reading {
        Some(reading) => cards.extend(database::state(reading)),
        None => cards.push((
            Tone::Open,
            "Database",
            "not asked".to_owned(),
            "this page knows the spec alone".to_owned(),
        )),
    }
    html.put("<ul class=\"state\">\n");
    for (tone, name, said, more) in cards {
        html.put(match tone {
            Tone::Good => "<li class=\"good\">",
            Tone::Look => "<li class=\"look\">",
            Tone::Bad => "<li class=\"bad\">",
            Tone::Open => "<li>",
        });
        html.put("<span class=\"label\">")
            .put(name)
            .put("</span> <strong>");
        html.text(&said)
            .put("</strong> <span class=\"more\">")
            .text(&more)
            .put("</span></li>\n");
    }
    html.put("</ul>\n");
}

fn contents(html: &mut Html, page: &Page) {
    html.put("<nav aria-label=\"Contents\"><ul>\n");
    for (to, name) in [
        ("#deleted", "What is deleted"),
        ("#never", "What is not"),
        ("#picture", "Picture"),
    ] {
        html.put("<li><a href=\"")
            .put(to)
            .put("\">")
            .put(name)
            .put("</a></li>\n");
    }
    for (at, rule) in page.graph.rules.iter().enumerate() {
        html.put("<li><a href=\"#rule-")
            .text(&(at + 1).to_string())
            .put("\">")
            .text(&rule.name)
            .put("</a></li>\n");
    }
    let more = [
        ("#indexes", "Indexes"),
        ("#when", "Schedule"),
        ("#check", "Check"),
        ("#decided", "Policies and holds"),
        ("#plan", "Plan"),
        ("#preview", "Preview"),
        ("#diff", "Differences"),
    ];
    for (to, name) in more {
        html.put("<li><a href=\"")
            .put(to)
            .put("\">")
            .put(name)
            .put("</a></li>\n");
    }
    html.put("</ul></nav>\n");
}

/// All rules at a glance.
fn deleted(html: &mut Html, page: &Page) {
    html.put("<section id=\"deleted\"><h2>What is deleted</h2>\n");
    let rows: Vec<Vec<Cell>> = page
        .graph
        .rules
        .iter()
        .map(|rule| {
            let others = rule.order.iter().rev().filter(|id| **id != rule.root);
            let others: Vec<&str> = others
                .map(|id| page.graph.table(*id).name.as_str())
                .collect();
            vec![
                Cell::Words(vec![code(&rule.name)]),
                Cell::Words(words::deleted(page.graph, rule)),
                Cell::Words(match others.is_empty() {
                    true => vec![said("no other table")],
                    false => names(others),
                }),
            ]
        })
        .collect();
    let caption = "The rules, in the order in which a run takes them";
    table(
        html,
        caption,
        &["rule", "deletes", "with them, rows of"],
        &rows,
    );
    html.put("</section>\n");
}

/// What is not deleted, whatever happens.
fn never(html: &mut Html, page: &Page) {
    let graph = page.graph;
    html.put("<section id=\"never\"><h2>What is not deleted</h2>\n");
    let mut lines = vec![vec![
        said("Anything, before "),
        code("windrow arm"),
        said(" has been run in this very database: an installation alone deletes nothing."),
    ]];
    let is_of_families = |rule: &&Rule| {
        rule.by_end() || rule.timed().is_some_and(|timed| timed.unit == Unit::Family)
    };
    let families = graph.rules.iter().filter(is_of_families);
    let families: Vec<&str> = families.map(|rule| rule.name.as_str()).collect();
    if !families.is_empty() {
        let mut line = vec![said(
            "A part of a family, by the rules that delete families (",
        )];
        line.extend(names(families));
        line.push(said(
            "): one transaction deletes all of it, or nothing of it.",
        ));
        lines.push(line);
    }
    lines.extend([
        "What is on hold, what is still running, and what has no end or no time.",
        "What is younger than the minimum retention of its rule, whatever a policy, an option or a call says.",
        "Anything, while the database has a foreign key that deletes or sets rows, a trigger or a rule on these tables that the \
         spec does not know: runs stop.",
        "Rows of tables that the spec does not name.",
    ]
    .map(|text| vec![said(text)]));
    html.list(&lines);
    let mut stays: Vec<Vec<Cell>> = Vec::new();
    for (at, it) in graph.tables.iter().enumerate() {
        let goes = graph
            .rules
            .iter()
            .any(|rule| rule.order.contains(&TableId(at)));
        if goes {
            continue;
        }
        let mut why = Vec::new();
        if it.keeps().next().is_some() {
            why.push("keeps the rows that it names");
        }
        if it.releases().next().is_some() {
            why.push("its columns are set to NULL where they name what is deleted");
        }
        if why.is_empty() {
            why.push("only named by others");
        }
        stays.push(vec![
            Cell::Words(vec![code(&it.name)]),
            Cell::Words(vec![said(why.join("; "))]),
        ]);
    }
    for ignored in &graph.ignored {
        stays.push(vec![
            Cell::Words(vec![code(&ignored.table)]),
            Cell::Words(vec![said(&ignored.reason)]),
        ]);
    }
    if !stays.is_empty() {
        table(
            html,
            "Tables that the spec names, and whose rows are kept",
            &["table", "why"],
            &stays,
        );
    }
    html.put("</section>\n");
}

fn picture(html: &mut Html, page: &Page) {
    html.put("<section id=\"picture\"><h2>Picture</h2>\n");
    html.put("<p>One card for each rule. An arrow leads from a table to the one that its column names; the numbers are the order \
         in which tables are deleted from.</p>\n");
    html.put("<div class=\"cards\">\n");
    for part in draw::parts(page.graph) {
        html.put(match part.rule {
            // A screen shrinks what is a little too wide; what would become illegible is scrolled.
            Some(_) if part.width < 1500.0 => "<div class=\"wide fits\" tabindex=\"0\">",
            Some(_) => "<div class=\"wide\" tabindex=\"0\">",
            None => "<div class=\"wide legend\" tabindex=\"0\">",
        });
        html.picture(&part.svg).put("</div>\n");
    }
    html.put("</div></section>\n");
}

/// Everything about one rule.
fn of_rule(html: &mut Html, page: &Page, at: usize, rule: &Rule) {
    let graph = page.graph;
    html.put("<section id=\"rule-")
        .text(&(at + 1).to_string())
        .put("\"><h2>Rule <code>")
        .text(&rule.name);
    html.put("</code> <small>")
        .text(rule.strategy.name())
        .put("</small></h2>\n");
    let mut line = words::deleted(graph, rule);
    line.push(said("."));
    html.put("<p class=\"lead\">").line(&line).put("</p>\n");
    let mut how_long = words::kept_how_long(rule);
    let limits = words::limits(rule, at == 0);
    if !limits.is_empty() {
        let mut line = vec![said("One run takes at most: ")];
        line.extend(limits);
        line.push(said("."));
        how_long.push(line);
    }
    html.put("<div class=\"two\"><div><h3>How long it is kept</h3>\n")
        .list(&how_long);
    let besides = words::besides(graph, rule);
    if !besides.is_empty() {
        html.put("<h3>What else happens</h3>\n").list(&besides);
    }
    html.put("</div><div><h3>What is kept although its time has come</h3>\n");
    html.list(&words::kept(graph, rule)).put("</div></div>\n");
    let rows: Vec<Vec<Cell>> = rule
        .order
        .iter()
        .zip(1..)
        .map(|(id, number)| {
            let it = graph.table(*id);
            vec![
                Cell::Words(vec![code(&it.name)]),
                Cell::Figure(count(number)),
                Cell::Words(words::belongs(graph, rule, it, *id)),
            ]
        })
        .collect();
    table(
        html,
        "The tables, in the order of deletion",
        &["table", "order", "belongs by"],
        &rows,
    );
    html.put("<h3>The statements that delete</h3>\n");
    for generated in page.servers {
        statements(html, page, generated, rule);
    }
    html.put("</section>\n");
}

/// The statements of a rule on a server; those that several servers share are shown once.
fn statements(html: &mut Html, page: &Page, generated: &Generated, rule: &Rule) {
    let own = |it: &Generated| -> Vec<Change> {
        let mut own: Vec<Change> = it
            .changes
            .iter()
            .filter(|it| it.rule == rule.name)
            .cloned()
            .collect();
        own.sort_by_key(|it| (!it.deletes, it.table.clone()));
        own
    };
    let changes = own(generated);
    let same: Vec<&Generated> = page
        .servers
        .iter()
        .filter(|it| own(it) == changes)
        .collect();
    if same
        .first()
        .is_some_and(|it| it.dialect != generated.dialect)
    {
        return;
    }
    let titles: Vec<&str> = same.iter().map(|it| it.dialect.facts().title).collect();
    let order = |change: &Change| {
        let mut tables = rule.order.iter();
        tables
            .position(|id| {
                page.graph
                    .table(*id)
                    .name
                    .eq_ignore_ascii_case(&change.table)
            })
            .unwrap_or(usize::MAX)
    };
    let mut tables: Vec<(usize, &str)> = changes
        .iter()
        .map(|it| (order(it), it.table.as_str()))
        .collect();
    tables.sort_unstable();
    tables.dedup();
    html.put("<details><summary>")
        .text(&titles.join(", "))
        .put(": ");
    html.text(&counted(changes.len() as i64, "statement", "statements"))
        .put(" in ");
    let files = same
        .iter()
        .map(|it| format!("{}/30_{}.sql", it.dialect.facts().folder, rule.name));
    let files: Vec<String> = files.collect();
    html.line(&names(files.iter().map(String::as_str)))
        .put("</summary>\n");
    for (_, name) in tables {
        let of_table: Vec<&Change> = changes.iter().filter(|it| it.table == name).collect();
        html.put("<h4><code>").text(name).put("</code>");
        if of_table.iter().all(|it| !it.deletes) {
            html.put(" <small>kept; columns are set to NULL</small>");
        }
        html.put("</h4>\n");
        let mut routines: Vec<&str> = of_table.iter().map(|it| it.routine.as_str()).collect();
        routines.dedup();
        html.put("<p class=\"where\">in ")
            .line(&names(routines))
            .put("</p>\n");
        let mut shown: Vec<&str> = Vec::new();
        for change in of_table {
            if !shown.contains(&change.sql.as_str()) {
                shown.push(&change.sql);
            }
        }
        sql::block(html, generated.dialect, shown);
    }
    html.put("</details>\n");
}

fn indexes(html: &mut Html, page: &Page) {
    html.put("<section id=\"indexes\"><h2>Indexes</h2>\n");
    html.put("<p>The statements use these indexes. <code>windrow install</code> creates those that no other index can replace, on \
         PostgreSQL without blocking writers.</p>\n");
    for generated in page.servers {
        let title = generated.dialect.facts().title;
        html.put("<details><summary>").text(title).put(": ");
        html.text(&counted(generated.indexes.len() as i64, "index", "indexes"))
            .put("</summary>\n");
        let rows: Vec<Vec<Cell>> = generated
            .indexes
            .iter()
            .map(|it| {
                let on = &page.graph.table(it.need.table).name;
                vec![
                    Cell::Words(vec![code(&it.name)]),
                    Cell::Words(vec![code(on)]),
                    Cell::Words(ticked(&it.need.why)),
                ]
            })
            .collect();
        table(html, "Indexes", &["index", "table", "for"], &rows);
        sql::block(
            html,
            generated.dialect,
            generated.indexes.iter().map(|it| it.sql.as_str()),
        );
        html.put("</details>\n");
    }
    html.put("</section>\n");
}

fn when(html: &mut Html, page: &Page) {
    let graph = page.graph;
    html.put("<section id=\"when\"><h2>Schedule</h2>\n");
    let schedules: Vec<String> = graph.schedules.iter().map(ToString::to_string).collect();
    let mut lines = vec![vec![
        said("Scheduled runs start by "),
        code(schedules.join(", ")),
        said(" (UTC)."),
    ]];
    let windows = graph.windows.iter().map(|it| it.written.as_str());
    let mut line = vec![said("They work in these windows: ")];
    line.extend(names(windows));
    line.push(said(
        "; outside of them no run starts, and one that is under way ends.",
    ));
    lines.push(line);
    if graph.workers > 1 {
        lines.push(vec![said(format!(
            "Up to {} runs share the work.",
            graph.workers
        ))]);
    }
    if graph.archive_days > 0 {
        lines.push(vec![said(format!(
            "The archive forgets rows after {}.",
            counted(graph.archive_days, "day", "days")
        ))]);
    }
    lines.push(vec![
        said("The application writes times without a zone in "),
        code(&graph.time_zone),
        said("."),
    ]);
    lines.push(vec![
        code("windrow pause"),
        said(" stops a run after its batch; "),
        code("windrow uninstall"),
        said(" takes windrow away. Deleted rows come back from the archive or a backup alone."),
    ]);
    html.list(&lines).put("</section>\n");
}
