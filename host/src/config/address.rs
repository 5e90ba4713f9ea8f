//! Addresses of brokers and handlers.

use reqwest::Url;
use toml::Spanned;

use super::SecretUrl;
use super::section::Section;

/// Reads an address of this scheme (`amqp` or `http`). No message repeats it: it may hold a password.
pub(super) fn read_url(section: &Section<'_>, text: &Spanned<&str>, scheme: &str) -> Option<SecretUrl> {
    let (message, cure) = match Url::parse(text.get_ref()) {
        Ok(url) if url.scheme() == scheme && url.host_str().is_some_and(|host| !host.is_empty()) => {
            return Some(SecretUrl::new(url));
        }
        Ok(url) if url.scheme() == format!("{scheme}s") => (
            format!("{scheme}s:// is not in this build yet"),
            format!("write {scheme}:// and the address of something close by that adds TLS, such as a proxy"),
        ),
        Ok(url) if url.scheme() == scheme => {
            ("the address has no host".to_owned(), format!("write it as {scheme}://host:port/path"))
        }
        Ok(_) => (format!("the address must begin with {scheme}://"), format!("write it as {scheme}://host:port/path")),
        Err(error) if text.get_ref().contains('@') => (
            format!("not an address: {error}"),
            format!(
                "write # / ? @ and % in a password as %23 %2F %3F %40 and %25, and the whole as {scheme}://host:port/path"
            ),
        ),
        Err(error) => (format!("not an address: {error}"), format!("write it as {scheme}://host:port/path")),
    };
    section.problems.error(&text.span(), message, cure);
    None
}
