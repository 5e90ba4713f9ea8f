//! From a message's headers to a record's.

use std::borrow::Cow;

use rdkafka::message::{Header, OwnedHeaders};

use super::{CONTENT_TYPE, ID};
use crate::message::{HeaderValue, Message};

/// A header's name that no record can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header {0:?} has a NUL character in its name, which Kafka's client cannot send")]
pub(in crate::broker::kafka) struct UnfitName(String);

/// All headers in order, and what has no other place on a record: the id and the content type, where no header says it, and
/// `back_to`, where the record waits on a tier. `None`: there are none.
///
/// # Errors
/// A header that cannot be sent.
pub(in crate::broker::kafka) fn to_headers(
    message: &Message,
    back_to: Option<(&str, &str)>,
) -> Result<Option<OwnedHeaders>, UnfitName> {
    let written = |name: &str| message.headers.get(name).is_some();
    let id = message.id.as_deref().filter(|id| message.headers.text(ID) != Some(*id));
    let content_type = message.properties.content_type.as_deref().filter(|_| !written(CONTENT_TYPE));
    let added = [id.map(|id| (ID, id)), content_type.map(|text| (CONTENT_TYPE, text)), back_to];
    let added = added.into_iter().flatten();
    let replaced = |name: &str| (name == ID && id.is_some()) || back_to.is_some_and(|(ours, _)| ours == name);
    let mut headers = OwnedHeaders::new_with_capacity(message.headers.len() + 3);
    for (name, value) in message.headers.iter().filter(|(name, _)| !replaced(name)) {
        if name.contains('\0') {
            return Err(UnfitName(name.to_owned()));
        }
        headers = headers.insert(Header { key: name, value: bytes(value).as_deref() });
    }
    for (name, text) in added {
        headers = headers.insert(Header { key: name, value: Some(text.as_bytes()) });
    }
    Ok((rdkafka::message::Headers::count(&headers) > 0).then_some(headers))
}

/// A value as bytes. Those of a record are; numbers and texts are written as people read them, and what only AMQP has as
/// JSON with its type.
fn bytes(value: &HeaderValue) -> Option<Cow<'_, [u8]>> {
    let text = |text: String| Some(Cow::Owned(text.into_bytes()));
    match value {
        HeaderValue::Null => None,
        HeaderValue::Text(bytes) | HeaderValue::Bytes(bytes) => Some(Cow::Borrowed(bytes)),
        HeaderValue::ShortText(text) => Some(Cow::Borrowed(text.as_bytes())),
        HeaderValue::Bool(value) => text(value.to_string()),
        HeaderValue::I8(value) => text(value.to_string()),
        HeaderValue::U8(value) => text(value.to_string()),
        HeaderValue::I16(value) => text(value.to_string()),
        HeaderValue::U16(value) => text(value.to_string()),
        HeaderValue::I32(value) => text(value.to_string()),
        HeaderValue::U32(value) => text(value.to_string()),
        HeaderValue::I64(value) => text(value.to_string()),
        HeaderValue::F32(value) => text(value.to_string()),
        HeaderValue::F64(value) => text(value.to_string()),
        HeaderValue::Timestamp(value) => text(value.to_string()),
        HeaderValue::Decimal { .. } | HeaderValue::Array(_) | HeaderValue::Table(_) => {
            // Plain data: only a value deeper than the recursion limit of the reader could fail, and this is the writer.
            Some(Cow::Owned(serde_json::to_vec(value).unwrap_or_else(|error| error.to_string().into_bytes())))
        }
    }
}
