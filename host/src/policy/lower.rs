//! A failure as the interface has it: cut to what the policy said that it needs, and to bounds.
//!
//! * Header values that are text or bytes are cut at [`MAX_HEADER_VALUE`], text with a mark; a value that is JSON and
//!   longer is left out, since half of it would be none. Headers past [`MAX_HEADERS`] are left out.
//! * The error's text and detail are cut with a mark.
//! * The body is lent, never copied here; the policy gets its first bytes.

mod plain_json;

use std::borrow::Cow;

use plain_json::plain_json;
use serde::Serialize;

use super::bindings::reprieve::policy::types as wit;
use super::text::cut;
use crate::failure::{Failure, Health, attribute};
use crate::handler_error::HandlerError;
use crate::message::HeaderValue;

/// How many headers a policy is given.
pub(super) const MAX_HEADERS: usize = 256;
/// How many bytes of one header's value a policy is given.
pub(super) const MAX_HEADER_VALUE: usize = 16 * 1024;
/// How many bytes of the error's kind and text a policy is given.
const MAX_ERROR_TEXT: usize = 4 * 1024;
/// How many bytes of the error's detail a policy is given.
const MAX_ERROR_DETAIL: usize = 16 * 1024;

/// What a policy wants to see, as it said when it was configured, within the limits of host and route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// The first so many bytes of the body; none of it where there is no number.
    pub body: Option<usize>,
    /// The names of the headers, sorted; all of them where there is no list.
    pub headers: Option<Vec<String>>,
    /// The names of the attributes. There are few of them.
    pub attributes: Vec<String>,
}

impl Needs {
    /// The policy's own words, within `max_body` bytes of body.
    pub(super) fn new(needs: wit::Needs, max_body: u32) -> Self {
        let headers = match needs.headers {
            wit::HeaderNeeds::All => None,
            wit::HeaderNeeds::Named(mut names) => {
                names.sort_unstable();
                Some(names)
            }
        };
        Self { body: needs.body.map(|wanted| wanted.min(max_body) as usize), headers, attributes: needs.attributes }
    }

    /// Attributes that the policy asks for and no failure has.
    pub(super) fn unknown_attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(String::as_str).filter(|name| !attribute::ALL.contains(name))
    }

    fn header(&self, name: &str) -> bool {
        match &self.headers {
            None => true,
            Some(names) => names.binary_search_by(|wanted| wanted.as_str().cmp(name)).is_ok(),
        }
    }
}

/// An error as far as any policy sees it.
pub(crate) fn shown_error(error: &HandlerError) -> HandlerError {
    HandlerError {
        kind: cut(&error.kind, MAX_ERROR_TEXT).into_owned(),
        text: cut(&error.text, MAX_ERROR_TEXT).into_owned(),
        detail: error.detail.as_deref().map(|detail| cut(detail, MAX_ERROR_DETAIL).into_owned()),
        ..*error
    }
}

/// Runs `call` with the failure as the interface has it.
pub(super) fn lower<R>(failure: &Failure, needs: &Needs, call: impl FnOnce(wit::Failure<'_>) -> R) -> R {
    let message = &*failure.message;
    let wanted = message.headers.iter().filter(|(name, _)| needs.header(name));
    let shown: Vec<_> = wanted.take(MAX_HEADERS).filter_map(|(name, value)| Some((name, Shown::new(value)?))).collect();
    let headers: Vec<_> = shown.iter().map(|(name, value)| wit::Header { name, value: value.lend() }).collect();
    let wanted = failure.attributes.iter().filter(|(name, _)| needs.attributes.contains(name));
    let shown_attributes: Vec<_> = wanted.map(|(name, value)| (name.as_str(), cut(value, MAX_HEADER_VALUE))).collect();
    let attributes: Vec<_> = shown_attributes.iter().map(|(name, value)| (*name, &**value)).collect();
    let body = needs.body.and_then(|limit| message.body.as_deref().map(|body| &body[..body.len().min(limit)]));
    let kind = cut(&failure.error.kind, MAX_ERROR_TEXT);
    let error_text = cut(&failure.error.text, MAX_ERROR_TEXT);
    let detail = failure.error.detail.as_deref().map(|detail| cut(detail, MAX_ERROR_DETAIL));
    call(wit::Failure {
        id: message.id.as_deref(),
        key: message.key.as_deref(),
        headers: &headers,
        body,
        body_size: failure.body_size.max(message.body_size() as u64),
        content_type: message.properties.content_type.as_deref(),
        attempt: failure.attempt,
        interruptions: failure.interruptions,
        redelivered: failure.redelivered,
        tier: failure.tier.as_deref(),
        age: failure.age_ms,
        expires_in: failure.expires_in_ms,
        error: wit::Error {
            kind: &kind,
            text: &error_text,
            status: failure.error.status,
            retry_after: failure.error.retry_after,
            detail: detail.as_deref(),
            panicked: failure.error.panicked,
            timed_out: failure.error.timed_out,
        },
        health: lower_health(failure.health),
        now: failure.now.0,
        seed: failure.seed,
        attributes: &attributes,
    })
}

/// A header's value on its way to the policy: what has to be made for it is owned, the rest is lent.
enum Shown<'a> {
    AsIs(wit::HeaderValue<'a>),
    Text(Cow<'a, str>),
    Json(String),
}

impl<'a> Shown<'a> {
    /// `None` where the value is left out.
    fn new(value: &'a HeaderValue) -> Option<Self> {
        use wit::HeaderValue as Wit;
        Some(Self::AsIs(match value {
            HeaderValue::Null => Wit::Null,
            HeaderValue::Bool(value) => Wit::Boolean(*value),
            HeaderValue::I8(number) => Wit::Integer((*number).into()),
            HeaderValue::U8(number) => Wit::Integer((*number).into()),
            HeaderValue::I16(number) => Wit::Integer((*number).into()),
            HeaderValue::U16(number) => Wit::Integer((*number).into()),
            HeaderValue::I32(number) => Wit::Integer((*number).into()),
            HeaderValue::U32(number) => Wit::Integer((*number).into()),
            HeaderValue::I64(number) => Wit::Integer(*number),
            HeaderValue::F32(number) => Wit::Float((*number).into()),
            HeaderValue::F64(number) => Wit::Float(*number),
            HeaderValue::Timestamp(seconds) => Wit::Timestamp(seconds.saturating_mul(1000)),
            HeaderValue::Bytes(bytes) => bytes_value(bytes),
            HeaderValue::ShortText(text) => return Some(Self::Text(cut(text, MAX_HEADER_VALUE))),
            // Text by its type, any bytes by the protocol.
            HeaderValue::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => return Some(Self::Text(cut(text, MAX_HEADER_VALUE))),
                Err(_) => bytes_value(bytes),
            },
            HeaderValue::Decimal { .. } | HeaderValue::Array(_) | HeaderValue::Table(_) => {
                let json = plain_json(value).to_string();
                return (json.len() <= MAX_HEADER_VALUE).then_some(Self::Json(json));
            }
        }))
    }

    fn lend(&self) -> wit::HeaderValue<'_> {
        match self {
            Self::AsIs(value) => value.clone(),
            Self::Text(text) => wit::HeaderValue::Text(text),
            Self::Json(json) => wit::HeaderValue::Json(json),
        }
    }
}

fn bytes_value(bytes: &[u8]) -> wit::HeaderValue<'_> {
    wit::HeaderValue::Bytes(&bytes[..bytes.len().min(MAX_HEADER_VALUE)])
}

fn lower_health(health: Health) -> wit::Health {
    wit::Health {
        attempts: health.attempts,
        failures: health.failures,
        retries: health.retries,
        failures_of_this_kind: health.failures_of_this_kind,
        consecutive_failures: health.consecutive_failures,
    }
}

#[cfg(test)]
mod tests;
