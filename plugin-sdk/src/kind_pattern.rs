//! Matching errors by their kind.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A pattern for error kinds: an exact name, or a beginning followed by `*`.
///
/// ```
/// use reprieve_sdk::KindPattern;
///
/// let server_errors: KindPattern = serde_json::from_str(r#""http-5*""#).unwrap();
/// assert!(server_errors.matches("http-503"));
/// assert!(!server_errors.matches("http-404"));
/// assert!(KindPattern::from("timeout").matches("timeout"));
/// assert!(!KindPattern::from("timeout").matches("timeout-connect"));
/// assert!(KindPattern::from("*").matches("anything"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KindPattern(String);

impl KindPattern {
    /// Whether an error of this kind is meant.
    #[must_use]
    pub fn matches(&self, kind: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => kind.starts_with(beginning),
            None => kind == self.0,
        }
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for KindPattern {
    fn from(pattern: &str) -> Self {
        Self(pattern.to_owned())
    }
}

impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
