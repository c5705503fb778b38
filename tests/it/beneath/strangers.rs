//! Rows in between of which a batch has none: no lock is needed, and a row that somebody brings to another family meanwhile is in
//! nobody's way. Where a table is nearly empty, a scan looks cheap.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{FILL, SPEC, STRATEGIES, fill, many};
use crate::harness::tests;
use crate::support::effort::half;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        a_step_of_a_stranger_is_in_nobodys_way,
    ],
}

/// What says whether a step is kept is in no index: the rows themselves are read.
pub(crate) fn pinned(strategy: &str, archive: bool) -> Graph {
    let from = "parents = [\"run_id -> run.id\"] }";
    let to = "parents = [\"run_id -> run.id\"], kept = { pinned = 1 } }";
    let spec = SPEC.replace(from, to);
    graph_of(&(spec.replace("ARCHIVE", &archive.to_string()) + strategy))
}

fn a_step_of_a_stranger_is_in_nobodys_way(dialect: Dialect) {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE kind (id integer PRIMARY KEY);
         CREATE TABLE run (id bigint PRIMARY KEY, state integer, ended {time});
         CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint, pinned integer);
         CREATE TABLE part (id bigint PRIMARY KEY, step_id bigint);
         CREATE INDEX step_run ON step (run_id);
         CREATE INDEX part_step ON part (step_id);
         CREATE INDEX run_ended ON run (ended, id);"
    );
    for (round, strategy) in STRATEGIES.iter().enumerate() {
        for (archive, few) in half(dialect, round, [(true, 1), (false, 1)]) {
            let context = format!("{strategy}{archive}");
            let mut database = Installation::of(dialect, &schema, &pinned(strategy, archive));
            database.arm();
            let steps: Vec<String> = (FILL..FILL + few)
                .map(|id| format!("({id}, 1000, 0)"))
                .collect();
            let rows = format!(
                "INSERT INTO run VALUES (1, 1, '2020-01-01'), (2, 1, '2020-01-02'), (5000, 1, '2999-01-01'), {};
                 INSERT INTO step VALUES {}",
                many("NULL, '2999-01-01'"),
                steps.join(", "),
            );
            fill(&mut database, &["part", "step", "run"], &rows);
            database
                .set_setting("lock_timeout", 1000)
                .expect("a setting");
            let mut rival = database.connect();
            rival.execute("BEGIN").expect("a transaction");
            rival
                .execute("INSERT INTO step VALUES (9000, 1000, 0)")
                .expect("a step");
            let answer = database.run(json!({})).expect("a run");
            rival.execute("ROLLBACK").expect("it lets go");
            let rule = &answer["rules"][0];
            assert_eq!(answer["status"], "done", "{context}: {answer}");
            assert_eq!(rule["retries"], 0, "{context}: {answer}");
            assert_eq!(rule["families"], 2, "{context}: {answer}");
        }
    }
}
