//! Columns that compare their values otherwise than the keys that they name: by another type or another collation.

use serde_json::json;
use windrow::dialect::Dialect;

use super::{SPEC, assert_told, errors, findings};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        what_compares_otherwise_is_told,
    ],
    on_postgres: [
        texts_of_a_type_that_compares_otherwise_are_told,
        collations_that_take_different_keys_for_equal_are_told,
    ],
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

/// A type whose equal values are spelt otherwise: statements compare texts, and found what is spelt alike only.
fn texts_of_a_type_that_compares_otherwise_are_told() {
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
        CREATE EXTENSION citext;
        CREATE TABLE runs (id citext PRIMARY KEY, state varchar(20), ended timestamp);
        CREATE TABLE uses (id integer PRIMARY KEY, run_id citext REFERENCES runs (id) ON DELETE CASCADE);
        CREATE TABLE memos (run_id citext);
        CREATE TABLE audit (id integer);
        INSERT INTO runs VALUES ('due', 'done', '2025-01-01'), ('old', 'done', '2025-01-01');
        INSERT INTO uses VALUES (1, 'due'), (2, 'OLD')";
    let mut installation = Installation::of(Dialect::Postgres, schema, &graph_of(&spec));
    let told =
        "table memos compares run_id otherwise than runs does id: their types are public.citext";
    let error = installation
        .attempt("CALL W.arm()")
        .expect_err("letters of another size");
    assert_told(&error, told);
    let hint = installation
        .attempt(
            "DO $$ DECLARE hint text; BEGIN PERFORM W.check_catalog(); EXCEPTION WHEN OTHERS THEN
             GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT; RAISE EXCEPTION '%', hint; END $$",
        )
        .expect_err("a hint");
    assert_told(&hint, "Make both columns text");
    installation.execute("ALTER TABLE uses DROP CONSTRAINT uses_run_id_fkey, ALTER run_id TYPE text; ALTER TABLE memos ALTER run_id TYPE text; ALTER TABLE runs ALTER id TYPE text; UPDATE uses SET run_id = lower(run_id)");
    installation.arm();
    // A session that replicates has rules of its own.
    installation.execute(
        "CREATE RULE away AS ON DELETE TO runs DO INSTEAD DELETE FROM audit;
         ALTER TABLE runs ENABLE REPLICA RULE away; SET session_replication_role = replica",
    );
    let error = installation.run(json!({})).expect_err("a rule");
    assert_told(&error, "session_replication_role is replica");
    installation.execute("SET session_replication_role = origin");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM uses"), 0);
}
