//! The server that the story is told on, with the application's schema and history.

use std::path::Path;
use std::time::Instant;

use super::{chapter, number};
use crate::db::{self, Database};
use crate::demo::dolphinscheduler;
use crate::dialect::Dialect;
use crate::sandbox::mysql::{self, Flavour, Mysql};
use crate::sandbox::postgres::{self, Postgres};
use crate::ui::{Ui, count};

/// The application's database. On MySQL and MariaDB the spec names it.
const DATABASE: &str = "dolphinscheduler";

/// A server that outlives the demo.
pub(super) struct Stage {
    pub(super) dialect: Dialect,
    /// Address of the application's database, for a user who may do everything.
    pub(super) url: String,
    /// The server's own client, connected to it.
    pub(super) client: String,
}

impl Stage {
    /// Starts a server in a directory.
    pub(super) fn start(dialect: Dialect, dir: &Path, ui: &Ui) -> anyhow::Result<Self> {
        chapter(
            ui,
            &format!(
                "A throw-away {} with {}",
                dialect.facts().title,
                match dialect {
                    Dialect::Postgres => "pg_cron",
                    Dialect::Mysql | Dialect::Mariadb => "its event scheduler and a binary log",
                }
            ),
        );
        let clock = Instant::now();
        let (port, everything, stage) = match dialect {
            Dialect::Postgres => {
                let server = Postgres::start(&postgres::Settings {
                    preload_pg_cron: true,
                    cron_database: DATABASE.to_owned(),
                    keep_at: Some(dir.to_owned()),
                    durable: true,
                    ..postgres::Settings::default()
                })?;
                let stage = Self {
                    dialect,
                    url: server.url(DATABASE, "postgres"),
                    client: "psql \"$WINDROW_URL\"".to_owned(),
                };
                (server.port(), server.url("postgres", "postgres"), stage)
            }
            Dialect::Mysql => Self::start_mysql(Flavour::Mysql, dialect, dir)?,
            Dialect::Mariadb => Self::start_mysql(Flavour::Mariadb, dialect, dir)?,
        };
        let mut admin = db::connect(&everything.parse()?)?;
        admin.execute(&format!("CREATE DATABASE {DATABASE}"))?;
        ui.done(
            &format!(
                "{} {} in `{}`, port {port}",
                dialect.facts().title,
                version(admin.as_mut())?,
                dir.display(),
            ),
            clock.elapsed(),
        );
        Ok(stage)
    }

    fn start_mysql(
        flavour: Flavour,
        dialect: Dialect,
        dir: &Path,
    ) -> anyhow::Result<(u16, String, Self)> {
        let server = Mysql::start(&mysql::Settings {
            events: true,
            keep_at: Some(dir.to_owned()),
            durable: true,
            ..mysql::Settings::new(flavour)
        })?;
        let stage = Self {
            dialect,
            url: server.url(DATABASE, "root"),
            client: format!(
                "{} -uroot -S {}",
                server.client().get_program().display(),
                server.socket().display()
            ),
        };
        Ok((server.port(), server.url("mysql", "root"), stage))
    }

    /// Loads the real schema and a history with everything that makes a clean-up hard.
    pub(super) fn load(&self, families: u32, ui: &Ui) -> anyhow::Result<()> {
        chapter(
            ui,
            "Apache DolphinScheduler 3.4: the real schema, half a year of history",
        );
        let mut database = db::connect(&self.url.parse()?)?;
        let database = database.as_mut();
        let (schema, size, history) = match self.dialect {
            Dialect::Postgres => (
                dolphinscheduler::SCHEMA_34,
                dolphinscheduler::FAMILIES_SETTING,
                dolphinscheduler::HISTORY_34,
            ),
            Dialect::Mysql | Dialect::Mariadb => (
                dolphinscheduler::mysql::SCHEMA_34,
                dolphinscheduler::mysql::FAMILIES_VARIABLE,
                dolphinscheduler::mysql::HISTORY_34,
            ),
        };
        let clock = Instant::now();
        database.execute(schema)?;
        if self.dialect == Dialect::Postgres {
            database.execute("CREATE EXTENSION IF NOT EXISTS pg_cron")?;
        }
        ui.done(
            "53 tables, with their stock indexes and not one foreign key",
            clock.elapsed(),
        );
        let clock = Instant::now();
        database.execute(&format!("SET {size} = {families}"))?;
        database.execute(history)?;
        let took = clock.elapsed();
        let rows = self.settle(database)?;
        ui.done(
            &format!(
                "{} rows: nested and dynamic sub-workflows, shared ones, circles, dead links, running and undated members",
                count(rows)
            ),
            took,
        );
        Ok(())
    }

    /// Brings the server's knowledge of its tables up to date, and counts their rows.
    fn settle(&self, database: &mut dyn Database) -> anyhow::Result<i64> {
        match self.dialect {
            Dialect::Postgres => {
                database.execute("VACUUM ANALYZE")?;
                number(
                    database,
                    "SELECT sum(n_live_tup)::text FROM pg_stat_user_tables WHERE relname LIKE 't_ds_%'",
                )
            }
            Dialect::Mysql | Dialect::Mariadb => {
                let tables = column(
                    database,
                    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
                )?;
                database.query(&format!("ANALYZE TABLE {}", tables.join(", ")), &[])?;
                let counts: Vec<String> = tables
                    .iter()
                    .map(|table| format!("(SELECT COUNT(*) FROM {table})"))
                    .collect();
                number(database, &format!("SELECT {}", counts.join(" + ")))
            }
        }
    }

    /// The projects that have a history.
    pub(super) fn projects(&self) -> anyhow::Result<Vec<String>> {
        let mut database = db::connect(&self.url.parse()?)?;
        let text = match self.dialect {
            Dialect::Postgres => "text",
            Dialect::Mysql | Dialect::Mariadb => "char",
        };
        column(
            database.as_mut(),
            &format!(
                "SELECT DISTINCT CAST(project_code AS {text}) FROM t_ds_workflow_instance ORDER BY 1"
            ),
        )
    }

    /// What asks the server's client for the routines that windrow installed.
    pub(super) fn list_routines(&self) -> String {
        match self.dialect {
            Dialect::Postgres => format!("{} -c '\\df+ windrow_dolphinscheduler.*'", self.client),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "{} -e \"SHOW PROCEDURE STATUS WHERE db LIKE 'windrow%'\\G\"",
                self.client
            ),
        }
    }
}

/// As the server's own release notes write it.
fn version(database: &mut dyn Database) -> anyhow::Result<String> {
    let server = database.server()?;
    let number = server.version_num;
    Ok(match server.dialect {
        Dialect::Postgres => format!("{}.{}", number / 10_000, number % 10_000),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "{}.{}.{}",
            number / 10_000,
            number / 100 % 100,
            number % 100
        ),
    })
}

fn column(database: &mut dyn Database, sql: &str) -> anyhow::Result<Vec<String>> {
    Ok(database
        .query(sql, &[])?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect())
}
