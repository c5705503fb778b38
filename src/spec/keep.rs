//! `keep`: rows that are kept as the newest of their group, in one way or in several.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use super::text::Text;
use super::values::{Names, Values};

/// The newest rows of each group. In rules that delete families, the newest roots are kept with their families. A row in
/// which one of the columns is NULL has no position in a group, and is not among the newest.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ newest = 1, per = \"dag_id varchar\", by = \"run_after timestamptz\" }`"
)]
#[schemars(extend("required" = ["newest", "per", "by"]))]
pub struct Keep {
    /// How many of each group to keep.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000))]
    pub newest: Option<Spanned<i64>>,
    /// Columns that define the groups: `column [type]`, default bigint.
    #[serde(default)]
    #[schemars(with = "Names", example = &["dag_id varchar", "map_index integer"])]
    pub per: Option<Spanned<Names>>,
    /// Columns that order a group, the newest last: `column [type]`, default timestamp. The key decides between equals.
    #[serde(default)]
    #[schemars(with = "Names", example = &"try_number integer")]
    pub by: Option<Spanned<Names>>,
    /// Which roots count, and are kept: `column = value(s)`. Default: every candidate, final or not.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub of: BTreeMap<Text, Spanned<Values>>,
    /// For families: whether some versions of the application lack one of these columns. If a database does, every row
    /// counts as NULL there, and `windrow init --from` and `windrow install` leave out what then keeps nothing.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub optional: Option<Spanned<bool>>,
}

/// What is kept of each group, in one way or in several.
#[derive(Clone, Debug)]
pub enum Keeps {
    /// A single table.
    One(Box<Keep>),
    /// An array.
    Many(Vec<Spanned<Keep>>),
}

/// The ways in which rows of a rule are kept, each with its place.
pub fn each_keep(keeps: &Spanned<Keeps>) -> Vec<Spanned<&Keep>> {
    match keeps.get_ref() {
        Keeps::One(keep) => vec![Spanned::new(keeps.span(), &**keep)],
        Keeps::Many(keeps) => keeps
            .iter()
            .map(|keep| Spanned::new(keep.span(), keep.get_ref()))
            .collect(),
    }
}

impl<'de> Deserialize<'de> for Keeps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Keeps, D::Error> {
        struct KeepsVisitor;
        impl<'de> Visitor<'de> for KeepsVisitor {
            type Value = Keeps;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a table like `{ newest = 1, per = \"dag_id varchar\", by = \"run_after timestamptz\" }`, or an array of these",
                )
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Keeps, A::Error> {
                let keep = Keep::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Keeps::One(Box::new(keep)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Keeps, A::Error> {
                let mut keeps = Vec::new();
                while let Some(keep) = sequence.next_element()? {
                    keeps.push(keep);
                }
                Ok(Keeps::Many(keeps))
            }
        }
        deserializer.deserialize_any(KeepsVisitor)
    }
}

impl JsonSchema for Keeps {
    fn schema_name() -> Cow<'static, str> {
        "Keeps".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keep = generator.subschema_for::<Keep>();
        json_schema!({
            "description": "What is kept of each group, in one way or in several.",
            "anyOf": [
                keep,
                { "type": "array", "items": keep, "minItems": 1 },
            ],
        })
    }
}
