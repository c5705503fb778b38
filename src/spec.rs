//! The spec as written: what TOML says, with the place of everything that a diagnostic may point at.
//!
//! Nothing is resolved here. A field that every spec needs is an `Option` nevertheless, so that a spec without it
//! is still read and everything else that is wrong with it is found too.

pub mod duration;
mod edge;
mod file;
pub mod grammar;
mod keep;
mod limits;
mod parse;
mod rule;
mod stamp;
mod text;
mod values;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;

use crate::diagnostic::Diagnostic;

pub use edge::{Edge, OnDelete, Parent, edge};
pub use file::{Spec, Table, With};
pub use keep::{Keep, Keeps, each_keep};
pub use limits::Limits;
pub use rule::{Artifact, Days, Fallback, Report, Retention, Rows, Rule, Shared, Strategy, Unit};
pub use stamp::{Stamp, StampOf};
pub use text::{Text, in_file_order};
pub use values::{Archive, Names, Scalar, Values, each};

/// Reads a spec. No spec means that the text is not TOML; a spec with errors lacks what they are about.
pub fn parse(text: &str) -> (Option<Spec>, Vec<Diagnostic>) {
    parse::spec(text)
}

/// The shipped specs.
#[cfg(test)]
pub(crate) const SHIPPED: [&str; 9] = [
    include_str!("../specs/airflow-3.toml"),
    include_str!("../specs/camunda7.toml"),
    include_str!("../specs/camunda7-cases.toml"),
    include_str!("../specs/camunda7-end-time.toml"),
    include_str!("../specs/dolphinscheduler.toml"),
    include_str!("../specs/dolphinscheduler-3.2.toml"),
    include_str!("../specs/mlflow-3.toml"),
    include_str!("../specs/prefect-3.toml"),
    include_str!("../specs/yworkflow.toml"),
];

/// The JSON Schema of a spec, for editors.
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(forget_null));
    let schema = settings.into_generator().into_root_schema_for::<Spec>();
    // A schema is JSON and nothing in it can fail to be printed.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// TOML has no null, so it is nobody's default.
fn forget_null(schema: &mut Schema) {
    if schema
        .get("default")
        .is_some_and(|default| default.is_null())
    {
        schema.remove("default");
    }
}
