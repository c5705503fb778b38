//! MySQL and MariaDB delete a batch by a list of keys, where nobody is in the way. What others do to its rows in between.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windrow::sandbox::mysql::Flavour;

use super::model::{left, only};
use super::trouble::{beside_writers, stays};
use super::world::{ample, due};
use super::{AS_OF, loaded, run, set};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of};
use crate::support::patience::until;

tests! {
    mysql_and_mariadb: [
        a_batch_goes_by_a_list_unless_somebody_is_in_the_way,
        a_locked_row_makes_no_list_wait,
        what_writers_re_date_beside_runs_stays,
        a_list_locks_no_row_that_is_kept,
        a_list_reads_no_other_row,
    ],
    either_flavour: [
        a_row_that_changes_during_its_batch_stays,
        a_row_whose_newer_ones_go_during_its_batch_stays,
        orphans_go_by_lists_and_those_that_are_none_any_more_stay,
    ],
}

/// Rows that name a row of another table, and such as name one of their own.
const ORPHANS: &str = r#"
name = "orphans"

[tables]
note = { key = "id bigint" }
link = { key = "id bigint" }

[rules.notes]
strategy  = "orphan"
root      = "note"
needs     = ["asset_id -> asset.id"]
time      = "updated_at timestamp"
retention = { default = "14d", minimum = "7d", safety_lag = "1h" }

[rules.links]
strategy  = "orphan"
root      = "link"
needs     = ["parent_id -> link.id"]
time      = "updated_at timestamp"
retention = { default = "14d", minimum = "7d", safety_lag = "1h" }
"#;

/// How many rows a batch by a list finds and deletes, which is taken back: no number of deleted ones where it does not go so.
fn listed(installation: &mut Installation, rule: &str) -> (i64, Option<String>) {
    let as_of = "'2026-06-01 12:00:00'";
    installation.execute(&format!(
        "CALL W.settle(@before); CALL W.single_open('{rule}'); CALL W.cutoff_of('{rule}', {as_of}, NULL, @cutoff);
         SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
         CALL W.sweep_single(1, '{rule}', 1, 1000, {as_of}, @cutoff, @found, @gone, @undo); ROLLBACK;
         CALL W.single_close('{rule}'); CALL W.unsettle(@before)"
    ));
    let rows = installation.rows("SELECT @found, @gone");
    let found = rows[0][0].as_deref().expect("a number");
    (found.parse().expect("a number"), rows[0][1].clone())
}

fn a_batch_goes_by_a_list_unless_somebody_is_in_the_way(flavour: Flavour) {
    let world = ample();
    let mut installation = loaded(dialect_of(flavour), &world);
    let mut rival = installation.connect();
    for (rule, table, held) in [
        ("task_state", "task_state_store", "3"),
        ("attempts", "attempt", "5"),
    ] {
        let keys = world.keys(rule).len();
        let (found, gone) = listed(&mut installation, rule);
        assert!(found > 0 && found <= keys as i64, "{rule}: {found}");
        assert!(gone.is_some_and(|gone| gone != "0"), "{rule}");
        // Locked by another session, held, or held a while ago.
        rival.execute("BEGIN").expect("a transaction");
        rival
            .query(
                &format!("SELECT 1 FROM {table} WHERE id = {held} FOR UPDATE"),
                &[],
            )
            .expect("a lock");
        assert_eq!(listed(&mut installation, rule), (found, None), "{rule}");
        rival.execute("COMMIT").expect("a commit");
        for (until, goes) in [("NULL", false), ("'2001-01-01'", true)] {
            installation.execute(&format!(
                "REPLACE INTO W.hold (rule, `key`, reason, until) VALUES ('{rule}', '{held}', 'audit', {until})"
            ));
            assert_eq!(listed(&mut installation, rule).1.is_some(), goes, "{rule}");
        }
        // As many rows are there as before: nothing went by halves.
        assert_eq!(left(&mut installation, rule).len(), keys, "{rule}");
    }
}

/// Runs a rule, and makes a change after its batch has found rows, and before it locks them.
fn changed_meanwhile(installation: &mut Installation, rule: &str, change: &str) -> Value {
    // In between it looks for holds.
    set(installation, rule, "lock_timeout", 30_000);
    let mut rival = installation.connect();
    rival
        .execute(&format!("LOCK TABLES {}.hold WRITE", installation.control))
        .expect("a lock");
    let (runner, _, number) = installation.call_aside("run", json!({"rule": rule, "as_of": AS_OF}));
    until("the run waits", || {
        Ok(installation.number(&format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number} AND state = 'Waiting for table metadata lock'"
        )) > 0)
    })
    .expect("it begins");
    installation.execute(change);
    rival.execute("UNLOCK TABLES").expect("the end");
    let (_, answer) = runner.join().expect("no panic");
    let answer = answer.expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
    answer
}

fn a_row_that_changes_during_its_batch_stays(flavour: Flavour) {
    let world = ample();
    let mut installation = loaded(dialect_of(flavour), &world);
    let last = installation.texts(
        "SELECT id FROM task_state_store WHERE expires_at < '2026-06-01 12:00:00' ORDER BY expires_at DESC, id DESC LIMIT 1",
    );
    let change = format!(
        "UPDATE task_state_store SET expires_at = '2037-01-01' WHERE id = {}",
        last[0]
    );
    let answer = changed_meanwhile(&mut installation, "task_state", &change);
    assert_eq!(only(&answer)["skipped"], json!({}), "{answer}");
    assert_eq!(left(&mut installation, "task_state"), stays(&world, &last));
}

/// Rows that were found to go stay, where newer ones of their group go before they are locked.
fn a_row_whose_newer_ones_go_during_its_batch_stays(flavour: Flavour) {
    let world = ample();
    let mut installation = loaded(dialect_of(flavour), &world);
    let goes = due(&world, "attempts");
    assert!(goes.len() > 3, "{goes:?}");
    let mut newest: Vec<String> = world.keys("attempts").difference(&goes).cloned().collect();
    newest.sort_by_key(|key| key.parse::<i64>().expect("a number"));
    let change = format!("DELETE FROM attempt WHERE id IN ({})", newest.join(", "));
    let answer = changed_meanwhile(&mut installation, "attempts", &change);
    let mut last: Vec<i64> = goes
        .iter()
        .map(|key| key.parse().expect("a number"))
        .collect();
    last.sort_unstable();
    let stays: BTreeSet<String> = last
        .iter()
        .rev()
        .take(newest.len())
        .map(i64::to_string)
        .collect();
    assert_eq!(left(&mut installation, "attempts"), stays, "{answer}");
}

/// Batches of four rows of 30: some are whole, of some none goes, one has a row without a time, the last one is short. Of the first one a row
/// is found a parent for, between the search and the lock; another row is locked all along.
fn orphans_go_by_lists_and_those_that_are_none_any_more_stay(flavour: Flavour) {
    let table = "id bigint PRIMARY KEY, updated_at datetime(6)";
    let schema = format!(
        "CREATE TABLE note ({table}, asset_id bigint); CREATE TABLE link ({table}, parent_id bigint);
         CREATE TABLE asset (id bigint PRIMARY KEY)"
    );
    let mut installation = Installation::of(dialect_of(flavour), &schema, &graph_of(ORPHANS));
    installation.arm();
    for (rule, root, column, parents) in [
        ("notes", "note", "asset_id", "asset (id)"),
        (
            "links",
            "link",
            "parent_id",
            "link (id, updated_at, parent_id)",
        ),
    ] {
        set(&mut installation, rule, "batch_rows", 4);
        // Row 7 has no time, row 8 is young, row 9 names nothing.
        for id in 1..=30 {
            let time = match id {
                7 => "NULL",
                8 => "'2026-05-31'",
                _ => "'2026-01-01'",
            };
            let named = match id {
                9 => "NULL".to_owned(),
                _ => (1000 + id).to_string(),
            };
            installation.execute(&format!(
                "INSERT INTO {root} (id, updated_at, {column}) VALUES ({id}, {time}, {named})"
            ));
        }
        let parent = |id: i64| {
            let others = if root == "link" { ", NULL, NULL" } else { "" };
            format!("INSERT INTO {parents} VALUES ({}{others})", 1000 + id)
        };
        let kept = [5, 13, 14, 15, 16, 30];
        for id in kept {
            installation.execute(&parent(id));
        }
        let mut rival = installation.connect();
        rival.execute("BEGIN").expect("a transaction");
        rival
            .query(
                &format!("SELECT 1 FROM {root} WHERE id = 22 FOR UPDATE"),
                &[],
            )
            .expect("a lock");
        let answer = changed_meanwhile(&mut installation, rule, &parent(2));
        rival.execute("COMMIT").expect("a commit");
        let stays: Vec<String> = (1..=30)
            .filter(|id| kept.contains(id) || [2, 7, 8, 9, 22].contains(id))
            .map(|id| id.to_string())
            .collect();
        let left = installation.texts(&format!(
            "SELECT id FROM {root} WHERE id < 1000 ORDER BY id"
        ));
        assert_eq!(left, stays, "{answer}");
        assert_eq!(
            only(&answer)["skipped_samples"],
            json!({"LOCKED": ["22"], "UNDATED_MEMBER": ["7"]})
        );
        let told = format!(
            "SELECT CONCAT_WS(' ', p.families, p.deleted_rows, p.retries, t.deleted_rows, s.deleted_rows, s.sample_keys)
             FROM W.run_rule AS p JOIN W.run_table AS t USING (run_id, rule) JOIN W.run_pass AS s USING (run_id, rule) WHERE rule = '{rule}'"
        );
        let first = r#"["1", "3", "4", "6", "10", "11", "12", "17", "18", "19"]"#;
        assert_eq!(
            installation.texts(&told),
            [format!("19 19 0 19 19 {first}")]
        );
    }
}

/// Of the rows that a batch looks at, others can lock those that it does not delete, while its transaction is open; and all of them,
/// where it deletes none, as a hold was set without a row.
fn a_list_locks_no_row_that_is_kept(flavour: Flavour) {
    let table = "id bigint PRIMARY KEY, updated_at datetime(6)";
    let schema = format!(
        "CREATE TABLE note ({table}, asset_id bigint); CREATE TABLE link ({table}, parent_id bigint);
         CREATE TABLE asset (id bigint PRIMARY KEY); INSERT INTO asset VALUES (1003), (1004)"
    );
    let mut installation = Installation::of(dialect_of(flavour), &schema, &graph_of(ORPHANS));
    installation.arm();
    // Rows 3 and 4 have what they name, row 6 is young.
    for id in 1..=8 {
        let time = if id == 6 { "2026-05-31" } else { "2026-01-01" };
        installation.execute(&format!(
            "INSERT INTO note (id, updated_at, asset_id) VALUES ({id}, '{time}', {})",
            1000 + id
        ));
    }
    let mut rival = installation.connect();
    let mut free_during = |installation: &mut Installation| {
        let as_of = "'2026-06-01 12:00:00'";
        installation.execute(&format!(
            "CALL W.settle(@before); CALL W.single_open('notes'); CALL W.cutoff_of('notes', {as_of}, NULL, @cutoff);
             SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
             CALL W.sweep_single(1, 'notes', 1, 1000, {as_of}, @cutoff, @found, @gone, @undo)"
        ));
        let free: Vec<i64> = (1..=8)
            .filter(|id| {
                let lock = format!("SELECT 1 FROM note WHERE id = {id} FOR UPDATE NOWAIT");
                rival.query(&lock, &[]).is_ok()
            })
            .collect();
        installation.execute("ROLLBACK; CALL W.single_close('notes'); CALL W.unsettle(@before)");
        let gone = installation.texts("SELECT COALESCE(@gone, 'none')");
        (free, gone.concat())
    };
    let of_a_batch = free_during(&mut installation);
    assert_eq!(of_a_batch, (vec![3, 4, 6], "5".to_owned()));
    installation
        .set_hold(json!({"rule": "notes", "key": "77", "reason": "audit", "even_if_absent": true}))
        .expect("a hold");
    let of_none = free_during(&mut installation);
    assert_eq!(of_none, (Vec::from_iter(1..=8), "none".to_owned()));
}

/// However long the list is for MySQL's memory, and however many of the rows are on it, the table is not searched for them: that would
/// wait for the row that a rival has, which is kept.
fn a_list_reads_no_other_row(flavour: Flavour) {
    let mut installation = super::new(dialect_of(flavour));
    for id in 1..=50 {
        let time = if id == 7 { "2037-01-01" } else { "2026-01-01" };
        installation.execute(&format!(
            "INSERT INTO task_state_store (id, dag_run_id, task_id, name, value, expires_at) VALUES ({id}, {id}, '', '', '', '{time}')"
        ));
    }
    installation.execute("ANALYZE TABLE task_state_store");
    let mut rival = installation.connect();
    rival
        .execute("BEGIN; SELECT id FROM task_state_store WHERE id = 7 FOR UPDATE")
        .expect("a lock");
    if flavour == Flavour::Mysql {
        installation.execute("SET range_optimizer_max_mem_size = 1");
    }
    installation.execute("SET innodb_lock_wait_timeout = 1");
    assert_eq!(
        listed(&mut installation, "task_state"),
        (49, Some("49".to_owned()))
    );
}

fn a_locked_row_makes_no_list_wait(flavour: Flavour) {
    let world = ample();
    let mut installation = loaded(dialect_of(flavour), &world);
    set(&mut installation, "task_state", "lock_timeout", 30_000);
    let mut rival = installation.connect();
    rival.execute("BEGIN").expect("a transaction");
    rival
        .query(
            "SELECT 1 FROM task_state_store WHERE id = 3 FOR UPDATE",
            &[],
        )
        .expect("a lock");
    let began = Instant::now();
    let answer = run(&mut installation, "task_state");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(only(&answer)["skipped_samples"], json!({"LOCKED": ["3"]}));
    assert_eq!(
        left(&mut installation, "task_state"),
        stays(&world, &["3".to_owned()])
    );
}

/// Due rows get a later time, and are noted; others are changed and stay due; new ones come, due or not. A deadlock ends a round, whose
/// notes go with it; who calls again goes on behind the last key.
const WRITER: &str = "
CREATE TABLE saved (id integer);
CREATE PROCEDURE writer(p_first integer)
BEGIN
    DECLARE v_end datetime(6) DEFAULT SYSDATE(6) + INTERVAL 3 SECOND;
    DECLARE v_id, v_times integer;
    SET @last = COALESCE(@last, p_first);
    WHILE SYSDATE(6) < v_end DO
        round: BEGIN
            DECLARE EXIT HANDLER FOR 1213 ROLLBACK;
            START TRANSACTION;
            SET v_id = NULL;
            SELECT id INTO v_id FROM task_state_store WHERE expires_at < '2026-06-01' ORDER BY RAND() LIMIT 1 FOR UPDATE SKIP LOCKED;
            UPDATE task_state_store SET expires_at = '2037-01-01' WHERE id = v_id;
            INSERT INTO saved SELECT v_id FROM DUAL WHERE v_id IS NOT NULL;
            SET v_id = SLEEP(0.004 * RAND());
            COMMIT;
            START TRANSACTION;
            SELECT MAX(id) INTO v_id FROM task_state_store WHERE expires_at < '2026-06-01';
            UPDATE task_state_store SET value = 'new' WHERE id = v_id;
            COMMIT;
            SET v_times = 0;
            START TRANSACTION;
            WHILE v_times < 20 DO
                SET @last = @last + 2, v_times = v_times + 1;
                INSERT INTO task_state_store (id, dag_run_id, task_id, name, value, expires_at)
                VALUES (@last, @last, '', '', '', IF(v_times % 4 = 0, '2037-01-01', '2026-01-01'));
                INSERT INTO saved SELECT @last FROM DUAL WHERE v_times % 4 = 0;
            END WHILE;
            COMMIT;
        END round;
    END WHILE;
END";

fn what_writers_re_date_beside_runs_stays(flavour: Flavour) {
    let mut installation = super::new(dialect_of(flavour));
    installation.execute(WRITER);
    let writers = [1001, 1002].map(|first| {
        format!("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; CALL writer({first})")
    });
    beside_writers(&mut installation, &writers, || ());
}
