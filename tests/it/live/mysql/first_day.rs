//! From a bare schema to the first runs, and back, on MySQL and MariaDB.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windrow::sandbox::mysql::Flavour;

use super::super::first_day::outcomes;
use super::super::{Database, SPEC, Said, W, command};
use super::Server;

use crate::harness::tests;
use crate::support::effort::flavours;

tests! {
    on_several: [
        from_install_to_uninstall,
        policies_preview_arm_and_runs,
        documents_have_the_names_and_types_of_postgresql,
        the_program_itself_deletes_and_changes_no_row,
    ],
}

fn from_install_to_uninstall() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::bare(flavour);
        let names = "SELECT GROUP_CONCAT(o ORDER BY o) FROM (
                SELECT CONVERT(CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME) USING utf8mb4) COLLATE utf8mb4_bin AS o FROM information_schema.STATISTICS
                UNION ALL SELECT CONVERT(CONCAT_WS('.', ROUTINE_SCHEMA, ROUTINE_NAME, SHA2(ROUTINE_DEFINITION, 256), ROUTINE_COMMENT, DEFINER) USING utf8mb4) COLLATE utf8mb4_bin FROM information_schema.ROUTINES
                UNION ALL SELECT CONVERT(CONCAT_WS('.', EVENT_SCHEMA, EVENT_NAME, EVENT_DEFINITION, STATUS) USING utf8mb4) COLLATE utf8mb4_bin FROM information_schema.EVENTS
                UNION ALL SELECT CONVERT(CONCAT_WS('.', User, Host) USING utf8mb4) COLLATE utf8mb4_bin FROM mysql.user
                UNION ALL SELECT CONVERT(CONCAT_WS('.', TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT) USING utf8mb4) COLLATE utf8mb4_bin FROM information_schema.TABLES
                WHERE TABLE_SCHEMA NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')) AS a";
        server.sql("SET SESSION group_concat_max_len = 16000000");
        let bare = server.text(names);
        server
            .windrow("check SPEC")
            .expect(0, &["notice[missing-index]"])
            .without(&["error[", "warning["]);
        for words in [
            "status SPEC",
            "preview SPEC",
            "run SPEC --no-estimate",
            "verify SPEC",
            "arm SPEC",
            "history SPEC",
            "policy list SPEC",
        ] {
            server
                .windrow(words)
                .expect(2, &["hint: run `windrow install` first"]);
        }

        server
            .windrow("install SPEC")
            .expect(
                0,
                &[
                    "done  create table windrow_dolphinscheduler.control",
                    "done  60_schedule.sql",
                    "is installed in",
                    "windrow policy set specs/dolphinscheduler.toml --scope SCOPE --retention 30d   (nothing is deleted without a policy)",
                ],
            )
            .without(&["look for", "forget", "binlog_format"]);
        let standing = server.text(names);
        assert_ne!(standing, bare);
        let control = format!("SELECT CONCAT_WS(',', armed, installed_at, spec) FROM {W}.control");
        let state = server.text(&control);
        server
            .windrow("install SPEC")
            .expect(0, &["is installed in"])
            .without(&["warning"]);
        assert_eq!(
            server.text(names),
            standing,
            "the second installation changes nothing"
        );
        assert_eq!(server.text(&control), state);
        server
            .windrow("check SPEC")
            .expect(0, &[])
            .without(&["missing-index"]);
        server
            .windrow("status SPEC")
            .expect(0, &["armed      no", "yes: nothing is due"])
            .without(&["days ago"]);
        server.windrow("verify SPEC").expect(0, &["clean\n"]);

        server
            .windrow("uninstall SPEC")
            .expect(0, &["windrow_dolphinscheduler", "add --yes to drop it"]);
        assert_eq!(server.text(&control), state, "nothing was dropped");
        server
            .windrow("uninstall SPEC --yes")
            .expect(0, &["was removed from"])
            .without(&["warning"]);
        let absent = "`windrow_dolphinscheduler` is not installed in ";
        server
            .windrow("uninstall SPEC")
            .expect(0, &[absent, "add --yes to drop what may be left of it"]);
        server
            .windrow("uninstall SPEC --yes")
            .expect(0, &[absent, "; what was left of it was dropped"])
            .without(&["warning", "was removed from"]);
        server
            .windrow("status SPEC")
            .expect(2, &["hint: run `windrow install` first"]);
        assert_eq!(server.text(names), bare);
    }
}

fn policies_preview_arm_and_runs() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::history(flavour);
        policies(&server);
        server.windrow("preview SPEC").expect(
            0,
            &[
                "not armed, a run would be refused",
                "would be deleted, in",
                "NON_FINAL_MEMBER",
                "a member has not ended",
            ],
        );
        let preview = server
            .windrow("preview SPEC --output json")
            .expect(0, &[])
            .json();
        let rule = &preview["rules"][0];
        let families = rule["candidateFamilyCount"].as_i64().unwrap_or_default();
        assert!(families > 100);
        let instances = server.number("SELECT COUNT(*) FROM t_ds_workflow_instance");

        server.windrow("run SPEC").expect(
            2,
            &[
                "counting what would be deleted",
                "error: not armed: nothing is deleted until you arm it (SQLSTATE 55000)",
                "hint: `windrow preview` shows what would be deleted, and `windrow arm` allows runs to delete",
            ],
        );
        let dry = server
            .windrow("run SPEC --dry-run --output json")
            .expect(0, &[])
            .json();
        assert_eq!(dry["rules"][0]["deletedFamilyCount"], json!(families));
        assert_eq!(
            server.number("SELECT COUNT(*) FROM t_ds_workflow_instance"),
            instances,
            "a dry run deletes nothing"
        );
        server.windrow("arm SPEC").expect(
            0,
            &["armed: from now on, runs of `dolphinscheduler` delete in m"],
        );
        holds_and_a_pause(&server);
        server.windrow("run SPEC --run-families 20").expect(
            0,
            &["stopped, run_families reached", ": 20 families, ", "rows/s"],
        );
        let run = server
            .windrow("run SPEC --output json")
            .expect(0, &[])
            .json();
        assert_eq!(run["rules"][0]["deletedFamilyCount"], json!(families - 20));
        server.windrow("run SPEC").expect(
            0,
            &[
                "done, nothing left",
                "rule workflow_instances: 0 families, 0 rows",
            ],
        );
        history_and_files(&mut server, families);
    }
}

fn policies(server: &Server) {
    server
        .windrow("policy set SPEC --scope 8104250113728 --retention 45d --note ours")
        .expect(0, &["policy of scope `8104250113728` is set"]);
    server
        .windrow("policy list SPEC")
        .expect(0, &["retention", "45 days", "30 days", "ours"]);
    server
        .windrow("policy set SPEC --scope 8104250113728 --retention 3d")
        .expect(2, &["is below the minimum", "SQLSTATE 22023", "hint: "]);
    server
        .windrow("policy set SPEC --scope everything")
        .expect(2, &["not a scope of rule workflow_instances: 'everything'"]);
}

fn holds_and_a_pause(server: &Server) {
    server
        .windrow("hold set SPEC --key 1 --reason audit")
        .expect(0, &["family `1` is on hold"]);
    server
        .windrow("hold list SPEC")
        .expect(0, &["audit", "root@127.0.0.1"]);
    server
        .windrow("purge SPEC --key 1 --key 99999999")
        .expect(1, &["a hold keeps it", "no family has this root"]);
    server
        .windrow("hold release SPEC --key 1")
        .expect(0, &["family `1` is released"]);

    server
        .windrow("pause SPEC --reason release")
        .expect(0, &["paused"]);
    server
        .windrow("run SPEC --no-estimate")
        .expect(1, &["refused: paused by root@127.0.0.1 since"]);
    server
        .windrow("status SPEC")
        .expect(0, &["armed      yes", "paused     yes", "release"]);
    server.windrow("resume SPEC").expect(0, &["resumed"]);
}

fn history_and_files(server: &mut Server, families: i64) {
    let history = server
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
            (Some(families - 20), Some("done")),
            (Some(20), Some("stopped"))
        ]
    );
    let drain = |program: &str, limit: &str| {
        let word = format!("{program} {{path}}");
        let words = [
            "artifacts",
            "drain",
            SPEC,
            "--command",
            &word,
            "--limit",
            limit,
        ];
        let mut command = command(&words);
        command.args(["--url", &server.url]);
        Said::of(command.output().expect("windrow starts"))
    };
    drain("true", "70").expect(0, &["70 files removed, 0 failed"]);
    drain("false", "2").expect(1, &["0 files removed, 2 failed"]);
    server
        .windrow("artifacts list SPEC")
        .expect(0, &["ended with 1"]);
    server.sql("SET GLOBAL event_scheduler = ON");
    server
        .windrow("verify SPEC")
        .expect(0, &["clean\n", "undeletable"]);
}

/// What a program reads is the same everywhere: the names in each document, and whether a value is a truth.
fn documents_have_the_names_and_types_of_postgresql() {
    let mut reference = Database::history();
    reference.sql(&format!("CALL {W}.arm()"));
    reference
        .windrow("run SPEC --no-estimate --quiet")
        .expect(0, &[]);
    let words = [
        "preview SPEC",
        "status SPEC",
        "history SPEC",
        "policy list SPEC",
        "hold list SPEC",
        "settings list SPEC",
        "artifacts list SPEC",
        "run SPEC --run-families 2",
        "purge SPEC --key 7",
    ];
    let prepare = |windrow: &dyn Fn(&str) -> Said| {
        for words in [
            "hold set SPEC --key 7 --reason audit --until 2035-01-01T00:00:00Z",
            "settings set SPEC retries 4",
        ] {
            windrow(words).expect(0, &[]);
        }
        words.map(|words| shape(&windrow(&format!("{words} --output json")).json(), ""))
    };
    let expected = prepare(&|words| reference.windrow(words));
    for flavour in Flavour::ALL {
        let mut server = Server::history(flavour);
        server.sql(&format!("CALL {W}.arm()"));
        server
            .windrow("run SPEC --no-estimate --quiet")
            .expect(0, &[]);
        let found = prepare(&|words| server.windrow(words));
        for ((words, expected), found) in words.iter().zip(&expected).zip(&found) {
            // Whether the scheduler of a server is on is nothing of a document's shape.
            let differs = |fact: &&String| !fact.starts_with("/not_scheduled ");
            let missing: Vec<_> = expected.difference(found).filter(differs).collect();
            let new: Vec<_> = found.difference(expected).filter(differs).collect();
            assert!(
                missing.is_empty() && new.is_empty(),
                "{flavour:?}, `{words}`: missing {missing:?}, new {new:?}"
            );
        }
    }
}

/// Each path in a document with the type of its value; lists are as their elements, and no table or reason is named.
fn shape(value: &Value, path: &str) -> BTreeSet<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| {
                let by_name = [
                    "/tables",
                    "/skipped",
                    "/skipped_samples",
                    "/labels",
                    "/orphans_at_arm",
                    "/skippedFamilies",
                    "/refused",
                ];
                let name = if by_name.iter().any(|end| path.ends_with(end)) {
                    "*"
                } else {
                    name
                };
                shape(value, &format!("{path}/{name}"))
            })
            .collect(),
        Value::Array(all) => all.iter().flat_map(|value| shape(value, path)).collect(),
        Value::Null => [format!("{path} null")].into(),
        Value::Bool(_) => [format!("{path} truth")].into(),
        Value::Number(_) => [format!("{path} number")].into(),
        Value::String(text) => {
            let instant = text.len() > 18 && text.as_bytes()[10] == b'T';
            let kind = if instant { "instant" } else { "text" };
            [format!("{path} {kind}")].into()
        }
    }
}

/// Procedures delete; of the statements that the server is sent, none does.
fn the_program_itself_deletes_and_changes_no_row() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::history(flavour);
        let instances = "SELECT COUNT(*) FROM t_ds_workflow_instance";
        let before = server.text(instances);
        let project = server.text("SELECT MIN(code) FROM t_ds_project");
        let root =
            server.text("SELECT MIN(id) FROM t_ds_workflow_instance WHERE is_sub_workflow = 0");
        server.sql("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
        for words in [
            "check SPEC".to_owned(),
            "install SPEC".to_owned(),
            "arm SPEC".to_owned(),
            format!("policy set SPEC --scope {project} --retention 40d"),
            "policy list SPEC".to_owned(),
            format!("hold set SPEC --key {root} --reason test"),
            "hold list SPEC".to_owned(),
            "settings set SPEC batch_families 50".to_owned(),
            "settings reset SPEC batch_families".to_owned(),
            "window set SPEC always".to_owned(),
            "preview SPEC".to_owned(),
            "plan SPEC".to_owned(),
            "run SPEC --dry-run --output json".to_owned(),
            "run SPEC --output json".to_owned(),
            format!("hold release SPEC --key {root}"),
            format!("purge SPEC --key {root}"),
            format!("policy drop SPEC --scope {project}"),
            "verify SPEC".to_owned(),
            "diff SPEC".to_owned(),
            "status SPEC".to_owned(),
            "history SPEC".to_owned(),
            "archive list SPEC".to_owned(),
            "artifacts list SPEC".to_owned(),
            "artifacts drain SPEC --command true".to_owned(),
            "pause SPEC".to_owned(),
            "resume SPEC".to_owned(),
            "uninstall SPEC --yes".to_owned(),
        ] {
            server.windrow(&words);
        }
        server.sql("SET GLOBAL general_log = OFF");
        assert_ne!(server.text(instances), before, "{flavour:?}: a run deleted");
        let sent = server.texts(
            "SELECT UPPER(CONVERT(argument USING utf8mb4)) FROM mysql.general_log WHERE command_type IN ('Query', 'Execute', 'Prepare')",
        );
        let calls = sent.iter().filter(|it| it.starts_with("CALL ")).count();
        assert!(calls > 10 && sent.len() > 100, "{calls} of {}", sent.len());
        let changes = ["DELETE", "UPDATE", "INSERT", "REPLACE", "TRUNCATE", "LOAD"];
        let wrong: Vec<&String> = sent
            .iter()
            .filter(|sent| {
                sent.contains("T_DS_")
                    && changes
                        .iter()
                        .any(|change| sent.trim_start().starts_with(change))
            })
            .collect();
        assert!(wrong.is_empty(), "{flavour:?}: {wrong:#?}");
    }
}
