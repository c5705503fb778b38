//! `check --database`: each finding by its code, and what `install` makes of it.

use super::{Database, SPEC, SPEC_32, Said, W, roles};

use crate::harness::tests;

tests! {
    on_postgres: [
        each_misfit_has_its_code,
        another_version_is_one_finding,
        a_dropped_index_shows_in_the_plan,
        force_overrules_and_is_on_record_until_it_is_mended,
        an_installation_over_an_older_version_keeps_what_people_and_runs_wrote,
        another_spec_than_the_installed_one_is_told,
    ],
}

/// Exit code, and each finding above a notice as `severity code object`.
fn findings(database: &Database, words: &str) -> (i32, Vec<String>) {
    told(
        &database.windrow(&format!("check {words} --output json")),
        "",
    )
}

/// The same of what was said, with the notices of a code.
pub(super) fn told(said: &Said, with: &str) -> (i32, Vec<String>) {
    let document = said.json();
    let found = document["findings"].as_array().into_iter().flatten();
    let mut found: Vec<String> = found
        .filter(|finding| finding["severity"] != "notice" || finding["code"] == with)
        .map(|finding| {
            ["severity", "code", "object"]
                .map(|key| finding[key].as_str().unwrap_or("?"))
                .join(" ")
        })
        .collect();
    found.sort();
    (said.code, found)
}

/// What is done, what undoes it, how `check` ends, and what it finds.
const MISFITS: &[(&str, &str, i32, &[&str])] = &[
        (
            "ALTER TABLE t_ds_serial_command RENAME TO t_ds_serial_commands",
            "ALTER TABLE t_ds_serial_commands RENAME TO t_ds_serial_command",
            1,
            &["error missing-table t_ds_serial_command", "warning unlisted-column t_ds_serial_commands"],
        ),
        (
            "ALTER TABLE t_ds_task_group_queue RENAME task_id TO task",
            "ALTER TABLE t_ds_task_group_queue RENAME task TO task_id",
            1,
            &["error missing-column t_ds_task_group_queue.task_id"],
        ),
        (
            "ALTER TABLE t_ds_alert ALTER workflow_instance_id TYPE text",
            "ALTER TABLE t_ds_alert ALTER workflow_instance_id TYPE integer USING workflow_instance_id::integer",
            1,
            &["error type-differs t_ds_alert.workflow_instance_id"],
        ),
        (
            "ALTER TABLE t_ds_alert ALTER workflow_instance_id TYPE bigint",
            "ALTER TABLE t_ds_alert ALTER workflow_instance_id TYPE integer",
            1,
            &["warning type-differs t_ds_alert.workflow_instance_id"],
        ),
        (
            "CREATE TABLE note (task integer REFERENCES t_ds_task_instance (id) ON DELETE CASCADE)",
            "DROP TABLE note",
            1,
            &["error unlisted-reference note"],
        ),
        (
            "CREATE SCHEMA other; CREATE TABLE other.note (task integer REFERENCES t_ds_task_instance (id))",
            "DROP SCHEMA other CASCADE",
            1,
            &["warning unlisted-reference other.note"],
        ),
        (
            "CREATE TABLE note (task_instance_id integer)",
            "DROP TABLE note",
            1,
            &["warning unlisted-column note"],
        ),
        (
            "CREATE TABLE note (task_instance_identity integer)",
            "DROP TABLE note",
            0,
            &[],
        ),
        (
            "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
             CREATE TRIGGER loud BEFORE DELETE ON t_ds_alert FOR EACH ROW EXECUTE FUNCTION quiet();
             CREATE TRIGGER late AFTER INSERT ON t_ds_alert FOR EACH ROW EXECUTE FUNCTION quiet()",
            "SELECT",
            1,
            &["warning trigger t_ds_alert"],
        ),
        (
            "ALTER TABLE t_ds_alert DISABLE TRIGGER loud",
            "DROP FUNCTION quiet() CASCADE",
            0,
            &[],
        ),
        (
            "ALTER TABLE t_ds_command ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE t_ds_command DISABLE ROW LEVEL SECURITY",
            1,
            &["error row-security t_ds_command"],
        ),
        (
            "ALTER TABLE t_ds_task_instance DROP CONSTRAINT t_ds_task_instance_pkey",
            "ALTER TABLE t_ds_task_instance ADD PRIMARY KEY (id)",
            1,
            &["error key-not-unique t_ds_task_instance"],
        ),
        (
            "ALTER TABLE t_ds_task_instance DROP CONSTRAINT t_ds_task_instance_pkey, ALTER id DROP NOT NULL, ADD CONSTRAINT plain UNIQUE (id)",
            "ALTER TABLE t_ds_task_instance DROP CONSTRAINT plain, ADD PRIMARY KEY (id)",
            1,
            &["error nullable-key t_ds_task_instance"],
        ),
        (
            "DROP INDEX idx_task_instance_id",
            "CREATE INDEX idx_task_instance_id ON t_ds_task_instance_context (task_instance_id)",
            1,
            &["error missing-index t_ds_task_instance_context.task_instance_id"],
        ),
        (
            "CREATE INDEX windrow_t_ds_alert_workflow_instance_id ON t_ds_alert (workflow_instance_id);
             UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'windrow_t_ds_alert_workflow_instance_id'::regclass",
            "DROP INDEX windrow_t_ds_alert_workflow_instance_id",
            1,
            &["error invalid-index t_ds_alert.workflow_instance_id"],
        ),
        (
            "ALTER SCHEMA public RENAME TO elsewhere",
            "ALTER SCHEMA elsewhere RENAME TO public",
            1,
            &["error missing-schema public"],
        ),
        (
            "DROP TABLE t_ds_serial_command;
             CREATE TABLE t_ds_serial_command (id integer, workflow_instance_id bigint) PARTITION BY LIST (id);
             CREATE TABLE t_ds_serial_command_1 PARTITION OF t_ds_serial_command DEFAULT;
             CREATE INDEX ON t_ds_serial_command (workflow_instance_id)",
            "SELECT",
            1,
            &["warning partitioned t_ds_serial_command"],
        ),
];

fn each_misfit_has_its_code() {
    let mut database = Database::bare();
    for (change, undo, code, expected) in MISFITS {
        database.sql(change);
        let found = findings(&database, SPEC);
        assert_eq!(
            found,
            (*code, expected.iter().map(ToString::to_string).collect()),
            "{change}"
        );
        database.sql(undo);
    }
}

fn another_version_is_one_finding() {
    let database = Database::bare();
    let said = database.windrow(&format!("check {SPEC_32}")).expect(
        1,
        &[
            "error[missing-table]: `public`: 4 of 11 tables are missing: `t_ds_dq_execute_result`",
            "this looks like another version or another database",
            "1 error\n",
        ],
    );
    assert_eq!(said.out.matches("[").count(), 1);
    let mut old = Database::bare();
    old.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    old.sql(crate::support::systems::dolphinscheduler::SCHEMA_32);
    old.windrow("check SPEC").expect(
        1,
        &["tables are missing: `", "another version", "1 error\n"],
    );
    let said = old
        .windrow(&format!("check {SPEC_32}"))
        .expect(0, &["notice[missing-index]"]);
    // Two tables that name an instance are ignored by the spec, with a reason.
    said.without(&["t_ds_listener_event", "t_ds_trigger_relation", "warning"]);
    old.windrow("install SPEC")
        .expect(2, &["the spec does not fit this database: 1 error"]);
}

fn a_dropped_index_shows_in_the_plan() {
    let mut database = Database::history();
    database
        .windrow("check SPEC --threshold 1000")
        .expect(0, &["no findings"]);
    database.sql("DROP INDEX windrow_t_ds_task_instance_workflow_instance_id");
    // A small table may be read from end to end, and what install mends is no fault of the database.
    database
        .windrow("check SPEC")
        .expect(0, &["notice[missing-index]"])
        .without(&["seq-scan"]);
    database.windrow("check SPEC --threshold 1000").expect(
        0,
        &[
            "notice[seq-scan]: `t_ds_task_instance`: `",
            "reads all of its about ",
            "`20_indexes.sql` creates the missing index",
        ],
    );
    database.windrow("verify SPEC").expect(
        1,
        &[
            "missing on t_ds_task_instance; run windrow install",
            "not clean",
        ],
    );
    database.sql("DROP INDEX idx_task_instance_id");
    let (code, found) = findings(&database, "SPEC --threshold 500");
    assert_eq!(code, 1);
    for expected in [
        "missing-index t_ds_task_instance_context.task_instance_id",
        "seq-scan t_ds_task_instance_context",
    ] {
        assert!(found.contains(&format!("error {expected}")), "{found:?}");
    }
}

fn force_overrules_and_is_on_record_until_it_is_mended() {
    let _roles = roles();
    let mut database = Database::bare();
    database.sql(
        "CREATE TABLE note (task integer REFERENCES t_ds_task_instance (id) ON DELETE CASCADE)",
    );
    database.windrow("install SPEC").expect(
        2,
        &["error[unlisted-reference]: `note`: references `t_ds_task_instance` by `note_task_fkey` (task, on delete cascade)", "does not fit this database: 1 error, 5 notices", "`--force` installs anyway"],
    );
    assert_eq!(
        database.number("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'windrow%'"),
        0
    );
    database
        .windrow("install SPEC --force")
        .expect(1, &["warning: installed despite errors; they are recorded"]);
    database
        .windrow("status SPEC")
        .expect(0, &["forced     20", "by postgres, despite 1 error"]);
    let recorded = database.text(&format!(
        "SELECT forced_install #>> '{{findings,0,code}}' FROM {W}.control"
    ));
    assert_eq!(recorded, "unlisted-reference");
    database
        .windrow("install SPEC")
        .expect(2, &["does not fit"]);
    database.sql("DROP TABLE note");
    database
        .windrow("install SPEC")
        .expect(0, &["is installed in"]);
    database
        .windrow("status SPEC")
        .expect(0, &["installed  yes"])
        .without(&["forced"]);
    // An index of windrow's own that is broken is mended, not refused.
    database.sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'windrow_t_ds_alert_workflow_instance_id'::regclass");
    database.windrow("install SPEC").expect(
        0,
        &["drop the invalid index public.windrow_t_ds_alert_workflow_instance_id"],
    );
    database.windrow("check SPEC").expect(0, &["no findings"]);
    database
        .windrow("install SPEC --skip 60_schedule.sql")
        .expect(0, &["is installed in"])
        .without(&["not scheduled"]);
    database.windrow("install SPEC --skip 61.sql").expect(
        2,
        &["there is no file `61.sql` to skip", "`10_control.sql`"],
    );
    // An older windrow does not replace what a newer one made, unless it is told to.
    database.sql(&format!(
        "INSERT INTO {W}.installed_version (since, version) VALUES (clock_timestamp(), '99.1.0 (a commit)')"
    ));
    database.windrow("install SPEC").expect(
        2,
        &["error: windrow 99.1.0 (a commit) installed what is here"],
    );
    database
        .windrow("install SPEC --downgrade")
        .expect(0, &["is installed in"]);
    database.windrow("install SPEC").expect(0, &[]);
}

/// A copy of the spec whose rule has triggers against orphans.
pub(super) fn guarded(folder: &std::path::Path) -> String {
    let path = folder.join("guarded.toml");
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let rule = "[rules.workflow_instances]\n";
    assert!(text.contains(rule));
    let text = text.replace(rule, &format!("{rule}orphan_guard = true\n"));
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// What people and runs wrote, as one text.
fn written(database: &mut Database) -> String {
    let tables = [
        "policy",
        "hold",
        "setting",
        "setting_log",
        "run",
        "run_rule",
        "run_table",
        "control",
    ];
    let rows = |table| {
        database.text(&format!(
            "SELECT string_agg((to_jsonb(t) - 'refers_to')::text, E'\\n' ORDER BY t::text) FROM {W}.{table} AS t"
        ))
    };
    tables.map(rows).join("\n")
}

fn an_installation_over_an_older_version_keeps_what_people_and_runs_wrote() {
    let _roles = roles();
    let mut database = Database::history();
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
    database.windrow("arm SPEC").expect(0, &[]);
    database
        .windrow("hold set SPEC --key 17 --reason audit")
        .expect(0, &[]);
    database
        .windrow("setting set SPEC batch_families 10")
        .expect(0, &[]);
    database
        .windrow("run SPEC --run-families 20 --no-estimate")
        .expect(0, &["20"]);
    let before = written(&mut database);
    make_older(&mut database);
    let said = database.windrow("diff SPEC").expect(
        1,
        &[
            "routine kept_back: generated from another state of the spec, or by another version; windrow install updates it\n--- installed/kept_back\n+++ generated/kept_back\n",
            "\n-SELECT 1\n",
            "routine next_batch: left by an earlier spec or version; windrow install drops it\n    DROP FUNCTION windrow_dolphinscheduler.next_batch(bigint)\n",
            "routine gone_batch: left by an earlier spec",
            "routine is_own: left by an earlier spec or version; windrow install drops it\n    DROP FUNCTION windrow_dolphinscheduler.is_own(bigint,bigint)\n",
            "routine mine: not generated by this spec: created by hand",
            "column run_rule.around: missing; run windrow install\n",
        ],
    );
    assert!(
        !said
            .out
            .contains("drops it\n    DROP FUNCTION windrow_dolphinscheduler.mine")
    );
    database.windrow("install SPEC").expect(
        0,
        &[
            "drop routine next_batch",
            "drop routine gone_batch",
            "drop routine is_own",
        ],
    );
    database
        .windrow("diff SPEC")
        .expect(1, &["routine mine: ", "1 object differs"])
        .without(&["view", "gone_batch", "kept_back", "next_batch", "is_own"]);
    database.sql(&format!("DROP FUNCTION {W}.mine()"));
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
    assert_eq!(written(&mut database), before);
    database
        .windrow("run SPEC --no-estimate")
        .expect(0, &["done, nothing left"]);
    database.windrow("verify SPEC").expect(0, &["clean\n"]);

    triggers_go_with_the_wish(&mut database);

    what_changes_beside_is_told(&mut database);
    let bare = Database::bare();
    bare.windrow("diff SPEC").expect(
        2,
        &[
            "error: `windrow_dolphinscheduler` is not installed in",
            "hint: windrow install",
        ],
    );
}

/// A limit is in no routine: every command says that it is another one, but the one that mends it.
fn another_spec_than_the_installed_one_is_told() {
    let _roles = roles();
    let mut database = Database::history();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.toml");
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let text = text.replace("retries = 3", "retries = 4");
    std::fs::write(&path, &text).expect("a file");
    let other = path.display().to_string();
    let told = format!("warning: `{other}` is not the installed spec");
    for words in [
        "status",
        "preview",
        "history",
        "plan",
        "policy list",
        "settings list",
        "verify",
        "arm",
        "pause",
        "resume",
        "run --no-estimate --run-families 1",
        "purge --key 1",
        "hold set --key 17 --reason x",
        "artifacts list",
        "check",
    ] {
        let (verb, options) = words.split_once(" --").unwrap_or((words, ""));
        let options = if options.is_empty() {
            String::new()
        } else {
            format!(" --{options}")
        };
        let said = database.windrow(&format!("{verb} {other}{options}"));
        assert!(said.err.contains(&told), "{words}: {}", said.text());
        let said = database.windrow(&format!("{verb} SPEC{options}"));
        assert!(
            !said.err.contains("not the installed spec"),
            "{words}: {}",
            said.text()
        );
    }
    database.windrow(&format!("diff {other}")).expect(
        1,
        &[
            "spec dolphinscheduler: another spec is installed",
            "1 object differs",
        ],
    );
    let said = database
        .windrow(&format!("install {other}"))
        .expect(0, &[])
        .without(&[&told]);
    drop(said);
    database
        .windrow(&format!("diff {other}"))
        .expect(0, &["as generated: "]);
    // What is laid out otherwise says the same.
    std::fs::write(&path, format!("# Another line.\n\n{text}")).expect("a file");
    database
        .windrow(&format!("status {other}"))
        .expect(0, &[])
        .without(&[&told]);
    let document = format!("UPDATE {W}.spec SET document = document - 'meaning'");
    database.sql(&document);
    database
        .windrow(&format!("status {other}"))
        .expect(0, &[&told]);
    let bare = Database::bare();
    bare.windrow("check SPEC")
        .expect(0, &[])
        .without(&["not the installed spec"]);
}

/// A column is younger, a function answered something else, a view had other columns, parameters were fewer, and one
/// function is no longer needed.
fn make_older(database: &mut Database) {
    let hashed = |name: &str, body: &str| {
        format!(
            "CREATE FUNCTION {W}.{name} RETURNS integer LANGUAGE sql AS '{body}';
             DO $$ BEGIN EXECUTE format('COMMENT ON FUNCTION {W}.{name} IS %L', concat('Older. [body ', left(encode(sha256(convert_to('{body}', 'UTF8')), 'hex'), 12), ']')); END $$;"
        )
    };
    database.sql(&format!(
        "ALTER TABLE {W}.run_rule DROP COLUMN around;
         DROP FUNCTION {W}.kept_back();
         DROP VIEW {W}.scheduling CASCADE;
         CREATE VIEW {W}.scheduling AS SELECT 1 AS older;
         CREATE VIEW {W}.upon AS SELECT * FROM {W}.scheduling;
         CREATE FUNCTION {W}.mine() RETURNS integer LANGUAGE sql AS 'SELECT 5';"
    ));
    database.sql(&hashed("kept_back()", "SELECT 1"));
    database.sql(&hashed("next_batch(bigint)", "SELECT 2"));
    database.sql(&hashed("gone_batch()", "SELECT 3"));
    // Only its parameters were others.
    database.sql(&format!(
        "DO $$
         DECLARE
             v_oid oid := '{W}.is_own(bigint)'::regprocedure;
         BEGIN
             EXECUTE replace(pg_get_functiondef(v_oid), 'bigint)', 'bigint, p_older bigint)');
             EXECUTE format('COMMENT ON FUNCTION {W}.is_own(bigint, bigint) IS %L', concat('Older. ', obj_description(v_oid)));
         END $$;"
    ));
}

/// A spec that asks for triggers no more.
fn triggers_go_with_the_wish(database: &mut Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let guarded = guarded(folder.path());
    database
        .windrow(&format!("install {guarded}"))
        .expect(0, &["create function windrow_dolphinscheduler."]);
    let triggers = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'windrow%' AND tgrelid::regclass::text LIKE 't_ds%'";
    assert_eq!(database.number(triggers), 10);
    database.windrow("diff SPEC").expect(1, &["() CASCADE\n"]);
    database
        .windrow("install SPEC")
        .expect(0, &["drop routine "]);
    assert_eq!(database.number(triggers), 0);
    database.windrow("diff SPEC").expect(0, &["as generated: "]);
}

/// What changes beside the control schema.
fn what_changes_beside_is_told(database: &mut Database) {
    database.sql(
        "DROP INDEX windrow_t_ds_command_workflow_instance_id;
         CREATE TABLE note (task integer REFERENCES t_ds_task_instance (id) ON DELETE CASCADE)",
    );
    let said = database.windrow("diff SPEC --output json");
    assert_eq!(said.code, 1);
    let found = said.json();
    let found: Vec<String> = found["drift"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|object| format!("{} {} {}", object["state"], object["kind"], object["name"]))
        .collect();
    assert_eq!(
        found,
        [
            "\"missing\" \"index\" \"windrow_t_ds_command_workflow_instance_id\"",
            "\"extra\" \"application\" \"note\"",
        ]
    );
    database.windrow("verify SPEC").expect(
        1,
        &["windrow_t_ds_command_workflow_instance_id", "references t_ds_task_instance by note_task_fkey (on delete cascade), and the spec does not know it"],
    );
}
