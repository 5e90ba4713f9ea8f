//! A record as a node answers with it, and the message in it.

use std::borrow::Cow;
use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::envelope::{Opened, open};
use super::payload::{self, BadPayload};
use super::settings::Envelope;
use crate::timestamp::Timestamp;

/// Where a message stands for good, however often it is handed over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) topic: Arc<str>,
    pub(super) partition: u32,
    pub(super) offset: u64,
}

/// Such as `orders/1/42`: the id of a message that has none.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.topic, self.partition, self.offset)
    }
}

/// One message of an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Record<'a> {
    pub(super) partition: u32,
    pub(super) offset: u64,
    #[serde(borrow, default)]
    key: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    key_encoding: Option<Cow<'a, str>>,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(borrow, default)]
    payload_encoding: Option<Cow<'a, str>>,
    /// When it was stored, in Unix seconds.
    #[serde(default)]
    timestamp: u64,
    /// Absent where it was only read.
    #[serde(default)]
    pub(super) receipt_handle: Option<String>,
}

/// The messages of an answer to a consume: several, or from a node that knows no batches the one message itself.
pub(super) fn records(body: &[u8]) -> Result<Vec<Record<'_>>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Several<'a> {
        #[serde(borrow, default)]
        messages: Option<Vec<Record<'a>>>,
    }
    match serde_json::from_slice::<Several<'_>>(body)?.messages {
        Some(messages) => Ok(messages),
        None => serde_json::from_slice(body).map(|record| vec![record]),
    }
}

impl Record<'_> {
    /// The message, with what only the record says of it.
    pub(super) fn open(&self, place: &Place, form: &Envelope) -> Result<Opened, BadPayload> {
        let produced = payload::produced(self.payload, self.payload_encoding.as_deref())?;
        let mut opened = open(produced, form);
        let message = &mut opened.message;
        message.id.get_or_insert_with(|| place.to_string());
        message.timestamp.get_or_insert(self.stored());
        message.key = self.key();
        Ok(opened)
    }

    /// In whole seconds.
    pub(super) const fn stored(&self) -> Timestamp {
        Timestamp(self.timestamp.saturating_mul(1000))
    }

    fn key(&self) -> Option<Bytes> {
        let key = self.key.as_deref().filter(|key| !key.is_empty())?;
        let decoded = self.key_encoding.as_deref().and_then(|_| STANDARD.decode(key).ok());
        Some(decoded.map_or_else(|| Bytes::copy_from_slice(key.as_bytes()), Bytes::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { topic: "orders".into(), partition: 1, offset: 42 }
    }

    #[test]
    fn both_shapes_of_an_answer_are_read() {
        let one = br#"{"topic":"orders","partition":1,"offset":42,"payload":{"a":1},"timestamp":5,"receipt_handle":"1:42:7"}"#;
        let several = [br#"{"messages":["#.as_slice(), one, b",", one, b"]}"].concat();
        assert_eq!(records(one).unwrap().len(), 1);
        assert_eq!(records(&several).unwrap().len(), 2);
        assert!(records(b"{}").is_err() && records(b"<html>").is_err());
        assert_eq!(records(br#"{"messages":[]}"#).unwrap().len(), 0);
    }

    #[test]
    fn a_bare_message_is_named_by_its_place_and_dated_by_its_record() {
        let body = br#"{"partition":1,"offset":42,"key":"/w==","key_encoding":"base64","payload":"hi","timestamp":5}"#;
        let records = records(body).unwrap();
        let message = records[0].open(&place(), &Envelope::Ours).unwrap().message;
        assert_eq!((message.id.as_deref(), message.timestamp), (Some("orders/1/42"), Some(Timestamp(5000))));
        assert_eq!((message.key.as_deref(), message.body.as_deref()), (Some(&b"\xff"[..]), Some(&b"hi"[..])));
    }
}
