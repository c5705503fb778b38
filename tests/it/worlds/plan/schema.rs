//! The tables of a plan, as SQL.

use std::fmt::Write as _;

use windrow::dialect::Dialect;

use super::{DEFINITIONS, Kind, Plan, Source, Table};

impl Kind {
    fn sql(self, dialect: Dialect) -> &'static str {
        match (dialect, self) {
            (_, Self::Small) => "smallint",
            (_, Self::Integer) => "integer",
            (_, Self::Big | Self::Number(_)) => "bigint",
            (_, Self::Broken(1_000)) => "decimal(40,10)",
            (_, Self::Broken(_)) => "double precision",
            (_, Self::Decimal) => "decimal(20,0)",
            (_, Self::Varchar) => "varchar(60)",
            (Dialect::Postgres, Self::Uuid) => "uuid",
            (_, Self::Uuid) => "char(36)",
            (Dialect::Postgres, Self::Time) => "timestamp",
            (_, Self::Time) => "datetime(6)",
            (Dialect::Postgres, Self::Instant) => "timestamptz",
            (_, Self::Instant) => "timestamp(6)",
        }
    }
}

impl Plan {
    /// The tables of the application, parents first.
    pub(crate) fn schema(&self, dialect: Dialect) -> String {
        let mut schema = String::new();
        let mut later = String::new();
        for (at, table) in self.tables.iter().enumerate() {
            let mut parts = Vec::new();
            let names = |table: &Table, columns: &[usize]| {
                let each = columns.iter().map(|at| dialect.ident(&table.at(*at).name));
                each.collect::<Vec<_>>().join(", ")
            };
            for column in &table.columns {
                // The first timestamp of a table is never NULL on MariaDB unless that is said.
                let null = if column.nullable { "NULL" } else { "NOT NULL" };
                parts.push(format!(
                    "{} {} {null}",
                    dialect.ident(&column.name),
                    column.kind.sql(dialect)
                ));
            }
            let primary = if table.key.is_empty() {
                &[0][..]
            } else {
                &table.key
            };
            parts.push(format!("PRIMARY KEY ({})", names(table, primary)));
            if let Some(unique) = table.unique {
                parts.push(format!("UNIQUE ({})", names(table, &unique)));
            }
            for (place, edge) in table.edges.iter().enumerate() {
                if let Some(on_delete) = edge.key {
                    let parent = &self.tables[edge.parent];
                    let key = format!(
                        "CONSTRAINT fk_{at}_{place} FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {on_delete}",
                        names(table, &edge.columns),
                        dialect.ident(&parent.name),
                        names(parent, &edge.parent_columns)
                    );
                    if edge.parent > at {
                        let name = dialect.ident(&table.name);
                        let _ = writeln!(later, "ALTER TABLE {name} ADD {key};");
                    } else {
                        parts.push(key);
                    }
                }
            }
            // Texts are equal where their bytes are.
            let options = match dialect {
                Dialect::Postgres => "",
                Dialect::Mysql | Dialect::Mariadb => " DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin",
            };
            let _ = writeln!(
                schema,
                "CREATE TABLE {} ({}){options};",
                dialect.ident(&table.name),
                parts.join(", ")
            );
        }
        if self.families.source == Source::Definitions {
            let _ = writeln!(
                schema,
                "CREATE TABLE {DEFINITIONS} (code bigint PRIMARY KEY, days integer);"
            );
        }
        schema + &later
    }
}
