//! Files that deleted rows named: `artifacts list` and `artifacts drain`.

use std::fs;
use std::path::Path;

use super::mysql::Server;
use super::{Database, SPEC, Said, W, command};
use serde_json::json;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::effort::flavours;

tests! {
    on_postgres: [
        files_go_by_the_command,
        what_a_row_says_is_neither_run_nor_an_option,
        nothing_outside_of_the_root_goes,
    ],
    on_several: [
        a_file_that_a_row_still_names_stays,
    ],
}

fn drain(database: &Database, template: &str, more: &[&str]) -> Said {
    drain_at(&database.url, template, more)
}

fn drain_at(url: &str, template: &str, more: &[&str]) -> Said {
    let arguments = [
        "artifacts",
        "drain",
        SPEC,
        "--url",
        url,
        "--command",
        template,
    ];
    Said::of(
        command(&[&arguments, more].concat())
            .output()
            .expect("windrow starts"),
    )
}

fn figures(database: &mut Database) -> (i64, i64) {
    let metric = |name: &str| {
        format!("SELECT value::bigint FROM {W}.metrics WHERE name = 'windrow_artifacts_{name}'")
    };
    (
        database.number(&metric("pending")),
        database.number(&metric("failed")),
    )
}

fn files_go_by_the_command() {
    let mut database = Database::history();
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let names = [
        "plain.log",
        "a b's \"c\" $HOME.log",
        "stuck.log",
        "hostless.log",
        "-dash.log",
    ];
    database.sql(&format!(
        "CALL {W}.arm(); UPDATE t_ds_task_instance SET log_path = NULL"
    ));
    for (at, name) in names.iter().enumerate() {
        fs::write(path(name), "log").expect("a writable folder");
        // Tasks of the first five families, which are roots alone.
        let host = if *name == "hostless.log" {
            None
        } else {
            Some("10.0.0.7:1234")
        };
        database
            .client
            .execute(
                "UPDATE t_ds_task_instance SET log_path = $1, host = $2 WHERE id = (SELECT min(id) FROM t_ds_task_instance WHERE workflow_instance_id = $3)",
                &[&path(name), &host, &(at as i32 + 1)],
            )
            .expect("a task");
    }
    database
        .windrow("artifacts list SPEC")
        .expect(0, &["artifact"]);
    database
        .windrow("run SPEC")
        .expect(0, &["done, nothing left"]);
    let listed = database
        .windrow("artifacts list SPEC --output json")
        .expect(0, &[])
        .json();
    assert_eq!(listed.as_array().map(Vec::len), Some(5));
    database.windrow("artifacts list SPEC").expect(
        0,
        &["a b's \"c\" $HOME.log", "10.0.0.7:1234", "hostless.log"],
    );
    database
        .windrow("status SPEC")
        .expect(0, &["artifacts  5 waiting, 0 given up"]);
    assert_eq!(figures(&mut database), (5, 0));

    // Commands that cannot be meant.
    drain(&database, "rm -f", &[]).expect(2, &["it contains neither {path} nor {path:q}"]);
    drain(&database, "rm 'oops {path}", &[]).expect(2, &["cannot use the command"]);
    drain(&database, "{path}", &[]).expect(2, &["must not come from a row"]);
    assert_eq!(figures(&mut database), (5, 0), "no attempt was made");

    // A script that removes, but fails for one file; a row without a host fails, too.
    let script = path("remove.sh");
    fs::write(
        &script,
        "case $2 in *stuck*) echo \"$1 is stuck\" >&2; exit 3;; esac\nrm -- \"$2\"\n",
    )
    .expect("a writable folder");
    let template = format!("sh {script} {{host:name}} {{path}}");
    drain(&database, &template, &["--limit", "1"]).expect(0, &["1 file removed, 0 failed"]);
    drain(&database, &template, &[]).expect(
        1,
        &[
            "2 files removed, 2 failed",
            "`sh` ended with 3: 10.0.0.7 is stuck",
            "the row has no valid host name",
        ],
    );
    let left: Vec<bool> = names
        .iter()
        .map(|name| Path::new(&path(name)).exists())
        .collect();
    assert_eq!(left, [false, false, true, true, false]);
    assert_eq!(figures(&mut database), (2, 2));
    database
        .windrow("artifacts list SPEC")
        .expect(0, &["`sh` ended with 3", "stuck.log"])
        .without(&["plain.log"]);

    nothing_is_tried_before_its_time(&mut database, &template);

    odd_commands(&mut database, &template, Path::new(&path("hostless.log")));
}

/// Nothing is tried again before its time, and no run waits for it.
fn nothing_is_tried_before_its_time(database: &mut Database, template: &str) {
    drain(database, template, &[]).expect(0, &["0 files removed, 0 failed"]);
    let later = format!(
        "SELECT count(*) FROM {W}.artifact WHERE attempts = 1 AND next_attempt_at BETWEEN now() + interval '30 s' AND now() + interval '1 min'"
    );
    assert_eq!(database.number(&later), 2);
    let run = database
        .windrow("run SPEC --output json")
        .expect(0, &[])
        .json();
    assert_eq!(
        (
            &run["status"],
            &run["rules"][0]["taskLogDeleteFailureCount"]
        ),
        (&json!("done"), &json!(0))
    );
}

/// A path for a shell on the other side, a command that takes too long, and one that does not exist.
fn odd_commands(database: &mut Database, template: &str, hostless: &Path) {
    let due = format!("UPDATE {W}.artifact SET next_attempt_at = '-infinity'");
    database.sql(&due);
    drain(database, "tail -f {path}", &["--timeout", "0"]).expect(
        1,
        &["0 files removed, 2 failed", "`tail` took more than 0 s"],
    );
    database.sql(&due);
    drain(database, "/nowhere/rm {path}", &[])
        .expect(1, &["cannot start `/nowhere/rm`: No such file"]);
    database.sql(&format!("{due}, attempts = 9 WHERE path LIKE '%stuck%'"));
    drain(database, template, &[]).expect(1, &["0 files removed, 1 failed"]);
    database
        .windrow("status SPEC")
        .expect(0, &["artifacts  1 waiting, 1 given up"]);
    database.sql(&due);
    drain(database, "sh -c 'eval \"$1\"' sh 'rm -- {path:q}'", &[])
        .expect(0, &["1 file removed, 0 failed"]);
    assert!(!hostless.exists());
    assert_eq!(figures(database), (0, 1));
}

/// An outbox with these files.
fn outbox(files: &[(Option<&str>, &str)]) -> Database {
    let mut database = Database::history();
    for (host, path) in files {
        let insert = format!(
            "INSERT INTO {W}.artifact (run_id, rule, host, path) VALUES (1, 'workflow_instances', $1, $2)"
        );
        database
            .client
            .execute(&insert, &[host, path])
            .expect("a file");
    }
    database
}

fn what_a_row_says_is_neither_run_nor_an_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).display().to_string();
    let (mark, script) = (place("mark"), place("evil"));
    fs::write(&script, format!("#!/bin/sh\n: > {mark}\n")).expect("a script");
    std::process::Command::new("chmod")
        .args(["+x", &script])
        .status()
        .expect("chmod");
    let path = format!("{}; : > {mark}; echo ", place("a"));
    let mut database = outbox(&[(Some("[-V]"), &path), (Some("worker"), &script)]);
    for template in [
        "sh -c 'ls -- {path}'",
        "bash -c \"ls -- '{path:q}'\"",
        "sh -c {path:q}",
        "env sh -c 'ls -- {path}'",
        "env {path}",
        "xargs -a /dev/null {path}",
        "ssh {host} ls -- {path}",
        "ssh {host} sh -c {path:q}",
        "sudo sh -c {path}",
        "tool 'ls {path}'",
        "rm -- {path:q}",
    ] {
        drain(&database, template, &[]).expect(2, &["cannot use the command", "hint:"]);
    }
    assert_eq!(figures(&mut database), (2, 0), "no attempt was made");
    drain(
        &database,
        "ssh {host:name} ls -- {path:q}",
        &["--limit", "1"],
    )
    .expect(
        1,
        &[
            "0 files removed, 1 failed",
            "the row has no valid host name",
        ],
    );
    database.sql(&format!(
        "UPDATE {W}.artifact SET next_attempt_at = '-infinity'"
    ));
    // A program that may hand it to a shell gets no path that a shell would take apart.
    drain(&database, "false {path}", &["--limit", "1"])
        .expect(1, &["the path has characters with a meaning to a shell"]);
    assert!(!Path::new(&mark).exists());
    assert!(Path::new(&script).exists());
}

fn nothing_outside_of_the_root_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).display().to_string();
    for name in ["logs", "logs/sub", "other"] {
        fs::create_dir(place(name)).expect("a folder");
    }
    for name in ["logs/sub/a", "logs/b c", "other/a", "logs2"] {
        fs::write(place(name), "log").expect("a file");
    }
    std::os::unix::fs::symlink(place("other"), place("logs/out")).expect("a link");
    let files = [
        format!("{}//./sub/a", place("logs")),
        place("logs/b c"),
        place("logs/sub/../../other/a"),
        place("logs/out/a"),
        place("other/a"),
        place("logs2"),
        place("logs"),
        "logs/sub/a".to_owned(),
        "~/a".to_owned(),
    ];
    let rows: Vec<_> = files.iter().map(|path| (None, path.as_str())).collect();
    let mut database = outbox(&rows);
    let root = place("logs");
    for root in ["logs", "/", "/../logs"] {
        drain(&database, "rm -f -- {path}", &["--root", root]).expect(2, &["cannot use the root"]);
    }
    drain(&database, "rm -rf -- {path}", &["--root", &root]).expect(
        1,
        &[
            "2 files removed, 7 failed",
            "the path is not under the root",
            "a link leads the path out of the root",
            "the path is relative",
        ],
    );
    for (name, there) in [
        ("logs/sub/a", false),
        ("logs/b c", false),
        ("other/a", true),
        ("logs2", true),
        ("logs/sub", true),
    ] {
        assert_eq!(Path::new(&place(name)).exists(), there, "{name}");
    }
    assert_eq!(figures(&mut database), (7, 7));
}

/// It is asked for when the file is to go, of every table of the spec that names files, on whatever host.
fn a_file_that_a_row_still_names_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).display().to_string();
    let names = ["gone.log", "named.log", "other host.log"];
    let write = || {
        for name in names {
            fs::write(place(name), "log").expect("a file");
        }
    };
    let rows = |quote: &dyn Fn(&str) -> String| -> Vec<String> {
        let mut sql = vec!["DELETE FROM t_ds_task_instance".to_owned()];
        for name in names {
            sql.push(format!(
                "INSERT INTO {W}.artifact (run_id, rule, host, path) VALUES (1, 'workflow_instances', 'worker:1', {})",
                quote(&place(name))
            ));
        }
        for (id, host, name) in [(1, "'worker:1'", names[1]), (2, "'another:1'", names[2])] {
            sql.push(format!(
                "INSERT INTO t_ds_task_instance (id, name, task_type, task_code, task_definition_version, state, host, log_path) VALUES ({id}, 'a', 'SHELL', 1, 1, 7, {host}, {})",
                quote(&place(name))
            ));
        }
        sql
    };
    let quote = |text: &str| format!("'{text}'");
    let check = |url: &str, mut execute: Box<dyn FnMut(&str) + '_>| {
        write();
        for statement in rows(&quote) {
            execute(&statement);
        }
        drain_at(url, "rm -- {path}", &[]).expect(
            1,
            &[
                "1 file removed, 2 failed",
                "a row of `t_ds_task_instance` still refers to it",
            ],
        );
        let there: Vec<bool> = names
            .iter()
            .map(|name| Path::new(&place(name)).exists())
            .collect();
        assert_eq!(there, [false, true, true]);
        // When its row goes, too, the file may go.
        execute("DELETE FROM t_ds_task_instance WHERE id = 2");
        execute(&format!(
            "UPDATE {W}.artifact SET next_attempt_at = '2000-01-01'"
        ));
        drain_at(url, "rm -- {path}", &[]).expect(1, &["1 file removed, 1 failed"]);
        assert!(!Path::new(&place(names[2])).exists());
        assert!(Path::new(&place(names[1])).exists());
        // Another spelling names the same file, on either side.
        for (written, spelled) in [
            ("a.log", "./a.log"),
            ("a.log", "/a.log"),
            ("a.log", "a.log/"),
            ("a.log", "a.log/."),
            (".//./a.log", "a.log"),
            ("/a.log", "./a.log"),
        ] {
            fs::write(place("a.log"), "log").expect("a file");
            execute("DELETE FROM t_ds_task_instance");
            execute(&format!("DELETE FROM {W}.artifact"));
            let at = |name: &str| quote(&format!("{}/{name}", folder.path().display()));
            execute(&format!(
                "INSERT INTO {W}.artifact (run_id, rule, host, path) VALUES (1, 'workflow_instances', 'worker:1', {})",
                at(written)
            ));
            execute(&format!(
                "INSERT INTO t_ds_task_instance (id, name, task_type, task_code, task_definition_version, state, host, log_path) VALUES (1, 'a', 'SHELL', 1, 1, 7, 'worker:1', {})",
                at(spelled)
            ));
            drain_at(url, "rm -- {path}", &[])
                .expect(1, &["0 files removed, 1 failed", "still refers to it"]);
            assert!(Path::new(&place("a.log")).exists(), "{written} {spelled}");
            execute("DELETE FROM t_ds_task_instance");
            execute(&format!(
                "UPDATE {W}.artifact SET next_attempt_at = '2000-01-01'"
            ));
            drain_at(url, "rm -- {path}", &[]).expect(0, &["1 file removed, 0 failed"]);
        }
    };
    let mut database = Database::history();
    let url = database.url.clone();
    check(&url, Box::new(|sql| database.sql(sql)));
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Server::bare(flavour);
        server.windrow("install SPEC --quiet").expect(0, &[]);
        let url = server.url.clone();
        check(&url, Box::new(|sql| server.sql(sql)));
    }
}
