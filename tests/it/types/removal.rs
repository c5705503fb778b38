//! Keys of each type in rules by removal time.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{Known, known, printed, told};
use crate::harness::tests;
use crate::support::effort::one_of;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

tests! {
    every_server: [
        families_of_removal_times_have_keys_of_each_type,
    ],
}

/// Rows by a stored time, each with the root of its family, by keys of each type.
fn families_of_removal_times_have_keys_of_each_type(dialect: Dialect) {
    let bytes: Known = match dialect {
        Dialect::Postgres => (
            "bytea",
            "bytea",
            [
                "'\\x00'",
                "'\\x0000'",
                "'\\x01ff'",
                "'\\x22'",
                "'\\x27'",
                "'\\xffff'",
            ],
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "varbinary(16)",
            "binary",
            ["X'00'", "X'0000'", "X'01FF'", "X'22'", "X'27'", "X'FFFF'"],
        ),
    };
    for kind in one_of(3, known(dialect)).chain([bytes]) {
        removal(dialect, kind);
    }
}

fn removal(dialect: Dialect, (kind, word, values): Known) {
    let spec = format!(
        r#"
name = "types"
PLACE

[tables]
job = {{ key = "id {word}" }}
step = {{ key = "id {word}", parents = ["root -> job.id"] }}

[rules.jobs]
strategy = "removal-time"
root = "job"
time = "removal"
end_time = "ended"
tables = ["step: root", "job: root"]
retention = {{ minimum = "1d", safety_lag = "1h" }}
limits = {{ batch_families = 2 }}
"#
    );
    let spec = spec.replace(
        "PLACE",
        match (dialect, word) {
            (Dialect::Postgres, "bytea") => "dialects = [\"postgres\"]\nschema = \"public\"",
            (_, "binary") => "dialects = [\"mysql\", \"mariadb\"]\ndatabase = \"types\"",
            _ => "schema = \"public\"\ndatabase = \"types\"",
        },
    );
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id {kind} PRIMARY KEY, root {kind}, ended {time}, removal {time});
         CREATE TABLE step (id {kind} PRIMARY KEY, root {kind}, removal {time});"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    assert_eq!(told(&database, &spec), [""; 0], "{kind}");
    database.arm();
    for (at, value) in values.iter().enumerate() {
        // The first is young, the second is held.
        let removal = if at == 0 {
            "'2999-01-01'"
        } else {
            "'2024-01-02'"
        };
        database.execute(&format!(
            "INSERT INTO job VALUES ({value}, {value}, '2024-01-01', {removal}); INSERT INTO step VALUES ({value}, {value}, {removal})"
        ));
    }
    let key = match (dialect, word) {
        (_, "binary") => database
            .texts(&format!("SELECT HEX({})", values[1]))
            .remove(0),
        _ => printed(&mut database, kind, values[1]),
    };
    database
        .set_hold(json!({ "key": key, "reason": "audit" }))
        .expect("a hold");
    let preview = database.preview(json!({})).expect("a preview");
    let run = database.run(json!({})).expect("a run");
    for document in [&preview, &run] {
        let rule = &document["rules"][0];
        assert_eq!(
            rule["tables"],
            json!({ "step": 4, "job": 4 }),
            "{kind}: {document}"
        );
        assert_eq!(rule["skipped"], json!({ "HELD": 1 }), "{kind}: {document}");
    }
    for table in ["job", "step"] {
        let left = format!(
            "SELECT COUNT(*) FROM {table} WHERE id IN ({}, {})",
            values[0], values[1]
        );
        assert_eq!(database.number(&left), 2, "{kind}");
    }
    let verify = database.call("verify", json!({})).expect("a document");
    assert_eq!(
        violations(&verify),
        Vec::<&Value>::new(),
        "{kind}: {verify}"
    );
}
