//! What lies between the keys of a batch, where these lie close together: rows of others, which stay.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        what_lies_between_the_keys_of_a_batch_stays,
        a_small_table_is_compared_as_a_large_one,
    ],
}

/// Five tables name the root by themselves; two are below another one.
const FAMILIES: &str = r#"
name = "between"

[tables]
job   = { key = "id integer" }
log   = { parents = ["job -> job.id"] }
note  = { parents = ["job -> job.id"] }
alert = { parents = ["job -> job.id"] }
retry = { parents = ["job -> job.id"] }
other = { parents = ["job -> job.id"] }
step  = { key = "id integer", parents = ["job -> job.id"] }
part  = { parents = ["step -> step.id"] }
line  = { parents = ["step -> step.id"] }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d" }
"#;

/// Every second job is done. As many rows as there are members, or more; fewer; none; several of one. So with the steps.
const JOBS: &str = "
CREATE TABLE job (id integer PRIMARY KEY, state text, ended timestamp);
CREATE TABLE log (job integer);
CREATE TABLE note (job bigint);
CREATE TABLE alert (job integer);
CREATE TABLE retry (job integer);
CREATE TABLE other (job smallint);
CREATE TABLE step (id integer PRIMARY KEY, job integer);
CREATE TABLE part (step integer);
CREATE TABLE line (step bigint);
INSERT INTO job SELECT n, CASE WHEN n % 2 = 1 THEN 'done' ELSE 'runs' END, '2020-01-01' FROM generate_series(1, 40) AS n;
INSERT INTO log SELECT n FROM generate_series(1, 40) AS n, generate_series(1, 3);
INSERT INTO note SELECT n FROM generate_series(0, 41) AS n WHERE n % 4 < 2 AND n % 3 < 2;
INSERT INTO alert SELECT NULL FROM generate_series(1, 5);
INSERT INTO retry SELECT n FROM generate_series(7, 8) AS n, generate_series(1, 3);
INSERT INTO step SELECT n, (n + 1) / 2 FROM generate_series(1, 80) AS n;
INSERT INTO part SELECT n FROM generate_series(0, 81) AS n WHERE n % 4 < 2 AND n % 3 = 0;
INSERT INTO line SELECT n FROM generate_series(1, 80) AS n, generate_series(1, 2)";

fn what_lies_between_the_keys_of_a_batch_stays() {
    let mut jobs = Installation::of(Dialect::Postgres, JOBS, &graph_of(FAMILIES));
    jobs.arm();
    let of_job = "(SELECT count(*) FROM TABLE WHERE job IS NULL OR job % 2 = 0 OR job > 40)";
    let of_step = "(SELECT count(*) FROM TABLE WHERE step % 4 IN (0, 3) OR step > 80)";
    let tables = [
        ("log", of_job),
        ("note", of_job),
        ("alert", of_job),
        ("retry", of_job),
        ("other", of_job),
        ("part", of_step),
        ("line", of_step),
    ];
    let stays = tables.map(|(table, which)| {
        let which = which.replace("TABLE", table);
        jobs.number(&format!("SELECT {which}"))
    });
    let run = jobs.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(run["rules"][0]["families"], 20, "{run}");
    for ((table, which), stays) in tables.into_iter().zip(stays) {
        let which = which.replace("TABLE", table);
        let left = jobs.number(&format!("SELECT {which}"));
        assert_eq!(left, stays, "of {table} rows of others went");
        let all = jobs.number(&format!("SELECT count(*) FROM {table}"));
        assert_eq!(all, stays, "of {table} rows of the families stayed");
    }
    assert_eq!(jobs.number("SELECT count(*) FROM step"), 40);
}

const ORPHANS: &str = r#"
name = "strays"

[tables]
note  = { key = "id bigint" }
sheet = { key = "id bigint" }

[rules.notes]
strategy = "orphan"
root     = "note"
needs    = ["asset -> asset.id unless 0"]
at_once  = true

[rules.sheets]
strategy = "orphan"
root     = "sheet"
needs    = ["book, page -> page(book, number)"]
at_once  = true
"#;

/// Neither a value that names nothing nor NULL, on either side, makes a row an orphan.
const STRAYS: &str = "
CREATE TABLE asset (id bigint UNIQUE);
CREATE TABLE page (book integer, number integer, UNIQUE (book, number));
CREATE TABLE note (id bigint PRIMARY KEY, asset integer);
CREATE TABLE sheet (id bigint PRIMARY KEY, book bigint, page integer);
INSERT INTO asset VALUES (NULL), (1), (3), (5);
INSERT INTO page VALUES (NULL, 2), (2, NULL), (1, 1), (1, 2), (NULL, NULL);
INSERT INTO note VALUES (1, 1), (2, 2), (3, NULL), (4, 0), (5, 5), (6, 4);
INSERT INTO note SELECT n, 1 + n % 2 FROM generate_series(101, 300) AS n;
INSERT INTO sheet VALUES (1, 1, 1), (2, 2, 2), (3, NULL, 2), (4, 1, 2), (5, 2, NULL), (6, 1, 3);
INSERT INTO sheet SELECT n, 1 + n % 2, 1 FROM generate_series(101, 300) AS n";

fn a_small_table_is_compared_as_a_large_one() {
    for small in [true, false] {
        let mut strays = Installation::of(Dialect::Postgres, STRAYS, &graph_of(ORPHANS));
        if !small {
            // What has tables below it is not small.
            strays.execute(
                "CREATE TABLE later () INHERITS (asset); CREATE TABLE pages () INHERITS (page)",
            );
        }
        strays.arm();
        let is_small = "SELECT count(*) FROM (VALUES ('asset'), ('page')) AS t(name) WHERE W.is_small(t.name, 1000)";
        assert_eq!(strays.number(is_small), if small { 2 } else { 0 });
        for (rule, table, left) in [
            ("notes", "note", ["1", "3", "4", "5"]),
            ("sheets", "sheet", ["1", "3", "4", "5"]),
        ] {
            let run = strays.run(json!({"rule": rule})).expect("a run");
            assert_eq!(run["status"], "done", "{run}");
            assert_eq!(run["rules"][0]["families"], 102, "{run}");
            let few = format!("SELECT id::text FROM {table} WHERE id < 100 ORDER BY id");
            assert_eq!(strays.texts(&few), left, "{run}");
            let rest = format!("SELECT count(*) FROM {table} WHERE id > 100 AND id % 2 = 0");
            assert_eq!(strays.number(&rest), 100, "{run}");
        }
    }
}
