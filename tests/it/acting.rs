//! What acts beside windrow's own statements when a row goes: foreign keys that the spec does not list, rules, tables that
//! inherit, other collations, tables that are swapped. Each is told by its name before a run, and in every batch of one.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::fit::{self, Finding, Severity};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, bytes_of, columns_of, violations};
use crate::support::patience::until;

tests! {
    each_server: [
        what_acts_is_told_before_a_run,
        what_comes_to_act_ends_a_run,
        what_comes_to_act_as_a_run_begins_ends_it,
        a_table_in_the_place_of_another_is_told,
        other_columns_are_told,
        what_the_spec_accounts_for_passes,
        a_key_on_what_is_not_set_passes,
        what_comes_to_act_on_what_is_set_during_a_batch_finds_nothing_set,
        columns_that_stand_elsewhere_are_told,
        triggers_on_what_is_set_are_told,
        what_acts_is_told_before_a_stamp,
        what_comes_to_act_ends_a_stamp,
        what_compares_otherwise_is_told,
        a_key_may_only_refuse_where_rows_stay,
    ],
    on_postgres: [
        keys_of_partitions_act_on_their_table,
        keys_of_the_whole_act_on_a_partition,
        a_partition_that_comes_during_a_batch_rolls_it_back,
        collations_that_take_different_keys_for_equal_are_told,
        triggers_of_parts_of_parts_are_told,
    ],
    on_mariadb: [
        a_table_that_keeps_what_its_rows_were_is_told,
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

/// Something in the catalog that acts, how it goes again, and how it is told.
struct Act<'a> {
    make: &'a str,
    undo: &'a str,
    told: &'a str,
    /// The object that `check` names.
    object: &'a str,
}

const DROP_KEY: [&str; 3] = [
    "ALTER TABLE uses DROP CONSTRAINT acts",
    "ALTER TABLE runs DROP CONSTRAINT acts",
    "ALTER TABLE audit DROP CONSTRAINT acts",
];

fn acts(dialect: Dialect) -> Vec<Act<'static>> {
    let act = |make, undo, told, object| Act {
        make,
        undo,
        told,
        object,
    };
    let [of_uses, of_runs, of_audit] = DROP_KEY;
    let mut acts = vec![
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE CASCADE",
            of_uses,
            "table uses references arts by acts (on delete cascade)",
            "uses",
        ),
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE SET NULL",
            of_uses,
            "table uses references arts by acts (on delete set null)",
            "uses",
        ),
        act(
            "ALTER TABLE runs ADD CONSTRAINT acts FOREIGN KEY (retry_of) REFERENCES runs (id) ON DELETE CASCADE",
            of_runs,
            "table runs references runs by acts (on delete cascade)",
            "runs",
        ),
        act(
            "ALTER TABLE runs ADD CONSTRAINT acts FOREIGN KEY (retry_of) REFERENCES runs (id) ON DELETE SET NULL",
            of_runs,
            "table runs references runs by acts (on delete set null)",
            "runs",
        ),
        act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE",
            of_audit,
            "table audit references runs by acts (on delete cascade)",
            "audit",
        ),
        act(
            "CREATE TABLE other (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE)",
            "DROP TABLE other",
            "table other references runs by acts (on delete cascade)",
            "other",
        ),
        // The column that it names is set.
        act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE CASCADE",
            of_audit,
            "table audit references memos by acts (on update cascade)",
            "audit",
        ),
        // What it names is made of the column that is set.
        act(
            "ALTER TABLE memos ADD COLUMN twin integer GENERATED ALWAYS AS (run_id + 0) STORED, ADD CONSTRAINT twins UNIQUE (twin); ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (twin) ON UPDATE CASCADE",
            "ALTER TABLE audit DROP CONSTRAINT acts; ALTER TABLE memos DROP CONSTRAINT twins, DROP COLUMN twin",
            "table audit references memos by acts (on update cascade)",
            "audit",
        ),
        // An edge joins the same tables, by another column.
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts_too FOREIGN KEY (art_run) REFERENCES runs (id) ON DELETE CASCADE",
            "ALTER TABLE uses DROP CONSTRAINT acts_too",
            "table uses references runs by acts_too (on delete cascade)",
            "uses",
        ),
        act(
            "ALTER TABLE uses ADD CONSTRAINT acts FOREIGN KEY (art_id, art_run) REFERENCES arts (id, run_id) ON DELETE CASCADE",
            of_uses,
            "table uses references arts by acts (on delete cascade)",
            "uses",
        ),
    ];
    acts.extend(match dialect {
        Dialect::Postgres => vec![
            act(
                "ALTER TABLE uses ALTER art_id SET DEFAULT 12, ADD CONSTRAINT acts FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE SET DEFAULT",
                of_uses,
                "table uses references arts by acts (on delete set default)",
                "uses",
            ),
            act(
                "CREATE SCHEMA aside; CREATE TABLE aside.uses (id integer, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE)",
                "DROP SCHEMA aside CASCADE",
                "table aside.uses references runs by acts (on delete cascade)",
                "aside.uses",
            ),
            act(
                "CREATE RULE acts AS ON DELETE TO arts DO ALSO DELETE FROM audit",
                "DROP RULE acts ON arts",
                "table arts has the rule acts",
                "arts",
            ),
            act(
                "CREATE TABLE runs_kept () INHERITS (runs); INSERT INTO runs_kept (id, state, ended) VALUES (103, 'done', '2025-01-03 00:00:00')",
                "DROP TABLE runs_kept",
                "table runs_kept inherits from runs",
                "runs_kept",
            ),
            act(
                "CREATE RULE acts AS ON UPDATE TO memos DO ALSO DELETE FROM audit",
                "DROP RULE acts ON memos",
                "table memos has the rule acts, which acts on UPDATE",
                "memos",
            ),
            act(
                "CREATE TABLE memos_kept () INHERITS (memos); INSERT INTO memos_kept (id, run_id) VALUES (103, 3)",
                "DROP TABLE memos_kept",
                "table memos_kept inherits from memos",
                "memos_kept",
            ),
        ],
        Dialect::Mysql | Dialect::Mariadb => vec![
            act(
                "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.uses (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.runs (id) ON DELETE CASCADE)",
                "DROP DATABASE aside",
                "table aside.uses references runs by acts (on delete cascade)",
                "aside.uses",
            ),
            act(
                "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.memos (run_id) ON UPDATE CASCADE)",
                "DROP DATABASE aside",
                "table aside.bills references memos by acts (on update cascade)",
                "aside.bills",
            ),
            act(
                "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.memos (run_id) ON UPDATE SET NULL)",
                "DROP DATABASE aside",
                "table aside.bills references memos by acts (on update set null)",
                "aside.bills",
            ),
            act(
                "ALTER TABLE uses ENGINE = MyISAM",
                "ALTER TABLE uses ENGINE = InnoDB",
                "table uses has the engine MyISAM",
                "uses",
            ),
            act(
                "ALTER TABLE memos ENGINE = MyISAM",
                "ALTER TABLE memos ENGINE = InnoDB",
                "table memos has the engine MyISAM",
                "memos",
            ),
        ],
    });
    // Where it refuses, the run would end without its ledger.
    if dialect == Dialect::Mariadb {
        acts.extend([
            act(
                "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE RESTRICT",
                of_audit,
                "table audit references memos by acts (on update restrict)",
                "audit",
            ),
            act(
                "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES memos (run_id) ON UPDATE NO ACTION",
                of_audit,
                "table audit references memos by acts (on update no action)",
                "audit",
            ),
            act(
                "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, run_id integer, CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES HERE.memos (run_id) ON UPDATE RESTRICT)",
                "DROP DATABASE aside",
                "table aside.bills references memos by acts (on update restrict)",
                "aside.bills",
            ),
        ]);
    }
    acts
}

fn made(dialect: Dialect) -> Installation {
    Installation::of(dialect, SCHEMA, &graph_of(SPEC))
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
    for act in acts(dialect) {
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

/// The run during which somebody changed the catalog.
fn changed_during_a_run(installation: &mut Installation, change: &str) -> Value {
    let change = |installation: &mut Installation| installation.execute(change);
    installation
        .run_meanwhile(json!({}), change)
        .expect("a run")
}

fn what_comes_to_act_ends_a_run(dialect: Dialect) {
    for act in acts(dialect) {
        let mut installation = made(dialect);
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
        let (_, document) = runner.join().expect("no panic");
        let document = document.expect("a document");
        let told = if name == "run" {
            &document["reason"]
        } else {
            &document["rules"][0]["failures"][0]["message"]
        };
        let reason = told.as_str().unwrap_or_default();
        assert_eq!(document["status"], "failed", "{name}: {document}");
        assert!(
            reason.contains(
                "catalog changed: table audit references runs by acts (on delete cascade)"
            ),
            "{name}: {document}"
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

/// As log rotation, gh-ost and pt-online-schema-change do it.
fn swap(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "ALTER TABLE uses RENAME TO uses_old; CREATE TABLE uses (LIKE uses_old INCLUDING ALL);
             GRANT ALL ON uses TO PUBLIC"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TABLE uses_new LIKE uses; RENAME TABLE uses TO uses_old, uses_new TO uses"
        }
    }
}

/// InnoDB knows by the second when a table was made.
fn until_a_second_old(installation: &mut Installation, dialect: Dialect) {
    if dialect != Dialect::Postgres {
        let young = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND create_time > NOW() - INTERVAL 2 SECOND";
        until("tables of another second", || {
            Ok(installation.number(young) == 0)
        })
        .expect("time passes");
    }
}

fn a_table_in_the_place_of_another_is_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    // An ALTER TABLE between two runs is nothing to stop for.
    installation.execute("ALTER TABLE uses ADD COLUMN note varchar(20)");
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    installation.execute(swap(dialect));
    let told = "catalog changed: table uses is another one";
    let error = installation
        .run(json!({}))
        .expect_err("a table that was swapped");
    assert_told(&error, told);
    let verify = installation.call("verify", json!({})).expect("verify");
    let named = violations(&verify);
    assert!(
        named.iter().any(|check| check["check"] == "catalog"),
        "{named:?}"
    );
    // Who arms it has looked.
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let run = changed_during_a_run(
        &mut installation,
        &swap(dialect).replace("uses_old", "uses_older"),
    );
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(
        run["status"] == "failed" && reason.contains("catalog changed: table uses"),
        "{run}"
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), 3);
    assert_eq!(installation.number("SELECT COUNT(*) FROM uses_old"), 3);
}

/// What a key is compared by is no longer what it was: wider, or with another collation.
fn other_columns_are_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let wider = match dialect {
        Dialect::Postgres => "ALTER TABLE uses ALTER run_id TYPE bigint",
        Dialect::Mysql | Dialect::Mariadb => "ALTER TABLE uses MODIFY run_id bigint NOT NULL",
    };
    let run = changed_during_a_run(&mut installation, wider);
    let told = "catalog changed: table uses has other columns for its keys or edges";
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(run["status"] == "failed" && reason.contains(told), "{run}");
    let error = installation.run(json!({})).expect_err("another type");
    assert_told(&error, told);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    // An index is none of these.
    installation.execute("INSERT INTO runs (id, state, ended) VALUES (7, 'done', '2025-01-01 00:00:00'), (8, 'done', '2025-01-02 00:00:00'), (9, 'done', '2025-01-03 00:00:00')");
    let run = changed_during_a_run(&mut installation, "CREATE INDEX of_art ON uses (art_id)");
    assert_eq!(run["status"], "done", "{run}");
}

/// The spec names the keys, each with what it does.
fn what_the_spec_accounts_for_passes(dialect: Dialect) {
    let spec = SPEC
        .replace(
            "uses = { key = \"id integer\", parents = [\"run_id -> runs.id\"] }",
            "uses = { key = \"id integer\", parents = [\"run_id -> runs.id\", \"art_id -> arts.id set null\"] }\n\
             notes = { key = \"id integer\", parents = [\"run_id -> runs.id\"] }\n\
             bills = { parents = [\"run_id -> runs.id restrict\"] }",
        )
        .replace("[ignore]\naudit = \"kept for the auditors\"\n", "");
    let schema = format!(
        "{SCHEMA};
         DROP TABLE audit;
         CREATE TABLE notes (id integer NOT NULL PRIMARY KEY, run_id integer);
         CREATE TABLE bills (id integer NOT NULL PRIMARY KEY, run_id integer);
         INSERT INTO notes (id, run_id) VALUES (41, 1), (45, 5);
         INSERT INTO bills (id, run_id) VALUES (52, 2);
         ALTER TABLE uses ADD CONSTRAINT u FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE;
         ALTER TABLE uses ADD CONSTRAINT a FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE SET NULL;
         ALTER TABLE notes ADD CONSTRAINT n FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE SET NULL;
         ALTER TABLE bills ADD CONSTRAINT b FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE"
    );
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    let found = findings(&installation, dialect, &spec);
    let said: Vec<&Finding> = found
        .iter()
        .filter(|it| it.code != "missing-index")
        .collect();
    assert!(said.is_empty(), "{said:?}");
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (
            &run["status"],
            &run["rules"][0]["families"],
            &run["rules"][0]["skipped"]
        ),
        (&json!("done"), &json!(3), &json!({"REFERENCED": 1})),
        "{run}"
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM bills"), 1);
    assert_eq!(installation.number("SELECT COUNT(*) FROM notes"), 1);
    assert_eq!(
        installation.number("SELECT COUNT(*) FROM uses WHERE art_id IS NULL"),
        2
    );

    // The same key with another effect is another matter.
    installation.execute("ALTER TABLE uses DROP CONSTRAINT a");
    installation.execute("ALTER TABLE uses ADD CONSTRAINT a FOREIGN KEY (art_id) REFERENCES arts (id) ON DELETE CASCADE");
    assert_eq!(errors(&findings(&installation, dialect, &spec)), ["uses"]);
    let error = installation.run(json!({})).expect_err("another effect");
    assert_told(
        &error,
        "table uses references arts by a (on delete cascade)",
    );
}

/// Of a table with a column that is set, other columns are not: what follows them has nothing to do.
fn a_key_on_what_is_not_set_passes(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.arm();
    let make = match dialect {
        Dialect::Postgres => {
            "CREATE TABLE bills (id integer, memo_id integer CONSTRAINT acts REFERENCES memos (id) ON UPDATE CASCADE)"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, memo_id integer, CONSTRAINT acts FOREIGN KEY (memo_id) REFERENCES HERE.memos (id) ON UPDATE CASCADE)"
        }
    };
    let make = text_for(&mut installation, dialect, make);
    let run = changed_during_a_run(&mut installation, &make);
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(4)),
        "{run}"
    );
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(errors(&findings(&installation, dialect, SPEC)), [""; 0]);
    if dialect != Dialect::Postgres {
        let drop = text_for(&mut installation, dialect, "DROP DATABASE aside");
        installation.execute(&drop);
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

/// Another column came in the place of one, by its name; columns that are new change nothing.
fn columns_that_stand_elsewhere_are_told(dialect: Dialect) {
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    let new = match dialect {
        Dialect::Postgres => {
            "ALTER TABLE uses ADD note varchar(20); ALTER TABLE runs ADD note integer; ALTER TABLE memos ADD note integer"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "ALTER TABLE uses ADD note varchar(20) FIRST; ALTER TABLE runs ADD note integer AFTER id; ALTER TABLE memos ADD note integer, DROP KEY run_id"
        }
    };
    let run = changed_during_a_run(&mut installation, new);
    assert_eq!(
        (&run["status"], &run["rules"][0]["families"]),
        (&json!("done"), &json!(4)),
        "{run}"
    );
    installation.execute("INSERT INTO runs (id, state, ended) VALUES (7, 'done', '2025-01-01 00:00:00'), (8, 'done', '2025-01-02 00:00:00'), (9, 'done', '2025-01-03 00:00:00')");
    until_a_second_old(&mut installation, dialect);
    let swap = match dialect {
        Dialect::Postgres => {
            "ALTER TABLE uses RENAME run_id TO run_was; ALTER TABLE uses ADD run_id integer"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "ALTER TABLE uses CHANGE run_id run_was integer NOT NULL, ADD run_id integer NOT NULL"
        }
    };
    let run = changed_during_a_run(&mut installation, swap);
    let told = match dialect {
        Dialect::Postgres => "catalog changed: table uses has other columns for its keys or edges",
        Dialect::Mysql | Dialect::Mariadb => {
            "catalog changed: table uses has its columns in another order: another column may stand in the place of one of its keys or edges"
        }
    };
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(run["status"] == "failed" && reason.contains(told), "{run}");
    let error = installation.run(json!({})).expect_err("another column");
    assert_told(&error, told);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}

/// Code of the application that runs as windrow sets a column: told, unless the spec accepts it by name.
fn triggers_on_what_is_set_are_told(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.execute(match dialect {
        Dialect::Postgres => "CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER of_memos AFTER UPDATE OF run_id ON memos FOR EACH ROW EXECUTE FUNCTION idle();
             CREATE TRIGGER of_ids AFTER UPDATE OF id OR DELETE ON memos FOR EACH ROW EXECUTE FUNCTION idle();
             CREATE TRIGGER off AFTER UPDATE ON memos FOR EACH ROW EXECUTE FUNCTION idle();
             ALTER TABLE memos DISABLE TRIGGER off;
             CREATE TRIGGER of_arts AFTER UPDATE ON arts FOR EACH ROW EXECUTE FUNCTION idle();
             CREATE TRIGGER of_uses AFTER DELETE ON uses FOR EACH ROW EXECUTE FUNCTION idle()",
        Dialect::Mysql | Dialect::Mariadb => "CREATE TRIGGER of_memos AFTER UPDATE ON memos FOR EACH ROW SET @idle = 1;
             CREATE TRIGGER of_ids AFTER DELETE ON memos FOR EACH ROW SET @idle = 1;
             CREATE TRIGGER of_arts AFTER UPDATE ON arts FOR EACH ROW SET @idle = 1;
             CREATE TRIGGER of_uses AFTER DELETE ON uses FOR EACH ROW SET @idle = 1",
    });
    let mut told = warned(&installation, dialect, SPEC);
    told.sort();
    assert_eq!(told, ["memos of_memos", "uses of_uses"]);
    let memos = "memos = { parents = [\"run_id -> runs.id set null\"]";
    let accepts = |names: &str| SPEC.replace(memos, &format!("{memos}, triggers = [{names}]"));
    let told = warned(&installation, dialect, &accepts("\"of_memos\""));
    assert_eq!(told, ["uses of_uses"]);
    // What is accepted and never fires is told, too.
    let mut told = warned(&installation, dialect, &accepts("\"of_memos\", \"of_ids\""));
    told.sort();
    assert_eq!(told, ["memos of_ids", "uses of_uses"]);
    // A stamp sets columns of tables whose rows go.
    let mut stamped = stamped(dialect);
    stamped.execute(match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER of_events AFTER UPDATE ON events FOR EACH ROW EXECUTE FUNCTION idle()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TRIGGER of_events AFTER UPDATE ON events FOR EACH ROW SET @idle = 1"
        }
    });
    assert_eq!(warned(&stamped, dialect, TASKS), ["events of_events"]);
}

/// A row of a part of a part goes with its trigger, wherever the part stands; a trigger for a whole statement that names the
/// part does not fire.
fn triggers_of_parts_of_parts_are_told() {
    let schema = "
        CREATE TABLE events (id integer, state varchar(20), ended timestamp) PARTITION BY RANGE (id);
        CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
        CREATE TABLE events_11 PARTITION OF events_1 FOR VALUES FROM (0) TO (50);
        CREATE SCHEMA aside;
        CREATE TABLE aside.events_12 PARTITION OF events_1 FOR VALUES FROM (50) TO (100);
        CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER below AFTER DELETE ON events_11 FOR EACH ROW EXECUTE FUNCTION idle();
        CREATE TRIGGER beside AFTER DELETE ON aside.events_12 FOR EACH ROW EXECUTE FUNCTION idle();
        CREATE TRIGGER never AFTER DELETE ON events_11 FOR EACH STATEMENT EXECUTE FUNCTION idle()";
    let installation = Installation::of(Dialect::Postgres, schema, &graph_of(EVENTS));
    let told = warned(&installation, Dialect::Postgres, EVENTS);
    assert_eq!(told, ["events below", "events beside"]);
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

/// Rows with a removal time, which a stamp sets.
const TASKS: &str = r#"
name = "acting"

[tables]
tasks  = { key = "id integer" }
events = { parents = ["root_id -> tasks.id"] }

[rules.tasks]
strategy  = "removal-time"
root      = "tasks"
time      = "remove_at timestamp"
end_time  = "ended"
tables    = ["events: root_id", "tasks: root_id"]
unit      = "window"
retention = { safety_lag = "0s" }

[rules.tasks.stamp]
start = "started"
per   = "kind varchar"
from  = "definition: id -> keep days"
own   = ["events: root_id"]
"#;

const TASK_SCHEMA: &str = "
CREATE TABLE tasks (id integer NOT NULL PRIMARY KEY, root_id integer, kind varchar(20), started timestamp NULL, ended timestamp NULL, remove_at timestamp NULL);
CREATE UNIQUE INDEX of_time ON tasks (remove_at, id);
CREATE TABLE events (id integer NOT NULL PRIMARY KEY, root_id integer, remove_at timestamp NULL);
CREATE TABLE audit (id integer NOT NULL PRIMARY KEY, task_id integer, task_time timestamp NULL);
CREATE TABLE definition (id varchar(20) NOT NULL PRIMARY KEY, keep integer);
INSERT INTO tasks (id, root_id, kind, started, ended, remove_at) VALUES
    (1, 1, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', '2031-01-01 00:00:00'),
    (2, 2, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', '2031-01-01 00:00:00'),
    (3, 3, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', '2031-01-01 00:00:00');
INSERT INTO events (id, root_id, remove_at) VALUES (11, 1, '2031-01-01 00:00:00'), (13, 3, '2031-01-01 00:00:00');
INSERT INTO audit VALUES (23, 3, '2031-01-01 00:00:00')";

const FOLLOWS: &str = "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (task_time, task_id) REFERENCES tasks (remove_at, id) ON UPDATE CASCADE";

/// What acts on what a stamp sets, how it goes again, and how it is told.
fn stamp_acts(dialect: Dialect) -> Vec<Act<'static>> {
    let act = |make, undo, told| Act {
        make,
        undo,
        told,
        object: "",
    };
    let mut acts = vec![act(
        FOLLOWS,
        DROP_KEY[2],
        "table audit references tasks by acts (on update cascade)",
    )];
    acts.push(match dialect {
        Dialect::Postgres => act(
            "CREATE RULE acts AS ON UPDATE TO events DO INSTEAD NOTHING",
            "DROP RULE acts ON events",
            "table events has the rule acts, which acts on UPDATE",
        ),
        Dialect::Mysql | Dialect::Mariadb => act(
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, at timestamp NULL, task integer, CONSTRAINT acts FOREIGN KEY (at, task) REFERENCES HERE.tasks (remove_at, id) ON UPDATE CASCADE)",
            "DROP DATABASE aside",
            "table aside.bills references tasks by acts (on update cascade)",
        ),
    });
    if dialect == Dialect::Mariadb {
        acts.push(act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (task_time, task_id) REFERENCES tasks (remove_at, id)",
            DROP_KEY[2],
            "table audit references tasks by acts (on update ",
        ));
    }
    acts
}

fn stamped(dialect: Dialect) -> Installation {
    Installation::of(dialect, TASK_SCHEMA, &graph_of(TASKS))
}

fn what_acts_is_told_before_a_stamp(dialect: Dialect) {
    let mut installation = stamped(dialect);
    let to = json!({"to": "2032-01-01T00:00:00Z", "all": true});
    let times = "SELECT COUNT(*) FROM tasks WHERE remove_at < '2031-06-01 00:00:00'";
    for act in stamp_acts(dialect) {
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        installation.execute(&make);
        let mut dry = to.clone();
        dry["dry_run"] = json!(true);
        for options in [&to, &dry] {
            let error = installation
                .call("stamp", options.clone())
                .expect_err(act.make);
            assert_told(&error, &told);
        }
        assert_eq!(installation.number(times), 3, "{}", act.make);
        installation.execute(&undo);
    }
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    installation.execute(&swap(dialect).replace("uses", "events"));
    let error = installation
        .call("stamp", to.clone())
        .expect_err("a table that was swapped");
    assert_told(&error, "catalog changed: table events is another one");
    installation.arm();
    let stamp = installation.call("stamp", to).expect("a stamp");
    assert_eq!(
        (&stamp["status"], &stamp["rules"][0]["rows"]),
        (&json!("done"), &json!(3)),
        "{stamp}"
    );
    let left = "SELECT COUNT(*) FROM W.catalog_state WHERE run_id > 0";
    assert_eq!(installation.number(left), 0);
}

/// What comes while the first batch is at work, in a trigger of the application: it is there before the next one, or before
/// the first one commits, where the locks let it come.
fn what_comes_to_act_ends_a_stamp(dialect: Dialect) {
    let swapped = swap(dialect).replace("uses", "events");
    let mut acts = stamp_acts(dialect);
    acts.push(Act {
        make: &swapped,
        undo: "",
        told: "table events",
        object: "",
    });
    for act in acts {
        let mut installation = stamped(dialect);
        installation.execute(match dialect {
            Dialect::Postgres => "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN
                     IF OLD.id = 1 THEN
                         PERFORM pg_sleep(3);
                     END IF;
                     RETURN NEW;
                 END $$;
                 CREATE TRIGGER wait BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION wait()",
            Dialect::Mysql | Dialect::Mariadb => "CREATE TRIGGER wait BEFORE UPDATE ON tasks FOR EACH ROW DO SLEEP(IF(OLD.id = 1, 3, 0))",
        });
        until_a_second_old(&mut installation, dialect);
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        let options = json!({"to": "2032-01-01T00:00:00Z", "all": true, "chunk": 1});
        let (runner, _, number) = installation.call_aside("stamp", options.clone());
        installation.until_asleep("a batch in the trigger", &runner, number);
        installation.execute(&make);
        let (_, stamp) = runner.join().expect("a session");
        let stamp = stamp.expect("a stamp");
        let reason = stamp["reason"].as_str().unwrap_or_default();
        assert_eq!(stamp["status"], "failed", "{}: {stamp}", act.make);
        assert!(
            reason.contains("catalog changed: ") && reason.contains(&told),
            "{reason}"
        );
        let kept = "SELECT COUNT(*) FROM tasks WHERE remove_at < '2031-06-01 00:00:00' AND id > 1";
        assert_eq!(installation.number(kept), 2, "{}", act.make);
        let kept = "SELECT COUNT(*) FROM audit WHERE task_time < '2031-06-01 00:00:00'";
        assert_eq!(installation.number(kept), 1, "{}", act.make);
        if !undo.is_empty() {
            installation.execute(&undo);
            let stamp = installation.call("stamp", options).expect("a stamp");
            assert_eq!(stamp["status"], "done", "{}: {stamp}", act.make);
        }
    }
}

const EVENTS: &str = r#"
name = "acting"

[tables]
events = { key = "id integer", indexed = ["ended"] }

[rules.events]
strategy  = "age"
root      = "events"
time      = "ended timestamp"
retention = { default = "30d" }
limits    = { batch_rows = 2 }
"#;

const PARTITIONED: &str = "
CREATE TABLE events (id integer PRIMARY KEY, state varchar(20), ended timestamp) PARTITION BY RANGE (id);
CREATE INDEX ON events (ended);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (100) TO (200);
INSERT INTO events SELECT g, 'done', timestamp '2025-01-01' + g * interval '1 day' FROM generate_series(1, 6) AS g";

fn keys_of_partitions_act_on_their_table() {
    let mut installation = Installation::of(Dialect::Postgres, PARTITIONED, &graph_of(EVENTS));
    installation.arm();
    let bill = "CREATE TABLE bill (id integer, event integer CONSTRAINT acts REFERENCES events_1 (id) ON DELETE CASCADE); INSERT INTO bill VALUES (1, 6)";
    installation.execute(bill);
    let told = "table bill references events by acts (on delete cascade)";
    let error = installation
        .run(json!({}))
        .expect_err("a key to a partition");
    assert_told(&error, told);
    assert_eq!(
        errors(&findings(&installation, Dialect::Postgres, EVENTS)),
        ["bill"]
    );
    installation.execute("DROP TABLE bill");
    let run = changed_during_a_run(&mut installation, bill);
    assert_told(&anyhow::anyhow!("{}", run["reason"]), told);
    assert_eq!(installation.number("SELECT COUNT(*) FROM bill"), 1);
    // A further partition is nothing to stop for, nor is a rule of one, which does nothing where the whole table is named.
    installation.execute("DROP TABLE bill");
    installation.execute("CREATE RULE idle AS ON DELETE TO events_1 DO INSTEAD NOTHING");
    let run = changed_during_a_run(
        &mut installation,
        "CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (200) TO (300)",
    );
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM events"), 0);
}

/// The spec names a partition, and keys name the table that it is a part of.
fn keys_of_the_whole_act_on_a_partition() {
    let spec = EVENTS.replace("events", "events_1");
    let mut installation = Installation::of(Dialect::Postgres, PARTITIONED, &graph_of(&spec));
    installation.arm();
    installation.execute("CREATE TABLE bill (id integer, event integer CONSTRAINT acts REFERENCES events (id) ON DELETE CASCADE); INSERT INTO bill VALUES (1, 6)");
    let told = "table bill references events_1 by acts (on delete cascade)";
    let error = installation.run(json!({})).expect_err("a key to the whole");
    assert_told(&error, told);
    let found = findings(&installation, Dialect::Postgres, &spec);
    assert_eq!(errors(&found), ["bill"]);
    installation.execute("DROP TABLE bill");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM events"), 0);
}

/// The locks of a batch do not keep a partition from being attached, and what refers to it comes with it: the batch looks again
/// before it commits. A trigger of the application keeps the batch at work meanwhile.
fn a_partition_that_comes_during_a_batch_rolls_it_back() {
    let schema = format!(
        "{PARTITIONED};
         CREATE TABLE loose (LIKE events INCLUDING ALL);
         INSERT INTO loose VALUES (201, 'done', '2025-01-01');
         CREATE TABLE bill (id integer, event integer CONSTRAINT acts REFERENCES loose (id) ON DELETE CASCADE);
         INSERT INTO bill VALUES (1, 201);
         CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM pg_advisory_xact_lock(77);
             RETURN NULL;
         END $$;
         CREATE TRIGGER wait AFTER DELETE ON events_1 FOR EACH ROW EXECUTE FUNCTION wait()"
    );
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph_of(EVENTS));
    installation.arm();
    installation.execute("DO 'BEGIN PERFORM pg_advisory_lock(77); END'");
    let (runner, _, _) = installation.call_aside("run", json!({}));
    until("a batch that waits in the trigger", || {
        Ok(installation.number("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted") > 0)
    })
    .expect("a batch that waits");
    installation
        .execute("ALTER TABLE events ATTACH PARTITION loose FOR VALUES FROM (200) TO (300)");
    installation.execute("DO 'BEGIN PERFORM pg_advisory_unlock(77); END'");
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(
        run["status"] == "failed"
            && reason.contains("catalog changed: table bill references events by acts"),
        "{run}"
    );
    assert_eq!(run["rules"][0]["rows"], 0, "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM events_1"), 6);
    assert_eq!(installation.number("SELECT COUNT(*) FROM bill"), 1);
}

fn collations_that_take_different_keys_for_equal_are_told() {
    let spec = SPEC
        .replace(
            "runs = { key = \"id integer\" }",
            "runs = { key = \"id varchar\" }",
        )
        .replace(
            "arts = { key = \"id integer\", parents = [\"run_id -> runs.id\"] }\n",
            "",
        );
    let schema = "
        CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE runs (id varchar(20) PRIMARY KEY, state varchar(20), ended timestamp);
        CREATE TABLE uses (id integer PRIMARY KEY, run_id varchar(20) COLLATE loose);
        CREATE TABLE memos (run_id varchar(20));
        CREATE TABLE audit (id integer);
        INSERT INTO runs VALUES ('due', 'done', '2025-01-01'), ('DUE', 'running', NULL);
        INSERT INTO uses VALUES (1, 'due'), (2, 'DUE')";
    let mut installation = Installation::of(Dialect::Postgres, schema, &graph_of(&spec));
    let told = "table uses compares run_id otherwise than runs does id";
    let error = installation
        .attempt("CALL W.arm()")
        .expect_err("a collation");
    assert_told(&error, told);
    let found = findings(&installation, Dialect::Postgres, &spec);
    assert_eq!(errors(&found), ["uses.run_id"]);
    assert!(found.iter().any(|it| it.code == "collation-differs"));
    installation.execute("ALTER TABLE uses ALTER run_id TYPE varchar(20) COLLATE \"default\"");
    installation.arm();
    installation.execute("ALTER TABLE uses ALTER run_id TYPE varchar(20) COLLATE loose");
    let error = installation.run(json!({})).expect_err("a collation");
    assert_told(&error, told);
    assert_eq!(installation.number("SELECT COUNT(*) FROM uses"), 2);
    installation.execute("ALTER TABLE uses ALTER run_id TYPE varchar(20) COLLATE \"default\"");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(installation.texts("SELECT run_id FROM uses"), ["DUE"]);
}

/// Types and collations by which a row would be taken for one of another parent.
fn what_compares_otherwise_is_told(dialect: Dialect) {
    let rounds: &[(&str, &str, &str, &str, &str)] = match dialect {
        Dialect::Postgres => &[(
            "bigint",
            "bigint",
            "double precision",
            "9007199254740993, 9007199254740992",
            "bigint",
        )],
        Dialect::Mysql | Dialect::Mariadb => &[
            (
                "bigint",
                "bigint",
                "double",
                "9007199254740993, 9007199254740992",
                "bigint",
            ),
            (
                "varchar",
                "varchar(20) CHARACTER SET latin1 COLLATE latin1_bin",
                "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                "'due', 'DUE'",
                "varchar(20) CHARACTER SET latin1 COLLATE latin1_bin",
            ),
            ("integer", "integer", "varchar(20)", "7, 8", "integer"),
        ],
    };
    for (declared, key, column, keys, mended) in rounds {
        let spec = SPEC
            .replace(
                "runs = { key = \"id integer\" }",
                &format!("runs = {{ key = \"id {declared}\" }}"),
            )
            .replace(
                "arts = { key = \"id integer\", parents = [\"run_id -> runs.id\"] }\n",
                "",
            )
            .replace(
                "memos = { parents = [\"run_id -> runs.id set null\"] }\n",
                "",
            );
        let (due, living) = keys.split_once(", ").expect("two keys");
        let schema = format!(
            "CREATE TABLE runs (id {key} NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL);
             CREATE TABLE uses (id integer NOT NULL PRIMARY KEY, run_id {column});
             CREATE TABLE audit (id integer);
             INSERT INTO runs VALUES ({due}, 'done', '2025-01-01'), ({living}, 'running', NULL);
             INSERT INTO uses VALUES (1, {due}), (2, {living})"
        );
        let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
        let told = "table uses compares run_id otherwise than runs does id";
        let error = installation.attempt("CALL W.arm()").expect_err(column);
        assert_told(&error, told);
        installation.execute(&match dialect {
            Dialect::Postgres => format!("DELETE FROM uses; ALTER TABLE uses ALTER run_id TYPE {mended}; INSERT INTO uses VALUES (1, {due}), (2, {living})"),
            Dialect::Mysql | Dialect::Mariadb => format!("DELETE FROM uses; ALTER TABLE uses MODIFY run_id {mended}; INSERT INTO uses VALUES (1, {due}), (2, {living})"),
        });
        installation.arm();
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(installation.texts("SELECT id FROM uses"), ["2"], "{column}");
    }
}

/// Where the spec says that rows stay, a key that would take them is not what the spec says, on whichever columns it stands:
/// rows that belong to nothing, rows that keep a row which no batch has locked yet, rows whose own time has not come.
fn a_key_may_only_refuse_where_rows_stay(dialect: Dialect) {
    let spec = SPEC
        .replace(
            "uses = { key = \"id integer\", parents = [\"run_id -> runs.id\"] }",
            "uses = { key = \"id integer\", parents = [\"run_id -> runs.id unless 0\"] }\n\
             bills = { parents = [\"art_id -> arts.id restrict\"] }",
        )
        .replace("[rules.runs]", "[rules.visits]\nstrategy = \"removal-time\"\nroot = \"visits\"\ntables = [\"steps: visit_id\", \"visits\"]\ntime = \"removal\"\nunit = \"window\"\n\n[rules.runs]")
        .replace("[tables]", "[tables]\nvisits = { key = \"id integer\" }\nsteps = { parents = [\"visit_id -> visits.id\"] }");
    let schema = format!(
        "{SCHEMA};
         INSERT INTO runs (id, state, ended) VALUES (0, 'done', '2025-01-01 00:00:00');
         INSERT INTO uses (id, run_id) VALUES (20, 0);
         CREATE TABLE bills (id integer NOT NULL PRIMARY KEY, art_id integer);
         INSERT INTO bills VALUES (53, 13);
         CREATE TABLE visits (id integer NOT NULL PRIMARY KEY, removal timestamp NULL);
         CREATE TABLE steps (id integer NOT NULL PRIMARY KEY, visit_id integer, removal timestamp NULL);
         INSERT INTO visits VALUES (1, '2025-01-01 00:00:00');
         INSERT INTO steps VALUES (61, 1, '2025-01-01 00:00:00'), (62, 1, '2037-01-01 00:00:00'), (63, 1, NULL)"
    );
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    for (table, column, parent) in [
        ("uses", "run_id", "runs"),
        ("bills", "art_id", "arts"),
        ("steps", "visit_id", "visits"),
    ] {
        let key = format!(
            "ALTER TABLE {table} ADD CONSTRAINT acts FOREIGN KEY ({column}) REFERENCES {parent} (id)"
        );
        installation.execute(&format!("{key} ON DELETE CASCADE"));
        let told = format!("table {table} references {parent} by acts (on delete cascade)");
        let error = installation.attempt("CALL W.arm()").expect_err(table);
        assert_told(&error, &told);
        assert_eq!(
            errors(&findings(&installation, dialect, &spec)),
            [table],
            "{table}"
        );
        installation.execute(&format!("ALTER TABLE {table} DROP CONSTRAINT acts"));
        installation.execute(&key);
        assert_eq!(errors(&findings(&installation, dialect, &spec)), [""; 0]);
        installation.arm();
        installation.execute(&format!("ALTER TABLE {table} DROP CONSTRAINT acts"));
    }
}
