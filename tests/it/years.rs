//! Ten years of history in one run: what a row costs in each tenth of it, the memory of the program and of the server, and how long others
//! wait. For `make prove`; `WINDROW_TEST_ROWS` says how many rows, else as many as a big installation has. Where the disk gets short,
//! the history ends there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings as MysqlSettings};
use windrow::sandbox::{Postgres, Settings};

use crate::harness::{aside, tests};
use crate::support::effort::rows;
use crate::support::installation::{Session, connect, numbers};

tests! {
    when_asked: [
        ten_years_on_postgres,
        ten_years_on_mariadb,
    ],
}

const SPEC: &str = r#"
name     = "years"
database = "years"

[tables]
run  = { key = "id bigint" }
task = { key = "id bigint", parents = ["run_id -> run.id"] }
note = { key = "id bigint", parents = ["task_id -> task.id"] }

[rules.runs]
strategy  = "end-time"
root      = "run"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;

const SCHEMA: &str = "
CREATE TABLE run (id bigint PRIMARY KEY, state varchar(20) NOT NULL, ended TIME NULL, name varchar(100) NOT NULL);
CREATE TABLE task (id bigint PRIMARY KEY, run_id bigint NOT NULL, command varchar(200) NOT NULL);
CREATE TABLE note (id bigint PRIMARY KEY, task_id bigint NOT NULL, text varchar(200) NOT NULL);
";

const TASKS: i64 = 4;
const NOTES: i64 = 5;
const FAMILY: i64 = 1 + TASKS + TASKS * NOTES;

/// Families that are inserted at once.
const CHUNK: i64 = 10_000;

/// What stays free on the disk, in MiB: the log of a run, and other programs.
const SPARE: u64 = 15_000;

/// How often the progress and the memory are read.
const POLL: Duration = Duration::from_millis(20);

/// What a row of the last tenth may cost beside one of the first.
const STEEPEST: f64 = 1.10;

/// The memory that the program may take, in MB.
const MEMORY: f64 = 50.0;

/// A server that is watched.
struct Watched<'a> {
    dialect: Dialect,
    url: String,
    pid: u32,
    cpu: &'a (dyn Fn() -> f64 + Sync),
}

fn ten_years_on_postgres() -> Result<()> {
    let extra = [
        // So little that changed pages are written out from the first tenth on, as later: the first rows of a run whose pages all
        // fit are cheaper.
        ("shared_buffers", "256MB"),
        ("max_wal_size", "8GB"),
        ("autovacuum", "off"),
    ];
    let server = Postgres::start(&Settings {
        durable: true,
        extra: named(&extra),
        ..Settings::default()
    })?;
    connect(&server.url("postgres", "postgres")).execute("CREATE DATABASE years")?;
    let watched = Watched {
        dialect: Dialect::Postgres,
        url: server.url("years", "postgres"),
        pid: server.pid(),
        cpu: &|| server.cpu_seconds(),
    };
    look(&watched, server.socket_dir(), 100_000_000)
}

fn ten_years_on_mariadb() -> Result<()> {
    let extra = [
        ("innodb_file_per_table", "ON"),
        ("innodb_buffer_pool_size", "2G"),
        ("innodb_log_file_size", "2G"),
    ];
    let server = Mysql::start(&MysqlSettings {
        durable: true,
        extra: named(&extra),
        ..MysqlSettings::new(Flavour::Mariadb)
    })?;
    connect(&server.url("mysql", "root")).execute("CREATE DATABASE years")?;
    let watched = Watched {
        dialect: Dialect::Mariadb,
        url: server.url("years", "root"),
        pid: server.pid(),
        cpu: &|| server.cpu_seconds(),
    };
    look(&watched, server.dir(), 30_000_000)
}

fn named(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let named = settings.iter();
    named
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn look(watched: &Watched, dir: &Path, most: i64) -> Result<()> {
    let spec = Path::new(env!("CARGO_TARGET_TMPDIR")).join("years.toml");
    fs::write(&spec, SPEC)?;
    let mut session = connect(&watched.url);
    let time = match watched.dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    session.execute(&SCHEMA.replace("TIME", time))?;
    let families = fill(
        &mut session,
        watched.dialect,
        dir,
        rows().unwrap_or(most) / FAMILY,
    )?;
    for command in ["install", "arm"] {
        let ended = windrow(&spec, &watched.url, &[command]).spawn()?.wait()?;
        ensure!(ended.success(), "windrow {command}: {ended}");
    }
    if watched.dialect == Dialect::Postgres {
        session.execute("VACUUM (FREEZE, ANALYZE)")?;
        session.execute("CHECKPOINT")?;
    }
    let ended = AtomicBool::new(false);
    let (run, waited) = thread::scope(|scope| {
        let writer = scope.spawn(|| write(&watched.url, families, &ended));
        let run = observe(watched, &mut session, &spec);
        ended.store(true, Ordering::Relaxed);
        (run, writer.join().expect("no panic"))
    });
    let run = run?;
    report(watched, &run, waited?)?;
    ensure!(
        run.rows() == (families * FAMILY) as f64,
        "{} rows of {families} families",
        run.rows()
    );
    ensure!(run.client <= MEMORY, "the program took {} MB", run.client);
    let steepness = run.tenths()[9] / run.tenths()[0];
    ensure!(
        steepness <= STEEPEST,
        "a row of the last tenth costs {steepness:.2} of one of the first: {:?}",
        run.tenths()
    );
    Ok(())
}

/// Families that ended within ten years, the last one a hundred days ago; answers how many there is room for.
fn fill(session: &mut Session, dialect: Dialect, dir: &Path, families: i64) -> Result<i64> {
    let seconds = 3_650 * 86_400 / families.max(1);
    let mut done = 0;
    if dialect != Dialect::Postgres {
        session.execute("SET sql_log_bin = 0")?;
    }
    while done < families {
        let free = free(dir)?;
        if free < SPARE + (done * FAMILY / 4_000) as u64 {
            aside(&format!(
                "{free} MiB are free: the history ends with {} rows",
                done * FAMILY
            ));
            break;
        }
        let some = CHUNK.min(families - done);
        let series = numbers(dialect, some);
        let age = format!("({families} - {done} - n) * {seconds}");
        let ended = match dialect {
            Dialect::Postgres => {
                format!("LOCALTIMESTAMP - interval '100 days' - make_interval(secs => {age})")
            }
            Dialect::Mysql | Dialect::Mariadb => {
                format!("UTC_TIMESTAMP() - INTERVAL 100 DAY - INTERVAL {age} SECOND")
            }
        };
        session.execute(&format!(
            "INSERT INTO run (id, state, ended, name) SELECT {done} + n, 'done', {ended}, CONCAT('nightly load ', n) FROM {series}"
        ))?;
        for task in 1..=TASKS {
            session.execute(&format!(
                "INSERT INTO task (id, run_id, command)
                 SELECT ({done} + n) * {TASKS} + {task} - {TASKS}, {done} + n, CONCAT('python -m load --part ', n, REPEAT('x', 40)) FROM {series}"
            ))?;
        }
        let (first, last) = (done * TASKS + 1, (done + some) * TASKS);
        for note in 1..=NOTES {
            session.execute(&format!(
                "INSERT INTO note (id, task_id, text)
                 SELECT id * {NOTES} + {note} - {NOTES}, id, CONCAT('step {note} of ', id, REPEAT('y', 50)) FROM task WHERE id BETWEEN {first} AND {last}"
            ))?;
        }
        done += some;
    }
    if dialect != Dialect::Postgres {
        session.execute("SET sql_log_bin = 1")?;
    }
    ensure!(done > 0, "the disk has no room for a history");
    Ok(done)
}

/// What is free on the disk of a folder, in MiB.
fn free(dir: &Path) -> Result<u64> {
    let output = Command::new("df")
        .args(["--output=avail", "-BM"])
        .arg(dir)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().nth(1).context("df says nothing")?;
    Ok(line.trim().trim_end_matches('M').parse()?)
}

fn windrow(spec: &Path, url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
    command
        .arg(arguments[0])
        .arg(spec)
        .args(["--url", url, "--quiet"])
        .args(&arguments[1..])
        .stdout(Stdio::null());
    command
}

/// New runs beside it, fifty a second; answers the longest time that one took, in milliseconds.
fn write(url: &str, families: i64, ended: &AtomicBool) -> Result<f64> {
    let mut session = connect(url);
    let mut longest: f64 = 0.0;
    let mut id = families + 1;
    while !ended.load(Ordering::Relaxed) {
        let began = Instant::now();
        session.execute(&format!(
            "INSERT INTO run (id, state, name) VALUES ({id}, 'running', 'live')"
        ))?;
        session.execute(&format!(
            "INSERT INTO task (id, run_id, command) VALUES ({}, {id}, 'live')",
            id * TASKS
        ))?;
        longest = longest.max(began.elapsed().as_secs_f64() * 1e3);
        id += 1;
        sleep(Duration::from_millis(20));
    }
    Ok(longest)
}

/// What a run took.
struct Run {
    /// Rows deleted, with the CPU seconds until then.
    samples: Vec<[f64; 2]>,
    seconds: f64,
    /// The longest time between two commits, in milliseconds.
    longest: f64,
    /// The memory of the program, and what the server took beside what it had, in MB.
    client: f64,
    server: f64,
}

impl Run {
    fn rows(&self) -> f64 {
        self.samples[self.samples.len() - 1][0]
    }

    /// Microseconds of CPU time for a row in each tenth of the run.
    fn tenths(&self) -> [f64; 10] {
        let at = |rows: f64| {
            let next = self.samples.partition_point(|sample| sample[0] < rows);
            let next = next.clamp(1, self.samples.len() - 1);
            let (before, after) = (self.samples[next - 1], self.samples[next]);
            before[1] + (rows - before[0]) / (after[0] - before[0]) * (after[1] - before[1])
        };
        let step = self.rows() / 10.0;
        std::array::from_fn(|tenth| {
            let from = tenth as f64 * step;
            (at(from + step) - at(from)) * 1e6 / step
        })
    }
}

fn observe(watched: &Watched, session: &mut Session, spec: &Path) -> Result<Run> {
    let progress = match watched.dialect {
        Dialect::Postgres => {
            "SELECT deleted_rows::text, extract(epoch FROM updated_at)::text FROM windrow_years.run_rule"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT deleted_rows, UNIX_TIMESTAMP(updated_at) FROM windrow_years.run_rule"
        }
    };
    let (idle, cpu_before) = (memory(watched.pid), (watched.cpu)());
    let mut run = Run {
        samples: vec![[0.0; 2]],
        seconds: 0.0,
        longest: 0.0,
        client: 0.0,
        server: 0.0,
    };
    let began = Instant::now();
    let mut last_commit = None;
    let options = [
        "run",
        "--no-estimate",
        "--run-families",
        "1000000000",
        "--time-budget",
        "12h",
    ];
    let mut program: Child = windrow(spec, &watched.url, &options).spawn()?;
    loop {
        let ended = program.try_wait()?;
        let cpu = (watched.cpu)() - cpu_before;
        run.server = run.server.max(memory(watched.pid) - idle);
        let path = format!("/proc/{}/status", program.id());
        run.client = run
            .client
            .max(megabytes(&path, "VmHWM:").unwrap_or_default());
        if let Some(row) = session.query(progress, &[])?.first() {
            let number = |column: usize| -> Result<f64> {
                Ok(row[column].as_deref().unwrap_or("0").parse()?)
            };
            let (rows, commit) = (number(0)?, number(1)?);
            if rows > run.rows() {
                let since = last_commit.map_or(0.0, |last: f64| (commit - last) * 1e3);
                run.longest = run.longest.max(since);
                last_commit = Some(commit);
                // The time of a session that has ended may be missing.
                let known = run.samples[run.samples.len() - 1][1];
                run.samples.push([rows, cpu.max(known)]);
            }
        }
        if let Some(status) = ended {
            ensure!(status.success(), "windrow run: {status}");
            run.seconds = began.elapsed().as_secs_f64();
            return Ok(run);
        }
        sleep(POLL);
    }
}

/// What a server's processes share with no other, in MB.
fn memory(pid: u32) -> f64 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children
        .split_whitespace()
        .filter_map(|child| child.parse().ok());
    pids.chain([pid])
        .filter_map(|pid: u32| megabytes(&format!("/proc/{pid}/status"), "RssAnon:"))
        .sum()
}

fn megabytes(path: &str, name: &str) -> Option<f64> {
    let status = fs::read_to_string(path).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Says what was measured, and draws it.
fn report(watched: &Watched, run: &Run, waited: f64) -> Result<()> {
    let title = watched.dialect.facts().title;
    let tenths = run.tenths();
    let list: Vec<String> = tenths.iter().map(|cost| format!("{cost:.2}")).collect();
    aside(&format!(
        "{title}: {} rows in {:.0} s; CPU of the server per row by tenth, µs: {}; last against first {:.2}\n\
         longest between two commits {:.0} ms, a writer waited at most {waited:.0} ms; memory: server {:.0} MB, program {:.0} MB",
        run.rows(),
        run.seconds,
        list.join(" "),
        tenths[9] / tenths[0],
        run.longest,
        run.server,
        run.client,
    ));
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("years-{}.svg", watched.dialect.facts().folder));
    fs::write(&path, plot(title, run))?;
    aside(&format!("drawn in {}", path.display()));
    Ok(())
}

/// The cost of a row in each tenth.
fn plot(title: &str, run: &Run) -> String {
    let tenths = run.tenths();
    let most = tenths.iter().copied().fold(0.0, f64::max) * 1.2;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 450 240\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"450\" height=\"240\" fill=\"#fff\"/>\n\
         <text x=\"40\" y=\"20\">{title}: CPU per row, µs, in each tenth of {:.1} million rows</text>\n",
        run.rows() / 1e6
    );
    for (tenth, cost) in tenths.iter().enumerate() {
        let (x, height) = (40 + tenth * 40, cost / most * 170.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"30\" height=\"{height:.1}\" fill=\"#3b6ea5\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"middle\">{cost:.1}</text>\n\
             <text x=\"{}\" y=\"226\" text-anchor=\"middle\">{}</text>",
            210.0 - height,
            x + 15,
            205.0 - height,
            x + 15,
            tenth + 1
        );
    }
    svg.push_str("</svg>\n");
    svg
}
