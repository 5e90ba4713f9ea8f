//! TOML as JSON, which is what policies get.

use serde_json::{Number, Value};

/// Reads a TOML document. Dates and numbers that JSON cannot hold become texts.
pub(crate) fn parse(text: &str) -> Result<Value, toml::de::Error> {
    toml::from_str(text).map(|table| value(toml::Value::Table(table)))
}

fn value(item: toml::Value) -> Value {
    match item {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => {
            Number::from_f64(number).map_or_else(|| Value::String(number.to_string()), Value::Number)
        }
        toml::Value::Boolean(boolean) => boolean.into(),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(items) => items.into_iter().map(value).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(key, item)| (key, value(item))).collect()),
    }
}
