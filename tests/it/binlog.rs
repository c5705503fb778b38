//! What reaches the binary log of MySQL and MariaDB, and so a replica: what was committed, and nothing that a dry run or a
//! failed batch rolled back.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::graph::Graph;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use crate::harness::tests;
use crate::support::effort;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session};
use crate::support::patience::until;

tests! {
    mysql_and_mariadb: [
        what_is_rolled_back_is_not_in_the_binary_log,
        a_replica_without_transactions_keeps_what_a_dry_run_takes_back,
        a_log_of_statements_is_refused,
        a_server_that_wants_a_primary_key_of_every_table_is_served,
    ],
}

const SPEC: &str = r#"
name = "binlog"

[tables]
job   = { key = "id bigint" }
step  = { key = "id bigint", parents = ["job_id -> job.id"] }
part  = { parents = ["step_id -> step.id"] }
link  = { parents = ["job_id -> job.id", "below -> job.id"], with = "any" }
task  = { key = "id bigint" }
event = { parents = ["root_id -> task.id"] }
mail  = { key = "id bigint" }
page  = { parents = ["mail_id -> mail.id"] }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
hierarchy = ["link: job_id -> below"]
retention = { default = "30d", per = "project", opt_in = true }
archive   = true

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at"
end_time  = "ended"
tables    = ["event: root_id", "task: root_id"]
unit      = "UNIT"
retention = { safety_lag = "0s" }

[rules.tasks.stamp]
start    = "started"
per      = "kind varchar"
from     = "definition: id -> keep days"
own      = ["event: root_id"]

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
"#;

const SCHEMA: &str = "CREATE TABLE job (id bigint PRIMARY KEY, project bigint, state varchar(20), ended datetime(6), KEY (project, ended, id));
CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint, KEY (job_id));
CREATE TABLE link (id bigint PRIMARY KEY, job_id bigint, below bigint, KEY (job_id), KEY (below));
CREATE TABLE part (id bigint PRIMARY KEY, step_id bigint, KEY (step_id));
CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, kind varchar(20), started datetime(6), ended datetime(6), remove_at datetime(6), KEY (remove_at), KEY (root_id));
CREATE TABLE event (id bigint PRIMARY KEY, root_id bigint, remove_at datetime(6), KEY (remove_at), KEY (root_id));
CREATE TABLE mail (id bigint PRIMARY KEY, expires datetime(6), KEY (expires, id));
CREATE TABLE page (id bigint PRIMARY KEY, mail_id bigint, KEY (mail_id));
CREATE TABLE definition (id varchar(20) PRIMARY KEY, keep bigint);
CREATE TABLE ballast (id bigint PRIMARY KEY);
";

const TABLES: [&str; 7] = ["job", "step", "part", "task", "event", "mail", "page"];

/// The tables with a row of each family, and the root table whose deletion a trigger refuses.
const RULES: [(&str, &str, &str); 3] = [
    ("jobs", "job", "part"),
    ("tasks", "task", "event"),
    ("mails", "mail", "page"),
];

fn graph(unit: &str) -> Graph {
    graph_of(&SPEC.replace("UNIT", unit))
}

/// One of the units on each server, both in `make prove`.
fn units(flavour: Flavour) -> Vec<&'static str> {
    let in_test = match flavour {
        Flavour::Mysql => "window",
        Flavour::Mariadb => "family",
    };
    effort::size(vec![in_test], vec!["window", "family"])
}

/// Eight families of each rule, the last of which runs or is held, so that every batch has one in doubt.
fn load(session: &mut Session) {
    let mut sql = TABLES
        .map(|table| format!("DELETE FROM {table};\n"))
        .concat();
    for id in 1..=8 {
        let state = if id == 7 { "busy" } else { "done" };
        sql += &format!(
            "INSERT INTO job VALUES ({id}, 1, '{state}', '2020-01-0{id}');
             INSERT INTO step VALUES ({id}, {id}), (10{id}, {id});
             INSERT INTO part VALUES ({id}, {id}), (10{id}, 10{id});
             INSERT INTO task VALUES ({id}, {id}, 'short', '2020-01-01', '2020-01-01', '2020-01-0{id}');
             INSERT INTO event VALUES ({id}, {id}, '2020-01-0{id}'), (10{id}, {id}, '2020-01-0{id}');
             INSERT INTO mail VALUES ({id}, '2020-01-0{id}');
             INSERT INTO page VALUES ({id}, {id}), (10{id}, {id});\n"
        );
    }
    session.execute(&sql).expect("rows");
}

/// Loaded, armed, with one family of each rule on hold, and batches of four.
fn prepared(server: &Mysql, unit: &str) -> Installation {
    let mut installation = Installation::with(server, SCHEMA, &graph(unit));
    load(&mut installation.session);
    installation.arm();
    let policy = json!({"rule": "jobs", "scope": "1", "retention": "30d"});
    installation.set_policy(policy).expect("a policy");
    for (rule, _, _) in RULES {
        let hold = json!({"rule": rule, "key": "8", "reason": "a test"});
        installation.set_hold(hold).expect("a hold");
        let size = if rule == "jobs" {
            "batch_families"
        } else {
            "batch_rows"
        };
        for (name, value) in [(size, 4), ("lock_timeout", 1000), ("retries", 0)] {
            installation
                .call(
                    "set_setting",
                    json!({"rule": rule, "name": name, "value": value}),
                )
                .expect("a setting");
        }
    }
    installation
}

fn rows(installation: &mut Installation) -> Vec<i64> {
    TABLES
        .map(|table| installation.number(&format!("SELECT COUNT(*) FROM {table}")))
        .into()
}

/// A transaction of the binary log: the tables of its row events, its statements, how it ended.
#[derive(Debug, Default)]
struct Logged {
    tables: Vec<String>,
    statements: Vec<String>,
}

/// What the server logs while something is done.
fn logged(server: &Mysql, done: impl FnOnce()) -> Vec<Logged> {
    server.query("FLUSH BINARY LOGS").expect("a new log");
    done();
    let logs = server.query("SHOW BINARY LOGS").expect("the logs");
    let last = logs.lines().last().and_then(|line| line.split('\t').next());
    let events = server
        .query(&format!("SHOW BINLOG EVENTS IN '{}'", last.expect("a log")))
        .expect("the events");
    let mut transactions = vec![Logged::default()];
    for event in events.lines() {
        let mut columns = event.split('\t').skip(2);
        let kind = columns.next().unwrap_or_default();
        let text = columns.nth(2).unwrap_or_default().to_owned();
        if kind == "Gtid" {
            transactions.push(Logged::default());
        }
        let transaction = transactions.last_mut().expect("there is one");
        match kind {
            "Table_map" => {
                let table = text.rsplit_once('(').map_or("", |(_, table)| table);
                transaction
                    .tables
                    .push(table.trim_end_matches(')').to_owned());
            }
            "Query" => transaction.statements.push(text),
            _ => (),
        }
    }
    transactions
}

/// Rows of the application's tables are in transactions that were committed; statements on them are nowhere.
fn check(transactions: &[Logged], installation: &Installation, is_dry: bool) {
    let own = format!("{}.", installation.name);
    let mut changes = 0;
    for transaction in transactions {
        let touches = transaction
            .tables
            .iter()
            .any(|table| table.starts_with(&own));
        changes += usize::from(touches);
        for statement in &transaction.statements {
            let is_undone = statement.contains("ROLLBACK") || statement.contains("SAVEPOINT");
            assert!(
                !(touches && is_undone),
                "rolled back, and logged: {transaction:#?}"
            );
            assert!(
                !statement.contains(&installation.name),
                "a statement on a table of the application: {statement}"
            );
        }
    }
    assert_eq!(is_dry, changes == 0, "{transactions:#?}");
}

fn what_is_rolled_back_is_not_in_the_binary_log(flavour: Flavour) {
    let server = Mysql::start(&Settings::new(flavour)).expect("a server");
    let in_test = match flavour {
        Flavour::Mysql => ("MIXED", "window"),
        Flavour::Mariadb => ("ROW", "family"),
    };
    let all = vec![("ROW", "family"), ("MIXED", "window"), ("ROW", "window")];
    let rounds = effort::size(vec![in_test], all);
    for (format, unit) in rounds {
        server
            .query(&format!("SET GLOBAL binlog_format = '{format}'"))
            .expect("a format");
        let mut installation = prepared(&server, unit);
        let before = rows(&mut installation);
        let dry = logged(&server, || dry_runs(&mut installation));
        assert_eq!(rows(&mut installation), before);
        check(&dry, &installation, true);
        // What the test itself writes is not logged.
        let mut quiet = installation.connect();
        quiet
            .execute("SET SESSION sql_log_bin = 0")
            .expect("no log");
        let failed = logged(&server, || {
            deadlock(&mut installation, &mut quiet);
            failures(&mut installation, &mut quiet);
        });
        check(&failed, &installation, false);
    }
}

/// Everything that can be tried without doing it; what it answers is what it would do.
fn dry_runs(installation: &mut Installation) {
    let answer = installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    assert_eq!(answer["status"], "done", "{answer}");
    let families: Vec<_> = told(&answer, "families");
    assert_eq!(families, [6, 7, 7], "{answer}");
    assert_eq!(told(&answer, "rows"), [30, 21, 21], "{answer}");
    for (place, reason) in [
        (0, json!({"HELD": 1})),
        (1, json!({"HELD": 1})),
        (2, json!({"HELD": 1})),
    ] {
        assert_eq!(answer["rules"][place]["skipped"], reason, "{answer}");
    }
    for (rule, _, _) in RULES {
        let options = json!({"rule": rule, "key": ["2"], "dry_run": true});
        let answer = installation.purge(options).expect("a purge");
        assert_eq!(answer["status"], "done", "{answer}");
    }
    let stamp =
        json!({"rule": "tasks", "to": "2021-01-01T00:00:00Z", "all": true, "dry_run": true});
    let answer = installation.call("stamp", stamp).expect("a stamp");
    assert_eq!(answer["status"], "done", "{answer}");
}

fn told(answer: &Value, figure: &str) -> Vec<i64> {
    let rules = answer["rules"].as_array().expect("rules");
    rules
        .iter()
        .map(|rule| rule[figure].as_i64().expect("a number"))
        .collect()
}

/// Batches that fail: a trigger refuses the second family of each rule, and another session holds a row of the third one.
/// So does a restoration which finds that something has come back already.
fn failures(installation: &mut Installation, rival: &mut Session) {
    load(rival);
    rival.execute("DELETE FROM job").expect("no jobs");
    let run = installation.number("SELECT MAX(windrow_run_id) FROM W.archive_job");
    let error = installation.call("archive_restore", json!({"run": run}));
    let error = format!("{:#}", error.expect_err("steps in the way"));
    assert!(error.contains("nothing is restored"), "{error}");
    load(rival);
    for (_, root, _) in RULES {
        for event in ["DELETE", "UPDATE"] {
            rival
                .execute(&format!(
                    "CREATE TRIGGER {root}_{event} BEFORE {event} ON {root} FOR EACH ROW
                     IF OLD.id = 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF"
                ))
                .expect("a trigger");
        }
    }
    rival.execute("START TRANSACTION").expect("a transaction");
    for (_, _, child) in RULES {
        lock(rival, child, 103);
    }
    for (rule, _, _) in RULES {
        let answer = installation.run(json!({"rule": rule})).expect("a run");
        assert_eq!(answer["status"], "failed", "{answer}");
        let figures = &answer["rules"][0];
        assert_eq!(
            (&figures["skipped"]["FAILED"], &figures["skipped"]["LOCKED"]),
            (&json!(1), &json!(1)),
            "{answer}"
        );
        assert!(figures["retries"].as_i64() > Some(1), "{answer}");
        let purge = installation
            .purge(json!({"rule": rule, "key": ["2", "3"]}))
            .expect("a purge");
        let refused = json!({"2": "FAILED", "3": "LOCKED"});
        assert_eq!(purge["refused"], refused, "{purge}");
    }
    rival.execute("ROLLBACK").expect("an end");
    let stamp = json!({"rule": "tasks", "to": "2019-01-01T00:00:00Z", "all": true});
    let answer = installation.call("stamp", stamp).expect("a stamp");
    assert_eq!(answer["status"], "failed", "{answer}");
}

/// The batch has deleted some rows when it becomes the victim: it has written less than the other.
fn deadlock(installation: &mut Installation, rival: &mut Session) {
    waits(installation, 20_000);
    let values: Vec<_> = (1..1000).map(|id| format!("({id})")).collect();
    rival
        .execute(&format!(
            "START TRANSACTION; INSERT INTO ballast VALUES {}",
            values.join(", ")
        ))
        .expect("ballast");
    lock(rival, "part", 104);
    let (runner, _, number) = installation.call_aside("run", json!({"rule": "jobs"}));
    until("the batch waits for the rival", || {
        // InnoDB tells anew what nobody has asked for in the last tenth of a second.
        thread::sleep(Duration::from_millis(150));
        assert!(!runner.is_finished(), "it did not wait");
        Ok(installation.number(&format!(
            "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = {number}"
        )) > 0)
    })
    .expect("it waits");
    lock(rival, "job", 1);
    rival.execute("ROLLBACK").expect("an end");
    let (_, answer) = runner.join().expect("no panic");
    let answer = answer.expect("a run");
    assert!(answer["rules"][0]["retries"].as_i64() > Some(0), "{answer}");
    waits(installation, 1000);
}

fn waits(installation: &mut Installation, milliseconds: i64) {
    let setting = json!({"rule": "jobs", "name": "lock_timeout", "value": milliseconds});
    installation
        .call("set_setting", setting)
        .expect("a setting");
}

fn lock(session: &mut Session, table: &str, id: i64) {
    session
        .query(
            &format!("SELECT id FROM {table} WHERE id = {id} FOR UPDATE"),
            &[],
        )
        .expect("a lock");
}

/// A replica may have other engines than its source: whoever moves from one to the other, or reads a copy only.
fn a_replica_without_transactions_keeps_what_a_dry_run_takes_back(flavour: Flavour) {
    let source = Mysql::start(&Settings::new(flavour)).expect("a server");
    let replica = source
        .start_replica(&Settings::new(flavour))
        .expect("a replica");
    for unit in units(flavour) {
        let mut installation = prepared(&source, unit);
        replica.catch_up(&source).expect("it follows");
        let name = &installation.name;
        let myisam = TABLES
            .map(|table| format!("; ALTER TABLE {name}.{table} ENGINE = MyISAM"))
            .concat();
        replica
            .query(&format!("SET SESSION sql_log_bin = 0{myisam}"))
            .expect("another engine");
        let before = rows(&mut installation);
        dry_runs(&mut installation);
        replica.catch_up(&source).expect("it follows");
        let there = TABLES.map(|table| {
            let count = replica.query(&format!(
                "SELECT COUNT(*) FROM {}.{table}",
                installation.name
            ));
            count
                .expect("a number")
                .trim()
                .parse::<i64>()
                .expect("a number")
        });
        assert_eq!(before, there, "{unit}");
        // Its tables cannot be dropped by what the source says of them.
        replica
            .query(&format!(
                "SET SESSION sql_log_bin = 0; {}",
                TABLES
                    .map(|table| format!(
                        "ALTER TABLE {}.{table} ENGINE = InnoDB;",
                        installation.name
                    ))
                    .concat()
            ))
            .expect("an engine");
    }
}

fn a_log_of_statements_is_refused(flavour: Flavour) {
    let server = Mysql::start(&Settings::new(flavour)).expect("a server");
    server
        .query("SET GLOBAL binlog_format = 'STATEMENT'")
        .expect("a format");
    let mut installation = prepared(&server, "window");
    let log = logged(&server, || {
        let stamp = json!({"rule": "tasks", "to": "2021-01-01T00:00:00Z", "all": true});
        let calls = [
            ("run", json!({"dry_run": true})),
            ("run", json!({})),
            ("purge", json!({"rule": "jobs", "key": ["1"]})),
            (
                "purge",
                json!({"rule": "jobs", "key": ["1"], "dry_run": true}),
            ),
            ("stamp", stamp),
        ];
        for (routine, options) in calls {
            let error = installation.call(routine, options).expect_err("a refusal");
            let error = format!("{error:#}").to_lowercase();
            assert!(error.contains("binlog_format"), "{error}");
        }
    });
    check(&log, &installation, true);
}

/// Of temporary tables, too: rules of all kinds, their archives and stamps.
fn a_server_that_wants_a_primary_key_of_every_table_is_served(flavour: Flavour) {
    let wants = match flavour {
        Flavour::Mysql => "sql_require_primary_key",
        Flavour::Mariadb => "innodb_force_primary_key",
    };
    let server = Mysql::start(&Settings {
        extra: vec![(wants.to_owned(), "ON".to_owned())],
        ..Settings::new(flavour)
    })
    .expect("a server");
    for unit in units(flavour) {
        let mut installation = prepared(&server, unit);
        dry_runs(&mut installation);
        let answer = installation.run(json!({})).expect("a run");
        assert_eq!(told(&answer, "families"), [6, 7, 7], "{answer}");
        let run = installation.number("SELECT MAX(windrow_run_id) FROM W.archive_job");
        let answer = installation.call("archive_restore", json!({"run": run}));
        assert_eq!(answer.expect("rows")["tables"]["job"], 6);
        let verify = installation.call("verify", json!({})).expect("a report");
        assert!(verify["checks"].is_array(), "{verify}");
    }
}
