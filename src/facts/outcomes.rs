//! Why runs end or do not begin, and what `verify` checks. The words are the kernels'; the tests hold this list against them, and
//! `docs/reference/reasons.md` is made of it.

/// Something that documents and the ledger say in words, and a person looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As it is said, or how it begins where more follows; `%s` means a figure or a name.
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

const ROWS_OUT: &str = "Nothing. MySQL and MariaDB, if rows of a partition are out of their table (check `unfinished`): \
     `CALL give_back()`, or let the next run settle them.";

/// How a run ends: `status` of a run.
pub const STATUSES: [Outcome; 6] = [
    outcome("running", "It is in progress.", NOTHING),
    outcome(
        "done",
        "It finished: everything due is deleted, or kept for a recorded reason.",
        NOTHING,
    ),
    outcome(
        "stopped",
        "It ended early, for the given reason. What it deleted stays deleted, and the next run continues there.",
        "See the reason.",
    ),
    outcome(
        "failed",
        "An error ended it, or some families could not be deleted even on their own.",
        "Read `failures` of the run, or table `run_failure`: each has the server's error. The usual cause is a reference to \
         the family that is not in the spec: `windrow check --database` names it.",
    ),
    outcome(
        "cancelled",
        "Somebody cancelled its statement, or a batch lasted longer than the `statement_timeout`. The current batch was rolled back.",
        ROWS_OUT,
    ),
    outcome(
        "crashed",
        "Its session or its server ended. The current batch was rolled back; the next run records this.",
        "Look at the server's log, unless somebody ended it on purpose.",
    ),
];

/// Why a run ended: `reason` of a run.
pub const STOPS: [Outcome; 20] = [
    outcome(
        "nothing left",
        "Nothing that is due may still be deleted.",
        NOTHING,
    ),
    outcome(
        "run_families reached",
        "It deleted as many families as one run may; or rows, of a rule that deletes single rows.",
        "Nothing, if the backlog shrinks (`windrow status`). Otherwise raise `run_families`, or let runs start more often; \
         `windrow plan` shows what helps.",
    ),
    outcome(
        "run_rows reached",
        "It deleted as many rows as one run may.",
        "As above, with `run_rows`.",
    ),
    outcome(
        "time budget spent",
        "It used up its time budget.",
        "As above, with `time_budget`. If it reports that it waited, the wait took the time.",
    ),
    outcome(
        "window closed",
        "It is a scheduled run, and its maintenance window ended.",
        "As above, with `windrow window set`.",
    ),
    outcome(
        "paused",
        "Somebody paused windrow.",
        "`windrow resume`, once the reason for the pause is gone; `windrow status` shows it.",
    ),
    outcome(
        "an installation is not finished",
        "An installation began during the run; a file that it had not applied yet follows.",
        "Once it has finished, the next run continues. If it broke off: `windrow install`.",
    ),
    outcome(
        "rule %s is %s",
        "The rule is paused, and runs skip it; who paused it, since when and why follow.",
        "`windrow resume SPEC --rule RULE`.",
    ),
    outcome("cancelled", "Somebody cancelled it.", ROWS_OUT),
    outcome(
        "error %s",
        "An error that does not concern a single family, or one that triggers of the application raised for 100 families with the SQLSTATE of such an error; the server's code and message follow.",
        "Correct what the error names. After several failures in a row, no scheduled run starts (`suspend_after`).",
    ),
    outcome(
        "the run was ended from outside",
        "What its own session hears, where another one closed it in the ledger (`reap()`, `arm()` or the next run); the ledger has one of the \
         reasons below.",
        "Nothing, if that was on purpose.",
    ),
    outcome(
        "its session vanished",
        "Its session ended without a word. What it committed is kept.",
        "Nothing, if somebody ended it on purpose; otherwise look at the server's log.",
    ),
    outcome(
        "another server was armed",
        "MySQL and MariaDB: it ran on the server that was armed before.",
        NOTHING,
    ),
    outcome(
        "no sign of life from its server for %s",
        "MySQL and MariaDB: it ran on another server of the cluster, which has written nothing since.",
        "Look at that server.",
    ),
    outcome(
        "its server is no member of the cluster any more",
        "MySQL and MariaDB: it ran on a server that has left the cluster.",
        "Look at that server.",
    ),
    outcome(
        "killed inside a batch",
        "MySQL and MariaDB: its session was killed in a batch and committed a part of it (check `unfinished`).",
        "`windrow run`: a run that completes finishes the batch.",
    ),
    outcome(
        "begun before there were workers",
        "The installation now has several workers, and the run began when it had one.",
        "Nothing: the next run starts correctly.",
    ),
    outcome(
        "all named families are gone",
        "A purge deleted everything that was named.",
        NOTHING,
    ),
    outcome(
        "1 named family is kept",
        "A purge kept one; all others are deleted.",
        "Its key has a reason in `refused`: look it up above.",
    ),
    outcome(
        "%s named families are kept",
        "A purge kept this many; all others are deleted.",
        "Each key has a reason in `refused`: look it up above.",
    ),
];

/// What a run waits for before its next batch: `waiting_for`.
pub const WAITS: [Outcome; 16] = [
    outcome(
        "%s, %s %% of the time of a batch",
        "It rests so that the application is not slowed down: `nice`, or `scheduled_nice` for scheduled runs.",
        "Nothing. If the backlog grows, lower the named setting.",
    ),
    outcome(
        "the rate of %s rows per second",
        "It may delete this many rows per second.",
        "Nothing. If the backlog grows, raise `rate`.",
    ),
    outcome(
        "replica %s, which is %s seconds behind",
        "A replica is further behind than `max_replica_lag`. MySQL and MariaDB, with `heartbeat = \"windrow\"`: then follows what its \
         replica status said, or since when nobody has looked at it.",
        "Find out why the replica does not keep up; the run continues when it does. A replica that is gone for good: \
         `windrow heartbeat --forget`.",
    ),
    outcome(
        "the first look at a replica",
        "MySQL and MariaDB, with `heartbeat = \"windrow\"`: `windrow heartbeat` has noted no replica yet.",
        "Start `windrow heartbeat` with an address of each replica.",
    ),
    outcome(
        "the slowest replica in %s, which is %s seconds behind",
        "By the `heartbeat` of the spec, a replica is further behind than `max_replica_lag`. `unknown`: the table has no row.",
        "As above; or check that the job that writes the heartbeat runs.",
    ),
    outcome(
        "%s, which is %s MB of WAL behind",
        "PostgreSQL: a replica or a replication slot is further behind than `max_replica_wal`.",
        "As above; drop slots that nobody reads.",
    ),
    outcome(
        "this node of the cluster, which has %s transactions to apply",
        "Galera: the server of the run is behind the others by more than `max_cluster_queue` transactions.",
        "Find out why it does not keep up; the run continues when it does.",
    ),
    outcome(
        "a node of the cluster that is behind: flow control stopped writers for %s ms",
        "Galera: a node had all others stop since the last look (`max_cluster_queue`).",
        "As above, for the node with the longest `wsrep_local_recv_queue`.",
    ),
    outcome(
        "member %s of the cluster, which has %s transactions to apply",
        "Group replication: a member is behind by more than `max_cluster_queue` transactions.",
        "As above; `performance_schema.replication_group_members` has the server of the id.",
    ),
    outcome(
        "other sessions, of which %s are active",
        "More sessions are active than `max_active_sessions` allows.",
        "Nothing: it continues when the others are done.",
    ),
    outcome(
        "%s, whose snapshot is %s transactions old",
        "PostgreSQL: an old transaction prevents VACUUM from cleaning up after the run (`max_old_snapshot`).",
        "End the named session, slot or prepared transaction, if nobody needs it.",
    ),
    outcome(
        "an old snapshot, with %s transactions in the history list",
        "MySQL and MariaDB: an old transaction prevents InnoDB's purge from cleaning up after the run (`max_old_snapshot`).",
        "Look for it in `information_schema.innodb_trx`.",
    ),
    outcome(
        "the query of the spec, which says %s",
        "The query `wait_while_sql` of the spec says to wait.",
        "Nothing, or look at what the query reads.",
    ),
    outcome(
        "the right to see",
        "The owner role cannot see what the run must check before each batch; the missing GRANT follows.",
        "Grant it, or turn off the setting that needs it.",
    ),
    outcome(
        "a lock on %s",
        "The next batch could not lock a table, or was held up by a change of holds or policies, longer than `lock_timeout`, more often in a \
         row than `retries` allows. PostgreSQL names the session that has the lock, and its mode.",
        "End the session that has the lock, if nobody needs it; the run tries again by itself.",
    ),
    outcome(
        "worker %s, which is at rule %s",
        "Another worker has not finished the previous rule.",
        "Nothing.",
    ),
];

/// Why no run begins: `reason` of a document with the status `refused`, and table `refusal` for scheduled runs.
pub const REFUSALS: [Outcome; 20] = [
    outcome(
        "paused by",
        "Somebody paused windrow; who, since when and why follow.",
        "`windrow resume`.",
    ),
    outcome(
        "rule %s is %s",
        "All rules that it would work on are paused; who paused them, since when and why follow.",
        "`windrow resume SPEC --rule RULE`.",
    ),
    outcome(
        "not armed",
        "Nobody has armed windrow since the installation, or since a rule was added.",
        "Read `windrow preview`, then `windrow arm`.",
    ),
    outcome(
        "armed on another server",
        "This looks like a restored copy, a clone or a promoted replica of the server where windrow was armed.",
        "If this server is to be cleaned: `windrow arm`.",
    ),
    outcome(
        "armed for another",
        "A cluster was armed, and this server is not a member of it now: a copy, or a server that has left it.",
        "If this server is to be cleaned: `windrow arm`, or `windrow arm --cluster NAME` for the cluster that it belongs to.",
    ),
    outcome(
        "this server has started since the last run",
        "A cluster was armed, and this server came back without a replica that follows it, or it may not see one: another server may have \
         taken over.",
        "Where it is still the primary: `windrow arm`, or let a replica follow it, or grant the right that the reason names. \
         Otherwise make it a replica.",
    ),
    outcome(
        "catalog changed",
        "A table of the spec is not the one that was armed: it is gone, another one is in its place, its columns for keys or edges \
         are others, a column by which rules decide is another one, or holds another kind of values. It follows.",
        "Look at both tables, then `windrow arm`.",
    ),
    outcome(
        "an installation is not finished",
        "It is under way, or broke off; a file that it has not applied follows. Until then the statements of a rule may not be those of \
         the spec, or those around them of another version.",
        "Let it finish, or `windrow install`.",
    ),
    outcome(
        "no foreign key is checked",
        "PostgreSQL: the session has `session_replication_role = replica`, as one that applies what was replicated, or the triggers of a \
         key are disabled (`ALTER TABLE … DISABLE TRIGGER ALL`), on the table that follows: keys that refuse a deletion would not.",
        "`SET session_replication_role = origin`, or another session; or `ALTER TABLE … ENABLE TRIGGER ALL`, once whoever disabled them \
         is done.",
    ),
    outcome(
        "the collation",
        "PostgreSQL: the library that orders texts has another version than when the indexes were built, as after an upgrade of the \
         system or with another image; both follow. What an index does not find would be taken for a hold or a parent that is missing.",
        "`REINDEX` what has texts, then `ALTER DATABASE … REFRESH COLLATION VERSION`, or `ALTER COLLATION … REFRESH VERSION`.",
    ),
    outcome(
        "no window is open",
        "A scheduled run started outside its maintenance windows, which follow.",
        NOTHING,
    ),
    outcome(
        "suspended after",
        "This many scheduled runs in a row ended with an error; the last error follows.",
        "Correct it. After a successful manual run, or `windrow arm`, scheduled runs start again.",
    ),
    outcome(
        "nothing left",
        "The last scheduled runs found nothing to delete: the next one looks again when the back-off ends.",
        "Nothing; `back_off_max` limits it.",
    ),
    outcome(
        "another run is starting",
        "Two runs were started at the same moment. MySQL and MariaDB: or the connection that is named has taken the lock of the runs.",
        "Nothing; if it recurs on MySQL and MariaDB, end the named connection.",
    ),
    outcome(
        "run %s is in progress",
        "A run is already in progress; its session and start time follow. With several workers also: the sweep of the others began \
         longer ago than a run may take, and nobody joins it any more.",
        "Nothing, or `windrow pause` to end it after its batch.",
    ),
    outcome(
        "another stamp is starting",
        "Two stamps were started at the same moment.",
        NOTHING,
    ),
    outcome(
        "stamp %s is in progress",
        "A stamp is already in progress; its session and start time follow.",
        NOTHING,
    ),
    outcome(
        "the server is read-only",
        "MySQL and MariaDB: nothing can be deleted here.",
        "Nothing on a replica. On a primary, turn `read_only` off.",
    ),
    outcome(
        "table %s",
        "Something that is not in the spec acts on a covered table: its description follows.",
        "Say in the spec what happens to its rows (an edge of the table), or drop what acts; then `windrow install`.",
    ),
    outcome(
        "error %s",
        "An error before a scheduled run could begin; the server's code and message follow.",
        "Correct what the error names.",
    ),
];

/// What `verify` checks, by the name of the check.
pub const CHECKS: [Outcome; 32] = [
    outcome(
        "orphans",
        "Rows whose parent does not exist. Those that existed when windrow was armed are only a notice.",
        "More of them than then are a violation: find out who deletes without windrow, or inserts children late. \
         `orphan_guard` refuses late children.",
    ),
    outcome(
        "removal_time",
        "Rows whose removal time differs from their family's, or that have none.",
        "`windrow stamp` sets them.",
    ),
    outcome(
        "unranked",
        "Rows of a `keep-last` rule without a group, or without a position in it: they are kept.",
        "Correct the rows if they are to be deleted.",
    ),
    outcome(
        "ahead",
        "Up to when a table whose partitions are dropped has range partitions: not for half of `ahead`, or for a day without it. A \
         violation where rows would be refused, a notice where the default partition, or the one up to MAXVALUE, takes them; or no \
         width can be told from the newest partitions.",
        "Make partitions, or let `ahead` make them ([docs/partitions.md](../partitions.md#partitions-ahead)).",
    ),
    outcome(
        "rest",
        "Rows in the default partition, or in the one up to MAXVALUE, counted to 1001.",
        "Move them to partitions of their time; no run deletes them, and no partition of their time can be made.",
    ),
    outcome(
        "preview",
        "`preview()` fails.",
        "Correct the error that follows.",
    ),
    outcome(
        "due",
        "Families that a run would delete now.",
        "Nothing, or `windrow run`.",
    ),
    outcome(
        "undeletable",
        "Families that are kept although their root is due, by reason.",
        "Look up the reason above.",
    ),
    outcome(
        "routine",
        "A routine of the installation is missing, was edited by hand, or belongs to somebody else.",
        "`windrow diff` shows the difference, `windrow install` restores it.",
    ),
    outcome(
        "claim",
        "An object with one of windrow's names, or in its schema, belongs to somebody else.",
        "Find out whose it is, and drop it: `windrow install` refuses until it is gone.",
    ),
    outcome(
        "rights",
        "Somebody has more rights than the installation granted, or the owner role has fewer or more rights than the spec needs.",
        "Do what the finding says, or `windrow install`.",
    ),
    outcome(
        "index",
        "An index that the statements need is missing or invalid.",
        "`windrow install` creates it.",
    ),
    outcome(
        "trigger",
        "A trigger of windrow (orphan guard) is missing or disabled. A notice: a trigger of the application fires when windrow deletes or \
         sets rows, and the spec does not accept it.",
        "`windrow install` restores windrow's own. Read those of the application, and list what may fire under `triggers` of their table; on \
         MySQL only `windrow verify` and `check` tell of them, to an account that sees them.",
    ),
    outcome(
        "reference",
        "Something that is not in the spec refers to a covered table or acts on it: a foreign key, a rule. Runs \
         are refused if it acts when rows are deleted.",
        "Make it an edge of the spec, or drop it; `[ignore]` is no remedy.",
    ),
    outcome(
        "table",
        "A table of the spec does not exist. Runs are refused.",
        "Fit the spec to this version (`windrow init --from`), and install it.",
    ),
    outcome(
        "catalog",
        "A table of the spec is not the one that was armed, an installation is not finished, or (PostgreSQL) a collation has changed. \
         Runs are refused.",
        "Look up the reason above.",
    ),
    outcome(
        "policy",
        "A policy keeps rows for less time than the spec's `minimum` allows. As a notice: it follows a default that the spec no longer has.",
        "Set another one: `windrow policy set --retention`.",
    ),
    outcome(
        "ledger",
        "The row counts that a run recorded by table do not add up to its total.",
        "Look at table `run_rule` of that run: somebody may have written to it by hand.",
    ),
    outcome(
        "run",
        "The last run did not end with `done`: it failed, was cancelled, crashed, or stopped early.",
        "Look up its reason above.",
    ),
    outcome(
        "unfinished",
        "MySQL and MariaDB: a run was killed inside a batch, and its session committed a part of it; or rows of a partition may be in the \
         table `<rule>_taken`.",
        "`windrow run`: a run that completes finishes the batch, and puts back or drops what was taken. If no run may start, \
         `CALL give_back()` puts back what is not judged.",
    ),
    outcome(
        "armed",
        "Whether runs may delete, on this server. A notice where a cluster is armed and no standby or replica follows. PostgreSQL: a \
         violation where a cluster is armed and the owner role may see none.",
        "`windrow arm`, if they are to; `GRANT pg_monitor` to the owner role.",
    ),
    outcome(
        "paused",
        "No run starts, or runs skip a rule.",
        "`windrow resume`.",
    ),
    outcome(
        "orphaned",
        "Holds, policies, pauses or settings of a rule that the spec no longer has, or that has another key or scope column now: they \
         have no effect, and windrow cannot be armed.",
        "Set them for the rule that they are meant for, and release or drop these: `windrow hold release`, `policy drop`, `resume` and \
         `settings reset` take the old name with `--rule`.",
    ),
    outcome(
        "refused",
        "Whether scheduled runs are refused on a server, and why.",
        "Look up the reason above.",
    ),
    outcome(
        "suspended",
        "Too many scheduled runs in a row failed, so none starts any more.",
        "Correct the error; after a successful manual run they start again.",
    ),
    outcome(
        "windows",
        "Whether the schedule ever falls into a maintenance window.",
        "Change the windows (`windrow window set`) or the schedule of the spec.",
    ),
    outcome(
        "archive",
        "Whether the archive tables match the tables they copy. If not, runs are refused.",
        "`windrow install` adds columns; it reports what it cannot correct.",
    ),
    outcome(
        "archived",
        "How many archived partitions and rows there are, whether the archive has exactly the tables that the ledger names, and which are older than `archive_days` and not pruned.",
        "Do what the finding says.",
    ),
    outcome(
        "time zone",
        "MySQL and MariaDB: the server does not know a time zone of the spec.",
        "Load the time zones (`mysql_tzinfo_to_sql`, `mariadb-tzinfo-to-sql`).",
    ),
    outcome(
        "schedule",
        "Whether pg_cron or the event scheduler starts runs as the spec says, and under which account. A violation where windrow is \
         armed and an installation made the schedule, and nothing starts runs: no job or event, or one that is disabled. A notice \
         where pg_cron counts by the clock of another zone than UTC, and the schedule names an hour or a day; a violation where no \
         start falls in a window then: set `cron.timezone` to GMT.",
        "Do what the finding says. If something else starts runs, such as cron: `windrow install --skip 60_schedule.sql`.",
    ),
    outcome(
        "spec",
        "The spec given to `windrow verify` is not the installed one.",
        "`windrow diff` compares them.",
    ),
    outcome(
        "overlap",
        "Another installation deletes from the same tables: a hold in one does not bind the other.",
        "`windrow hold set SPEC --also OTHER` places it in both.",
    ),
];
