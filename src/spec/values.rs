//! Fields that may be written in more than one form.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::text::Text;

/// What a column of a condition must contain: one value, several of one kind, or any value at all.
#[derive(Clone, Debug)]
pub enum Values {
    /// `{ null = true }`: the column is NULL; `{ null = false }`: it is not.
    Null(bool),
    /// A truth value.
    Truth(bool),
    /// `{ text = "…" }`: the text that the server prints of it is this, or one of these.
    Printed(Vec<Text>),
    /// A single value.
    One(Scalar),
    /// An array.
    Many(Vec<Spanned<Scalar>>),
}

/// One string or several.
#[derive(Clone, Debug)]
pub enum Names {
    /// A single string.
    One(String),
    /// An array.
    Many(Vec<Text>),
}

/// Which tables of a rule have an archive.
#[derive(Clone, Debug)]
pub enum Archive {
    /// All of them, or none.
    All(bool),
    /// These.
    Tables(Vec<Text>),
}

/// A value of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// A string.
    Text(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct ScalarVisitor;
        impl Visitor<'_> for ScalarVisitor {
            type Value = Scalar;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number or a text")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(value))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}

// Not an untagged enum: that would lose the places of the array's values and say nothing about what is wrong.
impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        struct ValuesVisitor;
        impl<'de> Visitor<'de> for ValuesVisitor {
            type Value = Values;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a whole number, a text, an array of one of these, `true`, `false`, `{ null = true }`, or `{ text = \"…\" }`",
                )
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Values, A::Error> {
                #[derive(Deserialize)]
                #[serde(
                    deny_unknown_fields,
                    expecting = "`{ null = true }`, `{ null = false }`, or `{ text = \"…\" }`"
                )]
                struct Form {
                    null: Option<bool>,
                    text: Option<Spanned<Names>>,
                }
                let form = Form::deserialize(MapAccessDeserializer::new(map))?;
                match (form.null, form.text) {
                    (Some(is), None) => Ok(Values::Null(is)),
                    (None, Some(texts)) => Ok(Values::Printed(each(&texts))),
                    _ => Err(A::Error::custom(
                        "expected either `{ null = … }` or `{ text = … }`",
                    )),
                }
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Values, E> {
                Ok(Values::Truth(value))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Values, E> {
                Ok(Values::One(Scalar::Integer(value)))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Values, E> {
                Ok(Values::One(Scalar::Text(value.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Values, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = sequence.next_element()? {
                    values.push(value);
                }
                Ok(Values::Many(values))
            }
        }
        deserializer.deserialize_any(ValuesVisitor)
    }
}

/// The strings of a field, each with its place.
pub fn each(names: &Spanned<Names>) -> Vec<Text> {
    match names.get_ref() {
        Names::One(name) => vec![Spanned::new(names.span(), name.clone())],
        Names::Many(names) => names.clone(),
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string, or an array of strings")
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Names, E> {
                Ok(Names::One(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = sequence.next_element()? {
                    names.push(name);
                }
                Ok(Names::Many(names))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

impl<'de> Deserialize<'de> for Archive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Archive, D::Error> {
        struct ArchiveVisitor;
        impl<'de> Visitor<'de> for ArchiveVisitor {
            type Value = Archive;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`true`, or an array of table names")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Archive, E> {
                Ok(Archive::All(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Archive, A::Error> {
                let mut tables = Vec::new();
                while let Some(table) = sequence.next_element()? {
                    tables.push(table);
                }
                Ok(Archive::Tables(tables))
            }
        }
        deserializer.deserialize_any(ArchiveVisitor)
    }
}

impl JsonSchema for Archive {
    fn schema_name() -> Cow<'static, str> {
        "Archive".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which tables of a rule are archived: all, none, or these.",
            "anyOf": [
                { "type": "boolean" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            ],
        })
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One string or several.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            ],
        })
    }
}

impl JsonSchema for Values {
    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One value, several of one kind, a truth value, whether the column is NULL (`{ null = true }`), or what the server prints of it (`{ text = \"…\" }`, for columns of any type).",
            "anyOf": [
                { "type": "boolean" },
                { "type": "integer" },
                { "type": "string" },
                { "type": "array", "items": { "type": "integer" }, "minItems": 1, "uniqueItems": true },
                { "type": "object", "properties": { "null": { "type": "boolean" } }, "required": ["null"], "additionalProperties": false },
                { "type": "object", "properties": { "text": generator.subschema_for::<Names>() }, "required": ["text"], "additionalProperties": false },
                { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            ],
        })
    }
}
