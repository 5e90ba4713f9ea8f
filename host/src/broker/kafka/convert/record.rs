//! From a record to a message.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use rdkafka::Timestamp as RecordTimestamp;
use rdkafka::message::Header;

use super::{CONTENT_TYPE, ID, UNREADABLE};
use crate::broker::Position;
use crate::message::{HeaderValue, Headers, Message, Properties};
use crate::timestamp::Timestamp;

/// The record as a message. Without a sender's id, its first place names it.
pub(in crate::broker::kafka) fn message(record: &impl rdkafka::Message, position: &Position) -> Message {
    let headers = record.headers().map(|headers| read(headers, position)).unwrap_or_default();
    let id = headers.text(ID).map_or_else(|| id(position), str::to_owned);
    let content_type = headers.text(CONTENT_TYPE).map(str::to_owned);
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

/// The headers in order. One whose name is no UTF-8 cannot be had: the client library panics on it. The message is worth
/// more than that header, so it goes on without, and says how many it lost.
pub(super) fn read(headers: &impl rdkafka::message::Headers, position: &Position) -> Headers {
    let mut readable = Headers::new();
    let mut lost = 0u32;
    for number in 0..headers.count() {
        match catch_unwind(AssertUnwindSafe(|| headers.try_get(number).map(header))) {
            Ok(Some((name, value))) => readable.push(name, value),
            Ok(None) => {}
            Err(_) => lost += 1,
        }
    }
    if lost > 0 {
        let Position { topic, partition, offset, .. } = position;
        tracing::warn!(
            %topic, partition, offset, lost,
            "headers whose names are no UTF-8 text cannot be read, and are missing from the message and its copies"
        );
        readable.set(UNREADABLE, lost);
    }
    readable
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
