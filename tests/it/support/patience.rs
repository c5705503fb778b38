//! Waiting for something to be so, never for a time.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// How long a test waits for something to happen, on a machine that has much else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !holds().with_context(|| format!("while waiting for: {what}"))? {
        ensure!(
            Instant::now() < deadline,
            "still not so after {} s: {what}",
            PATIENCE.as_secs()
        );
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
