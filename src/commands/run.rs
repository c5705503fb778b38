//! `run`, `purge` and `stamp`: call the procedure on one session, watch its progress on another, show what it answers.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::answer::{Exit, show};
use super::options::{options, selection};
use super::session::{Session, document};
use crate::answers::{self, Preview, RunAnswer};
use crate::calls::Calls;
use crate::cli::{Base, Output, Purge, Run, Stamp};
use crate::db::{self, Database};
use crate::failure::Failure;
use crate::graph::Rule;
use crate::interrupt;
use crate::report;
use crate::ui::{Ui, count, counted, rows_per_second};

const POLL_EVERY: Duration = Duration::from_millis(500);
/// MySQL and MariaDB forget a cancel that comes between some two statements of a procedure.
const POLLS_PER_CANCEL: u32 = 4;

/// Runs the rules.
pub(super) fn run(args: &Run, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    interrupt::cancels(session.database.cancel())?;
    let mut options = selection(&args.selection);
    let total = if args.no_estimate || args.scheduled {
        None
    } else {
        estimate(&mut session, &options.clone().into(), ui)
    };
    if interrupt::hit() {
        return Err(interrupt::failure("preview").into());
    }
    if args.dry_run {
        options.insert("dry_run".to_owned(), true.into());
    }
    if args.scheduled {
        options.insert("trigger".to_owned(), "SCHEDULED".into());
    }
    if let Some(worker) = args.worker {
        if session.graph.workers == 1 {
            let name = &session.graph.name;
            return Err(Failure::new(format!("the spec `{name}` has no workers"))
                .hint("write `workers = 2`, or more, next to its `name`, and install it")
                .into());
        }
        options.insert("worker".to_owned(), worker.into());
    }
    if let Some(budget) = &args.time_budget {
        options.insert("time_budget".to_owned(), budget.clone().into());
    }
    call(session, "run", &options.into(), total, args.with.output, ui)
}

/// Deletes named families.
pub(super) fn purge(args: &Purge, ui: &Ui) -> anyhow::Result<Exit> {
    let session = Session::open(&args.with.on, ui)?;
    let options = options([
        ("rule", args.rule.clone().map(Value::from)),
        ("key", Some(Value::from(args.keys.clone()))),
        ("force", args.force.then(|| Value::from(true))),
    ]);
    let total = Some(args.keys.len() as u64);
    call(
        session,
        "purge",
        &options.into(),
        total,
        args.with.output,
        ui,
    )
}

/// Sets removal times.
pub(super) fn stamp(args: &Stamp, ui: &Ui) -> anyhow::Result<Exit> {
    let session = Session::open(&args.with.on, ui)?;
    if !session.graph.has_stamps() {
        let name = &session.graph.name;
        return Err(Failure::new(format!(
            "the spec `{name}` does not say how removal times are set"
        ))
        .hint("add `stamp = { … }` to its rule of the strategy `removal-time`, and install it")
        .into());
    }
    let text = |value: &Option<String>| value.clone().map(Value::from);
    let flag = |is_set: bool| is_set.then(|| Value::from(true));
    let base = args.calculated.map(|base| match base {
        Base::End => "end".into(),
        Base::Start => "start".into(),
    });
    let keys = (!args.keys.is_empty()).then(|| Value::from(args.keys.clone()));
    let options = options([
        ("rule", text(&args.rule)),
        ("of", text(&args.of)),
        ("to", text(&args.to)),
        ("calculated", base),
        ("default", text(&args.default)),
        ("clear", flag(args.clear)),
        ("key", keys),
        ("missing", flag(args.missing)),
        ("all", flag(args.all)),
        ("hierarchical", args.own_rows.then(|| Value::from(false))),
        ("chunk", args.chunk.map(Value::from)),
        ("time_budget", text(&args.time_budget)),
        ("dry_run", flag(args.dry_run)),
    ]);
    let output = args.with.output;
    call(session, "stamp", &options.into(), None, output, ui)
}

/// How many families a run will take, for the bar; a run does not depend on it.
fn estimate(session: &mut Session, options: &Value, ui: &Ui) -> Option<u64> {
    ui.note("counting what would be deleted (skip this with `--no-estimate`)");
    let preview = session
        .ask("preview", options)
        .and_then(|document| Ok(answers::read::<Preview>("preview", &document)?));
    match preview {
        Ok(preview) => {
            let families = preview.rules.iter().map(|rule| rule.figures.families);
            Some(families.sum::<i64>().unsigned_abs())
        }
        Err(_) if interrupt::hit() => None,
        Err(error) => {
            ui.warning(&format!("the total is not known: {error:#}"));
            None
        }
    }
}

fn call(
    mut session: Session,
    procedure: &str,
    options: &Value,
    total: Option<u64>,
    output: Output,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let backend = session.database.session()?;
    prepare(session.database.as_mut(), &session.calls)?;
    interrupt::cancels(session.database.cancel())?;
    // Without a second session the run goes unseen, which is no reason not to run.
    let watcher = match db::connect(&session.url) {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            ui.warning(&format!("progress cannot be shown: {error:#}"));
            None
        }
    };
    let statement = session.calls.perform(procedure);
    let name = session.calls.shown(procedure, &options.to_string());
    let progress = session.calls.progress(procedure);
    let parameter = options.to_string();
    let rows = thread::scope(|scope| {
        let (done, result) = mpsc::channel();
        let database = &mut session.database;
        scope.spawn(move || {
            // The receiver waits for exactly this one message.
            let _ = done.send(database.query(&statement, &[Some(&parameter)]));
        });
        watch(&result, watcher, &progress, backend, total, procedure, ui)
    });
    if rows.is_err() && interrupt::hit() {
        tidy_up(&mut session, procedure, options, ui);
    }
    let document = document(rows.map_err(|error| interrupt::explain(error, &name))?)?;
    if document.is_null() {
        return Err(Failure::new(format!("`{name}` returned nothing"))
            .hint("the installation may come from an older version of windrow: run `windrow install` again")
            .into());
    }
    let answer: RunAnswer = answers::read(procedure, &document)?;
    if interrupt::hit() {
        // The answer has come nevertheless. For programs there is one document, and that is the error.
        let told = report::run(&answer);
        let failure = interrupt::failure(&name);
        if output == Output::Json {
            let first = told.lines().next().unwrap_or_default().to_owned();
            return Err(failure.detail(first).into());
        }
        ui.data(&told);
        return Err(failure.into());
    }
    show(ui, output, &document, || report::run(&answer));
    Ok(if answer.is_found() {
        Exit::Found
    } else {
        Exit::Clean
    })
}

/// What follows a call that was cancelled. Only a run that deletes takes rows of partitions out of their table: to put them back waits
/// for other runs, and may copy a whole partition.
fn tidy_up(session: &mut Session, procedure: &str, options: &Value, ui: &Ui) {
    let rules = &session.graph.rules;
    let takes_out = procedure == "run"
        && options["dry_run"] != Value::Bool(true)
        && rules.iter().any(Rule::drops_partitions);
    // Where the session is gone too, the next run does it.
    for statement in session.calls.after_cancel() {
        let _ = session.database.execute(&statement);
    }
    if let Some(statement) = session.calls.give_back().filter(|_| takes_out) {
        ui.note("rows of partitions that are out of their table go back (`give_back`)");
        let _progress = ui.progress("give_back", None);
        if let Err(error) = session.database.execute(&statement) {
            ui.warning(&format!(
                "the rows could not go back: {error:#}; the next run tries it again"
            ));
        }
    }
}

/// Settings of the session that runs: its own budget limits it, and it ends when this process is gone.
fn prepare(database: &mut dyn Database, calls: &Calls) -> anyhow::Result<()> {
    database.execute(calls.unlimited())?;
    // Not every system has it; there, a run whose client vanished continues to its end.
    if let Some(sql) = calls.watch_client() {
        let _ = database.execute(sql);
    }
    Ok(())
}

type Answer = anyhow::Result<Vec<db::Row>>;

/// Shows the progress until the answer is there.
fn watch(
    result: &mpsc::Receiver<Answer>,
    mut watcher: Option<Box<dyn Database>>,
    sql: &str,
    backend: i64,
    total: Option<u64>,
    what: &str,
    ui: &Ui,
) -> Answer {
    let mut progress = ui.progress(what, total.filter(|total| *total > 0));
    let start = Instant::now();
    let mut polls_since_interrupt = 0;
    loop {
        match result.recv_timeout(POLL_EVERY) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::new("the thread that runs ended without an answer").into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt::hit() {
            polls_since_interrupt += 1;
            if polls_since_interrupt % POLLS_PER_CANCEL == 0 {
                interrupt::repeat();
            }
        }
        let Some(database) = &mut watcher else {
            continue;
        };
        let Ok(rows) = database.query(sql, &[Some(&backend.to_string())]) else {
            watcher = None;
            continue;
        };
        let figure = |at: usize| {
            rows.first()
                .and_then(|row| row.get(at)?.as_deref()?.parse::<i64>().ok())
                .unwrap_or_default()
        };
        let (families, rows, batches) = (figure(0), figure(1), figure(2));
        let rate = rows as f64 / start.elapsed().as_secs_f64().max(0.001);
        let of = total
            .map(|total| format!(" of {}", count(total as i64)))
            .unwrap_or_default();
        let message = format!(
            "{}{of} families, {}, {}, {}",
            count(families),
            counted(rows, "row", "rows"),
            rows_per_second(rate),
            counted(batches, "batch", "batches")
        );
        progress.set(families.max(0) as u64, &message);
    }
}
