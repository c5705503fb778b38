//! `where_sql`: SQL of the spec decides, too, which rows are final; where it is not true, they stay.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

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
