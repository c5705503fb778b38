//! A hold keeps its family, from the moment on in which it is committed.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{SUCCESS, database, insert, left, link, root, run, sub, while_blocked};
use crate::harness::tests;

tests! {
    every_server: [
        a_held_family_stays_until_the_hold_ends,
        a_hold_counts_from_the_moment_it_is_committed,
    ],
}

fn a_held_family_stays_until_the_hold_ends(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(
        &mut database,
        &[
            root(1, SUCCESS, 90),
            root(2, SUCCESS, 90),
            sub(3, SUCCESS, 90),
            link(2, 3),
            root(4, SUCCESS, 90),
        ],
    );
    let later = "2999-01-01T00:00:00Z";
    for options in [
        json!({"key": 1, "reason": "audit"}),
        json!({"key": 3, "reason": "audit", "until": later}),
        json!({"key": 4, "reason": "audit", "until": later}),
    ] {
        let hold = database.set_hold(options).expect("a hold");
        assert_eq!(hold["exists"], true);
    }
    database.execute("UPDATE W.hold SET until = '2020-01-01' WHERE \"key\" = '4'");
    assert_eq!(run(&mut database, json!({})), json!({"HELD": 2}));
    assert_eq!(left(&mut database), ["1", "2", "3"]);
    database
        .call("release_hold", json!({"key": "3"}))
        .expect("a release");
    assert_eq!(run(&mut database, json!({})), json!({"HELD": 1}));
    assert_eq!(left(&mut database), ["1"]);
}

/// Holds are written while a batch waits, and the other way round, whatever isolation the session likes.
fn a_hold_counts_from_the_moment_it_is_committed(dialect: Dialect) {
    for isolation in ["read committed", "repeatable read", "serializable"] {
        let mut database = database(dialect, Shared::Closed);
        database
            .set_setting("lock_timeout", 60_000)
            .expect("a setting");
        insert(&mut database, &[root(1, SUCCESS, 90), root(2, SUCCESS, 90)]);
        let mut session = database.connect();
        let (likes, set_hold) = match dialect {
            Dialect::Postgres => ("SET default_transaction_isolation =", "SELECT"),
            Dialect::Mysql | Dialect::Mariadb => ("SET SESSION transaction_isolation =", "CALL"),
        };
        session
            .execute(&match dialect {
                Dialect::Postgres => format!("{likes} '{isolation}'"),
                Dialect::Mysql => format!("{likes} '{}'", isolation.replace(' ', "-")),
                Dialect::Mariadb => format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
            })
            .expect("a setting");
        let mut auditor = database.connect();
        auditor.execute("BEGIN").expect("a transaction");
        auditor
            .execute(&format!(
                "{set_hold} {}.set_hold('{{\"key\": 1, \"reason\": \"audit\"}}')",
                database.control
            ))
            .expect("a hold");
        let result = while_blocked(&mut database, session, move || {
            auditor.execute("COMMIT").expect("the hold is placed");
        });
        assert_eq!(
            result["rules"][0]["skipped"],
            json!({"HELD": 1}),
            "{isolation}"
        );
        assert_eq!(left(&mut database), ["1"], "{isolation}");
    }
}
