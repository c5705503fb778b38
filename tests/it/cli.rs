//! The real binary: exit code, stdout, stderr.

use std::env;
use std::process::Command;

/// The binary with these arguments, in an environment without a database.
fn windrow(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
    command
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100");
    for name in ["WINDROW_URL", "PGPASSWORD", "PGHOST", "PGUSER"] {
        command.env_remove(name);
    }
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run windrow: {error}"));
    format!(
        "exit: {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

const SPEC: &str = "specs/dolphinscheduler.toml";

#[test]
fn help_names_every_command_and_the_exit_codes() {
    insta::assert_snapshot!(windrow(&["--help"]), @"");
}

#[test]
fn a_subcommand_shows_an_example() {
    insta::assert_snapshot!(windrow(&["run", "--help"]), @"");
}

#[test]
fn wrong_usage_exits_with_two() {
    insta::assert_snapshot!(windrow(&["generat"]), @"");
    insta::assert_snapshot!(windrow(&["run"]), @"");
    insta::assert_snapshot!(windrow(&["status", SPEC]), @"");
    insta::assert_snapshot!(windrow(&["graph", "nowhere.toml"]), @"");
    insta::assert_snapshot!(windrow(&["check", "--explain", "nonsense"]), @"");
}

#[test]
fn a_code_is_explained() {
    insta::assert_snapshot!(windrow(&["check", "--explain", "unlisted-reference"]), @"");
}

#[test]
fn no_error_shows_a_password() {
    for url in [
        "postgres://app:hunter2@127.0.0.1:1/prod",
        "postgres://app:hunter2@127.0.0.1:port/prod",
        "postgres://app@127.0.0.1:1/prod?password=hunter2&sslmode=disable",
        "postgres://app:hunter2@127.0.0.1:1/prod?sslmode=nonsense",
        "host=127.0.0.1 password=hunter2",
        "mysql://app:hunter2@127.0.0.1/prod",
    ] {
        let said = windrow(&["status", SPEC, "--url", url]);
        assert!(said.starts_with("exit: 2"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
        assert!(said.contains("***"), "{said}");
    }
    insta::assert_snapshot!(windrow(&["status", SPEC, "--url", "postgres://app:hunter2@127.0.0.1:1/prod"]), @"");
    insta::assert_snapshot!(windrow(&["status", SPEC, "--url", "host=127.0.0.1 password=hunter2"]), @"");
}

#[test]
fn the_graph_is_drawn_as_a_tree() {
    insta::assert_snapshot!(windrow(&["graph", SPEC]), @"");
}

#[test]
fn the_graph_is_drawn_for_mermaid() {
    insta::assert_snapshot!(windrow(&["graph", SPEC, "--format", "mermaid"]), @"");
}

#[test]
fn the_graph_is_drawn_for_graphviz() {
    let said = windrow(&["graph", SPEC, "--format", "dot"]);
    assert!(
        said.starts_with("exit: 0\n--- stdout\ndigraph \"dolphinscheduler\" {\n"),
        "{said}"
    );
    assert_eq!(said.matches(" -> ").count(), 12, "{said}");
}

#[test]
fn the_picture_is_well_formed_and_the_same_each_time() {
    let said = windrow(&["graph", SPEC, "--format", "svg"]);
    assert_eq!(said, windrow(&["graph", SPEC, "--format", "svg"]));
    assert!(said.starts_with("exit: 0\n--- stdout\n<svg "), "{said}");
    assert_eq!(said.matches("<rect class=\"box").count(), 11, "{said}");
    assert!(!said.contains("NaN") && !said.contains("inf"), "{said}");
}

#[test]
fn stale_files_are_shown_and_exit_with_one() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let out = folder.path().display().to_string();
    let generate = |extra: &[&str]| windrow(&[&["generate", SPEC, "--out", &out], extra].concat());
    assert!(generate(&["--check"]).starts_with("exit: 1"));
    assert!(generate(&[]).starts_with("exit: 0"));
    assert!(generate(&["--check"]).starts_with("exit: 0"));
    let file = folder
        .path()
        .join("dolphinscheduler/postgres/10_control.sql");
    std::fs::write(&file, "-- by hand\n").unwrap_or_else(|error| panic!("{error}"));
    let said = generate(&["--check"]);
    assert!(
        said.starts_with("exit: 1\n--- stdout\n--- a/dolphinscheduler/postgres/10_control.sql\n"),
        "{said}"
    );
    assert!(said.contains("\n--- by hand\n"), "{said}");
    assert!(generate(&[]).contains("changed"));
    assert!(generate(&["--check"]).starts_with("exit: 0"));
}
