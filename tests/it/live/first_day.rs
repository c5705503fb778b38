//! From a bare schema to the first runs, and back.

use super::{Database, SPEC, W, command, roles};
use serde_json::{Value, json};

use crate::harness::tests;

tests! {
    on_postgres: [
        from_install_to_uninstall,
        policies_preview_arm_and_runs,
        holds_settings_purge_and_pause,
        policies_and_hints_fit_the_spec,
    ],
}

fn from_install_to_uninstall() {
    let _roles = roles();
    let mut database = Database::bare();
    // What windrow will mend itself is no finding.
    let said = database
        .windrow("check SPEC")
        .expect(
            0,
            &[
                "notice[missing-index]: `t_ds_task_instance.workflow_instance_id`",
                "5 notices",
            ],
        )
        .without(&["error[", "warning["]);
    assert_eq!(said.out.matches("notice[").count(), 5);
    for words in [
        "status SPEC",
        "preview SPEC",
        "run SPEC --no-estimate",
        "verify SPEC",
        "arm SPEC",
    ] {
        database
            .windrow(words)
            .expect(2, &["hint: run `windrow install` first"]);
    }

    database.windrow("install SPEC").expect(
        0,
        &[
            "done  create table windrow_dolphinscheduler.control",
            "done  60_schedule.sql",
            "warning: not scheduled: the extension pg_cron is not in database",
            "windrow policy set specs/dolphinscheduler.toml --scope SCOPE --retention 30d   (nothing is deleted without a policy)",
        ],
    );
    let standing = "SELECT string_agg(o, ' ' ORDER BY o) FROM (
            SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
            UNION ALL SELECT indexrelid::text || pg_get_indexdef(indexrelid) FROM pg_index
            UNION ALL SELECT oid::text || md5(prosrc) || proacl::text FROM pg_proc WHERE proacl IS NOT NULL
            UNION ALL SELECT oid::text || relname || coalesce(relacl::text, '') FROM pg_class WHERE relkind IN ('r', 'v')
        ) AS a(o)";
    let before = database.text(standing);
    assert!(before.len() > 1000);
    let control = format!("SELECT to_jsonb(c)::text FROM {W}.control AS c");
    let state = database.text(&control);
    database
        .windrow("install SPEC")
        .expect(0, &["is installed in"]);
    assert_eq!(
        before,
        database.text(standing),
        "the second installation changes nothing"
    );
    assert_eq!(state, database.text(&control));
    database.windrow("check SPEC").expect(0, &["no findings"]);
    database
        .windrow("status SPEC")
        .expect(0, &["armed      no", "yes: nothing is due"])
        .without(&["days ago"]);

    database
        .windrow("uninstall SPEC")
        .expect(
            0,
            &[
                "drop schema windrow_dolphinscheduler",
                "drop roles",
                "add --yes to drop it",
            ],
        )
        .without(&["set lock_timeout"]);
    assert_eq!(database.text(&control), state, "nothing was dropped");
    database
        .windrow("uninstall SPEC --yes")
        .expect(0, &["done  drop schema", "was removed from"])
        .without(&["cascades", "set statement_timeout"]);
    // Again, and elsewhere by mistake: it is no error, but nothing was removed.
    let absent = "`windrow_dolphinscheduler` is not installed in ";
    database
        .windrow("uninstall SPEC")
        .expect(0, &[absent, "add --yes to drop what may be left of it"]);
    database
        .windrow("uninstall SPEC --yes")
        .expect(0, &[absent, "; what was left of it was dropped"])
        .without(&["was removed from"]);
    let gone = database.windrow("uninstall SPEC --yes --output json");
    assert_eq!(gone.expect(0, &[]).json()["installed"], false);
    database
        .windrow("status SPEC")
        .expect(2, &["hint: run `windrow install` first"]);
    assert_eq!(
        database.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'windrow%'"),
        0
    );
}

fn policies_preview_arm_and_runs() {
    let mut database = Database::history();
    database
        .windrow("policy drop SPEC --scope 8104250113728")
        .expect(0, &["policy of scope `8104250113728` is dropped"]);
    let nine = database.windrow("preview SPEC --output json").json();
    let mut set = command(&[
        "policy",
        "set",
        super::SPEC,
        "--scope",
        "8104250113728",
        "--retention",
        "45d",
        "--note",
        "it's \"ours\"",
        "--url",
        &database.url,
    ]);
    super::Said::of(set.output().expect("windrow starts"))
        .expect(0, &["policy of scope `8104250113728` is set"]);
    database
        .windrow("policy list SPEC")
        .expect(0, &["retention", "45 days", "30 days", "it's \"ours\""]);
    database
        .windrow("policy set SPEC --scope 8104250113728 --retention 3d")
        .expect(2, &["is below the minimum", "hint: The minimum is"]);
    database
        .windrow("policy set SPEC --scope everything")
        .expect(2, &["not a scope of rule workflow_instances: 'everything'"]);

    let preview = previews(&mut database, &nine);
    let rule = &preview["rules"][0];
    let instances = database.number("SELECT count(*) FROM t_ds_workflow_instance");

    database.windrow("run SPEC").expect(2, &["counting what would be deleted", "error: not armed: nothing is deleted until you arm it (SQLSTATE 55000)", "hint: Read SELECT windrow_dolphinscheduler.preview(), then CALL windrow_dolphinscheduler.arm()."]);
    let dry = database
        .windrow("run SPEC --dry-run --output json")
        .expect(0, &[])
        .json();
    assert_eq!(dry["rules"][0]["dryRun"], json!(true));
    assert_eq!(
        dry["rules"][0]["deletedFamilyCount"],
        rule["candidateFamilyCount"]
    );
    assert_eq!(
        database.number("SELECT count(*) FROM t_ds_workflow_instance"),
        instances,
        "a dry run deletes nothing"
    );
    database.windrow("arm SPEC").expect(
        0,
        &["armed: from now on, runs of `dolphinscheduler` delete in postgres://postgres@127.0.0.1:"],
    );

    database.windrow("run SPEC --run-families 20").expect(
        0,
        &["stopped, run_families reached", ": 20 families, ", "rows/s"],
    );
    let run = database
        .windrow("run SPEC --output json")
        .expect(0, &[])
        .json();
    let done = &run["rules"][0];
    assert_eq!(done["dryRun"], json!(false));
    assert_eq!(
        done["deletedFamilyCount"].as_i64(),
        rule["candidateFamilyCount"]
            .as_i64()
            .map(|count| count - 20)
    );
    assert!(
        done["deletedWorkflowInstanceCount"]
            .as_i64()
            .is_some_and(|count| count > 100)
    );
    assert!(
        done["deletedTaskInstanceCount"]
            .as_i64()
            .is_some_and(|count| count > 1000)
    );
    assert_eq!(done["taskLogDeleteFailureCount"], json!(0));
    assert!(
        done["skippedFamilyCount"]
            .as_i64()
            .is_some_and(|count| count > 0)
    );
    assert_eq!(done["durationMillis"], run["duration_ms"]);
    database.windrow("run SPEC").expect(
        0,
        &[
            "done, nothing left",
            "rule workflow_instances: 0 families, 0 rows",
        ],
    );

    is_told_afterwards(&mut database, done);
}

/// What would go, after a policy for a tenth project.
fn previews(database: &mut Database, nine: &Value) -> Value {
    database.windrow("preview SPEC").expect(
        0,
        &[
            "not armed, a run would be refused",
            "would be deleted, in",
            "NON_FINAL_MEMBER",
            "a member has not ended",
        ],
    );
    let preview = database
        .windrow("preview SPEC --output json")
        .expect(0, &[])
        .json();
    let rule = &preview["rules"][0];
    let instances = database.number("SELECT count(*) FROM t_ds_workflow_instance");
    assert!(
        rule["candidateFamilyCount"].as_i64() > nine["rules"][0]["candidateFamilyCount"].as_i64()
    );
    assert!(
        rule["candidateFamilyCount"]
            .as_i64()
            .is_some_and(|count| count > 100)
    );
    assert!(
        rule["candidateWorkflowInstanceCount"]
            .as_i64()
            .is_some_and(|count| count > 100 && count < instances)
    );
    assert!(
        rule["candidateTaskInstanceCount"]
            .as_i64()
            .is_some_and(|count| count > 1000)
    );
    assert!(rule["oldestEndTime"].is_string());
    assert_eq!(
        rule["sampleRootWorkflowInstanceIds"]
            .as_array()
            .map(Vec::len),
        Some(10)
    );
    assert!(
        rule["skippedFamilies"]["NON_FINAL_MEMBER"]
            .as_i64()
            .is_some_and(|count| count > 0)
    );
    preview
}

/// How many families each run of a history took, and how it ended.
pub(super) fn outcomes(history: &Value) -> Vec<(Option<i64>, Option<&str>)> {
    let runs = history.as_array().into_iter().flatten();
    runs.map(|run| (run["families"].as_i64(), run["status"].as_str()))
        .collect()
}

/// What verify, history and status say of what was done.
fn is_told_afterwards(database: &mut Database, done: &Value) {
    database
        .windrow("verify SPEC")
        .expect(0, &["clean\n", "undeletable"]);
    assert_eq!(
        database
            .windrow("verify SPEC --output json")
            .expect(0, &[])
            .json()["clean"],
        json!(true)
    );
    let history = database
        .windrow("history SPEC --limit 3 --output json")
        .json();
    // Which windrow had installed what ran.
    assert_eq!(
        history[0]["version"],
        windrow::version::VERSION,
        "{history}"
    );
    assert_eq!(
        outcomes(&history),
        [
            (Some(0), Some("done")),
            (done["families"].as_i64(), Some("done")),
            (Some(20), Some("stopped"))
        ]
    );
    database
        .windrow("history SPEC")
        .expect(0, &["run_families reached", "nothing left", "MANUAL"]);
    database.windrow("status SPEC").expect(
        0,
        &[
            &format!("windrow    {}", windrow::version::VERSION),
            "armed      yes",
            "policies   10 enabled",
            "last run   4: done, nothing left",
        ],
    );
}

fn holds_settings_purge_and_pause() {
    let mut database = Database::history();
    database.sql(&format!("CALL {W}.arm()"));
    // Family 1 is a root alone and final; family 7 has a member that runs.
    database
        .windrow("hold set SPEC --key 1 --reason audit")
        .expect(0, &["family `1` is on hold"]);
    database.windrow("hold list SPEC").expect(0, &["audit"]);
    database
        .windrow("purge SPEC --key 1 --key 7 --key 999999")
        .expect(
            1,
            &[
                "3 named families are kept",
                "1        HELD              a hold keeps it",
                "NON_FINAL_MEMBER  a member has not ended",
                "999999   NOT_A_ROOT",
            ],
        );
    database
        .windrow("hold release SPEC --key 1")
        .expect(0, &["family `1` is released"]);
    database
        .windrow("hold release SPEC --key 1")
        .expect(2, &["no hold on key '1'"]);
    database
        .windrow("purge SPEC --key 7")
        .expect(1, &["1 named family is kept"]);
    let purged = database
        .windrow("purge SPEC --key 1 --output json")
        .expect(0, &[])
        .json();
    assert_eq!(
        (&purged["rules"][0]["families"], &purged["refused"]),
        (&json!(1), &json!({}))
    );
    let tables: Vec<_> = purged["rules"][0]["tables"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(
        (tables.first(), tables.last()),
        (
            Some(&"t_ds_alert_send_status"),
            Some(&"t_ds_workflow_instance")
        ),
        "children first"
    );
    database
        .windrow("purge SPEC --key one")
        .expect(2, &["not a key of t_ds_workflow_instance: 'one'"]);
    assert_eq!(
        database.number("SELECT count(*) FROM t_ds_workflow_instance WHERE id IN (1, 7)"),
        1
    );

    settings(&database);

    pauses(&mut database);
}

fn settings(database: &Database) {
    database
        .windrow("settings set SPEC batch_families 25")
        .expect(0, &["`batch_families` is 25"]);
    database
        .windrow("settings list SPEC")
        .expect(0, &["batch_families", "25 families", "1 to 5000 families"]);
    database
        .windrow("settings list SPEC --log")
        .expect(0, &["batch_families", "postgres"]);
    for value in ["0", "5001"] {
        database
            .windrow(&format!("settings set SPEC batch_families {value}"))
            .expect(
                2,
                &[
                    "batch_families is out of range",
                    "batch_families takes 1 to 5000 families",
                ],
            );
    }
    // A duration, in whatever unit the setting counts.
    for (name, value, said) in [
        ("time_budget", "2h", " 7,200 seconds"),
        ("lock_timeout", "2s", " 2,000 milliseconds"),
        ("ledger_days", "52w", " 364 days"),
        ("time_budget", "90", " 90 seconds"),
    ] {
        let words = format!("settings set SPEC {name} {value}");
        database.windrow(&words).expect(0, &[]);
        database.windrow("settings list SPEC").expect(0, &[said]);
        database
            .windrow(&format!("settings reset SPEC {name}"))
            .expect(0, &[]);
    }
    for value in ["1ms", "soon", "30d"] {
        let words = format!("settings set SPEC batch_families {value}");
        database.windrow(&words).expect(2, &["not a whole number"]);
    }
    database
        .windrow("settings set SPEC batch_families many")
        .expect(2, &["not a whole number: 'many'"]);
    database
        .windrow("settings set SPEC speed 1")
        .expect(2, &["no such setting: 'speed'", "hint: The settings are"]);
    database
        .windrow("settings reset SPEC batch_families")
        .expect(0, &["has the spec's value again"]);
    let settings = database.windrow("setting list SPEC --output json").json();
    assert_eq!(settings[0]["value"], settings[0]["spec_value"]);
}

fn pauses(database: &mut Database) {
    database
        .windrow("pause SPEC --reason night")
        .expect(0, &["paused"]);
    database
        .windrow("run SPEC")
        .expect(1, &["refused: paused by postgres since", ": night"]);
    let refused = database
        .windrow("run SPEC --output json")
        .expect(1, &[])
        .json();
    assert_eq!(refused["status"], json!("refused"));
    database
        .windrow("purge SPEC --key 2")
        .expect(2, &["paused by postgres since", ": night", "resume()"]);
    database
        .windrow("status SPEC")
        .expect(0, &["paused     yes", "night"]);
    database.windrow("resume SPEC").expect(0, &["resumed"]);
    database
        .windrow("pause SPEC --rule workflow_instances --reason audit")
        .expect(0, &["rule `workflow_instances` is paused"]);
    database.windrow("run SPEC --scheduled").expect(
        1,
        &["refused: rule workflow_instances is paused by", ": audit"],
    );
    database.windrow("status SPEC").expect(
        0,
        &[
            "rule workflow_instances, 2",
            "refused    no scheduled run since 2",
        ],
    );
    database
        .windrow("resume SPEC --rule workflow_instances")
        .expect(0, &["rule `workflow_instances` is resumed"]);
    database
        .windrow("run SPEC --run-families 1 --time-budget 10m")
        .expect(0, &[": 1 family, "]);
    for (words, says) in [
        ("--retention 1d", "a retention of 1d is below the minimum"),
        (
            "--as-of 2999-01-01T00:00:00Z",
            "as_of is not an instant of the past",
        ),
        ("--run-families 0", "run_families is not a number above 0"),
        ("--time-budget soon", "not a duration: 'soon'"),
        ("--rule nonsense", "no such rule: 'nonsense'"),
    ] {
        database
            .windrow(&format!("run SPEC --no-estimate {words}"))
            .expect(2, &[says, "hint: "]);
    }
    // A scheduled run that finds nothing makes the next one wait, which is as it should be.
    for says in [
        "done, nothing left",
        "done, nothing left",
        "refused: nothing left, runs in a row: 1; back-off until 2",
    ] {
        database.windrow("run SPEC --scheduled").expect(0, &[says]);
    }
}

/// A minimum above a policy, and a spec with several rules.
fn policies_and_hints_fit_the_spec() {
    let _roles = roles();
    let mut database = Database::history();
    database.sql("CREATE TABLE note (id integer PRIMARY KEY, made timestamp)");
    let scope = database.text("SELECT min(code)::text FROM t_ds_project");
    database
        .windrow(&format!("policy set SPEC --scope {scope} --retention 8d"))
        .expect(0, &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("more.toml");
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let note = "[tables.note]\nkey = \"id integer\"\n[rules.notes]\nstrategy = \"age\"\nroot = \"note\"\n\
                time = \"made timestamp\"\nretention = { default = \"30d\" }\n";
    let minimum = "minimum = \"7d\"";
    assert!(text.contains(minimum));
    let spec = path.display().to_string();
    std::fs::write(&path, text.replace(minimum, "minimum = \"10d\"") + note).expect("a file");
    let told = format!(
        "error[policy-under-minimum]: `workflow_instances {scope}`: the policy keeps rows for 8d, and the minimum is 10d"
    );
    database
        .windrow(&format!("check {spec}"))
        .expect(1, &[&told]);
    for words in ["install", "install --force"] {
        database.windrow(&format!("{words} {spec}")).expect(
            2,
            &[
                &told,
                "hint: change these policies, or lower `minimum`; `--force` does not overrule this",
            ],
        );
    }
    database
        .windrow(&format!("policy set SPEC --scope {scope} --retention 10d"))
        .expect(0, &[]);
    let hint = format!(
        "windrow policy set {spec} --rule workflow_instances --scope SCOPE --retention 30d"
    );
    database
        .windrow(&format!("install {spec}"))
        .expect(0, &[&hint]);
}
