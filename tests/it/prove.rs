//! The tests on trial: a defect in the generated SQL that no test notices is a promise that nobody keeps.
//!
//! `make prove` runs what is ignored here. The list of defects is checked by every `make test`: each must have its place in
//! the SQL as it is generated now, and each test that should notice it must exist.

pub(crate) mod defects;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::panic::resume_unwind;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Shared;
use windrow::render;

use crate::harness::tests;
use crate::support::camunda;
use crate::support::defect::{Defect, HARMLESS, NOTHING, VARIABLE};
use crate::support::graphs::{dolphinscheduler, with_keepers};
use crate::{
    adopted, airflow, beneath, bound, bound_of, crossing, hatch, kept, partition, parts, scopes,
    several, single, subflows, unarchive, workers,
};
use defects::all;

tests! {
    alone: [
        every_test_that_should_notice_a_defect_exists,
        every_defect_has_its_place_in_the_generated_sql,
    ],
    when_asked: [
        every_defect_is_noticed,
    ],
}

/// Seconds after which a test has noticed that a run does not end: a defect may keep it at the same rows.
const PATIENCE: &str = "300";

/// Runs one test of this program in a process of its own.
fn run(test: &str, defect: &str) -> Output {
    Command::new("timeout")
        .arg(PATIENCE)
        .arg(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--test-threads=1"])
        .env(VARIABLE, defect)
        .output()
        .expect("this program starts")
}

/// The name of a test on a server.
fn on(dialect: Dialect, test: &str) -> String {
    test.replace("SERVER", dialect.facts().folder)
}

/// The servers for which a defect is described, and on which a test can notice it.
fn servers(defect: &Defect) -> impl Iterator<Item = Dialect> {
    DIALECTS.iter().copied().filter(|dialect| {
        let is_described = match dialect {
            Dialect::Postgres => !defect.postgres.is_empty(),
            Dialect::Mysql | Dialect::Mariadb => !defect.mysql.is_empty(),
        };
        // A test that names no server is of the only one that it needs.
        let elsewhere = |test: &str| {
            let other = |other: &Dialect| test.contains(&format!("::{}::", other.facts().folder));
            DIALECTS.iter().any(|one| one != dialect && other(one))
        };
        let mut tests = defect.noticed_by.iter();
        is_described && tests.any(|test| !elsewhere(&on(*dialect, test)))
    })
}

/// Why a test failed, in a line.
fn reason(output: &Output) -> String {
    if output.status.code() == Some(124) {
        return format!("it had not ended after {PATIENCE} s");
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    let starts = |line: &&str| line.starts_with("panicked at") || line.starts_with("Error:");
    let mut lines = text.lines().skip_while(|line| !starts(line));
    let first = lines.next();
    let told = match first.filter(|line| line.starts_with("panicked at")) {
        Some(_) => lines.next(),
        None => first,
    };
    let told = told.filter(|line| !line.trim().is_empty());
    let told = told.unwrap_or_else(|| panic!("a test failed without a reason: {text}"));
    told.chars().take(110).collect()
}

fn every_test_that_should_notice_a_defect_exists() {
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg("--list")
        .output()
        .expect("this program starts");
    let list = String::from_utf8_lossy(&output.stdout);
    let tests: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    let mut names = BTreeSet::new();
    for defect in all() {
        assert!(
            names.insert(defect.name),
            "two defects are named {}",
            defect.name
        );
        assert!(servers(defect).count() > 0, "{} is nowhere", defect.name);
        let exists = |dialect: Dialect, test: &str| tests.contains(on(dialect, test).as_str());
        for dialect in servers(defect) {
            let noticed = defect.noticed_by.iter().any(|test| exists(dialect, test));
            assert!(noticed, "{}: no such test", defect.on(dialect));
        }
        for test in defect.noticed_by {
            let somewhere = servers(defect).any(|dialect| exists(dialect, test));
            assert!(somewhere, "{}: no test is {test}", defect.name);
        }
    }
}

fn every_defect_has_its_place_in_the_generated_sql() {
    let graphs = [
        dolphinscheduler(Shared::Closed),
        with_keepers(Shared::Closed),
        camunda::graph(),
        camunda::graph_by_window(),
        single::graph(),
        workers::graph(Shared::Closed),
        partition::example("event-log"),
        partition::archive::example("event-log"),
        partition::example_of("event-log", "7d"),
        partition::families::graph("parts"),
        partition::waits::graph("waits"),
        airflow::graph(),
        unarchive::graph(),
        several::graph(""),
        beneath::timed::graph("family", true),
        beneath::keepers::graph(),
        beneath::moved::naming(true),
        beneath::strangers::pinned(beneath::STRATEGIES[0], true),
        beneath::rootless::graph(true, beneath::rootless::OWN[0]),
        several::unfinished(),
        several::awaiting(),
        bound::by_time("family"),
        crossing::graph(),
        adopted::graph(),
        bound_of::own("family"),
        kept::graph(),
        bound_of::own("window"),
        scopes::graph(),
        subflows::graph(),
        hatch::graph(),
        hatch::graph_of_rows(""),
        parts::of_numbers(),
    ];
    let mut homeless = Vec::new();
    for dialect in DIALECTS {
        let bundles: Vec<_> = graphs
            .iter()
            .filter(|graph| graph.dialects.contains(dialect))
            .map(|graph| {
                (
                    graph,
                    render::bundle(graph, *dialect).expect("the templates render"),
                )
            })
            .collect();
        for defect in all().filter(|defect| servers(defect).any(|server| server == *dialect)) {
            let mut applied = bundles
                .iter()
                .filter_map(|(graph, bundle)| defect.applied(bundle, graph, *dialect));
            if applied.next().is_none() {
                homeless.push(defect.on(*dialect));
            }
        }
    }
    assert!(homeless.is_empty(), "without a place: {homeless:#?}");
}

/// Which of its tests notices a defect on a server, and how; `calm` are those that were seen to pass without one.
fn notice(
    defect: &Defect,
    dialect: Dialect,
    calm: &Mutex<BTreeSet<String>>,
) -> Option<(String, String)> {
    for test in defect.noticed_by {
        let test = on(dialect, test);
        let is_new = calm.lock().expect("no panic").insert(test.clone());
        // The test must pass with routines that are others and do the same.
        if is_new {
            let output = run(&test, HARMLESS);
            assert!(
                output.status.success(),
                "{test} fails without a defect: {}",
                reason(&output)
            );
            let ran = String::from_utf8_lossy(&output.stdout).contains("1 passed");
            if !ran {
                continue;
            }
        }
        let output = run(&test, &defect.on(dialect));
        if !output.status.success() {
            let why = reason(&output);
            assert!(!why.contains(NOTHING), "{test}: {why}");
            return Some((test, why));
        }
    }
    None
}

/// Takes some minutes: starts this program once for each defect and server. `WINDROW_TEST_ONLY` is a part of the names of the
/// defects that are tried.
#[expect(clippy::print_stdout, reason = "the list is what `make prove` is for")]
fn every_defect_is_noticed() {
    let started = Instant::now();
    let mut survivors = String::new();
    let calm = Mutex::new(BTreeSet::new());
    let (mut tried, mut noticed) = (0, 0);
    let only = std::env::var("WINDROW_TEST_ONLY").unwrap_or_default();
    for defect in all().filter(|defect| defect.name.contains(&only)) {
        println!("\n{}: {}", defect.name, defect.what);
        // On all servers at once: a test mostly waits for its own.
        let found: Vec<_> = thread::scope(|scope| {
            let calm = &calm;
            let start = |dialect| scope.spawn(move || (dialect, notice(defect, dialect, calm)));
            let threads: Vec<_> = servers(defect).map(start).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        for (dialect, by) in found {
            tried += 1;
            match by {
                Some((test, why)) => {
                    noticed += 1;
                    println!("  noticed by {test}\n    {why}");
                }
                None => {
                    println!("  NOT NOTICED on {}", dialect.facts().folder);
                    let _ = write!(survivors, " {},", defect.on(dialect));
                }
            }
        }
    }
    println!(
        "\n{noticed} of {tried} defects noticed in {} s",
        started.elapsed().as_secs()
    );
    assert!(
        survivors.is_empty(),
        "nobody noticed{}",
        survivors.trim_end_matches(',')
    );
}
