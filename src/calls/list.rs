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

impl List {
    /// What it is a list of.
    pub fn title(self) -> &'static str {
        match self {
            List::Policy => "policies",
            List::Hold => "holds",
            List::Setting => "settings",
            List::SettingLog => "changes of settings",
            List::Window => "windows",
            List::Artifact => "artifacts",
        }
    }
}
