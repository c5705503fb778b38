//! Rules of one table: what holds of other rules keep is asked under the locks of the rows, and rows of one instant go in parts.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::share;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, numbers};
use crate::support::meanwhile::{meanwhile, until_waits};

tests! {
    every_server: [
        what_comes_below_a_held_row_stays,
        what_comes_below_a_held_row_is_not_purged,
        a_row_that_becomes_too_young_is_told_as_such,
        what_a_key_refuses_keeps_no_other_row_of_its_day,
        locked_rows_are_waited_for_once,
        a_part_of_few_rows_is_halved_from_these,
        a_worker_tells_no_row_that_another_has_told,
    ],
    mysql_or_mariadb: [
        a_part_takes_no_other_row_with_its_key,
        an_instant_is_read_once_from_its_beginning,
        roots_of_one_instant_are_read_once,
        what_where_sql_cannot_read_stays,
        a_run_that_leaves_a_rule_goes_on_within_the_day,
        many_refused_rows_are_told_once_and_keep_no_other,
        what_is_behind_many_refused_rows_goes_in_a_later_run,
        a_run_that_only_passes_over_refused_rows_failed,
        a_run_tells_of_what_it_passes_over_what_is_known,
        what_is_passed_over_is_not_listed,
        of_many_refusals_the_rest_is_told_as_one,
        parts_of_an_instant_of_numbers_go_along_the_key,
        numbers_of_one_instant_go_in_parts,
    ],
}

/// Below a job its steps, and below these what a rule of its own deletes. A job is held.
fn bound_by(rule: &str) -> Graph {
    graph_of(&format!(
        "name = \"parts\"\n\n[tables]\njob = {{ key = \"id bigint\" }}
step = {{ key = \"id bigint\", parents = [\"job_id -> job.id\"] }}
entry = {{ key = \"id bigint\", parents = [\"step_id -> step.id\"] }}\n
[rules.jobs]\nstrategy = \"end-time\"\nroot = \"job\"\nfinal = {{ state = 1 }}\nend_time = \"at\"\nretention = {{ default = \"30d\" }}\n
[rules.entries]\nstrategy = \"age\"\nroot = \"entry\"\nretention = {{ default = \"30d\" }}\n{rule}\n"
    ))
}

fn bound(dialect: Dialect, rule: &str) -> Installation {
    let graph = bound_by(rule);
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, state integer NOT NULL, at {time} NOT NULL);
         CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint);
         CREATE TABLE entry (id bigint PRIMARY KEY, step_id bigint, at {time} NOT NULL, noon bigint NOT NULL);
         CREATE INDEX entry_at ON entry (at);
         CREATE INDEX entry_noon ON entry (noon);"
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    for (name, value) in [("lock_timeout", 60_000), ("batch_rows", 4)] {
        let setting = json!({"rule": "entries", "name": name, "value": value});
        database.call("set_setting", setting).expect("a setting");
    }
    database.execute(
        "INSERT INTO job VALUES (1, 2, '2020-01-01'), (2, 2, '2020-01-01');
         INSERT INTO step VALUES (1, 1), (2, 2);",
    );
    database
        .set_hold(json!({"rule": "jobs", "key": 1, "reason": "x"}))
        .expect("a hold");
    database
}

/// What the rule says of its time.
const TIMES: [&str; 4] = [
    "time = \"at\"",
    "time = \"noon epoch-ms\"",
    "time = \"at\"\narchive = true",
    "time = \"at\"\nwhere_sql = \"{root}.id <> 99\"",
];

fn fill(database: &mut Installation, rows: i64) {
    database.execute("DELETE FROM entry");
    for id in 1..=rows {
        database.execute(&format!(
            "INSERT INTO entry VALUES ({id}, 2, '2020-01-01', 1577836800000)"
        ));
    }
}

fn left(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT id FROM entry ORDER BY id")
}

fn skipped(run: &Value) -> &Value {
    &run["rules"][0]["skipped"]
}

/// A batch meets a row that somebody changes, and waits for it: when it has it, the row is below a held one.
fn what_comes_below_a_held_row_stays(dialect: Dialect) {
    for rule in share(dialect, TIMES) {
        let mut database = bound(dialect, rule);
        // As a whole, and of an instant that has more rows than a batch takes.
        for rows in [3, 6] {
            fill(&mut database, rows);
            let mut rival = database.connect();
            rival.execute("START TRANSACTION").expect("a transaction");
            rival
                .execute("UPDATE entry SET step_id = 1 WHERE id = 2")
                .expect("a lock");
            let options = json!({"rule": "entries"});
            let run = meanwhile(&mut database, &mut rival, "run", options, |_, _| {});
            assert_eq!(left(&mut database), ["2"], "{rule} {rows}: {run}");
            assert_eq!(skipped(&run), &json!({"HELD": 1}), "{rule} {rows}: {run}");
            assert_eq!(run["rules"][0]["rows"], rows - 1, "{rule} {rows}: {run}");
        }
    }
}

fn what_comes_below_a_held_row_is_not_purged(dialect: Dialect) {
    for rule in share(dialect, TIMES) {
        let mut database = bound(dialect, rule);
        fill(&mut database, 3);
        let mut rival = database.connect();
        rival.execute("START TRANSACTION").expect("a transaction");
        rival
            .execute("UPDATE entry SET step_id = 1 WHERE id = 2")
            .expect("a lock");
        let options = json!({"rule": "entries", "key": [2]});
        let purge = meanwhile(&mut database, &mut rival, "purge", options, |_, _| {});
        assert_eq!(purge["refused"], json!({"2": "HELD"}), "{rule}: {purge}");
        assert_eq!(left(&mut database), ["1", "2", "3"], "{rule}");
    }
}

/// Rows of a day, with a key that the application repeats.
fn repeated(dialect: Dialect, keys: &str) -> Installation {
    let graph = graph_of(
        "name = \"parts\"\n\n[tables]\nlog = { key = \"id integer\" }\n
[rules.logs]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"day date\"\nretention = { default = \"30d\" }\n",
    );
    let schema = format!(
        "CREATE TABLE log (id integer, day date, no integer, PRIMARY KEY ({keys})); CREATE INDEX log_day ON log (day);"
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    database.set_setting("batch_rows", 4).expect("a setting");
    database
}

/// Neither one that is too young, nor does it fail because of one that is not.
fn a_part_takes_no_other_row_with_its_key(dialect: Dialect) {
    for (keys, young, old) in [
        ("id, day", "CURRENT_DATE, 0", None),
        ("id, no", "CURRENT_DATE, 1", None),
        ("id, no", "CURRENT_DATE, 1", Some("'2025-01-01', 2")),
    ] {
        let mut database = repeated(dialect, keys);
        for id in 1..=9 {
            database.execute(&format!("INSERT INTO log VALUES ({id}, '2025-01-01', 0)"));
        }
        for row in [Some(young), old].into_iter().flatten() {
            database.execute(&format!("INSERT INTO log VALUES (7, {row})"));
        }
        let run = database.run(json!({})).expect("a run");
        let left = database.texts("SELECT CONCAT(id, ' ', day = CURRENT_DATE) FROM log");
        assert_eq!(left, ["7 1"], "{keys} {old:?}: {run}");
        assert_eq!(skipped(&run), &json!({}), "{keys} {old:?}: {run}");
        // A row with this key was refused, whichever.
        database.execute(&format!(
            "INSERT INTO log VALUES (7, '2025-01-01', 0), (9, '2025-01-01', 0);
             INSERT INTO W.run_failure (run_id, rule, `key`, errno, `sqlstate`, message) VALUES ({}, 'logs', '7', 1451, '23000', 'no')",
            run["run"]
        ));
        note(&mut database, &run, 8);
        database.set_setting("batch_rows", 1).expect("a setting");
        let run = database.run(json!({})).expect("a run");
        let told = &run["rules"][0]["skipped_samples"];
        assert_eq!(told, &json!({"FAILED": [DAY]}), "{keys} {old:?}: {run}");
        assert_eq!(run["rules"][0]["rows"], 1, "{keys} {old:?}: {run}");
    }
}

/// What a purge finds when it has the row, not what it found before.
fn a_row_that_becomes_too_young_is_told_as_such(dialect: Dialect) {
    let mut database = bound(dialect, TIMES[0]);
    fill(&mut database, 3);
    let mut rival = database.connect();
    rival.execute("START TRANSACTION").expect("a transaction");
    rival
        .execute("UPDATE entry SET at = CURRENT_TIMESTAMP WHERE id = 2")
        .expect("a lock");
    let options = json!({"rule": "entries", "key": [2]});
    let purge = meanwhile(&mut database, &mut rival, "purge", options, |_, _| {});
    let refused = json!({"2": "RETENTION_NOT_REACHED"});
    assert_eq!(purge["refused"], refused, "{purge}");
    assert_eq!(left(&mut database), ["1", "2", "3"]);
}

/// Rows of a day, to some of which a key of another table refers that nothing knows of.
pub(crate) fn day(dialect: Dialect, rows: i64, most: i64) -> Installation {
    limited_day(dialect, rows, most, "")
}

fn limited_day(dialect: Dialect, rows: i64, most: i64, limits: &str) -> Installation {
    let graph = graph_of(&format!(
        "name = \"parts\"\n\n[tables]\nlog = {{ key = \"id integer\" }}\n
[rules.logs]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"day date\"\nretention = {{ default = \"30d\" }}\n{limits}",
    ));
    let schema = "CREATE TABLE log (id integer PRIMARY KEY, day date, no integer);
         CREATE TABLE other (id integer PRIMARY KEY, log_id integer, FOREIGN KEY (log_id) REFERENCES log (id));
         CREATE INDEX log_day ON log (day); CREATE INDEX other_log ON other (log_id);";
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    let settings = [("batch_rows", most), ("retries", 0), ("lock_timeout", 300)];
    for (name, value) in settings {
        database.set_setting(name, value).expect("a setting");
    }
    let all = numbers(dialect, rows);
    database.execute(&format!(
        "INSERT INTO log SELECT n, DATE '2025-01-01', 0 FROM {all}"
    ));
    database
}

fn ids(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT id FROM log ORDER BY id")
}

/// Also where the day fits into a batch, and where few families are left to the run.
fn what_a_key_refuses_keeps_no_other_row_of_its_day(dialect: Dialect) {
    for (rows, options) in [
        (37, json!({})),
        (8, json!({})),
        (37, json!({"run_families": 36})),
    ] {
        let mut database = day(dialect, rows, 10);
        database.execute("INSERT INTO other VALUES (1, 5), (2, 7)");
        let run = database.run(options).expect("a run");
        let context = format!("{rows}: {run}");
        assert_eq!(run["rules"][0]["rows"], rows - 2, "{context}");
        assert_eq!(skipped(&run), &json!({"FAILED": 2}), "{context}");
        let told = &run["rules"][0]["skipped_samples"]["FAILED"];
        assert_eq!(told, &json!(["5", "7"]), "{context}");
        assert_eq!(ids(&mut database), ["5", "7"], "{context}");
        database.execute("DELETE FROM other");
        database.run(json!({})).expect("a run");
        assert_eq!(ids(&mut database).len(), 0, "{context}");
    }
}

/// A transaction that lets go while the run waits costs the day nothing, also where it has more rows than a batch takes.
fn locked_rows_are_waited_for_once(dialect: Dialect) {
    let mut database = day(dialect, 37, 10);
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    let mut rival = database.connect();
    rival.execute("START TRANSACTION").expect("a transaction");
    for id in 11..=30 {
        rival
            .execute(&format!("UPDATE log SET no = 1 WHERE id = {id}"))
            .expect("a lock");
    }
    let run = meanwhile(
        &mut database,
        &mut rival,
        "run",
        json!({}),
        |database, _| {
            assert_eq!(ids(database).len(), 20);
        },
    );
    assert_eq!(ids(&mut database).len(), 0, "{run}");
    assert_eq!(skipped(&run), &json!({}), "{run}");
}

/// A limit of the run leaves few rows to a batch: these are halved, not what a batch takes otherwise.
fn a_part_of_few_rows_is_halved_from_these(dialect: Dialect) {
    let mut database = day(dialect, 5_000, 4_000);
    database.execute("INSERT INTO other VALUES (1, 5)");
    let run = database.run(json!({"run_families": 12})).expect("a run");
    assert_eq!(run["rules"][0]["rows"], 12, "{run}");
    assert!(run["rules"][0]["retries"].as_i64() < Some(9), "{run}");
}

/// Somebody has locked the first rows of a table.
fn locked(database: &Installation, table: &str, rows: i64) -> Session {
    let mut rival = database.connect();
    for sql in [
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
        "START TRANSACTION".to_owned(),
        format!("UPDATE {table} SET no = 1 WHERE id <= {rows}"),
    ] {
        rival.execute(&sql).expect("a lock");
    }
    rival
}

/// What is locked is not read again for each part.
fn an_instant_is_read_once_from_its_beginning(dialect: Dialect) {
    let rows = 2_000;
    let mut database = day(dialect, rows, 50);
    database.execute("ANALYZE TABLE log");
    let rival = locked(&database, "log", 1_000);
    let before = database.handled("read_next");
    let run = database.run(json!({})).expect("a run");
    let read = database.handled("read_next") - before;
    drop(rival);
    assert_eq!(skipped(&run), &json!({"LOCKED": 1_000}), "{run}");
    assert!(read < 15 * rows, "{read} entries for {rows} rows: {run}");
}

/// Families, of which half are locked.
fn roots_of_one_instant_are_read_once(dialect: Dialect) {
    let graph = graph_of(
        "name = \"parts\"\n\n[tables]\njob = { key = \"id integer\" }\nlog = { key = \"id integer\", parents = [\"job_id -> job.id\"] }\n
[rules.history]\nstrategy = \"removal-time\"\nroot = \"job\"\ntime = \"removal\"\ntables = [\"log: job_id\", \"job\"]\nunit = \"family\"\n",
    );
    let schema = "CREATE TABLE job (id integer PRIMARY KEY, removal datetime(6), no integer);
         CREATE TABLE log (id integer PRIMARY KEY, job_id integer, removal datetime(6));
         CREATE INDEX job_removal ON job (removal); CREATE INDEX log_removal ON log (removal); CREATE INDEX log_job ON log (job_id);";
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    database
        .set_setting("batch_families", 20)
        .expect("a setting");
    let roots = 1_000;
    let all = numbers(dialect, roots);
    database.execute(&format!(
        "INSERT INTO job SELECT n, '2020-01-01', 0 FROM {all}"
    ));
    database.execute("ANALYZE TABLE job");
    let rival = locked(&database, "job", 500);
    let before = database.handled("read_next");
    let run = database.run(json!({})).expect("a run");
    let read = database.handled("read_next") - before;
    drop(rival);
    assert_eq!(skipped(&run), &json!({"LOCKED": 500}), "{run}");
    assert!(read < 25 * roots, "{read} entries for {roots} roots: {run}");
}

/// An error of the condition keeps its row: also of an instant that goes in parts, and where a hold of another rule is looked for.
fn what_where_sql_cannot_read_stays(dialect: Dialect) {
    let graph = graph_of(
        "name = \"parts\"\n\n[tables]\nbill = { key = \"id integer\" }\n
[rules.bills]\nstrategy = \"age\"\nroot = \"bill\"\ntime = \"day date\"\nretention = { default = \"30d\" }
where_sql = \"CAST({root}.paid AS DECIMAL(10,2)) = 0\"\n",
    );
    let schema = "CREATE TABLE bill (id integer PRIMARY KEY, day date, paid varchar(20)); CREATE INDEX bill_day ON bill (day);";
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    for most in [10, 3, 1] {
        database.execute("DELETE FROM bill");
        for (id, paid) in [(1, "0"), (2, "0"), (3, "open"), (4, "0")] {
            database.execute(&format!(
                "INSERT INTO bill VALUES ({id}, '2025-01-01', '{paid}')"
            ));
        }
        database.set_setting("batch_rows", most).expect("a setting");
        let run = database.run(json!({}));
        let left = database.texts("SELECT id FROM bill ORDER BY id");
        assert!(left.contains(&"3".to_owned()), "{most}: {left:?} {run:?}");
    }
}

/// Each look before a batch says that the rule waits, and the next one that it does not.
fn a_run_that_leaves_a_rule_goes_on_within_the_day(dialect: Dialect) {
    let query = "SELECT IF(IS_USED_LOCK('windrow parts') <=> CONNECTION_ID(), \
                 RELEASE_LOCK('windrow parts') - 1, GET_LOCK('windrow parts', 0))";
    let limits = format!("limits = {{ wait_while_sql = \"{query}\" }}\n");
    let mut database = limited_day(dialect, 4, 1, &limits);
    database.execute("INSERT INTO other VALUES (1, 1), (2, 3)");
    let run = database.run(json!({"time_budget": "30s"})).expect("a run");
    assert_eq!(ids(&mut database), ["1", "3"], "{run}");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(skipped(&run), &json!({"FAILED": 2}), "{run}");
    let places = "SELECT COUNT(*) FROM W.run_rule WHERE place IS NOT NULL";
    assert_eq!(database.number(places), 0, "{run}");
}

/// More than five hundred, one behind the other in the second look, where what may go is gone.
fn many_refused_rows_are_told_once_and_keep_no_other(dialect: Dialect) {
    let mut database = day(dialect, 610, 1);
    let all = numbers(dialect, 610);
    database.execute(&format!(
        "INSERT INTO other SELECT n, n FROM {all} WHERE n NOT IN (301, 602)"
    ));
    let run = database.run(json!({})).expect("a run");
    // The next one is refused, too; those behind it are one, under their time.
    assert_eq!(skipped(&run), &json!({"FAILED": 502}), "{run}");
    assert_eq!(run["rules"][0]["rows"], 2, "{run}");
}

/// More than five hundred, one behind the other.
fn what_is_behind_many_refused_rows_goes_in_a_later_run(dialect: Dialect) {
    let mut database = day(dialect, 605, 1);
    database.execute("CREATE TRIGGER refuse BEFORE DELETE ON log FOR EACH ROW IF OLD.id <= 600 THEN SIGNAL SQLSTATE '45000'; END IF");
    // The first has told none by itself. The second ends its first look, and tells some; the third tells also of the others.
    for (left, failed) in [(605, 1), (600, 502), (600, 600)] {
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["status"], "failed", "{run}");
        assert_eq!(ids(&mut database).len(), left, "{run}");
        assert_eq!(skipped(&run), &json!({"FAILED": failed}), "{run}");
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM W.rule_instant"), 0);
    database.execute("DROP TRIGGER refuse");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["rows"], 600, "{run}");
}

/// As a run notes it that had no time for what is behind its place. A purge, a dry run and what was only locked say nothing of an error.
fn a_run_that_only_passes_over_refused_rows_failed(dialect: Dialect) {
    let mut database = day(dialect, 5, 1);
    database.execute("CREATE TRIGGER refuse BEFORE DELETE ON log FOR EACH ROW IF OLD.id <= 2 THEN SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = 'no'; END IF");
    let first = database.run(json!({})).expect("a run");
    assert_eq!(first["status"], "failed", "{first}");
    let again = |database: &mut Installation, told: Value| {
        database.execute(
            "INSERT INTO W.rule_instant (rule, due, run_id, rule_hash, look, part_key)
             SELECT r.rule, '2025-01-02 00:00:00', 0, SHA2(r.document, 256), 1, '5' FROM W.rule AS r",
        );
        database.execute("INSERT INTO log SELECT 10 + l.id, l.day, 0 FROM log AS l");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(ids(database), ["1", "2"], "{run}");
        assert_eq!(skipped(&run), &told, "{run}");
        run
    };
    let told = format!("not tried again since run {}: no", first["run"]);
    // What it shows is that of the run which tried.
    for _ in 0..2 {
        let run = again(&mut database, json!({"FAILED": 2}));
        assert_eq!(
            run["rules"][0]["failures"],
            json!([{"key": "1", "sqlstate": "42000", "message": told}]),
            "{run}"
        );
        assert_eq!(run["status"], "failed", "{run}");
    }
    // Of the second row no error is left, and of the first what later runs have shown.
    let original = "message NOT LIKE 'not tried again %'";
    database.execute(&format!("DELETE FROM W.run_failure WHERE {original}"));
    let run = again(&mut database, json!({"FAILED": 1, "LOCKED": 1}));
    assert_eq!(run["rules"][0]["failures"][0]["message"], told, "{run}");
    assert_eq!(run["status"], "failed", "{run}");
    database.execute("UPDATE W.run_failure SET errno = 1205");
    let run = again(&mut database, json!({"LOCKED": 1}));
    assert_eq!(run["rules"][0]["failures"], json!([]), "{run}");
    assert_eq!(run["status"], "done", "{run}");
}

/// The day that the rows of `day` have, as a run tells it: a date says the end of its day.
const DAY: &str = "2025-01-02 00:00:00";

/// As a run notes it that ends behind a row of that day.
fn note(database: &mut Installation, run: &Value, key: i64) {
    database.execute(&format!(
        "INSERT INTO W.rule_instant (rule, due, since, run_id, rule_hash, look, part_key)
         SELECT r.rule, '{DAY}', {0}, {0}, SHA2(r.document, 256), 1, '{key}' FROM W.rule AS r",
        run["run"]
    ));
}

fn again(database: &mut Installation, ids: &[i64]) {
    for id in ids {
        database.execute(&format!("INSERT INTO log VALUES ({id}, '2025-01-01', 0)"));
    }
}

/// Rows that have come since, or were only locked, have not failed; neither has what is held, gone, or met by a purge alone.
fn a_run_tells_of_what_it_passes_over_what_is_known(dialect: Dialect) {
    let mut database = day(dialect, 37, 10);
    database.execute("INSERT INTO other VALUES (1, 3), (2, 5), (3, 7), (4, 9)");
    let first = database.run(json!({})).expect("a run");
    assert_eq!(skipped(&first), &json!({"FAILED": 4}), "{first}");
    database.execute("DELETE FROM other WHERE log_id = 9");
    database.execute("DELETE FROM log WHERE id = 9");
    let hold = json!({"key": 3, "reason": "x"});
    database.set_hold(hold).expect("a hold");

    // Somebody has one of those that were refused: it is told, and not waited for.
    let mut rival = database.connect();
    rival.execute("START TRANSACTION").expect("a transaction");
    rival
        .execute("UPDATE log SET no = 1 WHERE id = 5")
        .expect("a lock");
    again(&mut database, &[30, 31]);
    note(&mut database, &first, 20);
    let second = database.run(json!({})).expect("a run");
    drop(rival);
    assert_eq!(second["rules"][0]["rows"], 2, "{second}");
    let told = json!({"FAILED": 2, "HELD": 1});
    assert_eq!(skipped(&second), &told, "{second}");
    let keys = &second["rules"][0]["skipped_samples"]["FAILED"];
    assert_eq!(keys, &json!(["5", "7"]), "{second}");
    let shown = &second["rules"][0]["failures"][0];
    assert_eq!(shown["key"], "5", "{second}");
    assert_eq!(second["status"], "failed", "{second}");

    again(&mut database, &[10, 12, 13, 30, 31]);
    database.execute("INSERT INTO other VALUES (5, 12), (6, 13)");
    for key in ["12", "13"] {
        let purge = database.call("purge", json!({"rule": "logs", "key": [key]}));
        assert_eq!(purge.expect("a purge")["refused"], json!({key: "FAILED"}));
    }
    // As a stamp that could not change a row.
    database.execute("UPDATE W.run SET `trigger` = 'STAMP' ORDER BY run_id DESC LIMIT 1");
    note(&mut database, &first, 20);
    let third = database.run(json!({})).expect("a run");
    assert_eq!(ids(&mut database), ["3", "5", "7", "10", "12", "13"]);
    let told = json!({"FAILED": 2, "HELD": 1, "LOCKED": 1});
    assert_eq!(skipped(&third), &told, "{third}");
    let under = &third["rules"][0]["skipped_samples"]["LOCKED"];
    assert_eq!(under, &json!([DAY]), "{third}");

    // All are tried by the next one.
    database.execute("DELETE FROM other");
    let last = database.run(json!({})).expect("a run");
    assert_eq!(skipped(&last), &json!({"HELD": 1}), "{last}");
    assert_eq!(ids(&mut database), ["3"], "{last}");
    assert_eq!(last["status"], "done", "{last}");
}

/// More than a run lists.
fn of_many_refusals_the_rest_is_told_as_one(dialect: Dialect) {
    let mut database = day(dialect, 12, 10);
    database.execute("INSERT INTO other VALUES (1, 5), (2, 7)");
    let first = database.run(json!({})).expect("a run");
    let all = numbers(dialect, 10_001);
    database.execute(&format!(
        "INSERT INTO W.run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
         SELECT {}, 'logs', 100000 + n, 1451, '23000', 'no' FROM {all}",
        first["run"]
    ));
    again(&mut database, &[30]);
    note(&mut database, &first, 20);
    let second = database.run(json!({})).expect("a run");
    assert_eq!(ids(&mut database), ["5", "7"], "{second}");
    assert_eq!(skipped(&second), &json!({"FAILED": 1}), "{second}");
    let under = &second["rules"][0]["skipped_samples"]["FAILED"];
    assert_eq!(under, &json!([DAY]), "{second}");
    let shown = &second["rules"][0]["failures"];
    assert_eq!(shown.as_array().map(Vec::len), Some(1), "{second}");
}

/// However many rows there are before the place.
fn what_is_passed_over_is_not_listed(dialect: Dialect) {
    let mut database = day(dialect, 3_000, 100);
    database.execute("INSERT INTO other VALUES (1, 5)");
    let first = database.run(json!({})).expect("a run");
    assert_eq!(skipped(&first), &json!({"FAILED": 1}), "{first}");
    let all = numbers(dialect, 3_000);
    database.execute(&format!(
        "INSERT INTO log SELECT n, DATE '2025-01-01', 0 FROM {all} WHERE n <> 5"
    ));
    note(&mut database, &first, 2_990);
    let before = database.handled("write");
    let run = database.run(json!({})).expect("a run");
    let written = database.handled("write") - before;
    let told = json!({"FAILED": 1, "LOCKED": 1});
    assert_eq!(skipped(&run), &told, "{run}");
    assert_eq!(run["rules"][0]["rows"], 10, "{run}");
    assert!(written < 6_000, "{written} rows written: {run}");
}

/// One meets a row that is refused and waits for another one, which the last one of the sweep takes.
fn a_worker_tells_no_row_that_another_has_told(dialect: Dialect) {
    let graph = graph_of(
        "name = \"parts\"\nworkers = 2\n\n[tables]\nlog = { key = \"id integer\" }\n
[rules.logs]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"day date\"\nretention = { default = \"30d\" }\n",
    );
    let schema = "CREATE TABLE log (id integer PRIMARY KEY, day date, no integer);
         CREATE TABLE other (id integer PRIMARY KEY, log_id integer, FOREIGN KEY (log_id) REFERENCES log (id));
         CREATE INDEX log_day ON log (day); CREATE INDEX other_log ON other (log_id);";
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    for (name, value) in [("batch_rows", 1), ("retries", 0), ("lock_timeout", 3_000)] {
        database.set_setting(name, value).expect("a setting");
    }
    for id in 1..=12 {
        let day = if id <= 6 { 1 } else { 2 };
        database.execute(&format!(
            "INSERT INTO log VALUES ({id}, '2025-01-0{day}', 0)"
        ));
    }
    database.execute("INSERT INTO other VALUES (1, 2)");
    // Of a few rows alone, MariaDB would read all, and wait for any.
    let all = numbers(dialect, 1_000);
    database.execute(&format!(
        "INSERT INTO log SELECT 1000 + n, CURRENT_DATE, 0 FROM {all}"
    ));
    database.execute(match dialect {
        Dialect::Postgres => "ANALYZE log",
        Dialect::Mysql | Dialect::Mariadb => "ANALYZE TABLE log",
    });
    let [mut of_one, mut of_two] = [5, 11].map(|id| {
        let mut rival = database.connect();
        rival.execute("START TRANSACTION").expect("a transaction");
        let lock = format!("UPDATE log SET no = 1 WHERE id = {id}");
        rival.execute(&lock).expect("a lock");
        rival
    });
    let (first, _, number) = database.call_aside("run", json!({"worker": 1}));
    until_waits(&mut database, &first, number);
    // The other one waits for longer, and is the last.
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    let mut one = Value::Null;
    let options = json!({"worker": 2});
    let two = meanwhile(&mut database, &mut of_two, "run", options, |_, _| {
        one = first.join().expect("no panic").1.expect("a run");
        of_one.execute("COMMIT").expect("it lets go");
    });
    let left = database.texts("SELECT id FROM log WHERE id < 1000");
    assert_eq!(left, ["2"], "{one} {two}");
    assert_eq!(skipped(&one), &json!({"FAILED": 1}), "{one} {two}");
    assert_eq!(one["status"], "failed", "{one}");
    assert_eq!(skipped(&two), &json!({}), "{one} {two}");
    assert_eq!(two["status"], "done", "{two}");
}

/// A rule whose times are numbers.
pub(crate) fn of_numbers() -> Graph {
    graph_of(
        "name = \"parts\"\n\n[tables]\nlog = { key = \"id integer\" }\n
[rules.logs]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"at epoch-ms\"\nretention = { default = \"30d\" }\n",
    )
}

/// Of such a table, with a column of this type.
fn numbered(dialect: Dialect, kind: &str) -> Installation {
    let schema = format!(
        "CREATE TABLE log (id integer PRIMARY KEY, at {kind}, no integer); CREATE INDEX log_at ON log (at);"
    );
    let mut database = Installation::of(dialect, &schema, &of_numbers());
    database.arm();
    database
}

const KINDS: [&str; 3] = ["bigint", "decimal(30, 6)", "double"];

/// Whatever of it is locked, and of the table besides: each part reads its own rows.
fn parts_of_an_instant_of_numbers_go_along_the_key(dialect: Dialect) {
    let rows = 2_000;
    for kind in KINDS {
        let mut database = numbered(dialect, kind);
        database.set_setting("batch_rows", 20).expect("a setting");
        let all = numbers(dialect, 10 * rows);
        database.execute(&format!(
            "INSERT INTO log SELECT n, IF(n % 10 = 0, 1577836800000, 4102444800000), 0 FROM {all}"
        ));
        database.execute("ANALYZE TABLE log");
        let rival = locked(&database, "log", 5 * rows);
        let before = database.handled("read_next");
        let run = database.run(json!({})).expect("a run");
        let read = database.handled("read_next") - before;
        drop(rival);
        assert_eq!(skipped(&run), &json!({"LOCKED": 1_000}), "{kind}: {run}");
        assert!(
            read < 15 * rows,
            "{kind}: {read} entries for {rows} rows: {run}"
        );
    }
}

/// Some are numbers of their own, and some no decimal says.
fn numbers_of_one_instant_go_in_parts(dialect: Dialect) {
    for kind in &KINDS[1..] {
        let mut database = numbered(dialect, kind);
        database.set_setting("batch_rows", 4).expect("a setting");
        let all = numbers(dialect, 30);
        database.execute(&format!(
            "INSERT INTO log SELECT n, 1577836800000.1 + n * 0.000001, 0 FROM {all}"
        ));
        let hold = json!({"key": 7, "reason": "x"});
        database.set_hold(hold).expect("a hold");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(ids(&mut database), ["7"], "{kind}: {run}");
        assert_eq!(skipped(&run), &json!({"HELD": 1}), "{kind}: {run}");
    }
}
