//! Backups that lock the whole server, or its tables, while a run is under way: it waits for them and goes on.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::patience::until;

tests! {
    mysql_and_mariadb: [
        a_run_waits_for_a_backup_and_goes_on,
        a_table_that_is_locked_for_reading_is_one_wait,
    ],
    mysql_or_mariadb: [
        a_backup_that_locks_table_by_table_ends_no_run,
        a_backup_does_not_wait_while_a_run_counts,
        what_an_installation_has_not_made_yet_is_in_the_way_of_no_run,
        errors_of_the_surroundings_are_no_fault_of_a_family,
    ],
    on_mysql: [
        a_schema_that_is_read_only_ends_the_run,
    ],
}

const ROWS: i64 = 2;

/// One rule of each kind, which has `ROWS` rows that are due.
const SPEC: &str = r#"
name    = "backups"
workers = WORKERS

[tables]
job  = { key = "id integer" }
step = { key = "id integer", parents = ["job -> job.id"] }
log  = { key = "id integer" }
mail = { key = "id integer" }
seat = { key = "id integer" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }

[rules.logs]
strategy = "removal-time"
root     = "log"
time     = "written"
tables   = ["log: id"]

[rules.mails]
strategy  = "age"
root      = "mail"
time      = "written"
retention = { default = "30d" }

[rules.seats]
strategy = "expiry"
root     = "seat"
time     = "written"
"#;

const SCHEMA: &str = "CREATE TABLE job (id integer PRIMARY KEY, state integer, ended datetime(6));
CREATE TABLE step (id integer PRIMARY KEY, job integer);
CREATE TABLE log (id integer PRIMARY KEY, written datetime(6));
CREATE TABLE mail (id integer PRIMARY KEY, written datetime(6));
CREATE TABLE seat (id integer PRIMARY KEY, written datetime(6));";

const COUNTS: &str = "SELECT CONCAT((SELECT COUNT(*) FROM job), ' ', (SELECT COUNT(*) FROM step), ' ', (SELECT COUNT(*) FROM log), ' ', \
    (SELECT COUNT(*) FROM mail), ' ', (SELECT COUNT(*) FROM seat))";

fn load(database: &mut Installation, rows: i64) {
    for id in 1..=rows {
        let time = format!("2025-01-{id:02} 12:00:00");
        for insert in [
            format!("job VALUES ({id}, 1, '{time}')"),
            format!("step VALUES ({id}, {id})"),
            format!("log VALUES ({id}, '{time}')"),
            format!("mail VALUES ({id}, '{time}')"),
            format!("seat VALUES ({id}, '{time}')"),
        ] {
            database.execute(&format!("INSERT INTO {insert}"));
        }
    }
}

/// Batches of one family each, and each takes its time.
fn installation(server: &Mysql, workers: u32) -> Installation {
    let graph = graph_of(&SPEC.replace("WORKERS", &workers.to_string()));
    let mut database = Installation::with(server, SCHEMA, &graph);
    database.arm();
    for table in ["job", "log", "mail", "seat"] {
        database.execute(&format!(
            "CREATE TRIGGER slow_{table} BEFORE DELETE ON {table} FOR EACH ROW SET @slow = SLEEP(0.1)"
        ));
    }
    batches_of_one(&mut database);
    database
}

fn batches_of_one(database: &mut Installation) {
    for (rule, name) in [
        ("jobs", "batch_families"),
        ("logs", "batch_rows"),
        ("mails", "batch_rows"),
        ("seats", "batch_rows"),
    ] {
        for (name, value) in [(name, 1), ("scheduled_nice", 100)] {
            let setting = json!({"rule": rule, "name": name, "value": value});
            database.call("set_setting", setting).expect("a setting");
        }
    }
}

/// What mysqldump says to a whole database.
fn tables_read(database: &mut Installation) -> String {
    let tables = database.texts(&format!(
        "SELECT CONCAT('{0}.`', table_name, '` READ LOCAL') FROM information_schema.tables
         WHERE table_schema = '{0}' AND table_type = 'BASE TABLE'",
        database.control
    ));
    format!("LOCK TABLES {}", tables.join(", "))
}

fn assert_went_on(database: &mut Installation, run: &Value, round: &str) {
    assert_eq!(database.texts(COUNTS), ["0 0 0 0 0"], "{round}: {run}");
    assert_eq!(
        (&run["status"], &run["reason"]),
        (&json!("done"), &json!("nothing left")),
        "{round}: {run}"
    );
    for rule in run["rules"].as_array().expect("a list") {
        assert_eq!(rule["skipped"], json!({}), "{round}: {run}");
        assert!(rule["retries"].as_i64() < Some(20), "{round}: {run}");
    }
    let others = "SELECT COUNT(*) FROM W.run WHERE status <> 'done'";
    assert_eq!(database.number(others), 0, "{round}");
}

/// A scheduled run, and a backup that locks and lets go of everything until it is through.
fn beside(
    database: &mut Installation,
    round: &str,
    [lock, unlock]: [&str; 2],
    first: f64,
) -> Value {
    load(database, ROWS);
    let mut backup = database.connect();
    let (runner, _, session) = database.call_aside("run", json!({"trigger": "SCHEDULED"}));
    database.until_asleep(round, &runner, session);
    let mut seconds = first;
    while !runner.is_finished() {
        backup.execute(lock).expect("a lock");
        thread::sleep(Duration::from_secs_f64(seconds));
        backup.execute(unlock).expect("the end of a lock");
        thread::sleep(Duration::from_millis(300));
        seconds = 1.3;
    }
    let run = runner.join().expect("no panic").1;
    run.unwrap_or_else(|error| panic!("{error:#} in {round}"))
}

fn a_run_waits_for_a_backup_and_goes_on(flavour: Flavour) {
    let server = Mysql::start(&Settings::new(flavour)).expect("a server");
    for workers in [1, 2] {
        let mut database = installation(&server, workers);
        let tables = tables_read(&mut database);
        let mut locks = vec![
            ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"],
            [&tables, "UNLOCK TABLES"],
        ];
        if workers == 1 && flavour == Flavour::Mariadb {
            locks.push([
                "BACKUP STAGE START; BACKUP STAGE BLOCK_COMMIT",
                "BACKUP STAGE END",
            ]);
        }
        for (number, lock) in locks.into_iter().enumerate() {
            let round = format!("{workers} workers, {}", lock[0]);
            // Longer than ten waits of a second.
            let first = if workers == 1 && number == 0 {
                12.5
            } else {
                1.3
            };
            let run = beside(&mut database, &round, lock, first);
            assert_went_on(&mut database, &run, &round);
        }
    }
}

/// It waits for one table while it has others, as does a transaction that has written to one: of two that wait for each other, the
/// server ends the transaction.
fn a_backup_that_locks_table_by_table_ends_no_run(dialect: Dialect) {
    let application = "LOCK TABLES seat READ LOCAL, mail READ LOCAL, step READ LOCAL, log READ LOCAL, job READ LOCAL";
    for workers in [1, 2] {
        let graph = graph_of(&SPEC.replace("WORKERS", &workers.to_string()));
        let mut database = Installation::of(dialect, SCHEMA, &graph);
        database.arm();
        batches_of_one(&mut database);
        let tables = tables_read(&mut database);
        let mut backup = database.connect();
        for _ in 0..3 {
            load(&mut database, 28);
            let (runner, _, _) = database.call_aside("run", json!({}));
            while !runner.is_finished() {
                for tables in [tables.as_str(), application] {
                    backup.execute(tables).expect("a lock");
                    thread::sleep(Duration::from_millis(20));
                    backup.execute("UNLOCK TABLES").expect("the end of a lock");
                    thread::sleep(Duration::from_millis(30));
                }
            }
            let run = runner.join().expect("no panic").1;
            let run = run.unwrap_or_else(|error| panic!("{error:#} with {workers} workers"));
            assert_went_on(&mut database, &run, &format!("{workers} workers"));
        }
    }
}

/// The run is over, and counts what is left. What it has counted it writes behind the backup.
fn a_backup_does_not_wait_while_a_run_counts(dialect: Dialect) {
    let graph = graph_of(&SPEC.replace("WORKERS", "1"));
    let mut database = Installation::of(dialect, SCHEMA, &graph);
    database.arm();
    load(&mut database, ROWS);
    database.execute("DROP PROCEDURE W.due_of");
    database.execute(
        "CREATE PROCEDURE W.due_of(IN p_rule varchar(64), IN p_limit bigint, OUT o_families bigint, OUT o_complete boolean)
         BEGIN
             SET o_families = SLEEP(IF(p_rule = 'jobs', 3, 0)), o_complete = true;
         END",
    );
    let tables = tables_read(&mut database);
    let mut backup = database.connect();
    backup
        .execute("SET lock_wait_timeout = 1")
        .expect("a setting");
    let (runner, _, session) = database.call_aside("run", json!({}));
    database.until_asleep("a run that counts", &runner, session);
    backup.execute(&tables).expect("a lock");
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {session} AND state = 'Waiting for table metadata lock'"
    );
    until("a run that waits for the backup", || {
        assert!(!runner.is_finished(), "it ended");
        Ok(database.number(&waits) == 1)
    })
    .expect("it waits");
    backup.execute("UNLOCK TABLES").expect("the end of a lock");
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_went_on(&mut database, &run, "a count");
    assert_eq!(database.number("SELECT COUNT(*) FROM W.run_backlog"), 4);
}

/// The spec is there before the routines and tables that its workers need.
fn what_an_installation_has_not_made_yet_is_in_the_way_of_no_run(dialect: Dialect) {
    let graph = graph_of(&SPEC.replace("WORKERS", "2"));
    let mut database = Installation::of(dialect, SCHEMA, &graph);
    database.execute("DROP PROCEDURE W.sweep_taken");
    database.execute("CALL W.begin_ledger()");
    database.execute("ROLLBACK");
}

/// The other rules go on, and no family is tried, and put down, one after the other.
fn a_table_that_is_locked_for_reading_is_one_wait(flavour: Flavour) {
    let server = Mysql::start(&Settings::new(flavour)).expect("a server");
    let mut database = installation(&server, 1);
    for lock in ["LOCK TABLES step READ LOCAL", "LOCK TABLES job READ"] {
        load(&mut database, ROWS);
        let mut backup = database.connect();
        backup.execute(lock).expect("a lock");
        let (runner, _, _) = database.call_aside("run", json!({}));
        let waits = "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for LIKE 'a lock on a table, which %'";
        let left = format!("{ROWS} {ROWS} 0 0 0");
        until("the other rules go on, and the lock is told", || {
            assert!(!runner.is_finished(), "{lock}: it ended");
            Ok(database.texts(COUNTS) == [left.as_str()] && database.number(waits) == 1)
        })
        .expect("one wait");
        backup.execute("UNLOCK TABLES").expect("the end of a lock");
        let run = runner.join().expect("no panic").1.expect("a run");
        assert_went_on(&mut database, &run, lock);
    }
}

/// Error numbers that say nothing of the families of a batch, and some that do.
fn errors_of_the_surroundings_are_no_fault_of_a_family(dialect: Dialect) {
    let graph = graph_of(&SPEC.replace("WORKERS", "1"));
    let mut database = Installation::of(dialect, SCHEMA, &graph);
    let mut fault = |errno: u32, families: u32| {
        database.execute(&format!(
            "CALL W.fault_of({errno}, 'HY000', 'said', {families}, @busy, @state)"
        ));
        let told = database.texts("SELECT CONCAT(@busy, ' ', COALESCE(@state, 'none'))");
        told.into_iter().next().expect("an answer")
    };
    // A file of the server; a disk or a folder that is full; a binary log; a schema that is being migrated.
    for errno in [
        3, 20, 1016, 1023, 1024, 1026, 1036, 1598, 1637, 1665, 1812, 1814, 1878, 3989,
    ] {
        assert_eq!(fault(errno, 2), format!("0 error {errno} (HY000): said"));
    }
    // A transaction that is too large for its caches or its group, where a smaller one may do; an error of a trigger.
    for errno in [1197, 1180, 3100, 1644] {
        assert_eq!(fault(errno, 2), "0 none", "{errno}");
        assert_eq!(fault(errno, 1), "0 none", "{errno}");
    }
    // Nothing that could be halved or passed over.
    assert_eq!(fault(3100, 0), "0 error 3100 (HY000): said");
}

fn a_schema_that_is_read_only_ends_the_run() {
    let server = Mysql::start(&Settings::new(Flavour::Mysql)).expect("a server");
    let mut database = installation(&server, 1);
    load(&mut database, ROWS);
    let name = database.name.clone();
    let (runner, _, session) = database.call_aside("run", json!({}));
    database.until_asleep("the first batch", &runner, session);
    database.execute(&format!("ALTER SCHEMA {name} READ ONLY = 1"));
    let run = runner.join().expect("no panic").1.expect("a run");
    let reason = run["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("error 3989 (HY000): "), "{run}");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(database.number("SELECT COUNT(*) FROM W.run_failure"), 0);
    database.execute(&format!("ALTER SCHEMA {name} READ ONLY = 0"));
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}
