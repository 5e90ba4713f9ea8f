//! What a queue holds, and the moves that keep it whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::message::Message;

#[derive(Debug, Default)]
pub(super) struct State {
    /// By position: a message that is handed back returns to the place that it had.
    pub(super) ready: BTreeMap<u64, Entry>,
    /// By delivery number: each hand-over has its own, so that a settle cannot reach a later one.
    pub(super) unsettled: BTreeMap<u64, Unsettled>,
    /// By the time they are due, then in the order of publishing.
    pub(super) delayed: BTreeMap<(Instant, u64), Arc<Message>>,
    pub(super) consumers: BTreeMap<u64, Attached>,
    /// The last position, delivery or consumer number that was given out.
    last: u64,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) message: Arc<Message>,
    pub(super) redelivered: bool,
}

#[derive(Debug)]
pub(super) struct Unsettled {
    pub(super) position: u64,
    pub(super) message: Arc<Message>,
    pub(super) consumer: u64,
}

#[derive(Debug)]
pub(super) struct Attached {
    pub(super) lost: CancellationToken,
    /// How many of the unsettled are this consumer's.
    pub(super) unsettled: usize,
}

impl State {
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Moves what is due to the end of the queue, as far as there is room; the rest waits on. Says whether anything moved.
    pub(super) fn return_due(&mut self, capacity: usize) -> bool {
        if self.delayed.is_empty() {
            return false;
        }
        let now = Instant::now();
        let mut moved = false;
        while self.ready.len() < capacity {
            let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) else { break };
            let message = first.remove();
            let position = self.next();
            self.ready.insert(position, Entry { message, redelivered: false });
            moved = true;
        }
        moved
    }

    /// The delivery, if it is still somebody's, who has one less then.
    pub(super) fn claim(&mut self, delivery: u64) -> Option<Unsettled> {
        let claimed = self.unsettled.remove(&delivery)?;
        self.count_unsettled(claimed.consumer, |count| count.saturating_sub(1));
        Some(claimed)
    }

    pub(super) fn count_unsettled(&mut self, consumer: u64, change: impl FnOnce(usize) -> usize) {
        if let Some(attached) = self.consumers.get_mut(&consumer) {
            attached.unsettled = change(attached.unsettled);
        }
    }

    /// Makes deliveries ready again whose consumers are about to end.
    pub(super) fn hand_back(&mut self, which: impl Fn(&Unsettled) -> bool) {
        let returned = self.unsettled.extract_if(.., |_, unsettled| which(unsettled));
        for (_, Unsettled { position, message, .. }) in returned {
            self.ready.insert(position, Entry { message, redelivered: true });
        }
    }
}
