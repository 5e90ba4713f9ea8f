//! What a case expects of a verdict, and where a verdict differs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::timestamp::millis;
use crate::verdict::{Action, Verdict};

/// What matters of a verdict. What is not given may be anything.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expectation {
    /// The action.
    pub action: Option<ActionName>,
    /// The delay of a retry or a delay.
    pub delay: Option<DelayRange>,
    /// The tier's name.
    pub tier: Option<String>,
    /// The dead letter's label; `default` is also right where the policy names none.
    pub label: Option<String>,
    /// The cool-down of a requeue.
    pub cooldown: Option<DelayRange>,
    /// For how long the route is to take no new messages.
    pub pause_intake: Option<DelayRange>,
    /// A part of the reason.
    pub reason: Option<String>,
    /// Headers that are added, among others.
    pub headers: BTreeMap<String, String>,
}

/// An action, without what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they are the actions of a verdict")]
pub enum ActionName {
    Retry,
    Delay,
    DelayTo,
    DeadLetter,
    Requeue,
    Drop,
}

impl ActionName {
    const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Delay => "delay",
            Self::DelayTo => "delay-to",
            Self::DeadLetter => "dead-letter",
            Self::Requeue => "requeue",
            Self::Drop => "drop",
        }
    }
}

/// A duration (`"1s"`), or the shortest and the longest (`"1s..2s"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayRange {
    shortest: u64,
    longest: u64,
}

impl DelayRange {
    fn contains(self, delay_ms: u64) -> bool {
        (self.shortest..=self.longest).contains(&delay_ms)
    }
}

impl fmt::Display for DelayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration(self.shortest))?;
        if self.shortest != self.longest {
            write!(f, "..{}", duration(self.longest))?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for DelayRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let part = |text: &str| {
            humantime::parse_duration(text.trim()).map(millis).map_err(|_| {
                de::Error::custom(format!(
                    "{text:?} is no duration; write one such as \"1s\", or a range such as \"1s..2s\""
                ))
            })
        };
        let (shortest, longest) = text.split_once("..").unwrap_or((&text, &text));
        Ok(Self { shortest: part(shortest)?, longest: part(longest)? })
    }
}

/// One thing that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What of the verdict, as it is called in a case.
    pub field: String,
    /// What was expected.
    pub expected: String,
    /// What the policy said.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, expected {}", self.field, self.got, self.expected)
    }
}

impl Expectation {
    /// Whether any verdict would do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Where the verdict is not as expected.
    #[must_use]
    pub fn differences(&self, verdict: &Verdict) -> Vec<Difference> {
        let Parts { delay, tier, label, cooldown } = Parts::of(&verdict.action);
        let action = self.action.map(ActionName::name);
        let mut found = Found(Vec::new());
        found.text("action", action, Some(verdict.action.name()));
        found.range("delay", self.delay, delay);
        found.text("tier", self.tier.as_deref(), tier);
        found.text("label", self.label.as_deref(), label);
        found.range("cooldown", self.cooldown, cooldown);
        found.range("pause_intake", self.pause_intake, verdict.pause_intake);
        if let Some(part) = &self.reason
            && !verdict.reason.contains(part.as_str())
        {
            found.add("reason", format!("a text with {part:?}"), format!("{:?}", verdict.reason));
        }
        for (name, value) in &self.headers {
            let got = verdict.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
            found.text(&format!("header {name}"), Some(value), got);
        }
        found.0
    }
}

/// What belongs to an action.
struct Parts<'a> {
    delay: Option<u64>,
    tier: Option<&'a str>,
    label: Option<&'a str>,
    cooldown: Option<u64>,
}

impl<'a> Parts<'a> {
    fn of(action: &'a Action) -> Self {
        let none = Self { delay: None, tier: None, label: None, cooldown: None };
        match action {
            Action::Retry { delay_ms } | Action::Delay { delay_ms } => Self { delay: Some(*delay_ms), ..none },
            Action::DelayTo { tier } => Self { tier: Some(tier), ..none },
            Action::DeadLetter { label } => Self { label: Some(label.as_deref().unwrap_or("default")), ..none },
            Action::Requeue { cooldown_ms } => Self { cooldown: *cooldown_ms, ..none },
            Action::Drop => none,
        }
    }
}

struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, field: &str, expected: String, got: String) {
        self.0.push(Difference { field: field.to_owned(), expected, got });
    }

    fn text(&mut self, field: &str, expected: Option<&str>, got: Option<&str>) {
        if let Some(expected) = expected
            && got != Some(expected)
        {
            self.add(field, expected.to_owned(), got.unwrap_or("absent").to_owned());
        }
    }

    fn range(&mut self, field: &str, expected: Option<DelayRange>, got: Option<u64>) {
        if let Some(expected) = expected
            && !got.is_some_and(|got| expected.contains(got))
        {
            self.add(field, expected.to_string(), got.map_or_else(|| "absent".to_owned(), duration));
        }
    }
}

fn duration(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn differences(expected: serde_json::Value, verdict: &Verdict) -> Vec<String> {
        let expected: Expectation = serde_json::from_value(expected).unwrap();
        expected.differences(verdict).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_what_is_written_has_to_hold() {
        let verdict = Verdict::new(Action::Retry { delay_ms: 1500 }, "it may pass");
        assert!(differences(json!({ "action": "retry" }), &verdict).is_empty());
        assert!(differences(json!({ "delay": "1s..2s", "reason": "may pass" }), &verdict).is_empty());
        assert_eq!(differences(json!({ "delay": "1s" }), &verdict), ["delay is 1s 500ms, expected 1s"]);
        assert_eq!(
            differences(json!({ "action": "drop", "reason": "never" }), &verdict),
            ["action is retry, expected drop", "reason is \"it may pass\", expected a text with \"never\""]
        );
    }

    #[test]
    fn what_the_action_has_not_is_absent() {
        let verdict = Verdict::new(Action::Drop, "");
        assert_eq!(
            differences(json!({ "delay": "1s", "tier": "5m" }), &verdict),
            ["delay is absent, expected 1s", "tier is absent, expected 5m"]
        );
    }

    #[test]
    fn a_dead_letter_without_a_label_has_the_default_one() {
        let verdict = Verdict::new(Action::DeadLetter { label: None }, "");
        assert!(differences(json!({ "label": "default" }), &verdict).is_empty());
        assert_eq!(differences(json!({ "label": "invalid" }), &verdict), ["label is default, expected invalid"]);
    }

    #[test]
    fn a_range_that_is_none_is_refused() {
        assert!(serde_json::from_value::<Expectation>(json!({ "delay": "1s..soon" })).is_err());
    }
}
