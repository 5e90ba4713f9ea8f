//! How cases are written: a table of them in TOML or JSON, with the route and the settings that they share.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::expectation::Expectation;
use super::route::{WrittenRoute, example_route};
use super::{Case, MAX_CASES};
use crate::failure::Failure;
use crate::policy::route_record::RouteRecord;
use crate::toml_json;

/// A table of cases, read and found right.
#[derive(Debug, Clone)]
pub struct CaseTable {
    /// The cases, in the order in which they are written.
    pub cases: Vec<Case>,
    /// The table as JSON, as a policy carries it.
    pub written: Value,
}

/// A table of cases that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", case.as_ref().map(|name| format!("case {name:?}: ")).unwrap_or_default())]
pub struct CaseError {
    /// The case's name, or its position from 1; `None` for the table as a whole.
    pub case: Option<String>,
    /// Where in it, and what is wrong.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of cases")]
struct WrittenTable {
    route: Option<Value>,
    settings: Option<Value>,
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
    /// What is wrong, and in which case.
    pub fn from_toml(text: &str) -> Result<Self, CaseError> {
        Self::from_value(toml_json::parse(text).map_err(|error| whole(error.to_string().trim_end()))?)
    }

    /// Reads a table in JSON.
    ///
    /// # Errors
    /// What is wrong, and in which case.
    pub fn from_json(text: &str) -> Result<Self, CaseError> {
        Self::from_value(serde_json::from_str(text).map_err(|error| whole(format!("not JSON: {error}")))?)
    }

    pub(super) fn from_value(written: Value) -> Result<Self, CaseError> {
        let table: WrittenTable =
            serde_path_to_error::deserialize(&written).map_err(|error| explained(&written, &error))?;
        if table.case.is_empty() {
            return Err(whole("the table has no cases"));
        }
        if table.case.len() > MAX_CASES {
            return Err(whole(format!("{} cases; a policy carries at most {MAX_CASES}", table.case.len())));
        }
        let route = table.route.as_ref().map_or_else(|| Ok(Arc::new(example_route())), record).map_err(whole)?;
        let settings = Arc::new(table.settings.unwrap_or_else(nothing));
        let cases = table.case.into_iter().map(|case| {
            let name = case.name.clone();
            case.complete(&route, &settings).map_err(|message| CaseError { case: Some(name), message })
        });
        let cases = cases.collect::<Result<_, _>>()?;
        Ok(Self { cases, written })
    }
}

impl WrittenCase {
    fn complete(self, route: &Arc<RouteRecord>, settings: &Arc<Value>) -> Result<Case, String> {
        let route = self.route.as_ref().map_or_else(|| Ok(Arc::clone(route)), record)?;
        if self.expect.is_empty() {
            return Err("it expects nothing: write at least the `action` under `expect`".into());
        }
        let failure = Failure::from_written(&self.failure).map_err(|error| format!("failure: {error}"))?;
        let settings = self.settings.map_or_else(|| Arc::clone(settings), Arc::new);
        Ok(Case { name: self.name, route, settings, failure, expect: self.expect })
    }
}

fn record(written: &Value) -> Result<Arc<RouteRecord>, String> {
    let written: WrittenRoute = serde_path_to_error::deserialize(written)
        .map_err(|error| format!("route.{}: {}", error.path(), error.inner()))?;
    written.record().map(Arc::new).map_err(|message| format!("route: {message}"))
}

fn whole(message: impl Into<String>) -> CaseError {
    CaseError { case: None, message: message.into() }
}

/// Where the path leads into a case, that case by its name.
fn explained(written: &Value, error: &serde_path_to_error::Error<serde_json::Error>) -> CaseError {
    use serde_path_to_error::Segment;

    let mut path = error.path().iter();
    let place = match (path.next(), path.next()) {
        (Some(Segment::Map { key }), Some(Segment::Seq { index })) if key == "case" => Some(*index),
        _ => None,
    };
    let Some(index) = place else { return whole(format!("{}: {}", error.path(), error.inner())) };
    let rest: Vec<_> = path.map(ToString::to_string).collect();
    let name = written["case"][index]["name"].as_str().map_or_else(|| format!("number {}", index + 1), str::to_owned);
    let place = if rest.is_empty() { String::new() } else { format!("{}: ", rest.join(".")) };
    CaseError { case: Some(name), message: format!("{place}{}", error.inner()) }
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
    fn what_is_wrong_names_the_case() {
        let wrong = |case: &str| CaseTable::from_toml(&format!("[[case]]\n{case}")).unwrap_err().to_string();
        let name = "name = \"late\"\n";
        assert!(wrong(&format!("{name}expect = {{}}")).starts_with("case \"late\": it expects nothing"));
        assert!(
            wrong(&format!("{name}expect = {{ acton = \"drop\" }}"))
                .starts_with("case \"late\": expect.acton: unknown field")
        );
        assert!(
            wrong(&format!("{name}expect = {{ action = \"drop\" }}\nfailure = {{ attempts = 2 }}"))
                .starts_with("case \"late\": failure: attempts: unknown field")
        );
        assert!(
            wrong(&format!("{name}expect = {{ action = \"drop\" }}\nroute = {{ tiers = [\"soon\"] }}"))
                .starts_with("case \"late\": route: tier \"soon\" is no duration")
        );
        assert!(wrong("expect = { action = \"drop\" }").starts_with("case \"number 1\": missing field `name`"));
        assert_eq!(CaseTable::from_toml("case = []").unwrap_err().to_string(), "the table has no cases");
    }
}
