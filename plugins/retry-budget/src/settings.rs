//! The settings, all of which may be left out.

use std::time::Duration;

use reprieve_sdk::{Problem, Route, duration, standard};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// What retries may be of the last minute's attempts; from 0 to 1.
    pub(crate) share: f64,
    /// So many retries a minute are allowed whatever their share.
    pub(crate) min_retries: u32,
    /// The tier for what may not be retried in process. Left out: the route's shortest.
    pub(crate) tier: Option<String>,
    /// When to take no new messages for a while.
    pub(crate) pause_intake: Option<PauseIntake>,
    /// The standard policy's settings, which judges first.
    pub(crate) standard: standard::Settings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseIntake {
    /// After so many failures without a success between them.
    pub(crate) consecutive_failures: u32,
    /// For so long.
    #[serde(rename = "for", with = "duration")]
    pub(crate) length: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { share: 0.2, min_retries: 10, tier: None, pause_intake: None, standard: standard::Settings::default() }
    }
}

impl Settings {
    /// What contradicts itself or does not fit the route. The standard policy checks its own settings.
    pub(crate) fn check(&self, route: &Route) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !(0.0..=1.0).contains(&self.share) {
            let message =
                format!("a share of {} is none: give a number from 0 to 1, such as 0.2 for a fifth", self.share);
            problems.push(Problem::at("/share", message));
        }
        if self.share == 0.0 && self.min_retries == 0 {
            let message = "with min_retries = 0 there would be no retry in process at all: \
                           give a share or some retries, or use the policy `standard` with tiers";
            problems.push(Problem::at("/share", message));
        }
        if let Some(tier) = &self.tier {
            problems.extend(route.require_tier(tier, "/tier").err());
        }
        if let Some(pause) = &self.pause_intake {
            if pause.consecutive_failures == 0 {
                let message = "each failure would pause the route: give a number from 1 up";
                problems.push(Problem::at("/pause_intake/consecutive_failures", message));
            }
            if pause.length.is_zero() {
                let message =
                    "a pause of no length pauses nothing: give one such as \"10s\", or leave pause_intake out";
                problems.push(Problem::at("/pause_intake/for", message));
            }
        }
        problems
    }
}
