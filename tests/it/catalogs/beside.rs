//! Databases that are no concern of a spec. MariaDB opens every table of the server for a look into the catalog that does not
//! name the database beforehand.

use anyhow::{Result, ensure};
use serde_json::json;
use windrow::graph::Shared;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use crate::harness::tests;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::Installation;

tests! {
    on_mariadb: [
        no_call_opens_the_tables_of_another_database,
    ],
}

fn no_call_opens_the_tables_of_another_database() -> Result<()> {
    let server = Mysql::start(&Settings::new(Flavour::Mariadb))?;
    let graph = dolphinscheduler(Shared::Closed);
    let mut made = Installation::on(&server, &graph);
    made.arm();
    made.execute("CREATE DATABASE beside; CREATE TABLE beside.bill (id integer PRIMARY KEY)");
    let mut opened = Vec::new();
    made.execute("FLUSH TABLES");
    for (routine, options) in [
        ("preview", json!({})),
        ("run", json!({"dry_run": true})),
        ("run", json!({})),
        ("verify", json!({})),
        ("outlook", json!({})),
        ("set_setting", json!({"name": "retries", "value": 7})),
        ("set_policy", json!({"scope": "77", "retention": "P30D"})),
        ("drop_policy", json!({"scope": "77"})),
        (
            "set_hold",
            json!({"key": 77, "reason": "test", "even_if_absent": true}),
        ),
        ("purge", json!({"key": [76]})),
        ("release_hold", json!({"key": 77})),
    ] {
        made.call(routine, options)?;
        if are_opened(&mut made) {
            opened.push(routine);
        }
    }
    made.arm();
    if are_opened(&mut made) {
        opened.push("arm");
    }
    made.rows("SELECT * FROM W.metrics");
    if are_opened(&mut made) {
        opened.push("metrics");
    }
    made.install(&graph);
    if are_opened(&mut made) {
        opened.push("an installation");
    }
    ensure!(opened.is_empty(), "{opened:?}");
    // What is opened is seen.
    made.rows("SELECT * FROM beside.bill");
    ensure!(are_opened(&mut made));
    Ok(())
}

/// Whether anything has opened a table of the other database since the last look.
fn are_opened(made: &mut Installation) -> bool {
    let opened = made.rows("SHOW OPEN TABLES FROM beside");
    made.execute("FLUSH TABLES");
    !opened.is_empty()
}
