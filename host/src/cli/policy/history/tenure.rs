//! From when to when a policy was live, from the steps that a host recorded.

use serde::Serialize;

use crate::journal::{Step, StepKind};
use crate::timestamp::Timestamp;
use crate::verdict::Maker;

/// A line of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub(super) enum Line {
    /// A policy was live.
    Live(Tenure),
    /// Something else happened, such as to a candidate.
    Between { host: String, step: Step },
}

/// The time that a policy was live on a route of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tenure {
    pub(super) host: String,
    pub(super) route: String,
    pub(super) maker: Maker,
    pub(super) from: Timestamp,
    /// Absent where it still is, as far as is recorded.
    pub(super) until: Option<Timestamp>,
    pub(super) digest: Option<String>,
    pub(super) size: Option<u64>,
    pub(super) signed_by: Option<String>,
    pub(super) decisions: u64,
    pub(super) faults: u64,
    /// Why it left.
    pub(super) left: Option<String>,
}

impl Line {
    pub(super) fn order(&self) -> (&str, Timestamp, &str) {
        match self {
            Self::Live(live) => (&live.route, live.from, &live.host),
            Self::Between { host, step } => (&step.route, step.at, host),
        }
    }
}

impl Tenure {
    /// Takes over what was recorded of its decisions, where its last step did not say.
    pub(super) fn count(&mut self, (decisions, faults): &(u64, u64)) {
        self.decisions = self.decisions.max(*decisions);
        self.faults = self.faults.max(*faults);
    }
}

/// One host's steps as lines.
pub(super) fn lines(host: &str, steps: &[Step]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for step in steps {
        let open = lines.iter_mut().rev().find_map(|line| match line {
            Line::Live(live) if live.route == step.route && live.until.is_none() => Some(live),
            _ => None,
        });
        match (step.kind, &step.maker) {
            (StepKind::WentLive, Some(maker)) => {
                // A host that was killed did not say that it ended; the policy that it goes on with stayed live.
                if let Some(open) = open {
                    if open.maker == *maker {
                        continue;
                    }
                    open.until = Some(step.at);
                    open.left = Some(format!("{maker} took its place"));
                }
                lines.push(Line::Live(Tenure {
                    host: host.to_owned(),
                    route: step.route.clone(),
                    maker: maker.clone(),
                    from: step.at,
                    until: None,
                    digest: step.digest.clone(),
                    size: step.size,
                    signed_by: step.signed_by.clone(),
                    decisions: 0,
                    faults: 0,
                    left: None,
                }));
            }
            (StepKind::Left, maker) => {
                if let Some(open) = open.filter(|open| maker.as_ref().is_none_or(|maker| *maker == open.maker)) {
                    open.until = Some(step.at);
                    open.left = Some(step.reason.clone());
                    open.decisions = step.decisions.unwrap_or(0);
                    open.faults = step.faults.unwrap_or(0);
                }
            }
            _ => lines.push(Line::Between { host: host.to_owned(), step: step.clone() }),
        }
    }
    lines
}
