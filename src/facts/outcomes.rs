//! Why runs end or do not begin, and what `verify` checks. The words are the kernels'; the tests hold this list against them, and
//! `docs/reference/reasons.md` is made of it.

/// Something that documents and the ledger say in words, and a person looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As it is said, or how it begins where more follows; `%s` stands for a figure or a name.
    pub words: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

const fn outcome(words: &'static str, meaning: &'static str, remedy: &'static str) -> Outcome {
    Outcome {
        words,
        meaning,
        remedy,
    }
}

const NOTHING: &str = "Nothing.";

/// How a run ends: `status` of a run.
pub const STATUSES: [Outcome; 6] = [
    outcome("running", "It is under way.", NOTHING),
    outcome(
        "done",
        "It came to the end: what is due now is deleted, or stays for a reason that it noted.",
        NOTHING,
    ),
    outcome(
        "stopped",
        "It ended before, for the reason that stands beside it. What it has deleted is deleted, and the next run goes on there.",
        "Look at the reason.",
    ),
    outcome(
        "failed",
        "An error ended it, or some families could not be deleted even on their own.",
        "Read `failures` of the run, or table `run_failure`: each has the server's error. Most often something refers to the family \
         that the spec does not know: `windrow check --database` names it.",
    ),
    outcome(
        "cancelled",
        "Somebody cancelled its statement. The batch that was under way is rolled back.",
        NOTHING,
    ),
    outcome(
        "crashed",
        "Its session or its server ended. The batch that was under way is rolled back; the next run notes it.",
        "Look at the server's log if nobody has ended it.",
    ),
];

/// Why a run ended: `reason` of a run.
pub const STOPS: [Outcome; 14] = [
    outcome(
        "nothing left",
        "Nothing that is due may be deleted any more.",
        NOTHING,
    ),
    outcome(
        "run_families reached",
        "It has deleted as many families as one run may.",
        "Nothing, if the backlog shrinks (`windrow status`). Otherwise raise `run_families`, or let runs start more often; `windrow plan` \
         says what helps.",
    ),
    outcome(
        "run_rows reached",
        "It has deleted as many rows as one run may.",
        "As above, with `run_rows`.",
    ),
    outcome(
        "time budget spent",
        "It took as long as it may.",
        "As above, with `time_budget`. If it says that it waited, what it waited for took the time.",
    ),
    outcome(
        "window closed",
        "It is a scheduled run, and its window has ended.",
        "As above, with `windrow window set`.",
    ),
    outcome(
        "paused",
        "Somebody paused windrow.",
        "`windrow resume`, once the reason for the pause is gone; `windrow status` shows it.",
    ),
    outcome(
        "rule %s is %s",
        "The rule is paused, and runs pass it over; who, since when and why follow.",
        "`windrow resume SPEC --rule RULE`.",
    ),
    outcome("cancelled", "Somebody cancelled it.", NOTHING),
    outcome(
        "error %s",
        "An error that concerns no single family; the server's code and words follow.",
        "Mend what the error says. After several in a row no scheduled run starts (`suspend_after`).",
    ),
    outcome(
        "the run was ended from outside",
        "Another session closed it in the ledger: `reap()`, since its session seemed to be gone, or `arm()`.",
        "Nothing, if that was on purpose.",
    ),
    outcome(
        "begun before there were workers",
        "The installation has several workers since, and the run was begun for one.",
        "Nothing: the next one is begun as it should be.",
    ),
    outcome(
        "all named families are gone",
        "A purge has deleted all that was named.",
        NOTHING,
    ),
    outcome(
        "1 named family stays",
        "A purge has left one; all others are deleted.",
        "Its key has a reason in `refused`: look it up above.",
    ),
    outcome(
        "%s named families stay",
        "A purge has left so many; all others are deleted.",
        "Each key has a reason in `refused`: look it up above.",
    ),
];

/// What a run waits for before its next batch: `waiting_for`.
pub const WAITS: [Outcome; 11] = [
    outcome(
        "%s, %s %% of the time of a batch",
        "It rests so that it is not felt: `nice`, or `scheduled_nice` of runs that a schedule starts.",
        "Nothing. Where the backlog grows, lower the setting that is named.",
    ),
    outcome(
        "the rate of %s rows per second",
        "It may delete so many rows a second.",
        "Nothing. Where the backlog grows, raise `rate`.",
    ),
    outcome(
        "replica %s, which is %s seconds behind",
        "PostgreSQL: a replica is further behind than `max_replica_lag`.",
        "See why the replica does not keep up; the run goes on when it does.",
    ),
    outcome(
        "the slowest replica in %s, which is %s seconds behind",
        "By the `heartbeat` of the spec, a replica is further behind than `max_replica_lag`. `unknown`: the table has no row.",
        "As above; or see whether what writes the heartbeat runs.",
    ),
    outcome(
        "%s, which is %s MB of WAL behind",
        "PostgreSQL: a replica or a replication slot is further behind than `max_replica_wal`.",
        "As above; drop a slot that nobody reads.",
    ),
    outcome(
        "other sessions, of which %s are active",
        "The server has more to do than `max_active_sessions` allows.",
        "Nothing: it goes on when the others are through.",
    ),
    outcome(
        "%s, whose snapshot is %s transactions old",
        "PostgreSQL: an old transaction keeps VACUUM from cleaning up behind the run (`max_old_snapshot`).",
        "End the session, the slot or the prepared transaction that is named, if nobody needs it.",
    ),
    outcome(
        "an old snapshot, with %s transactions in the history list",
        "MySQL and MariaDB: an old transaction keeps the purge of InnoDB from cleaning up behind the run (`max_old_snapshot`).",
        "Look for it in `information_schema.innodb_trx`.",
    ),
    outcome(
        "the query of the spec, which says %s",
        "`wait_while` of the spec says that it is to wait.",
        "Nothing, or look at what that asks.",
    ),
    outcome(
        "the right to see",
        "The owner role may not see what the run is to look at before each batch; the GRANT that it lacks follows.",
        "Grant it, or turn the setting off that needs it.",
    ),
    outcome(
        "worker %s, which is at rule %s",
        "Of several workers, another one has not ended the rule before.",
        "Nothing.",
    ),
];

/// Why no run begins: `reason` of a document with the status `refused`, and table `refusal` for scheduled runs.
pub const REFUSALS: [Outcome; 14] = [
    outcome(
        "paused by",
        "Somebody paused windrow; who, since when and why follow.",
        "`windrow resume`.",
    ),
    outcome(
        "rule %s is %s",
        "All rules that it would work on are paused; who, since when and why follow.",
        "`windrow resume SPEC --rule RULE`.",
    ),
    outcome(
        "not armed",
        "Nobody has allowed runs to delete since the installation, or since a rule was added.",
        "Read `windrow preview`, then `windrow arm`.",
    ),
    outcome(
        "armed on another server",
        "This looks like a restored copy, a clone or a promoted replica of where it was armed.",
        "If this one is to be cleaned: `windrow arm`.",
    ),
    outcome(
        "catalog changed",
        "What acts on the tables is another than when somebody armed windrow: a trigger, a foreign key, a rule, a partition.",
        "`windrow check --database` says what; put it into the spec, or take it away, then `windrow install` and `windrow arm`.",
    ),
    outcome(
        "no window is open",
        "A scheduled run outside of its windows, which follow.",
        NOTHING,
    ),
    outcome(
        "suspended after",
        "So many scheduled runs in a row ended with an error; the last error follows.",
        "Mend it. A run by hand that succeeds, or `windrow arm`, lets scheduled ones start again.",
    ),
    outcome(
        "nothing left",
        "The last scheduled runs found nothing to do: the next one looks again when the back-off ends.",
        "Nothing; `back_off_max` limits it.",
    ),
    outcome(
        "another run is starting",
        "Two runs were begun in the same moment.",
        NOTHING,
    ),
    outcome(
        "run %s is in progress",
        "There is a run under way already; its session and its beginning follow.",
        "Nothing, or `windrow pause` to end it after its batch.",
    ),
    outcome(
        "another stamp is starting",
        "Two stamps were begun in the same moment.",
        NOTHING,
    ),
    outcome(
        "stamp %s is in progress",
        "There is a stamp under way already; its session and its beginning follow.",
        NOTHING,
    ),
    outcome(
        "the server is read-only",
        "MySQL and MariaDB: nothing can be deleted here.",
        "Nothing on a replica. On a primary, turn `read_only` off.",
    ),
    outcome(
        "table %s",
        "Something acts on a covered table and is not in the spec: what it is follows.",
        "Put it into the spec, under `ignore` or `triggers`, or take it away; then `windrow install` and `windrow arm`.",
    ),
];

/// What `verify` checks, by the name of the check.
pub const CHECKS: [Outcome; 28] = [
    outcome(
        "orphans",
        "Rows whose parent is not there. Those that there were when somebody armed windrow are a notice.",
        "A violation is more of them than then: find out who deletes without windrow, or writes children late. `orphan_guard` keeps \
         late children out.",
    ),
    outcome(
        "removal_time",
        "Rows of a family that have another removal time than it, or none.",
        "`windrow stamp` sets them.",
    ),
    outcome(
        "unranked",
        "Rows of a `keep-last` rule without a group, or without a place in it: they stay.",
        "Mend the rows if they are to go.",
    ),
    outcome(
        "preview",
        "`preview()` fails.",
        "Mend the error that follows.",
    ),
    outcome(
        "due",
        "Families that a run would delete now.",
        "Nothing, or `windrow run`.",
    ),
    outcome(
        "undeletable",
        "Families whose root is due, and that stay, by reason.",
        "Look up the reason above.",
    ),
    outcome(
        "routine",
        "A routine of the installation is missing, edited by hand, or another's.",
        "`windrow diff` shows the difference, `windrow install` puts it back.",
    ),
    outcome(
        "claim",
        "Something that has windrow's names, or stands in its schema, belongs to somebody else.",
        "Look whose it is, and drop it: `windrow install` refuses until it is gone.",
    ),
    outcome(
        "rights",
        "Somebody may do more than the installation gave, or the owner role less or more than the spec needs.",
        "Do what stands beside it, or `windrow install`.",
    ),
    outcome(
        "index",
        "An index that the statements need is missing or invalid.",
        "`windrow install` makes it.",
    ),
    outcome(
        "trigger",
        "A trigger of windrow (settings, orphan guard) is missing or off.",
        "`windrow install` puts it back.",
    ),
    outcome(
        "reference",
        "Something refers to a covered table or acts on it, and is not in the spec: a foreign key, a trigger, a rule. Runs refuse where it \
         acts when rows go.",
        "Put it into the spec, under `ignore` or `triggers`, or take it away.",
    ),
    outcome(
        "table",
        "A table of the spec is not there. Runs refuse.",
        "Fit the spec to this version (`windrow init --from`), and install it.",
    ),
    outcome(
        "catalog",
        "What acts on the tables has changed since somebody armed windrow. Runs refuse.",
        "`windrow check --database` says what; then `windrow install` and `windrow arm`.",
    ),
    outcome(
        "policy",
        "A policy keeps for less time than `minimum` of the spec allows.",
        "Set it anew: `windrow policy set`.",
    ),
    outcome(
        "ledger",
        "What a run noted for its tables does not add up to its rows.",
        "Look at table `run_rule` of that run: somebody may have written to it by hand.",
    ),
    outcome(
        "run",
        "The last run did not end as it should.",
        "Look up its reason above.",
    ),
    outcome(
        "unfinished",
        "MySQL and MariaDB: a run was killed inside a batch, which its session committed in part.",
        "`windrow run`: a run that gets to its end finishes it.",
    ),
    outcome(
        "armed",
        "Whether runs may delete, on this server.",
        "`windrow arm`, if they are to.",
    ),
    outcome(
        "paused",
        "No run starts, or runs pass a rule over.",
        "`windrow resume`.",
    ),
    outcome(
        "refused",
        "Scheduled runs are refused on a server, and why.",
        "Look up the reason above.",
    ),
    outcome(
        "suspended",
        "So many scheduled runs in a row have failed that none starts any more.",
        "Mend the error; a run by hand that succeeds lets them start again.",
    ),
    outcome(
        "windows",
        "Whether a scheduled run ever falls into a window.",
        "Change the windows (`windrow window set`) or the schedule of the spec.",
    ),
    outcome(
        "archive",
        "Whether the archive tables fit those that they are of. Runs refuse where they do not.",
        "`windrow install` adds columns; what it cannot mend, it says.",
    ),
    outcome(
        "time zone",
        "MySQL and MariaDB: the server does not know a zone of the spec.",
        "Load the zones (`mysql_tzinfo_to_sql`, `mariadb-tzinfo-to-sql`).",
    ),
    outcome(
        "schedule",
        "Whether pg_cron or the event scheduler starts runs, as the spec says, and as whom.",
        "Do what stands beside it.",
    ),
    outcome(
        "spec",
        "The spec that was given to `windrow verify` is not the one that is installed.",
        "`windrow diff` compares them.",
    ),
    outcome(
        "overlap",
        "Another installation deletes from the same tables: a hold of the one does not bind the other.",
        "`windrow hold set SPEC --also OTHER` places it in both.",
    ),
];
