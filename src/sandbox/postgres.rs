//! Throw-away PostgreSQL servers.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use url::Url;

use super::instance::{Instance, cache_dirs, path_dirs};
use super::kind::Kind;

pub(super) static KIND: Kind = Kind {
    title: "PostgreSQL",
    pid_file: "postmaster.pid",
    marker: "PG_VERSION",
    socket: ".s.PGSQL.65535",
    files: &[".s.PGSQL."],
    stop: "INT",
    // The immediate shutdown, which takes the backends along.
    abort: "QUIT",
    accounts: &["postgres"],
    port_taken: "could not bind IPv4 address",
    is_ready: |data, pid, _| LockFile::read(data).is_some_and(|lock| lock.pid == pid && lock.ready),
};

/// What a sandbox should be like.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder with `postgres` and `initdb`; found by itself when absent.
    pub bin_dir: Option<PathBuf>,
    /// Load the pg_cron extension at start.
    pub preload_pg_cron: bool,
    /// The database that pg_cron lives in.
    pub cron_database: String,
    /// Write to disk as a production server does. Without it a crash of the machine, not of the server, loses data.
    pub durable: bool,
    /// Further lines of `postgresql.conf`; the last one of a name wins.
    pub extra: Vec<(String, String)>,
    /// A fixed directory for a server that outlives the process; see [`super::stop_at`].
    pub keep_at: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bin_dir: None,
            preload_pg_cron: false,
            cron_database: "postgres".to_owned(),
            durable: false,
            extra: Vec::new(),
            keep_at: None,
        }
    }
}

/// A PostgreSQL server with the superuser `postgres`, the database `postgres` and no passwords.
///
/// Dropping it ends the server and removes its directory, unless the directory was chosen with [`Settings::keep_at`].
#[derive(Debug)]
pub struct Postgres {
    instance: Instance,
    bin_dir: PathBuf,
}

impl Postgres {
    /// Creates a cluster and starts its server. A kept directory that has a cluster already is started as it is.
    pub fn start(settings: &Settings) -> Result<Self> {
        let bin_dir = find_bin_dir(settings)?;
        let mut server = Self {
            instance: Instance::new(&KIND, settings.keep_at.as_deref())?,
            bin_dir,
        };
        if !server.instance.is_initialised() {
            server.initialise(settings)?;
        }
        let bin_dir = &server.bin_dir;
        server
            .instance
            .start(|instance| command(instance, bin_dir))
            .map_err(hint_at_pg_cron)?;
        Ok(server)
    }

    /// The server that runs in a directory kept by an earlier process. Dropping the value leaves it alone.
    pub fn attach(dir: &Path) -> Result<Self> {
        let mut instance = Instance::attach(&KIND, dir)?;
        let data = instance.data();
        instance.port = LockFile::read(&data).map_or(0, |lock| lock.port);
        // The first word of this file is the path of the binary, as PostgreSQL's own pg_ctl uses it to restart.
        let options = fs::read_to_string(data.join("postmaster.opts"))
            .context("cannot read `postmaster.opts`")?;
        let binary = options.split(" \"").next().unwrap_or_default();
        let bin_dir = Path::new(binary)
            .parent()
            .unwrap_or(Path::new("/"))
            .to_owned();
        Ok(Self { instance, bin_dir })
    }

    /// A further server that begins with a copy of all that this one has, and repeats what it does. It can be read, and
    /// promoted.
    pub fn start_replica(&self) -> Result<Self> {
        let mut replica = Self {
            instance: Instance::new(&KIND, None)?,
            bin_dir: self.bin_dir.clone(),
        };
        let mut copy = replica
            .instance
            .command(&self.bin_dir.join("pg_basebackup"));
        copy.args(["--checkpoint=fast", "--write-recovery-conf", "--no-sync"])
            .arg(format!("--dbname={}", self.url("postgres", "postgres")))
            .arg("--pgdata")
            .arg(replica.instance.data());
        replica.instance.run(copy)?;
        // The copy has the socket of its source in its configuration.
        replica.configure(&Settings::default())?;
        let bin_dir = &replica.bin_dir;
        replica
            .instance
            .start(|instance| command(instance, bin_dir))?;
        Ok(replica)
    }

    /// The TCP address of a database for a user, who needs no password; nor does who is on this machine anyway need TLS.
    pub fn url(&self, database: &str, user: &str) -> String {
        let mut url = Url::parse("postgresql://127.0.0.1").expect("a constant URL is valid");
        url.set_port(Some(self.port())).expect("the URL has a host");
        url.set_username(user).expect("the URL has a host");
        url.set_path(database);
        url.set_query(Some("sslmode=disable"));
        url.into()
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.instance.port
    }

    /// The directory of the Unix socket.
    pub fn socket_dir(&self) -> &Path {
        &self.instance.dir
    }

    /// A client program of the server's own version, such as `psql`, that connects to this server as `postgres`.
    pub fn bin(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin_dir.join(program));
        command
            .env("PGHOST", &self.instance.dir)
            .env("PGPORT", self.port().to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", "postgres");
        command
    }

    /// The major version, such as 15; 0 where the server does not say.
    pub fn major(&self) -> u32 {
        major_version(&self.bin_dir).unwrap_or_default()
    }

    /// The process id of the postmaster.
    pub fn pid(&self) -> u32 {
        self.instance.pid
    }

    /// Kills the postmaster and all its children at once, like a power cut, and waits until they are gone.
    pub fn kill(&mut self) -> Result<()> {
        self.instance.kill()
    }

    /// Starts the server again on the same port, after [`Postgres::kill`], [`Postgres::stop`] or while it runs.
    pub fn restart(&mut self) -> Result<()> {
        let bin_dir = &self.bin_dir;
        self.instance
            .restart(|instance| command(instance, bin_dir))
            .map_err(hint_at_pg_cron)
    }

    /// Ends the server in good order; does nothing when it does not run.
    pub fn stop(&mut self) -> Result<()> {
        self.instance.stop()
    }

    /// User and system time of the postmaster and its children since it was started, those that have ended included.
    pub fn cpu_seconds(&self) -> f64 {
        self.instance.cpu_seconds()
    }

    fn initialise(&self, settings: &Settings) -> Result<()> {
        let mut command = self.instance.command(&self.bin_dir.join("initdb"));
        command
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ])
            .arg("--pgdata")
            .arg(self.instance.data());
        self.instance.run(command)?;
        self.configure(settings)
    }

    fn configure(&self, settings: &Settings) -> Result<()> {
        OpenOptions::new()
            .append(true)
            .open(self.instance.data().join("postgresql.conf"))
            .and_then(|mut file| file.write_all(self.configuration(settings).as_bytes()))
            .context("cannot write `postgresql.conf`")
    }

    fn configuration(&self, settings: &Settings) -> String {
        let durable = if settings.durable { "on" } else { "off" };
        let socket_dir = self.instance.dir.display().to_string();
        let mut lines = vec![
            ("listen_addresses", "127.0.0.1"),
            ("unix_socket_directories", &socket_dir),
            ("shared_buffers", "256MB"),
            ("max_wal_size", "4GB"),
            ("timezone", "UTC"),
            ("log_timezone", "UTC"),
            ("fsync", durable),
            ("full_page_writes", durable),
        ];
        if settings.preload_pg_cron {
            lines.push(("shared_preload_libraries", "pg_cron"));
            lines.push(("cron.database_name", &settings.cron_database));
            lines.push(("cron.host", &socket_dir));
        }
        lines.extend(
            settings
                .extra
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        lines
            .iter()
            .map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''")))
            .collect()
    }
}

/// How the postmaster is started.
fn command(instance: &Instance, bin_dir: &Path) -> Command {
    let mut command = instance.command(&bin_dir.join("postgres"));
    command
        .arg("-D")
        .arg(instance.data())
        .args(["-p", &instance.port.to_string()]);
    command
}

fn hint_at_pg_cron(error: anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}");
    if text.contains("pg_cron") {
        return anyhow!(
            "{text}\n\nhint: install the extension with `apt-get install postgresql-15-cron` or `make setup`"
        );
    }
    error
}

/// Every PostgreSQL on this machine, by major version: those of the distributions and of PostgreSQL's own packages, the unpacked
/// ones of `.ci/servers`, and the one on the PATH. The first of a version wins.
pub fn installed() -> Vec<(u32, PathBuf)> {
    let usual = [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/usr/lib", "postgresql"),
        ("/usr/libexec", "postgresql"),
        ("/opt/homebrew/opt", "postgresql@"),
        ("/usr/local/opt", "postgresql@"),
    ];
    let system = usual
        .into_iter()
        .flat_map(|(folder, prefix)| numbered(folder.as_ref(), prefix));
    let cached = cache_dirs()
        .into_iter()
        .flat_map(|cache| numbered(&cache, "postgres-"));
    let on_path = path_dirs()
        .into_iter()
        .chain(["/usr/local/pgsql/bin".into()])
        .filter(|dir| is_bin_dir(dir))
        .filter_map(|dir| Some((major_version(&dir)?, dir)));
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (major, dir) in system.chain(cached).chain(on_path) {
        if is_bin_dir(&dir) && !found.iter().any(|(known, _)| *known == major) {
            found.push((major, dir.canonicalize().unwrap_or(dir)));
        }
    }
    found.sort();
    found
}

/// The explicit folder, the one in the environment, version 15, or the newest.
fn find_bin_dir(settings: &Settings) -> Result<PathBuf> {
    let named = settings
        .bin_dir
        .clone()
        .or_else(|| env::var_os("WINDROW_POSTGRES_BIN").map(PathBuf::from));
    if let Some(dir) = named {
        ensure!(
            is_bin_dir(&dir),
            "`{}` has no `postgres` and `initdb`\n\nhint: name the folder with the server's programs, such as \
             /usr/lib/postgresql/15/bin",
            dir.display()
        );
        return dir
            .canonicalize()
            .with_context(|| format!("cannot open `{}`", dir.display()));
    }
    let found = installed();
    let chosen = found
        .iter()
        .find(|(major, _)| *major == 15)
        .or(found.last());
    chosen.map(|(_, dir)| dir.clone()).ok_or_else(|| {
        anyhow!(
            "no PostgreSQL server is installed\n\nhint: install one, such as Debian's `postgresql-15` and `postgresql-15-cron`, or set \
             WINDROW_POSTGRES_BIN to the folder with its programs; in a clone `make demo` unpacks one without root"
        )
    })
}

fn is_bin_dir(dir: &Path) -> bool {
    dir.join("postgres").is_file() && dir.join("initdb").is_file()
}

/// The `bin` folders of the versions in a folder, where a version's folder is named by a prefix and its number.
fn numbered(folder: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let major = entry
                .file_name()
                .to_str()?
                .strip_prefix(prefix)?
                .parse()
                .ok()?;
            Some((major, entry.path().join("bin")))
        })
        .collect()
}

/// From the answer `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn major_version(bin_dir: &Path) -> Option<u32> {
    let output = Command::new(bin_dir.join("postgres"))
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace()
        .nth(2)?
        .split('.')
        .next()?
        .parse()
        .ok()
}

/// What PostgreSQL writes about a running server into `postmaster.pid`.
struct LockFile {
    pid: u32,
    port: u16,
    ready: bool,
}

impl LockFile {
    fn read(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join(KIND.pid_file)).ok()?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Some(Self {
            pid: lines.first()?.parse().ok()?,
            port: lines.get(3).and_then(|line| line.parse().ok()).unwrap_or(0),
            ready: lines.get(7) == Some(&"ready"),
        })
    }
}
