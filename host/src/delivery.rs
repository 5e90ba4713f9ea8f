//! The life of one delivery, as a state machine without I/O: `(state, input) -> (state, effects)`.
//!
//! [`Machine`] owns the attempt count, limits, overrides, the fallback and the order of settlement. A driver
//! carries out its [`Effect`]s and feeds back what came of them as [`Input`]s, so every order of crashes,
//! time-outs, refused publishes and lost connections can be tried in a test.

mod arrival;
mod attributes;
mod copy;
mod fallback;
mod header_names;
mod machine;
mod preview;
mod resolve;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use arrival::attempts;
pub use arrival::{Arrival, FailedElsewhere, KnownStarts, Work};
pub use header_names::HeaderNames;
pub(crate) use header_names::{is_broker_owned, is_carbon_copy, is_counted_by_broker};
pub use machine::Machine;
pub use preview::{Preview, preview};
pub use resolve::{Outcome, Situation};
pub(crate) use rules::DEFAULT_LABEL;
pub use rules::{Doubling, PublishRules, Rules};

use std::sync::Arc;
use std::time::Duration;

use crate::broker::{Origin, PublishError, SettleError, Settlement, Target};
use crate::event::EventKind;
use crate::failure::{Failure, Health};
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::timestamp::Timestamp;
use crate::verdict::Decision;

/// What can happen to a delivery.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The delivery has a slot. The first input, given once.
    Start(Circumstances),
    /// The handler ended, within its time or by it.
    Handled(Result<(), HandlerError>, Circumstances),
    /// The policy answered, or could not.
    Judged(Decision),
    /// The wait that was asked for is over.
    Due(Circumstances),
    /// The publish that was asked for is confirmed, or counts as failed.
    Published(Result<(), PublishError>),
    /// The message is in the park folder, in this file; or it is not, for this reason.
    Parked(Result<String, String>),
    /// The settle that was asked for was taken, or was not.
    Settled(Result<(), SettleError>),
    /// The channel, assignment or lease of this delivery has ended.
    Lost,
    /// The host wants to stop: finish what runs, wait for nothing.
    Shutdown,
    /// The time to shut down is over: end now.
    Abort,
}

/// What the driver knows beside the result, so that a failure holds all that a policy may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// How the route has been doing.
    pub health: Health,
    /// Random bits.
    pub seed: u64,
}

/// What the driver must do. At most one of run, judge, wait, publish, park and settle is under way at a time.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Run the handler; answer with [`Input::Handled`].
    Run {
        /// The number of this attempt, from 1.
        attempt: u32,
    },
    /// Ask the policy; answer with [`Input::Judged`].
    Judge(Arc<Failure>),
    /// Answer with [`Input::Due`] after this time, not earlier. Replaces a wait under way.
    Wait(Duration),
    /// Publish; answer with [`Input::Published`].
    Publish(Box<Publication>),
    /// Put the message into the park folder, synced; answer with [`Input::Parked`].
    Park(Box<Parcel>),
    /// Settle the delivery; answer with [`Input::Settled`].
    Settle(Settlement),
    /// Drop the handler's run, the policy's decision or the publish under way; its answer is not wanted.
    Stop,
    /// Take no new deliveries on the route until then.
    PauseIntake(Pause),
    /// A publish came through: pauses for an outage are over.
    ResumeIntake,
    /// Tell whoever watches.
    Report(Box<EventKind>),
    /// Nothing more will happen.
    End(Ending),
}

/// A pause of the route's intake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Because publishing does not get through; else because a policy asked for it.
    pub outage: bool,
    /// When intake goes on, if nothing ends the pause before.
    pub until: Timestamp,
    /// What the policy gave as its reason, or what the broker said.
    pub why: String,
}

/// A copy on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Publication {
    /// Where it goes.
    pub target: Target,
    /// What goes there.
    pub message: Message,
}

/// A message that the broker never takes, with what whoever puts it back must know.
#[derive(Debug, Clone, PartialEq)]
pub struct Parcel {
    /// As it was delivered.
    pub message: Arc<Message>,
    /// How it reached the source.
    pub origin: Origin,
    /// Its own id, or the one that its copy was given.
    pub id: String,
    /// Attempts so far.
    pub attempts: u32,
    /// What the last one failed with.
    pub error: HandlerError,
    /// When that was.
    pub failed_at: Timestamp,
    /// Why the policy decided as it did.
    pub reason: String,
    /// Where it was to go.
    pub target: Target,
    /// Why it did not go there.
    pub refusal: String,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// Handled and acknowledged.
    Succeeded,
    /// A copy is in a tier and the delivery is acknowledged.
    Delayed,
    /// A copy is in a dead-letter topic and the delivery is acknowledged.
    DeadLettered,
    /// In the park folder, and acknowledged.
    Parked,
    /// Acknowledged and forgotten, as the policy said.
    Dropped,
    /// Handed back as failed, by verdict or because publishing never got through.
    Requeued,
    /// Handed back untouched, or left to the broker, at shutdown.
    Released,
    /// The broker has the delivery again: it was lost before it could be settled.
    Lost {
        /// Its outcome is durable, so it must not be handled again (rule 13).
        durable: bool,
    },
}
