//! Settings against the JSON Schema that a policy gives of them. A host takes the policy's own word; a tool shows both.

mod table;

use std::error::Error;

use boon::{Compiler, Draft, ErrorKind, Schemas, UrlLoader, ValidationError};
use serde_json::Value;

use super::rejection::Problem;
use super::text::one_line;
pub use table::{Setting, settings};

/// What the schema is called where it has no `$id`. Nothing is there.
const ADDRESS: &str = "https://reprieve.invalid/settings.schema.json";
/// How many problems are told.
const MAX_PROBLEMS: usize = 20;
/// The longest message, in bytes.
const MAX_MESSAGE: usize = 1024;

/// A schema that cannot be used: why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableSchema(String);

/// Where the settings are not as the schema says; nothing where they are. Reads no file and no address, whatever the schema
/// refers to.
///
/// # Errors
/// The schema is none.
pub fn problems(schema: &Value, settings: &Value) -> Result<Vec<Problem>, UnusableSchema> {
    let unusable = |error: boon::CompileError| UnusableSchema(one_line(&error.to_string(), MAX_MESSAGE));
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.use_loader(Box::new(Nothing));
    compiler.add_resource(ADDRESS, schema.clone()).map_err(unusable)?;
    let mut schemas = Schemas::new();
    let index = compiler.compile(ADDRESS, &mut schemas).map_err(unusable)?;
    let mut found = Vec::new();
    if let Err(error) = schemas.validate(settings, index) {
        collect(&error, &mut found);
    }
    found.truncate(MAX_PROBLEMS);
    Ok(found)
}

/// Loads nothing.
struct Nothing;

impl UrlLoader for Nothing {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("it refers to {url}, and a settings schema has to stand alone").into())
    }
}

fn collect(error: &ValidationError<'_, '_>, found: &mut Vec<Problem>) {
    let path = error.instance_location.to_string();
    let mut add = |path: String, message: String| {
        found.push(Problem { path: one_line(&path, MAX_MESSAGE), message: one_line(&message, MAX_MESSAGE) });
    };
    match &error.kind {
        ErrorKind::AdditionalProperties { got } => {
            for name in got {
                add(
                    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
                    "there is no such setting".into(),
                );
            }
        }
        ErrorKind::Required { want } => {
            let names = want.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            add(path, format!("{names} {} missing", if want.len() == 1 { "is" } else { "are" }));
        }
        ErrorKind::Type { got, want } => {
            let want = want.iter().map(|wanted| wanted.to_string()).collect::<Vec<_>>().join(" or ");
            add(path, format!("it has to be of type {want}, not {got}"));
        }
        // One of them would be enough, so none of them alone is what is wrong.
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => {
            let mut ways = Vec::new();
            error.causes.iter().for_each(|cause| collect(cause, &mut ways));
            let ways: Vec<_> = ways.into_iter().map(|problem| problem.message).collect();
            add(path, format!("it has none of the forms that it may have: {}", ways.join("; or: ")));
        }
        _ if !error.causes.is_empty() => error.causes.iter().for_each(|cause| collect(cause, found)),
        kind => add(path, kind.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: Value, settings: Value) -> Vec<String> {
        problems(&schema, &settings).unwrap().iter().map(ToString::to_string).collect()
    }

    fn schema() -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "wait": { "$ref": "#/$defs/wait" },
                "rules": { "type": "array", "items": { "type": "object", "required": ["kind"] } },
                "mode": { "enum": ["fast", "slow"] },
            },
            "$defs": { "wait": { "oneOf": [{ "type": "string" }, { "type": "integer", "minimum": 0 }] } },
        })
    }

    #[test]
    fn settings_that_fit_have_no_problems() {
        assert!(told(schema(), json!({ "wait": "1s", "rules": [{ "kind": "timeout" }], "mode": "fast" })).is_empty());
    }

    #[test]
    fn each_setting_that_does_not_fit_is_named_by_its_pointer() {
        let mut told = told(schema(), json!({ "wait": true, "rules": [{}, 5], "mode": "odd", "mood/2": 1 }));
        told.sort();
        assert_eq!(
            told,
            [
                "/mode: value must be one of 'fast', 'slow'",
                "/mood~12: there is no such setting",
                "/rules/0: `kind` is missing",
                "/rules/1: it has to be of type object, not number",
                "/wait: it has none of the forms that it may have: it has to be of type string, not boolean; or: it has to be of type integer, not boolean",
            ]
        );
    }

    #[test]
    fn a_schema_that_is_none_is_said_to_be_none() {
        for schema in [json!({ "type": "wrong" }), json!({ "$ref": "#/nowhere" }), json!([]), json!({ "pattern": "(" })]
        {
            assert!(problems(&schema, &json!({})).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_schema_cannot_make_the_tool_read_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.json");
        std::fs::write(&file, "true").unwrap();
        let refused = problems(&json!({ "$ref": format!("file://{}", file.display()) }), &json!({})).unwrap_err();
        assert!(refused.to_string().contains("file://"), "{refused}");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let endless =
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } });
        assert!(problems(&endless, &json!({})).map_or(true, |problems| !problems.is_empty()));
    }
}
