//! `docs/reference/`: what the code says of the language and of the command line, as pages. Written by `WINDROW_BLESS=1`.

mod reasons;
mod settings;
mod sql;

use std::fmt::Write as _;
use std::fs;

use clap::{Arg, Command, CommandFactory as _};
use serde_json::Value;
use windrow::cli::Cli;
use windrow::spec;

use crate::harness::tests;

tests! {
    lint: [
        the_pages_say_what_the_code_does,
        every_reason_of_the_kernels_is_told,
    ],
}

fn every_reason_of_the_kernels_is_told() {
    reasons::every_reason_of_the_kernels_is_told();
}

fn the_pages_say_what_the_code_does() {
    for (name, made) in [
        ("spec", language()),
        ("cli", commands()),
        ("sql", sql::page()),
        ("settings", settings::page()),
        ("reasons", reasons::page()),
    ] {
        let path = format!("{}/docs/reference/{name}.md", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("WINDROW_BLESS").is_some() {
            fs::create_dir_all(format!("{}/docs/reference", env!("CARGO_MANIFEST_DIR")))
                .expect("a folder");
            fs::write(&path, made).expect("a page is written");
        } else {
            let page = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                page == made,
                "docs/reference/{name}.md is stale: WINDROW_BLESS=1 cargo test --test it reference::"
            );
        }
    }
}

/// A cell of a table: one line, no bar.
fn cell(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

fn described(of: &Value) -> String {
    cell(of["description"].as_str().unwrap_or_default())
}

/// Every field of the language, by the JSON Schema that editors read.
fn language() -> String {
    let schema: Value = serde_json::from_str(&spec::json_schema()).expect("a schema");
    let mut page = String::from(
        "# The language of a spec\n\n\
         Made of the code that reads specs, like [the JSON Schema](../../specs/windrow.schema.json) that editors complete from \
         (`#:schema` in the first line of a spec). A field without a default may be left out unless it is said to be required; which ones a rule needs besides depends on its \
         strategy, and `windrow check` names those that it lacks. \
         Durations are like `30d`, `1d12h` or `P30D`.\n\n## The file\n\n",
    );
    let _ = writeln!(page, "{}\n", described(&schema));
    fields(&mut page, &schema);
    let known = schema["$defs"].as_object().expect("definitions");
    let mut names: Vec<&String> = known.keys().collect();
    // In the order in which a reader meets them.
    let order = [
        "Table",
        "With",
        "Rule",
        "Strategy",
        "Retention",
        "Limits",
        "Keep",
    ];
    names.sort_by_key(|name| {
        order
            .iter()
            .position(|first| first == name)
            .unwrap_or(order.len())
    });
    for name in names {
        let _ = writeln!(page, "\n## {name}\n\n{}\n", described(&known[name]));
        if known[name]["properties"].is_object() {
            fields(&mut page, &known[name]);
        } else {
            choices(&mut page, &known[name]);
        }
    }
    page
}

fn fields(page: &mut String, of: &Value) {
    let required: Vec<&str> = of["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let _ = writeln!(
        page,
        "| field | takes | default | meaning |\n|---|---|---|---|"
    );
    for (name, field) in of["properties"].as_object().expect("fields") {
        let default = match &field["default"] {
            Value::Null if required.contains(&name.as_str()) => "required".to_owned(),
            Value::Null => String::new(),
            Value::Array(all) if all.is_empty() => String::new(),
            Value::Object(all) if all.is_empty() => String::new(),
            value => format!("`{}`", cell(&value.to_string())),
        };
        let examples: Vec<String> = field["examples"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|example| format!("`{}`", cell(&example.to_string())))
            .collect();
        let example = if examples.is_empty() {
            String::new()
        } else {
            format!(" E.g. {}", examples.join(", "))
        };
        let _ = writeln!(
            page,
            "| `{name}` | {} | {default} | {}{example} |",
            takes(field),
            described(field)
        );
    }
}

/// What a value may be: a type with its range, a definition by its name, or a list of these.
fn takes(of: &Value) -> String {
    if let Some(name) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(all) = of["anyOf"]
        .as_array()
        .or(of["oneOf"].as_array())
        .or(of["allOf"].as_array())
    {
        return all.iter().map(takes).collect::<Vec<_>>().join(" or ");
    }
    if !of["const"].is_null() {
        return format!("`{}`", of["const"]);
    }
    match of["type"].as_str().unwrap_or("anything") {
        "array" => format!("list of {}", takes(&of["items"])),
        "object" if of["additionalProperties"].is_object() => {
            format!("table of {}", takes(&of["additionalProperties"]))
        }
        "object" => "table".to_owned(),
        "integer" => match (&of["minimum"], &of["maximum"]) {
            (Value::Null, Value::Null) => "number".to_owned(),
            (least, Value::Null) => format!("number, {least} or more"),
            (Value::Null, greatest) => format!("number up to {greatest}"),
            (least, greatest) => format!("number, {least} to {greatest}"),
        },
        "string"
            if of["pattern"]
                .as_str()
                .is_some_and(|pattern| pattern.contains("[0-9]+ms")) =>
        {
            "duration".to_owned()
        }
        "string" => "text".to_owned(),
        other => other.to_owned(),
    }
}

fn choices(page: &mut String, of: &Value) {
    let all = of["oneOf"].as_array().or(of["anyOf"].as_array());
    let Some(all) = all else {
        let _ = writeln!(page, "Takes {}.", takes(of));
        return;
    };
    for choice in all {
        let values: Vec<String> = choice["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|value| format!("`{value}`"))
            .collect();
        let says = if values.is_empty() {
            takes(choice)
        } else {
            values.join(", ")
        };
        let told = described(choice);
        let told = if told.is_empty() {
            told
        } else {
            format!(": {told}")
        };
        let _ = writeln!(page, "- {says}{told}");
    }
}

/// Every command with its arguments.
fn commands() -> String {
    let mut page = String::from(
        "# The command line\n\nMade of the code that reads it; `windrow COMMAND --help` says the same. Every command takes `--quiet` (`-q`), \
         which prints only data, warnings and errors.\n\n\
         With `--output json`, a command prints one JSON document on standard output and nothing else; messages go to standard error, and \
         exit codes are the same. Instants are in UTC (RFC 3339), the name of a duration ends in its unit, and null is what nobody knows. \
         An error is a document, too. [The JSON Schema](../../specs/answers.schema.json) has a definition for each command \
         (`windrow schema --of answers`): a field of an answer keeps its name, and further ones may come. `schema`, `completions` and `man` \
         print what is for programs anyway.\n",
    );
    let mut cli = Cli::command();
    cli.build();
    let _ = writeln!(
        page,
        "\n```text\n{}\n```",
        cli.get_after_help().expect("exit codes")
    );
    for command in cli.get_subcommands() {
        described_command(&mut page, command, "windrow");
    }
    page
}

fn described_command(page: &mut String, command: &Command, above: &str) {
    let path = format!("{above} {}", command.get_name());
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let example = about
        .lines()
        .find(|line| line.starts_with("Example: "))
        .map(str::to_owned);
    let text: Vec<&str> = about
        .lines()
        .filter(|line| !line.starts_with("Example: "))
        .collect();
    let _ = writeln!(page, "\n## {path}\n\n{}", text.join("\n").trim());
    if let Some(example) = example {
        let _ = writeln!(
            page,
            "\n```sh\n{}\n```",
            example.trim_start_matches("Example: ")
        );
    }
    let mut subcommands = command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .peekable();
    if subcommands.peek().is_none() {
        let _ = writeln!(page, "\n| argument | default | meaning |\n|---|---|---|");
        for argument in command
            .get_arguments()
            .filter(|argument| !["help", "quiet", "version"].contains(&argument.get_id().as_str()))
        {
            argument_line(page, argument);
        }
    }
    for command in subcommands {
        described_command(page, command, &path);
    }
}

fn argument_line(page: &mut String, argument: &Arg) {
    let takes = argument.get_action().takes_values();
    let value = argument
        .get_value_names()
        .filter(|_| takes)
        .map(|names| names[0].to_string());
    let name = match (argument.get_long(), value) {
        (Some(long), Some(value)) => {
            let optional = argument
                .get_num_args()
                .is_some_and(|it| it.min_values() == 0);
            match (optional, argument.is_require_equals_set()) {
                (true, true) => format!("--{long}[={value}]"),
                (true, false) => format!("--{long} [{value}]"),
                (false, _) => format!("--{long} {value}"),
            }
        }
        (Some(long), None) => format!("--{long}"),
        (None, value) => value.unwrap_or_default(),
    };
    let mut values = argument
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()));
    let default = if argument.is_required_set() {
        "required".to_owned()
    } else {
        values.next().unwrap_or_default()
    };
    let possible: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| takes)
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let possible = if possible.is_empty() {
        String::new()
    } else {
        format!(" ({})", possible.join(", "))
    };
    let variable = argument.get_env().map_or(String::new(), |name| {
        format!("; `{}`", name.to_string_lossy())
    });
    let help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let _ = writeln!(
        page,
        "| `{name}` | {default} | {}{possible}{variable} |",
        cell(&help)
    );
}
