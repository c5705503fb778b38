//! The page of a database: before the installation, with a backlog, and for an account that may see nothing.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use windrow::db::{self, Database};
use windrow::dialect::Dialect;

use super::is_sound;
use crate::harness::tests;
use crate::support::browser::Browser;
use crate::support::{database, installation};

tests! {
    every_server: [
        a_page_says_what_the_commands_say,
    ],
}

/// A family rule whose backlog takes several nights, and one of single rows.
const SPEC: &str = r#"
name     = "ticket"
title    = "The <b>ticket</b> system"
database = "ticket"
schedule = "0 2 * * *"

[tables]
job  = { key = "id integer" }
step = { key = "id integer", parents = ["job_id -> job.id"] }
note = { parents = ["step_id -> step.id set null"] }
tick = { key = "id integer" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = ["done"] }
end_time  = "ended timestamp"
retention = { default = "30d", minimum = "7d", safety_lag = "1h", per = "team varchar" }
limits    = { run_families = 60 }

[rules.ticks]
strategy  = "expiry"
root      = "tick"
time      = "expires timestamp"
"#;

/// The tables, with 400 jobs of which 380 are due, three steps each.
fn tables(dialect: Dialect) -> Vec<String> {
    let (datetime, series, old, third) = match dialect {
        Dialect::Postgres => (
            "timestamp",
            "generate_series(1, 1200) AS s(n)",
            "timestamp '2025-01-01'",
            "(n + 2) / 3",
        ),
        Dialect::Mysql => (
            "datetime",
            "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n FROM s UNION ALL SELECT n + 1000 FROM s WHERE n <= 200) AS s",
            "'2025-01-01'",
            "(n + 2) DIV 3",
        ),
        Dialect::Mariadb => (
            "datetime",
            "(SELECT seq AS n FROM seq_1_to_1200) AS s",
            "'2025-01-01'",
            "(n + 2) DIV 3",
        ),
    };
    vec![
        format!(
            "CREATE TABLE job (id integer NOT NULL PRIMARY KEY, state varchar(20), ended {datetime} NULL, team varchar(20))"
        ),
        "CREATE TABLE step (id integer NOT NULL PRIMARY KEY, job_id integer)".to_owned(),
        "CREATE TABLE note (id integer NOT NULL PRIMARY KEY, step_id integer NULL)".to_owned(),
        format!("CREATE TABLE tick (id integer NOT NULL PRIMARY KEY, expires {datetime} NULL)"),
        format!(
            "INSERT INTO job SELECT n, CASE WHEN n > 390 THEN 'open' ELSE 'done' END, CASE WHEN n > 390 THEN NULL ELSE {old} END, \
             CASE WHEN n > 380 THEN 'blue' ELSE 'red' END FROM {series} WHERE n <= 400"
        ),
        format!("INSERT INTO step SELECT n, {third} FROM {series}"),
        "INSERT INTO note VALUES (1, 1), (2, NULL)".to_owned(),
        format!("INSERT INTO tick SELECT n, {old} FROM {series} WHERE n <= 50"),
    ]
}

/// A database with these tables, gone with this value.
struct Place {
    folder: tempfile::TempDir,
    admin: Box<dyn Database>,
    dialect: Dialect,
}

fn address(dialect: Dialect, name: &str, user: &str) -> String {
    match dialect {
        Dialect::Postgres => database::server().url(name, user),
        Dialect::Mysql | Dialect::Mariadb => installation::server(dialect).url(name, user),
    }
}

fn connect(dialect: Dialect, name: &str) -> Box<dyn Database> {
    let url = address(dialect, name, superuser(dialect))
        .parse()
        .expect("an address");
    db::connect_as_application(&url).expect("the server accepts us")
}

fn superuser(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "postgres",
        Dialect::Mysql | Dialect::Mariadb => "root",
    }
}

impl Place {
    fn new(dialect: Dialect) -> Place {
        let home = match dialect {
            Dialect::Postgres => "postgres",
            Dialect::Mysql | Dialect::Mariadb => "mysql",
        };
        let mut admin = connect(dialect, home);
        admin.execute("CREATE DATABASE ticket").expect("a database");
        let mut tables_of = connect(dialect, "ticket");
        for statement in tables(dialect) {
            tables_of.execute(&statement).expect(&statement);
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("ticket.toml"), SPEC).expect("a spec");
        Place {
            folder,
            admin,
            dialect,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a command as somebody: its exit code and what it printed.
    #[track_caller]
    fn run(&self, user: &str, words: &[&str]) -> (Option<i32>, String) {
        let mut words = words.iter();
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
        command.args(words.by_ref().take_while(|word| **word != "SPEC"));
        let output = command
            .arg(self.path("ticket.toml"))
            .args(words)
            .env("WINDROW_URL", address(self.dialect, "ticket", user))
            .stdin(Stdio::null())
            .output()
            .expect("windrow starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_ne!(output.status.code(), Some(2), "{output:?}");
        (output.status.code(), said)
    }

    /// Writes the page: the answer and the text.
    #[track_caller]
    fn report(&self, user: &str, name: &str) -> (Value, String) {
        let path = self.path(name);
        let out = path.to_string_lossy();
        let (code, said) = self.run(user, &["report", "SPEC", "--out", &out, "--output", "json"]);
        let answer: Value = serde_json::from_str(&said).expect("a document");
        let findings = answer["findings"].as_array().expect("findings");
        let is_found = findings.iter().any(|it| it["severity"] != "notice")
            || answer["diagnostics"][0].is_object();
        assert_eq!(code, Some(i32::from(is_found)), "{answer:#}");
        (answer, fs::read_to_string(path).expect("a page"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.admin.execute("DROP DATABASE ticket");
        if self.dialect == Dialect::Postgres {
            let _ = self.admin.execute("DROP ROLE ticket_nobody");
        } else {
            let _ = self.admin.execute("DROP USER ticket_nobody");
        }
    }
}

fn a_page_says_what_the_commands_say(dialect: Dialect) {
    let place = Place::new(dialect);
    let root = superuser(dialect);
    let mut browser = Browser::open();
    let folder = dialect.facts().folder;

    // Before the installation: the check and the indexes, and what to do for the rest.
    let (answer, page) = place.report(root, "before.html");
    let missing: Vec<&str> = answer["missing"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["part"].as_str())
        .collect();
    assert_eq!(missing, ["policy list", "preview", "diff"], "{answer:#}");
    assert_eq!(
        (&answer["differences"], &answer["database"]),
        (&Value::Null, &true.into())
    );
    for piece in [
        "Indexes to build first",
        "windrow_step_job_id",
        "is not installed here",
        "The &lt;b&gt;ticket&lt;/b&gt; system",
    ] {
        assert!(page.contains(piece), "{piece}");
    }

    place.run(root, &["install", "SPEC"]);
    // As long as a team may be.
    let bad = "\"><script>x</script>";
    place.run(
        root,
        &[
            "policy",
            "set",
            "SPEC",
            "--rule",
            "jobs",
            "--scope",
            bad,
            "--retention",
            "60d",
        ],
    );
    place.run(
        root,
        &[
            "hold", "set", "SPEC", "--rule", "jobs", "--key", "1", "--reason", bad,
        ],
    );
    let (answer, page) = place.report(root, "ticket.html");
    assert_eq!(
        (&answer["missing"], &answer["differences"]),
        (&Value::Array(Vec::new()), &0.into()),
        "{answer:#}"
    );
    // What the commands answer is what the page shows.
    let ask = |command: &str| -> Value {
        let (_, said) = place.run(root, &[command, "SPEC", "--output", "json"]);
        serde_json::from_str(&said).expect("a document")
    };
    let (preview, plan) = (ask("preview"), ask("plan"));
    let jobs = &preview["rules"][0];
    assert_eq!(
        (&jobs["families"], &jobs["rows"], &jobs["skipped"]["HELD"]),
        (&60.into(), &240.into(), &1.into())
    );
    let rows = plan["total"]["rows"].as_f64().expect("rows");
    let nights = plan["total"]["days"].as_i64().expect("nights");
    assert!(nights > 5, "{plan:#}");
    for piece in [
        format!("{} rows", windrow::ui::count(rows as i64)),
        format!("done after {nights} "),
        "Not armed: a run would be refused.".to_owned(),
        "Families left of <code>jobs</code>".to_owned(),
        "a hold keeps it".to_owned(),
        "<caption>1 policy</caption>".to_owned(),
        "<code>&quot;&gt;&lt;script&gt;x&lt;/script&gt;</code>".to_owned(),
        "is what this spec generates".to_owned(),
        "<dt>Read at</dt><dd>20".to_owned(),
    ] {
        assert!(page.contains(&piece), "{piece}");
    }
    is_sound(
        &mut browser,
        &place.path("ticket.html"),
        &format!("ticket-{folder}"),
        true,
    );
    another_spec_is_not_previewed_as_this_one(&place, root);
    others_see_less(&place, &mut browser);
}

/// The preview is of what is installed: the page of another spec says so.
fn another_spec_is_not_previewed_as_this_one(place: &Place, root: &str) {
    const OTHER: &str = "of what is installed, which is not this spec";
    let (_, page) = place.report(root, "same.html");
    assert!(!page.contains(OTHER), "it is the same");
    let path = place.path("ticket.toml");
    let longer = SPEC.replace("\"30d\"", "\"31d\"");
    assert_ne!(longer, SPEC);
    fs::write(&path, longer).expect("a spec");
    let (_, page) = place.report(root, "other.html");
    assert_eq!(
        page.to_lowercase().matches(OTHER).count(),
        2,
        "card and section"
    );
    fs::write(&path, SPEC).expect("a spec");
}

/// A routine that somebody has dropped, and an account that may see nothing.
fn others_see_less(place: &Place, browser: &mut Browser) {
    let (dialect, root) = (place.dialect, superuser(place.dialect));
    let mut admin = connect(dialect, "ticket");
    let (edit, nobody) = match dialect {
        Dialect::Postgres => (
            "DROP FUNCTION windrow_ticket.ticks_delete",
            "CREATE ROLE ticket_nobody LOGIN",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "DROP PROCEDURE windrow_ticket.ticks_due",
            "CREATE USER ticket_nobody; GRANT SELECT ON ticket.tick TO ticket_nobody",
        ),
    };
    admin.execute(edit).expect("a routine");
    for statement in nobody.split("; ") {
        admin.execute(statement).expect("an account");
    }
    let (answer, page) = place.report(root, "edited.html");
    assert!(answer["differences"].as_u64() > Some(0), "{answer:#}");
    assert!(page.contains("What is not as this spec generates it"));
    let (answer, page) = place.report("ticket_nobody", "nobody.html");
    let missing = answer["missing"].as_array().expect("parts");
    assert!(
        missing.iter().any(|it| it["part"] == "preview"),
        "{answer:#}"
    );
    assert!(page.contains("This part is missing: "));
    is_sound(
        browser,
        &place.path("nobody.html"),
        &format!("ticket-nobody-{}", dialect.facts().folder),
        false,
    );
}
