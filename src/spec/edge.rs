//! `parents`: what a row names, as a text of the small language or as a table of its parts.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;

use super::grammar::{self, ActionText, ColumnText, EdgeText, NoneText};
use super::text::Text;
use super::values::{Names, Scalar, each};
use crate::diagnostic::{Diagnostic, Span};

/// What a row refers to, in one of two forms.
#[derive(Clone, Debug)]
pub enum Parent {
    /// A string: `column -> table.column`.
    Text(String),
    /// A table: `{ column = "…", parent = "…" }`.
    Table(Box<Edge>),
}

/// The parts of an edge, for editors that complete them. It means the same as a string.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ column = \"run_id\", parent = \"run\" }`"
)]
#[schemars(extend("required" = ["column", "parent"]))]
pub struct Edge {
    /// The column that refers to the other row, or several.
    #[serde(default)]
    #[schemars(with = "Names", example = &"run_id", example = ["dag_id", "run_id"])]
    pub column: Option<Spanned<Names>>,
    /// Its type, if it differs from that of the other table's column; for several, each.
    #[serde(default)]
    #[schemars(schema_with = "kinds", example = &"bigint")]
    pub r#type: Option<Spanned<Names>>,
    /// The other table.
    #[serde(default)]
    #[schemars(with = "String", example = &"run")]
    pub parent: Option<Text>,
    /// The referenced column of that table, or as many columns, which are a unique key; default: its key. Several columns, and `alone`,
    /// need it.
    #[serde(default)]
    #[schemars(with = "Names", example = &"id", example = ["dag_id", "run_id"])]
    pub key: Option<Spanned<Names>>,
    /// A value of the column that means no parent.
    #[serde(default)]
    #[schemars(schema_with = "none", example = 0)]
    pub unless: Option<Spanned<Scalar>>,
    /// What happens to the row when the other one is deleted; default: it is also deleted.
    #[serde(default)]
    #[schemars(with = "OnDelete")]
    pub on_delete: Option<Spanned<OnDelete>>,
    /// Whether the other row refers to this one, by any of its columns; a row that none refers to is no orphan.
    #[serde(default)]
    #[schemars(with = "bool", default)]
    pub alone: Option<Spanned<bool>>,
    /// Whether the edge is left out if a database lacks its column, like `optional` of a table.
    #[serde(default)]
    #[schemars(with = "bool", default)]
    pub optional: Option<Spanned<bool>>,
}

/// What happens to a row when the row that it refers to is deleted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum OnDelete {
    /// It does not belong to that row but keeps it, and its whole family, as long as it exists.
    #[serde(rename = "restrict")]
    Restrict,
    /// It is kept, and the column is first set to NULL.
    #[serde(rename = "set null")]
    SetNull,
    /// It is also deleted: on PostgreSQL by its foreign key, if that deletes it, and it is counted.
    #[serde(rename = "cascade")]
    Cascade,
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    let kind = json_schema!({
        "type": "string",
        "enum": ["smallint", "integer", "bigint", "numeric", "uuid", "varchar", "char", "bytea", "binary"]
    });
    json_schema!({ "anyOf": [kind, { "type": "array", "items": kind, "minItems": 1 }] })
}

fn none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] })
}

/// Reads an edge, however it is written.
pub fn edge(text: &str, written: &Spanned<Parent>) -> Result<EdgeText, Box<Diagnostic>> {
    match written.get_ref() {
        Parent::Text(edge) => grammar::edge(text, &Spanned::new(written.span(), edge.clone())),
        Parent::Table(edge) => edge.read(&written.span()),
    }
}

impl Edge {
    fn read(&self, whole: &Span) -> Result<EdgeText, Box<Diagnostic>> {
        let missing = |field: &str| {
            Box::new(Diagnostic::error(
                "missing-field",
                whole.clone(),
                format!("the edge has no `{field}`"),
                format!("add `{field} = …`"),
            ))
        };
        let columns = self.column.as_ref().ok_or_else(|| missing("column"))?;
        let table = self.parent.clone().ok_or_else(|| missing("parent"))?;
        let count = each(columns).len();
        let alone = self.alone.as_ref().is_some_and(|alone| *alone.get_ref());
        let named = match &self.key {
            Some(key) => as_many(columns, "key", key)?,
            // The key of that table, which is not known here.
            None if count == 1 && !alone => Vec::new(),
            None => return Err(missing("key")),
        };
        let kinds = match &self.r#type {
            Some(kinds) => as_many(columns, "type", kinds)?
                .into_iter()
                .map(Some)
                .collect(),
            None => vec![None; count],
        };
        let names = each(columns).into_iter().zip(kinds);
        let edge = EdgeText {
            columns: names
                .map(|(name, kind)| ColumnText { name, kind })
                .collect(),
            table,
            parent_columns: named,
            none: self.unless.as_ref().map(|value| {
                let none = match value.get_ref() {
                    Scalar::Integer(number) => NoneText::Integer(*number),
                    Scalar::Text(text) => NoneText::Text(text.clone()),
                };
                Spanned::new(value.span(), none)
            }),
            action: match self.on_delete.as_ref().map(|action| *action.get_ref()) {
                None => ActionText::Delete,
                Some(OnDelete::Restrict) => ActionText::Restrict,
                Some(OnDelete::SetNull) => ActionText::SetNull,
                Some(OnDelete::Cascade) => ActionText::Cascade,
            },
            alone,
            optional: self.optional.as_ref().is_some_and(|it| *it.get_ref()),
        };
        match self.at_odds(&edge) {
            Some(finding) => Err(Box::new(finding)),
            None => Ok(edge),
        }
    }

    /// Two fields that exclude each other: the string form has no place for both.
    fn at_odds(&self, edge: &EdgeText) -> Option<Diagnostic> {
        let [unless, alone, action] = [
            self.unless.as_ref().map(Spanned::span),
            self.alone
                .as_ref()
                .filter(|_| edge.alone)
                .map(Spanned::span),
            self.on_delete.as_ref().map(Spanned::span),
        ];
        let several = self.column.as_ref().map(Spanned::span);
        let several = several.filter(|_| edge.columns.len() > 1);
        let cascade = action
            .clone()
            .filter(|_| edge.action == ActionText::Cascade);
        let pairs = [
            (
                &unless,
                &several,
                "`unless` is for one column",
                "refer to a row by one column, or remove `unless`",
            ),
            (
                &unless,
                &cascade,
                "for a foreign key, only NULL means no parent",
                "remove `unless` or `on_delete`",
            ),
            (
                &alone,
                &several,
                "`alone` is for one column",
                "refer to the row by one column, or remove `alone`",
            ),
            (
                &alone,
                &unless,
                "a row that others refer to cannot have `unless`",
                "remove `unless` or `alone`",
            ),
            (
                &alone,
                &action,
                "a row that others refer to is deleted with them",
                "remove `on_delete` or `alone`",
            ),
        ];
        let found = pairs.into_iter().find_map(|(one, other, message, help)| {
            Some((one.clone()?, other.clone()?, message, help))
        });
        let (one, other, message, help) = found?;
        Some(Diagnostic::error("edge-at-odds", one, message, help).related(other, "this as well"))
    }
}

/// The strings of a field that must have as many as there are columns.
fn as_many(
    columns: &Spanned<Names>,
    field: &str,
    names: &Spanned<Names>,
) -> Result<Vec<Text>, Box<Diagnostic>> {
    let (count, found) = (each(columns).len(), each(names));
    if found.len() == count && count > 0 {
        return Ok(found);
    }
    let finding = Diagnostic::error(
        "edge-at-odds",
        names.span(),
        format!("`column` has {count} and `{field}` has {}", found.len()),
        format!("write as many in `{field}` as in `column`, in the same order, at least one"),
    );
    Err(Box::new(finding.related(columns.span(), "the columns")))
}

// Not an untagged enum: that would lose the places of the parts and say nothing about what is wrong.
impl<'de> Deserialize<'de> for Parent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parent, D::Error> {
        struct ParentVisitor;
        impl<'de> Visitor<'de> for ParentVisitor {
            type Value = Parent;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "strings like `run_id -> run.id`, or tables like `{ column = \"run_id\", parent = \"run\" }`",
                )
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Parent, E> {
                Ok(Parent::Text(value.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parent, A::Error> {
                let edge = Edge::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Parent::Table(Box::new(edge)))
            }
        }
        deserializer.deserialize_any(ParentVisitor)
    }
}

impl JsonSchema for Parent {
    fn schema_name() -> Cow<'static, str> {
        "Parent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let edge = generator.subschema_for::<Edge>();
        json_schema!({
            "description": "What a row refers to: a string, or a table of its parts. Both mean the same.",
            "anyOf": [
                { "type": "string", "pattern": "->.+(\\..+|\\(.+\\))" },
                edge,
            ],
        })
    }
}
