//! Three servers of PostgreSQL under Patroni, each with pg_cron. `make prove` sets up the programs: `.ci/patroni`.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use windrow::db;
use windrow::dialect::Dialect;
use windrow::sandbox::{Postgres, Settings};

use super::nodes::free_port;
use super::{DUE, SPEC};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Session, apply, bundle, call};
use crate::support::patience::until;

tests! {
    when_asked: [
        patroni_promotes_and_pg_cron_goes_on,
    ],
}

const CONTROL: &str = "windrow_cluster";

/// The interval of the schedule in [`scheduled`]: the shortest that every version of pg_cron has.
const INTERVAL: Duration = Duration::from_secs(60);

const SCHEMA: &str = "CREATE EXTENSION pg_cron;
CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended timestamp);
CREATE INDEX ON job (ended, id);
CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint);
CREATE INDEX ON step (job_id);
CREATE TABLE task (id bigint PRIMARY KEY, remove_at timestamp);
CREATE INDEX ON task (remove_at);
CREATE TABLE mail (id bigint PRIMARY KEY, expires timestamp);
CREATE INDEX ON mail (expires, id);
";

/// Families that do not have one job and two steps.
const HALF: &str = "SELECT count(*) FROM (
    SELECT FROM job AS j FULL JOIN step AS s ON s.job_id = j.id
    GROUP BY coalesce(j.id, s.job_id) HAVING count(DISTINCT j.id) <> 1 OR count(s.id) <> 2
) AS h";

fn scheduled() -> String {
    SPEC.replace(
        "name = \"cluster\"\n",
        "name = \"cluster\"\nschedule = \"* * * * *\"\n",
    )
}

/// As many families as are due, and one that is not.
fn rows() -> String {
    format!(
        "INSERT INTO job SELECT n, 'done', '2020-01-01'::timestamp + n * interval '1 hour' FROM generate_series(1, {DUE}) AS n;
         INSERT INTO job VALUES (100, 'busy', '2020-01-01');
         INSERT INTO step SELECT id + 1000 * n, id FROM job, generate_series(1, 2) AS n;
         INSERT INTO task SELECT n, '2020-01-01' FROM generate_series(1, {DUE}) AS n;
         INSERT INTO mail SELECT n, '2020-01-01' FROM generate_series(1, {DUE}) AS n;"
    )
}

/// A program that was set up.
fn program(path: &str) -> PathBuf {
    let folder = std::env::var("WINDROW_PATRONI").expect("`make prove` says where Patroni is");
    let program = Path::new(&folder).join(path);
    assert!(
        program.exists(),
        "{} is missing: .ci/patroni",
        program.display()
    );
    program
}

/// A program that runs in the folder of a server, as its user, and ends with this value.
struct Daemon(Child);

impl Daemon {
    fn start(home: &Postgres, command: &mut Command, log: &str) -> Result<Self> {
        let folder = home.socket_dir();
        let owner = fs::metadata(folder)?;
        let log = File::create(folder.join(log))?;
        let child = command
            // What the server's watchdog knows its processes by.
            .current_dir(folder)
            .env("LC_ALL", "C.UTF-8")
            .uid(owner.uid())
            .gid(owner.gid())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{command:?}"))?;
        Ok(Self(child))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

struct Node {
    /// A folder for the server, with a user and a watchdog. Its own server has ended.
    home: Postgres,
    port: u16,
    patroni: Option<Daemon>,
}

impl Node {
    fn new(number: usize, etcd: u16) -> Result<Self> {
        let mut home = Postgres::start(&Settings::default())?;
        home.stop()?;
        let folder = home.socket_dir().to_owned();
        let programs = home.bin("postgres").get_program().to_owned();
        let programs = Path::new(&programs).parent().context("a folder")?.display();
        fs::remove_dir_all(folder.join("data"))?;
        let (port, rest) = (free_port(), free_port());
        let here = folder.display();
        fs::write(
            folder.join("patroni.yml"),
            format!(
                r#"scope: orders
name: node{number}
restapi: {{listen: "127.0.0.1:{rest}", connect_address: "127.0.0.1:{rest}"}}
etcd3: {{host: "127.0.0.1:{etcd}"}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 1
    retry_timeout: 3
    postgresql: {{use_pg_rewind: true, parameters: {{wal_log_hints: "on"}}}}
  initdb: [{{encoding: UTF8}}, {{locale: C.UTF-8}}, {{auth: trust}}, no-sync]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {here}/data
  bin_dir: {programs}
  pgpass: {here}/pgpass
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {{username: postgres, password: unused}}
    replication: {{username: follower, password: unused}}
  parameters:
    unix_socket_directories: {here}
    timezone: UTC
    fsync: "off"
    shared_preload_libraries: pg_cron
    cron.database_name: postgres
    cron.use_background_workers: "on"
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
"#
            ),
        )?;
        Ok(Self {
            home,
            port,
            patroni: None,
        })
    }

    /// Lets Patroni start the server, as what it is to be.
    fn start(&mut self) -> Result<()> {
        let mut patroni = Command::new(program("venv/bin/patroni"));
        patroni.arg("patroni.yml");
        self.patroni = Some(Daemon::start(&self.home, &mut patroni, "patroni.log")?);
        Ok(())
    }

    /// Ends Patroni and the server at once, like a power cut.
    fn die(&mut self) -> Result<Postgres> {
        let mut server = Postgres::attach(self.home.socket_dir())?;
        self.patroni = None;
        server.kill()?;
        Ok(server)
    }

    fn session(&self) -> Result<Session> {
        let url = format!(
            "postgresql://postgres@127.0.0.1:{}/postgres?sslmode=disable",
            self.port
        );
        db::connect_as_application(&url.parse()?)
    }

    fn text(&self, sql: &str) -> Result<String> {
        let rows = self
            .session()?
            .query(&sql.replace("W.", &format!("{CONTROL}.")), &[])?;
        Ok(rows
            .first()
            .and_then(|row| row[0].clone())
            .unwrap_or_default())
    }

    fn number(&self, sql: &str) -> Result<i64> {
        let text = self.text(sql)?;
        text.parse().with_context(|| format!("{text}: {sql}"))
    }

    /// What pg_cron says of the last runs that it started.
    fn cron(&self) -> String {
        let said = "SELECT coalesce(string_agg(concat_ws(' ', j.jobname, d.status, d.return_message), '; '), 'no run')
            FROM cron.job AS j LEFT JOIN cron.job_run_details AS d ON d.jobid = j.jobid";
        self.text(said).unwrap_or_else(|error| format!("{error:#}"))
    }

    /// How many rows it has.
    fn left(&self) -> Result<[i64; 4]> {
        let mut left = [0; 4];
        for (table, rows) in super::TABLES.iter().zip(&mut left) {
            *rows = self.number(&format!("SELECT count(*) FROM {table}"))?;
        }
        Ok(left)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Whether or not a server runs.
        self.patroni = None;
        if let Ok(mut server) = Postgres::attach(self.home.socket_dir()) {
            drop(server.kill());
        }
    }
}

/// The node that takes writes, of those that live.
fn primary(nodes: &[Node]) -> Option<usize> {
    nodes.iter().position(|node| {
        node.text("SELECT pg_is_in_recovery()")
            .is_ok_and(|is_standby| is_standby == "false")
    })
}

/// Two of the nodes, of which the first is started again.
fn two(nodes: &mut [Node], first: usize, second: usize) -> (&mut Node, &Node) {
    let [first, second] = nodes.get_disjoint_mut([first, second]).expect("two nodes");
    (first, second)
}

/// Until the server has two standbys.
fn is_followed(node: &Node) -> Result<()> {
    let followers = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    until("two standbys follow", || Ok(node.number(followers)? == 2))
}

/// Three servers, of which none has been started, and the etcd that Patroni keeps the lock of the primary in.
fn three() -> Result<(Vec<Node>, Daemon)> {
    let port = free_port();
    let mut nodes = Vec::new();
    for number in 0..3 {
        nodes.push(Node::new(number, port)?);
    }
    let at = |port: u16| format!("http://127.0.0.1:{port}");
    let peer = at(free_port());
    let mut etcd = Command::new(program("etcd"));
    etcd.args(["--name", "only", "--data-dir", "etcd", "--unsafe-no-fsync"])
        .args(["--listen-client-urls", &at(port)])
        .args(["--advertise-client-urls", &at(port)])
        .args(["--listen-peer-urls", &peer])
        .args(["--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("only={peer}")]);
    let etcd = Daemon::start(&nodes[0].home, &mut etcd, "etcd.log")?;
    Ok((nodes, etcd))
}

/// What pg_cron is to delete by the minute, two families a second.
fn install(node: &Node) -> Result<()> {
    let mut session = node.session()?;
    session.execute(&(SCHEMA.to_owned() + &rows()))?;
    apply(
        &mut session,
        &bundle(Dialect::Postgres, &graph_of(&scheduled())),
    );
    for (name, value) in [("batch_families", 1), ("rate", 6)] {
        let options = json!({"rule": "jobs", "name": name, "value": value});
        call(
            &mut session,
            Dialect::Postgres,
            CONTROL,
            "set_setting",
            &options,
        )?;
    }
    // Whether a standby follows is not seen without it; roles are those of all servers of the cluster.
    session.execute(&format!("GRANT pg_monitor TO {CONTROL}_owner"))?;
    session.execute(&format!(
        "CALL {CONTROL}.arm('{{\"cluster\": \"orders\"}}')"
    ))?;
    Ok(())
}

/// The whole of it without a person: pg_cron starts the runs on whichever server is the primary.
fn patroni_promotes_and_pg_cron_goes_on() -> Result<()> {
    let (mut nodes, _etcd) = three()?;
    for node in &mut nodes {
        node.start()?;
    }
    let mut first = 0;
    until("Patroni has made a primary", || {
        first = primary(&nodes).unwrap_or(3);
        Ok(first < 3)
    })?;
    is_followed(&nodes[first])?;

    install(&nodes[first])?;
    until("half a run that pg_cron started", || {
        Ok(nodes[first].left()?[0] < DUE / 2)
    })
    .with_context(|| nodes[first].cron())?;
    let mut old = nodes[first].die()?;

    let mut heir = 3;
    until("Patroni has made another primary", || {
        heir = primary(&nodes).unwrap_or(3);
        Ok(heir < 3)
    })?;
    let promoted = Instant::now();
    let (first, heir) = two(&mut nodes, first, heir);
    ensure!(heir.number(HALF)? == 0, "half a family after the promotion");
    let runs = "SELECT coalesce(string_agg(\"trigger\" || ' ' || status, ', ' ORDER BY run_id), '') FROM W.run";
    until("pg_cron of the new primary goes on", || {
        Ok(heir.text(runs)?.contains(", SCHEDULED done"))
    })?;
    ensure!(promoted.elapsed() < 2 * INTERVAL);
    let all = heir.text(runs)?;
    ensure!(
        all.starts_with("SCHEDULED crashed, SCHEDULED done"),
        "{all}"
    );
    ensure!(heir.left()? == [1, 2, 0, 0], "{:?}", heir.left()?);
    let told = "SELECT sum(deleted_rows)::bigint FROM W.run_rule";
    ensure!(heir.number(told)? == 5 * DUE, "{}", heir.text(told)?);

    // The old one without Patroni: it takes itself for the primary, and so does its pg_cron.
    old.restart()?;
    let before = first.left()?;
    ensure!(before[0] > 1, "there is nothing that it could delete");
    until("its pg_cron is refused", || {
        let reason = first.text("SELECT string_agg(reason, '; ') FROM W.refusal")?;
        Ok(reason.contains("no standby follows it"))
    })?;
    ensure!(first.left()? == before && first.number(HALF)? == 0);
    old.stop()?;

    // With Patroni it comes back as a standby. What is due then is deleted by the new primary, once.
    first.start()?;
    is_followed(heir)?;
    heir.session()?.execute(
        "INSERT INTO job VALUES (1, 'done', '2020-01-01'); INSERT INTO step VALUES (1, 1), (2, 1)",
    )?;
    until("the next run of pg_cron", || {
        Ok(heir.left()? == [1, 2, 0, 0])
    })
    .with_context(|| heir.cron())?;
    ensure!(heir.number(told)? == 5 * DUE + 3, "{}", heir.text(told)?);
    for (number, node) in nodes.iter().enumerate() {
        until("the same is left everywhere", || {
            Ok(node.left()? == [1, 2, 0, 0] && node.number(told)? == 5 * DUE + 3)
        })
        .with_context(|| format!("node {number}"))?;
    }
    Ok(())
}
