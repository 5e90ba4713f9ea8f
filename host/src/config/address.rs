//! Addresses of brokers and handlers.

use reqwest::Url;
use toml::Spanned;

use super::section::Section;
use super::{Secret, SecretUrl};

/// Reads an address of this scheme (`amqp` or `http`). No message repeats it: it may hold a password.
pub(super) fn read_url(section: &Section<'_>, text: &Spanned<Secret>, scheme: &str) -> Option<SecretUrl> {
    let written = text.get_ref().expose();
    // The parser leaves line ends and tabs out without a word, also of a password.
    if written.contains(char::is_control) {
        section.problems.error(
            &text.span(),
            "there is a line end or another control character in the address",
            "write it on one line",
        );
        return None;
    }
    let (message, cure) = match Url::parse(written) {
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
        Err(error) if written.contains('@') => (
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
