//! What others use of a partition, or it of them, when it is archived.

use serde_json::json;
use windrow::calls::Calls;
use windrow::dialect::Dialect;

use super::{all_of, armed, example, kept, kept_in, restore, sleeps_at, undo, with_noise};
use crate::partition::{SCHEMA, armed_as, only, owner, partitions, set};

/// The log, which was a plain table with a sequence once. The second partition has a sequence that nothing else uses.
const CONVERTED: &str = "
CREATE TABLE event_log_old (
    id        bigserial,
    logged_at timestamptz NOT NULL,
    message   text NOT NULL,
    PRIMARY KEY (id, logged_at)
);
CREATE TABLE event_log (LIKE event_log_old INCLUDING DEFAULTS, PRIMARY KEY (id, logged_at)) PARTITION BY RANGE (logged_at);
ALTER TABLE event_log ATTACH PARTITION event_log_old FOR VALUES FROM (MINVALUE) TO (date_trunc('day', now() - interval '200 days'));
CREATE TABLE event_log_past PARTITION OF event_log
    FOR VALUES FROM (date_trunc('day', now() - interval '200 days')) TO (date_trunc('day', now() - interval '100 days'));
CREATE TABLE event_log_now PARTITION OF event_log
    FOR VALUES FROM (date_trunc('day', now() - interval '100 days')) TO (date_trunc('day', now() + interval '100 days'));
CREATE SEQUENCE its_own OWNED BY event_log_past.id;
ALTER TABLE event_log_past ALTER id SET DEFAULT nextval('its_own');
INSERT INTO event_log (logged_at, message)
SELECT now() - make_interval(days => n * 10), 'event ' || n FROM generate_series(1, 30) AS n;
";

pub(super) fn a_sequence_that_the_table_uses_keeps_its_partition() {
    let mut installation = armed_as(&example("event-log-numbers"), CONVERTED);
    let owner = owner(&installation);
    installation.execute(&format!("GRANT USAGE ON SCHEMA public TO {owner}"));
    let past = all_of(&mut installation, "event_log_past");
    let run = installation.run(json!({})).expect("a run");
    let written = format!(
        "SET ROLE {owner}; INSERT INTO event_log (logged_at, message) VALUES (now(), 'new'); RESET ROLE"
    );
    installation
        .attempt(&written)
        .expect("the application writes");
    assert_eq!(
        (&only(&run)["families"], &only(&run)["skipped"]),
        (&json!(1), &json!({"FAILED": 1})),
        "{run}"
    );
    assert_eq!(
        partitions(&mut installation),
        set(&["event_log_old", "event_log_now"])
    );
    let failures =
        installation.texts("SELECT concat_ws(' ', f.sqlstate, f.message) FROM W.run_failure AS f");
    let told = "2BP01 cannot archive partition public.event_log_old because default value for column id of table public.event_log \
                depends on its sequence: ";
    let remedy = failures[0].strip_prefix(told).expect(&failures[0]);

    // What only the partition uses goes along, and comes back.
    let options = json!({"run": run["run"]});
    restore(&mut installation, options).expect("restored");
    assert_eq!(all_of(&mut installation, "event_log_past"), past);
    installation.execute(&format!(
        "SET ROLE {owner}; SELECT nextval('its_own'); RESET ROLE"
    ));

    installation.execute(remedy);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 1, "{run}");
    let name = format!("archived_{}_1_event_log_old", run["run"]);
    assert_eq!(kept(&mut installation), [name]);
    installation
        .attempt(&written)
        .expect("the application writes");
}

pub(super) fn a_key_to_a_partitioned_table_goes_and_comes_back() {
    let mut installation = armed("event-log-users");
    let owner = owner(&installation);
    installation.execute(&format!(
        "CREATE TABLE users (id bigint PRIMARY KEY) PARTITION BY HASH (id);
         CREATE TABLE users_0 PARTITION OF users FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE users_1 PARTITION OF users FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         INSERT INTO users SELECT generate_series(1, 30);
         ALTER TABLE event_log ADD user_id bigint;
         UPDATE event_log SET user_id = id;
         ALTER TABLE event_log ADD FOREIGN KEY (user_id) REFERENCES users;
         ALTER TABLE event_log_past ADD CONSTRAINT its_own FOREIGN KEY (id) REFERENCES users;
         GRANT SELECT, REFERENCES ON users, users_0, users_1 TO {owner}"
    ));
    let before = ["event_log_old", "event_log_past"].map(|it| all_of(&mut installation, it));
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["families"]),
        (&json!("done"), &json!(2)),
        "{run}"
    );
    // A row that an archived one names can be deleted.
    installation.execute("BEGIN; DELETE FROM event_log; DELETE FROM users; ROLLBACK");
    restore(&mut installation, json!({"run": run["run"]})).expect("restored");
    let after = ["event_log_old", "event_log_past"].map(|it| all_of(&mut installation, it));
    assert_eq!(after, before);
}

pub(super) fn an_uninstallation_keeps_what_row_security_hides() {
    let graph = example("event-log-hidden");
    let mut installation = armed("event-log-hidden");
    installation.run(json!({})).expect("a run");
    let (schema, names) = (kept_in(&installation), kept(&mut installation));
    for name in &names {
        installation.execute(&format!(
            "ALTER TABLE {schema}.{name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        ));
    }
    let become_owner = format!("SET ROLE {}_owner", installation.control);
    installation.execute(&become_owner);
    let told = undo(&mut installation, &graph);
    installation.execute("RESET ROLE");
    assert_eq!(kept(&mut installation), names);
    let told = format!("{:#}", told.expect_err("there are partitions"));
    assert!(told.contains("there are archived rows in"), "{told}");
    // What the command asks before.
    let calls = Calls::new(Dialect::Postgres, &installation.control, "");
    installation.execute(&become_owner);
    let found = installation.texts(&calls.any_row(&installation.control, &schema, &names[0]));
    installation.execute("RESET ROLE");
    assert_eq!(found.len(), 1);
}

/// What takes long, reading the partitions and waiting for a batch, is done before others are locked out.
pub(super) fn a_restoration_reads_before_anybody_waits() {
    let mut installation = armed("event-log-reads");
    let owner = owner(&installation);
    installation.execute(&format!(
        "CREATE TABLE kind (id bigint PRIMARY KEY);
         INSERT INTO kind SELECT generate_series(1, 30);
         ALTER TABLE event_log ADD FOREIGN KEY (id) REFERENCES kind;
         GRANT SELECT, REFERENCES ON kind TO {owner};
         GRANT USAGE ON SCHEMA public TO {owner}"
    ));
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(only(&run)["families"], 2, "{run}");
    let number = run["run"].clone();
    let mut writer = installation.connect();
    writer
        .execute("SET lock_timeout = '2s'")
        .expect("a setting");

    // While the second is read.
    sleeps_at(
        &mut installation,
        &format!("archived_{number}_1_event_log_old"),
    );
    let (runner, cancel, session) =
        installation.call_aside("archive_restore", json!({"run": number}));
    installation.until_asleep("reads", &runner, session);
    let written = writer.execute("INSERT INTO kind VALUES (31)");
    while !runner.is_finished() {
        cancel().expect("a cancel");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(runner.join().expect("no panic"));
    written.expect("nobody waits");
    installation.execute(&format!(
        "DROP EVENT TRIGGER {}_sleeps",
        installation.control
    ));

    // While a batch is in progress.
    let mut batch = installation.connect();
    let latch = installation.named("BEGIN; LOCK TABLE W.latch IN ROW SHARE MODE");
    batch.execute(&latch).expect("a batch");
    let (runner, _, session) = installation.call_aside("archive_restore", json!({"run": number}));
    installation.until_locked("waits", &runner, session);
    writer
        .execute("INSERT INTO kind VALUES (32)")
        .expect("nobody waits");
    batch.execute("COMMIT").expect("an end");
    let (session, answer) = runner.join().expect("no panic");
    drop(session);
    assert_eq!(answer.expect("restored")["holds"], 2);
    assert_eq!(partitions(&mut installation).len(), 3);
}

/// One rule archives partitions of a table, another one copies of its rows.
pub(super) fn copies_and_partitions_of_one_table_come_back() {
    let mut installation = armed_as(&with_noise("event-log-noise"), SCHEMA);
    let owner = owner(&installation);
    installation.execute(&format!(
        "GRANT USAGE ON SCHEMA public TO {owner};
         UPDATE event_log SET message = 'noise' WHERE message IN ('event 5', 'event 6', 'event 15')"
    ));
    let all = installation.texts("SELECT t::text FROM event_log AS t ORDER BY 1");
    for noted in [true, false] {
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(run["rules"][1]["rows"], 2, "{run}");
        let number = run["run"].clone();
        let list = installation.call("archive_list", json!({"run": number}));
        let list = list.expect("a list");
        let rows = only(&run)["rows"].as_i64().expect("a number") + 2;
        assert_eq!(
            list["runs"][0]["tables"],
            json!({"event_log": rows}),
            "{list}"
        );
        if !noted {
            installation.execute("UPDATE W.run_rule SET archived = NULL");
        }
        // One of the partitions first.
        let options = json!({"run": number, "rule": "event_log", "key": ["event_log_old"]});
        restore(&mut installation, options).expect("a partition");
        restore(&mut installation, json!({"run": number})).expect("the rest");
        assert_eq!(
            installation.texts("SELECT t::text FROM event_log AS t ORDER BY 1"),
            all
        );
        installation.execute("DELETE FROM W.hold");
    }
}
