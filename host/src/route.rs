//! Drives the deliveries of one route through the machine: slots, timers, drain.
//!
//! * `intake`: connects, consumes, and stops in order.
//! * `drive`: carries out what one delivery's machine asks for.
//! * `ordering`: messages of one key, one at a time. `deduplicate`: messages that were handled before. `key`: what both go by.
//! * `park`: the folder for messages that the broker never takes.
//! * `pauses`: when intake rests.
//! * `memory`: what is remembered of deliveries that went back to the broker.
//! * `acknowledged`: the latest acks, whose arrival is in doubt once the consumer is lost.
//! * `suspects`: messages that may have ended the host, each run alone.
//! * `state`: what a route is doing, for `/status` and `/readyz`.

mod acknowledged;
mod deduplicate;
mod drive;
mod intake;
mod key;
mod memory;
mod ordering;
mod park;
mod pauses;
mod state;
mod suspects;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprieve_sdk::RetryPolicy;
use tokio_util::sync::CancellationToken;

use crate::broker::{Broker, Plan};
use crate::delivery::{Doubling, HeaderNames, Pause, PublishRules, Rules};
use crate::failure::Failure;
use crate::handler::Handler;
use crate::handler::judge::JudgeSettings;
use crate::journal::Ticket;
use crate::observer::{HealthWindow, Observer, RouteMetrics};
use crate::timestamp::Timestamp;
use crate::topic::{Tier, Topic};
use crate::verdict::Decision;

pub use deduplicate::Deduplicate;
use deduplicate::StoreTrouble;
pub use key::{KeySource, KeySourceError};
use memory::Memory;
use ordering::Lanes;
use pauses::Pauses;
pub use state::{Phase, RouteState};
pub(crate) use suspects::Suspects;
use suspects::Suspicion;

/// A route as it was configured, with its broker and handler.
#[derive(Clone)]
pub struct RouteSpec {
    /// The route's name.
    pub name: Arc<str>,
    /// The queue or topic that it consumes.
    pub source: Arc<str>,
    /// The consumer group that it consumes in, on a broker that has such a thing; by default one of its own.
    pub group: Option<String>,
    /// Where the source is, and where outcomes go.
    pub broker: Arc<dyn Broker>,
    /// What is done with a message.
    pub work: RouteWork,
    /// Messages in work at a time; at least 1. A retry that waits in process keeps its slot.
    pub concurrency: u16,
    /// Messages that the broker hands over ahead of a free slot, those in work included; at least as many as `concurrency`
    /// says. `None`: as many, and under ordering four times as many.
    pub prefetch: Option<u16>,
    /// Messages of one key run one at a time, in order of arrival; this says where the key is.
    pub ordering: Option<KeySource>,
    /// Messages that were handled before are acknowledged without an attempt. Not for a route that judges.
    pub deduplicate: Option<Deduplicate>,
    /// The durable delays that it may use, shortest first.
    pub tiers: Vec<Tier>,
    /// Dead-letter topics by label.
    pub dead_letters: BTreeMap<String, Topic>,
    /// What the fallback goes by.
    pub retry: RetryPolicy,
    /// The prefix of our headers.
    pub header_prefix: String,
    /// The cool-down before a delivery is handed back.
    pub requeue: Doubling,
    /// The longest retry in process; the broker's own bound where that is shorter.
    pub max_retry_delay: Duration,
    /// How a publish that fails is tried again.
    pub publish: PublishRules,
    /// The folder for messages that the broker never takes; without one they are held.
    pub park: Option<PathBuf>,
    /// Attempts of one copy that may end without a result, the host's end included, before there is no other; at least 1.
    pub max_interruptions: u32,
    /// The fallback may drop where there is no dead-letter topic.
    pub allow_drop_on_fault: bool,
}

/// What a route does with its messages.
#[derive(Clone)]
pub enum RouteWork {
    /// Calls a handler.
    Handle {
        /// The handler.
        handler: Arc<dyn Handler>,
        /// The time that one attempt may take.
        timeout: Duration,
    },
    /// Judges messages that failed elsewhere.
    Judge(JudgeSettings),
}

impl RouteSpec {
    /// A route with defaults for everything but its place and work: 16 slots, no tiers, no dead letters, no retry.
    pub fn new(name: &str, source: &str, broker: Arc<dyn Broker>, work: RouteWork) -> Self {
        let defaults = crate::delivery::Rules::new(name, source);
        Self {
            name: name.into(),
            source: source.into(),
            group: None,
            broker,
            work,
            concurrency: 16,
            prefetch: None,
            ordering: None,
            deduplicate: None,
            tiers: Vec::new(),
            dead_letters: BTreeMap::new(),
            retry: defaults.retry,
            header_prefix: defaults.names.prefix,
            requeue: defaults.requeue,
            max_retry_delay: defaults.max_retry_delay,
            publish: defaults.publish,
            park: None,
            max_interruptions: defaults.max_interruptions,
            allow_drop_on_fault: false,
        }
    }

    /// How many unsettled messages the broker is asked for at a time.
    #[must_use]
    pub fn prefetch(&self) -> u16 {
        let slots = self.concurrency.max(1);
        let default = if self.ordering.is_some() { slots.saturating_mul(4) } else { slots };
        self.prefetch.unwrap_or(default).max(slots)
    }

    /// The longest that a retry may hold its slot on this route.
    #[must_use]
    pub fn retry_bound(&self) -> Duration {
        self.max_retry_delay.min(self.broker.capabilities().max_retry_delay)
    }

    /// What deliveries go by here, but for what only a connection tells.
    pub(crate) fn rules(&self) -> Rules {
        let capabilities = self.broker.capabilities();
        Rules {
            names: HeaderNames::new(&self.header_prefix),
            tiers: if capabilities.tiers { self.tiers.clone() } else { Vec::new() },
            dead_letters: self.dead_letters.clone(),
            retry: self.retry.clone(),
            max_retry_delay: self.retry_bound(),
            max_hold: capabilities.max_hold,
            requeue: self.requeue,
            publish: self.publish,
            parks: self.park.is_some(),
            max_interruptions: self.max_interruptions,
            allow_drop_on_fault: self.allow_drop_on_fault,
            ..Rules::new(&self.name, &self.source)
        }
    }

    pub(crate) fn plan(&self) -> Plan {
        Plan {
            route: self.name.to_string(),
            source: self.source.to_string(),
            group: self.group.clone(),
            tiers: self.tiers.clone(),
            topics: self.dead_letters.values().cloned().collect(),
            origins: Vec::new(),
            due_header: HeaderNames::new(&self.header_prefix).due,
        }
    }
}

/// What judges a route's failures: a live policy, or a test's script.
#[async_trait]
pub trait Judge: Send + Sync + 'static {
    /// The decision on one failure. A policy that cannot answer is a fault in it, never an error here.
    async fn decide(&self, failure: &Arc<Failure>) -> Decision;

    /// The same for a failure that is recorded under `ticket`, for judges that have more to record than their decision.
    async fn decide_recorded(&self, failure: &Arc<Failure>, _ticket: Option<Ticket>) -> Decision {
        self.decide(failure).await
    }

    /// Waits until there is something to judge with. The route consumes nothing before.
    async fn ready(&self);
}

/// The two steps of an orderly end.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Take no more messages, let handlers finish, let sleepers go back.
    pub drain: CancellationToken,
    /// Stop waiting for handlers.
    pub abort: CancellationToken,
}

/// Tells the time of day. The host's own, but in tests that play with time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A route that can be run.
pub struct Route {
    spec: RouteSpec,
    clock: Clock,
    names: HeaderNames,
    judge: Arc<dyn Judge>,
    observer: Observer,
    metrics: Arc<RouteMetrics>,
    health: HealthWindow,
    memory: Memory,
    lanes: Arc<Lanes>,
    store_trouble: StoreTrouble,
    pauses: Pauses,
    /// `None` where nothing is suspected to have ended the host before.
    suspicion: Option<Suspicion>,
    state: RouteState,
    shutdown: Shutdown,
    /// The broker hands out no more: what is given back now makes no room for a message that would only go back again.
    intake_ended: CancellationToken,
}

impl Route {
    /// A route that is not running yet.
    #[must_use]
    pub fn new(spec: RouteSpec, judge: Arc<dyn Judge>, observer: Observer, shutdown: Shutdown) -> Self {
        Self {
            names: HeaderNames::new(&spec.header_prefix),
            metrics: observer.metrics().route(&spec.name),
            health: HealthWindow::new(),
            memory: Memory::default(),
            lanes: Arc::default(),
            store_trouble: StoreTrouble::default(),
            pauses: Pauses::default(),
            suspicion: None,
            state: RouteState::default(),
            clock: Arc::new(Timestamp::now),
            spec,
            judge,
            observer,
            shutdown,
            intake_ended: CancellationToken::new(),
        }
    }

    /// The same route by another clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The same route on a host whose end before was not orderly. Without a handler nothing here ends a host.
    pub(crate) fn with_suspects(self, suspects: &Arc<Suspects>) -> Self {
        let suspicion = match self.spec.work {
            RouteWork::Handle { .. } => {
                let (name, prefetch) = (Arc::clone(&self.spec.name), self.spec.prefetch());
                let is_told = self.spec.broker.capabilities().tells_of_interruptions;
                Some(Suspicion::new(Arc::clone(suspects), name, prefetch, is_told))
            }
            RouteWork::Judge(_) => None,
        };
        Self { suspicion, ..self }
    }

    /// Why it takes no new messages though it has its broker, and until when; nothing while it takes them.
    #[must_use]
    pub fn pauses(&self) -> Vec<Pause> {
        self.pauses.current()
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// As it was configured.
    #[must_use]
    pub fn spec(&self) -> &RouteSpec {
        &self.spec
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> &RouteState {
        &self.state
    }
}
