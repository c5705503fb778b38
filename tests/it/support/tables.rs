//! The tables of an application on MySQL and MariaDB.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::installation::Session;

/// What the schema for MySQL forbids that the one for PostgreSQL allows, and a world may hold.
const LENIENT: &str = "
SELECT c.table_name, CONCAT('ALTER TABLE ', c.table_name, ' ', GROUP_CONCAT('MODIFY ', c.column_name, ' ', c.column_type, ' NULL'))
FROM information_schema.columns AS c
WHERE c.table_schema = DATABASE()
  AND c.table_name LIKE 't_ds%'
  AND c.is_nullable = 'NO'
  AND c.column_key <> 'PRI'
GROUP BY c.table_name";

/// What makes the tables of a schema, lenient as they are, by server and schema: to change them one by one takes longer than
/// to make them.
static MADE: LazyLock<Mutex<HashMap<String, Vec<String>>>> = LazyLock::new(Mutex::default);

/// The tables of an application, which take what a world may hold.
pub(super) fn make(session: &mut Session, server: u32, schema: &str) {
    let key = format!("{server} {schema}");
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = made.get(&key).cloned();
    drop(made);
    let is_known = known.is_some();
    let mut statements = known.unwrap_or_else(|| {
        let all = schema.split_inclusive(";\n");
        all.map(str::to_owned).collect()
    });
    for statement in &statements {
        if let Err(error) = session.execute(statement) {
            panic!("{error:#}\n\n{statement}");
        }
    }
    if is_known {
        return;
    }
    let mut query = |sql: &str| {
        let rows = session.query(sql, &[]);
        rows.expect("the tables can be read")
    };
    for row in query(LENIENT) {
        let mut cells = row.into_iter().map(|cell| cell.expect("no NULL"));
        let mut next = || cells.next().expect("two columns");
        let (table, statement) = (next(), next());
        query(&statement);
        let place = statements.iter().position(|it| named(it) == Some(&table));
        let row = query(&format!("SHOW CREATE TABLE `{table}`")).remove(0);
        statements[place.expect("a statement for each table")] =
            row[1].clone().expect("a statement");
    }
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.insert(key, statements);
}

/// The table that a statement makes.
fn named(statement: &str) -> Option<&str> {
    let rest = statement.trim_start().strip_prefix("CREATE TABLE ")?;
    let name = rest.split([' ', '(']).next()?;
    Some(name.trim_matches('`'))
}
