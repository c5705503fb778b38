//! The limits of a rule, as the facts have them: a field for each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::duration::{self, PATTERN};
use super::text::Text;
use crate::facts::{self, Limit, SETTINGS, Setting};

/// How much a run deletes at once, and how fast: each limit by its name.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Those that are numbers.
    pub counts: BTreeMap<&'static str, Spanned<i64>>,
    /// Those that are durations.
    pub spans: BTreeMap<&'static str, Text>,
    /// Raw SQL: a query of one value; a batch waits while it is true, or a number above 0.
    pub wait_while_sql: Option<Text>,
}

const QUERY: &str = "wait_while_sql";

/// The names of the fields.
static FIELDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let limits = SETTINGS.iter().filter(|setting| setting.limit.is_some());
    limits.map(|setting| setting.name).chain([QUERY]).collect()
});

/// A field of the table.
enum Field {
    Limit(&'static Setting),
    Query,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == QUERY {
            return Ok(Field::Query);
        }
        let limit = facts::limit(&name);
        limit
            .map(Field::Limit)
            .ok_or_else(|| D::Error::unknown_field(&name, &FIELDS))
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        struct LimitsVisitor;
        impl<'de> Visitor<'de> for LimitsVisitor {
            type Value = Limits;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a table like `{ batch_families = 200 }`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Limits, A::Error> {
                let mut limits = Limits::default();
                while let Some(field) = map.next_key()? {
                    match field {
                        Field::Query => limits.wait_while_sql = Some(map.next_value()?),
                        Field::Limit(setting) => match setting.limit {
                            Some(Limit::Span { .. }) => {
                                limits.spans.insert(setting.name, map.next_value()?);
                            }
                            _ => {
                                limits.counts.insert(setting.name, map.next_value()?);
                            }
                        },
                    }
                }
                Ok(limits)
            }
        }
        deserializer.deserialize_struct("Limits", &FIELDS, LimitsVisitor)
    }
}

impl JsonSchema for Limits {
    fn schema_name() -> Cow<'static, str> {
        "Limits".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties: Map<String, Value> = SETTINGS
            .iter()
            .filter_map(|setting| Some((setting.name.to_owned(), schema(setting, setting.limit?))))
            .collect();
        properties.insert(
            QUERY.to_owned(),
            json!({
                "description": "Raw SQL: a query of one value; while it is true, or a number above 0, a batch waits. It runs with the rights of the\nowner role, and names tables with their schema.",
                "type": "string",
                "examples": ["SELECT EXISTS (SELECT 1 FROM ops.maintenance WHERE active)"],
            }),
        );
        let schema = json!({
            "description": "How much a run deletes at once, and how fast.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        Schema::try_from(schema).unwrap_or_default()
    }
}

/// The schema of one limit.
fn schema(setting: &Setting, limit: Limit) -> Value {
    let (mut schema, shown): (_, fn(&Setting, i64) -> Value) = match limit {
        Limit::Count { least, greatest } => (
            json!({"type": "integer", "format": "int64", "minimum": least, "maximum": greatest}),
            |_, value| value.into(),
        ),
        Limit::Span { .. } => (
            json!({"type": "string", "pattern": PATTERN}),
            |setting, value| duration::show(value * setting.milliseconds()).into(),
        ),
    };
    let otherwise = setting
        .depends
        .map_or(String::new(), |depends| format!(". Left out: {depends}"));
    schema["description"] = format!("{}{otherwise}.", sentence(setting.meaning)).into();
    if setting.default > 0 {
        schema["default"] = shown(setting, setting.default);
    }
    if let Some(example) = setting.example {
        schema["examples"] = json!([shown(setting, example)]);
    }
    schema
}

/// A meaning with a capital letter.
fn sentence(meaning: &str) -> String {
    let mut letters = meaning.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
