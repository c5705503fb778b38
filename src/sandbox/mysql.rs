//! Throw-away MySQL and MariaDB servers.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, ensure};
use url::Url;

use super::instance::{Instance, cache_dirs, path_dirs, spawn_watchdog};
use super::kind::Kind;

pub(super) static KIND: Kind = Kind {
    title: "the server",
    pid_file: "server.pid",
    marker: "ibdata1",
    socket: "server.sock.lock",
    files: &["server.cnf", "server.sock"],
    stop: "TERM",
    // Neither server knows a quicker way that leaves nothing behind.
    abort: "KILL",
    accounts: &["mysql"],
    port_taken: "Address already in use",
    is_ready: |_, _, log| log.contains(": ready for connections"),
};

/// Data directories to copy, by the server program that made them. A static is never dropped: its watchdog removes
/// each with the process.
static TEMPLATES: Mutex<Option<HashMap<PathBuf, Template>>> = Mutex::new(None);

#[derive(Debug)]
struct Template {
    data: PathBuf,
    _watchdog: Child,
}

/// Who made the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flavour {
    /// MySQL.
    Mysql,
    /// MariaDB.
    Mariadb,
}

impl Flavour {
    /// Both, as the tests walk through them.
    pub const ALL: [Self; 2] = [Self::Mysql, Self::Mariadb];

    /// Name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Mysql => "MySQL",
            Self::Mariadb => "MariaDB",
        }
    }

    /// The server program and what it was called before.
    const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Mysql => &["mysqld"],
            Self::Mariadb => &["mariadbd", "mysqld"],
        }
    }

    /// The command-line client.
    const fn client(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
        }
    }

    const fn variable(self) -> &'static str {
        match self {
            Self::Mysql => "WINDROW_MYSQL_BIN",
            Self::Mariadb => "WINDROW_MARIADB_BIN",
        }
    }
}

/// What a sandbox should be like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// MySQL or MariaDB.
    pub flavour: Flavour,
    /// The folder with the server's programs; found by itself when absent.
    pub bin_dir: Option<PathBuf>,
    /// Write a binary log, by rows, as a server with replicas does.
    pub binlog: bool,
    /// Run events at their time.
    pub events: bool,
    /// Write to disk as a production server does. Without it a crash of the machine, not of the server, loses data.
    pub durable: bool,
    /// Further settings of the server; the last one of a name wins.
    pub extra: Vec<(String, String)>,
    /// A fixed directory for a server that outlives the process; see [`super::stop_at`].
    pub keep_at: Option<PathBuf>,
}

impl Settings {
    /// A server with a binary log, without events, for a moment.
    pub fn new(flavour: Flavour) -> Self {
        Self {
            flavour,
            bin_dir: None,
            binlog: true,
            events: false,
            durable: false,
            extra: Vec::new(),
            keep_at: None,
        }
    }
}

/// A server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Installed {
    /// Who made it.
    pub flavour: Flavour,
    /// Major and minor version, such as (10, 11).
    pub version: (u32, u32),
    /// The folder with the server program.
    pub bin_dir: PathBuf,
}

/// A MySQL or MariaDB server with the user `root`, who needs no password on the socket and from 127.0.0.1.
///
/// Dropping it ends the server and removes its directory, unless the directory was chosen with [`Settings::keep_at`].
#[derive(Debug)]
pub struct Mysql {
    instance: Instance,
    flavour: Flavour,
    program: PathBuf,
}

impl Mysql {
    /// Creates a data directory and starts its server. A kept directory that has one already is started as it is.
    pub fn start(settings: &Settings) -> Result<Self> {
        let program = find_program(settings)?;
        let mut server = Self {
            instance: Instance::new(&KIND, settings.keep_at.as_deref())?,
            flavour: settings.flavour,
            program,
        };
        if !server.instance.is_initialised() {
            if let Err(error) = server.initialise() {
                // Half a data directory in a kept one would be in the way of the next attempt.
                drop(fs::remove_dir_all(server.instance.data()));
                return Err(error);
            }
            write_readable(
                &server.configuration_file(),
                &server.configuration(settings),
            )
            .context("cannot write `server.cnf`")?;
        }
        let program = &server.program;
        server
            .instance
            .start(|instance| command(instance, program))
            .with_context(|| format!("cannot start {}", settings.flavour.title()))?;
        Ok(server)
    }

    /// The server that runs in a directory kept by an earlier process. Dropping the value leaves it alone.
    pub fn attach(dir: &Path) -> Result<Self> {
        let mut instance = Instance::attach(&KIND, dir)?;
        instance.port = port_of(instance.pid)?;
        let text = fs::read_to_string(instance.dir.join("server.cnf"))
            .context("cannot read `server.cnf`")?;
        let program = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# "))
            .map(PathBuf::from)
            .context("`server.cnf` does not name the server's program")?;
        let flavour = inspect(&program)
            .map(|(flavour, _)| flavour)
            .with_context(|| format!("cannot run `{}`", program.display()))?;
        Ok(Self {
            instance,
            flavour,
            program,
        })
    }

    /// A further server that repeats what this one does, from its very beginning. It needs this one's binary log.
    pub fn start_replica(&self, settings: &Settings) -> Result<Self> {
        ensure!(
            self.flavour == settings.flavour,
            "a replica must be of the same kind"
        );
        let replica = Self::start(settings)?;
        let port = self.port();
        replica.query(&match self.flavour {
            Flavour::Mysql => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root', \
                 SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1; START REPLICA"
            ),
            Flavour::Mariadb => format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root', \
                 MASTER_USE_GTID = slave_pos, MASTER_SSL = 0, MASTER_CONNECT_RETRY = 1; START SLAVE"
            ),
        })?;
        Ok(replica)
    }

    /// Waits until this replica has done all that its source has done by now.
    pub fn catch_up(&self, source: &Self) -> Result<()> {
        let (position, wait) = match self.flavour {
            Flavour::Mysql => (
                source.query("SELECT @@global.gtid_executed")?,
                "WAIT_FOR_EXECUTED_GTID_SET",
            ),
            Flavour::Mariadb => (
                source.query("SELECT @@global.gtid_binlog_pos")?,
                "MASTER_GTID_WAIT",
            ),
        };
        // The client writes the line breaks of a value as `\n`.
        let position = position.replace("\\n", "");
        let answer = self.query(&format!("SELECT {wait}('{}', 60)", position.trim()))?;
        ensure!(
            answer.trim() == "0",
            "the replica is not where its source was a minute ago: {}",
            self.query(match self.flavour {
                Flavour::Mysql =>
                    "SELECT last_error_message FROM performance_schema.replication_applier_status_by_worker",
                Flavour::Mariadb => "SHOW SLAVE STATUS\\G",
            })?
        );
        Ok(())
    }

    /// Who made the server.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The TCP address of a database for a user without a password; nor does who is on this machine anyway need TLS.
    pub fn url(&self, database: &str, user: &str) -> String {
        let mut url = Url::parse(match self.flavour {
            Flavour::Mysql => "mysql://127.0.0.1",
            Flavour::Mariadb => "mariadb://127.0.0.1",
        })
        .expect("a constant URL is valid");
        url.set_port(Some(self.port())).expect("the URL has a host");
        url.set_username(user).expect("the URL has a host");
        url.set_path(database);
        url.set_query(Some("ssl-mode=DISABLED"));
        url.into()
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.instance.port
    }

    /// The Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.instance.dir.join("server.sock")
    }

    /// The directory of the socket, the log and the data.
    pub fn dir(&self) -> &Path {
        &self.instance.dir
    }

    /// A client program of the server's own version, such as `mysqldump`, that connects to this server as `root`.
    pub fn bin(&self, program: &str) -> Command {
        let mut command = Command::new(sibling_program(&self.program, program));
        command
            .args(["--no-defaults", "--user=root"])
            .arg(format!("--socket={}", self.socket().display()));
        if self.flavour == Flavour::Mariadb {
            // Newer clients insist on an encryption that the server was not given a certificate for.
            command.arg("--skip-ssl");
        }
        command
    }

    /// The command-line client, connected to this server as `root`.
    pub fn client(&self) -> Command {
        self.bin(self.flavour.client())
    }

    /// What the command-line client answers to some statements: a line for each row, without headings.
    pub fn query(&self, sql: &str) -> Result<String> {
        let output = self
            .client()
            .args(["--batch", "--skip-column-names", "--execute", sql])
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run `{}`", self.flavour.client()))?;
        ensure!(
            output.status.success(),
            "{}\n\n{sql}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.instance.pid
    }

    /// Kills the server at once, like a power cut, and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.instance.kill()
    }

    /// Starts the server again on the same port, after [`Mysql::kill`], [`Mysql::stop`] or while it runs.
    pub fn restart(&mut self) -> Result<()> {
        let program = &self.program;
        self.instance.restart(|instance| command(instance, program))
    }

    /// Ends the server in good order; does nothing when it does not run.
    pub fn stop(&mut self) -> Result<()> {
        self.instance.stop()
    }

    /// User and system time of the server since it was started.
    pub fn cpu_seconds(&self) -> f64 {
        self.instance.cpu_seconds()
    }

    fn configuration_file(&self) -> PathBuf {
        self.instance.dir.join("server.cnf")
    }

    /// The data directory of a temporary server is a copy of the first that this process made; that takes seconds.
    fn initialise(&self) -> Result<()> {
        if self.instance.temporary.is_none() {
            return initialise(&self.instance, self.flavour, &self.program);
        }
        let mut templates = TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner);
        let templates = templates.get_or_insert_default();
        if !templates.contains_key(&self.program) {
            let template = Template::create(self.flavour, &self.program)?;
            templates.insert(self.program.clone(), template);
        }
        let mut copy = self.instance.command(Path::new("cp"));
        copy.args(["-R", "--preserve=mode"])
            .arg(&templates[&self.program].data)
            .arg(self.instance.data());
        self.instance.run(copy)
    }

    fn configuration(&self, settings: &Settings) -> String {
        let directory = self.instance.dir.display();
        let mut lines = vec![
            ("socket", format!("{directory}/server.sock")),
            ("bind_address", "127.0.0.1".to_owned()),
            ("default_time_zone", "+00:00".to_owned()),
            ("skip_name_resolve", "ON".to_owned()),
            ("innodb_buffer_pool_size", "256M".to_owned()),
            ("innodb_buffer_pool_dump_at_shutdown", "OFF".to_owned()),
            ("innodb_buffer_pool_load_at_startup", "OFF".to_owned()),
            ("event_scheduler", on(settings.events)),
        ];
        if settings.binlog {
            lines.push(("log_bin", "binlog".to_owned()));
            lines.push(("binlog_format", "ROW".to_owned()));
        } else {
            lines.push(("skip_log_bin", "ON".to_owned()));
        }
        match self.flavour {
            Flavour::Mysql => {
                lines.push(("mysqlx", "OFF".to_owned()));
                // The compiled-in folder need not exist.
                lines.push(("secure_file_priv", "NULL".to_owned()));
                lines.push(("gtid_mode", on(settings.binlog)));
                lines.push(("enforce_gtid_consistency", on(settings.binlog)));
            }
            Flavour::Mariadb => lines.push(("innodb_log_file_size", "96M".to_owned())),
        }
        if !settings.durable {
            // An installation has more routines than a session remembers otherwise: it forgets all of them then.
            lines.push(("stored_program_cache", "2048".to_owned()));
            match self.flavour {
                Flavour::Mysql => {
                    // Much of what the tests ask for is new tables and routines, on few cores: a file for each costs most.
                    // MariaDB compresses no table in a file of several, as a session may ask for.
                    lines.push(("innodb_file_per_table", "OFF".to_owned()));
                    lines.push(("performance_schema", "OFF".to_owned()));
                    lines.push(("innodb_doublewrite", "OFF".to_owned()));
                    lines.push(("innodb_parallel_read_threads", "1".to_owned()));
                    lines.push(("innodb_log_writer_threads", "OFF".to_owned()));
                    // A thirty-second of it is a file, and most of them are filled at the start.
                    lines.push(("innodb_redo_log_capacity", "64M".to_owned()));
                    lines.push(("stored_program_definition_cache", "8192".to_owned()));
                    lines.push(("table_definition_cache", "5000".to_owned()));
                }
                Flavour::Mariadb => {
                    lines.push(("innodb_doublewrite", "OFF".to_owned()));
                    lines.push(("table_definition_cache", "5000".to_owned()));
                    lines.push(("table_open_cache", "5000".to_owned()));
                }
            }
        }
        // What is committed has reached the system, and so survives the server.
        if !settings.durable {
            lines.push(("innodb_flush_log_at_trx_commit", "2".to_owned()));
            lines.push(("sync_binlog", "0".to_owned()));
            lines.push(match self.flavour {
                Flavour::Mysql => ("innodb_flush_method", "nosync".to_owned()),
                Flavour::Mariadb => ("debug_no_sync", "ON".to_owned()),
            });
        }
        lines.extend(
            settings
                .extra
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let lines: String = lines
            .iter()
            .map(|(name, value)| {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                format!("{name} = \"{value}\"\n")
            })
            .collect();
        // The first line is for `attach`.
        format!("# {}\n[mysqld]\n{lines}", self.program.display())
    }
}

impl Template {
    fn create(flavour: Flavour, program: &Path) -> Result<Self> {
        let mut instance = Instance::new(&KIND, None)?;
        initialise(&instance, flavour, program)?;
        // What distinguishes one server from another, in a replication as well.
        let own = instance.data().join("auto.cnf");
        if own.exists() {
            fs::remove_file(own)?;
        }
        let watchdog = instance.watchdog.take();
        // Not dropped: the copies need it as long as the process lives.
        instance.temporary.take().map(tempfile::TempDir::keep);
        Ok(Self {
            data: instance.data(),
            _watchdog: match watchdog {
                Some(watchdog) => watchdog,
                None => spawn_watchdog(&instance.dir, &KIND)?,
            },
        })
    }
}

/// Writes a file that the server's account can read, whatever the umask is.
fn write_readable(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// Makes a data directory. The user `root` of MySQL would otherwise exist for the socket only.
fn initialise(instance: &Instance, flavour: Flavour, program: &Path) -> Result<()> {
    let data = format!("--datadir={}", instance.data().display());
    let command = match flavour {
        Flavour::Mysql => {
            let accounts = instance.dir.join("server.cnf");
            write_readable(
                &accounts,
                "CREATE USER root@'127.0.0.1' IDENTIFIED BY '';\n\
                 GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n\
                 GRANT PROXY ON ''@'' TO root@'127.0.0.1' WITH GRANT OPTION;\n",
            )?;
            let mut command = instance.command(program);
            command
                .args(["--no-defaults", "--initialize-insecure", &data])
                .args(["--secure-file-priv=NULL", "--skip-log-bin"])
                .arg(format!("--init-file={}", accounts.display()));
            command
        }
        Flavour::Mariadb => {
            let mut command = instance.command(&sibling_program(program, "mariadb-install-db"));
            let folder = program.parent().and_then(Path::parent);
            command
                .args(["--no-defaults", &data])
                .arg(format!(
                    "--basedir={}",
                    folder.unwrap_or(Path::new("/")).display()
                ))
                .args([
                    "--auth-root-authentication-method=normal",
                    "--skip-test-db",
                    "--skip-name-resolve",
                ]);
            command
        }
    };
    instance.run(command)
}

/// How the server is started. The number that distinguishes replicas is that of the port.
fn command(instance: &Instance, program: &Path) -> Command {
    let mut command = instance.command(program);
    let data = instance.data();
    command
        .arg(format!(
            "--defaults-file={}",
            instance.dir.join("server.cnf").display()
        ))
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--pid-file={}", data.join(KIND.pid_file).display()))
        .arg(format!("--port={}", instance.port))
        .arg(format!("--server-id={}", instance.port));
    command
}

/// The port that a running server was started with.
fn port_of(pid: u32) -> Result<u16> {
    let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline"))
        .context("cannot read the server's command line")?;
    arguments
        .split('\0')
        .find_map(|argument| argument.strip_prefix("--port=")?.parse().ok())
        .context("the server's command line names no port")
}

fn on(value: bool) -> String {
    if value { "ON" } else { "OFF" }.to_owned()
}

/// Every MySQL and MariaDB on this machine: those that the environment names, the ones on the PATH and in the usual
/// folders, the unpacked ones of `.ci/servers`. The first of a version wins.
pub fn installed() -> Vec<Installed> {
    let named = Flavour::ALL
        .iter()
        .filter_map(|flavour| env::var_os(flavour.variable()).map(PathBuf::from));
    let usual = [
        "/usr/sbin",
        "/usr/libexec",
        "/usr/local/sbin",
        "/usr/local/mysql/bin",
    ];
    let cached = cache_dirs().into_iter().flat_map(|cache| {
        let mut found: Vec<PathBuf> = fs::read_dir(cache)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                name == "mysql" || name.starts_with("mariadb-")
            })
            .map(|entry| entry.path().join("bin"))
            .collect();
        found.sort();
        found
    });
    let dirs = named
        .chain(path_dirs())
        .chain(usual.map(PathBuf::from))
        .chain(cached);
    let mut seen = Vec::new();
    let mut found: Vec<Installed> = Vec::new();
    for dir in dirs {
        for name in ["mysqld", "mariadbd"] {
            // Several names and folders may lead to one program.
            let Ok(program) = dir.join(name).canonicalize() else {
                continue;
            };
            if seen.contains(&program) {
                continue;
            }
            seen.push(program.clone());
            let Some((flavour, version)) = inspect(&program) else {
                continue;
            };
            let known = |other: &Installed| (other.flavour, other.version) == (flavour, version);
            if !found.iter().any(known) {
                found.push(Installed {
                    flavour,
                    version,
                    bin_dir: program.parent().unwrap_or(Path::new("/")).to_owned(),
                });
            }
        }
    }
    found
}

/// The folder with the programs of a MariaDB, and the library that makes its servers nodes of a Galera cluster: those of
/// `.ci/servers galera`, or installed ones.
pub fn galera() -> Option<(PathBuf, PathBuf)> {
    let library = "lib/galera/libgalera_smm.so";
    let cached = cache_dirs()
        .into_iter()
        .map(|cache| cache.join("galera/tree/usr"));
    cached
        .chain(["/usr".into()])
        .map(|root| (root.join("bin"), root.join("sbin"), root.join(library)))
        .filter(|(_, _, library)| library.is_file())
        .find_map(|(bin, sbin, library)| {
            let programs = [bin, sbin].into_iter();
            let mut programs =
                programs.filter(|programs| program_in(programs, Flavour::Mariadb).is_some());
            Some((programs.next()?, library))
        })
}

/// Flavour and version from the answer `…/mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64`.
fn inspect(program: &Path) -> Option<(Flavour, (u32, u32))> {
    let output = Command::new(program)
        .args(["--no-defaults", "--version"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let flavour = if text.contains("MariaDB") {
        Flavour::Mariadb
    } else {
        Flavour::Mysql
    };
    let mut numbers = text.split_once("Ver ")?.1.split('.');
    let version = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((flavour, version))
}

/// The server program of the explicit folder, of the one in the environment, or the first installed one.
fn find_program(settings: &Settings) -> Result<PathBuf> {
    let flavour = settings.flavour;
    let named = settings
        .bin_dir
        .clone()
        .or_else(|| env::var_os(flavour.variable()).map(PathBuf::from));
    if let Some(dir) = named {
        return program_in(&dir, flavour).ok_or_else(|| {
            anyhow!(
                "`{}` has no `{}` of {}\n\nhint: name the folder with the server's program, such as /usr/sbin",
                dir.display(),
                flavour.programs()[0],
                flavour.title()
            )
        });
    }
    installed()
        .into_iter()
        .find(|found| found.flavour == flavour)
        .and_then(|found| program_in(&found.bin_dir, flavour))
        .ok_or_else(|| {
            let how = match flavour {
                Flavour::Mysql => "install one",
                Flavour::Mariadb => "install one, such as Debian's `mariadb-server-core` and `mariadb-client-core`",
            };
            anyhow!(
                "no {} server is installed\n\nhint: {how}, or set {} to the folder with its programs; in a clone \
                 `make demo` unpacks one without root",
                flavour.title(),
                flavour.variable()
            )
        })
}

fn program_in(dir: &Path, flavour: Flavour) -> Option<PathBuf> {
    flavour
        .programs()
        .iter()
        .filter_map(|name| dir.join(name).canonicalize().ok())
        .find(|program| inspect(program).is_some_and(|(found, _)| found == flavour))
}

/// Another program of the same installation.
fn sibling_program(server: &Path, name: &str) -> PathBuf {
    let dir = server.parent().unwrap_or(Path::new("/"));
    let folders = [".", "../bin", "../sbin", "../scripts"];
    folders
        .iter()
        .filter_map(|folder| dir.join(folder).canonicalize().ok())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}
