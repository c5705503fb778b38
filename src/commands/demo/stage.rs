//! The server that the story is told on, with the application's schema and history.

use std::path::Path;
use std::time::Instant;

use crate::db::{self, Database};
use crate::demo::System;
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::sandbox::mysql::{self, Flavour, Mysql};
use crate::sandbox::postgres::{self, Postgres};
use crate::ui::{Ui, count};

/// A server that outlives the demo.
pub(super) struct Stage {
    pub(super) system: &'static System,
    pub(super) dialect: Dialect,
    /// Address of the application's database, for a user who may do everything.
    pub(super) url: String,
    /// The server's own client, connected to it.
    pub(super) client: String,
}

impl Stage {
    /// Starts a server in a directory.
    pub(super) fn start(
        system: &'static System,
        dialect: Dialect,
        dir: &Path,
        ui: &Ui,
    ) -> anyhow::Result<Self> {
        // On MySQL and MariaDB the spec names the application's database.
        let application = system.database;
        ui.heading(&format!(
            "A throw-away {} with {}",
            dialect.facts().title,
            match dialect {
                Dialect::Postgres => "pg_cron",
                Dialect::Mysql | Dialect::Mariadb => "its event scheduler and a binary log",
            }
        ));
        let clock = Instant::now();
        let (port, everything, stage) = match dialect {
            Dialect::Postgres => {
                let server = Postgres::start(&postgres::Settings {
                    preload_pg_cron: true,
                    cron_database: application.to_owned(),
                    keep_at: Some(dir.to_owned()),
                    durable: true,
                    ..postgres::Settings::default()
                })?;
                let stage = Self {
                    system,
                    dialect,
                    url: server.url(application, "postgres"),
                    client: "psql \"$WINDROW_URL\"".to_owned(),
                };
                (server.port(), server.url("postgres", "postgres"), stage)
            }
            Dialect::Mysql => Self::start_mysql(system, Flavour::Mysql, dialect, dir)?,
            Dialect::Mariadb => Self::start_mysql(system, Flavour::Mariadb, dialect, dir)?,
        };
        let mut admin = db::connect_as_application(&everything.parse()?)?;
        admin.execute(&format!("CREATE DATABASE {application}"))?;
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
        system: &'static System,
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
            system,
            dialect,
            url: server.url(system.database, "root"),
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
        ui.heading(&format!(
            "{}: the real schema, half a year of history",
            self.system.title
        ));
        let mut database = db::connect_as_application(&self.url.parse()?)?;
        let database = database.as_mut();
        let scripts = self.system.scripts(self.dialect);
        let scripts = scripts.ok_or_else(|| Failure::new("the system has no such database"))?;
        let clock = Instant::now();
        database.execute(scripts.schema)?;
        if self.dialect == Dialect::Postgres {
            database.execute("CREATE EXTENSION IF NOT EXISTS pg_cron")?;
        }
        ui.done(self.system.about_schema, clock.elapsed());
        let clock = Instant::now();
        database.execute(&format!("SET {} = {families}", scripts.size))?;
        database.execute(scripts.history)?;
        let took = clock.elapsed();
        let rows = self.settle(database)?;
        ui.done(
            &format!("{} rows: {}", count(rows), self.system.about_history),
            took,
        );
        Ok(())
    }

    /// Brings the server's knowledge of its tables up to date, and counts their rows.
    fn settle(&self, database: &mut dyn Database) -> anyhow::Result<i64> {
        let names = match self.dialect {
            Dialect::Postgres => {
                database.execute("VACUUM ANALYZE")?;
                "SELECT quote_ident(relname) FROM pg_stat_user_tables WHERE schemaname = 'public' ORDER BY 1"
            }
            Dialect::Mysql | Dialect::Mariadb => {
                "SELECT CONCAT('`', table_name, '`') FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
            }
        };
        let tables = column(database, names)?;
        if self.dialect != Dialect::Postgres {
            database.query(&format!("ANALYZE TABLE {}", tables.join(", ")), &[])?;
        }
        let counts: Vec<String> = tables
            .iter()
            .map(|table| format!("(SELECT COUNT(*) FROM {table})"))
            .collect();
        number(
            database,
            &format!(
                "SELECT CAST({} AS {})",
                counts.join(" + "),
                self.text_type()
            ),
        )
    }

    /// What a cast to a text names.
    fn text_type(&self) -> &'static str {
        match self.dialect {
            Dialect::Postgres => "text",
            Dialect::Mysql | Dialect::Mariadb => "char",
        }
    }

    /// The scopes that have a history.
    pub(super) fn scopes(&self, table: &str, scope: &str) -> anyhow::Result<Vec<String>> {
        let mut database = db::connect_as_application(&self.url.parse()?)?;
        column(
            database.as_mut(),
            &format!(
                "SELECT DISTINCT CAST({scope} AS {}) FROM {table} ORDER BY 1",
                self.text_type()
            ),
        )
    }

    /// What asks the server's client for the routines that windrow installed.
    pub(super) fn list_routines(&self) -> String {
        match self.dialect {
            Dialect::Postgres => {
                format!(
                    "{} -c '\\df+ windrow_{}.*'",
                    self.client,
                    self.system.name.replace('-', "_")
                )
            }
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

fn number(database: &mut dyn Database, sql: &str) -> anyhow::Result<i64> {
    let rows = database.query(sql, &[])?;
    Ok(rows
        .first()
        .and_then(|row| row.first().cloned().flatten())
        .and_then(|text| text.parse().ok())
        .unwrap_or(0))
}
