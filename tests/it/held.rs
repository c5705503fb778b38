//! A hold names a row that is there, however its key is written: a hold that keeps nothing is an error.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::{Graph, Shared};

use crate::harness::tests;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{Installation, Session, call};
use crate::support::patience::until;
use crate::support::world::Row;

tests! {
    each_server: [
        every_spelling_of_a_key_holds_its_row,
        a_blank_at_the_end_makes_another_key_where_the_column_says_so,
        a_hold_that_waits_for_its_row_keeps_it_in_each_spelling,
    ],
    every_server: [
        a_hold_of_nothing_is_an_error_unless_it_is_meant,
        a_hold_names_a_row_that_the_rule_may_delete,
        a_hold_below_a_root_names_any_member,
        a_hold_waits_for_no_other_row,
        a_hold_of_an_old_snapshot_names_no_row_that_a_run_has_deleted,
        a_hold_that_finds_its_row_gone_takes_no_other_away,
    ],
    on_postgres: [
        a_hold_of_an_old_snapshot_waits_for_nobody,
    ],
}

const SPEC: &str = r#"
name = "held"

[tables]
job    = { key = "id bigint" }
ticket = { key = "id uuid" }
bare   = { key = "id uuid" }
word   = { key = "id varchar" }
pair   = { key = "a integer, b varchar, c uuid" }
task   = { key = "id varchar" }
entry  = { key = "id integer" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
candidates = { kind = 0 }
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d" }

[rules.tickets]
strategy   = "end-time"
root       = "ticket"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d" }

[rules.bares]
strategy   = "end-time"
root       = "bare"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d" }

[rules.words]
strategy   = "expiry"
root       = "word"
time       = "at"

[rules.pairs]
strategy   = "expiry"
root       = "pair"
time       = "at"

[rules.tasks]
strategy   = "removal-time"
root       = "task"
time       = "at"
tables     = ["task"]

[rules.entries]
strategy   = "age"
root       = "entry"
time       = "at"
candidates = { kind = 0 }
retention  = { default = "30d" }
"#;

const TABLES: [&str; 7] = ["job", "ticket", "bare", "word", "pair", "task", "entry"];

const ID: &str = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const BARE: &str = "a0eebc999c0b4ef8bb6d6bb9bd380a11";

fn graph() -> Graph {
    graph_of(SPEC)
}

fn schema(dialect: Dialect) -> String {
    let (time, uuid, bare, text) = match dialect {
        Dialect::Postgres => ("timestamp", "uuid", "uuid", ""),
        // Most tables have uuids as texts there, with dashes or without.
        Dialect::Mysql => (
            "datetime(6)",
            "char(36)",
            "varchar(32)",
            " CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        ),
        Dialect::Mariadb => (
            "datetime(6)",
            "uuid",
            "char(32)",
            " CHARACTER SET latin1 COLLATE latin1_swedish_ci",
        ),
    };
    format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, kind integer NOT NULL DEFAULT 0, state integer NOT NULL DEFAULT 1, at {time} NOT NULL);
         CREATE TABLE ticket (id {uuid} PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time} NOT NULL);
         CREATE TABLE bare (id {bare} PRIMARY KEY, state integer NOT NULL DEFAULT 1, at {time} NOT NULL);
         CREATE TABLE word (id char(10){text} PRIMARY KEY, at {time} NOT NULL);
         CREATE TABLE pair (a integer, b varchar(20){text}, c {uuid}, at {time} NOT NULL, PRIMARY KEY (a, b, c));
         CREATE TABLE task (id varchar(64){text} PRIMARY KEY, at {time} NOT NULL);
         CREATE TABLE entry (id integer PRIMARY KEY, kind integer NOT NULL DEFAULT 0, at {time} NOT NULL);"
    )
}

fn database(dialect: Dialect) -> Installation {
    let mut database = Installation::of(dialect, &schema(dialect), &graph());
    for table in TABLES {
        database.execute(&format!("DELETE FROM {table}"));
    }
    database.execute("DELETE FROM W.hold");
    database.arm();
    database
}

/// The key of the one row of a rule, as its table has it and as windrow writes it, and as people may.
fn spellings(dialect: Dialect) -> Vec<(&'static str, &'static str, Value, Vec<Value>)> {
    let upper = |text: &str| json!(text.to_uppercase());
    let uuids = || {
        vec![
            json!(ID),
            json!(BARE),
            upper(ID),
            upper(BARE),
            json!(format!("{{{ID}}}")),
            json!("A0eebc99-9c0b4ef8bb6d-6bb9bd380a11"),
        ]
    };
    let mut numbers = vec![
        json!(17),
        json!("17"),
        json!("017"),
        json!("+17"),
        json!(" 17 "),
        json!("0000000000000000000000000017"),
    ];
    if dialect == Dialect::Postgres {
        numbers.push(json!("\t17\n"));
    }
    let mut words = vec![json!("Abc"), json!("Abc  "), json!("Abc       ")];
    let mut pairs = vec![
        json!([5, "Abc", ID]),
        json!(["005", "Abc", BARE]),
        json!(format!("[ 5,\"Abc\" , \"{}\"]", ID.to_uppercase())),
    ];
    let mut tasks = vec![json!("Abc")];
    if dialect != Dialect::Postgres {
        words.extend([json!("abc"), json!("ABC")]);
        pairs.push(json!([5, "ABC", ID]));
        tasks.push(json!("aBC"));
    }
    let pair = json!(format!("[5, \"Abc\", \"{ID}\"]"));
    let bare = match dialect {
        Dialect::Postgres => ID,
        Dialect::Mysql | Dialect::Mariadb => BARE,
    };
    vec![
        (
            "jobs",
            "job (id, at) VALUES (17",
            json!("17"),
            numbers.clone(),
        ),
        (
            "tickets",
            "ticket (id, at) VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
            json!(ID),
            uuids(),
        ),
        (
            "bares",
            "bare (id, at) VALUES ('a0eebc999c0b4ef8bb6d6bb9bd380a11'",
            json!(bare),
            uuids(),
        ),
        ("words", "word (id, at) VALUES ('Abc'", json!("Abc"), words),
        (
            "pairs",
            "pair (a, b, c, at) VALUES (5, 'Abc', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
            pair,
            pairs,
        ),
        ("tasks", "task (id, at) VALUES ('Abc'", json!("Abc"), tasks),
        ("entries", "entry (id, at) VALUES (17", json!("17"), numbers),
    ]
}

fn every_spelling_of_a_key_holds_its_row(dialect: Dialect) {
    let mut database = database(dialect);
    let all = spellings(dialect);
    for (_, row, ..) in &all {
        database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
    }
    for (rule, _, key, spelled) in &all {
        let held = format!("SELECT count(*) FROM W.hold WHERE rule = '{rule}'");
        for (at, text) in spelled.iter().enumerate() {
            let hold = json!({"rule": rule, "key": text, "reason": "audit"});
            let answer = database.set_hold(hold).expect("a hold");
            let said = [&answer["key"], &answer["exists"], &answer["absent"]];
            assert_eq!(said, [key, &json!(true), &json!(false)], "{rule} {text}");
            assert_eq!(database.number(&held), 1, "{rule} {text}");
            let other = &spelled[(at + 1) % spelled.len()];
            let released = database.call("release_hold", json!({"rule": rule, "key": other}));
            assert_eq!(&released.expect("a release")["key"], key, "{rule} {other}");
            assert_eq!(database.number(&held), 0, "{rule} {other}");
        }
        let last = spelled.last().expect("some");
        let hold = json!({"rule": rule, "key": last, "reason": "audit"});
        database.set_hold(hold).expect("a hold");
    }
    // A further row of each goes; those that are held stay, without and with a name.
    for row in [
        "job (id, at) VALUES (18",
        "word (id, at) VALUES ('Abcd'",
        "task (id, at) VALUES ('Abcd'",
        "entry (id, at) VALUES (18",
    ] {
        database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
    }
    let preview = database.preview(json!({})).expect("a preview");
    let run = database.run(json!({})).expect("a run");
    for document in [&preview, &run] {
        for rule in document["rules"].as_array().expect("rules") {
            assert_eq!(rule["skipped"], json!({"HELD": 1}), "{rule}");
        }
    }
    for table in TABLES {
        assert_eq!(
            database.number(&format!("SELECT count(*) FROM {table}")),
            1,
            "{table}"
        );
    }
}

/// The program tells a hold of no row from all other errors by its SQLSTATE.
const NO_ROW: &[&str] = &["WD003"];

/// Of a key that no column could have it depends on the type what is wrong with it.
const ODD: &[&str] = &["WD003", "22023"];

#[track_caller]
fn refused(database: &mut Installation, hold: Value, states: &[&str]) {
    let error = database.set_hold(hold.clone()).expect_err("it is refused");
    let state = failure::sqlstate(&error).unwrap_or_default();
    assert!(states.contains(&state), "{hold}: {error:#}");
    assert_eq!(database.number("SELECT count(*) FROM W.hold"), 0, "{hold}");
}

/// What no column could have as a key.
fn no_keys() -> [Value; 7] {
    [
        json!(null),
        json!(""),
        json!({}),
        json!([]),
        json!(["x"]),
        json!("x".repeat(300)),
        json!([1, 2, 3, 4]),
    ]
}

fn a_hold_of_nothing_is_an_error_unless_it_is_meant(dialect: Dialect) {
    let mut database = database(dialect);
    for (rule, row, key, _) in spellings(dialect) {
        let hold = |more: Value| {
            let mut hold = json!({"rule": rule, "key": key, "reason": "audit"});
            hold.as_object_mut()
                .expect("it")
                .extend(more.as_object().expect("it").clone());
            hold
        };
        // No such row, and none with a key that the column cannot have.
        refused(&mut database, hold(json!({})), NO_ROW);
        refused(
            &mut database,
            hold(json!({"even_if_absent": false})),
            NO_ROW,
        );
        let released = json!({"rule": rule, "key": key});
        let error = database
            .call("release_hold", released)
            .expect_err("no such hold");
        assert_eq!(failure::sqlstate(&error), Some("WD003"), "{error:#}");
        for odd in no_keys() {
            refused(&mut database, hold(json!({"key": odd})), ODD);
        }
        if rule != "words" && rule != "tasks" {
            for odd in [
                "17x",
                "1.5",
                "1e3",
                "0x",
                "9223372036854775808",
                "-9223372036854775809",
                "--1",
                "[5, 6]",
                "17; DROP",
            ] {
                refused(
                    &mut database,
                    hold(json!({"key": odd, "even_if_absent": true})),
                    &["22023"],
                );
            }
        }
        for odd in [json!("yes"), json!(1)] {
            refused(
                &mut database,
                hold(json!({"even_if_absent": odd})),
                &["22023"],
            );
        }
        let stored = database
            .set_hold(hold(json!({"even_if_absent": true})))
            .expect("a hold");
        assert_eq!(
            [&stored["exists"], &stored["absent"]],
            [&json!(false), &json!(true)],
            "{stored}"
        );
        // The row comes, and is held.
        database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
        let run = database
            .run(json!({"rule": rule}))
            .unwrap_or_else(|error| panic!("{rule}: {error:#}"));
        assert_eq!(
            run["rules"][0]["skipped"],
            json!({"HELD": 1}),
            "{rule}: {run}"
        );
        // Until then, the hold says that there was none.
        let again = database
            .set_hold(hold(json!({"even_if_absent": true})))
            .expect("a hold");
        assert_eq!(
            [&again["exists"], &again["absent"]],
            [&json!(true), &json!(false)],
            "{again}"
        );
        let release = json!({"rule": rule, "key": key});
        database.call("release_hold", release).expect("a release");
        for past in [
            "2020-01-01",
            "2020-01-01T00:00:00Z",
            "1970-01-01T00:00:00+14:00",
        ] {
            refused(&mut database, hold(json!({"until": past})), &["22023"]);
            refused(
                &mut database,
                hold(json!({"until": past, "even_if_absent": true})),
                &["22023"],
            );
        }
    }
}

fn a_hold_names_a_row_that_the_rule_may_delete(dialect: Dialect) {
    let mut database = database(dialect);
    for table in ["job", "entry"] {
        database.execute(&format!(
            "INSERT INTO {table} (id, kind, at) VALUES (1, 1, '2020-01-01')"
        ));
    }
    let hold = |rule: &str| json!({"rule": rule, "key": 1, "reason": "audit"});
    refused(&mut database, hold("jobs"), NO_ROW);
    // What a rule by an age takes may be in another state tomorrow.
    database.set_hold(hold("entries")).expect("a hold");
}

/// Of rows that no root leads to, the rule never takes any.
fn a_hold_below_a_root_names_any_member(dialect: Dialect) {
    let mut database = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    for (id, sub) in [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1)] {
        let row = Row::Instance {
            id,
            state: Some(7),
            end_time: Some(0),
            is_sub_workflow: Some(sub),
            project: Some(1),
        };
        database.execute(&row.insert());
    }
    for (id, parent, child) in [(1, 1, 2), (2, 2, 3), (3, 4, 5), (4, 5, 4), (5, 77, 5)] {
        let row = Row::Link {
            id,
            parent: Some(parent),
            child: Some(child),
        };
        database.execute(&row.insert());
    }
    for id in [4, 5, 77] {
        refused(&mut database, json!({"key": id, "reason": "audit"}), NO_ROW);
    }
    for id in [1, 2, 3] {
        database
            .set_hold(json!({"key": id, "reason": "audit"}))
            .expect("a hold");
    }
}

/// Who writes to other rows of the table does not make a hold wait, nor does he wait for it.
fn a_hold_waits_for_no_other_row(dialect: Dialect) {
    let mut database = database(dialect);
    let all = spellings(dialect);
    for (_, row, ..) in &all {
        database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
    }
    let mut writer = database.connect();
    let begin = [
        "BEGIN",
        "INSERT INTO job (id, at) VALUES (16, '2020-01-01'), (18, '2020-01-01')",
        "INSERT INTO ticket (id, at) VALUES ('00000000-0000-0000-0000-000000000001', '2020-01-01')",
        "INSERT INTO bare (id, at) VALUES ('ffffffff000000000000000000000001', '2020-01-01')",
        "INSERT INTO word (id, at) VALUES ('Abb', '2020-01-01'), ('Abd', '2020-01-01')",
        "INSERT INTO pair (a, b, c, at) VALUES (5, 'Abb', '00000000-0000-0000-0000-000000000001', '2020-01-01')",
        "INSERT INTO task (id, at) VALUES ('Abb', '2020-01-01'), ('Abd', '2020-01-01')",
        "INSERT INTO entry (id, at) VALUES (16, '2020-01-01'), (18, '2020-01-01')",
    ];
    for statement in begin {
        writer.execute(statement).expect("a write");
    }
    database.execute(match dialect {
        Dialect::Postgres => "SET lock_timeout = '1s'",
        Dialect::Mysql | Dialect::Mariadb => "SET SESSION innodb_lock_wait_timeout = 1",
    });
    for (rule, _, _, spelled) in &all {
        let hold = json!({"rule": rule, "key": spelled[0], "reason": "audit"});
        database.set_hold(hold).expect("a hold");
    }
    writer.execute("ROLLBACK").expect("a rollback");
}

/// A session whose transaction has read something, at an isolation level that keeps to what it saw then.
fn with_snapshot(database: &Installation, dialect: Dialect, isolation: &str) -> Session {
    let mut session = database.connect();
    for statement in match dialect {
        Dialect::Postgres => vec![format!("BEGIN ISOLATION LEVEL {isolation}")],
        Dialect::Mysql | Dialect::Mariadb => vec![
            format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
            "BEGIN".to_owned(),
        ],
    } {
        session.execute(&statement).expect("a transaction");
    }
    let seen = session.query(&database.named("SELECT COUNT(*) FROM W.hold"), &[]);
    seen.expect("a snapshot");
    session
}

/// A batch deletes the row after all have looked. Some hold it even without a row; one may have been there before.
fn a_hold_that_finds_its_row_gone_takes_no_other_away(dialect: Dialect) {
    let mut database = database(dialect);
    let hold = |reason: &str, absent: bool| json!({"rule": "jobs", "key": 17, "reason": reason, "even_if_absent": absent});
    let (latch, waiting) = match dialect {
        Dialect::Postgres => (
            "LOCK TABLE W.latch IN ROW SHARE MODE",
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "SELECT only_row FROM W.latch FOR UPDATE",
            "SELECT COUNT(*) + COALESCE(SUM(LENGTH(reason) - LENGTH(REPLACE(reason, ';', ''))), 0) FROM W.hold",
        ),
    };
    for (earlier, callers) in [
        (false, vec![false]),
        (true, vec![false]),
        (false, vec![false, true]),
        (false, vec![true, false]),
        // Of what both called for, neither is answered that it is there.
        (false, vec![false, false]),
        (false, vec![false, false, false]),
        (true, vec![false, false]),
    ] {
        let stays = earlier || callers.contains(&true);
        database.execute("DELETE FROM W.hold");
        database.execute("INSERT INTO job (id, at) VALUES (17, '2020-01-01')");
        if earlier {
            database.set_hold(hold("earlier", false)).expect("a hold");
        }
        let mut batch = database.connect();
        for statement in ["BEGIN", &database.named(latch)] {
            batch.execute(statement).expect("a batch");
        }
        let mut calls = Vec::new();
        for absent in callers {
            let before = database.number(waiting);
            let (call, ..) =
                database.call_aside("set_hold", hold(&calls.len().to_string(), absent));
            until(
                "a hold that waits",
                || Ok(database.number(waiting) > before),
            )
            .expect("it waits");
            calls.push((call, absent));
        }
        for statement in ["DELETE FROM job WHERE id = 17", "COMMIT"] {
            batch.execute(statement).expect("a batch");
        }
        for (call, absent) in calls {
            match call.join().expect("no panic").1 {
                Ok(held) => assert!(absent && held["exists"] == false, "{held}"),
                Err(error) => {
                    assert!(!absent, "{error:#}");
                    assert_eq!(failure::sqlstate(&error), Some("WD003"), "{error:#}");
                }
            }
        }
        let held = database.texts("SELECT reason FROM W.hold");
        assert_eq!(!held.is_empty(), stays, "{held:?}");
    }
}

/// What the session no longer sees as it is must not be said to exist: the caller begins anew, and hears that it is gone.
fn a_hold_of_an_old_snapshot_names_no_row_that_a_run_has_deleted(dialect: Dialect) {
    let mut database = database(dialect);
    let control = database.control.clone();
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        let all = spellings(dialect);
        for (_, row, ..) in &all {
            database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
        }
        let mut session = with_snapshot(&database, dialect, isolation);
        database.run(json!({})).expect("a run");
        for (at, (rule, _, _, spelled)) in all.iter().enumerate() {
            for absent in [false, true] {
                let hold = json!({"rule": rule, "key": spelled[0], "reason": "audit", "even_if_absent": absent});
                session.execute("SAVEPOINT calls").expect("a savepoint");
                let answer = call(&mut session, dialect, &control, "set_hold", &hold);
                let told = answer
                    .as_ref()
                    .map_err(|error| failure::sqlstate(error).unwrap_or_default().to_owned())
                    .map(|hold| hold["exists"].clone());
                let expected = match (dialect, absent) {
                    (Dialect::Postgres, _) => Err("40001".to_owned()),
                    (_, false) => Err("WD003".to_owned()),
                    (_, true) => Ok(json!(false)),
                };
                assert_eq!(told, expected, "{at} {rule} {isolation}");
                session
                    .execute("ROLLBACK TO SAVEPOINT calls")
                    .expect("a savepoint");
            }
        }
        session.execute("ROLLBACK").expect("a rollback");
        for (rule, _, _, spelled) in &all {
            let hold = json!({"rule": rule, "key": spelled[0], "reason": "audit"});
            let again = call(&mut session, dialect, &control, "set_hold", &hold);
            let again = again.expect_err("no row");
            assert_eq!(failure::sqlstate(&again), Some("WD003"), "{rule}");
        }
    }
}

/// Rows that others have changed or locked are there: the hold neither fails nor waits.
fn a_hold_of_an_old_snapshot_waits_for_nobody() {
    let dialect = Dialect::Postgres;
    let mut database = database(dialect);
    let control = database.control.clone();
    let all = spellings(dialect);
    for (_, row, ..) in &all {
        database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
    }
    let mut session = with_snapshot(&database, dialect, "REPEATABLE READ");
    session
        .execute("SET lock_timeout = '1s'")
        .expect("a setting");
    let mut writer = database.connect();
    writer.execute("BEGIN").expect("a transaction");
    for (at, table) in TABLES.iter().enumerate() {
        match at % 3 {
            0 => database.execute(&format!("UPDATE {table} SET at = '2020-01-02'")),
            1 => drop(writer.query(&format!("SELECT FROM {table} FOR UPDATE"), &[])),
            _ => writer
                .execute(&format!("DELETE FROM {table}"))
                .expect("a row"),
        }
    }
    for (rule, _, _, spelled) in &all {
        let hold = json!({"rule": rule, "key": spelled[0], "reason": "audit"});
        let hold = call(&mut session, dialect, &control, "set_hold", &hold).expect("a hold");
        assert_eq!(hold["exists"], true, "{hold}");
    }
}

/// Some collations pad texts with blanks to compare them, and others do not: as the column, so its holds.
fn a_blank_at_the_end_makes_another_key_where_the_column_says_so(dialect: Dialect) {
    let mut database = database(dialect);
    database.execute(match dialect {
        Dialect::Postgres => "ALTER TABLE pair ALTER b TYPE varchar(20)",
        Dialect::Mysql => "ALTER TABLE task MODIFY id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        Dialect::Mariadb => "ALTER TABLE task MODIFY id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
    });
    database.arm();
    let rows = ["a", "a ", "b", "b  "];
    for key in rows {
        database.execute(&format!(
            "INSERT INTO task (id, at) VALUES ('{key}', '2020-01-01')"
        ));
    }
    let hold = |key: &str| json!({"rule": "tasks", "key": key, "reason": format!("of '{key}'")});
    for key in ["a", "a ", "b  "] {
        let held = database.set_hold(hold(key)).expect("a hold");
        assert_eq!(held["key"], key, "{held}");
    }
    assert_eq!(database.number("SELECT count(*) FROM W.hold"), 3);
    let left = "SELECT CONCAT(id, '.') FROM task ORDER BY id";
    let answer = database.run(json!({"rule": "tasks"})).expect("a run");
    assert_eq!(
        answer["rules"][0]["skipped"],
        json!({"HELD": 3}),
        "{answer}"
    );
    assert_eq!(database.texts(left), ["a.", "a .", "b  ."]);
    let release = json!({"rule": "tasks", "key": "a "});
    database.call("release_hold", release).expect("a release");
    let none = database.call("release_hold", json!({"rule": "tasks", "key": "b"}));
    none.expect_err("no such hold");
    let answer = database.run(json!({"rule": "tasks"})).expect("a run");
    assert_eq!(
        answer["rules"][0]["skipped"],
        json!({"HELD": 2}),
        "{answer}"
    );
    assert_eq!(database.texts(left), ["a.", "b  ."]);
}

/// Where the collation of a key takes several spellings for the same, the row may come with another one than the hold has.
fn a_hold_that_waits_for_its_row_keeps_it_in_each_spelling(dialect: Dialect) {
    let mut database = database(dialect);
    if dialect == Dialect::Postgres {
        database.execute("CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)");
        database.execute("ALTER TABLE word ALTER id TYPE varchar(10) COLLATE alike; ALTER TABLE task ALTER id TYPE varchar(64) COLLATE alike; ALTER TABLE pair ALTER b TYPE varchar(20) COLLATE alike");
        database.arm();
    }
    for (rule, held, row, comes) in [
        (
            "words",
            json!("abc"),
            "word (id, at) VALUES ('Abc'",
            json!("Abc"),
        ),
        (
            "tasks",
            json!("ABC"),
            "task (id, at) VALUES ('Abc'",
            json!("Abc"),
        ),
        (
            "pairs",
            json!([5, "ABC", ID]),
            "pair (a, b, c, at) VALUES (5, 'Abc', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
            json!(["05", "Abc", ID]),
        ),
    ] {
        let hold = json!({"rule": rule, "key": held, "reason": "audit", "even_if_absent": true});
        let answer = database.set_hold(hold).expect("a hold");
        assert_eq!(answer["absent"], true, "{answer}");
        database.execute(&format!("INSERT INTO {row}, '2020-01-01')"));
        let run = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(run["rules"][0]["skipped"], json!({"HELD": 1}), "{run}");
        let release = json!({"rule": rule, "key": comes});
        database.call("release_hold", release).expect("a release");
        assert_eq!(database.number("SELECT count(*) FROM W.hold"), 0);
        let run = database.run(json!({"rule": rule})).expect("a run");
        assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    }
}
