//! Partitions that are kept instead of being dropped, on PostgreSQL, and in `innodb::archive` on the other servers: what is kept, how it
//! comes back, and how it goes.

mod leaves;
pub(super) mod told;
mod uses;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use self::told::{
    only_what_the_ledger_has_is_there, the_commands_list_write_and_refuse,
    what_is_estimated_is_told,
};
use self::uses::{
    a_key_to_a_partitioned_table_goes_and_comes_back, a_restoration_reads_before_anybody_waits,
    a_sequence_that_the_table_uses_keeps_its_partition,
    an_uninstallation_keeps_what_row_security_hides, copies_and_partitions_of_one_table_come_back,
};
use super::{SCHEMA, armed_as, grant, only, own, owner, partitions, set, without_ahead};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    within: [
        leaves::tests,
    ],
    on_postgres: [
        a_partition_is_kept_and_comes_back_as_it_was,
        what_fails_in_between_leaves_the_partition_where_it_is,
        a_run_that_is_killed_leaves_all_or_nothing,
        the_application_waits_no_longer_than_for_a_drop,
        the_commands_list_write_and_refuse,
        archived_partitions_are_dropped_by_hand_and_by_age,
        what_is_in_the_way_is_told_and_nothing_is_restored,
        partitions_of_several_tables_are_kept_and_come_back_together,
        an_uninstallation_keeps_archived_partitions,
        nobody_else_gets_at_what_is_archived,
        what_is_estimated_is_told,
        a_sequence_that_the_table_uses_keeps_its_partition,
        a_key_to_a_partitioned_table_goes_and_comes_back,
        an_uninstallation_keeps_what_row_security_hides,
        a_restoration_reads_before_anybody_waits,
        copies_and_partitions_of_one_table_come_back,
    ],
}

/// The example that keeps its partitions.
pub(crate) fn example(name: &str) -> Graph {
    graph_of(&spec_of(name))
}

pub(super) fn spec_of(name: &str) -> String {
    let spec = without_ahead().replace("\"event-log\"", &format!("\"{name}\""));
    let spec = spec.replace(
        "root      = \"event_log\"",
        "root      = \"event_log\"\narchive   = true",
    );
    format!("archive_days = 400\n{spec}")
}

fn armed(name: &str) -> Installation {
    let mut installation = armed_as(&example(name), SCHEMA);
    let owner = owner(&installation);
    installation.execute(&format!("GRANT USAGE ON SCHEMA public TO {owner}"));
    installation
}

/// The schema in which the partitions are kept.
fn kept_in(installation: &Installation) -> String {
    format!("{}_archive", installation.control)
}

/// The example with a second rule, which archives rows of the table that say nothing.
pub(crate) fn with_noise(name: &str) -> Graph {
    graph_of(&format!(
        "{}
[rules.noise]
strategy   = \"age\"
root       = \"event_log\"
time       = \"logged_at timestamptz\"
candidates = {{ message = {{ text = [\"noise\"] }} }}
retention  = {{ default = \"31d\", minimum = \"7d\", safety_lag = \"1h\" }}
archive    = true
",
        spec_of(name).replace(
            "\"id bigint\" }",
            "\"id bigint\", indexed = [\"logged_at\"] }"
        )
    ))
}

/// The tables in there.
fn kept(installation: &mut Installation) -> Vec<String> {
    let schema = kept_in(installation);
    installation.texts(&format!(
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind = 'r' ORDER BY 1"
    ))
}

/// What a table is: its columns, indexes, constraints, owner and rights, and its rows.
fn all_of(installation: &mut Installation, table: &str) -> Vec<String> {
    installation.texts(&format!(
        "SELECT 'index ' || pg_get_indexdef(i.indexrelid) FROM pg_index AS i WHERE i.indrelid = '{table}'::regclass
         UNION ALL
         SELECT 'constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid) FROM pg_constraint AS c WHERE c.conrelid = '{table}'::regclass
         UNION ALL
         SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM pg_trigger AS t WHERE t.tgrelid = '{table}'::regclass AND NOT t.tgisinternal
         UNION ALL
         SELECT concat_ws(' ', 'class', pg_get_userbyid(c.relowner), pg_get_expr(c.relpartbound, c.oid)) FROM pg_class AS c
         WHERE c.oid = '{table}'::regclass
         UNION ALL
         SELECT concat_ws(' ', 'right', a.grantee::regrole, a.privilege_type, a.is_grantable) FROM pg_class AS c
         CROSS JOIN LATERAL aclexplode(c.relacl) AS a WHERE c.oid = '{table}'::regclass AND a.grantee <> c.relowner
         UNION ALL
         SELECT concat_ws(' ', 'column right', a.grantee::regrole, a.privilege_type) FROM pg_attribute AS c
         CROSS JOIN LATERAL aclexplode(c.attacl) AS a WHERE c.attrelid = '{table}'::regclass
         UNION ALL
         SELECT 'row ' || t::text FROM {table} AS t
         ORDER BY 1"
    ))
}

fn restore(installation: &mut Installation, options: Value) -> Result<Value, String> {
    let restored = installation.call("archive_restore", options);
    restored.map_err(|error| format!("{error:#}"))
}

fn a_partition_is_kept_and_comes_back_as_it_was() {
    let mut installation = armed("event-log-kept");
    let owner = owner(&installation);
    installation.execute(&format!(
        "CREATE TABLE kind (id bigint PRIMARY KEY);
         INSERT INTO kind SELECT generate_series(1, 30);
         ALTER TABLE event_log ADD FOREIGN KEY (id) REFERENCES kind;
         CREATE INDEX event_log_message ON event_log (message);
         CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
         CREATE TRIGGER tells AFTER INSERT ON event_log FOR EACH ROW EXECUTE FUNCTION told();
         ALTER TABLE event_log_old ADD CHECK (message <> 'nothing');
         CREATE INDEX its_own ON event_log_old (message, id);
         DO $$ BEGIN CREATE ROLE {owner}_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
         GRANT SELECT ON event_log_old TO {owner}_reader WITH GRANT OPTION;
         GRANT UPDATE (message) ON event_log_old TO {owner}_reader"
    ));
    installation.execute(&format!("GRANT SELECT, REFERENCES ON kind TO {owner}"));
    let before = all_of(&mut installation, "event_log_old");
    let rows = before.iter().filter(|it| it.starts_with("row ")).count();
    assert!(rows > 5 && before.len() > rows + 9, "{before:#?}");
    let all = installation.texts("SELECT t::text FROM event_log AS t ORDER BY 1");

    let dry = installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    assert_eq!(only(&dry)["families"], 2, "{dry}");
    assert_eq!(kept(&mut installation), [""; 0]);

    let run = installation.run(json!({})).expect("a run");
    let number = run["run"].clone();
    assert_eq!(
        (&run["status"], &only(&run)["families"]),
        (&json!("done"), &json!(2)),
        "{run}"
    );
    assert_eq!(partitions(&mut installation), set(&["event_log_now"]));
    let names = [
        format!("archived_{number}_1_event_log_old"),
        format!("archived_{number}_2_event_log_past"),
    ];
    assert_eq!(kept(&mut installation), names);
    // A row that an archived one names can be deleted.
    installation.execute("BEGIN; DELETE FROM event_log; DELETE FROM kind; ROLLBACK");

    let list = installation
        .call("archive_list", json!({}))
        .expect("a list");
    let told = &list["runs"][0];
    assert_eq!(
        (&told["run"], &told["rows"]),
        (&number, &only(&run)["rows"]),
        "{list}"
    );
    assert_eq!(told["tables"], json!({"event_log": only(&run)["rows"]}));
    let parts = told["partitions"].as_array().expect("partitions");
    assert_eq!(parts.len(), 2, "{list}");
    assert_eq!(
        (&parts[0]["partition"], &parts[0]["rows"], &parts[0]["from"]),
        (&json!("event_log_old"), &json!(rows), &json!("-infinity")),
    );
    assert_eq!(
        parts[0]["archive"],
        json!(format!("{}.{}", kept_in(&installation), names[0]))
    );
    let schema = kept_in(&installation);
    let of_the_first = installation.number(&format!("SELECT count(*) FROM {schema}.{}", names[0]));
    let rows = only(&run)["rows"].as_i64().expect("a number");
    only_what_the_ledger_has_is_there(
        &mut installation,
        &schema,
        (2, rows),
        (&names[0], of_the_first),
    );
    // An installation leaves what is archived alone, and windrow diff has nothing to say of it.
    let graph = example("event-log-kept");
    installation.install(&graph);
    assert_eq!(installation.deviations(&graph), [""; 0]);
    assert_eq!(kept(&mut installation), names);

    comes_back(&mut installation, &run, &before, &all);
}

/// What a run archived comes back as it was, is held, and can be archived again.
fn comes_back(installation: &mut Installation, run: &Value, before: &[String], all: &[String]) {
    let number = run["run"].clone();
    let back = restore(installation, json!({"run": number})).expect("restored");
    assert_eq!(
        (&back["rows"], &back["holds"], &back["not_held"]),
        (&only(run)["rows"], &json!(2), &json!(0)),
        "{back}"
    );
    assert_eq!(kept(installation), [""; 0]);
    assert_eq!(all_of(installation, "event_log_old"), before);
    assert_eq!(
        installation.texts("SELECT t::text FROM event_log AS t ORDER BY 1"),
        all
    );

    // What came back is held, until the hold is released.
    let held = installation.run(json!({})).expect("a run");
    assert_eq!(only(&held)["families"], 0, "{held}");
    assert_eq!(only(&held)["skipped"]["HELD"], 2, "{held}");
    installation
        .execute("DELETE FROM W.hold WHERE key = (SELECT min(id)::text FROM event_log_old)");
    let again = installation.run(json!({})).expect("a run");
    assert_eq!(only(&again)["families"], 1, "{again}");
    assert_eq!(kept(installation).len(), 1);
    let restored = restore(installation, json!({"run": number}));
    assert!(
        restored
            .expect_err("nothing is left")
            .contains("no rows of run")
    );
    // By its name.
    let options = json!({"run": again["run"], "rule": "event_log", "key": ["event_log_old"]});
    restore(installation, options).expect("restored by name");
    assert_eq!(all_of(installation, "event_log_old"), before);
}

fn what_fails_in_between_leaves_the_partition_where_it_is() {
    let mut installation = armed("event-log-between");
    let before = all_of(&mut installation, "event_log_old");
    // The last of its statements fails.
    let schema = kept_in(&installation);
    let in_the_way = "archived_1_1_index_1";
    installation.execute(&format!("CREATE TABLE {schema}.{in_the_way} (id bigint)"));
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["run"], &run["status"]),
        (&json!(1), &json!("failed")),
        "{run}"
    );
    assert!(run["reason"].to_string().contains(in_the_way), "{run}");
    assert_eq!(all_of(&mut installation, "event_log_old"), before);
    assert_eq!(
        installation.number("SELECT count(*) FROM W.partition_archive"),
        0
    );
    assert_eq!(kept(&mut installation), [in_the_way]);
    installation.execute(&format!("DROP TABLE {schema}.{in_the_way}"));

    installation.execute("CREATE VIEW shows AS SELECT * FROM event_log_past");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&only(&run)["families"], &only(&run)["skipped"]),
        (&json!(1), &json!({"FAILED": 1})),
        "{run}"
    );
    let failures = installation.texts("SELECT f.message FROM W.run_failure AS f");
    assert!(
        failures[0].contains("because view public.shows depends on it"),
        "{failures:?}"
    );
    installation.execute("DROP VIEW shows");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 1, "{run}");
    assert_eq!(kept(&mut installation).len(), 2);
}

/// Makes each session sleep that has just altered a table so called.
fn sleeps_at(installation: &mut Installation, table: &str) {
    let control = installation.control.clone();
    installation.execute(&format!(
        "CREATE OR REPLACE FUNCTION public.sleeps() RETURNS event_trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() AS c WHERE c.object_identity LIKE '%{table}') THEN
                 PERFORM pg_sleep(600);
             END IF;
         END $$;
         CREATE EVENT TRIGGER {control}_sleeps ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION public.sleeps()"
    ));
}

fn a_run_that_is_killed_leaves_all_or_nothing() {
    let mut installation = armed("event-log-killed");
    let before = all_of(&mut installation, "event_log_past");
    let wakes = format!("DROP EVENT TRIGGER {}_sleeps", installation.control);
    // The first is archived, and the second moved, before its batch is committed.
    sleeps_at(&mut installation, "archived_1_2_event_log_past");
    installation.kill_asleep("moved", "run", json!({}));
    installation.execute(&wakes);
    assert_eq!(
        partitions(&mut installation),
        set(&["event_log_now", "event_log_past"])
    );
    assert_eq!(kept(&mut installation), ["archived_1_1_event_log_old"]);
    assert_eq!(all_of(&mut installation, "event_log_past"), before);
    assert_eq!(
        installation.texts("SELECT p.name FROM W.partition_archive AS p"),
        ["event_log_old"]
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 1, "{run}");
    let names = kept(&mut installation);
    assert_eq!(names.len(), 2, "{names:?}");

    // A restoration, once the partition is attached.
    sleeps_at(&mut installation, "public.event_log");
    installation.kill_asleep("attached", "archive_restore", json!({"run": 1}));
    installation.execute(&wakes);
    assert_eq!(partitions(&mut installation), set(&["event_log_now"]));
    assert_eq!(kept(&mut installation), names);
    assert_eq!(installation.number("SELECT count(*) FROM W.hold"), 0);
    for run in [1, 2] {
        restore(&mut installation, json!({"run": run})).expect("restored");
    }
    assert_eq!(all_of(&mut installation, "event_log_past"), before);
}

fn the_application_waits_no_longer_than_for_a_drop() {
    let mut installation = armed("event-log-waits");
    let owner = owner(&installation);
    installation.execute(&format!(
        "CREATE TABLE kind (id bigint PRIMARY KEY);
         INSERT INTO kind SELECT generate_series(1, 30);
         ALTER TABLE event_log ADD FOREIGN KEY (id) REFERENCES kind;
         GRANT SELECT, REFERENCES ON kind TO {owner}"
    ));
    installation.set_setting("retries", 1).expect("a setting");
    // Somebody writes to the table that rows refer to: the run gives way, and nobody waits long behind it.
    let mut writer = installation.connect();
    writer
        .execute("BEGIN; INSERT INTO kind VALUES (31)")
        .expect("a writer");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["skipped"], json!({"LOCKED": 2}), "{run}");
    assert!(run["duration_ms"].as_i64() < Some(3_000), "{run}");
    assert_eq!(partitions(&mut installation).len(), 3);
    writer.execute("COMMIT").expect("an end");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 2, "{run}");
}

fn archived_partitions_are_dropped_by_hand_and_by_age() {
    let mut installation = armed("event-log-dropped");
    let run = installation.run(json!({})).expect("a run");
    let (number, rows) = (run["run"].clone(), only(&run)["rows"].clone());
    let old = installation
        .call("archive_list", json!({"older_than": "1d"}))
        .expect("a list");
    assert_eq!(old["rows"], 0, "{old}");
    let dry = json!({"run": number, "dry_run": true});
    let told = installation.call("archive_drop", dry).expect("a dry run");
    assert_eq!(
        (&told["dry_run"], &told["rows"]),
        (&json!(true), &rows),
        "{told}"
    );
    assert_eq!(kept(&mut installation).len(), 2);
    let dropped = installation
        .call("archive_drop", json!({"run": number}))
        .expect("a drop");
    assert_eq!(dropped["rows"], rows, "{dropped}");
    assert_eq!(kept(&mut installation), [""; 0]);
    assert_eq!(
        installation.texts(
            "SELECT concat_ws(' ', u.action, u.table_name, u.table_rows) FROM W.unarchived AS u"
        ),
        [format!("DROPPED event_log {rows}")]
    );
    assert_eq!(
        installation.number("SELECT count(*) FROM W.partition_archive AS p WHERE p.dropped_at IS NOT NULL AND p.restored_at IS NULL"),
        2
    );
    restore(&mut installation, json!({"run": number})).expect_err("nothing is left");

    // By age, at the end of a run; what somebody reads meanwhile is left to the next one.
    installation.execute(
        "CREATE TABLE event_log_late PARTITION OF event_log FOR VALUES FROM (MINVALUE) TO ('2001-01-01');
         INSERT INTO event_log (logged_at, message) SELECT '2000-01-01', 'late' FROM generate_series(1, 7)",
    );
    own(&mut installation);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&only(&run)["rows"], &run["archive_pruned"]),
        (&json!(7), &json!(0)),
        "{run}"
    );
    installation.execute("UPDATE W.partition_archive SET archived_at = now() - interval '401 days' WHERE dropped_at IS NULL");
    let mut reader = installation.connect();
    reader
        .execute(&format!(
            "BEGIN; SELECT * FROM {}.archived_{}_1_event_log_late",
            kept_in(&installation),
            run["run"]
        ))
        .expect("a reader");
    let busy = installation.run(json!({})).expect("a run");
    assert_eq!(busy["archive_pruned"], 0, "{busy}");
    assert_eq!(kept(&mut installation).len(), 1);
    reader.execute("ROLLBACK").expect("an end");
    let pruned = installation.run(json!({})).expect("a run");
    assert_eq!(pruned["archive_pruned"], 7, "{pruned}");
    assert_eq!(kept(&mut installation), [""; 0]);
}

fn what_is_in_the_way_is_told_and_nothing_is_restored() {
    let mut installation = armed("event-log-ways");
    let run = installation.run(json!({})).expect("a run");
    let number = run["run"].clone();
    let names = kept(&mut installation);
    let schema = kept_in(&installation);
    let owner = owner(&installation);
    let misfits = [
        (
            "CREATE TABLE event_log_old (id bigint)".to_owned(),
            "DROP TABLE event_log_old".to_owned(),
            "relation \"event_log_old\" already exists",
        ),
        (
            "CREATE TABLE other PARTITION OF event_log FOR VALUES FROM (MINVALUE) TO ('2001-01-01')".to_owned(),
            "DROP TABLE other".to_owned(),
            "would overlap partition \"other\"",
        ),
        (
            "ALTER TABLE event_log ADD COLUMN more text".to_owned(),
            "ALTER TABLE event_log DROP COLUMN more".to_owned(),
            "missing column \"more\"",
        ),
        (
            format!("REVOKE CREATE ON SCHEMA public FROM {owner}"),
            format!("GRANT CREATE ON SCHEMA public TO {owner}"),
            "permission denied for schema public",
        ),
        (
            format!("UPDATE {schema}.{} SET logged_at = now() - interval '110 days' WHERE id = 30", names[0]),
            format!("UPDATE {schema}.{} SET logged_at = now() - interval '300 days' WHERE id = 30", names[0]),
            "check constraint \"windrow_bound\"",
        ),
        (
            format!("ALTER TABLE {schema}.{} RENAME TO away", names[0]),
            format!("ALTER TABLE {schema}.away RENAME TO {}", names[0]),
            "is gone",
        ),
    ];
    for (comes, goes, said) in misfits {
        installation.execute(&comes);
        let told = restore(&mut installation, json!({"run": number})).expect_err(&comes);
        assert!(
            told.contains("nothing is restored") && told.contains(said),
            "{comes}: {told}"
        );
        installation.execute(&goes);
        assert_eq!(kept(&mut installation), names, "{comes}");
        assert_eq!(
            partitions(&mut installation),
            set(&["event_log_now"]),
            "{comes}"
        );
        assert_eq!(
            installation.number("SELECT count(*) FROM W.hold"),
            0,
            "{comes}"
        );
    }
    let mut other = installation.connect();
    other
        .execute("BEGIN; LOCK TABLE event_log IN SHARE UPDATE EXCLUSIVE MODE")
        .expect("a lock");
    let told = restore(&mut installation, json!({"run": number})).expect_err("locked");
    assert!(told.contains("lock timeout"), "{told}");
    other.execute("ROLLBACK").expect("an end");
    let options = json!({"run": number, "rule": "event_log", "key": ["event_log_now"]});
    let told = restore(&mut installation, options).expect_err("never archived");
    assert!(
        told.contains("no archived rows of these families"),
        "{told}"
    );
    restore(&mut installation, json!({"run": number})).expect("nothing of it is left");
    assert_eq!(partitions(&mut installation).len(), 3);
}

fn partitions_of_several_tables_are_kept_and_come_back_together() {
    let spec = |name: &str, archive: &str| {
        graph_of(&format!(
            r#"
name = "{name}"
dialects = ["postgres"]
[tables]
run  = {{ key = "id bigint" }}
step = {{ parents = ["run_id bigint -> run.id"], indexed = ["run_id"] }}
[rules.runs]
strategy  = "partition"
root      = "run"
time      = "at timestamptz"
tables    = ["step: run_id", "run"]
archive   = {archive}
retention = {{ default = "31d", minimum = "7d", safety_lag = "1h" }}
"#
        ))
    };
    let schema = "
        CREATE TABLE run (id bigint NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
        CREATE TABLE step (id bigint, run_id bigint, at timestamptz) PARTITION BY RANGE (at);
        CREATE INDEX step_run ON step (run_id);
        CREATE TABLE run_1 PARTITION OF run FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
        CREATE TABLE step_1 PARTITION OF step FOR VALUES FROM ('2020-01-01') TO ('2020-02-01');
        CREATE TABLE step_2 PARTITION OF step FOR VALUES FROM ('2020-02-01') TO ('2020-03-01');
        ALTER TABLE step_1 ADD CONSTRAINT of_run FOREIGN KEY (run_id, at) REFERENCES run_1 (id, at);
        INSERT INTO run SELECT n, '2020-01-02' FROM generate_series(1, 3) AS n;
        INSERT INTO step SELECT n, n, '2020-01-02' FROM generate_series(1, 3) AS n;
        INSERT INTO step VALUES (4, 1, '2020-02-02')";
    let names = |installation: &mut Installation| -> BTreeSet<String> {
        let sql = "SELECT i.inhrelid::regclass::text FROM pg_inherits AS i WHERE i.inhparent IN ('run'::regclass, 'step'::regclass)";
        installation.texts(sql).into_iter().collect()
    };
    let mut installation = Installation::of(Dialect::Postgres, schema, &spec("runs-kept", "true"));
    own_all(&mut installation);
    grant(&mut installation);
    installation.arm();
    let before = all_of(&mut installation, "step_1");
    assert!(before.iter().any(|it| it.contains("of_run")), "{before:?}");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&only(&run)["families"], &only(&run)["rows"]),
        (&json!(2), &json!(7)),
        "{run}"
    );
    let number = run["run"].clone();
    assert_eq!(names(&mut installation), BTreeSet::new());
    // By the name of the family: both of its partitions, and its key.
    let options = json!({"run": number, "rule": "runs", "key": ["run_1"]});
    let back = restore(&mut installation, options).expect("restored");
    assert_eq!(
        (&back["tables"], &back["holds"], &back["not_held"]),
        (&json!({"run": 3, "step": 3}), &json!(1), &json!(0)),
        "{back}"
    );
    assert_eq!(names(&mut installation), set(&["run_1", "step_1"]));
    assert_eq!(all_of(&mut installation, "step_1"), before);
    let again = installation.run(json!({})).expect("a run");
    assert_eq!(only(&again)["skipped"]["HELD"], 1, "{again}");
    // What no run is with cannot be held.
    let back = restore(&mut installation, json!({"run": number})).expect("restored");
    assert_eq!(
        (&back["holds"], &back["not_held"]),
        (&json!(0), &json!(1)),
        "{back}"
    );

    // One table of them.
    let mut installation =
        Installation::of(Dialect::Postgres, schema, &spec("steps-kept", "[\"step\"]"));
    own_all(&mut installation);
    grant(&mut installation);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 2, "{run}");
    assert_eq!(
        kept(&mut installation),
        ["archived_1_1_step_1", "archived_1_2_step_2"]
    );
    assert_eq!(names(&mut installation), BTreeSet::new());
}

/// Gives the tables of a schema the owner of which windrow's is a member.
fn own_all(installation: &mut Installation) {
    let owner = owner(installation);
    installation.execute(&format!(
        "DO $$ DECLARE t text; BEGIN
             BEGIN CREATE ROLE {owner} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END;
             GRANT CREATE, USAGE ON SCHEMA public TO {owner};
             FOR t IN SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') LOOP
                 EXECUTE format('ALTER TABLE %s OWNER TO {owner}', t);
             END LOOP;
         END $$"
    ));
}

/// Applies the generated undo.
fn undo(installation: &mut Installation, graph: &Graph) -> anyhow::Result<()> {
    let bundle = installation.bundle(graph);
    let file = bundle
        .files
        .iter()
        .find(|it| it.path.ends_with("90_uninstall.sql"));
    for statement in &file.expect("an undo").statements {
        installation.attempt(&statement.sql)?;
    }
    Ok(())
}

fn an_uninstallation_keeps_archived_partitions() {
    let graph = example("event-log-away");
    let mut installation = armed_as(&graph, SCHEMA);
    // The planner calls what an index of the application names. A sequence remembers it.
    installation.execute(
        "CREATE SEQUENCE as_superuser;
         CREATE FUNCTION public.noted() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
             IF (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user) THEN PERFORM nextval('public.as_superuser'); END IF;
             RETURN 1; END $$;
         CREATE FUNCTION public.mine(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN public.noted(); END';
         CREATE INDEX noting ON event_log ((id + public.mine(1)))",
    );
    installation.run(json!({})).expect("a run");
    installation.execute("SELECT setval('as_superuser', 1, false)");
    let told = format!(
        "{:#}",
        undo(&mut installation, &graph).expect_err("there are partitions")
    );
    let called = "SELECT is_called::integer FROM as_superuser";
    assert_eq!(installation.number(called), 0);
    assert!(
        told.contains("there are archived rows in") && told.contains("event_log_old"),
        "{told}"
    );
    assert_eq!(kept(&mut installation).len(), 2);
    installation.execute("SET windrow.drop_archive = 'yes'");
    undo(&mut installation, &graph).expect("an uninstallation");
    let schemas = installation
        .texts("SELECT n.nspname FROM pg_namespace AS n WHERE n.nspname LIKE 'windrow%'");
    assert_eq!(schemas, [""; 0]);
}

fn nobody_else_gets_at_what_is_archived() {
    let mut installation = armed("event-log-others");
    let (owner, control, schema) = (
        owner(&installation),
        installation.control.clone(),
        kept_in(&installation),
    );
    installation.execute(&format!("GRANT ALL ON event_log_old TO PUBLIC; CREATE ROLE {owner}_operator LOGIN IN ROLE {control}_operator, {owner}"));
    let mut session =
        installation.connect_to(&installation.name.clone(), &format!("{owner}_operator"));
    session
        .execute(&format!("CALL {control}.run()"))
        .expect("an operator's run");
    let name = kept(&mut installation).remove(0);
    let owners = installation.texts(&format!(
        "SELECT DISTINCT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.relnamespace = '{schema}'::regnamespace"
    ));
    assert_eq!(owners, [format!("{control}_owner")]);
    for refused in [
        format!("SELECT count(*) FROM {schema}.{name}"),
        format!("DROP TABLE {schema}.{name}"),
        format!("SELECT {control}.archive_partition(1, 'event_log', 'x', 1)"),
        format!("SELECT {control}.archive_attach(1, 1, false)"),
        format!("SELECT {control}.archive_drop_partition(1, 1, false)"),
        format!("UPDATE {control}.partition_archive SET undo = '{{}}'"),
    ] {
        let error = format!("{:#}", session.execute(&refused).expect_err(&refused));
        assert!(error.contains("42501"), "{refused}: {error}");
    }
    session
        .execute(&format!(
            "SELECT {control}.archive_restore('{{\"run\": 1}}')"
        ))
        .expect("an operator restores");
    assert_eq!(partitions(&mut installation).len(), 3);
    // Another's schema of this name is no place for them.
    let graph = example("event-log-squat");
    let mut squat = Installation::of(
        Dialect::Postgres,
        SCHEMA,
        &super::example("event-log-squat"),
    );
    squat.execute(&format!("CREATE SCHEMA {}_archive", squat.control));
    let bundle = squat.bundle(&graph);
    let statements = bundle.files.iter().flat_map(|file| &file.statements);
    let mut told = statements.filter_map(|it| squat.attempt(&it.sql).err());
    let told = format!("{:#}", told.next().expect("an error"));
    assert!(
        told.contains("and archived partitions would be in it"),
        "{told}"
    );
}
