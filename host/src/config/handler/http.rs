//! `handler = { kind = "http", … }`

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use toml::Spanned;

use super::read_timeout;
use crate::config::address::read_url;
use crate::config::section::Section;
use crate::config::{Secret, SecretUrl};

/// An HTTP endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// An `http://` address.
    pub url: SecretUrl,
    /// How long one attempt may take. At least a millisecond.
    pub timeout: Duration,
    /// The response header that names the error kind.
    pub error_kind_header: Option<String>,
    /// Sent with each request: name (lower case) and value, both fit for HTTP.
    pub headers: BTreeMap<String, Secret>,
}

impl HttpConfig {
    pub(super) fn read(section: &Section<'_>) -> Option<Self> {
        let timeout = read_timeout(section);
        let error_kind_header = section.text("error_kind_header").and_then(|name| header_name(section, &name));
        let headers = section.section("headers", "the handler's `headers`").map(|headers| read_headers(&headers));
        let text = section.required_secret("url", "add url = \"http://host:port/path\"")?;
        let url = read_url(section, &text, "http")?;
        Some(Self { url, timeout, error_kind_header, headers: headers.unwrap_or_default() })
    }
}

pub(in crate::config) fn read_headers(section: &Section<'_>) -> BTreeMap<String, Secret> {
    let mut headers = BTreeMap::new();
    for (key, value) in section.entries() {
        let Some(name) = header_name(section, &key) else { continue };
        let Some(secret) = section.secret_of(key.get_ref(), value) else { continue };
        if HeaderValue::from_str(secret.get_ref().expose()).is_err() {
            section.problems.error(
                &secret.span(),
                format!("the value of the header `{name}` is not fit for HTTP"),
                "write visible characters and blanks only, on one line",
            );
        } else if headers.insert(name.clone(), secret.into_inner()).is_some() {
            section.problems.error(&key.span(), format!("the header `{name}` stands here twice"), "leave one out");
        }
    }
    headers
}

/// In lower case, as HTTP compares them.
fn header_name(section: &Section<'_>, text: &Spanned<&str>) -> Option<String> {
    match HeaderName::from_bytes(text.get_ref().as_bytes()) {
        Ok(name) => Some(name.as_str().to_owned()),
        Err(_) => {
            section.problems.error(
                &text.span(),
                format!("\"{}\" is not the name of an HTTP header", text.get_ref().escape_debug()),
                "write letters, digits and `-`, such as \"x-error-kind\"",
            );
            None
        }
    }
}
