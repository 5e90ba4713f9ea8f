//! What a node counts, for whoever keeps books on its clients.

use serde::Serialize;

/// Since its file was made, across restarts.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    /// Messages that were handed over.
    handed_over: u64,
    /// Those that had been handed over before.
    again: u64,
    /// Messages that a client gave back.
    pub(super) given_back: u64,
    /// Acks that clients asked for, answered or not; and those of them that had been asked for before.
    acks: u64,
    acks_again: u64,
    /// Acks that were answered so.
    done: u64,
    gone: u64,
    other: u64,
}

impl Counts {
    pub(super) fn taken(&mut self, again: bool) {
        self.handed_over += 1;
        self.again += u64::from(again);
    }

    pub(super) fn asked_to_ack(&mut self, first: bool) {
        self.acks += 1;
        self.acks_again += u64::from(!first);
    }

    pub(super) fn answered(&mut self, status: u16) {
        let count = match status {
            204 => &mut self.done,
            410 => &mut self.gone,
            _ => &mut self.other,
        };
        *count += 1;
    }
}
