//! What acts beside windrow's own statements when a row goes: foreign keys that the spec does not list, rules, tables that
//! inherit, other collations, tables that are swapped. Each is told by its name before a run, and in every batch of one.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure::is_lock_timeout;
use windrow::fit::{self, Finding, Severity};
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::effort::{self, share};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, bytes_of, columns_of, dialect_of, violations};
use crate::support::patience::until;

mod acts;
mod clusters;
mod collations;
mod looks;
mod partitions;
mod replaced;
mod spec;
pub(crate) mod stamps;

use acts::{DROP_KEY, acts};

tests! {
    each_server: [
        what_comes_to_act_ends_a_run,
    ],
    every_server: [
        what_acts_is_judged_by_the_spec_that_is_there,
        what_acts_is_told_before_a_run,
        what_comes_to_act_as_a_run_begins_ends_it,
        what_comes_to_act_on_what_is_set_during_a_batch_finds_nothing_set,
    ],
    mysql_and_mariadb: [
        what_comes_to_act_once_nothing_did_is_told,
        nothing_is_noted_of_tables_that_were_just_made,
    ],
    either_flavour: [
        no_table_of_the_spec_is_altered_during_a_batch,
    ],
    on_postgres: [
        a_rule_that_becomes_another_is_told,
    ],
    on_mariadb: [
        a_table_that_keeps_what_its_rows_were_is_told,
    ],
    within: [
        clusters::tests,
        collations::tests,
        looks::tests,
        partitions::tests,
        replaced::tests,
        spec::tests,
        stamps::tests,
    ],
}

const SPEC: &str = r#"
name     = "acting"
schema   = "public"

[tables]
runs = { key = "id integer" }
arts = { key = "id integer", parents = ["run_id -> runs.id"] }
uses = { key = "id integer", parents = ["run_id -> runs.id"] }
memos = { parents = ["run_id -> runs.id set null"] }

[ignore]
audit = "kept for the auditors"

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 2 }
"#;

const TABLES: [&str; 5] = ["runs", "arts", "uses", "memos", "audit"];

/// What `check` says of anything that acts.
const CODES: [&str; 5] = [
    "unlisted-reference",
    "rule",
    "inheritance",
    "collation-differs",
    "engine",
];

/// Four runs that are due, one that is running and one that is young. What these use was made by one that is due.
const SCHEMA: &str = "
CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL, retry_of integer);
CREATE TABLE arts (id integer NOT NULL PRIMARY KEY, run_id integer NOT NULL);
CREATE TABLE uses (id integer NOT NULL PRIMARY KEY, run_id integer NOT NULL, art_id integer, art_run integer);
CREATE TABLE memos (id integer NOT NULL PRIMARY KEY, run_id integer UNIQUE);
CREATE TABLE audit (id integer NOT NULL PRIMARY KEY, run_id integer);
CREATE UNIQUE INDEX art_of_run ON arts (id, run_id);
INSERT INTO runs (id, state, ended, retry_of) VALUES
    (1, 'done', '2025-01-01 00:00:00', NULL), (2, 'done', '2025-01-02 00:00:00', NULL), (3, 'done', '2025-01-03 00:00:00', NULL),
    (4, 'done', '2025-01-04 00:00:00', NULL), (5, 'running', NULL, 3), (6, 'done', '2037-01-01 00:00:00', 4);
INSERT INTO arts (id, run_id) VALUES (11, 1), (12, 2), (13, 3), (14, 4), (15, 5);
INSERT INTO uses (id, run_id, art_id, art_run) VALUES (21, 1, 11, 1), (23, 3, 13, 3), (25, 5, 13, 3), (26, 6, 14, 4);
INSERT INTO memos (id, run_id) VALUES (43, 3), (44, 4);
INSERT INTO audit (id, run_id) VALUES (33, 3), (34, 4)";

fn made(dialect: Dialect) -> Installation {
    made_of(dialect, SPEC)
}

fn made_of(dialect: Dialect, spec: &str) -> Installation {
    Installation::of(dialect, SCHEMA, &graph_of(spec))
}

/// Brings back the rows with which a schema ends.
fn refill(installation: &mut Installation, schema: &str) {
    let statements = schema.split(";\n");
    for insert in statements.filter(|it| it.starts_with("INSERT INTO ")) {
        let table = insert.split(' ').nth(2).unwrap_or_default();
        installation.execute(&format!("DELETE FROM {table}; {insert}"));
    }
}

/// Databases have names of their own.
fn text_for(installation: &mut Installation, dialect: Dialect, sql: &str) -> String {
    if dialect == Dialect::Postgres {
        return sql.to_owned();
    }
    let here = installation.texts("SELECT DATABASE()").concat();
    let aside = format!("{here}_aside");
    sql.replace("HERE", &format!("`{here}`"))
        .replace("aside", &format!("`{aside}`"))
}

fn contents(installation: &mut Installation, dialect: Dialect) -> Vec<String> {
    TABLES
        .iter()
        .map(|table| {
            let columns = columns_of(dialect, table);
            let names = installation.texts(&columns);
            let rows = installation.rows(&bytes_of(dialect, &names, table));
            format!("{table}: {rows:?}")
        })
        .collect()
}

fn findings(installation: &Installation, dialect: Dialect, spec: &str) -> Vec<Finding> {
    let mut found = all_findings(installation, dialect, spec);
    found.retain(|it| CODES.contains(&it.code));
    found
}

pub(crate) fn all_findings(
    installation: &Installation,
    dialect: Dialect,
    spec: &str,
) -> Vec<Finding> {
    let graph = graph_of(spec).named_for(dialect);
    let mut session = installation.connect();
    let schema = match dialect {
        Dialect::Postgres => "public".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => {
            let rows = session.query("SELECT DATABASE()", &[]).expect("a database");
            rows.into_iter().flatten().flatten().collect()
        }
    };
    let catalog = session.catalog(&schema).expect("a catalog");
    fit::compare(&graph, &catalog)
}

/// The triggers that `check` warns of, each with its table.
fn warned(installation: &Installation, dialect: Dialect, spec: &str) -> Vec<String> {
    let found = all_findings(installation, dialect, spec);
    let found = found.iter().filter(|it| it.code == "trigger");
    found
        .map(|it| {
            assert_eq!(it.severity, Severity::Warning);
            let name = it.message.split('`').nth(1).unwrap_or_default();
            format!("{} {name}", it.object)
        })
        .collect()
}

fn errors(found: &[Finding]) -> Vec<&str> {
    let errors = found.iter().filter(|it| it.severity == Severity::Error);
    errors.map(|it| it.object.as_str()).collect()
}

#[track_caller]
fn assert_told(error: &anyhow::Error, told: &str) {
    let error = format!("{error:#}");
    assert!(error.contains(told), "{error}\n{told}");
}

fn what_acts_is_told_before_a_run(dialect: Dialect) {
    let mut installation = made(dialect);
    let before = contents(&mut installation, dialect);
    for act in share(dialect, acts(dialect)) {
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        let object = text_for(&mut installation, dialect, act.object).replace('`', "");
        // Who has not armed it yet cannot, and who has is stopped.
        installation.execute(&make);
        let error = installation.attempt("CALL W.arm()").expect_err(act.make);
        assert_told(&error, &told);
        let found = findings(&installation, dialect, SPEC);
        assert_eq!(errors(&found), [object], "{}", act.make);
        installation.execute(&undo);
        installation.arm();
        installation.execute(&make);
        for (routine, options) in [
            ("run", json!({})),
            ("run", json!({"dry_run": true})),
            ("purge", json!({"key": [3]})),
        ] {
            let error = installation.call(routine, options).expect_err(act.make);
            assert_told(&error, &told);
        }
        let refused = installation
            .run(json!({"trigger": "SCHEDULED"}))
            .expect("a refusal");
        let reason = refused["reason"].as_str().unwrap_or_default();
        assert!(
            refused["status"] == "refused" && reason.contains(&told),
            "{refused}"
        );
        let verify = installation.call("verify", json!({})).expect("verify");
        let violations = violations(&verify);
        let named = |check: &&Value| {
            told.starts_with(&format!(
                "table {}",
                check["object"].as_str().unwrap_or("?")
            ))
        };
        assert!(violations.iter().any(named), "{violations:?}");
        installation.execute(&undo);
        assert_eq!(contents(&mut installation, dialect), before, "{}", act.make);
    }
    let found = findings(&installation, dialect, SPEC);
    assert_eq!(errors(&found), [""; 0]);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(4))
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM uses"), 2);
}

/// Whether the catalog says what it said when a run found that nothing acts.
fn is_noted(installation: &mut Installation) -> bool {
    installation.execute("CALL W.read_catalog()");
    installation.execute("CALL W.shapes_while_clean(@windrow_noted)");
    installation.number("SELECT @windrow_noted IS NOT NULL") == 1
}

/// Runs, on MySQL and MariaDB, until one notes that nothing acts: not before the tables are two seconds old.
fn until_nothing_acts(installation: &mut Installation) {
    until("a run notes that nothing acts", || {
        installation.run(json!({"dry_run": true})).expect("a run");
        let is_noted = is_noted(installation);
        if !is_noted {
            // The tables must be two seconds old, and each run is work for the server.
            thread::sleep(Duration::from_millis(300));
        }
        Ok(is_noted)
    })
    .expect("it is noted");
}

/// Runs that found nothing look no more as long as the catalog stays as it is. Each of these changes shows in it.
fn what_comes_to_act_once_nothing_did_is_told(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut installation = made(dialect);
    installation.arm();
    for act in acts(dialect).into_iter().step_by(effort::size(4, 1)) {
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        until_nothing_acts(&mut installation);
        installation.execute(&make);
        let error = installation.run(json!({})).expect_err(act.make);
        assert_told(&error, &told);
        installation.execute(&undo);
    }
}

/// A second change within a second shows nowhere: until the tables are older, each run looks for what acts.
fn nothing_is_noted_of_tables_that_were_just_made(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut installation = made(dialect);
    installation.arm();
    until_nothing_acts(&mut installation);
    let mut noted = 0;
    for _ in 0..10 {
        installation.execute("ALTER TABLE audit COMMENT = 'once more'");
        let altered = Instant::now();
        installation.run(json!({"dry_run": true})).expect("a run");
        let is_noted = is_noted(&mut installation);
        if altered.elapsed() < Duration::from_secs(1) {
            assert!(!is_noted);
            noted += 1;
        }
    }
    assert!(noted > 0, "no run within a second");
}

/// A batch looks at its tables once, when it has taken all of them, and waits here before it reads the first row.
fn no_table_of_the_spec_is_altered_during_a_batch(flavour: Flavour) {
    let mut installation = made(dialect_of(flavour));
    installation.arm();
    installation
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    let mut holder = installation.connect();
    let latch = format!(
        "SELECT only_row FROM {}.latch FOR UPDATE",
        installation.control
    );
    holder.execute("BEGIN").expect("a transaction");
    holder.query(&latch, &[]).expect("a lock");
    let (runner, _, number) = installation.call_aside("run", json!({}));
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {number} AND trx_state = 'LOCK WAIT'"
    );
    until("a batch waits for the latch", || {
        assert!(!runner.is_finished(), "it ended");
        // The servers count anew what nobody has asked for a tenth of a second.
        thread::sleep(Duration::from_millis(200));
        Ok(installation.number(&waits) == 1)
    })
    .expect("it gets there");
    installation.execute("SET lock_wait_timeout = 1");
    let error = installation
        .attempt("RENAME TABLE memos TO other_memos")
        .expect_err("the batch has taken it");
    assert!(is_lock_timeout(&error), "{error}");
    holder.execute("COMMIT").expect("the lock is let go");
    let (_, run) = runner.join().expect("no panic");
    let run = run.expect("a run");
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(4))
    );
}

/// The run during which somebody changed the catalog.
fn changed_during_a_run(installation: &mut Installation, change: &str) -> Value {
    let change = |installation: &mut Installation| installation.execute(change);
    installation
        .run_meanwhile(json!({}), change)
        .expect("a run")
}

fn what_comes_to_act_ends_a_run(dialect: Dialect) {
    let mut installation = made(dialect);
    for act in share(dialect, acts(dialect)) {
        refill(&mut installation, SCHEMA);
        installation.arm();
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        let run = changed_during_a_run(&mut installation, &make);
        let reason = run["reason"].as_str().unwrap_or_default();
        assert_eq!(run["status"], "failed", "{}: {run}", act.make);
        assert!(
            reason.contains("catalog changed: ") && reason.contains(&told),
            "{reason}"
        );
        // The first batch took two families; nothing of the others went or changed.
        assert_eq!(run["rules"][0]["families"], 2, "{}: {run}", act.make);
        let kept: Vec<String> = installation.texts(
            "SELECT CONCAT(id, ' ', run_id, ' ', COALESCE(art_id, 0)) FROM uses ORDER BY id",
        );
        assert_eq!(kept, ["23 3 13", "25 5 13", "26 6 14"], "{}", act.make);
        assert_eq!(
            installation.number("SELECT COUNT(*) FROM audit WHERE run_id IS NOT NULL"),
            2
        );
        assert_eq!(
            installation.number(
                "SELECT COUNT(*) FROM runs WHERE retry_of IS NOT NULL AND id IN (3, 4, 5, 6)"
            ),
            2
        );
        installation.execute(&undo);
        installation.arm();
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(
            (&run["status"], &run["rules"][0]["families"]),
            (&json!("done"), &json!(2)),
            "{}",
            act.make
        );
    }
}

/// A rule on UPDATE of a table whose rows only go does no harm. The same one, to the server, may be on DELETE a moment later.
fn a_rule_that_becomes_another_is_told() {
    let mut installation = made(Dialect::Postgres);
    let harmless = "CREATE OR REPLACE RULE acts AS ON UPDATE TO arts DO ALSO DELETE FROM audit";
    let acts = "CREATE OR REPLACE RULE acts AS ON DELETE TO arts DO ALSO DELETE FROM audit";
    let told = "table arts has the rule acts, which acts on DELETE";
    installation.execute(harmless);
    installation.arm();
    let run = changed_during_a_run(&mut installation, acts);
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(run["status"] == "failed" && reason.contains(told), "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM audit"), 2);
    installation.execute(harmless);
    installation.arm();
    installation.execute(acts);
    let error = installation
        .run(json!({}))
        .expect_err("a rule that acts is there");
    assert_told(&error, told);
}

/// Nothing acted by the spec that was armed. Who breaks off an installation has none; who finishes it has another one.
fn what_acts_is_judged_by_the_spec_that_is_there(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.execute(
        "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE",
    );
    installation.arm();
    if dialect != Dialect::Postgres {
        until_nothing_acts(&mut installation);
    }
    let edge = r#"uses = { key = "id integer", parents = ["run_id -> runs.id"#;
    let other = SPEC.replace(edge, &format!("{edge} set null"));
    assert_ne!(other, SPEC);
    let bundle = installation.bundle(&graph_of(&other));
    for statement in bundle.files.iter().flat_map(|file| &file.statements) {
        installation.execute(&statement.sql);
        if statement.what.to_string() == "register the tables of the spec" {
            break;
        }
    }
    let error = installation.run(json!({})).expect_err("half a spec");
    assert_told(&error, "an installation is not finished");
    // A new session, without the role and the settings of the one that broke off.
    installation.session = installation.connect();
    installation.install(&graph_of(&other));
    let error = installation
        .run(json!({}))
        .expect_err("a key that the spec does not know");
    assert_told(
        &error,
        "table uses references runs by acts (on delete cascade)",
    );
}

/// A run has looked at the catalog, and waits for a row of the ledger before its first batch. What comes to act meanwhile is not
/// taken for what was looked at.
fn what_comes_to_act_as_a_run_begins_ends_it(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.arm();
    // It closes a run whose session is gone.
    installation.execute(match dialect {
        Dialect::Postgres => "INSERT INTO W.run (run_id, trigger, dry_run, options, as_of, deadline) OVERRIDING SYSTEM VALUE VALUES (999, 'MANUAL', false, '{}', now(), now())",
        Dialect::Mysql | Dialect::Mariadb => "INSERT INTO W.run (run_id, `trigger`, dry_run, options, as_of, deadline, backend_pid, node, started_by) SELECT 999, 'MANUAL', false, '{}', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 1, c.server_identity, USER() FROM W.control AS c",
    });
    let mut calls = vec![("run", json!({}))];
    if dialect == Dialect::Postgres {
        calls.push(("purge", json!({"key": [3]})));
    }
    for (name, options) in calls {
        installation
            .execute("UPDATE W.run SET status = 'running', finished_at = NULL WHERE run_id = 999");
        let mut other = installation.connect();
        let locked = format!(
            "SELECT run_id FROM {}.run WHERE run_id = 999 FOR UPDATE",
            installation.control
        );
        other.execute("BEGIN").expect("a transaction");
        other.query(&locked, &[]).expect("a lock");
        let (runner, _, number) = installation.call_aside(name, options);
        installation.until_locked("a call that waits for the ledger", &runner, number);
        installation.execute(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE",
        );
        other.execute("ROLLBACK").expect("the end of it");
        let (_, answer) = runner.join().expect("no panic");
        let told = match answer {
            Ok(document) => {
                assert_eq!((name, &document["status"]), ("run", &json!("failed")));
                document["reason"].to_string()
            }
            // It ends a purge, too.
            Err(error) => {
                assert_eq!(name, "purge", "{error:#}");
                format!("{error:#}")
            }
        };
        assert!(
            told.contains(
                "catalog changed: table audit references runs by acts (on delete cascade)"
            ),
            "{name}: {told}"
        );
        assert_eq!(
            installation.number("SELECT COUNT(*) FROM audit"),
            2,
            "{name}"
        );
        assert_eq!(
            installation.number("SELECT COUNT(*) FROM runs"),
            6,
            "{name}"
        );
        installation.execute(DROP_KEY[2]);
    }
}

/// A batch has looked, and what is set is not locked yet when a key comes that follows it: whoever comes first, no row
/// changes beside windrow. A trigger of the application keeps the batch at work meanwhile.
fn what_comes_to_act_on_what_is_set_during_a_batch_finds_nothing_set(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.execute(match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF OLD.id = 13 THEN
                     PERFORM pg_sleep(3);
                 END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER wait BEFORE DELETE ON arts FOR EACH ROW EXECUTE FUNCTION wait()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TRIGGER wait BEFORE DELETE ON arts FOR EACH ROW DO SLEEP(IF(OLD.id = 13, 3, 0))"
        }
    });
    installation.arm();
    let (runner, _, number) = installation.call_aside("run", json!({}));
    installation.until_asleep("a batch that waits in the trigger", &runner, number);
    installation.execute(
        "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE SET NULL",
    );
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    let kept = installation.number("SELECT COUNT(*) FROM audit WHERE run_id IS NOT NULL");
    assert_eq!(kept, 2, "{run}");
    let reason = run["reason"].as_str().unwrap_or_default();
    let told = "catalog changed: table audit references memos by acts (on update set null)";
    match run["status"].as_str() {
        // The key waited for the last batch.
        Some("done") => assert_eq!(run["rules"][0]["families"], 4, "{run}"),
        _ => assert!(reason.contains(told), "{run}"),
    }
}

/// Deleted rows of such a table are history, and no space is freed.
fn a_table_that_keeps_what_its_rows_were_is_told() {
    let dialect = Dialect::Mariadb;
    let mut installation = made(dialect);
    let told = |installation: &Installation| {
        let mut found = all_findings(installation, dialect, SPEC);
        found.retain(|it| it.code == "system-versioning");
        found
    };
    assert!(told(&installation).is_empty());
    installation.execute("ALTER TABLE uses ADD SYSTEM VERSIONING");
    let found = told(&installation);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].severity, found[0].object.as_str()),
        (Severity::Warning, "uses")
    );
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM uses"), 2);
    assert_eq!(
        installation.number("SELECT COUNT(*) FROM uses FOR SYSTEM_TIME ALL"),
        4
    );
}
