//! What goes wrong on MySQL and MariaDB, and what the user hears of it.

use std::thread;

use windrow::sandbox::mysql::Flavour;

use super::super::{PASSWORD, Said, W, at, finish, interrupt, spawn, wait, windrow};
use super::Server;

use crate::harness::tests;
use crate::support::effort::flavours;

tests! {
    on_several: [
        an_interrupt_ends_the_run_and_the_next_goes_on,
        half_an_installation_is_told_and_gone_over,
        who_may_not_is_told_what_it_takes,
        two_installations_do_not_meet,
        what_somebody_disabled_stays_disabled,
        an_older_windrow_installs_over_a_newer_one_only_on_demand,
        roles_do_what_they_are_for,
    ],
}

/// What a newer one made, this one does not know.
fn an_older_windrow_installs_over_a_newer_one_only_on_demand() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::history(flavour);
        server.windrow("install SPEC").expect(0, &[]);
        let routine =
            "SELECT CREATED FROM information_schema.routines WHERE routine_name = 'run_begin'";
        let before = server.text(routine);
        server.sql(&format!(
            "INSERT INTO {W}.installed_version (since, version) VALUES (UTC_TIMESTAMP(6), '99.1.0 (a commit)')"
        ));
        server.windrow("install SPEC").expect(
            2,
            &[
                "error: windrow 99.1.0 (a commit) installed what is here, and this is windrow 0.",
                "hint: use that version, or a newer one; `--downgrade` installs this one",
            ],
        );
        assert_eq!(server.text(routine), before, "{flavour:?}");
        server
            .windrow("install SPEC --downgrade")
            .expect(0, &["is installed in"]);
        // From now on this is the version.
        server.windrow("install SPEC").expect(0, &[]);
        // Nobody knows of which version files were that somebody applied; the last one that is known counts.
        server.sql(&format!(
            "INSERT INTO {W}.installed_version (since, version) VALUES (UTC_TIMESTAMP(6), '99.1.0'),
             (UTC_TIMESTAMP(6) + INTERVAL 1 SECOND, NULL)"
        ));
        server
            .windrow("install SPEC")
            .expect(2, &["error: windrow 99.1.0 installed"]);
    }
}

/// An installation makes events anew, as they were; where windrow is armed, everything that shows its state says so.
fn what_somebody_disabled_stays_disabled() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::history(flavour);
        server.sql(&format!("SET GLOBAL event_scheduler = ON; CALL {W}.arm()"));
        server.windrow("verify SPEC").expect(0, &["clean\n"]);
        server
            .windrow("status SPEC")
            .expect(0, &[])
            .without(&["schedule "]);
        server.sql(&format!("ALTER EVENT {W}.run DISABLE"));
        server.windrow("install SPEC").expect(
            0,
            &["warning: event windrow_dolphinscheduler.run stays disabled"],
        );
        let state =
            format!("SELECT status FROM information_schema.events WHERE event_schema = '{W}'");
        assert_eq!(server.text(&state), "DISABLED", "{flavour:?}");
        let says = "the event is disabled: nothing runs by itself";
        server
            .windrow("verify SPEC")
            .expect(1, &["violation  schedule", says, "--skip 60_schedule.sql"]);
        server.windrow("status SPEC").expect(
            0,
            &["schedule   not as it should be: the event is disabled"],
        );
        server
            .windrow("diff SPEC")
            .expect(
                1,
                &[
                    "event run: the event is disabled",
                    "; windrow install leaves it so\n",
                ],
            )
            .without(&["right event"]);
        // Who starts runs from elsewhere may leave it there.
        server
            .windrow("install SPEC --skip 60_schedule.sql")
            .expect(0, &[]);
        server
            .windrow("verify SPEC")
            .expect(0, &["notice  schedule", says]);
        server
            .windrow("diff SPEC")
            .expect(0, &["as generated: "])
            .without(&["event run"]);
        server
            .windrow("status SPEC")
            .expect(0, &[])
            .without(&["schedule "]);
        server.sql(&format!("ALTER EVENT {W}.run ENABLE"));
        server
            .windrow("install SPEC")
            .expect(0, &[])
            .without(&["stays disabled"]);
        assert_eq!(server.text(&state), "ENABLED", "{flavour:?}");

        // As in a dump without its events. What starts runs may also be something else: then an installation left the schedule out.
        server.sql(&format!("DROP EVENT {W}.run"));
        server.windrow("verify SPEC").expect(
            1,
            &["no event: nothing runs by itself", "--skip 60_schedule.sql"],
        );
        server
            .windrow("install SPEC --skip 60_schedule.sql")
            .expect(0, &[]);
        server
            .windrow("verify SPEC")
            .expect(0, &["notice  schedule", "no event: nothing runs by itself"]);
        server.windrow("diff SPEC").expect(0, &["as generated: "]);
        server
            .windrow("status SPEC")
            .expect(0, &[])
            .without(&["schedule "]);
    }
}

fn an_interrupt_ends_the_run_and_the_next_goes_on() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::history(flavour);
        server.slow();
        let child = spawn(&server.url, "run SPEC --no-estimate --output json");
        server.wait_for_batches();
        server
            .windrow("run SPEC --no-estimate")
            .expect(1, &["refused: run 1 is in progress (pid "]);
        server
            .windrow("status SPEC")
            .expect(0, &["running  rule", "1        workflow_instances"]);
        interrupt(&child);
        let said = finish(child).expect(
            2,
            &[
                "error: interrupted while running `CALL windrow_dolphinscheduler.run('{}')`",
                "hint: what was committed is kept, nothing is half done",
            ],
        );
        // A program that reads the document gets the error, and no answer.
        let document: serde_json::Value = serde_json::from_str(&said.out).expect("a document");
        assert_eq!(
            document.as_object().map(serde_json::Map::len),
            Some(1),
            "{document}"
        );
        assert_eq!(
            document["error"]["message"],
            "interrupted while running `CALL windrow_dolphinscheduler.run('{}')`"
        );
        let first = server.text(&format!("SELECT status FROM {W}.run WHERE run_id = 1"));
        assert_eq!(first, "cancelled", "{flavour:?}");
        server.sql("DROP TRIGGER slow");
        server
            .windrow("run SPEC --no-estimate")
            .expect(0, &["done, nothing left"]);
        server.sql("SET GLOBAL event_scheduler = ON");
        server.windrow("verify SPEC").expect(0, &["clean\n"]);
        server.sql("SET GLOBAL event_scheduler = OFF");

        // An administrator ends the session.
        server.sql("UPDATE t_ds_workflow_instance SET end_time = end_time - INTERVAL 20 DAY");
        server.slow();
        let child = spawn(&server.url, "run SPEC --no-estimate");
        let running = format!("SELECT COUNT(*) FROM {W}.run WHERE status = 'running'");
        wait("a run", || server.number(&running) > 0);
        let id = server.number(&format!(
            "SELECT backend_pid FROM {W}.run WHERE status = 'running'"
        ));
        server.sql(&format!("KILL {id}"));
        finish(child).expect(2, &["what was committed is kept"]);
        // A client that is killed cannot cancel: the server finds out by itself.
        let mut child = spawn(&server.url, "run SPEC --no-estimate");
        // The ledger calls the killed one running until the next one begins.
        let is_next = format!(
            "SELECT COUNT(*) FROM {W}.run WHERE status = 'running' AND backend_pid <> {id}"
        );
        wait("the next run", || server.number(&is_next) > 0);
        server.wait_for_batches();
        child.kill().expect("a child to kill");
        child.wait().expect("it is gone");
        server.windrow("pause SPEC").expect(0, &[]);
        wait("the run is over", || server.number(&running) == 0);
    }
}

fn half_an_installation_is_told_and_gone_over() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::bare(flavour);
        // What cannot be made stands in the way of what comes after.
        server.sql(&format!(
            "CREATE DATABASE {W} COLLATE utf8mb4_general_ci; CREATE TABLE {W}.metrics (a int)"
        ));
        server.windrow("install SPEC").expect(
            2,
            &[
                "error: cannot install `46_metrics.sql`",
                "metrics",
                "its finished statements are kept; `00_database.sql`, `10_control.sql`, `10_options.sql`, `11_rules.sql`, `11_spec.sql`, `12_settings.sql`",
                "running `windrow install` again is safe",
            ],
        );
        server.sql(&format!("DROP TABLE {W}.metrics"));
        server
            .windrow("install SPEC")
            .expect(0, &["is installed in"]);
        server.windrow("verify SPEC").expect(0, &["clean\n"]);
    }
}

fn who_may_not_is_told_what_it_takes() {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::history(flavour);
        server.sql(
            "CREATE USER reader@'127.0.0.1', owner@'127.0.0.1';
             GRANT SELECT ON dolphinscheduler.* TO reader@'127.0.0.1';
             GRANT SELECT, DELETE, INDEX, ALTER ON dolphinscheduler.* TO owner@'127.0.0.1'",
        );
        let reader = server.server.url("", "reader");
        for words in [
            "preview SPEC",
            "status SPEC",
            "run SPEC --no-estimate",
            "arm SPEC",
        ] {
            windrow(&reader, words).expect(2, &["error 1", "operator role"]);
        }
        windrow(&server.server.url("", "owner"), "install SPEC").expect(
            2,
            &[
                "cannot install `00_database.sql`",
                "the installing account needs all rights on the control database",
            ],
        );
        server.sql("SET GLOBAL read_only = ON");
        windrow(&server.url, "install SPEC")
            .expect(2, &["the session is read-only", "`read_only`"]);
        server.sql("SET GLOBAL read_only = OFF");
        server.sql(&format!(
            "DROP DATABASE {W}; DROP DATABASE dolphinscheduler"
        ));
        server.windrow("install SPEC").expect(
            2,
            &[
                "the database `dolphinscheduler` does not exist",
                "the spec does not fit this database: 1 error",
            ],
        );
    }
}

fn two_installations_do_not_meet() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::bare(flavour);
        server.sql(&format!(
            "DO GET_LOCK(CONCAT('windrow install ', LEFT(SHA2('{W}', 256), 40)), 0)"
        ));
        let met =
            "another installation or uninstallation of `windrow_dolphinscheduler` is in progress";
        server.windrow("install SPEC").expect(
            2,
            &[
                met,
                "the installation lock is held by session ",
                "user `root`",
            ],
        );
        // MySQL's view of all sessions does not know a statement with a sign of four bytes.
        let mut other = server.another();
        let beside = thread::spawn(move || other.execute("DO SLEEP(8), '\u{1F600}'"));
        let holder = match flavour {
            Flavour::Mysql => "which session holds its lock cannot be told",
            Flavour::Mariadb => "the installation lock is held by session ",
        };
        server.windrow("install SPEC").expect(2, &[met, holder]);
        beside.join().expect("no panic").expect("it slept");
        server.sql("DO RELEASE_ALL_LOCKS()");
        server
            .windrow("install SPEC")
            .expect(0, &["is installed in"]);
    }
}

fn roles_do_what_they_are_for() {
    for flavour in flavours(Flavour::Mysql) {
        let mut server = Server::history(flavour);
        for role in ["operator", "auditor"] {
            server.sql(&format!(
                "CREATE USER {role}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"
            ));
            // MySQL shortens the name of a role, and writes its host.
            let name = server.text(&format!(
                "SELECT User FROM mysql.user WHERE User LIKE 'windrow\\_dolphi%\\_{role}'"
            ));
            server.sql(&format!("GRANT `{name}` TO {role}@'127.0.0.1'"));
            server.sql(&match flavour {
                Flavour::Mysql => format!("SET DEFAULT ROLE `{name}` TO {role}@'127.0.0.1'"),
                Flavour::Mariadb => format!("SET DEFAULT ROLE `{name}` FOR {role}@'127.0.0.1'"),
            });
        }
        // MySQL takes a password over TLS only.
        let address = |user| {
            let url = server.server.url("", user);
            url.replace("=DISABLED", "=PREFERRED")
        };
        let (operator, auditor) = (address("operator"), address("auditor"));
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), format!("{PASSWORD}\nnot this\n")).expect("a password");
        let by_file = format!("--password-file {}", file.path().display());
        let from_environment = |url: &str, words: &str, password: &str| {
            let mut command = at(url, words);
            command.env("MYSQL_PWD", password);
            Said::of(command.output().expect("windrow starts"))
        };
        windrow(&operator, "status SPEC")
            .expect(2, &["error 1045", "MYSQL_PWD or --password-file"]);
        from_environment(&operator, "status SPEC", "hunter2").expect(2, &["error 1045"]);
        from_environment(&operator, "arm SPEC", PASSWORD).expect(0, &["armed"]);
        for words in [
            "status SPEC",
            "preview SPEC",
            "run SPEC --run-families 2",
            "purge SPEC --key 99999999",
            "hold set SPEC --key 1 --reason audit --even-if-absent",
            "hold list SPEC",
            "setting set SPEC retries 4",
            "pause SPEC",
            "resume SPEC",
            "history SPEC",
            "artifacts list SPEC",
            "verify SPEC",
        ] {
            let said = windrow(&operator, &format!("{words} {by_file}"));
            assert!(said.code < 2, "{flavour:?}, {words}: {}", said.text());
        }
        for words in [
            "status SPEC",
            "preview SPEC",
            "history SPEC",
            "policy list SPEC",
            "verify SPEC",
        ] {
            let said = windrow(&auditor, &format!("{words} {by_file}"));
            assert!(said.code < 2, "{flavour:?}, {words}: {}", said.text());
        }
        for words in [
            "run SPEC --no-estimate",
            "arm SPEC",
            "hold set SPEC --key 1 --reason no",
        ] {
            windrow(&auditor, &format!("{words} {by_file}"))
                .expect(2, &["error 1370", "operator role (to run)"]);
        }
    }
}
