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

use crate::{Failure, KindPattern, Policy, Problem, Route, Verdict, log};

/// The standard policy.
///
/// Without settings it retries as the route's `retry` settings say, and then dead-letters, or drops
/// with a warning where the route has no default dead-letter topic.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    plan: Plan,
    rules: Vec<(Vec<KindPattern>, Plan)>,
    give_up_after: Option<Duration>,
    /// The route has a default dead-letter topic.
    can_dead_letter: bool,
    has_tiers: bool,
    max_retry_delay: Duration,
}

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
            can_dead_letter: route.has_dead_letter("default"),
            has_tiers: !route.tiers.is_empty(),
            max_retry_delay: route.limits.max_retry_delay,
        })
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        let plan = self.plan_for(&failure.error.kind);
        if failure.error.kind == "expired" || failure.expires_in == Some(Duration::ZERO) {
            return self.end(plan, "the message has expired".to_owned());
        }
        if let Some(limit) = self.give_up_after
            && failure.age >= limit
        {
            return self.end(plan, format!("the message is older than {}", format_duration(limit)));
        }
        match plan.next(failure) {
            Some(step) if failure.expires_in.is_some_and(|left| left <= step.wait()) => {
                self.end(plan, "the message expires before it would be back".to_owned())
            }
            Some(Step::Wait(wait)) => self.wait(wait, plan, failure.attempt),
            Some(Step::Tier(tier)) => Verdict::delay_to(&tier.name).because(plan.count(failure.attempt)),
            Some(Step::Delay(delay)) => Verdict::delay(delay).because(plan.count(failure.attempt)),
            None => self.exhausted(plan, plan.count(failure.attempt)),
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
        let reason = reason.into();
        if self.can_dead_letter {
            return Verdict::dead_letter().because(reason);
        }
        log::warn!("a message is dropped, because its route has no default dead-letter topic: {reason}");
        Verdict::drop().because(format!("{reason}; the route has no default dead-letter topic"))
    }

    fn plan_for(&self, kind: &str) -> &Plan {
        let matching = self.rules.iter().find(|(kinds, _)| kinds.iter().any(|pattern| pattern.matches(kind)));
        matching.map_or(&self.plan, |(_, plan)| plan)
    }

    fn wait(&self, wait: Duration, plan: &Plan, attempt: u32) -> Verdict {
        let reason = plan.count(attempt);
        if wait <= self.max_retry_delay {
            return Verdict::retry(wait).because(reason);
        }
        if self.has_tiers {
            return Verdict::delay(wait).because(reason);
        }
        // Without tiers the host could not delay it and would have to park it, attempts left or not.
        Verdict::retry(self.max_retry_delay)
            .because(format!("{reason}; a wait of {} is cut, because the route has no tiers", format_duration(wait)))
    }

    /// What comes when nothing is left to try.
    fn exhausted(&self, plan: &Plan, reason: String) -> Verdict {
        match &plan.exhausted {
            Some(Exhausted::DelayTo(tier)) => Verdict::delay_to(tier).because(reason),
            _ => self.end(plan, reason),
        }
    }

    /// The same for a message that must not come back.
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
