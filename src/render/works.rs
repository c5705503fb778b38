//! The work tables of MySQL and MariaDB that a rule makes: with which columns of which table. The statements that make them are
//! written from this, and what represents them where a statement is explained.

use serde::Serialize;

/// A work table.
#[derive(Serialize)]
pub(super) struct WorkView {
    pub(super) name: String,
    /// Why it is there: becomes the comment above; empty where the one before it says that.
    why: String,
    keys: &'static str,
    /// The query from which it has its types.
    select: String,
    /// The table, its columns by the names that they have here, and what are times here; nothing where it is as `work_type`.
    #[serde(skip)]
    pub(super) table: String,
    #[serde(skip)]
    pub(super) columns: Vec<(String, String)>,
    #[serde(skip)]
    pub(super) times: Vec<String>,
}

impl WorkView {
    /// What gives its types to the work tables of the kernel: columns by their names here. One that there is none of is NULL.
    pub(super) fn types(table: &str, columns: Vec<(String, String)>, times: &[String]) -> Self {
        let listed = columns.iter().map(|(name, column)| match column.as_str() {
            "" => format!("CAST(NULL AS signed) AS {name}"),
            column => format!("t.{column} AS {name}"),
        });
        let listed: Vec<String> = listed.collect();
        WorkView {
            name: "work_type".to_owned(),
            why: String::new(),
            keys: "",
            select: format!("{} FROM {table} AS t", listed.join(", ")),
            table: table.to_owned(),
            columns,
            times: times.to_vec(),
        }
    }

    /// Values of a column, each once.
    pub(super) fn keys(name: &str, table: &str, column: &str, why: String) -> Self {
        let columns = vec![("id".to_owned(), column.to_owned())];
        WorkView {
            name: name.to_owned(),
            why,
            keys: "PRIMARY KEY (id)",
            ..WorkView::types(table, columns, &[])
        }
    }

    /// The same with numbers, by which they are found again.
    pub(super) fn numbered(name: &str, table: &str, column: &str, why: String) -> Self {
        WorkView {
            keys: "pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, UNIQUE KEY (id)",
            ..WorkView::keys(name, table, column, why)
        }
    }

    /// The same, each with families.
    pub(super) fn by_family(name: &str, table: &str, column: &str, why: String) -> Self {
        WorkView {
            keys: "PRIMARY KEY (id, family)",
            select: format!("t.{column} AS id, k.id AS family FROM {table} AS t, work_type AS k"),
            ..WorkView::keys(name, table, column, why)
        }
    }

    /// Families.
    pub(super) fn families(name: &str, why: &str) -> Self {
        WorkView {
            select: "k.id FROM work_type AS k".to_owned(),
            columns: Vec::new(),
            ..WorkView::keys(name, "", "", why.to_owned())
        }
    }
}

/// What is known of the work tables that the statements of a file name.
pub(super) struct Works<'a> {
    /// What those of the kernel have their types from.
    pub(super) types: &'a WorkView,
    /// Those of the file itself, and copies, each with what it is one of.
    pub(super) made: Vec<&'a WorkView>,
    pub(super) copies: Vec<(&'a str, &'a str)>,
}

impl Works<'_> {
    /// That with the columns of a work table.
    pub(super) fn like(&self, name: &str) -> &WorkView {
        let copy = self.copies.iter().find(|(work, _)| *work == name);
        let name = copy.map_or(name, |(_, of)| of);
        let mut made = self.made.iter().filter(|work| !work.table.is_empty());
        made.find(|work| work.name == name).unwrap_or(&self.types)
    }
}
