//! MySQL and MariaDB have the schema and the history that PostgreSQL has.

use std::collections::BTreeMap;

use windrow::dialect::Dialect;

use super::history;
use crate::harness::tests;
use crate::support::camunda::Camunda;

tests! {
    on_several: [
        the_schema_and_the_history_are_those_of_postgres,
    ],
}

/// The columns of every table with their types, as PostgreSQL has them.
type Columns = BTreeMap<String, Vec<(String, String)>>;

fn columns(camunda: &mut Camunda) -> Columns {
    let home = camunda.either("current_schema()", "DATABASE()");
    let rows = camunda.windrow.rows(&format!(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = {home} ORDER BY table_name, column_name"
    ));
    let mut columns = Columns::new();
    for row in rows {
        let mut values = row
            .into_iter()
            .map(|value| value.expect("no NULL").to_lowercase());
        let mut next = || values.next().expect("three columns");
        columns.entry(next()).or_default().push((next(), next()));
    }
    columns.values_mut().for_each(|columns| columns.sort());
    columns
}

/// Every row as a text, by table.
fn rows(camunda: &mut Camunda, columns: &Columns) -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::new();
    for (table, columns) in columns {
        let values: Vec<String> = columns
            .iter()
            .map(|(column, kind)| {
                let text = match kind.as_str() {
                    "bytea" => camunda.either(
                        format!("upper(encode({column}, 'hex'))"),
                        format!("HEX({column})"),
                    ),
                    "boolean" => {
                        camunda.either(format!("({column}::integer)::text"), column.clone())
                    }
                    kind if kind.starts_with("timestamp") => camunda.either(
                        format!("to_char({column}, 'YYYY-MM-DD HH24:MI:SS.US')"),
                        format!("DATE_FORMAT({column}, '%Y-%m-%d %H:%i:%s.%f')"),
                    ),
                    _ => camunda.either(format!("{column}::text"), column.clone()),
                };
                format!("coalesce({text}, '~')")
            })
            .collect();
        let sql = format!("SELECT CONCAT_WS('|', {}) FROM {table}", values.join(", "));
        let mut texts = camunda.texts(&sql);
        texts.sort_unstable();
        rows.insert(table.clone(), texts);
    }
    rows
}

fn the_schema_and_the_history_are_those_of_postgres() {
    let mut postgres = history(Dialect::Postgres);
    let all = columns(&mut postgres);
    let expected = rows(&mut postgres, &all);
    assert_eq!(all.len(), 49);
    let total: usize = expected.values().map(Vec::len).sum();
    assert!(total > 25_000, "{total}");
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        let mut camunda = history(dialect);
        let names = |columns: &Columns| -> Vec<String> {
            let tables = columns.iter();
            tables
                .flat_map(|(table, columns)| {
                    columns
                        .iter()
                        .map(move |(column, _)| format!("{table}.{column}"))
                })
                // The engine has this one on these servers only.
                .filter(|name| name != "act_hi_ext_task_log.rev_")
                .collect()
        };
        assert_eq!(names(&columns(&mut camunda)), names(&all), "{dialect:?}");
        camunda.execute("SET time_zone = '+00:00'");
        let found = rows(&mut camunda, &all);
        for (table, expected) in &expected {
            let odd = expected.iter().zip(&found[table]).find(|(a, b)| a != b);
            assert_eq!(odd, None, "{table} of {dialect:?}");
            assert_eq!(expected.len(), found[table].len(), "{table} of {dialect:?}");
        }
    }
}
