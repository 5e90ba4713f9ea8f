//! What the rig does to hosts and broker, when it did it, and what each may excuse.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::random::Random;

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// `kill -9` of a host, and a restart after a moment.
    KillHost,
    /// SIGTERM, the drain, and a restart.
    TerminateHost,
    /// A host ends, in order or not, and stays away until others have taken over what it had.
    Away,
    /// SIGHUP.
    HangUp,
    /// A host's connections are cut; new ones are let through.
    Cut,
    /// Nothing passes on a host's connections for some seconds.
    Stall,
    /// `kill -9` of the broker, and a restart.
    KillBroker,
    /// The broker is stopped in order, and started again.
    StopBroker,
    /// Dead letters are refused: the queue is full, takes no record of their size, or the node takes no message at all.
    Refuse,
    /// The exchange of dead letters is deleted, and declared again.
    RemoveExchange,
    /// The queue of dead letters is unbound and deleted, and declared again.
    RemoveQueue,
    /// A topic of dead letters is deleted, and made again.
    RemoveTopic,
    /// The broker blocks all who publish: a memory alarm.
    Block,
    /// Some requests are carried out and not answered, others neither.
    LoseReplies,
    /// Some requests are answered late.
    SlowReplies,
    /// Some requests are answered 502, 503 or 429, and not carried out.
    Trouble,
    /// Every lease ends at once.
    ExpireLeases,
    /// A host gets another policy with settings that fit it.
    Swap,
    /// A host gets a policy file that is broken or does not fit.
    BadPolicy,
}

/// The faults that a kind of broker and its hosts can have.
#[derive(Debug)]
pub(crate) struct Repertoire {
    /// Those that concern one host. One of them can be under way at a time, and one of the others.
    pub(crate) of_a_host: &'static [Kind],
    /// Those that concern all.
    pub(crate) of_all: &'static [Kind],
    /// Those after which a delivery that is in work may be handed over again, or a copy be published again, though its
    /// outcome is durable.
    pub(crate) repeating: &'static [Kind],
    /// How many seconds after its end the last of what it causes may happen.
    pub(crate) aftermath: f64,
    /// How many milliseconds pass between two faults of a host, and of all.
    pub(crate) pauses: [(u64, u64); 2],
    /// For so many seconds faults begin, and then for so many none does.
    pub(crate) rest: Option<(f64, f64)>,
}

impl Repertoire {
    /// Every kind, in the order in which they are shown.
    pub(crate) fn all(&self) -> impl Iterator<Item = Kind> {
        self.of_a_host.iter().chain(self.of_all).copied()
    }

    /// Whether a fault may be why something that a host had in work between these moments came twice.
    pub(crate) fn may_repeat(&self, fault: &Fault, begin: f64, end: f64) -> bool {
        self.repeating.contains(&fault.kind) && fault.touches(begin - self.aftermath, end)
    }

    /// How long from this moment until faults may begin, in seconds.
    pub(crate) fn rests(&self, now: f64) -> f64 {
        self.rest.map_or(0.0, |(busy, quiet)| {
            let turn = now % (busy + quiet);
            if turn < busy { 0.0 } else { busy + quiet - turn }
        })
    }
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillHost => "host killed",
            Self::TerminateHost => "host stopped (SIGTERM)",
            Self::Away => "host away",
            Self::HangUp => "SIGHUP",
            Self::Cut => "connections cut",
            Self::Stall => "connections stalled",
            Self::KillBroker => "broker killed",
            Self::StopBroker => "broker stopped",
            Self::Refuse => "dead letters refused",
            Self::RemoveExchange => "dead-letter exchange deleted",
            Self::RemoveQueue => "dead-letter queue deleted",
            Self::RemoveTopic => "dead-letter topic deleted",
            Self::Block => "publishers blocked",
            Self::LoseReplies => "replies lost",
            Self::SlowReplies => "replies slow",
            Self::Trouble => "502, 503 and 429",
            Self::ExpireLeases => "leases ended",
            Self::Swap => "policy swapped",
            Self::BadPolicy => "bad policy",
        }
    }

    /// Messages may stand still while it lasts.
    pub(crate) const fn may_stall(self) -> bool {
        !matches!(self, Self::HangUp | Self::Swap | Self::BadPolicy | Self::Cut | Self::Away | Self::ExpireLeases)
    }
}

/// A fault that was inflicted.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// The only host that it concerned.
    pub(crate) host: Option<usize>,
    pub(crate) begin: f64,
    /// When the rig had put everything right again.
    pub(crate) end: Option<f64>,
    /// Such as which policy.
    pub(crate) detail: String,
}

impl Fault {
    pub(crate) fn concerns(&self, host: usize) -> bool {
        self.host.is_none_or(|only| only == host)
    }

    /// Whether any of it was within these moments.
    pub(crate) fn touches(&self, begin: f64, end: f64) -> bool {
        self.begin <= end && self.end.is_none_or(|over| over >= begin)
    }
}

/// Every fault so far.
pub(crate) struct Faults {
    clock: Clock,
    list: Mutex<Vec<Fault>>,
}

impl Faults {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, list: Mutex::default() }
    }

    /// A fault begins now. Gives its place, to say the end with.
    pub(crate) fn begin(&self, kind: Kind, host: Option<usize>, detail: impl Into<String>) -> usize {
        let mut list = self.lock();
        list.push(Fault { kind, host, begin: self.clock.now(), end: None, detail: detail.into() });
        list.len() - 1
    }

    pub(crate) fn end(&self, place: usize) {
        self.lock()[place].end = Some(self.clock.now());
    }

    pub(crate) fn all(&self) -> Vec<Fault> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deals kinds of faults in an order that is shuffled anew each round, so that none is left out for long.
pub(crate) struct Deck {
    kinds: Vec<Kind>,
    left: Vec<Kind>,
    /// Whole rounds that were dealt.
    pub(crate) rounds: u32,
}

impl Deck {
    pub(crate) fn new(kinds: &[Kind]) -> Self {
        Self { kinds: kinds.to_vec(), left: Vec::new(), rounds: 0 }
    }

    pub(crate) fn deal(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
            random.shuffle(&mut self.left);
        }
        let kind = self.left.pop().expect("it was just filled");
        self.rounds += u32::from(self.left.is_empty());
        kind
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const KINDS: [Kind; 3] = [Kind::KillHost, Kind::Cut, Kind::Stall];

    #[test]
    fn every_kind_is_dealt_once_a_round() {
        let (mut deck, mut random) = (Deck::new(&KINDS), Random::new(3, 0));
        for round in 1..=3 {
            let dealt: BTreeSet<Kind> = KINDS.iter().map(|_| deck.deal(&mut random)).collect();
            assert_eq!((dealt.len(), deck.rounds), (KINDS.len(), round));
        }
    }

    #[test]
    fn no_fault_begins_while_there_is_a_rest() {
        let repertoire = Repertoire { rest: Some((60.0, 20.0)), ..crate::rabbitmq::REPERTOIRE };
        let rests = [0.0, 59.0, 60.0, 70.0, 80.0, 145.0].map(|now| repertoire.rests(now));
        assert_eq!(rests, [0.0, 0.0, 20.0, 10.0, 0.0, 15.0]);
        assert_eq!(crate::rabbitmq::REPERTOIRE.rests(70.0), 0.0);
    }
}
