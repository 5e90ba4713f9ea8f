//! Public keys of minisign, and the numbers that they go by.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Serialize, Serializer};

/// A public key whose signatures are believed. Written as the second line of the `.pub` file that `minisign -G` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    text: String,
    id: KeyId,
    key: minisign_verify::PublicKey,
}

impl PublicKey {
    /// What signatures name the key by.
    #[must_use]
    pub const fn id(&self) -> KeyId {
        self.id
    }

    pub(super) const fn key(&self) -> &minisign_verify::PublicKey {
        &self.key
    }
}

/// A text that is no public key of minisign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a public key of minisign")]
pub struct InvalidPublicKey;

impl FromStr for PublicKey {
    type Err = InvalidPublicKey;

    fn from_str(text: &str) -> Result<Self, InvalidPublicKey> {
        let key = minisign_verify::PublicKey::from_base64(text).map_err(|_| InvalidPublicKey)?;
        let id = KeyId::in_base64(text).ok_or(InvalidPublicKey)?;
        Ok(Self { text: text.to_owned(), id, key })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// The number that a key and its signatures have in common. Displayed as in the comment of minisign's files: 16 hexadecimal
/// digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyId(u64);

impl KeyId {
    /// Of the key that a signature says it was made with.
    pub(super) fn of_signature(text: &str) -> Option<Self> {
        Self::in_base64(text.lines().nth(1)?)
    }

    /// Keys and signatures both begin with two bytes for the algorithm and eight for the number.
    fn in_base64(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text).ok()?;
        let id = bytes.get(2..10)?.try_into().ok()?;
        Some(Self(u64::from_le_bytes(id)))
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
