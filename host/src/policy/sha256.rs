//! SHA-256 in hexadecimal digits, as files are told apart by it everywhere here.

use sha2::{Digest, Sha256};

/// Of these bytes.
pub(super) fn of(bytes: impl AsRef<[u8]>) -> String {
    hexadecimal(Sha256::digest(bytes))
}

/// A digest, with two small digits for each byte.
pub(super) fn hexadecimal(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
