//! `plan`: what a backlog asks for, before the first run: how much, how long, how many nights, and what ends them.

use std::collections::BTreeMap;

use super::answer::{Exit, show};
use super::session::Session;
use super::speed::{self, Rests, setting_of};
use crate::answers::{self, Window};
use crate::calls::List;
use crate::catalog::Catalog;
use crate::cli::Plan;
use crate::failure::Failure;
use crate::fit;
use crate::forecast::{
    self, Basis, Calendar, Course, Forecast, Load, MissingIndex, Opening, Remedy, Report,
    RuleForecast, Runs, Speed, TableForecast, To, Total, WorkingHours,
};
use crate::graph::{Graph, Rule};
use crate::interrupt;
use crate::plan;
use crate::render;
use crate::report;
use crate::schedule::Schedule;
use crate::ui::{Ui, to_three_digits};

mod backlog;
mod bytes;

use backlog::Backlog;
use bytes::Bytes;

/// Looks at the database, forecasts, and shows both.
pub(super) fn plan(args: &Plan, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    interrupt::cancels(session.database.cancel())?;
    let plan = document(&mut session, args, ui)
        .map_err(|error| interrupt::explain(error, "windrow plan"))?;
    let document = serde_json::to_value(&plan)?;
    show(ui, args.with.output, &document, || report::plan(&plan));
    // Who sees nothing has been told nothing.
    Ok(if plan.installed || plan.sees_tables {
        Exit::Clean
    } else {
        Exit::Found
    })
}

/// What the plan says.
pub(super) fn document(session: &mut Session, args: &Plan, ui: &Ui) -> anyhow::Result<Report> {
    let dialect = session.server.dialect;
    let graph = session.graph.named_for(dialect);
    if let Some(name) = &args.rule
        && graph.rules.iter().all(|rule| rule.name != *name)
    {
        let names: Vec<&str> = graph.rules.iter().map(|rule| rule.name.as_str()).collect();
        return Err(Failure::new(format!("there is no rule `{name}`"))
            .hint(format!("the rules are: {}", names.join(", ")))
            .into());
    }
    let mut catalog = session.database.catalog(render::home(&graph, dialect))?;
    catalog.spell_like(&graph);
    let control = render::control_name(&graph);
    let installed = session.calls.installed();
    let installed = session.database.query(installed, &[Some(&control)])?;
    let installed = !installed.is_empty();
    let sees = graph
        .tables
        .iter()
        .any(|table| catalog.tables.contains_key(&table.name));
    let mut bytes = Bytes::new(session, &graph, &catalog)?;
    let mut indexes = Vec::new();
    for index in render::index_statements(&session.graph, dialect) {
        if !fit::lacks(&graph, &catalog, &index.need) {
            continue;
        }
        let table = &graph.table(index.need.table).name;
        indexes.push(MissingIndex {
            bytes: bytes.index(session, &index.need)?,
            index: index.name,
            table: table.clone(),
            why: index.need.why,
            statement: index.sql,
        });
    }
    let mut plan = Report {
        spec: graph.name.clone(),
        server: dialect.facts().title,
        installed,
        sees_tables: sees,
        indexes,
        ..Report::default()
    };
    if installed {
        forecast(session, args, &graph, &catalog, &mut bytes, &mut plan, ui)?;
    }
    Ok(plan)
}

/// Adds what only an installation knows.
fn forecast(
    session: &mut Session,
    args: &Plan,
    graph: &Graph,
    catalog: &Catalog,
    bytes: &mut Bytes,
    plan: &mut Report,
    ui: &Ui,
) -> anyhow::Result<()> {
    let settings = session.settings()?;
    let setting = |rule: &str, name: &str| setting_of(&settings, rule)(name);
    let (openings, written) = openings(session)?;
    let calendar = Calendar::new(&graph.schedules, &openings);
    let Found {
        loads,
        rules,
        tables,
        archived,
    } = found(session, args, graph, setting, ui)?;
    // The first rule's counts.
    let runs = Runs {
        budget: setting(&graph.rules[0].name, "time_budget").max(1.0),
        in_turn: graph.workers == 1,
    };
    let courses = forecast::play(&loads, &calendar, runs, bytes.now);
    let day = if calendar.has_nights() {
        "night"
    } else {
        "day"
    };
    let mut listed = Vec::new();
    for (at, (rule, backlog, speed, basis)) in rules.iter().enumerate() {
        let course = &courses[at];
        // Without one that is deleted, nobody knows how many rows a family has.
        let capacity = (backlog.going > 0.0)
            .then(|| forecast::capacity(&loads, at, &calendar, runs, bytes.now).floor());
        listed.push(RuleForecast {
            speed: Speed {
                rows_per_second: to_three_digits(*speed),
                basis: basis.clone(),
            },
            remedies: remedies(&loads, at, course, &calendar, runs, bytes.now),
            capacity_per_day: capacity,
            ..told(rule, backlog, &loads[at], course)
        });
    }
    let (weighed, log) = weigh(session, catalog, bytes, &tables, &archived)?;
    let sum = |what: fn(&Backlog) -> f64| rules.iter().map(|rule| what(&rule.1)).sum::<f64>();
    let ends = courses.iter().all(|course| course.runs.is_some());
    let first = rules.first().map(|rule| &rule.1);
    plan.rules = listed;
    plan.tables = weighed;
    plan.outlook = Some(Forecast {
        as_of: first.and_then(|backlog| backlog.as_of.clone()),
        armed: first.and_then(|backlog| backlog.armed),
        not_armed: first.and_then(|backlog| backlog.not_armed.clone()),
        schedule: WorkingHours {
            cron: graph.schedules.join(", "),
            windows: written,
            time_budget: runs.budget,
            unit: day,
        },
        log: bytes.told(log, sum(|it| it.rows), sum(|it| it.batches), &tables),
        total: Total {
            families: sum(|it| it.going).round(),
            rows: sum(|it| it.rows).round(),
            batches: sum(|it| it.batches).round(),
            work_seconds: loads.iter().map(seconds).sum::<f64>().ceil(),
            done_in_seconds: courses
                .iter()
                .map(|course| course.wait)
                .max()
                .filter(|_| ends),
            days: courses
                .iter()
                .map(|course| course.days)
                .max()
                .filter(|_| ends),
        },
    });
    Ok(())
}

/// What is due of the rules that are asked for.
struct Found<'a> {
    loads: Vec<Load>,
    /// Each rule with its backlog, its rows per second, and what these come from.
    rules: Vec<(&'a Rule, Backlog, f64, Basis)>,
    /// Rows by table: all that are due, and those of them that are archived.
    tables: BTreeMap<String, f64>,
    archived: BTreeMap<String, f64>,
}

/// Counts what is due of each rule that is asked for.
fn found<'a>(
    session: &mut Session,
    args: &Plan,
    graph: &'a Graph,
    setting: impl Fn(&str, &str) -> f64,
    ui: &Ui,
) -> anyhow::Result<Found<'a>> {
    let mut found = Found {
        loads: Vec::new(),
        rules: Vec::new(),
        tables: BTreeMap::new(),
        archived: BTreeMap::new(),
    };
    for purge in &plan::make(graph).purges {
        let rule = &graph.rules[purge.rule];
        if args.rule.as_ref().is_some_and(|name| *name != rule.name) {
            continue;
        }
        ui.note(&format!("counting what is due by rule {}", rule.name));
        let size = |name: &str| setting(&rule.name, name);
        let mut backlog = backlog::look(session, args, rule, &size)?;
        if graph.workers > 1 {
            backlog.notes.push(format!(
                "how much sooner {} workers are done: runs and times are those of one",
                graph.workers
            ));
        }
        let rests = Rests::of(size);
        let (speed, basis) = speed::known_or_assumed(session, &rule.name, rests)?;
        for (table, rows) in &backlog.tables {
            *found.tables.entry(table.clone()).or_default() += rows;
            let mut archive = rule.archive.iter();
            if archive.any(|id| graph.table(*id).name == *table) {
                *found.archived.entry(table.clone()).or_default() += rows;
            }
        }
        found.loads.push(Load {
            rule: rule.name.clone(),
            families: backlog.going,
            rows_per_family: if backlog.going > 0.0 {
                (backlog.rows / backlog.going).max(1.0)
            } else {
                1.0
            },
            inflow: backlog.inflow.unwrap_or(0.0) * backlog.share(),
            speed,
            default_rest: rests.by_default,
            run_families: size("run_families").max(1.0),
            run_rows: match size("run_rows") {
                rows if rows > 0.0 => rows,
                _ => f64::INFINITY,
            },
        });
        found.rules.push((rule, backlog, speed, basis));
    }
    Ok(found)
}

/// What is deleted of each table, and the bytes that are logged of all of it, where these are known.
fn weigh(
    session: &mut Session,
    catalog: &Catalog,
    bytes: &mut Bytes,
    tables: &BTreeMap<String, f64>,
    archived: &BTreeMap<String, f64>,
) -> anyhow::Result<(Vec<TableForecast>, Option<f64>)> {
    let mut weighed = Vec::new();
    let mut log = Some(0.0);
    for (table, rows) in tables {
        let live = catalog.tables.get(table);
        let copied = archived.get(table).copied().unwrap_or(0.0);
        let logged = bytes.log(session, table, *rows, copied)?;
        if *rows > 0.0 {
            log = log.zip(logged).map(|(sum, more)| sum + more);
        }
        let all = live.map_or(0, |live| live.estimated_rows) as f64;
        let size = live.map_or(0, |live| live.table_bytes + live.index_bytes);
        let share = (all > 0.0).then(|| (rows / all).min(1.0));
        weighed.push(TableForecast {
            table: table.clone(),
            rows: rows.round(),
            rows_in_table: (all > 0.0).then_some(all),
            share,
            bytes: (size > 0).then_some(size),
            dead_bytes: share.map(|share| (share * size as f64).round()),
            log_bytes: logged.map(f64::round),
        });
    }
    Ok((weighed, log))
}

/// Seconds of work.
fn seconds(load: &Load) -> f64 {
    load.families * load.rows_per_family / load.speed
}

/// A rule as the document has it, but for what all rules together decide.
fn told(rule: &Rule, backlog: &Backlog, load: &Load, course: &Course) -> RuleForecast {
    let known = backlog.is_known();
    let runs = course.runs.filter(|_| known);
    RuleForecast {
        rule: rule.name.clone(),
        due_families: backlog.due.map(f64::round),
        due_complete: backlog.complete,
        counted: backlog.counted,
        families: known.then(|| backlog.going.round()),
        rows: known.then(|| backlog.rows.round()),
        batches: known.then(|| backlog.batches.ceil()),
        exact: backlog.exact,
        sampled_families: backlog.sampled,
        sample: backlog.sample,
        error_percent: backlog.error.ceil(),
        stays: backlog.stays.clone(),
        without_policy: backlog.without_policy,
        oldest_end_time: backlog.oldest.clone(),
        due_per_day: backlog.inflow,
        due_per_day_from: backlog.inflow_from.clone(),
        work_seconds: known.then(|| seconds(load).ceil()),
        runs,
        days: runs.map(|_| course.days),
        left: if known {
            course.left.clone()
        } else {
            Vec::new()
        },
        done_in_seconds: runs.map(|_| course.wait),
        limit: course.limit.map(forecast::Limit::name),
        run_families: load.run_families,
        run_rows: load.run_rows.is_finite().then_some(load.run_rows),
        notes: backlog.notes.clone(),
        ..RuleForecast::default()
    }
}

/// What would make a rule's backlog shorter: the change, and how many days it takes then.
fn remedies(
    loads: &[Load],
    at: usize,
    course: &Course,
    calendar: &Calendar,
    runs: Runs,
    now: i64,
) -> Vec<Remedy> {
    let days = |course: &Course| course.runs.map_or(i64::MAX, |_| course.days);
    if course.runs.is_some() && course.days < 2 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut tell = |change: &'static str, to: To, then: &Course| {
        if days(then) < days(course) {
            found.push(Remedy {
                change,
                to,
                days: then.days,
                runs: then.runs,
            });
        }
    };
    let mut free = loads.to_vec();
    free[at].run_families = f64::INFINITY;
    let then = forecast::play(&free, calendar, runs, now)[at].clone();
    let most = forecast::rounded_up(then.most);
    if most as f64 > loads[at].run_families {
        tell("run_families", To::Count(most), &then);
    }
    free[at].run_families = loads[at].run_families;
    free[at].run_rows = f64::INFINITY;
    if loads[at].run_rows.is_finite() {
        let then = forecast::play(&free, calendar, runs, now)[at].clone();
        tell("run_rows", To::Off("off"), &then);
    }
    let rest = loads[at].default_rest;
    let less = (rest / 4.0).floor();
    if rest > 0.0 {
        free[at].run_rows = loads[at].run_rows;
        free[at].speed *= (100.0 + rest) / (100.0 + less);
        let then = forecast::play(&free, calendar, runs, now)[at].clone();
        tell("scheduled_nice", To::Percent(less), &then);
    }
    let long = (runs.budget * 4.0).min(86_400.0);
    if long > runs.budget {
        let longer = Runs {
            budget: long,
            ..runs
        };
        let then = forecast::play(loads, calendar, longer, now)[at].clone();
        tell("time_budget", To::Seconds(long), &then);
    }
    let hourly = calendar.hourly();
    let then = forecast::play(loads, &hourly, runs, now)[at].clone();
    tell(
        "schedule",
        To::Schedule(Schedule::hourly().to_string()),
        &then,
    );
    found
}

/// The windows, and how they are written.
fn openings(session: &mut Session) -> anyhow::Result<(Vec<Opening>, Vec<String>)> {
    let windows = session.documents(&session.calls.list(List::Window), &[])?;
    let windows: Vec<Window> = answers::read("windows", &windows.into())?;
    let mut openings = Vec::new();
    let mut written = Vec::new();
    for window in windows {
        let offset = session
            .database
            .query(session.calls.offset(), &[Some(&window.zone)])?;
        let offset = offset.first().and_then(|row| row.first()?.as_deref());
        openings.push(Opening {
            days: window.days,
            begins: window.begins,
            ends: window.ends,
            // A server without the tables of the zones does not know it.
            offset: offset.and_then(|text| text.parse().ok()).unwrap_or(0),
        });
        written.push(window.written);
    }
    Ok((openings, written))
}
