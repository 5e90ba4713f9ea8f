//! What a delivery brings with it: the message, and what its headers and the host's memory say of its past.

use std::sync::Arc;

use super::{HeaderNames, Rules};
use crate::broker::Origin;
use crate::handler_error::HandlerError;
use crate::message::{HeaderValue, Message};
use crate::timestamp::Timestamp;

/// A delivery as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// The message.
    pub message: Arc<Message>,
    /// How it reached the source.
    pub origin: Origin,
    /// The broker says that it handed this message over before.
    pub redelivered: bool,
    /// What the host remembers of this copy.
    pub known: KnownStarts,
    /// What is to be done with it.
    pub work: Work,
    /// When it arrived.
    pub at: Timestamp,
}

/// What this host remembers of earlier hand-overs of the same copy (rule 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KnownStarts {
    /// Attempts that were begun since the copy was published.
    pub starts: u32,
    /// How often it was handed back as failed.
    pub requeues: u32,
    /// Attempts that ended without a result.
    pub interruptions: u32,
}

/// What a route does with its deliveries.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Run the handler.
    Handle,
    /// The message is a failure already; judge it.
    Judge(Box<FailedElsewhere>),
}

/// What is known of a message that another consumer failed on.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedElsewhere {
    /// What it failed with.
    pub error: HandlerError,
    /// The queue that it failed on, where that is known.
    pub back_to: Option<String>,
    /// Why it is parked unjudged: it did not fail, it died of something else.
    pub unjudged: Option<String>,
}

/// What the headers of a copy say about its past on this route.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Past {
    pub(super) attempts: u32,
    pub(super) tier: Option<String>,
    pub(super) due: Option<Timestamp>,
    /// It says that it is due later than any copy of this host: `due` is the latest that one could be.
    pub(super) due_is_foreign: bool,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) first_failed_at: Option<Timestamp>,
    pub(super) redrives: Option<u32>,
    /// Its headers say how it was first published: it is a copy of this route, or one that was redriven.
    pub(super) origin_noted: bool,
}

impl Past {
    /// Reads our headers. Whatever a sender wrote there cannot be more than ignored.
    pub(super) fn read(arrival: &Arrival, rules: &Rules) -> Self {
        let headers = &arrival.message.headers;
        let names = &rules.names;
        let expiration = || expires_at(&arrival.message, arrival.at);
        if headers.is_empty() {
            return Self { expires_at: expiration(), ..Self::default() };
        }
        let time = |name: &str| headers.text(name).and_then(Timestamp::parse);
        let redrives = headers.get(&names.redrives).and_then(count);
        let expires_at = time(&names.expires_at).or_else(expiration);
        // Copies of another route, and redriven ones, begin anew; when a message expires concerns every route.
        let route = headers.text(&names.route);
        if route != Some(&*rules.route) {
            let is_redriven = route.is_none() && redrives.is_some();
            let origin_noted = is_redriven && headers.get(&names.origin_routing_key).is_some();
            return Self { redrives, expires_at, origin_noted, ..Self::default() };
        }
        let due = time(&names.due);
        let latest = arrival.at.after(rules.max_delay);
        Self {
            attempts: attempts(&arrival.message, rules),
            tier: headers.text(&names.tier).map(str::to_owned),
            due: due.map(|due| due.min(latest)),
            due_is_foreign: due.is_some_and(|due| due > latest),
            expires_at,
            first_failed_at: time(&names.first_failed_at),
            redrives,
            origin_noted: true,
        }
    }
}

/// The attempts that its headers count (rule 9).
pub(crate) fn attempts(message: &Message, rules: &Rules) -> u32 {
    let (headers, names) = (&message.headers, &rules.names);
    let is_ours = !headers.is_empty() && headers.text(&names.route) == Some(&*rules.route);
    is_ours.then(|| headers.get(&names.attempts).and_then(count)).flatten().unwrap_or(0)
}

/// The latest that the message can expire by its own expiration. The broker counts from the moment it entered the
/// queue, which it does not tell; the sender's timestamp is by another clock, and in whole seconds on AMQP.
fn expires_at(message: &Message, arrived: Timestamp) -> Option<Timestamp> {
    let lifetime: u64 = message.properties.expiration.as_ref()?.trim().parse().ok()?;
    Some(Timestamp(arrived.0.saturating_add(lifetime)))
}

fn count(value: &HeaderValue) -> Option<u32> {
    let number = value.as_i64()?;
    (number >= 0).then(|| u32::try_from(number).unwrap_or(u32::MAX))
}

impl HeaderNames {
    /// A header of a message whose origin is noted in its headers, else nothing.
    pub(super) fn kept<'m>(&self, message: &'m Message, past: &Past, name: &str) -> Option<&'m HeaderValue> {
        past.origin_noted.then(|| message.headers.get(name)).flatten()
    }
}
