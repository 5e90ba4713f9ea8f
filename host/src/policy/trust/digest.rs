//! The digest of a file, as people write it.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::policy::folder::PolicyFile;

const PREFIX: &str = "sha256:";
/// Of SHA-256, in hexadecimal digits.
const LENGTH: usize = 64;

/// The SHA-256 of a file's bytes. Written `sha256:` and 64 hexadecimal digits, small or capital.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileDigest(String);

impl FileDigest {
    pub(in crate::policy) fn of(file: &PolicyFile) -> Self {
        Self(file.digest.clone())
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not `sha256:` and 64 hexadecimal digits")]
pub struct InvalidDigest;

impl FromStr for FileDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidDigest)?;
        if digits.len() != LENGTH || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(InvalidDigest);
        }
        Ok(Self(digits.to_ascii_lowercase()))
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl Serialize for FileDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
