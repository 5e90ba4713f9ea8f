//! What the books say in the end.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::{Message, id};
use crate::faults::{Fault, Kind, Repertoire};

/// Settles and copies that were on their way longer than this before a fault have arrived.
pub(crate) const ON_THE_WAY: f64 = 1.0;

/// The counts, and every message with which something is wrong.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) sent: usize,
    /// Sent without a confirm: may or may not have arrived.
    pub(crate) unconfirmed: usize,
    /// Runs of the handler, by the host that asked for them.
    pub(crate) runs: Vec<usize>,
    pub(crate) handled: usize,
    /// And not handled.
    pub(crate) dead_lettered: usize,
    pub(crate) dropped: usize,
    pub(crate) left: usize,
    pub(crate) lost: usize,
    pub(crate) handled_again: usize,
    pub(crate) dead_lettered_again: usize,
    /// Messages whose attempt numbers had to be 1, 2, 3 and so on, since no fault touched them.
    pub(crate) counts_checked: usize,
    pub(crate) troubles: Vec<Trouble>,
}

/// What beside the books a judgement needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'r> {
    pub(crate) faults: &'r [Fault],
    pub(crate) repertoire: &'r Repertoire,
    pub(crate) hosts: usize,
    /// The messages of which a host's log says that it dropped them.
    pub(crate) dropped: &'r BTreeSet<u64>,
}

/// Something that must not be.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    pub(crate) number: u64,
    pub(crate) what: &'static str,
}

impl Circumstances<'_> {
    fn may_repeat(&self, begin: f64, end: f64) -> bool {
        self.faults.iter().any(|fault| self.repertoire.may_repeat(fault, begin, end))
    }
}

impl Judgement {
    /// Judges every message.
    pub(crate) fn of(messages: &BTreeMap<u64, Message>, circumstances: &Circumstances<'_>) -> Self {
        let Circumstances { hosts, dropped, .. } = *circumstances;
        let mut judgement = Self { runs: vec![0; hosts], ..Self::default() };
        for (number, message) in messages {
            judgement.count(message);
            let mut trouble = |what| judgement.troubles.push(Trouble { number: *number, what });
            if message.is_lost() {
                trouble("lost");
            }
            if !message.left_on.is_empty() {
                trouble("still on a queue at the end");
            }
            if message.is_dropped() && !dropped.contains(number) && !may_be_unsaid(message, circumstances) {
                trouble("it may be dropped, but no host says that it was");
            }
            if message.dead_letters.iter().any(|letter| letter.altered) {
                trouble("its dead letter is not the message that was sent");
            }
            if has_unexplained_duplicate(message, circumstances) {
                trouble("came to an end twice, though no fault could have repeated it");
            }
            if is_overcounted(message) {
                trouble("an attempt has a higher number than the handler has seen attempts");
            }
            if must_count_exactly(message, circumstances) {
                if message.runs.iter().zip(1..).any(|(run, expected)| run.attempt != expected) {
                    trouble("no fault touched it, yet its attempts are not numbered 1, 2, 3 and so on");
                }
                judgement.counts_checked += 1;
            }
        }
        judgement
    }

    pub(crate) fn duplicates(&self) -> usize {
        self.handled_again + self.dead_lettered_again
    }

    fn count(&mut self, message: &Message) {
        for run in &message.runs {
            self.runs[run.host] += 1;
        }
        if message.confirmed.is_none() {
            self.unconfirmed += 1;
            // The broker promised nothing, and kept nothing as far as anybody can tell.
            if !message.is_over() && message.left_on.is_empty() {
                return;
            }
        }
        self.sent += 1;
        let ends = match () {
            () if !message.left_on.is_empty() => &mut self.left,
            () if message.is_handled() => &mut self.handled,
            () if !message.dead_letters.is_empty() => &mut self.dead_lettered,
            () if message.is_dropped() => &mut self.dropped,
            () => &mut self.lost,
        };
        *ends += 1;
        let successes = message.runs.iter().filter(|run| run.succeeded).count();
        self.handled_again += successes.saturating_sub(1);
        let first = usize::from(successes == 0);
        self.dead_lettered_again += message.dead_letters.len().saturating_sub(first);
    }
}

/// A host may have come to its end between a drop and its line in the log, or have lost the ack.
fn may_be_unsaid(message: &Message, circumstances: &Circumstances<'_>) -> bool {
    let last = message.last_seen();
    circumstances.may_repeat(last - ON_THE_WAY, last + 5.0 * ON_THE_WAY)
}

fn has_unexplained_duplicate(message: &Message, circumstances: &Circumstances<'_>) -> bool {
    let (ends, Some(first)) = (message.ends(), message.runs.first()) else { return false };
    ends.get(1).is_some_and(|again| !circumstances.may_repeat(first.began - ON_THE_WAY, *again))
}

/// Rule 9, from above: each start that a count may hold has reached the handler.
fn is_overcounted(message: &Message) -> bool {
    message.runs.iter().zip(1..).any(|(run, seen)| run.attempt > seen)
}

/// Rule 9, from both sides: nothing that a process may forget was in the way.
fn must_count_exactly(message: &Message, circumstances: &Circumstances<'_>) -> bool {
    let Some(first) = message.runs.first() else { return false };
    let begin = first.began - ON_THE_WAY - circumstances.repertoire.aftermath;
    let forgets = |fault: &Fault| {
        !matches!(fault.kind, Kind::HangUp | Kind::BadPolicy) && fault.touches(begin, message.last_seen() + ON_THE_WAY)
    };
    !circumstances.faults.iter().any(forgets)
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", id(self.number), self.what)
    }
}
