//! Values that must not be seen in logs, messages or debug output.

mod reference;

use std::fmt;

use reqwest::Url;

/// A text that prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that uses it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// An address that prints without its password and the values of its query.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(Url);

impl SecretUrl {
    /// Hides what is secret in an address.
    #[must_use]
    pub const fn new(url: Url) -> Self {
        Self(url)
    }

    /// The whole address, for the one place that connects to it.
    #[must_use]
    pub const fn expose(&self) -> &Url {
        &self.0
    }
}

/// Such as `amqp://orders:***@10.0.0.7:5672/%2f`.
impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.clone();
        if shown.password().is_some() && shown.set_password(Some("***")).is_err() {
            return f.write_str("***");
        }
        if shown.query().is_some() {
            shown.set_query(Some("***"));
        }
        shown.fmt(f)
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
