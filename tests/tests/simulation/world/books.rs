//! What the books say of one message, and the laws on it that hold in every state.

use super::{Broken, World};
use crate::contents::ContentId;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Book {
    /// How often the sender sent it, alike to the byte.
    pub(crate) sent: u8,
    /// Attempts that succeeded.
    pub(crate) successes: u8,
    /// Verdicts to drop it.
    pub(crate) drops: u8,
    /// Hand-overs of it that were in work when a fault hid from their host what the broker did, or the other way round.
    pub(crate) caught_in_faults: u8,
    /// What is known of each content that it ever had: the original, and copies that the broker kept.
    pub(crate) lines: Vec<Line>,
}

/// One content of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Line {
    pub(crate) content: ContentId,
    /// Times that the broker kept exactly this.
    pub(crate) made: u8,
    /// An outcome of it is durable: a success, a copy that the broker keeps, or a verdict to drop.
    pub(crate) done: bool,
}

impl Book {
    pub(crate) fn new(original: ContentId, sent: u8) -> Self {
        let lines = vec![Line { content: original, made: sent, done: false }];
        Self { sent, successes: 0, drops: 0, caught_in_faults: 0, lines }
    }

    pub(crate) fn line(&self, content: ContentId) -> Line {
        *self.lines.iter().find(|line| line.content == content).expect("a delivery has a content that the broker keeps")
    }

    pub(crate) fn is_done(&mut self, content: ContentId) {
        let line = self.lines.iter_mut().find(|line| line.content == content);
        line.expect("a delivery has a content that the broker keeps").done = true;
    }

    pub(crate) fn is_made(&mut self, content: ContentId) {
        match self.lines.iter_mut().find(|line| line.content == content) {
            Some(line) => line.made += 1,
            None => {
                self.lines.push(Line { content, made: 1, done: false });
                self.lines.sort_unstable();
            }
        }
    }
}

impl World {
    /// The laws that must hold after each step.
    pub(crate) fn check(&self) -> Result<(), Broken> {
        for message in 0..self.books.len() {
            self.nothing_is_lost(message)?;
            self.duplicates_are_bounded(message)?;
        }
        Ok(())
    }

    /// Rule 1: a message is somewhere on the broker until it has been handled or dropped by a verdict. One that was sent twice, alike
    /// to the byte and under one id, is one message: the memory of lost acks (rule 13) may take either for the other.
    fn nothing_is_lost(&self, message: usize) -> Result<(), Broken> {
        let book = &self.books[message];
        let held = self.hosts.iter().flat_map(|host| &host.deliveries).filter_map(|delivery| delivery.holds);
        let mut letters = self.ready.iter().chain(&self.tier).chain(&self.dead_letters).copied().chain(held);
        let exists = letters.any(|letter| usize::from(letter.message) == message);
        if exists || book.successes > 0 || book.drops > 0 {
            return Ok(());
        }
        Err(Broken {
            law: "never lost (rule 1)",
            text: format!("m{} is gone: not handled, not dropped by a verdict, and on no queue", message + 1),
        })
    }

    /// Rule 1: a message has one end, and one more at most for each hand-over of it that was in work when a fault hid from
    /// host or broker what the other did. Only those can be carried out twice.
    fn duplicates_are_bounded(&self, message: usize) -> Result<(), Broken> {
        let book = &self.books[message];
        let parked = self.dead_letters.iter().filter(|letter| usize::from(letter.message) == message).count();
        let ends = usize::from(book.successes) + usize::from(book.drops) + parked;
        let most = usize::from(book.sent) + usize::from(book.caught_in_faults);
        if ends <= most {
            return Ok(());
        }
        Err(Broken {
            law: "bounded duplicates (rule 1)",
            text: format!("m{} has {ends} ends, where its faults explain {most} at most", message + 1),
        })
    }
}
