//! TOML as JSON, which is what policies get.

use serde::de::Error as _;
use serde_json::{Number, Value};

/// Reads a TOML document. Dates become texts.
///
/// # Errors
/// It is no TOML, or it has a number that JSON cannot hold.
pub(crate) fn parse(text: &str) -> Result<Value, toml::de::Error> {
    value(toml::Value::Table(toml::from_str(text)?))
}

fn value(item: toml::Value) -> Result<Value, toml::de::Error> {
    Ok(match item {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => {
            let written = Number::from_f64(number).map(Value::Number);
            written.ok_or_else(|| toml::de::Error::custom(format!("policies get JSON, which cannot hold {number}")))?
        }
        toml::Value::Boolean(boolean) => boolean.into(),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(items) => items.into_iter().map(value).collect::<Result<_, _>>()?,
        toml::Value::Table(table) => {
            let entries = table.into_iter().map(|(key, item)| Ok((key, value(item)?)));
            Value::Object(entries.collect::<Result<_, _>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_json_cannot_hold_is_refused() {
        assert_eq!(
            parse("a = [1, 2.5]\nb = { c = 2026-01-01 }").unwrap(),
            json!({ "a": [1, 2.5], "b": { "c": "2026-01-01" } })
        );
        for number in ["inf", "-inf", "nan"] {
            let refused = parse(&format!("a = [{{ b = {number} }}]")).unwrap_err().to_string();
            assert!(refused.contains("JSON, which cannot hold"), "{refused}");
        }
    }
}
