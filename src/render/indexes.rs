//! The indexes that the statements need, as statements.

use serde::Serialize;

use super::names::{sha256, table_name};
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan::{self, IndexNeed, Instead, Plan, Substitute};

/// How many letters of a hash are in a name.
const HASH: usize = 8;

#[derive(Serialize, Clone)]
pub(super) struct IndexView {
    pub(super) name: String,
    /// The statements that make and drop it, as literals to be prepared; the first one as it is.
    pub(super) statement: String,
    #[serde(skip)]
    pub(super) plain: String,
    pub(super) undo: String,
    pub(super) ident: String,
    pub(super) literal: String,
    pub(super) qualified: String,
    pub(super) table: String,
    pub(super) table_literal: String,
    pub(super) columns: String,
    /// The names of the columns.
    #[serde(skip)]
    pub(super) leading: Vec<String>,
    /// Whether a part of it is an expression.
    pub(super) expression: bool,
    pub(super) predicates: Vec<String>,
    /// Its columns and its condition.
    #[serde(skip)]
    pub(super) holds: String,
    /// What of its name follows the table.
    #[serde(skip)]
    named: String,
    /// The names of its table and its columns.
    #[serde(skip)]
    base: String,
    pub(super) why: String,
}

impl IndexView {
    /// Its name, and the same with that of its schema, quoted.
    pub(super) fn dropped(&self) -> (String, String) {
        (self.name.clone(), self.qualified.clone())
    }
}

pub(super) fn index_view(graph: &Graph, index: &IndexNeed, dialect: Dialect) -> IndexView {
    let table = graph.table(index.table);
    let (columns, conditions, null) = if dialect.facts().partial_indexes {
        (&index.columns, &index.conditions[..], &index.null)
    } else {
        (&index.whole_columns, &[][..], &None)
    };
    let expressions = expressions(index, dialect);
    let otherwise = |column: &String| match &index.instead {
        Some(Instead {
            column: of,
            by: Substitute::Otherwise(other),
        }) if of == column => Some(other),
        _ => None,
    };
    let named: Vec<String> = columns
        .iter()
        .flat_map(|column| std::iter::once(column).chain(otherwise(column)))
        .cloned()
        .collect();
    let expression = |column: &String| expressions.iter().find(|(of, _)| of == column);
    let leading: Vec<String> = columns
        .iter()
        .map(|column| match expression(column) {
            None => column.clone(),
            Some((_, written)) => written.replace(", ", ","),
        })
        .collect();
    let columns = columns
        .iter()
        .map(|column| match expression(column) {
            None => dialect.ident(column),
            // MySQL wants an expression between parentheses.
            Some((_, written)) => format!("({written})"),
        })
        .collect::<Vec<_>>()
        .join(", ");
    let predicates: Vec<String> = conditions
        .iter()
        .map(|condition| dialect.condition(condition))
        .chain(
            null.iter()
                .map(|column| format!("{} IS NULL", dialect.ident(column))),
        )
        .collect();
    let holds = holds(&columns, &predicates);
    let mut named = named.join("_");
    let base = whole_name(&table.name, &named);
    let alike = match dialect.facts().partial_indexes {
        true => index.alike,
        false => index.whole_alike,
    };
    // PostgreSQL knows an index by its name alone: one with another condition or expression has another name.
    let partial = expressions.is_some() || !predicates.is_empty();
    if alike || dialect == Dialect::Postgres && partial {
        named += &format!("_{}", &sha256(&holds)[..HASH]);
    }
    let name = index_name(dialect, &table.name, &named);
    // Behind an index on an expression stands a hidden column, which MySQL adds together with it only where nobody writes.
    let lock = match expressions {
        None => "NONE",
        Some(_) => "SHARED",
    };
    let alter = |change: &str| {
        format!(
            "ALTER TABLE {} {change}, ALGORITHM = INPLACE, LOCK = {lock}",
            table_name(graph, dialect, &table.name)
        )
    };
    let plain = alter(&format!("ADD INDEX {} ({columns})", dialect.ident(&name)));
    IndexView {
        statement: dialect.text(&plain),
        plain,
        undo: dialect.text(&alter(&format!("DROP INDEX {}", dialect.ident(&name)))),
        literal: dialect.text(&name),
        ident: dialect.ident(&name),
        qualified: table_name(graph, dialect, &name),
        table: table_name(graph, dialect, &table.name),
        table_literal: dialect.text(&table.name),
        columns,
        leading,
        expression: expressions.is_some(),
        predicates,
        holds,
        named,
        base,
        why: index.why.clone(),
        name,
    }
}

/// What an index is on in place of a column of it, and that column.
pub fn expressions(index: &IndexNeed, dialect: Dialect) -> Option<(String, String)> {
    let Instead { column, by } = index.instead.as_ref()?;
    let ident = dialect.ident(column);
    let written = match by {
        Substitute::Otherwise(other) => format!("coalesce({ident}, {})", dialect.ident(other)),
        Substitute::Instant(epoch) if dialect == Dialect::Postgres => {
            dialect.instant(&ident, *epoch)
        }
        Substitute::Instant(_) => return None,
    };
    Some((column.clone(), written))
}

/// The indexes of the plan: table, name, and the columns by which an index serves that leads with them.
pub(super) fn index_rows(
    graph: &Graph,
    plan: &Plan,
    dialect: Dialect,
) -> Vec<(String, String, Vec<String>)> {
    let needs = plan.indexes_for(dialect.facts().partial_indexes);
    let rows = needs.iter().map(|need| {
        let view = index_view(graph, need, dialect);
        let table = graph.table(need.table).name.clone();
        (table, view.name, view.leading)
    });
    rows.collect()
}

/// The statement that makes each index of the plan, in the plan's order.
pub fn index_statements(graph: &Graph, dialect: Dialect) -> Vec<IndexStatement> {
    let graph = &graph.named_for(dialect);
    plan::make(graph)
        .indexes_for(dialect.facts().partial_indexes)
        .into_iter()
        .map(|need| {
            let view = index_view(graph, need, dialect);
            let sql = match dialect {
                Dialect::Postgres => made_concurrently(&view.ident, &view.table, &view.holds),
                Dialect::Mysql | Dialect::Mariadb => view.plain,
            };
            IndexStatement {
                name: view.name,
                sql,
                need: need.clone(),
                holds: view.holds,
                named: view.named,
            }
        })
        .collect()
}

/// An index of the plan, what it is called, and the statement that makes it, as `20_indexes.sql` has it.
#[derive(Debug)]
pub struct IndexStatement {
    /// Its name.
    pub name: String,
    /// The statement, on one line.
    pub sql: String,
    /// What it is for.
    pub need: IndexNeed,
    /// Its columns and its condition.
    holds: String,
    /// What of its name follows the table.
    named: String,
}

impl IndexStatement {
    /// PostgreSQL: the name of the same index of a part of the table.
    pub fn name_of_part(&self, part: &str) -> String {
        index_name(Dialect::Postgres, part, &self.named)
    }

    /// PostgreSQL: the statement that makes the same index of a part of the table, quoted with its schema, while others write.
    pub fn of_part(&self, name: &str, part: &str) -> String {
        made_concurrently(&Dialect::Postgres.ident(name), part, &self.holds)
    }

    /// PostgreSQL: the statement that makes that of the whole table, quoted with its schema, out of those of its parts.
    pub fn of_whole(&self, table: &str) -> String {
        let name = Dialect::Postgres.ident(&self.name);
        format!(
            "CREATE INDEX IF NOT EXISTS {name} ON {table} {}",
            self.holds
        )
    }
}

fn made_concurrently(name: &str, table: &str, holds: &str) -> String {
    format!("CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} {holds}")
}

/// What the index of a need is called.
#[derive(Debug)]
pub struct IndexName {
    /// Its name.
    pub name: String,
    /// PostgreSQL: whether it is on all rows, and on columns alone: its name is then that of earlier versions.
    pub whole: bool,
    /// The names of its table and its columns, which are the same whatever its condition is.
    base: String,
}

impl IndexName {
    /// The name that the index of a need has.
    pub fn of(graph: &Graph, need: &IndexNeed, dialect: Dialect) -> Self {
        let view = index_view(graph, need, dialect);
        Self {
            whole: view.predicates.is_empty() && !view.expression,
            name: view.name,
            base: view.base,
        }
    }

    /// PostgreSQL: whether an index has the name of one with the same columns and another condition, or that of an earlier version.
    pub fn replaces(&self, other: &str) -> bool {
        let dialect = Dialect::Postgres;
        if other == self.name || other == within_limit(dialect, self.base.clone()) {
            return other != self.name;
        }
        let limit = dialect.facts().identifier_bytes;
        other.rsplit_once('_').is_some_and(|(before, hash)| {
            let is_hash = hash.len() == HASH && hash.bytes().all(|it| it.is_ascii_hexdigit());
            is_hash
                && if other.len() + 4 > limit {
                    self.base.starts_with(before)
                } else {
                    self.base == before
                }
        })
    }
}

/// What an index holds: its columns and its condition.
fn holds(columns: &str, predicates: &[String]) -> String {
    if predicates.is_empty() {
        format!("({columns})")
    } else {
        format!("({columns}) WHERE {}", predicates.join(" AND "))
    }
}

/// `windrow_<table>_<columns>`, cut to the dialect's limit with a hash of the whole name at the end. PostgreSQL keeps
/// index names per schema, so the table is part of it.
fn index_name(dialect: Dialect, table: &str, named: &str) -> String {
    within_limit(dialect, whole_name(table, named))
}

fn whole_name(table: &str, named: &str) -> String {
    format!("windrow_{table}_{named}")
}

/// A name cut to the dialect's limit, with a hash of the whole one at the end.
pub(super) fn within_limit(dialect: Dialect, name: String) -> String {
    let limit = dialect.facts().identifier_bytes;
    if name.len() <= limit {
        return name;
    }
    let hash = &sha256(&name)[..HASH];
    let mut end = limit - hash.len() - 1;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}_{hash}", &name[..end])
}
