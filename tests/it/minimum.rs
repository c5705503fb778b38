//! No strategy goes under its minimum: by no option of an operator, by no policy, by no row of a table.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::{Graph, Shared};

use crate::harness::tests;
use crate::support::camunda::{self, Camunda};
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::Installation;

tests! {
    every_server: [
        no_rule_of_any_strategy_goes_under_its_minimum,
        no_removal_time_goes_under_its_minimum,
        no_purge_goes_under_the_minimum_unless_it_is_told_to,
        no_purge_passes_a_disabled_policy_unless_it_is_told_to,
        no_policy_is_longer_than_the_calendar,
        a_purge_by_removal_time_needs_no_force,
        a_purge_says_of_a_row_without_a_time_that_it_has_none,
        a_purge_counts_the_days_of_the_rule,
    ],
}

const SPEC: &str = r#"
name = "minimum"

[tables]
runs   = { key = "id integer" }
parts  = { key = "id integer", parents = ["run_id -> runs.id"] }
events = { key = "id integer", indexed = ["ended"] }
store  = { key = "id integer", indexed = ["expires"] }
debris = { key = "id integer" }
tries  = { key = "id integer" }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d", minimum = "7d", safety_lag = "1h", per = "a integer" }

[rules.events]
strategy  = "age"
root      = "events"
time      = "ended timestamp"
retention = { default = "30d", minimum = "7d", safety_lag = "1h" }

[rules.store]
strategy = "expiry"
root     = "store"
time     = "expires timestamp"
fallback = { time = "ended timestamp", retention = { default = "30d", minimum = "7d", safety_lag = "1h" } }

[rules.debris]
strategy  = "orphan"
root      = "debris"
needs     = ["run_id -> runs.id"]
time      = "ended timestamp"
retention = { default = "30d", minimum = "7d", safety_lag = "1h" }

[rules.tries]
strategy  = "keep-last"
root      = "tries"
keep      = { newest = 1, per = ["a integer"], by = "id integer" }
time      = "ended timestamp"
retention = { default = "30d", minimum = "7d", safety_lag = "1h" }
"#;

const RULES: [&str; 5] = ["runs", "events", "store", "debris", "tries"];

/// In each table rows that ended this many days ago.
const DAYS: [i64; 6] = [0, 3, 6, 7, 8, 40];

fn schema(dialect: Dialect) -> String {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    format!(
        "CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, a integer, state varchar(20), ended {time});
         CREATE TABLE parts (id integer NOT NULL PRIMARY KEY, run_id integer);
         CREATE TABLE events (id integer NOT NULL PRIMARY KEY, ended {time});
         CREATE INDEX events_ended ON events (ended);
         CREATE TABLE store (id integer NOT NULL PRIMARY KEY, expires {time}, ended {time});
         CREATE INDEX store_expires ON store (expires);
         CREATE TABLE debris (id integer NOT NULL PRIMARY KEY, run_id integer, ended {time});
         CREATE TABLE tries (id integer NOT NULL PRIMARY KEY, a integer, ended {time})"
    )
}

fn ago(dialect: Dialect, days: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("timezone('UTC', now()) - interval '{days} days'"),
        Dialect::Mysql | Dialect::Mariadb => format!("UTC_TIMESTAMP(6) - INTERVAL {days} DAY"),
    }
}

fn fill(database: &mut Installation, dialect: Dialect) {
    for (days, id) in DAYS.into_iter().zip(1..) {
        let ended = ago(dialect, days);
        for row in [
            format!("runs VALUES ({id}, 1, 'done', {ended})"),
            format!("parts VALUES ({id}, {id})"),
            format!("events VALUES ({id}, {ended})"),
            format!("store VALUES ({id}, NULL, {ended})"),
            format!("debris VALUES ({id}, 99, {ended})"),
            format!("tries VALUES ({id}, 1, {ended})"),
        ] {
            database.execute(&format!("INSERT INTO {row}"));
        }
    }
    // What is the newest stays by the rule.
    let now = ago(dialect, 0);
    database.execute(&format!("INSERT INTO tries VALUES (99, 1, {now})"));
}

fn ids(database: &mut Installation, table: &str) -> Vec<String> {
    database.texts(&format!("SELECT id FROM {table} ORDER BY id"))
}

fn made(dialect: Dialect, graph: &Graph) -> Installation {
    let mut database = Installation::of(dialect, &schema(dialect), graph);
    database.arm();
    database
}

fn no_rule_of_any_strategy_goes_under_its_minimum(dialect: Dialect) {
    let mut database = made(dialect, &graph_of(SPEC));
    fill(&mut database, dialect);
    for rule in RULES {
        for (routine, options) in [
            ("run", json!({"rule": rule, "retention": "6d"})),
            ("run", json!({"rule": rule, "retention": "167h"})),
            ("run", json!({"rule": rule, "retention": "0s"})),
            ("run", json!({"rule": rule, "retention": "-30d"})),
            ("run", json!({"rule": rule, "retention": "1"})),
            (
                "run",
                json!({"rule": rule, "retention": "6d", "dry_run": true}),
            ),
            ("run", json!({"rule": rule, "as_of": "2999-01-01"})),
            ("run", json!({"rule": rule, "as_of": "infinity"})),
            ("preview", json!({"rule": rule, "retention": "6d23h"})),
            ("preview", json!({"rule": rule, "as_of": "2999-01-01"})),
            (
                "set_policy",
                json!({"rule": rule, "scope": "1", "retention": "6d"}),
            ),
            (
                "set_policy",
                json!({"rule": rule, "scope": "1", "retention": "0s"}),
            ),
            (
                "set_policy",
                json!({"rule": rule, "scope": "1", "retention": "-30d"}),
            ),
        ] {
            let answer = database.call(routine, options.clone());
            let error = format!("{:#}", answer.expect_err(&format!("{routine} {options}")));
            assert!(error.contains("22023"), "{routine} {options}: {error}");
        }
        let seven = format!(
            "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('{rule}', '1', 604799)"
        );
        assert!(database.attempt(&seven).is_err(), "{rule}");
        for table in ["runs", "parts", "events", "store", "debris"] {
            assert_eq!(ids(&mut database, table).len(), DAYS.len(), "{rule}");
        }
    }
    // The least that may be asked for takes what is older than that and the safety lag.
    for rule in RULES {
        let run = database
            .run(json!({"rule": rule, "retention": "7d"}))
            .expect("a run");
        assert_eq!(run["status"], "done", "{run}");
    }
    let young = ["1", "2", "3", "4"];
    for table in ["runs", "parts", "events", "store", "debris"] {
        assert_eq!(ids(&mut database, table), young, "{table}");
    }
    assert_eq!(ids(&mut database, "tries"), [&young[..], &["99"]].concat());
}

/// Whatever the removal time says, a day after the end at the earliest, and an hour.
fn no_removal_time_goes_under_its_minimum(dialect: Dialect) {
    for graph in [camunda::graph(), camunda::graph_by_window()] {
        let mut camunda = Camunda::of(dialect, &graph);
        let (long, over) = (ago(dialect, 400), ago(dialect, 30));
        for (id, days) in [("young", 0), ("day", 1), ("old", 2)] {
            let ended = ago(dialect, days);
            camunda.execute(&format!(
                "INSERT INTO act_hi_procinst (id_, proc_inst_id_, root_proc_inst_id_, proc_def_id_, start_time_, end_time_, removal_time_, state_)
                 VALUES ('{id}', '{id}', '{id}', 'd', {long}, {ended}, {over}, 'COMPLETED')"
            ));
        }
        for options in [
            json!({"rule": "history", "retention": "1h"}),
            json!({"rule": "history", "retention": "23h"}),
            json!({"rule": "history", "as_of": "2999-01-01"}),
        ] {
            let error = camunda
                .attempt("run", options.clone())
                .expect_err("under the minimum");
            let error = format!("{error:#}");
            assert!(error.contains("22023"), "{options}: {error}");
        }
        let run = camunda.run(json!({}));
        assert_eq!(run["status"], "done", "{run}");
        let left = camunda.texts("SELECT id_ FROM act_hi_procinst ORDER BY id_");
        assert_eq!(left, ["day", "young"], "{run}");
    }
}

/// Earlier versions took policies that no server can count back; each run of the rule failed then.
fn no_policy_is_longer_than_the_calendar(dialect: Dialect) {
    let graph = dolphinscheduler(Shared::Closed);
    let mut database = Installation::armed(dialect, &graph);
    let (long, most) = (i64::MAX / 2, 31_557_600_000_i64);
    let policy = |seconds: i64| {
        format!(
            "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('workflow_instances', '42', {seconds})"
        )
    };
    database.attempt(&policy(long)).expect_err("too long");
    database.attempt(&policy(most + 1)).expect_err("too long");
    database.execute("ALTER TABLE W.policy DROP CONSTRAINT policy_workflow_instances");
    database.execute(&policy(long));
    database.execute(
        "INSERT INTO t_ds_workflow_instance (id, workflow_definition_version, executor_id, is_sub_workflow, state, end_time, project_code)
         VALUES (1, 1, 1, 0, 7, '2024-01-01', 42), (2, 1, 1, 0, 7, '2024-01-01', 43)",
    );
    database
        .set_policy(json!({"scope": "43", "retention": "30d"}))
        .expect("a policy");
    let failed = database.run(json!({}));
    let is_done = |run: &serde_json::Value| run["status"] == "done";
    assert!(!failed.as_ref().is_ok_and(is_done), "{failed:?}");
    database.install(&graph);
    database.arm();
    let run = database.run(json!({})).expect("a run");
    assert!(is_done(&run), "{run}");
    assert_eq!(
        database.texts("SELECT id FROM t_ds_workflow_instance"),
        ["1"],
        "{run}"
    );
    let kept = "SELECT retention_seconds FROM W.policy WHERE scope = '42'";
    assert_eq!(database.number(kept), most);
    // The longest one can be counted back from.
    database.execute("DELETE FROM W.policy WHERE scope = '42'");
    database.execute(&policy(most));
    let run = database.run(json!({})).expect("a run");
    assert!(is_done(&run), "{run}");
}

/// Whoever names a family, the owner of the spec has promised how long it is kept at least. Past that, its retention does not matter.
/// A removal time is no age: nothing counts a minimum from it.
fn a_purge_by_removal_time_needs_no_force(dialect: Dialect) {
    let graph = graph_of(
        r#"
name = "plain"
[tables]
events = { key = "id integer", indexed = ["ended"] }
[rules.events]
strategy = "removal-time"
root     = "events"
time     = "ended"
tables   = ["events: id"]
"#,
    );
    let schema = match dialect {
        Dialect::Postgres => "CREATE TABLE events (id integer PRIMARY KEY, ended timestamp)",
        _ => "CREATE TABLE events (id integer PRIMARY KEY, ended datetime(6))",
    };
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    database.execute("INSERT INTO events VALUES (1, '2020-01-01'), (2, '2037-01-01'), (3, NULL)");
    for key in [1, 2, 3] {
        let purge = database.purge(json!({"key": [key]})).expect("a purge");
        assert_eq!(purge["status"], "done", "{key}: {purge}");
        assert_eq!(purge["rules"][0]["rows"], 1, "{key}: {purge}");
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM events"), 0);
}

fn no_purge_goes_under_the_minimum_unless_it_is_told_to(dialect: Dialect) {
    let mut database = made(dialect, &graph_of(SPEC));
    fill(&mut database, dialect);
    let keys = json!([1, 2, 3, 4, 5]);
    let young = ["1", "2", "3", "4"];
    let refused = |reason: &str| -> Value { young.iter().map(|key| (*key, reason)).collect() };
    database
        .set_hold(json!({"rule": "runs", "key": 1, "reason": "audit"}))
        .expect("a hold");
    for rule in RULES {
        for dry in [true, false] {
            let purge = database
                .purge(json!({"rule": rule, "key": keys, "dry_run": dry}))
                .expect("a purge");
            let mut expected = refused("RETENTION_NOT_REACHED");
            if rule == "runs" {
                expected["1"] = json!("HELD");
            }
            assert_eq!(purge["refused"], expected, "{rule}");
            assert_eq!(purge["rules"][0]["families"], 1, "{rule}");
            assert_eq!(purge["forced"], Value::Null);
            let minimum = &purge["minimum"];
            assert_eq!(minimum["seconds"], 604_800, "{purge}");
            assert_eq!(minimum["safety_lag_seconds"], 3_600);
            assert!(minimum["before"].is_string(), "{purge}");
        }
        // What is not due by its retention is deleted past its minimum.
        let table = if rule == "tries" {
            "tries WHERE id < 99"
        } else {
            rule
        };
        let left = database.texts(&format!("SELECT id FROM {table} ORDER BY id"));
        assert_eq!(left, ["1", "2", "3", "4", "6"], "{rule}");
    }
    for wrong in [json!("true"), json!(1), Value::Null] {
        let error = database
            .purge(json!({"rule": "runs", "key": [2], "force": wrong}))
            .expect_err("no flag");
        assert!(format!("{error:#}").contains("22023"), "{error:#}");
    }
    for rule in RULES {
        let purge = database
            .purge(json!({"rule": rule, "key": keys, "force": true}))
            .expect("a purge");
        let mut gone = json!({"5": "NOT_A_ROOT"});
        if rule == "runs" {
            gone["1"] = json!("HELD");
        }
        assert_eq!(purge["refused"], gone, "{rule}");
        assert_eq!(purge["forced"], true);
        assert_eq!(purge["minimum"], Value::Null);
    }
    assert_eq!(ids(&mut database, "runs"), ["1", "6"]);
    assert_eq!(ids(&mut database, "store"), ["6"]);
}

/// Neither that it never expires nor a time that nobody wrote is one that the minimum could be counted from.
fn a_purge_says_of_a_row_without_a_time_that_it_has_none(dialect: Dialect) {
    let mut database = made(dialect, &graph_of(SPEC));
    let never = match dialect {
        Dialect::Postgres => "'infinity'",
        Dialect::Mysql | Dialect::Mariadb => "'9999-12-31 23:59:59'",
    };
    let (young, old) = (ago(dialect, 3), ago(dialect, 40));
    database.execute(&format!(
        "INSERT INTO store VALUES (1, NULL, NULL), (2, NULL, {young}), (3, {never}, {old}), (4, NULL, {never}), (5, NULL, {old}),
             (6, '2037-01-01', NULL), (7, NULL, {young})"
    ));
    let (undated, young) = ("UNDATED_MEMBER", "RETENTION_NOT_REACHED");
    let mut refused = json!({"1": undated, "2": young, "3": undated, "4": undated, "7": young});
    let mut keys = vec![1, 2, 3, 4, 5, 6, 7];
    if dialect == Dialect::Postgres {
        database.execute("INSERT INTO store VALUES (8, '-infinity', NULL)");
        refused["8"] = json!(undated);
        keys.push(8);
    }
    for dry in [true, false] {
        let purge = database
            .purge(json!({"rule": "store", "key": keys, "dry_run": dry}))
            .expect("a purge");
        assert_eq!(purge["refused"], refused, "{purge}");
        assert!(purge["minimum"]["before"].is_string(), "{purge}");
    }
    // Where nothing is too young, nothing is said of the minimum.
    let purge = database.purge(json!({"rule": "store", "key": [1, 3, 4]}));
    let purge = purge.expect("a purge");
    assert_eq!(purge["minimum"], Value::Null, "{purge}");
    let purge = database.purge(json!({"rule": "store", "key": keys, "force": true}));
    let purge = purge.expect("a purge");
    let gone = json!({"5": "NOT_A_ROOT", "6": "NOT_A_ROOT"});
    assert_eq!(purge["refused"], gone, "{purge}");
}

/// So many days before it was another time of the year in Berlin, whatever the date, and some days before and after that, too.
fn days_across_the_clocks(now: Timestamp) -> i64 {
    let berlin = TimeZone::get("Europe/Berlin").expect("a zone");
    let offset = |days: i64| {
        let at = now - SignedDuration::from_hours(24 * days);
        berlin.to_offset(at)
    };
    let other = |days: i64| (days - 3..=days + 3).all(|it| offset(it) != offset(0));
    let found = (60..=230).find(|days| other(*days));
    found.expect("summer and winter")
}

fn a_purge_counts_the_days_of_the_rule(dialect: Dialect) {
    // So it is on every day of a year.
    for day in 0..366 {
        let noon = "2027-01-01T12:00Z".parse::<Timestamp>().expect("a day");
        days_across_the_clocks(noon + SignedDuration::from_hours(24 * day));
    }
    let days = days_across_the_clocks(Timestamp::now());
    for kind in ["timestamp", "timestamptz"] {
        let spec = format!(
            r#"
name      = "halves"
time_zone = "Europe/Berlin"
[tables]
runs = {{ key = "id integer" }}
[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = {{ state = "done" }}
end_time  = "ended {kind}"
retention = {{ default = "400d", minimum = "{}d", safety_lag = "1d", days = "calendar" }}
"#,
            days - 1
        );
        let column = match dialect {
            Dialect::Postgres => kind,
            _ if kind == "timestamp" => "datetime(6)",
            _ => "timestamp(6) NULL",
        };
        let schema = format!(
            "CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, state varchar(20), ended {column})"
        );
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        database.arm();
        database.execute(match dialect {
            Dialect::Postgres => "SET timezone = 'UTC'",
            _ => "SET SESSION time_zone = '+00:00'",
        });
        // The functions that count are compared with the model elsewhere.
        let length = days * 86_400;
        let least = match dialect {
            Dialect::Postgres => database.texts(&format!(
                "SELECT to_char(W.calendar_before(now(), {length}, 'Europe/Berlin') AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"
            )),
            _ => {
                database.execute(&format!(
                    "CALL W.days_before(UTC_TIMESTAMP(6), {length}, 'Europe/Berlin', @least)"
                ));
                database.texts("SELECT DATE_FORMAT(@least, '%Y-%m-%d %T')")
            }
        };
        let least = &least[0];
        for (id, minutes) in [(1, -30), (2, 30)] {
            let ended = match dialect {
                Dialect::Postgres => {
                    let at = format!("timestamptz '{least}Z' + interval '{minutes} minutes'");
                    match kind {
                        "timestamp" => format!("({at}) AT TIME ZONE 'Europe/Berlin'"),
                        _ => at,
                    }
                }
                _ => {
                    let at = format!("CAST('{least}' AS datetime(6)) + INTERVAL {minutes} MINUTE");
                    match kind {
                        "timestamp" => format!("CONVERT_TZ({at}, '+00:00', 'Europe/Berlin')"),
                        _ => at,
                    }
                }
            };
            database.execute(&format!("INSERT INTO runs VALUES ({id}, 'done', {ended})"));
        }
        let purge = database.purge(json!({"key": [1, 2]})).expect("a purge");
        let refused = json!({"2": "RETENTION_NOT_REACHED"});
        assert_eq!(purge["refused"], refused, "{kind}: {purge}");
        let before = purge["minimum"]["before"].as_str().expect("an instant");
        let told = before.parse::<Timestamp>().expect("an instant");
        let least = format!("{least}Z").parse::<Timestamp>();
        let apart = told.duration_since(least.expect("an instant"));
        assert!(
            apart.abs() < SignedDuration::from_mins(20),
            "{kind}: {before}, {apart}"
        );
    }
}

/// A disabled policy keeps its scope for ever; a family without an end may have ended just now.
fn no_purge_passes_a_disabled_policy_unless_it_is_told_to(dialect: Dialect) {
    let mut database = made(dialect, &graph_of(SPEC));
    let long = ago(dialect, 400);
    for row in [
        format!(
            "runs VALUES (1, 1, 'done', {long}), (2, 2, 'done', {long}), (3, 1, 'done', NULL), (4, 2, 'run', {long})"
        ),
        "events VALUES (3, NULL)".to_owned(),
        "debris VALUES (3, 99, NULL)".to_owned(),
        "tries VALUES (3, 1, NULL), (99, 1, NULL)".to_owned(),
    ] {
        database.execute(&format!("INSERT INTO {row}"));
    }
    database
        .set_policy(json!({"rule": "runs", "scope": "2", "enabled": false}))
        .expect("a policy");
    let mut purge = |rule: &str, keys: Value, force: bool| {
        let purge = database.purge(json!({"rule": rule, "key": keys, "force": force}));
        purge.expect("a purge")["refused"].clone()
    };
    assert_eq!(
        purge("runs", json!([1, 2, 3, 4]), false),
        json!({"2": "POLICY_DISABLED", "3": "UNDATED_MEMBER", "4": "NON_FINAL_MEMBER"})
    );
    assert_eq!(
        purge("runs", json!([2, 3, 4]), true),
        json!({"4": "NON_FINAL_MEMBER"})
    );
    for rule in ["events", "debris", "tries"] {
        let undated = json!({"3": "UNDATED_MEMBER"});
        assert_eq!(purge(rule, json!([3]), false), undated, "{rule}");
        assert_eq!(purge(rule, json!([3]), true), json!({}), "{rule}");
    }
}
