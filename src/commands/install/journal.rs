//! What an installation has done so far: reported as it happens, and kept for the answer.

use std::time::Duration;

use crate::answers::Deed;
use crate::ui::Ui;

/// The deeds since it was last read.
pub(super) struct Journal<'a> {
    pub(super) ui: &'a Ui,
    deeds: Vec<Deed>,
}

impl<'a> Journal<'a> {
    pub(super) fn new(ui: &'a Ui) -> Journal<'a> {
        Journal {
            ui,
            deeds: Vec::new(),
        }
    }

    /// Something was made or dropped.
    pub(super) fn done(&mut self, what: &str, took: Duration) {
        self.ui.done(what, took);
        self.deeds.push(Deed {
            done: what.to_owned(),
            seconds: took.as_secs_f64(),
        });
    }

    /// What was done since this was last asked.
    pub(super) fn read(&mut self) -> Vec<Deed> {
        std::mem::take(&mut self.deeds)
    }
}
