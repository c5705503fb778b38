//! Databases whose texts are not UTF-8, or compare in ways of their own: keys, scopes and holds with letters beyond ASCII.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

use crate::harness::tests;
use crate::support::database;
use crate::support::graphs::graph_of;
use crate::support::installation::{
    Installation, Session, apply, bundle, call, connect, violations,
};

const SPEC: &str = r#"
name = "encodings"

[tables]
jobs  = { key = "id varchar" }
notes = { parents = ["job -> jobs.id"] }

[rules.jobs]
strategy  = "end-time"
root      = "jobs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d", per = "person varchar", opt_in = true }
"#;

const SCHEMA: &str = "CREATE TABLE jobs (id varchar(40) PRIMARY KEY, person varchar(40) NOT NULL, state varchar(20), ended timestamp NULL);
CREATE TABLE notes (id integer PRIMARY KEY, job varchar(40) NOT NULL);
";

const ROWS: &str = "INSERT INTO jobs (id, person, state, ended) VALUES
    ('größe', 'Jörg', 'done', '2025-01-01 00:00:00'), ('übrig', 'Jörg', 'done', '2025-01-01 00:00:00'),
    ('straße', 'Zoë', 'done', '2025-01-01 00:00:00'), ('ähnlich', 'Jörg', 'running', NULL);
INSERT INTO notes (id, job) VALUES (1, 'größe'), (2, 'übrig'), (3, 'straße'), (4, 'ähnlich'), (5, 'größe')";

fn graph() -> Graph {
    graph_of(SPEC)
}

/// One family goes; the others are held, of somebody without a policy, or at work.
fn cleaned(session: &mut Session, dialect: Dialect, control: &str, what: &str) {
    session
        .execute(&format!("CALL {control}.arm()"))
        .expect("armed");
    let mut ask = |routine: &str, options| {
        call(session, dialect, control, routine, &options)
            .unwrap_or_else(|error| panic!("{what}: {routine}: {error:#}"))
    };
    ask("set_policy", json!({"scope": "Jörg", "note": "für alle"}));
    let hold = ask("set_hold", json!({"key": "übrig", "reason": "Prüfung"}));
    assert_eq!(hold["key"], "übrig", "{what}");
    let preview = ask("preview", json!({}));
    assert_eq!(
        preview["rules"][0]["sample_roots"],
        json!(["größe"]),
        "{what}: {preview}"
    );
    let run = ask("run", json!({}));
    assert_eq!(
        (
            &run["rules"][0]["rows"],
            &run["rules"][0]["skipped_samples"]
        ),
        (&json!(3), &json!({"HELD": ["übrig"]})),
        "{what}: {run}"
    );
    let purge = ask(
        "purge",
        json!({"key": ["straße", "ähnlich"], "force": true}),
    );
    assert_eq!(
        purge["refused"],
        json!({"ähnlich": "NON_FINAL_MEMBER"}),
        "{what}: {purge}"
    );
    let verify = ask("verify", json!({}));
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    let left = session
        .query("SELECT id FROM notes ORDER BY id", &[])
        .expect("rows");
    let left: Vec<&str> = left.iter().filter_map(|row| row[0].as_deref()).collect();
    assert_eq!(left, ["2", "4"], "{what}");
}

tests! {
    each_server: [
        letters_beyond_ascii_are_keys_like_any,
    ],
}

fn letters_beyond_ascii_are_keys_like_any(dialect: Dialect) {
    let graph = graph();
    if dialect != Dialect::Postgres {
        for charset in ["latin1", "utf8mb4"] {
            let schema = SCHEMA.replace(");\n", &format!(") DEFAULT CHARSET {charset};\n"));
            let mut installation = Installation::of(dialect, &schema, &graph);
            installation.execute(ROWS);
            let control = installation.control.clone();
            cleaned(&mut installation.session, dialect, &control, charset);
        }
        return;
    }
    let server = database::server();
    let mut admin = connect(&server.url("postgres", "postgres"));
    let plain = "LC_COLLATE 'C' LC_CTYPE 'C'";
    for (encoding, schema) in [
        ("LATIN1", SCHEMA),
        ("WIN1252", SCHEMA),
        ("SQL_ASCII", SCHEMA),
        // Where A is a.
        (
            "UTF8",
            &*format!(
                "CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n{}",
                SCHEMA.replace("varchar(40)", "varchar(40) COLLATE same")
            ),
        ),
    ] {
        let name = format!("encoding_{}", encoding.to_lowercase());
        admin
            .execute(&format!(
                "CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 {plain}"
            ))
            .expect("a database");
        let mut session = connect(&server.url(&name, "postgres"));
        session.execute(schema).expect("a schema");
        session.execute(ROWS).expect("rows");
        let roles = database::exclusive();
        apply(&mut session, &bundle(dialect, &graph));
        drop(roles);
        let control = render::control_name(&graph);
        cleaned(&mut session, dialect, &control, encoding);
        drop(session);
        admin
            .execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
            .expect("it goes");
    }
}
