//! The envelope: what a message has beside its payload, which Narad has no place for.
//!
//! ```json
//! {"payload": …, "delivery_count": 2, "reprieve": {"envelope": 1, "encoding": "json", "id": "…", "headers": […]}}
//! ```
//!
//! `payload` and `delivery_count` are those of the envelope that senders already write by hand, so consumers of theirs can
//! read ours. The member `reprieve` marks it as ours. `payload`: bytes in JSON. `members`: objects as they were written.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::members::Members;
use super::payload::{self, Encoding};
use super::settings::Envelope;
use crate::broker::PublishError;
use crate::delivery::HeaderNames;
use crate::message::{HeaderValue, Headers, Message, Properties};
use crate::timestamp::Timestamp;

/// The only version that there is.
const VERSION: u8 = 1;
/// What a node takes at most, in bytes.
pub(super) const LARGEST: usize = 1024 * 1024;
/// A header of a message whose sender wrote more into the envelope than payload and count: those members, as JSON. It is kept
/// with the sender's headers, and becomes members again when the message is published.
const MEMBERS: &str = "narad-envelope-members";
const OURS: [&str; 3] = ["payload", "delivery_count", "reprieve"];

/// The member that marks an envelope as ours.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    envelope: u8,
    encoding: Encoding,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    id: Option<String>,
    headers: Headers,
    #[serde(skip_serializing_if = "is_default", default)]
    properties: Properties,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    timestamp: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    back_to: Option<String>,
}

fn is_default(properties: &Properties) -> bool {
    *properties == Properties::default()
}

/// A message that stood in an envelope or was bare.
#[derive(Debug, PartialEq)]
pub(super) struct Opened {
    /// Without a key, which stands beside the payload.
    pub(super) message: Message,
    /// The topic that it returns to, on a message in a tier.
    pub(super) back_to: Option<String>,
}

/// The message that a produced payload holds. A payload that is no envelope, or none that counts on this topic, is the body.
pub(super) fn open(produced: Bytes, form: &Envelope) -> Opened {
    let bare = |body| Opened { message: Message::new(body), back_to: None };
    if *form == Envelope::None {
        return bare(produced);
    }
    let opened = std::str::from_utf8(&produced).ok().and_then(Members::read).and_then(|members| {
        ours(&members).or_else(|| of_the_go_sdk(&members, form)).or_else(|| counted(&members, form))
    });
    opened.unwrap_or_else(|| bare(produced))
}

fn ours(members: &Members<'_>) -> Option<Opened> {
    let label: Label = members.read_as("reprieve").filter(|label: &Label| label.envelope == VERSION)?;
    members.read_as::<u32>("delivery_count")?;
    let body = payload::decode(label.encoding, members.get("payload")?).ok()?;
    let Label { id, mut headers, properties, timestamp, back_to, .. } = label;
    keep_others(members, &OURS, &mut headers);
    Some(Opened { message: Message { id, key: None, headers, body, properties, timestamp }, back_to })
}

/// What senders write by hand, where the route believes it.
fn counted(members: &Members<'_>, form: &Envelope) -> Option<Opened> {
    let Envelope::Counted { route, prefix } = form else { return None };
    let count: u32 = members.read_as("delivery_count")?;
    let body = payload::produced(members.get("payload")?, None).ok()?;
    let mut message = Message::new(body);
    set_count(&mut message.headers, route, prefix, count);
    keep_others(members, &OURS[..2], &mut message.headers);
    Some(Opened { message, back_to: None })
}

/// What the Go SDK writes: its `attempts` begin at 1, before the first one.
fn of_the_go_sdk(members: &Members<'_>, form: &Envelope) -> Option<Opened> {
    members.read_as::<u8>("_narad").filter(|version| *version == 1)?;
    let id: String = members.read_as("id")?;
    let mut message = Message::new(members.get("body")?.get().to_owned());
    let headers = members.read_as::<std::collections::BTreeMap<String, String>>("headers").unwrap_or_default();
    message.headers = headers.into_iter().map(|(name, value)| (name, HeaderValue::from(value))).collect();
    message.timestamp = members.read_as::<u64>("produced_at").filter(|at| *at > 0).map(Timestamp);
    if let Envelope::Counted { route, prefix } = form {
        let attempts: u32 = members.read_as("attempts").unwrap_or(1);
        set_count(&mut message.headers, route, prefix, attempts.saturating_sub(1));
    }
    Some(Opened { message: message.with_id(id), back_to: None })
}

/// As a copy of the route would say it, so that its attempts go on from there.
fn set_count(headers: &mut Headers, route: &str, prefix: &str, count: u32) {
    let names = HeaderNames::new(prefix);
    headers.set(names.attempts, count);
    headers.set(names.route, route);
}

fn keep_others(members: &Members<'_>, known: &[&str], headers: &mut Headers) {
    if members.others(known).next().is_some() {
        headers.set(MEMBERS, as_members(members, known));
    }
}

/// An object of all members but these.
fn as_members(members: &Members<'_>, but: &[&str]) -> String {
    let others: Vec<String> = members.others(but).map(|(name, value)| member(name, value.get())).collect();
    format!("{{{}}}", others.join(","))
}

/// One member as JSON.
fn member(name: &str, value: &str) -> String {
    format!("{}:{value}", serde_json::Value::from(name))
}

/// What is produced for a message on a topic with this form. `prefixes`: what our headers may begin with.
///
/// # Errors
/// Narad takes no payload of more than 1 MiB, and no empty one.
pub(super) fn seal(
    message: &Message,
    back_to: Option<&str>,
    form: &Envelope,
    prefixes: &[String],
) -> Result<Bytes, PublishError> {
    if *form == Envelope::None {
        return bare(message);
    }
    let sealed = wrapped(message, back_to, prefixes)
        .map_err(|error| PublishError::Refused(format!("its envelope cannot be written as JSON: {error}")))?;
    if sealed.len() <= LARGEST {
        return Ok(sealed.into());
    }
    // The last form of a dead letter has no headers: then the raw bytes are better than none, unless a reader would take them
    // for an envelope.
    if message.headers.is_empty()
        && back_to.is_none()
        && let Ok(body) = bare(message)
        && open(body.clone(), form).message.body.as_ref() == Some(&body)
    {
        return Ok(body);
    }
    Err(too_large(sealed.len(), "with its envelope "))
}

fn bare(message: &Message) -> Result<Bytes, PublishError> {
    match &message.body {
        Some(body) if body.len() > LARGEST => Err(too_large(body.len(), "")),
        Some(body) if !body.is_empty() => Ok(body.clone()),
        _ => Err(PublishError::Refused("it is empty, and Narad takes no empty message without an envelope".to_owned())),
    }
}

fn too_large(size: usize, with: &str) -> PublishError {
    PublishError::TooLarge(format!("{with}it has {size} bytes, and Narad takes {LARGEST}"))
}

fn wrapped(message: &Message, back_to: Option<&str>, prefixes: &[String]) -> Result<String, serde_json::Error> {
    let (encoding, payload) = payload::encode(message.body.as_ref())?;
    // One that is not as we write it is some sender's own, and so are several.
    let mut named = message.headers.iter().filter(|(name, _)| *name == MEMBERS).map(|(_, value)| value);
    let others = match (named.next().and_then(HeaderValue::as_str), named.next()) {
        (Some(text), None) => Members::read(text)
            .filter(|members| members.others(&OURS).next().is_some() && as_members(members, &OURS) == text),
        _ => None,
    };
    let mut headers = message.headers.clone();
    if others.is_some() {
        headers.retain(|name| name != MEMBERS);
    }
    let label = Label {
        envelope: VERSION,
        encoding,
        id: message.id.clone(),
        headers,
        properties: message.properties.clone(),
        timestamp: message.timestamp,
        back_to: back_to.map(str::to_owned),
    };
    let mut members = vec![
        member("payload", RawValue::get(&payload)),
        member("delivery_count", &delivery_count(message, prefixes).to_string()),
        member("reprieve", &serde_json::to_string(&label)?),
    ];
    if let Some(others) = &others {
        members.extend(others.others(&OURS).map(|(name, value)| member(name, value.get())));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

/// The attempts that our headers count, whoever's they are.
fn delivery_count(message: &Message, prefixes: &[String]) -> u32 {
    let counts = prefixes.iter().filter_map(|prefix| message.headers.get(&HeaderNames::new(prefix).attempts)?.as_i64());
    counts.map(|count| u32::try_from(count.max(0)).unwrap_or(u32::MAX)).next().unwrap_or(0)
}

#[cfg(test)]
mod tests;
