//! The standard policy with a budget: while retries are a small share of the route's attempts they happen in
//! process, and past that they wait in a tier, so that retries never add much to the load on what is failing.

mod settings;

use std::time::Duration;

use reprieve_sdk::standard::Standard;
use reprieve_sdk::{Action, Failure, Health, Needs, Policy, Problem, Route, Tier, Verdict, duration};
use settings::Settings;

struct RetryBudget {
    settings: Settings,
    standard: Standard,
    tier: Tier,
    route: Route,
}

impl Policy for RetryBudget {
    type Settings = Settings;

    fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
        let mut problems = settings.check(route);
        let standard = Standard::configure(settings.standard.clone(), route);
        let tier = match &settings.tier {
            Some(name) => route.tiers.iter().find(|tier| tier.name == *name),
            None => route.tiers.first(),
        };
        if route.tiers.is_empty() && settings.tier.is_none() {
            let message = "the route has no tiers, so what is past the budget has nowhere to wait: \
                           give it some in the configuration, or use the policy `standard`";
            problems.push(Problem::new(message));
        }
        match (standard, tier) {
            (Ok(standard), Some(tier)) if problems.is_empty() => {
                Ok(Self { standard, tier: tier.clone(), route: route.clone(), settings })
            }
            (standard, _) => {
                let of_standard = standard.err().into_iter().flatten();
                problems.extend(of_standard.map(|problem| problem.under("/standard")));
                Err(problems)
            }
        }
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        let verdict = self.standard.decide(failure);
        let verdict = match verdict.action {
            Action::Retry(wait) if !self.allows_a_retry(&failure.health) => self.delay(wait, verdict.reason, failure),
            _ => verdict,
        };
        self.pause_intake(verdict, &failure.health)
    }

    fn needs(&self) -> Needs {
        Needs::nothing()
    }

    fn settings_schema() -> Option<&'static str> {
        Some(include_str!("settings.schema.json"))
    }
}

impl RetryBudget {
    /// Whether one more retry stays within the budget.
    fn allows_a_retry(&self, health: &Health) -> bool {
        let with_this_one = f64::from(health.retries) + 1.0;
        with_this_one <= f64::from(self.settings.min_retries)
            || with_this_one <= self.settings.share * f64::from(health.attempts)
    }

    /// In the place of a retry in process after this wait.
    fn delay(&self, wait: Duration, reason: String, failure: &Failure) -> Verdict {
        let Health { retries, attempts, .. } = failure.health;
        let reason =
            format!("{reason}; the retry budget is spent: {retries} retries for the last minute's {attempts} attempts");
        let enough = wait <= self.tier.delay;
        let verdict = if enough { Verdict::delay_to(&self.tier.name) } else { Verdict::delay(wait) };
        let away = verdict.action.time_away(&self.route).unwrap_or(wait);
        if failure.expires_within(away) {
            return self.standard.give_up(failure, format!("{reason}; the message expires before a delay is over"));
        }
        if let Some(limit) = self.settings.standard.give_up_after
            && failure.age.saturating_add(away) > limit
        {
            let limit = duration::format(limit);
            return self
                .standard
                .give_up(failure, format!("{reason}; after a delay the message is older than {limit}"));
        }
        verdict.because(reason)
    }

    /// Only where there is to be another attempt: what is given up says nothing about those that follow.
    fn pause_intake(&self, verdict: Verdict, health: &Health) -> Verdict {
        let Some(pause) = &self.settings.pause_intake else { return verdict };
        let again = matches!(verdict.action, Action::Retry(_) | Action::Delay(_) | Action::DelayTo(_));
        if !again || health.consecutive_failures < pause.consecutive_failures {
            return verdict;
        }
        let (failures, length) = (health.consecutive_failures, duration::format(pause.length));
        let reason = format!("{}; {failures} failures in a row pause the route's intake for {length}", verdict.reason);
        verdict.pause_intake(pause.length).because(reason)
    }
}

reprieve_sdk::policy!(RetryBudget);

#[cfg(test)]
mod tests;
