//! No handler: the message is a failure already, and what it failed with is read from its headers.
//!
//! Somebody else's consumer failed, and the message came here through a dead-letter exchange, or was published here with
//! headers that describe the error. RabbitMQ's `x-death` is understood: the newest entry says which queue the message
//! died on and why; entries that Reprieve's own tiers left behind are passed over. Its count is information only, as
//! some brokers stop counting when a message is published again.
//!
//! | died of | meaning | kind |
//! | --- | --- | --- |
//! | nothing: published here | a failure | `unknown`, unless a header says otherwise |
//! | `rejected` | a failure | `rejected`, unless a header says otherwise |
//! | `delivery_limit` | a failure | `delivery-limit`, unless a header says otherwise |
//! | `expired`, `maxlen` | not a failure: dead-lettered without asking the policy, unless the route says so | as the reason |
//! | anything else | a failure | the reason, with dashes |
//!
//! Beside the configured headers, those are read that Reprieve (`reprieve-error-kind`, `reprieve-error`,
//! `reprieve-origin-topic`), Spring AMQP, MassTransit and NServiceBus write when they publish a failed message. They are
//! not believed on a message that was just rejected or ran into its delivery limit: a consumer cannot add headers by
//! that, so they tell of an earlier failure.

mod death;
#[cfg(test)]
mod tests;

pub use death::DeathReason;

use std::borrow::Cow;
use std::time::SystemTime;

use super::{excerpt, retry_after};
use crate::handler_error::HandlerError;
use crate::message::{Headers, Message};
use death::Death;

/// AMQP's limit on the name of a queue, in bytes.
const MAX_QUEUE_NAME: usize = 255;

const KIND_HEADERS: &[&str] =
    &["reprieve-error-kind", "MT-Fault-ExceptionType", "NServiceBus.ExceptionInfo.ExceptionType"];
const TEXT_HEADERS: &[&str] =
    &["reprieve-error", "x-exception-message", "MT-Fault-Message", "NServiceBus.ExceptionInfo.Message"];
const DETAIL_HEADERS: &[&str] =
    &["x-exception-stacktrace", "MT-Fault-StackTrace", "NServiceBus.ExceptionInfo.StackTrace"];
const ORIGIN_HEADERS: &[&str] = &["reprieve-origin-topic"];

/// Where a route finds what its messages failed with. A configured header goes before everything else that a message says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JudgeSettings {
    /// The header that names the error's kind.
    pub error_kind_header: Option<String>,
    /// The header that holds the error's text.
    pub error_header: Option<String>,
    /// The header that holds whatever else helps a person, such as a stack trace.
    pub error_detail_header: Option<String>,
    /// The header that asks for a pause, in seconds or as an HTTP date.
    pub retry_after_header: Option<String>,
    /// The header that names the queue to go back to.
    pub origin_header: Option<String>,
    /// The queue that every message goes back to, whatever it says.
    pub origin: Option<String>,
    /// The policy judges messages too that expired or were pushed out of a full queue.
    pub judge_expired: bool,
}

/// What a message says of its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What it failed with.
    pub error: HandlerError,
    /// The queue that it failed on and would be tried on again, where that is known.
    pub back_to: Option<String>,
    /// How it came here.
    pub died_of: DeathReason,
    /// How often the broker says that it died there of that. Information only.
    pub deaths: Option<u64>,
    /// Why the policy is not asked and the message is dead-lettered as it is; nothing where it is a failure.
    pub unjudged: Option<String>,
}

/// Reads a failure from a message's headers. Headers that make no sense are passed over.
#[must_use]
pub fn read(message: &Message, settings: &JudgeSettings) -> Reading {
    let headers = &message.headers;
    let death = Death::newest(headers);
    let died_of = death.as_ref().map_or(DeathReason::None, |death| death.reason.clone());
    let queue = death.as_ref().map(|death| death.queue.as_str());

    let believed = !matches!(died_of, DeathReason::Rejected | DeathReason::DeliveryLimit);
    let text = |configured: &Option<String>, known: &'static [&str]| {
        let known = if believed { known } else { &[] };
        configured.as_deref().into_iter().chain(known.iter().copied()).find_map(|name| filled(headers, name))
    };
    let (kind, line) = died_of.describe(queue);
    let error = HandlerError {
        detail: text(&settings.error_detail_header, DETAIL_HEADERS).and_then(|raw| excerpt::detail(&raw)),
        retry_after: text(&settings.retry_after_header, &[])
            .and_then(|raw| retry_after::parse(&raw, SystemTime::now())),
        ..HandlerError::new(
            text(&settings.error_kind_header, KIND_HEADERS).and_then(|raw| excerpt::kind(&raw)).unwrap_or(kind),
            text(&settings.error_header, TEXT_HEADERS)
                .and_then(|raw| excerpt::first_line(&raw))
                .unwrap_or_else(|| line.clone()),
        )
    };
    let back_to = settings
        .origin
        .clone()
        .or_else(|| text(&settings.origin_header, &[]).and_then(queue_name))
        .or_else(|| queue.map(str::to_owned))
        .or_else(|| text(&None, ORIGIN_HEADERS).and_then(queue_name));
    let unjudged = (!died_of.is_failure() && !settings.judge_expired).then_some(line);
    Reading { error, back_to, died_of, deaths: death.and_then(|death| death.count), unjudged }
}

fn filled<'m>(headers: &'m Headers, name: &str) -> Option<Cow<'m, str>> {
    headers.get(name).and_then(excerpt::header_text).filter(|text| !text.trim().is_empty())
}

fn queue_name(raw: Cow<'_, str>) -> Option<String> {
    (raw.len() <= MAX_QUEUE_NAME).then(|| raw.into_owned())
}
