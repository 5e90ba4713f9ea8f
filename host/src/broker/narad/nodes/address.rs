//! Where a node is, and how it may be named in messages: never with its user or password.

use std::fmt;

use reqwest::Url;

use super::Call;
use crate::broker::login;

/// One node's address, and the login for it.
pub(super) struct Address {
    base: Url,
    pub(super) login: Option<(String, String)>,
}

impl Address {
    /// Reads an `http://` or `https://` URL. The error repeats nothing of it.
    pub(super) fn read(url: &str) -> Result<Self, &'static str> {
        const NO_ADDRESS: &str = "is not an address: write it as http://user:password@host:7942, with special characters \
                                  percent-encoded";
        let mut base: Url = url.parse().map_err(|_| NO_ADDRESS)?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() || base.host_str().is_none() {
            return Err(NO_ADDRESS);
        }
        let (user, password) = login::take(&mut base)?;
        base.set_query(None);
        base.set_fragment(None);
        Ok(Self { base, login: (!user.is_empty()).then_some((user, password)) })
    }

    /// Where to send a call.
    pub(super) fn url(&self, call: &Call<'_>) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&call.path);
        }
        url.set_query((!call.query.is_empty()).then_some(call.query.as_str()));
        url
    }

    pub(super) fn is_secure(&self) -> bool {
        self.base.scheme() == "https"
    }
}

/// `127.0.0.1:7942`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.base.port_or_known_default().unwrap_or_default();
        write!(f, "{}:{port}", self.base.host_str().unwrap_or_default())?;
        f.write_str(if self.is_secure() { " (TLS)" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_login_is_decoded_and_never_shown() {
        let address = Address::read("http://wat%20cher:s3%2fcret@[::1]:7942/prefix/").unwrap();
        assert_eq!(address.login, Some(("wat cher".to_owned(), "s3/cret".to_owned())));
        assert_eq!(address.to_string(), "[::1]:7942");
        assert_eq!(Address::read("https://mq").unwrap().to_string(), "mq:443 (TLS)");
        for url in ["ftp://u:s3cret@mq", "mailto:s3cret", "s3cret"] {
            let text = Address::read(url).err().expect("must be refused");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn names_and_keys_are_escaped() {
        let address = Address::read("http://mq:7942").unwrap();
        let call = Call::post(&["v1", "topics", "a/b?", "produce"], Duration::ZERO).with("key", b"k \xff&=+");
        assert_eq!(address.url(&call).as_str(), "http://mq:7942/v1/topics/a%2Fb%3F/produce?key=k%20%FF%26%3D%2B");
    }
}
