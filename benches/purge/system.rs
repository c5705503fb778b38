//! The history of a managed system on a durable server, in databases that every run copies.

use std::time::Instant;

use anyhow::{Context as _, Result};
use postgres::Client;
use windrow::dialect::Dialect;
use windrow::sandbox::Postgres;
use windrow::{graph, spec};

use crate::data::{self, OPERATOR};
use crate::observe::{backend, connect, cpu_seconds};

/// The database without windrow and its indexes, as the system itself leaves it.
pub(crate) const STOCK: &str = "stock";

/// The same with windrow installed.
pub(crate) const INSTALLED: &str = "installed";

pub(crate) struct System {
    server: Postgres,
    admin: Client,
    pub(crate) control: String,
    /// The moment from which all cutoffs are counted.
    pub(crate) as_of: String,
}

impl System {
    /// Fills both databases; the spec is a file of `specs/`.
    pub(crate) fn open(spec: &str, fill: impl FnOnce(&mut Client) -> Result<()>) -> Result<Self> {
        let server = data::server()?;
        let mut admin = connect(&server.url("postgres", "postgres"))?;
        admin.batch_execute(&format!("CREATE DATABASE {STOCK}"))?;
        let mut client = connect(&server.url(STOCK, "postgres"))?;
        fill(&mut client)?;
        client.batch_execute("CREATE EXTENSION pg_prewarm")?;
        client.batch_execute("VACUUM (FULL, ANALYZE)")?;
        client.batch_execute("VACUUM (FREEZE, ANALYZE)")?;
        drop(client);
        let mut system = Self {
            server,
            admin,
            control: String::new(),
            as_of: String::new(),
        };
        system.install(INSTALLED, spec, |text| text)?;
        system.as_of = system
            .admin
            .query_one("SELECT clock_timestamp()::text", &[])?
            .get(0);
        Ok(system)
    }

    /// A further database with windrow installed, from a spec that may be changed.
    pub(crate) fn install(
        &mut self,
        database: &str,
        spec: &str,
        change: impl FnOnce(String) -> String,
    ) -> Result<()> {
        self.copy(STOCK, database)?;
        let path = format!("{}/specs/{spec}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = change(std::fs::read_to_string(path).context("cannot read the spec")?);
        let spec = spec::parse(&text).0.context("the spec is not TOML")?;
        let (control, statements) =
            data::statements_of(&graph::build(&spec, &text).0, Dialect::Postgres)?;
        let mut client = self.connect(database)?;
        data::install(&mut client, &statements)?;
        client.batch_execute("VACUUM (FREEZE, ANALYZE)")?;
        self.control = control;
        Ok(())
    }

    /// A session in a warm copy of one of the databases; ends all sessions of the copy before.
    pub(crate) fn fresh(&mut self, of: &str) -> Result<Client> {
        self.copy(of, "run")?;
        let mut client = self.connect("run")?;
        if of != STOCK {
            client.batch_execute(&format!("CALL {}.arm()", self.control))?;
        }
        client.batch_execute(
            "SELECT pg_prewarm(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i');
             CHECKPOINT",
        )?;
        self.connect("run")
    }

    /// A session in it with the rights of an operator, as pg_cron has one.
    pub(crate) fn operator(&mut self) -> Result<Client> {
        self.admin.batch_execute(&format!(
            "DROP ROLE IF EXISTS {OPERATOR}; CREATE ROLE {OPERATOR} LOGIN IN ROLE {}_operator",
            self.control
        ))?;
        connect(&self.server.url("run", OPERATOR))
    }

    /// A further session in the copy.
    pub(crate) fn session(&self) -> Result<Client> {
        self.connect("run")
    }

    fn connect(&self, database: &str) -> Result<Client> {
        connect(&self.server.url(database, "postgres"))
    }

    fn copy(&mut self, from: &str, to: &str) -> Result<()> {
        let (drop, create) = (
            format!("DROP DATABASE IF EXISTS {to} WITH (FORCE)"),
            format!("CREATE DATABASE {to} TEMPLATE {from}"),
        );
        self.admin.batch_execute(&drop)?;
        // The session that filled it may take a moment to end.
        let mut attempts = 0;
        while let Err(error) = self.admin.batch_execute(&create) {
            attempts += 1;
            if attempts == 100 {
                return Err(error).context("cannot copy the history");
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(())
    }
}

/// The number of rows in each table.
pub(crate) fn digest(client: &mut Client, tables: &[&str]) -> Result<Vec<i64>> {
    let counts: Vec<String> = tables
        .iter()
        .map(|table| format!("(SELECT count(*) FROM {table})"))
        .collect();
    let row = client.query_one(&format!("SELECT ARRAY[{}]", counts.join(", ")), &[])?;
    Ok(row.get(0))
}

/// CPU and wall seconds of some work of a backend, and what the work answers.
pub(crate) fn timed<T>(
    client: &mut Client,
    work: impl FnOnce(&mut Client) -> Result<T>,
) -> Result<((f64, f64), T)> {
    let pid = backend(client)?;
    let (cpu, began) = (cpu_seconds(pid), Instant::now());
    let answer = work(client)?;
    let times = (cpu_seconds(pid) - cpu, began.elapsed().as_secs_f64());
    Ok((times, answer))
}
