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

use crate::{Action, Failure, KindPattern, Policy, Problem, Route, Verdict};

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
        let action = self.action(&step);
        let away = action.time_away(&self.route).unwrap_or(step.wait());
        if failure.expires_within(away) {
            return self.end(plan, "the message expires before it would be back".to_owned());
        }
        if let Some(limit) = self.give_up_after
            && failure.age.saturating_add(away) > limit
        {
            let away = format_duration(away);
            let limit = format_duration(limit);
            return self.end(plan, format!("{count}; after a wait of {away} the message is older than {limit}"));
        }
        let mut reason = match failure.error.retry_after {
            Some(all) if all > asked => {
                let granted = format_duration(self.max_retry_after);
                format!("{count}; {granted} of the wait that is asked for are granted")
            }
            _ => count,
        };
        if let (Step::Wait(wait), Action::Retry(granted)) = (&step, &action)
            && granted < wait
        {
            let wait = format_duration(*wait);
            reason.push_str(&format!("; a wait of {wait} is cut, because the route has no tiers"));
        }
        Verdict::new(action).because(reason)
    }

    fn needs(&self) -> crate::Needs {
        crate::Needs::nothing()
    }

    fn settings_schema() -> Option<&'static str> {
        Some(include_str!("standard/settings.schema.json"))
    }
}

impl Standard {
    /// The end of this message, for this reason: what `exhausted` says in the settings, or in the rule for the kind of
    /// error. Where that names no end (a tier is none), the message is parked in the default dead-letter topic, or
    /// dropped with a warning where the route has none.
    pub fn give_up(&self, failure: &Failure, reason: impl Into<String>) -> Verdict {
        self.end(self.plan_for(&failure.error.kind), reason.into())
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

    fn action(&self, step: &Step<'_>) -> Action {
        let longest = self.route.limits.max_retry_delay;
        match step {
            Step::Wait(wait) if *wait > longest && !self.route.tiers.is_empty() => Action::Delay(*wait),
            // Without tiers the host could not delay it and would have to park it, attempts left or not.
            Step::Wait(wait) => Action::Retry((*wait).min(longest)),
            Step::Tier(tier) => Action::DelayTo(tier.name.clone()),
            Step::Delay(delay) => Action::Delay(*delay),
        }
    }

    /// What comes when nothing is left to try, or when the message must not come back.
    fn end(&self, plan: &Plan, reason: String) -> Verdict {
        match &plan.exhausted {
            Some(Exhausted::DeadLetterTo(label)) => Verdict::dead_letter_to(label).because(reason),
            Some(Exhausted::Drop) => Verdict::drop().because(reason),
            Some(Exhausted::DeadLetter | Exhausted::DelayTo(_)) | None => Verdict::give_up(&self.route, reason),
        }
    }
}

#[cfg(test)]
mod tests;
