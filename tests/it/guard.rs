//! What holds runs back: pauses of single rules, and servers where nobody armed windrow: restored copies and promoted
//! standbys. What replicas of MySQL and MariaDB do is in `events`, that a restart disarms nothing in `crash`.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Graph;
use windrow::sandbox::mysql::{Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use crate::harness::tests;
use crate::support::database;
use crate::support::graphs::graph_of;
use crate::support::installation::{
    self, Installation, Session, apply, bundle, call, connect, dialect_of,
};
use crate::support::patience::PATIENCE;

tests! {
    on_postgres: [
        a_promoted_standby_waits_until_somebody_arms_it,
    ],
    each_server: [
        a_paused_rule_is_passed_over,
        runs_that_find_nothing_back_off_and_failed_ones_suspend,
        a_restored_copy_waits_until_somebody_arms_it,
        each_thing_that_a_server_shows_of_itself_is_compared,
        a_foreign_key_that_nobody_told_of_stops_runs,
    ],
    mysql_and_mariadb: [
        who_takes_the_lock_of_the_runs_is_written_down,
    ],
}

/// Two rules of one table each.
const SPEC: &str = r#"
name     = "guard"
schedule = "1 seconds"

[tables]
jobs   = { key = "id integer" }
events = { key = "id integer" }

[rules.jobs]
strategy  = "end-time"
root      = "jobs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1 }

[rules.events]
strategy  = "end-time"
root      = "events"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1 }
"#;

fn graph() -> Graph {
    graph_of(SPEC)
}

fn schema() -> String {
    ["jobs", "events"]
        .map(|table| {
            format!("CREATE TABLE {table} (id integer PRIMARY KEY, state varchar(20), ended timestamp NULL);\n")
        })
        .concat()
}

/// In each table three rows that are long due, and one that has no end.
fn rows() -> String {
    ["jobs", "events"]
        .map(|table| {
            format!(
                "INSERT INTO {table} (id, state, ended) VALUES (1, 'done', '2025-01-01 00:00:00'), (2, 'done', '2025-01-02 00:00:00'),
                 (3, 'done', '2025-01-03 00:00:00'), (4, 'running', NULL);\n"
            )
        })
        .concat()
}

fn installed(dialect: Dialect) -> Installation {
    let mut installation = Installation::of(dialect, &schema(), &graph());
    installation.execute(&rows());
    installation.arm();
    installation
}

fn left(installation: &mut Installation, table: &str) -> i64 {
    installation.number(&format!("SELECT COUNT(*) FROM {table}"))
}

const SCHEDULED: &str = r#"{"trigger": "SCHEDULED"}"#;

fn scheduled(installation: &mut Installation) -> Value {
    let options = serde_json::from_str(SCHEDULED).expect("options");
    installation.run(options).expect("a run, or a refusal")
}

/// Any session may take a lock by GET_LOCK: what it keeps from working is told where refusals are.
fn who_takes_the_lock_of_the_runs_is_written_down(flavour: Flavour) {
    let mut installation = installed(dialect_of(flavour));
    let mut stranger = crate::rights::user(&mut installation, None);
    let lock = windrow::render::run_lock(&installation.control);
    let taken = format!("SELECT GET_LOCK('{lock}', 0), CONNECTION_ID()");
    let taken = stranger.query(&taken, &[]).expect("a lock");
    assert_eq!(taken[0][0].as_deref(), Some("1"));
    let connection = taken[0][1].clone().expect("a number");
    let mut since = Vec::new();
    for _ in 0..2 {
        let refused = scheduled(&mut installation);
        assert_eq!(refused["status"], "refused", "{refused}");
        since.push(installation.rows("SELECT reason, CAST(since AS char(40)) FROM W.refusal"));
    }
    assert!(since[0].len() == 1 && since[0] == since[1], "{since:?}");
    let reason = since[0][0][0].as_deref().unwrap_or_default();
    assert!(
        reason.contains(&format!("connection {connection} is none")),
        "{reason}"
    );
    let verify = installation.call("verify", json!({})).expect("verify");
    let mut checks = verify["checks"].as_array().expect("checks").iter();
    assert!(checks.any(|check| check["check"] == "refused"), "{verify}");
    stranger
        .execute("DO RELEASE_ALL_LOCKS()")
        .expect("no lock is left");
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.refusal"), 0);
}

#[track_caller]
fn assert_paused(reason: &Value, rule: &str, why: &str) {
    let reason = reason.as_str().unwrap_or_default();
    assert!(
        reason.starts_with(&format!("rule {rule} is paused by ")) && reason.ends_with(why),
        "{reason}"
    );
}

fn a_paused_rule_is_passed_over(dialect: Dialect) {
    let mut installation = installed(dialect);
    // The first deletion of the first rule lets someone pause it: the run goes on with the other.
    let pause = "INSERT INTO W.rule_pause (rule, reason) SELECT 'jobs', 'enough' FROM W.control WHERE NOT EXISTS (SELECT 1 FROM W.rule_pause)";
    installation.execute(&match dialect {
        Dialect::Postgres => format!(
            "CREATE FUNCTION public.enough() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$ BEGIN {pause}; RETURN NULL; END $$;
             CREATE TRIGGER enough AFTER DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION public.enough()"
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("CREATE TRIGGER enough AFTER DELETE ON jobs FOR EACH ROW {pause}")
        }
    });
    let run = scheduled(&mut installation);
    assert_eq!(run["status"], "stopped", "{run}");
    assert_paused(&run["reason"], "jobs", ": enough");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(run["rules"][1]["families"], 3, "{run}");
    installation.execute(match dialect {
        Dialect::Postgres => "DROP TRIGGER enough ON jobs",
        Dialect::Mysql | Dialect::Mariadb => "DROP TRIGGER enough",
    });

    // Who pauses it again gives another reason, and a run that asks for nothing else does not start.
    let pause = json!({"rule": "jobs", "reason": "audit"});
    let answer = installation.call("pause_rule", pause).expect("a pause");
    assert_eq!(
        (&answer["rule"], &answer["reason"]),
        (&json!("jobs"), &json!("audit"))
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &run["rules"][0]["rows"]),
        (&json!("stopped"), &json!(0))
    );
    assert_paused(&run["reason"], "jobs", ": audit");
    let run = installation
        .run(json!({"rule": "jobs"}))
        .expect("a refusal");
    assert_eq!(run["status"], "refused", "{run}");
    assert_paused(&run["reason"], "jobs", ": audit");
    let error = installation.purge(json!({"rule": "jobs", "key": [2]}));
    assert_eq!(
        failure::sqlstate(&error.expect_err("a pause")),
        Some("55000")
    );
    assert_eq!(left(&mut installation, "jobs"), 3);

    // With every rule paused no scheduled run starts; that is written down once, and not in the ledger.
    let pause = json!({"rule": "events", "reason": null});
    installation.call("pause_rule", pause).expect("a pause");
    let runs = installation.number("SELECT COUNT(*) FROM W.run");
    let mut since = Vec::new();
    for _ in 0..2 {
        let refused = scheduled(&mut installation);
        assert_eq!(refused["status"], "refused", "{refused}");
        assert_paused(&refused["reason"], "jobs", ": no reason given");
        since.push(installation.rows("SELECT reason, CAST(since AS char(40)) FROM W.refusal"));
    }
    assert!(since[0].len() == 1 && since[0] == since[1], "{since:?}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), runs);
    let metrics = "SELECT COUNT(*) FROM W.metrics WHERE name = 'windrow_rule_paused' AND value = 1";
    assert_eq!(installation.number(metrics), 2);
    let verify = installation.call("verify", json!({})).expect("verify");
    let told = verify["checks"].as_array().expect("checks").iter();
    let told: Vec<&Value> = told
        .filter(|check| check["check"] == "paused" || check["check"] == "refused")
        .collect();
    let named = |name: &str| told.iter().any(|check| check["object"] == name);
    assert!(
        told.len() == 3 && named("events") && named("jobs"),
        "{told:?}"
    );

    for rule in ["jobs", "events"] {
        let resume = installation.call("resume_rule", json!({"rule": rule}));
        assert_eq!(resume.expect("a resumption")["rule"], rule);
    }
    let error = installation.call("resume_rule", json!({"rule": "jobs"}));
    assert_eq!(
        failure::sqlstate(&error.expect_err("no pause")),
        Some("22023")
    );
    let run = scheduled(&mut installation);
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(2))
    );
    assert_eq!(left(&mut installation, "jobs"), 1);
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.refusal"), 0);
}

/// A migration of the application adds a table whose rows the server would delete along, or change.
fn a_foreign_key_that_nobody_told_of_stops_runs(dialect: Dialect) {
    let mut installation = installed(dialect);
    let refers = |action: &str| {
        let rows = "INSERT INTO stranger (id, job) VALUES (1, 1), (2, 4)";
        format!(
            "DROP TABLE IF EXISTS stranger;
             CREATE TABLE stranger (id integer PRIMARY KEY, job integer, CONSTRAINT strange FOREIGN KEY (job) REFERENCES jobs (id) ON DELETE {action});
             {rows}"
        )
    };
    let checks = |installation: &mut Installation| {
        let verify = installation.call("verify", json!({})).expect("verify");
        let checks = verify["checks"].as_array().expect("checks").iter();
        checks
            .filter(|check| check["check"] == "reference")
            .map(|check| {
                ["severity", "object", "detail"]
                    .map(|name| check[name].as_str().unwrap_or_default())
                    .join(" ")
            })
            .collect::<Vec<_>>()
    };
    let finding = |action: &str| {
        format!(
            "stranger references jobs by strange (on delete {action}), and the spec does not know it"
        )
    };
    assert_eq!(checks(&mut installation), [""; 0]);
    for action in ["cascade", "set null"] {
        installation.execute(&refers(action));
        let told = finding(action);
        assert_eq!(
            checks(&mut installation),
            [format!(
                "violation {told}: its rows would go or change with it; runs refuse"
            )]
        );
        assert_refused(&mut installation, &format!("table {told}"));
        let calls = [
            ("run", json!({})),
            ("run", json!({"dry_run": true})),
            ("run", json!({"rule": "events"})),
            ("purge", json!({"rule": "jobs", "key": [1]})),
        ];
        for (routine, options) in calls {
            let error = installation
                .call(routine, options)
                .expect_err("a foreign key that nobody told of");
            assert!(format!("{error:#}").contains(&told), "{error:#}");
            assert_eq!(failure::sqlstate(&error), Some("55000"));
        }
        assert_eq!(left(&mut installation, "jobs"), 4);
        assert_eq!(
            installation.number("SELECT COUNT(*) FROM stranger WHERE job IS NOT NULL"),
            2
        );
    }

    // Where the server refuses a deletion by itself, nothing is lost: what may go goes.
    installation.execute(&refers("no action"));
    let told = finding("no action");
    assert_eq!(
        checks(&mut installation),
        [format!("violation {told}: no family that it names can go")]
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["rules"][0]["families"], &run["rules"][1]["families"]),
        (&json!(2), &json!(3)),
        "{run}"
    );
    assert_eq!(left(&mut installation, "stranger"), 2);

    // Who installed in spite of it knows, and nothing runs all the same.
    installation.execute(&refers("cascade"));
    let findings = json!([{"code": "unlisted-reference", "severity": "error", "object": "stranger", "message": "", "help": ""}]);
    let note = match dialect {
        Dialect::Postgres => format!("SELECT W.record_forced_install('{findings}')"),
        Dialect::Mysql | Dialect::Mariadb => format!("CALL W.record_forced_install('{findings}')"),
    };
    installation.execute(&note);
    assert_refused(&mut installation, &format!("table {}", finding("cascade")));
    assert_eq!(left(&mut installation, "stranger"), 2);
}

/// Number, and reason, of the calls that a scheduler would have to make in vain.
fn assert_refused(installation: &mut Installation, start: &str) {
    let runs = installation.number("SELECT COUNT(*) FROM W.run");
    let mut since = Vec::new();
    for _ in 0..2 {
        let refused = scheduled(installation);
        let reason = refused["reason"].as_str().unwrap_or_default();
        assert!(reason.starts_with(start), "{refused}");
        since.push(installation.rows("SELECT reason, CAST(since AS char(40)) FROM W.refusal"));
    }
    assert!(since[0].len() == 1 && since[0] == since[1], "{since:?}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.run"), runs);
}

fn set(installation: &mut Installation, name: &str, value: i64) {
    let setting = json!({"rule": "jobs", "name": name, "value": value});
    installation
        .call("set_setting", setting)
        .expect("a setting");
}

fn runs_that_find_nothing_back_off_and_failed_ones_suspend(dialect: Dialect) {
    let mut installation = installed(dialect);
    let due = |installation: &mut Installation| {
        installation
            .execute("UPDATE jobs SET state = 'done', ended = '2025-01-04 00:00:00' WHERE id = 4");
    };
    // Without a back-off, runs that find nothing follow each other.
    set(&mut installation, "back_off_max", 0);
    for rows in [3, 0, 0, 0, 0] {
        let run = scheduled(&mut installation);
        assert_eq!(
            (&run["status"], &run["rules"][0]["rows"]),
            (&json!("done"), &json!(rows)),
            "{run}"
        );
    }
    // With one, the pause is 10 seconds, doubled for each further one: 80 after four, and never more than the limit.
    let pause = match dialect {
        Dialect::Postgres => {
            "(SELECT round(extract(epoch FROM s.idle_until - max(r.finished_at))) FROM W.scheduling AS s, W.run AS r GROUP BY s.idle_until)"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "(SELECT TIMESTAMPDIFF(SECOND, MAX(r.finished_at), s.idle_until) FROM W.scheduling AS s, W.run AS r GROUP BY s.idle_until)"
        }
    };
    for (limit, expected) in [(604_800, 80), (1_800, 80), (80, 80), (79, 79), (1, 1)] {
        set(&mut installation, "back_off_max", limit);
        assert_eq!(installation.number(pause), expected, "{limit}");
    }
    set(&mut installation, "back_off_max", 604_800);
    assert_refused(
        &mut installation,
        "nothing left, runs in a row: 4; back-off until 2",
    );
    // A dry run and a purge are no runs; one by hand begins anew.
    installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    installation
        .purge(json!({"rule": "jobs", "key": [9]}))
        .expect("a purge");
    assert_refused(
        &mut installation,
        "nothing left, runs in a row: 4; back-off until 2",
    );
    due(&mut installation);
    assert_eq!(
        installation.run(json!({})).expect("a run")["rules"][0]["rows"],
        1
    );
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_refused(
        &mut installation,
        "nothing left, runs in a row: 1; back-off until 2",
    );
    installation.arm();
    assert_eq!(scheduled(&mut installation)["status"], "done");
    set(&mut installation, "back_off_max", 0);

    // Failed runs.
    set(&mut installation, "suspend_after", 2);
    let (right, of) = match dialect {
        Dialect::Postgres => ("DELETE ON jobs", format!("{}_owner", installation.control)),
        Dialect::Mysql | Dialect::Mariadb => {
            ("DELETE ON jobs", format!("{}_owner", installation.control))
        }
    };
    let fail = |installation: &mut Installation| {
        installation.execute(
            "INSERT INTO jobs (id, state, ended) VALUES (5, 'done', '2025-01-05 00:00:00')",
        );
        installation.execute(&format!("REVOKE {right} FROM {of}"));
        for _ in 0..2 {
            let run = scheduled(installation);
            assert_eq!(run["status"], "failed", "{run}");
        }
        assert_refused(
            installation,
            "suspended after 2 failed runs in a row, the last one: error ",
        );
        let verify = installation.call("verify", json!({})).expect("verify");
        assert_eq!(verify["clean"], false, "{verify}");
        let metric =
            "SELECT COUNT(*) FROM W.metrics WHERE name = 'windrow_suspended' AND value = 1";
        assert_eq!(installation.number(metric), 1);
    };
    fail(&mut installation);
    // One by hand that fails as well cures nothing, nor does the right alone.
    assert_eq!(
        installation.run(json!({})).expect("a run")["status"],
        "failed"
    );
    installation.execute(&format!("GRANT {right} TO {of}"));
    assert_refused(
        &mut installation,
        "suspended after 2 failed runs in a row, the last one: error ",
    );
    assert_eq!(
        installation.run(json!({})).expect("a run")["rules"][0]["rows"],
        1
    );
    assert_eq!(scheduled(&mut installation)["status"], "done");
    fail(&mut installation);
    installation.execute(&format!("GRANT {right} TO {of}"));
    installation.arm();
    assert_eq!(scheduled(&mut installation)["rules"][0]["rows"], 1);
    // What crashed has failed, too.
    for _ in 0..2 {
        installation.execute(
            r#"INSERT INTO W.run ("trigger", dry_run, options, as_of, deadline, status, reason, backend_pid, finished_at)
               SELECT 'SCHEDULED', dry_run, options, as_of, deadline, 'crashed', 'its session vanished', backend_pid, finished_at
               FROM W.run WHERE run_id = (SELECT MAX(run_id) FROM W.run)"#,
        );
    }
    assert_refused(
        &mut installation,
        "suspended after 2 failed runs in a row, the last one: its session vanished",
    );
    installation.run(json!({})).expect("a run");
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.refusal"), 0);
}

/// Another server with what a dump of an installation brings there.
enum Copy {
    Postgres(Postgres),
    Mysql(Mysql),
}

impl Copy {
    fn of(installation: &Installation) -> Copy {
        let (name, control) = (&installation.name, &installation.control);
        if installation.dialect == Dialect::Postgres {
            let source = database::server();
            let copy = Postgres::start(&sandbox::Settings::default()).expect("a server");
            pipe(
                source.bin("pg_dumpall").arg("--roles-only"),
                &mut copy.bin("psql"),
            );
            pipe(
                source.bin("pg_dump").args(["--create", name]),
                &mut copy.bin("psql"),
            );
            return Copy::Postgres(copy);
        }
        let source = installation::server(installation.dialect);
        let flavour = source.flavour();
        let copy = Mysql::start(&sandbox::mysql::Settings {
            events: true,
            ..sandbox::mysql::Settings::new(flavour)
        });
        let copy = copy.expect("a server");
        match flavour {
            Flavour::Mysql => {
                let mut dump = source.bin("mysqldump");
                dump.args(["--routines", "--events", "--set-gtid-purged=OFF"]);
                pipe(
                    dump.args(["--databases", control, name]),
                    &mut copy.client(),
                );
            }
            Flavour::Mariadb => {
                let mut session = connect(&copy.url("mysql", "root"));
                for statement in dump(source, &[control, name]) {
                    let answer = session.execute(&statement);
                    answer.unwrap_or_else(|error| panic!("{error:#}\n\n{statement}"));
                }
            }
        }
        // Roles are not in a dump: nobody may call anything until the installation is gone over.
        if flavour == Flavour::Mysql {
            let mut session = connect(&copy.url(name, "root"));
            for routine in ["run", "purge", "preview", "verify", "set_hold"] {
                let error = call(&mut session, Dialect::Mysql, control, routine, &json!({}));
                let error = error.expect_err(routine);
                assert_eq!(failure::errno(&error), Some(1449), "{routine}: {error:#}");
            }
        }
        let graph = Graph {
            name: control.trim_start_matches("windrow_").to_owned(),
            database: name.clone(),
            ..graph()
        };
        let bundle = bundle(installation.dialect, &graph);
        apply(&mut connect(&copy.url("mysql", "root")), &bundle);
        Copy::Mysql(copy)
    }

    fn connect(&self, name: &str) -> Session {
        connect(&match self {
            Copy::Postgres(server) => server.url(name, "postgres"),
            Copy::Mysql(server) => server.url(name, "root"),
        })
    }
}

/// What a dump of these databases of MariaDB is, in the order of the program, which its core packages do not have: tables with
/// what stands for the views meanwhile, rows, then the views by their names.
fn dump(server: &Mysql, databases: &[&str]) -> Vec<String> {
    let mut session = connect(&server.url("mysql", "root"));
    let mut texts = |sql: &str, column: usize| -> Vec<String> {
        let rows = session.query(sql, &[]).expect(sql);
        let cell = |row: Vec<Option<String>>| row[column].clone().expect("a text");
        rows.into_iter().map(cell).collect()
    };
    let mut dump = vec!["SET SESSION foreign_key_checks = 0".to_owned()];
    let mut views = Vec::new();
    for database in databases {
        dump.push(format!("CREATE DATABASE {database}"));
        dump.push(format!("USE {database}"));
        let of_kind = |kind| {
            format!(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}' AND table_type = '{kind}' ORDER BY table_name"
            )
        };
        for table in texts(&of_kind("BASE TABLE"), 0) {
            dump.extend(texts(&format!("SHOW CREATE TABLE {database}.{table}"), 1));
        }
        for view in texts(&of_kind("VIEW"), 0) {
            let columns = texts(&format!("SHOW COLUMNS FROM {database}.{view}"), 0);
            let columns: Vec<String> = columns.iter().map(|it| format!("1 AS `{it}`")).collect();
            dump.push(format!(
                "CREATE VIEW {view} AS SELECT {}",
                columns.join(", ")
            ));
            views.push(format!("USE {database}"));
            views.push(format!("DROP VIEW {view}"));
            views.extend(texts(&format!("SHOW CREATE VIEW {database}.{view}"), 1));
        }
        dump.push(rows_of(server, database));
    }
    dump.extend(views);
    dump.retain(|statement| !statement.is_empty());
    dump
}

/// All rows of a database of MariaDB, as statements that write them.
fn rows_of(server: &Mysql, database: &str) -> String {
    let selects = server.query(&format!(
        "SELECT CONCAT('SELECT CONCAT(''REPLACE INTO ', t.table_schema, '.', t.table_name, ' VALUES ('', CONCAT_WS('','', ',
             GROUP_CONCAT(IF(c.collation_name IS NULL, CONCAT('QUOTE(`', c.column_name, '`)'),
                 CONCAT('QUOTE(CONVERT(`', c.column_name, '` USING utf8mb4) COLLATE utf8mb4_bin)')) ORDER BY c.ordinal_position),
             '), '');'') FROM ', t.table_schema, '.', t.table_name)
         FROM information_schema.tables AS t JOIN information_schema.columns AS c USING (table_schema, table_name)
         WHERE t.table_schema = '{database}' AND t.table_type = 'BASE TABLE' GROUP BY t.table_schema, t.table_name"
    ));
    let selects = selects.expect("the tables");
    let rows = selects.lines().map(|select| server.query(select));
    rows.map(|rows| rows.expect("rows")).collect()
}

/// What one program says, to another.
fn pipe(from: &mut Command, to: &mut Command) {
    let said = from.output().expect("a dump");
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let mut reader = to
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a client");
    let mut input = reader.stdin.take().expect("an input");
    input.write_all(&said.stdout).expect("all is read");
    drop(input);
    let read = reader.wait_with_output().expect("an end");
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
}

fn number(session: &mut Session, sql: &str) -> i64 {
    let rows = session.query(sql, &[]).expect("a number");
    let text = rows[0][0].as_deref().expect("a number");
    text.parse().expect("a number")
}

/// Waits for what the scheduler does; without one, for what its call does.
#[track_caller]
fn until(session: &mut Session, dialect: Dialect, control: &str, sql: &str) {
    let deadline = Instant::now() + PATIENCE;
    while number(session, sql) == 0 {
        assert!(Instant::now() < deadline, "{sql}");
        if dialect == Dialect::Postgres {
            let options = serde_json::from_str(SCHEDULED).expect("options");
            call(session, dialect, control, "run", &options).expect("no error");
        } else {
            sleep(Duration::from_millis(100));
        }
    }
}

/// Refused without an error where the scheduler calls, with one where a person does, until somebody arms it.
fn check_refusal(session: &mut Session, dialect: Dialect, control: &str) {
    let known = number(session, &format!("SELECT COUNT(*) FROM {control}.run"));
    let refused = format!(
        "SELECT COUNT(*) FROM {control}.refusal WHERE reason LIKE 'armed on another server%'"
    );
    until(session, dialect, control, &refused);
    for (routine, options) in [
        ("run", json!({})),
        ("purge", json!({"rule": "jobs", "key": [1]})),
    ] {
        let error = call(session, dialect, control, routine, &options);
        assert_eq!(failure::sqlstate(&error.expect_err(routine)), Some("55000"));
    }
    assert_eq!(
        number(session, &format!("SELECT COUNT(*) FROM {control}.run")),
        known
    );
    assert_eq!(number(session, "SELECT COUNT(*) FROM jobs"), 4);

    session
        .execute(&format!("CALL {control}.arm()"))
        .expect("armed");
    let done = format!("SELECT COUNT(*) FROM {control}.run WHERE {control}.run.status = 'done'");
    until(session, dialect, control, &done);
    assert_eq!(number(session, "SELECT COUNT(*) FROM jobs"), 1);
    assert_eq!(number(session, &refused), 0);
}

fn a_restored_copy_waits_until_somebody_arms_it(dialect: Dialect) {
    let mut installation = installed(dialect);
    let copy = Copy::of(&installation);
    let mut session = copy.connect(&installation.name);
    check_refusal(&mut session, dialect, &installation.control);
    // Where it comes from, nothing has changed.
    assert_eq!(left(&mut installation, "jobs"), 4);
    assert_eq!(scheduled(&mut installation)["status"], "done");
}

/// What `SECURITY.md` names for each server: where one of these is another, it is another server.
fn each_thing_that_a_server_shows_of_itself_is_compared(dialect: Dialect) {
    let mut installation = installed(dialect);
    let control = format!("'{}'", installation.control);
    let shown = match dialect {
        Dialect::Postgres => vec![
            "(SELECT system_identifier::text FROM pg_control_system())",
            "current_setting('port')",
            "current_database()",
            "current_setting('listen_addresses')",
            "current_setting('data_directory')",
        ],
        Dialect::Mysql => vec![
            "@@server_uuid",
            "@@hostname",
            "@@port",
            "@@datadir",
            "@@bind_address",
            &control,
        ],
        Dialect::Mariadb => vec![
            "@@hostname",
            "@@port",
            "@@datadir",
            "@@bind_address",
            "@@server_id",
            &control,
        ],
    };
    let armed = "SELECT server_identity FROM W.control";
    let identity = installation.texts(armed).remove(0);
    let arm_as = |installation: &mut Installation, identity: &str| {
        let identity = identity.replace('\'', "''");
        installation.execute(&format!(
            "UPDATE W.control SET server_identity = '{identity}'"
        ));
        installation.run(json!({}))
    };
    for part in shown {
        let value = installation
            .texts(&format!("SELECT CONCAT({part}, '')"))
            .remove(0);
        let other = identity.replace(&value, "another");
        assert_ne!(other, identity, "{part}: {identity}");
        let error = arm_as(&mut installation, &other).expect_err(part);
        assert_eq!(
            failure::sqlstate(&error),
            Some("55000"),
            "{part}: {error:#}"
        );
    }
    if dialect == Dialect::Postgres {
        // The name of a cluster, which this server has none of, stands behind the database.
        let database = format!("/{}/", installation.name);
        let other = identity.replace(&database, &format!("{database}another"));
        assert_ne!(other, identity);
        arm_as(&mut installation, &other).expect_err("another cluster");
    }
    arm_as(&mut installation, &identity).expect("a run");
}

/// A standby shares the identifier of its primary, for good: the timeline tells them apart, from the promotion on.
fn a_promoted_standby_waits_until_somebody_arms_it() {
    let dialect = Dialect::Postgres;
    let primary = Postgres::start(&sandbox::Settings::default()).expect("a server");
    let mut there = connect(&primary.url("postgres", "postgres"));
    there.execute(&(schema() + &rows())).expect("tables");
    apply(&mut there, &bundle(dialect, &graph()));
    let control = "windrow_guard";
    there
        .execute(&format!("CALL {control}.arm()"))
        .expect("armed");

    let standby = primary.start_replica().expect("a standby");
    let mut here = connect(&standby.url("postgres", "postgres"));
    let error = call(&mut here, dialect, control, "run", &json!({}));
    assert_eq!(
        failure::sqlstate(&error.expect_err("a standby")),
        Some("25006")
    );
    let promoted = here
        .query("SELECT pg_promote(true, 60)", &[])
        .expect("a promotion");
    assert_eq!(promoted[0][0].as_deref(), Some("true"));
    let identity = format!("SELECT {control}.server_identity()");
    let identity = |session: &mut Session| {
        let rows = session.query(&identity, &[]).expect("an identity");
        let text = rows[0][0].clone().expect("an identity");
        let parts = text.split('/').map(str::to_owned);
        parts.collect::<Vec<_>>()
    };
    // The checkpoint that ends the recovery may still be to come: what is told before it and after it is the same.
    let before = identity(&mut here);
    here.execute("CHECKPOINT").expect("a checkpoint");
    assert_eq!(identity(&mut here), before);
    let known = identity(&mut there);
    assert_eq!(known[0], before[0]);
    assert_eq!((known[1].as_str(), before[1].as_str()), ("1", "2"));
    check_refusal(&mut here, dialect, control);

    let run = call(&mut there, dialect, control, "run", &json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}
