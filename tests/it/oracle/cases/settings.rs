//! Settings stay within their limits, and each change is logged.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{database, refused, run};
use crate::harness::tests;
use crate::support::installation::Installation;

tests! {
    every_server: [
        settings_stay_within_their_limits,
        every_change_of_a_setting_is_logged,
    ],
}

fn settings_stay_within_their_limits(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    for (name, least, most) in [
        ("batch_families", 1, 5_000),
        ("run_families", 1, 999_999_999_999_999_999),
        ("run_rows", 0, 999_999_999_999_999_999),
        ("time_budget", 1, 86_400),
        ("lock_timeout", 1, 60_000),
        ("retries", 0, 100),
        ("ledger_days", 1, 36_500),
    ] {
        for value in [least, most] {
            let answer = database.set_setting(name, value).expect("a setting");
            assert_eq!(answer["value"], value);
        }
        if least > 0 {
            refused(database.set_setting(name, least - 1), "22023");
        }
        if most < 999_999_999 {
            refused(database.set_setting(name, most + 1), "22023");
        }
        let cleared = database
            .call("set_setting", json!({"name": name, "value": null}))
            .expect("the default again");
        assert_ne!(cleared["value"], most);
    }
    refused(database.set_setting("speed", 1), "22023");
    refused(database.set_setting("retries", -1), "22023");
    assert_eq!(database.number("SELECT count(*) FROM W.setting"), 0);

    // By hand, the database names the limits, too.
    for (name, value, says) in [
        (
            "batch_families",
            0,
            "batch_families takes 1 to 5000 families",
        ),
        ("speed", 1, "no such setting"),
    ] {
        let insert = format!(
            "INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', '{name}', {value})"
        );
        crate::session::refused(database.attempt(&insert), &[says]);
    }
}

/// What a setting was and is, and whether it is known who has changed it: all is logged, also what is written by hand.
fn every_change_of_a_setting_is_logged(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    database.set_setting("retries", 4).expect("a setting");
    database.set_setting("retries", 4).expect("a setting");
    database.execute("INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', 'time_budget', 900)");
    database.set_setting("retries", 5).expect("a setting");
    database.execute("UPDATE W.setting SET value = 6 WHERE name = 'retries'");
    database.execute("DELETE FROM W.setting WHERE name = 'time_budget'");
    run(&mut database, json!({}));
    let unknown = database.number("SELECT COUNT(*) FROM W.setting_log WHERE changed_by IS NULL");
    assert_eq!(unknown, if dialect == Dialect::Postgres { 0 } else { 3 });
    let log = |database: &mut Installation| {
        ["retries", "time_budget"].map(|name| {
            database.texts(&format!(
                "SELECT COALESCE(new_value, -1) FROM W.setting_log WHERE name = '{name}' ORDER BY log_id"
            ))
        })
    };
    let all = [vec!["4", "5", "6"], vec!["900", "-1"]];
    assert_eq!(log(&mut database), all);
    let broken = "SELECT COUNT(*) FROM W.setting_log AS l WHERE COALESCE(l.old_value, -1) <> COALESCE((SELECT p.new_value FROM W.setting_log AS p WHERE p.name = l.name AND p.log_id < l.log_id ORDER BY p.log_id DESC LIMIT 1), -1)";
    assert_eq!(database.number(broken), 0);
    let shown = "SELECT COUNT(*) FROM W.settings WHERE value = 6 AND spec_value = 3 AND unit = 'times' AND changed_by IS NOT NULL";
    assert_eq!(database.number(shown), 1);

    // The ledger forgets; who has set a setting last is not forgotten, and a run takes nothing for a change.
    database.execute("UPDATE W.setting_log SET changed_at = '2020-01-01 00:00:00'");
    for _ in 0..2 {
        run(&mut database, json!({}));
        assert_eq!(log(&mut database), [["6"], ["-1"]]);
    }
}
