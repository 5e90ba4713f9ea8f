//! What two states have in common that differ in nothing that matters from here on.

use super::{Asks, World};
use crate::contents::{ContentId, Contents};

/// What the times in copies are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// The clock stands still, so that they are the same in every order of events.
    Alike,
    /// They differ from run to run.
    Apart,
}

impl World {
    /// The same for all states that go on alike and break the same laws:
    ///
    /// * whatever the order in which things came to lie where they are;
    /// * whichever host is which: they run the same code with the same settings, and no law tells them apart;
    /// * however many faults it took, which a search goes through in rising order;
    /// * whatever is known of contents that can never come again;
    /// * whatever the ends of a message are, as long as as many more are allowed.
    pub(crate) fn canonical(&self, contents: &Contents, times: Times) -> Self {
        let mut world = self.clone();
        world.faults = 0;
        world.forget_the_past(contents);
        for letter in world.dead_letters.drain(..) {
            world.books[usize::from(letter.message)].drops += 1;
        }
        for book in &mut world.books {
            let ends = book.successes + book.drops;
            book.caught_in_faults = (book.sent + book.caught_in_faults).saturating_sub(ends);
            book.drops = ends.min(1);
            book.successes = 0;
        }
        if times == Times::Apart {
            world.name_by_shape(contents);
        }
        world.ready.sort_unstable();
        world.tier.sort_unstable();
        for host in &mut world.hosts {
            host.deliveries.sort_unstable();
            host.starts.sort_unstable();
            host.owes_ack.sort_unstable();
            host.memory.sort_unstable();
            host.acknowledged.sort_unstable();
        }
        world.hosts.sort_unstable();
        world
    }

    /// A content that is nowhere can only come from one that was due earlier. Where there is none of those either, what is known of
    /// it has no use.
    fn forget_the_past(&mut self, contents: &Contents) {
        let here = self.contents_in_play();
        let earliest = here.iter().map(|content| contents.due(*content)).min();
        let is_past = |content: ContentId| {
            !here.contains(&content) && earliest.is_none_or(|earliest| contents.due(content) <= earliest)
        };
        for book in &mut self.books {
            book.lines.retain(|line| !is_past(line.content));
            book.lines.iter_mut().for_each(|line| line.made = line.made.min(2));
        }
        for host in &mut self.hosts {
            host.starts.retain(|(content, _)| !is_past(*content));
            host.owes_ack.retain(|content| !is_past(*content));
            host.memory.retain(|(content, _)| !is_past(*content));
            host.acknowledged.retain(|content| !is_past(*content));
        }
    }

    fn contents_in_play(&self) -> Vec<ContentId> {
        let letters = self.ready.iter().chain(&self.tier).map(|letter| letter.content);
        let deliveries = self.hosts.iter().flat_map(|host| &host.deliveries);
        letters.chain(deliveries.flat_map(|it| it.contents())).collect()
    }

    /// The same with each content named by what it is but for the times in it, and by how many came before it that are alike.
    fn name_by_shape(&mut self, contents: &Contents) {
        let mut order: Vec<ContentId> =
            self.books.iter().flat_map(|book| &book.lines).map(|line| line.content).collect();
        order.sort_unstable();
        let rank = |content: ContentId| {
            let alike = |other: &&ContentId| **other < content && contents.shape(**other) == contents.shape(content);
            let before = order.iter().filter(alike).count() as u64;
            ((contents.shape(content).wrapping_add(before)) & 0xffff) as ContentId
        };
        let letters = self.ready.iter_mut().chain(&mut self.tier).chain(&mut self.dead_letters);
        letters.for_each(|letter| letter.content = rank(letter.content));
        for host in &mut self.hosts {
            for it in &mut host.deliveries {
                it.content = rank(it.content);
                if let Some(held) = &mut it.holds {
                    held.content = rank(held.content);
                }
                if let Some(Asks::Publish { content, .. }) = &mut it.asks {
                    *content = rank(*content);
                }
            }
            host.starts.iter_mut().for_each(|(content, _)| *content = rank(*content));
            host.owes_ack.iter_mut().for_each(|content| *content = rank(*content));
            host.memory.iter_mut().for_each(|(content, _)| *content = rank(*content));
        }
        self.books.iter_mut().flat_map(|book| &mut book.lines).for_each(|line| line.content = rank(line.content));
    }
}

impl Asks {
    /// What is asked for, but for the times in it.
    pub(crate) fn shape(self, contents: &Contents) -> (u8, u64) {
        match self {
            Self::Run { attempt } => (0, attempt.into()),
            Self::Verdict => (1, 0),
            Self::Time => (2, 0),
            Self::Publish { content, kept, .. } => (3 + u8::from(kept), contents.shape(content)),
            Self::Settle { how, taken } => (5, how as u64 * 2 + u64::from(taken)),
        }
    }
}
