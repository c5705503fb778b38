//! What a command did to an installation or to files, reported by the command itself.

use schemars::JsonSchema;
use serde::Serialize;

use crate::adapt::Change;
use crate::fit::Finding;

/// What `arm` did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Armed {
    /// Name of the spec.
    pub spec: String,
    /// Name of the control schema.
    pub control: String,
    /// True: from now on, runs delete.
    pub armed: bool,
    /// When that ends: at the `restart` of the server; null: never.
    pub until: Option<String>,
    /// The cluster of which each server is armed; null: this server alone.
    pub cluster: Option<String>,
    /// What will keep runs from starting once the server has restarted: no replica of a list of servers is seen; null: nothing.
    pub notice: Option<String>,
}

/// What `pause` and `resume` did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Paused {
    /// Name of the spec.
    pub spec: String,
    /// Name of the control schema.
    pub control: String,
    /// Whether no run starts, or whether runs skip the rule.
    pub paused: bool,
    /// The rule; null: all runs.
    pub rule: Option<String>,
    /// Why, if a reason was given.
    pub reason: Option<String>,
}

/// What was made or dropped, and how long it took.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Deed {
    /// What was done, e.g. `create table windrow_x.run`.
    pub done: String,
    /// How long it took; for an index with many parts, all of them so far.
    pub seconds: f64,
}

/// What `install` did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Installed {
    /// Name of the spec.
    pub spec: String,
    /// Name of the control schema.
    pub control: String,
    /// The kind of server, in words.
    pub server: &'static str,
    /// Parts of the spec that are left out because they are optional and absent.
    pub left_out: Vec<Change>,
    /// What the check found.
    pub findings: Vec<Finding>,
    /// Whether errors among the findings were overruled (`--force`).
    pub forced: bool,
    /// The files that were applied, in order.
    pub files: Vec<AppliedFile>,
    /// What an earlier spec or version had left and was dropped.
    pub dropped: Vec<Deed>,
    /// Other installations that delete from the same tables.
    pub overlaps: Vec<Overlap>,
    /// Whether runs may delete on this server; null if this account cannot see it.
    pub armed: Option<bool>,
    /// Why not; null if they may, or if this account cannot see it.
    pub not_armed: Option<String>,
}

/// A file that was applied.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AppliedFile {
    /// Its name.
    pub file: String,
    /// How long it took.
    pub seconds: f64,
    /// The objects that it created. Settings, comments and grants are left out.
    pub objects: Vec<Deed>,
}

/// Another installation that deletes from the same tables.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Overlap {
    /// Its owner role.
    pub owner: String,
    /// The tables.
    pub tables: Vec<String>,
}

impl Overlap {
    /// What it means, for people.
    pub fn text(&self) -> String {
        let tables = self.tables.iter().map(|table| format!("`{table}`"));
        format!(
            "the installation of `{}` also deletes from {}: a hold that is placed here does not bind it, nor does a hold \
             there bind this one",
            self.owner,
            tables.collect::<Vec<_>>().join(", ")
        )
    }
}

/// What `uninstall` dropped, or would drop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Uninstalled {
    /// Name of the spec.
    pub spec: String,
    /// Name of the control schema.
    pub control: String,
    /// Whether it was installed, as far as this account may see it.
    pub installed: bool,
    /// Whether it was dropped; otherwise it would be with `--yes`.
    pub dropped: bool,
    /// What, in order; where it was not installed, what may be left of it.
    pub objects: Vec<DroppedObject>,
    /// Indexes that are kept because another installation needs them, or may need them: it could not be asked.
    pub kept_indexes: Vec<KeptIndex>,
    /// Archive tables that have rows, or had.
    pub archives: Vec<String>,
}

/// An object that was dropped, or would be.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DroppedObject {
    /// What is done, e.g. `drop table windrow_x.run`.
    pub drop: String,
    /// How long it took; null if nothing was done yet.
    pub seconds: Option<f64>,
}

/// An index that is kept.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeptIndex {
    /// Its name.
    pub index: String,
    /// The control schema of the installation that needs it or may need it.
    pub needed_by: String,
}

/// What `archive export` wrote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Exported {
    /// The run; null: all of them.
    pub run: Option<u64>,
    /// Table by table.
    pub tables: Vec<ExportedTable>,
}

/// The archive of a table as a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExportedTable {
    /// The archive table.
    pub table: String,
    /// The file.
    pub file: String,
    /// Rows in it.
    pub rows: i64,
    /// How long it took.
    pub seconds: f64,
}

/// What `artifacts drain` did.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Drained {
    /// Files that were removed.
    pub removed: i64,
    /// Files that could not be removed.
    pub failed: i64,
    /// File by file.
    pub files: Vec<DrainedFile>,
}

/// A file that was to be removed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DrainedFile {
    /// Its number.
    pub artifact_id: i64,
    /// The host, if the row has one.
    pub host: Option<String>,
    /// The path.
    pub path: String,
    /// Whether it was removed.
    pub removed: bool,
    /// Why not.
    pub error: Option<String>,
}

/// What `demo` did.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Demonstrated {
    /// Whether its server runs now.
    pub running: bool,
    /// The system; null if the demo was ended.
    pub system: Option<&'static str>,
    /// The address of the server.
    pub url: Option<String>,
    /// The demo's commands, in order.
    pub steps: Vec<DemoStep>,
    /// How long all of it took.
    pub seconds: f64,
}

/// A command of the demo.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DemoStep {
    /// As a user would type it.
    pub command: String,
    /// Whether it has findings.
    pub found: bool,
    /// How long it took.
    pub seconds: f64,
}
