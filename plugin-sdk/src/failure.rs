//! A failed attempt, as a policy sees it.

use std::time::{Duration, SystemTime};

use crate::{HandlerError, HeaderValue};

/// Everything that a policy may base its verdict on, the time and randomness included: the same
/// failure must always get the same verdict.
///
/// Hosts make these. A test makes its own with [`Failure::new`] and the methods named after what they set:
///
/// ```
/// use reprieve_sdk::Failure;
///
/// let failure = Failure::new("http-503").status(503).attempt(2).header("tenant", "acme");
/// assert_eq!(failure.header_text("tenant"), Some("acme"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// The message's id.
    pub id: Option<String>,
    /// The key that orders or partitions messages, where the broker has one.
    pub key: Option<Vec<u8>>,
    /// The message's headers that the policy asked for, in order, duplicates included. Long values are cut.
    pub headers: Vec<(String, HeaderValue)>,
    /// As much of the body as the policy asked for; `None` where it asked for nothing or there is no body.
    pub body: Option<Vec<u8>>,
    /// The length of the whole body, in bytes.
    pub body_size: u64,
    /// MIME type of the body.
    pub content_type: Option<String>,
    /// The attempt that failed, from 1. On a route without a handler, how often the message has arrived.
    pub attempt: u32,
    /// Attempts that ended without a result, as far as they are known: the host was stopped or killed, or the broker
    /// took the message back. A message that brings its handler down has many.
    pub interruptions: u32,
    /// The broker says that it handed this message over before. No proof of an attempt: a message that was only
    /// prefetched is redelivered too.
    pub redelivered: bool,
    /// The tier that the message last came back from.
    pub tier: Option<String>,
    /// Time since the message was made, by its own timestamp; since its first failure where it has none, or one that
    /// is later than that. Zero where neither is known. A redrive does not make a message younger: see
    /// [`attribute::FIRST_FAILED_AT`](crate::attribute::FIRST_FAILED_AT).
    pub age: Duration,
    /// Time left until the message expires; zero once that has passed, `None` where it never does.
    pub expires_in: Option<Duration>,
    /// What the attempt failed with.
    pub error: HandlerError,
    /// How the route has been doing.
    pub health: Health,
    /// The host's clock when the attempt failed. A policy has no clock of its own.
    pub now: SystemTime,
    /// Random bits for jitter. A policy has no other source of randomness.
    pub seed: u64,
    /// Facts that have no field of their own, as `(name, value)`: those that the policy asked for. See
    /// [`attribute`](crate::attribute).
    pub attributes: Vec<(String, String)>,
}

/// A route's recent past: counts over the last minute, this failure included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// Attempts that ended.
    pub attempts: u32,
    /// Attempts that failed.
    pub failures: u32,
    /// Retries and delays that were ordered, on all messages of the route.
    pub retries: u32,
    /// Failures of this failure's error kind.
    pub failures_of_this_kind: u32,
    /// Failures since the last success, whenever that was.
    pub consecutive_failures: u32,
}

impl Failure {
    /// The first failed attempt of an empty message, at the Unix epoch, with an error of this kind.
    pub fn new(kind: impl Into<String>) -> Self {
        Self {
            id: None,
            key: None,
            headers: Vec::new(),
            body: None,
            body_size: 0,
            content_type: None,
            attempt: 1,
            interruptions: 0,
            redelivered: false,
            tier: None,
            age: Duration::ZERO,
            expires_in: None,
            error: HandlerError { kind: kind.into(), ..HandlerError::default() },
            health: Health::default(),
            now: SystemTime::UNIX_EPOCH,
            seed: 0,
            attributes: Vec::new(),
        }
    }

    /// The last header of this name.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&HeaderValue> {
        self.headers.iter().rev().find(|(header, _)| header == name).map(|(_, value)| value)
    }

    /// The last header of this name, where it is text.
    #[must_use]
    pub fn header_text(&self, name: &str) -> Option<&str> {
        self.header_value(name)?.as_str()
    }

    /// Whether the message has expired already, or will have when this wait is over: then it is not to come back.
    #[must_use]
    pub fn expires_within(&self, wait: Duration) -> bool {
        self.error.kind == "expired" || self.expires_in.is_some_and(|left| left <= wait)
    }

    /// The attribute of this name, where the policy asked for it and the message has it.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(attribute, _)| attribute == name).map(|(_, value)| value.as_str())
    }
}

// ===== for tests =====

impl Failure {
    /// The same failure at this attempt, counted from 1.
    #[must_use]
    pub fn attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// The same failure of a message with this id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same failure of a message with one more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<HeaderValue>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same failure of a message with this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        self.body_size = body.len() as u64;
        self.body = Some(body);
        self
    }

    /// The same failure with this error text.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.error.text = text.into();
        self
    }

    /// The same failure with this status code.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.error.status = Some(status);
        self
    }

    /// The same failure, the failing side asking to be left alone for so long.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.error.retry_after = Some(wait);
        self
    }

    /// The same failure with this detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.error.detail = Some(detail.into());
        self
    }

    /// The same failure after so many attempts that ended without a result.
    #[must_use]
    pub fn interruptions(mut self, interruptions: u32) -> Self {
        self.interruptions = interruptions;
        self
    }

    /// The same failure of a message that came back from this tier.
    #[must_use]
    pub fn tier(mut self, tier: impl Into<String>) -> Self {
        self.tier = Some(tier.into());
        self
    }

    /// The same failure of a message of this age.
    #[must_use]
    pub fn age(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// The same failure of a message that expires in so long; zero where it has expired.
    #[must_use]
    pub fn expires_in(mut self, left: Duration) -> Self {
        self.expires_in = Some(left);
        self
    }

    /// The same failure, the handler not having answered within its time.
    #[must_use]
    pub fn timed_out(mut self) -> Self {
        self.error.timed_out = true;
        self
    }

    /// The same failure on a route that has been doing like this.
    #[must_use]
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// The same failure at this time.
    #[must_use]
    pub fn now(mut self, now: SystemTime) -> Self {
        self.now = now;
        self
    }

    /// The same failure with one more attribute; [`attribute`](crate::attribute) has the names.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// The same failure with these random bits.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}
