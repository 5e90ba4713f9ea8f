//! A message as the client sends and reads it; `tests/python/amqp.py` says how.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A message with the AMQP type of every header.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Message {
    /// One character, up to U+00FF, for each byte.
    pub(crate) body: String,
    pub(crate) properties: BTreeMap<String, Value>,
    /// By name: an object whose one member is named by the value's type.
    pub(crate) headers: BTreeMap<String, Value>,
}

impl Message {
    /// A persistent message with this id.
    pub(crate) fn new(id: &str) -> Self {
        Self { body: format!("body of {id}"), ..Self::default() }.with("message_id", id).with("delivery_mode", 2)
    }

    pub(crate) fn with(mut self, property: &str, value: impl Into<Value>) -> Self {
        self.properties.insert(property.to_owned(), value.into());
        self
    }

    pub(crate) fn with_header(mut self, name: &str, value: Value) -> Self {
        self.headers.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn id(&self) -> &str {
        self.properties.get("message_id").and_then(Value::as_str).expect("every message of a test has an id")
    }

    /// A header of type text.
    pub(crate) fn text(&self, header: &str) -> Option<&str> {
        self.headers.get(header)?.get("text")?.as_str()
    }

    /// The count of attempts that it carries.
    pub(crate) fn attempts(&self) -> Option<u64> {
        let (kind, count) = self.headers.get("reprieve-attempts")?.as_object()?.iter().next()?;
        assert!(["int", "long"].contains(&kind.as_str()), "a count is a number: {kind}");
        count.as_u64()
    }
}

/// A header's value of type text.
pub(crate) fn text(value: &str) -> Value {
    json!({ "text": value })
}
