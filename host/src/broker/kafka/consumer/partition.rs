//! One assignment of one partition, as the poller and the deliveries share it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::remembered::Place;
use super::window::Window;

/// One assignment of one partition. One that comes back is another (rule 13).
pub(super) struct Partition {
    pub(super) place: Place,
    /// How long its records wait, where it is one of a tier.
    pub(super) delay: Option<Duration>,
    /// Cancelled when the assignment has ended.
    pub(super) lost: CancellationToken,
    state: Mutex<State>,
    /// See [`Window::confirmed_notes`].
    confirmed_notes: watch::Sender<u64>,
}

struct State {
    window: Window,
    /// Nothing is settled here any more.
    ended: bool,
}

impl Partition {
    pub(super) fn new(place: Place, delay: Option<Duration>, window: Window, lost: CancellationToken) -> Self {
        let state = Mutex::new(State { window, ended: false });
        Self { place, delay, lost, state, confirmed_notes: watch::Sender::new(0) }
    }

    /// Works with the window; `None` once the assignment has ended.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Window) -> T) -> Option<T> {
        let mut state = self.lock();
        (!state.ended).then(|| work(&mut state.window))
    }

    /// Works with the window of an assignment that may have ended.
    pub(super) fn with_last<T>(&self, work: impl FnOnce(&mut Window) -> T) -> T {
        work(&mut self.lock().window)
    }

    /// The broker has confirmed this.
    pub(super) fn confirm(&self, progress: Progress) {
        let notes = self.with_last(|window| {
            window.confirm(progress);
            window.confirmed_notes()
        });
        if let Some(notes) = notes {
            self.confirmed_notes.send_replace(notes);
        }
    }

    /// Returns once a commit is confirmed that has the note of this number.
    pub(super) async fn noted(&self, number: u64) {
        // It is never closed: the sender is here.
        let _ = self.confirmed_notes.subscribe().wait_for(|confirmed| *confirmed >= number).await;
    }

    /// Ends the assignment: what is settled from now on comes too late.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.lost.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can be left half-done by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
