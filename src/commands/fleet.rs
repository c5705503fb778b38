//! `fleet`: one command on many databases, each by a windrow of its own, so that none can hold up or bring down another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::answer::{Exit, show};
use super::specs::{apart, once_each, read_spec};
use crate::answers::{self, FleetDatabase, FleetOutcome};
use crate::cli::{Fleet, FleetCommand, Output};
use crate::diagnostic::{self, Colour};
use crate::failure::Failure;
use crate::fleet::{self, Inventory, Target, Unknown};
use crate::interrupt;
use crate::report;
use crate::spec::duration;
use crate::ui::{Ui, counted};

mod child;
mod journal;
mod queue;

use child::{Call, without_a_call};
use journal::Journal;
use queue::Queue;

/// How many names the line of the progress shows.
const SHOWN: usize = 4;

/// What the inventory says for each call. With an address of its own, every call would be about the same database.
const OF_INVENTORY: [&str; 3] = ["--url", "--database", "--password-file"];

/// What `fleet` itself says for each call.
const OF_FLEET: [&str; 2] = ["--output", "--quiet"];

/// Calls a command on every database of the inventory that is meant.
pub(super) fn fleet(args: &Fleet, ui: &Ui) -> anyhow::Result<Exit> {
    refuse_said_once(&args.arguments)?;
    let inventory = load(&args.inventory, ui)?;
    let mut targets = inventory
        .select(&args.group, &args.only)
        .map_err(|unknown| unknown_word(&unknown))?;
    if args.command == FleetCommand::Generate {
        targets = one_for_each_spec(&targets)?;
    }
    let call = Call {
        command: args.command,
        arguments: &args.arguments,
        timeout: args.timeout.as_deref().map(timeout).transpose()?,
    };
    let journal = Journal::of(args, &targets);
    let done: BTreeMap<String, u64> = match args.resume {
        true => journal.read()?,
        false => BTreeMap::new(),
    };
    journal.begin(&done)?;
    // The first interrupt ends what is under way, by the handlers of those that work; the second ends this program.
    interrupt::cancels(Box::new(|| Ok(())))?;
    let left: Vec<usize> = (0..targets.len())
        .filter(|at| !done.contains_key(&targets[*at].name))
        .collect();
    let (canaries, others) = left.split_at(args.canary.min(left.len()));
    let mut ended: Vec<Option<Ended>> = targets.iter().map(|_| None).collect();
    let title = format!("fleet {}", args.command.name());
    let mut on = |round| {
        on_each(
            &targets,
            round,
            args.jobs.into(),
            &call,
            (&title, ui),
            &mut ended,
        )
    };
    if on(canaries) {
        on(others);
    }
    let mut clean = done.clone();
    for ended in ended.iter().flatten().filter(|it| it.database.is_clean()) {
        clean.insert(ended.database.name.clone(), ended.at);
    }
    let databases: Vec<FleetDatabase> = targets
        .iter()
        .zip(ended)
        .map(|(target, ended)| match ended {
            Some(ended) => ended.database,
            None if done.contains_key(&target.name) => {
                without_a_call(target, FleetOutcome::DoneBefore)
            }
            None => without_a_call(target, FleetOutcome::NotStarted),
        })
        .collect();
    let answer = answer(args, databases);
    let halted = answer.not_started > 0 || interrupt::hit();
    journal.write(halted, &clean)?;
    let document = serde_json::to_value(&answer)?;
    show(ui, args.output, &document, || report::fleet(&answer));
    if halted && args.output == Output::Text {
        ui.hint("call it again with `--resume` to continue with the others");
    }
    Ok(match (answer.failed + answer.not_started, answer.found) {
        (0, 0) => Exit::Clean,
        (0, _) => Exit::Found,
        _ => Exit::Failed,
    })
}

/// Refuses arguments for each call that each is given anyway.
fn refuse_said_once(arguments: &[String]) -> Result<(), Failure> {
    for name in arguments.iter().filter_map(|it| it.split('=').next()) {
        let hint = if OF_INVENTORY.contains(&name) {
            "the inventory says which databases are meant, and how to reach them"
        } else if OF_FLEET.contains(&name) {
            "write it in front of `--`: it says how the answers of all calls are shown"
        } else {
            continue;
        };
        return Err(Failure::new(format!(
            "`{name}` cannot be among the arguments behind `--`"
        ))
        .hint(hint));
    }
    Ok(())
}

fn load(path: &Path, ui: &Ui) -> anyhow::Result<Inventory> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::new(format!("cannot read the inventory `{name}`"))
            .caused_by(error)
            .hint("`--inventory FILE` names it; docs/fleet.md says what is in it")
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(fleet::parse(&text, folder).map_err(|wrong| {
        let shown = fleet::without_values(&text);
        ui.findings(&diagnostic::render(&wrong, &name, &shown, Colour::Always));
        let places = diagnostic::located(&wrong, &name, &text);
        places.iter().fold(
            Failure::new(format!("the inventory `{name}` has errors")),
            |failure, it| {
                failure.detail(format!(
                    "{}:{}:{}: {}",
                    it.file, it.line, it.column, it.message
                ))
            },
        )
    })?)
}

fn unknown_word(unknown: &Unknown) -> Failure {
    let Unknown { kind, word, known } = unknown;
    let otherwise = match known.is_empty() {
        true => "no server has one".to_owned(),
        false => format!("there are: {}", known.join(", ")),
    };
    let known = known.iter().map(String::as_str);
    Failure::new(format!("the inventory has no {kind} `{word}`"))
        .hint(diagnostic::did_you_mean(word, known, &otherwise))
}

fn timeout(text: &str) -> Result<Duration, Failure> {
    let problem =
        |message: String, help: &str| Failure::new(format!("--timeout: {message}")).hint(help);
    match duration::parse(text) {
        Ok(milliseconds) if milliseconds > 0 => {
            Ok(Duration::from_millis(milliseconds.unsigned_abs()))
        }
        Ok(_) => Err(problem(
            "nothing can be done in no time".into(),
            "leave it out for no limit",
        )),
        Err(wrong) => Err(problem(wrong.message, wrong.help)),
    }
}

/// What is generated depends on the spec alone. Each is generated by a process of its own, all into one folder.
fn one_for_each_spec(targets: &[Target]) -> anyhow::Result<Vec<Target>> {
    let paths: Vec<PathBuf> = targets.iter().map(|it| it.spec.clone()).collect();
    let paths = once_each(paths.iter());
    let mut graphs = Vec::new();
    for path in &paths {
        // What is wrong with a spec is told by the process that reads it.
        if let Ok((Some(graph), _)) = read_spec(path) {
            graphs.push((*path, graph));
        }
    }
    apart(graphs.iter().map(|(path, graph)| (*path, graph)))?;
    let first = |path: &&PathBuf| {
        let target = targets.iter().find(|it| it.spec == **path)?;
        Some(Target {
            name: path.display().to_string(),
            groups: Vec::new(),
            ..target.clone()
        })
    };
    Ok(paths.iter().filter_map(first).collect())
}

/// What a call came to on a database, and when, as seconds since 1970.
struct Ended {
    database: FleetDatabase,
    at: u64,
}

/// What happens to a database.
enum Event {
    Begins(usize),
    Ends(usize, Ended),
}

/// Calls the command on each of these targets, so many at once and one of each server: whether all ended clean. After an
/// interrupt none is begun.
fn on_each(
    targets: &[Target],
    round: &[usize],
    jobs: usize,
    call: &Call<'_>,
    (title, ui): (&str, &Ui),
    ended: &mut [Option<Ended>],
) -> bool {
    let queue = Queue::new(targets, round);
    let (sender, events) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs.min(round.len()) {
            let (sender, queue) = (sender.clone(), &queue);
            scope.spawn(move || {
                while let Some(at) = queue.take() {
                    // The main thread hears every event, until all of these threads have ended.
                    let _ = sender.send(Event::Begins(at));
                    let ended = Ended {
                        database: call.on(&targets[at]),
                        at: journal::now(),
                    };
                    queue.free(at);
                    let _ = sender.send(Event::Ends(at, ended));
                }
            });
        }
        drop(sender);
        let mut progress = ui.progress(title, Some(round.len() as u64));
        let (mut at_work, mut count) = (BTreeSet::new(), 0);
        for event in events {
            match event {
                Event::Begins(at) => {
                    at_work.insert(at);
                }
                Event::Ends(at, outcome) => {
                    at_work.remove(&at);
                    count += 1;
                    ended[at] = Some(outcome);
                }
            }
            progress.set(count, &far(targets, round.len(), &at_work, ended));
        }
    });
    let mut round = round.iter().map(|at| &ended[*at]);
    round.all(|it| it.as_ref().is_some_and(|it| it.database.is_clean()))
}

/// How far a call is, in a line: `12 of 60, 1 failed; at work: a, b and 3 others`.
fn far(
    targets: &[Target],
    total: usize,
    at_work: &BTreeSet<usize>,
    ended: &[Option<Ended>],
) -> String {
    let ended = ended.iter().flatten().map(|it| &it.database);
    let failed = ended.clone().filter(|it| it.is_failed()).count();
    let found = ended.clone().filter(|it| it.is_found()).count();
    let count = ended.count();
    let mut text = format!("{count} of {total}");
    for (number, word) in [(failed, "failed"), (found, "with findings")] {
        if number > 0 {
            text += &format!(", {number} {word}");
        }
    }
    let names: Vec<&str> = at_work
        .iter()
        .take(SHOWN)
        .map(|at| targets[*at].name.as_str())
        .collect();
    if !names.is_empty() {
        text += &format!("; at work: {}", names.join(", "));
    }
    if at_work.len() > SHOWN {
        let others = counted((at_work.len() - SHOWN) as i64, "other", "others");
        text += &format!(" and {others}");
    }
    text
}

fn answer(args: &Fleet, databases: Vec<FleetDatabase>) -> answers::Fleet {
    let count = |is: fn(&FleetDatabase) -> bool| databases.iter().filter(|it| is(it)).count();
    answers::Fleet {
        command: args.command.name(),
        inventory: args.inventory.display().to_string(),
        clean: count(FleetDatabase::is_clean),
        found: count(FleetDatabase::is_found),
        failed: count(FleetDatabase::is_failed),
        not_started: count(|it| it.outcome == FleetOutcome::NotStarted),
        databases,
    }
}
