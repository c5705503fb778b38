//! Rules that drop whole range partitions, on MySQL and MariaDB: what an exchange of rows, which commits, leaves to be proved.

mod archive;
mod archive_commands;
mod model;
mod rules;
mod settled;
mod zeros;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::fit;
use windrow::graph::Graph;

use self::model::a_run_drops_what_the_model_says;
use super::{EXAMPLE, at_once, example, only, without_ahead};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, connect, server, violations};
use crate::support::patience::until;

tests! {
    mysql_or_mariadb: [
        a_run_drops_what_the_model_says,
        the_example_does_what_its_page_says,
        what_comes_between_judgement_and_drop_stays,
        the_application_waits_no_longer_than_a_second_for_each_lock,
        what_comes_is_no_estimate,
        what_cannot_be_judged_goes_back,
        wherever_a_run_ends_the_next_one_finishes,
        no_number_is_given_twice,
        two_workers_drop_what_one_would,
        what_a_drop_would_pass_over_is_refused_by_name,
        only_the_owner_role_may_alter_the_table,
        the_check_proposes_the_strategy_and_says_what_it_needs,
        archive::a_partition_is_kept_and_comes_back_as_it_was,
        archive::what_comes_back_is_held_in_each_partition,
        archive::what_was_estimated_comes_back_counted,
        archive::wherever_a_run_ends_the_next_one_archives,
        archive::what_is_killed_in_between_loses_nothing,
        archive::what_cannot_be_archived_stops_the_run,
        archive::archived_partitions_are_dropped_by_hand_and_by_age,
        archive::what_is_in_the_way_is_told_and_nothing_is_restored,
        archive_commands::an_uninstallation_keeps_archived_partitions,
        archive::nobody_else_gets_at_what_is_archived,
        archive_commands::the_commands_list_write_and_refuse,
        archive_commands::copies_and_partitions_of_one_table_come_back,
        archive_commands::what_is_killed_within_a_restoration_loses_no_row,
        archive::a_long_name_fits,
        rules::no_rule_is_taken_away_while_its_rows_are_out,
        rules::no_archive_is_taken_away_while_rows_are_archived,
        rules::an_uninstallation_drops_no_rows_that_are_out,
        rules::the_table_with_the_rows_is_no_stranger,
        rules::what_is_due_before_it_goes_in_the_same_run,
        rules::what_two_rules_have_taken_out_goes_back_first,
        rules::a_cluster_with_several_writers_is_refused,
        settled::what_is_not_due_for_the_run_that_settles_it_goes_back,
        settled::a_row_that_is_out_can_be_held,
        settled::rows_that_went_back_are_not_taken_out_again,
        settled::what_is_killed_while_it_is_judged_is_counted_once,
        settled::what_belongs_to_rows_that_are_out_stays,
        settled::what_belongs_to_rows_that_cannot_go_back_stays,
        settled::rows_go_back_where_a_run_may_not_go_on,
        settled::what_is_out_waits_for_nothing,
        settled::rows_go_back_into_a_table_that_was_altered,
        settled::no_value_is_lost_in_a_table_that_was_altered,
        settled::what_is_back_is_done_with,
        settled::what_goes_back_is_not_counted,
        settled::rows_of_a_cancelled_run_go_back,
        settled::a_run_that_ends_says_that_rows_are_out,
        zeros::dates_without_a_day_are_no_obstacle,
        zeros::rows_with_dates_without_a_day_go_back,
        zeros::archived_dates_without_a_day_come_back,
        zeros::an_index_is_made_and_dropped_beside_dates_without_a_day,
    ],
}

/// The table of the example, with a partition for each of some times before and after now, and rows in each.
const SCHEMA: &str = "
CREATE TABLE event_log (
    id        bigint NOT NULL AUTO_INCREMENT,
    logged_at timestamp NOT NULL,
    message   text NOT NULL,
    twice     text GENERATED ALWAYS AS (CONCAT(message, message)) STORED,
    PRIMARY KEY (id, logged_at)
) PARTITION BY RANGE (UNIX_TIMESTAMP(logged_at)) (
    PARTITION old VALUES LESS THAN (UNIX_TIMESTAMP('2025-01-01')),
    PARTITION `the ``past``` VALUES LESS THAN (UNIX_TIMESTAMP('2025-06-01')),
    PARTITION late VALUES LESS THAN (UNIX_TIMESTAMP('2026-01-01')),
    PARTITION future VALUES LESS THAN (MAXVALUE)
);
INSERT INTO event_log (id, logged_at, message) VALUES
    (1, '2024-03-01', 'a'), (2, '2024-12-31 23:59:59', 'b'), (3, '2025-01-01', 'c'), (4, '2025-05-01', 'd'), (5, '2025-07-01', 'e'),
    (6, UTC_TIMESTAMP() + INTERVAL 1 DAY, 'f')
";

const PAST: &str = "the `past`";

/// Partitions are in files of their own, as on every server but those of the tests.
pub(super) fn files(dialect: Dialect) {
    let mut session = connect(&server(dialect).url("mysql", "root"));
    session
        .execute("SET GLOBAL innodb_file_per_table = ON")
        .expect("a setting");
}

fn armed(dialect: Dialect, name: &str) -> Installation {
    armed_as(dialect, &example(name))
}

fn armed_as(dialect: Dialect, graph: &Graph) -> Installation {
    files(dialect);
    let mut installation = Installation::of(dialect, SCHEMA, graph);
    installation.arm();
    installation
}

fn ids(installation: &mut Installation) -> String {
    let ids = installation.texts("SELECT id FROM event_log ORDER BY id");
    ids.join(" ")
}

/// The partitions that there are, in their order.
fn partitions(installation: &mut Installation) -> Vec<String> {
    installation.texts(
        "SELECT partition_name FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = 'event_log'
         ORDER BY partition_ordinal_position",
    )
}

fn ledger(installation: &mut Installation) -> Vec<String> {
    installation
        .texts("SELECT CONCAT_WS('/', name, from_bound, to_bound, deleted_rows) FROM W.run_partition ORDER BY to_bound, run_id")
}

fn taken(installation: &mut Installation) -> i64 {
    installation.number("SELECT COUNT(*) FROM W.taken_partition")
        + installation.number(&format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 'event_log_taken'",
            installation.control
        ))
}

fn the_example_does_what_its_page_says(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-example");
    let preview = installation.preview(json!({})).expect("a preview");
    let rule = only(&preview);
    assert_eq!(
        (&rule["families"], &rule["rows"], &rule["sample_roots"]),
        (&json!(3), &json!(5), &json!(["old", PAST, "late"])),
        "{preview}"
    );
    let due = "SELECT CONCAT_WS('/', families, age_seconds > 0, complete) FROM W.due_now";
    assert_eq!(installation.texts(due), ["3/1/1"]);
    let dry = installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    assert_eq!(
        (&only(&dry)["families"], &only(&dry)["rows"]),
        (&json!(3), &json!(5)),
        "{dry}"
    );
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
    assert_eq!(ledger(&mut installation), Vec::<String>::new());

    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &run["reason"]),
        (&json!("done"), &json!("nothing left")),
        "{run}"
    );
    assert_eq!(
        (&only(&run)["families"], &only(&run)["tables"]),
        (&json!(3), &json!({"event_log": 5})),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "6");
    // The last one stays, empty, as the first one.
    assert_eq!(partitions(&mut installation), ["late", "future"]);
    assert_eq!(
        ledger(&mut installation),
        [
            "old/-infinity/2025-01-01 00:00:00/2".to_owned(),
            format!("{PAST}/2025-01-01 00:00:00/2025-06-01 00:00:00/2"),
            "late/2025-06-01 00:00:00/2026-01-01 00:00:00/1".to_owned(),
        ]
    );
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(installation.texts(due), ["0/0/1"]);
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");

    // A row that comes late is in the partition that stayed, and goes with the next run; so does one of the future in its time.
    installation
        .execute("INSERT INTO event_log (id, logged_at, message) VALUES (7, '2024-01-01', 'g')");
    let again = installation.run(json!({})).expect("a second run");
    assert_eq!(
        (&only(&again)["families"], &only(&again)["rows"]),
        (&json!(1), &json!(1)),
        "{again}"
    );
    assert_eq!(ids(&mut installation), "6");
    installation
        .execute("INSERT INTO event_log (id, logged_at, message) VALUES (8, '2026-02-01', 'h')");
    let run = installation.run(json!({})).expect("a third run");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"NOT_DROPPABLE": ["future"]}),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "6 8");
    let purge = installation.purge(json!({"rule": "event_log", "key": [1]}));
    let error = format!("{:#}", purge.expect_err("no single row is purged"));
    assert!(error.contains("drops whole partitions"), "{error}");
}

/// A run of which something else keeps the table, once it waits for that.
fn run_behind(
    installation: &mut Installation,
    opens: &str,
    happens: impl FnOnce(&mut Installation),
) -> Value {
    installation
        .set_setting("lock_timeout", 20_000)
        .expect("a setting");
    let mut writer = installation.connect();
    writer
        .execute(&format!("BEGIN; {opens}"))
        .expect("a transaction");
    let (runner, _, session) = installation.call_aside("run", json!({}));
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {session} AND state LIKE 'Waiting for table metadata lock%'"
    );
    until("a run that waits", || {
        assert!(!runner.is_finished(), "it ended");
        Ok(installation.number(&waits) == 1)
    })
    .expect("it waits");
    happens(installation);
    writer.execute("COMMIT").expect("the end of a transaction");
    drop(writer);
    runner.join().expect("no panic").1.expect("a run")
}

/// What was taken out of the table and cannot be judged goes back, and to the next run that can judge it.
fn what_cannot_be_judged_goes_back(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-unsettled");
    installation.execute(
        "CREATE TRIGGER W.refuses BEFORE INSERT ON W.run_partition FOR EACH ROW SIGNAL SQLSTATE '45000' SET message_text = 'no'",
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["skipped_samples"]),
        (&json!("failed"), &json!({"FAILED": ["old", PAST, "late"]})),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
    assert_eq!(taken(&mut installation), 0);
    installation.execute("DROP TRIGGER W.refuses");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(
        (&run["status"], &only(&run)["rows"]),
        (&json!("done"), &json!(5)),
        "{run}"
    );
    assert_eq!(taken(&mut installation), 0);
}

fn what_comes_between_judgement_and_drop_stays(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-late");
    // A row for which there is a hold already, written when its partition has been judged.
    let hold = json!({"rule": "event_log", "key": 9, "reason": "a test", "even_if_absent": true});
    installation.set_hold(hold).expect("a hold");
    let insert = "INSERT INTO event_log (id, logged_at, message) VALUES (9, '2025-02-02', 'late')";
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2)");
    let run = run_behind(&mut installation, insert, |_| {});
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"HELD": [format!("{PAST} (9)")]}),
        "{run}"
    );
    assert_eq!(
        (&run["status"], &only(&run)["rows"]),
        (&json!("done"), &json!(1)),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "3 4 6 9");
    assert_eq!(taken(&mut installation), 0);

    // A hold on a row of a partition that has been judged.
    installation
        .execute("INSERT INTO event_log (id, logged_at, message) VALUES (10, '2025-08-01', 'x')");
    let run = run_behind(
        &mut installation,
        "SELECT COUNT(*) FROM event_log",
        |installation| {
            let hold = json!({"rule": "event_log", "key": 10, "reason": "a test"});
            installation.set_hold(hold).expect("a hold");
        },
    );
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"HELD": [format!("{PAST} (9)"), "late (10)"]}),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "3 4 6 9 10");
    assert_eq!(taken(&mut installation), 0);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 0, "{run}");
    assert_eq!(ids(&mut installation), "3 4 6 9 10");
}

/// Has the server take statistics of the log, which has so few rows that they are right.
fn analyse(installation: &mut Installation) {
    installation.execute("ANALYZE TABLE event_log");
}

/// Has the server believe that each partition of the log has 1000 rows more. It reads its statistics again of a table that was renamed.
fn exaggerate(installation: &mut Installation) {
    installation.execute("ALTER TABLE event_log STATS_AUTO_RECALC = 0");
    analyse(installation);
    installation.execute(
        "UPDATE mysql.innodb_table_stats SET n_rows = n_rows + 1000
         WHERE database_name = DATABASE() AND table_name LIKE 'event_log#%';
         RENAME TABLE event_log TO event_log_other;
         RENAME TABLE event_log_other TO event_log",
    );
}

/// Where rows are estimated, a row that comes between judgement and drop keeps its partition all the same.
fn what_comes_is_no_estimate(dialect: Dialect) {
    let spec = without_ahead().replace("\"event-log\"", "\"event-log-estimated\"");
    let spec = spec.replace(
        "root      = \"event_log\"",
        "root = \"event_log\"\nrows = \"estimated\"",
    );
    let mut installation = armed_as(dialect, &graph_of(&spec));
    exaggerate(&mut installation);
    installation.arm();
    let preview = installation.preview(json!({})).expect("a preview");
    let dry = installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    // A preview counts the first partition, which it reads for the oldest row.
    for (document, rows) in [(preview, 2005), (dry, 3005)] {
        assert_eq!(
            (&only(&document)["families"], &only(&document)["rows"]),
            (&json!(3), &json!(rows)),
            "{document}"
        );
    }
    let insert = "SET SESSION sql_mode = ''; INSERT INTO event_log (id, logged_at, message) VALUES (9, 0, 'never')";
    let run = run_behind(&mut installation, insert, |_| {});
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"UNDATED_MEMBER": ["old"]}),
        "{run}"
    );
    assert_eq!(only(&run)["rows"], 2003, "{run}");
    assert_eq!(ids(&mut installation), "1 2 6 9");
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(
        installation
            .texts("SELECT CONCAT_WS('/', name, deleted_rows, counted) FROM W.run_partition ORDER BY to_bound"),
        [format!("{PAST}/1002/0"), "late/1001/0".to_owned()]
    );
}

fn the_application_waits_no_longer_than_a_second_for_each_lock(dialect: Dialect) {
    const INSERT: &str =
        "INSERT INTO event_log (logged_at, message) VALUES (UTC_TIMESTAMP(), 'meanwhile')";
    let mut installation = armed(dialect, "event-log-locks");
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT COUNT(*) FROM event_log")
        .expect("a reader");
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, mut session) = (Arc::clone(&stop), installation.connect());
        thread::spawn(move || {
            let (mut longest, mut rows) = (Duration::ZERO, 0);
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                session.execute(INSERT).expect("the application writes");
                longest = longest.max(began.elapsed());
                rows += 1;
                thread::sleep(Duration::from_millis(2));
            }
            (longest, rows)
        })
    };
    let run = installation.run(json!({})).expect("a run that gives way");
    stop.store(true, Ordering::Relaxed);
    let (longest, rows) = writer.join().expect("the writer ends");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"LOCKED": ["old", PAST, "late"]}),
        "{run}"
    );
    assert_eq!(only(&run)["families"], 0, "{run}");
    assert!(only(&run)["retries"].as_i64() > Some(0), "{run}");
    assert!(
        longest >= Duration::from_millis(300) && longest <= Duration::from_millis(1500),
        "{longest:?}, {rows} rows"
    );
    assert!(rows > 20, "{rows}");
    assert_eq!(
        partitions(&mut installation),
        ["old", PAST, "late", "future"]
    );

    reader.execute("COMMIT").expect("the reader ends");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(only(&run)["families"], 3, "{run}");
    assert_eq!(taken(&mut installation), 0);
    let written = installation.number("SELECT COUNT(*) FROM event_log WHERE message = 'meanwhile'");
    assert_eq!(written, rows);
}

/// What a run has done of a partition when it ends: its statements, and what a hold is on then.
const STOPS: [(&str, &[&str], Option<i64>); 8] = [
    ("nothing is taken", &["INTENT taking"], None),
    ("an empty table", &["INTENT taking", "TWIN"], None),
    (
        "the rows are taken",
        &["INTENT taking", "TWIN", "SWAP"],
        None,
    ),
    (
        "the rows are taken, and one is held",
        &["INTENT taking", "TWIN", "SWAP", "LATE"],
        Some(3),
    ),
    (
        "they were going back",
        &["INTENT returning", "TWIN", "SWAP", "LATE"],
        Some(3),
    ),
    (
        "they went back, which nobody wrote down",
        &["INTENT returning", "TWIN", "SWAP", "LATE", "SWAP"],
        Some(3),
    ),
    (
        "they are back",
        &["INTENT returned", "TWIN", "SWAP", "LATE", "SWAP"],
        Some(3),
    ),
    (
        "the ledger has them",
        &["LEDGER", "INTENT dropping", "TWIN", "SWAP"],
        None,
    ),
];

/// Does what a run has done when it ends, by the words of [`STOPS`].
fn leave(installation: &mut Installation, statements: &[&str]) {
    let twin = format!("{}.event_log_taken", installation.control);
    for statement in statements {
        let (what, phase) = statement.split_once(' ').unwrap_or((statement, ""));
        installation.execute(&match what {
            "INTENT" => format!(
                "INSERT INTO W.taken_partition (rule, run_id, name, from_bound, to_bound, to_due, bytes, phase)
                 VALUES ('event_log', 0, '{PAST}', '2025-01-01 00:00:00', '2025-06-01 00:00:00', '2025-06-01', 1, '{phase}')"
            ),
            "MARK" => "UPDATE W.taken_partition SET mark = SHA2(3, 256)".to_owned(),
            "TWIN" => format!("CREATE TABLE {twin} LIKE event_log; ALTER TABLE {twin} REMOVE PARTITIONING"),
            "SWAP" => format!("ALTER TABLE event_log EXCHANGE PARTITION `the ``past``` WITH TABLE {twin}"),
            "LATE" => "INSERT INTO event_log (id, logged_at, message) VALUES (8, '2025-03-03', 'late')".to_owned(),
            _ => "INSERT INTO W.run_partition (run_id, rule, name, from_bound, to_bound, deleted_rows, counted, bytes)
                  VALUES (0, 'event_log', 'the `past`', '2025-01-01 00:00:00', '2025-06-01 00:00:00', 2, true, 1)".to_owned(),
        });
    }
}

fn wherever_a_run_ends_the_next_one_finishes(dialect: Dialect) {
    for (stop, statements, held) in STOPS {
        let mut installation = armed(dialect, "event-log-stops");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
        let dropped = statements.contains(&"LEDGER");
        let returns = statements.iter().any(|it| it.contains("return"));
        if let Some(key) = held {
            let hold = json!({"rule": "event_log", "key": key, "reason": "a test"});
            installation.set_hold(hold).expect("a hold");
        }
        leave(&mut installation, statements);
        let verify = installation.call("verify", json!({})).expect("verify");
        let said = violations(&verify);
        assert!(
            said.iter()
                .any(|it| it["check"] == "unfinished" && it.to_string().contains(PAST)),
            "{stop}: {verify}"
        );
        let uninstall = installation.attempt("CALL W.check_uninstall()");
        assert_eq!(uninstall.is_err(), !dropped, "{stop}");
        // A dry run and a preview leave it to a run.
        installation.preview(json!({})).expect("a preview");
        installation
            .run(json!({"dry_run": true}))
            .expect("a dry run");
        assert!(taken(&mut installation) > 0, "{stop}");

        let run = installation.run(json!({})).expect("the next run");
        assert_eq!(run["status"], "done", "{dialect:?}, {stop}: {run}");
        assert_eq!(taken(&mut installation), 0, "{stop}");
        let late = statements.contains(&"LATE");
        let left = match held {
            Some(_) if late => "3 4 6 8",
            Some(_) => "3 4 6",
            None => "6",
        };
        assert_eq!(ids(&mut installation), left, "{dialect:?}, {stop}: {run}");
        if held.is_none() {
            assert_eq!(
                ledger(&mut installation),
                [format!("{PAST}/2025-01-01 00:00:00/2025-06-01 00:00:00/2")],
                "{stop}"
            );
            assert_eq!(only(&run)["rows"], if dropped { 0 } else { 2 }, "{stop}");
        } else {
            assert_eq!(ledger(&mut installation), Vec::<String>::new(), "{stop}");
            assert!(
                returns || only(&run)["skipped"]["HELD"].as_i64() > Some(0),
                "{stop}: {run}"
            );
        }
        let verify = installation.call("verify", json!({})).expect("verify");
        assert!(violations(&verify).is_empty(), "{stop}: {verify}");
    }
}

fn what_a_drop_would_pass_over_is_refused_by_name(dialect: Dialect) {
    let misfits = [
        (
            "CREATE TRIGGER counts AFTER DELETE ON event_log FOR EACH ROW SET @gone = 1",
            "DROP TRIGGER counts",
            "has the trigger counts on DELETE",
        ),
        (
            "ALTER TABLE event_log REMOVE PARTITIONING",
            "",
            "is not partitioned by RANGE COLUMNS (`logged_at`)",
        ),
        (
            "ALTER TABLE event_log PARTITION BY HASH (UNIX_TIMESTAMP(logged_at)) PARTITIONS 4",
            "",
            "is not partitioned by RANGE COLUMNS (`logged_at`)",
        ),
        (
            "ALTER TABLE event_log PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (100))",
            "",
            "is not partitioned by RANGE COLUMNS (`logged_at`)",
        ),
    ];
    let mut installation = armed(dialect, "event-log-misfits");
    for (comes, goes, said) in misfits {
        installation.execute(comes);
        let preview = installation.preview(json!({})).expect_err(comes);
        assert!(
            format!("{preview:#}").contains(said),
            "{comes}: {preview:#}"
        );
        for options in [json!({}), json!({"trigger": "SCHEDULED"})] {
            let run = installation.run(options);
            let told = run.map_or_else(|error| format!("{error:#}"), |run| run.to_string());
            assert!(told.contains(said), "{comes}: {told}");
        }
        if !goes.is_empty() {
            installation.execute(goes);
        }
    }
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
}

fn two_workers_drop_what_one_would(dialect: Dialect) {
    let graph = Graph {
        workers: 2,
        ..example("event-log-workers")
    };
    let mut installation = armed_as(dialect, &graph);
    at_once(&installation, 3, 5);
    assert_eq!(ids(&mut installation), "6");
    assert_eq!(partitions(&mut installation), ["late", "future"]);
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(
        violations(&installation.call("verify", json!({})).expect("verify")),
        [""; 0]
    );
}

/// The last number of an AUTO_INCREMENT may be of a row that is dropped: partitions keep the counter, each its own.
fn no_number_is_given_twice(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-numbers");
    let insert = |installation: &mut Installation, time: &str| {
        installation.execute(&format!(
            "INSERT INTO event_log (logged_at, message) VALUES ({time}, 'x')"
        ));
        ids(installation)
    };
    let before = insert(&mut installation, "'2024-05-01'");
    assert_eq!(before, "1 2 3 4 5 6 7");
    installation.run(json!({})).expect("a run");
    assert_eq!(ids(&mut installation), "6");
    // What is in memory would hide it.
    installation.execute("FLUSH TABLES");
    let late = insert(&mut installation, "'2024-05-01'");
    assert_eq!(late, "6 8");
    // A run that merges partitions, and one that takes rows from the merged one.
    for numbers in ["6 9", "6 10"] {
        installation.run(json!({})).expect("a run");
        installation.execute("FLUSH TABLES");
        assert_eq!(insert(&mut installation, "'2025-03-01'"), numbers);
    }
}

fn only_the_owner_role_may_alter_the_table(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-rights");
    let control = installation.control.clone();
    let user = format!("op_{}", installation.name);
    let user = &user[..user.len().min(30)];
    installation.execute(&format!(
        "CREATE USER '{user}'@'%'; GRANT '{control}_operator' TO '{user}'@'%'"
    ));
    installation.execute(&match dialect {
        Dialect::Mariadb => format!("SET DEFAULT ROLE '{control}_operator' FOR '{user}'@'%'"),
        _ => format!("SET DEFAULT ROLE '{control}_operator' TO '{user}'@'%'"),
    });
    let mut session = installation.connect_to(&control, user);
    for refused in [
        format!(
            "ALTER TABLE {}.event_log DROP PARTITION old",
            installation.name
        ),
        format!("SELECT COUNT(*) FROM {}.event_log", installation.name),
        "CALL event_log_swap_partition('old', true, NULL)".to_owned(),
        "CALL event_log_drop_partition()".to_owned(),
        "CALL partition_step(1, 'event_log', @state)".to_owned(),
    ] {
        let error = format!("{:#}", session.execute(&refused).expect_err(&refused));
        assert!(error.contains("denied"), "{refused}: {error}");
    }
    session
        .execute("CALL run('{}')")
        .expect("an operator's run");
    assert_eq!(ids(&mut installation), "6");
    installation.execute(&format!("DROP USER '{user}'@'%'"));
}

fn the_check_proposes_the_strategy_and_says_what_it_needs(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-check");
    let name = installation.name.clone();
    let mut found = |spec: &str| {
        let catalog = installation.session.catalog(&name).expect("a catalog");
        let findings = fit::compare(&graph_of(spec), &catalog);
        let told = findings.iter();
        told.map(|it| format!("{} {}: {} ({})", it.code, it.object, it.message, it.help))
            .collect::<Vec<_>>()
    };
    for spec in [
        EXAMPLE.to_owned(),
        super::archive::spec_of("event-log-check"),
    ] {
        let own = found(&spec);
        assert!(
            !own.iter()
                .any(|it| it.starts_with("partition") || it.starts_with("not-partitioned")),
            "{dialect:?} {own:#?}"
        );
    }
    let aged = without_ahead().replace("strategy  = \"partition\"", "strategy  = \"age\"");
    let proposed = found(&aged);
    assert!(
        proposed
            .iter()
            .any(|it| it.contains("`strategy = \"partition\"`")),
        "{proposed:#?}"
    );
    let other = EXAMPLE.replace("logged_at timestamptz", "made_at timestamptz");
    let refused = found(&other);
    assert!(
        refused.iter().any(|it| it
            .starts_with("not-partitioned event_log: is partitioned by RANGE (unix_timestamp(")),
        "{refused:#?}"
    );
    installation.execute("ALTER TABLE event_log DROP PARTITION `the ``past```, late");
    let catalog = installation.session.catalog(&name).expect("a catalog");
    let lacks = fit::compare(&graph_of(EXAMPLE), &catalog);
    assert!(
        lacks.iter().any(|it| it.code == "partition-width"),
        "{dialect:?}"
    );
}
