//! Throw-away servers for the demo, the tests and the benchmarks: PostgreSQL, MySQL and MariaDB.
//!
//! A sandbox is a private server in a directory of its own, on a free port of 127.0.0.1 and a Unix socket. It never
//! touches a server of the system, needs no service manager, and is gone with the process that started it, even when
//! that process is killed. Linux only: processes are observed through `/proc`.

use std::env;
use std::fs::{self, File};
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

pub mod mysql;
pub mod postgres;

pub use mysql::Mysql;
pub use postgres::{Postgres, Settings, installed};

/// How long a server may take to accept connections; recovery after a kill is part of it.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a stopping server may take before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How often a port that somebody else took first is replaced by another.
const PORT_ATTEMPTS: usize = 5;

/// Ticks per second of the times in `/proc/*/stat`: the same on every Linux platform that the servers run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// The longest path of a Unix socket that Linux accepts.
const SOCKET_PATH_LIMIT: usize = 107;

/// How many of the last lines of its log an error about a server quotes.
const QUOTED_LINES: usize = 40;

/// Cleans up after a process that died without doing so: the pipe on its standard input then ends without a line. The
/// server is known by its working directory, since it may not have written down its process id yet.
const WATCHDOG: &str = r#"
if read -r line; then exit 0; fi
signal=$2
tries=0
while [ "$tries" -lt 160 ]; do
    pids=
    for cwd in /proc/[0-9]*/cwd; do
        if [ "$cwd" -ef "$1" ] || [ "$cwd" -ef "$1/data" ]; then
            pid=${cwd#/proc/}
            pids="$pids ${pid%/cwd}"
        fi
    done
    if [ -z "$pids" ]; then break; fi
    kill -s "$signal" $pids
    sleep 0.1
    tries=$((tries + 1))
    if [ "$tries" -gt 80 ]; then signal=KILL; fi
done
rm -rf "$1"
"#;

/// What differs between the servers for whoever starts and ends them.
#[derive(Debug)]
struct Kind {
    /// Name for people.
    title: &'static str,
    /// The file below the data directory whose first line is the process id of a running server.
    pid_file: &'static str,
    /// A file that every data directory has.
    marker: &'static str,
    /// The socket with the longest name.
    socket: &'static str,
    /// What the names of the files that it has beside the data directory start with.
    files: &'static [&'static str],
    /// The signal that ends it in good order.
    stop: &'static str,
    /// The signal that ends it at once, where its data is of no use any more.
    abort: &'static str,
    /// Whom root runs it as; it refuses to run as root. `nobody` where there is none of them.
    accounts: &'static [&'static str],
    /// What its log says about a port in use.
    port_taken: &'static str,
    /// Whether it accepts connections since it was launched.
    is_ready: fn(&Instance) -> bool,
}

const KINDS: [&Kind; 2] = [&postgres::KIND, &mysql::KIND];

impl Kind {
    /// The process id of the server that runs in a data directory.
    fn running(&self, data: &Path) -> Option<u32> {
        let text = fs::read_to_string(data.join(self.pid_file)).ok()?;
        let pid = text.lines().next()?.trim().parse().ok()?;
        runs_in(pid, data).then_some(pid)
    }
}

/// A directory and the server that runs in it.
///
/// Dropping it ends the server and removes its directory, unless the directory was chosen by the caller.
#[derive(Debug)]
struct Instance {
    kind: &'static Kind,
    dir: PathBuf,
    account: Option<Account>,
    port: u16,
    pid: u32,
    process: Option<Child>,
    watchdog: Option<Child>,
    // Last, so that the directory is removed after everything else has ended.
    temporary: Option<TempDir>,
}

impl Instance {
    /// A directory without a running server: the one to keep, or a temporary one.
    fn new(kind: &'static Kind, keep_at: Option<&Path>) -> Result<Self> {
        let (dir, temporary) = match keep_at {
            Some(kept) => (prepare_kept(kind, kept)?, None),
            None => {
                let temporary = tempfile::Builder::new()
                    .prefix("windrow-")
                    .tempdir()
                    .context("cannot create a directory")?;
                (temporary.path().canonicalize()?, Some(temporary))
            }
        };
        ensure!(
            dir.join(kind.socket).as_os_str().len() <= SOCKET_PATH_LIMIT,
            "the path `{}` is too long for a Unix socket\n\nhint: choose a shorter one, or set TMPDIR",
            dir.display()
        );
        let account = Account::for_server(kind)?;
        if let Some(account) = account {
            account.own(&dir)?;
        }
        let watchdog = temporary
            .as_ref()
            .map(|directory| spawn_watchdog(directory.path(), kind))
            .transpose()?;
        Ok(Self {
            kind,
            dir,
            account,
            port: 0,
            pid: 0,
            process: None,
            watchdog,
            temporary,
        })
    }

    /// The server that runs in a directory kept by an earlier process. The caller knows its port.
    fn attach(kind: &'static Kind, dir: &Path) -> Result<Self> {
        let dir = dir
            .canonicalize()
            .with_context(|| format!("cannot open `{}`", dir.display()))?;
        let pid = kind.running(&dir.join("data")).ok_or_else(|| {
            anyhow!(
                "no server runs in `{}`\n\nhint: start one with `windrow demo`",
                dir.display()
            )
        })?;
        Ok(Self {
            kind,
            account: Account::for_server(kind)?,
            dir,
            port: 0,
            pid,
            process: None,
            watchdog: None,
            temporary: None,
        })
    }

    fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    fn is_initialised(&self) -> bool {
        self.data().join(self.kind.marker).exists()
    }

    /// A program of the server, run by the user who may run it, in a directory that this user may enter.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.dir)
            .env("LC_ALL", "C.UTF-8")
            // The server's user need not be able to write where the caller's temporary files are.
            .env("TMPDIR", &self.dir)
            .stdin(Stdio::null());
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }

    /// Runs a program of the server to its end.
    fn run(&self, mut command: Command) -> Result<()> {
        let program = command.get_program().to_owned();
        let output = command
            .output()
            .with_context(|| format!("cannot run `{}`", program.display()))?;
        ensure!(
            output.status.success(),
            "`{}` failed in `{}`\n\n{}",
            program.display(),
            self.dir.display(),
            tail(
                &[output.stdout, output.stderr]
                    .map(|text| String::from_utf8_lossy(&text).into_owned())
                    .concat()
            )
        );
        Ok(())
    }

    /// Starts the server on a free port. `command` tells how, for the port that was chosen.
    fn start(&mut self, command: impl Fn(&Self) -> Command) -> Result<()> {
        for attempt in 1.. {
            self.port = free_port()?;
            match self.launch(command(self)) {
                Err(error) if attempt < PORT_ATTEMPTS && self.port_was_taken() => drop(error),
                other => return other,
            }
        }
        Ok(())
    }

    /// Starts the server on the port that it had.
    fn restart(&mut self, command: impl Fn(&Self) -> Command) -> Result<()> {
        self.stop()?;
        for attempt in 1.. {
            match self.launch(command(self)) {
                Err(error) if attempt < PORT_ATTEMPTS && self.port_was_taken() => {
                    drop(error);
                    sleep(Duration::from_millis(300));
                }
                other => return other,
            }
        }
        Ok(())
    }

    /// Starts the server and waits until it accepts connections.
    fn launch(&mut self, mut command: Command) -> Result<()> {
        let log = File::create(self.log()).context("cannot create the server's log")?;
        let mut process = command
            .stdout(log.try_clone()?)
            .stderr(log)
            // A Ctrl-C on the terminal is meant for windrow, which ends the server itself.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run `{}`", command.get_program().display()))?;
        self.pid = process.id();
        let deadline = Instant::now() + START_TIMEOUT;
        let failure = loop {
            if (self.kind.is_ready)(self) {
                self.process = Some(process);
                return Ok(());
            }
            if let Some(status) = process.try_wait()? {
                break format!("{} ended at start ({status})", self.kind.title);
            }
            if Instant::now() > deadline {
                self.process = Some(process);
                self.end(self.kind.abort)?;
                break format!(
                    "{} was not ready after {} s",
                    self.kind.title,
                    START_TIMEOUT.as_secs()
                );
            }
            sleep(Duration::from_millis(10));
        };
        bail!("{failure}\n\n{}", tail(&self.read_log()))
    }

    fn read_log(&self) -> String {
        fs::read(self.log()).map_or_else(
            |_| String::new(),
            |text| String::from_utf8_lossy(&text).into_owned(),
        )
    }

    fn port_was_taken(&self) -> bool {
        self.read_log().contains(self.kind.port_taken)
    }

    /// Kills the server and all its children at once, like a power cut, and waits until they are gone.
    fn kill(&mut self) -> Result<()> {
        // A stopped server starts no further child between the look and the blow.
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

    /// Ends the server in good order; does nothing when it does not run.
    fn stop(&mut self) -> Result<()> {
        self.end(self.kind.stop)
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

    /// User and system time of the server and its children since it was started, those that have ended included.
    fn cpu_seconds(&self) -> f64 {
        let own = Process::read(self.pid).map_or(0, |process| process.ticks);
        let children: u64 = children_of(self.pid).iter().map(|child| child.ticks).sum();
        (own + children) as f64 / TICKS_PER_SECOND
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.temporary.is_none() {
            return;
        }
        // A failure leaves the watchdog on duty: it ends the server when this process does.
        if self.end(self.kind.abort).is_err() {
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
    let kind = KINDS
        .into_iter()
        .find(|kind| data.join(kind.marker).exists())
        .ok_or_else(|| anyhow!("`{}` is not the directory of a sandbox", dir.display()))?;
    if kind.running(&data).is_some() {
        Instance::attach(kind, &dir)?.stop()?;
    }
    fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
    for entry in fs::read_dir(&dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == "server.log" || kind.files.iter().any(|start| name.starts_with(start)) {
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
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect()
}

/// A kept directory must be empty, or a sandbox whose server does not run.
fn prepare_kept(kind: &Kind, dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    let dir = dir.canonicalize()?;
    let data = dir.join("data");
    if KINDS.iter().any(|kind| kind.running(&data).is_some()) {
        bail!(
            "a server runs in `{}` already\n\nhint: end it with `windrow demo-down`",
            dir.display()
        );
    }
    ensure!(
        data.join(kind.marker).exists() || fs::read_dir(&dir)?.next().is_none(),
        "`{}` is neither empty nor the directory of a sandbox",
        dir.display()
    );
    Ok(dir)
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.trim_end().lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

/// A process of its own, since a parent-death signal follows the *thread* that started the child: a test's thread ends
/// long before the tests do. Pipes are closed on exec, so that only this process keeps the watchdog waiting.
fn spawn_watchdog(dir: &Path, kind: &Kind) -> Result<Child> {
    Command::new("sh")
        .args(["-c", WATCHDOG, "windrow-watchdog"])
        .arg(dir)
        .arg(kind.abort)
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
    /// Root hands over to the server's own user or `nobody`; nobody else needs to.
    fn for_server(kind: &Kind) -> Result<Option<Self>> {
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
        kind.accounts
            .iter()
            .chain(&["nobody"])
            .find_map(|name| Self::parse(&users, name))
            .map(Some)
            .ok_or_else(|| {
                anyhow!(
                    "{} cannot run as root\n\nhint: run as another user, or add `{}`",
                    kind.title,
                    kind.accounts[0]
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

    /// Hands a directory over; others may enter it.
    fn own(self, dir: &Path) -> Result<()> {
        chown(dir, Some(self.uid), Some(self.gid)).context("cannot hand the directory over")?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }
}

/// A server's working directory is its data directory, which tells it from a later process with the same id.
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
