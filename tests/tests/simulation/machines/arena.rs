//! The machine's states by number, and what each of them does on each input.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reprieve::broker::{Origin, PublishError, SettleError, Settlement, Target};
use reprieve::delivery::{Arrival, Circumstances, Effect, Ending, Input, KnownStarts, Machine, Rules, Work};
use reprieve::handler_error::HandlerError;
use reprieve::topic::Tier;
use reprieve::verdict::{Action, Decision, Fault, FaultKind, Verdict};

use crate::contents::{ContentId, Contents};
use crate::world::{Answer, Asks, How, Place, Said};

/// What a host remembers of starts on a copy.
pub(crate) use crate::world::KnownStartsOf as Known;

/// What a machine is fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fed {
    Start,
    Answer(Answer),
    Lost,
    Shutdown,
    Abort,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) life: u32,
    /// What was under way is not wanted any more.
    pub(crate) stops: bool,
    pub(crate) asks: Option<Asks>,
    pub(crate) ending: Option<End>,
    pub(crate) known: Known,
    pub(crate) redelivered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With an outcome, acknowledged.
    Done,
    /// Requeued, released, or lost without an outcome.
    Undecided,
    /// With an outcome, unacknowledged.
    AckLost,
}

pub(crate) struct Arena {
    pub(crate) contents: Contents,
    rules: Arc<Rules>,
    machines: Vec<(Machine, bool)>,
    numbers: HashMap<String, u32>,
    begun: HashMap<(ContentId, bool, Known), u32>,
    turns: HashMap<(u32, Fed), Turn>,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self {
            contents: Contents::default(),
            rules: Arc::new(rules()),
            machines: Vec::new(),
            numbers: HashMap::new(),
            begun: HashMap::new(),
            turns: HashMap::new(),
        }
    }

    /// A machine for a delivery that has just arrived.
    pub(crate) fn life(&mut self, content: ContentId, redelivered: bool, known: Known) -> u32 {
        if let Some(life) = self.begun.get(&(content, redelivered, known)) {
            return *life;
        }
        let arrival = Arrival {
            message: Arc::clone(self.contents.message(content)),
            origin: Origin::default(),
            redelivered,
            known: KnownStarts { starts: known.starts, requeues: known.requeues, interruptions: known.interruptions },
            work: Work::Handle,
            at: self.contents.due(content),
        };
        let life = self.number(Machine::new(Arc::clone(&self.rules), arrival), redelivered);
        self.begun.insert((content, redelivered, known), life);
        life
    }

    pub(crate) fn turn(&mut self, life: u32, content: ContentId, fed: Fed) -> Turn {
        if let Some(turn) = self.turns.get(&(life, fed)) {
            return *turn;
        }
        let (mut machine, redelivered) = self.machines[life as usize].clone();
        let mut effects = Vec::new();
        // The clock stands still while a machine lives: the length of its waits changes nothing that it does after them.
        machine.handle(input(fed), self.contents.due(content), &mut effects);
        let starts = machine.known_starts();
        let known = Known { starts: starts.starts, requeues: starts.requeues, interruptions: starts.interruptions };
        let (mut stops, mut asks, mut ending) = (false, None, None);
        for effect in effects {
            match effect {
                Effect::Run { attempt } => asks = Some(Asks::Run { attempt }),
                Effect::Judge(_) => asks = Some(Asks::Verdict),
                Effect::Wait(wait) => {
                    assert!(wait > Duration::ZERO, "a wait of nothing is a loop");
                    asks = Some(Asks::Time);
                }
                Effect::Publish(publication) => {
                    let to = match publication.target {
                        Target::Tier { .. } => Place::Tier,
                        Target::Topic(_) => Place::DeadLetters,
                    };
                    asks = Some(Asks::Publish { to, content: self.contents.number(&publication.message), kept: false });
                }
                Effect::Settle(settlement) => asks = Some(Asks::Settle { how: how(settlement), taken: false }),
                Effect::Park(_) => unreachable!("the route has no park folder"),
                Effect::Stop => stops = true,
                Effect::End(end) => ending = Some(end_of(end)),
                Effect::PauseIntake(_) | Effect::ResumeIntake | Effect::Report(_) => {}
            }
        }
        let life_after = self.number(machine, redelivered);
        let turn = Turn { life: life_after, stops, asks, ending, known, redelivered };
        self.turns.insert((life, fed), turn);
        turn
    }

    fn number(&mut self, machine: Machine, redelivered: bool) -> u32 {
        let text = format!("{machine:?}");
        let next = u32::try_from(self.machines.len()).expect("a machine has fewer states than that");
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.machines.push((machine, redelivered));
        }
        number
    }
}

fn rules() -> Rules {
    let mut rules = Rules::new("orders", "orders");
    rules.tiers = vec![Tier { name: "30s".to_owned(), delay: Duration::from_secs(30) }];
    rules.dead_letters.insert("default".to_owned(), "orders.dlq".into());
    rules.retry.max_attempts = 2;
    rules.publish.tries = 2;
    rules.max_interruptions = 2;
    rules
}

pub(crate) fn how(settlement: Settlement) -> How {
    match settlement {
        Settlement::Ack => How::Ack,
        Settlement::Reject => How::Reject,
        Settlement::Release => How::Release,
    }
}

fn end_of(ending: Ending) -> End {
    match ending {
        Ending::Succeeded | Ending::Delayed | Ending::DeadLettered | Ending::Parked | Ending::Dropped => End::Done,
        Ending::Lost { durable: true } => End::AckLost,
        Ending::Requeued | Ending::Released | Ending::Lost { durable: false } => End::Undecided,
    }
}

pub(crate) fn decision(said: Said) -> Decision {
    let action = match said {
        Said::Retry => Action::Retry { delay_ms: 1000 },
        Said::Delay => Action::Delay { delay_ms: 30_000 },
        Said::DeadLetter => Action::DeadLetter { label: None },
        Said::Requeue => Action::Requeue { cooldown_ms: None },
        Said::Drop => Action::Drop,
        Said::Fault => return Decision { maker: None, result: Err(Fault::new(FaultKind::Trap, "it trapped")) },
    };
    Decision { maker: None, result: Ok(Verdict::new(action, "scripted")) }
}

fn input(fed: Fed) -> Input {
    let nothing = Circumstances::default();
    match fed {
        Fed::Start => Input::Start(nothing),
        Fed::Lost => Input::Lost,
        Fed::Shutdown => Input::Shutdown,
        Fed::Abort => Input::Abort,
        Fed::Answer(answer) => match answer {
            Answer::Succeeded => Input::Handled(Ok(()), nothing),
            Answer::FailedRun => Input::Handled(Err(HandlerError::new("x", "it failed")), nothing),
            Answer::Verdict(said) => Input::Judged(decision(said)),
            Answer::TimePassed => Input::Due(nothing),
            Answer::Confirmed => Input::Published(Ok(())),
            Answer::Refused => Input::Published(Err(PublishError::Refused("no".to_owned()))),
            Answer::Outage => Input::Published(Err(PublishError::Outage("no confirm".to_owned()))),
            Answer::TooLarge => Input::Published(Err(PublishError::TooLarge("no".to_owned()))),
            Answer::Settled => Input::Settled(Ok(())),
            Answer::Gone => Input::Settled(Err(SettleError::Gone("channel closed".to_owned()))),
        },
    }
}
