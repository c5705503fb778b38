//! What many holds, many policies and a big group cost: CPU per row beside that of runs that have none, few, or small ones.

use anyhow::{Result, ensure};
use windrow::db::Database;
use windrow::dialect::Dialect;

use crate::idle;
use crate::plan::ROUNDS;
use crate::report::Report;

/// What a row may cost beside one without the crowd.
const BAR: f64 = 1.5;

/// How many rows are due in each run.
const ROWS: u32 = 60_000;

/// How many holds, and policies, are many, and how many policies are few.
const MANY: u32 = 10_000;
const FEW: u32 = 10;

/// How many rows the big group has, how many each of the small ones, and how many of a group stay.
const BIG: u32 = 100_000;
const SMALL: u32 = 10;
const KEEP: u32 = 3;

/// Each rule with its table.
const RULES: [(&str, &str); 5] = [
    ("jobs", "job"),
    ("tasks", "task"),
    ("visits", "visit"),
    ("logs", "log"),
    ("states", "state"),
];

struct Crowd {
    session: Box<dyn Database>,
    control: String,
    dialect: Dialect,
}

/// `url` and `cpu` as the part `idle` takes them.
pub(crate) fn measure(
    dialect: Dialect,
    url: impl Fn(&str) -> String,
    cpu: impl Fn(i64) -> f64,
    report: &mut Report,
) -> Result<()> {
    let (mut session, control) = idle::installed(dialect, url, "crowd", tables)?;
    match dialect {
        Dialect::Postgres => {}
        Dialect::Mysql => session.execute("SET SESSION cte_max_recursion_depth = 1000000")?,
        Dialect::Mariadb => session.execute("SET SESSION max_recursive_iterations = 1000000")?,
    }
    let mut crowd = Crowd {
        session,
        control,
        dialect,
    };
    for (rule, table) in RULES {
        let ratio = crowd.beside(rule, table, &cpu, |crowd, many| crowd.holds(rule, many))?;
        report.crowd(&format!("{MANY} holds of {rule}"), &ratio, BAR);
        crowd.holds(rule, false)?;
    }
    let ratio = crowd.beside("attempts", "attempt", &cpu, Crowd::group)?;
    // Of the small ones fewer rows are deleted.
    let fewer = f64::from(BIG - BIG / SMALL * KEEP) / f64::from(BIG - KEEP);
    let ratio: Vec<f64> = ratio.iter().map(|ratio| ratio * fewer).collect();
    let name = format!("a group of {BIG} rows instead of groups of {SMALL}");
    report.crowd(&name, &ratio, BAR);
    for (rule, table, what) in [
        ("jobs", "job", "policies"),
        ("picks", "pick", "policies, no default,"),
    ] {
        let ratio = crowd.beside(rule, table, &cpu, |crowd, many| {
            crowd.policies(rule, table, many)
        })?;
        report.crowd(&format!("{MANY} {what} instead of {FEW}"), &ratio, BAR);
    }
    Ok(())
}

fn tables(session: &mut dyn Database, dialect: Dialect) -> Result<()> {
    let time = match dialect {
        Dialect::Postgres => "timestamptz",
        Dialect::Mysql | Dialect::Mariadb => "timestamp(6) NULL",
    };
    let further_tables = ["attempt", "pick"];
    for table in RULES
        .map(|(_, table)| table)
        .into_iter()
        .chain(further_tables)
    {
        let further = match table {
            "job" | "pick" => ", state varchar(20), tenant varchar(20)",
            "attempt" => ", job integer",
            _ => "",
        };
        session.execute(&format!(
            "CREATE TABLE {table} (id bigint PRIMARY KEY, made {time}{further})"
        ))?;
    }
    session.execute(&format!(
        "CREATE TABLE event (id bigint PRIMARY KEY, made {time}, task_id bigint)"
    ))
}

impl Crowd {
    fn text(&self, expression: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("({expression})::text"),
            Dialect::Mysql | Dialect::Mariadb => format!("CAST({expression} AS char)"),
        }
    }

    /// Many holds of a rule, of rows that are not due, or none.
    fn holds(&mut self, rule: &str, many: bool) -> Result<()> {
        let hold = format!("{}.hold", self.control);
        self.session.execute(&format!("DELETE FROM {hold}"))?;
        if many {
            let key = match self.dialect {
                Dialect::Postgres => "key",
                Dialect::Mysql | Dialect::Mariadb => "`key`",
            };
            self.session.execute(&format!(
                "INSERT INTO {hold} (rule, {key}, reason) SELECT '{rule}', {}, 'audit' FROM {}",
                self.text("n + 10000000"),
                idle::numbers(self.dialect, MANY)
            ))?;
        }
        self.analyzed(&hold)
    }

    /// Many policies, or few; the rows are of all scopes that have one.
    fn policies(&mut self, rule: &str, table: &str, many: bool) -> Result<()> {
        let policy = format!("{}.policy", self.control);
        let number = if many { MANY } else { FEW };
        self.session.execute(&format!("DELETE FROM {policy}"))?;
        self.session.execute(&format!(
            "INSERT INTO {policy} (rule, scope, retention_seconds) SELECT '{rule}', {}, 86400 * 20 FROM {}",
            self.text("n - 1"),
            idle::numbers(self.dialect, number)
        ))?;
        self.session.execute(&format!(
            "UPDATE {table} SET tenant = {}",
            self.text(&format!("id % {number}"))
        ))?;
        self.analyzed(&policy)?;
        self.analyzed(table)
    }

    /// All rows in one group, or in small ones.
    fn group(&mut self, big: bool) -> Result<()> {
        let job = match big {
            true => "0".to_owned(),
            false => format!("id % {}", BIG / SMALL),
        };
        self.session
            .execute(&format!("UPDATE attempt SET job = {job}"))?;
        self.analyzed("attempt")
    }

    fn analyzed(&mut self, table: &str) -> Result<()> {
        let analyze = match self.dialect {
            Dialect::Postgres => format!("ANALYZE {table}"),
            Dialect::Mysql | Dialect::Mariadb => format!("ANALYZE TABLE {table}"),
        };
        self.session.execute(&analyze)
    }

    /// The CPU time of runs with many beside those without, one after the other.
    fn beside(
        &mut self,
        rule: &str,
        table: &str,
        cpu: &impl Fn(i64) -> f64,
        prepare: impl Fn(&mut Self, bool) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let number = self.session.session()?;
        let mut ratios = Vec::new();
        // What the first pair takes is the servers' warming up.
        for _ in 0..=ROUNDS {
            let mut seconds = [0.0, 0.0];
            for (many, took) in [false, true].into_iter().zip(&mut seconds) {
                self.due(table)?;
                prepare(self, many)?;
                let before = cpu(number);
                let call = format!(
                    "CALL {}.run('{{\"rule\": \"{rule}\", \"run_families\": 1000000}}')",
                    self.control
                );
                let answer = format!("{:?}", self.session.query(&call, &[])?);
                *took = cpu(number) - before;
                ensure!(answer.contains("nothing left"), "{answer}");
            }
            ratios.push(seconds[1] / seconds[0]);
        }
        Ok(ratios.split_off(1))
    }

    /// Rows that are due, a second apart.
    fn due(&mut self, table: &str) -> Result<()> {
        let made = match self.dialect {
            Dialect::Postgres => "now() - interval '60 days' + n * interval '1 second'",
            Dialect::Mysql | Dialect::Mariadb => {
                "UTC_TIMESTAMP(6) - INTERVAL 60 DAY + INTERVAL n SECOND"
            }
        };
        let (columns, values, rows) = match table {
            "job" | "pick" => (", state, tenant", ", 'done', '1'", ROWS),
            "attempt" => {
                // Some of each run stay.
                self.session.execute("TRUNCATE TABLE attempt")?;
                (", job", ", 0", BIG)
            }
            _ => ("", "", ROWS),
        };
        self.session.execute(&format!(
            "INSERT INTO {table} (id, made{columns}) SELECT n, {made}{values} FROM {}",
            idle::numbers(self.dialect, rows)
        ))?;
        self.analyzed(table)
    }
}
