//! Something wrong in a policy's settings.

use std::fmt;

/// What is wrong in the settings, where, and how to put it right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A JSON pointer into the settings, such as `/rules/0/kind`; empty for the settings as a whole.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Problem {
    /// A problem with the setting that this JSON pointer names.
    pub fn at(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    /// A problem with the settings as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self::at("", message)
    }

    /// The same problem, seen from the settings that hold these under `parent`, a JSON pointer.
    #[must_use]
    pub fn under(self, parent: &str) -> Self {
        Self { path: format!("{parent}{}", self.path), message: self.message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}
