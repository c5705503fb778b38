//! What of an installation can be listed.

/// The tables of the control schema that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Policies.
    Policy,
    /// Holds.
    Hold,
    /// Settings: every limit, overridden or not.
    Setting,
    /// Every change of a setting.
    SettingLog,
    /// When scheduled runs may work.
    Window,
    /// Files that wait to be removed.
    Artifact,
}
