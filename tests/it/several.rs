//! Rows with several parents, of which one may go while another stays.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Cleaned};

tests! {
    every_server: [
        by_default_a_row_goes_with_all_of_its_parents,
        with_any_a_row_goes_with_the_first_of_them,
        families_that_share_a_row_go_together_in_the_smallest_batch,
        a_parent_that_no_rule_takes_keeps_the_family,
        a_parent_of_no_family_keeps_the_family,
        a_row_that_others_name_goes_with_all_of_them,
        a_row_that_is_not_final_keeps_its_family,
        a_row_that_names_one_that_is_not_final_keeps_its_family,
        a_purge_takes_families_that_share_a_row_if_all_are_named,
    ],
}

const SPEC: &str = r#"
name   = "several"
schema = "public"

[tables]
runs  = { key = "id integer" }
steps = { key = "id integer", parents = ["run_id -> runs.id"] }
pairs = { parents = ["run_id -> runs.id unless 0", "step_id bigint -> steps.id"] }
bills = { key = "id integer", parents = ["run_id -> runs.id restrict"] }
files = { parents = ["step_id -> steps.id", "bill_id -> bills.id"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1 }
"#;

/// Runs 1 to 4 are due, 5 is running; each has a step with ten times its number.
pub(crate) const SCHEMA: &str = "
CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL);
CREATE TABLE steps (id integer NOT NULL PRIMARY KEY, run_id integer NOT NULL);
CREATE TABLE pairs (id integer NOT NULL PRIMARY KEY, run_id integer, step_id bigint);
CREATE TABLE bills (id integer NOT NULL PRIMARY KEY, run_id integer);
CREATE TABLE files (id integer NOT NULL PRIMARY KEY, step_id integer, bill_id integer);
INSERT INTO runs (id, state, ended) VALUES
    (1, 'done', '2025-01-01 00:00:00'), (2, 'done', '2025-01-02 00:00:00'), (3, 'done', '2025-01-03 00:00:00'),
    (4, 'done', '2025-01-04 00:00:00'), (5, 'running', NULL);
INSERT INTO steps (id, run_id) VALUES (10, 1), (20, 2), (30, 3), (40, 4), (50, 5)";

pub(crate) fn graph(with: &str) -> Graph {
    let with = format!("steps.id\"]{with} }}");
    graph_of(&SPEC.replace("steps.id\"] }", &with))
}

fn armed(dialect: Dialect, with: &str, rows: &str) -> Installation {
    let mut installation = Installation::of(dialect, SCHEMA, &graph(with));
    installation.arm();
    installation.execute(rows);
    installation
}

fn left(installation: &mut Installation, table: &str) -> Vec<String> {
    installation.texts(&format!("SELECT id FROM {table} ORDER BY id"))
}

fn cleaned(installation: &mut Installation) -> (Value, Value) {
    let Cleaned {
        tables, skipped, ..
    } = keyed::cleaned(installation, "");
    (tables, skipped)
}

fn by_default_a_row_goes_with_all_of_its_parents(dialect: Dialect) {
    // Of run 1 and a step of the running one; of run 2 and one of run 3, on hold; of run 4 alone, whose other parent is none.
    let rows = "INSERT INTO pairs (id, run_id, step_id) VALUES (1, 1, 50), (2, 2, 30), (3, 4, 40), (4, 0, 40), (5, 4, 99), (6, 4, NULL)";
    let mut installation = armed(dialect, "", rows);
    let hold = json!({"rule": "runs", "key": 3, "reason": "audit"});
    installation.set_hold(hold).expect("a hold");
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 1, "steps": 1, "pairs": 4, "files": 0})
    );
    assert_eq!(skipped, json!({"HELD": 1, "SHARED_MEMBER": 2}));
    assert_eq!(left(&mut installation, "runs"), ["1", "2", "3", "5"]);
    assert_eq!(left(&mut installation, "pairs"), ["1", "2"]);
    // Nor does whoever names one of two take the other along.
    for (key, why) in [(1, "SHARED_MEMBER"), (2, "SHARED_MEMBER"), (3, "HELD")] {
        let purge = installation.call("purge", json!({"key": [key]}));
        let purge = purge.expect("a purge");
        assert_eq!(purge["refused"], json!({key.to_string(): why}), "{purge}");
    }
    assert_eq!(left(&mut installation, "runs"), ["1", "2", "3", "5"]);
    installation.execute("DELETE FROM W.hold");
    installation
        .execute("UPDATE runs SET state = 'done', ended = '2025-01-05 00:00:00' WHERE id = 5");
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 4, "steps": 4, "pairs": 2, "files": 0})
    );
    assert_eq!(skipped, json!({}));
}

fn with_any_a_row_goes_with_the_first_of_them(dialect: Dialect) {
    let rows = "INSERT INTO pairs (id, run_id, step_id) VALUES (1, 1, 50), (2, 5, 30), (3, 5, 50)";
    let mut installation = armed(dialect, ", with = \"any\"", rows);
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 4, "steps": 4, "pairs": 2, "files": 0})
    );
    assert_eq!(skipped, json!({}));
    assert_eq!(left(&mut installation, "pairs"), ["3"]);
}

fn families_that_share_a_row_go_together_in_the_smallest_batch(dialect: Dialect) {
    // A chain: each of them with the next.
    let rows = "INSERT INTO pairs (id, run_id, step_id) VALUES (1, 1, 20), (2, 3, 20), (3, 3, 40)";
    let mut installation = armed(dialect, ", with = \"all\"", rows);
    let (tables, _) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 4, "steps": 4, "pairs": 3, "files": 0})
    );
    let batches = "SELECT batches FROM W.run_rule ORDER BY run_id DESC LIMIT 1";
    assert_eq!(installation.number(batches), 1);
    assert_eq!(left(&mut installation, "runs"), ["5"]);
}

fn a_parent_that_no_rule_takes_keeps_the_family(dialect: Dialect) {
    let rows = "INSERT INTO bills (id, run_id) VALUES (7, 5);
        INSERT INTO files (id, step_id, bill_id) VALUES (1, 10, 7), (2, 20, 8), (3, 30, NULL), (4, NULL, 7)";
    let mut installation = armed(dialect, "", rows);
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 3, "steps": 3, "files": 2, "pairs": 0})
    );
    assert_eq!(skipped, json!({"REFERENCED": 1}));
    assert_eq!(left(&mut installation, "files"), ["1", "4"]);
    installation.execute("DELETE FROM bills");
    let (tables, _) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 1, "steps": 1, "files": 1, "pairs": 0})
    );
    assert_eq!(left(&mut installation, "files"), ["4"]);
}

/// What an earlier script has left: no run takes it, and it is there.
fn a_parent_of_no_family_keeps_the_family(dialect: Dialect) {
    let rows = "INSERT INTO steps (id, run_id) VALUES (70, 7);
        INSERT INTO pairs (id, run_id, step_id) VALUES (1, 1, 70), (2, 2, 80), (3, 3, 30)";
    let mut installation = armed(dialect, "", rows);
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 3, "steps": 3, "pairs": 2, "files": 0})
    );
    assert_eq!(skipped, json!({"REFERENCED": 1}));
    assert_eq!(left(&mut installation, "pairs"), ["1"]);
    let purge = installation.call("purge", json!({"key": [1]}));
    let purge = purge.expect("a purge");
    assert_eq!(purge["refused"], json!({"1": "REFERENCED"}), "{purge}");
    installation.execute("DELETE FROM steps WHERE id = 70");
    let (tables, _) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 1, "steps": 1, "pairs": 1, "files": 0})
    );
}

/// An edge of a row that others name has as many parents as name it.
fn a_row_that_others_name_goes_with_all_of_them(dialect: Dialect) {
    let spec = |with: &str| {
        let value = format!(
            "vals  = {{ key = \"id integer\", parents = [\"id -> steps.val_id or alone\"]{with} }}\n"
        );
        let rule = "[rules.runs]\narchive = true\n";
        let spec = SPEC.replace("\n[rules.runs]\n", &format!("{value}\n{rule}"));
        graph_of(&spec.replace("steps.id\"] }", "steps.id\"], with = \"any\" }"))
    };
    let schema = SCHEMA.replace(
        "run_id integer NOT NULL);\nCREATE TABLE pairs",
        "run_id integer NOT NULL, val_id integer);\nCREATE TABLE pairs",
    );
    let schema = format!("CREATE TABLE vals (id integer NOT NULL PRIMARY KEY);\n{schema}");
    // Of run 1 and the running one; of runs 2 and 3; of run 4 twice; of a step that is of no run; of nobody.
    let rows = "INSERT INTO vals (id) VALUES (1), (2), (3), (4), (5);
        INSERT INTO steps (id, run_id, val_id) VALUES (41, 4, 3), (42, 4, 3), (11, 1, NULL), (70, 7, 4);
        UPDATE steps SET val_id = 1 WHERE id IN (10, 50);
        UPDATE steps SET val_id = 2 WHERE id IN (20, 30);
        INSERT INTO runs (id, state, ended) VALUES (6, 'done', '2025-01-06 00:00:00');
        INSERT INTO steps (id, run_id, val_id) VALUES (60, 6, 4)";
    for (with, runs, vals, skipped) in [
        (
            "",
            vec!["1", "5", "6"],
            vec!["1", "4", "5"],
            json!({"REFERENCED": 1, "SHARED_MEMBER": 1}),
        ),
        (", with = \"any\"", vec!["5"], vec!["5"], json!({})),
    ] {
        let mut installation = Installation::of(dialect, &schema, &spec(with));
        installation.arm();
        installation.execute(rows);
        let (_, found) = cleaned(&mut installation);
        assert_eq!(found, skipped, "{with}");
        assert_eq!(left(&mut installation, "runs"), runs, "{with}");
        assert_eq!(left(&mut installation, "vals"), vals, "{with}");
        let kept = installation.number("SELECT count(*) FROM W.archive_vals");
        assert_eq!(
            kept,
            5 - i64::try_from(vals.len()).expect("a few"),
            "{with}"
        );
    }
}

/// The same spec with steps that may have something before them yet.
pub(crate) fn unfinished() -> Graph {
    let own = "steps = { key = \"id integer\",";
    let ends = "final = { complete = true, state = [3, 4] },";
    graph_of(&SPEC.replace(own, &format!("{own} {ends}")))
}

/// A step that has something before it yet, or of which nobody knows, keeps its run, and what hangs on others does not matter.
fn a_row_that_is_not_final_keeps_its_family(dialect: Dialect) {
    let over = ", complete boolean, state integer)";
    let schema = SCHEMA.replace(
        "run_id integer NOT NULL)",
        &format!("run_id integer NOT NULL{over}"),
    );
    let mut installation = Installation::of(dialect, &schema, &unfinished());
    installation.arm();
    installation.execute(
        "UPDATE steps SET complete = (id <> 20), state = 3;
        UPDATE steps SET state = NULL WHERE id = 30;
        INSERT INTO steps (id, run_id, complete, state) VALUES (41, 4, true, 5)",
    );
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 1, "steps": 1, "pairs": 0, "files": 0})
    );
    assert_eq!(skipped, json!({"REFERENCED": 3}));
    let purge = installation.call("purge", json!({"key": [2]}));
    let purge = purge.expect("a purge");
    assert_eq!(purge["refused"], json!({"2": "REFERENCED"}), "{purge}");
    assert_eq!(
        left(&mut installation, "steps"),
        ["20", "30", "40", "41", "50"]
    );
    installation.execute("UPDATE steps SET complete = true, state = 4");
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 3, "steps": 4, "pairs": 0, "files": 0})
    );
    assert_eq!(skipped, json!({}));
}

/// The same spec with steps that wait for a call, of which no rule takes any.
pub(crate) fn awaiting() -> Graph {
    let own = "steps = { key = \"id integer\", parents = [\"run_id -> runs.id\"";
    let waits = ", \"call, day -> calls(number, day) restrict\"], final = { complete = true, \"call, day -> calls.state\" = [\"done\", \"failed\"] ";
    let calls = "calls = { key = \"id integer\", unique = [\"number integer, day integer\"] }";
    let spec = SPEC.replace(&format!("{own}]"), &format!("{calls}\n{own}{waits}}}"));
    graph_of(&spec)
}

/// A step whose call has not ended, or of which nobody knows, keeps its run; so does one whose call is not there.
fn a_row_that_names_one_that_is_not_final_keeps_its_family(dialect: Dialect) {
    let columns = ", complete boolean, call_number integer, day integer)";
    let columns = columns.replace(
        "call_number",
        if dialect == Dialect::Postgres {
            "call"
        } else {
            "`call`"
        },
    );
    let schema = SCHEMA.replace(
        "run_id integer NOT NULL)",
        &format!("run_id integer NOT NULL{columns}"),
    );
    let calls = "CREATE TABLE calls (id integer NOT NULL PRIMARY KEY, number integer NOT NULL, day integer NOT NULL, state varchar(20), UNIQUE (number, day));";
    let mut installation = Installation::of(dialect, &format!("{calls}{schema}"), &awaiting());
    installation.arm();
    installation.execute(
        "INSERT INTO calls (id, number, day, state) VALUES (5, 1, 1, 'done'), (6, 1, 2, 'pending'), (7, 2, 1, NULL);
        INSERT INTO runs (id, state, ended) VALUES (6, 'done', '2025-01-06 00:00:00'), (7, 'done', '2025-01-07 00:00:00');
        INSERT INTO steps (id, run_id) VALUES (41, 4), (60, 6), (70, 7)",
    );
    let call = if dialect == Dialect::Postgres {
        "call"
    } else {
        "`call`"
    };
    let calls = |installation: &mut Installation, steps: &str, number: &str, day: &str| {
        installation.execute(&format!(
            "UPDATE steps SET complete = true, {call} = {number}, day = {day} WHERE id IN ({steps})"
        ));
    };
    // One that has ended; one that is pending; one without a state; one that is not there; none; none, as half of it is NULL.
    for (steps, number, day) in [
        ("10, 40", "1", "1"),
        ("20", "1", "2"),
        ("30", "2", "1"),
        ("41", "9", "9"),
        ("60", "NULL", "NULL"),
        ("70", "1", "NULL"),
    ] {
        calls(&mut installation, steps, number, day);
    }
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 1, "steps": 1, "pairs": 0, "files": 0})
    );
    assert_eq!(skipped, json!({"REFERENCED": 5}));
    for run in [2, 3, 4, 6, 7] {
        let purge = installation.call("purge", json!({"key": [run]}));
        let purge = purge.expect("a purge");
        assert_eq!(
            purge["refused"],
            json!({run.to_string(): "REFERENCED"}),
            "{purge}"
        );
    }
    assert_eq!(
        left(&mut installation, "runs"),
        ["2", "3", "4", "5", "6", "7"]
    );
    installation.execute("UPDATE calls SET state = 'failed'");
    calls(&mut installation, "41, 60", "1", "1");
    let (tables, skipped) = cleaned(&mut installation);
    assert_eq!(
        tables,
        json!({"runs": 4, "steps": 5, "pairs": 0, "files": 0})
    );
    assert_eq!(skipped, json!({"REFERENCED": 1}));
    assert_eq!(left(&mut installation, "calls"), ["5", "6", "7"]);
}

/// Runs 1, 2 and 3 are a chain, 4 shares a row with one that is not named, or is on hold.
fn a_purge_takes_families_that_share_a_row_if_all_are_named(dialect: Dialect) {
    let rows = "INSERT INTO pairs (id, run_id, step_id) VALUES (1, 1, 20), (2, 3, 20), (3, 4, 50)";
    let mut installation = armed(dialect, "", rows);
    installation
        .execute("UPDATE runs SET state = 'done', ended = '2025-01-05 00:00:00' WHERE id = 5");
    let hold = json!({"rule": "runs", "key": 5, "reason": "audit"});
    installation.set_hold(hold).expect("a hold");
    let mut purge = |keys: &[i64], dry: bool| {
        let purge = installation.purge(json!({"key": keys, "dry_run": dry}));
        let purge = purge.expect("a purge");
        let rule = &purge["rules"][0];
        (
            purge["refused"].clone(),
            rule["families"].clone(),
            rule["tables"]["pairs"].clone(),
            rule["skipped"].clone(),
            purge["refused_with"].clone(),
            purge["together"].clone(),
        )
    };
    let shared = json!({"1": "SHARED_MEMBER", "2": "SHARED_MEMBER"});
    let told = json!({"SHARED_MEMBER": 2});
    // Both are kept by the third, which would go with them.
    let third = json!({"key": "3", "reason": "NOT_NAMED"});
    let with = json!({"1": third, "2": third});
    let found = purge(&[1, 2], false);
    assert_eq!(found, (shared, json!(0), json!(0), told, with, Value::Null));
    // One that stays is told, named or not.
    let held = json!({"4": {"key": "5", "reason": "HELD"}});
    assert_eq!(purge(&[4], false).4, held);
    let both = json!({"4": "SHARED_MEMBER", "5": "HELD"});
    let told = json!({"HELD": 1, "SHARED_MEMBER": 1});
    for dry in [true, false] {
        let found = purge(&[3, 1, 5, 2, 4], dry);
        let (both, told, held) = (both.clone(), told.clone(), held.clone());
        let together = json!(["1", "2", "3"]);
        assert_eq!(found, (both, json!(3), json!(2), told, held, together));
    }
    assert_eq!(left(&mut installation, "runs"), ["4", "5"]);
}
