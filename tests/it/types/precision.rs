//! Times of any precision.

use serde_json::json;
use windrow::dialect::Dialect;

use super::told;
use crate::harness::tests;
use crate::support::effort::one_of;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        times_have_any_precision,
    ],
}

/// A fraction of a second that a column cannot hold is rounded when a row is written, and not when it is compared.
fn times_have_any_precision(dialect: Dialect) {
    let kinds: &[(&str, &str)] = match dialect {
        Dialect::Postgres => &[("timestamp", "timestamp"), ("timestamptz", "timestamptz")],
        Dialect::Mysql | Dialect::Mariadb => {
            &[("datetime", "timestamp"), ("timestamp", "timestamptz")]
        }
    };
    for (kind, word) in kinds {
        for digits in one_of(3, 0..=6) {
            precise(dialect, kind, word, digits);
        }
    }
}

fn precise(dialect: Dialect, kind: &str, word: &str, digits: u32) {
    let spec = format!(
        r#"
name = "types"
schema = "public"
database = "types"

[tables]
job = {{ key = "id integer" }}
line = {{ key = "id integer" }}
ticket = {{ key = "id integer" }}

[rules.jobs]
strategy = "end-time"
root = "job"
final = {{ state = 1 }}
end_time = "at {word}"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
limits = {{ batch_families = 2 }}

[rules.lines]
strategy = "age"
root = "line"
time = "at {word}"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
limits = {{ batch_rows = 2 }}

[rules.tickets]
strategy = "expiry"
root = "ticket"
time = "at {word}"
limits = {{ batch_rows = 2 }}
"#
    );
    let schema: Vec<String> = ["job", "line", "ticket"]
        .iter()
        .map(|table| {
            format!("CREATE TABLE {table} (id integer PRIMARY KEY, state integer NOT NULL, at {kind}({digits}) NULL);")
        })
        .collect();
    let schema = schema.concat();
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    let name = format!("{kind}({digits})");
    assert_eq!(told(&database, &spec), [""; 0], "{name}");
    database.arm();
    database.execute(match dialect {
        Dialect::Postgres => "SET timezone = 'UTC'",
        Dialect::Mysql | Dialect::Mariadb => "SET SESSION time_zone = '+00:00'",
    });
    // The cutoff is half a second past: one unit of the column on either side of it, and many that are the same in it.
    let unit = 10_i64.pow(6 - digits);
    let cutoff = 500_000_i64;
    let at = |off: i64| {
        let microseconds = (cutoff / unit + off) * unit;
        let (second, rest) = (
            microseconds.div_euclid(1_000_000),
            microseconds.rem_euclid(1_000_000),
        );
        format!("12:00:{:02}.{rest:06}", 30 + second)
    };
    let before = |off: i64| (cutoff / unit + off) * unit < cutoff;
    let offs = [-2, -1, -1, -1, 0, 0, 1, 2];
    let goes = offs.iter().filter(|off| before(**off)).count();
    for (table, day) in [
        ("job", "2026-05-01"),
        ("line", "2026-05-01"),
        ("ticket", "2026-06-01"),
    ] {
        for (id, off) in offs.iter().enumerate() {
            database.execute(&format!(
                "INSERT INTO {table} VALUES ({id}, 1, '{day} {}')",
                at(*off)
            ));
        }
        database.execute(&format!("INSERT INTO {table} VALUES (99, 1, NULL)"));
    }
    let options = json!({ "as_of": "2026-06-01T12:00:30.500000Z" });
    let preview = database.preview(options.clone()).expect("a preview");
    let run = database.run(options).expect("a run");
    for (document, rows) in [(&preview, "rows"), (&run, "rows")] {
        for rule in document["rules"].as_array().expect("rules") {
            assert_eq!(rule[rows], goes, "{name}: {document}");
        }
    }
    for table in ["job", "line", "ticket"] {
        let left = format!("SELECT COUNT(*) FROM {table} WHERE id < {goes}");
        assert_eq!(database.number(&left), 0, "{name}: {table}");
        let whole = i64::try_from(offs.len() - goes + 1).expect("a few");
        assert_eq!(
            database.number(&format!("SELECT COUNT(*) FROM {table}")),
            whole,
            "{name}: {table}"
        );
    }
}
