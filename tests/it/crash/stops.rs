//! A stop between any two statements of a run: there its session, its server, its client or its network ends.
//!
//! `make prove` tries each stop in one way, another one each time, with `WINDROW_TEST_STOPS=all` in every way; `make test` a
//! sample.

use std::env;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{kill, reconnect, until_unlocked};
use crate::archive::strategies;
use crate::harness::{count, tests};
use crate::support::effort::{first_seed, is_proof, share};
use crate::support::history::{Client, History, Server, joined};
use crate::support::installation::violations;
use crate::support::patience::until;

tests! {
    every_server: [
        what_ends_between_any_two_statements_is_whole_and_the_next_run_finishes,
    ],
}

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

/// What a run works on, how far a single one goes, and what must hold wherever it ended.
struct Subject {
    name: &'static str,
    /// Makes a database that is large enough for so many rounds.
    create: fn(&Server, rounds: usize) -> Result<History>,
    /// Limits that keep a run short, so that there is something left for the others.
    limits: &'static [(&'static str, i64)],
    /// From when to when `as_of` goes in so many rounds: each finds what has become due since the one before.
    span: fn(now: i64, rounds: usize) -> (i64, i64),
    /// How many stops, besides a tenth of them, nothing due may lead to any more, or not yet.
    spare: usize,
    /// How many rounds one database is good for: those that the session survives take families away.
    rounds: usize,
    /// Tables of which nobody may hold a row.
    free: &'static [&'static str],
    /// Nothing is half gone, and the ledger accounts for what is gone.
    check: fn(&mut Client) -> Result<()>,
    /// All rows that are there.
    digest: fn(&mut Client) -> Result<Vec<String>>,
}

const DAY: i64 = 86_400;

const FAMILIES: Subject = Subject {
    name: "families",
    create: |server, _| History::create(server),
    limits: &[("batch_families", 3), ("run_families", 6)],
    span: |now, _| (now, now),
    spare: 0,
    rounds: 75,
    free: &["t_ds_workflow_instance", "t_ds_task_instance"],
    check: Client::check_whole,
    digest: Client::digest,
};

/// Two workers, each of whose runs finishes what is due.
const WORKERS: Subject = Subject {
    name: "workers",
    create: |server, _| {
        let mut history = History::create(server)?;
        history.graph.workers = 2;
        history.install()?;
        Ok(history)
    },
    limits: &[("batch_families", 3)],
    // The roots end evenly over half a year, and are kept for 31 days.
    span: |now, rounds| (now - 149 * DAY, now - 149 * DAY + 2 * rounds as i64 * DAY),
    spare: 2,
    ..FAMILIES
};

/// Windows, families and single rows of rules of all kinds, with archives.
const STRATEGIES: Subject = Subject {
    name: "strategies",
    create: |server, rounds| strategies::history(server, families(rounds)),
    limits: &[("batch_families", 2), ("batch_rows", 4), ("run_rows", 14)],
    // From February 2020 on; fourteen families are of the same month.
    span: |_, rounds| {
        (
            1_580_500_000,
            1_580_500_000 + (40 + families(rounds) / 14 * 31) * DAY,
        )
    },
    spare: 2,
    rounds: 80,
    free: &strategies::TABLES,
    check: strategies::check_whole,
    digest: strategies::digest,
};

/// How many families of each kind are enough for so many rounds.
fn families(rounds: usize) -> i64 {
    (2 * rounds).max(28) as i64
}

fn what_ends_between_any_two_statements_is_whole_and_the_next_run_finishes(
    dialect: Dialect,
) -> Result<()> {
    let mut server = Server::start(dialect, 600)?;
    let mut undisturbed = History::create(&server)?.connect()?;
    let now = now()?;
    let as_of = instant(&mut undisturbed, now)?;
    let (result, rule) = undisturbed.run_rule(&json!({"as_of": as_of}))?;
    ensure!(result["status"] == "done", "{result}");
    ensure!(rule["families"].as_i64() > Some(300), "{rule}");
    undisturbed.check_whole()?;
    let expected = undisturbed.digest()?;
    drop(undisturbed);
    let expected = |_: &mut Client| Ok(expected.clone());
    // Elsewhere both deaths of a server are the same.
    let deaths = if dialect == Dialect::Postgres { 2 } else { 1 };
    sweep(&mut server, &FAMILIES, now, [3, deaths, 3], expected)?;
    let names: Vec<&str> = share(dialect, [STRATEGIES.name, WORKERS.name]).collect();
    if names.contains(&WORKERS.name) {
        sweep(&mut server, &WORKERS, now, [3, 1, 1], expected)?;
    }
    if names.contains(&STRATEGIES.name) {
        let expected = strategies::expected;
        sweep(&mut server, &STRATEGIES, now, [4, 1, 1], expected)?;
    }
    Ok(())
}

/// Tries the stops of a subject, of which the state at the end is `expected`; `sample` says how many ends of sessions,
/// servers and clients where not all stops are tried.
fn sweep(
    server: &mut Server,
    subject: &'static Subject,
    now: i64,
    sample: [usize; 3],
    expected: impl Fn(&mut Client) -> Result<Vec<String>>,
) -> Result<()> {
    let seed = first_seed();
    let mut random = SmallRng::seed_from_u64(seed);
    let which = env::var("WINDROW_TEST_STOPS");
    let which = which.unwrap_or_else(|_| if is_proof() { "each" } else { "" }.to_owned());
    let size = match which.as_str() {
        "all" | "each" => subject.rounds,
        _ => sample.iter().sum(),
    };
    let span = (subject.span)(now, size);
    let mut sweep = Sweep::new(server, subject, size, span)?;
    let expected = expected(&mut sweep.client)?;
    let stops = sweep.stops()?;
    ensure!(stops.len() > 60, "only {} stops", stops.len());
    let rounds = rounds(server.dialect(), &stops, &which, sample, &mut random);
    let mut missed = 0;
    for (number, some) in rounds.chunks(size).enumerate() {
        if number > 0 {
            sweep = Sweep::new(server, subject, size, span)?;
        }
        for (place, (stop, end)) in some.iter().enumerate() {
            let name = subject.name;
            let context = || format!("{name}: {end:?} at stop {stop} with the seed {seed}");
            sweep.become_due((place + 1) as f64 / some.len() as f64)?;
            let met = sweep.round(server, *stop, *end, &mut random);
            missed += usize::from(!met.with_context(context)?);
        }
        let whole = sweep.finish(now, &expected);
        whole.with_context(|| format!("{}: the seed {seed}", subject.name))?;
    }
    let total = rounds.len();
    let server = server.dialect().facts().title;
    count(&format!("stops of {}", subject.name), server, total);
    ensure!(
        missed * 10 <= total + 10 * subject.spare,
        "{missed} of {total} stops were not met"
    );
    Ok(())
}

/// The present second of the Unix clock.
fn now() -> Result<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(now.as_secs().try_into()?)
}

/// Overrides limits of every rule that has them.
fn limit(client: &mut Client, limits: &[(&str, i64)]) -> Result<()> {
    for (name, value) in limits {
        let rules = format!("SELECT rule FROM W.settings WHERE name = '{name}'");
        for rule in client.texts(&rules)? {
            let setting = json!({"rule": rule, "name": name, "value": value});
            client.call("set_setting", &setting)?;
        }
    }
    Ok(())
}

/// A second of the Unix clock, as an option says it.
fn instant(client: &mut Client, second: i64) -> Result<String> {
    let sql = client.either(
        format!("SELECT to_timestamp({second})::text"),
        format!("SELECT DATE_FORMAT('1970-01-01' + INTERVAL {second} SECOND, '%Y-%m-%dT%TZ')"),
    );
    Ok(client.texts(&sql)?.remove(0))
}

/// Which stops are tried, and how.
fn rounds(
    dialect: Dialect,
    stops: &[usize],
    which: &str,
    sample: [usize; 3],
    random: &mut SmallRng,
) -> Vec<(usize, End)> {
    let deaths = match dialect {
        Dialect::Postgres => [End::Server, End::Process],
        Dialect::Mysql | Dialect::Mariadb => [End::Server, End::Server],
    };
    let losses = [End::Client, End::Reset, End::Hole];
    let mut rounds = Vec::new();
    if which == "all" || which == "each" {
        // A server takes a second or more to die and come back.
        let [one, other] = deaths;
        let ends = [End::Session, End::Client, one, End::Reset, other, End::Hole];
        let first: usize = random.random_range(0..ends.len());
        for (place, stop) in stops.iter().enumerate() {
            let one = [ends[(first + place) % ends.len()]];
            let ends = if which == "all" { &ends[..] } else { &one };
            rounds.extend(ends.iter().map(|end| (*stop, *end)));
        }
    } else {
        let ends = [[End::Session; 8].as_slice(), &deaths, &losses];
        for (ends, count) in ends.iter().zip(sample) {
            for end in ends.choose_multiple(random, count) {
                rounds.push((*stops.choose(random).expect("a stop"), *end));
            }
        }
    }
    rounds.shuffle(random);
    rounds
}

/// A subject whose routines stop where they are told to.
struct Sweep {
    subject: &'static Subject,
    history: History,
    client: Client,
    span: (i64, i64),
    as_of: String,
    /// The rule of each stop, where it has one, counted from stop 1.
    rules: Vec<Option<String>>,
    folder: tempfile::TempDir,
}

impl Sweep {
    fn new(
        server: &Server,
        subject: &'static Subject,
        rounds: usize,
        span: (i64, i64),
    ) -> Result<Self> {
        let history = (subject.create)(server, rounds)?;
        let mut client = history.connect()?;
        client.execute(
            "CREATE TABLE W.before_stop (point integer, spared bigint); INSERT INTO W.before_stop VALUES (0, 0);
             CREATE TABLE W.before_trace (point integer PRIMARY KEY)",
        )?;
        client.execute(client.either(
            "CREATE FUNCTION W.before_point(p_point integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 IF (SELECT point FROM W.before_stop) = -1 THEN
                     INSERT INTO W.before_trace VALUES (p_point) ON CONFLICT DO NOTHING;
                 END IF;
                 WHILE (SELECT point FROM W.before_stop WHERE spared <> pg_backend_pid()) = p_point LOOP
                     PERFORM pg_sleep(0.03);
                 END LOOP;
             END $$",
            "CREATE PROCEDURE W.before_point(IN p_point integer)
             BEGIN
                 DECLARE v_point integer;
                 DECLARE v_slept integer;
                 SELECT IF(s.spared = CONNECTION_ID(), 0, s.point) INTO v_point FROM W.before_stop AS s;
                 IF v_point = -1 THEN
                     INSERT IGNORE INTO W.before_trace VALUES (p_point);
                 END IF;
                 WHILE v_point = p_point DO
                     SET v_slept = SLEEP(0.03);
                     SELECT s.point INTO v_point FROM W.before_stop AS s;
                 END WHILE;
             END",
        ))?;
        limit(&mut client, subject.limits)?;
        let call = client.either("PERFORM", "CALL");
        let call = format!("{call} {}.before_point", history.control);
        let run = format!("PROCEDURE {}.run(", history.control);
        let (mut last, mut rules) = (0, Vec::new());
        history.install_some(|file, sql| {
            is_stopped(file).then(|| {
                let rule = file.strip_prefix("30_");
                if file.starts_with("4") && !sql.contains(&run) {
                    return sql.to_owned();
                }
                let edited = with_stops(sql, &call, &mut last);
                rules.resize(last, rule.map(|name| name.replace(".sql", "")));
                edited
            })
        })?;
        let folder = tempfile::tempdir()?;
        let mut sweep = Self {
            subject,
            history,
            client,
            span,
            as_of: String::new(),
            rules,
            folder,
        };
        sweep.become_due(0.0)?;
        Ok(sweep)
    }

    /// Goes on in the span; an eighth of it is left to the search for stops.
    fn become_due(&mut self, part: f64) -> Result<()> {
        let (from, to) = self.span;
        let second = from + ((to - from) as f64 * (1.0 + 7.0 * part) / 8.0) as i64;
        self.as_of = instant(&mut self.client, second)?;
        Ok(())
    }

    /// What a run to a stop is told: only the rule that the stop is of.
    fn options(&self, stop: usize) -> Value {
        let mut options = json!({"as_of": self.as_of});
        if let Some(rule) = &self.rules[stop - 1] {
            options["rule"] = json!(rule);
        }
        if self.history.graph.workers > 1 {
            options["worker"] = json!(2);
        }
        options
    }

    fn tell(&mut self, point: i64) -> Result<()> {
        self.client
            .execute(&format!("UPDATE W.before_stop SET point = {point}"))
    }

    /// The stops that a run passes, as there are further ones for what seldom happens.
    fn stops(&mut self) -> Result<Vec<usize>> {
        self.tell(-1)?;
        let result = self.client.run(&json!({"as_of": self.as_of}))?;
        for rule in result["rules"].as_array().context("rules")? {
            ensure!(rule["batches"].as_i64() > Some(1), "{result}");
        }
        self.tell(0)?;
        let stops = self
            .client
            .texts("SELECT CONCAT(point) FROM W.before_trace ORDER BY point")?;
        stops.iter().map(|stop| Ok(stop.parse()?)).collect()
    }

    /// Lets a run end at a stop, and looks at what is left. Answers whether it came to the stop.
    fn round(
        &mut self,
        server: &mut Server,
        stop: usize,
        end: End,
        random: &mut SmallRng,
    ) -> Result<bool> {
        self.tell(stop.try_into()?)?;
        // As in the run that told the stops, the first batch is counted before it goes.
        self.client.execute("UPDATE W.run_rule SET weigh = 1")?;
        let mut beside = None;
        let met = if matches!(end, End::Session | End::Server | End::Process) {
            let runner = self.history.run_aside(self.options(stop));
            let session = self.until_stopped(|| Ok(runner.is_finished()))?;
            if let Some(session) = session {
                beside = self.beside(stop, random)?;
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
            let mut windrow = self.windrow(proxy.port, stop)?;
            let session = self.until_stopped(|| Ok(windrow.try_wait()?.is_some()))?;
            if session.is_some() {
                beside = self.beside(stop, random)?;
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
        if let Some(beside) = beside {
            let answer = joined(beside);
            if !matches!(end, End::Server | End::Process) {
                let status = answer?["status"].clone();
                ensure!(status == "done" || status == "stopped", "beside: {status}");
            }
        }
        self.tell(0)?;
        self.until_idle()?;
        until_unlocked(&mut self.client)?;
        (self.subject.check)(&mut self.client)?;
        for table in self.subject.free {
            self.client
                .rows(&format!("SELECT 1 FROM {table} FOR UPDATE NOWAIT"))?;
        }
        let statuses = self.client.statuses()?;
        // The runs of this round: that of another worker may have begun after the one that ended.
        let workers = usize::try_from(self.history.graph.workers)?;
        let last = statuses.len().saturating_sub(workers);
        for (place, status) in statuses.iter().enumerate() {
            let known = match status.as_str() {
                "stopped" | "done" | "crashed" => true,
                "running" => place >= last,
                // What the server says to a session that ends can still be written down by MariaDB.
                "cancelled" | "failed" => end == End::Session || place < last,
                _ => false,
            };
            ensure!(known, "{statuses:?}");
        }
        Ok(met)
    }

    /// Where there are workers, another one starts that does not stop, and is somewhere by now.
    fn beside(
        &mut self,
        stop: usize,
        random: &mut SmallRng,
    ) -> Result<Option<JoinHandle<Result<Value>>>> {
        if self.history.graph.workers == 1 {
            return Ok(None);
        }
        let mut options = self.options(stop);
        options["worker"] = json!(1);
        let mut client = self.history.connect()?;
        let session = client.session.session()?;
        self.client
            .execute(&format!("UPDATE W.before_stop SET spared = {session}"))?;
        let runner = thread::spawn(move || client.run(&options));
        thread::sleep(Duration::from_millis(random.random_range(0..150)));
        Ok(Some(runner))
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
    fn windrow(&self, port: u16, stop: usize) -> Result<Child> {
        let spec = self.folder.path().join("spec.toml");
        self.history.write_spec(&spec)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
        command
            .args(["run", "--no-estimate", "--as-of", &self.as_of])
            .args(["--url", &self.history.url_at(port)?])
            .arg(&spec);
        let options = self.options(stop);
        for name in ["rule", "worker"] {
            if let Some(value) = options.get(name) {
                let value = value.to_string();
                command.args([&format!("--{name}"), value.trim_matches('"')]);
            }
        }
        Ok(command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?)
    }

    /// The next run finishes what an undisturbed one would have deleted, and nothing is found fault with.
    fn finish(&mut self, now: i64, expected: &[String]) -> Result<()> {
        self.client.execute(self.client.either(
            "DROP TABLE W.before_stop, W.before_trace; DROP FUNCTION W.before_point(integer)",
            "DROP TABLE W.before_stop, W.before_trace; DROP PROCEDURE W.before_point",
        ))?;
        self.history
            .install_some(|file, sql| is_stopped(file).then(|| sql.to_owned()))?;
        self.client.execute("CALL W.arm()")?;
        self.client.execute("DELETE FROM W.setting")?;
        limit(
            &mut self.client,
            &[("batch_families", 200), ("batch_rows", 200)],
        )?;
        let options = json!({"as_of": instant(&mut self.client, now)?});
        let result = self.client.run(&options)?;
        ensure!(result["status"] == "done", "{result}");
        ensure!(
            (self.subject.digest)(&mut self.client)? == expected,
            "another state than undisturbed"
        );
        (self.subject.check)(&mut self.client)?;
        let result = self.client.run(&options)?;
        ensure!(result["status"] == "done", "{result}");
        for rule in result["rules"].as_array().context("rules")? {
            ensure!(rule["rows"] == 0, "{result}");
        }
        let document = self.client.call("verify", &json!({}))?;
        let wrong = violations(&document);
        ensure!(wrong.is_empty(), "{wrong:#?}");
        ensure!(self.client.texts("SELECT name FROM W.metrics")?.len() > 10);
        Ok(())
    }
}

/// Whether routines of a file are given stops: those of the rules, of the strategies that the kernel has, and run().
fn is_stopped(file: &str) -> bool {
    ["11_", "30_", "38_", "39_", "40_", "41_"]
        .iter()
        .any(|stage| file.starts_with(stage))
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
