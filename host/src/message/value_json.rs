//! Headers in JSON. The common types stand as they are (`"text"`, `5` for a 64-bit integer, `0.5`, `true`,
//! `null`); every other names its type (`{"i32": 5}`), so that reading gives back exactly what was written.
//! A list of headers is a list of `[name, value]` pairs: order and duplicates are part of a message.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{HeaderValue, Headers};

/// The types that JSON has no literal for.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Named {
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    F32(f32),
    /// Doubles that JSON cannot write: `NaN`, `inf`, `-inf`.
    F64(String),
    Decimal(u8, u32),
    ShortText(String),
    TextBytes(String),
    Bytes(String),
    Timestamp(u64),
    Array(Vec<HeaderValue>),
    Table(Headers),
}

impl Serialize for HeaderValue {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let named = match self {
            Self::Null => return to.serialize_none(),
            Self::Bool(value) => return to.serialize_bool(*value),
            Self::I64(value) => return to.serialize_i64(*value),
            Self::F64(value) if value.is_finite() => return to.serialize_f64(*value),
            Self::F64(value) => Named::F64(value.to_string()),
            Self::F32(value) if value.is_finite() => Named::F32(*value),
            // A non-finite single keeps its meaning, not its width: JSON has neither.
            Self::F32(value) => Named::F64(value.to_string()),
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => return to.serialize_str(text),
                Err(_) => Named::TextBytes(STANDARD.encode(bytes)),
            },
            Self::I8(value) => Named::I8(*value),
            Self::U8(value) => Named::U8(*value),
            Self::I16(value) => Named::I16(*value),
            Self::U16(value) => Named::U16(*value),
            Self::I32(value) => Named::I32(*value),
            Self::U32(value) => Named::U32(*value),
            Self::Decimal { scale, value } => Named::Decimal(*scale, *value),
            Self::ShortText(text) => Named::ShortText(text.clone()),
            Self::Bytes(bytes) => Named::Bytes(STANDARD.encode(bytes)),
            Self::Timestamp(seconds) => Named::Timestamp(*seconds),
            Self::Array(values) => Named::Array(values.clone()),
            Self::Table(headers) => Named::Table(headers.clone()),
        };
        named.serialize(to)
    }
}

impl<'de> Deserialize<'de> for HeaderValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = HeaderValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a header value: text, a number, true, false, null, or {\"TYPE\": value}")
    }

    fn visit_unit<E>(self) -> Result<HeaderValue, E> {
        Ok(HeaderValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<HeaderValue, E> {
        Ok(HeaderValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<HeaderValue, E> {
        Ok(HeaderValue::I64(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<HeaderValue, E> {
        i64::try_from(value).map(HeaderValue::I64).map_err(|_| E::custom("an integer header holds 64 bits with a sign"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<HeaderValue, E> {
        Ok(HeaderValue::F64(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<HeaderValue, E> {
        Ok(text.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HeaderValue, A::Error> {
        let named = Named::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        let bytes = |text: String| STANDARD.decode(text).map(Into::into).map_err(A::Error::custom);
        Ok(match named {
            Named::I8(value) => HeaderValue::I8(value),
            Named::U8(value) => HeaderValue::U8(value),
            Named::I16(value) => HeaderValue::I16(value),
            Named::U16(value) => HeaderValue::U16(value),
            Named::I32(value) => HeaderValue::I32(value),
            Named::U32(value) => HeaderValue::U32(value),
            Named::F32(value) => HeaderValue::F32(value),
            Named::F64(text) => HeaderValue::F64(text.parse().map_err(A::Error::custom)?),
            Named::Decimal(scale, value) => HeaderValue::Decimal { scale, value },
            Named::ShortText(text) => HeaderValue::ShortText(text),
            Named::TextBytes(text) => HeaderValue::Text(bytes(text)?),
            Named::Bytes(text) => HeaderValue::Bytes(bytes(text)?),
            Named::Timestamp(seconds) => HeaderValue::Timestamp(seconds),
            Named::Array(values) => HeaderValue::Array(values),
            Named::Table(headers) => HeaderValue::Table(headers),
        })
    }
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Vec::<(String, HeaderValue)>::deserialize(from).map(|pairs| pairs.into_iter().collect())
    }
}
