//! docs/scale.md: the steps that make a partitioned table of a plain one, as the page has them, on every server that is here, while
//! writers insert and delete. `WINDROW_TEST_ROWS` says how many rows the table has; then the server writes to disk as one in service
//! does, and each statement is printed with the time that it took and the longest wait of a writer meanwhile.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use windrow::dialect::Dialect;
use windrow::failure::is_lock_timeout;
use windrow::sandbox::mysql::{self, Flavour, Mysql};
use windrow::sandbox::{self, Postgres, Settings};

use crate::harness::{aside, tests};
use crate::support::effort::{ends, rows};
use crate::support::installation::{Session, connect, dialect_of, numbers};
use crate::support::patience::until;
use crate::tidy::section;

tests! {
    every_server: [
        a_plain_table_becomes_a_partitioned_one_beside_writers,
    ],
}

const PAGE: &str = include_str!("../../docs/scale.md");

/// The rows of the plain table, unless the environment says how many.
const FEW: i64 = 3_000;

/// At most so many at once, so that no transaction of the preparation is a big one.
const CHUNK: i64 = 500_000;

/// The dates of the page, and how many days they are from today in the test: the history ends 120 days ago, the partition after it is
/// younger than the retention of 90 days, and the last one is that of today.
const DATES: [(&str, i64); 3] = [
    ("2026-12-01", -120),
    ("2027-01-01", -60),
    ("2027-02-01", 30),
];

/// What the writers do, and how long they wait.
#[derive(Default)]
struct Clock {
    /// How many days ago the application's rows are from.
    days_ago: AtomicI64,
    ended: AtomicBool,
    /// The longest time that a statement of a writer has taken, in microseconds.
    longest: AtomicU64,
    done: [AtomicI64; WRITERS],
}

const WRITERS: usize = 3;

/// What a writer wrote and did not delete, and how many rows of the history it deleted.
type Written = (BTreeSet<String>, i64);

fn a_plain_table_becomes_a_partitioned_one_beside_writers(dialect: Dialect) -> Result<()> {
    if dialect == Dialect::Postgres {
        for (major, bin_dir) in ends(sandbox::installed()) {
            let memory = ("shared_buffers".to_owned(), "2GB".to_owned());
            let server = Postgres::start(&Settings {
                bin_dir: Some(bin_dir),
                durable: rows().is_some(),
                extra: rows().map(|_| memory).into_iter().collect(),
                ..Settings::default()
            })?;
            let url = server.url("postgres", "postgres");
            convert(dialect, &url).with_context(|| format!("on PostgreSQL {major}"))?;
            drop_by_windrow(&url).with_context(|| format!("on PostgreSQL {major}"))?;
        }
        return Ok(());
    }
    let servers = mysql::installed().into_iter();
    for found in servers.filter(|found| dialect_of(found.flavour) == dialect) {
        let server = Mysql::start(&mysql::Settings {
            bin_dir: Some(found.bin_dir),
            durable: rows().is_some(),
            extra: settings(found.flavour),
            ..mysql::Settings::new(found.flavour)
        })?;
        connect(&server.url("mysql", "root")).execute("CREATE DATABASE app")?;
        convert(dialect, &server.url("app", "root"))
            .with_context(|| format!("on {} {:?}", found.flavour.title(), found.version))?;
    }
    Ok(())
}

/// A table has a file of its own, without which it cannot become a partition. A big one has memory.
fn settings(flavour: Flavour) -> Vec<(String, String)> {
    let mut settings = vec![("innodb_file_per_table", "ON")];
    if rows().is_some() {
        settings.extend([
            ("innodb_buffer_pool_size", "2G"),
            match flavour {
                Flavour::Mysql => ("innodb_redo_log_capacity", "2G"),
                Flavour::Mariadb => ("innodb_log_file_size", "2G"),
            },
        ]);
    }
    let named = settings.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The blocks of the page for a server, from the plain table on.
fn blocks(dialect: Dialect, version: u32) -> Vec<String> {
    let part = section(PAGE, "From a plain table to a partitioned one");
    let title = format!("\n### {}\n", dialect.facts().title);
    let (_, part) = part.split_once(&title).expect("a part for the server");
    let part = part.split("\n### ").next().unwrap_or_default();
    let blocks = part.split("```sql\n").skip(1).map(|block| {
        let mut sql = block.split("```").next().unwrap_or_default().to_owned();
        // As the page says.
        if dialect == Dialect::Mariadb && version < 110_400 {
            sql = sql.replace(" WITHOUT VALIDATION", "");
        }
        for (date, days) in DATES {
            sql = sql.replace(date, &format!("DAY{days}."));
        }
        sql
    });
    blocks.collect()
}

/// The day so many days from today, as the server counts.
fn day(session: &mut Session, dialect: Dialect, days: i64) -> Result<String> {
    let sql = match dialect {
        Dialect::Postgres => format!("SELECT ((now() AT TIME ZONE 'UTC')::date + ({days}))::text"),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("SELECT CAST(UTC_DATE() + INTERVAL {days} DAY AS char)")
        }
    };
    text(session, &sql)
}

fn text(session: &mut Session, sql: &str) -> Result<String> {
    let rows = session.query(sql, &[]).with_context(|| sql.to_owned())?;
    let value = rows.first().and_then(|row| row[0].clone());
    value.with_context(|| format!("no answer: {sql}"))
}

fn number(session: &mut Session, sql: &str) -> Result<i64> {
    Ok(text(session, sql)?.parse()?)
}

/// Goes through the page beside writers, and accounts for all rows.
fn convert(dialect: Dialect, url: &str) -> Result<()> {
    let mut session = connect(url);
    let version = session.server()?.version_num;
    let mut steps = blocks(dialect, version);
    for (_, days) in DATES {
        let day = day(&mut session, dialect, days)?;
        for sql in &mut steps {
            *sql = sql.replace(&format!("DAY{days}."), &day);
        }
    }
    ensure!(steps.len() > 4, "the page has {} steps", steps.len());
    perform(&mut session, dialect, &steps.remove(0))?;
    fill(&mut session, dialect)?;
    let before = number(&mut session, "SELECT COUNT(*) FROM event_log")?;
    let clock = Clock::default();
    clock.days_ago.store(121, Ordering::Relaxed);
    let written = thread::scope(|scope| -> Result<Vec<Written>> {
        let writers: Vec<_> = (0..WRITERS)
            .map(|which| {
                let clock = &clock;
                scope.spawn(move || write(which, dialect, url, clock))
            })
            .collect();
        let walked = walk(&mut session, dialect, &steps, &clock);
        clock.ended.store(true, Ordering::Relaxed);
        let written = writers
            .into_iter()
            .map(|writer| writer.join().expect("no panic"));
        let written = written.collect::<Result<_>>()?;
        walked.map(|()| written)
    })?;
    account(&mut session, dialect, before, &written)
}

/// Rows of the history, oldest first.
fn fill(session: &mut Session, dialect: Dialect) -> Result<()> {
    let all = rows().unwrap_or(FEW);
    if dialect != Dialect::Postgres {
        session.execute("SET sql_log_bin = 0")?;
    }
    let a_day = all / 1000 + 1;
    let mut done = 0;
    while done < all {
        let some = CHUNK.min(all - done);
        let days = match dialect {
            Dialect::Postgres => format!("130 + ({all} - {done} - n) / {a_day}"),
            Dialect::Mysql | Dialect::Mariadb => {
                format!("130 + ({all} - {done} - n) DIV {a_day}")
            }
        };
        let time = match dialect {
            Dialect::Postgres => format!("now() - make_interval(days => ({days})::integer)"),
            Dialect::Mysql | Dialect::Mariadb => {
                format!("UTC_TIMESTAMP() - INTERVAL {days} DAY")
            }
        };
        session.execute(&format!(
            "INSERT INTO event_log (logged_at, message)
             SELECT {time}, CONCAT('history ', {done} + n, ' ', REPEAT('x', 80)) FROM {}",
            numbers(dialect, some)
        ))?;
        done += some;
    }
    if dialect != Dialect::Postgres {
        session.execute("SET sql_log_bin = 1")?;
    }
    Ok(())
}

/// Every step, between which all writers get forward.
fn walk(session: &mut Session, dialect: Dialect, steps: &[String], clock: &Clock) -> Result<()> {
    for sql in steps {
        get_forward(clock)?;
        clock.longest.store(0, Ordering::Relaxed);
        let began = Instant::now();
        // As the page says: what does not get its lock is done again.
        until(sql, || match perform(session, dialect, sql) {
            Err(error) if is_lock_timeout(&error) => {
                session.execute(match dialect {
                    Dialect::Postgres => "ROLLBACK",
                    Dialect::Mysql | Dialect::Mariadb => "UNLOCK TABLES",
                })?;
                Ok(false)
            }
            done => done.with_context(|| sql.clone()).map(|()| true),
        })?;
        let took = began.elapsed();
        let switched = ["COMMIT;", "UNLOCK TABLES;"];
        if switched.iter().any(|end| sql.contains(end)) {
            clock.days_ago.store(100, Ordering::Relaxed);
        }
        // Whoever waited has noted it then.
        get_forward(clock)?;
        if rows().is_some() {
            let waited = clock.longest.load(Ordering::Relaxed) as f64 / 1e3;
            let took = took.as_secs_f64() * 1e3;
            let mut lines = sql.lines().filter(|line| !line.starts_with("SET "));
            let first = lines.find(|line| *line != "BEGIN;").unwrap_or_default();
            aside(&format!(
                "{took:>10.1} ms, a writer at most {waited:>9.1} ms: {first}"
            ));
        }
    }
    // The last step made the partition of today.
    clock.days_ago.store(0, Ordering::Relaxed);
    get_forward(clock)
}

/// A block of the page: at once where a script can be a transaction, else one statement after the other. What is counted must not
/// be there.
fn perform(session: &mut Session, dialect: Dialect, sql: &str) -> Result<()> {
    if dialect == Dialect::Postgres {
        return session.execute(sql);
    }
    let statements = sql.split(";\n").map(str::trim);
    for statement in statements.filter(|statement| !statement.is_empty()) {
        if statement.starts_with("SELECT COUNT(*)") {
            let count = number(session, statement)?;
            ensure!(count == 0, "{count} rows: {statement}");
        } else {
            session
                .execute(statement)
                .with_context(|| statement.to_owned())?;
        }
    }
    Ok(())
}

/// Waits until each writer has done something that it began later.
fn get_forward(clock: &Clock) -> Result<()> {
    let seen = || {
        clock
            .done
            .each_ref()
            .map(|done| done.load(Ordering::Relaxed))
    };
    let before = seen();
    until("writers that get forward", || {
        let mut pairs = seen().into_iter().zip(before);
        Ok(clock.ended.load(Ordering::Relaxed) || pairs.all(|(now, before)| now >= before + 3))
    })
}

/// Inserts rows, and deletes some of them and some of the history, until the end. An error ends it: the application must not notice.
fn write(which: usize, dialect: Dialect, url: &str, clock: &Clock) -> Result<Written> {
    let mut session = connect(url);
    let written = (|| {
        let mut kept = BTreeSet::new();
        let mut deleted = 0;
        for turn in 0.. {
            if clock.ended.load(Ordering::Relaxed) {
                break;
            }
            let message = format!("writer {which} {turn}");
            let days = clock.days_ago.load(Ordering::Relaxed);
            let time = match dialect {
                Dialect::Postgres => format!("now() - make_interval(days => {days})"),
                Dialect::Mysql | Dialect::Mariadb => {
                    format!("UTC_TIMESTAMP() - INTERVAL {days} DAY")
                }
            };
            let insert =
                format!("INSERT INTO event_log (logged_at, message) VALUES ({time}, '{message}')");
            let mut id = 0;
            timed(clock, || {
                id = inserted(&mut session, dialect, &insert)?;
                Ok(())
            })?;
            kept.insert(message.clone());
            if turn % 3 == 0 {
                let delete = format!("DELETE FROM event_log WHERE id = {id}");
                timed(clock, || session.execute(&delete))?;
                kept.remove(&message);
            }
            if turn % 5 == 0 && deleted < FEW / 10 {
                let id = 1 + which as i64 + deleted * WRITERS as i64;
                timed(clock, || {
                    session.execute(&format!("DELETE FROM event_log WHERE id = {id}"))
                })?;
                deleted += 1;
            }
            clock.done[which].fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_millis(5));
        }
        Ok((kept, deleted))
    })();
    if written.is_err() {
        clock.ended.store(true, Ordering::Relaxed);
    }
    written
}

/// Inserts a row, and answers its key.
fn inserted(session: &mut Session, dialect: Dialect, insert: &str) -> Result<i64> {
    if dialect == Dialect::Postgres {
        return number(session, &format!("{insert} RETURNING id::text"));
    }
    session.execute(insert)?;
    number(session, "SELECT LAST_INSERT_ID()")
}

fn timed(clock: &Clock, statement: impl FnOnce() -> Result<()>) -> Result<()> {
    let began = Instant::now();
    statement()?;
    let micros = u64::try_from(began.elapsed().as_micros())?;
    clock.longest.fetch_max(micros, Ordering::Relaxed);
    Ok(())
}

/// Every row is there once, in the partition where its time belongs: what the history had, without what was deleted, and what was
/// written.
fn account(
    session: &mut Session,
    dialect: Dialect,
    before: i64,
    written: &[Written],
) -> Result<()> {
    let deleted: i64 = written.iter().map(|(_, deleted)| deleted).sum();
    let history = number(
        session,
        "SELECT COUNT(*) FROM event_log WHERE message LIKE 'history %'",
    )?;
    ensure!(
        history == before - deleted,
        "{history} rows of the history, {before} before, {deleted} deleted"
    );
    let rows = session.query(
        "SELECT message FROM event_log WHERE message LIKE 'writer %'",
        &[],
    )?;
    let count = rows.len();
    let found: BTreeSet<String> = rows.into_iter().flatten().flatten().collect();
    let expected: BTreeSet<String> = written.iter().flat_map(|(kept, _)| kept).cloned().collect();
    ensure!(
        count == found.len() && found == expected,
        "{count} rows of writers, not {}",
        expected.len()
    );
    ensure!(
        number(session, "SELECT COUNT(DISTINCT id) FROM event_log")? == history + count as i64,
        "keys were used twice"
    );
    let (parts, bound) = match dialect {
        Dialect::Postgres => (
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'event_log'::regclass",
            "SELECT count(*) FROM event_log_before_2026_12",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = DATABASE() AND table_name = 'event_log'",
            "SELECT COUNT(*) FROM event_log PARTITION (p_before_2026_12)",
        ),
    };
    ensure!(number(session, parts)? == 3, "not three partitions");
    let old = number(session, bound)?;
    ensure!(
        old >= history && old < history + count as i64,
        "{old} rows in the old partition"
    );
    Ok(())
}

/// windrow takes the table as it is now, and drops what is old enough: the whole history.
fn drop_by_windrow(url: &str) -> Result<()> {
    let mut session = connect(url);
    let kept = number(
        &mut session,
        "SELECT count(*) FROM event_log WHERE tableoid <> 'event_log_before_2026_12'::regclass",
    )?;
    session.execute("CREATE ROLE log_owner NOLOGIN")?;
    for table in [
        "event_log",
        "event_log_before_2026_12",
        "event_log_2026_12",
        "event_log_2027_01",
    ] {
        session.execute(&format!("ALTER TABLE {table} OWNER TO log_owner"))?;
    }
    windrow(url, "install")?;
    session.execute("GRANT log_owner TO windrow_event_log_owner")?;
    windrow(url, "arm")?;
    let began = Instant::now();
    windrow(url, "run")?;
    if rows().is_some() {
        aside(&format!(
            "{:>10.1} ms: windrow run",
            began.elapsed().as_secs_f64() * 1e3
        ));
    }
    let left = session.query("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'event_log'::regclass ORDER BY 1", &[])?;
    let left: Vec<String> = left.into_iter().flatten().flatten().collect();
    ensure!(
        left == ["event_log_2026_12", "event_log_2027_01"],
        "{left:?}"
    );
    let rows = number(&mut session, "SELECT count(*) FROM event_log")?;
    ensure!(rows == kept && kept > 0, "{rows} rows are left of {kept}");
    Ok(())
}

/// A command of the program about the example of docs/partitions.md.
fn windrow(url: &str, command: &str) -> Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args([command, "specs/examples/event-log.toml", "--url", url])
        .output()?;
    ensure!(
        output.status.success(),
        "windrow {command}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
