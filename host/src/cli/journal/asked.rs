//! Which entries are asked for.

use std::time::SystemTime;

use clap::Args;

use crate::journal::{Filter, OutcomeKind};
use crate::timestamp::Timestamp;

/// Only failures that meet all of these.
#[derive(Debug, Clone, Args, Default)]
pub(super) struct AskedArguments {
    /// Only of this route
    #[arg(short, long, value_name = "NAME")]
    route: Option<String>,

    /// Only of this error kind
    #[arg(short = 'k', long, value_name = "KIND")]
    error_kind: Option<String>,

    /// Only with this outcome: retry-scheduled, delayed, dead-lettered, requeued, parked or dropped
    #[arg(short, long, value_name = "OUTCOME", value_parser = outcome)]
    outcome: Option<OutcomeKind>,

    /// Only judged by this policy
    #[arg(short, long, value_name = "NAME")]
    policy: Option<String>,

    /// Only of this message
    #[arg(short, long, value_name = "ID")]
    message: Option<String>,

    /// Only from then on: `7d` ago, or a time such as 2026-03-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,

    /// Only before then
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
}

impl AskedArguments {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            route: self.route.clone(),
            error_kind: self.error_kind.clone(),
            outcome: self.outcome,
            policy: self.policy.clone(),
            message_id: self.message.clone(),
            since: self.since,
            until: self.until,
            after: None,
        }
    }
}

fn outcome(name: &str) -> Result<OutcomeKind, String> {
    let names = || OutcomeKind::ALL.map(OutcomeKind::name).join(", ");
    OutcomeKind::from_name(name).ok_or_else(|| format!("there are: {}", names()))
}

/// A time, or how long ago it was.
pub(in crate::cli) fn time(text: &str) -> Result<Timestamp, String> {
    if let Ok(ago) = humantime::parse_duration(text) {
        return SystemTime::now()
            .checked_sub(ago)
            .map(Timestamp::from)
            .ok_or_else(|| "that is too long ago".to_owned());
    }
    humantime::parse_rfc3339_weak(text)
        .map(Timestamp::from)
        .map_err(|_| "say how long ago, such as 7d or 90m, or a time in UTC such as 2026-03-01T12:00:00Z".to_owned())
}
