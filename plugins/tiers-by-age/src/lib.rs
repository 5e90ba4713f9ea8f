//! Judges by the age of the message: young ones come back soon, older ones later, and none past a deadline
//! that holds for the message as a whole.

mod ladder;
mod settings;

use std::time::Duration;

use ladder::Ladder;
use reprieve_sdk::{Failure, Needs, Policy, Problem, RetryPolicy, Route, Verdict, duration};
use settings::Settings;

struct TiersByAge {
    settings: Settings,
    ladder: Ladder,
    retry: RetryPolicy,
    route: Route,
}

impl Policy for TiersByAge {
    type Settings = Settings;

    fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
        let retry = settings.retry.over(&route.retry);
        let mut problems: Vec<_> = retry.check().into_iter().map(|problem| problem.under("/retry")).collect();
        if let Some(label) = &settings.expired {
            problems.extend(route.require_dead_letter(label, "/expired").err());
        }
        let ladder = match &settings.steps {
            Some(steps) => Ladder::of_steps(steps, route, settings.deadline),
            None => Ladder::of_route(route, settings.deadline),
        };
        match ladder {
            Ok(ladder) if problems.is_empty() => Ok(Self { settings, ladder, retry, route: route.clone() }),
            Ok(_) => Err(problems),
            Err(more) => {
                problems.extend(more);
                Err(problems)
            }
        }
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        if self.settings.invalid.iter().any(|pattern| pattern.matches(&failure.error.kind)) {
            return self.park_invalid();
        }
        if failure.expires_within(Duration::ZERO) {
            return self.out_of_time("the message has expired");
        }
        if failure.age >= self.settings.deadline {
            return self.out_of_time(format!(
                "the message is {} old, and its deadline {}",
                age(failure),
                self.deadline()
            ));
        }
        self.again_in_process(failure).unwrap_or_else(|| self.again_through_a_tier(failure))
    }

    fn needs(&self) -> Needs {
        Needs::nothing()
    }

    fn settings_schema() -> Option<&'static str> {
        Some(include_str!("settings.schema.json"))
    }
}

impl TiersByAge {
    fn again_in_process(&self, failure: &Failure) -> Option<Verdict> {
        if self.retry.exhausted(failure.attempt) {
            return None;
        }
        let wait = self.retry.delay(failure.attempt, failure.seed).max(asked(failure));
        let possible = wait <= self.route.limits.max_retry_delay && self.is_in_time(wait, failure);
        let count = format!("attempt {} of {} in process failed", failure.attempt, self.retry.max_attempts);
        possible.then(|| Verdict::retry(wait).because(count))
    }

    fn again_through_a_tier(&self, failure: &Failure) -> Verdict {
        let asked = asked(failure);
        let mut tiers = self.ladder.tiers_for(failure.age).filter(|tier| tier.delay >= asked).peekable();
        let Some(meant) = tiers.peek().copied() else {
            return self.after_what_is_asked_for(failure);
        };
        let age = age(failure);
        match tiers.find(|tier| self.is_in_time(tier.delay, failure)) {
            Some(tier) if tier.name == meant.name => {
                Verdict::delay_to(&tier.name).because(format!("the message is {age} old, of {}", self.deadline()))
            }
            Some(tier) => Verdict::delay_to(&tier.name).because(format!(
                "the message is {age} old, and {} would end past {}",
                meant.name,
                self.end(failure)
            )),
            None => self
                .out_of_time(format!("the message is {age} old, and every tier would end past {}", self.end(failure))),
        }
    }

    /// The failing side asks for more than the tier that the message's age is good for.
    fn after_what_is_asked_for(&self, failure: &Failure) -> Verdict {
        let asked = asked(failure);
        let text = duration::format(asked);
        match self.route.time_away(asked) {
            Some(away) if self.is_in_time(away, failure) => {
                Verdict::delay(asked).because(format!("the failing side asks for {text}"))
            }
            _ => self.out_of_time(format!("the failing side asks for {text}, which ends past {}", self.end(failure))),
        }
    }

    /// Whether the message may come back after this wait.
    fn is_in_time(&self, wait: Duration, failure: &Failure) -> bool {
        failure.age.saturating_add(wait) <= self.settings.deadline && !failure.expires_within(wait)
    }

    fn park_invalid(&self) -> Verdict {
        let reason = "no retry makes the message valid";
        match self.route.has_dead_letter("invalid") {
            true => Verdict::dead_letter_to("invalid").because(reason),
            false => Verdict::give_up(&self.route, reason),
        }
    }

    fn out_of_time(&self, reason: impl Into<String>) -> Verdict {
        match &self.settings.expired {
            Some(label) => Verdict::dead_letter_to(label).because(reason),
            None => Verdict::give_up(&self.route, reason),
        }
    }

    fn deadline(&self) -> String {
        duration::format(self.settings.deadline)
    }

    /// What comes first, the deadline or the message's own expiry.
    fn end(&self, failure: &Failure) -> String {
        let left = self.settings.deadline.saturating_sub(failure.age);
        match failure.expires_in {
            Some(expiry) if expiry < left => format!("its expiry in {}", duration::format(expiry)),
            _ => format!("the deadline of {}", self.deadline()),
        }
    }
}

fn asked(failure: &Failure) -> Duration {
    failure.error.retry_after.unwrap_or_default()
}

/// In whole seconds.
fn age(failure: &Failure) -> String {
    duration::format(Duration::from_secs(failure.age.as_secs()))
}

reprieve_sdk::policy!(TiersByAge);

#[cfg(test)]
mod tests;
