//! Rules that drop whole range partitions: on PostgreSQL, and in `innodb` on the other servers.

pub(crate) mod ahead;
pub(crate) mod archive;
pub(crate) mod families;
pub(crate) mod innodb;
mod locks;
mod model;
mod refused;
pub(crate) mod waits;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::fit;
use windrow::graph::Graph;

use self::families::{
    foreign_keys_go_from_partition_to_partition, partitions_of_several_tables_go_as_the_model_says,
    steps_of_runs_of_other_families_stay_with_them,
};
use self::locks::{
    a_dry_run_locks_nobody_out, a_held_row_that_comes_late_keeps_its_partition,
    a_partition_that_comes_late_keeps_its_family,
    the_application_waits_no_longer_than_the_lock_timeout,
};
use self::model::a_run_drops_what_the_model_says;
use self::refused::{
    nothing_but_a_partition_that_was_judged_is_dropped,
    only_a_member_of_the_owner_of_partitions_drops_them,
    what_a_drop_would_pass_over_is_refused_by_name,
};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

tests! {
    within: [
        ahead::tests,
        archive::tests,
        innodb::tests,
        waits::tests,
    ],
    on_postgres: [
        a_run_drops_what_the_model_says,
        partitions_of_several_tables_go_as_the_model_says,
        steps_of_runs_of_other_families_stay_with_them,
        foreign_keys_go_from_partition_to_partition,
        the_application_waits_no_longer_than_the_lock_timeout,
        two_workers_drop_what_one_would,
        rows_are_estimated_by_the_pages_that_there_are_now,
        a_held_row_that_comes_late_keeps_its_partition,
        a_partition_that_comes_late_keeps_its_family,
        a_dry_run_locks_nobody_out,
        what_a_drop_would_pass_over_is_refused_by_name,
        only_a_member_of_the_owner_of_partitions_drops_them,
        nothing_but_a_partition_that_was_judged_is_dropped,
        the_example_does_what_its_page_says,
        the_check_proposes_the_strategy_and_says_what_it_needs,
        what_a_hold_of_another_rule_keeps_keeps_its_partition,
    ],
}

const EXAMPLE: &str = include_str!("../../specs/examples/event-log.toml");

/// The table of the example with a partition for each of some months before and after now, and a row in each.
const SCHEMA: &str = "
CREATE TABLE event_log (
    id        bigint GENERATED ALWAYS AS IDENTITY,
    logged_at timestamptz NOT NULL,
    message   text NOT NULL,
    PRIMARY KEY (id, logged_at)
) PARTITION BY RANGE (logged_at);
CREATE TABLE event_log_old PARTITION OF event_log FOR VALUES FROM (MINVALUE) TO (date_trunc('day', now() - interval '200 days'));
CREATE TABLE event_log_past PARTITION OF event_log
    FOR VALUES FROM (date_trunc('day', now() - interval '200 days')) TO (date_trunc('day', now() - interval '100 days'));
CREATE TABLE event_log_now PARTITION OF event_log
    FOR VALUES FROM (date_trunc('day', now() - interval '100 days')) TO (date_trunc('day', now() + interval '100 days'));
INSERT INTO event_log (logged_at, message)
SELECT now() - make_interval(days => n * 10), 'event ' || n FROM generate_series(1, 30) AS n;
";

/// The example under another name, so that tests do not share its roles.
pub(crate) fn example(name: &str) -> Graph {
    graph_of(&without_ahead().replace("\"event-log\"", &format!("\"{name}\"")))
}

/// The example without partitions that are made in advance.
fn without_ahead() -> String {
    let lines = EXAMPLE.lines().filter(|line| !line.starts_with("ahead "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The example, installed and armed, with partitions that belong to a role of their own.
fn armed(name: &str) -> Installation {
    armed_as(&example(name), SCHEMA)
}

/// The example, which makes partitions so far ahead.
pub(crate) fn example_of(name: &str, ahead: &str) -> Graph {
    let spec = EXAMPLE.replace("\"event-log\"", &format!("\"{name}\""));
    graph_of(&spec.replace("ahead     = \"7d\"", &format!("ahead     = \"{ahead}\"")))
}

fn armed_as(graph: &Graph, schema: &str) -> Installation {
    let mut installation = Installation::of(Dialect::Postgres, schema, graph);
    own(&mut installation);
    grant(&mut installation);
    installation.arm();
    installation
}

/// The role to which the partitions belong, and of which windrow's owner role becomes a member.
fn owner(installation: &Installation) -> String {
    format!("{}_app", installation.control)
}

/// Gives the log and its partitions an owner of their own.
fn own(installation: &mut Installation) {
    let owner = owner(installation);
    installation.execute(&format!(
        "DO $$ BEGIN CREATE ROLE {owner} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
         GRANT CREATE ON SCHEMA public TO {owner}"
    ));
    let tables = installation.texts(
        "SELECT p.relid::regclass::text FROM pg_partition_tree('event_log') AS p ORDER BY p.level",
    );
    for table in tables {
        installation.execute(&format!("ALTER TABLE {table} OWNER TO {owner}"));
    }
}

fn grant(installation: &mut Installation) {
    let (owner, control) = (owner(installation), installation.control.clone());
    installation.execute(&format!("GRANT {owner} TO {control}_owner"));
}

/// The partitions that there are.
fn partitions(installation: &mut Installation) -> BTreeSet<String> {
    let names = installation.texts(
        "SELECT i.inhrelid::regclass::text FROM pg_inherits AS i WHERE i.inhparent = 'event_log'::regclass ORDER BY 1",
    );
    names.into_iter().collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The part of a document about the only rule.
fn only(document: &Value) -> &Value {
    &document["rules"][0]
}

/// Two workers begin at once, and have dropped so many partitions and rows together.
fn at_once(installation: &Installation, families: i64, rows: i64) {
    let workers = [1, 2].map(|worker| installation.call_aside("run", json!({"worker": worker})));
    let mut dropped = (0, 0);
    for (runner, _, _) in workers {
        let run = runner.join().expect("no panic").1.expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        let of = |name: &str| only(&run)[name].as_i64().unwrap_or(0);
        dropped = (dropped.0 + of("families"), dropped.1 + of("rows"));
    }
    assert_eq!(dropped, (families, rows));
}

fn two_workers_drop_what_one_would() {
    let graph = Graph {
        workers: 2,
        ..example("event-log-workers")
    };
    let mut installation = armed_as(&graph, SCHEMA);
    let rows = installation.preview(json!({})).expect("a preview");
    at_once(
        &installation,
        2,
        only(&rows)["rows"].as_i64().expect("a number"),
    );
    assert_eq!(partitions(&mut installation), set(&["event_log_now"]));
}

/// Statistics are those of a part of the rows; held rows keep their partition all the same.
fn rows_are_estimated_by_the_pages_that_there_are_now() {
    let spec = without_ahead().replace(
        "\"event-log\"",
        "\"event-log-estimated\"\ndialects = [\"postgres\"]",
    );
    let spec = spec.replace("database  = \"event_log\"\n", "");
    let spec = spec.replace(
        "root      = \"event_log\"",
        "root = \"event_log\"\nrows = \"estimated\"",
    );
    let mut installation = armed_as(&graph_of(&spec), SCHEMA);
    // A preview counts the first partition, and believes the statistics of the second one, which is one page large.
    let statistics = |rows: i32, pages: i32| {
        format!(
            "UPDATE pg_class SET reltuples = {rows}, relpages = {pages} WHERE oid = 'event_log_past'::regclass"
        )
    };
    installation.execute(&statistics(1000, 1));
    let preview = installation.preview(json!({})).expect("a preview");
    let first = installation.number("SELECT count(*) FROM event_log_old");
    assert_eq!(only(&preview)["rows"], first + 1000, "{preview}");
    assert!(only(&preview)["oldest_end_time"].is_string(), "{preview}");
    installation.execute(&statistics(-1, 0));
    let fill = "INSERT INTO event_log (logged_at, message)
         SELECT now() - interval '1 day' * d.days, md5(n::text) FROM generate_series(1, 5000) AS n CROSS JOIN (VALUES (150), (250)) AS d(days)";
    installation.execute("ALTER TABLE event_log_old SET (autovacuum_enabled = false)");
    installation.execute("ALTER TABLE event_log_past SET (autovacuum_enabled = false)");
    installation.execute(fill);
    installation.execute("ANALYZE event_log_old");
    installation.execute(fill);
    let hold = json!({"rule": "event_log", "key": 30, "reason": "a test"});
    installation.set_hold(hold.clone()).expect("a hold");
    let counted = installation.number("SELECT count(*) FROM event_log_past");
    let options = json!({});
    let run = installation.run(options.clone()).expect("a run");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"HELD": ["event_log_old (30)"]}),
        "{run}"
    );
    // Without statistics, rows are counted.
    assert_eq!(only(&run)["rows"], counted, "{run}");
    installation.execute("DELETE FROM W.hold");
    let counted = installation.number("SELECT count(*) FROM event_log_old");
    let run = installation.run(options).expect("a run");
    let estimated = only(&run)["rows"].as_i64().expect("a number");
    assert!(
        (estimated - counted).abs() < counted / 20,
        "{estimated} of {counted}: {run}"
    );
    assert_eq!(
        installation.texts(
            "SELECT concat_ws(' ', p.name, p.counted) FROM W.run_partition AS p ORDER BY p.name"
        ),
        ["event_log_old f", "event_log_past t"]
    );
}

fn the_example_does_what_its_page_says() {
    let mut installation = armed("event-log-example");
    let all = set(&["event_log_now", "event_log_old", "event_log_past"]);
    let preview = installation.preview(json!({})).expect("a preview");
    assert_eq!(only(&preview)["families"], 2, "{preview}");
    assert_eq!(
        only(&preview)["sample_roots"],
        json!(["event_log_old", "event_log_past"])
    );
    let rows = only(&preview)["rows"].clone();
    assert_eq!(
        rows,
        installation.number("SELECT count(*) FROM event_log_old")
            + installation.number("SELECT count(*) FROM event_log_past")
    );
    let due = installation.texts("SELECT d.families FROM W.due_now(100) AS d");
    assert_eq!(due, ["2"]);

    let dry = installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    assert_eq!(
        (&only(&dry)["families"], &only(&dry)["rows"]),
        (&json!(2), &rows)
    );
    assert_eq!(partitions(&mut installation), all);
    assert_eq!(
        installation.number("SELECT count(*) FROM W.run_partition"),
        0
    );

    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &run["reason"]),
        (&json!("done"), &json!("nothing left"))
    );
    assert_eq!(
        (&only(&run)["families"], &only(&run)["rows"]),
        (&json!(2), &rows)
    );
    assert_eq!(only(&run)["tables"], json!({"event_log": rows}));
    assert_eq!(partitions(&mut installation), set(&["event_log_now"]));
    let ledger = installation.texts(
        "SELECT concat_ws(' ', p.name, p.from_bound = '-infinity', p.deleted_rows, p.bytes > 0) FROM W.run_partition AS p ORDER BY p.name",
    );
    assert_eq!(ledger.len(), 2, "{ledger:?}");
    assert!(ledger[0].starts_with("event_log_old t "), "{ledger:?}");
    assert!(ledger.iter().all(|line| line.ends_with(" t")), "{ledger:?}");

    let again = installation.run(json!({})).expect("a second run");
    assert_eq!(
        (&again["status"], &only(&again)["families"]),
        (&json!("done"), &json!(0))
    );
    assert_eq!(
        installation.texts("SELECT d.families FROM W.due_now(100) AS d"),
        ["0"]
    );
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");
    // A run may ask for less, down to the minimum.
    let young = installation
        .preview(json!({"retention": "31d"}))
        .expect("a preview");
    assert_eq!(only(&young)["families"], 0, "{young}");
    let purge = installation.purge(json!({"rule": "event_log", "key": [1]}));
    let error = format!("{:#}", purge.expect_err("no single row is purged"));
    assert!(error.contains("drops whole partitions"), "{error}");
}

fn the_check_proposes_the_strategy_and_says_what_it_needs() {
    let mut installation = Installation::of(Dialect::Postgres, SCHEMA, &example("event-log-check"));
    let found = |installation: &mut Installation, spec: &str| {
        let catalog = installation.session.catalog("public").expect("a catalog");
        let findings = fit::compare(&graph_of(spec), &catalog);
        let told = findings.iter();
        told.map(|it| format!("{} {}: {} ({})", it.code, it.object, it.message, it.help))
            .collect::<Vec<_>>()
    };
    let own = found(&mut installation, EXAMPLE);
    assert!(
        own.iter()
            .any(|it| it.starts_with("partition-owner event_log")),
        "{own:#?}"
    );
    assert!(
        !own.iter().any(|it| it.starts_with("partitioned ")),
        "{own:#?}"
    );
    assert!(
        !own.iter().any(|it| it.starts_with("partition-width")),
        "{own:#?}"
    );
    installation.execute("DROP TABLE event_log_past, event_log_now");
    let lacks = found(&mut installation, EXAMPLE);
    assert!(
        lacks
            .iter()
            .any(|it| it.starts_with("partition-width event_log: ")),
        "{lacks:#?}"
    );
    let aged = without_ahead().replace("strategy  = \"partition\"", "strategy  = \"age\"");
    let proposed = found(&mut installation, &aged);
    assert!(
        proposed
            .iter()
            .any(|it| it.contains("`strategy = \"partition\"`")),
        "{proposed:#?}"
    );
    let other = EXAMPLE.replace(
        "time      = \"logged_at timestamptz\"",
        "time = \"made_at timestamptz\"",
    );
    let refused = found(&mut installation, &other);
    assert!(
        refused
            .iter()
            .any(|it| it
                .starts_with("not-partitioned event_log: is partitioned by RANGE (logged_at)")),
        "{refused:#?}"
    );
}

fn what_a_hold_of_another_rule_keeps_keeps_its_partition() {
    const CASES: &str = r#"
cases     = { key = "id bigint" }
event_log = { key = "id bigint", parents = ["case_id bigint -> cases.id"], indexed = ["case_id"] }

[rules.cases]
strategy  = "end-time"
root      = "cases"
final     = { ended = { null = false } }
end_time  = "ended timestamptz"
retention = { default = "90d" }
"#;
    let spec = without_ahead().replace("\"event-log\"", "\"event-log-cases\"");
    let spec = spec.replace("event_log = { key = \"id bigint\" }\n", CASES);
    let schema = format!(
        "{SCHEMA}
         ALTER TABLE event_log ADD COLUMN case_id bigint;
         CREATE INDEX event_log_case ON event_log (case_id);
         CREATE TABLE cases (id bigint PRIMARY KEY, ended timestamptz);
         INSERT INTO cases VALUES (7, now()), (8, now());
         UPDATE event_log SET case_id = 7 WHERE tableoid = 'event_log_past'::regclass AND message = 'event 15'"
    );
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph_of(&spec));
    own(&mut installation);
    grant(&mut installation);
    installation.arm();
    for key in [7, 8] {
        let hold = json!({"rule": "cases", "key": key, "reason": "a test"});
        installation.set_hold(hold).expect("a hold");
    }
    let options = json!({"rule": "event_log"});
    let preview = installation.preview(options.clone()).expect("a preview");
    let run = installation.run(options).expect("a run");
    for document in [&preview, &run] {
        assert_eq!(only(document)["families"], 1, "{document}");
        assert_eq!(
            only(document)["skipped_samples"],
            json!({"HELD": ["event_log_past (15)"]}),
            "{document}"
        );
    }
    assert_eq!(
        partitions(&mut installation),
        set(&["event_log_now", "event_log_past"])
    );
}
