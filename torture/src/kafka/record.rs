//! What the rig sends as records, and whether a copy is still the same.

use rdkafka::Message as _;
use rdkafka::message::{BorrowedMessage, Header, Headers as _, OwnedHeaders};

use crate::books::{body as small_body, id};

/// The sender's own headers: with the message's number, and with nothing.
const NUMBER: &str = "torture-number";
const NULL: &str = "torture-null";
/// Where hosts find a sender's id.
const ID: &str = "reprieve-id";
const ATTEMPTS: &str = "reprieve-attempts";
/// On a record that a host puts on a tier to learn the broker's time: it is no message.
const PROBE: &str = "reprieve-probe";
/// Of every so many messages one is large: so large that a dead letter has room for short headers only.
const LARGE: u64 = 4;
const LARGE_SIZE: usize = 12_000;

pub(super) fn body(number: u64) -> String {
    let mut body = small_body(number);
    if number.is_multiple_of(LARGE) {
        body.extend(std::iter::repeat_n(' ', LARGE_SIZE - body.len()));
    }
    body
}

/// Some have none.
pub(super) fn key(number: u64) -> Option<String> {
    (!number.is_multiple_of(3)).then(|| format!("customer-{}", number % 40))
}

pub(super) fn headers(number: u64) -> OwnedHeaders {
    let (id, text) = (id(number), number.to_string());
    OwnedHeaders::new()
        .insert(Header { key: ID, value: Some(&id) })
        .insert(Header { key: NUMBER, value: Some(&text) })
        .insert(Header { key: NULL, value: None::<&str> })
}

/// What matters of a record that was read.
pub(super) struct Seen {
    /// The message's number, from its body.
    pub(super) number: Option<u64>,
    /// The attempts that a host says were made.
    pub(super) attempts: u32,
    /// It has none of the sender's headers.
    pub(super) bare: bool,
    /// Key, body, or those headers that it has are not what was sent.
    pub(super) altered: bool,
    /// What tells copies apart: when it failed, and at which attempt.
    pub(super) made: String,
}

impl Seen {
    pub(super) fn of(record: &BorrowedMessage<'_>) -> Self {
        let bytes = record.payload().unwrap_or_default();
        let number = number(bytes);
        let text = |name: &str| header(record, name).flatten().map(|value| String::from_utf8_lossy(value).into_owned());
        let (numbered, null) = (header(record, NUMBER), header(record, NULL));
        let bare = numbered.is_none() && null.is_none();
        let is_as_sent = number.is_some_and(|number| {
            let has_its_headers = numbered == Some(Some(number.to_string().as_bytes())) && null == Some(None);
            bytes == body(number).as_bytes()
                && record.key() == key(number).as_deref().map(str::as_bytes)
                && (bare || has_its_headers)
        });
        Self {
            number,
            attempts: text(ATTEMPTS).and_then(|attempts| attempts.parse().ok()).unwrap_or(0),
            bare,
            altered: !is_as_sent,
            made: text("reprieve-failed-at").unwrap_or_default() + " " + &text(ATTEMPTS).unwrap_or_default(),
        }
    }
}

/// Whether a host put it there to learn the broker's time.
pub(super) fn is_probe(record: &BorrowedMessage<'_>) -> bool {
    record.payload_len() == 0 && header(record, PROBE).is_some()
}

/// The last header of this name.
fn header<'r>(record: &'r BorrowedMessage<'_>, name: &str) -> Option<Option<&'r [u8]>> {
    record.headers()?.iter().filter(|header| header.key == name).last().map(|header| header.value)
}

fn number(body: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(body).ok()?;
    text.strip_prefix("{\"order\": ")?.split('}').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_its_number_whether_or_not_it_is_large() {
        for sent in [0, 1, 4, 123_456] {
            assert_eq!(number(body(sent).as_bytes()), Some(sent));
        }
        assert_eq!(body(8).len(), LARGE_SIZE);
        assert_eq!(number(b"something else"), None);
    }
}
