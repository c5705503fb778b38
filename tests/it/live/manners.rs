//! What the output owes to terminals, pipes and programs.

use std::process::{Command, Stdio};

use super::{Database, SPEC, W, at, shared};

use crate::harness::tests;

tests! {
    on_postgres: [
        documents_stand_alone_on_stdout,
        a_reader_may_leave_early,
        colour_is_for_terminals_that_want_it,
    ],
}

fn documents_stand_alone_on_stdout() {
    let mut database = Database::history();
    database.sql(&format!("CALL {W}.arm()"));
    for words in [
        "check SPEC",
        "preview SPEC",
        "status SPEC",
        "verify SPEC",
        "history SPEC",
        "policy list SPEC",
        "hold list SPEC",
        "settings list SPEC",
        "artifacts list SPEC",
        "run SPEC --dry-run",
        "run SPEC --run-families 2",
        "purge SPEC --key 7",
        "history SPEC",
    ] {
        let said = database.windrow(&format!("{words} --output json"));
        assert!(said.code < 2, "{}", said.text());
        assert!(
            said.json().is_object() || said.json().is_array(),
            "{}",
            said.text()
        );
    }
    // Data on stdout, the rest on stderr, and nothing of the rest when it shall be quiet.
    let said = database
        .windrow("run SPEC --run-families 2 --quiet")
        .expect(0, &[]);
    assert_eq!(said.err, "");
    assert!(said.out.starts_with("run "), "{}", said.text());
    assert_eq!(
        database.windrow("pause SPEC --quiet").expect(0, &[]).text(),
        "exit: 0\n--- stdout\n--- stderr\n"
    );
    let said = database.windrow("check SPEC --quiet").expect(0, &[]);
    assert_eq!(said.out.clone() + &said.err, "");
    database
        .windrow("nonsense SPEC")
        .expect(2, &["unrecognized subcommand"]);
}

fn a_reader_may_leave_early() {
    let mut database = Database::history();
    database.sql(&format!("CALL {W}.arm()"));
    database.windrow("run SPEC --quiet").expect(0, &[]);
    assert!(
        database.number(&format!("SELECT count(*) FROM {W}.artifact")) > 1000,
        "more than a pipe holds"
    );
    for words in [
        "artifacts list SPEC",
        "artifacts list SPEC --output json",
        "status SPEC",
        "--help",
    ] {
        let mut child = if words == "--help" {
            super::command(&["--help"])
        } else {
            at(&database.url, words)
        };
        let mut child = child.spawn().expect("windrow starts");
        let head = Command::new("head")
            .arg("-1")
            .stdin(child.stdout.take().map_or(Stdio::null(), Stdio::from))
            .output()
            .expect("head starts");
        assert!(!head.stdout.is_empty());
        let output = child.wait_with_output().expect("windrow ends");
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).as_ref()
            ),
            (Some(0), ""),
            "{words}"
        );
    }
}

fn colour_is_for_terminals_that_want_it() {
    // `script` gives its child a terminal.
    let call = format!(
        "{} status {SPEC} --url {}",
        env!("CARGO_BIN_EXE_windrow"),
        shared().url("nowhere", "postgres")
    );
    let on_terminal = |plain: Option<&str>| {
        let mut script = Command::new("script");
        script
            .args(["-qec", &call, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .env_remove("NO_COLOR");
        if let Some(value) = plain {
            script.env("NO_COLOR", value);
        }
        let output = script.output().expect("script starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let coloured = on_terminal(None);
    assert!(
        coloured.contains("\u{1b}[") && coloured.contains("does not exist"),
        "{coloured}"
    );
    let plain = on_terminal(Some("1"));
    assert!(
        !plain.contains('\u{1b}') && plain.contains("error: cannot connect to"),
        "{plain}"
    );
}
