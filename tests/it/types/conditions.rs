//! What columns of each type are compared with in conditions.

use serde_json::json;
use windrow::dialect::Dialect;

use super::told;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        conditions_compare_what_is_written,
    ],
    every_server: [
        a_condition_on_another_type_is_told_how_to_ask,
    ],
}

/// Columns of a server with a condition each, what holds and what does not.
type Asked = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

fn asked(dialect: Dialect) -> Vec<Asked> {
    let mut asked: Vec<Asked> = vec![
        ("small", "smallint", "[-32768, 7]", "-32768", "8"),
        (
            "big",
            "bigint",
            "9223372036854775807",
            "9223372036854775807",
            "1",
        ),
        ("exact", "decimal(30,2)", "[0, 7]", "7.00", "7.01"),
        ("flag", "boolean", "true", "true", "false"),
        ("other_flag", "boolean", "false", "false", "true"),
        ("code", "char(8)", "\"it's\"", "'it''s'", "'its'"),
        ("name", "varchar(20)", "[\"a\", \"b\"]", "'b'", "'c'"),
    ];
    asked.push((
        "day",
        "date",
        "{ text = [\"2024-02-29\", \"2024-03-01\"] }",
        "'2024-02-29'",
        "'2024-02-28'",
    ));
    asked.extend(match dialect {
        Dialect::Postgres => vec![
            ("label3", "sort_of", "{ text = \"it's\" }", "'it''s'", "'b'"),
            (
                "net",
                "inet",
                "{ text = \"10.0.0.1/32\" }",
                "'10.0.0.1'",
                "'10.0.0.2'",
            ),
            (
                "doc",
                "json",
                "{ text = '{\"a\":1}' }",
                "'{\"a\":1}'",
                "'{\"a\":2}'",
            ),
            ("label", "sort", "\"it's\"", "'it''s'", "'b'"),
            ("label2", "sorts", "\"b\"", "'b'", "'it''s'"),
            ("flag2", "truth", "true", "true", "false"),
            (
                "id2",
                "uuid",
                "\"550e8400-e29b-41d4-a716-446655440000\"",
                "'550e8400-e29b-41d4-a716-446655440000'",
                "'550e8400-e29b-41d4-a716-446655440001'",
            ),
        ],
        Dialect::Mysql | Dialect::Mariadb => vec![
            (
                "many",
                "SET('a', 'b')",
                "{ text = \"a,b\" }",
                "'b,a'",
                "'a'",
            ),
            ("since", "year", "{ text = \"2024\" }", "2024", "2023"),
            ("doc", "json", "{ text = '[1, 2]' }", "'[1, 2]'", "'[2, 1]'"),
            (
                "label",
                "ENUM('a', 'b', 'it''s')",
                "\"it's\"",
                "'it''s'",
                "'b'",
            ),
            ("label2", "ENUM('2', '1')", "[\"1\"]", "'1'", "'2'"),
            ("flag2", "bit(1)", "true", "b'1'", "b'0'"),
            ("bytes", "varbinary(9)", "\"done\"", "'done'", "'Done'"),
        ],
    });
    if dialect == Dialect::Mariadb {
        asked.push((
            "id3",
            "uuid",
            "\"550e8400-e29b-41d4-a716-446655440000\"",
            "'550e8400-e29b-41d4-a716-446655440000'",
            "'550e8400-e29b-41d4-a716-446655440001'",
        ));
    }
    asked
}

/// A row goes that meets all conditions; of the others each lacks one, or has a NULL there.
fn conditions_compare_what_is_written(dialect: Dialect) {
    let asked = asked(dialect);
    let each = |form: &dyn Fn(&Asked) -> String| {
        let all: Vec<String> = asked.iter().map(form).collect();
        all.join(", ")
    };
    let conditions = each(&|(name, _, value, ..)| format!("{name} = {value}"));
    let spec = format!(
        r#"
name = "types"
schema = "public"
database = "types"

[tables]
job = {{ key = "id integer" }}
line = {{ key = "id integer" }}

[rules.jobs]
strategy = "end-time"
root = "job"
final = {{ {conditions} }}
end_time = "at"
retention = {{ default = "30d" }}

[rules.lines]
strategy = "age"
root = "line"
candidates = {{ {conditions} }}
time = "at"
retention = {{ default = "30d" }}
"#
    );
    let spec = match dialect {
        Dialect::Postgres => spec,
        Dialect::Mysql | Dialect::Mariadb => spec.replace("\"at\"", "\"at timestamptz\""),
    };
    let columns = each(&|(name, kind, ..)| format!("{name} {kind}"));
    let before = match dialect {
        Dialect::Postgres => {
            "CREATE TYPE sort AS ENUM ('a', 'b', 'it''s'); CREATE DOMAIN sort_of AS sort; CREATE DOMAIN sorts AS varchar(5); CREATE DOMAIN truth AS boolean;"
        }
        Dialect::Mysql | Dialect::Mariadb => "",
    };
    let tables = ["job", "line"].map(|table| {
        format!("CREATE TABLE {table} (id integer PRIMARY KEY, at timestamp NULL, {columns});")
    });
    let schema = format!("{before}{}", tables.concat());
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    assert_eq!(told(&database, &spec), [""; 0]);
    database.arm();
    let values = each(&|(.., holds, _)| (*holds).to_owned());
    for table in ["job", "line"] {
        database.execute(&format!(
            "INSERT INTO {table} VALUES (0, '2024-01-01', {values})"
        ));
        for (at, (name, .., lacks)) in asked.iter().enumerate() {
            for (id, value) in [(2 * at + 1, *lacks), (2 * at + 2, "NULL")] {
                let values = each(&|(other, .., holds, _)| {
                    if other == name {
                        value.to_owned()
                    } else {
                        (*holds).to_owned()
                    }
                });
                database.execute(&format!(
                    "INSERT INTO {table} VALUES ({id}, '2024-01-01', {values})"
                ));
            }
        }
    }
    let run = database.run(json!({})).expect("a run");
    for (rule, table) in ["job", "line"].iter().enumerate() {
        assert_eq!(run["rules"][rule]["tables"], json!({ *table: 1 }), "{run}");
        assert_eq!(
            database.number(&format!("SELECT COUNT(*) FROM {table} WHERE id = 0")),
            0
        );
    }
}

/// Types that a condition does not compare as they are: `check` says how to ask for one, and is content with that.
fn a_condition_on_another_type_is_told_how_to_ask(dialect: Dialect) {
    let (before, kinds): (&str, &[&str]) = match dialect {
        Dialect::Postgres => (
            "CREATE TYPE sort AS ENUM ('a', 'b'); CREATE DOMAIN sort_of AS sort;",
            &["sort_of", "date", "inet", "json", "bit(3)"],
        ),
        Dialect::Mysql | Dialect::Mariadb => ("", &["date", "time", "year", "SET('a', 'b')"]),
    };
    let columns: Vec<String> = (0..)
        .zip(kinds)
        .map(|(at, kind)| format!("c{at} {kind}"))
        .collect();
    let tables = ["job", "part"].map(|table| {
        format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, job_id integer, at timestamp NULL, {});",
            columns.join(", ")
        )
    });
    let spec = |value: &str| {
        let conditions: Vec<String> = (0..kinds.len())
            .map(|at| format!("c{at} = {value}"))
            .collect();
        let conditions = conditions.join(", ");
        format!(
            r#"
name = "types"

[tables]
job  = {{ key = "id integer" }}
part = {{ key = "id integer", parents = ["job_id -> job.id"], kept = {{ {conditions} }} }}

[rules.jobs]
strategy = "end-time"
root = "job"
candidates = {{ {conditions} }}
final = {{ {conditions} }}
end_time = "at timestamptz"
retention = {{ default = "30d" }}
"#
        )
    };
    let spec = |value: &str| match dialect {
        Dialect::Postgres => spec(value).replace(" timestamptz", ""),
        Dialect::Mysql | Dialect::Mariadb => spec(value),
    };
    let as_text = spec("{ text = \"a\" }");
    let schema = format!("{before}{}", tables.concat());
    let mut database = Installation::of(dialect, &schema, &graph_of(&as_text));
    let refused = told(&database, &spec("\"a\""));
    for at in 0..kinds.len() {
        for table in ["job", "part"] {
            let said = refused
                .iter()
                .find(|it| it.contains(&format!("`{table}.c{at}`")));
            let said = said.unwrap_or_else(|| panic!("{table}.c{at}: {refused:?}"));
            assert!(
                said.contains(&format!("`c{at} = {{ text = \"…\" }}`")),
                "{said}"
            );
        }
    }
    assert_eq!(told(&database, &as_text), [""; 0]);
    database.arm();
    let run = database.run(json!({}));
    assert!(run.is_ok(), "{run:?}");
}
