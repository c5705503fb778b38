//! Files that deleted rows named: `artifacts list` and `artifacts drain`.

use std::fs;
use std::path::Path;

use super::{Database, SPEC, Said, W, command};
use serde_json::json;

use crate::harness::tests;

tests! {
    on_postgres: [
        files_go_by_the_command,
    ],
}

fn drain(database: &Database, template: &str, more: &[&str]) -> Said {
    let arguments = [
        "artifacts",
        "drain",
        SPEC,
        "--url",
        &database.url,
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
    drain(&database, "rm -f", &[]).expect(2, &["it names neither {path} nor {path:q}"]);
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
            "the row names no sound host",
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

    // Nothing is tried again before its time, and no run waits for it.
    drain(&database, &template, &[]).expect(0, &["0 files removed, 0 failed"]);
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
        (&json!("done"), &json!(2))
    );

    // A path for a shell on the other side, a command that takes too long, and one that does not exist.
    let due = format!("UPDATE {W}.artifact SET next_attempt_at = '-infinity'");
    database.sql(&due);
    drain(&database, "sleep 5 {path}", &["--timeout", "0"]).expect(
        1,
        &["0 files removed, 2 failed", "`sleep` took more than 0 s"],
    );
    database.sql(&due);
    drain(&database, "/nowhere/rm {path}", &[])
        .expect(1, &["cannot start `/nowhere/rm`: No such file"]);
    database.sql(&format!("{due}, attempts = 9 WHERE path LIKE '%stuck%'"));
    drain(&database, &template, &[]).expect(1, &["0 files removed, 1 failed"]);
    database
        .windrow("status SPEC")
        .expect(0, &["artifacts  1 waiting, 1 given up"]);
    database.sql(&due);
    drain(&database, "sh -c 'eval \"$1\"' sh 'rm -- {path:q}'", &[])
        .expect(0, &["1 file removed, 0 failed"]);
    assert!(!Path::new(&path("hostless.log")).exists());
    assert_eq!(figures(&mut database), (0, 1));
}
