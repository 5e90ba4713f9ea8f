//! A driver that does nothing by itself: a test says what comes of each effect, the world checks the laws.

use std::sync::Arc;
use std::time::Duration;

use crate::broker::{Origin, PublishError, SettleError, Settlement, Target};
use crate::delivery::{
    Arrival, Circumstances, Effect, Ending, FailedElsewhere, Input, KnownStarts, Machine, Parcel, Pause, Publication,
    Rules, Work,
};
use crate::event::EventKind;
use crate::failure::Failure;
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::timestamp::Timestamp;
use crate::topic::Tier;
use crate::verdict::{Action, Decision, Fault, FaultKind, Maker, Verdict};

pub(super) const START: Timestamp = Timestamp(1_700_000_000_000);

/// What the machine waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pending {
    Nothing,
    Handler { attempt: u32 },
    Policy(Arc<Failure>),
    Timer(Duration),
    Publish(Box<Publication>),
    Park(Box<Parcel>),
    Settle(Settlement),
    End(Ending),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Run,
    Publish,
    Park,
    Settle,
    GiveBack,
}

pub(super) struct World {
    machine: Machine,
    pub(super) now: Timestamp,
    pub(super) pending: Pending,
    pub(super) reports: Vec<EventKind>,
    pub(super) pauses: Vec<Pause>,
    pub(super) attempts: Vec<u32>,
    pub(super) published: Vec<Publication>,
    /// A success, a confirmed copy, or a verdict to drop: what an ack needs.
    outcome_is_durable: bool,
    /// The route lets the fallback drop.
    drops_on_fault: bool,
    /// There is a folder for what the broker never takes.
    parks: bool,
    acknowledged: bool,
    lost: bool,
    aborted: bool,
    /// What failed since the last wait: doing it again without one would spin.
    failed_since_wait: Vec<What>,
    shrunk: u32,
    parked_instead: bool,
}

pub(super) fn tier(name: &str) -> Tier {
    Tier { name: name.to_owned(), delay: humantime::parse_duration(name).unwrap() }
}

pub(super) fn rules() -> Rules {
    let mut rules = Rules::new("orders", "orders");
    rules.tiers = vec![tier("30s"), tier("5m")];
    rules.dead_letters.insert("default".to_owned(), "orders.dlq".into());
    rules.dead_letters.insert("invalid".to_owned(), "orders.invalid".into());
    rules.retry.max_attempts = 3;
    rules.retry.initial_delay = Duration::from_secs(1);
    rules.retry.max_delay = Duration::from_secs(10);
    rules
}

pub(super) fn arrival(message: Message) -> Arrival {
    Arrival {
        message: Arc::new(message),
        origin: Origin {
            exchange: Some("shop".to_owned()),
            routing_key: Some("order.new".to_owned()),
            ..Origin::default()
        },
        redelivered: false,
        known: KnownStarts::default(),
        work: Work::Handle,
        at: START,
    }
}

pub(super) fn judged(message: Message) -> Arrival {
    let error = HandlerError::new("rejected", "a consumer rejected it");
    let work = Work::Judge(Box::new(FailedElsewhere { error, back_to: Some("billing".to_owned()), unjudged: None }));
    Arrival { work, ..arrival(message) }
}

pub(super) fn verdict(action: Action) -> Decision {
    let maker = Maker { policy: "test".to_owned(), revision: "0123456789abcdef".to_owned() };
    Decision { maker: Some(Arc::new(maker)), result: Ok(Verdict::new(action, "because")) }
}

pub(super) fn fault(kind: FaultKind) -> Decision {
    Decision { maker: None, result: Err(Fault::new(kind, "it broke")) }
}

impl World {
    pub(super) fn new(rules: Rules, arrival: Arrival) -> Self {
        Self {
            drops_on_fault: rules.allow_drop_on_fault,
            parks: rules.parks,
            machine: Machine::new(Arc::new(rules), arrival),
            now: START,
            pending: Pending::Nothing,
            reports: Vec::new(),
            pauses: Vec::new(),
            attempts: Vec::new(),
            published: Vec::new(),
            outcome_is_durable: false,
            acknowledged: false,
            lost: false,
            aborted: false,
            failed_since_wait: Vec::new(),
            shrunk: 0,
            parked_instead: false,
        }
    }

    pub(super) fn started(rules: Rules, arrival: Arrival) -> Self {
        let mut world = Self::new(rules, arrival);
        world.give(Input::Start(Circumstances { seed: 7, ..Circumstances::default() }));
        world
    }

    pub(super) fn known_starts(&self) -> KnownStarts {
        self.machine.known_starts()
    }

    pub(super) fn succeed(&mut self) -> &mut Self {
        assert!(matches!(self.pending, Pending::Handler { .. }), "no handler runs: {:?}", self.pending);
        self.give(Input::Handled(Ok(()), Circumstances::default()))
    }

    pub(super) fn fail(&mut self, kind: &str) -> &mut Self {
        assert!(matches!(self.pending, Pending::Handler { .. }), "no handler runs: {:?}", self.pending);
        self.give(Input::Handled(Err(HandlerError::new(kind, "it failed")), Circumstances::default()))
    }

    pub(super) fn judge(&mut self, decision: Decision) -> &mut Self {
        assert!(matches!(self.pending, Pending::Policy(_)), "no policy is asked: {:?}", self.pending);
        self.give(Input::Judged(decision))
    }

    /// Lets the wait under way pass and tells how long it was.
    pub(super) fn wait(&mut self) -> Duration {
        let Pending::Timer(wait) = self.pending else { panic!("nothing waits: {:?}", self.pending) };
        self.pass();
        wait
    }

    /// Lets the wait under way pass.
    pub(super) fn pass(&mut self) -> &mut Self {
        let Pending::Timer(wait) = self.pending else { panic!("nothing waits: {:?}", self.pending) };
        self.now = self.now.after(wait);
        self.give(Input::Due(Circumstances::default()))
    }

    pub(super) fn confirm(&mut self) -> &mut Self {
        self.publish_ends(Ok(()))
    }

    pub(super) fn publish_ends(&mut self, result: Result<(), PublishError>) -> &mut Self {
        assert!(matches!(self.pending, Pending::Publish(_)), "nothing is published: {:?}", self.pending);
        self.give(Input::Published(result))
    }

    pub(super) fn parked(&mut self, result: Result<String, String>) -> &mut Self {
        assert!(matches!(self.pending, Pending::Park(_)), "nothing is parked: {:?}", self.pending);
        self.give(Input::Parked(result))
    }

    pub(super) fn settle_ends(&mut self, result: Result<(), SettleError>) -> &mut Self {
        assert!(matches!(self.pending, Pending::Settle(_)), "nothing is settled: {:?}", self.pending);
        self.give(Input::Settled(result))
    }

    pub(super) fn settled(&mut self) -> Ending {
        self.settle_ends(Ok(()));
        self.ending()
    }

    pub(super) fn ending(&self) -> Ending {
        match self.pending {
            Pending::End(ending) => ending,
            ref other => panic!("it has not ended: {other:?}"),
        }
    }

    pub(super) fn failure(&self) -> Arc<Failure> {
        match &self.pending {
            Pending::Policy(failure) => Arc::clone(failure),
            other => panic!("no policy is asked: {other:?}"),
        }
    }

    pub(super) fn publication(&self) -> Publication {
        match &self.pending {
            Pending::Publish(publication) => (**publication).clone(),
            other => panic!("nothing is published: {other:?}"),
        }
    }

    pub(super) fn target(&self) -> Target {
        self.publication().target
    }

    /// The text of why the last ruling was overridden.
    pub(super) fn overridden(&self) -> Option<String> {
        let ruling = self.reports.iter().rev().find_map(|report| match report {
            EventKind::RetryScheduled { ruling, .. }
            | EventKind::Delayed { ruling, .. }
            | EventKind::DeadLettered { ruling, .. }
            | EventKind::Requeued { ruling, .. }
            | EventKind::Dropped { ruling, .. } => Some(ruling),
            _ => None,
        });
        ruling.expect("nothing was ruled").overridden.clone()
    }

    /// Feeds one input and checks the laws on what the machine asks for.
    pub(super) fn give(&mut self, input: Input) -> &mut Self {
        match &input {
            Input::Handled(Ok(()), _) => self.outcome_is_durable = true,
            Input::Published(Ok(())) | Input::Parked(Ok(_)) => self.outcome_is_durable = true,
            Input::Parked(Err(_)) => self.failed_since_wait.push(What::Park),
            Input::Handled(Err(_), _) => self.failed_since_wait.push(What::Run),
            Input::Published(Err(PublishError::TooLarge(_))) if self.shrunk < 4 => self.shrunk += 1,
            // One change of plan, from a tier that refuses to a dead letter, needs no wait.
            Input::Published(Err(PublishError::Refused(_))) if self.is_delaying() && !self.parked_instead => {
                self.parked_instead = true;
            }
            Input::Published(Err(PublishError::Refused(_) | PublishError::TooLarge(_))) if self.parks => {}
            Input::Published(Err(_)) => self.failed_since_wait.push(What::Publish),
            Input::Settled(Err(SettleError::NoRoom(_))) => self.failed_since_wait.push(What::GiveBack),
            Input::Settled(Err(_)) => self.failed_since_wait.push(What::Settle),
            Input::Judged(Decision { result: Ok(verdict), .. }) if verdict.action == Action::Drop => {
                self.outcome_is_durable = true;
            }
            Input::Judged(Decision { result: Err(_), .. }) if self.drops_on_fault => self.outcome_is_durable = true,
            Input::Lost => self.lost = true,
            Input::Abort => self.aborted = true,
            _ => {}
        }
        let was_stop = matches!(input, Input::Lost | Input::Shutdown | Input::Abort);
        let mut effects = Vec::new();
        self.machine.handle(input, self.now, &mut effects);
        if !was_stop {
            self.pending = Pending::Nothing;
        }
        for effect in effects {
            self.carry_out(effect);
        }
        assert_eq!(self.machine.has_ended(), matches!(self.pending, Pending::End(_)));
        self
    }

    fn carry_out(&mut self, effect: Effect) {
        assert!(!matches!(self.pending, Pending::End(_)), "{effect:?} after the end");
        match effect {
            Effect::Run { attempt } => {
                assert!(!self.lost && !self.aborted, "a handler is run on a delivery that is not ours");
                self.must_have_waited(What::Run);
                self.attempts.push(attempt);
                self.pending = Pending::Handler { attempt };
            }
            Effect::Judge(failure) => {
                assert!(!self.lost && !self.aborted, "cancelled is not failed: the policy is not asked (rule 3)");
                self.pending = Pending::Policy(failure);
            }
            Effect::Wait(wait) => {
                assert!(!wait.is_zero(), "a wait of nothing is a loop");
                self.failed_since_wait.clear();
                (self.shrunk, self.parked_instead) = (0, false);
                self.pending = Pending::Timer(wait);
            }
            Effect::Publish(publication) => {
                self.must_have_waited(What::Publish);
                self.published.push((*publication).clone());
                self.pending = Pending::Publish(publication);
            }
            Effect::Park(parcel) => {
                self.must_have_waited(What::Park);
                self.pending = Pending::Park(parcel);
            }
            Effect::Settle(settlement) => {
                if settlement == Settlement::Ack {
                    assert!(self.outcome_is_durable, "acknowledged before its outcome is durable (rule 1)");
                    self.acknowledged = true;
                }
                assert!(!self.lost, "a settle that outlived its channel (rule 13)");
                self.must_have_waited(What::Settle);
                if settlement == Settlement::Reject {
                    self.must_have_waited(What::GiveBack);
                }
                self.pending = Pending::Settle(settlement);
            }
            Effect::Stop => self.pending = Pending::Nothing,
            Effect::PauseIntake(pause) => self.pauses.push(pause),
            Effect::ResumeIntake => self.pauses.retain(|pause| !pause.outage),
            Effect::Report(report) => self.reports.push(*report),
            Effect::End(ending) => {
                let is_done = matches!(
                    ending,
                    Ending::Succeeded | Ending::Delayed | Ending::DeadLettered | Ending::Dropped | Ending::Parked
                );
                assert!(!is_done || self.acknowledged, "{ending:?} without an ack");
                if let Ending::Lost { durable } = ending {
                    assert!(!durable || self.outcome_is_durable, "remembered as durable, but it is not");
                }
                self.pending = Pending::End(ending);
            }
        }
    }

    fn is_delaying(&self) -> bool {
        matches!(&self.pending, Pending::Publish(publication) if matches!(publication.target, Target::Tier { .. }))
    }

    fn must_have_waited(&self, what: What) {
        assert!(!self.failed_since_wait.contains(&what), "{what:?} again after it failed, without a wait (rule 5)");
    }
}
