//! One judged failure, as a line for people.

use super::script::Kind;
use crate::event::{Ruling, Subject};

/// Who judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Judge {
    /// The standard policy.
    Standard,
    /// The policy that takes its place.
    ByErrorKind,
    /// The host, since the policy gave no verdict.
    Fallback,
}

impl Judge {
    /// Its name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ByErrorKind => "by-error-kind",
            Self::Fallback => "fallback",
        }
    }
}

/// What became of a failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fate {
    Retried,
    Delayed,
    Requeued,
    /// In this topic.
    DeadLettered(String),
    Dropped,
}

impl Fate {
    /// The message will not be attempted again.
    pub(super) const fn is_end(&self) -> bool {
        matches!(self, Self::DeadLettered(_) | Self::Dropped)
    }

    pub(super) const fn is_dead_lettered(&self) -> bool {
        matches!(self, Self::DeadLettered(_))
    }
}

/// "20 retried", "7 to orders.dlq"
impl std::fmt::Display for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Retried => f.write_str("retried"),
            Self::Delayed => f.write_str("delayed"),
            Self::Requeued => f.write_str("requeued"),
            Self::DeadLettered(topic) => write!(f, "to {topic}"),
            Self::Dropped => f.write_str("dropped"),
        }
    }
}

/// A judged failure.
#[derive(Debug, Clone)]
pub(super) struct Occurrence {
    pub(super) text: String,
    /// This policy did this to this kind of message for the first time.
    pub(super) is_first: bool,
}

impl Occurrence {
    pub(super) fn new(
        kind: Kind,
        subject: &Subject,
        judge: Judge,
        outcome: String,
        ruling: &Ruling,
        is_first: bool,
    ) -> Self {
        let id = subject.id.as_deref().unwrap_or_default();
        let overridden = ruling.overridden.as_ref().map(|why| format!("; overridden: {why}")).unwrap_or_default();
        let (trouble, judge, reason) = (kind.trouble.name(), judge.name(), &ruling.verdict.reason);
        let text = format!("{id:<13} {trouble:<10} {outcome:<17} {reason} ({judge}{overridden})");
        Self { text, is_first }
    }
}
