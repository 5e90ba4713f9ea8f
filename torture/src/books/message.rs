//! One message's entry in the books.

use crate::script::UNWANTED;

/// A message that was sent, or at least tried to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    pub(crate) sent: f64,
    /// When the broker confirmed it. Without that it may or may not have arrived.
    pub(crate) confirmed: Option<f64>,
    pub(crate) runs: Vec<Run>,
    pub(crate) dead_letters: Vec<DeadLetter>,
    /// The queues that still held it at the end.
    pub(crate) left_on: Vec<String>,
}

/// One run of the handler.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) host: usize,
    /// As the host counts it.
    pub(crate) attempt: u32,
    pub(crate) began: f64,
    pub(crate) ended: Option<f64>,
    /// In a word: the kind of the error, or what else was done.
    pub(crate) answer: &'static str,
    pub(crate) succeeded: bool,
}

/// A copy that was taken from a dead-letter queue.
#[derive(Debug, Clone)]
pub(crate) struct DeadLetter {
    pub(crate) at: f64,
    pub(crate) queue: &'static str,
    /// The broker says that it handed the same one over before.
    pub(crate) redelivered: bool,
    /// What tells copies apart: when it failed, and at which attempt.
    pub(crate) made: String,
    /// Body or sender's header are not what was sent.
    pub(crate) altered: bool,
    /// It has none of the sender's headers: the last resort where a copy is too large.
    pub(crate) bare: bool,
}

impl Message {
    pub(crate) fn dead_letter(&mut self, letter: DeadLetter) {
        // Whoever drains the queue may lose its own ack: that is no second copy.
        let known = self.dead_letters.iter().any(|other| (&other.made, other.queue) == (&letter.made, letter.queue));
        if !(letter.redelivered && known) {
            self.dead_letters.push(letter);
        }
    }

    /// The moments at which it came to an end, first to last: more than one is a duplicate.
    pub(crate) fn ends(&self) -> Vec<f64> {
        let handled = self.runs.iter().filter(|run| run.succeeded).filter_map(|run| run.ended);
        let mut ends: Vec<f64> = handled.chain(self.dead_letters.iter().map(|letter| letter.at)).collect();
        ends.sort_by(f64::total_cmp);
        ends
    }

    pub(crate) fn is_handled(&self) -> bool {
        self.runs.iter().any(|run| run.succeeded)
    }

    /// It ended, or a policy may have dropped it: its last error was one that may be dropped for.
    pub(crate) fn is_over(&self) -> bool {
        !self.dead_letters.is_empty() || self.is_handled() || self.may_be_dropped()
    }

    /// Nothing is left of it, as the script allows.
    pub(crate) fn is_dropped(&self) -> bool {
        self.ends().is_empty() && self.left_on.is_empty() && self.may_be_dropped()
    }

    /// Some outcome of it was seen: in a proof, any error on which it may be dropped counts as one.
    pub(crate) fn has_outcome(&self) -> bool {
        !self.dead_letters.is_empty() || self.is_handled() || self.runs.iter().any(|run| run.answer == UNWANTED)
    }

    /// It was confirmed, and nothing says what became of it.
    pub(crate) fn is_lost(&self) -> bool {
        self.confirmed.is_some() && !self.is_over() && self.left_on.is_empty()
    }

    /// The last time that anything was seen of it.
    pub(crate) fn last_seen(&self) -> f64 {
        let runs = self.runs.iter().map(|run| run.ended.unwrap_or(run.began));
        runs.chain(self.dead_letters.iter().map(|letter| letter.at)).fold(self.sent, f64::max)
    }

    fn may_be_dropped(&self) -> bool {
        self.runs.last().is_some_and(|run| run.answer == UNWANTED)
    }
}
