//! Judges by the kind of error: invalid messages are parked, time-outs tried again, the rest delayed.

use std::time::Duration;

use reprieve_sdk::{Failure, Needs, Policy, Problem, Route, Verdict, duration};
use serde::Deserialize;

/// What can be set under `[routes.settings]`; `settings.schema.json` says the same to tools.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// Attempts in all, the first included.
    max_attempts: u32,
    /// The delay before another attempt, unless the failing side asks for another one.
    #[serde(with = "duration")]
    delay: Duration,
    /// Try no more once the message is this old.
    #[serde(with = "duration")]
    give_up_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            delay: Duration::from_secs(30),
            give_up_after: Duration::from_secs(24 * 60 * 60),
        }
    }
}

struct MyPolicy {
    settings: Settings,
}

impl Policy for MyPolicy {
    type Settings = Settings;

    fn configure(settings: Settings, _route: &Route) -> Result<Self, Vec<Problem>> {
        if settings.max_attempts == 0 {
            let problem = Problem::at("/max_attempts", "the first attempt counts: give at least 1");
            return Err(vec![problem]);
        }
        Ok(Self { settings })
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        let error = &failure.error;
        match error.kind.as_str() {
            "validation" => Verdict::dead_letter().because("no retry makes the message valid"),
            _ if failure.age >= self.settings.give_up_after => {
                Verdict::dead_letter().because("the message is too old for another attempt")
            }
            _ if failure.attempt >= self.settings.max_attempts => {
                Verdict::dead_letter().because(format!("{} attempts were too few", failure.attempt))
            }
            "timeout" => {
                Verdict::retry(Duration::from_secs(1)).because("a time-out often passes at once")
            }
            _ => {
                let delay = error.retry_after.unwrap_or(self.settings.delay);
                Verdict::delay(delay).because("it may take a while to pass")
            }
        }
    }

    /// Neither headers nor body: less to hand over is faster.
    fn needs(&self) -> Needs {
        Needs::nothing()
    }

    fn settings_schema() -> Option<&'static str> {
        Some(include_str!("settings.schema.json"))
    }
}

reprieve_sdk::policy!(MyPolicy);

#[cfg(test)]
mod tests;
