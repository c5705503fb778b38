//! What leaves the archive, or should: partitions that are pruned, that come back without what is gone, and whose they must be.

use serde_json::json;
use windrow::fit;

use super::{armed, example, kept, kept_in, restore};
use crate::harness::tests;
use crate::partition::{only, own, owner, partitions};
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        a_partition_that_cannot_be_pruned_keeps_no_other,
        what_is_being_restored_is_not_pruned,
        what_is_gone_is_left_out_of_a_restoration,
        only_a_member_of_the_owner_of_the_table_archives,
    ],
}

/// The archived partitions that `verify` says should be gone, and how many rows.
fn overdue(installation: &mut Installation) -> Vec<(String, i64)> {
    let verify = installation.call("verify", json!({})).expect("verify");
    let checks = verify["checks"].as_array().expect("checks");
    let told = checks
        .iter()
        .filter(|it| it["check"] == "archived" && it["severity"] == "notice");
    told.map(|it| {
        let object = it["object"].as_str().expect("a name");
        (object.to_owned(), it["count"].as_i64().expect("a number"))
    })
    .collect()
}

const LONG_AGO: &str = "UPDATE W.partition_archive SET archived_at = now() - interval '402 days' WHERE dropped_at IS NULL";

/// What a view shows, or a dump reads, is left to the next run; the rest goes.
fn a_partition_that_cannot_be_pruned_keeps_no_other() {
    let mut installation = armed("event-log-viewed");
    let first = installation.number("SELECT count(*) FROM event_log_old");
    let run = installation.run(json!({})).expect("a run");
    let rows = only(&run)["rows"].as_i64().expect("a number");
    let (schema, name) = (kept_in(&installation), kept(&mut installation).remove(0));
    installation.execute(&format!(
        "CREATE VIEW seen AS SELECT * FROM {schema}.{name};
         CREATE TABLE event_log_late PARTITION OF event_log FOR VALUES FROM (MINVALUE) TO ('2001-01-01');
         INSERT INTO event_log (logged_at, message) SELECT '2000-01-01', 'late' FROM generate_series(1, 7)"
    ));
    own(&mut installation);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["rows"], 7, "{run}");
    assert_eq!(overdue(&mut installation), []);
    installation.execute(LONG_AGO);
    let pruned = installation.run(json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], rows - first + 7, "{pruned}");
    assert_eq!(kept(&mut installation), std::slice::from_ref(&name));
    let told = [(format!("{schema}.{name}"), first)];
    assert_eq!(overdue(&mut installation), told);
    installation.execute("DROP VIEW seen");
    let pruned = installation.run(json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], first, "{pruned}");
    assert_eq!(kept(&mut installation), [""; 0]);
    assert_eq!(overdue(&mut installation), []);
}

/// Who restores a partition has it: a run that prunes goes on behind it, and who drops it by hand finds it restored.
fn what_is_being_restored_is_not_pruned() {
    let mut installation = armed("event-log-saved");
    let first = installation.number("SELECT count(*) FROM event_log_old");
    let run = installation.run(json!({})).expect("a run");
    let rest = only(&run)["rows"].as_i64().expect("a number") - first;
    let mut other = installation.connect();
    let options = json!({"run": 1, "rule": "event_log", "key": ["event_log_old"]});
    let restores = installation.named(&format!("BEGIN; SELECT W.archive_restore('{options}')"));
    other.execute(&restores).expect("a restoration");
    let (runner, _, session) = installation.call_aside("archive_drop", json!({"run": 1}));
    installation.until_locked("a drop", &runner, session);
    other.execute("COMMIT").expect("it is restored");
    let dropped = runner.join().expect("no panic").1.expect("a drop");
    assert_eq!(dropped["rows"], rest, "{dropped}");
    let noted = "SELECT concat_ws(' ', u.action, u.table_rows) FROM W.unarchived AS u ORDER BY u.action DESC";
    let told = [format!("RESTORED {first}"), format!("DROPPED {rest}")];
    assert_eq!(installation.texts(noted), told);
    let both =
        "SELECT count(*) FROM W.partition_archive WHERE num_nonnulls(restored_at, dropped_at) = 2";
    assert_eq!(installation.number(both), 0);

    installation.execute("DELETE FROM W.hold");
    installation.run(json!({})).expect("a run");
    installation.execute(LONG_AGO);
    // It reads the rows, and has the partition's row of the ledger.
    let reads = installation.named("BEGIN; SELECT W.archive_attach(2, 1, true)");
    other.execute(&reads).expect("a restoration");
    let busy = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&busy["status"], &busy["archive_pruned"]),
        (&json!("done"), &json!(0)),
        "{busy}"
    );
    other.execute("ROLLBACK").expect("an end");
    let pruned = installation.run(json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], first, "{pruned}");
}

/// Roles and tables that are gone keep nothing archived; the answer says what they lost. What else fails is told with its statement.
fn what_is_gone_is_left_out_of_a_restoration() {
    let mut installation = armed("event-log-gone");
    let (owner, control) = (owner(&installation), installation.control.clone());
    installation.execute(&format!(
        "CREATE ROLE {owner}_bob; CREATE ROLE {owner}_late; GRANT {owner}_late TO {control}_owner;
         CREATE TABLE kind (id bigint PRIMARY KEY);
         CREATE TABLE other (id bigint PRIMARY KEY);
         INSERT INTO kind SELECT generate_series(1, 30);
         INSERT INTO other SELECT generate_series(1, 30);
         ALTER TABLE event_log_past ADD CONSTRAINT of_kind FOREIGN KEY (id) REFERENCES kind;
         ALTER TABLE event_log_past ADD CONSTRAINT of_other FOREIGN KEY (id) REFERENCES other;
         GRANT SELECT, REFERENCES ON kind, other TO {owner};
         GRANT SELECT ON event_log_old TO {owner}_bob; GRANT SELECT ON event_log_past TO {owner}_bob;
         GRANT CREATE ON SCHEMA public TO {owner}_late;
         ALTER TABLE event_log_old OWNER TO {owner}_late"
    ));
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 2, "{run}");
    installation.execute(&format!(
        "DROP OWNED BY {owner}_late; DROP ROLE {owner}_bob, {owner}_late; DROP TABLE kind; DELETE FROM other WHERE id = 15"
    ));
    restore(&mut installation, json!({"run": run["run"]})).expect_err("a row is missing");
    installation.execute(
        "CREATE TEMP TABLE hint (told text);
         DO $$ DECLARE told text; BEGIN PERFORM W.archive_restore('{\"run\": 1}');
         EXCEPTION WHEN foreign_key_violation THEN
             GET STACKED DIAGNOSTICS told = PG_EXCEPTION_HINT; INSERT INTO hint VALUES (told); END $$",
    );
    let remedy = "SELECT split_part(told, 'leave the statement out: ', 2) FROM hint";
    let remedy = installation.texts(remedy).remove(0);
    assert!(remedy.contains("CONSTRAINT of_other"), "{remedy}");
    installation.execute(&remedy);
    let back = restore(&mut installation, json!({"run": run["run"]})).expect("restored");
    assert_eq!(
        back["not_restored"],
        json!([
            format!("ALTER TABLE public.event_log_old OWNER TO {owner}_late"),
            format!("GRANT SELECT ON public.event_log_old TO {owner}_bob"),
            format!("GRANT SELECT ON public.event_log_past TO {owner}_bob"),
            "ALTER TABLE public.event_log_past ADD CONSTRAINT of_kind FOREIGN KEY (id) REFERENCES public.kind(id)",
        ]),
        "{back}"
    );
    let owners = "SELECT DISTINCT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.relname IN ('event_log_old', 'event_log_past')";
    assert_eq!(installation.texts(owners), [owner]);
    assert_eq!(partitions(&mut installation).len(), 3);
}

/// Only the owner of a table can detach its partitions.
fn only_a_member_of_the_owner_of_the_table_archives() {
    let graph = example("event-log-owners");
    let mut installation = armed("event-log-owners");
    let control = installation.control.clone();
    installation.execute(&format!(
        "CREATE ROLE {control}_other NOLOGIN; ALTER TABLE event_log OWNER TO {control}_other"
    ));
    let grant = format!("GRANT {control}_other TO {control}_owner");
    let said = format!("table event_log belongs to {control}_other");
    for call in ["CALL W.arm()", "CALL W.run()"] {
        let told = format!("{:#}", installation.attempt(call).expect_err(call));
        assert!(
            told.contains(&said) && told.contains(&grant),
            "{call}: {told}"
        );
    }
    let catalog = installation.session.catalog("public").expect("a catalog");
    let found = fit::compare(&graph, &catalog);
    let told = found.iter().filter(|it| it.code == "partition-owner");
    let told: Vec<String> = told
        .map(|it| format!("{}: {}", it.message, it.help))
        .collect();
    assert!(
        told.iter()
            .any(|it| it.contains(&format!("`{control}_other` owns the table"))),
        "{told:#?}"
    );
    installation.execute(&grant);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 2, "{run}");
}
