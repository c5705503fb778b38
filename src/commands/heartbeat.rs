//! `heartbeat`: how far replicas of MySQL and MariaDB have got, noted on the primary. Nothing is written to a replica.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::{Exit, show};
use super::session::{Session, address};
use crate::answers::{Heartbeat as Answer, Replica};
use crate::calls::Calls;
use crate::cli::Heartbeat;
use crate::db::url::{Host, Scheme, Url};
use crate::db::{self, Database};
use crate::dialect::Dialect;
use crate::failure::{Failure, errno};
use crate::graph::Graph;
use crate::interrupt;
use crate::report;
use crate::spec::duration;
use crate::ui::Ui;

/// Notes how far replicas have got, once or until it is interrupted.
pub(super) fn heartbeat(args: &Heartbeat, ui: &Ui) -> anyhow::Result<Exit> {
    let every = every(&args.every)?;
    let Session {
        graph, calls, url, ..
    } = Session::open(&args.with.on, ui)?;
    check(&graph, calls.dialect())?;
    let mut primary = Primary {
        url: patient(url),
        calls,
        database: None,
    };
    let mut watchers = Vec::new();
    for url in &args.replica {
        let url = address(Some(url), args.with.on.password_file.as_deref())?;
        watchers.push(Watcher::new(patient(url), primary.calls.beat())?);
    }
    // Its statements are short: there is nothing to cancel.
    interrupt::cancels(Box::new(|| Ok(())))?;
    primary.call(&json!({"forget": args.forget}))?;
    let mut all_well = true;
    if args.once {
        all_well = once(&mut primary, &mut watchers, every)?;
    } else if !watchers.is_empty() {
        follow(&mut primary, watchers, every, ui)?;
    }
    let answer = Answer {
        spec: graph.name,
        control: primary.calls.name().to_owned(),
        replicas: primary.replicas()?,
    };
    show(ui, args.with.output, &answer, || {
        report::replicas(&answer.replicas)
    });
    Ok(Exit::found(!all_well))
}

/// An address whose server has this long for an answer: one that hangs is left, and tried again.
fn patient(mut url: Url) -> Url {
    url.answer_timeout = Some(Duration::from_secs(10));
    url
}

/// The time between two beats.
fn every(text: &str) -> anyhow::Result<Duration> {
    let milliseconds = duration::parse(text).ok();
    let allowed = milliseconds.filter(|it| (100..=3_600_000).contains(it));
    match allowed.and_then(|it| u64::try_from(it).ok()) {
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(
            Failure::new(format!("`--every {text}` is no time between two beats"))
                .hint("write a duration from 100ms to 1h, such as `1s`")
                .into(),
        ),
    }
}

/// Refuses a spec whose installation keeps no replicas.
fn check(graph: &Graph, dialect: Dialect) -> anyhow::Result<()> {
    let failure = match dialect {
        Dialect::Postgres => {
            Failure::new("PostgreSQL knows by itself how far its replicas have got")
                .hint("`max_replica_lag` works without a heartbeat here")
        }
        Dialect::Mysql | Dialect::Mariadb if !graph.keeps_heartbeat() => Failure::new(format!(
            "the spec `{}` does not say `heartbeat = \"windrow\"`",
            graph.name
        ))
        .hint("add it, and run `windrow install`"),
        Dialect::Mysql | Dialect::Mariadb => return Ok(()),
    };
    Err(failure.into())
}

/// The server on which everything is noted.
struct Primary {
    url: Url,
    calls: Calls,
    /// None after an error: the next note is made in a new session, which may be one on another server.
    database: Option<Box<dyn Database>>,
}

impl Primary {
    fn session(&mut self) -> anyhow::Result<&mut Box<dyn Database>> {
        let database = match self.database.take() {
            Some(database) => database,
            None => db::connect(&self.url)?,
        };
        Ok(self.database.insert(database))
    }

    /// Writes the next beat, and what was seen.
    fn note<'a>(&mut self, looks: impl Iterator<Item = &'a Look>) -> anyhow::Result<()> {
        let replicas: Vec<Value> = looks.map(Look::document).collect();
        self.call(&json!({"replicas": replicas}))
    }

    fn call(&mut self, options: &Value) -> anyhow::Result<()> {
        let call = self.calls.ask("heartbeat");
        let done = self.session()?.query(&call, &[Some(&options.to_string())]);
        if done.is_err() {
            self.database = None;
        }
        done.map(drop)
    }

    /// What is noted.
    fn replicas(&mut self) -> anyhow::Result<Vec<Replica>> {
        let sql = self.calls.replicas();
        let rows = self.session()?.query(&sql, &[])?;
        let replicas = rows.into_iter().map(|row| {
            let mut cells = row.into_iter();
            let mut next = || cells.next().flatten();
            Replica {
                replica: next().unwrap_or_default(),
                replicated_until: next(),
                state: next().unwrap_or_default(),
                looked_at: next().unwrap_or_default(),
            }
        });
        Ok(replicas.collect())
    }
}

/// Looks at each replica once, when the beat had its time; answers whether all of them replicate.
fn once(primary: &mut Primary, watchers: &mut [Watcher], every: Duration) -> anyhow::Result<bool> {
    rest(every);
    let looks: Vec<Look> = watchers.iter_mut().map(Watcher::look).collect();
    primary.note(looks.iter())?;
    let all_well = looks.iter().all(|look| look.is_well);
    match looks.into_iter().find_map(|look| look.refused) {
        Some(refused) => Err(refused),
        None => Ok(all_well),
    }
}

/// Beats and looks until it is interrupted. A replica that refuses the account at once ends it; all else is noted, and tried again.
fn follow(
    primary: &mut Primary,
    watchers: Vec<Watcher>,
    every: Duration,
    ui: &Ui,
) -> anyhow::Result<()> {
    let (sender, looks) = mpsc::channel();
    // A replica that does not answer delays nobody else; its row gets old.
    for mut watcher in watchers {
        let sender = sender.clone();
        thread::spawn(move || {
            while sender.send(watcher.look()).is_ok() {
                thread::sleep(every);
            }
        });
    }
    let mut told = BTreeMap::new();
    while !interrupt::hit() {
        rest(every);
        let last: BTreeMap<String, Look> = looks
            .try_iter()
            .map(|look: Look| (look.replica.clone(), look))
            .collect();
        let beat = match primary.note(last.values()) {
            Ok(()) => "takes the beat".to_owned(),
            Err(error) => format!("cannot take the beat: {}", chain(&error)),
        };
        let mut is_first = |who: String, state: &str| {
            let before = told.insert(who.clone(), state.to_owned());
            if before.as_deref() != Some(state) {
                ui.note(&format!("{who} {state}"));
            }
            before.is_none()
        };
        is_first("the primary".to_owned(), &beat);
        for (replica, look) in last {
            let is_first = is_first(format!("replica {replica}:"), &look.state);
            if let Some(refused) = look.refused.filter(|_| is_first) {
                return Err(refused);
            }
        }
    }
    Ok(())
}

/// Sleeps, or until there is an interrupt.
fn rest(time: Duration) {
    const SLICE: Duration = Duration::from_millis(50);
    let end = Instant::now() + time;
    while !interrupt::hit() && Instant::now() < end {
        thread::sleep(SLICE.min(end.saturating_duration_since(Instant::now())));
    }
}

/// A replica, and how it is looked at.
struct Watcher {
    name: String,
    url: Url,
    beat: String,
    session: Option<db::Replica>,
}

/// What was seen of a replica.
struct Look {
    replica: String,
    /// The beat that has arrived; None: unknown, or none.
    until: Option<String>,
    state: String,
    is_well: bool,
    /// The error, where the replica does not let the account in.
    refused: Option<anyhow::Error>,
}

impl Look {
    fn document(&self) -> Value {
        let mut document = json!({"replica": self.replica, "state": self.state});
        if let Some(until) = &self.until {
            document["replicated_until"] = json!(until);
        }
        document
    }
}

impl Watcher {
    fn new(url: Url, beat: String) -> anyhow::Result<Watcher> {
        let [host] = &url.hosts[..] else {
            return Err(Failure::new(format!("`{url}` names several servers"))
                .hint("give each replica its own `--replica`")
                .into());
        };
        if url.scheme == Scheme::Postgres {
            return Err(
                Failure::new(format!("`{url}` is no address of MySQL or MariaDB"))
                    .hint("write `--replica mysql://user@host/`")
                    .into(),
            );
        }
        Ok(Watcher {
            name: name(host),
            url,
            beat,
            session: None,
        })
    }

    fn look(&mut self) -> Look {
        let mut look = Look {
            replica: self.name.clone(),
            until: None,
            state: String::new(),
            is_well: false,
            refused: None,
        };
        if let Err(error) = self.read(&mut look) {
            look.state = chain(&error);
            let refuses = errno(&error).is_some_and(|number| REFUSED.contains(&number));
            look.refused = refuses.then_some(error);
        }
        look
    }

    fn read(&mut self, look: &mut Look) -> anyhow::Result<()> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => db::Replica::connect(&self.url)?,
        };
        // The beat comes last: it is at least as new as the status.
        let status = session.status();
        let is_shown = status.is_ok();
        let (state, is_well) = match status {
            Ok(channels) => state(&channels),
            Err(error) => {
                let why = chain(&error);
                (format!("the replica status is not shown: {why}"), true)
            }
        };
        look.until = session.value(&self.beat)?;
        look.is_well = is_well && look.until.is_some();
        look.state = match look.until {
            Some(_) => state,
            None => format!("{state}; no beat has arrived yet"),
        };
        // A right that is granted counts in a new session.
        self.session = Some(session).filter(|_| is_shown);
        Ok(())
    }
}

/// The account is unknown, its password is wrong, or it may not use the database of the address.
const REFUSED: [u16; 3] = [1044, 1045, 1698];

/// What names a replica: how it is reached.
fn name(host: &Host) -> String {
    match host.is_socket() {
        true => host.name.clone(),
        false if host.name.contains(':') => format!("[{}]:{}", host.name, host.port),
        false => format!("{}:{}", host.name, host.port),
    }
}

/// What the status of all channels says, and whether all of them replicate.
fn state(channels: &[BTreeMap<String, String>]) -> (String, bool) {
    const THREADS: [(&str, [&str; 2], &str); 2] = [
        (
            "receiver",
            ["replica_io_running", "slave_io_running"],
            "last_io_error",
        ),
        (
            "applier",
            ["replica_sql_running", "slave_sql_running"],
            "last_sql_error",
        ),
    ];
    let mut faults = Vec::new();
    for channel in channels {
        for (thread, running, error) in THREADS {
            let running = running.iter().find_map(|name| channel.get(*name));
            let doing = match running.map(String::as_str) {
                Some("Yes") => continue,
                Some("No") | None => "stopped".to_owned(),
                Some(other) => other.to_lowercase(),
            };
            let names = ["channel_name", "connection_name"];
            let named = names.iter().find_map(|name| channel.get(*name));
            let of = match named.filter(|name| !name.is_empty()) {
                Some(name) => format!(" of channel `{name}`"),
                None => String::new(),
            };
            let why = match channel.get(error).filter(|error| !error.is_empty()) {
                Some(error) => format!(": {error}"),
                None => String::new(),
            };
            faults.push(format!("the {thread}{of} is {doing}{why}"));
        }
    }
    match (channels.is_empty(), faults.is_empty()) {
        (true, _) => ("replicates from no server".to_owned(), false),
        (false, true) => ("replicates".to_owned(), true),
        (false, false) => (faults.join("; "), false),
    }
}

/// An error with its causes on one line.
fn chain(error: &anyhow::Error) -> String {
    format!("{error:#}").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(cells: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = cells
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    #[test]
    fn a_status_is_told_by_its_threads() {
        let well = channel(&[
            ("replica_io_running", "Yes"),
            ("replica_sql_running", "Yes"),
        ]);
        let stopped = channel(&[
            ("connection_name", "east"),
            ("slave_io_running", "Connecting"),
            ("slave_sql_running", "No"),
            ("last_io_error", ""),
            ("last_sql_error", "Duplicate entry"),
        ]);
        assert_eq!(state(&[]), ("replicates from no server".to_owned(), false));
        assert_eq!(
            state(std::slice::from_ref(&well)),
            ("replicates".to_owned(), true)
        );
        let told = "the receiver of channel `east` is connecting; the applier of channel `east` is stopped: Duplicate entry";
        assert_eq!(state(&[well, stopped]), (told.to_owned(), false));
    }

    #[test]
    fn the_time_between_beats_is_bounded() {
        assert_eq!(every("1s").ok(), Some(Duration::from_secs(1)));
        for wrong in ["0s", "99ms", "2h", "soon", "-1s"] {
            assert!(every(wrong).is_err(), "{wrong}");
        }
    }
}
