//! Keys and scopes that are bytes, on MySQL and MariaDB: everybody names them by their hexadecimal digits.

mod long;

use std::process::Command;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of, violations};

tests! {
    within: [
        long::tests,
    ],
    either_flavour: [
        families_are_held_purged_and_told_by_digits,
        rows_are_held_purged_and_told_by_digits,
        what_a_killed_run_left_is_finished,
        a_draft_says_binary,
        the_check_knows_bytes,
    ],
}

/// In their order: all zeros, a text with blanks and zeros at its end, bytes of no text and quotes, a uuid, all ones.
const KEYS: [&str; 6] = [
    "00000000000000000000000000000000",
    "27225C0A0D001A25C328A0FFE2202000",
    "41424344454647484950515253540020",
    "41424344454647484950515253542000",
    "550E8400E29B41D4A716446655440000",
    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
];

fn spec(what: &str) -> String {
    format!(
        r#"
name = "bytes"
dialects = ["mysql", "mariadb"]
{what}

[tables]
job  = {{ key = "id binary" }}
step = {{ key = "id binary", parents = ["job_id -> job.id"], indexed = ["job_id"] }}
part = {{ parents = ["step_id -> step.id"], indexed = ["step_id"] }}

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = {{ state = "done" }}
end_time  = "ended_at"
hierarchy = ["job: parent_id -> id"]
shared    = "closed"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant binary" }}
limits    = {{ batch_families = 2 }}
"#
    )
}

fn schema(kind: &str) -> String {
    format!(
        "CREATE TABLE job (id {kind} PRIMARY KEY, parent_id {kind}, state char(6) NOT NULL, tenant {kind}, ended_at datetime, KEY (parent_id),
             KEY (ended_at), CONSTRAINT job_parent FOREIGN KEY (parent_id) REFERENCES job (id));
         CREATE TABLE step (id {kind} PRIMARY KEY, job_id {kind} NOT NULL, CONSTRAINT step_job FOREIGN KEY (job_id) REFERENCES job (id));
         CREATE TABLE part (step_id {kind} NOT NULL, KEY (step_id))"
    )
}

/// A job with each key, a step and two parts of it: of the same tenant, but for the third.
fn jobs(database: &mut Installation) {
    for (at, key) in KEYS.iter().enumerate() {
        let ended = if at == 0 { "NULL" } else { "'2024-01-01'" };
        let tenant = KEYS[if at == 2 { 2 } else { 1 }];
        database.execute(&format!(
            "INSERT INTO job VALUES (X'{key}', NULL, 'done', X'{tenant}', {ended});
             INSERT INTO step VALUES (X'{key}', X'{key}'); INSERT INTO part VALUES (X'{key}'), (X'{key}')"
        ));
    }
}

/// The keys that are left.
fn left(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT HEX(id) FROM job ORDER BY id")
}

fn uuid(digits: &str) -> String {
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    parts.map(|(from, to)| &digits[from..to]).join("-")
}

/// What `check --database` says of types, and of statements that go along no index.
fn findings(database: &Installation, spec: &str) -> Vec<String> {
    let found = all_findings(database, database.dialect, spec);
    let codes = [
        "type-differs",
        "edge-type-differs",
        "collation-differs",
        "seq-scan",
    ];
    let found = found.iter().filter(|it| codes.contains(&it.code));
    found.map(ToString::to_string).collect()
}

fn families_are_held_purged_and_told_by_digits(flavour: Flavour) {
    for kind in ["binary(16)", "varbinary(16)"] {
        families(dialect_of(flavour), kind);
    }
}

fn families(dialect: Dialect, kind: &str) {
    let spec = spec("");
    let mut database = Installation::of(dialect, &schema(kind), &graph_of(&spec));
    assert_eq!(findings(&database, &spec), [""; 0], "{kind}");
    database.arm();
    jobs(&mut database);

    // A hold, in each spelling that a person may have at hand; and what is no key.
    let key = KEYS[4];
    for spelling in [
        key.to_owned(),
        key.to_lowercase(),
        format!("0x{key}"),
        uuid(key),
        uuid(key).to_lowercase(),
        format!("{{{}}}", uuid(key)),
    ] {
        let hold = database
            .set_hold(json!({ "key": spelling, "reason": "audit" }))
            .expect("a hold");
        assert_eq!(hold["key"], key, "{hold}");
        let other = json!({ "key": spelling });
        database.call("release_hold", other).expect("none");
        assert_eq!(database.number("SELECT COUNT(*) FROM W.hold"), 0);
    }
    for wrong in [
        "",
        "0",
        "0x",
        "xy",
        "zz00",
        &format!("{key}00"),
        "550e8400-e29b",
    ] {
        let told = database.set_hold(json!({ "key": wrong, "reason": "audit" }));
        let told = told.expect_err(wrong).to_string();
        assert!(told.contains("not a key of job"), "{wrong}: {told}");
    }
    database
        .set_hold(json!({ "key": key, "reason": "audit" }))
        .expect("a hold");
    // One without a row.
    database
        .set_hold(json!({ "key": "ABCD".repeat(8), "reason": "audit", "even_if_absent": true }))
        .expect("a hold");
    database
        .set_policy(json!({ "scope": KEYS[2], "retention": "9999d" }))
        .expect("a policy");
    let told = database.set_policy(json!({ "scope": "abc", "retention": "3650d" }));
    assert!(told.is_err(), "{told:?}");

    let preview = database.preview(json!({})).expect("a preview");
    let rule = &preview["rules"][0];
    let going = [KEYS[1], KEYS[3], KEYS[5]];
    assert_eq!(rule["sample_roots"], json!(going), "{preview}");
    let skipped = json!({ "HELD": 1, "UNDATED_MEMBER": 1 });
    assert_eq!(rule["skipped"], skipped, "{preview}");
    let samples = json!({ "HELD": [key], "UNDATED_MEMBER": [KEYS[0]] });
    assert_eq!(rule["skipped_samples"], samples, "{preview}");
    let only = database
        .preview(json!({ "scope": KEYS[2] }))
        .expect("a preview");
    assert_eq!(only["rules"][0]["families"], 0, "{only}");

    let tables = json!({ "part": 6, "step": 3, "job": 3 });
    let dry = database.run(json!({ "dry_run": true })).expect("a run");
    assert_eq!(dry["rules"][0]["tables"], tables, "{dry}");
    assert_eq!(left(&mut database), KEYS);

    // What is named goes; what is held stays, and why is told by its key.
    let purge = database
        .purge(json!({ "rule": "jobs", "key": [KEYS[5].to_lowercase(), uuid(key)] }))
        .expect("a purge");
    assert_eq!(purge["refused"], json!({ key: "HELD" }), "{purge}");
    assert_eq!(left(&mut database), KEYS[..5]);
    let run = database.run(json!({})).expect("a run");
    let tables = json!({ "part": 4, "step": 2, "job": 2 });
    assert_eq!(run["rules"][0]["tables"], tables, "{run}");
    assert_eq!(left(&mut database), [KEYS[0], KEYS[2], KEYS[4]]);
    assert_eq!(
        database.texts("SELECT HEX(step_id) FROM part GROUP BY step_id ORDER BY step_id"),
        [KEYS[0], KEYS[2], KEYS[4]]
    );
    assert_eq!(run["rules"][0]["skipped_samples"], samples, "{run}");

    let verify = database.call("verify", json!({})).expect("a document");
    assert_eq!(violations(&verify), Vec::<&Value>::new(), "{verify}");
    assert_eq!(
        database.number("SELECT COUNT(*) FROM W.last_left WHERE oldest_age_seconds > 0"),
        1
    );
}

const ROWS: &str = r#"
name = "bytes"
dialects = ["mysql", "mariadb"]

[tables]
session = { key = "user_id binary, n integer" }
shot    = { key = "id bigint" }
mail    = { key = "id binary" }
note    = { parents = ["mail_id -> mail.id"], indexed = ["mail_id"] }
line    = { key = "id binary" }

[rules.sessions]
strategy = "expiry"
root     = "session"
time     = "expires"
limits   = { batch_rows = 2 }

[rules.shots]
strategy = "keep-last"
root     = "shot"
keep     = { newest = 1, per = "owner binary", by = "part integer" }
limits   = { batch_rows = 2 }

[rules.mails]
strategy = "orphan"
root     = "mail"
needs    = ["user_id -> user.id"]
at_once  = true
limits   = { batch_rows = 2 }

[rules.lines]
strategy  = "age"
root      = "line"
time      = "written"
retention = { default = "30d" }
limits    = { batch_rows = 2 }
"#;

fn rows_are_held_purged_and_told_by_digits(flavour: Flavour) {
    for workers in ["", "workers = 2"] {
        rows(dialect_of(flavour), workers);
    }
}

fn rows(dialect: Dialect, workers: &str) {
    let spec = ROWS.replace("\n[tables]", &format!("{workers}\n\n[tables]"));
    let schema = "CREATE TABLE user (id binary(16) PRIMARY KEY);
         CREATE TABLE session (user_id binary(16), n integer, expires datetime(6), PRIMARY KEY (user_id, n), KEY (expires));
         CREATE TABLE shot (id bigint PRIMARY KEY, owner varbinary(20) NOT NULL, part integer NOT NULL, UNIQUE KEY (owner, part));
         CREATE TABLE mail (id binary(16) PRIMARY KEY, user_id binary(16));
         CREATE TABLE note (mail_id binary(16), KEY (mail_id));
         CREATE TABLE line (id varbinary(30) PRIMARY KEY, written datetime, KEY (written))";
    let mut database = Installation::of(dialect, schema, &graph_of(&spec));
    assert_eq!(findings(&database, &spec), [""; 0]);
    database.arm();
    for (at, key) in KEYS.iter().enumerate() {
        database.execute(&format!(
            "INSERT INTO session VALUES (X'{key}', 1, '2024-01-01'), (X'{key}', 2, '2024-01-01'), (X'{key}', 3, '2999-01-01');
             INSERT INTO shot VALUES ({at}1, X'{key}', 1), ({at}2, X'{key}', 2), ({at}3, X'{key}20', 1), ({at}4, X'{key}20', 2);
             INSERT INTO mail VALUES (X'{key}', X'{key}'); INSERT INTO note VALUES (X'{key}'), (X'{key}');
             INSERT INTO line VALUES (X'{key}', '2024-01-01'), (X'{key}00', '2024-01-01'), (X'{key}0A', NOW())"
        ));
    }
    // The second has not gone.
    database.execute(&format!("INSERT INTO user VALUES (X'{}')", KEYS[1]));
    let hold = |database: &mut Installation, rule: &str, key: Value, text: &str| {
        let options = json!({ "rule": rule, "key": key, "reason": "audit" });
        let hold = database.call("set_hold", options).expect("a hold");
        assert_eq!(
            (&hold["key"], &hold["exists"]),
            (&json!(text), &json!(true))
        );
    };
    let composite = format!("[\"{}\", 2]", KEYS[2]);
    let key = json!([KEYS[2].to_lowercase(), 2]);
    hold(&mut database, "sessions", key, &composite);
    hold(&mut database, "shots", json!(31), "31");
    hold(&mut database, "mails", json!(uuid(KEYS[3])), KEYS[3]);
    let longer = format!("{}00", KEYS[4]);
    hold(
        &mut database,
        "lines",
        json!(format!("0x{longer}")),
        &longer,
    );

    let preview = database.preview(json!({})).expect("a preview");
    let dry = database.run(json!({ "dry_run": true })).expect("a run");
    let purge = |database: &mut Installation, rule: &str, key: &str| {
        let purge = database.purge(json!({ "rule": rule, "key": [key] }));
        purge.expect("a purge")["refused"].clone()
    };
    assert_eq!(
        purge(&mut database, "lines", &longer.to_lowercase()),
        json!({ longer.clone(): "HELD" })
    );
    assert_eq!(
        purge(&mut database, "mails", &uuid(KEYS[1])),
        json!({ KEYS[1]: "NOT_A_ROOT" })
    );
    assert_eq!(
        purge(&mut database, "sessions", &composite),
        json!({ composite.clone(): "HELD" })
    );
    let run = database.run(json!({})).expect("a run");
    let tables = [
        json!({ "session": 11 }),
        json!({ "shot": 11 }),
        json!({ "note": 8, "mail": 4 }),
        json!({ "line": 11 }),
    ];
    let held = [composite.as_str(), "31", KEYS[3], longer.as_str()];
    for document in [&preview, &dry, &run] {
        for (at, tables) in tables.iter().enumerate() {
            let rule = &document["rules"][at];
            assert_eq!(rule["tables"], *tables, "{document}");
            let samples = json!({ "HELD": [held[at]] });
            assert_eq!(rule["skipped_samples"], samples, "{document}");
        }
    }
    let samples = preview["rules"][2]["sample_roots"].as_array();
    let going = [KEYS[0], KEYS[2], KEYS[4], KEYS[5]].map(Value::from);
    assert_eq!(samples.expect("keys")[..], going, "{preview}");
    assert_eq!(database.number("SELECT COUNT(*) FROM session"), 7);
    assert_eq!(database.number("SELECT COUNT(*) FROM note"), 4);
    assert_eq!(
        database.texts("SELECT HEX(id) FROM mail ORDER BY id"),
        [KEYS[1], KEYS[3]]
    );
    let verify = database.call("verify", json!({})).expect("a document");
    assert_eq!(violations(&verify), Vec::<&Value>::new(), "{verify}");
}

/// The links of a batch that was under way are told by digits, and read again.
fn what_a_killed_run_left_is_finished(flavour: Flavour) {
    let spec = spec("");
    let dialect = dialect_of(flavour);
    let mut database = Installation::of(dialect, &schema("binary(16)"), &graph_of(&spec));
    let [_, upper, lower, ..] = KEYS;
    let insert = format!(
        "INSERT INTO job VALUES (X'{upper}', NULL, 'done', NULL, '2024-01-01'), (X'{lower}', X'{upper}', 'done', NULL, '2024-01-01')"
    );
    database.arm();
    database.execute(&format!(
        "{insert};
         CREATE TABLE seen (links text);
         CREATE TRIGGER W.seen AFTER INSERT ON W.unfinished FOR EACH ROW INSERT INTO {}.seen VALUES (new.links)",
        database.name
    ));
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    let links = database.texts("SELECT links FROM seen").remove(0);
    let read: Value = serde_json::from_str(&links).expect("JSON");
    assert_eq!(read, json!([[upper, lower]]));

    // As if the batch had got as far as the link.
    database.execute(&format!(
        "DROP TRIGGER W.seen; {insert};
         UPDATE job SET parent_id = NULL, state = IF(id = X'{lower}', 'busy', state);
         INSERT INTO W.unfinished (run_id, rule, links) VALUES (1, 'jobs', '{links}')"
    ));
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 0, "{run}");
    assert_eq!(left(&mut database), [upper, lower]);
    database.execute("UPDATE job SET state = 'done'");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert!(!database.is_unfinished());
}

/// A draft of the same tables, and what `check --database` says of it.
fn a_draft_says_binary(flavour: Flavour) {
    let spec = spec("");
    let dialect = dialect_of(flavour);
    let mut database = Installation::of(dialect, &schema("binary(16)"), &graph_of(&spec));
    jobs(&mut database);
    database.execute("ALTER TABLE part ADD COLUMN other_job_id binary(16)");
    database.execute("UPDATE part SET other_job_id = X'00FF00FF00FF00FF00FF00FF00FF00FF'");
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args([
            "inspect",
            "--root",
            "job",
            "--database",
            &database.superuser(),
        ])
        .output()
        .expect("windrow runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(said.contains("key = \"id binary\""), "{said}");
    assert!(said.contains("job_id -> job.id"), "{said}");
    assert_eq!(findings(&database, &said), [""; 0], "{said}");
}

fn the_check_knows_bytes(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let spec = spec("");
    let database = Installation::of(dialect, &schema("binary(16)"), &graph_of(&spec));
    let as_text = spec.replace("key = \"id binary\"", "key = \"id varchar\"");
    let found = findings(&database, &as_text).join("\n");
    assert!(found.contains("write `id binary` in the spec"), "{found}");
    let mut database = database;
    database.execute(
        "ALTER TABLE step DROP FOREIGN KEY step_job; ALTER TABLE step MODIFY job_id binary(20) NOT NULL",
    );
    let found = findings(&database, &spec).join("\n");
    assert!(
        found.contains("edge-type-differs") && found.contains("binary(20)"),
        "{found}"
    );
}
