//! What belongs to a root: the closure of tables over foreign keys, names and sampled rows.

use std::collections::BTreeMap;

use super::edges::{Edge, Family, Share, Source, keys, root_key};
use super::names::{self, Likeness, Named};
use super::words::small;
use crate::catalog::{Catalog, CatalogColumn, CatalogTable, ForeignKey};
use crate::column::Kind;
use crate::fit::{are_unsaid, is_whole, key_kind};
use crate::graph::Action;

/// A guess that rows can prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The table whose rows would name others.
    pub table: String,
    /// Its column.
    pub column: String,
    /// The table that would be named.
    pub parent: String,
    /// Its key.
    pub named: String,
    /// How well the names fit.
    pub likeness: Likeness,
    /// Whether the keys are numbers, of which tables have the same by accident.
    pub counts: bool,
    /// Whether its values alone support it: texts count then that no other row is named by chance.
    pub by_values: bool,
}

/// What names say of a schema: for each table the columns of others that could name its rows, the likeliest first.
#[derive(Clone, Debug)]
pub struct Guesses(BTreeMap<String, Vec<Guess>>);

impl Guesses {
    /// Compares the name of each column with those of all tables, and keeps what fits best.
    pub fn new(catalog: &Catalog) -> Guesses {
        let common = names::common_words(catalog.tables.keys().map(String::as_str));
        let named: Vec<(&String, &String, Kind, Named)> = catalog
            .tables
            .iter()
            .flat_map(|(table, live)| keys(live).map(move |key| (table, live, key)))
            .filter_map(|(table, live, key)| {
                let kind = key_kind(catalog.dialect, live.column(key)?)?;
                let named = Named::new(table, key, live.primary_key == [key.clone()], &common);
                Some((table, key, kind, named))
            })
            .collect();
        let mut guesses: BTreeMap<String, Vec<Guess>> = BTreeMap::new();
        for (table, live) in catalog
            .tables
            .iter()
            .filter(|(_, live)| live.partition_of.is_none())
        {
            for column in &live.columns {
                let by_key = live
                    .foreign_keys
                    .iter()
                    .any(|key| key.columns.contains(&column.name));
                let Some(kind) = key_kind(catalog.dialect, column).filter(|_| !by_key) else {
                    continue;
                };
                let name = names::words(&column.name);
                let fitting: Vec<(Likeness, &String, &String, Kind)> = named
                    .iter()
                    .filter(|(parent, key, ..)| !(*parent == table && **key == column.name))
                    .filter_map(|(parent, key, kind, named)| {
                        Some((named.likeness(&name)?, *parent, *key, *kind))
                    })
                    .collect();
                let best = fitting.iter().map(|(likeness, ..)| *likeness).max();
                // A key that is called after its own table names no row of another.
                let own = named.iter().find(|(parent, key, ..)| {
                    *parent == table && **key == column.name && live.primary_key == [(*key).clone()]
                });
                let own = own.and_then(|(.., own)| own.likeness(&name));
                if own.is_some_and(|own| Some(own) >= best) {
                    continue;
                }
                for (likeness, parent, key, of_key) in fitting {
                    let to_itself = parent == table && matches!(likeness, Likeness::Part(_));
                    if Some(likeness) == best && !to_itself && is_alike(kind, of_key) {
                        guesses.entry(parent.clone()).or_default().push(Guess {
                            table: table.clone(),
                            column: column.name.clone(),
                            parent: parent.clone(),
                            named: key.clone(),
                            likeness,
                            counts: is_whole(kind),
                            by_values: false,
                        });
                    }
                }
            }
        }
        for guesses in guesses.values_mut() {
            guesses.sort_by_key(|guess| std::cmp::Reverse(guess.likeness));
        }
        Guesses(guesses)
    }

    /// Whether a column is called like a table.
    fn names(&self, table: &str, column: &str) -> bool {
        let mut all = self.0.values().flatten();
        all.any(|guess| guess.table == table && guess.column == column)
    }
}

/// Whether a column of one type may hold keys of another.
fn is_alike(column: Kind, key: Kind) -> bool {
    column == key || is_whole(column) && is_whole(key)
}

/// Finds what belongs to a root. `ask` samples the rows of a guess.
pub fn find(
    catalog: &Catalog,
    guesses: &Guesses,
    root: &str,
    ask: &mut dyn FnMut(&Guess) -> Share,
) -> Family {
    let mut family = Family {
        tables: vec![root.to_owned()],
        ..Family::default()
    };
    let mut followed = (0, 0);
    family.follow(catalog, guesses, &mut followed, ask);
    for guess in family.unnamed(catalog, guesses) {
        let share = ask(&guess);
        if share.found > 0 {
            family.add(catalog, &guess, share);
        }
    }
    family.follow(catalog, guesses, &mut followed, ask);
    let ignored = std::mem::take(&mut family.ignored).into_iter();
    family.ignored = ignored.filter(|(table, _)| !family.lists(table)).collect();
    family.name_strangers(catalog);
    family.settle(catalog);
    family
}

impl Family {
    /// Follows keys, and names where no key is left to be followed, from the tables that have not been yet.
    fn follow(
        &mut self,
        catalog: &Catalog,
        guesses: &Guesses,
        (by_key, by_name): &mut (usize, usize),
        ask: &mut dyn FnMut(&Guess) -> Share,
    ) {
        loop {
            if let Some(table) = self.tables.get(*by_key).cloned() {
                self.follow_keys(catalog, &table);
                *by_key += 1;
            } else if let Some(table) = self.tables.get(*by_name).cloned() {
                for guess in guesses.0.get(&table).into_iter().flatten() {
                    self.take(catalog, guess, ask);
                }
                *by_name += 1;
            } else {
                return;
            }
        }
    }

    /// Whether the table has an edge, or is the root.
    fn lists(&self, table: &str) -> bool {
        self.goes(table) || self.edges_of(table).next().is_some()
    }

    /// Columns that could hold keys of the root, whatever they are called: a table that lists rows of several others calls them source
    /// and destination, or item. Numbers say nothing of whose they are.
    fn unnamed(&self, catalog: &Catalog, guesses: &Guesses) -> Vec<Guess> {
        let root = &self.tables[0];
        let live = &catalog.tables[root];
        let Some((named, of_key)) = keys(live).find_map(|key| {
            let kind = key_kind(catalog.dialect, live.column(key)?)?;
            (!is_whole(kind)).then_some((key, kind))
        }) else {
            return Vec::new();
        };
        let fits = |table: &String, live: &CatalogTable, column: &CatalogColumn| {
            let mut keys = live.foreign_keys.iter();
            let by_key = keys.any(|key| key.columns.contains(&column.name));
            let kind = key_kind(catalog.dialect, column);
            !by_key
                && kind.is_some_and(|kind| is_alike(kind, of_key))
                && names::is_reference(&column.name)
                && !guesses.names(table, &column.name)
        };
        let tables = catalog.tables.iter();
        let tables =
            tables.filter(|(table, live)| live.partition_of.is_none() && !self.lists(table));
        tables
            .flat_map(|(table, live)| {
                let columns = live.columns.iter();
                columns
                    .filter(|column| fits(table, live, column))
                    .map(|column| Guess {
                        table: table.clone(),
                        column: column.name.clone(),
                        parent: root.clone(),
                        named: named.clone(),
                        likeness: Likeness::Part(0),
                        counts: false,
                        by_values: true,
                    })
            })
            .collect()
    }

    /// Takes a guess that what was looked at supports. What only those have that continue is not history, and what belongs to another
    /// table that is kept is not the root's alone, nor is what only points at the latest of many rows: such a row keeps what it names.
    fn add(&mut self, catalog: &Catalog, guess: &Guess, share: Share) {
        let is_live = share.ended == Some(0) && share.found > 0;
        let owner = self.owner(catalog, &guess.table);
        let pointer = names::is_pointer(&guess.column);
        let stays = is_live || owner.is_some() || pointer;
        self.hang(
            catalog,
            Edge {
                table: guess.table.clone(),
                columns: vec![guess.column.clone()],
                parent: guess.parent.clone(),
                named: vec![guess.named.clone()],
                action: if stays {
                    Action::Restrict
                } else {
                    Action::Delete
                },
                source: Source::Guess {
                    share,
                    by_values: guess.by_values,
                    owner,
                    pointer,
                },
            },
        );
    }

    /// The table that is kept to which a row belongs by a foreign key, unless it sets that to NULL.
    fn owner(&self, catalog: &Catalog, table: &str) -> Option<String> {
        let keys = catalog.tables[table].foreign_keys.iter();
        let own = format!("{}.", catalog.schema);
        let mut owners = keys
            .filter(|key| !key.on_delete.starts_with("SET NULL"))
            .map(|key| key.target.strip_prefix(&own).unwrap_or(&key.target))
            .filter(|target| *target != table && !self.goes(target));
        owners.next().map(str::to_owned)
    }

    /// Tables that have a column like one by which others name a row, and are no part of it.
    fn name_strangers(&mut self, catalog: &Catalog) {
        for (table, live) in catalog
            .tables
            .iter()
            .filter(|(_, live)| live.partition_of.is_none())
        {
            if self.lists(table) {
                continue;
            }
            let like = |column: &&String| {
                let same = |edge: &Edge| edge.columns == [(*column).clone()];
                self.edges.iter().any(same)
            };
            let columns = live.columns.iter().map(|column| &column.name);
            let mut columns = columns.filter(|name| !live.is_mere_key(name));
            let Some(column) = columns.find(like) else {
                continue;
            };
            let key = live
                .foreign_keys
                .iter()
                .find(|key| key.columns.contains(column));
            let reason = match key {
                Some(key) => format!("{column} refers to rows of {}", key.target),
                None => format!("{column} has the name of a column that refers to a row elsewhere"),
            };
            self.ignored.entry(table.clone()).or_insert(reason);
        }
    }

    fn follow_keys(&mut self, catalog: &Catalog, parent: &str) {
        let own = |name: &str| {
            name.strip_prefix(&format!("{}.", catalog.schema))
                .map(str::to_owned)
        };
        for key in &catalog.tables[parent].referenced_by {
            let Some(table) = own(&key.table) else {
                self.questions.push(format!(
                    "`{}` refers to rows of `{parent}` from elsewhere ({}, on delete {}): what happens to its rows?",
                    key.table, key.name, key.on_delete.to_lowercase()
                ));
                continue;
            };
            let Some(live) = catalog.tables.get(&table) else {
                continue;
            };
            if table == parent {
                let by_key = key.target_columns.first() == root_key(catalog, live);
                match (self.action(key, live), &key.columns[..]) {
                    (Some(Action::SetNull), _) => {}
                    (_, [column]) if *parent == self.tables[0] && by_key => {
                        self.hierarchy.push(column.clone());
                        continue;
                    }
                    _ if key.on_delete == "CASCADE" => {
                        self.questions.push(format!(
                            "rows of `{parent}` refer to others of it by {} ({}, on delete cascade), which a spec cannot say: change the key to \
                             NO ACTION, or to SET NULL with `set null` in the spec",
                            key.columns.join(", "), key.name
                        ));
                        continue;
                    }
                    _ => {
                        self.questions
                            .push(below(parent, &key.columns.join(", "), &key.name));
                        continue;
                    }
                }
            }
            let named = &catalog.tables[parent];
            if are_unsaid(catalog.dialect, live, &key.columns)
                || are_unsaid(catalog.dialect, named, &key.target_columns)
            {
                self.questions.push(format!(
                    "`{table}` refers to rows of `{parent}` by {} ({}, on delete {}), whose type specs do not support yet",
                    key.columns.join(", "), key.name, key.on_delete.to_lowercase()
                ));
                continue;
            }
            let Some(action) = self.action(key, live) else {
                self.questions.push(format!(
                    "{} sets ({}) of `{table}` to its default when a row of `{parent}` is deleted: what does that mean?",
                    key.name, key.columns.join(", ")
                ));
                continue;
            };
            if let Some(some) = key.on_delete.strip_prefix("SET NULL ") {
                self.questions.push(format!(
                    "{} sets only {some} of ({}) of `{table}` to NULL when a row of `{parent}` goes, which a spec cannot say: with `restrict` \
                     such a row keeps the family. Let the key do CASCADE and take `restrict` out, if it is to go with it.",
                    key.name, key.columns.join(", ")
                ));
            }
            self.hang(
                catalog,
                Edge {
                    table: table.clone(),
                    columns: key.columns.clone(),
                    parent: parent.to_owned(),
                    named: key.target_columns.clone(),
                    action,
                    source: Source::Key(key.name.clone(), key.on_delete.to_lowercase()),
                },
            );
        }
    }

    /// A row that may be without its parent keeps it, where the key refuses that the parent is deleted.
    fn action(&self, key: &ForeignKey, live: &CatalogTable) -> Option<Action> {
        let nullable = || {
            let mut columns = key.columns.iter().filter_map(|name| live.column(name));
            columns.any(CatalogColumn::may_lack)
        };
        Some(match key.on_delete.split(' ').next().unwrap_or_default() {
            "CASCADE" => Action::Delete,
            "SET" if key.on_delete == "SET NULL" => Action::SetNull,
            // SET NULL (column), of PostgreSQL: a spec can set all of them or none.
            "SET" if key.on_delete.starts_with("SET NULL (") => Action::Restrict,
            "SET" => return None,
            _ if nullable() => Action::Restrict,
            _ => Action::Delete,
        })
    }

    fn take(&mut self, catalog: &Catalog, guess: &Guess, ask: &mut dyn FnMut(&Guess) -> Share) {
        let other =
            |edge: &Edge| edge.columns == [guess.column.clone()] || edge.action != Action::Delete;
        if self.edges_of(&guess.table).any(other) || self.is_above(&guess.table, &guess.parent) {
            return;
        }
        let share = ask(guess);
        let is_sure = match guess.likeness {
            Likeness::Whole(_) if share.values == 0 => true,
            Likeness::Whole(_) => share.found * 2 >= share.values,
            Likeness::Part(_) => {
                share.values >= if guess.counts { 20 } else { 1 }
                    && share.found * 100 >= share.values * 95
            }
        };
        let by_key = self
            .edges_of(&guess.table)
            .any(|edge| matches!(edge.source, Source::Key(..)));
        if by_key || guess.table == guess.parent {
            if is_sure && share.values > 0 {
                let is_root = guess.table == self.tables[0];
                self.questions.push(if guess.table == guess.parent && is_root {
                    above(&guess.table, &guess.column, &guess.named, &share.told())
                } else if guess.table == guess.parent {
                    below(&guess.table, &guess.column, &share.told())
                } else {
                    format!(
                        "`{}.{}` could refer to rows of `{}`, without a foreign key ({}): is that also an edge?",
                        guess.table, guess.column, guess.parent, share.told()
                    )
                });
            }
            return;
        }
        if !is_sure {
            let reason = format!(
                "{} could refer to rows of {}, but {}",
                guess.column,
                guess.parent,
                share.told()
            );
            self.ignored.entry(guess.table.clone()).or_insert(reason);
            return;
        }
        self.add(catalog, guess, share);
    }
}

/// The question of a table whose rows name each other, and are no roots.
fn below(table: &str, column: &str, told: &str) -> String {
    format!(
        "rows of `{table}` refer to others of it by {column} ({told}): are these always of the same family? If not, \
         `{} -> {}.… set null` among its `parents` lets go of them first, where the column may be NULL.",
        small(column),
        small(table)
    )
}

/// The question of roots that name each other without a foreign key.
fn above(table: &str, column: &str, key: &str, told: &str) -> String {
    format!(
        "rows of `{table}` refer to others of it by {column} ({told}): is one of them the other's child, and are they deleted together? \
         Then write `hierarchy = [\"{}: {} -> {}\"]` into the rule.",
        small(table),
        small(column),
        small(key)
    )
}
