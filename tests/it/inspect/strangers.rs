//! Databases in the ways of applications that nobody has written a spec for: from the first look to a run.
//!
//! What their tables are like is known from their public sources; the tables here are made up after them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windrow::dialect::Dialect;

use super::{against, database, draft, said};
use crate::harness::tests;
use crate::support::installation::Installation;

tests! {
    every_server: [
        each_state_may_have_an_end_of_its_own,
        names_may_have_humps,
        columns_may_be_made_of_others,
        an_expiry_says_what_has_ended,
        a_pointer_at_the_latest_is_no_part_of_it,
        a_key_of_several_columns_has_a_way_out,
        what_has_no_time_leads_to_what_has,
        the_end_may_be_an_event,
        a_try_may_name_the_one_before,
        no_end_may_be_a_number,
        a_queue_keeps_what_is_in_it,
        the_latest_time_stands_in_for_an_end,
    ],
}

/// How many rows of each kind there are.
const ROWS: i32 = 40;

/// A database with these tables, in the words of a server, and rows.
pub(super) fn stranger(
    dialect: Dialect,
    schema: &str,
    row: impl Fn(i32) -> String,
) -> Installation {
    let mut database = database(dialect, "");
    let words = match dialect {
        Dialect::Postgres => [
            ("INSTANT", "timestamptz"),
            ("JSON", "jsonb"),
            ("DOUBLE", "double precision"),
        ],
        Dialect::Mysql | Dialect::Mariadb => [
            ("INSTANT", "datetime(3)"),
            ("JSON", "json"),
            ("DOUBLE", "double"),
        ],
    };
    let words = words.iter().fold(schema.to_owned(), |text, (word, own)| {
        text.replace(word, own)
    });
    database.execute(&words);
    let rows: Vec<String> = (1..=ROWS).map(row).collect();
    database.execute(&rows.join(";"));
    database
}

/// What the binary says of a spec in a file.
pub(super) fn windrow(database: &Installation, words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(words)
        .env("WINDROW_URL", database.superuser())
        .env("NO_COLOR", "1")
        .output()
        .expect("windrow runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[track_caller]
pub(super) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
}

/// The whole way: it fits, is installed, shows what would be deleted, and deletes so many families and nothing else; nothing is left
/// behind. Nothing is deleted with the retention of the draft.
#[track_caller]
pub(super) fn goes_the_way(database: &mut Installation, text: &str, families: i64) {
    let (_, rest) = text.split_once("\nname      = ").expect("a name");
    let (_, rest) = rest.split_once('\n').expect("a line");
    let text = format!("name = \"w_{}\"\n{rest}", database.name);
    assert_eq!(against(database, &text), "", "{text}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("draft.toml");
    let spec = path.to_str().expect("UTF-8");
    for (text, families) in [
        (text.clone(), 0),
        (text.replace("\"3650d\"", "\"30d\""), families),
    ] {
        std::fs::write(Path::new(spec), &text).expect("a spec");
        let (code, _, told) = windrow(database, &["install", spec]);
        assert_eq!(code, Some(0), "{told}\n{text}");
        for more in [&["--dry-run"][..], &[]] {
            if more.is_empty() {
                let (code, _, told) = windrow(database, &["arm", spec]);
                assert_eq!(code, Some(0), "{told}\n{text}");
            }
            let (code, told, noted) = windrow(
                database,
                &[&["run", spec, "--output", "json"][..], more].concat(),
            );
            assert_eq!(code, Some(0), "{told}\n{noted}\n{text}");
            let run: Value = serde_json::from_str(&told).expect("JSON");
            let rules = run["rules"].as_array().expect("rules");
            let found: i64 = rules
                .iter()
                .filter_map(|rule| rule["families"].as_i64())
                .sum();
            assert_eq!(found, families, "{told}\n{text}");
        }
    }
    let (_, told, _) = windrow(database, &["verify", spec, "--output", "json"]);
    let verified: Value = serde_json::from_str(&told).expect("JSON");
    let checks = verified["checks"].as_array().expect("checks");
    let orphans = checks.iter().filter(|it| it["check"] == "orphans");
    for check in orphans {
        assert_eq!(check["severity"], "ok", "{check}\n{text}");
    }
    let (code, _, told) = windrow(database, &["uninstall", spec, "--yes"]);
    assert_eq!(code, Some(0), "{told}");
}

/// As Oban has it, and its like.
fn each_state_may_have_an_end_of_its_own(dialect: Dialect) {
    let states = "('available', 'executing', 'completed', 'discarded', 'cancelled')";
    let (before, kind) = match dialect {
        Dialect::Postgres => (
            format!("CREATE TYPE job_state AS ENUM {states};"),
            "job_state".to_owned(),
        ),
        Dialect::Mysql | Dialect::Mariadb => (String::new(), format!("ENUM {states}")),
    };
    let schema = format!(
        "{before} CREATE TABLE work_jobs (id bigint PRIMARY KEY, state {kind} NOT NULL, args JSON, inserted_at INSTANT NOT NULL,
            scheduled_at INSTANT NOT NULL, attempted_at INSTANT NULL, completed_at INSTANT NULL, discarded_at INSTANT NULL, cancelled_at INSTANT NULL);"
    );
    let mut database = stranger(dialect, &schema, |n| {
        let (state, at) = [
            ("completed", "'2024-01-03', NULL, NULL"),
            ("discarded", "NULL, '2024-01-03', NULL"),
            ("cancelled", "NULL, NULL, '2024-01-03'"),
            ("executing", "NULL, NULL, NULL"),
        ][n as usize % 4];
        format!(
            "INSERT INTO work_jobs VALUES ({n}, '{state}', '{{}}', '2024-01-01', '2024-01-01', '2024-01-02', {at})"
        )
    });
    let text = draft(&database, "work_jobs");
    has(
        &text,
        &[
            "\nfinal     = { state = [\"completed\"] }\n",
            "# ? state = discarded: 0 of 10 rows have an end, and 10 have discarded_at: not final. If that is their end, they need a rule of \
         their own: a copy of this one under another name, with this state as `final` and discarded_at as `end_time`.\n",
            "# ? state = cancelled: 0 of 10 rows have an end, and 10 have cancelled_at: ",
            "# state = executing: 0 of 10 rows have an end: not final.\n",
            "# completed_at: 10 of 40 rows have it, 10 as their latest time.\n",
        ],
    );
    // The answer: what the question says.
    let (head, rule) = text.split_once("\n[rules.").expect("a rule");
    let copies = ["completed", "discarded", "cancelled"].map(|state| {
        let (_, body) = rule.split_once("]\n").expect("a body");
        let body = body
            .replace("\"completed\"", &format!("\"{state}\""))
            .replace("completed_at", &format!("{state}_at"));
        format!("\n[rules.{state}]\n{body}")
    });
    goes_the_way(&mut database, &format!("{head}{}", copies.concat()), 30);
    assert_eq!(database.number("SELECT COUNT(*) FROM work_jobs"), 10);
}

/// As n8n and what is made with Prisma have it.
fn names_may_have_humps(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        r#"CREATE TABLE "ExecutionEntity" ("id" integer PRIMARY KEY, "mode" varchar(20), "executionStatus" varchar(20), "workflowStartedAt" INSTANT, "workflowEndedAt" INSTANT NULL);
           CREATE TABLE "ExecutionData" ("executionId" integer PRIMARY KEY, "data" text, CONSTRAINT "ofExecution" FOREIGN KEY ("executionId") REFERENCES "ExecutionEntity" ("id") ON DELETE CASCADE);
           CREATE TABLE "ExecutionLog" ("id" integer PRIMARY KEY, "executionEntityId" integer NOT NULL);"#,
        |n| {
            let (state, end) = if n % 4 == 0 {
                ("running", "NULL")
            } else {
                ("success", "'2024-01-02'")
            };
            format!(
                r#"INSERT INTO "ExecutionEntity" VALUES ({n}, 'manual', '{state}', '2024-01-01', {end}); INSERT INTO "ExecutionData" VALUES ({n}, 'x');
                   INSERT INTO "ExecutionLog" VALUES ({n}, {n})"#
            )
        },
    );
    let text = draft(&database, "ExecutionEntity");
    has(
        &text,
        &[
            "\nExecutionData = { parents = [\"executionId -> ExecutionEntity.id\"]",
            "\nExecutionLog = { parents = [\"executionEntityId -> ExecutionEntity.id\"]",
            "\nfinal     = { executionStatus = [\"success\"] }\n",
            "\nend_time  = \"workflowEndedAt",
        ],
    );
    goes_the_way(&mut database, &text, 30);
}

/// As Kestra has it: a document, and columns that are generated from it.
fn columns_may_be_made_of_others(dialect: Dialect) {
    let of = |name: &str| match dialect {
        Dialect::Postgres => format!("GENERATED ALWAYS AS (value ->> '{name}') STORED"),
        Dialect::Mysql => format!("GENERATED ALWAYS AS (value ->> '$.{name}') STORED"),
        Dialect::Mariadb => format!("GENERATED ALWAYS AS (JSON_VALUE(value, '$.{name}')) STORED"),
    };
    let schema = format!(
        "CREATE TABLE executions (id varchar(40) PRIMARY KEY, value JSON NOT NULL, state varchar(20) {}, end_date INSTANT NULL);
         CREATE TABLE logs (id varchar(40) PRIMARY KEY, value JSON NOT NULL, execution_id varchar(40) {});",
        of("state"), of("executionId"),
    );
    let mut database = stranger(dialect, &schema, |n| {
        let (state, end) = if n % 4 == 0 {
            ("RUNNING", "NULL")
        } else {
            ("SUCCESS", "'2024-01-02'")
        };
        format!(
            r#"INSERT INTO executions (id, value, end_date) VALUES ('e{n}', '{{"state": "{state}"}}', {end});
               INSERT INTO logs (id, value) VALUES ('l{n}', '{{"executionId": "e{n}"}}')"#
        )
    });
    let text = draft(&database, "executions");
    has(
        &text,
        &[
            "# ? guessed by its name: execution_id -> executions. 40 of 40 values match a row.\nlogs = { parents = [\"execution_id -> executions.id\"]",
            "\nfinal     = { state = [\"SUCCESS\"] }\n",
        ],
    );
    goes_the_way(&mut database, &text, 30);
    assert_eq!(database.number("SELECT COUNT(*) FROM logs"), 10);
}

/// As Hangfire has it: the application says when a row may go, and of some rows it does not.
fn an_expiry_says_what_has_ended(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE Job (Id integer PRIMARY KEY, StateName varchar(20), CreatedAt INSTANT NOT NULL, ExpireAt INSTANT NULL);
         CREATE TABLE State (Id integer PRIMARY KEY, JobId integer NOT NULL, CreatedAt INSTANT NOT NULL,
             CONSTRAINT state_job FOREIGN KEY (JobId) REFERENCES Job (Id) ON DELETE CASCADE);
         CREATE TABLE JobQueue (Id integer PRIMARY KEY, JobId integer NOT NULL);",
        |n| {
            let (state, end) = [("Enqueued", "NULL"), ("Succeeded", "'2024-01-02'"), ("Deleted", "'2024-01-02'"), ("Failed", "NULL")][n as usize % 4];
            let queued = if n % 4 == 0 { format!("; INSERT INTO JobQueue VALUES ({n}, {n})") } else { String::new() };
            format!("INSERT INTO Job VALUES ({n}, '{state}', '2024-01-01', {end}); INSERT INTO State VALUES ({n}, {n}, '2024-01-01'){queued}")
        },
    );
    // Without quotes, PostgreSQL has them in lower case.
    let name = |name: &str| {
        if dialect == Dialect::Postgres {
            name.to_lowercase()
        } else {
            name.to_owned()
        }
    };
    let (job, expire, state) = (name("Job"), name("ExpireAt"), name("StateName"));
    let text = draft(&database, &job);
    has(
        &text,
        &[
            &format!("# {state} = Succeeded: 10 of 10 rows have {expire}: final.\n"),
            &format!("# {state} = Failed: 0 of 10 rows have {expire}: not final.\n"),
            &format!("\nfinal     = {{ {state} = [\"Deleted\", \"Succeeded\"] }}\n"),
            &format!("\nend_time  = \"{expire}"),
            // Its rows are those of live jobs alone.
            &format!("{} -> {job}.{} restrict", name("JobId"), name("Id")),
        ],
    );
    // A row that keeps another is not for a rule of single rows.
    assert!(!text.contains("\"expiry\""), "{text}");
    goes_the_way(&mut database, &text, 20);

    // Without it, that is another answer.
    database.execute("DROP TABLE JobQueue");
    for n in 101..=110 {
        database.execute(&format!(
            "INSERT INTO Job VALUES ({n}, 'Succeeded', '2024-01-01', '2024-01-02'); INSERT INTO State VALUES ({n}, {n}, '2024-01-01')"
        ));
    }
    let text = draft(&database, &job);
    let (_, instead) = text
        .split_once("# strategy = \"expiry\"\n# time ")
        .expect("what else could be written");
    let (time, _) = instead.split_once('\n').expect("a line");
    let dropped = ["strategy ", "final ", "end_time ", "retention "];
    let kept = text
        .lines()
        .filter(|line| !dropped.iter().any(|word| line.starts_with(word)));
    let text =
        kept.collect::<Vec<_>>().join("\n") + &format!("\nstrategy = \"expiry\"\ntime {time}\n");
    assert_eq!(against(&database, &text), "", "{text}");
}

/// As Dagster has it: rows name runs by a text that is not their primary key, and an asset the run that was the last to make it.
fn a_pointer_at_the_latest_is_no_part_of_it(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE runs (id integer PRIMARY KEY, run_id varchar(60) NOT NULL UNIQUE, status varchar(20), create_timestamp INSTANT, start_time DOUBLE, end_time DOUBLE);
         CREATE TABLE event_logs (id integer PRIMARY KEY, run_id varchar(60) NOT NULL, event text);
         CREATE TABLE asset_keys (id integer PRIMARY KEY, asset_key varchar(60), last_run_id varchar(60));",
        |n| {
            let (state, end) = if n % 4 == 0 { ("STARTED", "NULL") } else { ("SUCCESS", "1704067260.5") };
            let asset = if n % 10 == 1 { format!("; INSERT INTO asset_keys VALUES ({n}, 'a', '00000000-0000-0000-0000-0000000000{n:02}')") } else { String::new() };
            format!("INSERT INTO runs VALUES ({n}, '00000000-0000-0000-0000-0000000000{n:02}', '{state}', '2024-01-01', 1704067200.25, {end}); INSERT INTO event_logs VALUES ({n}, '00000000-0000-0000-0000-0000000000{n:02}', 'x'){asset}")
        },
    );
    let text = draft(&database, "runs");
    has(
        &text,
        &[
            "\nevent_logs = { parents = [\"run_id -> runs.run_id\"]",
            "\nasset_keys = { parents = [\"last_run_id -> runs.run_id restrict\"]",
            "By its name it refers to one of many such rows and is no part of it, so it keeps that one.",
            "\nend_time  = \"end_time epoch-s\"\n",
        ],
    );
    // Four of the thirty are the last of an asset.
    goes_the_way(&mut database, &text, 26);
    assert_eq!(database.number("SELECT COUNT(*) FROM asset_keys"), 4);
}

/// As Argo's archive and Temporal's list of executions have it.
fn a_key_of_several_columns_has_a_way_out(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE archived (cluster varchar(60) NOT NULL, uid varchar(60) NOT NULL, phase varchar(20), started_at INSTANT, close_time INSTANT, PRIMARY KEY (cluster, uid));
         CREATE TABLE archived_labels (cluster varchar(60) NOT NULL, uid varchar(60) NOT NULL, name varchar(60) NOT NULL, PRIMARY KEY (cluster, uid, name),
             CONSTRAINT of_archived FOREIGN KEY (cluster, uid) REFERENCES archived (cluster, uid) ON DELETE CASCADE);",
        |n| format!("INSERT INTO archived VALUES ('c', 'u{n}', 'Succeeded', '2024-01-01', '2024-01-02'); INSERT INTO archived_labels VALUES ('c', 'u{n}', 'x')"),
    );
    let (code, _, told) = said(&database.superuser(), &["inspect", "--root", "archived"]);
    assert_eq!(code, Some(2), "{told}");
    has(
        &told,
        &[
            "error: the table `archived` has a primary key of several columns, and a family is named by a key of one column: give it a unique index \
         on a column that may not be NULL and alone tells its rows apart, and inspect it again",
        ],
    );
    let (_, listed, _) = said(&database.superuser(), &["inspect"]);
    assert!(!listed.contains("archived "), "{listed}");
    database.execute("CREATE UNIQUE INDEX archived_uid ON archived (uid)");
    let (_, listed, _) = said(&database.superuser(), &["inspect"]);
    assert!(listed.contains("\narchived "), "{listed}");
    let text = draft(&database, "archived");
    has(
        &text,
        &[
            "\narchived = { key = \"uid varchar\", unique = [\"cluster varchar, uid varchar\"] }\n",
            "\narchived_labels = { parents = [\"cluster, uid -> archived(cluster, uid)\"]",
            "\nend_time  = \"close_time",
        ],
    );
    goes_the_way(&mut database, &text, 40);
    assert_eq!(database.number("SELECT COUNT(*) FROM archived_labels"), 0);
}

/// As Spring Batch has it: the job itself has no time, what was done of it has.
fn what_has_no_time_leads_to_what_has(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE JOB_INSTANCE (JOB_INSTANCE_ID bigint PRIMARY KEY, JOB_NAME varchar(100) NOT NULL);
         CREATE TABLE JOB_EXECUTION (JOB_EXECUTION_ID bigint PRIMARY KEY, JOB_INSTANCE_ID bigint NOT NULL, CREATE_TIME INSTANT NOT NULL, END_TIME INSTANT NULL,
             STATUS varchar(10), LAST_UPDATED INSTANT, CONSTRAINT of_instance FOREIGN KEY (JOB_INSTANCE_ID) REFERENCES JOB_INSTANCE (JOB_INSTANCE_ID));
         CREATE TABLE STEP_EXECUTION (STEP_EXECUTION_ID bigint PRIMARY KEY, JOB_EXECUTION_ID bigint NOT NULL, END_TIME INSTANT NULL, STATUS varchar(10),
             CONSTRAINT of_execution FOREIGN KEY (JOB_EXECUTION_ID) REFERENCES JOB_EXECUTION (JOB_EXECUTION_ID));
         CREATE TABLE STEP_CONTEXT (STEP_EXECUTION_ID bigint PRIMARY KEY, SAID text,
             CONSTRAINT of_step FOREIGN KEY (STEP_EXECUTION_ID) REFERENCES STEP_EXECUTION (STEP_EXECUTION_ID));",
        |n| {
            let (state, end) = if n % 4 == 0 { ("STARTED", "NULL") } else { ("COMPLETED", "'2024-01-02'") };
            format!(
                "INSERT INTO JOB_INSTANCE VALUES ({n}, 'x'); INSERT INTO JOB_EXECUTION VALUES ({n}, {n}, '2024-01-01', {end}, '{state}', '2024-01-02');
                 INSERT INTO STEP_EXECUTION VALUES ({n}, {n}, {end}, '{state}'); INSERT INTO STEP_CONTEXT VALUES ({n}, 'x')"
            )
        },
    );
    let (code, _, told) = said(
        &database.superuser(),
        &["inspect", "--root", "job_instance"],
    );
    assert_eq!(code, Some(2), "{told}");
    let (_, hint) = told
        .split_once("run `windrow inspect --root ")
        .expect("what to do instead");
    let (root, _) = hint.split_once('`').expect("a table");
    let text = draft(&database, root);
    has(
        &text.to_lowercase(),
        &[
            "step_execution = { key = \"step_execution_id bigint\", parents = [\"job_execution_id -> job_execution.job_execution_id\"]",
            "step_context = { parents = [\"step_execution_id -> step_execution.step_execution_id\"]",
            "\nfinal     = { status = [\"completed\"] }\n",
        ],
    );
    goes_the_way(&mut database, &text, 30);
}

/// As Procrastinate has it: what happened to a job is rows of another table.
fn the_end_may_be_an_event(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE jobs (id bigint PRIMARY KEY, status varchar(20) NOT NULL, created_at INSTANT NOT NULL, scheduled_at INSTANT NULL);
         CREATE TABLE events (id bigint PRIMARY KEY, job_id bigint NOT NULL, type varchar(20), at INSTANT NOT NULL,
             CONSTRAINT of_job FOREIGN KEY (job_id) REFERENCES jobs (id) ON DELETE CASCADE);",
        |n| {
            let state = if n % 4 == 0 { "doing" } else { "succeeded" };
            format!("INSERT INTO jobs VALUES ({n}, '{state}', '2024-01-01', NULL); INSERT INTO events VALUES ({n}, {n}, '{state}', '2024-01-02')")
        },
    );
    let text = draft(&database, "jobs");
    has(
        &text,
        &[
            "\nend_time  = \"created_at",
            "\nfinal     = { status = [\"succeeded\"] }\n",
        ],
    );
    if dialect == Dialect::Postgres {
        let told = "# ? The last events.at may be the time when a row of jobs ended. If it is, write this instead:\n\
                    # end_time   = \"max(events.at timestamptz)\"\n# start_time = \"created_at timestamptz\"\n";
        has(&text, &[told]);
        let text = text
            .replace("\nend_time  = \"created_at timestamptz\"", "")
            .replace("# end_time ", "end_time ")
            .replace("# start_time", "start_time");
        goes_the_way(&mut database, &text, 30);
    } else {
        goes_the_way(&mut database, &text, 30);
    }
}

/// As Rundeck has it: an execution may be another try of one before.
fn a_try_may_name_the_one_before(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE execution (id bigint PRIMARY KEY, status varchar(20), date_started INSTANT, date_completed INSTANT NULL, retry_execution_id bigint NULL,
             CONSTRAINT retried FOREIGN KEY (retry_execution_id) REFERENCES execution (id));
         CREATE TABLE log_request (id bigint PRIMARY KEY, execution_id bigint NOT NULL, date_created INSTANT,
             CONSTRAINT of_execution FOREIGN KEY (execution_id) REFERENCES execution (id));",
        |n| {
            let before = if n % 2 == 0 { (n - 1).to_string() } else { "NULL".to_owned() };
            format!("INSERT INTO execution VALUES ({n}, 'succeeded', '2024-01-01', '2024-01-02', {before}); INSERT INTO log_request VALUES ({n}, {n}, '2024-01-01')")
        },
    );
    let text = draft(&database, "execution");
    has(
        &text,
        &[
            "hierarchy = [\"execution: retry_execution_id -> id\"]\nshared    = \"closed\"\n",
            "\nend_time  = \"date_completed",
        ],
    );
    goes_the_way(&mut database, &text, 40);
    assert_eq!(database.number("SELECT COUNT(*) FROM execution"), 0);
}

/// As Azkaban has it: numbers for states and times, −1 for none, and keys that are named the same everywhere.
fn no_end_may_be_a_number(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE execution_flows (exec_id integer PRIMARY KEY, flow_id varchar(60), status smallint NOT NULL, submit_time bigint, start_time bigint, end_time bigint);
         CREATE TABLE execution_jobs (exec_id integer NOT NULL, job_id varchar(60) NOT NULL, attempt integer NOT NULL, end_time bigint, PRIMARY KEY (exec_id, job_id, attempt));
         CREATE TABLE execution_logs (exec_id integer NOT NULL, name varchar(60) NOT NULL, log text, PRIMARY KEY (exec_id, name));",
        |n| {
            let (state, end) = if n % 4 == 0 { (30, "-1") } else { (50, "1704067260000") };
            format!(
                "INSERT INTO execution_flows VALUES ({n}, 'f', {state}, 1704067200000, 1704067200000, {end});
                 INSERT INTO execution_jobs VALUES ({n}, 'j', 0, {end}); INSERT INTO execution_logs VALUES ({n}, 'l', 'x')"
            )
        },
    );
    let text = draft(&database, "execution_flows");
    has(
        &text,
        &[
            "\nexecution_jobs = { parents = [\"exec_id -> execution_flows.exec_id\"]",
            "\nexecution_logs = { parents = [\"exec_id -> execution_flows.exec_id\"]",
            "# status = 30: 0 of 10 rows have an end: not final.\n",
            "\nfinal     = { status = [50] }\n",
            "\nend_time  = \"end_time epoch-ms\"\n",
        ],
    );
    goes_the_way(&mut database, &text, 30);
}

/// As Solid Queue and GoodJob have it: a row for each job that is ready, claimed or failed, and a finished one is only finished.
fn a_queue_keeps_what_is_in_it(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE queue_jobs (id bigint PRIMARY KEY, class_name varchar(60), active_job_id varchar(60), scheduled_at INSTANT NULL, finished_at INSTANT NULL, created_at INSTANT NOT NULL, updated_at INSTANT NOT NULL);
         CREATE TABLE queue_ready_executions (id bigint PRIMARY KEY, job_id bigint NOT NULL UNIQUE, created_at INSTANT NOT NULL,
             CONSTRAINT ready_job FOREIGN KEY (job_id) REFERENCES queue_jobs (id) ON DELETE CASCADE);
         CREATE TABLE queue_failed_executions (id bigint PRIMARY KEY, job_id bigint NOT NULL UNIQUE, error text, created_at INSTANT NOT NULL);",
        |n| {
            let (end, more) = match n % 4 {
                0 => ("NULL", format!("; INSERT INTO queue_ready_executions VALUES ({n}, {n}, '2024-01-01')")),
                1 => ("NULL", format!("; INSERT INTO queue_failed_executions VALUES ({n}, {n}, 'x', '2024-01-01')")),
                _ => ("'2024-01-02'", String::new()),
            };
            format!("INSERT INTO queue_jobs VALUES ({n}, 'x', 'a{n}', NULL, {end}, '2024-01-01', '2024-01-02'){more}")
        },
    );
    let text = draft(&database, "queue_jobs");
    has(
        &text,
        &[
            "\nfinal     = { finished_at = { null = false } }\n",
            "\nqueue_ready_executions = { parents = [\"job_id -> queue_jobs.id\"]",
            "\nqueue_failed_executions = { parents = [\"job_id -> queue_jobs.id restrict\"]",
        ],
    );
    goes_the_way(&mut database, &text, 20);
    assert_eq!(database.number("SELECT COUNT(*) FROM queue_jobs"), 20);
}

/// Where no name says what the end is, the time counts that is the latest in most rows, and the future has not come yet.
fn the_latest_time_stands_in_for_an_end(dialect: Dialect) {
    let mut database = stranger(
        dialect,
        "CREATE TABLE task (id bigint PRIMARY KEY, status varchar(20), created_on INSTANT NOT NULL, updated_on INSTANT NULL, seen INSTANT NOT NULL, due INSTANT NOT NULL);",
        |n| {
            let state = if n % 4 == 0 { "running" } else { "done" };
            // The application has never written `updated_on`.
            format!(
                "INSERT INTO task VALUES ({n}, '{state}', '2024-01-01', NULL, '2024-01-02', '2099-01-01')"
            )
        },
    );
    let text = draft(&database, "task");
    has(
        &text,
        &[
            "# ? No column name suggests when a row of task ended. seen is used instead: ",
            "# created_on: 40 of 40 rows have it, 0 as their latest time.\n# seen: 40 of 40 rows have it, 40 as their latest time.\n\
         # due: 40 of 40 rows have it, 0 as their latest time, 40 in the future.\nend_time  = \"seen",
            "\nfinal     = { status = [\"done\"] }\n",
        ],
    );
    goes_the_way(&mut database, &text, 30);
}
