//! What is in a live database: tables, columns, keys, indexes, as the server's catalog shows it.
//!
//! Plain values: read by `db`, judged by `fit`, without a connection.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;

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
    /// Spells names like the given ones where the server makes no difference between upper and lower case: those of
    /// columns on MySQL and MariaDB, and those of tables where `lower_case_table_names` says so. One that is given as it is stays.
    pub fn spell_like(&mut self, names: &[impl AsRef<str>]) {
        if self.dialect == Dialect::Postgres {
            return;
        }
        let known: BTreeMap<String, &str> = names
            .iter()
            .map(|name| (name.as_ref().to_lowercase(), name.as_ref()))
            .collect();
        // A column may have the name of another table's, but for its case.
        let given: BTreeSet<&str> = names.iter().map(AsRef::as_ref).collect();
        let like = |name: &str| {
            let is_given = given.contains(name);
            known.get(&name.to_lowercase()).filter(|_| !is_given)
        };
        let spell = |name: &mut String| {
            if let Some(like) = like(name) {
                (*like).clone_into(name);
            }
        };
        for table in self.tables.values_mut() {
            let columns = table.columns.iter_mut().map(|column| &mut column.name);
            let keys = table.indexes.iter_mut().flat_map(|index| &mut index.keys);
            columns
                .chain(keys)
                .chain(&mut table.primary_key)
                .for_each(spell);
            for key in table
                .foreign_keys
                .iter_mut()
                .chain(&mut table.referenced_by)
            {
                let columns = key.columns.iter_mut().chain(&mut key.target_columns);
                columns.for_each(spell);
            }
        }
        if !self.folds_tables() {
            return;
        }
        let schema = self.schema.clone();
        let spell_own = |name: &mut String| {
            let own = name
                .strip_prefix(&schema)
                .and_then(|rest| rest.strip_prefix('.'));
            if let Some(like) = own.and_then(like) {
                *name = format!("{schema}.{like}");
            }
        };
        for (mut name, what) in std::mem::take(&mut self.others) {
            spell(&mut name);
            self.others.insert(name, what);
        }
        for (mut name, mut table) in std::mem::take(&mut self.tables) {
            spell(&mut name);
            for key in table
                .foreign_keys
                .iter_mut()
                .chain(&mut table.referenced_by)
            {
                spell_own(&mut key.table);
                spell_own(&mut key.target);
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

    #[test]
    fn a_name_that_the_spec_has_is_not_spelt_like_another_one() {
        let table = |key: &str| CatalogTable {
            primary_key: vec![key.to_owned()],
            ..CatalogTable::default()
        };
        let mut catalog = Catalog {
            dialect: Dialect::Mysql,
            tables: [
                ("job".to_owned(), table("ID")),
                ("step".to_owned(), table("id")),
            ]
            .into(),
            ..Catalog::default()
        };
        let folds = ("lower_case_table_names".to_owned(), "1".to_owned());
        catalog.settings.extend([folds]);
        for names in [
            ["job", "step", "ID", "id", "Job"],
            ["Job", "id", "ID", "step", "job"],
        ] {
            catalog.spell_like(&names);
            assert_eq!(catalog.tables["job"].primary_key, ["ID"]);
            assert_eq!(catalog.tables["step"].primary_key, ["id"]);
        }
    }

    #[test]
    fn names_are_spelt_as_the_spec_has_them_where_the_server_does_not_care() {
        let column = CatalogColumn {
            name: "id_".to_owned(),
            ..CatalogColumn::default()
        };
        let table = CatalogTable {
            columns: vec![column],
            primary_key: vec!["id_".to_owned()],
            ..CatalogTable::default()
        };
        let mut catalog = Catalog {
            dialect: Dialect::Mysql,
            tables: [("act_hi".to_owned(), table)].into(),
            ..Catalog::default()
        };
        catalog.spell_like(&["ACT_HI", "ID_"]);
        assert!(catalog.tables["act_hi"].column("ID_").is_some());
        let folds = ("lower_case_table_names".to_owned(), "1".to_owned());
        catalog.settings.extend([folds]);
        catalog.spell_like(&["ACT_HI", "ID_"]);
        assert_eq!(catalog.tables["ACT_HI"].primary_key, ["ID_"]);
        catalog.dialect = Dialect::Postgres;
        catalog.spell_like(&["act_hi"]);
        assert!(catalog.tables.contains_key("ACT_HI"));
    }
}
