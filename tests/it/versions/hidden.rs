//! What an account does not see is not taken for absent, and nobody is advised to write what is refused.

use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use super::{against, database, file, fitted, said, schema, spec};
use crate::harness::tests;
use crate::support::installation::dialect_of;

tests! {
    mysql_and_mariadb: [
        triggers_that_are_not_seen_are_told,
    ],
    on_postgres: [
        a_foreign_partition_is_told,
        a_key_that_sets_some_columns_is_not_advised_to_be_ignored,
    ],
    every_server: [
        what_is_advised_is_accepted,
        a_key_that_no_edge_can_be_is_advised_otherwise,
    ],
}

/// `check` and `init` with an account: the findings and the spec.
fn looked(url: &str, path: &str) -> (String, String) {
    let (code, found, told) = said(url, &["check", path]);
    assert!(code.is_some_and(|code| code < 2), "{told}\n{found}");
    let (code, fitted, told) = said(url, &["init", "--from", path]);
    assert!(code.is_some_and(|code| code < 2), "{told}\n{fitted}");
    (found, fitted)
}

/// The server shows triggers to accounts with TRIGGER, and to others none.
fn triggers_that_are_not_seen_are_told(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut database = database(dialect, "");
    let first = database.name.clone();
    // On MariaDB everybody may do everything in databases that are called like those of tests.
    let name = format!("hidden_{first}");
    database.execute(&format!(
        "CREATE DATABASE {name}; USE {name}; {}
         CREATE TABLE gone (id integer PRIMARY KEY);
         CREATE TRIGGER counts AFTER DELETE ON step FOR EACH ROW INSERT INTO gone VALUES (OLD.id);
         CREATE TRIGGER other AFTER DELETE ON run FOR EACH ROW INSERT INTO gone VALUES (OLD.id); USE {first}",
        schema(dialect)
    ));
    let account = format!("'{name}_t'@'127.0.0.1'");
    let rights = match flavour {
        Flavour::Mysql => "SELECT, INSERT, UPDATE, DELETE, REFERENCES",
        // Who may write sees them there.
        Flavour::Mariadb => "SELECT, REFERENCES",
    };
    database.execute(&format!(
        "CREATE USER {account}; GRANT {rights} ON `{name}`.* TO {account}"
    ));
    let changes = [(
        "indexed = [\"run_id\"] }",
        "indexed = [\"run_id\"], triggers = [\"counts\", \"absent\"] }",
    )];
    let text = spec(&database, "", &changes).replace(
        &format!("database = \"{first}\""),
        &format!("database = \"{name}\""),
    );
    let path = file(&database, "hidden", &text);
    let path = path.to_str().expect("UTF-8");
    let home = |url: String| url.replace(&format!("/{first}"), &format!("/{name}"));
    let url = home(database.superuser()).replace("root@", &format!("{name}_t@"));
    let (unseen, absent, other) = (
        "notice[unseen-triggers]",
        "accepts the trigger `absent`",
        "the trigger `other` fires for each deleted row",
    );
    let left_out = "left out: trigger \"absent\"";
    let is = |(found, fitted): (String, String), seen: [bool; 3], told: &str| {
        for (part, is_there) in [unseen, absent, other].into_iter().zip(seen) {
            assert_eq!(found.contains(part), is_there, "{told}: {part}\n{found}");
        }
        assert!(!found.contains("trigger `counts`"), "{told}: {found}");
        assert_eq!(fitted.contains(left_out), seen[1], "{told}: {fitted}");
        assert!(fitted.contains("\"counts\""), "{told}: {fitted}");
    };
    is(looked(&url, path), [true, false, false], "no right");
    // Of a part of the tables.
    database.execute(&format!("GRANT TRIGGER ON `{name}`.run TO {account}"));
    is(looked(&url, path), [true, false, true], "one table");
    database.execute(&format!("GRANT TRIGGER ON `{name}`.step TO {account}"));
    is(looked(&url, path), [false, true, true], "both tables");
    // By a role, for accounts with it alone.
    database.execute(&format!(
        "REVOKE TRIGGER ON `{name}`.run FROM {account}; REVOKE TRIGGER ON `{name}`.step FROM {account};
         CREATE ROLE {name}_r; GRANT TRIGGER ON `{name}`.* TO {name}_r; GRANT {name}_r TO {account}"
    ));
    is(looked(&url, path), [true, false, false], "an idle role");
    database.execute(&match flavour {
        Flavour::Mysql => format!("SET DEFAULT ROLE {name}_r TO {account}"),
        Flavour::Mariadb => format!("SET DEFAULT ROLE {name}_r FOR {account}"),
    });
    is(looked(&url, path), [false, true, true], "a role");
    database.execute(&format!(
        "DROP ROLE {name}_r; GRANT TRIGGER ON *.* TO {account}"
    ));
    is(looked(&url, path), [false, true, true], "everywhere");
    if flavour == Flavour::Mariadb {
        database.execute(&format!(
            "REVOKE TRIGGER ON *.* FROM {account}; GRANT TRIGGER ON `{name}`.* TO PUBLIC"
        ));
        is(looked(&url, path), [false, true, true], "everybody");
        database.execute(&format!("REVOKE TRIGGER ON `{name}`.* FROM PUBLIC"));
        is(looked(&url, path), [true, false, false], "nobody");
        database.execute(&format!("GRANT DELETE ON `{name}`.* TO {account}"));
        is(looked(&url, path), [false, true, true], "who deletes");
    }
    is(
        looked(&database.superuser(), path),
        [false, true, true],
        "root",
    );
    database.execute(&format!("DROP USER {account}; DROP DATABASE {name}"));
    std::fs::remove_file(path).expect("a spec is removed");
}

/// Rows of a foreign table do not come back when a batch is rolled back.
fn a_foreign_partition_is_told() {
    let dialect = Dialect::Postgres;
    let schema = "
        CREATE TABLE run (id integer NOT NULL, state varchar(20), ended_at timestamp, tenant integer) PARTITION BY RANGE (id);
        CREATE TABLE run_1 PARTITION OF run FOR VALUES FROM (0) TO (100);
        CREATE TABLE run_2 PARTITION OF run FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
        CREATE TABLE step (id integer PRIMARY KEY, run_id integer NOT NULL);
        CREATE INDEX step_run ON step (run_id);
        CREATE FOREIGN DATA WRAPPER files;
        CREATE SERVER files FOREIGN DATA WRAPPER files;";
    let mut database = database(dialect, schema);
    let text = spec(&database, "", &[]);
    let told = |database: &crate::support::installation::Installation| {
        let found = against(database, &text);
        let found = found
            .into_iter()
            .filter(|it| it.contains("\"foreign-partition\""));
        found.collect::<Vec<_>>()
    };
    assert!(told(&database).is_empty());
    database.execute(
        "CREATE SCHEMA aside;
         CREATE FOREIGN TABLE aside.run_3 PARTITION OF run_2 FOR VALUES FROM (150) TO (200) SERVER files",
    );
    let found = told(&database);
    assert!(
        found.len() == 1
            && found[0].contains("aside.run_3")
            && found[0].contains("a partition of `run`"),
        "{found:#?}"
    );
    database.execute("ALTER TABLE run_2 DETACH PARTITION aside.run_3");
    assert!(told(&database).is_empty());
}

/// `SET NULL (column)` acts: its rows are not kept by being ignored.
fn a_key_that_sets_some_columns_is_not_advised_to_be_ignored() {
    let dialect = Dialect::Postgres;
    let database = database(
        dialect,
        &format!(
            "{}
             CREATE UNIQUE INDEX run_part ON run (id, tenant);
             CREATE TABLE bill (id integer PRIMARY KEY, tenant integer NOT NULL, of_run integer,
                 FOREIGN KEY (of_run, tenant) REFERENCES run (id, tenant) ON DELETE SET NULL (of_run));",
            schema(dialect)
        ),
    );
    let changes = [(
        "run  = { key = \"id integer\" }",
        "run  = { key = \"id integer\", unique = [\"id integer, tenant integer\"] }",
    )];
    let (code, text, told) = fitted(&database, &spec(&database, "", &changes));
    assert_eq!(code, Some(1), "{told}");
    let advice = "#   bill = { parents = [\"of_run, tenant -> run(id, tenant) restrict\"] }\n";
    assert!(text.contains(advice), "{text}");
    assert!(!text.contains("[ignore]"), "{text}");
    let wrong = against(&database, &text.replace("#   bill = {", "bill = {"));
    assert!(wrong.is_empty(), "{wrong:#?}\n{text}");
}

/// Foreign keys of tables of the spec, to others of these and to the own one. What the draft says to write into `parents` is accepted.
fn what_is_advised_is_accepted(dialect: Dialect) {
    let add = |table: &str, name: &str, column: &str, of: &str, effect: &str| {
        format!(
            "ALTER TABLE {table} ADD COLUMN {column} integer; ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {of} (id) {effect};"
        )
    };
    let changes = [("step = { parents", "step = { key = \"id integer\", parents")];
    for (key, part) in [
        // A row that is deleted with a run keeps none.
        (
            add("step", "made_by", "made_by", "run", ""),
            "with `made_by -> run.id` among the `parents` of `step` its rows are deleted with them, too",
        ),
        (
            add("step", "made_by", "made_by", "run", "ON DELETE CASCADE"),
            "#   \"made_by -> run.id\"",
        ),
        (
            add("run", "above", "above", "run", ""),
            "with `above -> run.id set null` among the `parents` of `run` its columns are first set to NULL",
        ),
        (
            add("run", "above", "above", "run", "ON DELETE CASCADE"),
            "write `hierarchy = [\"run: above -> id\"]` into the rule of `run`",
        ),
        (
            add("run", "above", "above", "run", "ON DELETE SET NULL"),
            "#   \"above -> run.id set null\"",
        ),
        (
            add("step", "earlier", "earlier_id", "step", "ON DELETE CASCADE"),
            "change the key to NO ACTION, or to SET NULL with `set null` in the spec",
        ),
        (
            add(
                "step",
                "earlier",
                "earlier_id",
                "step",
                "ON DELETE SET NULL",
            ),
            "mended: parents of \"step\": ",
        ),
        (
            add("run", "last", "last_step", "step", "ON DELETE CASCADE"),
            "change the key to NO ACTION, or to SET NULL with `set null` in the spec",
        ),
        (
            add("run", "last", "last_step", "step", ""),
            "with `last_step -> step.id set null` among the `parents` of `run` its columns are first set to NULL",
        ),
    ] {
        let mut database = database(dialect, &schema(dialect));
        for statement in key.split_inclusive(';') {
            database.execute(statement);
        }
        let (code, text, told) = fitted(&database, &spec(&database, "", &changes));
        let mends = part.starts_with("mended");
        assert_eq!(code, Some(i32::from(!mends)), "{key}: {told}\n{text}");
        assert!(text.contains(part), "{key}: {part}\n\n{text}");
        let mut edges = text.lines().filter_map(|line| line.strip_prefix("#   \""));
        let edge = edges.next().map(|edge| format!("\"{edge}"));
        let in_words = |text: &str| {
            let (before, _) = text.split_once("` among the `parents`")?;
            let (_, edge) = before.rsplit_once('`')?;
            Some(format!("\"{edge}\""))
        };
        let of_run = text.contains("a foreign key of \"run\"");
        let answered = match edge.or_else(|| in_words(&text)) {
            Some(edge) if of_run => text.replace(
                "run  = { key = \"id integer\"",
                &format!("run  = {{ key = \"id integer\", parents = [{edge}]"),
            ),
            Some(edge) => text.replace(
                "parents = [\"run_id -> run.id\"",
                &format!("with = \"all\", parents = [\"run_id -> run.id\", {edge}"),
            ),
            None if part.starts_with("write `hierarchy") => text.replace(
                "final     = ",
                "hierarchy = [\"run: above -> id\"]\nfinal     = ",
            ),
            None if mends => text,
            // The key itself has to change.
            None => continue,
        };
        let wrong = against(&database, &answered);
        let wrong = wrong.iter().filter(|it| !it.contains("missing-index"));
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "{key}: {wrong:#?}\n{answered}");
    }
}

/// A key to columns that the spec does not name as a key: the reason stands behind the advice.
fn a_key_that_no_edge_can_be_is_advised_otherwise(dialect: Dialect) {
    let database = database(
        dialect,
        &format!(
            "{}
             ALTER TABLE run ADD COLUMN code varchar(20) NOT NULL;
             CREATE UNIQUE INDEX run_code ON run (code);
             CREATE TABLE bill (id integer PRIMARY KEY, of_run varchar(20), FOREIGN KEY (of_run) REFERENCES run (code));",
            schema(dialect)
        ),
    );
    let (code, text, told) = fitted(&database, &spec(&database, "", &[]));
    assert_eq!(code, Some(1), "{told}");
    for part in [
        "#   bill = { parents = [\"of_run -> run.code restrict\"] }\n",
        "# As the spec is, that is refused: `code` is not the key of `run`; ",
    ] {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
    // With what the reason says, it is accepted.
    let answered = text.replace("#   bill = {", "bill = {").replace(
        "run  = { key = \"id integer\" }",
        "run  = { key = \"id integer\", unique = [\"code varchar\"] }",
    );
    let wrong = against(&database, &answered);
    assert!(wrong.is_empty(), "{wrong:#?}\n{answered}");
}
