//! Roots and rows of one instant: what a search finds is listed for many batches, and a row that has to stay keeps no other.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::heavy::note_batches;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, numbers};
use crate::support::meanwhile::meanwhile;
use crate::support::patience::until;

tests! {
    postgres_alone: [
        roots_of_one_instant_are_listed_for_many_batches,
        rows_of_one_instant_are_listed_for_many_batches,
        what_is_refused_keeps_nothing_else_of_its_day,
        a_day_of_which_many_rows_are_refused_keeps_no_other_day,
        what_is_behind_many_refused_rows_goes_in_a_later_run,
        a_worker_that_began_earlier_passes_over_what_it_met,
        a_run_that_only_passes_over_refused_rows_failed,
        what_a_dry_run_has_met_is_tried,
        an_instant_is_the_same_in_every_session,
        a_refused_statement_is_told_by_a_key,
        a_refused_statement_of_rows_without_a_key_is_told,
        what_is_locked_for_a_moment_goes,
        a_day_of_a_partitioned_table_goes_in_batches,
        what_is_held_of_a_day_that_workers_left_is_told_so,
        what_workers_give_up_of_a_day_is_looked_at_by_the_last_one,
        a_list_leaves_out_as_many_keys_as_there_are,
        rows_without_a_key_are_not_listed_for_ever,
        what_was_in_use_and_is_refused_later_is_not_tried_for_ever,
        parts_of_a_day_read_its_partition_alone,
        a_day_that_is_due_no_more_is_left,
    ],
}

const FAMILIES: &str = r#"
name = "gathered"
workers = WORKERS

[tables]
job  = { key = "id bigint" }
part = { key = "id bigint", parents = ["root -> job.id"] }

[rules.history]
strategy  = "removal-time"
root      = "job"
time      = "removal"
tables    = ["part: root", "job"]
unit      = "family"
retention = { safety_lag = "1h" }
"#;

/// So many roots, all of one instant.
const ROOTS: i64 = 2000;

/// Roots in a batch.
const FEW: i64 = 20;

fn families(dialect: Dialect, workers: u32) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let graph = graph_of(&FAMILIES.replace("WORKERS", &workers.to_string()));
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, removal {time});
         CREATE TABLE part (id bigint PRIMARY KEY, root bigint, removal {time});
         CREATE INDEX job_removal ON job (removal);
         CREATE INDEX part_removal ON part (removal);
         CREATE INDEX part_root ON part (root);"
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    let few = database.set_setting("batch_families", FEW);
    few.expect("a setting");
    let all = numbers(dialect, ROOTS);
    database.execute(&format!(
        "INSERT INTO job SELECT n, '2025-01-01' FROM {all}"
    ));
    database
}

/// Entries of the indexes with these names that were read.
fn entries_read(database: &mut Installation, names: &str) -> i64 {
    database.execute("SELECT pg_stat_force_next_flush()");
    database.number(&format!(
        "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE indexrelname LIKE '%{names}%'"
    ))
}

/// The index has the times of roots, and not their keys: a search reads and sorts all of the instant. Once, each batch did.
fn roots_of_one_instant_are_listed_for_many_batches(dialect: Dialect) {
    for workers in [1, 2] {
        let mut database = families(dialect, workers);
        let first = if workers > 1 {
            json!({"worker": 1})
        } else {
            json!({})
        };
        for call in ["preview", "run"] {
            let before = entries_read(&mut database, "job_removal");
            let options = if call == "run" {
                first.clone()
            } else {
                json!({})
            };
            let answer = database.call(call, options).expect("an answer");
            let read = entries_read(&mut database, "job_removal") - before;
            let rule: &Value = &answer["rules"][0];
            assert_eq!(rule["families"], ROOTS, "{call}: {answer}");
            let batches = rule["batches"].as_i64();
            assert!(batches >= Some(ROOTS / FEW), "{call}: {answer}");
            assert!(
                read < 20 * ROOTS,
                "{workers}, {call}: {read} entries read of {ROOTS}"
            );
        }
    }
}

/// Rows in one transaction, and of the first day; the second has a few.
const MOST: i64 = 10;
const ROWS: i64 = 37;
const ALL: i64 = ROWS + 4;

/// Two days of rows, in a table whose time is of this kind.
fn days(dialect: Dialect, workers: u32, (table, time): (&str, &str)) -> Installation {
    let graph = graph_of(&format!(
        "name = \"gathered\"\nworkers = {workers}\n\n[tables]\nlog = {{ key = \"id integer\", indexed = [\"day\"] }}\n
[rules.logs]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"{time}\"\nretention = {{ default = \"30d\" }}\n"
    ));
    let mut database = Installation::of(
        dialect,
        &format!("{table}; CREATE INDEX log_day ON log (day);"),
        &graph,
    );
    database.arm();
    note_batches(&mut database);
    for (name, value) in [("batch_rows", MOST), ("retries", 0)] {
        database.set_setting(name, value).expect("a setting");
    }
    let all = numbers(dialect, ALL);
    database.execute(&format!(
        "INSERT INTO log SELECT n, CASE WHEN n <= {ROWS} THEN DATE '2025-01-01' ELSE DATE '2025-01-02' END FROM {all}"
    ));
    database
}

const LOG: (&str, &str) = (
    "CREATE TABLE log (id integer PRIMARY KEY, day date)",
    "day date",
);

fn left(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT id FROM log ORDER BY id")
}

/// A trigger that lets nobody delete some rows: with an error, or on PostgreSQL without a word.
fn refuse(database: &mut Installation, rows: &str, says: &str) {
    match database.dialect {
        Dialect::Postgres => database.execute(&format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {says}; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON log FOR EACH ROW WHEN (OLD.id IN ({rows})) EXECUTE FUNCTION refuse()"
        )),
        Dialect::Mysql | Dialect::Mariadb => database.execute(&format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON log FOR EACH ROW IF OLD.id IN ({rows}) THEN SIGNAL SQLSTATE '45000'; END IF"
        )),
    }
}

/// Of a day that has many rows, and of one that a batch takes whole.
fn what_is_refused_keeps_nothing_else_of_its_day(dialect: Dialect) {
    let words: &[&str] = match dialect {
        Dialect::Postgres => &["RAISE 'no' USING ERRCODE = '42501'", "RETURN NULL"],
        Dialect::Mysql | Dialect::Mariadb => &[""],
    };
    for (workers, says) in [1, 2]
        .iter()
        .flat_map(|workers| words.iter().map(move |says| (*workers, *says)))
    {
        let mut database = days(dialect, workers, LOG);
        refuse(&mut database, "5, 6, 20, 39", says);
        let hold = json!({"key": 3, "reason": "x"});
        database.set_hold(hold).expect("a hold");
        for night in 0..2 {
            let run = database.run(json!({})).expect("a run");
            let rule = &run["rules"][0];
            assert_eq!(
                left(&mut database),
                ["3", "5", "6", "20", "39"],
                "{workers} {says}: {run}"
            );
            assert_eq!(
                rule["skipped"],
                json!({"FAILED": 4, "HELD": 1}),
                "{workers} {says}: {run}"
            );
            let went = if night == 0 { ALL - 5 } else { 0 };
            assert_eq!(rule["rows"], went, "{workers} {says}: {run}");
            let failures = rule["failures"].as_array().expect("failures");
            let failed: BTreeSet<_> = failures.iter().map(|it| it["key"].as_str()).collect();
            let refused = ["20", "39", "5", "6"].map(Some);
            assert_eq!(failed, refused.into(), "{workers} {says}: {run}");
        }
    }
}

/// They are not searched for one by one for ever; what is behind them comes.
fn a_day_of_which_many_rows_are_refused_keeps_no_other_day(dialect: Dialect) {
    for (many, told) in [(600, 501), (500, 500)] {
        let mut database = days(dialect, 1, LOG);
        let all = numbers(dialect, many);
        database.execute(&format!(
            "INSERT INTO log SELECT 1000 + n, '2025-01-01' FROM {all}"
        ));
        let refused: Vec<String> = (1001..=1000 + many).map(|id| id.to_string()).collect();
        refuse(&mut database, &refused.join(", "), "RAISE 'no'");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["reason"], "nothing left", "{run}");
        assert_eq!(left(&mut database), refused, "{run}");
        let rule = &run["rules"][0];
        assert_eq!(rule["skipped"], json!({"FAILED": told}), "{run}");
        let samples = rule["failures"].as_array().map(Vec::len);
        assert!(samples >= Some(1), "{run}");
    }
}

/// More than a run tries of one day.
fn what_is_behind_many_refused_rows_goes_in_a_later_run(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    let all = numbers(dialect, 610);
    database.execute(&format!(
        "INSERT INTO log SELECT 1000 + n, '2025-01-01' FROM {all}"
    ));
    let refused: Vec<String> = (1001..=1600).map(|id| id.to_string()).collect();
    refuse(&mut database, &refused.join(", "), "RAISE 'no'");
    let hold = json!({"key": 1001, "reason": "x"});
    let first = database.run(json!({})).expect("a run");
    assert!(left(&mut database).len() > 600, "{first}");
    let second = database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), refused, "{second}");
    let skipped = &second["rules"][0]["skipped"];
    assert_eq!(*skipped, json!({"FAILED": 600}), "{second}");
    // All are tried again. One that is held is told as such.
    database.set_hold(hold).expect("a hold");
    database.execute("DROP TRIGGER refuse ON log");
    let third = database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), ["1001"], "{third}");
    let skipped = &third["rules"][0]["skipped"];
    assert_eq!(*skipped, json!({"HELD": 1}), "{third}");
    assert_eq!(database.number("SELECT count(*) FROM W.rule_instant"), 0);
}

/// As a run notes it that meets a refused row of the first day. A date says the end of its day.
fn note(database: &mut Installation, run: i64) {
    database.execute(&format!(
        "DO $$ BEGIN PERFORM W.instant_refuses({run}, 'logs', '2025-01-02 00:00:00'); END $$"
    ));
}

/// The run of another worker, with a higher number, was the first to meet one.
fn a_worker_that_began_earlier_passes_over_what_it_met(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    refuse(&mut database, "5, 6", "RAISE 'no'");
    note(&mut database, 1000);
    let run = database.run(json!({})).expect("a run");
    let skipped = &run["rules"][0]["skipped"];
    assert_eq!(*skipped, json!({"FAILED": 2}), "{run}");
    assert_eq!(left(&mut database), ["5", "6"], "{run}");
}

/// What a purge has met is no reason to pass it over. Once all of the day goes together, nothing is noted of it.
fn a_run_that_only_passes_over_refused_rows_failed(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    refuse(&mut database, "5, 6", "RAISE 'no'");
    let first = database.run(json!({})).expect("a run");
    assert_eq!(first["status"], "failed", "{first}");
    let again = |database: &mut Installation, ids: &str| {
        database.execute(&format!(
            "INSERT INTO log SELECT n, '2025-01-01' FROM generate_series({ids}) AS n"
        ));
    };
    note(&mut database, first["run"].as_i64().expect("a number"));
    again(&mut database, "101, 130");
    let second = database.run(json!({})).expect("a run");
    let skipped = &second["rules"][0]["skipped"];
    assert_eq!(*skipped, json!({"FAILED": 2}), "{second}");
    // It shows the error that one of them had.
    let told = format!("not tried again since run {}: no", first["run"]);
    assert_eq!(
        second["rules"][0]["failures"],
        json!([{"key": "5", "sqlstate": "P0001", "message": told}]),
        "{second}"
    );
    assert_eq!(second["status"], "failed", "{second}");

    note(&mut database, second["run"].as_i64().expect("a number"));
    let purge = database.call("purge", json!({"rule": "logs", "key": [5]}));
    assert_eq!(purge.expect("a purge")["refused"], json!({"5": "FAILED"}));
    let purge = database.call("purge", json!({"rule": "logs", "key": [6]}));
    assert_eq!(purge.expect("a purge")["refused"], json!({"6": "FAILED"}));
    // As a stamp that could not change a row.
    let last = "(SELECT max(run_id) FROM W.run)";
    database.execute(&format!(
        "UPDATE W.run SET trigger = 'STAMP' WHERE run_id = {last}"
    ));
    database.execute("DROP TRIGGER refuse ON log");
    again(&mut database, "101, 130");
    let third = database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), Vec::<String>::new(), "{third}");
    assert_eq!(third["status"], "done", "{third}");

    note(&mut database, third["run"].as_i64().expect("a number"));
    again(&mut database, "101, 102");
    database.run(json!({})).expect("a run");
    assert_eq!(database.number("SELECT count(*) FROM W.rule_instant"), 0);
}

/// It has deleted nothing, and says nothing of what a run would meet.
fn what_a_dry_run_has_met_is_tried(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    refuse(&mut database, "5", "RAISE 'no'");
    database.execute("DELETE FROM log WHERE id <> 5");
    note(&mut database, 1);
    let dry = database.run(json!({"dry_run": true})).expect("a dry run");
    let met = &dry["rules"][0]["failures"][0]["key"];
    assert_eq!(*met, json!("5"), "{dry}");
    database.execute(
        "DROP TRIGGER refuse ON log;
         INSERT INTO log SELECT n, '2025-01-01' FROM generate_series(101, 130) AS n",
    );
    let run = database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), [""; 0], "{run}");
    assert_eq!(run["status"], "done", "{run}");
}

fn an_instant_is_the_same_in_every_session(dialect: Dialect) {
    let zoned = "CREATE TABLE log (id integer PRIMARY KEY, day timestamptz)";
    let mut database = days(dialect, 1, (zoned, "day timestamptz"));
    for (zone, style) in [
        ("UTC", "ISO, MDY"),
        ("Europe/Berlin", "ISO, MDY"),
        ("Asia/Tokyo", "German"),
        ("America/Lima", "SQL, DMY"),
    ] {
        database.execute(&format!(
            "SET timezone = '{zone}'; SET datestyle = '{style}';
             DO $$ BEGIN PERFORM W.instant_refuses(1, 'logs', timestamptz '2025-01-02 00:00:00Z'::text); END $$;
             RESET timezone; RESET datestyle"
        ));
    }
    let noted = database.texts("SELECT due || ' ' || failures FROM W.rule_instant");
    assert_eq!(noted, ["2025-01-02 00:00:00.000000 4"]);
}

/// A trigger of the statement refuses also where a hold keeps the only row: no other look takes an instant for a key.
fn a_refused_statement_is_told_by_a_key(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    database.execute(
        "INSERT INTO log VALUES (2000, '2025-01-03');
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON log EXECUTE FUNCTION refuse()",
    );
    let hold = json!({"key": 2000, "reason": "x"});
    database.set_hold(hold).expect("a hold");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    let keys = "SELECT key FROM W.run_failure WHERE key ~ '[^0-9]' OR key = '2000'";
    assert_eq!(database.texts(keys), ["2000"], "{run}");
}

/// Where nothing of an instant has a key, the instant is what failed; the next run, which passes over other rows, takes it for none.
fn a_refused_statement_of_rows_without_a_key_is_told(dialect: Dialect) {
    let unique = "CREATE TABLE log (id integer UNIQUE, day date)";
    let mut database = days(dialect, 1, (unique, "day date"));
    database.execute(
        "DELETE FROM log;
         INSERT INTO log VALUES (NULL, '2025-01-03');
         CREATE FUNCTION refuse_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
         CREATE TRIGGER refuse_all BEFORE DELETE ON log EXECUTE FUNCTION refuse_all()",
    );
    let first = database.run(json!({})).expect("a run");
    assert_eq!(first["status"], "failed", "{first}");
    let failures = &first["rules"][0]["failures"];
    assert_eq!(failures[0]["message"], "no", "{first}");
    assert_eq!(failures[0]["key"], "2025-01-04 00:00:00.000000", "{first}");
    let samples = &first["rules"][0]["skipped_samples"]["FAILED"];
    assert_eq!(samples, &json!(["2025-01-04 00:00:00"]), "{first}");

    database.execute("DROP TRIGGER refuse_all ON log");
    refuse(&mut database, "5, 6", "RAISE 'no'");
    database.execute("INSERT INTO log SELECT n, '2025-01-01' FROM generate_series(1, 30) AS n");
    note(&mut database, first["run"].as_i64().expect("a number"));
    let second = database.run(json!({})).expect("a run");
    assert_eq!(second["reason"], "nothing left", "{second}");
    assert_eq!(
        second["rules"][0]["skipped"],
        json!({"FAILED": 2}),
        "{second}"
    );
}

/// Most who partition a table do so by its time.
fn a_day_of_a_partitioned_table_goes_in_batches(dialect: Dialect) {
    let partitioned = "CREATE TABLE log (id integer, day timestamp, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
         CREATE TABLE log_all PARTITION OF log FOR VALUES FROM (MINVALUE) TO (MAXVALUE)";
    let mut database = days(dialect, 1, (partitioned, "day"));
    let few = json!({"run_families": 12});
    let preview = database.preview(few.clone()).expect("a preview");
    let dry = database.run(json!({"run_families": 12, "dry_run": true}));
    let run = database.run(few).expect("a run");
    for answer in [&preview, &dry.expect("a dry run"), &run] {
        assert_eq!(answer["rules"][0]["rows"], 12, "{answer}");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["rows"], ALL - 12, "{run}");
    assert!(left(&mut database).is_empty(), "{run}");
    let noted = database.texts("SELECT found FROM noted ORDER BY found");
    let noted: Vec<i64> = noted.iter().flat_map(|found| found.parse()).collect();
    assert!(
        noted.windows(2).all(|two| two[1] - two[0] <= MOST),
        "{noted:?}"
    );
}

/// More rows than a batch takes.
fn what_is_locked_for_a_moment_goes(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    let wait = database.set_setting("lock_timeout", 60_000);
    wait.expect("a setting");
    let mut rival = database.connect();
    rival.execute("START TRANSACTION").expect("a transaction");
    for id in 6..=30 {
        let lock = format!("SELECT id FROM log WHERE id = {id} FOR UPDATE");
        rival.query(&lock, &[]).expect("a lock");
    }
    let run = meanwhile(&mut database, &mut rival, "run", json!({}), |_, _| ());
    assert_eq!(run["rules"][0]["rows"], ALL, "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert!(left(&mut database).is_empty(), "{run}");
}

/// An old snapshot keeps the entries of deleted rows in the index: an instant is not read from its beginning for each batch.
fn rows_of_one_instant_are_listed_for_many_batches(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    let all = numbers(dialect, ROOTS);
    database.execute(&format!(
        "INSERT INTO log SELECT 1000 + n, '2025-01-03' FROM {all}"
    ));
    let mut old = database.connect();
    old.execute("START TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .expect("a transaction");
    old.query("SELECT count(*) FROM log", &[])
        .expect("a snapshot");
    let before = entries_read(&mut database, "log_day");
    let run = database.run(json!({})).expect("a run");
    let read = entries_read(&mut database, "log_day") - before;
    assert_eq!(run["rules"][0]["rows"], ROOTS + ALL, "{run}");
    assert!(run["rules"][0]["batches"].as_i64() > Some(ROOTS / MOST));
    assert!(read < 40 * ROOTS, "{read} entries read of {ROOTS}: {run}");
}

/// Worker 2 leaves the second day, of which a row is locked, to worker 1, which ends before it comes to that.
fn what_is_held_of_a_day_that_workers_left_is_told_so(dialect: Dialect) {
    let mut database = days(dialect, 2, LOG);
    for (name, value) in [("rate", 1), ("lock_timeout", 100)] {
        database.set_setting(name, value).expect("a setting");
    }
    for key in [38, 39] {
        let hold = json!({"key": key, "reason": "x"});
        database.set_hold(hold).expect("a hold");
    }
    let mut rival = database.connect();
    rival.execute("START TRANSACTION").expect("a transaction");
    let lock = "SELECT id FROM log WHERE id = 40 FOR UPDATE";
    rival.query(lock, &[]).expect("a lock");
    let (runner, _, _) = database.call_aside("run", json!({"worker": 1, "time_budget": "1h"}));
    let rests = "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for IS NOT NULL";
    until("a run that rests", || Ok(database.number(rests) > 0)).expect("it rests");
    let two = database.run(json!({"worker": 2, "time_budget": "1h"}));
    let two = two.expect("a run");
    assert_eq!(two["rules"][0]["rows"], 1, "{two}");
    assert_eq!(two["rules"][0]["skipped"], json!({}), "{two}");
    database.execute("CALL W.pause('x')");
    let (_, one) = runner.join().expect("no panic");
    let one = one.expect("a run");
    let skipped = &one["rules"][0]["skipped"];
    assert_eq!(*skipped, json!({"HELD": 2, "LOCKED": 1}), "{one} {two}");
}

/// Worker 2 passes over so many locked rows that it does not look at the others of the day; worker 1 does, once all are free.
fn what_workers_give_up_of_a_day_is_looked_at_by_the_last_one(dialect: Dialect) {
    let mut database = days(dialect, 2, LOG);
    let wait = database.set_setting("lock_timeout", 60_000);
    wait.expect("a setting");
    let all = numbers(dialect, 300);
    database.execute(&format!(
        "INSERT INTO log SELECT 1000 + n, '2025-01-02' FROM {all}"
    ));
    let mut rivals = ["id = 5", "id BETWEEN 1001 AND 1250"].map(|rows| {
        let mut rival = database.connect();
        rival.execute("START TRANSACTION").expect("a transaction");
        let lock = format!("SELECT id FROM log WHERE {rows} FOR UPDATE");
        rival.query(&lock, &[]).expect("locks");
        rival
    });
    let [of_one, of_two] = &mut rivals;
    let mut two = Value::Null;
    let one = meanwhile(
        &mut database,
        of_one,
        "run",
        json!({"worker": 1}),
        |database, _| {
            two = meanwhile(database, of_two, "run", json!({"worker": 2}), |_, _| ());
        },
    );
    for run in [&one, &two] {
        assert_eq!(run["reason"], "nothing left", "{one} {two}");
        assert_eq!(run["rules"][0]["skipped"], json!({}), "{one} {two}");
    }
    assert!(left(&mut database).is_empty(), "{one} {two}");
}

/// More than work_mem has room for: the list is not read once for each row. A date says the end of its day.
fn a_list_leaves_out_as_many_keys_as_there_are(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    database.execute(
        "INSERT INTO log SELECT 1000 + n, '2025-01-03' FROM generate_series(1, 200000) AS n;
         SET statement_timeout = '60s'",
    );
    let but = "ARRAY(SELECT (1000 + n)::text FROM generate_series(1, 199990) AS n)";
    let found = database.number(&format!(
        "SELECT cardinality(W.rows_ahead('logs', '2025-01-04', '2025-01-05', {but}, 100))::bigint"
    ));
    assert_eq!(found, 10);
    database.execute(&format!(
        "INSERT INTO W.hold (rule, key, reason) SELECT 'logs', k.key, 'x' FROM unnest({but}) AS k(key)"
    ));
    let found = database.number(
        "SELECT cardinality(W.rows_ahead('logs', '2025-01-04', '2025-01-05', '{}', 100))::bigint",
    );
    assert_eq!(found, 10);
}

/// A unique index takes them.
fn rows_without_a_key_are_not_listed_for_ever(dialect: Dialect) {
    let unique = "CREATE TABLE log (id integer UNIQUE, day date)";
    let mut database = days(dialect, 1, (unique, "day date"));
    database.execute("INSERT INTO log VALUES (NULL, '2025-01-01'), (NULL, '2025-01-02')");
    let run = database.run(json!({"time_budget": "30s"}));
    let run = run.expect("a run");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert_eq!(
        database.number("SELECT count(*) FROM log WHERE id IS NOT NULL"),
        0,
        "{run}"
    );
}

/// Row 5 is in use on the first day, comes to the third with row 38, and is refused there.
fn what_was_in_use_and_is_refused_later_is_not_tried_for_ever(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    let all = numbers(dialect, 30);
    database.execute(&format!(
        "INSERT INTO log SELECT 1000 + n, '2025-01-03' FROM {all};
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
             IF OLD.id = 38 THEN UPDATE public.log SET day = '2025-01-03' WHERE id = 5;
             ELSIF OLD.day = '2025-01-01' THEN RAISE 'busy' USING ERRCODE = '55P03';
             ELSE RAISE 'no'; END IF;
             RETURN OLD;
         END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON log FOR EACH ROW WHEN (OLD.id IN (5, 38)) EXECUTE FUNCTION refuse()"
    ));
    let run = database.run(json!({"time_budget": "60s"}));
    let run = run.expect("a run");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"FAILED": 1, "LOCKED": 1}),
        "{run}"
    );
    assert_eq!(run["rules"][0]["failures"][0]["message"], "no", "{run}");
    assert_eq!(left(&mut database), ["5"], "{run}");
}

/// Neither the key in each partition, nor all of the day for each key. A row is locked for long.
fn parts_of_a_day_read_its_partition_alone(dialect: Dialect) {
    let parts: String = (1..=12)
        .map(|month| {
            let end = match month {
                12 => "2026-01-01".to_owned(),
                month => format!("2025-{:02}-01", month + 1),
            };
            format!(
                "; CREATE TABLE log_{month:02} PARTITION OF log FOR VALUES FROM ('2025-{month:02}-01') TO ('{end}')"
            )
        })
        .collect();
    for key in ["id, day", "day, id"] {
        let table = format!(
            "CREATE TABLE log (id integer, day timestamp, PRIMARY KEY ({key})) PARTITION BY RANGE (day){parts}"
        );
        let mut database = days(dialect, 1, (&table, "day"));
        for (name, value) in [("batch_rows", 100), ("lock_timeout", 100)] {
            database.set_setting(name, value).expect("a setting");
        }
        let all = numbers(dialect, ROOTS / 2);
        database.execute(&format!(
            "INSERT INTO log SELECT 1000 + n, '2025-03-01' FROM {all}"
        ));
        let mut rival = database.connect();
        rival.execute("START TRANSACTION").expect("a transaction");
        let lock = "SELECT id FROM log WHERE id = 1007 FOR UPDATE";
        rival.query(lock, &[]).expect("a lock");
        let others = "SELECT sum(idx_scan)::bigint FROM pg_stat_user_indexes
             WHERE relname LIKE 'log_%' AND relname NOT IN ('log_01', 'log_03')";
        database.execute("SELECT pg_stat_force_next_flush()");
        let before = (
            database.number(others),
            entries_read(&mut database, "log_03"),
        );
        let run = database.run(json!({})).expect("a run");
        let read = entries_read(&mut database, "log_03") - before.1;
        let scans = database.number(others) - before.0;
        assert_eq!(run["rules"][0]["skipped"], json!({"LOCKED": 1}), "{run}");
        assert_eq!(left(&mut database), ["1007"], "{run}");
        assert!(scans < ROOTS, "{key}: {scans} scans of other partitions");
        assert!(
            read < 30 * ROOTS,
            "{key}: {read} entries read of its own partition"
        );
    }
}

/// An installation made the retention longer while the run rested behind its first batch.
fn a_day_that_is_due_no_more_is_left(dialect: Dialect) {
    let mut database = days(dialect, 1, LOG);
    let run = database.run_meanwhile(json!({}), |database| {
        database.execute("UPDATE W.rule SET retention = 100 * 365 * 86400::bigint");
    });
    let run = run.expect("a run");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(run["rules"][0]["rows"], MOST, "{run}");
    assert_eq!(
        left(&mut database).len().try_into(),
        Ok(ALL - MOST),
        "{run}"
    );
}
