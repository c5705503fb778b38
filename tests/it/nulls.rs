//! A null in an option document: a program whose variable was empty has not said "all", nor "do it".

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        null_is_no_value_of_any_option_of_any_routine,
    ],
}

/// A spec with every routine that there is.
const SPEC: &str = r#"
name    = "nulls"
workers = 2

[tables]
job  = { key = "id bigint" }
task = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended timestamp"
retention = { default = "30d", per = "kind bigint" }
archive   = true

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at timestamp"
end_time  = "ended"
tables    = ["task: root_id"]

[rules.tasks.stamp]
start = "started"
per   = "kind bigint"
from  = "definition: id -> keep days"
"#;

const SCHEMA: &str = "
CREATE TABLE job (id bigint PRIMARY KEY, kind bigint, state varchar(20), ended TIME);
CREATE TABLE definition (id bigint PRIMARY KEY, keep integer);
CREATE TABLE task (id bigint PRIMARY KEY, root_id bigint, kind bigint, started TIME, ended TIME, remove_at TIME);
CREATE INDEX task_time ON task (remove_at);
INSERT INTO job VALUES (1, 7, 'done', '2020-01-01'), (2, 8, 'done', '2020-01-01');
INSERT INTO task VALUES (1, 1, 7, '2020-01-01', '2020-01-01', '2020-01-01')";

/// The options of each routine that takes a document, as it names them itself.
const OPTIONS: [(&str, &str); 20] = [
    ("archive_drop", "run, older_than, dry_run"),
    ("archive_list", "run, older_than"),
    ("archive_restore", "run, rule, key, max_rows"),
    ("arm", "until, cluster, this_server"),
    ("drop_policy", "rule, scope"),
    ("heartbeat", "replicas, forget"),
    ("outlook", "rule, limit, parts, ahead"),
    ("pause_rule", "rule, reason"),
    (
        "preview",
        "rule, scope, retention, as_of, run_families, from",
    ),
    ("purge", "rule, key, dry_run, force"),
    ("release_hold", "rule, key"),
    ("resume_rule", "rule"),
    (
        "run",
        "rule, dry_run, scope, retention, as_of, run_families, time_budget, trigger, worker",
    ),
    ("set_hold", "rule, key, reason, until, even_if_absent"),
    (
        "set_policy",
        "rule, scope, retention, enabled, artifacts, note",
    ),
    ("set_setting", "rule, name, value"),
    ("set_windows", "windows"),
    (
        "stamp",
        "rule, to, calculated, default, clear, key, missing, all, hierarchical, chunk, time_budget, dry_run",
    ),
    ("verify", ""),
    ("check_rule", "rule"),
];

/// Parts of routines that commit, which call them with the rights of their caller: what they take, the routine has been given.
const PARTS: [(&str, &str); 4] = [
    ("archive_drop_begin", "archive_drop"),
    ("purge_begin", "purge"),
    ("run_begin", "run"),
    ("stamp_begin", "stamp"),
];

/// What a null gives back to the spec.
const BACK: [&str; 2] = ["value", "windows"];

/// The routines that an operator may give a document, each with how it is called.
fn routines(windrow: &mut Installation) -> BTreeMap<String, String> {
    let control = windrow.control.clone();
    let rows = match windrow.dialect {
        Dialect::Postgres => windrow.rows(&format!(
            "SELECT p.proname, CASE p.prokind WHEN 'p' THEN 'CALL W.' || p.proname || '($1::jsonb)'
                 ELSE 'SELECT W.' || p.proname || '($1::jsonb)::text' END
             FROM pg_proc AS p
             WHERE p.pronamespace = '{control}'::regnamespace AND p.proargnames[1] = 'p_options'
               AND p.pronargs - p.pronargdefaults <= 1
               AND has_function_privilege('{control}_operator', p.oid, 'EXECUTE')"
        )),
        Dialect::Mysql | Dialect::Mariadb => windrow.rows(&format!(
            "SELECT DISTINCT REPLACE(p.specific_name, 'arm_with', 'arm'), CONCAT('CALL W.`', p.specific_name, '`(?)')
             FROM information_schema.parameters AS p
             JOIN mysql.procs_priv AS g ON g.db = p.specific_schema AND g.routine_name = p.specific_name
             WHERE p.specific_schema = '{control}' AND p.parameter_name = 'p_options'"
        )),
    };
    let cells = rows.into_iter().map(|mut row| {
        let call = row[1]
            .take()
            .expect("a call")
            .replace("W.", &format!("{control}."));
        (row[0].take().expect("a name"), call)
    });
    cells.collect()
}

/// Why a document is refused, as an option that makes no sense is.
fn refused(windrow: &mut Installation, call: &str, options: &Value) -> String {
    let answer = windrow.connect().query(call, &[Some(&options.to_string())]);
    let error = answer
        .err()
        .unwrap_or_else(|| panic!("{call} {options}: nobody objects"));
    let code = failure::sqlstate(&error).map(str::to_owned);
    let told = format!("{error:#}; {}", failure::hints(&error).join("; "));
    assert_eq!(code.as_deref(), Some("22023"), "{call} {options}: {told}");
    told
}

fn null_is_no_value_of_any_option_of_any_routine(dialect: Dialect) {
    let (time, spec) = match dialect {
        Dialect::Postgres => ("timestamp", SPEC.to_owned()),
        Dialect::Mysql | Dialect::Mariadb => {
            ("datetime(6)", format!("heartbeat = \"windrow\"{SPEC}"))
        }
    };
    let mut windrow = Installation::of(dialect, &SCHEMA.replace("TIME", time), &graph_of(&spec));
    windrow.arm();
    let found = routines(&mut windrow);
    let parts: BTreeMap<&str, &str> = PARTS.into();
    let options: BTreeMap<&str, &str> = OPTIONS.into();
    // Nobody is let in by a routine that this test does not know.
    for (name, call) in &found {
        let name = parts.get(name.as_str()).copied().unwrap_or(name);
        let known = *options
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not known"));
        if name != "check_rule" {
            let whole = refused(&mut windrow, call, &json!({"none_such": 1}));
            let (_, told) = whole.split_once("ptions are: ").unwrap_or_default();
            // A message of MySQL and MariaDB ends after 128 characters.
            let told = told.split(['.', '…']).next().unwrap_or_default();
            assert!(
                known.starts_with(told) && told.is_empty() == known.is_empty(),
                "{name}: {whole}"
            );
            assert!(
                told == known || dialect != Dialect::Postgres,
                "{name}: {told}"
            );
        }
        for option in known
            .split(", ")
            .filter(|it| !it.is_empty() && name != "check_rule")
        {
            for value in [json!(null), json!([null]), json!([1, null])] {
                if value.is_null() && BACK.contains(&option) {
                    continue;
                }
                let told = refused(&mut windrow, call, &json!({option: value}));
                let expected = format!("null is no value of the option {option}");
                assert!(told.contains(&expected), "{name} {option} {value}: {told}");
            }
        }
    }
    let here = |name: &str| dialect != Dialect::Postgres || name != "heartbeat";
    for (name, _) in OPTIONS {
        let is_part = dialect != Dialect::Postgres && name == "check_rule";
        assert!(
            !here(name) || is_part || found.contains_key(name),
            "{name} is not there"
        );
    }
    // A key besides, and nothing has happened.
    for (name, document) in [
        ("run", json!({"rule": "jobs", "scope": null})),
        ("run", json!({"dry_run": null})),
        (
            "purge",
            json!({"rule": "jobs", "key": [1], "dry_run": null}),
        ),
        ("purge", json!({"rule": "jobs", "key": [1], "force": null})),
    ] {
        refused(&mut windrow, &found[name], &document);
    }
    // Nor does a purge read a word.
    for word in ["no", "false"] {
        let word = json!({"rule": "jobs", "key": [1], "dry_run": word});
        refused(&mut windrow, &found["purge"], &word);
    }
    assert_eq!(windrow.number("SELECT count(*) FROM W.run"), 0);
    assert_eq!(windrow.number("SELECT count(*) FROM job"), 2);
    // These two give something back, and say so.
    let back = json!({"rule": "jobs", "name": "retries", "value": null});
    windrow.call("set_setting", back).expect("the spec's value");
    windrow
        .call("set_windows", json!({"windows": null}))
        .expect("the spec's windows");
}
