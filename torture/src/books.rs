//! What was sent and what became of it, by message, as seen from outside the hosts.

mod judgement;
mod message;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use judgement::{Circumstances, Judgement, ON_THE_WAY, Trouble};
pub(crate) use message::{DeadLetter, Message, Run};

use crate::clock::Clock;

/// The books of one run. Messages are numbered from 0.
pub(crate) struct Books {
    pub(crate) clock: Clock,
    messages: Mutex<BTreeMap<u64, Message>>,
    /// What was found on the broker that was never sent.
    strangers: Mutex<Vec<String>>,
}

/// The id of a message, which says its number.
pub(crate) fn id(number: u64) -> String {
    format!("t-{number:07}")
}

/// The number that an id says.
pub(crate) fn number(id: &str) -> Option<u64> {
    id.strip_prefix("t-")?.parse().ok()
}

/// The body of a message.
pub(crate) fn body(number: u64) -> String {
    format!("{{\"order\": {number}}}")
}

impl Books {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, messages: Mutex::default(), strangers: Mutex::default() }
    }

    /// A message is about to be sent.
    pub(crate) fn sending(&self, number: u64) {
        self.lock().insert(number, Message { sent: self.clock.now(), ..Message::default() });
    }

    /// The broker has confirmed a message.
    pub(crate) fn confirmed(&self, number: u64) {
        let now = self.clock.now();
        self.change(number, |message| message.confirmed = Some(now));
    }

    /// The handler was asked to run an attempt. Gives the place of the run among those of this message.
    pub(crate) fn asked(&self, id: &str, host: usize, attempt: u32) -> Option<usize> {
        let run = Run { host, attempt, began: self.clock.now(), ended: None, answer: "…", succeeded: false };
        let mut place = None;
        self.change_by_id(id, |message| {
            place = Some(message.runs.len());
            message.runs.push(run);
        });
        place
    }

    /// The handler has answered.
    pub(crate) fn answered(&self, id: &str, place: usize, answer: &'static str, succeeded: bool) {
        let now = self.clock.now();
        self.change_by_id(id, |message| {
            let run = &mut message.runs[place];
            (run.ended, run.answer, run.succeeded) = (Some(now), answer, succeeded);
        });
    }

    /// A dead letter was taken from its queue.
    pub(crate) fn dead_letter(&self, id: &str, letter: DeadLetter) {
        self.change_by_id(id, |message| message.dead_letter(letter));
    }

    /// A message was found on a queue once everything had ended.
    pub(crate) fn left_over(&self, id: &str, queue: &str) {
        self.change_by_id(id, |message| message.left_on.push(queue.to_owned()));
    }

    /// What the messages are like now.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&BTreeMap<u64, Message>) -> T) -> T {
        look(&self.lock())
    }

    /// Something that was never sent was found on the broker.
    pub(crate) fn stranger(&self, name: &str) {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
    }

    /// Ids on the broker that were never sent.
    pub(crate) fn strangers(&self) -> Vec<String> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_by_id(&self, id: &str, change: impl FnOnce(&mut Message)) {
        let known = number(id).is_some_and(|number| self.change(number, change));
        if !known {
            self.stranger(id);
        }
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Message)) -> bool {
        self.lock().get_mut(&number).map(change).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Message>> {
        // Each change is whole before anything can panic.
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
