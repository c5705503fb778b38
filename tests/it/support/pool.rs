//! Databases of MySQL and MariaDB that one test leaves to the next: to make the tables and routines anew takes ten times
//! as long as to bring back the rows of the beginning.
//!
//! Nobody has to say that he changed a table or a routine: whoever takes a database compares its catalog with what it was,
//! and drops it where they differ.

use std::collections::BTreeMap;
use std::fs;
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
    catalog: Catalog,
    /// The tables of both.
    tables: Vec<Table>,
    /// Statements that insert the rows of the beginning.
    rows: Vec<String>,
}

/// All that a statement can change but rows.
#[derive(Default, PartialEq)]
struct Catalog {
    /// What the server answers, a hash for each view.
    hashes: Vec<db::Row>,
    /// The files in which MariaDB has its tables, views and triggers, by their paths: to open a table for its information_schema
    /// takes a hundred times as long as to read its file.
    files: BTreeMap<String, Vec<u8>>,
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
            catalog: Catalog::default(),
            tables: Vec::new(),
            rows: Vec::new(),
        };
        let mut session = lot.session();
        lot.catalog = lot.look(&mut session).expect("a readable catalog");
        lot.tables = lot.tables(&mut session).expect("readable columns");
        lot.rows = lot.insert(&mut session).expect("readable rows");
        lot
    }

    fn session(&self) -> Session {
        connect(&server(self.dialect).url("mysql", "root"))
    }

    fn look(&self, session: &mut Session) -> anyhow::Result<Catalog> {
        let mut catalog = Catalog::default();
        let own: &[View] = match self.dialect {
            Dialect::Mysql => &OF_MYSQL,
            _ => &OF_MARIADB,
        };
        let hashes: Vec<String> = CATALOG.iter().chain(own).map(hash).collect();
        let both = format!("'{}', '{}'", self.name, self.control);
        let hashes = hashes
            .join("\nUNION ALL ")
            .replace("BOTH", &both)
            .replace("ONE", &self.name)
            .replace("OTHER", &self.control);
        session.execute("SET SESSION group_concat_max_len = 100000000")?;
        catalog.hashes = session.query(&hashes, &[])?;
        if self.dialect == Dialect::Mariadb {
            for name in [&self.name, &self.control] {
                let folder = server(self.dialect).dir().join("data").join(name);
                for entry in fs::read_dir(folder)? {
                    let path = entry?.path();
                    // Rows are not asked for.
                    if path.extension().is_none_or(|it| it != "ibd") {
                        catalog
                            .files
                            .insert(path.display().to_string(), fs::read(path)?);
                    }
                }
            }
        }
        Ok(catalog)
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

    /// The tables that can have rows.
    fn tables(&self, session: &mut Session) -> anyhow::Result<Vec<Table>> {
        let mut columns = Vec::new();
        // One after the other: for a list of names MariaDB reads all databases of the server.
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
        Ok(tables)
    }

    /// Those that have rows.
    fn filled(&self, session: &mut Session) -> anyhow::Result<Vec<&Table>> {
        let looks: Vec<String> = self
            .tables
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
        let places = filled.iter().filter_map(|place| place.parse().ok());
        Ok(places
            .filter_map(|place: usize| self.tables.get(place))
            .collect())
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
            session.execute(&if *numbers {
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
    if let Ok(mut session) = db::connect_as_application(&url) {
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

/// What is in the catalogs of both databases: columns, and where they are.
type View = (&'static str, &'static str);

/// A query for the hash of a view.
fn hash((columns, from): &View) -> String {
    let columns: Vec<String> = columns
        .split(", ")
        .map(|column| format!("QUOTE({column})"))
        .collect();
    format!(
        "SELECT SHA2(GROUP_CONCAT(line ORDER BY line SEPARATOR '\n'), 256) FROM (SELECT CONCAT_WS(' ', {}) AS line FROM {from}) AS lines_of_it",
        columns.join(", ")
    )
}

const CATALOG: [View; 4] = [
    ("host, db, user", "mysql.db WHERE db IN (BOTH)"),
    (
        "host, db, user, table_name, table_priv, column_priv",
        "mysql.tables_priv WHERE db IN (BOTH)",
    ),
    (
        "host, db, user, routine_name, proc_priv",
        "mysql.procs_priv WHERE db IN (BOTH)",
    ),
    // Accounts that a test made are named after its database.
    (
        "host, user",
        "mysql.user WHERE user LIKE '%ONE' OR user LIKE '%OTHER'",
    ),
];

/// What else MySQL has in its information_schema.
const OF_MYSQL: [View; 10] = [
    (
        "table_schema, table_name, table_type, engine, table_collation, table_comment",
        "information_schema.tables WHERE table_schema IN (BOTH)",
    ),
    (
        "c.table_schema, c.table_name, c.ordinal_position, c.column_name, c.column_type, c.is_nullable, c.column_default, c.extra, c.collation_name",
        "information_schema.columns AS c WHERE c.table_schema IN (BOTH)",
    ),
    (
        "table_schema, table_name, partition_name, partition_description",
        "information_schema.partitions WHERE table_schema IN (BOTH) AND partition_name IS NOT NULL",
    ),
    (
        "table_schema, table_name, index_name, seq_in_index, column_name, sub_part, non_unique",
        "information_schema.statistics WHERE table_schema IN (BOTH)",
    ),
    (
        "constraint_schema, constraint_name, check_clause",
        "information_schema.check_constraints WHERE constraint_schema IN (BOTH)",
    ),
    (
        "trigger_schema, trigger_name, event_object_table, event_manipulation, action_timing, action_statement",
        "information_schema.triggers WHERE event_object_schema IN (BOTH)",
    ),
    (
        "table_schema, table_name, view_definition",
        "information_schema.views WHERE table_schema IN (BOTH)",
    ),
    (
        "event_schema, event_name, status, interval_value, interval_field, event_definition",
        "information_schema.events WHERE event_schema IN (BOTH)",
    ),
    (
        "routine_schema, routine_name, routine_type, routine_definition, security_type, definer, sql_mode, created",
        "information_schema.routines WHERE routine_schema IN (BOTH)",
    ),
    // Foreign keys of tables of the databases and on them, wherever they are.
    (
        "f.id, f.for_name, f.ref_name, f.type, c.pos, c.for_col_name, c.ref_col_name",
        "information_schema.innodb_foreign AS f JOIN information_schema.innodb_foreign_cols AS c ON c.id = f.id
        WHERE f.for_name LIKE 'ONE/%' OR f.ref_name LIKE 'ONE/%' OR f.for_name LIKE 'OTHER/%' OR f.ref_name LIKE 'OTHER/%'",
    ),
];

/// The same of MariaDB, beside its files. Its information_schema reads the routines and events of all databases.
const OF_MARIADB: [View; 3] = [
    (
        "db, name, status, interval_value, interval_field, body_utf8",
        "mysql.event WHERE db IN (BOTH)",
    ),
    (
        "db, name, type, body_utf8, security_type, definer, sql_mode, created",
        "mysql.proc WHERE db IN (BOTH)",
    ),
    (
        "f.id, f.for_name, f.ref_name, f.type, c.pos, c.for_col_name, c.ref_col_name",
        "information_schema.innodb_sys_foreign AS f JOIN information_schema.innodb_sys_foreign_cols AS c ON c.id = f.id
        WHERE f.for_name LIKE 'ONE/%' OR f.ref_name LIKE 'ONE/%' OR f.for_name LIKE 'OTHER/%' OR f.ref_name LIKE 'OTHER/%'",
    ),
];
