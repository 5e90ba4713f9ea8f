//! A message header's value, with its type.

use std::time::Duration;

/// What a message header holds.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderValue {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number, of whatever width it had on the wire.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes that are not text.
    Bytes(Vec<u8>),
    /// Time since the Unix epoch.
    Timestamp(Duration),
    /// An array, a table or a decimal number, as anybody would write it in JSON: `[1, "two"]`. In it, bytes that are not
    /// text are in base64, and times are in milliseconds.
    Json(String),
}

impl HeaderValue {
    /// The text, where the value is text or bytes that are UTF-8 (Kafka has nothing else).
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// A whole number, from an integer or from decimal text.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => self.as_str()?.trim().parse().ok(),
        }
    }
}

impl From<&str> for HeaderValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for HeaderValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for HeaderValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for HeaderValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
