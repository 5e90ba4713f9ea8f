//! What a broker carries: id, key, typed headers, body, properties, timestamp.

mod body_json;
mod headers;
#[cfg(test)]
mod tests;
mod value_json;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use headers::{HeaderValue, Headers};

use crate::timestamp::Timestamp;

/// One message, as it came or as it is published. Everything in it is kept through the host with its type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Message {
    /// The sender's id. The host gives one to a copy of a message that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The key that orders or partitions messages, where the broker has one.
    #[serde(with = "body_json", skip_serializing_if = "Option::is_none")]
    pub key: Option<Bytes>,
    /// Application headers, in order, duplicates included.
    #[serde(skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// The payload; `None` is a null body (a Kafka tombstone), which is not the same as an empty one.
    #[serde(with = "body_json")]
    pub body: Option<Bytes>,
    /// The standard properties that AMQP names.
    #[serde(skip_serializing_if = "Properties::is_empty")]
    pub properties: Properties,
    /// When the sender says that it made the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

impl Message {
    /// A message with a body and nothing else.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }

    /// The same message with this id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same message with this header set.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<HeaderValue>) -> Self {
        self.headers.set(name, value);
        self
    }

    /// The length of the body in bytes; zero for a null one.
    #[must_use]
    pub fn body_size(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }
}

/// Standard message properties, all optional. Named as in AMQP 0-9-1; `delivery-mode` is missing
/// because what the host publishes is always persistent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Properties {
    /// MIME type of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// MIME encoding of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    /// Correlates a reply with its request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Where a reply is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The sender's name for the kind of message (AMQP: `type`).
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub message_type: Option<String>,
    /// The sending application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// The sending user, which a broker may have verified. Never set on a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// Deprecated in AMQP, kept because it is the sender's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// Priority, 0 to 255.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Time to live in milliseconds as AMQP's decimal text. Never set on a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration: Option<String>,
}

impl Properties {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
