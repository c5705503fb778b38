//! The real binary against throw-away servers: exit code, stdout, stderr.

mod findings;
mod first_day;
mod indexes;
mod manners;
mod mysql;
mod outbox;
mod overlap;
mod secured;
mod trouble;

use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::support::systems::dolphinscheduler::{FAMILIES_SETTING, HISTORY_34, SCHEMA_34};
use postgres::{Client, NoTls};
use serde_json::Value;
use windrow::sandbox::{Postgres, Settings};

use crate::harness::tests;
use crate::support::patience::until;

tests! {
    within: [findings::tests, first_day::tests, indexes::tests, manners::tests, mysql::tests, outbox::tests, overlap::tests, secured::tests, trouble::tests],
}

const SPEC: &str = "specs/dolphinscheduler.toml";
const SPEC_32: &str = "specs/dolphinscheduler-3.2.toml";

/// The control schema.
const W: &str = "windrow_dolphinscheduler";

/// The password of every role that has one; no output may contain it.
const PASSWORD: &str = "hunter2+\u{e4}";

/// Roles belong to the whole server: one installation or uninstallation at a time on the shared one.
static ROLES: Mutex<()> = Mutex::new(());

fn roles() -> MutexGuard<'static, ()> {
    ROLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call of the binary said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Said {
        let said = Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            err: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        };
        for text in [&said.out, &said.err] {
            assert!(!text.contains("hunter2"), "a password is shown: {text}");
            assert!(
                !text.contains('\u{1b}'),
                "colour without a terminal: {text}"
            );
            assert!(!text.contains("panicked"), "{text}");
        }
        said
    }

    /// Fails unless the exit code and all these parts are there, on stdout or stderr.
    #[track_caller]
    fn expect(self, code: i32, parts: &[&str]) -> Said {
        let all = self.text();
        assert_eq!(self.code, code, "{all}");
        for part in parts {
            assert!(
                self.out.contains(part) || self.err.contains(part),
                "`{part}` is not in\n{all}"
            );
        }
        self
    }

    /// Fails if one of these parts is there.
    #[track_caller]
    fn without(self, parts: &[&str]) -> Said {
        for part in parts {
            assert!(
                !self.text().contains(part),
                "`{part}` is in\n{}",
                self.text()
            );
        }
        self
    }

    /// Stdout as one document.
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        format!(
            "exit: {}\n--- stdout\n{}--- stderr\n{}",
            self.code, self.out, self.err
        )
    }
}

/// The binary in an environment that knows no database and no certificates.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
    command
        .args(arguments)
        .env("HOME", "/nonexistent")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in [
        "WINDROW_URL",
        "PGPASSWORD",
        "PGHOST",
        "PGUSER",
        "MYSQL_PWD",
        "MYSQL_HOST",
        "NO_COLOR",
        "CLICOLOR_FORCE",
    ] {
        command.env_remove(name);
    }
    command
}

/// `windrow WORDS --url URL`, with the spec of 3.4 for the word `SPEC`.
fn windrow(url: &str, words: &str) -> Said {
    Said::of(at(url, words).output().expect("windrow starts"))
}

fn at(url: &str, words: &str) -> Command {
    let words: Vec<&str> = words
        .split_whitespace()
        .map(|word| if word == "SPEC" { SPEC } else { word })
        .collect();
    let mut command = command(&words);
    command.args([
        if words[0] == "check" {
            "--database"
        } else {
            "--url"
        },
        url,
    ]);
    command
}

fn spawn(url: &str, words: &str) -> Child {
    at(url, words).spawn().expect("windrow starts")
}

fn finish(child: Child) -> Said {
    Said::of(child.wait_with_output().expect("windrow ends"))
}

/// The server that most tests share, with the databases `bare` and `history` to copy: 300 families, installed, with a
/// policy for every project, not armed.
fn shared() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = Postgres::start(&Settings::default()).expect("a server starts");
        fill(&server);
        server
    })
}

fn fill(server: &Postgres) {
    let mut admin = client(server, "postgres");
    for name in ["bare", "history"] {
        admin
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .expect("a database is created");
        client(server, name)
            .batch_execute(SCHEMA_34)
            .expect("the schema loads");
    }
    let mut history = client(server, "history");
    history
        .batch_execute(&format!("SET {FAMILIES_SETTING} = 300"))
        .expect("a setting");
    history
        .batch_execute(HISTORY_34)
        .expect("the history loads");
    history.batch_execute("VACUUM ANALYZE").expect("statistics");
    windrow(&server.url("history", "postgres"), "install SPEC --quiet").expect(0, &[]);
    history
        .batch_execute(&format!(
            "SELECT {W}.set_policy(jsonb_build_object('scope', code::text)) FROM t_ds_project"
        ))
        .expect("policies");
}

fn client(server: &Postgres, database: &str) -> Client {
    Client::connect(&server.url(database, "postgres"), NoTls).expect("the server accepts us")
}

/// A database of its own on the shared server, and a session of the superuser in it.
struct Database {
    name: String,
    url: String,
    client: Client,
}

impl Database {
    /// The tables without rows and without windrow.
    fn bare() -> Database {
        Database::copy(shared(), "bare")
    }

    /// A history with windrow installed.
    fn history() -> Database {
        Database::copy(shared(), "history")
    }

    fn copy(server: &Postgres, origin: &str) -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        static ONE_COPY: Mutex<()> = Mutex::new(());
        let _one = ONE_COPY.lock().unwrap_or_else(PoisonError::into_inner);
        let name = format!("live_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE DATABASE {name} TEMPLATE {origin}");
        let mut admin = client(server, "postgres");
        // The session that filled the origin may take a moment to end.
        wait("the origin is free", || {
            admin.batch_execute(&create).is_ok()
        });
        Database {
            url: server.url(&name, "postgres"),
            client: client(server, &name),
            name,
        }
    }

    fn sql(&mut self, sql: &str) {
        self.client
            .batch_execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    fn number(&mut self, sql: &str) -> i64 {
        self.client.query_one(sql, &[]).expect(sql).get(0)
    }

    fn text(&mut self, sql: &str) -> String {
        self.client
            .query_one(sql, &[])
            .expect(sql)
            .get::<_, Option<String>>(0)
            .unwrap_or_default()
    }

    /// The address for another role.
    fn url_as(&self, login: &str) -> String {
        self.url.replace("//postgres@", &format!("//{login}@"))
    }

    fn windrow(&self, words: &str) -> Said {
        windrow(&self.url, words)
    }

    /// From now on, every batch takes a third of a second and has ten families.
    fn slow(&mut self) {
        self.sql(&format!(
            "CALL {W}.arm();
             SELECT {W}.set_setting('{{\"name\": \"batch_families\", \"value\": 10}}');
             CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
             CREATE TRIGGER slow AFTER DELETE ON t_ds_workflow_instance FOR EACH STATEMENT EXECUTE FUNCTION public.slow()"
        ));
    }

    /// Waits until the run in progress has committed two batches.
    fn wait_for_batches(&mut self) {
        let sql = format!(
            "SELECT count(*) FROM {W}.run JOIN {W}.run_rule USING (run_id) WHERE status = 'running' AND batches >= 2"
        );
        wait("two batches", || self.number(&sql) > 0);
    }
}

#[track_caller]
fn wait(what: &str, mut done: impl FnMut() -> bool) {
    until(what, || Ok(done())).expect("it comes");
}

fn interrupt(child: &Child) {
    let status = Command::new("sh")
        .args(["-c", "kill -INT \"$1\"", "kill", &child.id().to_string()])
        .status()
        .expect("sh starts");
    assert!(status.success());
}
