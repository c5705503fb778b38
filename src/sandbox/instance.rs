//! A directory and the server that runs in it.

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use tempfile::TempDir;

use super::account::Account;
use super::kind::Kind;
use super::process::{Process, TICKS_PER_SECOND, children_of, is_occupied, runs_in, signal};

/// How long a server may take to accept connections; recovery after a kill is part of it.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a stopping server may take before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How often a port that somebody else took first is replaced by another.
const PORT_ATTEMPTS: usize = 5;

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

/// A directory and the server that runs in it.
///
/// Dropping it ends the server and removes its directory, unless the directory was chosen by the caller.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) kind: &'static Kind,
    pub(super) dir: PathBuf,
    pub(super) account: Option<Account>,
    pub(super) port: u16,
    pub(super) pid: u32,
    pub(super) process: Option<Child>,
    pub(super) watchdog: Option<Child>,
    // Last, so that the directory is removed after everything else has ended.
    pub(super) temporary: Option<TempDir>,
}

impl Instance {
    /// A directory without a running server: the one to keep, or a temporary one.
    pub(super) fn new(kind: &'static Kind, keep_at: Option<&Path>) -> Result<Self> {
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
    pub(super) fn attach(kind: &'static Kind, dir: &Path) -> Result<Self> {
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

    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    pub(super) fn is_initialised(&self) -> bool {
        self.data().join(self.kind.marker).exists()
    }

    /// A program of the server, run by the user who may run it, in a directory that this user may enter.
    pub(super) fn command(&self, program: &Path) -> Command {
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
    pub(super) fn run(&self, mut command: Command) -> Result<()> {
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

    /// Starts the server on a free port. `command` says how, for the port that was chosen.
    pub(super) fn start(&mut self, command: impl Fn(&Self) -> Command) -> Result<()> {
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
    pub(super) fn restart(&mut self, command: impl Fn(&Self) -> Command) -> Result<()> {
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
    pub(super) fn launch(&mut self, mut command: Command) -> Result<()> {
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
            if (self.kind.is_ready)(&self.data(), self.pid, &self.read_log()) {
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

    pub(super) fn read_log(&self) -> String {
        fs::read(self.log()).map_or_else(
            |_| String::new(),
            |text| String::from_utf8_lossy(&text).into_owned(),
        )
    }

    pub(super) fn port_was_taken(&self) -> bool {
        self.read_log().contains(self.kind.port_taken)
    }

    /// Kills the server and all its children at once, like a power cut, and waits until they are gone.
    pub(super) fn kill(&mut self) -> Result<()> {
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
    pub(super) fn stop(&mut self) -> Result<()> {
        self.end(self.kind.stop)
    }

    pub(super) fn end(&mut self, name: &str) -> Result<()> {
        if !self.is_running() {
            return Ok(());
        }
        signal(name, &[self.pid])?;
        if self.wait_until_gone(STOP_TIMEOUT).is_err() {
            self.kill()?;
        }
        Ok(())
    }

    pub(super) fn is_running(&mut self) -> bool {
        match &mut self.process {
            Some(process) => matches!(process.try_wait(), Ok(None)),
            None => self.pid != 0 && runs_in(self.pid, &self.data()),
        }
    }

    pub(super) fn wait_until_gone(&mut self, limit: Duration) -> Result<()> {
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
    pub(super) fn cpu_seconds(&self) -> f64 {
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

/// Where `.ci/servers` may have unpacked servers; the one under /var is root's, readable for the server's user.
pub(super) fn cache_dirs() -> Vec<PathBuf> {
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

pub(super) fn path_dirs() -> Vec<PathBuf> {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect()
}

/// A kept directory must be empty, or a sandbox whose server does not run.
fn prepare_kept(kind: &Kind, dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create `{}`", dir.display()))?;
    let dir = dir.canonicalize()?;
    let data = dir.join("data");
    if is_occupied(&data) {
        bail!(
            "a server runs in `{}` already\n\nhint: end it with `windrow demo --down`",
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
pub(super) fn spawn_watchdog(dir: &Path, kind: &Kind) -> Result<Child> {
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
