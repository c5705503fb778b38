//! Arguments of `heartbeat`.

use clap::{ArgGroup, Args};

use super::common::WithOutput;
use crate::db::url::RawUrl;

/// Arguments of `heartbeat`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(true).args(["replica", "forget"]))]
pub struct Heartbeat {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Address of a replica; may be repeated. MYSQL_PWD and --password-file also serve for addresses without a password
    #[arg(long, value_name = "URL")]
    pub replica: Vec<RawUrl>,

    /// Time between two beats, from 100ms to 1h
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    pub every: String,

    /// Look once, after the beat had this time to arrive, and end: for cron
    #[arg(long, requires = "replica")]
    pub once: bool,

    /// Forget a replica, by the name in the list of replicas: runs no longer wait for it; may be repeated
    #[arg(long, value_name = "NAME")]
    pub forget: Vec<String>,
}
