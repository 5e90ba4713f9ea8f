//! What a message in a dead-letter queue says of its failure.

use crate::delivery::HeaderNames;
use crate::message::{HeaderValue, Message};
use crate::timestamp::Timestamp;

/// What a host wrote on a dead letter. Copies that had to be small say less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Story {
    /// What our header names begin with here.
    pub prefix: String,
    /// The route that it failed on.
    pub route: String,
    /// The queue that it failed on.
    pub origin: String,
    /// The partition of that queue and the record's number there, where the broker keeps a log.
    pub origin_place: Option<(i64, i64)>,
    /// The attempts that it had.
    pub attempts: u32,
    /// How often it was redriven before.
    pub redrives: u32,
    /// The kind of its last error.
    pub error_kind: String,
    /// The text of its last error.
    pub error: String,
    /// Why it is a dead letter.
    pub reason: Option<String>,
    /// Who decided that.
    pub policy: Option<String>,
    /// When it failed for the last time.
    pub failed_at: Option<Timestamp>,
    /// When it failed for the first time.
    pub first_failed_at: Option<Timestamp>,
    /// When it expires, or did.
    pub expires_at: Option<Timestamp>,
}

impl Story {
    /// Reads what a host wrote under one of these prefixes; `None` where the message is no dead letter of a host.
    #[must_use]
    pub fn read(message: &Message, prefixes: &[String]) -> Option<Self> {
        prefixes.iter().find_map(|prefix| Self::under(message, prefix))
    }

    fn under(message: &Message, prefix: &str) -> Option<Self> {
        let names = HeaderNames::new(prefix);
        let text = |name: &str| message.headers.text(name).map(str::to_owned);
        let time = |name: &str| {
            let time = humantime::parse_rfc3339(message.headers.text(name)?).ok()?;
            Some(Timestamp::from(time))
        };
        Some(Self {
            // Every dead letter with headers has these three.
            route: text(&names.route)?,
            origin: text(&names.origin_topic)?,
            origin_place: place(message, &names.origin_partition).zip(place(message, &names.origin_offset)),
            attempts: number(message, &names.attempts)?,
            redrives: redrives(message, prefix),
            error_kind: text(&names.error_kind).unwrap_or_default(),
            error: text(&names.error).unwrap_or_default(),
            reason: text(&names.reason),
            policy: text(&names.policy),
            failed_at: time(&names.failed_at),
            first_failed_at: time(&names.first_failed_at),
            expires_at: time(&names.expires_at),
            prefix: prefix.to_owned(),
        })
    }
}

/// How often a message was redriven; zero where it does not say.
pub(super) fn redrives(message: &Message, prefix: &str) -> u32 {
    number(message, &HeaderNames::new(prefix).redrives).unwrap_or(0)
}

fn place(message: &Message, name: &str) -> Option<i64> {
    message.headers.get(name).and_then(HeaderValue::as_i64).filter(|number| *number >= 0)
}

fn number(message: &Message, name: &str) -> Option<u32> {
    let number = message.headers.get(name).and_then(HeaderValue::as_i64)?;
    (number >= 0).then(|| u32::try_from(number).unwrap_or(u32::MAX))
}
