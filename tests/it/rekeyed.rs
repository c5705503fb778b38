//! Keys that are none of the rule's type: those of holds and of skips from before the spec had another key, and an instant in the place
//! of one.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        what_has_keys_of_another_type_breaks_nothing,
        what_was_left_of_an_instant_darkens_no_metric,
    ],
}

/// One rule of each kind. `KEY` is a column and its type, `COLUMN` the column.
const SPEC: &str = r#"
name = "rekeyed"

[tables]
runs  = { key = "KEY" }
jobs  = { key = "KEY" }
logs  = { parents = ["job_COLUMN -> jobs.COLUMN"], indexed = ["due"] }
parts = { key = "KEY", indexed = ["ended"] }
mails = { key = "KEY" }
lost  = { key = "KEY" }
shots = { key = "KEY" }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d" }

[rules.jobs]
strategy  = "removal-time"
root      = "jobs"
time      = "due timestamp"
tables    = ["logs: job_COLUMN", "jobs: COLUMN"]
retention = { safety_lag = "0s" }

[rules.parts]
strategy  = "age"
root      = "parts"
time      = "ended timestamp"
retention = { default = "30d" }

[rules.mails]
strategy = "expiry"
root     = "mails"
time     = "expires timestamp"

[rules.lost]
strategy = "orphan"
root     = "lost"
needs    = ["owner_id -> owners.id"]
at_once  = true

[rules.shots]
strategy = "keep-last"
root     = "shots"
keep     = { newest = 1, per = "kind integer", by = "number integer" }
"#;

const RULES: [&str; 6] = ["runs", "jobs", "parts", "mails", "lost", "shots"];

fn spec(key: &str) -> String {
    let column = key.split(' ').next().expect("a column");
    SPEC.replace("KEY", key).replace("COLUMN", column)
}

fn database(dialect: Dialect, key: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let keys = "id integer NOT NULL PRIMARY KEY, uid varchar(36) NOT NULL UNIQUE";
    let schema = format!(
        "CREATE TABLE owners (id integer PRIMARY KEY);
         CREATE TABLE runs ({keys}, state varchar(20), ended {time});
         CREATE TABLE jobs ({keys}, due {time});
         CREATE TABLE logs (job_id integer, job_uid varchar(36), due {time});
         CREATE TABLE parts ({keys}, ended {time});
         CREATE TABLE mails ({keys}, expires {time});
         CREATE TABLE lost ({keys}, owner_id integer);
         CREATE TABLE shots ({keys}, kind integer, number integer);
         CREATE INDEX logs_id ON logs (job_id); CREATE INDEX logs_uid ON logs (job_uid); CREATE INDEX logs_due ON logs (due);
         CREATE INDEX jobs_due ON jobs (due); CREATE INDEX parts_ended ON parts (ended); CREATE INDEX runs_ended ON runs (ended);
         CREATE INDEX mails_time ON mails (expires)"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec(key)));
    for id in 1..=3 {
        for row in [
            format!("runs VALUES ({id}, 'u{id}', 'done', '2020-01-01')"),
            format!("jobs VALUES ({id}, 'u{id}', '2020-01-01')"),
            format!("logs VALUES ({id}, 'u{id}', '2020-01-01')"),
            format!("parts VALUES ({id}, 'u{id}', '2020-01-01')"),
            format!("mails VALUES ({id}, 'u{id}', '2020-01-01')"),
            format!("lost VALUES ({id}, 'u{id}', {id})"),
            format!("shots VALUES ({id}, 'u{id}', 1, {id})"),
        ] {
            database.execute(&format!("INSERT INTO {row}"));
        }
    }
    database
}

/// Installs the spec with another key. Like `windrow install`, without the routines that answered another type.
fn install(windrow: &mut Installation, key: &str) {
    if windrow.dialect == Dialect::Postgres {
        let old = windrow.texts(
            &format!(
                "SELECT format('DROP FUNCTION %s CASCADE', p.oid::regprocedure) FROM pg_proc AS p
             WHERE p.pronamespace = 'W'::regnamespace AND p.proname ~ '^({})_'",
                RULES.join("|")
            )
            .replace("'W'", &format!("'{}'", windrow.control)),
        );
        for statement in old {
            windrow.execute(&statement);
        }
    }
    windrow.install(&graph_of(&spec(key)));
}

/// What each rule would delete, and what a hold keeps of it.
fn told(answer: &Value) -> Vec<(&str, &Value, i64)> {
    let rules = answer["rules"].as_array().expect("rules").iter();
    let held = |rule: &Value| rule["skipped"]["HELD"].as_i64().unwrap_or_default();
    let told = rules.map(|rule| {
        (
            rule["rule"].as_str().expect("a name"),
            &rule["families"],
            held(rule),
        )
    });
    told.collect()
}

fn what_has_keys_of_another_type_breaks_nothing(dialect: Dialect) {
    for (before, after, key, other) in [
        ("uid varchar", "id integer", json!("u1"), json!(1)),
        ("id integer", "uid varchar", json!(1), json!("u1")),
    ] {
        let mut windrow = database(dialect, before);
        windrow.arm();
        for rule in RULES {
            let hold = json!({"rule": rule, "key": key, "reason": "audit"});
            windrow.set_hold(hold).expect("a hold");
            // One for which no row was there.
            let absent = match key {
                Value::String(_) => json!("u9"),
                _ => json!(9),
            };
            let hold =
                json!({"rule": rule, "key": absent, "reason": "audit", "even_if_absent": true});
            windrow.set_hold(hold).expect("a hold");
        }
        // What this run keeps is told by its keys until another one has looked.
        windrow.run(json!({"dry_run": true})).expect("a run");
        install(&mut windrow, after);
        for view in ["metrics", "undeletable", "backlog"] {
            windrow.number(&format!("SELECT count(*) FROM W.{view}"));
        }
        for rule in RULES {
            let hold = json!({"rule": rule, "key": other, "reason": "audit"});
            windrow.set_hold(hold).expect("a hold");
        }
        let preview = windrow.preview(json!({})).expect("a preview");
        let run = windrow.run(json!({"dry_run": true})).expect("a dry run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(told(&preview), told(&run));
        for (rule, families, held) in told(&preview) {
            let expected = if rule == "shots" { 1 } else { 2 };
            assert_eq!(families, &json!(expected), "{rule}: {preview}");
            assert_eq!(held, 1, "{rule}: {preview}");
        }
        let verify = windrow.call("verify", json!({})).expect("verify");
        let failed = verify.to_string().contains("fails");
        assert!(!failed, "{verify}");
        windrow.call("outlook", json!({})).expect("an outlook");
        for view in ["metrics", "undeletable", "backlog"] {
            windrow.number(&format!("SELECT count(*) FROM W.{view}"));
        }
        // Somebody arms all the same: what has the key of now is kept, and the rest goes.
        windrow.execute("DELETE FROM W.hold WHERE refers_to IS NOT NULL");
        windrow.arm();
        let run = windrow.run(json!({})).expect("a run");
        assert_eq!(told(&run), told(&preview));
    }
}

fn what_was_left_of_an_instant_darkens_no_metric(dialect: Dialect) {
    let mut windrow = database(dialect, "id integer");
    windrow.execute("DELETE FROM logs");
    windrow.execute("INSERT INTO logs VALUES (NULL, NULL, '2019-01-01')");
    windrow.execute(match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
             CREATE TRIGGER veto BEFORE DELETE ON logs FOR EACH ROW EXECUTE FUNCTION veto()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TRIGGER veto BEFORE DELETE ON logs FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'"
        }
    });
    windrow.arm();
    let run = windrow.run(json!({"rule": "jobs"})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    let sample = windrow.texts("SELECT sample_key FROM W.undeletable WHERE reason = 'FAILED'");
    assert!(
        sample.len() == 1 && sample[0].starts_with("2019"),
        "{sample:?}"
    );
    for view in ["undeletable", "metrics"] {
        assert!(windrow.number(&format!("SELECT count(*) FROM W.{view}")) > 0);
        let rows = windrow.rows(&format!("SELECT * FROM W.{view}"));
        assert!(!rows.is_empty());
    }
}
