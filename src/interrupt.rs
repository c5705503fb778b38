//! Ctrl-C, SIGTERM and SIGHUP while the server works for us: cancel the statement there, then fail with a message.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crate::db::Cancel;
use crate::failure::Failure;

static HIT: AtomicBool = AtomicBool::new(false);
static CANCEL: Mutex<Option<Cancel>> = Mutex::new(None);
static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();
static TELL: OnceLock<Tell> = OnceLock::new();

type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Who says that an interrupt cancelled nothing. The first one stays.
pub fn told_by(tell: impl Fn(&str) + Send + Sync + 'static) {
    let _ = TELL.set(Box::new(tell));
}

/// From now on, an interrupt cancels what this session runs. A second one ends windrow at once.
pub fn cancels(cancel: Cancel) -> anyhow::Result<()> {
    *CANCEL.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
    let handler =
        HANDLER.get_or_init(|| ctrlc::set_handler(on_interrupt).map_err(|error| error.to_string()));
    handler.clone().map_err(|error| {
        Failure::new("cannot watch for interrupts")
            .caused_by(Failure::new(error))
            .into()
    })
}

/// Whether there was an interrupt.
pub fn hit() -> bool {
    HIT.load(Ordering::SeqCst)
}

/// Gives an error its true cause: where there was an interrupt, what the server says about it is only the echo.
pub fn explain(error: anyhow::Error, running: &str) -> anyhow::Error {
    if hit() {
        failure(running).into()
    } else {
        error
    }
}

/// The failure that an interrupt is.
pub fn failure(running: &str) -> Failure {
    bare_failure(running)
        .hint("what was committed is kept, nothing is half done, and the next call continues where this one stopped")
}

/// The same, without what it leaves.
pub fn bare_failure(running: &str) -> Failure {
    Failure::new(format!("interrupted while running `{running}`"))
}

fn on_interrupt() {
    if HIT.swap(true, Ordering::SeqCst) {
        #[expect(
            clippy::exit,
            reason = "the user asked twice, and the main thread waits for the server"
        )]
        std::process::exit(2);
    }
    // A second interrupt is not to wait for the end of this.
    if thread::Builder::new().spawn(cancel_and_tell).is_err() {
        cancel_and_tell();
    }
}

/// Cancels once more what did not end. What is in the way was told the first time.
pub fn repeat() {
    let _ = cancel();
}

/// The session may live on though nothing could be cancelled: the server has no connection left, or another one answers.
fn cancel_and_tell() {
    if let (Err(error), Some(tell)) = (cancel(), TELL.get()) {
        tell(&format!("the statement was not cancelled: {error:#}"));
    }
}

fn cancel() -> anyhow::Result<()> {
    let cancel = CANCEL.lock().unwrap_or_else(PoisonError::into_inner);
    cancel.as_ref().map_or(Ok(()), |cancel| cancel())
}
