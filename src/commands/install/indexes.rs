//! How the indexes of `20_indexes.sql` are made on PostgreSQL: none where another one serves, and that of a partitioned table part
//! by part, since the server builds no such index while others write.

use std::collections::BTreeMap;
use std::time::Instant;

use super::journal::Journal;
use crate::bundle::Statement;
use crate::calls::parts_of;
use crate::commands::overlap;
use crate::commands::session::Session;
use crate::commands::uninstall::patiently;
use crate::dialect::Dialect;
use crate::failure::is_lock_timeout;
use crate::fit;
use crate::render::{self, IndexStatement};

/// What is done instead of a statement that makes an index.
enum Way {
    /// Nothing: this index serves.
    Served(String),
    /// It is made part by part, of the table with this name.
    Parted(Box<IndexStatement>, String),
    /// The index with its name is dropped first: that one is on some of the rows.
    Anew(String),
}

/// What is done instead of statements, by the words of these.
pub(super) struct Ways(BTreeMap<String, Way>);

impl Ways {
    /// Looks at the tables as they are before the installation.
    pub(super) fn look(session: &mut Session) -> anyhow::Result<Ways> {
        let mut ways = BTreeMap::new();
        let dialect = session.server.dialect;
        // Elsewhere a routine looks whether an index serves, and an index of a table is that of its parts.
        if dialect != Dialect::Postgres {
            return Ok(Ways(ways));
        }
        let graph = session.graph.named_for(dialect);
        let catalog = session.database.catalog(render::home(&graph, dialect))?;
        for index in render::index_statements(&graph, dialect) {
            let table = graph.table(index.need.table).name.clone();
            let words = format!("create index {}", index.name);
            let parted = catalog.tables.get(&table).is_some_and(|it| it.partitioned);
            match fit::serving(&graph, &catalog, &index.need) {
                Some(name) if parted || name != index.name => {
                    ways.insert(words, Way::Served(name));
                }
                None if fit::hides(&graph, &catalog, &index.need) && !parted => {
                    ways.insert(words, Way::Anew(index.name));
                }
                None if parted => {
                    ways.insert(words, Way::Parted(Box::new(index), table));
                }
                _ => {}
            }
        }
        Ok(Ways(ways))
    }

    /// Does what is to be done instead of a statement, and whether there was such a thing.
    pub(super) fn done(
        &self,
        session: &mut Session,
        statement: &Statement,
        journal: &mut Journal<'_>,
    ) -> anyhow::Result<bool> {
        match self.0.get(statement.what.as_str()) {
            None => return Ok(false),
            Some(Way::Served(name)) => journal.ui.note(&format!(
                "`{name}` already serves, so no index is created: {}",
                statement.what
            )),
            Some(Way::Parted(index, table)) => make(session, index, table, journal)?,
            Some(Way::Anew(name)) => {
                let start = Instant::now();
                session.database.execute(&dropped(session, name, false))?;
                journal.done(&format!("drop index {name}"), start.elapsed());
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Drops the indexes that windrow made for an earlier state of the spec, or as an earlier version, once those that replace them are
/// there. What another installation needs is kept.
pub(super) fn drop_replaced(
    session: &mut Session,
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    let dialect = session.server.dialect;
    if dialect != Dialect::Postgres {
        return Ok(());
    }
    let graph = session.graph.named_for(dialect);
    let catalog = session.database.catalog(render::home(&graph, dialect))?;
    let replaced = fit::replaced(&graph, &catalog);
    if replaced.is_empty() {
        return Ok(());
    }
    let needed = overlap::needed_indexes(session, journal.ui)?;
    session.database.execute(session.calls.impatient())?;
    for name in replaced {
        if let Some((control, needs)) = needed.by(&name) {
            if needed.unknown.is_some() {
                journal
                    .ui
                    .note(&format!("index {name} is kept: `{control}` {needs}"));
            }
            continue;
        }
        let start = Instant::now();
        let parted = catalog
            .tables
            .values()
            .any(|table| table.partitioned && table.indexes.iter().any(|index| index.name == name));
        let drop = dropped(session, &name, parted);
        match patiently("install", || session.database.execute(&drop)) {
            Ok(()) => journal.done(&format!("drop index {name}"), start.elapsed()),
            // Nothing needs it, and the next installation finds it.
            Err(error) if is_lock_timeout(&error) => journal.ui.warning(&format!(
                "the index {name} is replaced by another one, and could not be dropped: {error:#}"
            )),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The statement that drops an index. The server drops that of a partitioned table only while nobody else is at the table.
fn dropped(session: &Session, name: &str, parted: bool) -> String {
    let dialect = Dialect::Postgres;
    let how = if parted { "" } else { "CONCURRENTLY " };
    let schema = dialect.ident(&session.graph.schema);
    format!("DROP INDEX {how}IF EXISTS {schema}.{}", dialect.ident(name))
}

/// Makes an index of each part while others write, and then that of the table, which takes these for its own.
fn make(
    session: &mut Session,
    index: &IndexStatement,
    table: &str,
    journal: &mut Journal<'_>,
) -> anyhow::Result<()> {
    let start = Instant::now();
    let dialect = Dialect::Postgres;
    let whole = format!(
        "{}.{}",
        dialect.ident(&session.graph.schema),
        dialect.ident(table)
    );
    for row in session.database.query(parts_of(), &[Some(&whole)])? {
        let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let (part, schema) = (cell(1), dialect.ident(&cell(2)));
        let name = index.name_of_part(&part);
        let left = format!("{schema}.{}", dialect.ident(&name));
        let invalid =
            "SELECT 1 FROM pg_index AS i WHERE i.indexrelid = to_regclass($1) AND NOT i.indisvalid";
        if !session.database.query(invalid, &[Some(&left)])?.is_empty() {
            session
                .database
                .execute(&format!("DROP INDEX CONCURRENTLY IF EXISTS {left}"))?;
        }
        session.database.execute(&index.of_part(&name, &cell(0)))?;
        journal.done(&format!("create index {name}"), start.elapsed());
    }
    session.database.execute(&index.of_whole(&whole))?;
    journal.done(&format!("create index {}", index.name), start.elapsed());
    Ok(())
}
