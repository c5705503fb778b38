//! Foreign keys of partitions that are made in advance on PostgreSQL.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::super::{grant, only, owner};
use super::postgres::day;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

/// Partitions of yesterday and today (N: 0 and 1), each by this SQL, from SINCE to TILL.
fn each_day(sql: &str) -> String {
    let of = |place: i64| {
        let sql = sql.replace("_N", &format!("_{}", place + 1));
        sql.replace("SINCE", &day(place))
            .replace("TILL", &day(place + 1))
    };
    (-1..1).map(of).collect()
}

/// Installed and armed over tables that belong to a role of the application.
fn armed_with(graph: &Graph, schema: &str) -> Installation {
    let mut installation = Installation::of(Dialect::Postgres, schema, graph);
    let owner = owner(&installation);
    installation.execute(&format!(
        "CREATE ROLE {owner} NOLOGIN; GRANT CREATE ON SCHEMA public TO {owner};
         DO $$ DECLARE t text; BEGIN FOR t IN SELECT c.oid::regclass FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace
             AND c.relkind IN ('r', 'p')
         LOOP EXECUTE format('ALTER TABLE %s OWNER TO {owner}', t); END LOOP; END $$"
    ));
    grant(&mut installation);
    installation.arm();
    installation
}

const RUNS: &str = "
CREATE TABLE run (id bigint, at timestamptz, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE step (run_id bigint, at timestamptz) PARTITION BY RANGE (at);
CREATE INDEX step_run ON step (run_id);
";

const STEPS: &str = "
CREATE TABLE run_N PARTITION OF run FOR VALUES FROM (SINCE) TO (TILL);
CREATE TABLE step_N PARTITION OF step FOR VALUES FROM (SINCE) TO (TILL);
ALTER TABLE step_N ADD FOREIGN KEY (run_id, at) REFERENCES run_N (id, at) DEFERRABLE;
";

fn runs(name: &str) -> Graph {
    graph_of(&format!(
        r#"
name = "{name}"
dialects = ["postgres"]
[tables]
run  = {{ key = "id bigint" }}
step = {{ parents = ["run_id bigint -> run.id"], indexed = ["run_id"] }}
[rules.runs]
strategy  = "partition"
root      = "run"
time      = "at timestamptz"
tables    = ["step: run_id", "run"]
ahead     = "2d"
retention = {{ default = "90d" }}
"#
    ))
}

pub(super) fn tables_of_a_rule_get_partitions_with_their_keys() {
    let schema = format!("{RUNS}{}", each_day(STEPS));
    let mut installation = armed_with(&runs("ahead-runs"), &schema);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["not_made"], json!({}), "{run}");
    assert_eq!(
        only(&run)["made"].as_array().map(Vec::len),
        Some(4),
        "{run}"
    );
    let keys = "SELECT count(*) FROM pg_constraint AS k JOIN pg_class AS a ON a.oid = k.conrelid JOIN pg_class AS b ON b.oid = k.confrelid
                WHERE k.contype = 'f' AND k.condeferrable AND pg_get_expr(a.relpartbound, a.oid) = pg_get_expr(b.relpartbound, b.oid)";
    assert_eq!(installation.number(keys), 4, "{run}");
    let run = installation.run(json!({})).expect("a second run");
    assert_eq!(
        (&run["status"], &only(&run)["made"]),
        (&json!("done"), &json!([])),
        "{run}"
    );
}

pub(super) fn what_refers_to_a_partition_that_cannot_be_made_is_not_made() {
    let parts = each_day(STEPS);
    let late = day(1);
    let schema = format!(
        "{RUNS}{parts} CREATE TABLE rest PARTITION OF run DEFAULT; INSERT INTO run VALUES (1, {late})"
    );
    let mut installation = armed_with(&runs("ahead-missing"), &schema);
    let names = ["run", "step"].map(|table| {
        let sql = format!("SELECT '{table}_p' || to_char({late} AT TIME ZONE 'UTC', 'YYYYMMDD')");
        installation.texts(&sql).remove(0)
    });
    let said = |document: &Value| {
        let document = only(document);
        let not_made = document["not_made"].as_object().expect("what is not made");
        let told = names.each_ref().map(|name| not_made[name].to_string());
        assert_eq!(not_made.len(), 2, "{document}");
        assert!(
            told[0].contains("rest has 1 rows of its time"),
            "{document}"
        );
        assert!(
            told[1].contains("step_1 refers to a partition, and there is none of this time"),
            "{document}"
        );
        document["made"].clone()
    };
    let made = said(&installation.preview(json!({})).expect("a preview"));
    assert_eq!(made.as_array().map(Vec::len), Some(2), "{made}");
    let dry = installation.run(json!({"dry_run": true}));
    assert_eq!(said(&dry.expect("a dry run")), made);
    assert_eq!(said(&installation.run(json!({})).expect("a run")), made);
    // As soon as that is there, this one is made, too.
    installation.execute("DELETE FROM rest");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["made"]),
        (&json!("done"), &json!(names)),
        "{run}"
    );
}

pub(super) fn a_key_to_the_same_partition_goes_to_the_new_one() {
    let spec = r#"
name = "ahead-spans"
dialects = ["postgres"]
[tables]
span = { key = "id bigint" }
[rules.spans]
strategy  = "partition"
root      = "span"
time      = "at timestamptz"
ahead     = "2d"
retention = { default = "90d" }
"#;
    let parts = each_day(
        "CREATE TABLE span_N PARTITION OF span FOR VALUES FROM (SINCE) TO (TILL);
         ALTER TABLE span_N ADD FOREIGN KEY (parent_id, at) REFERENCES span_N (id, at) DEFERRABLE;",
    );
    let schema = format!(
        "CREATE TABLE span (id bigint, parent_id bigint, at timestamptz, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
         CREATE INDEX span_parent ON span (parent_id, at);{parts}"
    );
    let mut installation = armed_with(&graph_of(spec), &schema);
    let preview = installation.preview(json!({})).expect("a preview");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["not_made"], json!({}), "{run}");
    let made = &only(&run)["made"];
    assert_eq!(made.as_array().map(Vec::len), Some(2), "{run}");
    assert_eq!(&only(&preview)["made"], made);
    let keys = "SELECT count(*) FROM pg_constraint AS k WHERE k.contype = 'f' AND k.conrelid = k.confrelid AND k.condeferrable";
    assert_eq!(installation.number(keys), 4, "{run}");
}
