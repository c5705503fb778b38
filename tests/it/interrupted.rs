//! What `install` and `uninstall` leave where they break off, and that they do not meet: at no moment is something deleted that a guard
//! would have kept, and what somebody stopped stays stopped.

use std::io::{BufRead as _, BufReader};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use windrow::dialect::Dialect;
use windrow::render;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, connect, dialect_of, server};
use crate::support::patience::until;

tests! {
    mysql_and_mariadb: [
        an_installation_leaves_triggers_alone_that_are_as_generated,
        the_triggers_are_there_until_no_run_can_come,
        an_event_that_somebody_disabled_is_never_gone,
        what_an_interrupt_does_not_reach_is_told,
        rows_of_partitions_go_back_where_a_run_took_them_out,
    ],
    every_server: [
        an_uninstallation_that_is_interrupted_in_a_pause_ends,
        an_uninstallation_waits_for_no_installation,
        what_broke_off_says_that_it_disarmed,
    ],
}

const SPEC: &str = r#"
name     = "NAME"
database = "DATABASE"
schedule = "*/10 * * * *"

[tables]
run  = { key = "id bigint" }
step = { key = "id bigint", parents = ["run_id -> run.id"] }

[rules.history]
strategy  = "end-time"
root      = "run"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }
"#;

const GUARDED: &str = "orphan_guard = true\n";

/// What is installed beside the tables does not matter.
const BESIDE: &str = "name = 'beside'\n[tables]\nlog = { key = 'id bigint' }\n[rules.logs]\nstrategy = 'age'\nroot = 'log'\n\
    time = 'made'\nretention = { default = '30d' }\n";

/// A database, a spec in a file, and the binary.
pub(crate) struct Stage {
    pub(crate) database: Installation,
    pub(crate) control: String,
    folder: tempfile::TempDir,
}

impl Stage {
    /// Nothing is installed of the spec yet; `NAME` and `DATABASE` are filled in.
    pub(crate) fn new(dialect: Dialect, tables: &str, spec: &str) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let time = match dialect {
            Dialect::Postgres => "timestamp",
            Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
        };
        let tables = format!(
            "CREATE TABLE log (id bigint PRIMARY KEY, made {time}); CREATE INDEX log_made ON log (made); {}",
            tables.replace("TIME", time)
        );
        let database = Installation::of(dialect, &tables, &graph_of(BESIDE));
        // Roles belong to the whole server.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let stage = Self {
            control: format!("windrow_i{number}_{}", database.name),
            database,
            folder: tempfile::tempdir()?,
        };
        stage.write(spec)?;
        Ok(stage)
    }

    fn of(dialect: Dialect, more: &str) -> Result<Self> {
        let tables = "CREATE TABLE run (id bigint PRIMARY KEY, state integer, ended TIME);
             CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint);
             CREATE TABLE job (id bigint PRIMARY KEY, state integer, ended TIME)";
        Self::new(dialect, tables, &(SPEC.to_owned() + more))
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("spec.toml")
    }

    pub(crate) fn write(&self, spec: &str) -> Result<()> {
        let name = self.control.trim_start_matches("windrow_");
        let text = spec.replace("NAME", name);
        let text = text.replace("DATABASE", &self.database.name);
        Ok(std::fs::write(self.path(), text)?)
    }

    /// The file of another spec, which has the name of the first one and one letter more.
    pub(crate) fn beside(&self, spec: &str) -> Result<PathBuf> {
        let path = self.folder.path().join("beside.toml");
        let name = format!("{}b", self.control.trim_start_matches("windrow_"));
        let text = spec.replace("NAME", &name);
        std::fs::write(&path, text.replace("DATABASE", &self.database.name))?;
        Ok(path)
    }

    fn command(&self, spec: &Path, words: &str) -> Command {
        let mut words = words.split(' ');
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
        command
            .args(words.next())
            .arg(spec)
            .args(words)
            .env("WINDROW_URL", self.database.superuser())
            .env("NO_COLOR", "1");
        command
    }

    /// What the binary says, which must end with this code.
    pub(crate) fn windrow(&self, words: &str, code: i32) -> Result<String> {
        self.windrow_of(&self.path(), words, code)
    }

    /// The same with another spec.
    pub(crate) fn windrow_of(&self, spec: &Path, words: &str, code: i32) -> Result<String> {
        said(words, &self.command(spec, words).output()?, code)
    }

    fn spawn(&self, words: &str) -> Result<Child> {
        let mut command = self.command(&self.path(), words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// How many roles are left of the spec.
    fn roles(&mut self) -> i64 {
        let control = &self.control;
        self.database.number(&match self.database.dialect {
            Dialect::Postgres => {
                format!("SELECT count(*) FROM pg_roles WHERE rolname LIKE '{control}%'")
            }
            Dialect::Mysql | Dialect::Mariadb => {
                format!("SELECT COUNT(*) FROM mysql.user WHERE user LIKE '{control}%'")
            }
        })
    }

    /// The tables of the triggers of the spec.
    fn triggers(&mut self) -> Vec<String> {
        self.database.texts(
            "SELECT CONCAT(event_object_table, ' ', action_statement LIKE '%LOCK IN SHARE MODE%') FROM information_schema.triggers
             WHERE event_object_schema = DATABASE() AND trigger_name LIKE 'windrow%' ORDER BY 1",
        )
    }

    fn trigger(&self, event: &str) -> String {
        format!("{}$step_{event}", self.control)
    }

    fn owner(&self) -> String {
        render::role_name(self.database.dialect, &self.control, "owner")
    }

    /// Lets each run sleep, and answers how to see that (MySQL and MariaDB).
    fn runs_sleep(&mut self) -> String {
        let (control, name) = (&self.control, &self.database.name);
        let asleep = format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep' AND db IN ('{control}', '{name}')"
        );
        let trigger = format!(
            "CREATE TRIGGER {control}.sleeps BEFORE INSERT ON {control}.run_rule FOR EACH ROW
             BEGIN DECLARE v_slept int; SET v_slept = SLEEP(600); END"
        );
        self.database.execute(&trigger);
        asleep
    }

    /// Another session of which statements of windrow wait for a lock.
    fn holding(&self, sql: &str) -> Result<Session> {
        let mut open = self.database.connect();
        open.execute("BEGIN")?;
        open.execute(sql)?;
        Ok(open)
    }
}

fn said(words: &str, output: &Output, code: i32) -> Result<String> {
    let text = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
    let text = text.concat();
    ensure!(output.status.code() == Some(code), "{words}: {text}");
    Ok(text)
}

const AS_GENERATED: [&str; 2] = ["step 1", "step 1"];

/// Creating one waits for the writers of its table, and there is none in between.
fn an_installation_leaves_triggers_alone_that_are_as_generated(flavour: Flavour) -> Result<()> {
    let mut stage = Stage::of(dialect_of(flavour), GUARDED)?;
    stage.windrow("install", 0)?;
    ensure!(stage.triggers() == AS_GENERATED, "{:?}", stage.triggers());
    let mut open = stage.holding("SELECT id FROM step LIMIT 1")?;
    stage.windrow("install", 0)?;
    open.execute("COMMIT")?;
    // But not those with another body, another definer, or another table, under whose name there is a new one.
    let (insert, owner) = (stage.trigger("insert"), stage.owner());
    let body = stage.database.texts(&format!(
        "SELECT action_statement FROM information_schema.triggers
         WHERE event_object_schema = DATABASE() AND trigger_name = '{insert}'"
    ));
    let made = |definer: &str, body: &str| {
        format!(
            "DROP TRIGGER {insert}; CREATE DEFINER = {definer} TRIGGER {insert} BEFORE INSERT ON step FOR EACH ROW {body}"
        )
    };
    for statements in [
        made(&format!("`{owner}`"), "BEGIN END"),
        made("CURRENT_USER", &body[0]),
        made(&format!("`{owner}`"), &body[0]).replace("BEFORE", "AFTER"),
        "CREATE TABLE stray LIKE step; RENAME TABLE step TO old, stray TO step".to_owned(),
        format!("DROP TRIGGER {insert}"),
    ] {
        stage
            .database
            .execute("SET SESSION sql_mode = 'STRICT_TRANS_TABLES'");
        let session = &mut stage.database.session;
        session.execute(&statements).context(statements.clone())?;
        stage.windrow("install", 0).context(statements.clone())?;
        let found = stage.triggers();
        ensure!(found == AS_GENERATED, "{statements}: {found:?}");
        let definers = format!(
            "SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = DATABASE() AND action_timing = 'BEFORE'
               AND SUBSTRING_INDEX(definer, '@', 1) = '{owner}'"
        );
        ensure!(stage.database.number(&definers) == 2, "{statements}");
    }
    // Who leaves them out has runs all the same.
    stage.windrow("install --skip 52_triggers.sql", 0)?;
    stage.windrow("arm", 0)?;
    stage.windrow("run --no-estimate", 0)?;
    Ok(())
}

/// The session that waits for a lock with such a statement.
fn waiting(stage: &mut Stage, statement: &str) -> Result<String> {
    let sql = format!(
        "SELECT CONCAT(id) FROM information_schema.processlist WHERE state LIKE 'Waiting for %' AND info LIKE '{statement}%'"
    );
    let mut found = Vec::new();
    until("a statement that waits", || {
        found = stage.database.texts(&sql);
        Ok(!found.is_empty())
    })?;
    Ok(found.concat())
}

/// A batch may be under way until the control database is gone, and another one comes where it is not dropped.
fn the_triggers_are_there_until_no_run_can_come(flavour: Flavour) -> Result<()> {
    let mut stage = Stage::of(dialect_of(flavour), GUARDED)?;
    stage.windrow("install", 0)?;
    let setting = format!("SELECT COUNT(*) FROM {}.setting", stage.control);
    let mut open = stage.holding(&setting)?;
    let uninstall = stage.spawn("uninstall --yes")?;
    let drop = format!("DROP DATABASE IF EXISTS {}", stage.control);
    waiting(&mut stage, &drop)?;
    let found = stage.triggers();
    ensure!(found == AS_GENERATED, "{found:?}");
    // An installation by hand has no lock: without its definer, the application could write nothing.
    let owner = stage.owner();
    stage.database.execute(&format!(
        "CREATE DEFINER = `{owner}` TRIGGER late BEFORE INSERT ON log FOR EACH ROW SET @late = 1"
    ));
    open.execute("COMMIT")?;
    let told = said("uninstall", &uninstall.wait_with_output()?, 2)?;
    for part in [
        "the roles are kept: the trigger `",
        "`late`",
        "run `windrow uninstall` again",
    ] {
        ensure!(told.contains(part), "{part}: {told}");
    }
    ensure!(stage.triggers().is_empty() && stage.roles() == 3, "{told}");
    stage.windrow("uninstall --yes", 0)?;
    ensure!(stage.roles() == 0);
    stage.database.execute("INSERT INTO log (id) VALUES (1)");
    Ok(())
}

/// Between two attempts there is no statement that an interrupt could cancel.
fn an_uninstallation_that_is_interrupted_in_a_pause_ends(dialect: Dialect) -> Result<()> {
    let guarded = dialect != Dialect::Postgres;
    let mut stage = Stage::of(dialect, if guarded { GUARDED } else { "" })?;
    stage.windrow("install", 0)?;
    let mut open = stage.holding("SELECT id FROM step LIMIT 1")?;
    let uninstall = stage.spawn("uninstall --yes")?;
    let rests = if guarded {
        let drop = format!("DROP TRIGGER IF EXISTS `{}`", stage.database.name);
        let id = waiting(&mut stage, &drop)?;
        format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Sleep'"
        )
    } else {
        let session = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'windrow'";
        let waits = format!("SELECT count(*) {session} AND wait_event_type = 'Lock'");
        until("a statement that waits", || {
            Ok(stage.database.number(&waits) > 0)
        })?;
        format!("SELECT count(*) {session} AND state = 'idle'")
    };
    until("a pause", || Ok(stage.database.number(&rests) > 0))?;
    interrupt(&uninstall)?;
    open.execute("COMMIT")?;
    let told = said("uninstall", &uninstall.wait_with_output()?, 2)?;
    for part in [
        "interrupted while running `uninstall`",
        "the next call drops the rest",
    ] {
        ensure!(told.contains(part), "{part}: {told}");
    }
    ensure!(stage.roles() == 3, "{told}");
    stage.windrow("uninstall --yes", 0)?;
    ensure!(stage.roles() == 0);
    Ok(())
}

fn an_uninstallation_waits_for_no_installation(dialect: Dialect) -> Result<()> {
    let mut stage = Stage::of(dialect, "")?;
    stage.windrow("install", 0)?;
    let control = &stage.control;
    let mut installing = stage.holding(&match dialect {
        Dialect::Postgres => {
            format!("SELECT pg_advisory_lock(hashtext('windrow install'), hashtext('{control}'))")
        }
        Dialect::Mysql | Dialect::Mariadb => format!(
            "SELECT GET_LOCK(CONCAT('windrow install ', LEFT(SHA2('{control}', 256), 40)), 0)"
        ),
    })?;
    let told = stage.windrow("uninstall --yes", 2)?;
    let said = format!("another installation or uninstallation of `{control}` is in progress");
    ensure!(told.contains(&said), "{told}");
    ensure!(stage.roles() == 3, "{told}");
    stage.windrow("uninstall", 0)?;
    installing.execute(match dialect {
        Dialect::Postgres => "SELECT pg_advisory_unlock_all()",
        Dialect::Mysql | Dialect::Mariadb => "DO RELEASE_ALL_LOCKS()",
    })?;
    stage.windrow("uninstall --yes", 0)?;
    ensure!(stage.roles() == 0);
    Ok(())
}

/// What stands in front of two servers.
struct Balancer {
    port: u16,
    /// How many of the next connections go to the other server.
    astray: Arc<AtomicU32>,
}

impl Balancer {
    fn start(server: u16, other: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let balancer = Self {
            port: listener.local_addr()?.port(),
            astray: Arc::default(),
        };
        let astray = Arc::clone(&balancer.astray);
        thread::spawn(move || -> Result<()> {
            for near in listener.incoming() {
                let less = |left: u32| left.checked_sub(1);
                let is_astray = astray.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
                let port = if is_astray.is_ok() { other } else { server };
                let (near, far) = (near?, TcpStream::connect(("127.0.0.1", port))?);
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
                    thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Write);
                    });
                }
            }
            Ok(())
        });
        Ok(balancer)
    }
}

/// Behind a load balancer, another connection may be one to another server.
fn what_an_interrupt_does_not_reach_is_told(flavour: Flavour) -> Result<()> {
    let mut stage = Stage::of(dialect_of(flavour), "")?;
    stage.windrow("install", 0)?;
    stage.windrow("arm", 0)?;
    let other = match flavour {
        Flavour::Mysql => Flavour::Mariadb,
        Flavour::Mariadb => Flavour::Mysql,
    };
    let port = |flavour| server(dialect_of(flavour)).port();
    let balancer = Balancer::start(port(flavour), port(other))?;
    let url = stage.database.superuser();
    let url = url.replace(
        &format!(":{}/", port(flavour)),
        &format!(":{}/", balancer.port),
    );
    let asleep = stage.runs_sleep();
    let mut interrupted = |astray| -> Result<Child> {
        balancer.astray.store(0, Ordering::SeqCst);
        let mut command = stage.command(&stage.path(), "run --no-estimate");
        let command = command.env("WINDROW_URL", &url);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        until("a run that sleeps", || {
            Ok(stage.database.number(&asleep) > 0)
        })?;
        balancer.astray.store(astray, Ordering::SeqCst);
        interrupt(&child)?;
        Ok(child)
    };
    // The next one is right.
    let child = interrupted(2)?;
    let told = said("run", &child.wait_with_output()?, 2)?;
    ensure!(told.contains("interrupted while running"), "{told}");
    ensure!(!told.contains("not cancelled"), "{told}");
    // None is.
    let mut child = interrupted(u32::MAX)?;
    let stderr = child.stderr.take().context("no stderr")?;
    let mut lines = BufReader::new(stderr).lines();
    let warning = loop {
        let line = lines.next().context("nothing is said")??;
        if line.contains("not cancelled") {
            break line;
        }
    };
    ensure!(
        warning.contains("another server answers at this address; `KILL QUERY "),
        "{warning}"
    );
    // What it says helps.
    let kill = warning.split('`').nth(1).context("no statement")?;
    stage.database.execute(kill);
    let rest: Vec<String> = lines.collect::<std::io::Result<_>>()?;
    let told = rest.join("\n");
    ensure!(told.contains("interrupted while running"), "{told}");
    ensure!(child.wait()?.code() == Some(2), "{told}");
    Ok(())
}

/// Does what Ctrl-C does.
fn interrupt(child: &Child) -> Result<()> {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status()?;
    ensure!(sent.success());
    Ok(())
}

const PARTITIONED: &str = r#"
name     = "NAME"
database = "DATABASE"

[tables]
run = { key = "id bigint" }

[rules.history]
strategy  = "partition"
root      = "run"
time      = "ended"
retention = { default = "30d" }
"#;

/// To put them back waits for other runs, and may take long: whoever interrupts a dry run has nothing to wait for.
fn rows_of_partitions_go_back_where_a_run_took_them_out(flavour: Flavour) -> Result<()> {
    let tables = "CREATE TABLE run (id bigint, ended TIME, PRIMARY KEY (id, ended)) PARTITION BY RANGE COLUMNS (ended)
             (PARTITION old VALUES LESS THAN ('2025-01-01'), PARTITION future VALUES LESS THAN (MAXVALUE));
         INSERT INTO run VALUES (1, '2024-01-01')";
    let dialect = dialect_of(flavour);
    // Only such tables can be exchanged.
    connect(&server(dialect).url("", "root")).execute("SET GLOBAL innodb_file_per_table = ON")?;
    let mut stage = Stage::new(dialect, tables, PARTITIONED)?;
    stage.windrow("install", 0)?;
    stage.windrow("arm", 0)?;
    let asleep = stage.runs_sleep();
    for (words, goes_back) in [
        ("run --no-estimate --dry-run", false),
        ("run --no-estimate", true),
    ] {
        let mut child = stage.spawn(words)?;
        until("a run that sleeps", || {
            ensure!(child.try_wait()?.is_none(), "{words}: it ended");
            Ok(stage.database.number(&asleep) > 0)
        })?;
        interrupt(&child)?;
        let told = said(words, &child.wait_with_output()?, 2)?;
        ensure!(told.contains("interrupted while running"), "{told}");
        ensure!(
            told.contains("rows of partitions that are out") == goes_back,
            "{words}: {told}"
        );
    }
    Ok(())
}

/// One that is made anew is gone for a moment: an installation that begins where another one was killed then finds none disabled.
fn an_event_that_somebody_disabled_is_never_gone(flavour: Flavour) -> Result<()> {
    let mut stage = Stage::of(dialect_of(flavour), "")?;
    stage.windrow("install", 0)?;
    let control = stage.control.clone();
    let event = format!(
        "SELECT CONCAT_WS(' ', status, interval_value, interval_field, created) FROM information_schema.events
         WHERE event_schema = '{control}'"
    );
    stage
        .database
        .execute(&format!("ALTER EVENT {control}.run DISABLE"));
    let before = stage.database.texts(&event).concat();
    ensure!(before.starts_with("DISABLED 10 MINUTE "), "{before}");
    stage.database.number("SELECT SLEEP(1.1)");
    stage.write(&SPEC.replace("*/10", "*/20"))?;
    let told = stage.windrow("install", 0)?;
    ensure!(told.contains("stays disabled"), "{told}");
    let after = stage.database.texts(&event).concat();
    ensure!(after == before.replace(" 10 ", " 20 "), "{before}: {after}");
    Ok(())
}

/// The next installation finds nothing armed, and has nothing to say.
fn what_broke_off_says_that_it_disarmed(dialect: Dialect) -> Result<()> {
    let stage = Stage::of(dialect, "")?;
    stage.windrow("install", 0)?;
    stage.windrow("arm", 0)?;
    let said = "it was armed, and is not any more";
    let told = stage.windrow("install", 0)?;
    ensure!(!told.contains(said), "{told}");
    // Another root table, whose index waits for who is there.
    let lines = SPEC.lines().filter(|line| !line.starts_with("step "));
    let spec: Vec<&str> = lines.collect();
    let spec = spec.join("\n").replace("run  = {", "job  = {");
    stage.write(&spec.replace("\"run\"", "\"job\""))?;
    let mut open = stage.holding("INSERT INTO job (id) VALUES (1)")?;
    let told = stage.windrow("install", 2)?;
    ensure!(
        told.contains(said) && told.contains("20_indexes.sql"),
        "{told}"
    );
    open.execute("COMMIT")?;
    let told = stage.windrow("install", 0)?;
    ensure!(!told.contains(said), "{told}");
    Ok(())
}
