//! The rights of the owner role on what is the application's, as PostgreSQL gets them.

use super::views::SpecView;

/// A statement for each right, with all tables on which it is given.
pub(super) fn statements(view: &SpecView) -> Vec<String> {
    let mut rights = Rights::default();
    for table in view.tables.iter().filter(|table| table.deleted) {
        rights.add("SELECT, DELETE", &table.table);
    }
    let read = view.tables.iter().filter(|table| !table.deleted);
    let read = read.map(|table| &table.table);
    let rules = view.rules.iter();
    let references = rules.flat_map(|rule| rule.strategy.references());
    let looked_into = read
        .chain(references)
        .chain(view.definitions.iter().map(|table| &table.table));
    for table in looked_into {
        if !rights.has("SELECT, DELETE", table) {
            rights.add("SELECT", table);
        }
    }
    for table in view.tables.iter().filter(|it| !it.updates.is_empty()) {
        rights.add(&format!("UPDATE ({})", table.updates), &table.table);
    }
    for root in &view.roots {
        rights.add(&format!("UPDATE ({})", root.column), &root.table);
    }
    for archive in &view.archives {
        rights.add("INSERT", &archive.table);
    }
    if let Some(heartbeat) = &view.throttles.heartbeat {
        rights.add("SELECT", &heartbeat.table);
    }
    let each = rights.0.iter();
    each.map(|(right, tables)| statement(right, tables, &view.accounts.owner))
        .collect()
}

/// Rights in the order in which they came up, each with its tables.
#[derive(Default)]
struct Rights(Vec<(String, Vec<String>)>);

impl Rights {
    fn has(&self, right: &str, table: &str) -> bool {
        let mut rights = self.0.iter();
        rights.any(|(own, tables)| own == right && tables.iter().any(|it| it == table))
    }

    fn add(&mut self, right: &str, table: &str) {
        if self.has(right, table) {
            return;
        }
        match self.0.iter_mut().find(|(own, _)| own == right) {
            Some((_, tables)) => tables.push(table.to_owned()),
            None => self.0.push((right.to_owned(), vec![table.to_owned()])),
        }
    }
}

/// A statement on one line, or its tables on lines of their own.
fn statement(right: &str, tables: &[String], owner: &str) -> String {
    const WIDTH: usize = 120;
    let one = format!("    GRANT {right} ON {} TO {owner};", tables.join(", "));
    if one.len() <= WIDTH {
        return one;
    }
    let mut lines = vec![format!("    GRANT {right} ON")];
    let mut line = "       ".to_owned();
    for (table, sign) in tables.iter().zip(signs(tables.len())) {
        if line.len() + table.len() + sign.len() >= WIDTH && !line.trim().is_empty() {
            lines.push(line);
            line = "       ".to_owned();
        }
        line.extend([" ", table, sign]);
    }
    lines.extend([line, format!("    TO {owner};")]);
    lines.join("\n")
}

/// What follows each of so many items.
fn signs(items: usize) -> impl Iterator<Item = &'static str> {
    (1..=items).map(move |item| if item < items { "," } else { "" })
}
