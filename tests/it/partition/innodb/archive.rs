//! Partitions whose rows are kept instead of being dropped, on MySQL and MariaDB: what is kept, how it comes back, and how it goes.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{PAST, SCHEMA, armed_as, exaggerate, ids, ledger, only, partitions, taken};
use crate::partition::archive::told::only_what_the_ledger_has_is_there;
use crate::partition::archive::{example, spec_of};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, violations};

fn armed(dialect: Dialect, name: &str) -> Installation {
    armed_as(dialect, &example(name))
}

/// The tables of the archive.
pub(super) fn kept(installation: &mut Installation) -> Vec<String> {
    let control = installation.control.clone();
    installation.texts(&format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{control}' AND table_name LIKE 'archived|_%' ESCAPE '|'
         ORDER BY 1"
    ))
}

/// Run, number, rows and state of each archived partition.
fn noted(installation: &mut Installation) -> Vec<String> {
    installation.texts("SELECT CONCAT_WS('/', name, partition_rows, state) FROM W.partition_archive ORDER BY run_id, place")
}

fn all_of(installation: &mut Installation) -> Vec<String> {
    installation
        .texts("SELECT CONCAT_WS('/', id, logged_at, message, twice) FROM event_log ORDER BY id")
}

fn restore(installation: &mut Installation, options: Value) -> Result<Value, String> {
    let restored = installation.call("archive_restore", options);
    restored.map_err(|error| format!("{error:#}"))
}

fn release(installation: &mut Installation) {
    installation.execute("DELETE FROM W.hold");
}

pub(super) fn a_partition_is_kept_and_comes_back_as_it_was(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-kept");
    let before = all_of(&mut installation);
    let dry = installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    assert_eq!(only(&dry)["families"], 3, "{dry}");
    assert_eq!(kept(&mut installation), [""; 0]);

    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["families"], &only(&run)["rows"]),
        (&json!("done"), &json!(3), &json!(5)),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "6");
    assert_eq!(partitions(&mut installation), ["late", "future"]);
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(ledger(&mut installation).len(), 3);
    let number = run["run"].as_i64().expect("a number");
    let names = [
        format!("archived_{number}_1_old"),
        format!("archived_{number}_2_{PAST}"),
        format!("archived_{number}_3_late"),
    ];
    assert_eq!(kept(&mut installation), names);
    assert_eq!(
        noted(&mut installation),
        ["old/2/kept", &format!("{PAST}/2/kept"), "late/1/kept"]
    );
    let rows = format!(
        "SELECT id FROM W.`{}` ORDER BY id",
        names[1].replace('`', "``")
    );
    assert_eq!(installation.texts(&rows), ["3", "4"]);

    let list = installation
        .call("archive_list", json!({}))
        .expect("a list");
    let told = &list["runs"][0];
    assert_eq!(
        (&list["rows"], &told["run"], &told["tables"], &told["rules"]),
        (
            &json!(5),
            &json!(number),
            &json!({"event_log": 5}),
            &json!(["event_log"])
        ),
        "{list}"
    );
    let archive = format!("{}.{}", installation.control, names[1]);
    let part = &told["partitions"][1];
    let bytes = part["bytes"].clone();
    assert_eq!(
        part,
        &json!({
            "rule": "event_log", "partition": PAST, "table": "event_log", "from": "2025-01-01 00:00:00", "to": "2025-06-01 00:00:00",
            "rows": 2, "counted": true, "bytes": bytes, "archive": archive,
        }),
        "{list}"
    );
    let control = installation.control.clone();
    only_what_the_ledger_has_is_there(&mut installation, &control, (3, 5), (&names[0], 2));
    // An installation leaves what is archived alone, and windrow diff has nothing to say of it.
    let graph = example("event-log-kept");
    installation.install(&graph);
    assert_eq!(installation.deviations(&graph), [""; 0]);
    assert_eq!(kept(&mut installation), names);

    comes_back(&mut installation, number, &before);
}

/// Where rows are estimated, all come back that are there, and their number is known then.
pub(super) fn what_was_estimated_comes_back_counted(dialect: Dialect) {
    let spec = spec_of("event-log-guessed").replace(
        "archive   = true",
        "archive   = true\nrows      = \"estimated\"",
    );
    let mut installation = armed_as(dialect, &graph_of(&spec));
    let before = all_of(&mut installation);
    exaggerate(&mut installation);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["rows"], 3005, "{run}");
    let list = installation
        .call("archive_list", json!({}))
        .expect("a list");
    let parts = list["runs"][0]["partitions"]
        .as_array()
        .expect("partitions");
    assert!(
        parts.len() == 3 && parts.iter().all(|it| it["counted"] == false),
        "{list}"
    );
    let number = run["run"].as_i64().expect("a number");
    comes_back(&mut installation, number, &before);
}

/// What a run archived comes back as it was, is held, and can be archived again.
fn comes_back(installation: &mut Installation, number: i64, before: &[String]) {
    let back = restore(installation, json!({"run": number})).expect("restored");
    // All of them are in one partition now, and its first row keeps it; but each was archived by itself.
    assert_eq!(
        (
            &back["rows"],
            &back["tables"],
            &back["holds"],
            &back["not_held"]
        ),
        (&json!(5), &json!({"event_log": 5}), &json!(3), &json!(0)),
        "{back}"
    );
    assert_eq!(all_of(installation), before);
    assert_eq!(kept(installation), [""; 0]);
    let held = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&only(&held)["families"], &only(&held)["skipped"]),
        (&json!(0), &json!({"HELD": 1})),
        "{held}"
    );
    assert_eq!(all_of(installation), before);
    assert_eq!(
        installation
            .texts("SELECT CONCAT_WS(' ', action, table_name, table_rows) FROM W.unarchived"),
        ["RESTORED event_log 5"]
    );
    let again = restore(installation, json!({"run": number})).expect_err("nothing is left");
    assert!(
        again.contains(&format!("no rows of run {number} are archived")),
        "{again}"
    );

    release(installation);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["rows"], 5, "{run}");
    assert_eq!(
        kept(installation),
        [format!("archived_{}_1_late", run["run"])]
    );
    let other = json!({"run": run["run"], "rule": "event_log", "key": ["old"]});
    let told = restore(installation, other).expect_err("it was not archived by then");
    assert!(
        told.contains("no archived rows of these families"),
        "{told}"
    );
    let options = json!({"run": run["run"], "rule": "event_log", "key": ["late"]});
    let back = restore(installation, options).expect("restored by name");
    assert_eq!(back["holds"], 1, "{back}");
    assert_eq!(all_of(installation), before);
    // Numbers go on where they were.
    installation
        .execute("INSERT INTO event_log (logged_at, message) VALUES (UTC_TIMESTAMP(), 'next')");
    assert_eq!(ids(installation), "1 2 3 4 5 6 7");
    let verify = installation.call("verify", json!({})).expect("verify");
    let said = violations(&verify);
    assert!(said.is_empty(), "{said:?}");
}

/// What was archived comes back into partitions that are no longer what they were: each of them is held.
pub(super) fn what_comes_back_is_held_in_each_partition(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-spread");
    installation.execute("ALTER TABLE event_log REORGANIZE PARTITION old, `the ``past``` INTO (PARTITION wide VALUES LESS THAN (UNIX_TIMESTAMP('2025-06-01')))");
    installation.execute("DELETE FROM event_log WHERE id = 5");
    installation.run(json!({})).expect("a run");
    assert_eq!(kept(&mut installation), ["archived_1_1_wide"]);
    installation.execute(
        "ALTER TABLE event_log REORGANIZE PARTITION late INTO (
             PARTITION a VALUES LESS THAN (UNIX_TIMESTAMP('2024-12-01')), PARTITION b VALUES LESS THAN (UNIX_TIMESTAMP('2025-01-01')),
             PARTITION c VALUES LESS THAN (UNIX_TIMESTAMP('2026-01-01')))",
    );
    let back = restore(&mut installation, json!({"run": 1})).expect("restored");
    assert_eq!(
        (&back["rows"], &back["holds"]),
        (&json!(4), &json!(3)),
        "{back}"
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"HELD": ["a (1)", "b (2)", "c (3)"]}),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "1 2 3 4 6");
}

/// What a run has done of a partition when it ends.
const STOPS: [(&str, &[&str]); 2] = [
    (
        "the ledger has them",
        &["LEDGER", "NOTE", "INTENT", "TWIN", "SWAP"],
    ),
    (
        "they have their name",
        &["LEDGER", "NOTE", "INTENT", "TWIN", "SWAP", "RENAME"],
    ),
];

pub(super) fn wherever_a_run_ends_the_next_one_archives(dialect: Dialect) {
    for (stop, statements) in STOPS {
        let mut installation = armed(dialect, "event-log-archives");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
        let twin = format!("{}.event_log_taken", installation.control);
        for statement in statements {
            installation.execute(&match *statement {
                "INTENT" => format!(
                    "INSERT INTO W.taken_partition (rule, run_id, name, from_bound, to_bound, to_due, bytes, phase)
                     VALUES ('event_log', 0, '{PAST}', '2025-01-01 00:00:00', '2025-06-01 00:00:00', '2025-06-01', 1, 'archiving')"
                ),
                "TWIN" => format!("CREATE TABLE {twin} LIKE event_log; ALTER TABLE {twin} REMOVE PARTITIONING"),
                "SWAP" => format!("ALTER TABLE event_log EXCHANGE PARTITION `the ``past``` WITH TABLE {twin}"),
                "RENAME" => format!("RENAME TABLE {twin} TO {}.archived_0_1_past", installation.control),
                "NOTE" => format!(
                    "INSERT INTO W.partition_archive
                     (run_id, place, rule, table_name, name, from_bound, to_bound, partition_rows, counted, bytes, archive, state)
                     VALUES (0, 1, 'event_log', 'event_log', '{PAST}', '2025-01-01 00:00:00', '2025-06-01 00:00:00', 2, true, 1, 'archived_0_1_past',
                         'archiving')"
                ),
                _ => format!(
                    "INSERT INTO W.run_partition (run_id, rule, name, from_bound, to_bound, deleted_rows, counted, bytes)
                     VALUES (0, 'event_log', '{PAST}', '2025-01-01 00:00:00', '2025-06-01 00:00:00', 2, true, 1)"
                ),
            });
        }
        let verify = installation.call("verify", json!({})).expect("verify");
        let said = violations(&verify);
        assert!(
            said.iter()
                .any(|it| it["check"] == "unfinished" && it.to_string().contains(PAST)),
            "{stop}: {verify}"
        );
        installation
            .attempt("CALL W.check_uninstall()")
            .expect_err("rows are out of their table");
        // Not in the archive yet: it is not listed, and not restored.
        let list = installation
            .call("archive_list", json!({}))
            .expect("a list");
        assert_eq!(list["rows"], 0, "{stop}: {list}");
        installation
            .run(json!({"dry_run": true}))
            .expect("a dry run");
        assert!(taken(&mut installation) > 0, "{stop}");

        let run = installation.run(json!({})).expect("the next run");
        assert_eq!(
            (&run["status"], &only(&run)["rows"]),
            (&json!("done"), &json!(0)),
            "{dialect:?}, {stop}: {run}"
        );
        assert_eq!(taken(&mut installation), 0, "{stop}");
        assert_eq!(ids(&mut installation), "6", "{stop}");
        assert_eq!(kept(&mut installation), ["archived_0_1_past"], "{stop}");
        assert_eq!(
            noted(&mut installation),
            [format!("{PAST}/2/kept")],
            "{stop}"
        );
        assert_eq!(ledger(&mut installation).len(), 1, "{stop}");
        restore(&mut installation, json!({"run": 0})).expect_err("no number of a run");
        let verify = installation.call("verify", json!({})).expect("verify");
        assert!(violations(&verify).is_empty(), "{stop}: {verify}");
    }
}

/// Makes each session sleep that comes to such a change of partition_archive.
pub(super) fn sleeps_at(installation: &mut Installation, change: &str, when: &str) {
    installation.execute(&format!(
        "CREATE TRIGGER W.sleeps {change} ON W.partition_archive FOR EACH ROW
         BEGIN DECLARE v_slept int; IF {when} THEN SET v_slept = SLEEP(600); END IF; END"
    ));
}

pub(super) fn what_is_killed_in_between_loses_nothing(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-killed");
    let before = all_of(&mut installation);
    let wakes = "DROP TRIGGER W.sleeps";
    // When the second is judged, before the ledger has it.
    sleeps_at(
        &mut installation,
        "BEFORE INSERT",
        &format!("new.name = '{PAST}'"),
    );
    installation.kill_asleep("judged", "run", json!({}));
    installation.execute(wakes);
    assert_eq!(noted(&mut installation), ["old/2/kept"]);
    // When it has its name, before that is noted.
    sleeps_at(
        &mut installation,
        "BEFORE UPDATE",
        &format!("new.name = '{PAST}'"),
    );
    installation.kill_asleep("renamed", "run", json!({}));
    installation.execute(wakes);
    assert_eq!(
        noted(&mut installation),
        ["old/2/kept", &format!("{PAST}/2/archiving")]
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["rows"], 1, "{run}");
    assert_eq!(
        noted(&mut installation),
        ["old/2/kept", &format!("{PAST}/2/kept"), "late/1/kept"]
    );
    assert_eq!(kept(&mut installation).len(), 3);
    assert_eq!(
        installation.number("SELECT SUM(deleted_rows) FROM W.run_table"),
        5
    );

    // A restoration, before all is back.
    sleeps_at(&mut installation, "BEFORE UPDATE", "new.name = 'late'");
    let number = run["run"].clone();
    installation.kill_asleep("restored", "archive_restore", json!({"run": number}));
    installation.execute(wakes);
    // On MySQL the session has committed the copied row and its hold.
    let committed = dialect == Dialect::Mysql;
    assert_eq!(ids(&mut installation), if committed { "5 6" } else { "6" });
    let holds = installation.number("SELECT COUNT(*) FROM W.hold");
    assert_eq!(holds, i64::from(committed));
    installation.execute("DELETE FROM event_log WHERE id = 5");
    assert_eq!(kept(&mut installation).len(), 3);
    // A table that a restoration could not drop any more is dropped by the next run.
    installation.execute(
        "CREATE TABLE W.left_over LIKE event_log; ALTER TABLE W.left_over REMOVE PARTITIONING",
    );
    for run in installation.texts("SELECT DISTINCT run_id FROM W.partition_archive ORDER BY 1") {
        let run: i64 = run.parse().expect("a number");
        restore(&mut installation, json!({"run": run})).expect("restored");
    }
    assert_eq!(all_of(&mut installation), before);
    installation.execute(&format!(
        "RENAME TABLE W.left_over TO W.archived_{number}_1_late"
    ));
    installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    assert_eq!(kept(&mut installation).len(), 1);
    installation.run(json!({})).expect("a run");
    assert_eq!(kept(&mut installation), [""; 0]);
    assert_eq!(all_of(&mut installation), before);

    // A drop, when the table is gone and nobody has noted it.
    release(&mut installation);
    let run = installation.run(json!({})).expect("a run");
    sleeps_at(&mut installation, "BEFORE UPDATE", "new.state = 'dropped'");
    installation.kill_asleep("dropped", "archive_drop", json!({"run": run["run"]}));
    installation.execute(wakes);
    restore(&mut installation, json!({"run": run["run"]})).expect_err("it is being dropped");
    let dropped = installation
        .call("archive_drop", json!({"run": run["run"]}))
        .expect("a drop");
    assert_eq!(dropped["rows"], 5, "{dropped}");
    assert_eq!(
        installation.texts(
            "SELECT CONCAT_WS(' ', action, table_rows) FROM W.unarchived WHERE action <> 'RESTORED'"
        ),
        ["DROPPED 5"]
    );
}

pub(super) fn what_cannot_be_archived_stops_the_run(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-stopped");
    installation.execute("CREATE TABLE W.archived_1_1_old (id bigint)");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert!(
        run["reason"].to_string().contains("archived_1_1_old"),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "3 4 5 6");
    installation.execute("DROP TABLE W.archived_1_1_old");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["families"]),
        (&json!("done"), &json!(2)),
        "{run}"
    );
    assert_eq!(kept(&mut installation).len(), 3);
    let rows = installation.texts("SELECT id FROM W.archived_1_1_old ORDER BY id");
    assert_eq!(rows, ["1", "2"]);
}

pub(super) fn archived_partitions_are_dropped_by_hand_and_by_age(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-dropped");
    let run = installation.run(json!({})).expect("a run");
    let number = run["run"].clone();
    let old = installation
        .call("archive_list", json!({"older_than": "1d"}))
        .expect("a list");
    assert_eq!(old["rows"], 0, "{old}");
    let dry = json!({"run": number, "dry_run": true});
    let told = installation.call("archive_drop", dry).expect("a dry run");
    assert_eq!(
        (&told["dry_run"], &told["rows"]),
        (&json!(true), &json!(5)),
        "{told}"
    );
    assert_eq!(kept(&mut installation).len(), 3);
    // What somebody reads stays, and can be restored.
    let mut reader = installation.connect();
    let control = installation.control.clone();
    reader
        .execute(&format!("BEGIN; SELECT * FROM {control}.archived_1_1_old"))
        .expect("a reader");
    installation
        .call("archive_drop", json!({"run": number}))
        .expect_err("somebody reads it");
    assert_eq!(noted(&mut installation)[0], "old/2/kept");
    reader.execute("COMMIT").expect("an end");
    let dropped = installation
        .call("archive_drop", json!({"run": number}))
        .expect("a drop");
    assert_eq!(dropped["rows"], 5, "{dropped}");
    assert_eq!(kept(&mut installation), [""; 0]);
    assert_eq!(
        installation
            .texts("SELECT CONCAT_WS(' ', action, table_name, table_rows) FROM W.unarchived"),
        ["DROPPED event_log 5"]
    );
    restore(&mut installation, json!({"run": number})).expect_err("nothing is left");

    // By age, at the end of a run; what somebody reads meanwhile is left to the next one.
    installation.execute(
        "INSERT INTO event_log (logged_at, message) VALUES ('2020-01-01', 'late'), ('2020-01-02', 'late')",
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&only(&run)["rows"], &run["archive_pruned"]),
        (&json!(2), &json!(0)),
        "{run}"
    );
    installation
        .execute("INSERT INTO event_log (logged_at, message) VALUES ('2020-01-03', 'later')");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["rows"], 1, "{run}");
    installation.execute("UPDATE W.partition_archive SET archived_at = UTC_TIMESTAMP() - INTERVAL 402 DAY WHERE state = 'kept'");
    let name = kept(&mut installation).remove(0);
    reader
        .execute(&format!("BEGIN; SELECT * FROM {control}.{name}"))
        .expect("a reader");
    let busy = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&busy["status"], &busy["archive_pruned"]),
        (&json!("done"), &json!(1)),
        "{busy}"
    );
    assert_eq!(kept(&mut installation), [name]);
    let verify = installation.call("verify", json!({})).expect("verify");
    let told = "rows of 1 archived partitions that are older than archive_days and not pruned";
    assert!(verify.to_string().contains(told), "{verify}");
    reader.execute("ROLLBACK").expect("an end");
    let pruned = installation.run(json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], 2, "{pruned}");
    assert_eq!(kept(&mut installation), [""; 0]);
}

/// What comes in the way, how it goes, and what is said of it.
const MISFITS: &[(&str, &str, &str)] = &[
    (
        "INSERT INTO event_log (id, logged_at, message) VALUES (5, '2025-07-01', 'another')",
        "DELETE FROM event_log WHERE id = 5",
        "Duplicate entry",
    ),
    (
        "ALTER TABLE event_log ADD COLUMN more int",
        "ALTER TABLE event_log DROP COLUMN more",
        "column more is not in both of event_log and archived_1_1_old",
    ),
    (
        "ALTER TABLE W.archived_1_1_old ADD COLUMN less int",
        "ALTER TABLE W.archived_1_1_old DROP COLUMN less",
        "column less is not in both",
    ),
    (
        "ALTER TABLE W.archived_1_1_old MODIFY COLUMN id decimal(20) NOT NULL",
        "ALTER TABLE W.archived_1_1_old MODIFY COLUMN id bigint NOT NULL AUTO_INCREMENT",
        "and decimal(20,0) in archived_1_1_old",
    ),
    (
        "ALTER TABLE W.archived_1_1_old MODIFY COLUMN logged_at timestamp(6) NOT NULL",
        "ALTER TABLE W.archived_1_1_old MODIFY COLUMN logged_at timestamp NOT NULL",
        "event_log.logged_at is timestamp, and timestamp(6) in archived_1_1_old",
    ),
    (
        "ALTER TABLE W.archived_1_1_old MODIFY COLUMN message text CHARACTER SET latin2 NOT NULL",
        "ALTER TABLE W.archived_1_1_old MODIFY COLUMN message text NOT NULL",
        "and text latin2 in archived_1_1_old",
    ),
    (
        "ALTER TABLE event_log MODIFY COLUMN message varchar(20) NOT NULL",
        "ALTER TABLE event_log MODIFY COLUMN message text NOT NULL",
        "event_log.message is varchar(20)",
    ),
    (
        "ALTER TABLE event_log ADD COLUMN third decimal(6, 1) NOT NULL DEFAULT 1; ALTER TABLE W.archived_1_1_old ADD COLUMN third decimal(6, 3) GENERATED ALWAYS AS (LENGTH(message) / 3) STORED",
        "ALTER TABLE event_log DROP COLUMN third; ALTER TABLE W.archived_1_1_old DROP COLUMN third",
        "event_log.third is decimal(6,1), and decimal(6,3) in archived_1_1_old",
    ),
    (
        "INSERT INTO W.archived_1_1_old (id, logged_at, message) VALUES (9, '2024-01-01', 'by hand')",
        "DELETE FROM W.archived_1_1_old WHERE id = 9",
        "archived_1_1_old has 3 rows, and 2 were archived",
    ),
    (
        "RENAME TABLE W.archived_1_1_old TO W.away",
        "RENAME TABLE W.away TO W.archived_1_1_old",
        "is gone",
    ),
];

pub(super) fn what_is_in_the_way_is_told_and_nothing_is_restored(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-ways");
    installation.run(json!({})).expect("a run");
    let names = kept(&mut installation);
    for (comes, goes, said) in MISFITS {
        installation.execute(comes);
        let told = restore(&mut installation, json!({"run": 1})).expect_err(comes);
        assert!(
            told.contains("nothing is restored") && told.contains(said),
            "{comes}: {told}"
        );
        installation.execute(goes);
        assert_eq!(kept(&mut installation), names, "{comes}");
        assert_eq!(ids(&mut installation), "6", "{comes}");
        assert_eq!(
            installation.number("SELECT COUNT(*) FROM W.hold"),
            0,
            "{comes}"
        );
    }
    let told = restore(&mut installation, json!({"run": 1, "max_rows": 4})).expect_err("too many");
    assert!(told.contains("max_rows is 4"), "{told}");
    let options = json!({"run": 1, "rule": "event_log", "key": ["future"]});
    let told = restore(&mut installation, options).expect_err("never archived");
    assert!(
        told.contains("no archived rows of these families"),
        "{told}"
    );
    // What has room for all values is in nobody's way.
    installation.execute(
        "ALTER TABLE event_log MODIFY COLUMN message mediumtext NOT NULL, ADD COLUMN took decimal(12, 4), ADD COLUMN at_sea datetime(6)",
    );
    for name in names.iter().map(|name| name.replace('`', "``")) {
        let wider = "ADD COLUMN took decimal(6, 2), ADD COLUMN at_sea datetime";
        installation.execute(&format!("ALTER TABLE W.`{name}` {wider}"));
    }
    let options = json!({"run": 1, "rule": "event_log", "key": [PAST]});
    let back = restore(&mut installation, options).expect("restored by name");
    assert_eq!(
        (&back["rows"], &back["holds"]),
        (&json!(2), &json!(1)),
        "{back}"
    );
    assert_eq!(ids(&mut installation), "3 4 6");
    restore(&mut installation, json!({"run": 1})).expect("the others");
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
}

pub(super) fn nobody_else_gets_at_what_is_archived(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-others");
    let control = installation.control.clone();
    let user = format!("ar_{}", installation.name);
    let user = &user[..user.len().min(30)];
    installation.execute(&format!(
        "CREATE USER '{user}'@'%'; GRANT '{control}_operator' TO '{user}'@'%'"
    ));
    installation.execute(&match dialect {
        Dialect::Mariadb => format!("SET DEFAULT ROLE '{control}_operator' FOR '{user}'@'%'"),
        _ => format!("SET DEFAULT ROLE '{control}_operator' TO '{user}'@'%'"),
    });
    let mut session = installation.connect_to(&control, user);
    session
        .execute("CALL run('{}')")
        .expect("an operator's run");
    assert_eq!(kept(&mut installation).len(), 3);
    for refused in [
        "SELECT COUNT(*) FROM archived_1_1_old",
        "DROP TABLE archived_1_1_old",
        "CALL archive_rename('event_log')",
        "CALL put_partition(1, 1)",
        "CALL drop_archived_partition(1, 1, 0, @rows)",
        "UPDATE partition_archive SET state = 'kept'",
    ] {
        let error = format!("{:#}", session.execute(refused).expect_err(refused));
        assert!(error.contains("denied"), "{refused}: {error}");
    }
    session
        .execute("SELECT COUNT(*) FROM partition_archive")
        .expect("what is archived may be known");
    hides(
        dialect,
        &mut installation,
        &mut session,
        user,
        "archived_1_1_old",
    );
    session
        .execute("CALL archive_restore('{\"run\": 1}')")
        .expect("an operator restores");
    assert_eq!(kept(&mut installation), [""; 0]);
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
    installation.execute(&format!("DROP USER '{user}'@'%'"));
}

/// On MariaDB anyone may give a temporary table of his own the name of what he may not read: with other rows, here.
fn hides(
    dialect: Dialect,
    installation: &mut Installation,
    session: &mut Session,
    user: &str,
    table: &str,
) {
    let scratch = format!("{}_scratch", installation.name);
    installation.execute(&format!(
        "DROP DATABASE IF EXISTS {scratch}; CREATE DATABASE {scratch}"
    ));
    installation.execute(&format!(
        "GRANT CREATE TEMPORARY TABLES ON {scratch}.* TO '{user}'@'%'"
    ));
    session
        .execute(&format!(
            "CREATE TEMPORARY TABLE {scratch}.{table} (id bigint, logged_at timestamp, message text, twice text)"
        ))
        .expect("a temporary table");
    let renamed = session.execute(&format!(
        "RENAME TABLE {scratch}.{table} TO {}.{table}",
        installation.control
    ));
    assert_eq!(renamed.is_ok(), dialect == Dialect::Mariadb);
    installation.execute(&format!("DROP DATABASE {scratch}"));
}

/// The longest name of a partition, of a table with a CHECK, whose name the server derives from that of its table.
pub(super) fn a_long_name_fits(dialect: Dialect) {
    let long = "p".repeat(64);
    let schema = SCHEMA
        .replace("PARTITION old ", &format!("PARTITION {long} "))
        .replace(
            "    PRIMARY KEY (id, logged_at)\n",
            "    PRIMARY KEY (id, logged_at), CHECK (message <> 'nothing'), CHECK (message <> 'a thing'), UNIQUE KEY other (id, message(10), logged_at)\n",
        );
    super::files(dialect);
    let mut installation = Installation::of(dialect, &schema, &example("event-log-long"));
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["families"]),
        (&json!("done"), &json!(3)),
        "{run}"
    );
    let verify = installation.call("verify", json!({})).expect("verify");
    let said = violations(&verify);
    assert!(said.is_empty(), "{dialect:?}: {said:?}");
    restore(&mut installation, json!({"run": 1})).expect("restored");
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
}
