//! `where_sql`: SQL of the spec decides, too, which rows are final; where it is not true, they stay.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

use crate::harness::tests;
use crate::kept::until_waiting;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};
use crate::support::patience::until;

const SPEC: &str = r#"
name = "hatch"

[tables]
bills = { key = "id integer" }
marks = { parents = ["bill_id -> bills.id"] }

[rules.bills]
strategy  = "end-time"
root      = "bills"
final     = { state = "done" }
where_sql = """
    {root}.paid >= {root}.owed
    AND NOT EXISTS (SELECT 1 FROM {schema}.marks AS m WHERE m.bill_id = {root}.id AND m.word = 'keep; it')
"""
end_time  = "ended"
hierarchy = ["bills: above -> id"]
retention = { default = "30d" }
limits    = { batch_families = 1 }
"#;

tests! {
    every_server: [
        what_the_condition_is_not_true_of_stays,
        a_row_that_changes_meanwhile_stays,
        the_newest_are_counted_whatever_the_condition_says,
        what_the_condition_reads_is_granted_by_hand,
        what_the_condition_of_single_rows_is_not_true_of_stays,
        a_single_row_that_changes_meanwhile_stays,
        what_a_writer_holds_is_judged_once_he_is_done,
        a_row_that_the_condition_is_not_true_of_is_not_the_newest,
    ],
}

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn installation(dialect: Dialect, graph: &Graph) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE bills (id integer PRIMARY KEY, above integer, state varchar(20), ended {time}, paid integer, owed integer);
CREATE TABLE marks (id integer PRIMARY KEY, bill_id integer, word varchar(20));
CREATE TABLE papers (bill integer PRIMARY KEY);
"
    );
    let mut database = Installation::of(dialect, &schema, graph);
    database.arm();
    database
}

fn options() -> Value {
    json!({"as_of": "2026-01-15T00:00:00Z"})
}

fn left(database: &mut Installation) -> Vec<i64> {
    let left = database.texts("SELECT CAST(id AS char(10)) FROM bills");
    let numbers = left.iter().map(|id| id.trim().parse().expect("a number"));
    let mut numbers: Vec<i64> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

fn what_the_condition_is_not_true_of_stays(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    let mut expected = Vec::new();
    let mut number = 0;
    for paid in ["NULL", "1", "2"] {
        for owed in ["NULL", "1", "2"] {
            for word in ["NULL", "'keep; it'", "'keep'"] {
                number += 1;
                database.execute(&format!(
                    "INSERT INTO bills VALUES ({number}, NULL, 'done', '2025-10-01', {paid}, {owed});
                     INSERT INTO marks VALUES ({number}, {number}, {word})"
                ));
                let is_paid = ![paid, owed].contains(&"NULL") && paid >= owed;
                if !is_paid || word == "'keep; it'" {
                    expected.push(number);
                }
            }
        }
    }
    // What is below a bill must fulfil it as well, and what is above.
    database.execute(
        "INSERT INTO bills VALUES (101, NULL, 'done', '2025-10-01', 1, 1), (102, 101, 'done', '2025-10-01', 0, 1),
            (103, NULL, 'done', '2025-10-01', NULL, 1), (104, 103, 'done', '2025-10-01', 1, 1)",
    );
    expected.extend(101..=104);
    let mut dry = options();
    dry["dry_run"] = json!(true);
    let preview = database.preview(options()).expect("a preview");
    let dry = database.run(dry).expect("a dry run");
    let run = database.run(options()).expect("a run");
    for document in [&preview, &dry, &run] {
        let rule = &document["rules"][0];
        assert_eq!(rule["families"], 27 + 4 - expected.len(), "{document}");
        // What the search finds is judged as it searched: only what is linked keeps a family.
        let skipped = json!({"NON_FINAL_MEMBER": 1, "SHARED_MEMBER": 1});
        assert_eq!(rule["skipped"], skipped, "{document}");
    }
    assert_eq!(left(&mut database), expected);
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let purge = database
        .purge(json!({"rule": "bills", "key": ["1"]}))
        .expect("a purge");
    assert_eq!(
        purge["rules"][0]["skipped"],
        json!({"NON_FINAL_MEMBER": 1}),
        "{purge}"
    );
}

fn a_row_that_changes_meanwhile_stays(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    for number in 1..=3 {
        database.execute(&format!(
            "INSERT INTO bills VALUES ({number}, NULL, 'done', '2025-10-0{number}', 1, 1)"
        ));
    }
    let run = database.run_meanwhile(options(), |database| {
        database.execute("UPDATE bills SET owed = 2 WHERE id = 2");
        database.execute("INSERT INTO marks VALUES (3, 3, 'keep; it')");
    });
    assert_eq!(run.expect("a run")["status"], "done");
    assert_eq!(left(&mut database), [2, 3]);
}

/// As with `final`: what counts among the newest is said by `of`.
fn the_newest_are_counted_whatever_the_condition_says(dialect: Dialect) {
    let keep = "keep = { newest = 1, per = \"state varchar\", by = \"ended\" }\nretention =";
    let mut database = installation(dialect, &graph_of(&SPEC.replace("retention =", keep)));
    database.execute(
        "INSERT INTO bills VALUES (1, NULL, 'done', '2025-10-01', 1, 1), (2, NULL, 'done', '2025-10-02', 1, 1),
            (3, NULL, 'done', '2025-10-03', 0, 1)",
    );
    let preview = database.preview(options()).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], 2, "{preview}");
    database.run(options()).expect("a run");
    assert_eq!(left(&mut database), [3]);
}

/// Without the right nothing goes. A new installation leaves it, and nobody says that it is too much.
fn what_the_condition_reads_is_granted_by_hand(dialect: Dialect) {
    let foreign = SPEC.replace(
        "{root}.paid >= {root}.owed",
        "NOT EXISTS (SELECT 1 FROM {schema}.papers AS p WHERE p.bill = {root}.id)",
    );
    let graph = graph_of(&foreign);
    let mut database = installation(dialect, &graph);
    database.execute(
        "INSERT INTO papers VALUES (2);
         INSERT INTO bills VALUES (1, NULL, 'done', '2025-10-01', 1, 1), (2, NULL, 'done', '2025-10-02', 1, 1)",
    );
    // On MySQL the owner role may read the whole database anyway: without that it would not see what acts there.
    if dialect != Dialect::Mysql {
        let failed = database.run(options());
        let told = failed.map_or_else(|error| format!("{error:#}"), |run| run.to_string());
        assert!(told.contains("papers"), "{told}");
        assert_eq!(left(&mut database), [1, 2]);
        let owner = render::role_name(dialect, &database.control, "owner");
        database.execute(&format!("GRANT SELECT ON papers TO {owner}"));
    }
    database.install(&graph);
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let run = database.run(options()).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(left(&mut database), [2]);
}

/// A rule of each strategy whose rows go by themselves. What one may read is its own table, too.
const ROWS: &str = r#"
name = "hatch"

[tables]
notes = { key = "id integer" }
slips = { key = "id integer" }
items = { key = "id integer" }
lines = { parents = ["item_id -> items.id"] }
tries = { key = "id integer" }

[rules.notes]
strategy  = "age"
root      = "notes"
candidates = { kind = "a" }
time      = "at"
retention = { default = "30d" }
where_sql = "WHERE"
limits    = { batch_rows = 2 }

[rules.slips]
strategy  = "expiry"
root      = "slips"
candidates = { kind = "a" }
time      = "at"
where_sql = "WHERE"
limits    = { batch_rows = 2 }

[rules.items]
strategy  = "orphan"
root      = "items"
needs     = ["above -> marks.id"]
time      = "at"
retention = { default = "30d" }
where_sql = "WHERE"
limits    = { batch_rows = 2 }

[rules.tries]
strategy  = "keep-last"
root      = "tries"
keep      = { newest = 1, per = "kind varchar", by = "at" }
retention = { default = "30d" }
time      = "at"
where_sql = "WHERE"
limits    = { batch_rows = 2 }
"#;

const TABLES: [&str; 4] = ["notes", "slips", "items", "tries"];

pub(crate) fn graph_of_rows(more: &str) -> Graph {
    let wanted = "{root}.paid >= {root}.owed
        AND NOT EXISTS (SELECT 1 FROM {schema}.words AS w WHERE w.of_id = {root}.id AND w.word = 'keep; it')";
    let spec: String = ROWS
        .split("where_sql = \"WHERE\"")
        .enumerate()
        .map(|(at, part)| match TABLES.get(at) {
            Some(table) => format!(
                "{part}where_sql = \"\"\"{wanted} AND NOT EXISTS (SELECT 1 FROM {{schema}}.{table} AS other WHERE other.above = {{root}}.id \
                 AND other.kind = 'waits')\"\"\"\n{more}"
            ),
            None => part.to_owned(),
        })
        .collect();
    graph_of(&spec)
}

fn of_rows(dialect: Dialect, more: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let mut schema = String::new();
    for table in TABLES {
        schema += &format!(
            "CREATE TABLE {table} (id integer PRIMARY KEY, above integer, kind varchar(20), at {time}, paid integer, owed integer);\n"
        );
    }
    schema += "CREATE TABLE words (id integer PRIMARY KEY, of_id integer, word varchar(20));
CREATE TABLE marks (id integer PRIMARY KEY);
CREATE TABLE \"lines\" (id integer PRIMARY KEY, item_id integer);
";
    if dialect != Dialect::Postgres {
        schema = schema.replace('"', "`");
    }
    let mut database = Installation::of(dialect, &schema, &graph_of_rows(more));
    if dialect != Dialect::Mysql {
        let owner = render::role_name(dialect, &database.control, "owner");
        database.execute(&format!("GRANT SELECT ON words TO {owner}"));
    }
    database.arm();
    database
}

fn left_of(database: &mut Installation, table: &str) -> Vec<i64> {
    let left = database.texts(&format!("SELECT CAST(id AS char(10)) FROM {table}"));
    let numbers = left.iter().map(|id| id.trim().parse().expect("a number"));
    let mut numbers: Vec<i64> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

/// Rows of all kinds in each table; those that stay.
fn filled(database: &mut Installation) -> Vec<i64> {
    let mut expected = Vec::new();
    let mut number = 0;
    for paid in ["NULL", "1", "2"] {
        for owed in ["NULL", "1", "2"] {
            for word in ["NULL", "'keep; it'", "'keep'"] {
                number += 1;
                for table in TABLES {
                    database.execute(&format!(
                        "INSERT INTO {table} VALUES ({number}, 0, 'a', '2025-10-01', {paid}, {owed})"
                    ));
                }
                database.execute(&format!(
                    "INSERT INTO words VALUES ({number}, {number}, {word})"
                ));
                let is_paid = ![paid, owed].contains(&"NULL") && paid >= owed;
                if !is_paid || word == "'keep; it'" {
                    expected.push(number);
                }
            }
        }
    }
    // One that another of its table waits for, and one that is too young; the newest of the group, which stays as such.
    for table in TABLES {
        database.execute(&format!(
            "INSERT INTO {table} VALUES (101, 0, 'a', '2025-10-01', 1, 1), (102, 101, 'waits', '2035-10-01', 1, 1),
                (103, 0, 'a', '2035-10-01', 1, 1)"
        ));
    }
    expected.extend(101..=103);
    expected
}

fn what_the_condition_of_single_rows_is_not_true_of_stays(dialect: Dialect) {
    for more in ["", "archive = true\n"] {
        let mut database = of_rows(dialect, more);
        let expected = filled(&mut database);
        let gone = 30 - expected.len();
        let mut dry = options();
        dry["dry_run"] = json!(true);
        let preview = database.preview(options()).expect("a preview");
        let dry = database.run(dry).expect("a dry run");
        let run = database.run(options()).expect("a run");
        for document in [&preview, &dry, &run] {
            for (at, table) in TABLES.iter().enumerate() {
                let rule = &document["rules"][at];
                assert_eq!(rule["tables"][table], gone, "{table}: {document}");
                assert_eq!(rule["skipped"], json!({}), "{table}: {document}");
            }
        }
        for table in TABLES {
            assert_eq!(left_of(&mut database, table), expected, "{table}");
            let key = json!({"rule": table, "key": ["1"]});
            let purge = database.purge(key).expect("a purge");
            assert_eq!(left_of(&mut database, table), expected, "{purge}");
        }
        let verify = database.call("verify", json!({})).expect("a verification");
        let wrong = violations(&verify);
        assert!(wrong.is_empty(), "{wrong:#?}");
        // What is named is found as well, however old it is.
        for table in TABLES.iter().take(2) {
            database.execute(&format!(
                "UPDATE {table} SET paid = 2, owed = 1 WHERE id = 3"
            ));
            let key = json!({"rule": table, "key": ["3"]});
            let purge = database.purge(key).expect("a purge");
            assert_eq!(purge["rules"][0]["rows"], 1, "{table}: {purge}");
        }
    }
}

fn a_single_row_that_changes_meanwhile_stays(dialect: Dialect) {
    for table in TABLES {
        let mut database = of_rows(dialect, "");
        database.execute(&format!("DELETE FROM {table}"));
        for number in 1..=7 {
            database.execute(&format!(
                "INSERT INTO {table} VALUES ({number}, 9, 'a', '2025-10-0{number}', 1, 1)"
            ));
        }
        let rate = |value: i64| json!({"rule": table, "name": "rate", "value": value});
        database.call("set_setting", rate(1)).expect("a setting");
        let (runner, _, _) = database.call_aside("run", options());
        let rests =
            "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for IS NOT NULL";
        until("a run that rests", || Ok(database.number(rests) > 0)).expect("it rests");
        database.execute(&format!("UPDATE {table} SET owed = 2 WHERE id = 5"));
        database.execute("INSERT INTO words VALUES (6, 6, 'keep; it')");
        database
            .call("set_setting", rate(1_000_000))
            .expect("a setting");
        let run = runner.join().expect("no panic").1;
        assert_eq!(run.expect("a run")["status"], "done");
        let newest: &[i64] = if table == "tries" {
            &[5, 6, 7]
        } else {
            &[5, 6]
        };
        assert_eq!(left_of(&mut database, table), newest, "{table}");
    }
}

/// A rule by age waits for rows.
fn what_a_writer_holds_is_judged_once_he_is_done(dialect: Dialect) {
    let mut database = of_rows(dialect, "");
    let waits = json!({"rule": "notes", "name": "lock_timeout", "value": 20_000});
    database.call("set_setting", waits).expect("a setting");
    database.execute(
        "INSERT INTO notes VALUES (1, 0, 'a', '2025-10-01', 1, 1), (2, 0, 'a', '2025-10-02', 1, 1)",
    );
    let mut writer = database.connect();
    writer.execute("BEGIN").expect("a transaction");
    let held = "UPDATE notes SET owed = 2 WHERE id = 1";
    writer.execute(held).expect("an update");
    let (runner, _, session) = database.call_aside("run", options());
    until_waiting(&mut database, &runner, session);
    writer.execute("COMMIT").expect("a commit");
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(left_of(&mut database, "notes"), [1]);
}

/// A row that has no place among those of the rule keeps no place from another.
fn a_row_that_the_condition_is_not_true_of_is_not_the_newest(dialect: Dialect) {
    let mut database = of_rows(dialect, "");
    // Of b, the newest of which the condition is true stays, and of c none is: all stay.
    database.execute(
        "INSERT INTO tries VALUES (1, 0, 'b', '2025-10-01', 1, 1), (2, 0, 'b', '2025-10-02', 1, 1),
            (3, 0, 'b', '2025-10-03', 0, 1), (4, 0, 'c', '2025-10-01', 0, 1), (5, 0, 'c', '2025-10-02', NULL, 1)",
    );
    for at in 6..=30 {
        database.execute(&format!(
            "INSERT INTO tries VALUES ({at}, 0, 'b', '2025-11-01', 0, {at})"
        ));
    }
    database.run(options()).expect("a run");
    let mut expected: Vec<i64> = (2..=5).collect();
    expected.extend(6..=30);
    assert_eq!(left_of(&mut database, "tries"), expected);
    // The one that stays is named: a purge looks at its group as well.
    let key = json!({"rule": "tries", "key": ["2"]});
    let purge = database.purge(key).expect("a purge");
    assert_eq!(purge["rules"][0]["rows"], 0, "{purge}");
}
