//! Tables whose rows have a number for a key, cleaned by one rule, `history`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::installation::Installation;

/// Rows by table and key.
pub(crate) type Rows = BTreeSet<(&'static str, i64)>;

/// Puts what is inserted in the place of all that is in these tables, and these families on hold.
pub(crate) fn load(
    database: &mut Installation,
    tables: &[&'static str],
    inserts: &str,
    held: &[i64],
) {
    let all = tables.iter().chain(&["W.hold"]);
    let mut sql: String = all.map(|table| format!("DELETE FROM {table}; ")).collect();
    sql += inserts;
    database.execute(&sql);
    for key in held {
        let hold = json!({"rule": "history", "key": key, "reason": "audit"});
        database.set_hold(hold).expect("a hold");
    }
}

/// The rows that are left.
pub(crate) fn left(database: &mut Installation, tables: &[&'static str]) -> Rows {
    let mut found = Rows::new();
    for table in tables {
        for id in database.texts(&format!("SELECT id FROM {table}")) {
            found.insert((*table, id.parse().expect("a number")));
        }
    }
    found
}

/// Preview, dry run and run, which say the same: the families that go, and the reasons of those that stay.
pub(crate) fn cleaned(database: &mut Installation, context: &str) -> (i64, Value) {
    let documents = [
        database.preview(json!({})),
        database.run(json!({"dry_run": true})),
        database.run(json!({})),
    ];
    let [preview, dry, run] = documents.map(|document| {
        let document = document.expect("a document");
        let rule = &document["rules"][0];
        (
            rule["families"].as_i64().expect("a number"),
            rule["tables"].clone(),
            rule["skipped"].clone(),
        )
    });
    assert_eq!((&preview, &dry), (&run, &run), "{context}");
    (run.0, run.2)
}
