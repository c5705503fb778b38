//! `check --database` on MySQL and MariaDB: each finding by its code.

use windrow::sandbox::mysql::{Flavour, Settings};

use super::super::W;
use super::super::findings::told;
use super::super::{SPEC, windrow};
use super::Server;

use crate::harness::tests;
use crate::support::effort::flavours;

tests! {
    on_several: [
        each_misfit_has_its_code,
        columns_that_are_compared_differ_in_their_collation,
        an_index_of_the_application_serves,
        a_full_scan_of_a_big_table_is_found,
        a_server_that_does_not_tell_capitals_apart,
        who_may_not_look_is_told,
        a_zone_that_the_server_does_not_know_is_told,
        an_index_that_another_spec_needs_stays,
        an_installation_over_an_older_version_keeps_what_people_and_runs_wrote,
    ],
}

/// Exit code, and each finding above a notice, or with this code, as `severity code object`.
fn findings(server: &Server, with: &str) -> (i32, Vec<String>) {
    told(&server.windrow("check SPEC --output json"), with)
}

/// What is done, what undoes it, and what is found.
const MISFITS: &[(&str, &str, &[&str])] = &[
    (
        "ALTER TABLE t_ds_serial_command RENAME TO t_ds_serial_commands",
        "ALTER TABLE t_ds_serial_commands RENAME TO t_ds_serial_command",
        &[
            "error missing-table t_ds_serial_command",
            "warning unlisted-column t_ds_serial_commands",
        ],
    ),
    (
        "ALTER TABLE t_ds_task_group_queue RENAME COLUMN task_id TO task",
        "ALTER TABLE t_ds_task_group_queue RENAME COLUMN task TO task_id",
        &["error missing-column t_ds_task_group_queue.task_id"],
    ),
    (
        "ALTER TABLE t_ds_alert ENGINE = MyISAM",
        "ALTER TABLE t_ds_alert ENGINE = InnoDB",
        &["error engine t_ds_alert"],
    ),
    (
        "ALTER TABLE t_ds_alert MODIFY workflow_instance_id varchar(20)",
        "ALTER TABLE t_ds_alert MODIFY workflow_instance_id int",
        &[
            "error edge-type-differs t_ds_alert.workflow_instance_id",
            "error type-differs t_ds_alert.workflow_instance_id",
        ],
    ),
    // Another width is nothing to worry about here; another sign may be.
    (
        "ALTER TABLE t_ds_alert MODIFY workflow_instance_id bigint",
        "ALTER TABLE t_ds_alert MODIFY workflow_instance_id int",
        &[],
    ),
    (
        "ALTER TABLE t_ds_alert MODIFY workflow_instance_id int unsigned",
        "ALTER TABLE t_ds_alert MODIFY workflow_instance_id int",
        &["warning sign-differs t_ds_alert.workflow_instance_id"],
    ),
    (
        "ALTER TABLE t_ds_workflow_instance MODIFY end_time timestamp NULL",
        "ALTER TABLE t_ds_workflow_instance MODIFY end_time datetime",
        &["error type-differs t_ds_workflow_instance.end_time"],
    ),
    (
        "ALTER TABLE t_ds_workflow_instance MODIFY end_time datetime ON UPDATE CURRENT_TIMESTAMP",
        "ALTER TABLE t_ds_workflow_instance MODIFY end_time datetime",
        &["warning on-update t_ds_workflow_instance.end_time"],
    ),
    (
        "ALTER TABLE t_ds_alert DROP COLUMN workflow_instance_id, ADD COLUMN workflow_instance_id int GENERATED ALWAYS AS (project_code) STORED",
        "ALTER TABLE t_ds_alert DROP COLUMN workflow_instance_id, ADD COLUMN workflow_instance_id int",
        &["notice generated-column t_ds_alert.workflow_instance_id"],
    ),
    (
        "CREATE TABLE note (task int, FOREIGN KEY (task) REFERENCES t_ds_task_instance (id) ON DELETE CASCADE)",
        "DROP TABLE note",
        &["error unlisted-reference note"],
    ),
    (
        "CREATE DATABASE other; CREATE TABLE other.note (task int, FOREIGN KEY (task) REFERENCES dolphinscheduler.t_ds_task_instance (id))",
        "DROP DATABASE other",
        &["warning unlisted-reference other.note"],
    ),
    (
        "CREATE TABLE note (TASK_instance_id int)",
        "DROP TABLE note",
        &["warning unlisted-column note"],
    ),
    (
        "ALTER TABLE t_ds_task_instance ADD CONSTRAINT goes FOREIGN KEY (workflow_instance_id) REFERENCES t_ds_workflow_instance (id) ON DELETE CASCADE",
        "ALTER TABLE t_ds_task_instance DROP FOREIGN KEY goes",
        &[],
    ),
    (
        "ALTER TABLE t_ds_workflow_instance ADD CONSTRAINT stays FOREIGN KEY (next_workflow_instance_id) REFERENCES t_ds_workflow_instance (id) ON DELETE SET NULL",
        "ALTER TABLE t_ds_workflow_instance DROP FOREIGN KEY stays, DROP INDEX stays",
        &["error unlisted-reference t_ds_workflow_instance"],
    ),
    (
        "CREATE TRIGGER loud BEFORE DELETE ON t_ds_alert FOR EACH ROW SET @gone = OLD.id; \
                 CREATE TRIGGER late AFTER INSERT ON t_ds_alert FOR EACH ROW SET @come = NEW.id",
        "DROP TRIGGER loud; DROP TRIGGER late",
        &["warning trigger t_ds_alert"],
    ),
    (
        "ALTER TABLE t_ds_relation_sub_workflow MODIFY id int, DROP PRIMARY KEY",
        "ALTER TABLE t_ds_relation_sub_workflow MODIFY id int NOT NULL, ADD PRIMARY KEY (id)",
        &["warning no-primary-key t_ds_relation_sub_workflow"],
    ),
    (
        "ALTER TABLE t_ds_task_instance MODIFY id int NULL, DROP PRIMARY KEY, ADD UNIQUE plain (id)",
        "ALTER TABLE t_ds_task_instance DROP INDEX plain, MODIFY id int NOT NULL AUTO_INCREMENT, ADD PRIMARY KEY (id)",
        &[
            "error nullable-key t_ds_task_instance",
            "warning no-primary-key t_ds_task_instance",
        ],
    ),
    (
        "ALTER TABLE t_ds_error_command PARTITION BY HASH (id) PARTITIONS 4",
        "ALTER TABLE t_ds_error_command REMOVE PARTITIONING",
        &["warning partitioned t_ds_error_command"],
    ),
    (
        "SET GLOBAL event_scheduler = OFF",
        "SET GLOBAL event_scheduler = ON",
        &["warning event-scheduler event_scheduler"],
    ),
    (
        "SET GLOBAL binlog_format = 'STATEMENT'",
        "SET GLOBAL binlog_format = 'ROW'",
        &["error binlog-statement binlog_format"],
    ),
];

fn each_misfit_has_its_code() {
    for flavour in Flavour::ALL {
        let mut server = Server::bare(flavour);
        let maria = flavour == Flavour::Mariadb;
        if !maria {
            // A partitioned table needs files of its own.
            server.sql("ALTER TABLE t_ds_error_command TABLESPACE innodb_file_per_table");
        }
        assert_eq!(findings(&server, ""), (0, Vec::new()), "{flavour:?}");
        let hidden = format!(
            "CREATE INDEX hidden ON t_ds_alert (workflow_instance_id) {}",
            if maria { "IGNORED" } else { "INVISIBLE" }
        );
        let hidden: (&str, &str, &[&str]) = (
            &hidden,
            "DROP INDEX hidden ON t_ds_alert",
            &["error invalid-index t_ds_alert.workflow_instance_id"],
        );
        for (done, undone, expected) in MISFITS.iter().chain([&hidden]) {
            server.sql(done);
            let with = match expected {
                [one] if one.starts_with("notice ") => {
                    one.split(' ').nth(1).unwrap_or_default().to_owned()
                }
                _ => String::new(),
            };
            let (code, found) = findings(&server, &with);
            assert_eq!(found, *expected, "{flavour:?}, after {done}");
            let clean = found.iter().all(|finding| finding.starts_with("notice "));
            assert_eq!(code, i32::from(!clean), "{flavour:?}, after {done}");
            server.sql(undone);
        }
        assert_eq!(findings(&server, ""), (0, Vec::new()), "{flavour:?}");
    }
}

/// Keys that are texts: they are compared in every batch, and only some collations let an index serve.
fn columns_that_are_compared_differ_in_their_collation() {
    const LETTERS: &str = "
name     = \"letters\"
database = \"letters\"

[tables]
orders = { key = \"id varchar\" }
lines  = { parents = [\"order_id varchar -> orders.id\"], indexed = [\"order_id\"] }

[rules.orders]
strategy  = \"end-time\"
root      = \"orders\"
final     = { state = [\"done\"] }
end_time  = \"ended_at\"
retention = { default = \"30d\" }
";
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), LETTERS).expect("a spec");
    for flavour in Flavour::ALL {
        let mut server = Server::bare(flavour);
        server.sql(
            "CREATE DATABASE letters; USE letters;
             CREATE TABLE orders (id varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci PRIMARY KEY, state varchar(10), ended_at datetime);
             CREATE TABLE `lines` (id int PRIMARY KEY, order_id varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci, KEY (order_id))",
        );
        for (collation, severity) in [
            ("utf8mb4_unicode_ci", None),
            ("utf8mb4_bin", Some("warning")),
            ("utf8mb4_general_ci", Some("error")),
            ("latin1_swedish_ci", Some("error")),
        ] {
            let charset = collation.split('_').next().unwrap_or_default();
            server.sql(&format!(
                "ALTER TABLE `lines` MODIFY order_id varchar(40) CHARACTER SET {charset} COLLATE {collation}"
            ));
            let said = server.windrow(&format!("check {} --output json", file.path().display()));
            let document = said.json();
            let found: Vec<_> = document["findings"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|finding| finding["code"] == "collation-differs")
                .map(|finding| (finding["severity"].as_str(), finding["object"].as_str()))
                .collect();
            let expected: Vec<_> = severity
                .map(|severity| (Some(severity), Some("lines.order_id")))
                .into_iter()
                .collect();
            assert_eq!(found, expected, "{flavour:?}, {collation}: {document}");
        }
    }
}

fn an_index_of_the_application_serves() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::bare(flavour);
        let (hide, show) = match flavour {
            Flavour::Mariadb => ("IGNORED", "NOT IGNORED"),
            Flavour::Mysql => ("INVISIBLE", "VISIBLE"),
        };
        server.sql(&format!(
            "CREATE INDEX reversed ON t_ds_alert (project_code, workflow_instance_id);
             CREATE INDEX hidden ON t_ds_command (workflow_instance_id, id) {hide};
             CREATE INDEX longer ON t_ds_error_command (workflow_instance_id, id);
             CREATE INDEX roots ON t_ds_workflow_instance (project_code, is_sub_workflow, END_TIME, id, state)"
        ));
        server
            .windrow("install SPEC --quiet")
            .expect(0, &[])
            .without(&["Duplicate index"]);
        let made = "SELECT DISTINCT CONCAT(table_name, ' ', index_name) AS made FROM information_schema.statistics
                    WHERE table_schema = 'dolphinscheduler' AND index_name LIKE 'windrow%' ORDER BY made";
        let expected = ["t_ds_alert", "t_ds_command"]
            .map(|table| format!("{table} windrow_{table}_workflow_instance_id"));
        assert_eq!(server.texts(made), expected, "{flavour:?}");
        server.windrow("verify SPEC").expect(0, &["clean\n"]);

        // Without the application's, windrow's own are wanted again; a hidden one is not replaced in silence.
        server.sql(&format!(
            "DROP INDEX longer ON t_ds_error_command;
             ALTER TABLE t_ds_alert ALTER INDEX windrow_t_ds_alert_workflow_instance_id {hide}"
        ));
        server.windrow("verify SPEC").expect(
            1,
            &["missing on t_ds_error_command; run windrow install", hide],
        );
        server.windrow("install SPEC --quiet").expect(0, &[]);
        server.sql(&format!(
            "ALTER TABLE t_ds_alert ALTER INDEX windrow_t_ds_alert_workflow_instance_id {show}"
        ));
        server.windrow("verify SPEC").expect(0, &["clean\n"]);
        assert_eq!(server.texts(made).len(), 3, "{flavour:?}");
        server.windrow("uninstall SPEC --yes").expect(0, &[]);
        assert_eq!(server.texts(made), [""; 0], "{flavour:?}");
    }
}

fn a_full_scan_of_a_big_table_is_found() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::bare(flavour);
        // Columns that do not matter here get what the server makes of nothing.
        server.sql("SET SESSION sql_mode = ''");
        server.sql(
            "INSERT INTO t_ds_workflow_instance (id, project_code, state, is_sub_workflow, end_time)
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             SELECT i, 1, 7, 0, '2020-01-01' FROM n",
        );
        for table in ["t_ds_task_instance", "t_ds_alert"] {
            server.sql(&format!(
                "INSERT INTO {table} (workflow_instance_id)
                 SELECT a.id FROM t_ds_workflow_instance AS a, t_ds_workflow_instance AS b WHERE b.id <= 40"
            ));
            server.sql(&format!("ANALYZE TABLE {table}"));
        }
        server.sql("ANALYZE TABLE t_ds_workflow_instance");
        // The coming index mends the scan of the alerts; the one of the tasks serves already.
        let (code, found) = findings(&server, "seq-scan");
        assert_eq!(
            (code, found),
            (0, vec!["notice seq-scan t_ds_alert".to_owned()]),
            "{flavour:?}"
        );
        server.sql("CREATE INDEX half ON t_ds_alert (project_code, workflow_instance_id)");
        server.sql("CREATE INDEX mine ON t_ds_alert (workflow_instance_id)");
        assert_eq!(
            findings(&server, "seq-scan"),
            (0, Vec::new()),
            "{flavour:?}"
        );
    }
}

fn a_server_that_does_not_tell_capitals_apart() {
    // MySQL wants to know this when its data directory is made.
    let mut server = Server::with(Settings {
        events: true,
        extra: vec![("lower_case_table_names".to_owned(), "1".to_owned())],
        ..Settings::new(Flavour::Mariadb)
    });
    let spec = std::fs::read_to_string(SPEC)
        .expect("the spec")
        .replace("t_ds_alert_send_status", "T_DS_ALERT_SEND_STATUS")
        .replace("\"alert_id -> ", "\"ALERT_ID -> ")
        .replace("indexed = [\"alert_id\"]", "indexed = [\"ALERT_ID\"]");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), spec).expect("a spec");
    let said = server.windrow(&format!("check {} --output json", file.path().display()));
    let document = said.json();
    let codes: Vec<&str> = document["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|finding| finding["code"].as_str())
        .filter(|code| !["missing-index", "index-serves", "on-update"].contains(code))
        .collect();
    assert_eq!(codes, ["lower-case-names"]);
    // A key of another database is found by the name that the server has for the table.
    let path = file.path().display();
    server.windrow(&format!("install {path}")).expect(0, &[]);
    server.windrow(&format!("arm {path}")).expect(0, &[]);
    server.sql(
        "CREATE DATABASE other;
         CREATE TABLE other.note (status int, FOREIGN KEY (status) REFERENCES dolphinscheduler.t_ds_alert_send_status (id) ON DELETE CASCADE)",
    );
    server.windrow(&format!("run {path} --no-estimate")).expect(
        2,
        &["table other.note references t_ds_alert_send_status by "],
    );
    // A trigger as generated is left as it is, though the server writes its table in small letters.
    server.sql("DROP DATABASE other");
    let spec = std::fs::read_to_string(file.path()).expect("the spec");
    let root = "root       = \"t_ds_workflow_instance\"\n";
    let guarded = spec.replace(root, &format!("{root}orphan_guard = true\n"));
    std::fs::write(file.path(), guarded).expect("a spec");
    let made = "SELECT CONCAT_WS(' ', event_object_table, trigger_name, created) FROM information_schema.triggers
                WHERE trigger_schema = 'dolphinscheduler' ORDER BY 1";
    server.windrow(&format!("install {path}")).expect(0, &[]);
    let before = server.texts(made);
    assert!(
        before
            .iter()
            .any(|it| it.starts_with("t_ds_alert_send_status ")),
        "{before:?}"
    );
    server.sql("DO SLEEP(0.1)");
    server.windrow(&format!("install {path}")).expect(0, &[]);
    assert_eq!(server.texts(made), before);
}

fn who_may_not_look_is_told() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::bare(flavour);
        server.sql(
            "CREATE USER reader@'127.0.0.1', nobody@'127.0.0.1';
             GRANT SELECT ON dolphinscheduler.* TO reader@'127.0.0.1'",
        );
        let check = |user: &str| windrow(&server.server.url("", user), "check SPEC");
        check("reader")
            .expect(1, &["this role lacks the rights for", "[not-explained]"])
            .without(&["cannot be planned"]);
        check("nobody").expect(
            1,
            &["error[missing-schema]: `dolphinscheduler`: the database `dolphinscheduler` does not exist"],
        );
    }
}

/// What people and runs have written.
fn written(server: &mut Server) -> Vec<Vec<windrow::db::Row>> {
    let tables = [
        "policy",
        "hold",
        "setting",
        "setting_log",
        "run",
        "run_table",
        "control",
    ];
    let mut selects: Vec<String> = tables
        .iter()
        .map(|table| format!("SELECT * FROM {W}.{table} ORDER BY 1, 2"))
        .collect();
    // The column that comes back stands at the end.
    selects.push(format!(
        "SELECT rule, run_id, families, deleted_rows, cursor_time, cursor_key, started_at, around FROM {W}.run_rule ORDER BY 1, 2"
    ));
    selects
        .iter()
        .map(|sql| {
            let mut rows = server.session.query(sql, &[]).expect("a table of ours");
            // What a decision refers to, its last column, is noted by the next installation.
            if [".policy ", ".hold "].iter().any(|name| sql.contains(name)) {
                rows.iter_mut().for_each(|row| row.truncate(row.len() - 1));
            }
            rows
        })
        .collect::<Vec<_>>()
}

fn an_installation_over_an_older_version_keeps_what_people_and_runs_wrote() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::history(flavour);
        server
            .windrow("diff SPEC")
            .expect(0, &["as generated: 2", " routines, 1 event, "]);
        server.windrow("arm SPEC").expect(0, &[]);
        server
            .windrow("hold set SPEC --key 17 --reason audit")
            .expect(0, &[]);
        server
            .windrow("run SPEC --run-families 20 --no-estimate")
            .expect(0, &["20"]);
        let before = written(&mut server);
        // A column is younger, a procedure did something else, and one is no longer needed.
        let hashed = |name: &str| {
            format!(
                "CREATE PROCEDURE {W}.{name}() COMMENT 'Older. [body 617d5e74d035]' BEGIN DO 1; END"
            )
        };
        server.sql(&format!("ALTER TABLE {W}.run_rule DROP COLUMN around"));
        server.sql(&format!("DROP PROCEDURE {W}.kept_back"));
        server.sql(&format!("CREATE PROCEDURE {W}.mine() BEGIN DO 2; END"));
        server.sql(&hashed("kept_back"));
        server.sql(&hashed("gone_batch"));
        server.sql(&format!(
            "CREATE EVENT {W}.run_line_2 ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'Older. [body 617d5e74d035]' DO BEGIN DO 1; END"
        ));
        server.windrow("diff SPEC").expect(
            1,
            &[
                "routine kept_back: generated from another state of the spec, or by another version; windrow install updates it\n--- installed/kept_back\n+++ generated/kept_back\n",
                "\n-BEGIN DO 1; END\n",
                "routine gone_batch: left by an earlier spec or version; windrow install drops it\n    DROP PROCEDURE `windrow_dolphinscheduler`.`gone_batch`\n",
                "routine mine: not generated by this spec: created by hand",
                "column run_rule.around: missing; run windrow install\n",
            ],
        );
        server
            .windrow("install SPEC")
            .expect(0, &["drop routine gone_batch", "drop event run_line_2"]);
        server
            .windrow("diff SPEC")
            .expect(
                1,
                &[
                    "routine mine: ",
                    ".mine: belongs to root",
                    "2 objects differ",
                ],
            )
            .without(&["gone_batch", "kept_back"]);
        server.sql(&format!("DROP PROCEDURE {W}.mine"));
        server.windrow("diff SPEC").expect(0, &["as generated: "]);
        assert_eq!(written(&mut server), before, "{flavour:?}");
        server
            .windrow("run SPEC --no-estimate")
            .expect(0, &["done, nothing left"]);

        triggers_go_with_the_wish(&mut server);

        server.sql("DROP INDEX windrow_t_ds_command_workflow_instance_id ON t_ds_command");
        server.sql("CREATE TABLE note (task int, FOREIGN KEY (task) REFERENCES t_ds_task_instance (id) ON DELETE CASCADE)");
        server.windrow("diff SPEC").expect(
            1,
            &[
                "index windrow_t_ds_command_workflow_instance_id: no usable index on t_ds_command",
                "application note: unlisted-reference: references `t_ds_task_instance` by ",
            ],
        );
        server.windrow("verify SPEC").expect(
            1,
            &[
                "windrow_t_ds_command_workflow_instance_id",
                "(on delete cascade), and the spec does not know it",
            ],
        );
    }
}

/// A spec that asks for triggers no more.
fn triggers_go_with_the_wish(server: &mut Server) {
    let folder = tempfile::tempdir().expect("a folder");
    let guarded = super::super::findings::guarded(folder.path());
    server
        .windrow(&format!("install {guarded}"))
        .expect(0, &["create trigger "]);
    let triggers = "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = 'dolphinscheduler'";
    assert_eq!(server.number(triggers), 20);
    server
        .windrow("diff SPEC")
        .expect(1, &["    DROP TRIGGER `dolphinscheduler`."]);
    server.windrow("install SPEC").expect(0, &["drop trigger "]);
    assert_eq!(server.number(triggers), 0);
    server.windrow("diff SPEC").expect(0, &["as generated: "]);
}

/// A server has no zones before somebody has loaded them.
fn a_zone_that_the_server_does_not_know_is_told() {
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let line = "time_zone = \"UTC\"";
    assert!(text.contains(line));
    let zones = [
        (
            "time_zone = \"Europe/Berlin\"",
            vec!["warning unknown-zone Europe/Berlin"],
        ),
        (
            "windows = [\"mon-fri 20:00-06:00 Asia/Seoul\"]",
            vec!["warning unknown-zone Asia/Seoul"],
        ),
        ("time_zone = \"Etc/GMT+3\"", vec![]),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("zoned.toml");
    for flavour in flavours(Flavour::Mysql) {
        let server = Server::bare(flavour);
        for (other, found) in &zones {
            std::fs::write(&path, text.replace(line, other)).expect("a file");
            let said = server.windrow(&format!("check {} --output json", path.display()));
            let (_, told) = told(&said, "");
            assert_eq!(told, *found, "{flavour:?}, {other}");
        }
    }
}

/// Two specs over the same tables need some indexes both. The role of the second has a part of its name only.
fn an_index_that_another_spec_needs_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("second.toml");
    let text = std::fs::read_to_string(SPEC).expect("the spec");
    let line = text
        .lines()
        .find(|line| line.starts_with("name "))
        .expect("a name");
    std::fs::write(
        &path,
        text.replacen(line, "name = \"second-of-a-longer-name\"", 1),
    )
    .expect("a file");
    let second = path.display().to_string();
    for flavour in Flavour::ALL {
        let mut server = Server::bare(flavour);
        server.windrow("install SPEC --quiet").expect(0, &[]);
        server
            .windrow(&format!("install {second} --quiet"))
            .expect(0, &[]);
        let made = "SELECT COUNT(DISTINCT table_name, index_name) FROM information_schema.statistics WHERE index_name LIKE 'windrow%'";
        let before = server.number(made);
        assert!(before > 3, "{flavour:?}");
        // One that cannot be asked may need all of them.
        let list = "windrow_second_of_a_longer_name.known_index";
        server.sql(&format!(
            "RENAME TABLE {list} TO windrow_second_of_a_longer_name.unreadable"
        ));
        server.windrow("uninstall SPEC --yes").expect(
            0,
            &[
                "cannot determine which indexes `windrow_second_of_a_longer_name` needs",
                "is kept: `windrow_second_of_a_longer_name` may need it",
                "with an account that may read `windrow_second_of_a_longer_name`",
            ],
        );
        assert_eq!(server.number(made), before, "{flavour:?}");
        server.sql(&format!(
            "RENAME TABLE windrow_second_of_a_longer_name.unreadable TO {list}"
        ));
        server.windrow("uninstall SPEC --yes").expect(
            0,
            &["is kept: `windrow_second_of_a_longer_name` also needs it"],
        );
        assert_eq!(server.number(made), before, "{flavour:?}");
        server
            .windrow(&format!("verify {second}"))
            .expect(0, &["clean\n"]);
        server
            .windrow(&format!("uninstall {second} --yes"))
            .expect(0, &[]);
        assert_eq!(server.number(made), 0, "{flavour:?}");
    }
}
