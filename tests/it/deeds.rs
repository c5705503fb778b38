//! What changes rows, in sessions with odd settings: a run of every strategy, what is archived, comes back and is dropped, the
//! files, and removal times that are set anew.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::oddities::{Answer, Odd, differences, groups, odd, timeless_call};
use crate::support::effort::one_of;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{Installation, apply};
use crate::unarchive::{self, contents, load};

tests! {
    every_server: [
        each_deed_is_the_same_in_every_session,
        files_are_applied_in_every_session,
        triggers_refuse_the_same_in_every_session,
    ],
}

/// Beside the tables of [`unarchive`].
const STAMPED: &str = r#"
[tables.job]
key = "id bigint"

[tables.detail]
parents = ["root_id -> job.id"]

[rules.jobs]
strategy  = "removal-time"
root      = "job"
time      = "remove_at"
end_time  = "ended"
tables    = ["detail: root_id", "job: root_id"]
retention = { minimum = "1d", safety_lag = "1h" }

[rules.jobs.stamp]
start = "began"
per   = "kind"
from  = "kind: id -> keep days"
own   = ["detail: job_id"]
"#;

const JOBS: &str = "
CREATE TABLE kind (id bigint PRIMARY KEY, keep integer);
CREATE TABLE job (id bigint PRIMARY KEY, root_id bigint, kind bigint, began TIME, ended TIME, remove_at TIME);
CREATE TABLE detail (job_id bigint, root_id bigint, body varchar(20), remove_at TIME);
INSERT INTO kind VALUES (1, 30), (2, NULL);
INSERT INTO job VALUES (1, 1, 1, '2020-01-31 23:59:59.5', '2020-02-01', NULL), (2, 1, 1, '2020-03-01', '2020-03-02', NULL),
    (3, 3, 2, '2020-03-29 02:30:00', NULL, NULL), (4, 4, 2, '2020-10-25 02:30:00', '2020-10-25 03:00:00', '2999-01-01');
INSERT INTO detail VALUES (1, 1, 'NULL', NULL), (2, 1, '', NULL), (3, 3, NULL, NULL), (4, 4, 'x', '2999-01-01');
";

/// What comes out of each call, and what is in the tables behind it.
fn deeds(made: &mut Installation, odd: &mut Odd) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    let mut ask = |made: &mut Installation, odd: &mut Odd, routine: &str, options: Value| {
        let answer = timeless_call(made, odd, routine, &options)?;
        let rows = format!("{:?} {:?}", contents(made, false), jobs(made));
        answers.push((routine.to_owned(), answer.to_string()));
        answers.push((format!("rows behind {routine}"), rows));
        anyhow::Ok(())
    };
    let latest = |made: &mut Installation| made.number("SELECT MAX(run_id) FROM W.run");
    ask(made, odd, "run", json!({}))?;
    let run = latest(made);
    ask(made, odd, "archive_list", json!({"run": run}))?;
    ask(made, odd, "archive_restore", json!({"run": run}))?;
    made.execute("INSERT INTO line VALUES (9, '2020-01-01', 'for good')");
    ask(made, odd, "run", json!({"rule": "lines"}))?;
    let run = latest(made);
    ask(made, odd, "archive_drop", json!({"run": run}))?;
    let calculated =
        json!({"calculated": "end", "missing": true, "default": "5d", "dry_run": true});
    ask(made, odd, "stamp", calculated)?;
    ask(
        made,
        odd,
        "stamp",
        json!({"calculated": "start", "all": true, "default": "5d", "hierarchical": true}),
    )?;
    ask(made, odd, "stamp", json!({"clear": true, "all": true}))?;
    ask(
        made,
        odd,
        "stamp",
        json!({"to": "2999-01-01T00:00:00Z", "key": [4]}),
    )?;
    answers.push(("archives".to_owned(), format!("{:?}", contents(made, true))));
    answers.push(("files".to_owned(), files(made, odd)?));
    made.execute("DELETE FROM W.hold");
    Ok(answers)
}

fn jobs(made: &mut Installation) -> Vec<String> {
    let mut rows = made.bytes("job", "job");
    rows.extend(made.bytes("detail", "detail"));
    rows
}

/// The files that are to be removed, one of which cannot be.
fn files(made: &mut Installation, odd: &mut Odd) -> Result<String> {
    let calls = Calls::new(made.dialect, &made.control, "deeds");
    odd.free()?;
    let claimed = odd
        .session
        .query(&calls.claim_artifacts(), &[Some("100")])?;
    let numbers: Vec<i64> = claimed
        .iter()
        .map(|row| Ok(row[0].as_deref().context("a number")?.parse()?))
        .collect::<Result<_>>()?;
    odd.free()?;
    let numbers = json!(numbers).to_string();
    let named = odd
        .session
        .query(&calls.named_artifacts(), &[Some(&numbers)])?;
    for (row, error) in claimed
        .iter()
        .zip([Some("no such host")].into_iter().chain([None; 100]))
    {
        odd.free()?;
        let number = row[0].as_deref();
        odd.session
            .query(&calls.finish_artifact(), &[number, error])?;
    }
    odd.free()?;
    let left = made.rows("SELECT path, attempts, last_error, given_up FROM W.artifact");
    made.execute("DELETE FROM W.artifact");
    let paths: Vec<_> = claimed.iter().map(|row| &row[1..]).collect();
    Ok(format!("{paths:?} {} {left:?}", named.len()))
}

fn each_deed_is_the_same_in_every_session(dialect: Dialect) -> Result<()> {
    let spec = unarchive::SPEC.replacen(
        "archive    = true",
        "archive    = true\nartifacts  = [{ table = \"leaf\", path = \"code\" }]",
        1,
    );
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = unarchive::schema(dialect) + &JOBS.replace("TIME", time);
    let mut made = Installation::of(dialect, &schema, &graph_of(&(spec + STAMPED)));
    load(&mut made);
    made.arm();
    let mut plain = odd(&made, &[])?;
    // The first one has a row that does not come back, and rows without removal times.
    deeds(&mut made, &mut plain)?;
    let expected = deeds(&mut made, &mut plain)?;
    // What the calls do is there to be seen.
    let all = format!("{expected:?}");
    for word in [
        "no such host",
        "restored",
        "dropped",
        "NON_FINAL_MEMBER",
        "abcde",
    ] {
        ensure!(all.contains(word), "{word}: {all}");
    }
    // Nor does any of it fail here: the servers of these tests have odd defaults, too.
    ensure!(!all.contains("sqlstate"), "{all}");
    let mut wrong = Vec::new();
    for group in one_of(2, groups(dialect)) {
        let mut odd = odd(&made, group)?;
        match deeds(&mut made, &mut odd) {
            Err(error) => wrong.push(format!("{}: {error:#}", odd.told)),
            Ok(found) => {
                let differ = differences(&found, &expected);
                wrong.extend(differ.iter().map(|told| format!("{}: {told}", odd.told)));
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What keeps even who means it from making or changing a table, or ends the session with any error, or lasts long.
const LEFT_OUT: [&str; 5] = [
    "exit_on_error",
    "default_tablespace",
    "sql_require_primary_key",
    "optimizer_search_depth",
    "completion_type",
];

fn files_are_applied_in_every_session(dialect: Dialect) -> Result<()> {
    let graph = dolphinscheduler(Shared::Closed);
    let mut made = Installation::armed(dialect, &graph);
    let settings: Vec<&str> = groups(dialect)
        .iter()
        .flat_map(|group| group.iter().copied())
        .filter(|setting| !LEFT_OUT.iter().any(|name| setting.contains(name)))
        .collect();
    let mut plain = odd(&made, &[])?;
    let before = timeless_call(&made, &mut plain, "verify", &json!({}))?;
    let bundle = made.bundle(&graph);
    apply(&mut odd(&made, &settings)?.session, &bundle);
    ensure!(made.deviations(&graph).is_empty());
    let after = timeless_call(&made, &mut plain, "verify", &json!({}))?;
    ensure!(after == before, "{after} instead of {before}");
    Ok(())
}

/// These triggers fire in sessions of the application.
fn triggers_refuse_the_same_in_every_session(dialect: Dialect) -> Result<()> {
    let mut graph = dolphinscheduler(Shared::Closed);
    graph.rules[0].orphan_guard = true;
    let mut made = Installation::new(dialect, &graph);
    made.execute("INSERT INTO t_ds_workflow_instance (id, workflow_definition_version, executor_id) VALUES (1, 1, 1)");
    let child = |id: i32, of: i32| {
        format!(
            "INSERT INTO t_ds_task_instance (id, task_type, task_code, task_definition_version, workflow_instance_id) VALUES ({id}, 'x', 1, 1, {of})"
        )
    };
    let mut wrong = Vec::new();
    for group in groups(dialect) {
        // No trigger fires on a replica, what is not committed hinders the others, the rows here name no schema, and a refusal
        // is an error.
        let left_out = [
            "session_replication_role",
            "autocommit",
            "search_path",
            "exit_on_error",
        ];
        let mut known = group.to_vec();
        known.retain(|setting| !left_out.iter().any(|name| setting.contains(name)));
        let mut odd = odd(&made, &known)?;
        match odd.session.execute(&child(5, 1)) {
            Ok(()) => made.execute("DELETE FROM t_ds_task_instance"),
            Err(error) => wrong.push(format!("{}: {error:#}", odd.told)),
        }
        match odd.session.execute(&child(6, 99)) {
            Ok(()) => wrong.push(format!("{}: an orphan", odd.told)),
            Err(error) if format!("{error:#}").contains("that does not exist: 99") => (),
            Err(error) => wrong.push(format!("{}: {error:#}", odd.told)),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
