//! Records to messages and back.
//!
//! A record has a key, a value, and headers whose values are bytes or null; all three come back as they were (rule 10). What
//! AMQP has as properties Kafka has as headers by custom, if at all.
//!
//! * `record`: from a record. `headers`: to a record.

mod headers;
mod record;
#[cfg(test)]
mod tests;

pub(super) use self::headers::to_headers;
pub(super) use self::record::message;

/// A message's id, which a record has no place for. Read where it is there, and written to every copy.
const ID: &str = "reprieve-id";

/// What the body is, by the custom of many senders.
const CONTENT_TYPE: &str = "content-type";

/// How many headers of a record could not be read; see [`record`].
const UNREADABLE: &str = "reprieve-unreadable-headers";
