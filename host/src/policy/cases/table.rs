//! How cases are written: a table of them in TOML or JSON, with the route and the settings that they share.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::expectation::Expectation;
use super::place::Place;
use super::route::{WrittenRoute, example_route};
use super::{Case, MAX_CASES};
use crate::failure::Failure;
use crate::policy::route_record::RouteRecord;
use crate::toml_json;

/// A table of cases, read and found right.
#[derive(Debug, Clone)]
pub struct CaseTable {
    /// The cases, in the order in which they are written. At least one; no two have the same name.
    pub cases: Vec<Case>,
    /// The table as JSON, as a policy carries it.
    pub written: Value,
}

/// A table of cases that cannot be used. Displayed as `LINE:COLUMN: case "NAME": WHAT`, as far as these are known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}{message}",
    place.map(|place| format!("{place}: ")).unwrap_or_default(),
    case.as_ref().map(|name| format!("case {name:?}: ")).unwrap_or_default()
)]
pub struct CaseError {
    /// Where in the text, where there is one that says.
    pub place: Option<Place>,
    /// The case's name, or its position from 1; `None` for the table as a whole.
    pub case: Option<String>,
    /// Where in the case or the table, and what is wrong.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of cases")]
struct WrittenTable {
    route: Option<Value>,
    settings: Option<Value>,
    #[serde(default)]
    case: Vec<WrittenCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a case, which is a table")]
struct WrittenCase {
    name: String,
    route: Option<Value>,
    settings: Option<Value>,
    #[serde(default = "nothing")]
    failure: Value,
    expect: Expectation,
}

fn nothing() -> Value {
    Value::Object(serde_json::Map::new())
}

impl CaseTable {
    /// Reads a table in TOML.
    ///
    /// # Errors
    /// What is wrong, where, and in which case.
    pub fn from_toml(text: &str) -> Result<Self, CaseError> {
        let written = toml_json::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            let message = match (error.message(), text.get(span.clone())) {
                ("duplicate key", Some("case")) => "there are several [case] tables; write [[case]] above each".into(),
                (message, _) => format!("not TOML: {}", message.replace('\n', ", ")),
            };
            CaseError { place: Some(Place::of(text, span.start)), case: None, message }
        })?;
        Self::read_value(written, |path| Place::in_toml(text, path))
    }

    /// Reads a table in JSON.
    ///
    /// # Errors
    /// What is wrong, where (for what is no JSON), and in which case.
    pub fn from_json(text: &str) -> Result<Self, CaseError> {
        let written = serde_json::from_str(text).map_err(|error| CaseError {
            place: Some(Place { line: error.line(), column: error.column() }),
            case: None,
            message: format!("not JSON: {}", without_place(&error)),
        })?;
        Self::read_value(written, |_| None)
    }

    /// The cases of a table of which nothing else is needed, so that what is written moves and is not there twice.
    pub(super) fn cases_of(written: Value) -> Result<Vec<Case>, CaseError> {
        let count = written["case"].as_array().map_or(0, Vec::len);
        let names: Vec<_> = (0..count).map(|index| name_of(&written, index)).collect();
        let cases = is_a_list(&written).and_then(|()| read(written, "")).and_then(complete);
        cases.map_err(|wrong| wrong.in_its_case(|index| names.get(index).cloned().flatten()))
    }

    fn read_value(written: Value, place: impl Fn(&str) -> Option<Place>) -> Result<Self, CaseError> {
        match is_a_list(&written).and_then(|()| read(&written, "")).and_then(complete) {
            Ok(cases) => Ok(Self { cases, written }),
            Err(wrong) => {
                Err(CaseError { place: place(&wrong.path), ..wrong.in_its_case(|index| name_of(&written, index)) })
            }
        }
    }
}

fn name_of(written: &Value, index: usize) -> Option<String> {
    written["case"][index]["name"].as_str().map(str::to_owned)
}

/// Something wrong in a table.
struct Wrong {
    /// Where, such as `case[2].expect.delay`.
    path: String,
    message: String,
}

impl Wrong {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }

    fn within(self, path: &str) -> Self {
        Self { path: joined(path, &self.path), ..self }
    }

    /// Where the path leads into a case, that case by its name and the rest of the path.
    fn in_its_case(self, name: impl Fn(usize) -> Option<String>) -> CaseError {
        let inside = self.path.strip_prefix("case[").and_then(|rest| rest.split_once(']'));
        let index = inside.and_then(|(index, _)| index.parse::<usize>().ok());
        let rest = match (index, inside) {
            (Some(_), Some((_, rest))) => rest.trim_start_matches('.'),
            _ => &self.path,
        };
        let case = index.map(|index| name(index).unwrap_or_else(|| format!("number {}", index + 1)));
        let message = if rest.is_empty() { self.message } else { format!("{rest}: {}", self.message) };
        CaseError { place: None, case, message }
    }
}

fn is_a_list(written: &Value) -> Result<(), Wrong> {
    if written["case"].is_object() {
        return Err(Wrong::new("case", "cases are a list, and this is a single table; write [[case]] above each"));
    }
    Ok(())
}

fn complete(table: WrittenTable) -> Result<Vec<Case>, Wrong> {
    if table.case.is_empty() {
        return Err(Wrong::new("", "it has no cases; write [[case]] above each"));
    }
    if table.case.len() > MAX_CASES {
        return Err(Wrong::new("", format!("{} cases; a policy carries at most {MAX_CASES}", table.case.len())));
    }
    let route = table.route.as_ref().map_or_else(|| Ok(Arc::new(example_route())), record)?;
    let settings = Arc::new(table.settings.unwrap_or_else(nothing));
    let mut names = HashSet::new();
    let cases = table.case.into_iter().enumerate().map(|(index, case)| {
        let path = format!("case[{index}]");
        if case.name.trim().is_empty() {
            return Err(Wrong::new(format!("{path}.name"), "a name says what the case shows, and this one is empty"));
        }
        if !names.insert(case.name.clone()) {
            return Err(Wrong::new(format!("{path}.name"), "an earlier case has this name too; give each its own"));
        }
        case.complete(&route, &settings).map_err(|wrong| wrong.within(&path))
    });
    cases.collect()
}

impl WrittenCase {
    fn complete(self, route: &Arc<RouteRecord>, settings: &Arc<Value>) -> Result<Case, Wrong> {
        let route = self.route.as_ref().map_or_else(|| Ok(Arc::clone(route)), record)?;
        self.expect.check().map_err(|message| Wrong::new("expect", message))?;
        let failure = Failure::from_written(&self.failure)
            .map_err(|error| Wrong::new(error.path, error.message).within("failure"))?;
        let settings = self.settings.map_or_else(|| Arc::clone(settings), Arc::new);
        Ok(Case { name: self.name, route, settings, failure, expect: self.expect })
    }
}

fn record(written: &Value) -> Result<Arc<RouteRecord>, Wrong> {
    let written: WrittenRoute = read(written, "route")?;
    written.record().map(Arc::new).map_err(|message| Wrong::new("route.tiers", message))
}

fn read<'de, T: Deserialize<'de>>(
    written: impl Deserializer<'de, Error = serde_json::Error>,
    within: &str,
) -> Result<T, Wrong> {
    serde_path_to_error::deserialize(written)
        .map_err(|error| Wrong::new(error.path().to_string(), error.inner().to_string()).within(within))
}

/// One path behind the other. The path of a document as a whole is `.` or empty.
fn joined(path: &str, rest: &str) -> String {
    match (path, rest) {
        (path, "" | ".") => path.to_owned(),
        ("", rest) => rest.to_owned(),
        (path, rest) if rest.starts_with('[') => format!("{path}{rest}"),
        (path, rest) => format!("{path}.{rest}"),
    }
}

/// What serde_json says, without the place at its end.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.strip_suffix(&format!(" at line {} column {}", error.line(), error.column())).unwrap_or(&message).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        [route]
        name = "invoices"
        dead_letters = ["default", "invalid"]
        tiers = ["5m", "30s"]
        retry = { max_attempts = 2, initial_delay = "1s" }

        [settings]
        give_up_after = "24h"

        [[case]]
        name = "first"
        failure = { attempt = 2, error = "timeout" }
        expect = { action = "retry", delay = "1s" }

        [[case]]
        name = "second"
        settings = {}
        expect = { action = "dead-letter" }
    "#;

    #[test]
    fn cases_share_the_route_and_the_settings_of_their_table() {
        let table = CaseTable::from_toml(TABLE).unwrap();
        let [first, second] = &table.cases[..] else { panic!("{table:?}") };
        assert_eq!((first.route.name.as_str(), first.route.source.as_str()), ("invoices", "invoices"));
        assert_eq!(first.route.tiers[0].name, "30s", "shortest first");
        assert_eq!(first.route.retry.max_attempts, 2);
        assert_eq!(first.settings["give_up_after"], "24h");
        assert_eq!(*second.settings, nothing(), "a case's own settings stand in the place of the table's");
        assert_eq!((first.failure.attempt, second.failure.attempt), (2, 1));
    }

    #[test]
    fn the_same_table_can_be_written_in_json() {
        let toml = CaseTable::from_toml(TABLE).unwrap();
        let json = CaseTable::from_json(&toml.written.to_string()).unwrap();
        assert_eq!(json.written, toml.written);
        assert_eq!(json.cases.len(), 2);
    }

    #[test]
    fn what_the_cases_of_a_table_share_is_there_once() {
        let table = CaseTable::from_toml(TABLE).unwrap();
        assert!(Arc::ptr_eq(&table.cases[0].route, &table.cases[1].route));
    }

    fn wrong(table: &str) -> String {
        CaseTable::from_toml(table).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_names_the_place_and_the_case() {
        let wrong = |case: &str| wrong(&format!("[[case]]\nname = \"late\"\n{case}"));
        for (case, message) in [
            ("expect = {}", "3:1: case \"late\": expect: it expects nothing"),
            ("expect = { acton = \"drop\" }", "3:12: case \"late\": expect.acton: unknown field `acton`"),
            (
                "expect = { delay = 5 }",
                "3:12: case \"late\": expect.delay: invalid type: integer `5`, expected a duration",
            ),
            (
                "expect.action = \"drop\"\nfailure = { attempts = 2 }",
                "4:13: case \"late\": failure.attempts: unknown field",
            ),
            (
                "expect.action = \"drop\"\nfailure.error.knd = 'x'",
                "4:15: case \"late\": failure.error.knd: unknown field",
            ),
            (
                "expect.action = \"drop\"\nroute = { tiers = [\"soon\"] }",
                "4:11: case \"late\": route.tiers: \"soon\" is no duration",
            ),
            (
                "expect.action = \"drop\"\nroute.retry.max_atempts = 1",
                "4:13: case \"late\": route.retry.max_atempts: unknown field",
            ),
            ("failure = {}", "1:1: case \"late\": missing field `expect`"),
        ] {
            let found = wrong(case);
            assert!(found.starts_with(message), "{found}\n{message}");
        }
    }

    #[test]
    fn what_is_wrong_with_the_table_names_the_place() {
        assert_eq!(wrong("case = []"), "it has no cases; write [[case]] above each");
        assert_eq!(wrong("[settings]"), "it has no cases; write [[case]] above each");
        assert_eq!(
            wrong("\n[case]\nname = \"a\""),
            "2:2: case: cases are a list, and this is a single table; write [[case]] above each"
        );
        assert!(wrong("[case]\nname = \"a\"\n[case]").starts_with("3:2: there are several [case] tables"));
        assert!(
            wrong("[route]\ntier = []\n[[case]]\nname = \"a\"\nexpect.tier = \"5m\"")
                .starts_with("2:1: route.tier: unknown")
        );
        assert!(wrong("a = 1\nname = late").starts_with("2:8: not TOML: "));
        assert!(
            wrong("[[case]]\nexpect.action = \"drop\"").starts_with("1:1: case \"number 1\": missing field `name`")
        );
    }

    #[test]
    fn each_case_of_a_table_has_a_name_of_its_own() {
        let twice = "[[case]]\nname = \"a\"\nexpect.action = \"drop\"\n".repeat(2);
        assert_eq!(wrong(&twice), "5:1: case \"a\": name: an earlier case has this name too; give each its own");
        assert!(wrong(&twice.replace("\"a\"", "\" \"")).starts_with("2:1: case \" \": name: a name says"));
    }

    #[test]
    fn a_table_has_at_most_a_thousand_cases() {
        let table = |cases| {
            let cases = (0..cases).map(|n| format!("[[case]]\nname = \"{n}\"\nexpect.action = \"drop\"\n"));
            CaseTable::from_toml(&cases.collect::<String>())
        };
        assert_eq!(table(MAX_CASES).unwrap().cases.len(), MAX_CASES);
        assert_eq!(table(MAX_CASES + 1).unwrap_err().to_string(), "1001 cases; a policy carries at most 1000");
    }
}
