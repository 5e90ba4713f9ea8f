//! The standard policy: what judges where a route names no policy, and what a policy of your own can
//! leave the rest to.
//!
//! ```
//! use reprieve_sdk::standard::{Settings, Standard};
//! use reprieve_sdk::{Failure, Policy, Problem, Route, Verdict};
//!
//! struct Mine {
//!     standard: Standard,
//! }
//!
//! impl Policy for Mine {
//!     type Settings = Settings;
//!
//!     fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
//!         Ok(Self { standard: Standard::configure(settings, route)? })
//!     }
//!
//!     fn decide(&self, failure: &Failure) -> Verdict {
//!         match failure.error.kind.as_str() {
//!             "duplicate" => Verdict::drop().because("it was done before"),
//!             _ => self.standard.decide(failure),
//!         }
//!     }
//! }
//! ```

mod plan;
mod settings;

use std::time::Duration;

use humantime::format_duration;
use plan::{Plan, Step};
pub use settings::{Exhausted, Rule, Settings};

use crate::{Failure, KindPattern, Policy, Problem, Route, Verdict};

/// The standard policy.
///
/// Without settings it retries as the route's `retry` settings say, and then dead-letters, or drops
/// with a warning where the route has no default dead-letter topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    plan: Plan,
    rules: Vec<(Vec<KindPattern>, Plan)>,
    give_up_after: Option<Duration>,
    max_retry_after: Duration,
    route: Route,
}

/// The longest wait that the failing side is granted unless settings say otherwise: quotas are often renewed once
/// a day, and a longer one is more likely a mistake.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

impl Policy for Standard {
    type Settings = Settings;

    fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
        let plan = Plan::new(&settings, route);
        let rules: Vec<_> =
            settings.rules.iter().map(|rule| (rule.kinds.clone(), plan.changed_by(rule, route))).collect();

        let mut problems = settings.check(route);
        let in_retry = plan.retry.check();
        for (index, (_, plan)) in rules.iter().enumerate() {
            let path = format!("/rules/{index}/retry");
            let new = plan.retry.check().into_iter().filter(|problem| !in_retry.contains(problem));
            problems.extend(new.map(|problem| problem.under(&path)));
        }
        problems.extend(in_retry.into_iter().map(|problem| problem.under("/retry")));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            plan,
            rules,
            give_up_after: settings.give_up_after,
            max_retry_after: settings.max_retry_after.unwrap_or(MAX_RETRY_AFTER),
            route: route.clone(),
        })
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        let plan = self.plan_for(&failure.error.kind);
        if failure.expires_within(Duration::ZERO) {
            return self.end(plan, "the message has expired".to_owned());
        }
        if let Some(limit) = self.give_up_after
            && failure.age >= limit
        {
            return self.end(plan, format!("the message is older than {}", format_duration(limit)));
        }
        let count = plan.count(failure.attempt);
        let asked = self.retry_after(failure).unwrap_or_default();
        let Some(step) = plan.next(failure, asked) else { return self.end(plan, count) };
        if failure.expires_within(step.wait()) {
            return self.end(plan, "the message expires before it would be back".to_owned());
        }
        if let Some(limit) = self.give_up_after
            && failure.age.saturating_add(step.wait()) > limit
        {
            let wait = format_duration(step.wait());
            let limit = format_duration(limit);
            return self.end(plan, format!("{count}; after a wait of {wait} the message is older than {limit}"));
        }
        let reason = match failure.error.retry_after {
            Some(all) if all > asked => {
                let granted = format_duration(self.max_retry_after);
                format!("{count}; {granted} of the wait that is asked for are granted")
            }
            _ => count,
        };
        match step {
            Step::Wait(wait) => self.wait(wait, reason),
            Step::Tier(tier) => Verdict::delay_to(&tier.name).because(reason),
            Step::Delay(delay) => Verdict::delay(delay).because(reason),
        }
    }

    fn needs(&self) -> crate::Needs {
        crate::Needs::nothing()
    }

    fn settings_schema() -> Option<&'static str> {
        Some(include_str!("standard/settings.schema.json"))
    }
}

impl Standard {
    /// Parks the message for this reason where the route has a default dead-letter topic; else drops it
    /// with a warning, so that a poison message never blocks a source in silence.
    pub fn give_up(&self, reason: impl Into<String>) -> Verdict {
        Verdict::give_up(&self.route, reason)
    }

    /// How long the failing side asks to be left alone, at most the setting `max_retry_after`.
    #[must_use]
    pub fn retry_after(&self, failure: &Failure) -> Option<Duration> {
        failure.error.retry_after.map(|asked| asked.min(self.max_retry_after))
    }

    fn plan_for(&self, kind: &str) -> &Plan {
        let matching = self.rules.iter().find(|(kinds, _)| kinds.iter().any(|pattern| pattern.matches(kind)));
        matching.map_or(&self.plan, |(_, plan)| plan)
    }

    fn wait(&self, wait: Duration, reason: String) -> Verdict {
        let longest = self.route.limits.max_retry_delay;
        if wait <= longest {
            return Verdict::retry(wait).because(reason);
        }
        if !self.route.tiers.is_empty() {
            return Verdict::delay(wait).because(reason);
        }
        // Without tiers the host could not delay it and would have to park it, attempts left or not.
        Verdict::retry(longest)
            .because(format!("{reason}; a wait of {} is cut, because the route has no tiers", format_duration(wait)))
    }

    /// What comes when nothing is left to try, or when the message must not come back.
    fn end(&self, plan: &Plan, reason: String) -> Verdict {
        match &plan.exhausted {
            Some(Exhausted::DeadLetterTo(label)) => Verdict::dead_letter_to(label).because(reason),
            Some(Exhausted::Drop) => Verdict::drop().because(reason),
            Some(Exhausted::DeadLetter | Exhausted::DelayTo(_)) | None => self.give_up(reason),
        }
    }
}

#[cfg(test)]
mod tests;
