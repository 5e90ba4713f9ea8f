//! One request, before it is known which node it goes to.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;

/// A request to any node.
pub(in crate::broker::narad) struct Call<'a> {
    pub(super) method: Method,
    pub(super) path: Vec<&'a str>,
    pub(super) query: String,
    pub(super) content_type: &'static str,
    pub(super) body: Option<Bytes>,
    pub(super) timeout: Duration,
}

impl<'a> Call<'a> {
    pub(in crate::broker::narad) fn get(path: &[&'a str], timeout: Duration) -> Self {
        let (query, content_type) = (String::new(), "application/json");
        Self { method: Method::GET, path: path.to_vec(), query, content_type, body: None, timeout }
    }

    pub(in crate::broker::narad) fn post(path: &[&'a str], timeout: Duration) -> Self {
        Self { method: Method::POST, ..Self::get(path, timeout) }
    }

    /// The same with a parameter; its value may be any bytes.
    pub(in crate::broker::narad) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let separator = if self.query.is_empty() { "" } else { "&" };
        self.query.push_str(separator);
        self.query.push_str(name);
        self.query.push('=');
        for byte in value.as_ref() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    self.query.push(char::from(*byte));
                }
                byte => write!(self.query, "%{byte:02X}").expect("writing to a string cannot fail"),
            }
        }
        self
    }

    /// The same with a body.
    pub(in crate::broker::narad) fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self
    }
}
