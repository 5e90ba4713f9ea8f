//! Goes through rules until one matches. For measuring: its settings are as long as people's may well be, and it asks for
//! the headers that its rules name.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::time::Duration;

use reprieve_sdk::{Failure, HeaderNeeds, KindPattern, Needs, Policy, Problem, Route, Verdict, duration};
use serde::Deserialize;

/// A test makes a copy of the built file that panics in each decision, by overwriting the first word.
static DUTY: &str = "judges every failure";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    rules: Vec<Rule>,
}

/// The first rule whose pattern and header match says how long the message is delayed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    pattern: KindPattern,
    header: String,
    value: String,
    #[serde(with = "duration")]
    delay: Duration,
    label: String,
}

struct Rules(Vec<Rule>);

impl Policy for Rules {
    type Settings = Settings;

    fn configure(settings: Settings, _: &Route) -> Result<Self, Vec<Problem>> {
        Ok(Self(settings.rules))
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        assert!(black_box(DUTY).starts_with("judges"), "told not to judge");
        let matches = |rule: &&Rule| {
            rule.pattern.matches(&failure.error.kind) && failure.header_text(&rule.header) == Some(rule.value.as_str())
        };
        match self.0.iter().find(matches) {
            Some(rule) => Verdict::delay(rule.delay).because(rule.label.as_str()),
            None => Verdict::dead_letter().because("no rule is for this failure"),
        }
    }

    fn needs(&self) -> Needs {
        let headers: BTreeSet<_> = self.0.iter().map(|rule| rule.header.clone()).collect();
        Needs { headers: HeaderNeeds::Named(headers.into_iter().collect()), ..Needs::nothing() }
    }
}

reprieve_sdk::policy!(Rules);
