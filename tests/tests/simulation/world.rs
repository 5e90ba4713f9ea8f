//! The world around the hosts: a broker with one source, one tier and one dead-letter queue, and books on every message.
//!
//! It is plain data, so that a search can copy, compare and hash it. What hosts do comes from [`Hosts`].

mod asking;
mod books;
mod canonical;
mod choices;
mod doing;

use std::fmt;

pub(crate) use asking::name;
pub(crate) use books::Book;
pub(crate) use canonical::Times;
pub(crate) use choices::{Answer, Choice, Said};
pub(crate) use doing::Limits;

use crate::contents::ContentId;

/// Two hosts share the source.
pub(crate) const HOSTS: usize = 2;

/// The whole state, but for what is in the hosts' own hands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct World {
    /// On the source, for whichever host takes it first.
    pub(crate) ready: Vec<Letter>,
    /// On the way back to the source.
    pub(crate) tier: Vec<Letter>,
    /// In the dead-letter queue.
    pub(crate) dead_letters: Vec<Letter>,
    pub(crate) hosts: [Host; HOSTS],
    /// One for each message.
    pub(crate) books: Vec<Book>,
    /// Faults so far.
    pub(crate) faults: u8,
}

/// A message or a copy of it, on the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Letter {
    pub(crate) message: u8,
    pub(crate) content: ContentId,
    /// It was handed over before.
    pub(crate) redelivered: bool,
}

/// A host as the broker sees it, and what the books say of this process.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Host {
    /// It asks for a message.
    pub(crate) takes: bool,
    pub(crate) phase: Phase,
    pub(crate) deliveries: Vec<Delivery>,
    /// Attempts that this process began, by content.
    pub(crate) starts: Vec<(ContentId, u8)>,
    /// Contents whose outcome is durable to the knowledge of this process, while it also knows that their ack was lost.
    pub(crate) owes_ack: Vec<ContentId>,
    /// What its driver remembers, as far as that is known.
    pub(crate) memory: Vec<(ContentId, Remembered)>,
    /// The acks that it wrote on this channel, as it remembers them too.
    pub(crate) acknowledged: Vec<ContentId>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Phase {
    #[default]
    Up,
    /// It takes nothing more and finishes what it has.
    Draining,
    /// It was told to end now.
    Ending,
}

/// What a modelled driver remembers of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Remembered {
    Open(KnownStartsOf),
    Done,
    /// Of a real driver, into which nobody can look: a digest of what it was told about the copy.
    Told(u64),
}

/// The host's `KnownStarts`, in a form that can be hashed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KnownStartsOf {
    pub(crate) starts: u32,
    pub(crate) requeues: u32,
    pub(crate) interruptions: u32,
}

/// One hand-over to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Delivery {
    /// By which the hosts know it.
    pub(crate) life: u32,
    pub(crate) message: u8,
    pub(crate) content: ContentId,
    /// What the broker waits to see settled; nothing once it is, or has gone back.
    pub(crate) holds: Option<Letter>,
    /// The broker did not say that it handed it over before.
    pub(crate) is_first: bool,
    /// Its host knew at the hand-over that an outcome is durable and the ack lost.
    pub(crate) owes_ack: bool,
    /// Its channel has ended.
    pub(crate) lost: bool,
    /// The number of the attempt that was begun last on it; none yet, where that is zero.
    pub(crate) attempt: u32,
    pub(crate) failed: Failed,
    /// `None` before the host has asked for anything, and while an answer is on its way.
    pub(crate) asks: Option<Asks>,
}

/// What failed since the host last waited: doing it again at once would spin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Failed {
    pub(crate) run: bool,
    pub(crate) publish: bool,
    /// Copies that were refused or too large: for each there is a smaller one or another place, a few times.
    pub(crate) reshaped: u8,
}

/// What a host waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Asks {
    Run {
        attempt: u32,
    },
    Verdict,
    /// Time to pass.
    Time,
    Publish {
        to: Place,
        content: ContentId,
        kept: bool,
    },
    Settle {
        how: How,
        taken: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    Tier,
    DeadLetters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    Ack,
    Reject,
    Release,
}

/// A law that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) law: &'static str,
    pub(crate) text: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.text)
    }
}

/// What runs in the hosts: the real thing, or a model of it. Deliveries are named by their place in the host's list.
pub(crate) trait Hosts {
    /// The broker hands over what the delivery holds.
    fn begin(&mut self, world: &mut World, host: usize, delivery: usize) -> Result<(), Broken>;
    /// The host learns this about a delivery.
    fn answer(&mut self, world: &mut World, host: usize, delivery: usize, answer: Answer) -> Result<(), Broken>;
    /// The host's connection is cut; these deliveries are the broker's again.
    fn cut(&mut self, world: &mut World, host: usize, deliveries: &[usize]) -> Result<(), Broken>;
    /// The host dies, and a new process takes its place.
    fn replace(&mut self, world: &mut World, host: usize) -> Result<(), Broken>;
    /// The host is asked to stop: by draining, or now.
    fn stop(&mut self, world: &mut World, host: usize, now: bool) -> Result<(), Broken>;
    /// Time passes at this host until it does something.
    fn let_time_pass(&mut self, world: &mut World, host: usize) -> Result<(), Broken>;
}

impl Delivery {
    /// Its own content, and that of the copy on its way.
    fn contents(&self) -> impl Iterator<Item = ContentId> {
        let copy = match self.asks {
            Some(Asks::Publish { content, .. }) => Some(content),
            _ => None,
        };
        copy.into_iter().chain([self.content])
    }
}

impl World {
    /// All messages on the source, each as often as it was sent; both hosts at rest.
    pub(crate) fn new(sent: &[(ContentId, u8)]) -> Self {
        let mut ready = Vec::new();
        for (message, (content, times)) in (0_u8..).zip(sent) {
            let letter = Letter { message, content: *content, redelivered: false };
            ready.extend((0..*times).map(|_| letter));
        }
        Self {
            ready,
            tier: Vec::new(),
            dead_letters: Vec::new(),
            hosts: Default::default(),
            books: sent.iter().map(|(content, times)| Book::new(*content, *times)).collect(),
            faults: 0,
        }
    }

    /// Nothing is left to do: every message is where it ends.
    pub(crate) fn is_quiet(&self) -> bool {
        self.ready.is_empty() && self.tier.is_empty() && self.hosts.iter().all(|host| host.deliveries.is_empty())
    }
}
