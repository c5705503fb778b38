//! Runs tests: several at a time, the longest first, every server busy.

use std::any::Any;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::load::Load;
use super::{Arguments, Server, Test, report};

/// Tests that take long, with the seconds they took when all were run: what starts first. A run of all tests, without
/// turns, writes such a list to `target/tmp/slow.txt`.
const SLOW: &str = include_str!("slow.txt");

/// How long a test is expected to take that is not in that list, in seconds.
const QUICK: f64 = 0.8;

thread_local! {
    /// What panics in this thread said, where it runs a test.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A test that has ended, or that was given up.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) group: String,
    pub(super) server: Server,
    pub(super) time: Duration,
    pub(super) result: Result<(), String>,
}

/// All of a run.
#[derive(Debug)]
pub(super) struct Conclusion {
    pub(super) ended: Vec<Ended>,
    pub(super) time: Duration,
    /// Whether nobody asked for some tests only.
    pub(super) is_whole: bool,
}

/// A test under way.
struct Running {
    test: Arc<Test>,
    since: Instant,
}

pub(super) fn all(arguments: &Arguments, tests: Vec<Test>) -> Conclusion {
    let started = Instant::now();
    let mut load = Load::new(arguments.test_threads);
    let patience = Duration::from_secs(arguments.patience);
    listen();
    report::begin(tests.len());
    let mut waiting = Waiting::new(tests);
    let mut running: HashMap<usize, Running> = HashMap::new();
    let mut ended = Vec::new();
    let (sender, receiver) = mpsc::channel();
    let mut number = 0;
    loop {
        while load.has_room(running.len())
            && let Some(test) = waiting.next(&running)
        {
            let test = Arc::new(test);
            number += 1;
            start(number, Arc::clone(&test), sender.clone());
            let since = Instant::now();
            running.insert(number, Running { test, since });
        }
        let Some(oldest) = running.values().map(|running| running.since).min() else {
            break;
        };
        let left = patience.saturating_sub(oldest.elapsed());
        let (number, result) = match receiver.recv_timeout(left.min(load.pause())) {
            // One that was given up may end after all.
            Ok((number, _)) if !running.contains_key(&number) => continue,
            Ok(end) => end,
            Err(RecvTimeoutError::Disconnected) => unreachable!("this thread has a sender"),
            Err(RecvTimeoutError::Timeout) => {
                let hangs = running
                    .iter()
                    .find(|(_, running)| running.since.elapsed() >= patience);
                let Some((number, _)) = hangs else { continue };
                let why = format!("it hangs: no end after {} s", arguments.patience);
                (*number, Err(why))
            }
        };
        let Some(Running { test, since }) = running.remove(&number) else {
            continue;
        };
        let end = Ended {
            name: test.name.clone(),
            group: test.group().to_owned(),
            server: test.server,
            time: since.elapsed(),
            result,
        };
        report::one(&end, ended.len(), arguments.quiet);
        ended.push(end);
    }
    Conclusion {
        ended,
        time: started.elapsed(),
        is_whole: arguments.filters.is_empty() && !arguments.lints,
    }
}

/// Has what a panic says kept for the report, where it is a test's.
fn listen() {
    panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        SAID.with_borrow_mut(|said| match said {
            Some(said) => {
                *said += &text;
                *said += "\n";
            }
            None => report::aside(&text),
        });
    }));
}

fn start(number: usize, test: Arc<Test>, sender: mpsc::Sender<(usize, Result<(), String>)>) {
    let thread = thread::Builder::new().name(test.name.clone());
    let body = move || {
        SAID.set(Some(String::new()));
        let result = panic::catch_unwind(AssertUnwindSafe(|| test.run()));
        let result = result.unwrap_or_else(|panic| {
            let said = SAID.take().unwrap_or_default();
            // A panic that was handed on from another thread said its words there.
            Err(if said.is_empty() {
                message(&*panic)
            } else {
                said
            })
        });
        // Nobody listens any more where the test was given up.
        let _ = sender.send((number, result));
    };
    thread.spawn(body).expect("a thread starts");
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("without a word"))
}

/// The tests that have not started, by server, the longest last.
struct Waiting {
    queues: Vec<(Server, Vec<(f64, Test)>)>,
}

impl Waiting {
    fn new(tests: Vec<Test>) -> Self {
        let slow: HashMap<&str, f64> = slow().collect();
        let mut queues: Vec<_> = Server::ALL.map(|server| (server, Vec::new())).into();
        for test in tests {
            let seconds = slow.get(test.name.as_str()).copied().unwrap_or(QUICK);
            let queue = queues.iter_mut().find(|(server, _)| *server == test.server);
            queue.expect("a queue for each").1.push((seconds, test));
        }
        for (_, queue) in &mut queues {
            queue.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        }
        Self { queues }
    }

    /// The longest test of the server that has most left to do for each test that it is busy with.
    fn next(&mut self, running: &HashMap<usize, Running>) -> Option<Test> {
        let left = |(server, queue): &(Server, Vec<(f64, Test)>)| {
            let busy = running
                .values()
                .filter(|running| running.test.server == *server)
                .count();
            let seconds: f64 = queue.iter().map(|(seconds, _)| seconds).sum();
            seconds / (busy + 1) as f64
        };
        let most = self
            .queues
            .iter_mut()
            .max_by(|one, other| left(one).total_cmp(&left(other)))?;
        most.1.pop().map(|(_, test)| test)
    }
}

/// The names of slow tests, and their seconds.
pub(crate) fn slow() -> impl Iterator<Item = (&'static str, f64)> {
    SLOW.lines().map(|line| {
        let parts = line.split_once(' ').expect("seconds and a name");
        (parts.1, parts.0.parse().expect("seconds"))
    })
}

/// The longest first.
pub(super) fn longest(ended: &[Ended]) -> Vec<&Ended> {
    let mut all: Vec<&Ended> = ended.iter().collect();
    all.sort_by_key(|end| Reverse(end.time));
    all
}
