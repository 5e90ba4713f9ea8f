//! The decision that is compared: of twenty rules, the first that fits the error's kind and the message's headers says how
//! often the message is tried and where it is parked.

use std::time::Duration;

use reprieve_sdk::{KindPattern, RetryPolicy, Verdict, duration};
use serde::Deserialize;

/// What every way of deciding is given, as `rules.json` has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Longer waits than this are no retries in process but delays.
    #[serde(with = "duration")]
    pub longest_retry: Duration,
    /// In order: the first that fits decides.
    pub rules: Vec<Rule>,
}

/// What to do about some errors.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The kinds of errors that are meant.
    pub kind: KindPattern,
    /// The header that the message must have besides, where there is a condition.
    #[serde(default)]
    pub header: Option<HeaderCondition>,
    /// How often, and with what waits.
    pub retry: RetryPolicy,
    /// Where the message is parked after the last attempt.
    pub label: String,
    /// Why, for a person.
    pub reason: String,
}

/// A header with exactly this text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderCondition {
    /// Its name.
    pub name: String,
    /// Its text.
    pub value: String,
}

/// The reason where no rule fits, and the message is parked without a label.
pub const NO_RULE: &str = "no rule fits";

impl Settings {
    /// Judges the failed attempt of this number, counted from 1. `header` gives the text of the message's header of a name.
    pub fn decide<'a>(&self, kind: &str, attempt: u32, header: impl Fn(&str) -> Option<&'a str>) -> Verdict {
        let fits = |rule: &&Rule| {
            rule.kind.matches(kind)
                && rule.header.as_ref().is_none_or(|wanted| header(&wanted.name) == Some(wanted.value.as_str()))
        };
        let Some(rule) = self.rules.iter().find(fits) else {
            return Verdict::dead_letter().because(NO_RULE);
        };
        if rule.retry.exhausted(attempt) {
            return Verdict::dead_letter_to(rule.label.as_str()).because(rule.reason.as_str());
        }
        let wait = rule.retry.delay(attempt, 0);
        let verdict = if wait <= self.longest_retry { Verdict::retry(wait) } else { Verdict::delay(wait) };
        verdict.because(rule.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let rules = r#"{"longest_retry": 5000, "rules": [
            {"kind": "timeout*", "header": {"name": "tenant", "value": "acme"}, "label": "acme", "reason": "acme",
             "retry": {"max_attempts": 2, "initial_delay": 1000}},
            {"kind": "timeout*", "label": "slow", "reason": "slow",
             "retry": {"max_attempts": 9, "initial_delay": 2000, "max_delay": 60000}}]}"#;
        serde_json::from_str(rules).unwrap()
    }

    fn decide(kind: &str, attempt: u32, tenant: Option<&'static str>) -> Verdict {
        settings().decide(kind, attempt, |name| tenant.filter(|_| name == "tenant"))
    }

    #[test]
    fn the_first_rule_that_fits_kind_and_header_decides() {
        assert_eq!(decide("timeout-read", 1, Some("acme")).reason, "acme");
        assert_eq!(decide("timeout-read", 1, Some("other")).reason, "slow");
        assert_eq!(decide("timeout-read", 1, None).reason, "slow");
    }

    #[test]
    fn waits_double_up_to_the_longest_and_leave_the_process_when_they_are_long() {
        let action = |attempt| decide("timeout", attempt, None).action;
        assert_eq!(action(1), Verdict::retry(Duration::from_secs(2)).action);
        assert_eq!(action(2), Verdict::retry(Duration::from_secs(4)).action);
        assert_eq!(action(3), Verdict::delay(Duration::from_secs(8)).action);
        assert_eq!(action(8), Verdict::delay(Duration::from_secs(60)).action);
    }

    #[test]
    fn the_last_attempt_parks_under_the_rules_label_and_without_a_rule_under_none() {
        assert_eq!(decide("timeout", 9, None), Verdict::dead_letter_to("slow").because("slow"));
        assert_eq!(decide("timeout", u32::MAX, Some("acme")), Verdict::dead_letter_to("acme").because("acme"));
        assert_eq!(decide("validation", 1, None), Verdict::dead_letter().because(NO_RULE));
    }
}
