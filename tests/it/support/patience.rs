//! Waiting for something to be so, never for a time.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// How long a test waits for something to happen, on a machine that has much else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(5);
    while !holds().with_context(|| format!("while waiting for: {what}"))? {
        ensure!(
            Instant::now() < deadline,
            "still not so after {} s: {what}",
            PATIENCE.as_secs()
        );
        thread::sleep(pause);
        // Whoever asks all the time keeps from work whom he waits for.
        pause = (pause * 5 / 4).min(Duration::from_millis(50));
    }
    Ok(())
}

/// Executes what the last cancel of the call before may meet, as it comes late.
pub(crate) fn despite_cancels(mut execute: impl FnMut() -> Result<()>) -> Result<()> {
    until("a statement that no cancel meets", || match execute() {
        Err(error) if is_cancelled(&error) => Ok(false),
        done => done.map(|()| true),
    })
}

fn is_cancelled(error: &anyhow::Error) -> bool {
    let said = format!("{error:#}");
    ["SQLSTATE 57014", "SQLSTATE 70100"]
        .iter()
        .any(|state| said.contains(state))
}
