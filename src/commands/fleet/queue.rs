//! Which database is next: never two of one server at once. A cleanup is to load a server no more than one run does, and
//! installations on one server would be at the same roles.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fleet::Target;
use crate::interrupt;

/// How often somebody who waits for a server looks for an interrupt.
const LOOK: Duration = Duration::from_millis(100);

/// The databases that are left, and the servers that are worked on.
pub(super) struct Queue<'a> {
    targets: &'a [Target],
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    left: VecDeque<usize>,
    busy: BTreeSet<String>,
}

impl<'a> Queue<'a> {
    /// Of these targets those of a round, in their order.
    pub(super) fn new(targets: &'a [Target], round: &[usize]) -> Self {
        Self {
            targets,
            state: Mutex::new(State {
                left: round.iter().copied().collect(),
                busy: BTreeSet::new(),
            }),
            freed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one whose server is free; waits for one. None: nothing is left, or there was an interrupt.
    pub(super) fn take(&self) -> Option<usize> {
        let mut state = self.state();
        while !interrupt::hit() && !state.left.is_empty() {
            let free = state
                .left
                .iter()
                .position(|at| !state.busy.contains(&self.targets[*at].place));
            if let Some(place) = free {
                let at = state.left.remove(place)?;
                state.busy.insert(self.targets[at].place.clone());
                return Some(at);
            }
            let (waited, _) = self
                .freed
                .wait_timeout(state, LOOK)
                .unwrap_or_else(PoisonError::into_inner);
            state = waited;
        }
        None
    }

    /// The server of this one is free again.
    pub(super) fn free(&self, at: usize) {
        self.state().busy.remove(&self.targets[at].place);
        self.freed.notify_all();
    }
}
