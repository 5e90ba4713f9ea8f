//! Which policy files a host loads: those on a list, those that are signed, or all.
//!
//! Whatever is demanded is checked on the very bytes that are compiled, wherever they come from. The policies that are part
//! of the program are exempt.

mod digest;
mod distrust;
mod public_key;

use std::collections::BTreeSet;

use minisign_verify::{Error, Signature};
use serde::Serialize;

use super::folder::PolicyFile;
pub use digest::{FileDigest, InvalidDigest};
pub use distrust::Distrust;
pub use public_key::{InvalidPublicKey, KeyId, PublicKey};

/// What a policy file must be to be loaded. By default every file in the folder is; where both are demanded, both must
/// hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// Only files with one of these digests; `None` for any, and an empty list for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<BTreeSet<FileDigest>>,
    /// Only files that one of these keys signed, with the signature in `NAME.wasm.minisig` beside them; `None` for files
    /// with and without a signature, and an empty list for no files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_keys: Option<Vec<PublicKey>>,
}

impl Trust {
    /// Whether nothing is demanded of a file.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.allow.is_none() && self.public_keys.is_none()
    }

    /// Whether a file needs a signature.
    #[must_use]
    pub const fn demands_signature(&self) -> bool {
        self.public_keys.is_some()
    }

    /// Whether a file may be loaded, and which key signed it where a signature is demanded. `pin` is the one file that its
    /// route takes, where it takes no other. Hashes the whole file: not for a thread that runs async tasks.
    pub(super) fn check(&self, file: &PolicyFile, pin: Option<&FileDigest>) -> Result<Option<KeyId>, Distrust> {
        let digest = FileDigest::of(file);
        if let Some(pin) = pin.filter(|pin| **pin != digest) {
            return Err(Distrust::Pinned { pin: pin.clone(), digest });
        }
        if self.allow.as_ref().is_some_and(|allow| !allow.contains(&digest)) {
            return Err(Distrust::NotAllowed { digest });
        }
        match &self.public_keys {
            None => Ok(None),
            Some(keys) => signer(keys, &file.bytes, file.signature.as_deref()).map(Some),
        }
    }
}

/// The key that signed these bytes.
fn signer(keys: &[PublicKey], bytes: &[u8], signature: Option<&[u8]>) -> Result<KeyId, Distrust> {
    let text = std::str::from_utf8(signature.ok_or(Distrust::Unsigned)?).map_err(|_| Distrust::Malformed)?;
    let signature = Signature::decode(text).map_err(|_| Distrust::Malformed)?;
    let key = KeyId::of_signature(text).ok_or(Distrust::Malformed)?;
    let mut refusal = Distrust::UnknownKey { key };
    for known in keys.iter().filter(|known| known.id() == key) {
        // Legacy signatures are refused: which of the two kinds a signature is of is not itself signed, so of two kinds one
        // could be passed off as the other.
        match known.key().verify(bytes, &signature, false) {
            Ok(()) => return Ok(key),
            Err(Error::UnexpectedAlgorithm) => refusal = Distrust::Legacy { key },
            Err(_) => refusal = Distrust::DoesNotFit { key },
        }
    }
    Err(refusal)
}

#[cfg(test)]
pub(super) mod signing;
#[cfg(test)]
mod tests;
