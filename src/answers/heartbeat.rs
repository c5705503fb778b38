//! What is known of replicas.

use schemars::JsonSchema;
use serde::Serialize;

/// What `heartbeat` knows at its end.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Heartbeat {
    /// Name of the spec.
    pub spec: String,
    /// Name of the control schema.
    pub control: String,
    /// The replicas, by name.
    pub replicas: Vec<Replica>,
}

/// A replica, as it was last seen.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Replica {
    /// Host and port, or the socket, by which it is reached.
    pub replica: String,
    /// The instant up to which it has replicated, by the clock of the primary; null: no beat has arrived yet.
    #[schemars(extend("format" = "date-time"))]
    pub replicated_until: Option<String>,
    /// What its replica status said, or why it could not be looked at.
    pub state: String,
    /// When somebody looked, also in vain.
    #[schemars(extend("format" = "date-time"))]
    pub looked_at: String,
}
