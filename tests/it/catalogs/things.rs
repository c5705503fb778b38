//! What stands in a catalog or comes into it, by classes: how it is made, what undoes it, and how it is told where it acts.

use std::collections::BTreeSet;

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use windrow::dialect::Dialect;

use crate::support::database;

use super::{EDGES, GOING, TABLES};

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

/// How something is made and how it goes again, and how it is told, if it is.
type Change = ((String, String), Option<String>);

fn other(random: &mut SmallRng, dialect: Dialect, class: &'static str, number: usize) -> Thing {
    let going = *GOING.choose(random).expect("a table");
    let name = format!("other_{number}");
    let ((make, undo), told) = rule(random, class, going, &name)
        .or_else(|| inheritance(random, class, going, number))
        .or_else(|| engine(class, going, &name))
        .unwrap_or_else(|| beside(random, dialect, class, going, &name));
    let class = CLASSES
        .iter()
        .find(|known| known.name == class)
        .map_or("index", |known| known.name);
    Thing {
        class,
        make,
        undo,
        told,
        told_later: None,
        refuses: false,
    }
}

fn rule(random: &mut SmallRng, class: &str, going: &str, name: &str) -> Option<Change> {
    Some(match class {
        "rule on delete" => (
            (
                format!(
                    "CREATE RULE {name} AS ON DELETE TO {going} DO {}",
                    *["ALSO DELETE FROM stuff", "INSTEAD NOTHING"]
                        .choose(random)
                        .expect("one")
                ),
                format!("DROP RULE {name} ON {going}"),
            ),
            Some(format!(
                "table {going} has the rule {name}, which acts on DELETE"
            )),
        ),
        "rule on update of what is set" => (
            (
                format!(
                    "CREATE RULE {name} AS ON UPDATE TO notes DO {}",
                    *["ALSO DELETE FROM stuff", "INSTEAD NOTHING"]
                        .choose(random)
                        .expect("one")
                ),
                format!("DROP RULE {name} ON notes"),
            ),
            Some(format!(
                "table notes has the rule {name}, which acts on UPDATE"
            )),
        ),
        "rule on another event" | "rule that is switched off" => {
            (idle_rule(random, class, going, name), None)
        }
        _ => return None,
    })
}

fn inheritance(random: &mut SmallRng, class: &str, going: &str, number: usize) -> Option<Change> {
    let name = format!("other_{number}");
    let key = key_of(going);
    let child = |of: &str| {
        (
            format!("CREATE TABLE {name} () INHERITS ({of})"),
            format!("DROP TABLE {name}"),
        )
    };
    let of_child = |of: &str| format!("table {name} inherits from {of}");
    Some(match class {
        "table that inherits from one that goes" => {
            let (make, undo) = child(going);
            (
                (
                    format!(
                        "{make}; INSERT INTO {name} ({key}) VALUES ('{}')",
                        9000 + number
                    ),
                    undo,
                ),
                Some(of_child(going)),
            )
        }
        "table that inherits from one that is set" => (child("notes"), Some(of_child("notes"))),
        "inheritance beside the spec" if random.random_bool(0.5) => (
            child(["audit", "stuff"].choose(random).expect("a table")),
            None,
        ),
        "inheritance beside the spec" => (
            (
                format!("CREATE TABLE {name} (a integer); ALTER TABLE {going} INHERIT {name}"),
                format!("ALTER TABLE {going} NO INHERIT {name}; DROP TABLE {name}"),
            ),
            None,
        ),
        _ => return None,
    })
}

fn engine(class: &str, going: &str, name: &str) -> Option<Change> {
    let change = |of: &str| {
        let (make, undo) = (
            format!("ALTER TABLE {of} ENGINE = MyISAM"),
            format!("ALTER TABLE {of} ENGINE = InnoDB"),
        );
        let told = format!("table {of} has the engine MyISAM");
        ((make, undo), Some(told))
    };
    Some(match class {
        "engine of a table that goes" => change(going),
        "engine of a table that is set" => change("notes"),
        "engine of another table" => (
            (
                format!("CREATE TABLE {name} (id integer) ENGINE = MyISAM"),
                format!("DROP TABLE {name}"),
            ),
            None,
        ),
        _ => return None,
    })
}

fn beside(random: &mut SmallRng, dialect: Dialect, class: &str, going: &str, name: &str) -> Change {
    let key = key_of(going);
    let postgres = dialect == Dialect::Postgres;
    let drop_index = match dialect {
        Dialect::Postgres => format!("DROP INDEX {name}"),
        Dialect::Mysql | Dialect::Mariadb => format!("DROP INDEX {name} ON {going}"),
    };
    match class {
        "view in the place of a table" => (
            (
                format!(
                    "ALTER TABLE {going} RENAME TO {name}; CREATE VIEW {going} AS SELECT * FROM {name}"
                ),
                format!("DROP VIEW {going}; ALTER TABLE {name} RENAME TO {going}"),
            ),
            Some(format!(
                "table {going} is {}",
                if postgres { "a view" } else { "no table" }
            )),
        ),
        "default privileges of others" => {
            let what = *["TABLES", "ROUTINES", "SEQUENCES"]
                .choose(random)
                .expect("a kind");
            (
                (
                    format!("ALTER DEFAULT PRIVILEGES GRANT ALL ON {what} TO PUBLIC"),
                    format!("ALTER DEFAULT PRIVILEGES REVOKE ALL ON {what} FROM PUBLIC"),
                ),
                None,
            )
        }
        "trigger that does nothing" if postgres => (
            (
                format!(
                    "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$; CREATE TRIGGER {name} BEFORE DELETE ON {going} FOR EACH ROW EXECUTE FUNCTION {name}()"
                ),
                format!("DROP TRIGGER {name} ON {going}; DROP FUNCTION {name}()"),
            ),
            None,
        ),
        "trigger that does nothing" => (
            (
                format!(
                    "CREATE TRIGGER {name} AFTER DELETE ON {going} FOR EACH ROW SET @nothing = 1"
                ),
                format!("DROP TRIGGER {name}"),
            ),
            None,
        ),
        "view" => (
            (
                format!("CREATE VIEW {name} AS SELECT a FROM {going}"),
                format!("DROP VIEW {name}"),
            ),
            None,
        ),
        "column" => (
            (
                format!("ALTER TABLE {going} ADD COLUMN {name} integer"),
                format!("ALTER TABLE {going} DROP COLUMN {name}"),
            ),
            None,
        ),
        _ => (
            (
                format!("CREATE INDEX {name} ON {going} ({key}, b)"),
                drop_index,
            ),
            None,
        ),
    }
}

fn key_of(table: &str) -> &'static str {
    if table == "tags" { "code" } else { "id" }
}

/// A rule that does nothing when rows go or are set.
fn idle_rule(random: &mut SmallRng, class: &str, going: &str, name: &str) -> (String, String) {
    let (event, states) = match class {
        "rule on another event" => ([(going, "UPDATE"), ("notes", "DELETE")], [""; 2]),
        _ => (
            [(going, "DELETE"), ("notes", "UPDATE")],
            ["DISABLE RULE", "ENABLE REPLICA RULE"],
        ),
    };
    let (table, event) = *event.choose(random).expect("an event");
    let switch = match *states.choose(random).expect("a state") {
        "" => String::new(),
        state => format!("; ALTER TABLE {table} {state} {name}"),
    };
    (
        format!(
            "CREATE RULE {name} AS ON {event} TO {table} DO ALSO UPDATE stuff SET a = NULL{switch}"
        ),
        format!("DROP RULE {name} ON {table}"),
    )
}
