//! What is in a live database: tables, columns, keys, indexes, as the server's catalog shows it.
//!
//! Plain values: read by `db`, judged by `fit`, without a connection.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::graph::Graph;

/// One schema of one database (on MySQL and MariaDB: one database), with the foreign keys that point into it from
/// elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Which server it is.
    pub dialect: Dialect,
    /// Server version as one number: 150018 is 15.18.
    pub version_num: u32,
    /// The database is a standby.
    pub in_recovery: bool,
    /// New transactions are read-only.
    pub read_only: bool,
    /// The schema, as the server spells its name.
    pub schema: String,
    /// Whether the schema exists.
    pub schema_exists: bool,
    /// Installed extensions (PostgreSQL).
    pub extensions: Vec<String>,
    /// What the server is set to, as far as it matters: binary log, event scheduler (MySQL, MariaDB); the version of pg_cron
    /// (PostgreSQL).
    pub settings: BTreeMap<String, String>,
    /// Whether the account sees the tables of all databases, and their foreign keys (MySQL, MariaDB).
    pub sees_all: bool,
    /// The ordinary and partitioned tables of the schema by name.
    pub tables: BTreeMap<String, CatalogTable>,
    /// What has a name like a table and is none, by that name: a `view`, a `materialized view`, a `foreign table`.
    pub others: BTreeMap<String, String>,
}

/// One table.
#[derive(Clone, Debug, Default)]
pub struct CatalogTable {
    /// Columns in their order.
    pub columns: Vec<CatalogColumn>,
    /// Columns of the primary key, in the key's order; empty without one.
    pub primary_key: Vec<String>,
    /// Indexes, valid or not.
    pub indexes: Vec<CatalogIndex>,
    /// Foreign keys of this table.
    pub foreign_keys: Vec<ForeignKey>,
    /// Foreign keys of other tables (and of itself) that point to this table. A partition that refers counts as its table; one
    /// that is pointed to has its own.
    pub referenced_by: Vec<ForeignKey>,
    /// Rules that act on DELETE (PostgreSQL).
    pub rules: Vec<String>,
    /// Rules that act on UPDATE (PostgreSQL).
    pub update_rules: Vec<String>,
    /// The columns by which rows belong to parts of it, or to parts of parts (PostgreSQL).
    pub partition_columns: Vec<String>,
    /// How it is partitioned, as `RANGE (column)`; on MySQL and MariaDB as `RANGE COLUMNS (`column`)` or `RANGE (to_days(`column`))`.
    pub partition_key: Option<String>,
    /// How many of its range partitions have a begin and an end.
    pub bounded_partitions: i64,
    /// Tables that inherit from this one without being partitions (PostgreSQL).
    pub children: Vec<String>,
    /// Its partitions, at any depth, that are foreign tables, with their schema if it is another one (PostgreSQL).
    pub foreign_partitions: Vec<String>,
    /// Triggers that users made, on the table or on a part of it.
    pub triggers: Vec<Trigger>,
    /// Whether this account may see none of its triggers (MySQL, MariaDB).
    pub hides_triggers: bool,
    /// Whether the table is partitioned.
    pub partitioned: bool,
    /// The partitioned table of which this is a part.
    pub partition_of: Option<String>,
    /// The storage engine (MySQL, MariaDB).
    pub engine: Option<String>,
    /// Whether the server keeps what its rows were (MariaDB).
    pub versioned: bool,
    /// Whether row level security applies.
    pub row_security: bool,
    /// The planner's estimate; 0 when the table was never analysed.
    pub estimated_rows: i64,
    /// Bytes of the rows in the table's own pages, as the statistics have it, like the following: without long values stored
    /// apart (PostgreSQL), with the primary key (MySQL, MariaDB).
    pub row_bytes: i64,
    /// Bytes of the whole table without its indexes.
    pub table_bytes: i64,
    /// Bytes of its indexes.
    pub index_bytes: i64,
    /// Owner.
    pub owner: String,
}

/// One column.
#[derive(Clone, Debug, Default)]
pub struct CatalogColumn {
    /// Name.
    pub name: String,
    /// Type as the server prints it, e.g. `character varying(64)`.
    pub kind: String,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether rows that were there before may be NULL all the same: NOT NULL is not validated (PostgreSQL 18).
    pub unproved: bool,
    /// Default or generation expression.
    pub default: Option<String>,
    /// Whether it is an identity column.
    pub identity: bool,
    /// Whether it is generated from other columns.
    pub generated: bool,
    /// The collation of a text.
    pub collation: Option<String>,
    /// Whether it takes different texts for equal (PostgreSQL).
    pub nondeterministic: bool,
    /// Whether each UPDATE of a row sets it to the time (MySQL, MariaDB).
    pub on_update: bool,
    /// The labels of an enumerated type, in their order; none of another one (PostgreSQL).
    pub labels: Vec<String>,
}

impl CatalogColumn {
    /// Whether a row may be without a value.
    pub fn may_lack(&self) -> bool {
        self.nullable || self.unproved
    }
}

/// One index.
#[derive(Clone, Debug, Default)]
pub struct CatalogIndex {
    /// Name.
    pub name: String,
    /// Key columns or expressions in order, without included columns.
    pub keys: Vec<String>,
    /// By how many of these, the first ones, it finds and orders rows as statements do: a B-tree does, in the order of the columns.
    pub ordered: usize,
    /// Whether it is unique.
    pub unique: bool,
    /// Whether it is complete and usable.
    pub valid: bool,
    /// Whether it is kept up to date by writes.
    pub ready: bool,
    /// Predicate of a partial index.
    pub predicate: Option<String>,
    /// The statement that makes it.
    pub definition: String,
}

impl CatalogIndex {
    /// The first keys, by which it finds and orders rows as statements do.
    pub fn leads(&self) -> &[String] {
        &self.keys[..self.ordered.min(self.keys.len())]
    }
}

/// One foreign key.
#[derive(Clone, Debug, Default)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub name: String,
    /// `schema.table` that has the constraint.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// `schema.table` that is referenced.
    pub target: String,
    /// The referenced columns.
    pub target_columns: Vec<String>,
    /// `NO ACTION`, `RESTRICT`, `CASCADE`, `SET NULL` or `SET DEFAULT`; the latter two with some of the columns in brackets
    /// where it is not all of them (PostgreSQL).
    pub on_delete: String,
    /// The same when what it names is set.
    pub on_update: String,
}

/// One trigger.
#[derive(Clone, Debug, Default)]
pub struct Trigger {
    /// Name.
    pub name: String,
    /// Whether it fires.
    pub enabled: bool,
    /// Whether it fires on DELETE.
    pub on_delete: bool,
    /// Whether it fires on UPDATE.
    pub on_update: bool,
    /// The columns whose UPDATE it fires on; none: all (PostgreSQL).
    pub columns: Vec<String>,
    /// Whether it fires where an UPDATE moves a row to another partition (PostgreSQL): on the DELETE or the INSERT of the row.
    pub on_move: bool,
}

impl Catalog {
    /// Spells names as a spec has them where the server makes no difference between upper and lower case: those of columns on MySQL
    /// and MariaDB, and those of tables where `lower_case_table_names` says so. What the spec has in a table counts there.
    pub fn spell_like(&mut self, graph: &Graph) {
        if self.dialect == Dialect::Postgres {
            return;
        }
        let folds = self.folds_tables();
        let all = graph.names();
        let spelling = Spelling::of(graph, &all, self.schema.clone(), folds);
        let spell = |table: &str, columns: &mut dyn Iterator<Item = &mut String>| {
            for name in columns {
                if let Some(like) = spelling.column(table, name) {
                    *name = like.to_owned();
                }
            }
        };
        for (name, table) in &mut self.tables {
            let columns = table.columns.iter_mut().map(|column| &mut column.name);
            let keys = table.indexes.iter_mut().flat_map(|index| &mut index.keys);
            spell(name, &mut columns.chain(keys).chain(&mut table.primary_key));
            for key in table
                .foreign_keys
                .iter_mut()
                .chain(&mut table.referenced_by)
            {
                spell(spelling.own(&key.table), &mut key.columns.iter_mut());
                spell(
                    spelling.own(&key.target),
                    &mut key.target_columns.iter_mut(),
                );
            }
        }
        if !folds {
            return;
        }
        let spell_table = |name: &mut String| {
            if let Some(like) = spelling.table(name) {
                *name = like.to_owned();
            }
        };
        for (mut name, what) in std::mem::take(&mut self.others) {
            spell_table(&mut name);
            self.others.insert(name, what);
        }
        for (mut name, mut table) in std::mem::take(&mut self.tables) {
            spell_table(&mut name);
            for key in table
                .foreign_keys
                .iter_mut()
                .chain(&mut table.referenced_by)
            {
                for whole in [&mut key.table, &mut key.target] {
                    if let Some(like) = spelling.table(spelling.own(whole)) {
                        *whole = format!("{}.{like}", spelling.schema);
                    }
                }
            }
            self.tables.insert(name, table);
        }
    }

    /// Whether `ACT_HI_PROCINST` and `act_hi_procinst` are one table to this server.
    pub fn folds_tables(&self) -> bool {
        self.setting("lower_case_table_names")
            .is_some_and(|value| value != "0")
    }

    /// What the server is set to.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }
}

/// How a spec spells tables and columns.
struct Spelling<'a> {
    schema: String,
    folds: bool,
    tables: Names<'a>,
    columns: BTreeMap<&'a str, Names<'a>>,
    /// Words of SQL, too, of which nobody knows whose they are.
    all: Names<'a>,
}

impl<'a> Spelling<'a> {
    fn of(graph: &'a Graph, all: &'a [String], schema: String, folds: bool) -> Self {
        let columns = graph.named_columns().into_iter();
        let columns: BTreeMap<&str, Names<'_>> = columns
            .map(|(table, columns)| (table, columns.into_iter().collect()))
            .collect();
        Self {
            schema,
            folds,
            tables: columns.keys().copied().collect(),
            columns,
            all: all.iter().map(String::as_str).collect(),
        }
    }

    /// A table of the schema without it; that of another one is nothing that the spec names.
    fn own<'b>(&self, whole: &'b str) -> &'b str {
        let rest = whole.strip_prefix(self.schema.as_str());
        rest.and_then(|rest| rest.strip_prefix('.')).unwrap_or("")
    }

    fn table(&self, name: &str) -> Option<&'a str> {
        self.tables.like(name).or_else(|| self.all.like(name))
    }

    fn column(&self, table: &str, name: &str) -> Option<&'a str> {
        let table = match self.folds {
            true => self.table(table).unwrap_or(table),
            false => table,
        };
        let own = self.columns.get(table).and_then(|own| own.like(name));
        own.or_else(|| self.all.like(name))
    }
}

/// Names, which are looked for as they are, then without a look at their case.
struct Names<'a> {
    exact: BTreeSet<&'a str>,
    small: BTreeMap<String, &'a str>,
}

impl<'a> FromIterator<&'a str> for Names<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        let exact: BTreeSet<&str> = names.into_iter().collect();
        let small = exact.iter().map(|name| (name.to_lowercase(), *name));
        Self {
            small: small.collect(),
            exact,
        }
    }
}

impl<'a> Names<'a> {
    fn like(&self, name: &str) -> Option<&'a str> {
        let same = self.exact.get(name);
        same.or_else(|| self.small.get(&name.to_lowercase()))
            .copied()
    }
}

impl CatalogTable {
    /// Whether a column is the primary key under a name of one word, like `id`: that says nothing of what else it names.
    pub fn is_mere_key(&self, column: &str) -> bool {
        let words = column.split('_').filter(|word| !word.is_empty());
        self.primary_key == [column] && words.count() == 1
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&CatalogColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(tables: &str) -> Graph {
        let text = format!(
            "name = 'x'\ndialects = ['mysql']\n[tables]\n{tables}\n[rules.r]\nstrategy = 'end-time'\nroot = 'Run'\n\
             final = {{ state = 1 }}\nend_time = 'ended'\nretention = {{ default = '30d' }}\n"
        );
        let (spec, findings) = crate::spec::parse(&text);
        let (graph, more) = crate::graph::build(&spec.expect("a spec"), &text);
        assert!(
            findings.is_empty() && more.is_empty(),
            "{findings:?} {more:?}"
        );
        graph
    }

    fn table(columns: &[&str]) -> CatalogTable {
        let columns = columns.iter().map(|name| CatalogColumn {
            name: (*name).to_owned(),
            ..CatalogColumn::default()
        });
        let columns: Vec<CatalogColumn> = columns.collect();
        CatalogTable {
            primary_key: columns.iter().map(|it| it.name.clone()).take(1).collect(),
            columns,
            ..CatalogTable::default()
        }
    }

    fn catalog(tables: [(&str, CatalogTable); 2]) -> Catalog {
        Catalog {
            dialect: Dialect::Mysql,
            tables: tables.map(|(name, table)| (name.to_owned(), table)).into(),
            ..Catalog::default()
        }
    }

    const FOLDS: &str = "lower_case_table_names";

    #[test]
    fn a_name_is_spelt_as_the_spec_has_it_in_its_table() {
        let tables = "Run = { key = 'ID bigint' }\nstep = { key = 'id bigint', parents = ['run -> Run.ID'] }";
        let graph = graph(tables);
        for (run, step) in [
            (["ID", "STATE"], ["id", "RUN"]),
            (["id", "State"], ["ID", "Run"]),
        ] {
            for folds in ["0", "1"] {
                let name = if folds == "0" { "Run" } else { "run" };
                let mut catalog = catalog([(name, table(&run)), ("step", table(&step))]);
                catalog.settings.insert(FOLDS.to_owned(), folds.to_owned());
                catalog.spell_like(&graph);
                assert_eq!(catalog.tables["Run"].primary_key, ["ID"]);
                assert!(catalog.tables["Run"].column("state").is_some());
                assert_eq!(catalog.tables["step"].primary_key, ["id"]);
                // A table has this name in other letters.
                assert!(catalog.tables["step"].column("run").is_some());
            }
        }
    }

    #[test]
    fn names_are_spelt_as_the_spec_has_them_where_the_server_does_not_care() {
        let graph = graph("Run = { key = 'ID_ bigint' }");
        let mut catalog = catalog([("run", table(&["id_"])), ("other", table(&["id_"]))]);
        catalog.spell_like(&graph);
        assert!(catalog.tables["run"].column("ID_").is_some());
        catalog.settings.insert(FOLDS.to_owned(), "1".to_owned());
        catalog.spell_like(&graph);
        assert_eq!(catalog.tables["Run"].primary_key, ["ID_"]);
        assert!(catalog.tables.contains_key("other"));
        catalog.dialect = Dialect::Postgres;
        catalog.tables = BTreeMap::from([("run".to_owned(), table(&["id_"]))]);
        catalog.spell_like(&graph);
        assert!(catalog.tables.contains_key("run"));
    }
}
