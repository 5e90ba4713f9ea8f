//! What a case expects of a verdict, and where a verdict differs.

mod delay_range;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::verdict::{Action, Verdict};
pub use delay_range::DelayRange;
use delay_range::duration;

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
    /// Whether there are verdicts that would do, and others that would not.
    ///
    /// # Errors
    /// What has to be written in its place.
    pub(super) fn check(&self) -> Result<(), String> {
        if *self == Self::default() {
            return Err("it expects nothing; write at least the `action`".into());
        }
        if self.reason.as_deref() == Some("") {
            return Err("every reason holds an empty text; write a part of the one that is expected in `reason`".into());
        }
        let written = [
            ("delay", self.delay.is_some(), &[ActionName::Retry, ActionName::Delay][..]),
            ("tier", self.tier.is_some(), &[ActionName::DelayTo]),
            ("label", self.label.is_some(), &[ActionName::DeadLetter]),
            ("cooldown", self.cooldown.is_some(), &[ActionName::Requeue]),
        ];
        let mut written = written.into_iter().filter(|(_, written, _)| *written);
        let Some((field, _, actions)) = written.next() else { return Ok(()) };
        if let Some((other, ..)) = written.next() {
            return Err(format!("no verdict has both `{field}` and `{other}`; leave one out"));
        }
        match self.action {
            Some(action) if !actions.contains(&action) => {
                let with: Vec<_> = actions.iter().map(|action| action.name()).collect();
                let (action, with) = (action.name(), with.join(" or "));
                Err(format!("a verdict with the action {action} has no `{field}`, which belongs to {with}"))
            }
            _ => Ok(()),
        }
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
    fn headers_and_a_pause_are_compared_each_by_itself() {
        let mut verdict = Verdict::new(Action::Drop, "");
        verdict.headers.push(("tenant".into(), "acme".into()));
        verdict.pause_intake = Some(60_000);
        assert!(
            differences(json!({ "headers": { "tenant": "acme" }, "pause_intake": "30s..2m" }), &verdict).is_empty()
        );
        assert_eq!(
            differences(json!({ "headers": { "tenant": "b", "kind": "x" }, "pause_intake": "5s" }), &verdict),
            [
                "pause_intake is 1m, expected 5s",
                "header kind is absent, expected x",
                "header tenant is acme, expected b"
            ]
        );
    }

    #[test]
    fn what_every_verdict_or_none_would_meet_is_no_expectation() {
        let check = |written| serde_json::from_value::<Expectation>(written).unwrap().check();
        let wrong = |written| check(written).unwrap_err();
        assert!(wrong(json!({})).starts_with("it expects nothing"));
        assert!(wrong(json!({ "headers": {} })).starts_with("it expects nothing"));
        assert!(wrong(json!({ "reason": "" })).starts_with("every reason holds an empty text"));
        assert!(wrong(json!({ "delay": "1s", "tier": "5m" })).starts_with("no verdict has both `delay` and `tier`"));
        assert_eq!(
            wrong(json!({ "action": "retry", "tier": "5m" })),
            "a verdict with the action retry has no `tier`, which belongs to delay-to"
        );
        assert!(wrong(json!({ "action": "drop", "delay": "5m" })).ends_with("belongs to retry or delay"));
        for right in [
            json!({ "action": "retry", "delay": "1s" }),
            json!({ "action": "delay", "delay": "1s" }),
            json!({ "action": "delay-to", "tier": "5m" }),
            json!({ "action": "dead-letter", "label": "default" }),
            json!({ "action": "requeue", "cooldown": "1s" }),
            json!({ "delay": "1s", "pause_intake": "1m", "reason": "r", "headers": { "a": "b" } }),
        ] {
            assert_eq!(check(right.clone()), Ok(()), "{right}");
        }
    }
}
