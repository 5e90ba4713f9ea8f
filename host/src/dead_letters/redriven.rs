//! The message that goes back to its origin: the same one, to be handled as if for the first time. And the one that stays
//! a dead letter.

use super::letter::Story;
use crate::delivery::{HeaderNames, is_broker_owned, is_carbon_copy};
use crate::message::{HeaderValue, Message};

/// Where nothing else is said.
const DEFAULT_PREFIX: &str = "reprieve-";

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
    let mut message = republished(letter, &names);
    message.headers.retain(|name| !name.starts_with(prefix) || kept.into_iter().any(|kept| kept == name));
    message.headers.set(names.redrives.as_str(), redrives);
    message
}

/// The same dead letter as a new message, for the end of its queue. What it cannot carry of its sender is noted as a host
/// would: with the prefix that is on the letter, or else the first.
pub(super) fn renewed(letter: &Message, prefixes: &[String]) -> Message {
    let on_letter = Story::read(letter, prefixes).map(|story| story.prefix);
    let prefix = on_letter.as_ref().or(prefixes.first()).map_or(DEFAULT_PREFIX, String::as_str);
    republished(letter, &HeaderNames::new(prefix))
}

/// The message without what is the broker's, and with what the sender set noted under our names where a copy that has it
/// would go to more queues, expire, or be refused. Letters that no host made may still have that.
fn republished(letter: &Message, names: &HeaderNames) -> Message {
    let mut message = letter.clone();
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
    message.headers.retain(|name| !is_broker_owned(name) && !is_carbon_copy(name));
    message
}
