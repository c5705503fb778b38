//! Where a cluster is armed, each of its servers compares its tables with those that it had itself. A list of one server is a cluster
//! here; real ones are in `cluster`.

use serde_json::json;
use windrow::sandbox::mysql::Flavour;

use super::replaced::{swap, until_a_second_old};
use super::{assert_told, made};
use crate::harness::tests;
use crate::support::installation::{Installation, dialect_of};

tests! {
    mysql_and_mariadb: [
        a_cluster_that_is_armed_compares_its_tables,
        a_server_that_takes_over_compares_columns_first,
        a_server_that_was_filled_anew_compares_columns_first,
    ],
}

const NOTES: &str = "SELECT COUNT(*) FROM W.catalog_state WHERE run_id < -1";

fn armed(flavour: Flavour) -> Installation {
    let dialect = dialect_of(flavour);
    let mut installation = made(dialect);
    until_a_second_old(&mut installation, dialect);
    arm(&mut installation);
    installation
}

fn arm(installation: &mut Installation) {
    installation
        .texts(r#"CALL W.arm_with(CONCAT('{"cluster": "', @@hostname, ':', @@port, '"}'))"#);
}

fn a_cluster_that_is_armed_compares_its_tables(flavour: Flavour) {
    let mut installation = armed(flavour);
    let rows = installation.number("SELECT COUNT(*) FROM runs");
    installation.execute(swap(dialect_of(flavour)));
    let told = "catalog changed: table uses is another one";
    let error = installation.run(json!({})).expect_err("a swapped table");
    assert_told(&error, told);
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), rows);
    // Who arms it, or installs it anew, has looked.
    arm(&mut installation);
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    installation.execute("RENAME TABLE uses TO uses_away, uses_old TO uses");
    installation.run(json!({"dry_run": true})).ok();
    installation.install(&crate::support::graphs::graph_of(super::SPEC));
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
}

/// It has tables that were made at another time. Its columns are those of the server before.
fn a_server_that_takes_over_compares_columns_first(flavour: Flavour) {
    let mut installation = armed(flavour);
    let rows = installation.number("SELECT COUNT(*) FROM runs");
    let took_over = "UPDATE W.catalog_state SET state = REPLACE(state, 'InnoDB ', 'InnoDB 1'), names = '|' WHERE run_id = 0;
        DELETE FROM W.catalog_state WHERE run_id < -1";
    installation.execute(took_over);
    let error = {
        installation.execute(
            "CREATE TABLE kept AS SELECT id, state FROM runs; UPDATE runs SET state = '0'; ALTER TABLE runs MODIFY state integer NOT NULL",
        );
        installation.run(json!({})).expect_err("a number")
    };
    assert_told(
        &error,
        "catalog changed: table runs has another kind of values in column state",
    );
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), rows);
    assert_eq!(installation.number(NOTES), 0);
    installation.execute(
        "ALTER TABLE runs MODIFY state varchar(20); UPDATE runs SET state = (SELECT k.state FROM kept AS k WHERE k.id = runs.id)",
    );
    // Other times alone are nothing. The first run notes them, and from then on they count.
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(installation.number(NOTES), 1);
    until_a_second_old(&mut installation, dialect_of(flavour));
    installation.execute(swap(dialect_of(flavour)));
    let error = installation.run(json!({})).expect_err("a swapped table");
    assert_told(&error, "catalog changed: table uses is another one");
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), rows - 1);
    arm(&mut installation);
    assert_eq!(installation.number(NOTES), 1);
}

/// It has the notes that it made before, with the rows of another server, and all tables since then.
fn a_server_that_was_filled_anew_compares_columns_first(flavour: Flavour) {
    let mut installation = made(dialect_of(flavour));
    installation.execute("CREATE TABLE twin LIKE uses");
    until_a_second_old(&mut installation, dialect_of(flavour));
    arm(&mut installation);
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    until_a_second_old(&mut installation, dialect_of(flavour));
    installation
        .execute("ALTER TABLE twin FORCE; ALTER TABLE uses FORCE; ALTER TABLE W.latch FORCE");
    let run = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
}
