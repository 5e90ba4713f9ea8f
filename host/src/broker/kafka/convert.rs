//! Records to messages and back.
//!
//! A record has a key, a value, and headers whose values are bytes or null; all three come back as they were (rule 10). What
//! AMQP has as properties Kafka has as headers by custom, if at all.

use bytes::Bytes;
use rdkafka::Timestamp as RecordTimestamp;
use rdkafka::message::{Header, Headers as _};

use crate::broker::Position;
use crate::message::{HeaderValue, Headers, Message, Properties};
use crate::timestamp::Timestamp;

/// A message's id, which a record has no place for. Read where it is there, and written to every copy.
const ID: &str = "reprieve-id";

/// The record as a message. Without a sender's id, its first place names it.
pub(super) fn message(record: &impl rdkafka::Message, position: &Position) -> Message {
    let headers = record.headers().map(|headers| headers.iter().map(header).collect::<Headers>()).unwrap_or_default();
    let id = headers.text(ID).map_or_else(|| id(position), str::to_owned);
    let content_type = headers.text("content-type").map(str::to_owned);
    let timestamp = match record.timestamp() {
        RecordTimestamp::CreateTime(millis) | RecordTimestamp::LogAppendTime(millis) => u64::try_from(millis).ok(),
        RecordTimestamp::NotAvailable => None,
    };
    Message {
        id: Some(id),
        key: record.key().map(Bytes::copy_from_slice),
        body: record.payload().map(Bytes::copy_from_slice),
        properties: Properties { content_type, ..Properties::default() },
        timestamp: timestamp.map(Timestamp),
        headers,
    }
}

fn header(header: Header<'_, &[u8]>) -> (String, HeaderValue) {
    let value = header.value.map_or(HeaderValue::Null, |value| HeaderValue::Bytes(Bytes::copy_from_slice(value)));
    (header.key.to_owned(), value)
}

/// Such as `orders/3/1042`.
fn id(position: &Position) -> String {
    let Position { topic, partition, offset, .. } = position;
    format!("{topic}/{partition}/{offset}")
}
