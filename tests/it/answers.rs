//! `--output json`: every command answers one document, as `specs/answers.schema.json` says.

mod errors;
mod servers;

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};

use clap::CommandFactory as _;
use serde_json::Value;
use windrow::answers;
use windrow::cli::Cli;

use crate::harness::tests;

tests! {
    within: [errors::tests, servers::tests],
    lint: [
        the_schema_of_answers_is_fresh,
        every_command_has_its_definition,
    ],
}

fn the_schema_of_answers_is_fresh() {
    let path = format!("{}/specs/answers.schema.json", env!("CARGO_MANIFEST_DIR"));
    let fresh = answers::json_schema();
    if std::env::var_os("WINDROW_BLESS").is_some() {
        fs::write(&path, &fresh).expect("the schema can be written");
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == fresh,
        "specs/answers.schema.json is stale: run this test with WINDROW_BLESS=1"
    );
}

/// The commands that do something, by their words, and whether each takes `--output`.
fn commands() -> Vec<(String, bool)> {
    fn below(command: &clap::Command, above: &str, found: &mut Vec<(String, bool)>) {
        let words = format!("{above} {}", command.get_name());
        let mut further = command.get_subcommands().peekable();
        if further.peek().is_none() {
            let mut arguments = command.get_arguments();
            let takes = arguments.any(|argument| argument.get_long() == Some("output"));
            found.push((words.trim().to_owned(), takes));
        }
        for command in further {
            below(command, &words, found);
        }
    }
    let mut found = Vec::new();
    for command in Cli::command().get_subcommands() {
        below(command, "", &mut found);
    }
    found
}

/// Those of which an answer is wanted.
fn that_answer() -> BTreeSet<String> {
    let all = commands().into_iter().map(|(words, _)| words);
    all.filter(|words| !answers::WITHOUT.contains(&words.as_str()))
        .collect()
}

fn every_command_has_its_definition() {
    let schema = schema();
    jsonschema::meta::validate(&schema).expect("a schema");
    for (words, takes_output) in commands() {
        let answers = !answers::WITHOUT.contains(&words.as_str());
        assert_eq!(takes_output, answers, "`{words}` takes --output");
        let defined = schema["$defs"].get(answers::definition(&words)).is_some();
        assert_eq!(defined, answers, "`{words}` has a definition");
    }
}

fn schema() -> Value {
    serde_json::from_str(&answers::json_schema()).expect("a schema")
}

/// The published schema for one command, but that an answer has no field which it does not describe.
fn validator(definition: &str) -> jsonschema::Validator {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(object) => {
                let describes = object.get("properties").is_some_and(Value::is_object);
                if describes && object.get("type").is_some_and(|it| it == "object") {
                    object
                        .entry("additionalProperties")
                        .or_insert_with(|| false.into());
                }
                object.values_mut().for_each(close);
            }
            Value::Array(list) => list.iter_mut().for_each(close),
            _ => {}
        }
    }
    let mut schema = schema();
    schema.as_object_mut().expect("an object").insert(
        "anyOf".to_owned(),
        serde_json::json!([{"$ref": format!("#/$defs/{definition}")}]),
    );
    close(&mut schema);
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .expect("a schema")
}

/// The binary in an environment that knows no database and no spec.
fn windrow(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
    command.args(words).stdin(Stdio::null());
    for name in ["WINDROW_URL", "WINDROW_SPEC", "PGPASSWORD", "MYSQL_PWD"] {
        command.env_remove(name);
    }
    command
}

/// Checks that an answer, and nothing else, stands on stdout, as the schema says of the command; a text answers with the
/// same exit code.
#[track_caller]
fn document(command: &str, output: &Output) -> Value {
    let told = format!(
        "`{command}` ended with {:?}\n{}\n{}",
        output.status.code(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no document: {error}: {told}"));
    let definition = match output.status.code() {
        Some(0 | 1) => answers::definition(command),
        Some(2) => "error".to_owned(),
        _ => panic!("{told}"),
    };
    let wrong: Vec<String> = validator(&definition)
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{}\n{told}", wrong.join("\n"));
    document
}
