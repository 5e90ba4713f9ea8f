//! `retry` settings: a route's own win over `[defaults.retry]`, key by key.

use std::time::Duration;

use humantime::format_duration;
use reprieve_sdk::{Jitter, RetryOverrides, RetryPolicy};

use super::section::Section;
use super::suggestion::suggest;

/// Reads a `retry` table over `base`.
pub(super) fn read_retry(section: Section<'_>, base: &RetryPolicy) -> RetryPolicy {
    let initial_delay = section.duration("initial_delay");
    let max_delay = section.duration("max_delay");
    let overrides = RetryOverrides {
        max_attempts: section
            .integer("max_attempts", 0..=u64::from(u32::MAX))
            .and_then(|number| u32::try_from(number).ok()),
        initial_delay: initial_delay.as_ref().map(|delay| *delay.get_ref()),
        max_delay: max_delay.as_ref().map(|delay| *delay.get_ref()),
        factor: read_factor(&section),
        jitter: read_jitter(&section),
    };
    let retry = overrides.over(base);
    // Where neither is set here, `base` was checked where it was written.
    if let Some(here) = initial_delay.or(max_delay)
        && retry.initial_delay > retry.max_delay
    {
        let origin = |own: Option<Duration>| if own.is_some() { "" } else { ", which is not set here" };
        section.problems.error(
            &here.span(),
            format!(
                "the first delay, {}{}, is longer than the longest, {}{}",
                format_duration(retry.initial_delay),
                origin(overrides.initial_delay),
                format_duration(retry.max_delay),
                origin(overrides.max_delay),
            ),
            "lower `initial_delay` or raise `max_delay`",
        );
    }
    section.finish();
    retry
}

fn read_factor(section: &Section<'_>) -> Option<f64> {
    let factor = section.number("factor")?;
    if factor.get_ref().is_finite() && *factor.get_ref() >= 1.0 {
        return Some(factor.into_inner());
    }
    section.problems.error(
        &factor.span(),
        format!("`factor` cannot be {}", factor.get_ref()),
        "write a number from 1 up, such as 2.0: each delay is the one before times this",
    );
    None
}

fn read_jitter(section: &Section<'_>) -> Option<Jitter> {
    let jitter = section.text("jitter")?;
    match *jitter.get_ref() {
        "none" => Some(Jitter::None),
        "equal" => Some(Jitter::Equal),
        "full" => Some(Jitter::Full),
        other => {
            section.problems.error(
                &jitter.span(),
                format!("there is no jitter \"{other}\""),
                suggest(other, &["none", "equal", "full"]),
            );
            None
        }
    }
}
