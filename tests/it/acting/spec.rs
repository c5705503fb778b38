//! What the spec accounts for: keys that it names pass, and a key that does something else does not.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::fit::Finding;

use super::{SCHEMA, SPEC, assert_told, changed_during_a_run, errors, findings, made, text_for};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        what_the_spec_accounts_for_passes,
        a_key_on_what_is_not_set_passes,
        a_key_may_only_refuse_where_rows_stay,
    ],
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
