//! Hosts made of the pure machine and a model of what its driver remembers. Each of the machine's transitions is computed once, by
//! the real code, and known by a number from then on: that is what makes millions of states affordable.

mod arena;
mod tampering;

use std::cell::RefCell;

pub(crate) use arena::{Arena, decision, how};
pub(crate) use tampering::Tampering;

use crate::contents::ContentId;
use crate::world::{Answer, Asks, Broken, Hosts, How, Phase, Remembered, World};
use arena::{Fed, Known, Turn};

/// The life of a delivery that is acknowledged unrun, for which there is no machine.
const UNRUN: u32 = u32::MAX - 1;

pub(crate) struct Machines<'a> {
    pub(crate) arena: &'a RefCell<Arena>,
    pub(crate) tampering: Option<Tampering>,
}

impl Machines<'_> {
    fn feed(&mut self, world: &mut World, host: usize, delivery: usize, fed: Fed) -> Result<(), Broken> {
        let fed = self.tampering.map_or(fed, |tampering| tampering.fed(fed));
        let it = world.hosts[host].deliveries[delivery];
        let turn = self.arena.borrow_mut().turn(it.life, it.content, fed);
        self.carry_out(world, host, delivery, &turn, fed == Fed::Lost)
    }

    fn carry_out(
        &mut self,
        world: &mut World,
        host: usize,
        delivery: usize,
        turn: &Turn,
        is_loss: bool,
    ) -> Result<(), Broken> {
        let it = &mut world.hosts[host].deliveries[delivery];
        let (content, was_redelivered) = (it.content, turn.redelivered);
        let goes_back = matches!(it.asks, Some(Asks::Settle { how, .. }) if !how.removes());
        it.life = turn.life;
        if turn.stops {
            it.asks = None;
        }
        // What is on its way back was remembered when the settle was sent; it may have been here again since.
        if is_loss && !goes_back {
            self.remember_open(world, host, content, turn);
        }
        if let Some(mut asks) = turn.asks {
            if let Some(tampering) = self.tampering {
                asks = tampering.asks(asks);
            }
            if matches!(asks, Asks::Settle { how, .. } if !how.removes()) {
                self.remember_open(world, host, content, turn);
            }
            world.asked(host, delivery, asks, &self.arena.borrow().contents)?;
        }
        match turn.ending {
            None => return Ok(()),
            Some(arena::End::AckLost) => self.remember(world, host, content, Remembered::Done),
            Some(arena::End::Undecided) => {}
            Some(arena::End::Done) => {
                // Another hand-over of this copy may have left a memory behind.
                if was_redelivered {
                    take(world, host, content);
                }
                self.note_ack(world, host, content);
            }
        }
        world.ended(host, delivery)
    }

    fn note_ack(&self, world: &mut World, host: usize, content: ContentId) {
        let acknowledged = &mut world.hosts[host].acknowledged;
        if !acknowledged.contains(&content) {
            acknowledged.push(content);
        }
    }

    /// Another hand-over of the copy may have come to an outcome in between, which stands. Not so where this was the first one: then
    /// what was done was another message.
    fn remember_open(&self, world: &mut World, host: usize, content: ContentId, turn: &Turn) {
        let is_done = world.hosts[host].memory.contains(&(content, Remembered::Done));
        if !(is_done && turn.redelivered) {
            self.remember(world, host, content, Remembered::Open(turn.known));
        }
    }

    fn remember(&self, world: &mut World, host: usize, content: ContentId, what: Remembered) {
        if self.tampering.is_some_and(|tampering| tampering.forgets(what)) {
            return;
        }
        take(world, host, content);
        world.hosts[host].memory.push((content, what));
    }
}

/// What is remembered of this content, once.
fn take(world: &mut World, host: usize, content: ContentId) -> Option<Remembered> {
    let memory = &mut world.hosts[host].memory;
    let place = memory.iter().position(|(known, _)| *known == content)?;
    Some(memory.swap_remove(place).1)
}

impl Hosts for Machines<'_> {
    fn begin(&mut self, world: &mut World, host: usize, delivery: usize) -> Result<(), Broken> {
        let it = world.hosts[host].deliveries[delivery];
        let redelivered = it.holds.is_some_and(|letter| letter.redelivered);
        let remembered = redelivered.then(|| take(world, host, it.content)).flatten();
        let known = match remembered {
            Some(Remembered::Done) => {
                world.hosts[host].deliveries[delivery].life = UNRUN;
                let ack = Asks::Settle { how: How::Ack, taken: false };
                return world.asked(host, delivery, ack, &self.arena.borrow().contents);
            }
            Some(Remembered::Open(known)) => known,
            Some(Remembered::Told(_)) | None => Known::default(),
        };
        world.hosts[host].deliveries[delivery].life = self.arena.borrow_mut().life(it.content, redelivered, known);
        self.feed(world, host, delivery, Fed::Start)
    }

    fn answer(&mut self, world: &mut World, host: usize, delivery: usize, answer: Answer) -> Result<(), Broken> {
        let it = world.hosts[host].deliveries[delivery];
        if it.life != UNRUN {
            return self.feed(world, host, delivery, Fed::Answer(answer));
        }
        if answer == Answer::Gone {
            self.remember(world, host, it.content, Remembered::Done);
        } else {
            self.note_ack(world, host, it.content);
        }
        world.ended(host, delivery)
    }

    fn cut(&mut self, world: &mut World, host: usize, deliveries: &[usize]) -> Result<(), Broken> {
        // The broker may not have read the latest acks.
        for content in std::mem::take(&mut world.hosts[host].acknowledged) {
            self.remember(world, host, content, Remembered::Done);
        }
        self.blow(world, host, deliveries, Fed::Lost)
    }

    fn replace(&mut self, world: &mut World, host: usize) -> Result<(), Broken> {
        world.hosts[host].takes = true;
        Ok(())
    }

    fn stop(&mut self, world: &mut World, host: usize, now: bool) -> Result<(), Broken> {
        debug_assert_ne!(world.hosts[host].phase, Phase::Up);
        let all: Vec<_> = (0..world.hosts[host].deliveries.len()).collect();
        self.blow(world, host, &all, if now { Fed::Abort } else { Fed::Shutdown })
    }

    fn let_time_pass(&mut self, _: &mut World, _: usize) -> Result<(), Broken> {
        unreachable!("each wait ends by itself here")
    }
}

impl Machines<'_> {
    /// Tells these deliveries of a host; the last first, since some end by it.
    fn blow(&mut self, world: &mut World, host: usize, deliveries: &[usize], fed: Fed) -> Result<(), Broken> {
        for delivery in deliveries.iter().rev().copied() {
            let it = world.hosts[host].deliveries[delivery];
            match (it.life, fed) {
                (UNRUN, Fed::Abort) => world.ended(host, delivery)?,
                (UNRUN, _) => {}
                _ => self.feed(world, host, delivery, fed)?,
            }
        }
        Ok(())
    }
}
