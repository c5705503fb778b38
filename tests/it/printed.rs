//! PostgreSQL prints bytes, dates, intervals and floats as a session wants them. What is a hold, a policy or kept is the same in all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, call};

tests! {
    lint: [
        whoever_calls_the_kernel_prints_alike,
    ],
    on_postgres: [
        a_number_has_one_policy_however_its_column_prints_it,
        what_is_held_in_one_session_is_held_in_all,
        what_is_refused_in_one_session_is_told_alike_in_all,
        a_policy_of_bytes_applies_whoever_wrote_it,
        rows_are_kept_by_what_is_printed_whoever_purges,
        what_a_session_wrote_before_is_held_after_an_upgrade,
    ],
}

/// How sessions print, and what else they might.
const SESSIONS: [&str; 2] = [
    "SET bytea_output = 'hex'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'; SET extra_float_digits = 1",
    "SET bytea_output = 'escape'; SET datestyle = 'German'; SET intervalstyle = 'sql_standard'; SET timezone = 'Asia/Tokyo';
     SET extra_float_digits = -15",
];

const BYTES: &str = r#"
name = "printed"
dialects = ["postgres"]

[tables]
job  = { key = "id bytea" }
step = { key = "id integer", parents = ["job_id -> job.id"], indexed = ["job_id"] }
task = { key = "id bytea" }
note = { key = "id integer", parents = ["task_id -> task.id"], indexed = ["task_id"] }
log  = { key = "id bytea" }
pair = { key = "id bytea, part integer" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended_at"
retention = { default = "30d", per = "tenant bytea", opt_in = false }

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "at"
tables    = ["note", "task"]

[rules.logs]
strategy  = "age"
root      = "log"
time      = "at"
retention = { default = "30d" }

[rules.pairs]
strategy  = "expiry"
root      = "pair"
time      = "at"
"#;

const TABLES: &str = "
CREATE TABLE job (id bytea PRIMARY KEY, state char(6) NOT NULL, tenant bytea, ended_at timestamp);
CREATE TABLE step (id integer PRIMARY KEY, job_id bytea NOT NULL REFERENCES job);
CREATE INDEX ON step (job_id);
CREATE TABLE task (id bytea PRIMARY KEY, at timestamp);
CREATE INDEX ON task (at);
CREATE TABLE note (id integer PRIMARY KEY, task_id bytea NOT NULL REFERENCES task, at timestamp);
CREATE INDEX ON note (task_id);
CREATE TABLE log (id bytea PRIMARY KEY, at timestamp);
CREATE TABLE pair (id bytea, part integer, at timestamp, PRIMARY KEY (id, part));
";

/// A row of each table with this key, due.
fn rows(key: &str) -> String {
    let number = i64::from_str_radix(key, 16).expect("a number");
    format!(
        "INSERT INTO job VALUES ('\\x{key}', 'done', '\\xff{key}', '2024-01-01'); INSERT INTO step VALUES ({number}, '\\x{key}');
         INSERT INTO task VALUES ('\\x{key}', '2024-01-01'); INSERT INTO note VALUES ({number}, '\\x{key}', '2024-01-01');
         INSERT INTO log VALUES ('\\x{key}', '2024-01-01'); INSERT INTO pair VALUES ('\\x{key}', 1, '2024-01-01');"
    )
}

const RULES: [&str; 4] = ["jobs", "tasks", "logs", "pairs"];

fn key(rule: &str, key: &str) -> Value {
    let key = format!("\\x{key}");
    match rule {
        "pairs" => json!(format!("[{}, 1]", json!(key))),
        _ => json!(key),
    }
}

fn session(database: &Installation, settings: &str) -> Session {
    let mut session = database.connect();
    session.execute(settings).expect("settings");
    session
}

fn called(database: &Installation, session: &mut Session, routine: &str, options: &Value) -> Value {
    call(
        session,
        Dialect::Postgres,
        &database.control,
        routine,
        options,
    )
    .unwrap_or_else(|error| panic!("{routine} {options}: {error:#}"))
}

fn left(database: &mut Installation) -> Vec<String> {
    let tables = ["job", "task", "log", "pair"];
    let each = tables
        .map(|table| format!("SELECT concat('{table} ', encode(id, 'hex')) AS row FROM {table}"));
    database.texts(&format!("{} ORDER BY row", each.join(" UNION ALL ")))
}

fn what_is_held_in_one_session_is_held_in_all() {
    for (holds, runs) in [(0, 1), (1, 0)] {
        let mut database = Installation::of(Dialect::Postgres, TABLES, &graph_of(BYTES));
        database.arm();
        let mut holder = session(&database, SESSIONS[holds]);
        let mut runner = session(&database, SESSIONS[runs]);
        database.execute(&[rows("01ab"), rows("02cd")].concat());
        for rule in RULES {
            let hold = json!({"rule": rule, "key": key(rule, "01ab"), "reason": "audit"});
            let hold = called(&database, &mut holder, "set_hold", &hold);
            assert_eq!(hold["exists"], true, "{rule}: {hold}");
            // The same whoever asks: no second one comes beside it.
            let again = json!({"rule": rule, "key": key(rule, "01ab"), "reason": "audit again"});
            let again = called(&database, &mut runner, "set_hold", &again);
            assert_eq!(again["key"], hold["key"], "{rule}");
            let options = json!({"rule": rule, "key": [key(rule, "01ab")]});
            let purge = called(&database, &mut runner, "purge", &options);
            let refused = purge["refused"].as_object().expect("reasons");
            assert_eq!(refused.values().collect::<Vec<_>>(), ["HELD"], "{purge}");
        }
        let preview = called(&database, &mut runner, "preview", &json!({}));
        for rule in preview["rules"].as_array().expect("rules") {
            assert_eq!(rule["families"], 1, "{preview}");
        }
        let run = called(&database, &mut runner, "run", &json!({}));
        assert_eq!(run["status"], "done", "{run}");
        let kept = ["job 01ab", "log 01ab", "pair 01ab", "task 01ab"];
        assert_eq!(left(&mut database), kept, "{run}");
        for rule in RULES {
            let released = json!({"rule": rule, "key": key(rule, "01ab")});
            called(&database, &mut runner, "release_hold", &released);
        }
        called(&database, &mut holder, "run", &json!({}));
        assert_eq!(left(&mut database), [""; 0]);
    }
}

/// A run passes over what the one before has met, by its key.
fn what_is_refused_in_one_session_is_told_alike_in_all() {
    for (first, second) in [(0, 1), (1, 0)] {
        let mut database = Installation::of(Dialect::Postgres, TABLES, &graph_of(BYTES));
        database.arm();
        let setting = json!({"rule": "logs", "name": "batch_rows", "value": 10});
        database.call("set_setting", setting).expect("a setting");
        database.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON log FOR EACH ROW WHEN (old.id = '\\x01ab') EXECUTE FUNCTION refuse()",
        );
        let mut runs = |sessions: usize| {
            database.execute(
                "INSERT INTO log SELECT decode(lpad(to_hex(n), 4, '0'), 'hex'), '2024-01-01' FROM generate_series(427, 460) AS n
                 ON CONFLICT DO NOTHING",
            );
            let mut runner = session(&database, SESSIONS[sessions]);
            let run = called(&database, &mut runner, "run", &json!({"rule": "logs"}));
            assert_eq!(left(&mut database), ["log 01ab"], "{run}");
            let number = run["run"].as_i64().expect("a number");
            database.execute(&format!(
                "DO $$ BEGIN PERFORM W.instant_refuses({number}, 'logs', '2024-01-01 00:00:00'); END $$"
            ));
            run["rules"][0].clone()
        };
        let (met, passed) = (runs(first), runs(second));
        for rule in [&met, &passed] {
            assert_eq!(rule["skipped_samples"]["FAILED"], json!(["\\x01ab"]));
            assert_eq!(rule["failures"][0]["key"], "\\x01ab", "{rule}");
        }
        let message = passed["failures"][0]["message"].as_str();
        assert!(message.is_some_and(|it| it.starts_with("not tried again since run ")));
    }
}

fn a_policy_of_bytes_applies_whoever_wrote_it() {
    for (writes, runs) in [(0, 1), (1, 0)] {
        let mut database = Installation::of(Dialect::Postgres, TABLES, &graph_of(BYTES));
        database.arm();
        let mut writer = session(&database, SESSIONS[writes]);
        let mut runner = session(&database, SESSIONS[runs]);
        database.execute(&[rows("01ab"), rows("02cd")].concat());
        let policy = json!({"rule": "jobs", "scope": "\\xff01ab", "enabled": false});
        called(&database, &mut writer, "set_policy", &policy);
        let run = called(&database, &mut runner, "run", &json!({"rule": "jobs"}));
        assert_eq!(run["rules"][0]["families"], 1, "{run}");
        assert_eq!(
            database.texts("SELECT encode(id, 'hex') FROM job"),
            ["01ab"]
        );
        // By hand as well, in any session: the check knows one spelling.
        for settings in SESSIONS {
            let mut session = session(&database, settings);
            let insert = |scope: &str| {
                database.named(&format!(
                    "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('jobs', '{scope}', 31536000)"
                ))
            };
            session
                .execute(&insert("\\001"))
                .expect_err("another spelling");
            session.execute("BEGIN").expect("a transaction");
            session.execute(&insert("\\x01")).expect("a policy");
            session.execute("ROLLBACK").expect("its end");
        }
        // An upgrade, too, which checks what there is.
        for settings in SESSIONS {
            database.execute(settings);
            database.install(&graph_of(BYTES));
        }
    }
}

fn rows_are_kept_by_what_is_printed_whoever_purges() {
    let spec = r#"
name = "printed"
dialects = ["postgres"]

[tables]
job  = { key = "id integer" }
step = { key = "id integer", parents = ["job_id -> job.id"], indexed = ["job_id"], kept = { KEPT } }

[rules.jobs]
strategy  = "RULE"
"#;
    let end_time = "end-time\"\nroot = \"job\"\nfinal = { state = 1 }\nend_time = \"at\"\nretention = { default = \"30d\" }";
    let age = "age\"\nroot = \"job\"\ntime = \"at\"\ntables = [\"step\", \"job\"]\nretention = { default = \"30d\" }";
    let expiry = "expiry\"\nroot = \"job\"\ntime = \"at\"";
    let kinds = [
        ("date", "9999-12-31", "'9999-12-31'"),
        (
            "timestamptz",
            "2024-01-01 00:00:00+00",
            "'2024-01-01T00:00:00Z'",
        ),
        ("interval", "1 day 02:00:00", "'1 day 2 hours'"),
        ("bytea", "\\\\x01ab", "'\\x01ab'"),
        ("double precision", "0.1", "0.1"),
    ];
    for (kind, text, value) in kinds {
        for rule in [end_time, age, expiry] {
            let kept = format!("mark = {{ text = \"{text}\" }}");
            let spec = spec.replace("KEPT", &kept).replace("RULE\"", rule);
            if rule == age {
                // Rows of tables by time name no rows of others that are kept.
                continue;
            }
            let schema = format!(
                "CREATE TABLE job (id integer PRIMARY KEY, state integer NOT NULL, at timestamp); CREATE INDEX ON job (at);
                 CREATE TABLE step (id integer PRIMARY KEY, job_id integer NOT NULL, mark {kind}); CREATE INDEX ON step (job_id);"
            );
            let mut database = Installation::of(Dialect::Postgres, &schema, &graph_of(&spec));
            database.arm();
            database.execute(&format!(
                "INSERT INTO job SELECT n, 1, '2024-01-01' FROM generate_series(1, 4) AS n;
                 INSERT INTO step SELECT n, n, {value} FROM generate_series(1, 4) AS n;
                 INSERT INTO step SELECT 10 + n, n, NULL FROM generate_series(1, 4) AS n"
            ));
            for (number, settings) in (1..).zip(SESSIONS) {
                let mut session = session(&database, settings);
                called(&database, &mut session, "purge", &json!({"key": [number]}));
            }
            assert_eq!(
                database.number("SELECT count(*) FROM step WHERE mark IS NOT NULL"),
                4,
                "{kind}: {spec}"
            );
            assert_eq!(database.number("SELECT count(*) FROM job"), 2);
            let mut session = session(&database, SESSIONS[1]);
            called(&database, &mut session, "run", &json!({}));
            assert_eq!(
                database.number("SELECT count(*) FROM step WHERE mark IS NOT NULL"),
                4,
                "{kind}: {spec}"
            );
            assert_eq!(database.number("SELECT count(*) FROM step"), 4);
        }
    }
}

/// Earlier versions wrote bytes as the session printed them.
fn what_a_session_wrote_before_is_held_after_an_upgrade() {
    let graph = graph_of(BYTES);
    let mut database = Installation::of(Dialect::Postgres, TABLES, &graph);
    database.arm();
    database.execute(&[rows("01ab"), rows("02cd"), rows("03ef")].concat());
    database.execute(
        "INSERT INTO W.hold (rule, key, reason, until) VALUES
             ('jobs', '\\001\\253', 'audit', NULL), ('jobs', '\\x02cd', 'audit', now() + interval '1 day'),
             ('jobs', '\\002\\315', 'audit', NULL), ('tasks', '\\001\\253', 'audit', now() + interval '1 day');
         ALTER TABLE W.policy DROP CONSTRAINT policy_jobs;
         INSERT INTO W.policy (rule, scope, retention_seconds, enabled) VALUES ('jobs', '\\377\\003\\357', 31536000, false)"
            .replace("W.", &format!("{}.", database.control))
            .as_str(),
    );
    for settings in SESSIONS {
        database.execute(settings);
        database.install(&graph);
        let holds = "SELECT concat(rule, ' ', key, ' ', until IS NULL) FROM W.hold ORDER BY 1";
        assert_eq!(
            database.texts(holds),
            ["jobs \\x01ab t", "jobs \\x02cd t", "tasks \\x01ab f"]
        );
        assert_eq!(database.texts("SELECT scope FROM W.policy"), ["\\xff03ef"]);
    }
    let run = database.run(json!({"rule": "jobs"})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 0, "{run}");
}

/// The same number, as a policy says it and as columns print it.
fn a_number_has_one_policy_however_its_column_prints_it() {
    for (opt_in, keep) in [
        (false, ""),
        (true, ""),
        (
            false,
            "keep = { newest = 1, per = \"kind integer\", by = \"ended_at\" }",
        ),
    ] {
        let spec = format!(
            r#"
name = "printed"
dialects = ["postgres"]

[tables]
job = {{ key = "id integer" }}

[rules.jobs]
strategy = "end-time"
root = "job"
final = {{ state = 1 }}
end_time = "ended_at"
retention = {{ default = "30d", per = "tenant numeric", opt_in = {opt_in} }}
{keep}
"#
        );
        let schema = "CREATE TABLE job (id integer PRIMARY KEY, state integer, ended_at timestamp, tenant numeric(12, 2), kind integer);";
        let mut database = Installation::of(Dialect::Postgres, schema, &graph_of(&spec));
        database.arm();
        database.execute(
            "INSERT INTO job VALUES (1, 1, '2024-01-01', 1, 1), (2, 1, '2024-01-01', 20, 2), (3, 1, '2024-01-01', 1.5, 3),
                 (4, 1, '2024-01-01', NULL, 4), (9, 1, '2025-01-01', 20, 1), (8, 1, '2025-01-01', 20, 2), (7, 1, '2025-01-01', 1, 3)",
        );
        for spelling in ["1.00", "01", "1e0", " 1", "-0", "1.", ".5"] {
            let policy = json!({"scope": spelling, "retention": "30d"});
            let error = database.set_policy(policy).expect_err(spelling);
            assert_eq!(failure::sqlstate(&error), Some("22023"), "{error:#}");
        }
        for (scope, enabled) in [("1", false), ("1.5", false), ("20", true)] {
            let policy = json!({"scope": scope, "retention": "30d", "enabled": enabled});
            database.set_policy(policy).expect("a policy");
        }
        let only = database.preview(json!({"scope": "20"})).expect("a preview");
        let all = database.preview(json!({})).expect("a preview");
        let run = database.run(json!({"scope": "20"})).expect("a run");
        let rest = database.texts("SELECT string_agg(id::text, ' ' ORDER BY id) FROM job");
        let (left, gone, of_all) = match (opt_in, keep) {
            (true, _) => ("1 3 4 7", 3, 3),
            (false, "") => ("1 3 4 7", 3, 4),
            (false, _) => ("1 3 4 7 8 9", 1, 1),
        };
        assert_eq!(rest, [left], "{run}");
        assert_eq!(only["rules"][0]["families"], gone, "{only}");
        assert_eq!(run["rules"][0]["families"], gone, "{run}");
        assert_eq!(all["rules"][0]["families"], of_all, "{all}");
    }
}

/// The routines of the kernel that read no value of the application, though operators call them.
const BLIND: &[&str] = &[
    "archive_cutoff",
    "archive_goes_on",
    "check_caller",
    "check_rule",
    "claim_artifacts",
    "drop_policy",
    "finish_artifact",
    "in_window",
    "pause",
    "pause_rule",
    "put_off",
    "reap",
    "resume",
    "resume_rule",
    "rules_of",
    "run_result",
    "run_unlock",
    "schedule_check",
    "set_setting",
    "set_windows",
    "sweep_end",
    "sweep_leave",
];

/// What they call inherits the settings of the routine that a session calls. Procedures that commit cannot have any: they call
/// nothing but what operators may call.
fn whoever_calls_the_kernel_prints_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/kernel/postgres");
    let mut routines: BTreeMap<String, (String, String)> = BTreeMap::new();
    for folder in ["core", "strategies", "features"] {
        for entry in fs::read_dir(root.join(folder)).expect("a folder") {
            let text = fs::read_to_string(entry.expect("a file").path()).expect("a text");
            for made in text.split("\nCREATE OR REPLACE ").skip(1) {
                let kind = ["FUNCTION ", "PROCEDURE "];
                let Some(made) = kind.iter().find_map(|kind| made.strip_prefix(kind)) else {
                    continue;
                };
                let name = made.split('(').next().expect("a name");
                let (head, rest) = made.split_once("AS $windrow$").expect("a body");
                let body = rest.split("$windrow$").next().expect("a body");
                let name = name.trim_start_matches("windrow.").to_owned();
                let known = routines.entry(name).or_default();
                known.0 += head;
                known.1 += body;
            }
        }
    }
    let callable = fs::read_to_string(root.join("parts/callable.sql")).expect("a text");
    let callable = callable.lines().filter_map(|line| {
        let name = line.trim().strip_prefix("('")?;
        name.split('\'').next()
    });
    let callable: BTreeSet<&str> = callable.collect();
    assert!(callable.len() > 50, "{callable:?}");
    let called = |name: &str| -> BTreeSet<&str> {
        let body = &routines[name].1;
        let known = routines.keys().filter(|known| known.as_str() != name);
        known
            .filter(|known| {
                let call = format!("{known}(");
                let mut found = body.match_indices(&call);
                found.any(|(at, _)| {
                    !body[..at].ends_with(|sign: char| sign.is_ascii_alphanumeric() || sign == '_')
                })
            })
            .map(String::as_str)
            .collect()
    };
    let mut commits = Vec::new();
    for name in &callable {
        let (head, body) = &routines[*name];
        let pinned = head.contains("\n--+ printed.sql\n");
        if body.contains("COMMIT;") {
            let all = called(name);
            let of_others: Vec<_> = all.difference(&callable).collect();
            assert!(of_others.is_empty(), "{name} calls {of_others:?}");
            commits.push(*name);
            continue;
        }
        assert_ne!(pinned, BLIND.contains(name), "{name}");
        if pinned {
            continue;
        }
        let mut seen = BTreeSet::from([*name]);
        let mut next = vec![*name];
        while let Some(one) = next.pop() {
            let composes = routines[one].1.contains("EXECUTE ");
            assert!(
                !composes || one == "schedule_check",
                "{name}: {one} composes a statement"
            );
            next.extend(called(one).into_iter().filter(|it| seen.insert(it)));
        }
    }
    assert_eq!(
        commits,
        ["archive_drop", "archive_prune", "purge", "run", "stamp"]
    );
}
