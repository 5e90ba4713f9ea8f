//! Arrays, tables and decimals as the JSON that anybody would write for them. Types of numbers are lost on the way, which
//! the host's own form keeps and a policy has no use for.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Number, Value};

use crate::message::HeaderValue;

/// The value in JSON: bytes that are not text in base64, times in milliseconds, numbers that JSON has not as null, and of
/// a table's entries of one name the last.
pub(super) fn plain_json(value: &HeaderValue) -> Value {
    match value {
        HeaderValue::Null => Value::Null,
        HeaderValue::Bool(value) => (*value).into(),
        HeaderValue::I8(number) => (*number).into(),
        HeaderValue::U8(number) => (*number).into(),
        HeaderValue::I16(number) => (*number).into(),
        HeaderValue::U16(number) => (*number).into(),
        HeaderValue::I32(number) => (*number).into(),
        HeaderValue::U32(number) => (*number).into(),
        HeaderValue::I64(number) => (*number).into(),
        HeaderValue::F32(number) => float((*number).into()),
        HeaderValue::F64(number) => float(*number),
        HeaderValue::Decimal { scale, value } => decimal(*scale, *value),
        HeaderValue::Timestamp(seconds) => seconds.saturating_mul(1000).into(),
        HeaderValue::ShortText(text) => text.as_str().into(),
        HeaderValue::Text(bytes) | HeaderValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => STANDARD.encode(bytes).into(),
        },
        HeaderValue::Array(values) => values.iter().map(plain_json).collect(),
        HeaderValue::Table(table) => table.iter().map(|(name, value)| (name.to_owned(), plain_json(value))).collect(),
    }
}

/// By way of its text: dividing by a power of ten would round twice.
fn decimal(scale: u8, value: u32) -> Value {
    float(format!("{value}e-{scale}").parse().unwrap_or(f64::NAN))
}

fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}
