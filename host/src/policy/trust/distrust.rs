//! Why a file is not trusted, and what to do about it.

use std::fmt;

use super::{FileDigest, KeyId};

/// Why a policy file may not be loaded. Nothing of it was compiled or run. Displayed as what is wrong and its cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distrust {
    /// The route takes one file only, and this is another.
    Pinned {
        /// The file that it takes.
        pin: FileDigest,
        /// This one.
        digest: FileDigest,
    },
    /// The file is not on the list.
    NotAllowed {
        /// What would have to be on it.
        digest: FileDigest,
    },
    /// There is no signature beside the file.
    Unsigned,
    /// What lies beside the file is no signature.
    Malformed,
    /// The signature is by somebody else.
    UnknownKey {
        /// The key that it says it was made with.
        key: KeyId,
    },
    /// The signature is of other bytes, or only poses as one by this key.
    DoesNotFit {
        /// The key that it says it was made with.
        key: KeyId,
    },
    /// The signature is of the kind that old versions of minisign make.
    Legacy {
        /// The key that it says it was made with.
        key: KeyId,
    },
}

impl Distrust {
    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Pinned { pin, digest } => {
                format!("the route is pinned to another file: its `policy_digest` is {pin}, this file's is {digest}")
            }
            Self::NotAllowed { digest } => {
                format!("the file is not on the list of allowed policies: its digest is {digest}")
            }
            Self::Unsigned => "the file is not signed: no `.wasm.minisig` lies beside it".into(),
            Self::Malformed => "the `.wasm.minisig` beside the file is not a signature of minisign".into(),
            Self::UnknownKey { key } => format!("the file is signed with the key {key}, which is not trusted here"),
            Self::DoesNotFit { key } => {
                format!("the signature with the key {key} does not fit the file: one of the two was changed")
            }
            Self::Legacy { key } => {
                format!("the signature with the key {key} is of the legacy kind, which signs the file and not its hash")
            }
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn cure(&self) -> &'static str {
        match self {
            Self::Pinned { .. } => {
                "to swap to this file, change the route's `policy_digest` and send SIGHUP; else put the pinned file back"
            }
            Self::NotAllowed { .. } => {
                "to trust it, add that digest to `allow` under [policies] and send SIGHUP; else put an allowed file there"
            }
            Self::Unsigned => "sign it with `minisign -S -m NAME.wasm`, and put the signature beside it",
            Self::Malformed => "copy what `minisign -S -m NAME.wasm` made there, the whole of it",
            Self::UnknownKey { .. } => {
                "sign it with a key whose public half is in `public_keys` under [policies], or add this key's there and send SIGHUP"
            }
            Self::DoesNotFit { .. } => "copy the policy and its signature again, both from the same build",
            Self::Legacy { .. } => "sign it again with minisign 0.10 or newer, without -l",
        }
    }
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.cure())
    }
}

impl std::error::Error for Distrust {}
