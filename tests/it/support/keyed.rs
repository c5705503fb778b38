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

/// What a rule did, or would do.
#[derive(Debug, PartialEq)]
pub(crate) struct Cleaned {
    pub(crate) families: i64,
    /// Rows by table.
    pub(crate) tables: Value,
    /// Families that are kept, by reason.
    pub(crate) skipped: Value,
}

/// What preview, dry run and run say of the first rule, which is the same.
pub(crate) fn cleaned(database: &mut Installation, context: &str) -> Cleaned {
    let documents = [
        database.preview(json!({})),
        database.run(json!({"dry_run": true})),
        database.run(json!({})),
    ];
    let [preview, dry, run] = documents.map(|document| {
        let document = document.expect("a document");
        let rule = &document["rules"][0];
        Cleaned {
            families: rule["families"].as_i64().expect("a number"),
            tables: rule["tables"].clone(),
            skipped: rule["skipped"].clone(),
        }
    });
    assert_eq!((&preview, &dry), (&run, &run), "{context}");
    run
}
