//! How many bytes indexes and the logs will need, by the catalog and a look at some rows.

use std::collections::BTreeMap;

use crate::catalog::{Catalog, CatalogTable};
use crate::commands::session::Session;
use crate::dialect::Dialect;
use crate::failure;
use crate::forecast::{Image, LogVolume, binlog_row, fixed_width, index_entry, wal};
use crate::graph::Graph;
use crate::plan::IndexNeed;
use crate::render;

/// Redo of InnoDB for a deleted row, and for each of its index entries: 225 and 110 bytes were measured.
const REDO_OF_ROW: f64 = 115.0;
const REDO_OF_ENTRY: f64 = 110.0;
/// What a batch writes of its own: progress, links, the ends of transactions.
const LOG_OF_BATCH: f64 = 4_096.0;

/// What is known of the tables, and how the server logs.
#[derive(Debug)]
pub(super) struct Bytes {
    dialect: Dialect,
    home: String,
    tables: BTreeMap<String, CatalogTable>,
    graph: Graph,
    /// Whether page images, or rows, are logged, and which columns of these.
    logs: bool,
    image: Image,
    /// Minutes since 1970 on the clock of the server.
    pub(super) now: i64,
    /// The average bytes of the columns whose values differ, by table; none where they cannot be read.
    widths: BTreeMap<String, Option<BTreeMap<String, f64>>>,
}

impl Bytes {
    /// Asks how the server logs.
    pub(super) fn new(
        session: &mut Session,
        graph: &Graph,
        catalog: &Catalog,
    ) -> anyhow::Result<Bytes> {
        let rows = session.database.query(session.calls.log_settings(), &[])?;
        let cell = |at: usize| {
            let cell = rows.first().and_then(|row| row.get(at)?.clone());
            cell.unwrap_or_default()
        };
        Ok(Bytes {
            dialect: catalog.dialect,
            home: render::home(graph, catalog.dialect).to_owned(),
            tables: catalog.tables.clone(),
            graph: graph.clone(),
            logs: cell(0) == "on",
            image: match cell(1).to_uppercase().as_str() {
                "MINIMAL" => Image::Minimal,
                "NOBLOB" => Image::NoBlob,
                _ => Image::Full,
            },
            now: cell(2).parse().unwrap_or(0),
            widths: BTreeMap::new(),
        })
    }

    /// Bytes of an index that is still to be made; of a partial one, as if it had every row.
    pub(super) fn index(
        &mut self,
        session: &mut Session,
        need: &IndexNeed,
    ) -> anyhow::Result<Option<f64>> {
        let table = self.graph.table(need.table).name.clone();
        let Some(live) = self.tables.get(&table).cloned() else {
            return Ok(None);
        };
        if live.estimated_rows == 0 && live.table_bytes > 0 {
            return Ok(None);
        }
        let columns = if self.dialect.facts().partial_indexes {
            &need.columns
        } else {
            &need.whole_columns
        };
        let values = self.widths_of(session, &table, columns)?;
        let key = match self.dialect {
            Dialect::Postgres => None,
            Dialect::Mysql | Dialect::Mariadb => {
                self.widths_of(session, &table, &live.primary_key)?
            }
        };
        Ok(values.map(|values| (live.estimated_rows as f64 * index_entry(values, key)).round()))
    }

    /// Bytes in the log for deleted rows of a table, of which so many are archived.
    pub(super) fn log(
        &mut self,
        session: &mut Session,
        table: &str,
        rows: f64,
        archived: f64,
    ) -> anyhow::Result<Option<f64>> {
        let Some(live) = self.tables.get(table).cloned() else {
            return Ok(None);
        };
        if self.dialect == Dialect::Postgres {
            let all = live.estimated_rows as f64;
            if all <= 0.0 {
                return Ok(None);
            }
            let share = (rows / all).min(1.0);
            let pages = (live.row_bytes as f64 / 8_192.0 * share).ceil();
            let copies = archived * (live.table_bytes as f64 / all + 80.0);
            return Ok(Some(wal(rows, pages, self.logs) + copies));
        }
        if !self.logs {
            return Ok(Some(0.0));
        }
        let key = if live.primary_key.is_empty() {
            live.columns.iter().map(|it| it.name.clone()).collect()
        } else {
            live.primary_key.clone()
        };
        let Some(key) = self.widths_of(session, table, &key)? else {
            return Ok(None);
        };
        let mut columns = Vec::new();
        for column in &live.columns {
            let large = ["text", "blob", "json"]
                .iter()
                .any(|kind| column.kind.to_lowercase().contains(kind));
            let name = std::slice::from_ref(&column.name);
            let Some(bytes) = self.widths_of(session, table, name)? else {
                return Ok(None);
            };
            columns.push((bytes, large));
        }
        let row = binlog_row(self.image, &columns, key);
        let copy = binlog_row(Image::Full, &columns, key) + 16.0;
        Ok(Some(rows * row + archived * copy))
    }

    /// What the document says of the logs.
    pub(super) fn told(
        &self,
        of_rows: Option<f64>,
        rows: f64,
        batches: f64,
        tables: &BTreeMap<String, f64>,
    ) -> LogVolume {
        let bytes = of_rows.map(|bytes| (bytes + batches * LOG_OF_BATCH).round());
        if self.dialect == Dialect::Postgres {
            return LogVolume::Wal {
                kind: "WAL",
                bytes,
                page_images: self.logs,
            };
        }
        let redo: f64 = tables
            .iter()
            .map(|(table, rows)| {
                let indexes = self.tables.get(table).map_or(0, |live| live.indexes.len());
                rows * (REDO_OF_ROW + REDO_OF_ENTRY * indexes.saturating_sub(1) as f64)
            })
            .sum();
        LogVolume::Binary {
            kind: "binary log",
            bytes: if self.logs && rows > 0.0 {
                bytes
            } else {
                Some(0.0)
            },
            on: self.logs,
            row_image: match self.image {
                Image::Full => "FULL",
                Image::NoBlob => "NOBLOB",
                Image::Minimal => "MINIMAL",
            },
            redo_bytes: redo.round(),
        }
    }

    /// Bytes of a value of each of these columns together; none where this session may not read them.
    fn widths_of(
        &mut self,
        session: &mut Session,
        table: &str,
        columns: &[String],
    ) -> anyhow::Result<Option<f64>> {
        let Some(live) = self.tables.get(table) else {
            return Ok(None);
        };
        if !self.widths.contains_key(table) {
            let names: Vec<&str> = live
                .columns
                .iter()
                .filter(|column| fixed_width(&column.kind).is_none())
                .map(|column| column.name.as_str())
                .collect();
            let name = self.dialect.qualified(&self.home, table);
            let row = if names.is_empty() {
                Some(Vec::new())
            } else {
                match session
                    .database
                    .query(&session.calls.widths(&name, &names), &[])
                {
                    Ok(rows) => rows.into_iter().next(),
                    Err(error) if failure::is_denied(&error) => None,
                    Err(error) => return Err(error),
                }
            };
            let known = row.map(|row| {
                let bytes = row
                    .into_iter()
                    .map(|cell| cell.and_then(|text| text.parse().ok()).unwrap_or(0.0));
                let names = names.iter().map(|name| (*name).to_owned());
                names.zip(bytes).collect()
            });
            self.widths.insert(table.to_owned(), known);
        }
        let Some(Some(known)) = self.widths.get(table) else {
            return Ok(None);
        };
        let bytes = columns.iter().map(|name| {
            let column = live.column(name)?;
            // Where the length differs, it is before the value.
            fixed_width(&column.kind).or_else(|| Some(known.get(name)? + 1.0))
        });
        Ok(bytes.sum())
    }
}
