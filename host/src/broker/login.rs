//! A user and password in an address.

use reqwest::Url;

/// Takes the login out of an address: what is left may be shown. Both are empty where there is none. The error repeats nothing
/// of the address.
pub(super) fn take(url: &mut Url) -> Result<(String, String), &'static str> {
    let decoded = |text: &str| percent_decoded(text).ok_or("has a login that is not UTF-8");
    let (user, password) = (decoded(url.username())?, decoded(url.password().unwrap_or_default())?);
    url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| "has no host")?;
    Ok((user, password))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let decoded = (first == b'%')
            .then(|| behind.first_chunk::<2>())
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(first));
        rest = if decoded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok()
}
