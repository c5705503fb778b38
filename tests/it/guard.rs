//! What holds runs back: locks, pauses of single rules, foreign keys that nobody told of, back-off, and servers where nobody armed
//! windrow. What replicas of MySQL and MariaDB do is in `events`, that a restart disarms nothing in `crash`.

use serde_json::{Value, json};
use windrow::answers;
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::{Graph, Shared};
use windrow::report;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{Installation, Session, call, dialect_of};
use crate::support::patience::until;

mod back_off;
mod copies;
mod failover;

tests! {
    every_server: [
        a_paused_rule_is_passed_over,
        a_foreign_key_that_nobody_told_of_stops_runs,
        arming_holds_nobody_up_and_is_done_whole_or_not_at_all,
    ],
    mysql_and_mariadb: [
        who_takes_the_lock_of_the_runs_is_written_down,
    ],
    within: [
        back_off::tests,
        copies::tests,
        failover::tests,
    ],
}

/// Two rules of one table each.
const SPEC: &str = r#"
name     = "guard"
schedule = "1 seconds"

[tables]
jobs   = { key = "id integer" }
events = { key = "id integer" }

[rules.jobs]
strategy  = "end-time"
root      = "jobs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1 }

[rules.events]
strategy  = "end-time"
root      = "events"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1 }
"#;

fn graph() -> Graph {
    graph_of(SPEC)
}

fn schema() -> String {
    ["jobs", "events"]
        .map(|table| {
            format!("CREATE TABLE {table} (id integer PRIMARY KEY, state varchar(20), ended timestamp NULL);\n")
        })
        .concat()
}

/// In each table three rows that are long due, and one that has no end.
fn rows() -> String {
    ["jobs", "events"]
        .map(|table| {
            format!(
                "INSERT INTO {table} (id, state, ended) VALUES (1, 'done', '2025-01-01 00:00:00'), (2, 'done', '2025-01-02 00:00:00'),
                 (3, 'done', '2025-01-03 00:00:00'), (4, 'running', NULL);\n"
            )
        })
        .concat()
}

fn installed(dialect: Dialect) -> Installation {
    let mut installation = Installation::of(dialect, &schema(), &graph());
    installation.execute(&rows());
    installation.arm();
    installation
}

fn left(installation: &mut Installation, table: &str) -> i64 {
    installation.number(&format!("SELECT COUNT(*) FROM {table}"))
}

const SCHEDULED: &str = r#"{"trigger": "SCHEDULED"}"#;

fn scheduled(installation: &mut Installation) -> Value {
    let options = serde_json::from_str(SCHEDULED).expect("options");
    installation.run(options).expect("a run, or a refusal")
}

/// Why nothing is deleted on this server, as it is told: the metric, a preview and `status` agree; nothing where all say that it is.
fn told(session: &mut Session, dialect: Dialect, control: &str) -> Option<String> {
    let mut text = |sql: &str, parameters: &[Option<&str>]| {
        let rows = session.query(sql, parameters).expect(sql);
        rows[0][0].clone().expect("a value")
    };
    let metric = format!(
        "SELECT COUNT(*) FROM {control}.metrics WHERE name = 'windrow_armed' AND value = 1"
    );
    let metric = text(&metric, &[]) == "1";
    let calls = Calls::new(dialect, control, "guard");
    let mut status: Value =
        serde_json::from_str(&text(&calls.status(), &[Some("guard")])).expect("a document");
    // As the command does it.
    let rows = session.query(&calls.not_armed(), &[]).expect("a reason");
    let refuses = rows.into_iter().flatten().flatten().next();
    status["control"]["armed"] = refuses.is_none().into();
    status["control"]["not_armed"] = refuses.into();
    let preview = call(session, dialect, control, "preview", &json!({})).expect("a preview");
    let reason = &preview["not_armed"];
    assert_eq!(metric, reason.is_null(), "{preview}");
    let control = &status["control"];
    assert_eq!(
        (&preview["armed"], &control["armed"]),
        (&json!(metric), &json!(metric)),
        "{status}"
    );
    // Whether a standby tries to follow may be another matter a moment later.
    assert_eq!(control["not_armed"].is_null(), reason.is_null(), "{status}");
    let screens = [
        (
            report::status(&answers::read("status", &status).expect("a status")),
            &control["not_armed"],
        ),
        (
            report::preview(&answers::read("preview", &preview).expect("a preview")),
            reason,
        ),
    ];
    for (screen, reason) in screens {
        let reason = reason.as_str().unwrap_or_default();
        assert!(screen.contains(reason), "{reason}: {screen}");
    }
    reason.as_str().map(ToOwned::to_owned)
}

/// Any session may take a lock by GET_LOCK: what it keeps from working is told where refusals are.
fn who_takes_the_lock_of_the_runs_is_written_down(flavour: Flavour) {
    let mut installation = installed(dialect_of(flavour));
    let mut stranger = crate::rights::user(&mut installation, None);
    let lock = windrow::render::run_lock(&installation.control);
    let taken = format!("SELECT GET_LOCK('{lock}', 0), CONNECTION_ID()");
    let taken = stranger.query(&taken, &[]).expect("a lock");
    assert_eq!(taken[0][0].as_deref(), Some("1"));
    let connection = taken[0][1].clone().expect("a number");
    let mut since = Vec::new();
    for _ in 0..2 {
        let refused = scheduled(&mut installation);
        assert_eq!(refused["status"], "refused", "{refused}");
        since.push(installation.rows("SELECT reason, CAST(since AS char(40)) FROM W.refusal"));
    }
    assert!(since[0].len() == 1 && since[0] == since[1], "{since:?}");
    let reason = since[0][0][0].as_deref().unwrap_or_default();
    assert!(
        reason.contains(&format!("connection {connection} is none")),
        "{reason}"
    );
    let verify = installation.call("verify", json!({})).expect("verify");
    let mut checks = verify["checks"].as_array().expect("checks").iter();
    assert!(checks.any(|check| check["check"] == "refused"), "{verify}");
    stranger
        .execute("DO RELEASE_ALL_LOCKS()")
        .expect("no lock is left");
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.refusal"), 0);
}

#[track_caller]
fn assert_paused(reason: &Value, rule: &str, why: &str) {
    let reason = reason.as_str().unwrap_or_default();
    assert!(
        reason.starts_with(&format!("rule {rule} is paused by ")) && reason.ends_with(why),
        "{reason}"
    );
}

fn a_paused_rule_is_passed_over(dialect: Dialect) {
    let mut installation = installed(dialect);
    // The first deletion of the first rule lets someone pause it: the run goes on with the other.
    let pause = "INSERT INTO W.rule_pause (rule, reason) SELECT 'jobs', 'enough' FROM W.control WHERE NOT EXISTS (SELECT 1 FROM W.rule_pause)";
    installation.execute(&match dialect {
        Dialect::Postgres => format!(
            "CREATE FUNCTION public.enough() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ BEGIN {pause}; RETURN NULL; END $$;
             CREATE TRIGGER enough AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION public.enough()"
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("CREATE TRIGGER enough AFTER DELETE ON jobs FOR EACH ROW {pause}")
        }
    });
    let run = scheduled(&mut installation);
    assert_eq!(run["status"], "stopped", "{run}");
    assert_paused(&run["reason"], "jobs", ": enough");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(run["rules"][1]["families"], 3, "{run}");
    installation.execute(match dialect {
        Dialect::Postgres => "DROP TRIGGER enough ON jobs",
        Dialect::Mysql | Dialect::Mariadb => "DROP TRIGGER enough",
    });

    // Who pauses it again gives another reason, and a run that asks for nothing else does not start.
    let pause = json!({"rule": "jobs", "reason": "audit"});
    let answer = installation.call("pause_rule", pause).expect("a pause");
    assert_eq!(
        (&answer["rule"], &answer["reason"]),
        (&json!("jobs"), &json!("audit"))
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &run["rules"][0]["rows"]),
        (&json!("stopped"), &json!(0))
    );
    assert_paused(&run["reason"], "jobs", ": audit");
    let run = installation
        .run(json!({"rule": "jobs"}))
        .expect("a refusal");
    assert_eq!(run["status"], "refused", "{run}");
    assert_paused(&run["reason"], "jobs", ": audit");
    let error = installation.purge(json!({"rule": "jobs", "key": [2]}));
    assert_eq!(
        failure::sqlstate(&error.expect_err("a pause")),
        Some("55000")
    );
    assert_eq!(left(&mut installation, "jobs"), 3);

    // With every rule paused no scheduled run starts; that is written down once, and not in the ledger.
    let pause = json!({"rule": "events"});
    installation.call("pause_rule", pause).expect("a pause");
    let runs = installation.number("SELECT COUNT(*) FROM W.run");
    let mut since = Vec::new();
    for _ in 0..2 {
        let refused = scheduled(&mut installation);
        assert_eq!(refused["status"], "refused", "{refused}");
        assert_paused(&refused["reason"], "jobs", ": no reason given");
        since.push(installation.rows("SELECT reason, CAST(since AS char(40)) FROM W.refusal"));
        // A purge is no run that could have begun.
        let last = installation.number("SELECT MAX(run_id) FROM W.run");
        let (name, now) = match dialect {
            Dialect::Postgres => ("trigger", "clock_timestamp()"),
            Dialect::Mysql | Dialect::Mariadb => ("`trigger`", "UTC_TIMESTAMP(6)"),
        };
        installation.execute(&format!(
            "UPDATE W.run SET {name} = 'PURGE', started_at = {now} WHERE run_id = {last}"
        ));
    }
    assert!(since[0].len() == 1 && since[0] == since[1], "{since:?}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), runs);
    let metrics = "SELECT COUNT(*) FROM W.metrics WHERE name = 'windrow_rule_paused' AND value = 1";
    assert_eq!(installation.number(metrics), 2);
    let verify = installation.call("verify", json!({})).expect("verify");
    let told = verify["checks"].as_array().expect("checks").iter();
    let told: Vec<&Value> = told
        .filter(|check| check["check"] == "paused" || check["check"] == "refused")
        .collect();
    let named = |name: &str| told.iter().any(|check| check["object"] == name);
    assert!(
        told.len() == 3 && named("events") && named("jobs"),
        "{told:?}"
    );

    for rule in ["jobs", "events"] {
        let resume = installation.call("resume_rule", json!({"rule": rule}));
        assert_eq!(resume.expect("a resumption")["rule"], rule);
    }
    let error = installation.call("resume_rule", json!({"rule": "jobs"}));
    assert_eq!(
        failure::sqlstate(&error.expect_err("no pause")),
        Some("22023")
    );
    let run = scheduled(&mut installation);
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(2))
    );
    assert_eq!(left(&mut installation, "jobs"), 1);
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.refusal"), 0);
}

/// A migration of the application adds a table whose rows the server would delete along, or change.
fn a_foreign_key_that_nobody_told_of_stops_runs(dialect: Dialect) {
    let mut installation = installed(dialect);
    let refers = |action: &str| {
        let rows = "INSERT INTO stranger (id, job) VALUES (1, 1), (2, 4)";
        format!(
            "DROP TABLE IF EXISTS stranger;
             CREATE TABLE stranger (id integer PRIMARY KEY, job integer, CONSTRAINT strange FOREIGN KEY (job) REFERENCES jobs (id) ON DELETE {action});
             {rows}"
        )
    };
    let checks = |installation: &mut Installation| {
        let verify = installation.call("verify", json!({})).expect("verify");
        let checks = verify["checks"].as_array().expect("checks").iter();
        checks
            .filter(|check| check["check"] == "reference")
            .map(|check| {
                ["severity", "object", "detail"]
                    .map(|name| check[name].as_str().unwrap_or_default())
                    .join(" ")
            })
            .collect::<Vec<_>>()
    };
    let finding = |action: &str| {
        format!(
            "stranger references jobs by strange (on delete {action}), and the spec does not know it"
        )
    };
    assert_eq!(checks(&mut installation), [""; 0]);
    for action in ["cascade", "set null"] {
        installation.execute(&refers(action));
        let told = finding(action);
        assert_eq!(
            checks(&mut installation),
            [format!(
                "violation {told}: its rows would be deleted or changed with it; runs refuse"
            )]
        );
        assert_refused(&mut installation, &format!("table {told}"));
        let calls = [
            ("run", json!({})),
            ("run", json!({"dry_run": true})),
            ("run", json!({"rule": "events"})),
            ("purge", json!({"rule": "jobs", "key": [1]})),
        ];
        for (routine, options) in calls {
            let error = installation
                .call(routine, options)
                .expect_err("a foreign key that nobody told of");
            assert!(format!("{error:#}").contains(&told), "{error:#}");
            assert_eq!(failure::sqlstate(&error), Some("55000"));
        }
        assert_eq!(left(&mut installation, "jobs"), 4);
        assert_eq!(
            installation.number("SELECT COUNT(*) FROM stranger WHERE job IS NOT NULL"),
            2
        );
    }

    // Where the server refuses a deletion by itself, nothing is lost: what may go goes.
    installation.execute(&refers("no action"));
    let told = finding("no action");
    assert_eq!(
        checks(&mut installation),
        [format!(
            "violation {told}: no family that it names can be deleted"
        )]
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["rules"][0]["families"], &run["rules"][1]["families"]),
        (&json!(2), &json!(3)),
        "{run}"
    );
    assert_eq!(left(&mut installation, "stranger"), 2);

    // Who installed in spite of it knows, and nothing runs all the same.
    installation.execute(&refers("cascade"));
    let findings = json!([{"code": "unlisted-reference", "severity": "error", "object": "stranger", "message": "", "help": ""}]);
    let note = match dialect {
        Dialect::Postgres => format!("SELECT W.record_forced_install('{findings}')"),
        Dialect::Mysql | Dialect::Mariadb => format!("CALL W.record_forced_install('{findings}')"),
    };
    installation.execute(&note);
    assert_refused(&mut installation, &format!("table {}", finding("cascade")));
    assert_eq!(left(&mut installation, "stranger"), 2);
}

/// Number, and reason, of the calls that a scheduler would have to make in vain.
fn assert_refused(installation: &mut Installation, start: &str) {
    let runs = installation.number("SELECT COUNT(*) FROM W.run");
    let mut since = Vec::new();
    for _ in 0..2 {
        let refused = scheduled(installation);
        let reason = refused["reason"].as_str().unwrap_or_default();
        assert!(reason.starts_with(start), "{refused}");
        since.push(installation.rows("SELECT reason, CAST(since AS char(40)) FROM W.refusal"));
    }
    assert!(since[0].len() == 1 && since[0] == since[1], "{since:?}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), runs);
}

/// Who arms reads whole tables, which takes its time. Meanwhile the pause works, and who breaks it off has changed nothing.
fn arming_holds_nobody_up_and_is_done_whole_or_not_at_all(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    let control = "SELECT CONCAT(server_identity, ' ', armed_at) FROM W.control";
    let before = installation.texts(control);
    let table = "t_ds_task_instance";
    let mut blocker = installation.connect();
    let (lock, unlock, waits) = match dialect {
        Dialect::Postgres => (
            format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"),
            "COMMIT",
            "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid =",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            format!("LOCK TABLES {table} WRITE"),
            "UNLOCK TABLES",
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'Waiting for table metadata lock' AND id =",
        ),
    };
    blocker.execute(&lock).expect("a lock");

    let mut session = installation.connect();
    let cancel = session.cancel();
    let waits = format!("{waits} {}", session.session().expect("a number"));
    let call = format!("CALL {}.arm()", installation.control);
    let arming = std::thread::spawn(move || session.execute(&call));
    until("somebody who arms waits", || {
        assert!(!arming.is_finished(), "it ended");
        Ok(installation.number(&waits) == 1)
    })
    .expect("it waits");
    let impatient = match dialect {
        Dialect::Postgres => "SET lock_timeout = '5s'",
        Dialect::Mysql | Dialect::Mariadb => "SET SESSION innodb_lock_wait_timeout = 5",
    };
    installation.execute(impatient);
    installation.execute("CALL W.pause('an audit')");
    installation.execute("CALL W.resume()");
    cancel().expect("a cancel");
    arming
        .join()
        .expect("no panic")
        .expect_err("it was cancelled");
    blocker.execute(unlock).expect("the end of the lock");
    assert_eq!(installation.texts(control), before);
    let answer = installation.run(json!({})).expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
}
