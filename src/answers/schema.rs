//! What every command answers with `--output json`, as a JSON Schema.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::archive::{Archived, Restored};
use super::decided::{Artifact, Hold, Holds, Policy};
use super::deeds::{Armed, Demonstrated, Drained, Exported, Installed, Paused, Uninstalled};
use super::fleet::Fleet;
use super::heartbeat::Heartbeat;
use super::history::PastRun;
use super::preview::Preview;
use super::run::RunAnswer;
use super::setting::{Setting, SettingChange, SettingNow, Window, WindowsNow};
use super::specs::{
    Candidates, Checked, Differences, Drafted, Drawn, Explained, Fitted, Generated, Reported,
};
use super::status::Status;
use super::verify::Verification;
use crate::failure;
use crate::forecast;

/// The commands that print a script or a schema, and so return no document.
pub const WITHOUT: [&str; 3] = ["schema", "completions", "man"];

/// What may be one of two.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only its schema is wanted")]
enum Either<A, B> {
    A(A),
    B(B),
}

/// A command: its words, and the schema of its answer.
type Entry = (&'static str, fn(&mut SchemaGenerator) -> Schema);

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The answer of each command, by its words.
const ANSWERS: [Entry; 42] = [
    ("inspect", of::<Either<Drafted, Candidates>>),
    ("init", of::<Fitted>),
    ("check", of::<Either<Checked, Explained>>),
    ("graph", of::<Drawn>),
    ("report", of::<Reported>),
    ("generate", of::<Generated>),
    ("install", of::<Installed>),
    ("policy list", of::<Vec<Policy>>),
    ("policy set", of::<Policy>),
    ("policy drop", of::<Policy>),
    ("preview", of::<Preview>),
    ("plan", of::<forecast::Report>),
    ("arm", of::<Armed>),
    ("run", of::<RunAnswer>),
    ("verify", of::<Verification>),
    ("diff", of::<Differences>),
    ("status", of::<Status>),
    ("history", of::<Vec<PastRun>>),
    ("hold list", of::<Vec<Hold>>),
    ("hold set", of::<Holds>),
    ("hold release", of::<Holds>),
    (
        "settings list",
        of::<Either<Vec<Setting>, Vec<SettingChange>>>,
    ),
    ("settings set", of::<SettingNow>),
    ("settings reset", of::<SettingNow>),
    ("window list", of::<Vec<Window>>),
    ("window set", of::<WindowsNow>),
    ("window reset", of::<WindowsNow>),
    ("purge", of::<RunAnswer>),
    ("stamp", of::<RunAnswer>),
    ("archive list", of::<Archived>),
    ("archive drop", of::<Archived>),
    ("archive restore", of::<Restored>),
    ("archive export", of::<Exported>),
    ("artifacts list", of::<Vec<Artifact>>),
    ("artifacts drain", of::<Drained>),
    ("pause", of::<Paused>),
    ("resume", of::<Paused>),
    ("heartbeat", of::<Heartbeat>),
    ("fleet", of::<Fleet>),
    ("demo", of::<Demonstrated>),
    ("uninstall", of::<Uninstalled>),
    ("error", of::<failure::Document>),
];

/// The name of a command's definition.
pub fn definition(command: &str) -> String {
    command.replace(' ', "-")
}

/// The schema.
pub fn json_schema() -> String {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let answers = ANSWERS.map(|(command, schema)| (definition(command), schema(&mut generator)));
    let all: Vec<Value> = answers
        .iter()
        .map(|(name, _)| serde_json::json!({"$ref": format!("#/$defs/{name}")}))
        .collect();
    let mut definitions: Map<String, Value> = answers
        .into_iter()
        .map(|(name, schema)| (name, schema.into()))
        .collect();
    definitions.extend(generator.take_definitions(true));
    let schema = json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "windrow answers",
        "description": "What `windrow COMMAND --output json` prints on standard output. `$defs` has a definition for each command, \
                        named by its words with `-` between them, and `error` for failures (exit code 2; \
                        `fleet` answers its own document then, too).",
        "anyOf": all,
        "$defs": definitions,
    });
    // A schema is JSON and nothing in it can fail to be printed.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
