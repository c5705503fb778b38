//! The same rows of one table deleted by families, by windows of time and by partitions; and what a live load feels of the last.
//!
//! The table is partitioned by week. Families are five rows of one time each. Where rows are deleted one by one, the table is a
//! plain one: in a partitioned one they cost more. What they cost is also what it takes to clear them away: VACUUM on PostgreSQL,
//! the purge threads on MySQL and MariaDB.
//!
//! A session loads its routines and plans their statements once. So its first run, over one family that is older than all others, is
//! told by itself: what it takes does not grow with the rows.

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use windrow::db::{self, Database};
use windrow::dialect::Dialect;

use crate::idle::{installed, numbers};
use crate::observe::on_time;
use crate::plan::{self, PACED, ROUNDS};
use crate::report::Report;
use crate::windows::text;

/// The ways to delete the rows, which are the specs in the folder `partitions`: one by one, and with their partitions.
const ROWS: [&str; 2] = ["families", "windows"];
const PARTITIONS: [&str; 2] = ["counted", "estimated"];

/// The rows of a family.
const FAMILY: u32 = 5;

/// How many weeks of rows are due, behind the day of the oldest family, and how many come after today.
const DUE: i64 = 4;
const YOUNG: i64 = 1;

/// How many rows are due: `WINDROW_BENCH_ROWS`, or a million.
fn rows() -> Result<u32> {
    std::env::var("WINDROW_BENCH_ROWS")
        .map_or(Ok(1_000_000), |number| number.parse())
        .context("WINDROW_BENCH_ROWS is not a number")
}

/// `url` answers the address of a database, `cpu` the CPU seconds of work that the session of this number does.
pub(crate) fn measure(
    dialect: Dialect,
    url: &impl Fn(&str) -> String,
    cpu: impl Fn(i64, &mut dyn FnMut() -> Result<()>) -> Result<f64>,
    report: &mut Report,
) -> Result<()> {
    let rows = rows()?;
    let ways = ROWS.into_iter().chain(PARTITIONS);
    let mut costs: Vec<_> = ways.map(|way| (way, Vec::new())).collect();
    let mut firsts = Vec::new();
    for _ in 0..ROUNDS {
        let mut left = None;
        for (way, costs) in &mut costs {
            let mut lab = Lab::open(dialect, url, way, rows)?;
            let session = lab.session.session()?;
            firsts.push(cpu(session, &mut || lab.first())?);
            costs.push(cpu(session, &mut || lab.purge(rows))?);
            let digest = lab.digest()?;
            let expected = left.get_or_insert_with(|| digest.clone());
            ensure!(*expected == digest, "{way}: {digest:?}, not {expected:?}");
            lab.close(url)?;
        }
    }
    let (others, partitions) = costs.split_at(ROWS.len());
    report.first_run(&firsts);
    report.partitions(
        rows,
        DUE,
        others,
        |way| dialect != Dialect::Postgres || way == "estimated",
        partitions,
    );
    Ok(())
}

/// Latencies of small transactions, without a run and while a scheduled one drops partitions with its default pace.
pub(crate) fn live_load(
    dialect: Dialect,
    url: &impl Fn(&str) -> String,
    report: &mut Report,
) -> Result<()> {
    let rows = rows()?;
    let mut lab = Lab::open(dialect, url, PARTITIONS[0], rows)?;
    lab.first()?;
    plan::settle()?;
    let address = url(lab.way);
    let mut first = 0;
    let mut writers = || -> Result<Vec<_>> {
        let made = (0..2).map(|_| {
            first += 1_000_000_000;
            writer(dialect, &address, first)
        });
        made.collect()
    };
    let mut quiet = on_time(writers()?, || sleep(PACED / 2))?;
    let mut run = Ok(());
    let options = json!({"trigger": "SCHEDULED"});
    let mut busy = on_time(writers()?, || run = lab.rest(rows, options))?;
    run?;
    quiet.extend(on_time(writers()?, || sleep(PACED / 2))?);
    lab.close(url)?;
    report.beside_partitions(&mut quiet, &mut busy);
    Ok(())
}

/// A database with the rows, and windrow installed and armed.
struct Lab {
    session: Box<dyn Database>,
    dialect: Dialect,
    way: &'static str,
    control: String,
    as_of: String,
}

impl Lab {
    fn open(
        dialect: Dialect,
        url: &impl Fn(&str) -> String,
        way: &'static str,
        rows: u32,
    ) -> Result<Self> {
        let spec = format!("partitions/{way}");
        let (mut session, control) = installed(dialect, url, &spec, |session, dialect| {
            create(session, dialect, PARTITIONS.contains(&way))?;
            fill(session, dialect, rows)
        })?;
        let now = match dialect {
            Dialect::Postgres => {
                session.execute("VACUUM (FREEZE, ANALYZE) log")?;
                session.execute("CHECKPOINT")?;
                // What parallel workers take is not told of the session.
                session.execute("SET max_parallel_workers_per_gather = 0")?;
                r#"SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"#
            }
            Dialect::Mysql | Dialect::Mariadb => {
                session.execute("ANALYZE TABLE log")?;
                "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%sZ')"
            }
        };
        let as_of = text(&mut *session, now)?;
        // What was made a moment ago is looked at anew by each run.
        sleep(Duration::from_secs(4));
        Ok(Self {
            session,
            dialect,
            way,
            control,
            as_of,
        })
    }

    /// A run, and what is to be cleared away after it by hand.
    fn purge(&mut self, rows: u32) -> Result<()> {
        self.rest(rows, json!({}))?;
        if self.dialect == Dialect::Postgres && ROWS.contains(&self.way) {
            self.session.execute("VACUUM (PARALLEL 0) log")?;
        }
        Ok(())
    }

    /// The first run of the session: the oldest family, or its partition.
    fn first(&mut self) -> Result<()> {
        self.run(1, "stopped", FAMILY, 1, json!({}))
    }

    /// The run that deletes what else is due.
    fn rest(&mut self, rows: u32, options: Value) -> Result<()> {
        self.run(1_000_000_000, "done", rows, DUE, options)
    }

    /// A run of at most so many families, or partitions; and how it must end.
    fn run(
        &mut self,
        most: u32,
        status: &str,
        rows: u32,
        partitions: i64,
        mut options: Value,
    ) -> Result<()> {
        options["run_families"] = most.into();
        options["time_budget"] = "1h".into();
        options["as_of"] = self.as_of.as_str().into();
        let call = format!("CALL {}.run('{options}')", self.control);
        let answer: Value = serde_json::from_str(&text(&mut *self.session, &call)?)?;
        let told = &answer["rules"][0];
        ensure!(
            answer["status"] == status
                && (told["rows"] == rows || self.way == "estimated")
                && (told["families"] == partitions || ROWS.contains(&self.way)),
            "the run ended with {answer}"
        );
        Ok(())
    }

    /// What is left.
    fn digest(&mut self) -> Result<[String; 2]> {
        let count = text(&mut *self.session, "SELECT COUNT(*) FROM log")?;
        Ok([count, text(&mut *self.session, "SELECT MIN(id) FROM log")?])
    }

    fn close(self, url: &impl Fn(&str) -> String) -> Result<()> {
        let Self {
            session,
            dialect,
            way,
            control,
            ..
        } = self;
        drop(session);
        let (database, sql) = match dialect {
            Dialect::Postgres => ("postgres", format!("DROP DATABASE {way} WITH (FORCE)")),
            Dialect::Mysql | Dialect::Mariadb => (
                "mysql",
                format!("DROP DATABASE {way}; DROP DATABASE {control}"),
            ),
        };
        db::connect_as_application(&url(database).parse()?)?.execute(&sql)
    }
}

/// A session that writes a family with keys from this one on, changes its root and reads it. It says the time, as a value:
/// without it, the server would lock each partition, and windrow give way.
fn writer(
    dialect: Dialect,
    url: &str,
    first: i64,
) -> Result<impl FnMut() -> Result<()> + Send + use<>> {
    let mut session = db::connect_as_application(&url.parse()?)?;
    let later = format!("SELECT CAST({} AS char(10))", day(dialect, 2));
    let later = text(&mut *session, &later)?;
    let begin = match dialect {
        Dialect::Postgres => "BEGIN",
        Dialect::Mysql | Dialect::Mariadb => "START TRANSACTION",
    };
    let mut root = first;
    Ok(move || {
        root += 3;
        session.execute(begin)?;
        for id in root..root + 3 {
            session.execute(&format!(
                "INSERT INTO log (id, root_id, remove_at, value) VALUES ({id}, {root}, '{later}', 'live')"
            ))?;
        }
        let same = format!("id = {root} AND remove_at = '{later}'");
        session.execute(&format!("UPDATE log SET value = 'done' WHERE {same}"))?;
        text(
            &mut *session,
            &format!("SELECT value FROM log WHERE {same}"),
        )?;
        session.execute("COMMIT")
    })
}

/// Midnight so many days from now.
fn day(dialect: Dialect, number: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("((now() AT TIME ZONE 'UTC')::date + {number})"),
        Dialect::Mysql | Dialect::Mariadb => format!("(UTC_DATE() + INTERVAL {number} DAY)"),
    }
}

/// The table: a partition of a day, those of a week, one from yesterday to tomorrow, and partitions of a week.
fn create(session: &mut dyn Database, dialect: Dialect, parted: bool) -> Result<()> {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let table = format!(
        "CREATE TABLE log (id bigint NOT NULL, root_id bigint NOT NULL, remove_at {time} NOT NULL, value varchar(100) NOT NULL,
             PRIMARY KEY (id, remove_at))"
    );
    if !parted {
        return session.execute(&table);
    }
    let before = (-DUE..=0).map(|week| 7 * week - 1);
    let bounds = [-7 * DUE - 2]
        .into_iter()
        .chain(before)
        .chain((0..=YOUNG).map(|week| 7 * week + 1))
        .map(|number| {
            let midnight = day(dialect, number);
            text(session, &format!("SELECT CAST({midnight} AS char(10))"))
        })
        .collect::<Result<Vec<_>>>()?;
    if dialect != Dialect::Postgres {
        let parts: Vec<_> = bounds[1..]
            .iter()
            .map(|to| {
                format!(
                    "PARTITION p{} VALUES LESS THAN ('{to}')",
                    to.replace('-', "")
                )
            })
            .collect();
        let parts = parts.join(", ");
        return session.execute(&format!(
            "{table} PARTITION BY RANGE COLUMNS (remove_at) ({parts})"
        ));
    }
    // Only an owner drops partitions.
    session.execute(
        "DO $$ BEGIN CREATE ROLE log_owner NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
    )?;
    for way in PARTITIONS {
        session.execute(&format!(
            "DO $$ BEGIN CREATE ROLE windrow_{way}_owner NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
             GRANT log_owner TO windrow_{way}_owner"
        ))?;
    }
    session.execute(&format!(
        "GRANT CREATE ON SCHEMA public TO log_owner; SET ROLE log_owner; {table} PARTITION BY RANGE (remove_at)"
    ))?;
    for pair in bounds.windows(2) {
        session.execute(&format!(
            "CREATE TABLE log_{} PARTITION OF log FOR VALUES FROM ('{}') TO ('{}')",
            pair[0].replace('-', "_"),
            pair[0],
            pair[1]
        ))?;
    }
    session.execute("RESET ROLE")
}

/// The oldest family, the rows that are due, in the order of their times, and a tenth as many that are not.
fn fill(session: &mut dyn Database, dialect: Dialect, rows: u32) -> Result<()> {
    let all = rows + rows / 10;
    match dialect {
        Dialect::Postgres => {}
        Dialect::Mysql => {
            session.execute(&format!("SET SESSION cte_max_recursion_depth = {all}"))?
        }
        Dialect::Mariadb => {
            session.execute(&format!("SET SESSION max_recursive_iterations = {all}"))?;
        }
    }
    let root = format!("n - (n - 1) % {FAMILY}");
    // The time of a family, of so many rows that are spread over so many weeks.
    let time = |from: i64, weeks: i64, before: u32, rows: u32| {
        let seconds = format!("({root} - {before} - 1) * {}.0 / {rows}", weeks * 604_800);
        let since = day(dialect, from);
        match dialect {
            Dialect::Postgres => format!("{since} + ({seconds}) * interval '1 second'"),
            Dialect::Mysql | Dialect::Mariadb => format!("{since} + INTERVAL ({seconds}) SECOND"),
        }
    };
    session.execute(&format!(
        "INSERT INTO log SELECT -n, -{FAMILY}, {}, REPEAT('v', 100) FROM {}",
        day(dialect, -7 * DUE - 2),
        numbers(dialect, FAMILY)
    ))?;
    session.execute(&format!(
        "INSERT INTO log SELECT n, {root}, CASE WHEN n <= {rows} THEN {} ELSE {} END, REPEAT('v', 100) FROM {}",
        time(-7 * DUE - 1, DUE, 0, rows),
        time(1, YOUNG, rows, rows / 10),
        numbers(dialect, all)
    ))
}
