//! Everything that can happen next, and what it costs.

use super::{Asks, HOSTS, Host, How, Limits, Phase, Place, World};

/// What a host can learn about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Answer {
    Succeeded,
    FailedRun,
    Verdict(Said),
    TimePassed,
    Confirmed,
    Refused,
    Outage,
    TooLarge,
    Settled,
    Gone,
}

/// What a policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Said {
    Retry,
    Delay,
    DeadLetter,
    Requeue,
    Drop,
    /// Nothing: it trapped.
    Fault,
}

pub(crate) const VERDICTS: [Said; 5] = [Said::DeadLetter, Said::Retry, Said::Delay, Said::Requeue, Said::Drop];

/// One event. Deliveries and letters are named by their place in their list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Choice {
    /// The broker hands a letter of the source to a host.
    Deliver {
        letter: usize,
        host: usize,
    },
    /// The host gets the answer to what it asked for.
    Answer {
        host: usize,
        delivery: usize,
        answer: Answer,
    },
    /// The broker keeps a copy; the host does not know yet.
    Keep {
        host: usize,
        delivery: usize,
    },
    /// The broker carries a settle out; the host does not know yet.
    Take {
        host: usize,
        delivery: usize,
    },
    /// The host believes that its settle was sent, and the connection ends before the broker reads it.
    Unread {
        host: usize,
        delivery: usize,
    },
    /// A tier's delay is over.
    Return {
        letter: usize,
    },
    Cut {
        host: usize,
    },
    Crash {
        host: usize,
    },
    /// All connections end.
    BrokerRestarts,
    Drain {
        host: usize,
    },
    /// The time for the drain is over.
    Abort {
        host: usize,
    },
    /// A host that has drained is started again.
    Start {
        host: usize,
    },
    /// A host sleeps until it has something to do. The hosts' clocks need not agree.
    TimePasses {
        host: usize,
    },
}

impl Choice {
    /// Something that should not happen.
    pub(crate) fn is_fault(self, world: &World) -> bool {
        match self {
            // A policy that is asked about interruptions alone, and lets the message go on, could do so for ever.
            Self::Answer { host, delivery, answer: Answer::Verdict(Said::Retry | Said::Delay | Said::Requeue) } => {
                !world.hosts[host].deliveries[delivery].failed.run
            }
            Self::Answer { answer, .. } => matches!(
                answer,
                Answer::FailedRun | Answer::Refused | Answer::Outage | Answer::TooLarge | Answer::Verdict(Said::Fault)
            ),
            Self::Unread { .. } | Self::Cut { .. } | Self::Crash { .. } | Self::BrokerRestarts | Self::Drain { .. } => {
                true
            }
            // While a handler runs, it may take too long.
            Self::TimePasses { host } => world.hosts[host].is_any(|asks| matches!(asks, Asks::Run { .. })),
            _ => false,
        }
    }
}

impl World {
    /// All that can happen now, the best first: following the first choice each time, everything goes right.
    pub(crate) fn choices(&self, limits: &Limits) -> Vec<Choice> {
        let mut choices = Vec::new();
        for host in 0..HOSTS {
            for delivery in 0..self.hosts[host].deliveries.len() {
                self.choices_of(host, delivery, limits, &mut choices);
            }
        }
        for host in (0..HOSTS).filter(|host| self.hosts[*host].takes && self.has_slot(*host, limits)) {
            choices.extend((0..self.ready.len()).map(|letter| Choice::Deliver { letter, host }));
        }
        choices.extend((0..self.tier.len()).map(|letter| Choice::Return { letter }));
        for host in 0..HOSTS {
            let Some(blow) = self.end_of_process(host) else { continue };
            choices.push(blow);
        }
        if limits.time {
            choices.extend(
                (0..HOSTS).filter(|host| self.hosts[*host].sleeps(limits)).map(|host| Choice::TimePasses { host }),
            );
        }
        if !self.is_quiet() {
            self.blows(&mut choices);
        }
        choices.retain(|choice| self.faults < limits.faults || !choice.is_fault(self));
        choices.sort_by_key(|choice| choice.is_fault(self));
        choices
    }

    fn has_slot(&self, host: usize, limits: &Limits) -> bool {
        // A delivery that was lost holds its slot until it has ended.
        self.hosts[host].deliveries.len() < limits.slots
    }

    fn choices_of(&self, host: usize, delivery: usize, limits: &Limits, choices: &mut Vec<Choice>) {
        let it = &self.hosts[host].deliveries[delivery];
        let Some(asks) = it.asks else { return };
        let mut answers = |answers: &[Answer]| {
            choices.extend(answers.iter().map(|answer| Choice::Answer { host, delivery, answer: *answer }));
        };
        match asks {
            Asks::Run { .. } => answers(&[Answer::Succeeded, Answer::FailedRun]),
            Asks::Verdict => {
                let said = |said: &Said| Answer::Verdict(*said);
                answers(&VERDICTS.iter().map(said).collect::<Vec<_>>());
                answers(&[Answer::Verdict(Said::Fault)]);
            }
            Asks::Time if limits.time => {}
            Asks::Time => answers(&[Answer::TimePassed]),
            Asks::Publish { kept: true, .. } => answers(&[Answer::Confirmed, Answer::Outage]),
            Asks::Publish { kept: false, to, .. } => {
                choices.push(Choice::Keep { host, delivery });
                // How one is refused and how it is too large differ only in what may follow: another place, another size.
                let refusals: &[Answer] = match to {
                    Place::Tier => &[Answer::Refused, Answer::TooLarge, Answer::Outage],
                    Place::DeadLetters => &[Answer::TooLarge, Answer::Outage],
                };
                choices.extend(refusals.iter().map(|answer| Choice::Answer { host, delivery, answer: *answer }));
            }
            Asks::Settle { taken: true, .. } if it.lost => answers(&[Answer::Gone]),
            Asks::Settle { taken: true, .. } => answers(&[Answer::Settled]),
            Asks::Settle { .. } if it.lost => answers(&[Answer::Gone]),
            Asks::Settle { .. } => {
                choices.push(Choice::Take { host, delivery });
                choices.push(Choice::Unread { host, delivery });
            }
        }
    }

    fn end_of_process(&self, host: usize) -> Option<Choice> {
        match self.hosts[host].phase {
            Phase::Up => None,
            _ if self.hosts[host].deliveries.is_empty() => Some(Choice::Start { host }),
            Phase::Draining => Some(Choice::Abort { host }),
            Phase::Ending => None,
        }
    }

    /// Blows that hit something: a delivery in work, or what a host remembers.
    fn blows(&self, choices: &mut Vec<Choice>) {
        let has_channel = |host: usize| self.hosts[host].deliveries.iter().any(|delivery| !delivery.lost);
        for host in 0..HOSTS {
            let it = &self.hosts[host];
            if has_channel(host) {
                choices.push(Choice::Cut { host });
            }
            if !it.deliveries.is_empty() || !it.memory.is_empty() || !it.starts.is_empty() {
                choices.push(Choice::Crash { host });
            }
            if it.phase == Phase::Up && !it.deliveries.is_empty() {
                choices.push(Choice::Drain { host });
            }
        }
        if (0..HOSTS).filter(|host| has_channel(*host)).count() > 1 {
            choices.push(Choice::BrokerRestarts);
        }
    }
}

impl Host {
    fn is_any(&self, wanted: impl Fn(Asks) -> bool) -> bool {
        self.deliveries.iter().filter_map(|delivery| delivery.asks).any(wanted)
    }

    /// Time has something to bring it: the end of a wait, of a handler's time, or of a pause of its intake.
    fn sleeps(&self, limits: &Limits) -> bool {
        let pauses = !self.takes && self.phase == Phase::Up && self.deliveries.len() < limits.slots;
        pauses || self.is_any(|asks| matches!(asks, Asks::Time | Asks::Run { .. }))
    }
}

impl How {
    /// The letter does not go back to the source.
    pub(crate) fn removes(self) -> bool {
        self == Self::Ack
    }
}
