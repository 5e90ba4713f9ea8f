//! What tells messages apart for ordering and for duplicates: a key, an id, a header, or a value in the body.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::broker::Origin;
use crate::delivery::HeaderNames;
use crate::message::{HeaderValue, Message};

/// A body beyond this, in bytes, is not searched: what is parsed takes many times its room.
const LARGEST_BODY: usize = 1 << 20;

/// Where a message's key is found. Written `key`, `id`, `header:NAME` or `json:/POINTER`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KeySource {
    /// The message's own key; where the broker has none, the routing key that it was first published with.
    #[default]
    Key,
    /// The message's id.
    Id,
    /// The value of this header.
    Header(String),
    /// The value at this JSON pointer (RFC 6901) in the body.
    Json(String),
    /// The partition that the message was first read from, where the broker has such a thing. Not written as a key: it is an
    /// ordering of its own.
    Partition,
}

/// Why a text names no place of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeySourceError {
    /// None of the known forms.
    #[error("\"{0}\" does not say where a key is found")]
    Unknown(String),
    /// `header:` without a name.
    #[error("\"header:\" names no header")]
    NoHeader,
    /// What follows `json:` is no JSON pointer.
    #[error("\"{0}\" is not a JSON pointer")]
    NoPointer(String),
}

impl KeySourceError {
    /// What would be right.
    #[must_use]
    pub const fn cure(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "write \"key\", \"id\", \"header:NAME\" or \"json:/POINTER\"",
            Self::NoHeader => "write the header's name behind the colon, such as \"header:x-customer\"",
            Self::NoPointer(_) => {
                "begin it with a slash, such as \"json:/order/id\"; in a name write ~1 for a slash and ~0 for a tilde"
            }
        }
    }
}

impl FromStr for KeySource {
    type Err = KeySourceError;

    fn from_str(text: &str) -> Result<Self, KeySourceError> {
        match text.split_once(':') {
            Some(("header", "")) => Err(KeySourceError::NoHeader),
            Some(("header", name)) => Ok(Self::Header(name.to_owned())),
            Some(("json", pointer)) if is_pointer(pointer) => Ok(Self::Json(pointer.to_owned())),
            Some(("json", pointer)) => Err(KeySourceError::NoPointer(pointer.to_owned())),
            // On RabbitMQ that is what the key is.
            None if matches!(text, "key" | "routing-key") => Ok(Self::Key),
            None if text == "id" => Ok(Self::Id),
            _ => Err(KeySourceError::Unknown(text.to_owned())),
        }
    }
}

fn is_pointer(text: &str) -> bool {
    let escaped = |rest: &str| rest.starts_with(['0', '1']);
    text.starts_with('/') && text.split('~').skip(1).all(escaped)
}

/// As it is written.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("key"),
            Self::Id => f.write_str("id"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Json(pointer) => write!(f, "json:{pointer}"),
            Self::Partition => f.write_str("partition"),
        }
    }
}

/// A key of any length as a digest: messages are alike where their digests are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeyDigest(pub(super) [u8; 32]);

impl KeyDigest {
    fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl KeySource {
    /// The key of a message on the route `route`, whose headers have these names; nothing where it has none. A number and
    /// its text are one key.
    pub(super) fn digest(
        &self,
        message: &Message,
        origin: &Origin,
        names: &HeaderNames,
        route: &str,
    ) -> Option<KeyDigest> {
        match self {
            Self::Key => {
                if let Some(key) = &message.key {
                    return Some(KeyDigest::of(key));
                }
                // A copy comes out of its tier with the queue's name as routing key; the first one stands in its headers.
                let first = of_first(message, names, route, &names.origin_routing_key);
                first.or(origin.routing_key.as_deref()).map(|key| KeyDigest::of(key.as_bytes()))
            }
            Self::Partition => {
                // A copy comes out of a partition of its tier.
                let first = of_first(message, names, route, &names.origin_partition).map(str::to_owned);
                let now = || origin.position.as_ref().map(|position| position.partition.to_string());
                first.or_else(now).map(|partition| KeyDigest::of(partition.as_bytes()))
            }
            Self::Id => message.id.as_ref().map(|id| KeyDigest::of(id.as_bytes())),
            Self::Header(name) => header(message.headers.get(name)?),
            Self::Json(pointer) => {
                let body = message.body.as_ref().filter(|body| body.len() <= LARGEST_BODY)?;
                let body: Value = serde_json::from_slice(body).ok()?;
                match body.pointer(pointer)? {
                    Value::Null => None,
                    Value::String(text) => Some(KeyDigest::of(text.as_bytes())),
                    other => Some(KeyDigest::of(other.to_string().as_bytes())),
                }
            }
        }
    }
}

/// What a copy of this route says of the message that it was made of.
fn of_first<'m>(message: &'m Message, names: &HeaderNames, route: &str, name: &str) -> Option<&'m str> {
    let is_our_copy = message.headers.text(&names.route) == Some(route);
    is_our_copy.then(|| message.headers.text(name)).flatten()
}

fn header(value: &HeaderValue) -> Option<KeyDigest> {
    Some(match value {
        HeaderValue::Null => return None,
        HeaderValue::ShortText(text) => KeyDigest::of(text.as_bytes()),
        HeaderValue::Text(bytes) | HeaderValue::Bytes(bytes) => KeyDigest::of(bytes),
        other => match other.as_i64() {
            Some(number) => KeyDigest::of(number.to_string().as_bytes()),
            None => KeyDigest::of(format!("{other:?}").as_bytes()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Position;

    fn digest(source: &str, message: &Message, routing_key: Option<&str>) -> Option<KeyDigest> {
        let origin = Origin { exchange: None, routing_key: routing_key.map(str::to_owned), ..Origin::default() };
        source.parse::<KeySource>().unwrap().digest(message, &origin, &HeaderNames::new("reprieve-"), "orders")
    }

    fn key(text: &str) -> Option<KeyDigest> {
        Some(KeyDigest::of(text.as_bytes()))
    }

    #[test]
    fn what_is_written_is_read_and_shown_again() {
        for text in ["key", "id", "header:x-customer", "header:a:b", "json:/order_id", "json:/a~1b/0"] {
            assert_eq!(text.parse::<KeySource>().unwrap().to_string(), text);
        }
        assert_eq!("routing-key".parse(), Ok(KeySource::Key));
        for text in ["", "ids", "header:", "json:", "json:order_id", "json:/a~2", "json:/a~", "Header:x", "key:x"] {
            assert!(text.parse::<KeySource>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_message_key_wins_over_the_routing_key() {
        let mut message = Message::new("b");
        assert_eq!(digest("key", &message, None), None);
        assert_eq!(digest("key", &message, Some("eu")), key("eu"));
        message.key = Some("k1".into());
        assert_eq!(digest("key", &message, Some("eu")), key("k1"));
    }

    #[test]
    fn a_delayed_copy_has_the_routing_key_that_its_message_came_with() {
        let copy = |route: &str| {
            Message::new("b").with_header("reprieve-route", route).with_header("reprieve-origin-routing-key", "eu")
        };
        assert_eq!(digest("key", &copy("orders"), Some("orders-queue")), key("eu"));
        assert_eq!(digest("key", &copy("bills"), Some("orders-queue")), key("orders-queue"), "another route's copy");
    }

    #[test]
    fn the_partition_is_the_one_that_a_message_was_first_read_from() {
        let names = HeaderNames::new("reprieve-");
        let digest = |message: &Message, partition: Option<i32>| {
            let position = partition.map(|partition| Position {
                topic: "orders".into(),
                partition,
                offset: 7,
                group: "reprieve.orders".into(),
            });
            let position = position.map(Box::new);
            KeySource::Partition.digest(message, &Origin { position, ..Origin::default() }, &names, "orders")
        };
        let copy = |route: &str| {
            Message::new("b").with_header("reprieve-route", route).with_header("reprieve-origin-partition", "3")
        };
        assert_eq!(digest(&Message::new("b"), Some(3)), key("3"));
        assert_eq!(digest(&copy("orders"), Some(0)), key("3"));
        assert_eq!(digest(&copy("bills"), Some(0)), key("0"), "another route's copy");
        assert_eq!(digest(&Message::new("b"), None), None);
    }

    #[test]
    fn a_number_and_its_text_are_one_key_in_headers_and_bodies() {
        let message = |value: HeaderValue| Message::new("b").with_header("x", value);
        for value in [HeaderValue::I64(7), HeaderValue::U8(7), HeaderValue::Text("7".into())] {
            assert_eq!(digest("header:x", &message(value), None), key("7"));
        }
        assert_eq!(digest("header:x", &message(HeaderValue::Null), None), None);
        assert_eq!(digest("header:y", &message(HeaderValue::I64(7)), None), None);
        for body in [r#"{"order":{"id":7}}"#, r#"{"order":{"id":"7"}}"#] {
            assert_eq!(digest("json:/order/id", &Message::new(body), None), key("7"));
        }
    }

    #[test]
    fn a_body_that_is_not_json_or_lacks_the_value_has_no_key() {
        let deep = "[".repeat(100_000);
        let large = format!("{{\"id\":7,\"pad\":\"{}\"}}", "x".repeat(LARGEST_BODY));
        for body in ["", "hello", r#"{"id":null}"#, r#"{"ID":7}"#, "[7]", &deep, &large] {
            assert_eq!(digest("json:/id", &Message::new(body.to_owned()), None), None);
        }
        assert_eq!(digest("json:/id", &Message::default(), None), None);
    }
}
