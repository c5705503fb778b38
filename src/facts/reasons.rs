//! Why families stay: a closed list. What the ledgers take (`templates/kernel/parts/reasons.sql`) and the table in `README.md`
//! come from here.

/// Why a family stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// As documents and the ledger have it.
    pub name: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// The same at length; nothing: no family stays for it, it is told of keys that somebody has named.
    pub explained: Option<&'static str>,
}

const fn reason(name: &'static str, meaning: &'static str, explained: &'static str) -> Reason {
    Reason {
        name,
        meaning,
        explained: Some(explained),
    }
}

/// Every reason.
pub const REASONS: [Reason; 10] = [
    reason("HELD", "a hold keeps it", "a member is on hold"),
    reason(
        "NON_FINAL_MEMBER",
        "a member has not ended",
        "a member has not ended; NULL states count as not ended",
    ),
    reason(
        "UNDATED_MEMBER",
        "it has no time to count from: no end time, or no removal time",
        "a member is final but has no end time, nor what stands in for it (`end_time = \"end_date else updated_at\"`); or, where rows of another table say when it ended (`end_time = \"max(step.completed_at)\"`), one of these is not over, or there are none. In a rule by removal time: it has no removal time; by age or expiry: the row has no time",
    ),
    reason(
        "RETENTION_NOT_REACHED",
        "a member ended too recently",
        "a member ended too recently; or it became one of the newest roots of its group (`keep`) during the run",
    ),
    reason(
        "SHARED_MEMBER",
        "shares a member with a family that stays",
        "linked to something that stays (`shared = \"closed\"`)",
    ),
    reason(
        "LOCKED",
        "another session had it locked; the next run tries again",
        "another session holds a member",
    ),
    reason(
        "POLICY_DISABLED",
        "no enabled policy and no definition says how long",
        "its policy went away during the run",
    ),
    reason(
        "FAILED",
        "deleting it raised an error",
        "its deletion raised an error, which is in the ledger",
    ),
    reason(
        "REFERENCED",
        "a row that stays refers to it",
        "a row of another table keeps a member (an edge with `restrict`, or a row that is not `final`), or, in a rule by removal time, a row that stays names one of the family's rows, or one of the family's rows belongs to something else as well that no rule takes",
    ),
    Reason {
        name: "NOT_A_ROOT",
        meaning: "no family has this root",
        explained: None,
    },
];

/// What a reason means; nothing where it is not known.
pub fn meaning(name: &str) -> &'static str {
    REASONS
        .iter()
        .find(|reason| reason.name == name)
        .map_or("", |reason| reason.meaning)
}
