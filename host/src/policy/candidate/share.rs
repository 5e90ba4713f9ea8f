//! Which messages a canary judges.

use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Whether a message is among `share` of all messages: the same one each time, on every host and in each attempt. It goes by the
/// message's id, else its key, else its body. `salt`, the candidate's digest, makes it another share for each candidate.
pub(super) fn takes(share: f64, salt: &str, failure: &Failure) -> bool {
    let message = &failure.message;
    let (kind, what): (u8, &[u8]) = match (&message.id, &message.key, &message.body) {
        (Some(id), ..) => (0, id.as_bytes()),
        (None, Some(key), _) => (1, key),
        (None, None, body) => (2, body.as_deref().unwrap_or_default()),
    };
    let digest = Sha256::new().chain_update(salt).chain_update([kind]).chain_update(what).finalize();
    let number = u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"));
    // From 0 to below 1: the top 53 bits are all that a float holds.
    ((number >> 11) as f64) / ((1_u64 << 53) as f64) < share
}
