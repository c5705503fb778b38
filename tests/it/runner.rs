//! The test runner on trial: what fails is told, what hangs is ended, and names are what they were.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use crate::harness::{self, tests};

tests! {
    alone: [
        a_test_that_fails_says_why_and_is_an_exit_code,
        a_test_that_hangs_is_named_and_ended,
        every_name_in_the_list_of_slow_tests_is_a_test,
        a_filter_is_a_part_of_a_name_or_all_of_it,
        two_turns_run_all_on_all,
    ],
    when_asked: [
        fails,
        hangs,
    ],
}

fn fails() {
    panic!("as it should");
}

fn hangs() {
    thread::sleep(Duration::from_secs(600));
}

/// This program with other arguments.
fn run(arguments: &[&str]) -> Output {
    Command::new(std::env::current_exe().expect("this program"))
        .args(arguments)
        .output()
        .expect("this program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn a_test_that_fails_says_why_and_is_an_exit_code() {
    let output = run(&["--ignored", "--exact", "runner::fails"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(101), "{said}");
    for part in [
        "\nrunning 1 test\n",
        "test runner::fails ... FAILED",
        "---- runner::fails ----\npanicked at tests/it/runner.rs:",
        ":\nas it should\n",
        "\nfailures:\n    runner::fails\n",
        "test result: FAILED. 0 passed; 1 failed;",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

/// The others go on, and the runner comes to its end.
fn a_test_that_hangs_is_named_and_ended() {
    let output = run(&[
        "--ignored",
        "--patience",
        "1",
        "runner::hangs",
        "runner::fails",
    ]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(101), "{said}");
    for part in [
        "test runner::hangs ... FAILED",
        "it hangs: no end after 1 s",
        "test runner::fails ... FAILED",
        "0 passed; 2 failed;",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

fn every_name_in_the_list_of_slow_tests_is_a_test() {
    let list = said(&run(&["--list"]));
    let tests: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .collect();
    assert!(tests.len() > 700, "{} tests", tests.len());
    let gone: Vec<&str> = harness::slow()
        .map(|(name, _)| name)
        .filter(|name| !tests.contains(name))
        .collect();
    assert!(
        gone.is_empty(),
        "tests/it/harness/slow.txt names {gone:?}: take it from target/tmp/slow.txt after a whole run"
    );
}

fn a_filter_is_a_part_of_a_name_or_all_of_it() {
    let names = |arguments: &[&str]| {
        let list = said(&run(&[&["--list"], arguments].concat()));
        list.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let [fails, hangs] = ["runner::fails: test", "runner::hangs: test"];
    assert_eq!(names(&["runner::f", "runner::h"]), [fails, hangs]);
    assert_eq!(
        names(&[
            "runner::", "--skip", "a_", "--skip", "every_", "--skip", "two_"
        ]),
        [fails, hangs]
    );
    assert_eq!(names(&["--exact", "runner::fails"]), [fails]);
    assert!(names(&["--exact", "runner::fail"]).is_empty());
}

/// What one commit leaves out on a server, the next one runs there.
fn two_turns_run_all_on_all() {
    let due = |turn| harness::due(crate::tests(), turn);
    let [one, other, all] = [Some(4), Some(5), None].map(due);
    assert_eq!(&one | &other, all);
    let [of_one, of_other] = [&all - &one, &all - &other];
    assert!(of_one.len() > 50, "{of_one:?}");
    assert!(of_one.len().abs_diff(of_other.len()) <= 1);
    for (waits, runs) in [(&of_one, &one), (&of_other, &other)] {
        for name in waits {
            let servers = ["postgres", "mysql", "mariadb"];
            let is_elsewhere = servers.iter().any(|server| {
                let part = |server: &str| format!("::{server}::");
                let here = servers.iter().find(|here| name.contains(&part(here)));
                let here = here.expect("a server in its name");
                here != server && runs.contains(&name.replace(&part(here), &part(server)))
            });
            assert!(is_elsewhere, "{name} runs nowhere");
        }
    }
}
