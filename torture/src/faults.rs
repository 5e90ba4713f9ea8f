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
    /// A full dead-letter queue that refuses.
    Refuse,
    /// The exchange of dead letters is deleted, and declared again.
    RemoveExchange,
    /// The queue of dead letters is unbound and deleted, and declared again.
    RemoveQueue,
    /// The broker blocks all who publish: a memory alarm.
    Block,
    /// A host gets another policy with settings that fit it.
    Swap,
    /// A host gets a policy file that is broken or does not fit.
    BadPolicy,
}

/// Those that concern one host, and those that concern all. One of each can be under way at a time.
pub(crate) const OF_A_HOST: [Kind; 7] =
    [Kind::KillHost, Kind::TerminateHost, Kind::HangUp, Kind::Cut, Kind::Stall, Kind::Swap, Kind::BadPolicy];
pub(crate) const OF_ALL: [Kind; 6] =
    [Kind::KillBroker, Kind::StopBroker, Kind::Refuse, Kind::RemoveExchange, Kind::RemoveQueue, Kind::Block];

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::KillHost => "host killed",
            Self::TerminateHost => "host stopped (SIGTERM)",
            Self::HangUp => "SIGHUP",
            Self::Cut => "connections cut",
            Self::Stall => "connections stalled",
            Self::KillBroker => "broker killed",
            Self::StopBroker => "broker stopped",
            Self::Refuse => "dead letters refused",
            Self::RemoveExchange => "dead-letter exchange deleted",
            Self::RemoveQueue => "dead-letter queue deleted",
            Self::Block => "publishers blocked",
            Self::Swap => "policy swapped",
            Self::BadPolicy => "bad policy",
        }
    }

    /// A delivery that is in work may be handed over again, or a copy be published again, though its outcome is durable.
    pub(crate) const fn may_duplicate(self) -> bool {
        matches!(self, Self::KillHost | Self::Cut | Self::Stall | Self::KillBroker | Self::StopBroker | Self::Block)
    }

    /// Messages may stand still while it lasts.
    pub(crate) const fn may_stall(self) -> bool {
        !matches!(self, Self::HangUp | Self::Swap | Self::BadPolicy | Self::Cut)
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

    #[test]
    fn every_kind_is_dealt_once_a_round() {
        let (mut deck, mut random) = (Deck::new(&OF_A_HOST), Random::new(3, 0));
        for round in 1..=3 {
            let dealt: BTreeSet<Kind> = OF_A_HOST.iter().map(|_| deck.deal(&mut random)).collect();
            assert_eq!((dealt.len(), deck.rounds), (OF_A_HOST.len(), round));
        }
    }
}
