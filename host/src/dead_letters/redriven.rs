//! The message that goes back to its origin: the same one, to be handled as if for the first time.

use crate::delivery::{HeaderNames, is_broker_owned};
use crate::message::{HeaderValue, Message};

/// The message of a dead letter with its counts reset and `redrives` raised by one.
///
/// What a host noted of its failures goes, its expiry included: whoever redrives a message wants it handled, and it would
/// expire at once. What a host noted of its *sender* stays: how it was first published, and the expiration, user id and
/// carbon copies that were set.
pub(super) fn redriven(letter: &Message, prefix: &str, redrives: u32) -> Message {
    let names = HeaderNames::new(prefix);
    let kept = [
        &names.origin_exchange,
        &names.origin_routing_key,
        &names.origin_timestamp,
        &names.expiration,
        &names.user_id,
        &names.cc,
        &names.bcc,
    ];
    let mut message = letter.clone();
    // Letters that no host made may still have them; a copy would go to more queues, expire, or be refused.
    let of_sender = [
        (&names.cc, letter.headers.get("CC").cloned()),
        (&names.bcc, letter.headers.get("BCC").cloned()),
        (&names.expiration, message.properties.expiration.take().map(HeaderValue::from)),
        (&names.user_id, message.properties.user_id.take().map(HeaderValue::from)),
    ];
    for (name, value) in of_sender {
        if let Some(value) = value {
            message.headers.set(name.as_str(), value);
        }
    }
    message.headers.retain(|name| {
        let is_ours = name.starts_with(prefix);
        (!is_ours || kept.into_iter().any(|kept| kept == name))
            && !is_broker_owned(name)
            && !matches!(name, "CC" | "BCC")
    });
    message.headers.set(names.redrives.as_str(), redrives);
    message
}
