//! The standard policy's settings.

use std::time::Duration;

use serde::Deserialize;

use crate::{KindPattern, Problem, RetryOverrides, Route, duration};

/// The settings of [`Standard`](super::Standard). All may be left out.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Laid over the route's `retry` settings, field by field.
    pub retry: RetryOverrides,
    /// Tiers to go through once the retries are over, in this order, with one attempt after each.
    pub tiers: Vec<String>,
    /// What happens when nothing is left to try. `None`: dead-letter where the route has a default
    /// topic, else drop with a warning.
    pub exhausted: Option<Exhausted>,
    /// Try no more once the message is this old, nor where it would be older by the next attempt.
    #[serde(with = "duration::option")]
    pub give_up_after: Option<Duration>,
    /// The longest wait that the failing side is granted; a day where left out.
    #[serde(with = "duration::option")]
    pub max_retry_after: Option<Duration>,
    /// Other treatment for some kinds of errors. The first rule that matches counts.
    pub rules: Vec<Rule>,
}

/// Other treatment for some kinds of errors; what is left out is as in the settings around it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The kinds of errors that it is for.
    pub kinds: Vec<KindPattern>,
    /// As [`Settings::retry`], laid over that.
    #[serde(default)]
    pub retry: Option<RetryOverrides>,
    /// In place of [`Settings::tiers`].
    #[serde(default)]
    pub tiers: Option<Vec<String>>,
    /// In place of [`Settings::exhausted`].
    #[serde(default)]
    pub exhausted: Option<Exhausted>,
}

/// What happens to a message when nothing is left to try, such as `"drop"` or `{"delay-to": "30m"}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exhausted {
    /// Parked in the route's default dead-letter topic.
    DeadLetter,
    /// Parked in the dead-letter topic that has this label.
    DeadLetterTo(String),
    /// Tried again and again, each time through this tier, for as long as it takes.
    DelayTo(String),
    /// Acknowledged and forgotten.
    Drop,
}

impl Settings {
    /// What does not fit the route.
    pub(super) fn check(&self, route: &Route) -> Vec<Problem> {
        let mut problems = check_tiers(&self.tiers, "/tiers", route);
        problems.extend(self.exhausted.as_ref().and_then(|exhausted| exhausted.check("/exhausted", route)));
        for (index, rule) in self.rules.iter().enumerate() {
            let path = format!("/rules/{index}");
            if rule.kinds.is_empty() {
                let message = "the rule is for no kind of error: name some, such as \"timeout\" or \"http-5*\"";
                problems.push(Problem::at(format!("{path}/kinds"), message));
            }
            problems.extend(check_tiers(rule.tiers.as_deref().unwrap_or_default(), &format!("{path}/tiers"), route));
            problems.extend(rule.exhausted.as_ref().and_then(|end| end.check(&format!("{path}/exhausted"), route)));
        }
        problems
    }
}

impl Exhausted {
    fn check(&self, path: &str, route: &Route) -> Option<Problem> {
        match self {
            Self::DeadLetter => route.require_dead_letter("default", path).err(),
            Self::DeadLetterTo(label) => route.require_dead_letter(label, format!("{path}/dead-letter-to")).err(),
            Self::DelayTo(tier) => route.require_tier(tier, format!("{path}/delay-to")).err(),
            Self::Drop => None,
        }
    }
}

fn check_tiers(names: &[String], path: &str, route: &Route) -> Vec<Problem> {
    let named = names.iter().enumerate();
    named.filter_map(|(index, name)| route.require_tier(name, format!("{path}/{index}")).err()).collect()
}
