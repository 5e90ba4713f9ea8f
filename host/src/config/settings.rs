//! A policy's settings: any table, handed to the policy as JSON.

use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problems;

/// A table as a JSON object. Dates become texts.
pub(super) fn object(table: &DeTable<'_>, problems: &Problems<'_>) -> Value {
    let entries = table.iter().filter_map(|(key, item)| Some((key.get_ref().to_string(), value(item, problems)?)));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// Where a setting of the route with this index is written, or else the nearest table or list around it. `None` where
/// the route has no settings.
pub(super) fn place(text: &str, route: usize, pointer: &str) -> Option<Range<usize>> {
    let (root, _) = DeTable::parse_recoverable(text);
    let route = root.get_ref().get("routes")?.get_ref().as_array()?.get(route)?;
    let (key, value) = route.get_ref().as_table()?.get_key_value("settings")?;
    Some(within(value.get_ref(), key.span(), pointer))
}

/// Where a JSON pointer leads from a value, or else the nearest table or list around it. `span` is the value's own place.
pub(super) fn within(mut value: &DeValue<'_>, mut span: Range<usize>, pointer: &str) -> Range<usize> {
    for token in tokens(pointer) {
        let found = match value {
            DeValue::Table(table) => table.get_key_value(token.as_str()).map(|(key, value)| (key.span(), value)),
            DeValue::Array(items) => {
                token.parse().ok().and_then(|index: usize| items.get(index)).map(|item| (item.span(), item))
            }
            _ => None,
        };
        let Some((place, inner)) = found else { break };
        (span, value) = (place, inner.get_ref());
    }
    span
}

/// The parts of a JSON pointer.
pub(super) fn tokens(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"))
}

/// `None` where JSON cannot hold the value, which has been reported then.
fn value(item: &Spanned<DeValue<'_>>, problems: &Problems<'_>) -> Option<Value> {
    let number = match item.get_ref() {
        DeValue::String(text) => return Some(Value::String(text.to_string())),
        DeValue::Boolean(boolean) => return Some(Value::Bool(*boolean)),
        DeValue::Datetime(date) => return Some(Value::String(date.to_string())),
        DeValue::Array(items) => return items.iter().map(|item| value(item, problems)).collect(),
        DeValue::Table(table) => return Some(object(table, problems)),
        DeValue::Integer(written) => i64::from_str_radix(written.as_str(), written.radix())
            .map(Number::from)
            .or_else(|_| u64::from_str_radix(written.as_str(), written.radix()).map(Number::from))
            .ok(),
        DeValue::Float(written) => written.as_str().parse().ok().and_then(Number::from_f64),
    };
    if number.is_none() {
        problems.error(
            &item.span(),
            "policies get their settings as JSON, which cannot hold this number",
            "write a finite number of at most 64 bits, or a text",
        );
    }
    number.map(Value::Number)
}
