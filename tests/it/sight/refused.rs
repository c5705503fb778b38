//! `windrow_refused`: why no scheduled run began since the last run did.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::facts::REFUSALS;
use windrow::sandbox::mysql::Flavour;

use super::{TWO_RULES, of_two_rules, samples};
use crate::halfway;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of};

tests! {
    every_server: [
        a_refused_run_is_seen_until_the_next_one_begins,
        a_reason_that_comes_back_is_seen_again,
        every_refusal_has_a_metric,
        what_the_rule_knows_is_no_refusal,
        an_error_before_a_run_begins_is_a_refusal,
    ],
    mysql_and_mariadb: [
        an_unknown_zone_and_a_log_of_statements_are_refusals,
    ],
}

/// What a migration of the application adds.
const MIGRATION: &str = "CREATE TABLE notes (id integer PRIMARY KEY, event_id integer,
    FOREIGN KEY (event_id) REFERENCES events (id) ON DELETE CASCADE)";

const REASONS: [&str; 4] = ["CATALOG", "INSTALLATION", "OTHER", "RULES_PAUSED"];

/// The reasons that the metric gives; each has its series, at any time.
fn refused(installation: &mut Installation) -> Vec<String> {
    let samples = samples(installation);
    let series: Vec<(String, f64)> = samples
        .into_iter()
        .filter_map(|(key, value)| {
            let reason = key.strip_prefix("windrow_refused{reason=")?;
            Some((reason.trim_end_matches('}').to_owned(), value))
        })
        .collect();
    let names: Vec<&str> = series.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names, REASONS);
    let these = series.into_iter().filter(|it| it.1 > 0.0);
    these.map(|it| it.0).collect()
}

fn armed(dialect: Dialect) -> Installation {
    let mut installation = of_two_rules(dialect);
    for table in ["events", "mails"] {
        installation.execute(&format!(
            "INSERT INTO {table} VALUES (1, '2020-01-01'), (2, '2020-01-02')"
        ));
    }
    installation
}

/// What the next start of the schedule answers.
fn scheduled(installation: &mut Installation) -> Value {
    let answer = installation.run(json!({"trigger": "SCHEDULED"}));
    answer.expect("an answer")
}

fn is_refused(installation: &mut Installation, reason: &str) {
    let answer = scheduled(installation);
    assert_eq!(answer["status"], "refused", "{answer}");
    assert_eq!(refused(installation), [reason], "{answer}");
}

fn begins(installation: &mut Installation) {
    let answer = scheduled(installation);
    assert_eq!(answer["status"], "done", "{answer}");
    assert!(refused(installation).is_empty());
}

fn a_refused_run_is_seen_until_the_next_one_begins(dialect: Dialect) {
    let mut installation = armed(dialect);
    for rule in ["events", "mails"] {
        let none = json!({"rule": rule, "name": "back_off_max", "value": 0});
        installation.call("set_setting", none).expect("a setting");
    }
    assert!(refused(&mut installation).is_empty());

    installation.execute(MIGRATION);
    is_refused(&mut installation, "CATALOG");
    installation.execute("DROP TABLE notes");
    assert_eq!(refused(&mut installation), ["CATALOG"]);
    begins(&mut installation);

    for rule in ["events", "mails"] {
        let pause = json!({"rule": rule, "reason": "audit"});
        installation.call("pause_rule", pause).expect("a pause");
    }
    is_refused(&mut installation, "RULES_PAUSED");
    installation
        .call("resume_rule", json!({"rule": "mails"}))
        .expect("no pause");
    let answer = scheduled(&mut installation);
    assert_eq!(answer["status"], "stopped", "{answer}");
    assert!(refused(&mut installation).is_empty());
    installation
        .call("resume_rule", json!({"rule": "events"}))
        .expect("no pause");

    // An installation that broke off.
    let more = TWO_RULES.replace("30d", "31d");
    halfway::broken_off(&mut installation, &graph_of(&more), "/48_verify");
    is_refused(&mut installation, "INSTALLATION");
    halfway::broken_off(&mut installation, &graph_of(&more), "/99");
    begins(&mut installation);

    // Where it is not armed, another metric says so.
    installation.execute(MIGRATION);
    is_refused(&mut installation, "CATALOG");
    installation.execute("UPDATE W.control SET armed = false");
    assert!(refused(&mut installation).is_empty());
    installation.execute("DROP TABLE notes");
    installation.arm();
    begins(&mut installation);
}

/// Since when it is refused.
fn noted(installation: &mut Installation) -> Vec<String> {
    let since = match installation.dialect {
        Dialect::Postgres => "since::text",
        Dialect::Mysql | Dialect::Mariadb => "CAST(since AS char)",
    };
    installation.texts(&format!("SELECT {since} FROM W.refusal"))
}

/// Between two refusals somebody has mended it and called a run.
fn a_reason_that_comes_back_is_seen_again(dialect: Dialect) {
    let mut installation = armed(dialect);
    for _ in 0..2 {
        installation.execute(MIGRATION);
        is_refused(&mut installation, "CATALOG");
        let since = noted(&mut installation);
        is_refused(&mut installation, "CATALOG");
        assert_eq!(noted(&mut installation), since, "a row says since when");
        installation.execute("DROP TABLE notes");
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert!(refused(&mut installation).is_empty());
    }
}

/// What is as it should be, or has a metric of its own.
fn what_the_rule_knows_is_no_refusal(dialect: Dialect) {
    let mut installation = armed(dialect);
    let is_other = |installation: &mut Installation, reason: &str| {
        let answer = scheduled(installation);
        assert_eq!(answer["status"], "refused", "{answer}");
        let said = answer["reason"].as_str().expect("a reason");
        assert!(said.starts_with(reason), "{answer}");
        assert_eq!(
            installation.texts("SELECT reason FROM W.refusal"),
            [said],
            "{answer}"
        );
        assert!(refused(installation).is_empty(), "{answer}");
    };
    installation
        .call("set_windows", json!({"windows": ["never"]}))
        .expect("windows");
    is_other(&mut installation, "no window is open");
    installation
        .call("set_windows", json!({"windows": null}))
        .expect("windows");
    installation.execute("CALL W.pause('audit')");
    is_other(&mut installation, "paused by");
    installation.execute("CALL W.resume()");
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_eq!(scheduled(&mut installation)["status"], "done");
    is_other(&mut installation, "nothing left");
    installation.execute("UPDATE W.control SET armed = false");
    is_other(&mut installation, "not armed");
}

/// What the metric makes of each refusal that there is; `None`: another metric says it, or nothing does because all is well, or it
/// is never noted.
const METRIC: [(&str, Option<&str>); 20] = [
    ("paused by", None),
    ("rule %s is %s", Some("RULES_PAUSED")),
    ("not armed", None),
    ("armed on another server", None),
    ("armed for another", None),
    ("this server has started since the last run", None),
    ("catalog changed", Some("CATALOG")),
    ("an installation is not finished", Some("INSTALLATION")),
    ("no foreign key is checked", Some("OTHER")),
    ("the collation", Some("OTHER")),
    ("no window is open", None),
    ("suspended after", None),
    ("nothing left", None),
    ("another run is starting", Some("OTHER")),
    ("run %s is in progress", Some("OTHER")),
    ("another stamp is starting", Some("OTHER")),
    ("stamp %s is in progress", Some("OTHER")),
    ("the server is read-only", Some("OTHER")),
    ("table %s", Some("CATALOG")),
    ("error %s", Some("OTHER")),
];

fn every_refusal_has_a_metric(dialect: Dialect) {
    let mut installation = armed(dialect);
    let known: Vec<&str> = METRIC.iter().map(|it| it.0).collect();
    let all: Vec<&str> = REFUSALS.iter().map(|it| it.words).collect();
    assert_eq!(known, all);
    let now = match dialect {
        Dialect::Postgres => "clock_timestamp()",
        Dialect::Mysql | Dialect::Mariadb => "UTC_TIMESTAMP(6)",
    };
    for (words, reason) in METRIC {
        let words = words.replace("%s", "x");
        installation.execute(&format!(
            "DELETE FROM W.refusal; INSERT INTO W.refusal (server, reason, since) VALUES ('s', '{words} more', {now})"
        ));
        let expected: Vec<&str> = reason.into_iter().collect();
        assert_eq!(refused(&mut installation), expected, "{words}");
    }
    // One of another server was there before.
    installation.execute(&format!(
        "INSERT INTO W.refusal (server, reason, since) VALUES ('t', 'no window is open: never', {now})"
    ));
    assert!(refused(&mut installation).is_empty());
}

/// Nobody may read the errors of what calls a scheduled run.
fn an_error_before_a_run_begins_is_a_refusal(dialect: Dialect) {
    let mut installation = armed(dialect);
    let mut fails = |options: Value, reasons: &[&str]| {
        let error = installation.run(options.clone()).expect_err("an error");
        let error = format!("{error:#}");
        assert!(error.contains("no such rule"), "{error}");
        assert_eq!(refused(&mut installation), reasons, "{options}");
    };
    fails(json!({"rule": "none"}), &[]);
    fails(
        json!({"rule": "none", "trigger": "SCHEDULED", "dry_run": true}),
        &[],
    );
    fails(json!({"rule": "none", "trigger": "SCHEDULED"}), &["OTHER"]);
    let since = noted(&mut installation);
    let scheduled = json!({"rule": "none", "trigger": "SCHEDULED"});
    installation.run(scheduled).expect_err("an error");
    assert_eq!(noted(&mut installation), since, "it says since when");
    let said = installation.texts("SELECT reason FROM W.refusal");
    assert!(said[0].starts_with("error "), "{said:?}");
    assert!(said[0].contains("no such rule"), "{said:?}");
    if dialect == Dialect::Postgres {
        // Where the error comes from is kept as well.
        let detail = installation.texts("SELECT detail FROM W.refusal");
        assert!(detail[0].contains("function check_rule("), "{detail:?}");
        let status = installation.texts(
            "SELECT c ->> 'detail' FROM json_array_elements(W.verify() -> 'checks') AS c WHERE c ->> 'check' = 'refused'",
        );
        assert!(status[0].contains("function check_rule("), "{status:?}");
    }
    begins(&mut installation);
}

fn an_unknown_zone_and_a_log_of_statements_are_refusals(flavour: Flavour) {
    let mut installation = armed(dialect_of(flavour));
    let mut fails = |fault: &str, words: &str, cure: &str| {
        installation.execute(fault);
        let error = installation.run(json!({"trigger": "SCHEDULED"}));
        let error = format!("{:#}", error.expect_err("an error"));
        assert!(error.contains(words), "{error}");
        assert_eq!(refused(&mut installation), ["OTHER"], "{error}");
        installation.execute(cure);
        installation.run(json!({})).expect("a run");
        assert!(refused(&mut installation).is_empty());
    };
    fails(
        "INSERT INTO W.run_window (position, written, days, begins, ends, zone) \
         VALUES (1, 'Nowhere', '1234567', '00:00', '24:00', 'Nowhere/Land')",
        "time zone",
        "DELETE FROM W.run_window",
    );
    fails(
        "SET SESSION binlog_format = 'STATEMENT'",
        "binlog_format",
        "SET SESSION binlog_format = 'ROW'",
    );
}
