//! An inventory with its servers, databases and specs.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use windrow::dialect::Dialect;

use crate::support::installation::{Session, connect};
use crate::support::patience::until;

/// Nine rows, of which six have expired.
const ROWS: &str = "CREATE TABLE item (id bigint PRIMARY KEY, expires_at TIME NULL);
    INSERT INTO item VALUES (1, '2020-01-01'), (2, '2020-01-02'), (3, '2020-01-03'), (4, '2020-01-04'), (5, '2020-01-05'),
    (6, '2020-01-06'), (7, NULL), (8, '2037-01-01'), (9, '2037-01-02');";

pub(super) struct Stage {
    folder: TempDir,
    /// The servers, with `DATABASE` in their addresses.
    servers: Vec<(Dialect, String)>,
    /// The names of the databases that there are, as the inventory calls them.
    pub(super) databases: Vec<String>,
}

fn run(session: &mut Session, statements: &str) {
    session.execute(statements).expect("statements that run");
}

/// The names of the databases that ended so.
pub(super) fn of(document: &Value, outcome: &str) -> Vec<String> {
    let all = document["databases"]
        .as_array()
        .expect("a list of databases");
    let these = all.iter().filter(|it| it["outcome"] == outcome);
    these
        .map(|it| it["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// The spec of a database: on PostgreSQL one serves all, elsewhere it names the database.
pub(super) fn spec(name: &str) -> String {
    format!(
        "name = '{name}'\nschema = 'public'\ndatabase = '{name}'\n[tables]\nitem = {{ key = 'id bigint' }}\n\
         [rules.item]\nstrategy = 'expiry'\nroot = 'item'\ntime = 'expires_at timestamp'\n"
    )
}

impl Stage {
    /// So many databases on each server; the last of all is not armed. One more server is down.
    pub(super) fn new(name: &str, servers: &[(Dialect, String)], count: usize) -> Self {
        let mut stage = Self {
            folder: tempfile::tempdir().expect("a folder"),
            servers: servers.to_vec(),
            databases: Vec::new(),
        };
        let mut inventory = String::new();
        for (at, (dialect, address)) in servers.iter().enumerate() {
            let all: Vec<String> = (0..count)
                .map(|it| format!("fleet_{name}_{at}_{it}"))
                .collect();
            for database in &all {
                run(
                    &mut stage.administrator(at),
                    &format!("CREATE DATABASE {database}"),
                );
                let time = match dialect {
                    Dialect::Postgres => "timestamp",
                    Dialect::Mysql | Dialect::Mariadb => "datetime",
                };
                run(
                    &mut connect(&address.replace("DATABASE", database)),
                    &ROWS.replace("TIME", time),
                );
                stage.databases.push(format!("s{at}/{database}"));
            }
            let file = match dialect {
                Dialect::Postgres => format!("fleet_{name}_{at}.toml"),
                Dialect::Mysql | Dialect::Mariadb => "{database}.toml".to_owned(),
            };
            match dialect {
                Dialect::Postgres => stage.write(&file, &spec(&format!("fleet_{name}_{at}"))),
                Dialect::Mysql | Dialect::Mariadb => {
                    for it in &all {
                        stage.write(&format!("{it}.toml"), &spec(it));
                    }
                }
            }
            let last = at + 1 == servers.len();
            let (armed, rest) = all.split_at(count - usize::from(last));
            let url = address.replace("/DATABASE", "/");
            for (server, group, databases) in [("", "\"armed\", ", armed), ("x", "", rest)] {
                if !databases.is_empty() {
                    inventory += &format!(
                        "[[server]]\nname = \"s{at}{server}\"\nurl = \"{url}\"\nspec = \"{file}\"\ndatabases = {databases:?}\n\
                         groups = [{group}\"live\"]\n\n"
                    );
                }
            }
        }
        if let Some(last) = stage.databases.last_mut() {
            *last = last.replacen('/', "x/", 1);
        }
        // Nobody listens there once this is closed.
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|it| it.local_addr())
            .expect("a free port")
            .port();
        inventory += &format!(
            "[[server]]\nname = \"down\"\nurl = \"postgres://nobody@127.0.0.1:{port}/x\"\nspec = \"fleet_{name}_0.toml\"\n"
        );
        stage.write("fleet.toml", &inventory);
        stage
    }

    /// An inventory alone.
    pub(super) fn without_servers(inventory: &str) -> Self {
        let stage = Self {
            folder: tempfile::tempdir().expect("a folder"),
            servers: Vec::new(),
            databases: Vec::new(),
        };
        stage.write("fleet.toml", inventory);
        stage
    }

    /// Where such a file is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Whether there is such a file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file is written");
    }

    /// How many specs there are.
    pub(super) fn specs(&self) -> usize {
        let files = fs::read_dir(self.folder.path()).expect("a folder");
        let names = files.map(|it| {
            it.expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        });
        names
            .filter(|it| it.ends_with(".toml") && it != "fleet.toml")
            .count()
    }

    /// The command line of a call.
    pub(super) fn command(&self, command: &str, arguments: &[&str]) -> Command {
        let mut call = self.call(command, "json");
        call.args(arguments);
        call
    }

    /// That of a call without arguments, whose answer is a text or a document.
    pub(super) fn call(&self, command: &str, output: &str) -> Command {
        let mut call = Command::new(env!("CARGO_BIN_EXE_windrow"));
        call.current_dir(self.folder.path())
            .args(["fleet", command, "--output", output])
            .env("NO_COLOR", "1")
            .env_remove("WINDROW_URL")
            .stdin(Stdio::null());
        call
    }

    /// Exit code and document of a call.
    pub(super) fn fleet(&self, command: &str, arguments: &[&str]) -> (i32, Value) {
        let output = self
            .command(command, arguments)
            .output()
            .expect("windrow runs");
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        (output.status.code().expect("an exit code"), document)
    }

    /// Which server has a database, and its name there.
    fn place<'a>(&self, name: &'a str) -> (usize, &'a str) {
        let (server, database) = name.split_once('/').expect("a server and a database");
        let number = server.trim_start_matches('s').trim_end_matches('x');
        (number.parse().expect("a number"), database)
    }

    /// A session of the superuser in no database of the stage.
    fn administrator(&self, server: usize) -> Session {
        let (dialect, address) = &self.servers[server];
        let home = match dialect {
            Dialect::Postgres => "postgres",
            Dialect::Mysql | Dialect::Mariadb => "mysql",
        };
        connect(&address.replace("DATABASE", home))
    }

    fn session(&self, name: &str) -> (Dialect, Session) {
        let (server, database) = self.place(name);
        let (dialect, address) = &self.servers[server];
        (*dialect, connect(&address.replace("DATABASE", database)))
    }

    /// Name of the control schema of a database.
    fn control(&self, name: &str) -> String {
        let (server, database) = self.place(name);
        match self.servers[server].0 {
            Dialect::Postgres => {
                format!("windrow_{}", database.rsplit_once('_').expect("a number").0)
            }
            Dialect::Mysql | Dialect::Mariadb => format!("windrow_{database}"),
        }
    }

    /// The databases on servers that start no event.
    pub(super) fn without_events(&self) -> Vec<String> {
        let mut names = self.databases.clone();
        names.retain(|it| self.servers[self.place(it).0].0 != Dialect::Postgres);
        names
    }

    /// How many rows the table of the application has.
    pub(super) fn rows(&self, name: &str) -> i64 {
        let rows = self.session(name).1.query("SELECT count(*) FROM item", &[]);
        let count = rows.expect("a count")[0][0].clone();
        count.and_then(|it| it.parse().ok()).expect("a number")
    }

    /// Drops a routine by hand.
    pub(super) fn edit(&self, name: &str) {
        let (dialect, mut session) = self.session(name);
        let control = self.control(name);
        let kind = match dialect {
            Dialect::Postgres => "ROUTINE",
            Dialect::Mysql | Dialect::Mariadb => "PROCEDURE",
        };
        run(&mut session, &format!("DROP {kind} {control}.item_delete"));
    }

    /// A session that locks what `status` reads, as long as it lives.
    pub(super) fn lock(&self, name: &str) -> Session {
        let (dialect, mut session) = self.session(name);
        let control = self.control(name);
        run(
            &mut session,
            &match dialect {
                Dialect::Postgres => format!("BEGIN; LOCK TABLE {control}.control"),
                Dialect::Mysql | Dialect::Mariadb => format!("LOCK TABLES {control}.control WRITE"),
            },
        );
        session
    }

    /// The first database on each server.
    pub(super) fn first_of_each(&self) -> Vec<String> {
        let mut names = self.databases.clone();
        names.dedup_by_key(|it| self.place(it).0);
        names
    }

    /// A row that is due, and a session that lets nobody delete it as long as it lives: it locks the table, or writes a hold.
    pub(super) fn keep_due(&self, name: &str) -> Session {
        let (dialect, mut session) = self.session(name);
        let control = self.control(name);
        let lock = match dialect {
            Dialect::Postgres => "BEGIN; LOCK TABLE item IN SHARE MODE".to_owned(),
            Dialect::Mysql => "LOCK TABLES item READ".to_owned(),
            Dialect::Mariadb => {
                format!("BEGIN; SELECT l.only_row FROM {control}.latch AS l FOR UPDATE")
            }
        };
        run(&mut session, "INSERT INTO item VALUES (10, '2020-01-10')");
        run(&mut session, &lock);
        session
    }

    /// Returns once somebody waits for that lock.
    pub(super) fn wait_for_a_waiter(&self, name: &str) {
        let (server, database) = self.place(name);
        let mut session = self.administrator(server);
        // Other tests have sessions that wait on the same server.
        let query = match self.servers[server].0 {
            Dialect::Postgres => format!(
                "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '{database}'"
            ),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table%' AND db = '{database}'"
            ),
        };
        until("somebody who waits", || {
            Ok(!session.query(&query, &[])?.is_empty())
        })
        .expect("a waiter");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for name in &self.databases {
            let (server, database) = self.place(name);
            let mut session = self.administrator(server);
            // What is left behind after a failure goes with the server.
            match self.servers[server].0 {
                Dialect::Postgres => drop(
                    session.execute(&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)")),
                ),
                Dialect::Mysql | Dialect::Mariadb => {
                    for it in [database, &self.control(name)] {
                        drop(session.execute(&format!("DROP DATABASE IF EXISTS {it}")));
                    }
                }
            }
        }
    }
}
