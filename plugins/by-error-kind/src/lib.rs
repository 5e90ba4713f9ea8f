//! Judges by the kind of error, as an example to copy: what will never work is parked at once, what may
//! pass is tried again, what asks for time gets it, and the standard policy judges the rest.

mod settings;

use reprieve_sdk::standard::Standard;
use reprieve_sdk::{Failure, Needs, Policy, Problem, Route, Verdict};
use settings::Settings;

struct ByErrorKind {
    settings: Settings,
    standard: Standard,
    label_for_invalid: Option<&'static str>,
    route: Route,
}

/// Its settings stand under `standard` in ours.
fn under_standard(problems: Vec<Problem>) -> Vec<Problem> {
    problems.into_iter().map(|problem| problem.under("/standard")).collect()
}

impl Policy for ByErrorKind {
    type Settings = Settings;

    fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
        Ok(Self {
            standard: Standard::configure(settings.for_standard(), route).map_err(under_standard)?,
            label_for_invalid: ["invalid", "default"].into_iter().find(|label| route.has_dead_letter(label)),
            route: route.clone(),
            settings,
        })
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        let kind = failure.error.kind.as_str();
        if self.settings.invalid.iter().any(|pattern| pattern.matches(kind)) {
            return self.park_invalid(failure);
        }
        let timed_out = failure.error.timed_out || kind.starts_with("timeout");
        let rate_limited = failure.error.status == Some(429) || kind.starts_with("rate-limit");
        if !timed_out && !rate_limited {
            return self.standard.decide(failure);
        }

        if failure.attempt >= self.settings.max_attempts {
            return self.standard.give_up(failure, format!("{} attempts were too few", failure.attempt));
        }
        let asked = self.standard.retry_after(failure);
        let (wait, verdict) = if rate_limited {
            let wait = asked.unwrap_or(self.settings.delay);
            (wait, Verdict::delay(wait).because("the other side limits the rate"))
        } else if failure.attempt <= self.settings.timeout_retries {
            let wait = self.settings.timeout_wait.max(asked.unwrap_or_default());
            (wait, Verdict::retry(wait).because("a time-out often passes at once"))
        } else {
            let wait = self.settings.delay.max(asked.unwrap_or_default());
            (wait, Verdict::delay(wait).because("the time-outs go on"))
        };
        let away = verdict.action.time_away(&self.route).unwrap_or(wait);
        if failure.expires_within(away) {
            return self.standard.give_up(failure, "the message expires before it would be back");
        }
        if let Some(limit) = self.settings.give_up_after
            && (failure.age >= limit || failure.age.saturating_add(away) > limit)
        {
            return self.standard.give_up(failure, "the message is too old for another attempt");
        }
        verdict
    }

    fn needs(&self) -> Needs {
        Needs::nothing()
    }

    fn settings_schema() -> Option<&'static str> {
        Some(include_str!("settings.schema.json"))
    }
}

impl ByErrorKind {
    fn park_invalid(&self, failure: &Failure) -> Verdict {
        let reason = "no retry makes the message valid";
        match self.label_for_invalid {
            Some(label) => Verdict::dead_letter_to(label).because(reason),
            None => self.standard.give_up(failure, reason),
        }
    }
}

reprieve_sdk::policy!(ByErrorKind);

#[cfg(test)]
mod tests;
