//! Bytes in JSON and back, byte for byte.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// How a body stands in our envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Encoding {
    /// As it is: it is JSON itself.
    Json,
    /// As a JSON string.
    Text,
    /// As a JSON string in base64.
    Base64,
    /// There is no body, which is not the same as an empty one.
    Null,
}

/// Why bytes that stand in an answer or an envelope cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("a payload is not what its encoding says: {0}")]
pub(super) struct BadPayload(String);

/// The body as it stands in our envelope.
pub(super) fn encode(body: Option<&Bytes>) -> Result<(Encoding, Box<RawValue>), serde_json::Error> {
    let Some(body) = body else { return Ok((Encoding::Null, to_raw_value(&())?)) };
    let Ok(text) = std::str::from_utf8(body) else {
        return Ok((Encoding::Base64, to_raw_value(&STANDARD.encode(body))?));
    };
    match json(text) {
        Some(raw) => Ok((Encoding::Json, raw.to_owned())),
        None => Ok((Encoding::Text, to_raw_value(text)?)),
    }
}

/// The body that [`encode`] was given.
pub(super) fn decode(encoding: Encoding, raw: &RawValue) -> Result<Option<Bytes>, BadPayload> {
    Ok(match encoding {
        Encoding::Json => Some(raw_bytes(raw)),
        Encoding::Text => Some(string(raw)?.into()),
        Encoding::Base64 => Some(from_base64(raw)?),
        Encoding::Null => None,
    })
}

/// The bytes that were produced, from what a node answers. It answers with the same for `hi` and for the JSON string `"hi"`:
/// that is taken for text, unless the text alone would be JSON, which would have come back as it is.
pub(super) fn produced(raw: &RawValue, encoding: Option<&str>) -> Result<Bytes, BadPayload> {
    match encoding {
        Some("base64") => from_base64(raw),
        Some(other) => Err(BadPayload(format!("nothing is known of the encoding {other:?}"))),
        None if raw.get().starts_with('"') => match string(raw) {
            Ok(text) if serde_json::from_str::<&RawValue>(&text).is_err() => Ok(text.into()),
            // Half a surrogate pair, say, which no text has.
            Ok(_) | Err(_) => Ok(raw_bytes(raw)),
        },
        None => Ok(raw_bytes(raw)),
    }
}

/// The text as JSON, where it is that to its first and last byte: blanks around a value would be lost in an envelope.
fn json(text: &str) -> Option<&RawValue> {
    serde_json::from_str::<&RawValue>(text).ok().filter(|raw| raw.get().len() == text.len())
}

fn raw_bytes(raw: &RawValue) -> Bytes {
    Bytes::copy_from_slice(raw.get().as_bytes())
}

fn string(raw: &RawValue) -> Result<String, BadPayload> {
    serde_json::from_str(raw.get()).map_err(|error| BadPayload(error.to_string()))
}

fn from_base64(raw: &RawValue) -> Result<Bytes, BadPayload> {
    STANDARD.decode(string(raw)?).map(Bytes::from).map_err(|error| BadPayload(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_body_comes_back_from_an_envelope_byte_for_byte() {
        let bodies: [&[u8]; 12] = [
            b"",
            b"hi",
            b"\"hi\"",
            br#"{"b":1,  "a":1.0,"a":1e400}"#,
            b" {\"a\":1}\n",
            b"42",
            b"null",
            "gr\u{fc}\u{df}e \u{2028}<&>".as_bytes(),
            br#""\ud800""#,
            b"\xff\xfe",
            b"{\"a\":",
            &[b'['; 5000],
        ];
        for body in bodies {
            let body = Some(Bytes::copy_from_slice(body));
            let (encoding, raw) = encode(body.as_ref()).unwrap();
            assert_eq!(decode(encoding, &raw).unwrap(), body, "{encoding:?}");
        }
        let (encoding, raw) = encode(None).unwrap();
        assert_eq!(decode(encoding, &raw).unwrap(), None);
    }

    #[test]
    fn json_stands_in_an_envelope_as_it_is() {
        let (encoding, raw) = encode(Some(&Bytes::from_static(br#"{"b": 1, "a":2}"#))).unwrap();
        assert_eq!((encoding, raw.get()), (Encoding::Json, r#"{"b": 1, "a":2}"#));
    }

    #[test]
    fn what_a_node_answers_is_what_was_produced() {
        for (answered, encoding, was) in [
            (r#"{"a": 1}"#, None, &br#"{"a": 1}"#[..]),
            (r#""hello world""#, None, b"hello world"),
            (r#""h\u00e9""#, None, "h\u{e9}".as_bytes()),
            // Text that is JSON comes back as that JSON, so these were strings.
            (r#""42""#, None, br#""42""#),
            (r#""{\"a\":1}""#, None, br#""{\"a\":1}""#),
            (r#""\ud800""#, None, br#""\ud800""#),
            (r#""iVBORw0KGgo=""#, Some("base64"), b"\x89PNG\r\n\x1a\n"),
        ] {
            assert_eq!(produced(raw(answered), encoding).unwrap(), was, "{answered}");
        }
    }

    #[test]
    fn an_unknown_encoding_is_an_error_and_not_a_guess() {
        assert!(produced(raw("\"x\""), Some("zstd")).is_err());
        assert!(produced(raw("\"*\""), Some("base64")).is_err());
        assert!(produced(raw("1"), Some("base64")).is_err());
    }
}
