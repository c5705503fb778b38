//! Rows that are changed, poisoned, kept or locked as a run comes to them, and runs that end before they are done.

use std::collections::BTreeSet;
use std::thread;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure::errno;

use super::model::{left, only};
use super::world::{World, ample, due};
use super::{AS_OF, either, loaded, run, set};
use crate::support::installation::{Aside, Installation};
use crate::support::patience::until;

pub(super) fn a_batch_looks_again_at_what_it_was_told_to_delete(dialect: Dialect) {
    // PostgreSQL knows rows by where a search saw them, or by their keys alone.
    let ways: &[&str] = either(dialect, &["places", "NULL"], &[""]);
    for places in ways {
        looks_again(dialect, places);
    }
}

fn looks_again(dialect: Dialect, places: &str) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let mut told = |rule: &str, change: &str| -> i64 {
        // Between the search and the batch, what made the rows go is no more.
        if dialect == Dialect::Postgres {
            let cutoff = format!("W.cutoff_of('{rule}', '{AS_OF}', NULL)");
            let search = format!(
                "SELECT array_agg(o_key) FILTER (WHERE o_reason IS NULL) AS keys, array_agg(o_place) FILTER (WHERE o_reason IS NULL) AS places,
                     pg_snapshot_xmin(pg_current_snapshot())::xid AS before
                 FROM W.{rule}_search(1, NULL, NULL, 100, '{AS_OF}', {cutoff})"
            );
            installation.execute(&format!(
                "CREATE TEMPORARY TABLE told AS {search}; {change}"
            ));
            assert!(installation.number("SELECT cardinality(keys) FROM told") > 0);
            let gone = installation.number(&format!(
                "SELECT b.o_families FROM told AS n CROSS JOIN LATERAL W.batch_single(1, '{rule}', 1, n.keys, {places}, n.before, '{AS_OF}', {cutoff}) AS b"
            ));
            installation.execute("DROP TABLE told");
            return gone;
        }
        let as_of = "'2026-06-01 12:00:00'";
        installation.execute(&format!(
            "CALL W.single_open('{rule}'); CALL W.work_single('{rule}'); CALL W.cutoff_of('{rule}', {as_of}, NULL, @cutoff);
             CALL W.search_single('{rule}', 1, 100, {as_of}, @cutoff, @found); {change};"
        ));
        assert!(installation.number("SELECT COUNT(*) FROM W.work_row") > 0);
        installation.execute(&format!(
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
             CALL W.single_lock('{rule}', 1, {as_of}, @cutoff); CALL W.batch_single(1, '{rule}', @gone, @rows); COMMIT;
             CALL W.single_close('{rule}');"
        ));
        installation.number("SELECT @gone")
    };
    assert_eq!(
        told(
            "asset_state",
            "INSERT INTO asset_active VALUES ('B', 'B'); INSERT INTO asset VALUES (3, 'c', 'c'); INSERT INTO asset_active VALUES ('c', 'c')"
        ),
        0
    );
    assert_eq!(told("line", "INSERT INTO orders (id) VALUES (2)"), 0);
    assert_eq!(
        told(
            "task_state",
            "UPDATE task_state_store SET expires_at = '2037-01-01 00:00:00' WHERE expires_at IS NOT NULL"
        ),
        0
    );
    assert_eq!(
        told(
            "tries",
            "UPDATE task_instance_history SET map_index = try_number"
        ),
        0
    );
    // A search has the latch of its batch: a hold comes before it, or after the batch.
    if places != "places" {
        assert_eq!(
            told(
                "lease",
                "INSERT INTO W.hold (rule, \"key\", reason) SELECT 'lease', CAST(id AS char(20)), 'audit' FROM lease"
            ),
            0
        );
    }
    for rule in ["asset_state", "line", "tries", "lease"] {
        assert_eq!(left(&mut installation, rule), world.keys(rule));
    }
}

/// A trigger that refuses to let a row go, with this message, or without a word where the server knows such triggers.
fn refuse(installation: &mut Installation, row: i32) {
    let sql = either(
        installation.dialect,
        format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF OLD.id = {row} THEN RAISE EXCEPTION 'not this one' USING ERRCODE = '42501'; END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
        format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW
             BEGIN
                 IF OLD.id = {row} THEN SIGNAL SQLSTATE '42000' SET MESSAGE_TEXT = 'not this one'; END IF;
             END"
        ),
    );
    installation.execute(&sql);
}

fn relent(installation: &mut Installation) {
    let sql = either(
        installation.dialect,
        "DROP FUNCTION refuse() CASCADE",
        "DROP TRIGGER refuse",
    );
    installation.execute(sql);
}

pub(super) fn a_poisoned_row_is_found_recorded_and_passed_over(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let stays = |taken: &BTreeSet<String>| -> BTreeSet<String> {
        world
            .keys("task_state")
            .difference(taken)
            .cloned()
            .collect()
    };
    // One of the first pass, and one of the second: the cursor is led past either.
    for row in [12, 13] {
        refuse(&mut installation, row);
        let key = row.to_string();
        let answer = run(&mut installation, "task_state");
        assert_eq!(answer["status"], "failed", "{answer}");
        assert_eq!(only(&answer)["skipped_samples"], json!({"FAILED": [key]}));
        assert_eq!(only(&answer)["failures"][0]["message"], "not this one");
        assert_eq!(only(&answer)["failures"][0]["key"], key);
        let mut taken = due(&world, "task_state");
        assert!(taken.remove(&key));
        assert_eq!(left(&mut installation, "task_state"), stays(&taken));
        let purge = installation
            .purge(json!({"rule": "task_state", "key": [key]}))
            .expect("a purge");
        assert_eq!(purge["refused"], json!({key: "FAILED"}));
        relent(&mut installation);
        if row == 12 {
            world.load(&mut installation);
        }
    }
    let last = run(&mut installation, "task_state");
    assert_eq!(
        (&last["status"], &only(&last)["rows"]),
        (&json!("done"), &json!(1))
    );
    assert_eq!(
        left(&mut installation, "task_state"),
        stays(&due(&world, "task_state"))
    );
}

pub(super) fn a_row_that_is_not_deleted_is_no_success(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    if dialect == Dialect::Postgres {
        // A trigger that keeps a row without a word.
        installation.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 RETURN CASE WHEN OLD.id = 12 THEN NULL ELSE OLD END;
             END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()",
        );
        let answer = run(&mut installation, "task_state");
        let message = &only(&answer)["failures"][0]["message"];
        assert_eq!(
            message, "rows of task_state_store could not be deleted",
            "{answer}"
        );
        let purge = installation
            .purge(json!({"rule": "task_state", "key": ["12"]}))
            .expect("a purge");
        assert_eq!(purge["refused"], json!({"12": "FAILED"}));
        return;
    }
    // A foreign key that would take a row before its turn comes, uncounted, refuses the run.
    installation.execute(
        "ALTER TABLE lease ADD COLUMN above bigint; UPDATE lease SET above = 3 WHERE id = 4;
         ALTER TABLE lease ADD FOREIGN KEY (above) REFERENCES lease (id) ON DELETE CASCADE",
    );
    let error = installation
        .run(json!({"rule": "lease"}))
        .expect_err("a key that cascades");
    assert!(
        format!("{error:#}").contains("table lease references lease"),
        "{error:#}"
    );
    assert_eq!(left(&mut installation, "lease").len(), 10);
}

pub(super) fn what_another_session_holds_is_left_to_it(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let mut rival = installation.connect();
    for (rule, lock, key) in [
        (
            "task_state",
            "SELECT 1 FROM task_state_store WHERE id = 3 FOR UPDATE",
            "3",
        ),
        (
            "asset_state",
            "SELECT 1 FROM asset_state_store WHERE asset_id = 3 AND name = 'a' FOR UPDATE",
            "[3, \"a\"]",
        ),
        (
            "line",
            "SELECT 1 FROM line WHERE id = 'line 2' FOR UPDATE",
            "line 2",
        ),
        (
            "attempts",
            "SELECT 1 FROM attempt WHERE id = 5 FOR UPDATE",
            "5",
        ),
    ] {
        rival.execute("BEGIN").expect("a transaction");
        rival.query(lock, &[]).expect("a lock");
        let answer = run(&mut installation, rule);
        assert_eq!(answer["status"], "done", "{answer}");
        assert_eq!(
            only(&answer)["skipped_samples"],
            json!({"LOCKED": [key]}),
            "{answer}"
        );
        let expected = due(&world, rule);
        assert!(expected.contains(key));
        assert_eq!(only(&answer)["rows"], expected.len() - 1, "{answer}");
        rival.execute("COMMIT").expect("a commit");
        assert_eq!(only(&run(&mut installation, rule))["rows"], 1);
    }
}

pub(super) fn a_run_takes_no_more_rows_than_it_may_and_the_next_goes_on(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 4);
    let options = json!({"rule": "task_state", "as_of": AS_OF, "run_families": 7});
    let preview = installation.preview(options.clone()).expect("a preview");
    assert_eq!(only(&preview)["limited"], true);
    let mut rows = Vec::new();
    for _ in 0..4 {
        let answer = installation.run(options.clone()).expect("a run");
        rows.push(only(&answer)["rows"].as_i64().expect("a number"));
    }
    assert_eq!(rows, [7, 7, 6, 0]);
    assert_eq!(only(&preview)["rows"], 7);
}

/// Each row that goes waits for so many seconds.
pub(super) fn slow_down(installation: &mut Installation, seconds: f64) {
    let sql = either(
        installation.dialect,
        format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep({seconds}); RETURN OLD; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
        format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW BEGIN DECLARE v integer; SET v = SLEEP({seconds}); END"
        ),
    );
    installation.execute(&sql);
}

pub(super) fn run_aside(installation: &Installation) -> Aside {
    installation.call_aside("run", by_rule())
}

fn by_rule() -> Value {
    json!({"rule": "task_state", "as_of": AS_OF})
}

/// The rows that are gone, by the ledger, by the passes and in truth.
pub(super) fn gone(installation: &mut Installation, world: &World) -> [i64; 3] {
    let left = left(installation, "task_state").len();
    [
        installation.number("SELECT coalesce(sum(deleted_rows), 0) FROM W.run_rule"),
        installation.number("SELECT coalesce(sum(deleted_rows), 0) FROM W.run_pass"),
        i64::try_from(world.states.len() - left).expect("a small number"),
    ]
}

/// What is left of the rule `task_state` by a run, if these stay besides.
pub(super) fn stays(world: &World, more: &[String]) -> BTreeSet<String> {
    let due = due(world, "task_state");
    let mut stays: BTreeSet<String> = world.keys("task_state").difference(&due).cloned().collect();
    stays.extend(more.iter().cloned());
    stays
}

/// Runs go on, with something after each, as long as writers are at work, who note in `saved` which rows are not due: all of
/// them are there.
pub(super) fn beside_writers(
    installation: &mut Installation,
    writers: &[String],
    mut after: impl FnMut(),
) {
    let writers: Vec<_> = writers
        .iter()
        .map(|sql| {
            let (mut session, sql) = (installation.connect(), sql.clone());
            // InnoDB lets the one give way in a deadlock who wrote the fewest rows: the writer. MariaDB tells its handler of it, and
            // now and then its caller, too.
            thread::spawn(move || {
                loop {
                    match session.execute(&sql) {
                        Err(error) if errno(&error) == Some(1213) => (),
                        done => return done,
                    }
                }
            })
        })
        .collect();
    let mut rows = 0;
    while writers.iter().any(|writer| !writer.is_finished()) {
        let answer = run(installation, "task_state");
        // The writers may be ahead of it.
        let reason = answer["reason"].as_str().expect("a text");
        let ends = ["nothing left", "run_families reached"];
        assert!(ends.contains(&reason), "{answer}");
        rows += only(&answer)["rows"].as_i64().expect("a number");
        after();
    }
    for writer in writers {
        writer.join().expect("no panic").expect("a writer");
    }
    let saved = installation.number("SELECT COUNT(*) FROM saved");
    assert!(
        rows > 100 && saved > 100,
        "{rows} rows went, {saved} were saved"
    );
    let lost = "SELECT COUNT(*) FROM saved AS s WHERE NOT EXISTS (SELECT 1 FROM task_state_store AS t WHERE t.id = s.id)";
    assert_eq!(installation.number(lost), 0);
}

/// What a run leaves that gets to its end.
fn finished(installation: &mut Installation, world: &World) {
    let answer = run(installation, "task_state");
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(left(installation, "task_state"), stays(world, &[]));
}

pub(super) fn what_a_lost_session_leaves_is_finished_by_the_next_run(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 2);
    slow_down(&mut installation, 0.05);
    let (runner, _, number) = run_aside(&installation);
    until("the run is under way", || {
        Ok(installation.number("SELECT coalesce(sum(batches), 0) FROM W.run_rule") >= 3)
    })
    .expect("it begins");
    installation.execute(&either(
        dialect,
        format!("SELECT pg_terminate_backend({number}, 60000)"),
        format!("KILL {number}"),
    ));
    let (_, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "the run survived");
    installation.until_gone(number);
    let [ledger, passes, truth] = gone(&mut installation, &world);
    assert_eq!((ledger, passes), (truth, truth));
    finished(&mut installation, &world);
}

pub(super) fn what_the_session_of_a_killed_run_commits_is_told_and_finished(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 4);
    slow_down(&mut installation, 600.0);
    installation.kill_asleep("a run", "run", by_rule());
    relent(&mut installation);
    assert_eq!(installation.is_unfinished(), dialect == Dialect::Mysql);
    finished(&mut installation, &world);
    assert!(!installation.is_unfinished());
}

pub(super) fn a_pause_ends_a_run_before_its_next_batch(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 1);
    slow_down(&mut installation, 0.05);
    let (runner, _, _) = run_aside(&installation);
    until("the run is under way", || {
        Ok(installation.number("SELECT coalesce(sum(batches), 0) FROM W.run_rule") >= 1)
    })
    .expect("it begins");
    installation.execute("CALL W.pause('month-end')");
    let (_, answer) = runner.join().expect("no panic");
    let answer = answer.expect("a document");
    assert_eq!(
        (&answer["status"], &answer["reason"]),
        (&json!("stopped"), &json!("paused")),
        "{answer}"
    );
    let [ledger, passes, truth] = gone(&mut installation, &world);
    assert_eq!((ledger, passes), (truth, truth));
    assert!(truth < 20, "{answer}");
    let refused = run(&mut installation, "task_state");
    assert_eq!(refused["status"], "refused", "{refused}");
    installation.execute("CALL W.resume()");
    relent(&mut installation);
    finished(&mut installation, &world);
}
