//! What of a failure is kept: no header's value and no body, but for what the operator allows.

use regex::Regex;
use sha2::{Digest, Sha256};

use super::Kept;
use crate::failure::Failure;
use crate::message::{HeaderValue, Headers, Message, Properties};
use crate::policy::shown_error;

/// What the operator wants kept.
#[derive(Debug, Clone, Default)]
pub struct Keeping {
    /// Names of headers whose values are kept; `*` at the end or the beginning stands for anything.
    pub headers: Vec<String>,
    /// Bytes of each body that are kept, from its beginning.
    pub body: u64,
    /// What is changed in the texts that are kept: of errors, and of headers.
    pub masks: Vec<Mask>,
}

/// A pattern, and what stands in the place of what it finds.
#[derive(Debug, Clone)]
pub struct Mask {
    /// What is looked for.
    pub pattern: Regex,
    /// What stands there instead; `$1` is what the first group found.
    pub with: String,
}

impl Keeping {
    /// The failure as it is kept, and what was withheld of it. Equal values have equal hashes under one `key`.
    pub(super) fn cut(&self, failure: &Failure, key: &[u8]) -> (Failure, Kept) {
        let mut kept = Kept::default();
        let whole = &failure.message;
        let message = Message {
            id: whole.id.clone(),
            key: whole.key.clone(),
            headers: self.headers(&whole.headers, key, &mut kept),
            body: None,
            // No policy sees more of them.
            properties: Properties { content_type: whole.properties.content_type.clone(), ..Properties::default() },
            timestamp: whole.timestamp,
        };
        let mut error = failure.error.clone();
        self.mask(&mut error.text, "error.text", &mut kept);
        if let Some(detail) = &mut error.detail {
            self.mask(detail, "error.detail", &mut kept);
        }
        // After the masks, which would not know half of what they look for.
        let error = shown_error(&error);
        // A null body is not an empty one, also to a policy that asks for none of its bytes.
        let body = whole.body.as_ref().map(|body| {
            let wanted = usize::try_from(self.body).unwrap_or(usize::MAX);
            if body.len() > wanted {
                kept.body_hash = Some(hash(key, body));
            }
            body.slice(..body.len().min(wanted))
        });
        let body_size = failure.body_size.max(whole.body_size() as u64);
        let message = Message { body, ..message }.into();
        (Failure { message, body_size, error, ..Failure::clone(failure) }, kept)
    }

    fn headers(&self, headers: &Headers, key: &[u8], kept: &mut Kept) -> Headers {
        let mut held = Headers::new();
        for (name, value) in headers.iter() {
            if !self.headers.iter().any(|pattern| fits(pattern, name)) {
                let written = serde_json::to_vec(value).expect("a header's value has a JSON form");
                kept.withheld_headers.push((name.to_owned(), hash(key, &written)));
                continue;
            }
            let mut value = value.clone();
            if let (Some(text), HeaderValue::Text(_) | HeaderValue::ShortText(_)) = (value.as_str(), &value) {
                let mut text = text.to_owned();
                if self.mask(&mut text, &format!("headers.{name}"), kept) {
                    value = text.into();
                }
            }
            held.push(name, value);
        }
        held
    }

    fn mask(&self, text: &mut String, place: &str, kept: &mut Kept) -> bool {
        let before = kept.masked.len();
        for Mask { pattern, with } in &self.masks {
            if let std::borrow::Cow::Owned(masked) = pattern.replace_all(text, with.as_str()) {
                *text = masked;
                if kept.masked.len() == before {
                    kept.masked.push(place.to_owned());
                }
            }
        }
        kept.masked.len() > before
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        _ if pattern == "*" => true,
        (Some(end), _) => name.ends_with(end),
        (None, Some(begin)) => name.starts_with(begin),
        (None, None) => name == pattern,
    }
}

/// Sixteen bytes are enough to tell values apart, and the key keeps them from being found by trying.
fn hash(key: &[u8], value: &[u8]) -> String {
    let digest = Sha256::new().chain_update(key).chain_update(value).finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::handler_error::HandlerError;

    fn failure() -> Failure {
        let message =
            Message::new("0123456789").with_id("1").with_header("x-tenant", "7").with_header("x-token", "s3cret");
        let error =
            HandlerError { detail: Some("card 4111111111111111".to_owned()), ..HandlerError::new("k", "of 42") };
        Failure {
            message: message.into(),
            body_size: 10,
            error,
            ..Failure::from_written(&serde_json::json!({})).unwrap()
        }
    }

    #[test]
    fn by_default_no_value_of_a_header_and_no_body_is_kept() {
        let (cut, kept) = Keeping::default().cut(&failure(), b"key");
        assert_eq!((cut.message.body.as_deref(), cut.body_size, cut.message.headers.len()), (Some(&b""[..]), 10, 0));
        let names: Vec<_> = kept.withheld_headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x-tenant", "x-token"]);
        assert!(kept.body_hash.is_some() && !kept.has_body(&cut, 1) && kept.has_body(&cut, 0));
        let text = format!("{}{}", serde_json::to_string(&cut).unwrap(), serde_json::to_string(&kept).unwrap());
        assert!(!text.contains("s3cret") && !text.contains("01234"), "{text}");
    }

    #[test]
    fn what_is_allowed_is_kept_as_it_was() {
        let keeping = Keeping { headers: vec!["x-*".to_owned()], body: 10, masks: Vec::new() };
        let (cut, kept) = keeping.cut(&failure(), b"key");
        assert_eq!((cut, kept.is_everything()), (failure(), true));
    }

    #[test]
    fn a_body_is_kept_up_to_the_bytes_that_are_allowed_and_a_null_one_stays_null() {
        let keeping = Keeping { body: 4, ..Keeping::default() };
        let (cut, kept) = keeping.cut(&failure(), b"key");
        assert_eq!(cut.message.body, Some(Bytes::from_static(b"0123")));
        assert!(kept.has_body(&cut, 4) && !kept.has_body(&cut, 5));
        for body in [None, Some(Bytes::new())] {
            let message = Message { body: body.clone(), ..Message::default() }.into();
            let (cut, kept) = Keeping::default().cut(&Failure { message, body_size: 0, ..failure() }, b"key");
            assert_eq!((&cut.message.body, kept.body_hash), (&body, None));
        }
    }

    #[test]
    fn what_masks_find_is_gone_and_the_place_is_named() {
        let mask = Mask { pattern: Regex::new(r"\d{16}|s3cret").unwrap(), with: "***".to_owned() };
        let keeping = Keeping { headers: vec!["*token".to_owned()], masks: vec![mask], ..Keeping::default() };
        let (cut, kept) = keeping.cut(&failure(), b"key");
        assert_eq!((cut.error.text.as_str(), cut.error.detail.as_deref()), ("of 42", Some("card ***")));
        assert_eq!(cut.message.headers.text("x-token"), Some("***"));
        assert_eq!(kept.masked, ["headers.x-token", "error.detail"]);
    }

    #[test]
    fn masks_find_what_the_bound_on_an_error_would_cut_in_two() {
        let mask = Mask { pattern: Regex::new(r"\d{16}").unwrap(), with: "***".to_owned() };
        let keeping = Keeping { masks: vec![mask], ..Keeping::default() };
        let text = format!("{}4111111111111111", "x".repeat(4 * 1024 - 8));
        let failure = Failure { error: HandlerError::new("k", text), ..failure() };
        let (cut, kept) = keeping.cut(&failure, b"key");
        assert!(!cut.error.text.contains("4111"), "{}", cut.error.text);
        assert!(kept.masked.contains(&"error.text".to_owned()));
    }

    #[test]
    fn equal_values_have_equal_hashes_under_one_key_alone() {
        let hashes = |key: &[u8]| Keeping::default().cut(&failure(), key).1;
        assert_eq!(hashes(b"a"), hashes(b"a"));
        assert_ne!(hashes(b"a"), hashes(b"b"));
    }
}
