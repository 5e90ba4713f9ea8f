//! A policy's settings in a file of their own, for tools.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::problem::{Problem, Problems, Severity};
use super::source::Source;
use super::{ConfigError, json_place, settings};

/// Settings that were read from TOML or JSON.
#[derive(Debug, Clone)]
pub(crate) struct SettingsFile {
    source: Source,
    is_json: bool,
    value: Value,
}

impl SettingsFile {
    /// Reads a file: JSON where its name ends so, else TOML.
    ///
    /// # Errors
    /// It cannot be read, or is neither.
    pub(crate) fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            ConfigError::Unusable(format!(
                "cannot read the settings {path}: {error}\n = help: name a file with --settings"
            ))
        })?;
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        Self::parse(Source::new(path.to_owned(), text), is_json)
    }

    fn parse(source: Source, is_json: bool) -> Result<Self, ConfigError> {
        let value = if is_json { json(&source) } else { toml(&source) };
        match value {
            Ok(value) => Ok(Self { source, is_json, value }),
            Err(problems) => Err(ConfigError::Invalid(problems)),
        }
    }

    /// The settings.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Something is wrong with the setting that a JSON pointer leads to.
    pub(crate) fn problem(&self, severity: Severity, pointer: &str, message: &str, cure: &str) -> Problem {
        Problem::new(severity, &self.source, &self.place(pointer), message, cure)
    }

    fn place(&self, pointer: &str) -> Range<usize> {
        let text = &self.source.text;
        if self.is_json {
            return json_place::place(text, pointer);
        }
        let (root, _) = DeTable::parse_recoverable(text);
        // The settings as a whole are shown by their first line.
        settings::within(&DeValue::Table(root.into_inner()), first_line(text), pointer)
    }
}

fn first_line(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    start..text[start..].find('\n').map_or(text.len(), |end| start + end)
}

fn toml(source: &Source) -> Result<Value, Vec<Problem>> {
    let problems = Problems::new(source);
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    if let Some(error) = errors.iter().min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        problems.error(&error.span().unwrap_or_default(), error.message(), "put it right as TOML; see https://toml.io");
    }
    let value = settings::object(root.get_ref(), &problems);
    problems.finish().map(|_| value)
}

fn json(source: &Source) -> Result<Value, Vec<Problem>> {
    serde_json::from_str(&source.text).map_err(|error| {
        // It counts lines from 1 and bytes of a line, the one it is at included.
        let lines: usize = source.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let at = (lines + error.column().saturating_sub(1)).min(source.text.len());
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        vec![Problem::new(Severity::Error, source, &(at..at + 1), message, "put it right as JSON")]
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(name: &str, text: &str) -> Result<SettingsFile, String> {
        let source = Source::new(name.into(), text.to_owned());
        SettingsFile::parse(source, name.ends_with("json")).map_err(|error| error.to_string())
    }

    fn place(name: &str, text: &str, pointer: &str) -> (usize, usize) {
        let problem = read(name, text).unwrap().problem(Severity::Error, pointer, "", "");
        (problem.line(), problem.column())
    }

    #[test]
    fn settings_are_read_from_either_form() {
        let toml = read("s.toml", "[[rules]]\nkinds = ['a']\n").unwrap();
        assert_eq!(toml.value(), &json!({ "rules": [{ "kinds": ["a"] }] }));
        assert_eq!(read("s.json", "{\"rules\": [{ \"kinds\": [\"a\"] }] }").unwrap().value(), toml.value());
    }

    #[test]
    fn a_problem_points_at_its_line() {
        let toml = "wait = '1s'\n\n[[rules]]\nkinds = ['a']\n\n[[rules]]\nkinds = []\n";
        assert_eq!(place("s.toml", toml, "/rules/1/kinds"), (7, 1));
        assert_eq!(place("s.toml", toml, "/wait"), (1, 1));
        assert_eq!(place("s.toml", toml, ""), (1, 1));
        let json = "{\n  \"wait\": \"1s\",\n  \"rules\": [{\"kinds\": []}]\n}";
        assert_eq!(place("s.json", json, "/rules/0/kinds"), (3, 14));
        assert_eq!(place("s.json", json, "/none"), (1, 1));
    }

    #[test]
    fn what_is_neither_is_shown_where_it_goes_wrong() {
        assert!(read("s.toml", "a = 1\nb = \n").unwrap_err().contains("s.toml:2:"));
        assert!(read("s.json", "{\n  \"a\": 1,\n}").unwrap_err().contains("s.json:3:1"));
        assert!(read("s.json", "").unwrap_err().contains("s.json:1:1"));
        assert!(read("s.toml", "a = inf").unwrap_err().contains("cannot hold this number"));
    }
}
