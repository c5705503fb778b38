//! Throw-away PostgreSQL servers for the demo, the tests and the benchmarks.
//!
//! A sandbox is a private cluster in a directory of its own, on a free port of 127.0.0.1 and a Unix socket. It never
//! touches a server of the system, needs no service manager, and is gone with the process that started it, even when
//! that process is killed. Linux only: processes are observed through `/proc`.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use tempfile::TempDir;
use url::Url;

/// How long a server may take to accept connections; recovery after a kill is part of it.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a stopping server may take before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How often a port that somebody else took first is replaced by another.
const PORT_ATTEMPTS: usize = 5;

/// Ticks per second of the times in `/proc/*/stat`: the same on every Linux platform that PostgreSQL runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The longest path of a Unix socket that Linux accepts.
const SOCKET_PATH_LIMIT: usize = 107;

/// Cleans up after a process that died without doing so: the pipe on its standard input then ends without a line.
/// SIGQUIT is PostgreSQL's immediate shutdown, which takes the backends along.
const WATCHDOG: &str = r#"
if read -r line; then exit 0; fi
data=$1/data
if read -r pid <"$data/postmaster.pid" && [ "/proc/$pid/cwd" -ef "$data" ]; then
    kill -QUIT "$pid"
    tries=0
    while [ "$tries" -lt 80 ] && kill -0 "$pid"; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -KILL "$pid"
fi
rm -rf "$1"
"#;

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
    /// A fixed directory for a server that outlives the process; see [`stop_at`].
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
    dir: PathBuf,
    bin_dir: PathBuf,
    account: Option<Account>,
    port: u16,
    pid: u32,
    process: Option<Child>,
    watchdog: Option<Child>,
    // Last, so that the directory is removed after everything else has ended.
    temporary: Option<TempDir>,
}

impl Postgres {
    /// Creates a cluster and starts its server. A kept directory that has a cluster already is started as it is.
    pub fn start(settings: &Settings) -> Result<Self> {
        let bin_dir = find_bin_dir(settings)?;
        let temporary = match settings.keep_at {
            Some(_) => None,
            None => Some(
                tempfile::Builder::new()
                    .prefix("windrow-")
                    .tempdir()
                    .context("cannot create a directory")?,
            ),
        };
        let dir = match (&settings.keep_at, &temporary) {
            (Some(kept), _) => prepare_kept(kept)?,
            (None, Some(temporary)) => temporary.path().canonicalize()?,
            (None, None) => bail!("a sandbox needs a directory"),
        };
        ensure!(
            dir.join(".s.PGSQL.65535").as_os_str().len() <= SOCKET_PATH_LIMIT,
            "the path `{}` is too long for a Unix socket\n\nhint: choose a shorter one, or set TMPDIR",
            dir.display()
        );

        let account = Account::for_server()?;
        if let Some(account) = account {
            chown(&dir, Some(account.uid), Some(account.gid))
                .context("cannot hand the directory over")?;
            fs::set_permissions(&dir, fs::Permissions::from_mode(0o755))?;
        }
        let watchdog = temporary
            .as_ref()
            .map(|directory| spawn_watchdog(directory.path()))
            .transpose()?;

        let mut server = Self {
            dir,
            bin_dir,
            account,
            port: 0,
            pid: 0,
            process: None,
            watchdog,
            temporary,
        };
        if !server.data().join("PG_VERSION").exists() {
            server.initialise(settings)?;
        }
        for attempt in 1.. {
            server.port = free_port()?;
            match server.launch() {
                Err(error) if attempt < PORT_ATTEMPTS && server.port_was_taken() => drop(error),
                other => {
                    other?;
                    break;
                }
            }
        }
        Ok(server)
    }

    /// The server that runs in a directory kept by an earlier process. Dropping the value leaves it alone.
    pub fn attach(dir: &Path) -> Result<Self> {
        let dir = dir
            .canonicalize()
            .with_context(|| format!("cannot open `{}`", dir.display()))?;
        let data = dir.join("data");
        let lock = LockFile::read(&data)
            .filter(|lock| runs_in(lock.pid, &data))
            .ok_or_else(|| {
                anyhow!(
                    "no server runs in `{}`\n\nhint: start one with `windrow demo`",
                    dir.display()
                )
            })?;
        // The first word of this file is the path of the binary, as PostgreSQL's own pg_ctl uses it to restart.
        let options = fs::read_to_string(data.join("postmaster.opts"))
            .context("cannot read `postmaster.opts`")?;
        let binary = options.split(" \"").next().unwrap_or_default();
        let bin_dir = Path::new(binary)
            .parent()
            .unwrap_or(Path::new("/"))
            .to_owned();
        Ok(Self {
            account: Account::for_server()?,
            dir,
            bin_dir,
            port: lock.port,
            pid: lock.pid,
            process: None,
            watchdog: None,
            temporary: None,
        })
    }

    /// The TCP address of a database for a user, who needs no password.
    pub fn url(&self, database: &str, user: &str) -> String {
        let mut url = Url::parse("postgresql://127.0.0.1").expect("a constant URL is valid");
        url.set_port(Some(self.port)).expect("the URL has a host");
        url.set_username(user).expect("the URL has a host");
        url.set_path(database);
        url.into()
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The directory of the Unix socket.
    pub fn socket_dir(&self) -> &Path {
        &self.dir
    }

    /// A client program of the server's own version, such as `psql`, that connects to this server as `postgres`.
    pub fn bin(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin_dir.join(program));
        command
            .env("PGHOST", &self.dir)
            .env("PGPORT", self.port.to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", "postgres");
        command
    }

    /// The process id of the postmaster.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills the postmaster and all its children at once, like a power cut, and waits until they are gone.
    pub fn kill(&mut self) -> Result<()> {
        // A stopped postmaster starts no further child between the look and the blow.
        signal("STOP", &[self.pid])?;
        let mut family = vec![self.pid];
        let children = children_of(self.pid);
        family.extend(children.iter().map(|child| child.pid));
        signal("KILL", &family)?;
        self.wait_until_gone(STOP_TIMEOUT)?;
        let deadline = Instant::now() + STOP_TIMEOUT;
        while children.iter().any(Process::is_alive) {
            ensure!(
                Instant::now() < deadline,
                "processes of the killed server do not end"
            );
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Starts the server again on the same port, after [`Postgres::kill`], [`Postgres::stop`] or while it runs.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        for attempt in 1.. {
            match self.launch() {
                Err(error) if attempt < PORT_ATTEMPTS && self.port_was_taken() => {
                    drop(error);
                    sleep(Duration::from_millis(300));
                }
                other => return other,
            }
        }
        Ok(())
    }

    /// Ends the server in good order; does nothing when it does not run.
    pub fn stop(&mut self) -> Result<()> {
        self.end("INT")
    }

    /// User and system time of the postmaster and its children since it was started, those that have ended included.
    pub fn cpu_seconds(&self) -> f64 {
        let own = Process::read(self.pid).map_or(0, |process| process.ticks);
        let children: u64 = children_of(self.pid).iter().map(|child| child.ticks).sum();
        (own + children) as f64 / TICKS_PER_SECOND
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// A program of the server, run by the user who may run it, in a directory that this user may enter.
    fn server_command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin_dir.join(program));
        command
            .current_dir(&self.dir)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }

    fn initialise(&self, settings: &Settings) -> Result<()> {
        let output = self
            .server_command("initdb")
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-sync",
            ])
            .arg("--pgdata")
            .arg(self.data())
            .output()
            .with_context(|| format!("cannot run `{}`", self.bin_dir.join("initdb").display()))?;
        ensure!(
            output.status.success(),
            "initdb failed in `{}`\n\n{}",
            self.dir.display(),
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        OpenOptions::new()
            .append(true)
            .open(self.data().join("postgresql.conf"))
            .and_then(|mut file| file.write_all(self.configuration(settings).as_bytes()))
            .context("cannot write `postgresql.conf`")
    }

    fn configuration(&self, settings: &Settings) -> String {
        let durable = if settings.durable { "on" } else { "off" };
        let socket_dir = self.dir.display().to_string();
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

    /// Starts the postmaster on `self.port` and waits until it accepts connections.
    fn launch(&mut self) -> Result<()> {
        let log = File::create(self.log()).context("cannot create the server's log")?;
        let mut process = self
            .server_command("postgres")
            .arg("-D")
            .arg(self.data())
            .args(["-p", &self.port.to_string()])
            .stdout(log.try_clone()?)
            .stderr(log)
            // A Ctrl-C on the terminal is meant for windrow, which ends the server itself.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run `{}`", self.bin_dir.join("postgres").display()))?;
        self.pid = process.id();
        let deadline = Instant::now() + START_TIMEOUT;
        let failure = loop {
            if LockFile::read(&self.data()).is_some_and(|lock| lock.pid == self.pid && lock.ready) {
                self.process = Some(process);
                return Ok(());
            }
            if let Some(status) = process.try_wait()? {
                break format!("PostgreSQL ended at start ({status})");
            }
            if Instant::now() > deadline {
                self.process = Some(process);
                self.end("QUIT")?;
                break format!(
                    "PostgreSQL was not ready after {} s",
                    START_TIMEOUT.as_secs()
                );
            }
            sleep(Duration::from_millis(10));
        };
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let hint = if log.contains("pg_cron") {
            "\n\nhint: install the extension with `apt-get install postgresql-15-cron` or `make setup`"
        } else {
            ""
        };
        bail!("{failure}\n\n{}{hint}", log.trim_end())
    }

    fn port_was_taken(&self) -> bool {
        fs::read_to_string(self.log()).is_ok_and(|log| log.contains("could not bind IPv4 address"))
    }

    fn end(&mut self, name: &str) -> Result<()> {
        if !self.is_running() {
            return Ok(());
        }
        signal(name, &[self.pid])?;
        if self.wait_until_gone(STOP_TIMEOUT).is_err() {
            self.kill()?;
        }
        Ok(())
    }

    fn is_running(&mut self) -> bool {
        match &mut self.process {
            Some(process) => matches!(process.try_wait(), Ok(None)),
            None => self.pid != 0 && runs_in(self.pid, &self.data()),
        }
    }

    fn wait_until_gone(&mut self, limit: Duration) -> Result<()> {
        let deadline = Instant::now() + limit;
        while self.is_running() {
            ensure!(
                Instant::now() < deadline,
                "the server with process id {} does not end",
                self.pid
            );
            sleep(Duration::from_millis(5));
        }
        self.process = None;
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.temporary.is_none() {
            return;
        }
        // A failure leaves the watchdog on duty: it ends the server when this process does.
        if self.end("QUIT").is_err() {
            return;
        }
        if let Some(mut watchdog) = self.watchdog.take() {
            let dismissed = watchdog
                .stdin
                .take()
                .is_some_and(|mut pipe| pipe.write_all(b"done\n").is_ok());
            if dismissed {
                drop(watchdog.wait());
            }
        }
    }
}

/// Ends the server that an earlier process left in a directory and removes what belongs to it, and nothing else.
pub fn stop_at(dir: &Path) -> Result<()> {
    let dir = dir
        .canonicalize()
        .with_context(|| format!("cannot open `{}`", dir.display()))?;
    let data = dir.join("data");
    ensure!(
        data.join("PG_VERSION").exists(),
        "`{}` is not the directory of a sandbox",
        dir.display()
    );
    if LockFile::read(&data).is_some_and(|lock| runs_in(lock.pid, &data)) {
        Postgres::attach(&dir)?.stop()?;
    }
    fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
    for entry in fs::read_dir(&dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "server.log" || name.to_string_lossy().starts_with(".s.PGSQL.") {
            fs::remove_file(entry.path())?;
        }
    }
    // Files that are not the sandbox's own keep the directory.
    if fs::read_dir(&dir)?.next().is_none() {
        fs::remove_dir(&dir)?;
    }
    Ok(())
}

/// User and system time of one server process, such as the backend that `pg_backend_pid()` names; 0 once it has ended.
pub fn backend_cpu_seconds(pid: u32) -> f64 {
    // One that its parent has not waited for yet still has its times.
    Process::read(pid)
        .filter(|process| !process.ended)
        .map_or(0.0, |process| process.ticks as f64 / TICKS_PER_SECOND)
}

/// Every PostgreSQL on this machine, by major version: the distribution's, the unpacked ones of `.ci/servers`, and the
/// one on the PATH. The first of a version wins.
pub fn installed() -> Vec<(u32, PathBuf)> {
    let system = numbered("/usr/lib/postgresql".as_ref(), "");
    let cached = cache_dirs()
        .into_iter()
        .flat_map(|cache| numbered(&cache, "postgres-"));
    let on_path = path_dirs()
        .into_iter()
        .filter_map(|dir| Some((major_version(&dir)?, dir)));
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (major, dir) in system.into_iter().chain(cached).chain(on_path) {
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
            "no PostgreSQL server is installed\n\nhint: run `apt-get install postgresql-15` or `make setup`, or set \
             WINDROW_POSTGRES_BIN to the folder with its programs"
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

/// Where `.ci/servers` may have unpacked servers; the one under /var is root's, readable for the server's user.
fn cache_dirs() -> Vec<PathBuf> {
    let user = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let explicit = env::var_os("WINDROW_CACHE").map(PathBuf::from);
    explicit
        .into_iter()
        .chain(["/var/cache/windrow".into()])
        .chain(user.map(|dir| dir.join("windrow")))
        .collect()
}

fn path_dirs() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter(|dir| is_bin_dir(dir))
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

/// A kept directory must be empty, or a sandbox whose server does not run.
fn prepare_kept(dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    let dir = dir.canonicalize()?;
    let data = dir.join("data");
    if LockFile::read(&data).is_some_and(|lock| runs_in(lock.pid, &data)) {
        bail!(
            "a server runs in `{}` already\n\nhint: end it with `windrow demo-down`",
            dir.display()
        );
    }
    ensure!(
        data.join("PG_VERSION").exists() || fs::read_dir(&dir)?.next().is_none(),
        "`{}` is neither empty nor the directory of a sandbox",
        dir.display()
    );
    Ok(dir)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

/// A process of its own, since a parent-death signal follows the *thread* that started the child: a test's thread ends
/// long before the tests do. Pipes are closed on exec, so that only this process keeps the watchdog waiting.
fn spawn_watchdog(dir: &Path) -> Result<Child> {
    Command::new("sh")
        .args(["-c", WATCHDOG, "windrow-watchdog"])
        .arg(dir)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .context("cannot start the watchdog of the server")
}

/// The shell's own `kill` needs no package, and windrow no `unsafe`.
fn signal(name: &str, pids: &[u32]) -> Result<()> {
    let status = Command::new("sh")
        .args([
            "-c",
            r#"signal=$1; shift; kill -s "$signal" "$@""#,
            "kill",
            name,
        ])
        .args(pids.iter().map(u32::to_string))
        .stderr(Stdio::null())
        .status()
        .context("cannot run `sh`")?;
    // A process that has ended by itself in the meantime is no failure; one that lives on is.
    let refused = pids
        .iter()
        .any(|pid| Process::read(*pid).is_some_and(|process| process.is_alive()));
    ensure!(
        status.success() || !refused,
        "cannot send {name} to the server with process id {}",
        pids[0]
    );
    Ok(())
}

/// The user and group that the server runs as.
#[derive(Clone, Copy, Debug)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// PostgreSQL refuses to run as root, who therefore hands over to `postgres` or `nobody`; nobody else needs to.
    fn for_server() -> Result<Option<Self>> {
        let status =
            fs::read_to_string("/proc/self/status").context("cannot read `/proc/self/status`")?;
        let ids = status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:"))
            .unwrap_or_default();
        // Real, effective, saved and file-system user.
        if ids.split_whitespace().nth(1) != Some("0") {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").context("cannot read `/etc/passwd`")?;
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| Self::parse(&users, name))
            .map(Some)
            .ok_or_else(|| {
                anyhow!(
                    "PostgreSQL cannot run as root\n\nhint: run as another user, or add `postgres`"
                )
            })
    }

    fn parse(users: &str, name: &str) -> Option<Self> {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Self {
            uid: fields.next()?.parse().ok()?,
            gid: fields.next()?.parse().ok()?,
        })
    }
}

/// What PostgreSQL writes about a running server into `postmaster.pid`.
struct LockFile {
    pid: u32,
    port: u16,
    ready: bool,
}

impl LockFile {
    fn read(data: &Path) -> Option<Self> {
        let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Some(Self {
            pid: lines.first()?.parse().ok()?,
            port: lines.get(3).and_then(|line| line.parse().ok()).unwrap_or(0),
            ready: lines.get(7) == Some(&"ready"),
        })
    }
}

/// A postmaster's working directory is its data directory, which tells it from a later process with the same id.
fn runs_in(pid: u32, data: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == data)
}

/// One line of `/proc/*/stat`.
struct Process {
    pid: u32,
    parent: u32,
    ended: bool,
    started: u64,
    /// User and system time, that of reaped children included.
    ticks: u64,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field, the name in parentheses, may contain anything.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            pid,
            parent: number(1)?.try_into().ok()?,
            ended: matches!(fields[0], "Z" | "X"),
            started: number(19)?,
            ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        })
    }

    fn is_alive(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.started == self.started && !now.ended)
    }
}

fn children_of(parent: u32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
        .filter(|process| process.parent == parent)
        .collect()
}
