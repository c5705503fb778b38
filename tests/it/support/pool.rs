//! Databases of MySQL and MariaDB that one test leaves to the next: to make the tables and routines anew takes ten times
//! as long as to bring back the rows of the beginning.
//!
//! Nobody has to say that he changed a table or a routine: whoever takes a database compares its catalog with what it was,
//! and drops it where they differ.

use std::sync::{Mutex, PoisonError};

use windrow::db;
use windrow::dialect::Dialect;

use super::installation::{Session, connect, server};

/// How many databases wait on each server: the rest is dropped.
const MOST: usize = 12;

static POOL: Mutex<Vec<Lot>> = Mutex::new(Vec::new());

/// A database with the tables of an application, and one with windrow.
pub(super) struct Lot {
    pub(super) dialect: Dialect,
    /// Name of the database with the application's tables.
    pub(super) name: String,
    /// Name of the control schema.
    pub(super) control: String,
    /// What it was made of.
    made_of: String,
    /// What is in the catalogs of both.
    catalog: Vec<db::Row>,
    /// Statements that insert the rows of the beginning.
    rows: Vec<String>,
}

/// A table of either database, all names quoted.
struct Table {
    path: String,
    /// Those that a statement can set.
    columns: Vec<String>,
    /// Whether it numbers its rows by itself.
    numbers: bool,
}

fn ident(name: &str) -> String {
    Dialect::Mysql.ident(name)
}

impl Lot {
    /// Databases as they are now, just installed.
    pub(super) fn new(dialect: Dialect, name: String, control: String, made_of: String) -> Self {
        let mut lot = Self {
            dialect,
            name,
            control,
            made_of,
            catalog: Vec::new(),
            rows: Vec::new(),
        };
        let mut session = lot.session();
        lot.catalog = lot.look(&mut session).expect("a readable catalog");
        lot.rows = lot.insert(&mut session).expect("readable rows");
        lot
    }

    fn session(&self) -> Session {
        connect(&server(self.dialect).url("mysql", "root"))
    }

    /// The catalogs of both databases, one after the other: for a list of names MariaDB reads all databases of the server.
    fn look(&self, session: &mut Session) -> anyhow::Result<Vec<db::Row>> {
        let (keys, routines) = match self.dialect {
            Dialect::Mysql => (KEYS.replace("innodb_sys_", "innodb_"), ROUTINES),
            _ => (KEYS.to_owned(), PROC),
        };
        let mut all = Vec::new();
        for name in [&self.name, &self.control] {
            for select in CATALOG.into_iter().chain([keys.as_str(), routines]) {
                all.extend(session.query(&select.replace("THIS", name), &[])?);
            }
        }
        Ok(all)
    }

    /// What inserts every row that is there.
    fn insert(&self, session: &mut Session) -> anyhow::Result<Vec<String>> {
        let mut statements = Vec::new();
        for Table { path, columns, .. } in self.filled(session)? {
            let values: Vec<String> = columns
                .iter()
                .map(|column| format!("QUOTE({column})"))
                .collect();
            let (columns, values) = (columns.join(", "), values.join(", "));
            let rows = session.query(
                &format!("SELECT CONCAT_WS(', ', {values}) FROM {path}"),
                &[],
            )?;
            let rows: Vec<String> = rows.into_iter().flatten().flatten().collect();
            let rows = rows.join("), (");
            statements.push(format!("INSERT INTO {path} ({columns}) VALUES ({rows})"));
        }
        Ok(statements)
    }

    /// The tables that have rows.
    fn filled(&self, session: &mut Session) -> anyhow::Result<Vec<Table>> {
        let mut columns = Vec::new();
        for name in [&self.name, &self.control] {
            columns.extend(session.query(&COLUMNS.replace("THIS", name), &[])?);
        }
        let mut tables: Vec<Table> = Vec::new();
        for row in columns {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            let mut next = || cells.next().expect("four columns");
            let path = format!("{}.{}", ident(&next()), ident(&next()));
            let (column, extra) = (ident(&next()), next().to_lowercase());
            if tables.last().is_none_or(|table| table.path != path) {
                tables.push(Table {
                    path,
                    columns: Vec::new(),
                    numbers: false,
                });
            }
            let table = tables.last_mut().expect("a table");
            table.numbers |= extra.contains("auto_increment");
            if !extra.ends_with(" generated") {
                table.columns.push(column);
            }
        }
        let looks: Vec<String> = tables
            .iter()
            .enumerate()
            .map(|(place, table)| {
                format!(
                    "SELECT {place} FROM DUAL WHERE EXISTS (SELECT 1 FROM {})",
                    table.path
                )
            })
            .collect();
        let filled = session.query(&looks.join(" UNION ALL "), &[])?;
        let filled: Vec<String> = filled.into_iter().flatten().flatten().collect();
        let mut place = 0..;
        tables.retain(|_| {
            place
                .next()
                .is_some_and(|place: u32| filled.contains(&place.to_string()))
        });
        Ok(tables)
    }

    /// Brings back the rows of the beginning; `false` where tables or routines are others.
    fn reset(&self) -> anyhow::Result<bool> {
        let mut session = self.session();
        // Whoever still holds a row is not waited for.
        session.execute(
            "SET SESSION lock_wait_timeout = 2, innodb_lock_wait_timeout = 2, foreign_key_checks = 0",
        )?;
        if self.look(&mut session)? != self.catalog {
            return Ok(false);
        }
        for Table { path, numbers, .. } in self.filled(&mut session)? {
            session.execute(&if numbers {
                format!("TRUNCATE TABLE {path}")
            } else {
                format!("DELETE FROM {path}")
            })?;
        }
        for insert in &self.rows {
            session.execute(insert)?;
        }
        Ok(true)
    }

    pub(super) fn drop(&self) {
        drop_both(
            &server(self.dialect).url("mysql", "root"),
            &self.name,
            &self.control,
        );
    }
}

/// Drops the database of an application and its control schema. A server that is gone has taken them along; to panic here,
/// beside the panic of a test that failed, would end all tests.
pub(super) fn drop_both(url: &str, name: &str, control: &str) {
    let url = url.parse().expect("an address");
    if let Ok(mut session) = db::connect(&url) {
        let _ = session.execute(&format!(
            "DROP DATABASE IF EXISTS {name}; DROP DATABASE IF EXISTS {control}"
        ));
    }
}

/// A database made of the same, as it was in the beginning, if one is free.
pub(super) fn take(dialect: Dialect, made_of: &str) -> Option<Lot> {
    loop {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |lot: &Lot| lot.dialect == dialect && lot.made_of == made_of;
        let place = pool.iter().rposition(fits)?;
        let lot = pool.remove(place);
        drop(pool);
        // Where a session of the test before is still at work, it is none to take either.
        if lot.reset().unwrap_or(false) {
            return Some(lot);
        }
        lot.drop();
    }
}

/// Leaves a database to other tests.
pub(super) fn leave(lot: Lot) {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let dialect = lot.dialect;
    pool.push(lot);
    let of_it = pool.iter().filter(|lot| lot.dialect == dialect).count();
    let oldest = pool
        .iter()
        .position(|lot| lot.dialect == dialect && of_it > MOST);
    let oldest = oldest.map(|place| pool.remove(place));
    drop(pool);
    if let Some(lot) = oldest {
        lot.drop();
    }
}

/// The columns of the tables that can have rows.
const COLUMNS: &str = "SELECT c.table_schema, c.table_name, c.column_name, c.extra
    FROM information_schema.columns AS c
    WHERE c.table_schema = 'THIS'
    AND c.table_name NOT IN (SELECT v.table_name FROM information_schema.views AS v WHERE v.table_schema = 'THIS')
    ORDER BY c.table_name, c.ordinal_position";

/// Foreign keys of tables of the database and on them, wherever they are.
const KEYS: &str = "SELECT f.id, f.for_name, f.ref_name, f.type, c.for_col_name, c.ref_col_name
    FROM information_schema.innodb_sys_foreign AS f
    JOIN information_schema.innodb_sys_foreign_cols AS c ON c.id = f.id
    WHERE f.for_name LIKE 'THIS/%' OR f.ref_name LIKE 'THIS/%'
    ORDER BY f.id, c.pos";

const ROUTINES: &str = "SELECT routine_name, routine_type, SHA2(routine_definition, 256), security_type, definer, sql_mode, created
    FROM information_schema.routines WHERE routine_schema = 'THIS' ORDER BY 1";

/// The same of MariaDB, whose information_schema reads the routines of all databases.
const PROC: &str =
    "SELECT name, type, SHA2(body_utf8, 256), security_type, definer, sql_mode, created
    FROM mysql.proc WHERE db = 'THIS' ORDER BY 1, 2";

/// All else that a statement can change but rows.
const CATALOG: [&str; 12] = [
    "SELECT table_name, table_type, engine, table_collation, table_comment FROM information_schema.tables WHERE table_schema = 'THIS' ORDER BY 1",
    "SELECT table_name, ordinal_position, column_name, column_type, is_nullable, column_default, extra, collation_name FROM information_schema.columns WHERE table_schema = 'THIS' ORDER BY 1, 2",
    "SELECT table_name, partition_name, partition_description FROM information_schema.partitions WHERE table_schema = 'THIS' AND partition_name IS NOT NULL ORDER BY 1, 2",
    "SELECT table_name, index_name, seq_in_index, column_name, sub_part, non_unique FROM information_schema.statistics WHERE table_schema = 'THIS' ORDER BY 1, 2, 3",
    "SELECT constraint_name, check_clause FROM information_schema.check_constraints WHERE constraint_schema = 'THIS' ORDER BY 1, 2",
    "SELECT trigger_name, event_object_table, event_manipulation, action_timing, SHA2(action_statement, 256) FROM information_schema.triggers WHERE event_object_schema = 'THIS' ORDER BY 1",
    "SELECT table_name, SHA2(view_definition, 256) FROM information_schema.views WHERE table_schema = 'THIS' ORDER BY 1",
    "SELECT event_name, status, interval_value, interval_field, SHA2(event_definition, 256) FROM information_schema.events WHERE event_schema = 'THIS' ORDER BY 1",
    "SELECT host, db, user FROM mysql.db WHERE db = 'THIS' ORDER BY 1, 2, 3",
    "SELECT host, db, user, table_name, table_priv, column_priv FROM mysql.tables_priv WHERE db = 'THIS' ORDER BY 1, 2, 3, 4",
    "SELECT host, db, user, routine_name, proc_priv FROM mysql.procs_priv WHERE db = 'THIS' ORDER BY 1, 2, 3, 4",
    // Accounts that a test made are named after its database.
    "SELECT host, user FROM mysql.user WHERE user LIKE '%THIS' ORDER BY 1, 2",
];
