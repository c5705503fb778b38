//! Three nodes that are started together: Galera, and group replication.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::thread;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings, galera};

use super::{DUE, TABLES};
use crate::support::installation::{self, Session, call};
use crate::support::patience::until;

pub(super) struct Cluster {
    pub(super) nodes: Vec<Mysql>,
    pub(super) dialect: Dialect,
    /// What makes a session see all that any node has committed.
    pub(super) sync: &'static str,
    /// What answers the name of the cluster.
    pub(super) own_name: &'static str,
    /// Whether every node takes writes.
    pub(super) is_open: bool,
    /// Of the application on node 0.
    pub(super) name: String,
    pub(super) control: String,
}

pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn settings(flavour: Flavour, extra: &[(&str, String)]) -> Settings {
    Settings {
        extra: extra
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        ..Settings::new(flavour)
    }
}

/// Nodes that start from the same files, and say so: none has to send another its data.
pub(super) fn of_galera() -> Result<Cluster> {
    let (programs, library) = galera().context("run `.ci/servers galera`")?;
    let ports = [free_port(), free_port(), free_port()];
    let mut nodes: Vec<Mysql> = Vec::new();
    for port in ports {
        let mut node = Mysql::start(&Settings {
            bin_dir: Some(programs.clone()),
            ..settings(
                Flavour::Mariadb,
                &[("innodb_autoinc_lock_mode", "2".to_owned())],
            )
        })?;
        node.stop()?;
        let others: Vec<_> = ports[..nodes.len()]
            .iter()
            .map(|port| format!("127.0.0.1:{port}"))
            .collect();
        let mut configuration = OpenOptions::new()
            .append(true)
            .open(node.dir().join("server.cnf"))?;
        write!(
            configuration,
            "wsrep_on = ON\nwsrep_provider = {}\nwsrep_cluster_address = gcomm://{}\nwsrep_cluster_name = windrow_{}\n\
             wsrep_node_address = 127.0.0.1\n\
             wsrep_provider_options = \"gmcast.listen_addr=tcp://127.0.0.1:{port}; ist.recv_addr=127.0.0.1:{}; gcache.size=32M\"\n",
            library.display(),
            others.join(","),
            ports[0],
            free_port(),
        )?;
        if let Some(first) = nodes.first() {
            let state = |name: &str| -> Result<String> {
                let line = first.query(&format!("SHOW STATUS LIKE '{name}'"))?;
                let value = line.trim().split('\t').nth(1).map(str::to_owned);
                value.with_context(|| format!("no {name}"))
            };
            let (cluster, last) = (
                state("wsrep_cluster_state_uuid")?,
                state("wsrep_last_committed")?,
            );
            writeln!(configuration, "wsrep_start_position = {cluster}:{last}")?;
            let data = node.dir().join("data");
            let saved = data.join("grastate.dat");
            fs::write(
                &saved,
                format!(
                    "# GALERA saved state\nversion: 2.1\nuuid: {cluster}\nseqno: {last}\nsafe_to_bootstrap: 0\n"
                ),
            )?;
            let owner = fs::metadata(&data)?;
            chown(&saved, Some(owner.uid()), Some(owner.gid()))?;
        }
        node.restart()?;
        until("the node is part of the cluster", || {
            Ok(node
                .query("SHOW STATUS LIKE 'wsrep_local_state_comment'")?
                .contains("Synced"))
        })?;
        nodes.push(node);
    }
    Ok(Cluster {
        nodes,
        dialect: Dialect::Mariadb,
        sync: "SET SESSION wsrep_sync_wait = 7",
        own_name: "SELECT @@wsrep_cluster_name",
        is_open: true,
        name: String::new(),
        control: String::new(),
    })
}

pub(super) fn of_group_replication(is_open: bool) -> Result<Cluster> {
    let ports = [free_port(), free_port(), free_port()];
    let seeds = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
    let mut nodes: Vec<Mysql> = Vec::new();
    for port in ports {
        let single = if is_open { "OFF" } else { "ON" };
        let node = Mysql::start(&settings(
            Flavour::Mysql,
            &[
                ("plugin_load_add", "group_replication.so".to_owned()),
                ("performance_schema", "ON".to_owned()),
                ("report_host", "127.0.0.1".to_owned()),
                (
                    "disabled_storage_engines",
                    "MyISAM,BLACKHOLE,FEDERATED,ARCHIVE,MEMORY".to_owned(),
                ),
                (
                    "loose_group_replication_group_name",
                    "3b0bd1d4-6bd0-4c1d-8a8c-5ad6f9ac8c45".to_owned(),
                ),
                (
                    "loose_group_replication_recovery_get_public_key",
                    "ON".to_owned(),
                ),
                ("loose_group_replication_start_on_boot", "OFF".to_owned()),
                (
                    "loose_group_replication_local_address",
                    format!("127.0.0.1:{port}"),
                ),
                ("loose_group_replication_group_seeds", seeds.clone()),
                (
                    "loose_group_replication_single_primary_mode",
                    single.to_owned(),
                ),
                (
                    "loose_group_replication_enforce_update_everywhere_checks",
                    if is_open { "ON" } else { "OFF" }.to_owned(),
                ),
                (
                    "loose_group_replication_member_expel_timeout",
                    "0".to_owned(),
                ),
            ],
        ))?;
        let join = "START GROUP_REPLICATION USER = 'root'";
        node.query("RESET BINARY LOGS AND GTIDS")?;
        if nodes.is_empty() {
            node.query(&format!(
                "SET GLOBAL group_replication_bootstrap_group = ON; {join}; SET GLOBAL group_replication_bootstrap_group = OFF"
            ))?;
        } else {
            node.query(join)?;
        }
        nodes.push(node);
        let members = nodes.len().to_string();
        until("the node is a member of the group", || {
            Ok(nodes[0]
                .query("SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'")?
                .trim()
                == members)
        })?;
    }
    Ok(Cluster {
        nodes,
        dialect: Dialect::Mysql,
        sync: "SET SESSION group_replication_consistency = 'BEFORE'",
        own_name: "SELECT @@group_replication_group_name",
        is_open,
        name: String::new(),
        control: String::new(),
    })
}

impl Cluster {
    pub(super) fn session(&self, node: usize) -> Session {
        let mut session = installation::connect(&self.nodes[node].url(&self.name, "root"));
        session.execute(self.sync).expect("a session");
        session
    }

    pub(super) fn call(&self, node: usize, routine: &str, options: Value) -> Result<Value> {
        call(
            &mut self.session(node),
            self.dialect,
            &self.control,
            routine,
            &options,
        )
    }

    pub(super) fn execute(&self, node: usize, sql: &str) -> Result<()> {
        let sql = sql.replace("W.", &format!("{}.", self.control));
        self.session(node).execute(&sql)
    }

    pub(super) fn text(&self, node: usize, sql: &str) -> Result<String> {
        let sql = sql.replace("W.", &format!("{}.", self.control));
        let rows = self.session(node).query(&sql, &[])?;
        Ok(rows
            .into_iter()
            .map(|row| {
                let values: Vec<_> = row.into_iter().map(Option::unwrap_or_default).collect();
                values.join(" ")
            })
            .collect::<Vec<_>>()
            .join("\n"))
    }

    /// Every row of both databases on a node.
    fn rows(&self, node: usize) -> Result<BTreeMap<String, String>> {
        let tables = self.text(
            node,
            &format!(
                "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables
                 WHERE table_schema IN ('{}', '{}') AND table_type = 'BASE TABLE'",
                self.name, self.control
            ),
        )?;
        tables
            .lines()
            .map(|table| {
                let rows = self.text(node, &format!("SELECT * FROM {table}"))?;
                let mut rows: Vec<_> = rows.lines().collect();
                rows.sort_unstable();
                Ok((table.to_owned(), rows.join("\n")))
            })
            .collect()
    }

    /// All nodes that live hold the same; how many rows of the application these are.
    pub(super) fn alike(&self, round: &str, living: &[usize]) -> Result<Vec<i64>> {
        let first = self.rows(living[0])?;
        for node in &living[1..] {
            let other = self.rows(*node)?;
            for (table, rows) in &first {
                ensure!(
                    other.get(table) == Some(rows),
                    "{round}: node {node} has another {table}"
                );
            }
        }
        TABLES
            .iter()
            .map(|table| {
                Ok(self
                    .text(living[0], &format!("SELECT COUNT(*) FROM {table}"))?
                    .parse()?)
            })
            .collect()
    }

    /// A run in a thread, which sleeps before it deletes the job with this id.
    pub(super) fn run_aside(
        &self,
        node: usize,
        id: i64,
    ) -> Result<thread::JoinHandle<Result<Value>>> {
        self.aside(node, id, "run", json!({"rule": "jobs"}))
    }

    /// A run in a thread.
    pub(super) fn begin_run(
        &self,
        node: usize,
        options: Value,
    ) -> thread::JoinHandle<Result<Value>> {
        let mut session = self.session(node);
        let (dialect, control) = (self.dialect, self.control.clone());
        thread::spawn(move || call(&mut session, dialect, &control, "run", &options))
    }

    /// A call in a thread, which sleeps before it deletes the job with this id.
    pub(super) fn aside(
        &self,
        node: usize,
        id: i64,
        routine: &'static str,
        options: Value,
    ) -> Result<thread::JoinHandle<Result<Value>>> {
        self.execute(node, &format!("INSERT INTO slow VALUES ({id})"))?;
        let mut session = self.session(node);
        let number = session.session()?;
        let (dialect, control) = (self.dialect, self.control.clone());
        let runner =
            thread::spawn(move || call(&mut session, dialect, &control, routine, &options));
        until("the run sleeps", || {
            if runner.is_finished() {
                return Ok(true);
            }
            let sleeps = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number} AND state = 'User sleep'"
            );
            Ok(self.nodes[node].query(&sleeps)?.trim() == "1")
        })?;
        Ok(runner)
    }

    pub(super) fn load(&self, node: usize) -> Result<()> {
        let clear = TABLES.map(|table| format!("DELETE FROM {table};\n"));
        let mut sql = format!("SET @loading = 1; {}", clear.concat());
        for id in 1..=DUE {
            sql += &format!(
                "INSERT INTO job VALUES ({id}, 'done', '2020-01-01' + INTERVAL {id} HOUR);
                 INSERT INTO step (id, job_id) VALUES ({id}, {id}), (1000 + {id}, {id});
                 INSERT INTO task VALUES ({id}, '2020-01-01' + INTERVAL {id} HOUR);
                 INSERT INTO mail VALUES ({id}, '2020-01-01' + INTERVAL {id} HOUR);\n"
            );
        }
        sql += "INSERT INTO job VALUES (100, 'busy', '2020-01-01'); INSERT INTO step (id, job_id) VALUES (100, 100);";
        self.execute(node, &sql)
    }
}
