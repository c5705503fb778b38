//! The archive: a row that goes is in it, as it was; a row that stays is not.

mod changes;
pub(crate) mod strategies;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windrow::bundle::Statement;
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, bundle};
use crate::support::patience::until;

tests! {
    within: [changes::tests, strategies::tests],
    every_server: [
        what_goes_is_archived_as_it_was,
        what_is_archived_is_not_dropped_unasked,
    ],
}

const SPEC: &str = r#"
name = "archive"

[tables]
job   = { key = "id bigint" }
step  = { key = "id bigint", parents = ["job_id -> job.id"] }
part  = { parents = ["step_id -> step.id", "other_id -> step.id"], with = "any" }
claim = { parents = ["job_id -> job.id"] }
task  = { key = "id bigint" }
event = { parents = ["root_id -> task.id"] }
mail  = { key = "id bigint" }
page  = { parents = ["mail_id -> mail.id"] }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
archive   = true

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at"
tables    = ["event: root_id", "task: root_id"]
unit      = "UNIT"
retention = { safety_lag = "0s" }
archive   = ["event"]

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
archive   = true
"#;

/// The tables, and whether what goes is archived.
const TABLES: [(&str, bool); 8] = [
    ("job", true),
    ("step", true),
    ("part", true),
    ("claim", true),
    ("task", false),
    ("event", true),
    ("mail", true),
    ("page", true),
];

fn graph(unit: &str) -> Graph {
    graph_of(&SPEC.replace("UNIT", unit))
}

/// Types that are easily changed on the way, reserved words, a generated column, and foreign keys that would take rows away
/// by themselves.
fn schema(dialect: Dialect) -> String {
    let (time, instant, bytes, document, generated, text) = match dialect {
        Dialect::Postgres => (
            "timestamp",
            "timestamptz",
            "bytea",
            "jsonb",
            "STORED",
            "text COLLATE \"C\"",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "datetime(6)",
            "timestamp(6) NULL",
            "blob",
            "json",
            "VIRTUAL",
            "text CHARACTER SET latin1",
        ),
    };
    let q = if dialect == Dialect::Postgres {
        '"'
    } else {
        '`'
    };
    format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended {time}, paid numeric(30, 9), {q}Group{q} {bytes}, seen {instant}, {q}order{q} {document}, note {text}, twice bigint GENERATED ALWAYS AS (id * 2) {generated}, flag boolean, ratio double precision, day date);
CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint, name varchar(40), FOREIGN KEY (job_id) REFERENCES job (id) ON DELETE CASCADE);
CREATE TABLE part (step_id bigint, other_id bigint, note {text}, FOREIGN KEY (step_id) REFERENCES step (id) ON DELETE CASCADE, FOREIGN KEY (other_id) REFERENCES step (id) ON DELETE CASCADE);
CREATE TABLE claim (id bigint PRIMARY KEY, job_id bigint, name varchar(40));
CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, remove_at {time});
CREATE TABLE event (root_id bigint, remove_at {time}, payload {bytes});
CREATE TABLE mail (id bigint PRIMARY KEY, expires {time}, body {text});
CREATE TABLE page (mail_id bigint, body {bytes});
"
    )
}

/// What the tables hold, so that jobs 1 to 3, tasks 1 and 2 with the events of no task, and mails 1 and 2 are to go.
fn load(installation: &mut Installation) {
    let bytes = |hex: &str| match installation.dialect {
        Dialect::Postgres => format!("'\\x{hex}'"),
        Dialect::Mysql | Dialect::Mariadb => format!("X'{hex}'"),
    };
    let zone = match installation.dialect {
        Dialect::Postgres => "+02",
        Dialect::Mysql | Dialect::Mariadb => "",
    };
    let (none, some) = (bytes(""), bytes("00ff0a275c"));
    let mut sql = format!(
        "INSERT INTO job (id, state, ended, paid, {q}Group{q}, seen, {q}order{q}, note, flag, ratio, day) VALUES
    (1, 'done', '2020-01-01 10:00:00.123456', 12345678901234567890.123456789, {some}, '2020-10-25 02:30:00.5{zone}', '{{\"b\": [1, null], \"a\": \"ü\"}}', 'it''s', true, 0.1, '2020-02-29'),
    (2, 'done', '2020-01-02', NULL, {none}, NULL, NULL, '', NULL, NULL, NULL),
    (3, 'done', '2020-01-03', -0.000000001, NULL, NULL, 'null', NULL, false, -1e300, '1999-12-31'),
    (4, 'busy', '2020-01-04', 4, NULL, NULL, '[]', 'stays', false, 4, NULL),
    (5, 'done', '2999-01-05', 5, NULL, NULL, '[]', 'stays', false, 5, NULL);\n",
        q = if installation.dialect == Dialect::Postgres { '"' } else { '`' },
    );
    for job in 1..=5 {
        for step in [10 * job, 10 * job + 1] {
            sql += &format!("INSERT INTO step VALUES ({step}, {job}, 'step {step}');\n");
        }
        let (one, two) = (10 * job, 10 * job + 1);
        sql += &format!(
            "INSERT INTO part VALUES ({one}, {two}, 'both'), ({two}, NULL, NULL), (NULL, {one}, ''), ({one}, {one}, 'same');\n"
        );
        sql += &format!(
            "INSERT INTO claim VALUES ({one}, {job}, 'twice'), ({two}, {job}, 'twice');\n"
        );
    }
    sql += "INSERT INTO claim VALUES (1, NULL, 'of nobody');\n";
    for (task, year) in [(1, 2020), (2, 2021), (3, 2999)] {
        sql += &format!(
            "INSERT INTO task VALUES ({task}, {task}, '{year}-01-01'), ({}, {task}, '{year}-01-01');\n",
            10 * task
        );
        sql += &format!(
            "INSERT INTO event VALUES ({task}, '{year}-01-01', {some}), ({task}, '{year}-01-01', NULL);\n"
        );
    }
    sql += &format!("INSERT INTO event VALUES (NULL, '2020-05-05', {none});\n");
    for (mail, expires) in [
        (1, "'2020-01-01'"),
        (2, "'2020-01-02'"),
        (3, "'2999-01-01'"),
        (4, "NULL"),
    ] {
        sql += &format!("INSERT INTO mail VALUES ({mail}, {expires}, 'to {mail}');\n");
        sql += &format!("INSERT INTO page VALUES ({mail}, {some}), ({mail}, {none});\n");
    }
    installation.execute(&sql);
}

/// Every row, byte by byte: by table, in an order of its own.
type Rows = BTreeMap<String, Vec<String>>;

fn contents(installation: &mut Installation) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in TABLES {
        rows.insert(table.to_owned(), installation.bytes(table, table));
    }
    rows
}

fn archived(installation: &mut Installation) -> Rows {
    let mut rows = Rows::new();
    for (table, is_archived) in TABLES {
        let texts = if is_archived {
            installation.bytes(table, &format!("W.archive_{table}"))
        } else {
            Vec::new()
        };
        rows.insert(table.to_owned(), texts);
    }
    rows
}

/// What is in the first and not in the second, each as often.
fn without(rows: &Rows, others: &Rows) -> Rows {
    let mut left = rows.clone();
    for (table, texts) in &mut left {
        for other in &others[table] {
            let at = texts.iter().position(|text| text == other);
            texts.remove(at.unwrap_or_else(|| panic!("{table}: {other} was not there")));
        }
    }
    left
}

/// What of these rows is to be archived.
fn kept(mut rows: Rows) -> Rows {
    for (table, is_archived) in TABLES {
        if !is_archived {
            rows.insert(table.to_owned(), Vec::new());
        }
    }
    rows
}

fn count(rows: &Rows, table: &str) -> usize {
    rows[table].len()
}

/// The error of a call that must fail.
pub(crate) fn refused(answer: anyhow::Result<Value>) -> String {
    match answer {
        Ok(answer) => panic!("it was done: {answer}"),
        Err(error) => format!("{error:#}"),
    }
}

/// What verify says of the archive of a rule.
fn verdict(installation: &mut Installation, rule: &str) -> (String, String) {
    let report = installation.call("verify", json!({})).expect("a report");
    let checks = report["checks"].as_array().expect("checks");
    let check = checks
        .iter()
        .find(|check| check["check"] == "archive" && check["object"] == rule)
        .unwrap_or_else(|| panic!("no check: {report}"));
    let text = |field: &str| check[field].as_str().expect("a text").to_owned();
    (text("severity"), text("detail"))
}

fn what_goes_is_archived_as_it_was(dialect: Dialect) {
    let mut windrow = Installation::of(dialect, &schema(dialect), &graph("family"));
    load(&mut windrow);
    windrow.arm();
    let whole = contents(&mut windrow);
    let nothing = archived(&mut windrow);
    assert!(nothing.values().all(Vec::is_empty), "{nothing:?}");

    // Looking changes nothing.
    windrow.preview(json!({})).expect("a preview");
    let dry = windrow.run(json!({"dry_run": true})).expect("a dry run");
    assert_eq!(dry["status"], "done", "{dry}");
    let purge = json!({"rule": "mails", "key": [4], "dry_run": true});
    windrow.purge(purge).expect("a dry run");
    assert_eq!(
        (contents(&mut windrow), archived(&mut windrow)),
        (whole.clone(), nothing)
    );

    a_column_that_no_archive_has_refuses(&mut windrow, &whole);
    let whole = contents(&mut windrow);
    a_purge_archives(&mut windrow, &whole);
    what_fails_is_not_archived(&mut windrow, &whole);
    what_a_killed_batch_leaves_is_not_lost(&mut windrow, &whole);
    a_row_that_comes_in_between_is_archived(&mut windrow, &whole);

    // Again, with nothing in the way.
    let before = archived(&mut windrow);
    let run = windrow.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(archived(&mut windrow), before);
    let left = contents(&mut windrow);
    let numbers = |rows: &Rows| TABLES.map(|(table, _)| count(rows, table));
    assert_eq!(numbers(&left), [2, 4, 8, 5, 2, 2, 2, 4], "{left:?}");
    assert_eq!(verdict(&mut windrow, "jobs").0, "ok");
}

/// Nothing is deleted whose copy would lack something.
fn a_column_that_no_archive_has_refuses(windrow: &mut Installation, whole: &Rows) {
    let all = archived(windrow);
    let changes = [
        (
            "ALTER TABLE step ADD COLUMN extra varchar(10) DEFAULT 'more'",
            "extra",
        ),
        ("ALTER TABLE page ADD COLUMN late bigint DEFAULT 7", "late"),
    ];
    for (change, column) in changes {
        windrow.execute(change);
        let rule = if column == "late" { "mails" } else { "jobs" };
        let run = refused(windrow.run(json!({})));
        assert!(
            run.contains("the archive does not fit") && run.contains(column),
            "{run}"
        );
        let purge = json!({"rule": rule, "key": [1]});
        let purge = refused(windrow.purge(purge));
        assert!(purge.contains(column), "{purge}");
        let (severity, detail) = verdict(windrow, rule);
        assert_eq!(severity, "violation");
        assert!(detail.contains(column), "{detail}");
        // Another rule's archive is not in the way.
        let run = windrow.run(json!({"rule": "tasks", "dry_run": true}));
        assert_eq!(run.expect("a run")["status"], "done");
        windrow.install(&graph("family"));
        assert_eq!(verdict(windrow, rule).0, "ok");
    }
    // A column of another type, and one that is gone from the middle.
    let (wider, narrower) = match windrow.dialect {
        Dialect::Postgres => (
            "ALTER TABLE claim ALTER COLUMN name TYPE text",
            "ALTER TABLE claim ALTER COLUMN name TYPE varchar(40)",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "ALTER TABLE claim MODIFY name varchar(50)",
            "ALTER TABLE claim MODIFY name varchar(40)",
        ),
    };
    windrow.execute(wider);
    let run = refused(windrow.run(json!({})));
    assert!(run.contains("claim") && run.contains("name"), "{run}");
    windrow.execute(narrower);
    windrow.execute("ALTER TABLE job DROP COLUMN ratio");
    let run = refused(windrow.run(json!({})));
    assert!(run.contains("job"), "{run}");
    windrow.install(&graph("family"));
    assert_eq!(verdict(windrow, "jobs").0, "ok");
    let rows = |rows: &Rows| TABLES.map(|(table, _)| count(rows, table));
    assert_eq!(rows(&contents(windrow)), rows(whole));
    assert_eq!(rows(&archived(windrow)), rows(&all));
}

fn a_purge_archives(windrow: &mut Installation, whole: &Rows) {
    for (rule, key) in [("jobs", 1), ("tasks", 1), ("mails", 1)] {
        let answer = windrow.purge(json!({"rule": rule, "key": [key]}));
        let answer = answer.expect("a purge");
        assert_eq!(answer["refused"], json!({}), "{answer}");
    }
    let gone = without(whole, &contents(windrow));
    let numbers = TABLES.map(|(table, _)| count(&gone, table));
    assert_eq!(numbers, [1, 2, 4, 2, 2, 2, 1, 2], "{gone:?}");
    assert_eq!(archived(windrow), kept(gone));
    let runs = windrow.number("SELECT count(*) FROM W.archive_job AS a JOIN W.run AS r ON r.run_id = a.windrow_run_id WHERE r.status = 'done'");
    assert_eq!(runs, 1);
}

/// One family that fails is neither deleted nor archived; the rest is both.
fn what_fails_is_not_archived(windrow: &mut Installation, whole: &Rows) {
    let (make, drop) = match windrow.dialect {
        // The archive itself does not take a row.
        Dialect::Postgres => (
            "CREATE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.id = 2 THEN RETURN NULL; END IF; RETURN new; END $$;
             CREATE TRIGGER poison BEFORE INSERT ON W.archive_job FOR EACH ROW EXECUTE FUNCTION public.poison()",
            "DROP FUNCTION public.poison() CASCADE",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "CREATE TRIGGER poison BEFORE DELETE ON job FOR EACH ROW BEGIN IF OLD.id = 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF; END",
            "DROP TRIGGER poison",
        ),
    };
    windrow.execute(make);
    let before = contents(windrow);
    let run = windrow.run(json!({"rule": "jobs"})).expect("a run");
    windrow.execute(drop);
    assert_eq!(run["status"], "failed", "{run}");
    let failures = run["rules"][0]["failures"].as_array().expect("failures");
    assert_eq!(failures.len(), 1, "{run}");
    assert_eq!(failures[0]["key"], "2");
    if windrow.dialect == Dialect::Postgres {
        let message = failures[0]["message"].as_str().expect("a message");
        assert!(
            message.contains("1 rows of job were deleted, and 0 archived"),
            "{message}"
        );
    }
    let gone = without(&before, &contents(windrow));
    assert_eq!(count(&gone, "job"), 1);
    assert_eq!(count(&gone, "part"), 4);
    assert_eq!(archived(windrow), kept(without(whole, &contents(windrow))));
}

/// A batch that is cancelled in its middle is in the archive only as far as it is gone.
fn what_a_killed_batch_leaves_is_not_lost(windrow: &mut Installation, whole: &Rows) {
    let before = (contents(windrow), archived(windrow));
    let (make, drop) = match windrow.dialect {
        Dialect::Postgres => (
            "CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); RETURN OLD; END $$;
             CREATE TRIGGER stop BEFORE DELETE ON mail FOR EACH ROW EXECUTE FUNCTION public.stop()",
            "DROP FUNCTION public.stop() CASCADE",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "CREATE TRIGGER stop BEFORE DELETE ON mail FOR EACH ROW BEGIN DECLARE v integer; SET v = SLEEP(600); END",
            "DROP TRIGGER stop",
        ),
    };
    windrow.execute(make);
    windrow.kill_asleep("a killed run", "run", json!({"rule": "mails"}));
    windrow.execute(drop);
    if windrow.is_unfinished() {
        // MySQL's session committed what it had: what is gone is there, at least.
        let copies = archived(windrow);
        for (table, rows) in kept(without(whole, &contents(windrow))) {
            assert!(
                rows.iter().all(|row| copies[&table].contains(row)),
                "{table}"
            );
        }
        windrow.execute("DELETE FROM W.archive_mail WHERE id = 2");
    } else {
        assert_eq!((contents(windrow), archived(windrow)), before);
    }
    let run = windrow.run(json!({"rule": "mails"})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert!(!windrow.is_unfinished());
    let gone = kept(without(whole, &contents(windrow)));
    assert_eq!((count(&gone, "mail"), count(&gone, "page")), (2, 4));
    assert_eq!(archived(windrow), gone);
}

/// InnoDB copies before it deletes: a row that a stranger commits between the two, where the copying has been already, is
/// not deleted without a copy.
fn a_row_that_comes_in_between_is_archived(windrow: &mut Installation, whole: &Rows) {
    if windrow.dialect != Dialect::Postgres {
        windrow.execute("CREATE TRIGGER W.gate AFTER INSERT ON W.archive_claim FOR EACH ROW BEGIN DECLARE v integer; SET v = GET_LOCK('gate', 600); END");
        let mut stranger = windrow.connect();
        stranger
            .query("SELECT GET_LOCK('gate', 0)", &[])
            .expect("a lock");
        let (runner, _, number) = windrow.call_aside("run", json!({"rule": "jobs"}));
        until("the batch is between copying and deleting", || {
            assert!(!runner.is_finished(), "it ended");
            Ok(windrow.number(&format!("SELECT count(*) FROM information_schema.processlist WHERE id = {number} AND state = 'User lock'")) == 1)
        })
        .expect("it gets there");
        // What was copied is locked until it is deleted.
        let copied = stranger.query("SELECT id FROM claim WHERE id = 20 FOR UPDATE NOWAIT", &[]);
        assert!(copied.is_err(), "{copied:?}");
        stranger
            .execute("INSERT INTO claim VALUES (2, 2, 'late')")
            .expect("a row");
        drop(stranger);
        let (_, answer) = runner.join().expect("no panic");
        let run = answer.expect("a run");
        windrow.execute("DROP TRIGGER W.gate");
        // The batch was tried again, with that row.
        let rule = &run["rules"][0];
        assert_eq!(
            (&rule["retries"], &rule["tables"]["claim"]),
            (&json!(1), &json!(3)),
            "{run}"
        );
        let late = "SELECT count(*) FROM W.archive_claim WHERE name = 'late'";
        assert_eq!(windrow.number(late), 1, "{run}");
        windrow.execute("DELETE FROM W.archive_claim WHERE name = 'late'");
    }
    let run = windrow.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let gone = without(whole, &contents(windrow));
    assert_eq!(
        TABLES.map(|(table, _)| count(&gone, table)),
        [3, 6, 12, 6, 4, 5, 2, 4]
    );
    assert_eq!(archived(windrow), kept(gone));
}

/// What uninstalls a spec.
fn undo_of(dialect: Dialect, graph: &Graph) -> Vec<Statement> {
    let files = bundle(dialect, graph).files;
    let undo = files.into_iter().find(|file| file.path.contains("/90_"));
    undo.expect("an uninstallation").statements
}

fn without_archive(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for rule in &mut graph.rules {
        rule.archive.clear();
    }
    graph
}

/// The other unit of a rule by removal time; and an uninstallation.
fn what_is_archived_is_not_dropped_unasked(dialect: Dialect) {
    let graph = graph("window");
    let mut windrow = Installation::of(dialect, &schema(dialect), &graph);
    load(&mut windrow);
    windrow.arm();
    let whole = contents(&mut windrow);
    let run = windrow.run(json!({"rule": "tasks"})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let gone = without(&whole, &contents(&mut windrow));
    assert_eq!((count(&gone, "task"), count(&gone, "event")), (4, 5));
    let copies = archived(&mut windrow);
    assert_eq!(copies, kept(gone));

    // Who may read the ledger may not read the application's rows.
    let role = windrow.control.replace("windrow_", "reader_");
    let (make, url) = match dialect {
        Dialect::Postgres => (
            format!(
                "CREATE ROLE {role} LOGIN; GRANT {c}_auditor TO {role}",
                c = windrow.control
            ),
            windrow.name.clone(),
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            format!(
                "CREATE USER {role}; GRANT {c}_auditor TO {role}; SET DEFAULT ROLE {c}_auditor {to} {role}",
                c = windrow.control,
                to = if dialect == Dialect::Mysql {
                    "TO"
                } else {
                    "FOR"
                }
            ),
            String::new(),
        ),
    };
    windrow.execute(&make);
    let mut reader = windrow.connect_to(&url, &role);
    let mut count = |table: &str| {
        reader.query(
            &windrow.named(&format!("SELECT count(*) FROM W.{table}")),
            &[],
        )
    };
    assert_eq!(
        count("run").expect("the ledger")[0][0].as_deref(),
        Some("1")
    );
    for table in ["archive_event", "into_archive_event"] {
        let denied = format!("{:#}", count(table).expect_err("no right"));
        assert!(denied.contains("denied"), "{denied}");
    }
    drop(reader);

    let named = Graph {
        name: windrow.control.replacen("windrow_", "", 1),
        database: windrow.name.clone(),
        ..graph
    };
    let undo = undo_of(dialect, &named);
    // Nor does the undo of a spec that archives nothing any more.
    for statements in [&undo, &undo_of(dialect, &without_archive(&named))] {
        let error = statements
            .iter()
            .find_map(|statement| windrow.session.execute(&statement.sql).err());
        let error = format!("{:#}", error.expect("it refuses"));
        assert!(error.contains("archive_event"), "{error}");
        assert_eq!(archived(&mut windrow), copies);
    }
    // The command looks itself, whatever the spec says by then.
    let calls = Calls::new(dialect, &windrow.control, "unused");
    let control = windrow.control.clone();
    let tables = windrow.session.query(calls.archives(), &[Some(&control)]);
    let tables = tables.expect("tables");
    assert_eq!(tables.len(), 7, "{tables:?}");
    for row in tables {
        let [Some(schema), Some(table)] = &row[..] else {
            panic!("{row:?}");
        };
        assert_eq!(*schema, control);
        let rows = windrow
            .session
            .query(&calls.any_row(schema, schema, table), &[]);
        assert_eq!(
            rows.expect("rows").len(),
            usize::from(table == "archive_event"),
            "{table}"
        );
    }
    windrow.execute(calls.allow_drop());
    for statement in &undo {
        windrow.session.execute(&statement.sql).expect("it goes");
    }
    assert_eq!(
        windrow.number(&format!(
            "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{control}'"
        )),
        0
    );
}
