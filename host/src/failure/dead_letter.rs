//! A failure read back from a dead letter, as a person copies one from a broker.
//!
//! Taken are: the headers alone, as a JSON object; a message as RabbitMQ's management API and `rabbitmqadmin get` print it;
//! a message as the host's own `/topics` shows it; and a list of one of these.
//!
//! The headers say less than the policy saw. The sender's headers come back without ours; status, time-out and panic are
//! taken from the error's kind; a retry-after hint, the error's detail, the route's health and
//! the seed are lost.

mod printed;

use std::sync::Arc;

use serde_json::Value;

use super::{Failure, WrittenError, attribute};
use crate::delivery::{HeaderNames, is_broker_owned};
use crate::handler_error::HandlerError;
use crate::message::{HeaderValue, Headers, Message};
use crate::timestamp::{Timestamp, millis};
use printed::Printed;

/// A dead letter, read.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetter {
    /// The failure that made it one, as far as its headers tell.
    pub failure: Failure,
    /// The route that it failed on.
    pub route: Option<String>,
    /// Which policy judged then, and in which revision.
    pub policy: Option<String>,
    /// What that policy gave as its reason.
    pub reason: Option<String>,
}

impl DeadLetter {
    /// Reads a dead letter; `None` where this is something else.
    ///
    /// # Errors
    /// It looks like one and cannot be used.
    pub fn from_printed(value: &Value) -> Result<Option<Self>, WrittenError> {
        let Some(printed) = Printed::read(value)? else { return Ok(None) };
        match prefix(&printed.message.headers) {
            Some(prefix) => Self::read(printed, &HeaderNames::new(&prefix)).map(Some),
            // An object that merely has no such header may be a failure; a message is none.
            None if printed.is_bare => Ok(None),
            None => Err(WrittenError::new(
                "",
                "this message is no dead letter of a host: it has no header such as `reprieve-attempts` and \
                 `reprieve-error-kind`",
            )),
        }
    }

    fn read(printed: Printed, names: &HeaderNames) -> Result<Self, WrittenError> {
        let headers = printed.message.headers.clone();
        let text = |name: &str| headers.text(name).map(str::to_owned);
        let time = |name: &str| match headers.text(name) {
            None => Ok(None),
            Some(written) => humantime::parse_rfc3339(written)
                .map(|time| Some(Timestamp::from(time)))
                .map_err(|_| WrittenError::new(name, format!("{written:?} is no time"))),
        };
        let attempts = headers.get(&names.attempts).and_then(|value| u32::try_from(value.as_i64()?).ok());
        let attempt = attempts
            .filter(|attempts| *attempts > 0)
            .ok_or_else(|| WrittenError::new(&names.attempts, "attempts are a whole number from 1"))?;
        // A copy that had to be small does not say when it failed.
        let first = time(&names.first_failed_at)?;
        let expires_at = time(&names.expires_at)?;
        let now = time(&names.failed_at)?.or(first).unwrap_or(Timestamp(super::written::NOON));
        let redrives = headers.get(&names.redrives).and_then(HeaderValue::as_i64).filter(|times| *times > 0);
        let message = as_sent(printed.message, names);
        let attributes = [
            (attribute::FIRST_FAILED_AT, first.map(|at| at.0.to_string())),
            (attribute::REDRIVES, redrives.map(|times| times.to_string())),
            (attribute::EXCHANGE, text(&names.origin_exchange)),
            (attribute::ROUTING_KEY, text(&names.origin_routing_key)),
            (attribute::MESSAGE_TYPE, message.properties.message_type.clone()),
        ];
        // As a host has it: a timestamp later than the first failure is by another clock.
        let born = message.timestamp.or(time(&names.origin_timestamp)?).into_iter().chain(first).min();
        let failure = Failure {
            body_size: printed.body_size.max(message.body_size() as u64),
            message: Arc::new(message),
            attempt,
            interruptions: 0,
            redelivered: false,
            tier: None,
            age_ms: born.map_or(0, |born| millis(now.since(born))),
            expires_in_ms: expires_at.map(|at| millis(at.since(now))),
            error: HandlerError::from_kind(
                text(&names.error_kind).unwrap_or_else(|| "error".to_owned()),
                text(&names.error).unwrap_or_default(),
            ),
            health: Default::default(),
            now,
            seed: 0,
            attributes: attributes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
        };
        Ok(Self { failure, route: text(&names.route), policy: text(&names.policy), reason: text(&names.reason) })
    }
}

/// What our headers begin with here: `reprieve-`, or what the route was configured with.
fn prefix(headers: &Headers) -> Option<String> {
    headers.iter().find_map(|(name, _)| {
        let prefix = name.strip_suffix("attempts").filter(|prefix| !prefix.is_empty())?;
        let others = ["error-kind", "error", "origin-topic"];
        others.iter().any(|other| headers.get(&format!("{prefix}{other}")).is_some()).then(|| prefix.to_owned())
    })
}

/// The message as its sender made it.
fn as_sent(mut message: Message, names: &HeaderNames) -> Message {
    let kept = |name: &str| message.headers.text(name).map(str::to_owned);
    message.properties.expiration = kept(&names.expiration);
    message.properties.user_id = kept(&names.user_id);
    for (name, ours) in [("CC", &names.cc), ("BCC", &names.bcc)] {
        if let Some(value) = message.headers.get(ours).cloned() {
            message.headers.set(name, value);
        }
    }
    message.headers.retain(|name| !name.starts_with(&names.prefix) && !is_broker_owned(name));
    message
}

#[cfg(test)]
mod tests;
