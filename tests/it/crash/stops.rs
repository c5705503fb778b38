//! A stop between any two statements of a run: there its session, its server, its client or its network ends.
//!
//! `WINDROW_TEST_STOPS=all` tries every stop in every way, `each` in two ways, other ones each time; otherwise it is a sample.

use std::env;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::json;
use windrow::dialect::Dialect;

use super::{kill, reconnect, seed, until_unlocked};
use crate::support::history::{Client, History, Server, joined, until};
use crate::support::installation::{on_every_server, violations};

on_every_server!(what_ends_between_any_two_statements_is_whole_and_the_next_run_finishes);

/// How a run ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// Somebody ends the session.
    Session,
    /// kill -9 of the server.
    Server,
    /// kill -9 of the session's process: PostgreSQL ends all others as well.
    Process,
    /// kill -9 of windrow: the session goes on, and cannot answer.
    Client,
    /// The connection of windrow is cut.
    Reset,
    /// Nothing arrives any more, in either direction.
    Hole,
}

/// How many rounds a history is good for: those that the session survives take families away.
const ROUNDS: usize = 75;

fn what_ends_between_any_two_statements_is_whole_and_the_next_run_finishes(
    dialect: Dialect,
) -> Result<()> {
    let mut server = Server::start(dialect, 600)?;
    let mut other = History::create(&server)?.connect()?;
    let as_of = other.present()?;
    let (result, rule) = other.run_rule(&json!({"as_of": as_of}))?;
    ensure!(result["status"] == "done", "{result}");
    ensure!(rule["families"].as_i64() > Some(300), "{rule}");
    other.check_whole()?;
    let expected = other.digest()?;
    drop(other);

    let seed = seed()?;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut sweep = Sweep::new(&server, &as_of)?;
    let points = sweep.points()?;
    ensure!(points.len() > 60, "only {} stops", points.len());
    let rounds = rounds(dialect, &points, &mut random);
    let mut missed = 0;
    for (number, some) in rounds.chunks(ROUNDS).enumerate() {
        if number > 0 {
            sweep = Sweep::new(&server, &as_of)?;
        }
        for (point, end) in some {
            let context = || format!("{end:?} at stop {point} with the seed {seed}");
            let met = sweep.round(&mut server, *point, *end);
            missed += usize::from(!met.with_context(context)?);
        }
        let whole = sweep.finish(&expected);
        whole.with_context(|| format!("the seed {seed}"))?;
    }
    let total = rounds.len();
    // A session that goes on may have taken the only family that leads there.
    ensure!(
        missed * 10 <= total,
        "{missed} of {total} stops were not met"
    );
    Ok(())
}

/// Which stops are tried, and how.
fn rounds(dialect: Dialect, points: &[usize], random: &mut SmallRng) -> Vec<(usize, End)> {
    let deaths = match dialect {
        Dialect::Postgres => [End::Server, End::Process],
        Dialect::Mysql | Dialect::Mariadb => [End::Server, End::Server],
    };
    let losses = [End::Client, End::Reset, End::Hole];
    let mut rounds = Vec::new();
    let which = env::var("WINDROW_TEST_STOPS").unwrap_or_default();
    if which == "all" || which == "each" {
        // A server takes a second or more to die and come back: every stop sees the end of its session and another one.
        let others = [End::Client, deaths[0], End::Reset, deaths[1], End::Hole];
        let first: usize = random.random_range(0..others.len());
        for (place, point) in points.iter().enumerate() {
            rounds.push((*point, End::Session));
            let one = [others[(first + place) % others.len()]];
            let ends = if which == "all" { &others[..] } else { &one };
            rounds.extend(ends.iter().map(|end| (*point, *end)));
        }
    } else {
        let sample = [[End::Session; 4].as_slice(), &deaths, &losses].concat();
        for end in sample {
            rounds.push((*points.choose(random).expect("a stop"), end));
        }
    }
    rounds.shuffle(random);
    rounds
}

/// A history whose routines stop where they are told to.
struct Sweep {
    history: History,
    client: Client,
    as_of: String,
    folder: tempfile::TempDir,
}

impl Sweep {
    fn new(server: &Server, as_of: &str) -> Result<Self> {
        let history = History::create(server)?;
        let mut client = history.connect()?;
        client.execute(
            "CREATE TABLE W.before_stop (point integer); INSERT INTO W.before_stop VALUES (0);
             CREATE TABLE W.before_trace (point integer PRIMARY KEY)",
        )?;
        client.execute(client.either(
            "CREATE FUNCTION W.before_point(p_point integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 IF (SELECT point FROM W.before_stop) = -1 THEN
                     INSERT INTO W.before_trace VALUES (p_point) ON CONFLICT DO NOTHING;
                 END IF;
                 WHILE (SELECT point FROM W.before_stop) = p_point LOOP
                     PERFORM pg_sleep(0.03);
                 END LOOP;
             END $$",
            "CREATE PROCEDURE W.before_point(IN p_point integer)
             BEGIN
                 DECLARE v_point integer;
                 DECLARE v_slept integer;
                 SELECT s.point INTO v_point FROM W.before_stop AS s;
                 IF v_point = -1 THEN
                     INSERT IGNORE INTO W.before_trace VALUES (p_point);
                 END IF;
                 WHILE v_point = p_point DO
                     SET v_slept = SLEEP(0.03);
                     SELECT s.point INTO v_point FROM W.before_stop AS s;
                 END WHILE;
             END",
        ))?;
        client.set("batch_families", 3)?;
        client.set("run_families", 6)?;
        let call = client.either("PERFORM", "CALL");
        let call = format!("{call} {}.before_point", history.control);
        let run = format!("PROCEDURE {}.run(", history.control);
        let mut last = 0;
        history.install_edited(|file, sql| {
            if file.starts_with("30_") || sql.contains(&run) {
                with_stops(sql, &call, &mut last)
            } else {
                sql.to_owned()
            }
        })?;
        let folder = tempfile::tempdir()?;
        Ok(Self {
            history,
            client,
            as_of: as_of.to_owned(),
            folder,
        })
    }

    fn options(&self) -> serde_json::Value {
        json!({"as_of": self.as_of})
    }

    fn tell(&mut self, point: i64) -> Result<()> {
        self.client
            .execute(&format!("UPDATE W.before_stop SET point = {point}"))
    }

    /// The stops that a run passes, as there are further ones for what seldom happens.
    fn points(&mut self) -> Result<Vec<usize>> {
        self.tell(-1)?;
        let options = self.options();
        let (result, rule) = self.client.run_rule(&options)?;
        ensure!(
            result["status"] == "stopped" && rule["batches"] == 2,
            "{result}"
        );
        self.tell(0)?;
        let points = self
            .client
            .texts("SELECT CONCAT(point) FROM W.before_trace ORDER BY point")?;
        points.iter().map(|point| Ok(point.parse()?)).collect()
    }

    /// Lets a run end at a stop, and looks at what is left. Answers whether it came to the stop.
    fn round(&mut self, server: &mut Server, point: usize, end: End) -> Result<bool> {
        self.tell(point.try_into()?)?;
        let met = if matches!(end, End::Session | End::Server | End::Process) {
            let runner = self.history.run_aside(self.options());
            let session = self.until_stopped(|| Ok(runner.is_finished()))?;
            if let Some(session) = session {
                match end {
                    End::Session => self.client.terminate(session)?,
                    End::Process => {
                        kill(session)?;
                        until("the server ends all other sessions", || {
                            Ok(self.client.execute("SELECT 1").is_err())
                        })?;
                    }
                    _ => {
                        server.kill()?;
                        server.restart()?;
                    }
                }
                ensure!(joined(runner).is_err(), "the run survived");
                self.client = reconnect(&self.history)?;
            }
            session.is_some()
        } else {
            let proxy = Proxy::start(self.history.port()?)?;
            let mut windrow = self.windrow(proxy.port)?;
            let session = self.until_stopped(|| Ok(windrow.try_wait()?.is_some()))?;
            if session.is_some() {
                match end {
                    End::Reset => {
                        proxy.cut();
                        let status = windrow.wait()?;
                        ensure!(status.code() == Some(2), "windrow said {status}");
                    }
                    End::Hole => proxy.swallow(),
                    _ => windrow.kill()?,
                }
            }
            self.tell(0)?;
            self.until_idle()?;
            // In a hole, windrow hears of nothing.
            let _ = windrow.kill();
            windrow.wait()?;
            session.is_some()
        };
        self.tell(0)?;
        self.until_idle()?;
        until_unlocked(&mut self.client)?;
        self.client.check_whole()?;
        for table in ["t_ds_workflow_instance", "t_ds_task_instance"] {
            self.client
                .rows(&format!("SELECT id FROM {table} FOR UPDATE NOWAIT"))?;
        }
        let statuses = self.client.statuses()?;
        let last = statuses.len().saturating_sub(1);
        for (place, status) in statuses.iter().enumerate() {
            let known = match status.as_str() {
                "stopped" | "done" | "crashed" => true,
                "running" => place == last,
                // What the server says to a session that ends can still be written down by MariaDB.
                "cancelled" | "failed" => end == End::Session || place < last,
                _ => false,
            };
            ensure!(known, "{statuses:?}");
        }
        Ok(met)
    }

    /// Waits until a session is at the stop and answers which one, or nothing if the run ends before.
    fn until_stopped(&mut self, mut ended: impl FnMut() -> Result<bool>) -> Result<Option<i64>> {
        let sql = self.client.either(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'".to_owned(),
            format!("SELECT id FROM information_schema.processlist WHERE {} AND state = 'User sleep'", self.here()),
        );
        let mut found = None;
        until("a session is at the stop", || {
            let over = ended()?;
            let rows = self.client.rows(&sql)?;
            if let Some(row) = rows.first() {
                found = Some(row[0].as_deref().context("a number")?.parse()?);
            }
            Ok(over || found.is_some())
        })?;
        Ok(found)
    }

    /// A session's database is that of the routine in which it is (MySQL and MariaDB).
    fn here(&self) -> String {
        format!("db IN (DATABASE(), '{}')", self.history.control)
    }

    /// Waits until no other session does anything.
    fn until_idle(&mut self) -> Result<()> {
        let sql = self.client.either(
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'".to_owned(),
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE {} AND id <> CONNECTION_ID() AND command <> 'Sleep'", self.here()),
        );
        until("all other sessions are idle", || {
            Ok(self.client.number(&sql)? == 0)
        })
    }

    /// `windrow run`, by way of a port.
    fn windrow(&self, port: u16) -> Result<Child> {
        let spec = self.folder.path().join("spec.toml");
        self.history.write_spec(&spec)?;
        Ok(Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg("run")
            .arg(Path::new(&spec))
            .args(["--no-estimate", "--as-of", &self.as_of])
            .args(["--url", &self.history.url_at(port)?])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?)
    }

    /// The next run finishes what an undisturbed one would have deleted, and nothing is found fault with.
    fn finish(&mut self, expected: &[String]) -> Result<()> {
        self.client.execute(self.client.either(
            "DROP TABLE W.before_stop, W.before_trace; DROP FUNCTION W.before_point(integer)",
            "DROP TABLE W.before_stop, W.before_trace; DROP PROCEDURE W.before_point",
        ))?;
        self.history.install()?;
        self.client.execute("CALL W.arm()")?;
        self.client.set("run_families", 10_000)?;
        self.client.set("batch_families", 200)?;
        let options = self.options();
        let result = self.client.run(&options)?;
        ensure!(result["status"] == "done", "{result}");
        ensure!(
            self.client.digest()? == expected,
            "another state than undisturbed"
        );
        self.client.check_whole()?;
        let (result, rule) = self.client.run_rule(&options)?;
        ensure!(result["status"] == "done" && rule["rows"] == 0, "{result}");
        let document = self.client.call("verify", &json!({}))?;
        let wrong = violations(&document);
        ensure!(wrong.is_empty(), "{wrong:#?}");
        ensure!(self.client.texts("SELECT name FROM W.metrics")?.len() > 10);
        Ok(())
    }
}

/// A routine that calls another one, with a number, between any two statements.
fn with_stops(sql: &str, call: &str, last: &mut usize) -> String {
    if !sql.contains("PROCEDURE") && !sql.contains("LANGUAGE plpgsql") {
        return sql.to_owned();
    }
    let lines: Vec<&str> = sql.lines().collect();
    let mut edited = String::new();
    let (mut inside, mut declaring) = (false, false);
    for (place, line) in lines.iter().enumerate() {
        edited.push_str(line);
        edited.push('\n');
        let trimmed = line.trim();
        match trimmed {
            "DECLARE" => declaring = true,
            "BEGIN" => (inside, declaring) = (true, false),
            _ => (),
        }
        let next = lines[place + 1..]
            .iter()
            .map(|line| line.trim())
            .find(|line| !line.is_empty() && !line.starts_with("--"));
        // The first statement of a transaction says how it is isolated; some ask what the last statement did.
        let bound = ["DECLARE", "SET TRANSACTION", "START TRANSACTION", "GET "];
        let asks = |line: &str| line.contains("ROW_COUNT") || line.contains("FOUND");
        if inside
            && !declaring
            && trimmed.ends_with(';')
            && !trimmed.starts_with("--")
            && !trimmed.starts_with("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, ")
            && next
                .is_some_and(|next| !asks(next) && !bound.iter().any(|word| next.starts_with(word)))
        {
            *last += 1;
            edited.push_str(&format!("{call}({last});\n"));
        }
    }
    edited
}

/// What stands between windrow and a server.
struct Proxy {
    port: u16,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    swallows: Arc<AtomicBool>,
}

impl Proxy {
    fn start(server: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let proxy = Self {
            port: listener.local_addr()?.port(),
            streams: Arc::default(),
            swallows: Arc::default(),
        };
        let streams = Arc::clone(&proxy.streams);
        let swallows = Arc::clone(&proxy.swallows);
        thread::spawn(move || -> Result<()> {
            for near in listener.incoming() {
                let near = near?;
                let far = TcpStream::connect(("127.0.0.1", server))?;
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
                    let swallows = Arc::clone(&swallows);
                    thread::spawn(move || -> Result<()> {
                        let mut bytes = [0; 8192];
                        loop {
                            let count = from.read(&mut bytes)?;
                            let swallow = swallows.load(Ordering::Relaxed);
                            match (count, swallow) {
                                (0, true) => return Ok(()),
                                (0, false) => return Ok(to.shutdown(Shutdown::Write)?),
                                (_, true) => (),
                                (_, false) => to.write_all(&bytes[..count])?,
                            }
                        }
                    });
                }
                let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
                streams.extend([near, far]);
            }
            Ok(())
        });
        Ok(proxy)
    }

    /// Cuts all connections.
    fn cut(&self) {
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in streams.iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets nothing through any more and says so to nobody.
    fn swallow(&self) {
        self.swallows.store(true, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}
