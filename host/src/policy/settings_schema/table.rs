//! A settings schema as a list, to be read.

use std::cell::Cell;

use serde::Serialize;
use serde_json::Value;

use super::super::text::one_line;

/// How deep settings are listed, and how many: a schema may refer to itself.
const MAX_DEPTH: usize = 8;
const MAX_SETTINGS: usize = 200;
/// How many schemas are looked at to say what one setting may be: forms within forms may refer to each other.
const MAX_FORMS: usize = 100;
/// The longest text of one setting, in bytes.
const MAX_TEXT: usize = 1024;

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Its name, with those that it is in before it: `retry.max_attempts`, `rules[].kinds`.
    pub name: String,
    /// What it may be, in the words of JSON Schema.
    #[serde(rename = "type")]
    pub kind: String,
    /// The settings around it are of no use without it.
    pub required: bool,
    /// What it is where it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What it does, as the schema says.
    pub meaning: String,
}

/// The settings that a schema knows by name. What a schema says in other ways is left out.
#[must_use]
pub fn settings(schema: &Value) -> Vec<Setting> {
    let mut found = Vec::new();
    members(schema, schema, "", 0, &mut found);
    found
}

fn members(root: &Value, schema: &Value, prefix: &str, depth: usize, found: &mut Vec<Setting>) {
    let schema = resolved(root, schema);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|known| known == name))
    };
    for (name, written) in properties {
        if depth == MAX_DEPTH || found.len() == MAX_SETTINGS {
            return;
        }
        let target = resolved(root, written);
        let path = format!("{prefix}{name}");
        // What stands beside a reference is about this setting; what it leads to, about all of the kind.
        let said = |key: &str| written.get(key).or_else(|| target.get(key));
        found.push(Setting {
            name: one_line(&path, MAX_TEXT),
            kind: one_line(&kind(root, target, depth, &Cell::new(MAX_FORMS)), MAX_TEXT),
            required: required(name),
            default: said("default").cloned(),
            meaning: one_line(said("description").and_then(Value::as_str).unwrap_or_default(), MAX_TEXT),
        });
        members(root, target, &format!("{path}."), depth + 1, found);
        if let Some(items) = target.get("items") {
            members(root, items, &format!("{path}[]."), depth + 1, found);
        }
    }
}

/// The schema that a local reference leads to, or the schema itself.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// `left`: how many more schemas are looked at.
fn kind(root: &Value, schema: &Value, depth: usize, left: &Cell<usize>) -> String {
    let schema = resolved(root, schema);
    if depth == MAX_DEPTH || left.get() == 0 {
        return "…".to_owned();
    }
    left.set(left.get() - 1);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    for forms in ["oneOf", "anyOf"] {
        if let Some(forms) = schema.get(forms).and_then(Value::as_array) {
            let mut kinds: Vec<_> =
                forms.iter().take(MAX_FORMS).map(|form| kind(root, form, depth + 1, left)).collect();
            kinds.dedup();
            return kinds.join(" | ");
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items") {
            Some(items) => format!("array of {}", kind(root, items, depth + 1, left)),
            None => "array".to_owned(),
        },
        Some(Value::String(name)) => format!("{name}{}", range(schema)),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ") + &range(schema)
        }
        _ => "any".to_owned(),
    }
}

fn range(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", from {least}"),
        (None, Some(most)) => format!(", up to {most}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_listed_with_those_inside_them() {
        let schema = json!({
            "required": ["rules"],
            "properties": {
                "give_up_after": { "description": "Try no more then.", "$ref": "#/$defs/duration", "default": "24h" },
                "mode": { "enum": ["fast", "slow"] },
                "rules": { "type": "array", "items": { "$ref": "#/$defs/rule" } },
            },
            "$defs": {
                "duration": { "description": "A duration.", "oneOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] },
                "rule": { "type": "object", "properties": { "kinds": { "type": "array", "items": { "type": "string" } } } },
            },
        });
        let listed: Vec<_> = settings(&schema)
            .into_iter()
            .map(|s| {
                format!(
                    "{} / {} / {} / {:?} / {}",
                    s.name,
                    s.kind,
                    s.required,
                    s.default.map(|d| d.to_string()),
                    s.meaning
                )
            })
            .collect();
        assert_eq!(
            listed,
            [
                r#"give_up_after / string | integer, from 0 / false / Some("\"24h\"") / Try no more then."#,
                r#"mode / "fast" | "slow" / false / None / "#,
                r#"rules / array of object / true / None / "#,
                r#"rules[].kinds / array of string / false / None / "#,
            ]
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_or_to_nothing_ends() {
        let tree = json!({ "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#/none" }, "c": { "$ref": "#/properties/c" } } });
        assert!(settings(&tree).len() <= MAX_SETTINGS);
        let form = json!({ "$ref": "#/$defs/a" });
        let forms = json!({ "properties": { "x": form }, "$defs": { "a": { "oneOf": vec![form; 30] } } });
        assert_eq!(settings(&forms).len(), 1, "thirty forms, each of thirty, and so on");
        for odd in [json!(null), json!(true), json!({ "properties": [] }), json!({ "properties": { "a": 5 } })] {
            assert!(settings(&odd).len() <= 1, "{odd}");
        }
    }
}
