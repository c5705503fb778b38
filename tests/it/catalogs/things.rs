//! What stands in a catalog or comes into it, by classes: how it is made, what undoes it, and how it is told where it acts.

use std::collections::BTreeSet;

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use windrow::dialect::Dialect;

use crate::support::database;

use super::{EDGES, GOING, TABLES};

mod other;

use other::other;

/// Something in the catalog.
#[derive(Debug)]
pub(super) struct Thing {
    pub(super) class: &'static str,
    pub(super) make: String,
    pub(super) undo: String,
    /// How it is told, where it acts beside windrow.
    pub(super) told: Option<String>,
    /// How it is told where it came after somebody had armed windrow, and was nothing to tell before.
    pub(super) told_later: Option<String>,
    /// Whether it may keep families from going.
    pub(super) refuses: bool,
}

impl Thing {
    /// Whether it is known by when a table was made, which InnoDB knows by the second.
    pub(super) fn is_told_by_time(&self) -> bool {
        self.class.contains("type") || self.class.contains("collation")
    }
}

/// Who meets a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    All,
    Postgres,
    /// Since version 15.
    Postgres15,
    Innodb,
    Mariadb,
    NotMariadb,
}

/// A class, who meets it, and whether it acts.
pub(super) struct Class {
    pub(super) name: &'static str,
    on: On,
    pub(super) acts: bool,
    /// Whether it is met alone: nothing else may touch its table.
    alone: bool,
}

const fn class(name: &'static str, on: On, acts: bool) -> Class {
    let alone = false;
    Class {
        name,
        on,
        acts,
        alone,
    }
}

const fn alone(name: &'static str, on: On, acts: bool) -> Class {
    Class {
        alone: true,
        ..class(name, on, acts)
    }
}

const CLASSES: [Class; 39] = [
    class("key on an edge that the spec accounts for", On::All, false),
    class("key on an edge that does otherwise", On::All, true),
    class("key on an edge that sets a part", On::Postgres15, true),
    class("key on an edge to another column", On::All, true),
    class("key on an edge to another table", On::All, true),
    class("key between managed tables", On::All, true),
    class("key of a table to itself", On::All, true),
    class("key of an ignored table", On::All, true),
    class("key of an unknown table", On::All, true),
    class("key of another schema", On::All, true),
    class("key of several columns", On::All, true),
    class("key that only refuses", On::All, false),
    class("key to a table from which nothing goes", On::All, false),
    class("key on update of what is set", On::All, true),
    class("key on update of another schema", On::All, true),
    class("key on update that only refuses", On::NotMariadb, false),
    // No handler of MariaDB sees the error of an UPDATE that joins tables.
    class("key on update that only refuses", On::Mariadb, true),
    class("key on update of what is not set", On::All, false),
    class("rule on delete", On::Postgres, true),
    class("rule on update of what is set", On::Postgres, true),
    class("rule on another event", On::Postgres, false),
    class("rule that is switched off", On::Postgres, false),
    class("table that inherits from one that goes", On::Postgres, true),
    class(
        "table that inherits from one that is set",
        On::Postgres,
        true,
    ),
    class("inheritance beside the spec", On::Postgres, false),
    class("other type of a number", On::All, true),
    class("other type of a text", On::All, true),
    class("other collation", On::All, true),
    alone("type of the same kind", On::All, false),
    alone("collation that is exact", On::Innodb, false),
    alone("engine of a table that goes", On::Innodb, true),
    alone("engine of a table that is set", On::Innodb, true),
    class("engine of another table", On::Innodb, false),
    alone("view in the place of a table", On::All, true),
    class("default privileges of others", On::Postgres, false),
    class("trigger that does nothing", On::All, false),
    class("index", On::All, false),
    class("view", On::All, false),
    class("column", On::All, false),
];

/// The classes that there are on a server.
pub(super) fn classes(dialect: Dialect) -> Vec<&'static Class> {
    let here = |class: &&Class| match class.on {
        On::All => true,
        On::Postgres => dialect == Dialect::Postgres,
        On::Postgres15 => dialect == Dialect::Postgres && database::server().major() >= 15,
        On::Innodb => dialect != Dialect::Postgres,
        On::Mariadb => dialect == Dialect::Mariadb,
        On::NotMariadb => dialect != Dialect::Mariadb,
    };
    CLASSES.iter().filter(here).collect()
}

/// A round: one thing of the class, alone in acting if it does, with others that do no harm; or anything.
pub(super) fn things(
    random: &mut SmallRng,
    dialect: Dialect,
    lead: Option<&'static Class>,
) -> Vec<Thing> {
    let mut free = Free::new(random, dialect);
    let mut things = Vec::new();
    if let Some(lead) = lead {
        things.push(free.draw(random, lead.name, 0));
        assert_eq!(
            things[0].told.is_some(),
            lead.acts,
            "{}: {things:?}",
            lead.name
        );
        if lead.alone {
            return things;
        }
    }
    let others: Vec<&Class> = classes(dialect)
        .into_iter()
        .filter(|class| !class.alone && (lead.is_none() || !class.acts))
        .collect();
    for number in 1..=random.random_range(0..3 + usize::from(lead.is_none())) {
        let class = others.choose(random).expect("a class");
        things.push(free.draw(random, class.name, number));
    }
    things
}

/// The columns of which nothing stands on yet.
struct Free {
    dialect: Dialect,
    spare: Vec<(&'static str, &'static str)>,
    edges: Vec<&'static (
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        &'static [&'static str],
    )>,
    done: BTreeSet<&'static str>,
}

const REFUSING: [&str; 2] = ["NO ACTION", "RESTRICT"];

impl Free {
    fn new(random: &mut SmallRng, dialect: Dialect) -> Self {
        let mut spare: Vec<_> = TABLES
            .iter()
            .flat_map(|table| [(*table, "a"), (*table, "b")])
            .collect();
        spare.shuffle(random);
        let mut edges: Vec<_> = EDGES.iter().collect();
        edges.shuffle(random);
        let done = BTreeSet::new();
        Self {
            dialect,
            spare,
            edges,
            done,
        }
    }

    /// InnoDB knows no SET DEFAULT.
    fn effects(&self) -> &'static [&'static str] {
        match self.dialect {
            Dialect::Postgres => &["CASCADE", "SET NULL", "SET DEFAULT"],
            Dialect::Mysql | Dialect::Mariadb => &["CASCADE", "SET NULL"],
        }
    }

    /// A spare column of one of these tables.
    fn column_of(&mut self, tables: &[&str]) -> Option<(&'static str, &'static str)> {
        let mut spare = self.spare.iter();
        let at = spare.position(|(table, _)| tables.contains(table))?;
        Some(self.spare.swap_remove(at))
    }

    /// The columns of an edge.
    fn edge(
        &mut self,
        wanted: impl Fn(&str, &[&str]) -> bool,
    ) -> Option<(&'static str, &'static str, &'static str, &'static str)> {
        let mut edges = self.edges.iter();
        let at = edges.position(|(table, _, _, _, known)| wanted(table, known))?;
        let (table, column, parent, named, _) = *self.edges.swap_remove(at);
        Some((table, column, parent, named))
    }

    /// Something of the class; an index where no column is left for it.
    fn draw(&mut self, random: &mut SmallRng, class: &'static str, number: usize) -> Thing {
        let thing = if class.starts_with("key") {
            self.key(random, class, number)
        } else if class.contains("type") || class.contains("collation") {
            self.shape(random, class)
        } else {
            Some(other(random, self.dialect, class, number))
        };
        thing.unwrap_or_else(|| other(random, self.dialect, "index", number))
    }

    fn key(&mut self, random: &mut SmallRng, class: &'static str, number: usize) -> Option<Thing> {
        let effects = self.effects();
        let acting = *effects.choose(random)?;
        let refusing = *REFUSING.choose(random)?;
        let any = *[effects, &REFUSING].concat().choose(random)?;
        let going = *["runs", "parts", "bits"].choose(random)?;
        let far = &["aside.far"][..];
        let all = ["runs", "parts", "bits", "notes", "audit", "stuff"];
        let on = |free: &mut Self, tables: &[&str], parent, delete: &str, update: &str| {
            let (table, column) = free.column_of(tables)?;
            Some(free.reference(class, number, (table, column, parent, "id"), delete, update))
        };
        let key = match class {
            "key on an edge that the spec accounts for" => {
                let at = self.edge(|_, _| true)?;
                let known = EDGES
                    .iter()
                    .find(|edge| edge.0 == at.0 && edge.1 == at.1)?
                    .4;
                let known: Vec<&str> = known
                    .iter()
                    .copied()
                    .filter(|it| effects.contains(it))
                    .collect();
                self.reference(class, number, at, known.choose(random)?, any)
            }
            "key on an edge that does otherwise" => {
                let at = self.edge(|_, known| known.len() == 1)?;
                self.reference(class, number, at, "CASCADE", any)
            }
            "key on an edge to another column" => {
                let (table, column, parent, _) =
                    self.edge(|table, _| ["parts", "tags"].contains(&table))?;
                let at = (table, column, parent, "number");
                self.reference(class, number, at, acting, any)
            }
            "key on an edge to another table" => {
                let (table, column, _, named) = self.edge(|table, _| table == "bits")?;
                let at = (table, column, "runs", named);
                self.reference(class, number, at, acting, any)
            }
            "key on an edge that sets a part" => {
                let at = self.edge(|_, known| known.len() == 1)?;
                let (table, column, parent, _) = at;
                let part = format!("SET NULL ({column})");
                let mut key = self.reference(class, number, at, &part, any);
                key.told = Some(format!(
                    "table {table} references {parent} by acts_{number} (on delete set null)"
                ));
                key
            }
            "key between managed tables" => on(
                self,
                &["runs", "parts", "bits", "notes", "tags", "marks"],
                going,
                acting,
                any,
            )?,
            "key of a table to itself" => on(self, &[going], going, acting, any)?,
            "key of an ignored table" => on(self, &["audit"], going, acting, any)?,
            "key of an unknown table" => on(self, &["stuff"], going, acting, any)?,
            "key of another schema" => on(self, &["aside.far"], going, acting, any)?,
            "key that only refuses" => on(self, &[&all[..], far].concat(), going, refusing, any)?,
            "key to a table from which nothing goes" => {
                on(self, &[&all[..], far].concat(), "stuff", any, any)?
            }
            "key of several columns" => self.pair(class, number, acting)?,
            "key on update of what is not set" => {
                on(self, &[&all[..], far].concat(), "notes", any, any)?
            }
            "key on update of another schema" => {
                self.set_by(class, number, &["aside.far"], acting)?
            }
            "key on update that only refuses" => {
                self.set_by(class, number, &[&all[..], far].concat(), refusing)?
            }
            _ => self.set_by(class, number, &[&all[..], far].concat(), acting)?,
        };
        Some(key)
    }

    /// A key to what windrow sets.
    fn set_by(
        &mut self,
        class: &'static str,
        number: usize,
        tables: &[&str],
        update: &str,
    ) -> Option<Thing> {
        let (table, column) = self.column_of(tables)?;
        let at = (table, column, "notes", "run_id");
        Some(self.reference(class, number, at, "NO ACTION", update))
    }

    /// A foreign key with what it does.
    fn reference(
        &self,
        class: &'static str,
        number: usize,
        (table, column, parent, named): (&str, &str, &str, &str),
        delete: &str,
        update: &str,
    ) -> Thing {
        let known = EDGES
            .iter()
            .find(|edge| (edge.0, edge.1, edge.2, edge.3) == (table, column, parent, named));
        let refuses = REFUSING.contains(&delete);
        let takes = !refuses
            && GOING.contains(&parent)
            && !known.is_some_and(|edge| edge.4.contains(&delete));
        let is_set = (parent, named) == ("notes", "run_id");
        let follows = is_set && (self.dialect == Dialect::Mariadb || !REFUSING.contains(&update));
        let event = match (takes, follows) {
            (true, _) => Some(("delete", delete)),
            (_, true) => Some(("update", update)),
            _ => None,
        };
        let name = format!("acts_{number}");
        let to = match (table, self.dialect) {
            ("aside.far", Dialect::Mysql | Dialect::Mariadb) => format!("HERE.{parent}"),
            _ => parent.to_owned(),
        };
        Thing {
            class,
            make: format!(
                "UPDATE {table} SET {column} = NULL WHERE {column} NOT IN (SELECT * FROM (SELECT {named} FROM {to} WHERE {named} IS NOT NULL) AS p);
                 ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {to} ({named}) ON DELETE {delete} ON UPDATE {update}"
            ),
            undo: format!("ALTER TABLE {table} DROP CONSTRAINT {name}"),
            told: event.map(|(event, effect)| {
                format!("table {table} references {parent} by {name} (on {event} {})", effect.to_lowercase())
            }),
            told_later: None,
            refuses: known.is_none() && (refuses && GOING.contains(&parent) || is_set && !follows),
        }
    }

    /// A key of two columns, beside the edge that has one of them.
    fn pair(&mut self, class: &'static str, number: usize, delete: &str) -> Option<Thing> {
        let at = self
            .spare
            .iter()
            .position(|place| *place == ("bits", "a"))?;
        self.spare.swap_remove(at);
        // InnoDB gives up an index where another one begins with its columns, and alters no column that a key names.
        self.edge(|table, _| table == "bits")?;
        self.edge(|table, _| table == "parts")?;
        let (name, effect) = (format!("acts_{number}"), delete.to_lowercase());
        Some(Thing {
            class,
            make: format!(
                "UPDATE bits SET a = (SELECT run_id FROM parts WHERE parts.id = part_id);
                 ALTER TABLE bits ADD CONSTRAINT {name} FOREIGN KEY (part_id, a) REFERENCES parts (id, run_id) ON DELETE {delete}"
            ),
            undo: format!("ALTER TABLE bits DROP CONSTRAINT {name}"),
            told: Some(format!("table bits references parts by {name} (on delete {effect})")),
            told_later: None,
            refuses: false,
        })
    }

    /// Another type or collation of a column that an edge compares.
    fn shape(&mut self, random: &mut SmallRng, class: &'static str) -> Option<Thing> {
        let is_text = class == "other collation"
            || class == "other type of a text"
            || class == "collation that is exact";
        let texts = |table: &str, _: &[&str]| table == "marks";
        let numbers = |table: &str, _: &[&str]| !["marks", "notes"].contains(&table);
        let (table, column, parent, named) = if is_text {
            self.edge(texts)?
        } else {
            self.edge(numbers)?
        };
        let postgres = self.dialect == Dialect::Postgres;
        // Also where an earlier one of the same round stands on it.
        if !self.done.insert(table) {
            return None;
        }
        let (of, to, was) = match (class, postgres) {
            ("other type of a number", true) => (
                (table, column),
                *["double precision", "real", "varchar(20)"].choose(random)?,
                "integer",
            ),
            ("other type of a number", false) => (
                (table, column),
                *["double", "float", "varchar(20)"].choose(random)?,
                "integer",
            ),
            ("other type of a text", true) => ((table, column), "name", TEXT_OF_POSTGRES),
            ("other type of a text", false) => ((table, column), "bigint", TEXT),
            ("other collation", true) => (
                (table, column),
                *[
                    "varchar(20) COLLATE \"C\"",
                    "varchar(20) COLLATE loose",
                    "text COLLATE \"POSIX\"",
                ]
                .choose(random)?,
                TEXT_OF_POSTGRES,
            ),
            ("other collation", false) => (
                (table, column),
                *[
                    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                    "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
                    "varchar(20) CHARACTER SET latin1 COLLATE latin1_bin",
                ]
                .choose(random)?,
                TEXT,
            ),
            ("collation that is exact", _) => (
                (parent, named),
                "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
                "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
            ),
            (_, true) => (
                (table, column),
                *["bigint", "numeric", "smallint"].choose(random)?,
                "integer",
            ),
            (_, false) => (
                (table, column),
                *["bigint", "decimal(20, 0)", "smallint"].choose(random)?,
                "integer",
            ),
        };
        let alter = |to: &str| {
            let ((table, column), bare) = (of, to.split(" COLLATE").next().unwrap_or(to));
            match self.dialect {
                Dialect::Postgres => {
                    format!("ALTER TABLE {table} ALTER {column} TYPE {to} USING {column}::{bare}")
                }
                Dialect::Mysql | Dialect::Mariadb => {
                    format!("ALTER TABLE {table} MODIFY {column} {to}")
                }
            }
        };
        let clear = match (class, postgres) {
            ("other type of a text", false) => format!("UPDATE {table} SET {column} = NULL; "),
            _ => String::new(),
        };
        let acts = class.starts_with("other");
        Some(Thing {
            class,
            make: format!("{clear}{}", alter(to)),
            undo: alter(was),
            told: acts.then(|| {
                format!("table {table} compares {column} otherwise than {parent} does {named}")
            }),
            told_later: (!acts).then(|| {
                format!(
                    "catalog changed: table {} has other columns for its keys or edges",
                    of.0
                )
            }),
            refuses: false,
        })
    }
}

/// The type of a text, and what it is on PostgreSQL.
pub(super) const TEXT: &str = "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
pub(super) const TEXT_OF_POSTGRES: &str = "varchar(20)";
