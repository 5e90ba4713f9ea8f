//! The payload of the method frames that a message comes with: class, method, and where the message was published to.
//! The exchange and the routing key are the sender's choice, any bytes.

use super::content_header::make_text;

const CLASS_AND_METHOD: usize = 4;
/// `basic.deliver`: consumer tag, delivery tag, redelivered, exchange, routing key.
const DELIVER: [u8; CLASS_AND_METHOD] = [0, 60, 0, 60];
/// `basic.get-ok`: delivery tag, redelivered, exchange, routing key, messages left.
const GET_OK: [u8; CLASS_AND_METHOD] = [0, 60, 0, 71];
const TAG_AND_FLAG: usize = 8 + 1;
const LONGEST_SHORT_STRING: usize = 1 + 255;
const LONGEST: usize = CLASS_AND_METHOD + TAG_AND_FLAG + 3 * LONGEST_SHORT_STRING;

/// Whether a method frame with a payload of this size cannot be one of these.
pub(super) const fn is_harmless(payload: usize) -> bool {
    payload > LONGEST
}

/// Turns what is no UTF-8 in the names into question marks. Nothing moves.
pub(super) fn make_harmless(payload: &mut [u8]) {
    let Some((method, arguments)) = payload.split_first_chunk_mut() else { return };
    let names = match *method {
        DELIVER => short_string(arguments).and_then(|rest| rest.get_mut(TAG_AND_FLAG..)),
        GET_OK => arguments.get_mut(TAG_AND_FLAG..),
        _ => None,
    };
    let _ = names.and_then(short_string).and_then(short_string);
}

/// Makes a short string harmless and gives what is behind it; nothing where it is not whole.
fn short_string(bytes: &mut [u8]) -> Option<&mut [u8]> {
    let (length, rest) = bytes.split_first_mut()?;
    let (text, rest) = rest.split_at_mut_checked((*length).into())?;
    make_text(text);
    Some(rest)
}
