//! Bytes in JSON: text as a string, anything else as `{"base64": "…"}`, null as null.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Binary { base64: String },
}

pub(super) fn serialize<S: Serializer>(bytes: &Option<Bytes>, to: S) -> Result<S::Ok, S::Error> {
    match bytes {
        None => to.serialize_none(),
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => to.serialize_str(text),
            Err(_) => Form::Binary { base64: STANDARD.encode(bytes) }.serialize(to),
        },
    }
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    match Option::<Form>::deserialize(from)? {
        None => Ok(None),
        Some(Form::Text(text)) => Ok(Some(text.into())),
        Some(Form::Binary { base64 }) => {
            STANDARD.decode(base64).map(|bytes| Some(bytes.into())).map_err(serde::de::Error::custom)
        }
    }
}
