//! Rows in between that an open transaction takes to another family, while a batch waits for them: they stay, and with them what
//! belongs to them.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{FILL, STRATEGIES, archived, beside, database_of, fill, left, many};
use crate::harness::tests;
use crate::support::effort::share;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Rows};

tests! {
    each_server: [
        a_step_that_moves_keeps_what_is_below_it,
        a_step_that_moves_keeps_what_is_below_it_from_a_purge,
        a_step_that_moves_keeps_what_it_names,
        a_step_that_goes_holds_nothing_up,
    ],
    on_postgres: [
        one_that_comes_does_not_hide_one_that_moves,
        a_step_that_a_trigger_deletes_holds_nothing_up,
    ],
}

/// One of the steps of run 1 becomes one of a run that lives.
const MOVES: &str = "UPDATE step SET run_id = 5000 WHERE id = 11";

/// Whether foreign keys say what belongs to what.
const KEYS: [bool; 2] = [true, false];

fn database(dialect: Dialect, strategy: &str, archive: bool, keys: bool) -> Installation {
    let key = |column: &str, parent: &str| match keys {
        true => format!(", FOREIGN KEY ({column}) REFERENCES {parent} (id)"),
        false => String::new(),
    };
    let of_run = key("run_id", "run");
    database_of(dialect, strategy, archive, &of_run, &key("step_id", "step"))
}

fn rows(rows: &[(&'static str, i64)]) -> Rows {
    rows.iter().copied().collect()
}

fn a_step_that_moves_keeps_what_is_below_it(dialect: Dialect) {
    let ways = [(true, true), (true, false), (false, true), (false, false)];
    for strategy in share(dialect, STRATEGIES) {
        for (archive, keys) in ways {
            let context = format!("{strategy}{archive} {keys}");
            let mut database = database(dialect, strategy, archive, keys);
            let answer = beside(&mut database, MOVES, "run", json!({}));
            let stay = rows(&[("step", 11), ("part", 110)]);
            assert_eq!(left(&mut database), stay, "{context}: {answer}");
            let rule = &answer["rules"][0];
            assert_eq!(answer["status"], "done", "{context}: {answer}");
            let tables = json!({"part": 2, "step": 2, "run": 2});
            assert_eq!(rule["tables"], tables, "{context}: {answer}");
            assert_eq!(rule["skipped"], json!({}), "{context}: {answer}");
            if archive {
                assert_eq!(archived(&mut database, "part"), ["100", "200"], "{context}");
            }
        }
    }
}

fn a_step_that_moves_keeps_what_is_below_it_from_a_purge(dialect: Dialect) {
    for keys in KEYS {
        for strategy in share(dialect, STRATEGIES) {
            let context = format!("{strategy}{keys}");
            let mut database = database(dialect, strategy, true, keys);
            let purge = json!({"key": [1]});
            let answer = beside(&mut database, MOVES, "purge", purge);
            let rule = &answer["rules"][0];
            let tables = json!({"part": 1, "step": 1, "run": 1});
            assert_eq!(rule["tables"], tables, "{context}: {answer}");
            let parts = archived(&mut database, "part");
            assert_eq!(parts, ["100"], "{context}: {answer}");
            let mut stay = left(&mut database);
            stay.retain(|(_, id)| id.to_string().starts_with('1'));
            assert_eq!(stay, rows(&[("step", 11), ("part", 110)]), "{context}");
        }
    }
}

/// A batch that is tried again finds one less.
fn a_step_that_goes_holds_nothing_up(dialect: Dialect) {
    for keys in KEYS {
        for strategy in share(dialect, STRATEGIES) {
            let context = format!("{strategy}{keys}");
            let mut database = database(dialect, strategy, false, keys);
            let goes = "DELETE FROM part WHERE id = 110; DELETE FROM step WHERE id = 11";
            let answer = beside(&mut database, goes, "run", json!({}));
            let rule = &answer["rules"][0];
            let tables = json!({"part": 2, "step": 2, "run": 2});
            assert_eq!(rule["tables"], tables, "{context}: {answer}");
            assert_eq!(rule["skipped"], json!({}), "{context}: {answer}");
            assert_eq!(left(&mut database), Rows::new(), "{context}: {answer}");
        }
    }
}

/// As many are deleted as were read. A foreign key would hold the run of the one that comes.
fn one_that_comes_does_not_hide_one_that_moves() {
    let mut database = database(Dialect::Postgres, STRATEGIES[0], false, false);
    let swaps = format!("{MOVES}; INSERT INTO step VALUES (19, 1)");
    let answer = beside(&mut database, &swaps, "run", json!({}));
    let stay = rows(&[("step", 11), ("part", 110)]);
    assert_eq!(left(&mut database), stay, "{answer}");
    assert_eq!(answer["status"], "done", "{answer}");
}

/// Fewer are deleted than were read, each time.
fn a_step_that_a_trigger_deletes_holds_nothing_up() {
    for keys in KEYS {
        let mut database = database(Dialect::Postgres, STRATEGIES[0], false, keys);
        database.execute(
            "CREATE FUNCTION tidy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 DELETE FROM public.step AS s WHERE s.id = OLD.step_id AND NOT EXISTS (SELECT FROM public.part AS p WHERE p.step_id = s.id);
                 RETURN NULL;
             END $$;
             CREATE TRIGGER tidy AFTER DELETE ON part FOR EACH ROW EXECUTE FUNCTION tidy()",
        );
        let answer = database.run(json!({})).expect("a run");
        assert_eq!(answer["rules"][0]["skipped"], json!({}), "{keys}: {answer}");
        assert_eq!(left(&mut database), Rows::new(), "{keys}: {answer}");
    }
}

/// A step names a note, which says nothing of it; an item of a step does, too.
const NAMING: &str = r#"
name = "beneath"

[tables]
run  = { key = "id bigint" }
step = { key = "id bigint", parents = ["run_id -> run.id"] }
item = { key = "id bigint", parents = ["step_id -> step.id"] }
note = { key = "id bigint", parents = ["id -> step.note_id or alone", "id -> item.note_id or alone"] }

[rules.history]
root      = "run"
strategy  = "end-time"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }
archive   = ARCHIVE
"#;

pub(crate) fn naming(archive: bool) -> Graph {
    graph_of(&NAMING.replace("ARCHIVE", &archive.to_string()))
}

fn noted(dialect: Dialect, archive: bool) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE run (id bigint PRIMARY KEY, state integer, ended {time});
         CREATE TABLE note (id bigint PRIMARY KEY);
         CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint, note_id bigint);
         CREATE TABLE item (id bigint PRIMARY KEY, step_id bigint, note_id bigint);
         CREATE INDEX step_run ON step (run_id);
         CREATE INDEX step_note ON step (note_id);
         CREATE INDEX item_step ON item (step_id);
         CREATE INDEX item_note ON item (note_id);
         CREATE INDEX run_ended ON run (ended, id);"
    );
    let mut database = Installation::of(dialect, &schema, &naming(archive));
    database.arm();
    let notes: Vec<String> = (FILL..FILL + 300).map(|id| format!("({id})")).collect();
    let rows = format!(
        "INSERT INTO run VALUES (1, 1, '2020-01-01'), (5000, 1, '2999-01-01'), {};
         INSERT INTO step VALUES (10, 1, 100), (11, 1, 110), (12, 1, NULL), {};
         INSERT INTO item VALUES (20, 12, 200), (21, 12, 210), (22, 12, NULL), {};
         INSERT INTO note VALUES (100), (110), (200), (210), {}",
        many("NULL, '2999-01-01'"),
        many("1000, 1000"),
        many("1000, 1000"),
        notes.join(", "),
    );
    fill(&mut database, &["note", "item", "step", "run"], &rows);
    database
}

/// No key has them locked before what they name is read.
fn a_step_that_moves_keeps_what_it_names(dialect: Dialect) {
    let ways = [
        (MOVES, ["step", "item"], 11, 110),
        (
            "UPDATE item SET step_id = 1000 WHERE id = 21",
            ["item", "step"],
            21,
            210,
        ),
    ];
    for (archive, (moves, [moved, other], id, note)) in [false, true]
        .iter()
        .flat_map(|archive| ways.map(|way| (*archive, way)))
    {
        let context = format!("{moves} {archive}");
        let mut database = noted(dialect, archive);
        let answer = beside(&mut database, moves, "run", json!({}));
        let mut left = keyed::left(&mut database, &["run", "step", "item", "note"]);
        left.retain(|(_, id)| *id < FILL);
        let stay = rows(&[(moved, id), ("note", note)]);
        assert_eq!(left, stay, "{context}: {answer}");
        let tables = json!({"note": 3, moved: 2, other: 3, "run": 1});
        assert_eq!(answer["rules"][0]["tables"], tables, "{context}: {answer}");
        if archive {
            let all = ["100", "110", "200", "210"];
            let went: Vec<&str> = all
                .into_iter()
                .filter(|it| *it != note.to_string())
                .collect();
            assert_eq!(archived(&mut database, "note"), went, "{context}");
        }
    }
}
