//! Why families are kept: a closed list. What the ledgers take (`templates/kernel/parts/reasons.sql`) and the table in
//! `docs/reference/reasons.md` come from here.

/// Why a family is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// As documents and the ledger have it.
    pub name: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// The same in full; nothing: no family is kept for it, it is reported for named keys.
    pub explained: Option<&'static str>,
    /// What to do about it.
    pub remedy: &'static str,
}

const fn reason(name: &'static str, meaning: &'static str, explained: &'static str) -> Reason {
    Reason {
        name,
        meaning,
        explained: Some(explained),
        remedy: "",
    }
}

impl Reason {
    const fn or(self, remedy: &'static str) -> Reason {
        Reason { remedy, ..self }
    }
}

/// The reason of what has no time to count from: that is not due itself.
pub const UNDATED: &str = "UNDATED_MEMBER";

/// How many of these a run or a preview lists of a rule: if it counts so many, there may be more.
pub const UNDATED_COUNTED: i64 = 100_000;

/// Every reason.
pub const REASONS: [Reason; 11] = [
    reason("HELD", "a hold keeps it", "a member is on hold").or(
        "Nothing, until the hold ends: `windrow hold list` shows who placed it and why, `windrow hold release` releases the family.",
    ),
    reason(
        "NON_FINAL_MEMBER",
        "a member has not ended",
        "a row of the family is still running (a NULL state counts as running); in a rule of partitions: a row of the partition, by `final`",
    ).or(
        "Nothing, if the application will end it. An abandoned row never ends: correct its state in the application, or \
         check whether `final` in the spec lacks a state.",
    ),
    reason(
        UNDATED,
        "it has no time to count from: no end time, or no removal time",
        "a member is final but has neither an end time nor a fallback for it (`end_time = \"end_date else updated_at\"`); \
         or, if rows of another table determine the end (`end_time = \"max(step.completed_at)\"`), one of these has not \
         ended, or there are none. In a rule by removal time: it has no removal time; by age or expiry: the row has no time; of a purge by expiry also one that says that the row never expires, where the rule has a `fallback`. Counted up to 100,000: then there are at least so many",
    ).or(
        "Find out why the row has no time; set it, or name a fallback column (`else`). By removal time: `windrow stamp \
         --calculated --missing`. Of a purge: a row that never expires goes with `--force`.",
    ),
    reason(
        "RETENTION_NOT_REACHED",
        "a member ended too recently",
        "a member ended too recently; or it became one of the newest roots of its group (`keep`) during the run; in a \
         rule of partitions: a row ended too recently (`end_time`), or a partition is over, but one that goes with it is not",
    ).or(
        "Nothing: it becomes due by itself.",
    ),
    reason(
        "SHARED_MEMBER",
        "shares a member with a family that is kept",
        "linked to something that is kept (`shared = \"closed\"`)",
    ).or(
        "Nothing: it is deleted together with the family that keeps it. Look for that family's reason.",
    ),
    reason(
        "LOCKED",
        "another session had it locked; the next run tries again",
        "another session has locked a member",
    ).or(
        "Nothing. If it recurs with every run, a session keeps its rows locked for a long time: look for old transactions.",
    ),
    reason(
        "POLICY_DISABLED",
        "no enabled policy and no definition gives a retention",
        "its policy was removed or disabled during the run; of a stamp: its definition has no time to live",
    ).or(
        "`windrow policy set`, with `--enable` where it is disabled, if the scope is to be cleaned; for a stamp `windrow stamp --calculated --default`.",
    ),
    reason(
        "FAILED",
        "deleting it raised an error",
        "its deletion raised an error, which is in the ledger",
    ).or(
        "Read table `run_failure`, or `failures` of the run: each has the server's error. The usual cause is a reference to \
         the family that is not in the spec.",
    ),
    reason(
        "REFERENCED",
        "a row that is kept refers to it",
        "a row of another table keeps a member (an edge with `restrict`, or a row that is not `final`), or, in a rule by \
         removal time, a row that is kept refers to one of the family's rows, or one of the family's rows also belongs to \
         something that no rule deletes; in a rule of partitions: a row of a table under `references` refers to one of its rows",
    ).or(
        "Nothing, if that row is meant to keep it. Otherwise end or remove that row in the application, or change its edge in the spec.",
    ),
    reason(
        "NOT_DROPPABLE",
        "it is no partition that can be dropped",
        "in a rule of partitions: rows that are due are in the default partition, or in one without an end (MAXVALUE), or a partition \
         that is due is itself partitioned, or being detached",
    ).or(
        "Make the partitions that the rows of the default one belong to, and move the rows; or delete them by hand.",
    ),
    Reason {
        name: "NOT_A_ROOT",
        meaning: "no family has this root",
        explained: None,
        remedy: "Check the key: `purge` and `stamp` need the key of a root.",
    },
];

/// What a reason means; nothing where it is not known.
pub fn meaning(name: &str) -> &'static str {
    REASONS
        .iter()
        .find(|reason| reason.name == name)
        .map_or("", |reason| reason.meaning)
}
