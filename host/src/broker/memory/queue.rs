//! One bounded queue: what is ready, what is handed out, and what is still in a tier.

mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::broker::{PublishError, SettleError};
use crate::message::Message;
use state::{Attached, Entry, State, Unsettled};

/// How many messages a queue has, by where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Depth {
    /// Ready to be taken.
    pub ready: usize,
    /// Handed to consumers and not settled.
    pub unsettled: usize,
    /// In a tier, on the way back to this queue.
    pub delayed: usize,
}

/// A queue. Everything is under one lock that is never held over an await.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) name: String,
    capacity: usize,
    state: Mutex<State>,
    /// Told of every change, so that whoever waits looks again.
    changed: Notify,
}

/// What a consumer that asks for a message is told.
pub(super) enum Taken {
    /// This one, which it has to settle by the delivery's number.
    Message { delivery: u64, message: Arc<Message>, redelivered: bool },
    /// Nothing now. Where a time is given, something is due then.
    Nothing { until: Option<Instant> },
    /// It is not a consumer any more.
    Cut,
}

impl Queue {
    pub(super) fn new(name: &str, capacity: usize) -> Self {
        Self { name: name.to_owned(), capacity, state: Mutex::default(), changed: Notify::new() }
    }

    /// Puts a message at the end.
    pub(super) fn push(&self, message: Arc<Message>) -> Result<(), PublishError> {
        self.change(|state| {
            if state.ready.len() >= self.capacity {
                return Err(self.full("holds"));
            }
            let position = state.next();
            state.ready.insert(position, Entry { message, redelivered: false });
            Ok(())
        })
    }

    /// Keeps a message until it is due and then puts it at the end.
    pub(super) fn push_delayed(&self, message: Arc<Message>, due: Instant) -> Result<(), PublishError> {
        self.change(|state| {
            if state.delayed.len() >= self.capacity {
                return Err(self.full("awaits from its tiers"));
            }
            let position = state.next();
            state.delayed.insert((due, position), message);
            Ok(())
        })
    }

    fn full(&self, verb: &str) -> PublishError {
        PublishError::Outage(format!(
            "queue {} is full: it {verb} {} messages, which is its capacity",
            self.name, self.capacity
        ))
    }

    /// Adds a consumer. The token is cancelled when it is cut off.
    pub(super) fn attach(&self) -> (u64, CancellationToken) {
        self.change(|state| {
            let consumer = state.next();
            let lost = CancellationToken::new();
            state.consumers.insert(consumer, Attached { lost: lost.clone(), unsettled: 0 });
            (consumer, lost)
        })
    }

    /// Ends a consumer: its unsettled messages are ready again, in their old places.
    pub(super) fn detach(&self, consumer: u64) {
        let ended = self.change(|state| {
            state.hand_back(|unsettled| unsettled.consumer == consumer);
            state.consumers.remove(&consumer)
        });
        if let Some(ended) = ended {
            ended.lost.cancel();
        }
    }

    /// Ends every consumer.
    pub(super) fn detach_all(&self) {
        let ended = self.change(|state| {
            state.hand_back(|_| true);
            std::mem::take(&mut state.consumers)
        });
        for consumer in ended.into_values() {
            consumer.lost.cancel();
        }
    }

    /// The first ready message, if the consumer has fewer than `prefetch` unsettled.
    pub(super) fn take(&self, consumer: u64, prefetch: usize) -> Taken {
        let mut guard = self.lock();
        let state = &mut *guard;
        let Some(attached) = state.consumers.get(&consumer) else { return Taken::Cut };
        if attached.unsettled >= prefetch {
            // Only a settle changes that, and it is told.
            return Taken::Nothing { until: None };
        }
        state.return_due(self.capacity);
        let Some((position, Entry { message, redelivered })) = state.ready.pop_first() else {
            let until = state.delayed.first_key_value().map(|((due, _), _)| *due);
            return Taken::Nothing { until };
        };
        let delivery = state.next();
        state.unsettled.insert(delivery, Unsettled { position, message: Arc::clone(&message), consumer });
        state.count_unsettled(consumer, |count| count + 1);
        drop(guard);
        self.changed.notify_waiters();
        Taken::Message { delivery, message, redelivered }
    }

    /// Forgets a message that its consumer is done with.
    pub(super) fn acknowledge(&self, delivery: u64) -> Result<(), SettleError> {
        self.change(|state| state.claim(delivery)).map(drop).ok_or_else(|| self.gone())
    }

    /// Makes a message ready again, in its old place.
    pub(super) fn give_back(&self, delivery: u64) -> Result<(), SettleError> {
        self.change(|state| {
            let Unsettled { position, message, .. } = state.claim(delivery)?;
            state.ready.insert(position, Entry { message, redelivered: true });
            Some(())
        })
        .ok_or_else(|| self.gone())
    }

    fn gone(&self) -> SettleError {
        SettleError::Gone(format!("it went back to queue {}, or was settled before", self.name))
    }

    /// Every ready message, taken out.
    pub(super) fn drain(&self) -> Vec<Arc<Message>> {
        self.change(|state| {
            let mut drained = Vec::new();
            // What is due takes the room that this makes.
            while state.return_due(self.capacity) || !state.ready.is_empty() {
                drained.extend(std::mem::take(&mut state.ready).into_values().map(|entry| entry.message));
            }
            drained
        })
    }

    /// The first ready messages, left where they are.
    pub(super) fn peek(&self, limit: usize) -> Vec<Arc<Message>> {
        let mut state = self.lock();
        state.return_due(self.capacity);
        state.ready.values().take(limit).map(|entry| Arc::clone(&entry.message)).collect()
    }

    pub(super) fn depth(&self) -> Depth {
        let mut state = self.lock();
        state.return_due(self.capacity);
        Depth { ready: state.ready.len(), unsettled: state.unsettled.len(), delayed: state.delayed.len() }
    }

    /// When the next message of a tier will come; unknown while there is no room for it.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let state = self.lock();
        state.delayed.first_key_value().map(|((due, _), _)| *due).filter(|_| state.ready.len() < self.capacity)
    }

    /// Ends at the next change, from the moment that the future is enabled or first polled.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let result = {
            let mut state = self.lock();
            state.return_due(self.capacity);
            work(&mut state)
        };
        self.changed.notify_waiters();
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics half-way through a change, so what a poisoned lock guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
