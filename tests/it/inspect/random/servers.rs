//! The same catalogs on servers: what `inspect` drafts of them, `check` accepts.

use std::fmt::Write as _;

use serde_json::Value;
use windrow::dialect::Dialect;

use super::{Made, is_said};
use crate::harness::tests;
use crate::inspect::{database, said};
use crate::support::effort::seeds;
use crate::support::installation::Installation;

tests! {
    each_server: [
        a_draft_of_any_database_is_accepted,
    ],
}

/// How many rows a table has.
const ROWS: usize = 4;

/// What a column of a type holds in a row.
fn value(dialect: Dialect, name: &str, kind: &str, row: usize) -> String {
    let bare = kind.split(['(', ' ']).next().unwrap_or_default();
    match bare {
        _ if name == "status" => ["'done'", "'running'"][row % 2].to_owned(),
        "bigint" | "double" if name.to_lowercase().contains("at") => {
            format!("170406720000{row}")
        }
        "uuid" => format!("'550e8400-e29b-41d4-a716-44665544000{row}'"),
        "text" | "character" | "varchar" | "char" => format!("'a-key-of-some-length-{row}'"),
        "bytea" => format!("'\\x0{row}'"),
        "binary" => format!("X'0{row}'"),
        "inet" => format!("'10.0.0.{row}'"),
        "boolean" => format!("{}", row.is_multiple_of(2)),
        "timestamp" | "datetime" | "date" => format!("'2024-01-0{}'", row + 1),
        "time" => format!("'00:00:0{row}'"),
        _ => {
            assert!(dialect != Dialect::Postgres || bare != "json");
            row.to_string()
        }
    }
}

/// The statements that make the tables in a schema or a database, with rows that name each other.
fn script(made: &Made, home: &str) -> String {
    let dialect = made.catalog.dialect;
    let of = |table: &str| dialect.qualified(home, table);
    let list = |names: &[String]| {
        let names = names.iter().map(|name| dialect.ident(name));
        names.collect::<Vec<_>>().join(", ")
    };
    let (mut tables, mut keys) = (String::new(), String::new());
    let (off, or) = match dialect {
        Dialect::Postgres => ("SET session_replication_role = replica", "INSERT"),
        Dialect::Mysql | Dialect::Mariadb => ("SET foreign_key_checks = 0", "INSERT IGNORE"),
    };
    let mut rows = format!("{off};\n");
    for (at, (name, live)) in made.catalog.tables.iter().enumerate() {
        let columns = live.columns.iter().map(|column| {
            let null = match (column.nullable, column.kind.as_str()) {
                (true, _) => "NULL",
                // The server would set the first of them at each UPDATE.
                (false, "timestamp") => "NOT NULL DEFAULT '2024-01-01'",
                (false, _) => "NOT NULL",
            };
            format!("{} {} {null}", dialect.ident(&column.name), column.kind)
        });
        let mut columns: Vec<String> = columns.collect();
        if !live.primary_key.is_empty() {
            columns.push(format!("PRIMARY KEY ({})", list(&live.primary_key)));
        }
        let _ = writeln!(
            tables,
            "CREATE TABLE {} ({});",
            of(name),
            columns.join(", ")
        );
        let indexes = live
            .indexes
            .iter()
            .filter(|it| it.keys != live.primary_key || !it.unique);
        for (number, index) in indexes.enumerate() {
            let unique = if index.unique { "UNIQUE" } else { "" };
            let _ = writeln!(
                tables,
                "CREATE {unique} INDEX i{at}_{number} ON {} ({});",
                of(name),
                list(&index.keys)
            );
        }
        for key in &live.foreign_keys {
            let target = key.target.split_once('.').expect("a schema").1;
            let _ = writeln!(
                keys,
                "ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {};",
                of(name),
                key.name,
                list(&key.columns),
                of(target),
                list(&key.target_columns),
                on_delete(dialect, &key.on_delete)
            );
        }
        for row in 0..ROWS {
            let values = live
                .columns
                .iter()
                .map(|column| value(dialect, &column.name, &column.kind, row));
            let values = values.collect::<Vec<_>>().join(", ");
            let end = if dialect == Dialect::Postgres {
                " ON CONFLICT DO NOTHING"
            } else {
                ""
            };
            let _ = writeln!(rows, "{or} INTO {} VALUES ({values}){end};", of(name));
        }
    }
    let on = match dialect {
        Dialect::Postgres => "SET session_replication_role = origin",
        Dialect::Mysql | Dialect::Mariadb => "SET foreign_key_checks = 1",
    };
    format!("{tables}{keys}{rows}{on}")
}

/// The columns that are set to NULL, as a statement names them.
fn on_delete(dialect: Dialect, effect: &str) -> String {
    match effect.split_once(" (") {
        Some((set, column)) => format!("{set} ({})", dialect.ident(column.trim_end_matches(')'))),
        None => effect.to_owned(),
    }
}

/// What `check` says of a draft, but for what is the server's.
fn checked(database: &Installation, path: &str, draft: &str) -> Vec<Value> {
    std::fs::write(path, draft).expect("a draft is written");
    let arguments = ["check", path, "--output", "json"];
    let (_, answer, told) = said(&database.superuser(), &arguments);
    let answer: Value = serde_json::from_str(&answer)
        .unwrap_or_else(|why| panic!("{why}: {answer}{told}\n{draft}"));
    let listed = |field: &str| answer[field].as_array().cloned().unwrap_or_default();
    let mut found = listed("diagnostics");
    found.retain(|it| it["severity"] == "error");
    found.extend(listed("findings"));
    found.retain(|it| it["severity"] != "notice");
    // Of the server, and of the tables whatever a spec says.
    found.retain(|it| it["code"] != "event-scheduler" && it["code"] != "no-primary-key");
    found
}

fn a_draft_of_any_database_is_accepted(dialect: Dialect) {
    let mut database = database(dialect, "");
    let home = match dialect {
        Dialect::Postgres => "app".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => format!("{}_app", database.name),
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("draft.toml");
    let path = path.to_str().expect("UTF-8");
    let (mut drafts, mut asked) = (0, 0);
    for seed in seeds("databases of random tables", dialect, 12) {
        let made = Made::of(seed, dialect);
        let (make, drop) = match dialect {
            Dialect::Postgres => (
                format!("CREATE SCHEMA {home};\n"),
                format!("DROP SCHEMA {home} CASCADE"),
            ),
            Dialect::Mysql | Dialect::Mariadb => (
                format!("CREATE DATABASE {home};\n"),
                format!("DROP DATABASE {home}"),
            ),
        };
        database.execute(&(make + &script(&made, &home)));
        for root in &made.names {
            let arguments = ["inspect", "--schema", &home, "--root", root];
            let (code, draft, told) = said(&database.superuser(), &arguments);
            if code == Some(2) {
                assert!(
                    told.starts_with("error: the "),
                    "seed {seed}, {root}: {told}"
                );
                continue;
            }
            assert_eq!((code, told.as_str()), (Some(0), ""), "seed {seed}, {root}");
            drafts += 1;
            for finding in checked(&database, path, &draft) {
                let said = |field: &str| finding[field].as_str().unwrap_or_default();
                assert!(
                    is_said(said("code"), said("message"), &draft),
                    "seed {seed}, {root}: {finding:#}\n{draft}"
                );
                asked += 1;
            }
        }
        database.execute(&drop);
    }
    assert!(drafts > 8 && asked < 2 * drafts, "{drafts} {asked}");
}
