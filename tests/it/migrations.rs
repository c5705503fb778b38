//! Migrations: the files of every runner, and two versions of a spec there and back.

mod forms;
mod read;
mod runners;
mod stage;

use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::database;
use crate::support::installation::{Session, connect, server};
use stage::Stage;

tests! {
    within: [
        forms::tests,
        read::tests,
        runners::tests,
    ],
    every_server: [
        two_versions_go_up_and_down_again,
    ],
    on_postgres: [
        what_has_another_shape_is_made_anew,
    ],
}

/// The address of a server for the superuser, with `DATABASE` to fill in.
fn address(dialect: Dialect) -> String {
    match dialect {
        Dialect::Postgres => database::server().url("DATABASE", "postgres"),
        Dialect::Mysql | Dialect::Mariadb => server(dialect).url("DATABASE", "root"),
    }
}

/// The settings of a session, and what else it goes on with.
fn settings(session: &mut Session, dialect: Dialect) -> Vec<String> {
    let queries = match dialect {
        Dialect::Postgres => &[
            "SELECT name, setting FROM pg_settings WHERE name NOT LIKE 'plpgsql.%' ORDER BY name",
            "SELECT 'role', current_setting('role')",
            "SELECT 'document', concat(current_setting('windrow.document', true), current_setting('windrow.before', true))",
        ][..],
        Dialect::Mysql | Dialect::Mariadb => &[
            "SHOW SESSION VARIABLES WHERE variable_name NOT IN
             ('timestamp', 'last_insert_id', 'identity', 'insert_id', 'error_count', 'warning_count', 'rand_seed1', 'rand_seed2', 'statement_id')
             AND variable_name NOT LIKE '%gtid%'",
            "SELECT 'database', DATABASE()",
        ][..],
    };
    let rows = queries
        .iter()
        .flat_map(|query| session.query(query, &[]).expect("settings"));
    rows.map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" = "))
        .collect()
}

/// Applies a file as goose does: the statements between its marks, in a transaction unless it says otherwise.
fn apply(session: &mut Session, text: &str, up: bool) {
    let migration = read::goose(text);
    if !migration.alone {
        session.execute("START TRANSACTION").expect("it begins");
    }
    let statements = match up {
        true => migration.up,
        false => migration.down.expect("a way back"),
    };
    for sql in statements {
        if let Err(error) = session.execute(&sql) {
            panic!("{error:#}\n{sql}");
        }
    }
    if !migration.alone {
        session.execute("COMMIT").expect("it ends");
    }
}

/// A session that was told this and that before.
fn told(stage: &Stage) -> Session {
    let mut session = connect(&stage.url);
    let settings = match stage.dialect {
        Dialect::Postgres => &[
            "SET search_path = public, pg_catalog",
            "SET lock_timeout = '77s'",
            "SET statement_timeout = '88s'",
            "SET ROLE deployer",
        ][..],
        Dialect::Mysql | Dialect::Mariadb => &[
            "SET NAMES latin1",
            "SET SESSION sql_mode = 'PIPES_AS_CONCAT'",
            "SET SESSION time_zone = '+05:00'",
            "SET SESSION lock_wait_timeout = 77",
        ][..],
    };
    for setting in settings {
        session.execute(setting).expect("a setting");
    }
    session
}

fn two_versions_go_up_and_down_again(dialect: Dialect) {
    let _exclusive = (dialect == Dialect::Postgres).then(database::exclusive);
    let mut stage = Stage::new(dialect, "moved", &address(dialect));
    if dialect == Dialect::Postgres {
        let made = stage.session.execute("CREATE ROLE deployer SUPERUSER");
        made.expect("a role");
    }
    let mut session = told(&stage);
    let before = settings(&mut session, dialect);
    let mut go = |stage: &Stage, version: usize, up: bool| {
        let mut files = stage.files_of(version);
        if !up {
            files.reverse();
        }
        let texts = stage.files();
        for file in files {
            apply(&mut session, &texts[&file], up);
            let after = settings(&mut session, dialect);
            let left: Vec<_> = after.iter().zip(&before).filter(|(a, b)| a != b).collect();
            assert!(left.is_empty(), "{file}, up: {up}: {left:?}");
        }
    };

    stage.generate("goose");
    go(&stage, 1, true);
    stage.is_as_generated("version 1");
    stage.purge("1");

    // The same spec again: nothing is written.
    let written = stage.files();
    assert!(stage.generate("goose").contains("as generated: version 1"));
    assert_eq!(stage.files(), written);

    stage.edit(2);
    stage.generate("goose");
    for (name, text) in written.iter().filter(|(name, _)| !name.ends_with(".lock")) {
        assert_eq!(&stage.files()[name], text, "{name} was written again");
    }
    go(&stage, 2, true);
    stage.is_as_generated("version 2");
    stage.purge("2");
    let runs = stage.count("windrow_moved.run");
    assert!(runs >= 2, "{runs} in the ledger");

    go(&stage, 2, false);
    stage.edit(1);
    stage.is_as_generated("version 1 again");
    stage.purge("3");
    assert!(stage.count("windrow_moved.run") > runs);

    go(&stage, 1, false);
    assert!(!stage.is_installed());
    assert_eq!(stage.indexes(), 0);
    if dialect == Dialect::Postgres {
        drop(session);
        let gone = stage.session.execute("DROP ROLE deployer");
        gone.expect("a role goes");
    }
}

/// PostgreSQL replaces neither a view of other columns nor a function of another result. What was installed is changed here, and so is
/// what the folder remembers.
fn what_has_another_shape_is_made_anew() {
    let dialect = Dialect::Postgres;
    let _exclusive = database::exclusive();
    let mut stage = Stage::new(dialect, "shaped", &address(dialect));
    let mut session = connect(&stage.url);
    let go = |stage: &Stage, session: &mut Session, version: usize| {
        let texts = stage.files();
        for file in stage.files_of(version) {
            apply(session, &texts[&file], true);
        }
    };
    stage.generate("goose");
    go(&stage, &mut session, 1);
    for sql in [
        "SET search_path = windrow_shaped",
        "SET ROLE windrow_shaped_owner",
        "DROP VIEW sweeping CASCADE",
        "CREATE VIEW sweeping AS SELECT 1 AS other",
        "DROP PROCEDURE arm",
        "CREATE FUNCTION arm() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "RESET ROLE",
        "RESET search_path",
    ] {
        session.execute(sql).expect("another shape");
    }
    let lock = stage.migrations().join("windrow.shaped.lock");
    let text = std::fs::read_to_string(&lock).expect("a text");
    let other = text
        .replace(
            "CREATE OR REPLACE VIEW sweeping AS",
            "CREATE OR REPLACE VIEW sweeping AS /* once */",
        )
        .replace(
            "CREATE OR REPLACE PROCEDURE arm(",
            "CREATE OR REPLACE FUNCTION arm(",
        );
    assert_ne!(text, other);
    std::fs::write(&lock, other).expect("a file");
    stage.edit(2);
    stage.generate("goose");
    go(&stage, &mut session, 2);
    stage.is_as_generated("version 2");
    stage.purge("1");
}
