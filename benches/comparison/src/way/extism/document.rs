//! A failure as JSON: the same facts as the interface has, in the same cut.

use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message;
use serde::{Serialize, Serializer};

/// Lent from the failure, and written without anything in between.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    id: Option<&'a str>,
    headers: Headers<'a>,
    body_size: u64,
    content_type: Option<&'a str>,
    attempt: u32,
    interruptions: u32,
    redelivered: bool,
    tier: Option<&'a str>,
    age_ms: u64,
    expires_in_ms: Option<u64>,
    error: &'a HandlerError,
    health: Health,
    now: u64,
    seed: u64,
}

/// An object of those headers that are text.
struct Headers<'a>(&'a message::Headers);

impl<'a> Document<'a> {
    pub(super) fn of(failure: &'a Failure) -> Self {
        let message = &*failure.message;
        Self {
            id: message.id.as_deref(),
            headers: Headers(&message.headers),
            body_size: failure.body_size,
            content_type: message.properties.content_type.as_deref(),
            attempt: failure.attempt,
            interruptions: failure.interruptions,
            redelivered: failure.redelivered,
            tier: failure.tier.as_deref(),
            age_ms: failure.age_ms,
            expires_in_ms: failure.expires_in_ms,
            error: &failure.error,
            health: failure.health,
            now: failure.now.0,
            seed: failure.seed,
        }
    }
}

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter_map(|(name, value)| Some((name, value.as_str()?))))
    }
}
