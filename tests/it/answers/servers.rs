//! Every command on every server.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use windrow::db::{self, Database};
use windrow::dialect::Dialect;

use super::{document, that_answer, windrow};
use crate::harness::tests;
use crate::support::{database, installation};

tests! {
    every_server: [
        every_command_answers_as_the_schema_says,
    ],
    on_postgres: [
        the_demo_answers_one_document,
    ],
}

/// A rule of families that has all that a rule can have, one by removal time with stamps, and one of single rows.
const SPEC: &str = r#"
name      = "answers"
database  = "answers"
heartbeat = "windrow"

[tables]
job  = { key = "id integer" }
step = { parents = ["job_id -> job.id"] }
task = { key = "id integer" }
note = { parents = ["root_id -> task.id"] }
tick = { key = "id integer" }

[ignore]
definition = "what says how long a task is kept"

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = ["done"] }
end_time  = "ended timestamp"
retention = { default = "30d", minimum = "1d", safety_lag = "0s", per = "team varchar", opt_in = true }
archive   = ["step", "job"]
artifacts = [{ table = "step", host = "host", path = "path" }]

[rules.jobs.report.preview]
candidates = "families"

[rules.jobs.report.run]
gone = "rows of step"

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at timestamp"
end_time  = "ended"
tables    = ["note: root_id", "task: root_id"]
retention = { safety_lag = "0s" }

[rules.tasks.stamp]
start = "started"
per   = "kind varchar"
from  = "definition: id -> keep days"
own   = ["note: root_id"]

[rules.ticks]
strategy  = "expiry"
root      = "tick"
time      = "expires timestamp"
"#;

const TABLES: &str = "
CREATE TABLE job (id integer NOT NULL PRIMARY KEY, state varchar(20), ended datetime NULL, team varchar(20));
CREATE TABLE step (id integer NOT NULL PRIMARY KEY, job_id integer, host varchar(50), path varchar(200));
CREATE TABLE task (id integer NOT NULL PRIMARY KEY, root_id integer, kind varchar(20), started datetime NULL, ended datetime NULL, remove_at datetime NULL);
CREATE TABLE note (id integer NOT NULL PRIMARY KEY, root_id integer, remove_at datetime NULL);
CREATE TABLE tick (id integer NOT NULL PRIMARY KEY, expires datetime NULL);
CREATE TABLE definition (id varchar(20) NOT NULL PRIMARY KEY, keep integer);
INSERT INTO definition VALUES ('a', 5);
INSERT INTO job VALUES (1, 'done', '2025-01-01 00:00:00', 'red'), (2, 'done', '2025-01-02 00:00:00', 'red'),
    (3, 'open', NULL, 'red'), (4, 'done', '2025-01-03 00:00:00', 'blue'), (5, 'done', '2025-01-04 00:00:00', 'red');
INSERT INTO step VALUES (11, 1, 'here:1', '/nowhere/11'), (12, 2, NULL, '/nowhere/12'), (13, 3, 'here', '/nowhere/13'), (14, 5, 'here', '/nowhere/14');
INSERT INTO task VALUES (1, 1, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', NULL), (2, 2, 'a', '2025-01-01 00:00:00', NULL, NULL);
INSERT INTO note VALUES (21, 1, NULL);
INSERT INTO tick VALUES (1, '2025-01-01 00:00:00'), (2, NULL), (3, '2040-01-01 00:00:00')";

/// A database with these tables, and a folder with the spec; the database is gone with this value.
struct Place {
    folder: tempfile::TempDir,
    admin: Box<dyn Database>,
    url: String,
    seen: BTreeSet<String>,
}

impl Place {
    fn new(dialect: Dialect) -> Place {
        let url = |name: &str| match dialect {
            Dialect::Postgres => database::server().url(name, "postgres"),
            Dialect::Mysql | Dialect::Mariadb => installation::server(dialect).url(name, "root"),
        };
        let home = match dialect {
            Dialect::Postgres => "postgres",
            Dialect::Mysql | Dialect::Mariadb => "mysql",
        };
        let connect = |name: &str| {
            let url = url(name).parse().expect("an address");
            db::connect_as_application(&url).expect("the server accepts us")
        };
        let mut admin = connect(home);
        admin
            .execute("CREATE DATABASE answers")
            .expect("a database");
        let tables = match dialect {
            Dialect::Postgres => TABLES.replace("datetime", "timestamp"),
            Dialect::Mysql | Dialect::Mariadb => TABLES.to_owned(),
        };
        connect("answers").execute(&tables).expect("tables");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("answers.toml"), SPEC).expect("a spec");
        Place {
            admin,
            url: url("answers"),
            folder,
            seen: BTreeSet::new(),
        }
    }

    /// What a command answers; `SPEC`, `FOLDER` and `NAME_OF_SPEC` stand for what they say.
    #[track_caller]
    fn ask(&mut self, code: i32, command: &str, more: &[&str]) -> Value {
        let folder = self.folder.path().display().to_string();
        let spec = format!("{folder}/answers.toml");
        let more = more
            .iter()
            .map(|word| word.replace("SPEC", &spec).replace("FOLDER", &folder));
        let words: Vec<String> = command.split(' ').map(str::to_owned).chain(more).collect();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.extend(["--output", "json"]);
        let output = windrow(&words)
            .env("WINDROW_URL", &self.url)
            .output()
            .expect("windrow starts");
        let document = document(command, &output);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{words:?}: {document:#}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        self.seen.insert(command.to_owned());
        document
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.admin.execute("DROP DATABASE answers");
    }
}

fn every_command_answers_as_the_schema_says(dialect: Dialect) {
    let mut place = Place::new(dialect);
    before_the_installation(&mut place, dialect);
    what_people_decide(&mut place);
    what_people_set(&mut place);
    what_runs_do(&mut place, dialect);
    what_is_seen_of_replicas(&mut place, dialect);
    what_is_said_of_a_run_under_way(&mut place, dialect);
    what_is_left_of_rows(&mut place);
    what_ends_it(&mut place);
    // With its server, the demo has a test of its own.
    let temporary = place.folder.path().to_path_buf();
    let output = windrow(&["demo", "--down", "--output", "json"])
        .env("TMPDIR", temporary)
        .output()
        .expect("windrow starts");
    assert_eq!(document("demo", &output)["running"], false);
    place.seen.insert("demo".to_owned());
    // The commands on real servers have tests of their own, too.
    let inventory = place.folder.path().join("fleet.toml");
    let text =
        "[[server]]\nname = \"a\"\nurl = \"postgres://nobody@127.0.0.1:1/x\"\nspec = \"SPEC\"\n";
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/yworkflow.toml");
    std::fs::write(&inventory, text.replace("SPEC", spec)).expect("an inventory is written");
    let output = windrow(&["fleet", "generate", "--output", "json", "--inventory"])
        .arg(&inventory)
        .args(["--", "--out"])
        .arg(place.folder.path())
        .output()
        .expect("windrow starts");
    assert_eq!(document("fleet", &output)["clean"], 1);
    place.seen.insert("fleet".to_owned());
    assert_eq!(place.seen, that_answer());
}

fn before_the_installation(place: &mut Place, dialect: Dialect) {
    let listed = place.ask(
        0,
        "inspect",
        match dialect {
            Dialect::Postgres => &["--schema", "public"],
            Dialect::Mysql | Dialect::Mariadb => &[],
        },
    );
    let tables = listed["tables"].as_array().expect("tables");
    assert!(tables.iter().any(|it| it["table"] == "job"), "{listed:#}");
    let drafted = place.ask(0, "inspect", &["--root", "job"]);
    let draft = drafted["draft"].as_str().expect("a draft");
    let first = &drafted["questions"][0];
    let line = first["line"].as_u64().expect("a line") as usize;
    let question = first["question"].as_str().expect("a question");
    assert!(
        draft
            .lines()
            .nth(line - 1)
            .is_some_and(|it| it.contains(question))
    );
    let fitted = place.ask(
        0,
        "init",
        &["--from", "SPEC", "--out", "FOLDER/fitted.toml"],
    );
    let written = fs::read_to_string(place.folder.path().join("fitted.toml")).expect("a file");
    assert_eq!(fitted["draft"], written.as_str());
    let drawn = place.ask(0, "graph", &["SPEC"]);
    let order = &drawn["rules"][0]["order"];
    assert_eq!(order, &serde_json::json!(["step", "job"]));
    let checked = place.ask(no_events(dialect), "check", &["SPEC"]);
    assert!(
        checked["findings"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let explained = place.ask(0, "check", &["--explain", "missing-index"]);
    assert_eq!(explained["code"], "missing-index");
    let stale = place.ask(
        1,
        "generate",
        &["SPEC", "--out", "FOLDER/generated", "--check"],
    );
    assert_eq!(
        (&stale["written"], stale["stale"] == 0),
        (&Value::from(false), false)
    );
    assert!(!place.folder.path().join("generated").exists());
    let generated = place.ask(0, "generate", &["SPEC", "--out", "FOLDER/generated"]);
    let files = generated["files"].as_array().expect("files");
    assert!(files.iter().all(|file| file["change"] == "created"));
    let again = place.ask(0, "generate", &["SPEC", "--out", "FOLDER/generated"]);
    assert_eq!(
        (&again["stale"], &again["files"][0]["change"]),
        (&Value::from(0), &"none".into())
    );
    place.ask(0, "plan", &["SPEC"]);
    let page = ["SPEC", "--out", "FOLDER/page.html"];
    let reported = place.ask(no_events(dialect), "report", &page);
    assert_eq!(
        (&reported["database"], &reported["differences"]),
        (&true.into(), &Value::Null)
    );
    assert!(place.folder.path().join("page.html").exists());
    let installed = place.ask(0, "install", &["SPEC"]);
    let files = installed["files"].as_array().expect("files");
    let objects = files
        .iter()
        .flat_map(|file| file["objects"].as_array().expect("objects"));
    let made: Vec<&str> = objects.filter_map(|it| it["done"].as_str()).collect();
    assert!(
        made.iter().any(|it| it.ends_with("windrow_answers.run")),
        "{made:?}"
    );
    assert_eq!(installed["armed"], false);
}

/// The exit code of what tells that the servers of the tests have no event scheduler.
fn no_events(dialect: Dialect) -> i32 {
    i32::from(dialect != Dialect::Postgres)
}

fn what_people_decide(place: &mut Place) {
    place.ask(
        0,
        "policy set",
        &[
            "SPEC",
            "--rule",
            "jobs",
            "--scope",
            "red",
            "--note",
            "long enough",
        ],
    );
    place.ask(
        0,
        "policy set",
        &[
            "SPEC",
            "--rule",
            "jobs",
            "--scope",
            "gone",
            "--retention",
            "40d",
        ],
    );
    let policies = place.ask(0, "policy list", &["SPEC"]);
    for (at, follows) in [(0, false), (1, true)] {
        let policy = &policies[at];
        assert_eq!(policy["follows_spec"], follows, "{policy}");
        let seconds = if follows { 2_592_000 } else { 3_456_000 };
        assert_eq!(policy["retention_seconds"], seconds, "{policy}");
    }
    place.ask(
        0,
        "policy drop",
        &["SPEC", "--rule", "jobs", "--scope", "gone"],
    );
    let held = place.ask(
        0,
        "hold set",
        &[
            "SPEC",
            "--rule",
            "jobs",
            "--key",
            "2",
            "--reason",
            "audit",
            "--until",
            "2040-01-01T00:00:00Z",
        ],
    );
    assert_eq!(held["holds"][0]["key"], "2");
    place.ask(
        0,
        "hold set",
        &[
            "SPEC",
            "--rule",
            "jobs",
            "--key",
            "99",
            "--reason",
            "audit",
            "--even-if-absent",
        ],
    );
    assert_eq!(place.ask(0, "hold list", &["SPEC"])[1]["absent"], true);
    place.ask(
        0,
        "hold release",
        &["SPEC", "--rule", "jobs", "--key", "99"],
    );
    place.ask(
        2,
        "hold release",
        &["SPEC", "--rule", "jobs", "--key", "99"],
    );
}

fn what_people_set(place: &mut Place) {
    let set = place.ask(
        0,
        "settings set",
        &["SPEC", "batch_families", "7", "--rule", "jobs"],
    );
    assert_eq!(set["value"], 7);
    place.ask(0, "settings list", &["SPEC"]);
    place.ask(
        0,
        "settings reset",
        &["SPEC", "batch_families", "--rule", "jobs"],
    );
    let log = place.ask(0, "settings list", &["SPEC", "--log"]);
    assert_eq!(
        (&log[0]["new_value"], &log[1]["new_value"]),
        (&Value::from(7), &Value::Null)
    );
    place.ask(
        0,
        "window set",
        &["SPEC", "mon-fri 22:00-06:00", "sat,sun 00:00-00:00"],
    );
    place.ask(0, "window list", &["SPEC"]);
    place.ask(0, "window reset", &["SPEC"]);
    place.ask(0, "window list", &["SPEC"]);
    place.ask(0, "pause", &["SPEC", "--rule", "ticks", "--reason", "look"]);
    place.ask(0, "pause", &["SPEC"]);
    place.ask(0, "preview", &["SPEC"]);
    place.ask(0, "status", &["SPEC"]);
    place.ask(0, "resume", &["SPEC"]);
    place.ask(0, "resume", &["SPEC", "--rule", "ticks"]);
}

fn what_runs_do(place: &mut Place, dialect: Dialect) {
    place.ask(0, "plan", &["SPEC"]);
    place.ask(1, "run", &["SPEC", "--scheduled"]);
    place.ask(0, "arm", &["SPEC"]);
    place.ask(0, "run", &["SPEC", "--dry-run"]);
    let run = place.ask(0, "run", &["SPEC"]);
    assert_eq!(run["rules"][0]["families"], 2);
    assert_eq!(run["rules"][0]["gone"], 2);
    let purged = place.ask(
        1,
        "purge",
        &[
            "SPEC", "--rule", "jobs", "--key", "4", "--key", "2", "--key", "77",
        ],
    );
    assert_eq!(purged["refused"]["77"], "NOT_A_ROOT");
    place.ask(0, "status", &["SPEC"]);
    place.ask(0, "stamp", &["SPEC", "--calculated", "--missing"]);
    place.ask(0, "run", &["SPEC"]);
    place.ask(0, "preview", &["SPEC"]);
    place.ask(0, "status", &["SPEC"]);
    place.ask(0, "history", &["SPEC"]);
    place.ask(no_events(dialect), "verify", &["SPEC"]);
    place.ask(0, "diff", &["SPEC"]);
}

/// The server itself stands for a replica; PostgreSQL has no need of it.
fn what_is_seen_of_replicas(place: &mut Place, dialect: Dialect) {
    let url = place.url.clone();
    let words = ["SPEC", "--once", "--every", "100ms", "--replica", &url];
    if dialect == Dialect::Postgres {
        place.ask(2, "heartbeat", &words);
        return;
    }
    let seen = place.ask(1, "heartbeat", &words);
    let replica = &seen["replicas"][0];
    assert_eq!(replica["state"], "replicates from no server");
    assert!(replica["replicated_until"].is_string(), "{seen}");
}

/// A run that this session pretends to have begun.
fn what_is_said_of_a_run_under_way(place: &mut Place, dialect: Dialect) {
    let mut other =
        db::connect_as_application(&place.url.parse().expect("an address")).expect("a session");
    other
        .execute(match dialect {
            Dialect::Postgres => {
                "SELECT windrow_answers.take_lock();
                 INSERT INTO windrow_answers.run (trigger, dry_run, options, as_of, deadline)
                 VALUES ('MANUAL', false, '{}', now(), now());
                 INSERT INTO windrow_answers.run_rule (run_id, rule, batch_families, table_names, table_rows)
                 SELECT max(run_id), 'jobs', 1, '{}', '{}' FROM windrow_answers.run"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "SET @windrow_lock = GET_LOCK('windrow_answers.run', 0);
                 INSERT INTO windrow_answers.run (`trigger`, dry_run, options, as_of, backend_pid)
                 VALUES ('MANUAL', false, '{}', UTC_TIMESTAMP(6), CONNECTION_ID());
                 INSERT INTO windrow_answers.run_rule (run_id, rule, batch_families)
                 SELECT MAX(run_id), 'jobs', 1 FROM windrow_answers.run"
            }
        })
        .expect("a run under way");
    // A session at work has a transaction.
    other.execute("BEGIN").expect("a transaction");
    let status = place.ask(0, "status", &["SPEC"]);
    assert_eq!(status["running"][0]["rule"], "jobs");
    let history = place.ask(0, "history", &["SPEC"]);
    assert_eq!(history[0]["seconds"], Value::Null);
    let refused = place.ask(1, "run", &["SPEC"]);
    let reason = refused["reason"].as_str().expect("a reason");
    assert!(reason.contains("is in progress"), "{refused:#}");
    // Its call is over without an end, and the next run says so.
    let over = match dialect {
        Dialect::Postgres => "ROLLBACK; SELECT pg_advisory_unlock_all()",
        Dialect::Mysql | Dialect::Mariadb => "ROLLBACK; SET @windrow_lock = RELEASE_ALL_LOCKS()",
    };
    other.execute(over).expect("an end");
    place.ask(0, "run", &["SPEC"]);
    let history = place.ask(0, "history", &["SPEC"]);
    assert_eq!(history[1]["status"], "crashed");
    place.ask(0, "status", &["SPEC"]);
}

fn what_is_left_of_rows(place: &mut Place) {
    let listed = place.ask(0, "archive list", &["SPEC"]);
    let run = listed["runs"][0]["run"].to_string();
    let exported = place.ask(0, "archive export", &["SPEC", "--to", "FOLDER/rows"]);
    let file = exported["tables"][0]["file"].as_str().expect("a file");
    assert!(Path::new(file).exists());
    // Rows and a document do not share stdout.
    place.ask(2, "archive export", &["SPEC", "--table", "job"]);
    let back = place.ask(
        0,
        "archive restore",
        &["SPEC", "--run", &run, "--rule", "jobs", "--key", "1"],
    );
    assert_eq!(back["rows"], 2);
    place.ask(0, "archive drop", &["SPEC", "--run", &run]);
    place.ask(0, "archive drop", &["SPEC", "--run", &run, "--yes"]);
    assert!(place.ask(0, "artifacts list", &["SPEC"])[0]["artifact_id"].is_u64());
    let drained = place.ask(
        1,
        "artifacts drain",
        &["SPEC", "--command", "test {path} = /nowhere/12"],
    );
    assert!(drained["failed"].as_i64() > Some(0), "{drained:#}");
    let files = drained["files"].as_array().expect("files");
    assert!(
        files
            .iter()
            .all(|file| file["removed"] == file["error"].is_null())
    );
    assert_eq!(place.ask(0, "artifacts list", &["SPEC"])[0]["attempts"], 1);
}

fn what_ends_it(place: &mut Place) {
    let listed = place.ask(0, "uninstall", &["SPEC"]);
    assert_eq!(listed["dropped"], false);
    assert_eq!(listed["objects"][0]["seconds"], Value::Null);
    let gone = place.ask(0, "uninstall", &["SPEC", "--yes", "--drop-archive"]);
    let yes = Value::Bool(true);
    assert_eq!((&gone["installed"], &gone["dropped"]), (&yes, &yes));
    place.ask(2, "status", &["SPEC"]);
}

fn the_demo_answers_one_document() {
    let folder = tempfile::tempdir().expect("a folder");
    // As root, the server runs as another user.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("an open folder");
    let demo = |more: &[&str]| {
        let words = [&["demo", "--output", "json"], more].concat();
        let output = windrow(&words)
            .env("TMPDIR", folder.path())
            .output()
            .expect("windrow starts");
        document("demo", &output)
    };
    let told = demo(&["--families", "1000"]);
    let ended = demo(&["--down"]);
    assert_eq!(
        (&told["running"], &ended["running"]),
        (&true.into(), &false.into())
    );
    let steps = told["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|it| {
        it["command"]
            .as_str()
            .is_some_and(|it| it.starts_with("windrow run "))
    }));
}
