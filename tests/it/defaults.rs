//! A policy for which nobody named a retention follows the default of the spec, whatever the installed one says.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        a_policy_without_a_retention_follows_the_spec,
        a_policy_of_an_earlier_version_keeps_its_number,
        a_policy_that_follows_no_default_keeps_its_scope,
    ],
}

const SPEC: &str = r#"
name = "defaults"

[tables]
runs = { key = "id integer" }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { RETENTION, minimum = "7d", safety_lag = "1h" }
"#;

/// The scopes, and what gives a retention besides the default.
const KINDS: [&str; 4] = [
    r#"per = "a integer", opt_in = true"#,
    r#"per = "a integer""#,
    r#"per = "b varchar", opt_in = true"#,
    r#"per = "b varchar", by_value = { "9" = "90d" }, days = "calendar""#,
];

const DAY: i64 = 86_400;

fn graph(kind: &str, default: &str) -> Graph {
    let default = format!("{kind}, default = \"{default}\"");
    graph_of(&SPEC.replace("RETENTION", &default))
}

/// Runs that ended forty days ago: in each of six scopes one, which has its name.
fn made(dialect: Dialect, graph: &Graph) -> Installation {
    let (time, ago) = match dialect {
        Dialect::Postgres => ("timestamp", "timezone('UTC', now()) - interval '40 days'"),
        Dialect::Mysql | Dialect::Mariadb => ("datetime(6)", "UTC_TIMESTAMP(6) - INTERVAL 40 DAY"),
    };
    let schema = format!(
        "CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, a integer, b varchar(20), state varchar(20), ended {time})"
    );
    let mut database = Installation::of(dialect, &schema, graph);
    for id in 1..=6 {
        database.execute(&format!(
            "INSERT INTO runs VALUES ({id}, {id}, '{id}', 'done', {ago})"
        ));
    }
    database.arm();
    database
}

fn install(database: &mut Installation, graph: &Graph) {
    database.install(graph);
    database.arm();
}

fn left(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT id FROM runs ORDER BY id")
}

/// How many are due: by a preview, and by the view of the backlog.
#[track_caller]
fn due(database: &mut Installation, families: i64) {
    let preview = database.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], families, "{preview}");
    let backlog = "SELECT value FROM W.metrics WHERE name = 'windrow_backlog_families'";
    assert_eq!(database.number(backlog), families);
}

/// What a policy says after a change: the retention that is in force, in days, and whether it is the spec's.
#[track_caller]
fn says(database: &mut Installation, policy: Value, days: Option<i64>, follows: bool) {
    let said = database.set_policy(policy).expect("a policy");
    assert_eq!(said["follows_spec"], follows, "{said}");
    let seconds = days.map_or(Value::Null, |days| json!(days * DAY));
    assert_eq!(said["retention_seconds"], seconds, "{said}");
}

fn a_policy_without_a_retention_follows_the_spec(dialect: Dialect) {
    for kind in KINDS {
        let mut database = made(dialect, &graph(kind, "30d"));
        for (policy, days, follows) in [
            (json!({"scope": "1"}), 30, true),
            (json!({"scope": "2", "retention": "30d"}), 30, false),
            (json!({"scope": "3", "enabled": false}), 30, true),
            (json!({"scope": "3", "enabled": true}), 30, true),
            (json!({"scope": "4", "retention": "45d"}), 45, false),
            (json!({"scope": "4", "note": "longer"}), 45, false),
            (json!({"scope": "4", "retention": "default"}), 30, true),
            (json!({"scope": "5", "retention": "default"}), 30, true),
            (json!({"scope": "6", "enabled": false}), 30, true),
        ] {
            says(&mut database, policy, Some(days), follows);
        }
        due(&mut database, 5);

        // What is to stay longer stays, without a word to each scope.
        install(&mut database, &graph(kind, "180d"));
        due(&mut database, 1);
        let run = database.run(json!({})).expect("a run");
        assert_eq!(left(&mut database), ["1", "3", "4", "5", "6"], "{run}");
        let note = json!({"scope": "1", "note": "as the spec"});
        says(&mut database, note, Some(180), true);
        let word = json!({"scope": "1", "retention": "DEFAULT"});
        let refused = database.set_policy(word).expect_err("a word");
        assert!(format!("{refused:#}").contains("22023"), "{refused:#}");

        // And the other way round.
        install(&mut database, &graph(kind, "35d"));
        due(&mut database, 4);
        for (option, families) in [(json!({"retention": "60d"}), 0), (json!({"scope": "3"}), 1)] {
            let preview = database.preview(option).expect("a preview");
            assert_eq!(preview["rules"][0]["families"], families, "{preview}");
        }
        let run = database.run(json!({})).expect("a run");
        assert_eq!(left(&mut database), ["6"], "{run}");
    }
}

/// It had a number in each policy, copied from the spec of that day.
fn a_policy_of_an_earlier_version_keeps_its_number(dialect: Dialect) {
    let kind = KINDS[0];
    let mut database = made(dialect, &graph(kind, "30d"));
    database.execute(match dialect {
        Dialect::Postgres => "ALTER TABLE W.policy ALTER retention_seconds SET NOT NULL",
        _ => "ALTER TABLE W.policy MODIFY retention_seconds bigint NOT NULL",
    });
    for scope in [1, 2] {
        database.execute(&format!(
            "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('runs', '{scope}', 2592000)"
        ));
    }
    install(&mut database, &graph(kind, "180d"));
    let enabled = json!({"scope": "1", "enabled": true});
    says(&mut database, enabled, Some(30), false);
    due(&mut database, 2);
    let follow = json!({"scope": "1", "retention": "default"});
    says(&mut database, follow, Some(180), true);
    due(&mut database, 1);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), ["1", "3", "4", "5", "6"], "{run}");
}

/// The default was taken out of the spec.
fn a_policy_that_follows_no_default_keeps_its_scope(dialect: Dialect) {
    for per in ["a integer", "b varchar"] {
        let first = graph(&format!("per = \"{per}\", opt_in = true"), "30d");
        let mut database = made(dialect, &first);
        for scope in ["1", "2"] {
            says(&mut database, json!({"scope": scope}), Some(30), true);
        }
        let values = format!("per = \"{per}\", by_value = {{ \"9\" = \"90d\" }}");
        let graph = graph_of(&SPEC.replace("RETENTION", &values));
        install(&mut database, &graph);
        due(&mut database, 0);
        let run = database.run(json!({})).expect("a run");
        assert_eq!(left(&mut database).len(), 6, "{run}");
        let verify = database.call("verify", json!({})).expect("checks");
        let told = verify.to_string();
        assert_eq!(told.matches("which has none").count(), 2, "{told}");
        let checks = verify["checks"].as_array().expect("checks").iter();
        let mut policies = checks.filter(|it| it["check"] == "policy");
        assert!(policies.all(|it| it["severity"] == "notice"), "{verify}");

        for policy in [
            json!({"scope": "3"}),
            json!({"scope": "1", "retention": "default"}),
        ] {
            let refused = database.set_policy(policy).expect_err("how long?");
            let refused = format!("{refused:#}");
            assert!(refused.contains("no default retention"), "{refused}");
        }
        let disabled = json!({"scope": "1", "enabled": false});
        says(&mut database, disabled, None, true);
        let longer = json!({"scope": "1", "enabled": true, "retention": "35d"});
        says(&mut database, longer, Some(35), false);
        let dropped = database.call("drop_policy", json!({"scope": "2"}));
        let dropped = dropped.expect("it is dropped");
        assert_eq!(dropped["follows_spec"], true, "{dropped}");
        assert_eq!(dropped["retention_seconds"], Value::Null, "{dropped}");
        due(&mut database, 1);
        let run = database.run(json!({})).expect("a run");
        assert_eq!(left(&mut database).len(), 5, "{run}");
    }
}
