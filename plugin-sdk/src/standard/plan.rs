//! How one kind of failure is treated, attempt by attempt.

use std::time::Duration;

use super::{Exhausted, Rule, Settings};
use crate::{Failure, RetryPolicy, Route, Tier};

/// First the attempts that the retry settings allow, then one after each tier, then the end, which may be one
/// tier again and again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) retry: RetryPolicy,
    pub(super) tiers: Vec<Tier>,
    pub(super) exhausted: Option<Exhausted>,
    /// The tier that `exhausted` names.
    for_ever: Option<Tier>,
}

/// How a message gets its next attempt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step<'a> {
    /// After this wait, in process if the host grants so long a one.
    Wait(Duration),
    /// Through this tier.
    Tier(&'a Tier),
    /// Through whichever tier is long enough.
    Delay(Duration),
}

impl Step<'_> {
    /// The least time until the next attempt, tiers that the host rounds up to left aside.
    pub(super) fn wait(&self) -> Duration {
        match self {
            Self::Wait(wait) | Self::Delay(wait) => *wait,
            Self::Tier(tier) => tier.delay,
        }
    }
}

impl Plan {
    pub(super) fn new(settings: &Settings, route: &Route) -> Self {
        Self {
            retry: settings.retry.over(&route.retry),
            tiers: tiers(&settings.tiers, route),
            for_ever: for_ever(settings.exhausted.as_ref(), route),
            exhausted: settings.exhausted.clone(),
        }
    }

    pub(super) fn changed_by(&self, rule: &Rule, route: &Route) -> Self {
        let exhausted = rule.exhausted.clone().or_else(|| self.exhausted.clone());
        Self {
            retry: rule.retry.as_ref().map_or_else(|| self.retry.clone(), |retry| retry.over(&self.retry)),
            tiers: rule.tiers.as_ref().map_or_else(|| self.tiers.clone(), |names| tiers(names, route)),
            for_ever: for_ever(exhausted.as_ref(), route),
            exhausted,
        }
    }

    /// How the message gets its next attempt; `None` where nothing is left to try.
    /// Never sooner than after `asked`.
    pub(super) fn next(&self, failure: &Failure, asked: Duration) -> Option<Step<'_>> {
        if !self.retry.exhausted(failure.attempt) {
            return Some(Step::Wait(self.retry.delay(failure.attempt, failure.seed).max(asked)));
        }
        let past = failure.attempt.saturating_sub(self.attempts_before_tiers());
        let tier = usize::try_from(past).ok().and_then(|past| self.tiers.get(past)).or(self.for_ever.as_ref())?;
        Some(if tier.delay < asked { Step::Delay(asked) } else { Step::Tier(tier) })
    }

    /// "attempt 2 of 5 failed"
    pub(super) fn count(&self, attempt: u32) -> String {
        let tiers = u32::try_from(self.tiers.len()).unwrap_or(u32::MAX);
        let all = self.attempts_before_tiers().saturating_add(tiers);
        format!("attempt {attempt} of {all} failed")
    }

    fn attempts_before_tiers(&self) -> u32 {
        self.retry.max_attempts.max(1)
    }
}

fn for_ever(exhausted: Option<&Exhausted>, route: &Route) -> Option<Tier> {
    match exhausted {
        Some(Exhausted::DelayTo(name)) => tiers(std::slice::from_ref(name), route).pop(),
        _ => None,
    }
}

/// The tiers of these names; unknown ones are problems that [`Settings::check`] reports.
fn tiers(names: &[String], route: &Route) -> Vec<Tier> {
    names.iter().filter_map(|name| route.tiers.iter().find(|tier| tier.name == *name)).cloned().collect()
}
