//! The catalog of one database of MySQL or MariaDB, from `information_schema`.

use std::collections::BTreeMap;

use super::rights::Rights;
use crate::catalog::{Catalog, CatalogColumn, CatalogIndex, CatalogTable, ForeignKey, Trigger};
use crate::db::cells::{number, text};
use crate::db::session::{Database, Row};
use crate::dialect::Dialect;

pub(super) fn catalog(database: &mut dyn Database, schema: &str) -> anyhow::Result<Catalog> {
    let server = database.server()?;
    if server.dialect == Dialect::Mysql {
        // Else the estimates are up to a day old.
        database.execute("SET SESSION information_schema_stats_expiry = 0")?;
    }
    let settings: BTreeMap<String, String> = database
        .query(SETTINGS, &[])?
        .iter()
        .map(|row| (text(row, 0).to_ascii_lowercase(), text(row, 1)))
        .collect();
    // The server compares names as the file system does, or in lower case.
    let folds = settings
        .get("lower_case_table_names")
        .is_some_and(|value| value != "0");
    let schema = &if folds {
        schema.to_lowercase()
    } else {
        schema.to_owned()
    };
    let exists = database.query(
        "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?",
        &[Some(schema)],
    )?;
    let mut tables: BTreeMap<String, CatalogTable> = BTreeMap::new();
    for row in database.query(TABLES, &[Some(schema), Some(schema)])? {
        let table = CatalogTable {
            engine: row.get(1).cloned().flatten(),
            partitioned: truth(&row, 2),
            estimated_rows: number(&row, 3),
            row_bytes: number(&row, 4),
            table_bytes: number(&row, 4),
            index_bytes: number(&row, 5),
            versioned: truth(&row, 6),
            partition_key: row.get(7).cloned().flatten(),
            bounded_partitions: number(&row, 8),
            ..CatalogTable::default()
        };
        tables.insert(text(&row, 0), table);
    }
    let others = database.query(OTHERS, &[Some(schema)])?;
    for row in database.query(COLUMNS, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            let extra = text(&row, 5).to_ascii_lowercase();
            table.columns.push(CatalogColumn {
                name: text(&row, 1),
                kind: text(&row, 2),
                nullable: text(&row, 3) == "YES",
                unproved: false,
                default: row.get(4).cloned().flatten(),
                identity: extra.contains("auto_increment"),
                generated: truth(&row, 6),
                collation: row.get(7).cloned().flatten(),
                nondeterministic: false,
                on_update: extra.contains("on update"),
                labels: Vec::new(),
            });
        }
    }
    let indexes = match server.dialect {
        // Parts of an index by an expression have no column.
        Dialect::Mysql => INDEXES
            .replace("{expression}", "s.EXPRESSION")
            .replace("{usable}", "s.IS_VISIBLE = 'YES'"),
        _ => INDEXES
            .replace("{expression}", "NULL")
            .replace("{usable}", "s.IGNORED <> 'YES'"),
    };
    for row in database.query(&indexes, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            index_part(table, &row);
        }
    }
    for row in database.query(FOREIGN_KEYS, &[Some(schema), Some(schema)])? {
        foreign_key_part(&mut tables, schema, &row);
    }
    triggers(database, schema, &mut tables)?;
    let rights = rights(database, server.dialect);
    for (name, table) in &mut tables {
        table.hides_triggers = !rights.sees_triggers(schema, name, folds);
    }
    Ok(Catalog {
        dialect: server.dialect,
        version_num: server.version_num,
        in_recovery: server.in_recovery,
        read_only: server.read_only,
        schema: schema.clone(),
        schema_exists: !exists.is_empty(),
        extensions: Vec::new(),
        settings,
        // A table that every server has, and that only an account with a right on everything sees.
        sees_all: !database.query(SEES_ALL, &[])?.is_empty(),
        tables,
        others: others
            .iter()
            .map(|row| (text(row, 0), "view".to_owned()))
            .collect(),
    })
}

/// Adds the triggers that this account may see.
fn triggers(
    database: &mut dyn Database,
    schema: &str,
    tables: &mut BTreeMap<String, CatalogTable>,
) -> anyhow::Result<()> {
    for row in database.query(TRIGGERS, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            table.triggers.push(Trigger {
                name: text(&row, 1),
                enabled: true,
                on_delete: text(&row, 2) == "DELETE",
                on_update: text(&row, 2) == "UPDATE",
                columns: Vec::new(),
                on_move: false,
            });
        }
    }
    Ok(())
}

/// What this account may do. Where the server does not say, it is nothing.
fn rights(database: &mut dyn Database, dialect: Dialect) -> Rights {
    let lines = database.query("SHOW GRANTS", &[]).unwrap_or_default();
    let lines: Vec<String> = lines.iter().map(|row| text(row, 0)).collect();
    Rights::of(dialect, lines.iter().map(String::as_str))
}

/// Each row is one part of an index, in the index's order.
fn index_part(table: &mut CatalogTable, row: &super::Row) {
    let name = text(row, 1);
    if table.indexes.last().is_none_or(|index| index.name != name) {
        let usable = truth(row, 4);
        table.indexes.push(CatalogIndex {
            name: name.clone(),
            unique: truth(row, 2),
            valid: usable,
            ready: usable,
            ..CatalogIndex::default()
        });
    }
    if name == "PRIMARY" {
        table.primary_key.push(text(row, 3));
    }
    if let Some(index) = table.indexes.last_mut() {
        index.keys.push(text(row, 3));
        // Ascending; one of full texts has no order.
        index.ordered += usize::from(truth(row, 5) && index.ordered + 1 == index.keys.len());
    }
}

/// Each row is one column of a foreign key, in the key's order.
fn foreign_key_part(tables: &mut BTreeMap<String, CatalogTable>, schema: &str, row: &super::Row) {
    let mut add = |of: &str, list: fn(&mut CatalogTable) -> &mut Vec<ForeignKey>| {
        let own = of
            .strip_prefix(schema)
            .and_then(|rest| rest.strip_prefix('.'));
        let Some(table) = own.and_then(|name| tables.get_mut(name)) else {
            return;
        };
        let keys = list(table);
        let known = |key: &ForeignKey| key.name == text(row, 0) && key.table == text(row, 1);
        if !keys.last().is_some_and(known) {
            keys.push(ForeignKey {
                name: text(row, 0),
                table: text(row, 1),
                target: text(row, 3),
                on_delete: text(row, 5),
                on_update: text(row, 6),
                ..ForeignKey::default()
            });
        }
        if let Some(key) = keys.last_mut() {
            key.columns.push(text(row, 2));
            key.target_columns.push(text(row, 4));
        }
    };
    add(&text(row, 1), |table| &mut table.foreign_keys);
    add(&text(row, 3), |table| &mut table.referenced_by);
}

// The values that new sessions get: those of events, and of every client that sets none.
const SETTINGS: &str = "
    SHOW GLOBAL VARIABLES WHERE Variable_name IN
    ('binlog_format', 'event_scheduler', 'log_bin', 'lower_case_table_names')";

const TABLES: &str = "
    SELECT t.TABLE_NAME, t.ENGINE, COALESCE(t.CREATE_OPTIONS LIKE '%partitioned%', 0), COALESCE(t.TABLE_ROWS, 0),
           COALESCE(t.DATA_LENGTH, 0), COALESCE(t.INDEX_LENGTH, 0), t.TABLE_TYPE = 'SYSTEM VERSIONED',
           CONCAT(p.PARTITION_METHOD, ' (', p.PARTITION_EXPRESSION, ')'), COALESCE(p.ENDS - 1, 0)
    FROM information_schema.TABLES t
    LEFT JOIN (
        SELECT TABLE_NAME, PARTITION_METHOD, PARTITION_EXPRESSION,
               COUNT(DISTINCT CASE WHEN PARTITION_DESCRIPTION <> 'MAXVALUE' THEN PARTITION_NAME END) AS ENDS
        FROM information_schema.PARTITIONS
        WHERE TABLE_SCHEMA = ? AND PARTITION_METHOD IS NOT NULL
        GROUP BY TABLE_NAME, PARTITION_METHOD, PARTITION_EXPRESSION
    ) p ON p.TABLE_NAME = t.TABLE_NAME
    WHERE t.TABLE_SCHEMA = ? AND t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
    ORDER BY t.TABLE_NAME";

const OTHERS: &str = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_TYPE = 'VIEW' ORDER BY TABLE_NAME";

const COLUMNS: &str = "
    SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA,
           COALESCE(GENERATION_EXPRESSION, '') <> '', COLLATION_NAME
    FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = ?
    ORDER BY TABLE_NAME, ORDINAL_POSITION";

// A part of a column's text serves to find rows, but not to prove that they are unique.
const INDEXES: &str = "
    SELECT s.TABLE_NAME, s.INDEX_NAME, s.NON_UNIQUE = 0,
           CONCAT(COALESCE(s.COLUMN_NAME, {expression}, ''), COALESCE(CONCAT('(', s.SUB_PART, ')'), '')),
           {usable}, COALESCE(s.COLLATION = 'A', false)
    FROM information_schema.STATISTICS AS s
    WHERE s.TABLE_SCHEMA = ?
    ORDER BY s.TABLE_NAME, s.INDEX_NAME, s.SEQ_IN_INDEX";

const FOREIGN_KEYS: &str = "
    SELECT k.CONSTRAINT_NAME, CONCAT(k.TABLE_SCHEMA, '.', k.TABLE_NAME), k.COLUMN_NAME,
           CONCAT(k.REFERENCED_TABLE_SCHEMA, '.', k.REFERENCED_TABLE_NAME), k.REFERENCED_COLUMN_NAME,
           r.DELETE_RULE, r.UPDATE_RULE
    FROM information_schema.KEY_COLUMN_USAGE AS k
    JOIN information_schema.REFERENTIAL_CONSTRAINTS AS r
      ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
    WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND (k.TABLE_SCHEMA = ? OR k.REFERENCED_TABLE_SCHEMA = ?)
    ORDER BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION";

const SEES_ALL: &str =
    "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME = 'db'";

const TRIGGERS: &str = "
    SELECT EVENT_OBJECT_TABLE, TRIGGER_NAME, EVENT_MANIPULATION
    FROM information_schema.TRIGGERS
    WHERE EVENT_OBJECT_SCHEMA = ?
    ORDER BY EVENT_OBJECT_TABLE, TRIGGER_NAME";

fn truth(row: &Row, at: usize) -> bool {
    text(row, at) == "1"
}
