//! A message as tools print it.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::super::WrittenError;
use crate::message::{HeaderValue, Headers, Message, Properties};
use crate::timestamp::Timestamp;

/// The keys of [`Message`]'s JSON form that no failure has.
const OWN_KEYS: [&str; 3] = ["headers", "body", "properties"];

/// What could be made of it.
pub(super) struct Printed {
    pub(super) message: Message,
    /// Also where less of the body was printed.
    pub(super) body_size: u64,
    /// It is the headers alone, which any object may be.
    pub(super) is_bare: bool,
}

impl Printed {
    /// `None` where the value can be no message.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, WrittenError> {
        match value {
            Value::Array(items) => Self::only(items),
            Value::Object(object) => match object.get("messages") {
                Some(Value::Array(messages)) => Self::only(messages),
                // A failure has its message, and a message does not.
                _ if object.contains_key("message") => Ok(None),
                _ if object.contains_key("payload") => Self::from_rabbitmq(object).map(Some),
                _ if OWN_KEYS.iter().any(|key| object.contains_key(*key)) => Self::from_host(value).map(Some),
                _ => {
                    let message = Message { headers: headers(object), ..Message::default() };
                    Ok(Some(Self { message, body_size: 0, is_bare: true }))
                }
            },
            _ => Ok(None),
        }
    }

    fn only(items: &[Value]) -> Result<Option<Self>, WrittenError> {
        match items {
            [only] => Self::read(only),
            [] => Err(WrittenError::new("", "the list of messages is empty: there is nothing on that topic")),
            _ => Err(WrittenError::new(
                "",
                format!("{} messages: leave one of them, for example with `jq '.[0]'`", items.len()),
            )),
        }
    }

    /// As RabbitMQ's management API prints a message, and `rabbitmqadmin get` after it.
    fn from_rabbitmq(object: &Map<String, Value>) -> Result<Self, WrittenError> {
        let payload = object["payload"].as_str().ok_or_else(|| WrittenError::new("payload", "it is no text"))?;
        let body: Bytes = if object.get("payload_encoding").is_some_and(|encoding| encoding == "base64") {
            STANDARD.decode(payload).map_err(|error| WrittenError::new("payload", error.to_string()))?.into()
        } else {
            payload.to_owned().into()
        };
        // Where there are none it prints an empty list.
        let none = Map::new();
        let written = object.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let text = |name: &str| written.get(name).and_then(Value::as_str).map(str::to_owned);
        let message = Message {
            id: text("message_id"),
            headers: written.get("headers").and_then(Value::as_object).map(headers).unwrap_or_default(),
            properties: Properties {
                content_type: text("content_type"),
                content_encoding: text("content_encoding"),
                correlation_id: text("correlation_id"),
                reply_to: text("reply_to"),
                message_type: text("type"),
                app_id: text("app_id"),
                cluster_id: text("cluster_id"),
                priority: written.get("priority").and_then(Value::as_u64).and_then(|n| u8::try_from(n).ok()),
                ..Properties::default()
            },
            timestamp: written.get("timestamp").and_then(Value::as_u64).map(|s| Timestamp(s.saturating_mul(1000))),
            body: Some(body),
            key: None,
        };
        let body_size = object.get("payload_bytes").and_then(Value::as_u64).unwrap_or(0);
        Ok(Self { message, body_size, is_bare: false })
    }

    /// As a host shows it.
    fn from_host(value: &Value) -> Result<Self, WrittenError> {
        let mut value = value.clone();
        // Pairs keep the type of each value, and an object is what most people would write.
        let named = value.get_mut("headers").filter(|headers| headers.is_object()).map(Value::take);
        if let Some(object) = value.as_object_mut().filter(|_| named.is_some()) {
            object.remove("headers");
        }
        let mut message: Message = serde_path_to_error::deserialize(&value)
            .map_err(|error| WrittenError::new(&error.path().to_string(), error.inner().to_string()))?;
        if let Some(Value::Object(named)) = named {
            message.headers = headers(&named);
        }
        Ok(Self { message, body_size: 0, is_bare: false })
    }
}

fn headers(object: &Map<String, Value>) -> Headers {
    object.iter().map(|(name, value)| (name.clone(), header(value))).collect()
}

/// JSON as a header: a value that names its type (`{"i32": 5}`) has it, any other is what a broker would print so.
fn header(value: &Value) -> HeaderValue {
    if let Ok(value) = serde_json::from_value(value.clone()) {
        return value;
    }
    match value {
        Value::Array(items) => HeaderValue::Array(items.iter().map(header).collect()),
        Value::Object(entries) => HeaderValue::Table(headers(entries)),
        // An integer that no header can hold.
        other => other.to_string().into(),
    }
}
