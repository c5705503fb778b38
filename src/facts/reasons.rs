//! Why families stay: a closed list.

/// Why a family stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// As documents and the ledger have it.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

const fn reason(name: &'static str, meaning: &'static str) -> Reason {
    Reason { name, meaning }
}

/// Every reason. The last is told of keys that somebody has named, and of no family.
pub const REASONS: [Reason; 10] = [
    reason("NON_FINAL_MEMBER", "a member has not ended"),
    reason("RETENTION_NOT_REACHED", "a member ended too recently"),
    reason("UNDATED_MEMBER", "a member is final but has no end time"),
    reason("HELD", "a hold keeps it"),
    reason("SHARED_MEMBER", "shares a member with a family that stays"),
    reason("REFERENCED", "a row that stays refers to it"),
    reason(
        "LOCKED",
        "another session had it locked; the next run tries again",
    ),
    reason("FAILED", "deleting it raised an error"),
    reason(
        "POLICY_DISABLED",
        "no enabled policy and no definition says how long",
    ),
    reason("NOT_A_ROOT", "no family has this root"),
];

/// What a reason means; nothing where it is not known.
pub fn meaning(name: &str) -> &'static str {
    REASONS
        .iter()
        .find(|reason| reason.name == name)
        .map_or("", |reason| reason.meaning)
}
