//! What the test runner prints.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it is the report"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::run::{Conclusion, Ended, longest};
use super::{Server, Test};
use crate::support::effort;

/// How many of the slowest tests are named.
const SLOWEST: usize = 20;

/// From how many seconds on a test is in the list of those that start first.
const SLOW: f64 = 2.0;

/// How many dots stand in a line.
const DOTS: usize = 88;

/// How much was looked at, by class and server.
static COUNTS: Mutex<BTreeMap<(String, String), u64>> = Mutex::new(BTreeMap::new());

/// Counts what a test has looked at, for the report: so many worlds, stops, specs.
pub(crate) fn count(class: &str, server: &str, number: usize) {
    let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    *counts
        .entry((class.to_owned(), server.to_owned()))
        .or_default() += number as u64;
}

pub(super) fn list<'a>(tests: impl Iterator<Item = &'a Test>) {
    for test in tests {
        println!("{}: test", test.name);
    }
}

pub(super) fn begin(tests: usize) {
    println!(
        "\nrunning {tests} test{}",
        if tests == 1 { "" } else { "s" }
    );
    if effort::is_proof() {
        println!("the first seed is {}", effort::first_seed());
    }
    if let Some(turn) = effort::turn() {
        println!("turn {turn}: slow tests of every server run on one of them");
    }
}

/// What is said beside the outcome: by a thread that is not a test's own, or by a test that is asked to measure.
pub(crate) fn aside(text: &str) {
    eprintln!("{text}");
}

pub(super) fn one(end: &Ended, before: usize, is_quiet: bool) {
    let (name, seconds) = (&end.name, end.time.as_secs_f64());
    match &end.result {
        Err(why) => {
            // Whoever waits for the others learns at once that it was in vain.
            let first = why.lines().next().unwrap_or_default();
            println!("\ntest {name} ... FAILED ({seconds:.1} s): {first}");
        }
        Ok(()) if is_quiet => {
            print!(".");
            if (before + 1).is_multiple_of(DOTS) {
                println!(" {}", before + 1);
            }
        }
        Ok(()) => println!("test {name} ... ok ({seconds:.1} s)"),
    }
    // A closed pipe is told by the next line.
    let _ = std::io::stdout().flush();
}

pub(super) fn conclude(conclusion: &Conclusion, left_out: usize) -> ExitCode {
    let ended = &conclusion.ended;
    let failed: Vec<&Ended> = ended.iter().filter(|end| end.result.is_err()).collect();
    println!();
    for end in &failed {
        if let Err(why) = &end.result {
            println!("\n---- {} ----\n{}", end.name, why.trim_end());
        }
    }
    if !failed.is_empty() {
        println!("\nfailures:");
        for end in &failed {
            println!("    {}", end.name);
        }
    }
    if conclusion.is_whole {
        print!("{}", times(ended, conclusion.time));
    }
    print!("{}", counts());
    if conclusion.is_whole && effort::turn().is_none() && failed.is_empty() {
        keep(ended);
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; {left_out} left out; finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        ended.len() - failed.len(),
        failed.len(),
        conclusion.time.as_secs_f64()
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(101)
    }
}

/// The slowest tests, and the time by group and server.
fn times(ended: &[Ended], all: Duration) -> String {
    let mut text = format!("\nthe {SLOWEST} slowest tests, in seconds\n");
    for end in longest(ended).into_iter().take(SLOWEST) {
        let _ = writeln!(text, "{:8.1}  {}", end.time.as_secs_f64(), end.name);
    }
    let mut groups: BTreeMap<&str, Vec<&Ended>> = BTreeMap::new();
    for end in ended {
        groups.entry(&end.group).or_default().push(end);
    }
    let all_of_it: Vec<&Ended> = ended.iter().collect();
    let mut rows: Vec<(&str, Vec<&Ended>)> = groups.into_iter().collect();
    rows.push(("all", all_of_it));
    let _ = writeln!(
        text,
        "\nseconds by group and server, of {:.0} in all\n{:20}{:>7}{:>9}{:>9}{:>9}{:>9}{:>9}",
        all.as_secs_f64(),
        "",
        "tests",
        "postgres",
        "mysql",
        "mariadb",
        "several",
        "none"
    );
    for (group, ends) in rows {
        let _ = write!(text, "{group:20}{:7}", ends.len());
        for server in Server::ALL {
            let of_it = ends.iter().filter(|end| end.server == server);
            let time: Duration = of_it.map(|end| end.time).sum();
            let _ = write!(text, "{:9.1}", time.as_secs_f64());
        }
        text.push('\n');
    }
    text
}

/// What was looked at, a line for each class; the last one has all worlds.
fn counts() -> String {
    let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut classes: Vec<(&str, Vec<(&str, u64)>)> = Vec::new();
    let mut worlds: BTreeMap<&str, u64> = BTreeMap::new();
    for ((class, server), number) in counts.iter() {
        if classes.last().is_none_or(|(last, _)| last != class) {
            classes.push((class, Vec::new()));
        }
        if let Some((_, servers)) = classes.last_mut() {
            servers.push((server, *number));
        }
        if class.starts_with("worlds") {
            *worlds.entry(server).or_default() += number;
        }
    }
    if !worlds.is_empty() {
        classes.push(("all worlds", worlds.into_iter().collect()));
    }
    let lines: Vec<String> = classes
        .iter()
        .map(|(class, servers)| {
            let servers: Vec<String> = servers
                .iter()
                .map(|(server, number)| format!("{number} on {server}"))
                .collect();
            format!("{class}: {}\n", servers.join(", "))
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\nlooked at\n{}", lines.concat())
}

/// Keeps the times for whoever brings `slow.txt` up to date.
fn keep(ended: &[Ended]) {
    let mut text = String::new();
    for end in longest(ended) {
        let seconds = end.time.as_secs_f64();
        if seconds >= SLOW {
            let _ = writeln!(text, "{seconds:.0} {}", end.name);
        }
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slow.txt");
    if let Err(error) = fs::write(&path, text) {
        println!("\ncannot write {}: {error}", path.display());
    }
}
