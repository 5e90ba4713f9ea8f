//! The list that a check goes through.

use std::fmt;

use serde::Serialize;

use crate::config::{Problem, Severity};
use crate::policy::rejection::{Rejection, Step as Asked};

/// What is looked at, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    Trust,
    File,
    Interface,
    Compilation,
    Description,
    Cases,
    Settings,
    Snapshot,
    Decisions,
    Purity,
}

impl Step {
    pub(super) const ALL: [Self; 10] = [
        Self::Trust,
        Self::File,
        Self::Interface,
        Self::Compilation,
        Self::Description,
        Self::Cases,
        Self::Settings,
        Self::Snapshot,
        Self::Decisions,
        Self::Purity,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Trust => "trust",
            Self::File => "file",
            Self::Interface => "interface",
            Self::Compilation => "compilation",
            Self::Description => "description",
            Self::Cases => "own cases",
            Self::Settings => "settings",
            Self::Snapshot => "snapshot",
            Self::Decisions => "decisions",
            Self::Purity => "purity",
        }
    }

    /// The step that a rejection comes from.
    pub(super) const fn of(rejection: &Rejection) -> Self {
        match rejection {
            Rejection::TooLarge { .. }
            | Rejection::Empty
            | Rejection::NotWasm { .. }
            | Rejection::Native
            | Rejection::Truncated { .. }
            | Rejection::Invalid { .. } => Self::File,
            Rejection::NotAPolicy { .. }
            | Rejection::WrongWorld { .. }
            | Rejection::WrongTypes { .. }
            | Rejection::Imports { .. } => Self::Interface,
            Rejection::Compile { .. } => Self::Compilation,
            Rejection::Cases { .. } | Rejection::CaseFailed { .. } | Rejection::SlowCases { .. } => Self::Cases,
            Rejection::Settings(_) => Self::Settings,
            Rejection::Faulted { during: Asked::Start | Asked::Describe, .. } => Self::Description,
            Rejection::Faulted { during: Asked::Configure, .. } => Self::Settings,
            Rejection::Faulted { during: Asked::Smoke(_), .. } => Self::Decisions,
        }
    }
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mark {
    Passed,
    /// A host would take it, and yet.
    Doubtful,
    Failed,
    NotReached,
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) step: Step,
    pub(super) result: Mark,
    /// For a person; several lines where there are several things.
    pub(super) found: Vec<String>,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) policy: String,
    pub(super) route: String,
    pub(super) right: bool,
    pub(super) steps: Vec<Line>,
    #[serde(rename = "problems")]
    pub(super) troubles: Vec<Trouble>,
}

/// Something wrong or doubtful, with its cure.
#[derive(Debug, Serialize)]
pub(super) struct Trouble {
    pub(super) what: String,
    pub(super) cure: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) setting: Option<Place>,
    #[serde(skip)]
    pub(super) problem: Option<Problem>,
    #[serde(skip)]
    pub(super) severity: Severity,
}

/// Where a setting is written.
#[derive(Debug, Serialize)]
pub(super) struct Place {
    /// A JSON pointer into the settings.
    pub(super) pointer: String,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Some(problem) => problem.fmt(f),
            None => write!(f, "{}: {}\n = help: {}", self.severity, self.what, self.cure),
        }
    }
}
