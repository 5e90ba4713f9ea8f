//! Headers with the type that each value had on the wire.

use bytes::Bytes;

/// A header's value, with one case for every AMQP 0-9-1 field type. Kafka's are `Bytes` or `Null`.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderValue {
    /// No value (AMQP `V`, a null Kafka header).
    Null,
    /// AMQP `t`.
    Bool(bool),
    /// AMQP `b`.
    I8(i8),
    /// AMQP `B`.
    U8(u8),
    /// AMQP `s` in RabbitMQ's reading.
    I16(i16),
    /// AMQP `u`.
    U16(u16),
    /// AMQP `I`.
    I32(i32),
    /// AMQP `i`.
    U32(u32),
    /// AMQP `l`.
    I64(i64),
    /// AMQP `f`.
    F32(f32),
    /// AMQP `d`.
    F64(f64),
    /// AMQP `D`: `value / 10^scale`.
    Decimal {
        /// Digits after the point.
        scale: u8,
        /// The unscaled value.
        value: u32,
    },
    /// A short string, which RabbitMQ does not send in a table but other peers may.
    ShortText(String),
    /// AMQP `S`: usually text, by the protocol any bytes.
    Text(Bytes),
    /// AMQP `x`.
    Bytes(Bytes),
    /// AMQP `T`: seconds since the Unix epoch.
    Timestamp(u64),
    /// AMQP `A`.
    Array(Vec<HeaderValue>),
    /// AMQP `F`.
    Table(Headers),
}

impl HeaderValue {
    /// The text of a text value that is UTF-8; bytes count too, since Kafka has nothing else.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::ShortText(text) => Some(text),
            Self::Text(bytes) | Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The bytes that it keeps in memory, for the most part.
    #[must_use]
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::ShortText(text) => text.len(),
                Self::Text(bytes) | Self::Bytes(bytes) => bytes.len(),
                Self::Array(values) => values.iter().map(Self::size).sum(),
                Self::Table(headers) => headers.iter().map(|(name, value)| name.len() + value.size()).sum(),
                _ => 0,
            }
    }

    /// A whole number, from any integer type or from decimal text.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::I8(n) => Some((*n).into()),
            Self::U8(n) => Some((*n).into()),
            Self::I16(n) => Some((*n).into()),
            Self::U16(n) => Some((*n).into()),
            Self::I32(n) => Some((*n).into()),
            Self::U32(n) => Some((*n).into()),
            Self::I64(n) => Some(*n),
            Self::Timestamp(n) => i64::try_from(*n).ok(),
            _ => self.as_str()?.trim().parse().ok(),
        }
    }
}

impl From<&str> for HeaderValue {
    fn from(text: &str) -> Self {
        Self::Text(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<String> for HeaderValue {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<i64> for HeaderValue {
    fn from(number: i64) -> Self {
        Self::I64(number)
    }
}

impl From<u32> for HeaderValue {
    /// As a signed 64-bit integer, the one integer that every AMQP client reads.
    fn from(number: u32) -> Self {
        Self::I64(number.into())
    }
}

/// Headers in order. A name may stand more than once (Kafka); [`Headers::get`] then gives the last.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Headers(Vec<(String, HeaderValue)>);

impl Headers {
    /// No headers.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are, duplicates counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of the last header with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&HeaderValue> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The last header with this name, where it is UTF-8 text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Adds a header behind the others, whether or not the name is there already.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<HeaderValue>) {
        self.0.push((name.into(), value.into()));
    }

    /// Replaces every header of this name by one value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<HeaderValue>) {
        let name = name.into();
        self.0.retain(|(n, _)| *n != name);
        self.0.push((name, value.into()));
    }

    /// Keeps the headers for which `keep` says yes.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keep(name));
    }

    /// Name and value of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &HeaderValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl FromIterator<(String, HeaderValue)> for Headers {
    fn from_iter<I: IntoIterator<Item = (String, HeaderValue)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl IntoIterator for Headers {
    type Item = (String, HeaderValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
