//! What watches windrow, as `make prove` sets it up in the folder `WINDROW_MONITORS`: query-exporter and Prometheus over a server
//! of each kind, configured by the blocks of docs/monitoring.md.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};
use url::form_urlencoded;
use windrow::dialect::{DIALECTS, Dialect};

use crate::support::history::Server;
use crate::support::installation::{Session, call, connect};
use crate::support::patience::until;
use crate::support::systems::dolphinscheduler as postgres;
use crate::support::systems::dolphinscheduler::mysql;

/// The control schema of the shipped spec.
pub(super) const CONTROL: &str = "windrow_dolphinscheduler";

/// How many families the history has.
const FAMILIES: u32 = 120;

/// A program that was set up.
pub(super) fn program(path: &str) -> PathBuf {
    let folder =
        std::env::var("WINDROW_MONITORS").expect("`make prove` says where the monitors are");
    let program = Path::new(&folder).join(path);
    assert!(
        program.exists(),
        "{} is missing: .ci/monitors",
        program.display()
    );
    program
}

/// A file of this checkout.
pub(super) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The block of docs/monitoring.md that begins with this line.
fn block(first: &str) -> String {
    let docs = fs::read_to_string(here("docs/monitoring.md")).expect("the page");
    let (_, rest) = docs
        .split_once(&format!("\n{first}\n"))
        .unwrap_or_else(|| panic!("no block begins with {first}"));
    rest.split_once("\n```").expect("its end").0.to_owned()
}

/// A server with the tables of DolphinScheduler and the shipped spec, armed.
pub(super) struct Host {
    /// What the exporter calls it.
    pub(super) name: &'static str,
    pub(super) dialect: Dialect,
    server: Server,
    session: Session,
}

impl Host {
    fn new(dialect: Dialect) -> Result<Self> {
        let server = Server::bare(dialect)?;
        let (name, system, schema, rows, families) = match dialect {
            Dialect::Postgres => (
                "postgres-1",
                "postgres",
                postgres::SCHEMA_34,
                postgres::HISTORY_34,
                postgres::FAMILIES_SETTING,
            ),
            Dialect::Mysql => (
                "mysql-1",
                "mysql",
                mysql::SCHEMA_34,
                mysql::HISTORY_34,
                mysql::FAMILIES_VARIABLE,
            ),
            Dialect::Mariadb => (
                "mariadb-1",
                "mysql",
                mysql::SCHEMA_34,
                mysql::HISTORY_34,
                mysql::FAMILIES_VARIABLE,
            ),
        };
        connect(&server.url(system)).execute("CREATE DATABASE dolphinscheduler")?;
        let url = server.url("dolphinscheduler");
        let mut session = connect(&url);
        session.execute(schema)?;
        session.execute(&format!("SET {families} = {FAMILIES}"))?;
        session.execute(rows)?;
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(["install", "specs/dolphinscheduler.toml", "--url", &url])
            .current_dir(here(""))
            .output()?;
        ensure!(output.status.success(), "{name}: {output:?}");
        let mut host = Self {
            name,
            dialect,
            server,
            session,
        };
        host.execute(&block(&format!("-- {}", dialect.facts().title)))?;
        for project in host.texts("SELECT code FROM t_ds_project")? {
            host.call("set_policy", &json!({"scope": project}))?;
        }
        host.execute("CALL W.arm()")?;
        Ok(host)
    }

    /// The address for the exporter, whose user may open the control schema alone on MySQL and MariaDB.
    fn dsn(&self) -> Result<String> {
        let (scheme, user, database) = match self.dialect {
            Dialect::Postgres => ("postgresql+psycopg", "postgres", "dolphinscheduler"),
            Dialect::Mysql | Dialect::Mariadb => ("mysql+pymysql", "root", CONTROL),
        };
        let url = self.server.url(database);
        let (_, place) = url
            .split_once(&format!("//{user}@"))
            .context("an address")?;
        let place = place.split('?').next().unwrap_or_default();
        Ok(format!("{scheme}://monitor@{place}"))
    }

    /// Executes statements; `W.` stands for the control schema.
    pub(super) fn execute(&mut self, sql: &str) -> Result<()> {
        let sql = named(sql);
        self.session.execute(&sql).context(sql)
    }

    /// The first column of all rows; `W.` stands for the control schema.
    pub(super) fn texts(&mut self, sql: &str) -> Result<Vec<String>> {
        let sql = named(sql);
        let rows = self.session.query(&sql, &[]).context(sql)?;
        rows.into_iter()
            .map(|row| row[0].clone().context("no NULL"))
            .collect()
    }

    pub(super) fn call(&mut self, routine: &str, options: &Value) -> Result<Value> {
        call(&mut self.session, self.dialect, CONTROL, routine, options)
    }

    /// The address for the superuser.
    pub(super) fn url(&self) -> String {
        self.server.url("dolphinscheduler")
    }

    /// A further session of the superuser.
    pub(super) fn connect(&self) -> Session {
        connect(&self.url())
    }

    /// What is written in one way for PostgreSQL and in another for MySQL and MariaDB.
    pub(super) fn either<T>(&self, postgres: T, mysql: T) -> T {
        match self.dialect {
            Dialect::Postgres => postgres,
            Dialect::Mysql | Dialect::Mariadb => mysql,
        }
    }

    /// An instant so many hours ago, as the ledger writes it.
    pub(super) fn ago(&self, hours: u32) -> String {
        self.either(
            format!("clock_timestamp() - interval '{hours} hours'"),
            format!("UTC_TIMESTAMP(6) - INTERVAL {hours} HOUR"),
        )
    }

    /// Kills the server.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.server.kill()
    }

    /// Starts it again.
    pub(super) fn restart(&mut self) -> Result<()> {
        self.server.restart()?;
        self.session = self.connect();
        Ok(())
    }
}

fn named(sql: &str) -> String {
    sql.replace("W.", &format!("{CONTROL}."))
}

/// Three servers, and what watches them.
pub(super) struct Ground {
    pub(super) hosts: Vec<Host>,
    watching: Vec<Child>,
    /// Where Prometheus listens.
    port: u16,
    folder: tempfile::TempDir,
}

impl Ground {
    /// Servers with a history and one run each, scraped every two seconds.
    pub(super) fn new() -> Result<Self> {
        let mut ground = Self {
            hosts: DIALECTS
                .iter()
                .map(|dialect| Host::new(*dialect))
                .collect::<Result<_>>()?,
            watching: Vec::new(),
            port: free_port()?,
            folder: tempfile::tempdir()?,
        };
        let exporter = free_port()?;
        ground.configure(exporter)?;
        ground.watch(exporter)?;
        Ok(ground)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The files of the page. What differs: the ports, the pace, and how long an alert must be true before it fires.
    fn configure(&self, exporter: u16) -> Result<()> {
        std::os::unix::fs::symlink(here("generated"), self.path("generated"))?;
        fs::write(self.path("exporter.yml"), block("# exporter.yml"))?;
        let rules = "generated/dolphinscheduler/monitoring/alerts.yml";
        let scrapes = edited(
            &block("# prometheus.yml"),
            &[
                ("15s", "2s"),
                (":9560", &format!(":{exporter}")),
                (rules, "alerts.yml"),
            ],
        );
        fs::write(self.path("prometheus.yml"), scrapes)?;
        let alerts = fs::read_to_string(here(rules))?;
        let soon = alerts.lines().map(|line| {
            let waits = line.trim_start().starts_with("for: ");
            if waits { "        for: 2s" } else { line }
        });
        let soon: Vec<&str> = soon.collect();
        fs::write(self.path("alerts.yml"), soon.join("\n"))?;
        Ok(())
    }

    fn watch(&mut self, exporter: u16) -> Result<()> {
        let mut query = Command::new(program("venv/bin/query-exporter"));
        query.args(["--config", "exporter.yml", "--host", "127.0.0.1"]);
        query.args(["--port", &exporter.to_string()]);
        for host in &self.hosts {
            let name = host.name.to_uppercase().replace('-', "_");
            query.env(name, host.dsn()?);
        }
        self.start("exporter", query)?;
        until("the exporter answers", || {
            self.alive()?;
            Ok(get(exporter, "/").is_ok())
        })?;
        let mut prometheus = Command::new(program("prometheus/usr/bin/prometheus"));
        let pages = program("prometheus/usr/share/prometheus/web");
        prometheus
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .arg(format!("--web.listen-address=127.0.0.1:{}", self.port))
            .arg(format!("--web.local-assets={}/", pages.display()));
        self.start("prometheus", prometheus)?;
        until("Prometheus answers", || {
            self.alive()?;
            Ok(get(self.port, "/-/ready").is_ok())
        })
    }

    fn start(&mut self, name: &str, mut command: Command) -> Result<()> {
        let log = File::create(self.path(&format!("{name}.log")))?;
        let child = command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        self.watching.push(child);
        Ok(())
    }

    /// Fails where a program has ended.
    fn alive(&self) -> Result<()> {
        for (child, name) in self.watching.iter().zip(["exporter", "prometheus"]) {
            let state = fs::read_to_string(format!("/proc/{}/stat", child.id()));
            let runs = state.is_ok_and(|state| !state.contains(") Z "));
            ensure!(runs, "{name} has ended: {}", self.log(name));
        }
        Ok(())
    }

    /// The end of what a program said.
    pub(super) fn log(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(30).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// The `data` of an answer of its programming interface.
    pub(super) fn data(&self, path: &str) -> Result<Value> {
        let answer: Value = serde_json::from_str(&get(self.port, &format!("/api/v1/{path}"))?)?;
        ensure!(answer["status"] == "success", "{path}: {answer}");
        Ok(answer["data"].clone())
    }

    /// The samples of an expression at this instant, each with its labels.
    pub(super) fn query(&self, expression: &str) -> Result<Vec<Value>> {
        let asked: String = form_urlencoded::byte_serialize(expression.as_bytes()).collect();
        let data = self.data(&format!("query?query={asked}"))?;
        let samples = data["result"].as_array();
        Ok(samples
            .ok_or_else(|| anyhow!("{expression}: {data}"))?
            .clone())
    }

    /// The address of a page.
    pub(super) fn page(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in &mut self.watching {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a program of this machine answers to a request.
fn get(port: u16, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer")?;
    let status = head.split(' ').nth(1);
    ensure!(status == Some("200"), "{path}: {answer}");
    Ok(body.to_owned())
}

/// A text in which each of these must be there to be replaced.
fn edited(text: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "no {old} in {text}");
        text.replace(old, new)
    })
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
