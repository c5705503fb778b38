//! What could not be done is told in one form by every command.

use serde_json::Value;

use super::{commands, document, that_answer, windrow};
use crate::harness::tests;

tests! {
    alone: [
        what_cannot_be_done_is_a_document_of_every_command,
        a_wrong_command_line_is_a_document_where_one_is_asked_for,
        a_spec_with_errors_is_a_document,
        every_command_takes_spec_and_database_of_the_environment,
    ],
}

const SPEC: &str = "specs/dolphinscheduler.toml";

/// An address at which nobody listens.
const NOWHERE: &str = "postgres://nobody@127.0.0.1:1/nothing";

/// What a command needs to be understood, but for what makes it fail.
fn words(command: &str) -> Vec<&str> {
    let more: &[&str] = match command {
        "inspect" => &["--database", NOWHERE],
        "init" => &["--from", SPEC, "--database", NOWHERE],
        "check" => &[SPEC, "--database", NOWHERE],
        "graph" => &["specs/nothing.toml"],
        "report" => &[SPEC, "--database", NOWHERE, "--out", "target/nothing.html"],
        "generate" => &["specs/nothing.toml", "--check"],
        "policy set" | "policy drop" => &[SPEC, "--url", NOWHERE, "--scope", "1"],
        "hold set" => &[SPEC, "--url", NOWHERE, "--key", "1", "--reason", "audit"],
        "hold release" | "purge" => &[SPEC, "--url", NOWHERE, "--key", "1"],
        "settings set" => &[SPEC, "rate", "1", "--url", NOWHERE],
        "settings reset" => &[SPEC, "rate", "--url", NOWHERE],
        "window set" => &[SPEC, "always", "--url", NOWHERE],
        "stamp" => &[SPEC, "--url", NOWHERE, "--clear", "--all"],
        "archive drop" | "archive restore" => &[SPEC, "--url", NOWHERE, "--run", "1"],
        "artifacts drain" => &[SPEC, "--url", NOWHERE, "--command", "rm -- {path}"],
        "demo" => &["--system", "yworkflow", "--dialect", "mysql"],
        "heartbeat" => &[SPEC, "--url", NOWHERE, "--replica", "mysql://nowhere/"],
        "fleet" => &["status", "--inventory", "nowhere.toml"],
        _ => &[SPEC, "--url", NOWHERE],
    };
    command.split(' ').chain(more.iter().copied()).collect()
}

fn what_cannot_be_done_is_a_document_of_every_command() {
    for command in that_answer() {
        let mut words = words(&command);
        words.extend(["--output", "json"]);
        let output = windrow(&words).output().expect("windrow starts");
        assert_eq!(output.status.code(), Some(2), "{command}: {output:?}");
        let document = document(&command, &output);
        let message = document["error"]["message"].as_str().expect("a message");
        // People are told the same on stderr.
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(message), "{command}: `{message}`: {told}");
    }
}

/// Without spec and address among its words, a command does the same with those of the environment.
fn every_command_takes_spec_and_database_of_the_environment() {
    let error = |words: &[&str], environment: &[(&str, &str)]| {
        let mut command = windrow(words);
        command.args(["--output", "json"]);
        let output = command.envs(environment.iter().copied()).output();
        document("error", &output.expect("windrow starts"))
    };
    let of_several = [
        "window",
        "set",
        SPEC,
        "mon-fri 22:00-06:00",
        "sat 00:00-00:00",
        "--url",
        NOWHERE,
    ];
    let mut all: Vec<Vec<&str>> = vec![of_several.to_vec()];
    let commands: Vec<String> = that_answer().into_iter().collect();
    // These two have no spec, and no address.
    let with_spec = commands
        .iter()
        .filter(|it| !["inspect", "demo", "fleet"].contains(&it.as_str()));
    all.extend(with_spec.map(|command| words(command)));
    all.push(words("inspect"));
    for words in all {
        let mut spec = "";
        let mut left = Vec::new();
        let mut given = words.iter().copied().peekable();
        while let Some(word) = given.next() {
            match word {
                "--url" | "--database" => drop(given.next()),
                "--from" => spec = given.next().unwrap_or_default(),
                word if word.ends_with(".toml") => spec = word,
                word => left.push(word),
            }
        }
        let environment = [("WINDROW_SPEC", spec), ("WINDROW_URL", NOWHERE)];
        let by_words = error(&words, &[]);
        assert_eq!(error(&left, &environment), by_words, "{left:?}");
    }
    // What is said counts more than what the environment says.
    let others = [
        ("WINDROW_SPEC", "other.toml"),
        ("WINDROW_URL", "postgres://x@127.0.0.1:2/"),
    ];
    let status = words("status");
    assert_eq!(error(&status, &others), error(&status, &[]));
    // An empty variable is none.
    let empty = [("WINDROW_SPEC", ""), ("WINDROW_URL", "")];
    let message = |words: &[&str]| error(words, &empty)["error"]["message"].to_string();
    assert!(message(&["status"]).contains("required arguments were not provided"));
    assert!(message(&["status", SPEC]).contains("no database given"));
    let output = windrow(&["check", SPEC]).envs(empty).output();
    assert_eq!(output.expect("windrow starts").status.code(), Some(0));
}

fn a_wrong_command_line_is_a_document_where_one_is_asked_for() {
    let message = |words: &[&str]| {
        let output = windrow(words).output().expect("windrow starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
        if output.stdout.is_empty() {
            return Value::Null;
        }
        document("error", &output)["error"]["message"].clone()
    };
    assert_eq!(
        message(&["status", "--nonsense", "--output", "json"]),
        "unexpected argument '--nonsense' found"
    );
    assert_eq!(message(&["status", "--nonsense"]), Value::Null);
    assert_eq!(
        message(&["status", "--output=json"]),
        "the following required arguments were not provided:\n  <SPEC>"
    );
    for (command, takes_output) in commands() {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["--nonsense", "--output", "json"]);
        let unknown = if takes_output { "--nonsense" } else { "" };
        let message = message(&words).to_string();
        assert!(message.contains(unknown), "{command}: {message}");
    }
    // Help is none.
    let help = windrow(&["status", "--help", "--output", "json"]).output();
    let help = help.expect("windrow starts");
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).starts_with("Show whether the cleanup keeps up"));
}

fn a_spec_with_errors_is_a_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("bad.toml");
    std::fs::write(&spec, "name = \"bad\"\nrots = 1\n").expect("a spec");
    let spec = spec.to_str().expect("UTF-8");
    let said = |words: &[&str]| windrow(words).output().expect("windrow starts");
    let output = said(&["check", spec, "--output", "json"]);
    let found = document("check", &output);
    assert_eq!(found["spec"], Value::Null);
    assert_eq!(found["diagnostics"][0]["code"], "unknown-field");
    assert_eq!(output.status.code(), Some(1));
    let output = said(&["graph", spec, "--output", "json"]);
    assert_eq!(output.status.code(), Some(2));
    document("graph", &output);
}
