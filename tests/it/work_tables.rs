//! The temporary tables of a rule on MySQL and MariaDB, from batch to batch and from run to run of a session.

use std::thread;
use std::time::Duration;

use serde_json::json;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, call, dialect_of};
use crate::support::patience::despite_cancels;

tests! {
    either_flavour: [
        a_work_table_without_rows_stays,
        a_run_that_finds_nothing_due_makes_none,
        what_a_killed_run_leaves_in_its_session_hinders_no_rule,
        a_batch_that_is_rolled_back_leaves_no_scope_that_is_not_to_be_cleaned,
        a_batch_that_is_rolled_back_leaves_the_search_where_it_was,
        a_batch_that_is_rolled_back_after_its_rows_went_begins_no_pass_anew,
    ],
}

/// A rule of every kind, with keys of other types.
const SPEC: &str = r#"
name = "kinds"

[tables]
job   = { key = "id varchar" }
part  = { key = "id bigint", parents = ["job_id -> job.id"] }
event = { key = "id integer" }
visit = { key = "id bigint" }
page  = { key = "id bigint", parents = ["visit_id -> visit.id"] }
lease = { key = "id bigint" }
print = { key = "id bigint", parents = ["lease_id -> lease.id"] }

[rules.job]
strategy  = "removal-time"
root      = "job"
time      = "removal"
tables    = ["part: job_id", "job: id"]

[rules.event]
strategy  = "age"
root      = "event"
time      = "at"
retention = { default = "30d" }

[rules.visit]
strategy  = "end-time"
root      = "visit"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }

[rules.lease]
strategy = "expiry"
root     = "lease"
time     = "until_at"
"#;

const SCHEMA: &str = "
CREATE TABLE job (id varchar(20) PRIMARY KEY, removal datetime(6));
CREATE TABLE part (id bigint PRIMARY KEY, job_id varchar(20), removal datetime(6));
CREATE TABLE event (id integer PRIMARY KEY, at datetime(6));
CREATE TABLE visit (id bigint PRIMARY KEY, state varchar(9), ended datetime(6));
CREATE TABLE page (id bigint PRIMARY KEY, visit_id bigint);
CREATE TABLE lease (id bigint PRIMARY KEY, until_at datetime(6));
CREATE TABLE print (id bigint PRIMARY KEY, lease_id bigint);
";

const ROWS: &str = "
REPLACE INTO job VALUES ('a', '2020-01-01'), ('b', '2020-01-02');
REPLACE INTO part VALUES (1, 'a', '2020-01-01'), (2, 'b', '2020-01-02');
REPLACE INTO event VALUES (1, '2020-01-01'), (2, '2020-01-02');
REPLACE INTO visit VALUES (1, 'done', '2020-01-01'), (2, 'done', '2020-01-02');
REPLACE INTO page VALUES (1, 1), (2, 2);
REPLACE INTO lease VALUES (1, '2020-01-01'), (2, '2020-01-02');
REPLACE INTO print VALUES (1, 1), (2, 2);
";

const LEFT: &str = "SELECT (SELECT COUNT(*) FROM job) + (SELECT COUNT(*) FROM part) + (SELECT COUNT(*) FROM event)
    + (SELECT COUNT(*) FROM visit) + (SELECT COUNT(*) FROM page) + (SELECT COUNT(*) FROM lease) + (SELECT COUNT(*) FROM print)";

fn armed(flavour: Flavour) -> Installation {
    let mut installation = Installation::of(dialect_of(flavour), SCHEMA, &graph_of(SPEC));
    installation.arm();
    installation
}

/// What names a table made anew is prepared again: an empty one stays. One with rows is made anew.
fn a_work_table_without_rows_stays(flavour: Flavour) {
    let mut installation = armed(flavour);
    for (rule, kind, plain) in [
        ("job", "timed", ", false"),
        ("event", "timed", ", true"),
        ("visit", "end_time", ""),
        ("lease", "single", ""),
    ] {
        let work = format!("CALL W.work_{kind}('{rule}'{plain})");
        // The numbers of its rows say whether it is another table.
        let mut number = |before: &str| {
            installation.execute(&format!(
                "{before}; {work}; INSERT INTO W.work_skip (skip_key, reason) VALUES ('1', 'HELD')"
            ));
            installation.number("SELECT MAX(position) FROM W.work_skip")
        };
        assert_eq!(
            number(&format!("CALL W.{kind}_open('{rule}')")),
            1,
            "{rule}"
        );
        assert_eq!(number("DELETE FROM W.work_skip"), 2, "{rule}");
        assert_eq!(number("DO 1"), 1, "{rule}");
        installation.execute(&format!("CALL W.{kind}_close('{rule}')"));
    }
}

/// What has no time is not due, and is told all the same.
fn a_run_that_finds_nothing_due_makes_none(flavour: Flavour) {
    let mut installation = armed(flavour);
    installation.execute(&ROWS.replace("2020", "2035"));
    // What was made a moment ago is looked at anew by each run.
    thread::sleep(Duration::from_secs(3));
    let made = "Com_create_%table";
    let mut run = || {
        let before = installation.counted(made);
        let result = installation.run(json!({})).expect("a run");
        assert_eq!(result["reason"], "nothing left", "{result}");
        (installation.counted(made) - before, result)
    };
    run();
    let (number, result) = run();
    assert_eq!(number, 0, "{result}");
    for (rule, statement) in [
        ("job", "UPDATE job SET removal = NULL WHERE id = 'a'"),
        ("event", "UPDATE event SET at = NULL WHERE id = 1"),
        ("visit", "UPDATE visit SET ended = NULL WHERE id = 1"),
    ] {
        installation.execute(statement);
        let result = installation.run(json!({"rule": rule})).expect("a run");
        assert_eq!(
            result["rules"][0]["skipped"],
            json!({"UNDATED_MEMBER": 1}),
            "{result}"
        );
        assert_eq!(result["reason"], "nothing left", "{result}");
    }
}

/// They are of other types, and have rows.
fn what_a_killed_run_leaves_in_its_session_hinders_no_rule(flavour: Flavour) {
    let mut installation = armed(flavour);
    let rules = ["job", "event", "visit", "lease"];
    for (at, rule) in rules.into_iter().enumerate() {
        installation.execute(ROWS);
        installation.execute(&format!(
            "CREATE TRIGGER asleep BEFORE DELETE ON {rule} FOR EACH ROW SET @slept = SLEEP(30)"
        ));
        let (runner, cancel, number) = installation.call_aside("run", json!({"rule": rule}));
        installation.until_asleep(rule, &runner, number);
        while !runner.is_finished() {
            cancel().expect("a cancel");
            thread::sleep(Duration::from_millis(20));
        }
        let (mut session, answer) = runner.join().expect("no panic");
        assert!(answer.is_err(), "{rule}: it survived");
        despite_cancels(|| session.execute("COMMIT")).expect("a commit");
        despite_cancels(|| session.execute(&installation.named("CALL W.reap()")))
            .expect("it is over");
        installation.execute("DROP TRIGGER asleep");
        let control = installation.control.clone();
        // First a rule of another kind.
        for options in [json!({"rule": rules[(at + 1) % rules.len()]}), json!({})] {
            let result = call(
                &mut session,
                installation.dialect,
                &control,
                "run",
                &options,
            )
            .expect("a run");
            assert_eq!(result["status"], "done", "{rule}: {result}");
        }
        assert_eq!(installation.number(LEFT), 0, "{rule}");
    }
}

/// Rules whose scopes are cleaned where a policy says so, by the end of families.
const SCOPES: &str = r#"
name = "scopes"

[tables]
visit = { key = "id bigint" }

[rules.visit]
strategy  = "end-time"
root      = "visit"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d", per = "project bigint", opt_in = true }
"#;

/// MariaDB loses a row of a temporary table that is deleted and inserted again in a transaction that is rolled back, and others come
/// back: the list of scopes had those of policies that had been dropped.
fn a_batch_that_is_rolled_back_leaves_no_scope_that_is_not_to_be_cleaned(flavour: Flavour) {
    let schema = "CREATE TABLE visit (id bigint PRIMARY KEY, project bigint, state varchar(9), ended datetime(6))";
    let mut installation = Installation::of(dialect_of(flavour), schema, &graph_of(SCOPES));
    let policy = |scope: &str| json!({"scope": scope, "retention": "30d"});
    installation.set_policy(policy("1")).expect("a policy");
    installation.set_policy(policy("2")).expect("a policy");
    let fill = "CALL W.end_time_scope('visit', UTC_TIMESTAMP(6), NULL, NULL)";
    let scopes = "SELECT CAST(s.scope AS char) FROM W.work_scope AS s ORDER BY s.position";
    installation.execute(&format!("CALL W.end_time_open('visit'); {fill}"));
    assert_eq!(installation.texts(scopes), ["1", "2"]);
    // Between two batches, one scope is replaced by another.
    installation
        .call("drop_policy", json!({"scope": "2"}))
        .expect("no policy");
    installation.set_policy(policy("3")).expect("a policy");
    installation.execute(&format!("START TRANSACTION; {fill}"));
    assert_eq!(installation.texts(scopes), ["1", "3"]);
    installation.execute(&format!("ROLLBACK; {fill}"));
    assert_eq!(installation.texts(scopes), ["1", "3"], "it was rolled back");
    installation.execute("CALL W.end_time_close('visit')");
}

/// As above: the place that a search begins behind, and the keys that are held.
fn a_batch_that_is_rolled_back_leaves_the_search_where_it_was(flavour: Flavour) {
    let mut installation = armed(flavour);
    let place = "SELECT CAST(c.id AS char) FROM W.work_cursor AS c";
    installation.execute(
        "CALL W.end_time_open('visit'); CALL W.end_time_from('2020-01-01', '7');
         START TRANSACTION; CALL W.end_time_from('2020-01-02', '8'); ROLLBACK",
    );
    assert_eq!(installation.texts(place), ["7"]);
    installation.execute("CALL W.end_time_close('visit')");
    installation.execute(ROWS);
    let hold = |rule: &str, key: &str| json!({"rule": rule, "key": key, "reason": "audit"});
    for (rule, kind, plain, fill, keys) in [
        ("visit", "end_time", "", "end_time_held", "work_holds"),
        ("event", "timed", ", true", "timed_held", "work_keep"),
    ] {
        let keys = format!("SELECT CAST(k.id AS char) FROM W.{keys} AS k ORDER BY k.id");
        let fill = format!("CALL W.{fill}('{rule}')");
        installation.set_hold(hold(rule, "1")).expect("a hold");
        installation.execute(&format!(
            "CALL W.{kind}_open('{rule}'); CALL W.work_{kind}('{rule}'{plain}); {fill}"
        ));
        installation.set_hold(hold(rule, "2")).expect("a hold");
        installation.execute(&format!("START TRANSACTION; {fill}; ROLLBACK"));
        // What is held is what it was before.
        installation
            .call("release_hold", json!({"rule": rule, "key": "2"}))
            .expect("no hold");
        installation.execute(&fill);
        assert_eq!(installation.texts(&keys), ["1"], "{rule}");
        installation.execute(&format!("CALL W.{kind}_close('{rule}')"));
    }
}

/// As above: the row that says how far a rule of single rows has come. What it keeps was looked at once more.
fn a_batch_that_is_rolled_back_after_its_rows_went_begins_no_pass_anew(flavour: Flavour) {
    let mut installation = armed(flavour);
    let rows = (1..=40).map(|id| format!("({id}, '2020-01-01 00:00:{id:02}')"));
    let rows: Vec<String> = rows.collect();
    installation.execute(&format!("INSERT INTO lease VALUES {}", rows.join(", ")));
    // What the first batch keeps says nothing of the next one, whose rows are counted in a transaction of their own.
    for key in 1..=10 {
        let hold = json!({"rule": "lease", "key": key.to_string(), "reason": "audit"});
        installation.set_hold(hold).expect("a hold");
    }
    installation
        .call(
            "set_setting",
            json!({"rule": "lease", "name": "batch_rows", "value": 10}),
        )
        .expect("a setting");
    // The second batch fails once, as the last that is written of it.
    installation.execute(
        "SET @failed = 0;
         CREATE TRIGGER W.once BEFORE UPDATE ON W.run_rule FOR EACH ROW
         IF `NEW`.batches = 2 AND OLD.batches = 1 AND COALESCE(@failed, 0) = 0 THEN
             SET @failed = 1;
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no';
         END IF",
    );
    let result = installation.run(json!({"rule": "lease"})).expect("a run");
    installation.execute("DROP TRIGGER W.once");
    assert_eq!(result["reason"], "nothing left", "{result}");
    assert_eq!(installation.number("SELECT @failed"), 1, "{result}");
    assert_eq!(
        result["rules"][0]["skipped"],
        json!({"HELD": 10}),
        "{result}"
    );
    assert_eq!(
        installation.texts("SELECT CAST(MAX(id) AS char) FROM lease"),
        ["10"]
    );
}
