//! What `fleet` answers.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What a command did on the databases of an inventory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fleet {
    /// The command that was called on each.
    pub command: &'static str,
    /// The inventory file.
    pub inventory: String,
    /// How many databases ended clean, in this call or in the one that it continues.
    pub clean: usize,
    /// On how many something was found, or a run only waited.
    pub found: usize,
    /// On how many the command could not be done.
    pub failed: usize,
    /// How many were not begun.
    pub not_started: usize,
    /// Every database, in the order of the inventory.
    pub databases: Vec<FleetDatabase>,
}

/// What a command did on one database.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FleetDatabase {
    /// The server's name, with `/database` where the inventory lists databases; of `generate`, the spec.
    pub name: String,
    /// The groups of the server.
    pub groups: Vec<String>,
    /// The spec file.
    pub spec: String,
    /// How it ended.
    pub outcome: FleetOutcome,
    /// Exit code of the command; null where it was not begun, or ended by a signal.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub seconds: f64,
    /// What it comes to, in a line.
    pub says: String,
    /// The document that the command answered, of its own schema; null where there is none.
    pub answer: Option<Value>,
}

/// How a command ended on one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetOutcome {
    /// Done, and nothing was found.
    Clean,
    /// Done, and something was found.
    Found,
    /// A run that only waited until it ended, for what `says` names.
    Waited,
    /// It could not be done.
    Failed,
    /// It took longer than `--timeout`, and was ended.
    TimedOut,
    /// It was ended by an interrupt.
    Interrupted,
    /// It was not begun, because of an interrupt or of what the canaries found.
    NotStarted,
    /// The call that this one continues has done it.
    DoneBefore,
}

impl FleetDatabase {
    /// Whether it was done, now or before, and nothing was found.
    pub fn is_clean(&self) -> bool {
        matches!(self.outcome, FleetOutcome::Clean | FleetOutcome::DoneBefore)
    }

    /// Whether it was done, and something was found, or it only waited.
    pub fn is_found(&self) -> bool {
        matches!(self.outcome, FleetOutcome::Found | FleetOutcome::Waited)
    }

    /// Whether it was begun, and could not be done.
    pub fn is_failed(&self) -> bool {
        matches!(
            self.outcome,
            FleetOutcome::Failed | FleetOutcome::TimedOut | FleetOutcome::Interrupted
        )
    }
}
