//! The catalog of a schema, from `pg_catalog`.

use std::collections::BTreeMap;

use crate::catalog::{Catalog, CatalogColumn, CatalogIndex, CatalogTable, ForeignKey, Trigger};
use crate::db::cells::{number, text};
use crate::db::session::{Database, Row};
use crate::dialect::Dialect;

pub(super) fn catalog(database: &mut dyn Database, schema: &str) -> anyhow::Result<Catalog> {
    let server = database.server()?;
    let exists = database.query(EXISTS, &[Some(schema)])?;
    let extensions = database.query(
        "SELECT extname::text, extversion FROM pg_extension ORDER BY extname",
        &[],
    )?;
    let mut tables: BTreeMap<String, CatalogTable> = BTreeMap::new();
    for row in database.query(TABLES, &[Some(schema)])? {
        let table = CatalogTable {
            partitioned: truth(&row, 1),
            partition_of: row.get(2).cloned().flatten(),
            row_security: truth(&row, 3),
            estimated_rows: number(&row, 4),
            owner: text(&row, 5),
            row_bytes: number(&row, 6),
            table_bytes: number(&row, 7),
            index_bytes: number(&row, 8),
            rules: list(&row, 9),
            update_rules: list(&row, 10),
            children: list(&row, 11),
            partition_key: row.get(12).cloned().flatten(),
            bounded_partitions: number(&row, 13),
            foreign_partitions: list(&row, 14),
            ..CatalogTable::default()
        };
        tables.insert(text(&row, 0), table);
    }
    for row in database.query(COLUMNS, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            table.columns.push(CatalogColumn {
                name: text(&row, 1),
                kind: text(&row, 2),
                nullable: truth(&row, 3),
                default: row.get(4).cloned().flatten(),
                identity: truth(&row, 5),
                generated: truth(&row, 6),
                collation: row.get(7).cloned().flatten(),
                nondeterministic: truth(&row, 8),
                labels: list(&row, 9),
                unproved: truth(&row, 10),
                ..CatalogColumn::default()
            });
        }
    }
    for row in database.query(INDEXES, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            let index = CatalogIndex {
                name: text(&row, 1),
                keys: list(&row, 2),
                ordered: text(&row, 9).parse().unwrap_or_default(),
                unique: truth(&row, 3),
                valid: truth(&row, 5),
                ready: truth(&row, 6),
                predicate: row.get(7).cloned().flatten(),
                definition: text(&row, 8),
            };
            if truth(&row, 4) {
                table.primary_key.clone_from(&index.keys);
            }
            table.indexes.push(index);
        }
    }
    for row in database.query(PARTITION_COLUMNS, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            table.partition_columns.push(text(&row, 1));
        }
    }
    foreign_keys(database, schema, &mut tables)?;
    for row in database.query(TRIGGERS, &[Some(schema)])? {
        if let Some(table) = tables.get_mut(&text(&row, 0)) {
            table.triggers.push(Trigger {
                name: text(&row, 1),
                enabled: truth(&row, 2),
                on_delete: truth(&row, 3),
                on_update: truth(&row, 4),
                columns: list(&row, 5),
                on_move: truth(&row, 6),
            });
        }
    }
    Ok(Catalog {
        dialect: Dialect::Postgres,
        version_num: server.version_num,
        in_recovery: server.in_recovery,
        read_only: server.read_only,
        schema: schema.to_owned(),
        schema_exists: !exists.is_empty(),
        extensions: extensions.iter().map(|row| text(row, 0)).collect(),
        settings: extensions
            .iter()
            .filter(|row| text(row, 0) == "pg_cron")
            .map(|row| (text(row, 0), text(row, 1)))
            .collect(),
        tables,
        others: others(database, schema)?,
        ..Catalog::default()
    })
}

/// What has a name like a table and is none.
fn others(database: &mut dyn Database, schema: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let rows = database.query(OTHERS, &[Some(schema)])?;
    Ok(rows
        .iter()
        .map(|row| (text(row, 0), text(row, 1)))
        .collect())
}

/// Adds the foreign keys of the schema, and those that refer to its tables.
fn foreign_keys(
    database: &mut dyn Database,
    schema: &str,
    tables: &mut BTreeMap<String, CatalogTable>,
) -> anyhow::Result<()> {
    for row in database.query(FOREIGN_KEYS, &[Some(schema)])? {
        let key = ForeignKey {
            name: text(&row, 0),
            table: text(&row, 1),
            columns: list(&row, 2),
            target: text(&row, 3),
            target_columns: list(&row, 4),
            on_delete: text(&row, 5),
            on_update: text(&row, 6),
        };
        let own = |name: &str| {
            name.strip_prefix(schema)?
                .strip_prefix('.')
                .map(str::to_owned)
        };
        if let Some(table) = own(&key.table).and_then(|name| tables.get_mut(&name)) {
            table.foreign_keys.push(key.clone());
        }
        // Where the partition that it names is of another schema, it counts as one to the whole table.
        let named = own(&text(&row, 7)).filter(|name| tables.contains_key(name));
        let named = named.or_else(|| own(&key.target));
        if let Some(table) = named.and_then(|name| tables.get_mut(&name)) {
            table.referenced_by.push(key);
        }
    }
    Ok(())
}

// Sizes as VACUUM and ANALYZE last saw them: to measure them would wait for whoever alters a table.
const TABLES: &str = "
    SELECT c.relname, c.relkind = 'p',
           (SELECT p.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent
             WHERE i.inhrelid = c.oid AND c.relispartition),
           c.relrowsecurity, greatest(c.reltuples, 0)::bigint, pg_get_userbyid(c.relowner),
           c.relpages * b.size, (c.relpages + coalesce((SELECT t.relpages FROM pg_class t WHERE t.oid = c.reltoastrelid), 0)) * b.size,
           (SELECT coalesce(sum(x.relpages), 0)::bigint FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid) * b.size,
           (SELECT json_agg(r.rulename ORDER BY r.rulename) FROM pg_rewrite r
             WHERE r.ev_class = c.oid AND r.ev_type = '4' AND r.ev_enabled IN ('O', 'A'))::text,
           (SELECT json_agg(r.rulename ORDER BY r.rulename) FROM pg_rewrite r
             WHERE r.ev_class = c.oid AND r.ev_type = '2' AND r.ev_enabled IN ('O', 'A'))::text,
           (SELECT json_agg(CASE WHEN cn.nspname = $1 THEN h.relname::text ELSE cn.nspname || '.' || h.relname END ORDER BY cn.nspname, h.relname)
              FROM pg_inherits i JOIN pg_class h ON h.oid = i.inhrelid JOIN pg_namespace cn ON cn.oid = h.relnamespace
             WHERE i.inhparent = c.oid AND c.relkind = 'r')::text,
           pg_get_partkeydef(c.oid),
           (SELECT count(*) FROM pg_inherits i JOIN pg_class h ON h.oid = i.inhrelid
             WHERE i.inhparent = c.oid AND c.relkind = 'p' AND pg_get_expr(h.relpartbound, h.oid) ~ '^FOR VALUES FROM'
               AND pg_get_expr(h.relpartbound, h.oid) !~ 'M(IN|AX)VALUE'),
           (SELECT json_agg(CASE WHEN fn.nspname = $1 THEN f.relname::text ELSE fn.nspname || '.' || f.relname END ORDER BY fn.nspname, f.relname)
              FROM pg_partition_tree(CASE c.relkind WHEN 'p' THEN c.oid END) i
              JOIN pg_class f ON f.oid = i.relid AND f.relkind = 'f' JOIN pg_namespace fn ON fn.oid = f.relnamespace)::text
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN (SELECT current_setting('block_size')::bigint) AS b(size)
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
    ORDER BY c.relname";

const EXISTS: &str = "SELECT 1 FROM pg_namespace WHERE nspname = $1";

const OTHERS: &str = "
    SELECT c.relname, CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('v', 'm', 'f')
    ORDER BY c.relname";

// NOT NULL that is not validated came with PostgreSQL 18: rows that were there before may have none.
const COLUMNS: &str = "
    WITH RECURSIVE based (domain, type, modifier) AS (
        SELECT t.oid, t.typbasetype, t.typtypmod FROM pg_type t WHERE t.typtype = 'd'
        UNION ALL
        SELECT b.domain, t.typbasetype, t.typtypmod FROM based b JOIN pg_type t ON t.oid = b.type AND t.typtype = 'd'
    )
    SELECT c.relname, a.attname,
           (SELECT format_type(b.type, b.modifier) FROM based b JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
             WHERE b.domain = a.atttypid
             UNION ALL SELECT format_type(a.atttypid, a.atttypmod) LIMIT 1),
           NOT (a.attnotnull OR EXISTS (
               SELECT FROM pg_type t
               WHERE t.typnotnull AND (t.oid = a.atttypid OR t.oid IN (SELECT b.type FROM based b WHERE b.domain = a.atttypid))
           )),
           pg_get_expr(d.adbin, d.adrelid), a.attidentity <> '', a.attgenerated <> '',
           o.collname, coalesce(NOT o.collisdeterministic, false),
           (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = a.atttypid)::text,
           EXISTS (SELECT FROM pg_constraint k
             WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND k.conkey = ARRAY[a.attnum])
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_collation o ON o.oid = a.attcollation
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
    ORDER BY c.relname, a.attnum";

// A plain column is given by its bare name, an expression by its text.
// In the order of a column is what a B-tree has by the default operators and the collation of the column, ascending or, all of it,
// descending; verify() asks the same.
const INDEXES: &str = "
    SELECT c.relname, x.relname,
           (SELECT json_agg(coalesce(a.attname::text, pg_get_indexdef(i.indexrelid, k.n::int, true)) ORDER BY k.n)
              FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, n)
              LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
             WHERE k.n <= i.indnkeyatts)::text,
           i.indisunique, i.indisprimary, i.indisvalid, i.indisready,
           pg_get_expr(i.indpred, i.indrelid, true), pg_get_indexdef(i.indexrelid),
           (SELECT coalesce(min(k.n) - 1, i.indnkeyatts)
              FROM unnest(i.indkey::int2[], i.indclass::oid[], i.indcollation::oid[], i.indoption::int2[])
                   WITH ORDINALITY AS k (attnum, class, coll, direction, n)
              JOIN pg_opclass o ON o.oid = k.class
              JOIN pg_am m ON m.oid = o.opcmethod
              LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum AND k.attnum > 0
             WHERE m.amname <> 'btree' OR a.attcollation <> k.coll
                OR k.direction NOT IN (0, 3) OR k.direction <> i.indoption[0]
                OR NOT EXISTS (SELECT FROM pg_opclass d WHERE d.opcfamily = o.opcfamily AND d.opcdefault))::text
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indrelid
    JOIN pg_class x ON x.oid = i.indexrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
    ORDER BY c.relname, x.relname";

// A partition counts as its table, on both ends; last comes the one that is named. The columns of SET NULL (...) came with
// PostgreSQL 15, keys that are not enforced with 18.
const FOREIGN_KEYS: &str = "
    SELECT k.conname, tn.nspname || '.' || t.relname,
           (SELECT json_agg(a.attname ORDER BY u.n) FROM unnest(k.conkey) WITH ORDINALITY AS u (attnum, n)
              JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.attnum)::text,
           fn.nspname || '.' || f.relname,
           (SELECT json_agg(a.attname ORDER BY u.n) FROM unnest(k.confkey) WITH ORDINALITY AS u (attnum, n)
              JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.attnum)::text,
           CASE k.confdeltype WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL'
                              WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END
           || coalesce((SELECT ' (' || string_agg(a.attname, ', ' ORDER BY a.attname) || ')' FROM pg_attribute a
                         WHERE a.attrelid = k.conrelid AND to_jsonb(k) -> 'confdelsetcols' @> to_jsonb(a.attnum)), ''),
           CASE k.confupdtype WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL'
                              WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END,
           pn.nspname || '.' || p.relname
    FROM pg_constraint k
    JOIN pg_class t ON t.oid = coalesce(pg_partition_root(k.conrelid), k.conrelid)
    JOIN pg_namespace tn ON tn.oid = t.relnamespace
    JOIN pg_class f ON f.oid = coalesce(pg_partition_root(k.confrelid), k.confrelid)
    JOIN pg_namespace fn ON fn.oid = f.relnamespace
    JOIN pg_class p ON p.oid = k.confrelid
    JOIN pg_namespace pn ON pn.oid = p.relnamespace
    WHERE k.contype = 'f' AND k.conparentid = 0 AND $1 IN (tn.nspname, fn.nspname)
      AND to_jsonb(k) -> 'conenforced' IS DISTINCT FROM 'false'
    ORDER BY 2, 1";

// The server notes that these columns may not be dropped, also those of an expression.
const PARTITION_COLUMNS: &str = "
    SELECT DISTINCT c.relname, a.attname
    FROM pg_partitioned_table k
    CROSS JOIN LATERAL (SELECT k.partrelid AS oid UNION SELECT p.relid FROM pg_partition_ancestors(k.partrelid) p) w
    JOIN pg_class c ON c.oid = w.oid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = k.partrelid AND d.objsubid > 0 AND d.deptype = 'i'
     AND d.refclassid = 'pg_class'::regclass AND d.refobjid = k.partrelid AND d.refobjsubid = 0
    JOIN pg_attribute a ON a.attrelid = k.partrelid AND a.attnum = d.objsubid
    WHERE n.nspname = $1
    ORDER BY 1, 2";

// One of a part, at any depth and in any schema, fires for rows of the whole table.
const TRIGGERS: &str = "
    SELECT c.relname, t.tgname, t.tgenabled IN ('O', 'A'), (t.tgtype & 8) <> 0, (t.tgtype & 16) <> 0,
           (SELECT json_agg(a.attname ORDER BY a.attname) FROM pg_attribute a
             WHERE a.attrelid = t.tgrelid AND a.attnum = ANY (t.tgattr::int2[]))::text,
           t.tgtype & 1 = 1 AND t.tgtype & 12 <> 0
    FROM pg_trigger t
    CROSS JOIN LATERAL (SELECT t.tgrelid AS oid UNION SELECT p.relid FROM pg_partition_ancestors(t.tgrelid) p WHERE t.tgtype & 1 = 1) w
    JOIN pg_class c ON c.oid = w.oid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND NOT t.tgisinternal
    ORDER BY c.relname, t.tgname";

pub(super) fn truth(row: &Row, at: usize) -> bool {
    matches!(text(row, at).as_str(), "true" | "on")
}

fn list(row: &Row, at: usize) -> Vec<String> {
    serde_json::from_str(&text(row, at)).unwrap_or_default()
}
