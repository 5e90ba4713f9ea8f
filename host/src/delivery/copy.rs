//! The message that the host publishes in a delivery's place: the same one (rule 10), with our headers, bounded (rule 11).

use super::arrival::Past;
use super::header_names::{is_broker_owned, is_carbon_copy};
use super::{Arrival, Rules};
use crate::handler_error::HandlerError;
use crate::message::{HeaderValue, Headers, Message};
use crate::timestamp::Timestamp;
use crate::verdict::Maker;

/// How much of the headers a copy carries. Each is tried where the one before it was too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The sender's headers, and ours with long text cut to what is left of the budget.
    Full,
    /// The sender's headers, and of ours what later attempts depend on. A message that is to be handled again never
    /// carries less.
    Short,
    /// Only those of ours.
    Minimal,
    /// The message without any header: a dead letter that lost its label is better than none.
    Bare,
}

/// What a copy says beside the message.
#[derive(Debug, Clone)]
pub(super) struct Note<'a> {
    pub(super) id: &'a str,
    pub(super) attempts: u32,
    pub(super) error: &'a HandlerError,
    pub(super) failed_at: Timestamp,
    pub(super) reason: &'a str,
    pub(super) maker: Option<&'a Maker>,
    /// Where the copy is a delayed one: the tier's name and when it is due.
    pub(super) tier: Option<(&'a str, Timestamp)>,
    pub(super) expires_at: Option<Timestamp>,
    /// The queue that the message failed on.
    pub(super) origin_topic: &'a str,
    /// Added by the policy.
    pub(super) headers: &'a [(String, String)],
}

/// Text of ours is cut to this many bytes even where there is room for more.
const LONGEST_TEXT: usize = 4096;
/// Text of ours is never cut below this.
const SHORTEST_TEXT: usize = 64;
const CUT_MARK: &str = "… (cut)";

pub(super) fn copy(arrival: &Arrival, past: &Past, note: &Note<'_>, rules: &Rules, form: Form) -> Message {
    let mut message = Message { headers: Headers::new(), ..(*arrival.message).clone() };
    message.id.get_or_insert_with(|| note.id.to_owned());
    message.properties.expiration = None;
    message.properties.user_id = None;
    message.headers = match form {
        Form::Full => full(arrival, past, note, rules),
        Form::Short => {
            let ours = minimal(past, note, rules, SHORTEST_TEXT);
            senders(arrival, note, rules).into_iter().chain(ours).collect()
        }
        Form::Minimal => minimal(past, note, rules, SHORTEST_TEXT * 2),
        Form::Bare => Headers::new(),
    };
    message
}

/// The message on its way to its next tier: as it is, but for what the broker wrote, and for what no copy of ours has
/// and a sender who poses as us may have set.
pub(super) fn pass_on(arrival: &Arrival, past: &Past, tier: &str, rules: &Rules) -> Message {
    let mut message = (*arrival.message).clone();
    message.headers.retain(|name| !is_broker_owned(name) && !is_carbon_copy(name));
    for (name, value) in taken_from_sender(arrival, rules) {
        message.headers.set(name, value);
    }
    message.headers.set(rules.names.tier.as_str(), tier);
    // Bounded once, or it would be bounded anew at each arrival and never be due.
    if let Some(due) = past.due.filter(|_| past.due_is_foreign) {
        message.headers.set(rules.names.due.as_str(), due.to_string());
    }
    message.properties.expiration = None;
    message.properties.user_id = None;
    message
}

/// The sender's headers. What the policy adds goes before one of the same name; names of ours it cannot give.
fn senders(arrival: &Arrival, note: &Note<'_>, rules: &Rules) -> Headers {
    let is_added = |name: &str| note.headers.iter().any(|(added, _)| added == name);
    let original = arrival.message.headers.iter();
    original
        .filter(|(name, _)| rules.names.is_senders(name) && !is_added(name))
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect()
}

fn full(arrival: &Arrival, past: &Past, note: &Note<'_>, rules: &Rules) -> Headers {
    let names = &rules.names;
    let mut headers = senders(arrival, note, rules);
    for (name, value) in note.headers.iter().filter(|(name, _)| names.is_senders(name)) {
        headers.push(name.as_str(), value.as_str());
    }
    for (name, value) in taken_from_sender(arrival, rules) {
        headers.push(name, value);
    }
    // Error and reason are the only texts of ours without a bound of their own: they share what is left.
    let room = rules.max_header_bytes.map_or(usize::MAX, |most| most.saturating_sub(encoded_size(&headers) + 2048)) / 2;
    let text = room.clamp(SHORTEST_TEXT, LONGEST_TEXT);
    for (name, value) in minimal(past, note, rules, text) {
        headers.push(name, value);
    }
    let mut put = |name: &str, value: HeaderValue| headers.push(name, value);
    put(&names.failed_at, note.failed_at.to_string().into());
    put(&names.first_failed_at, past.first_failed_at.unwrap_or(note.failed_at).to_string().into());
    put(&names.reason, cut(note.reason, text).into());
    if let Some(maker) = note.maker {
        put(&names.policy, maker.to_string().into());
    }
    for (name, value) in origin(arrival, past, rules) {
        put(name, value);
    }
    headers
}

/// The headers without which a copy would be counted, timed or returned wrongly.
fn minimal(past: &Past, note: &Note<'_>, rules: &Rules, text: usize) -> Headers {
    let names = &rules.names;
    let mut headers = Headers::new();
    headers.push(names.attempts.as_str(), note.attempts);
    headers.push(names.origin_topic.as_str(), note.origin_topic);
    headers.push(names.route.as_str(), &*rules.route);
    headers.push(names.error_kind.as_str(), cut(&note.error.kind, 256));
    headers.push(names.error.as_str(), cut(&note.error.text, text));
    if let Some((tier, due)) = note.tier {
        headers.push(names.tier.as_str(), tier);
        headers.push(names.due.as_str(), due.to_string());
    }
    if let Some(at) = note.expires_at {
        headers.push(names.expires_at.as_str(), at.to_string());
    }
    if let Some(redrives) = past.redrives {
        headers.push(names.redrives.as_str(), redrives);
    }
    headers
}

/// Where the message first came through: as an earlier copy of this route noted it, else as the broker says now.
fn origin<'r>(arrival: &Arrival, past: &Past, rules: &'r Rules) -> Vec<(&'r str, HeaderValue)> {
    let names = &rules.names;
    if past.origin_noted {
        let noted = [
            &names.origin_exchange,
            &names.origin_routing_key,
            &names.origin_timestamp,
            &names.origin_partition,
            &names.origin_offset,
            &names.origin_group,
        ];
        return noted
            .into_iter()
            .filter_map(|name| Some((name.as_str(), names.kept(&arrival.message, past, name)?.clone())))
            // We write texts only, and a sender can pose as a copy of ours: what cannot be read as text is not kept.
            .filter(|(_, value)| value.as_str().is_some())
            .collect();
    }
    let now = |name: &'r str, value: Option<&str>| Some((name, HeaderValue::from(value?)));
    let position = arrival.origin.position.as_deref();
    let (partition, offset) = (position.map(|at| at.partition.to_string()), position.map(|at| at.offset.to_string()));
    let timestamp = arrival.message.timestamp.map(|at| (names.origin_timestamp.as_str(), at.to_string().into()));
    [
        now(&names.origin_exchange, arrival.origin.exchange.as_deref()),
        now(&names.origin_routing_key, arrival.origin.routing_key.as_deref()),
        timestamp,
        now(&names.origin_partition, partition.as_deref()),
        now(&names.origin_offset, offset.as_deref()),
        now(&names.origin_group, position.map(|at| &*at.group)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the sender set and a copy cannot carry as it was, kept under our prefix, whichever route made the copy.
fn taken_from_sender<'r>(arrival: &Arrival, rules: &'r Rules) -> Vec<(&'r str, HeaderValue)> {
    let names = &rules.names;
    let properties = &arrival.message.properties;
    let headers = &arrival.message.headers;
    let text = |value: &Option<String>| value.as_deref().map(HeaderValue::from);
    [
        (&names.expiration, text(&properties.expiration)),
        (&names.user_id, text(&properties.user_id)),
        (&names.cc, headers.get("CC").cloned()),
        (&names.bcc, headers.get("BCC").cloned()),
    ]
    .into_iter()
    .filter_map(|(name, value)| {
        let kept = || headers.get(name).cloned();
        Some((name.as_str(), value.or_else(kept)?))
    })
    .collect()
}

/// At most `most` bytes of `text`, cut at a character with a mark.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(CUT_MARK.len()));
    format!("{}{CUT_MARK}", &text[..end])
}

/// The size of headers as an AMQP table, or a little more.
fn encoded_size(headers: &Headers) -> usize {
    headers.iter().map(|(name, value)| name.len() + 2 + value_size(value)).sum()
}

fn value_size(value: &HeaderValue) -> usize {
    match value {
        HeaderValue::ShortText(text) => text.len() + 1,
        HeaderValue::Text(bytes) | HeaderValue::Bytes(bytes) => bytes.len() + 4,
        HeaderValue::Array(values) => 4 + values.iter().map(|value| 1 + value_size(value)).sum::<usize>(),
        HeaderValue::Table(headers) => 4 + encoded_size(headers),
        _ => 8,
    }
}
