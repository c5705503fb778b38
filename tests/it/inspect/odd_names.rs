//! Names that want quotes, or are as long as they may be, from the first look to a run: nobody writes one by hand.

use windrow::dialect::Dialect;

use super::strangers::{goes_the_way, has, windrow};
use super::{against, database, draft, said};
use crate::harness::tests;
use crate::support::installation::Installation;

tests! {
    each_server: [
        names_of_all_kinds_go_the_whole_way,
        a_name_longer_than_a_server_has_is_refused,
    ],
    every_server: [
        names_of_all_kinds_are_fitted,
    ],
}

/// Tables and columns: quotes, blanks, dots, capitals, words of SQL and of a spec, umlauts, and the longest that the server has.
struct Names {
    root: &'static str,
    key: &'static str,
    state: &'static str,
    end: &'static str,
    child: &'static str,
    of_root: &'static str,
    below: String,
    of_child: String,
    keeper: &'static str,
    kept: &'static str,
}

impl Names {
    fn new(dialect: Dialect) -> Names {
        // 63 bytes, or 64 characters that are two bytes each.
        let longest = |first: &str| match dialect {
            Dialect::Postgres => format!("{first}{}", "_".repeat(63 - first.len())),
            Dialect::Mysql | Dialect::Mariadb => {
                format!("{first}{}", "ü".repeat(64 - first.chars().count()))
            }
        };
        Names {
            root: "the \"run\" of `a`.b's",
            key: "ID\"",
            state: "run.status",
            end: "ended`at \"Ü\"",
            child: "select",
            of_root: "from -> \"to\"",
            below: longest("Größe"),
            of_child: longest("unless"),
            keeper: "Ünique.order",
            kept: "restrict",
        }
    }

    fn schema(&self, dialect: Dialect) -> String {
        let name = |name: &str| dialect.ident(name);
        format!(
            "CREATE TABLE {root} ({key} bigint PRIMARY KEY, {state} varchar(20), {end} timestamp NULL);
             CREATE TABLE {child} ({key} bigint PRIMARY KEY, {of_root} bigint NOT NULL,
                 CONSTRAINT {of_root} FOREIGN KEY ({of_root}) REFERENCES {root} ({key}) ON DELETE CASCADE);
             CREATE TABLE {below} ({of_child} bigint NOT NULL, n integer,
                 CONSTRAINT of_child FOREIGN KEY ({of_child}) REFERENCES {child} ({key}));
             CREATE TABLE {keeper} ({key} bigint PRIMARY KEY, {kept} bigint NULL,
                 CONSTRAINT kept FOREIGN KEY ({kept}) REFERENCES {root} ({key}));",
            root = name(self.root),
            key = name(self.key),
            state = name(self.state),
            end = name(self.end),
            child = name(self.child),
            of_root = name(self.of_root),
            below = name(&self.below),
            of_child = name(&self.of_child),
            keeper = name(self.keeper),
            kept = name(self.kept),
        )
    }

    /// Forty roots, of which ten run, each with a child and two rows below; one of those that have ended is kept.
    fn fill(&self, database: &mut Installation) {
        let dialect = database.dialect;
        let name = |name: &str| dialect.ident(name);
        let mut rows = String::new();
        for n in 1..=40 {
            let (state, end) = if n % 4 == 0 {
                ("running", "NULL")
            } else {
                ("done", "'2024-01-02'")
            };
            rows += &format!(
                "INSERT INTO {} VALUES ({n}, '{state}', {end}); INSERT INTO {} VALUES ({n}, {n});
                 INSERT INTO {below} VALUES ({n}, 1), ({n}, 2);",
                name(self.root),
                name(self.child),
                below = name(&self.below),
            );
        }
        rows += &format!("INSERT INTO {} VALUES (1, 1), (2, NULL)", name(self.keeper));
        database.execute(&rows);
    }
}

fn names_of_all_kinds_go_the_whole_way(dialect: Dialect) {
    let names = Names::new(dialect);
    let mut database = database(dialect, &names.schema(dialect));
    names.fill(&mut database);
    let (_, listed, _) = said(&database.superuser(), &["inspect"]);
    assert!(listed.contains(&format!("\n{}", names.root)), "{listed}");
    let text = draft(&database, names.root);
    let quoted = |name: &str| {
        let inner = name.replace('"', "\"\"");
        serde_json::Value::from(format!("\"{inner}\"")).to_string()
    };
    let within = |name: &str| {
        let quoted = quoted(name);
        quoted[1..quoted.len() - 1].to_owned()
    };
    has(
        &text,
        &[
            &format!("key = \"{} bigint\"", within(names.key)),
            &format!(
                "parents = [\"{} -> {}.{}\"]",
                within(names.of_root),
                within(names.root),
                within(names.key)
            ),
            &format!("parents = [\"{} -> select.", names.of_child),
            "parents = [\"restrict -> ",
        ],
    );
    goes_the_way(&mut database, &text, 29);
    let count = |database: &mut Installation, table: &str| {
        database.number(&format!("SELECT COUNT(*) FROM {}", dialect.ident(table)))
    };
    assert_eq!(count(&mut database, names.root), 11);
    assert_eq!(count(&mut database, names.child), 11);
    assert_eq!(count(&mut database, &names.below), 22);
}

fn names_of_all_kinds_are_fitted(dialect: Dialect) {
    let names = Names::new(dialect);
    let mut database = database(dialect, &names.schema(dialect));
    names.fill(&mut database);
    let text = draft(&database, names.root);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("draft.toml");
    let path = path.to_str().expect("UTF-8");
    std::fs::write(path, &text).expect("a spec");
    let out = folder.path().join("generated");
    let out = out.to_str().expect("UTF-8");
    let (code, _, told) = windrow(&database, &["generate", path, "--out", out]);
    assert_eq!(code, Some(0), "{told}");

    // A table comes, and one that the spec lets be absent is gone.
    let child = dialect.ident(names.child);
    database.execute(&format!(
        "DROP TABLE {}; CREATE TABLE {new} ({id} bigint PRIMARY KEY, {of} bigint NOT NULL,
             CONSTRAINT {of} FOREIGN KEY ({of}) REFERENCES {child} ({key}))",
        dialect.ident(&names.below),
        new = dialect.ident("a new \"table\""),
        id = dialect.ident("I`d"),
        of = dialect.ident("of \"it\"."),
        key = dialect.ident(names.key)
    ));
    let below = format!(
        "{} = {{ parents",
        serde_json::Value::from(names.below.as_str())
    );
    assert!(text.contains(&below), "{text}");
    let optional = below.replace("{ parents", "{ optional = true, parents");
    std::fs::write(path, text.replace(&below, &optional)).expect("a spec");
    let (code, fitted, told) = windrow(&database, &["init", "--from", path]);
    assert_eq!(code, Some(1), "{told}");
    assert!(
        told.contains("1 part is left out, 1 question is open"),
        "{told}"
    );
    let asked = "\\\"of \\\"\\\"it\\\"\\\".\\\" -> select.\\\"ID\\\"\\\"\\\"";
    assert!(fitted.contains(asked), "{asked}\n{fitted}");
    assert!(fitted.contains("\"a new \\\"table\\\"\""), "{fitted}");
    assert!(
        !against(&database, &fitted).contains("missing-table"),
        "{fitted}"
    );

    // Whoever does as he is asked has a spec that fits.
    let line = format!("\n\"a new \\\"table\\\"\" = {{ parents = [\"{asked}\"] }}\n");
    let (before, after) = fitted.split_once("\n[rules.").expect("a rule");
    let followed = format!("{before}{line}\n[rules.{after}");
    assert_eq!(against(&database, &followed), "", "{followed}");
}

fn a_name_longer_than_a_server_has_is_refused(dialect: Dialect) {
    let names = Names::new(dialect);
    let database = database(dialect, &names.schema(dialect));
    let text = draft(&database, names.root);
    let (word, longer, told) = match dialect {
        Dialect::Postgres => ("\"postgres\"", format!("{}x", names.below), "64 bytes\n"),
        Dialect::Mysql => ("\"mysql\"", format!("{}x", names.below), "65 characters\n"),
        Dialect::Mariadb => (
            "\"mariadb\"",
            format!("{}x", names.below),
            "65 characters\n",
        ),
    };
    let found = against(&database, &text.replace(&names.below, &longer));
    assert!(
        found.contains("error[invalid-identifier]: the name ") && found.contains(told),
        "{found}"
    );
    assert!(
        found.contains("write the name as in the catalog"),
        "{found}"
    );
    // What fits one server may be too long for another one.
    let elsewhere = text.replace(
        &format!("dialects  = [{word}]"),
        &format!("dialects  = [{word}, \"postgres\"]"),
    );
    let found = against(&database, &elsewhere);
    if dialect == Dialect::Postgres {
        assert!(!found.contains("invalid-identifier"), "{found}");
    } else {
        assert!(
            found.contains("if the spec is for other servers, list them under `dialects`"),
            "{found}"
        );
    }
}
