//! What a topic holds, byte for byte.

use bytes::Bytes;
use rdkafka::message::{Header, Headers as _, OwnedHeaders};

/// A record, to be put or as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Record {
    /// `None`: as the key says, or any.
    pub partition: Option<i32>,
    /// Its number in the partition, once it is there.
    pub offset: Option<i64>,
    /// Null where absent, which is not the same as empty.
    pub key: Option<Bytes>,
    /// Null where absent, which is not the same as empty.
    pub value: Option<Bytes>,
    /// In order, with duplicates and nulls.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// In milliseconds since 1970; the time of sending where absent.
    pub timestamp: Option<i64>,
}

impl Record {
    /// A record with a value and nothing else.
    pub fn new(value: impl Into<Bytes>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// The same record with this key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same record with one header more, behind the others.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: Option<&[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.map(Bytes::copy_from_slice)));
        self
    }

    /// The same record, to be put into this partition.
    #[must_use]
    pub fn on(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }

    /// The last header of a name, as text.
    ///
    /// # Panics
    /// Where its value is no UTF-8.
    #[must_use]
    pub fn text(&self, header: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().rev().find(|(name, _)| name == header)?;
        Some(std::str::from_utf8(value.as_ref()?).expect("a header of text"))
    }

    /// The value, as text.
    ///
    /// # Panics
    /// Where it is null or no UTF-8.
    #[must_use]
    pub fn body(&self) -> &str {
        std::str::from_utf8(self.value.as_ref().expect("a value")).expect("a value of text")
    }

    pub(super) fn read(record: &impl rdkafka::Message) -> Self {
        let headers = record.headers().map(|headers| {
            headers.iter().map(|Header { key, value }| (key.to_owned(), value.map(Bytes::copy_from_slice))).collect()
        });
        Self {
            partition: Some(record.partition()),
            offset: Some(record.offset()),
            key: record.key().map(Bytes::copy_from_slice),
            value: record.payload().map(Bytes::copy_from_slice),
            headers: headers.unwrap_or_default(),
            timestamp: record.timestamp().to_millis(),
        }
    }

    pub(super) fn owned_headers(&self) -> Option<OwnedHeaders> {
        let insert = |headers: OwnedHeaders, (key, value): &(String, Option<Bytes>)| {
            headers.insert(Header { key, value: value.as_deref() })
        };
        // None at all, and not an empty list.
        (!self.headers.is_empty()).then(|| self.headers.iter().fold(OwnedHeaders::new(), insert))
    }
}
