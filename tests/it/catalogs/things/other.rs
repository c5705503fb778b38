//! What is no key, no type and no trigger: rules, inheritance, engines, and what only stands beside.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use windrow::dialect::Dialect;

use super::{CLASSES, Thing};
use crate::catalogs::GOING;

/// How something is made and how it goes again, and how it is told, if it is.
type Change = ((String, String), Option<String>);

pub(super) fn other(
    random: &mut SmallRng,
    dialect: Dialect,
    class: &'static str,
    number: usize,
) -> Thing {
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
            Some(format!("table {going} is a view")),
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
