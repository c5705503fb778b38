//! What others read of a run who follow the changes of the database: subscribers of PostgreSQL's logical replication. Replicas of MySQL and
//! MariaDB are followed in `binlog` and `guard::failover`.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::{Postgres, Settings};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::history::{History, Server};
use crate::support::installation::Installation;
use crate::support::patience::until;

tests! {
    on_postgres: [
        a_subscriber_deletes_what_a_run_deletes_or_keeps_all,
        a_slot_that_the_server_has_given_up_holds_nothing_up,
        a_table_without_an_identity_is_told,
    ],
}

/// How many families the history has.
const FAMILIES: u32 = 300;

fn logical() -> Result<Postgres> {
    Postgres::start(&Settings {
        extra: vec![("wal_level".to_owned(), "logical".to_owned())],
        ..Settings::default()
    })
}

/// One subscriber takes all changes, for another the publication has no deletions. Neither runs a rule of its own, though each has a
/// copy of what is installed.
fn a_subscriber_deletes_what_a_run_deletes_or_keeps_all() -> Result<()> {
    let server = Server::Postgres(logical()?).filled(FAMILIES)?;
    let history = History::create(&server)?;
    let mut source = history.connect()?;
    let copies = [
        ("follows", "insert, update, delete, truncate"),
        ("keeps", "insert, update"),
    ];
    let mut readers = Vec::new();
    for (name, events) in copies {
        let mut copy = History::create(&server)?.connect()?;
        source.execute(&format!(
            "CREATE PUBLICATION {name} FOR TABLES IN SCHEMA public WITH (publish = '{events}')"
        ))?;
        source.rows(&format!(
            "SELECT slot_name FROM pg_create_logical_replication_slot('{name}', 'pgoutput')"
        ))?;
        let address = server.url(&history.name);
        copy.execute(&format!(
            "CREATE SUBSCRIPTION {name} CONNECTION '{address}' PUBLICATION {name}
             WITH (create_slot = false, slot_name = '{name}', copy_data = false)"
        ))?;
        readers.push(copy);
    }
    let before = source.digest()?;
    let (_, rule) = source.run_rule(&json!({}))?;
    let after = source.digest()?;
    ensure!(after.len() < before.len(), "nothing was deleted: {rule}");
    source.execute("INSERT INTO t_ds_version (id, version) VALUES (77, 'the end')")?;
    for (copy, expected) in readers.iter_mut().zip([&after, &before]) {
        until("the subscriber has all", || {
            Ok(copy.number("SELECT count(*) FROM t_ds_version WHERE id = 77")? == 1)
        })?;
        ensure!(&copy.digest()? == expected, "it has other rows");
        let runs = copy.number("SELECT count(*) FROM W.run")?;
        ensure!(runs == 0, "{runs} runs of its own");
    }
    // A batch is one transaction downstream, too.
    let batches = rule["batches"].as_i64().unwrap_or_default();
    ensure!(batches > 1, "{rule}");
    for (copy, (name, _)) in readers.iter_mut().zip(copies) {
        copy.execute(&format!("DROP SUBSCRIPTION {name}"))?;
    }
    Ok(())
}

/// A slot whose WAL the server has removed never gets forward: a run that waits for it would wait for ever.
fn a_slot_that_the_server_has_given_up_holds_nothing_up() -> Result<()> {
    let server = Postgres::start(&Settings {
        extra: vec![
            ("wal_level".to_owned(), "logical".to_owned()),
            ("max_slot_wal_keep_size".to_owned(), "1MB".to_owned()),
        ],
        ..Settings::default()
    })?;
    let server = Server::Postgres(server).filled(10)?;
    let mut client = History::create(&server)?.connect()?;
    client.rows("SELECT slot_name FROM pg_create_logical_replication_slot('away', 'pgoutput')")?;
    client.set("max_replica_wal", 1)?;
    client.set("time_budget", 5)?;
    for turn in 0..3 {
        client.execute(&format!("CREATE TABLE turn_{turn} (id integer)"))?;
        client.rows("SELECT pg_switch_wal()::text")?;
    }
    let run = client.run(&json!({}))?;
    let reason = run["reason"].as_str().unwrap_or_default();
    ensure!(
        reason.contains("replication slot away, "),
        "it does not wait: {run}"
    );
    client.execute("CHECKPOINT")?;
    let status = client.texts("SELECT wal_status FROM pg_replication_slots")?;
    ensure!(status == ["lost"], "{status:?}");
    let run = client.run(&json!({}))?;
    ensure!(run["status"] == "done", "{run}");
    Ok(())
}

const SPEC: &str = r#"
name = "published"

[tables]
job  = { key = "id bigint" }
part = { key = "id bigint", parents = ["job_id -> job.id"], indexed = ["job_id"] }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = ["done"] }
end_time  = "ended timestamptz"
retention = { default = "30d" }
"#;

/// `verify` says so before a run fails, in the terms of the server: its own refusal is the oracle. Partitions count one by one.
fn a_table_without_an_identity_is_told() -> Result<()> {
    let schema = "
        CREATE TABLE job (id bigint PRIMARY KEY, state text NOT NULL, ended timestamptz);
        CREATE TABLE part (id bigint NOT NULL UNIQUE, job_id bigint) PARTITION BY RANGE (id);
        CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (10);
        CREATE TABLE part_high PARTITION OF part FOR VALUES FROM (10) TO (20);
        CREATE INDEX ON part (job_id);
        INSERT INTO job VALUES (1, 'done', '2020-01-01'), (2, 'done', '2020-01-01');
        INSERT INTO part VALUES (1, 1), (11, 2)";
    let mut installation = Installation::of(Dialect::Postgres, schema, &graph_of(SPEC));
    installation.arm();
    // What each step changes, and which tables are told afterwards.
    let steps: [(&str, &[&str]); 9] = [
        ("", &[]),
        (
            "CREATE PUBLICATION app FOR TABLE job, part",
            &["part_high", "part_low"],
        ),
        (
            "ALTER PUBLICATION app SET (publish_via_partition_root = true)",
            &["part_high", "part_low"],
        ),
        ("ALTER TABLE part_low REPLICA IDENTITY FULL", &["part_high"]),
        (
            "ALTER TABLE part_high REPLICA IDENTITY USING INDEX part_high_id_key",
            &[],
        ),
        ("ALTER TABLE job REPLICA IDENTITY NOTHING", &["job"]),
        (
            "ALTER PUBLICATION app SET (publish = 'insert, update')",
            &[],
        ),
        ("CREATE PUBLICATION all_of_it FOR ALL TABLES", &["job"]),
        (
            "ALTER TABLE job REPLICA IDENTITY DEFAULT; ALTER TABLE job DROP CONSTRAINT job_pkey; \
             ALTER TABLE job ADD PRIMARY KEY (id) DEFERRABLE",
            &["job"],
        ),
    ];
    for (change, expected) in steps {
        installation.execute(change);
        let verify = installation.call("verify", json!({}))?;
        let checks = verify["checks"].as_array().cloned().unwrap_or_default();
        let told: Vec<&str> = checks
            .iter()
            .filter(|check| {
                check["detail"]
                    .as_str()
                    .is_some_and(|it| it.contains("replica identity"))
            })
            .filter_map(|check| check["object"].as_str())
            .collect();
        ensure!(told == expected, "{change}: {told:?}");
        let refused: Vec<&str> = ["job", "part_high", "part_low"]
            .into_iter()
            .filter(|table| {
                let plan = format!("EXPLAIN DELETE FROM {table}");
                installation.connect().query(&plan, &[]).is_err()
            })
            .collect();
        ensure!(
            refused == expected,
            "{change}: the server refuses {refused:?}"
        );
    }
    let answer: Value = installation.run(json!({}))?;
    ensure!(
        answer["rules"][0]["skipped"] == json!({"FAILED": 2}),
        "{answer}"
    );
    installation.execute("DROP PUBLICATION all_of_it");
    let answer: Value = installation.run(json!({}))?;
    ensure!(answer["rules"][0]["families"] == 2, "{answer}");
    Ok(())
}
