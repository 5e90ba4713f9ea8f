//! The `log` import: lines that a policy writes into the host's log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::super::bindings::reprieve::policy::log::{self as wit, Host};
use super::super::bindings::reprieve::policy::types;
use super::super::text::one_line;
use super::store::StoreState;

/// The longest line, in bytes.
const MAX_LINE: usize = 2 * 1024;
/// How many lines one decision may write.
pub(in crate::policy) const LINES_PER_DECISION: u32 = 16;
/// How many lines a policy may write for one route in a second.
const LINES_PER_SECOND: u32 = 100;

/// Whose lines they are, and how many there have been of late.
pub(super) struct Identity {
    policy: String,
    route: String,
    /// The lines are about failures that the host made up: in the log they would be false alarms.
    made_up: bool,
    window: Mutex<Window>,
}

/// The second that is running.
struct Window {
    began: Instant,
    lines: u32,
    withheld: u64,
}

impl Identity {
    pub(super) fn new(policy: &str, route: &str) -> Self {
        let window = Window { began: Instant::now(), lines: 0, withheld: 0 };
        Self { policy: policy.to_owned(), route: route.to_owned(), made_up: false, window: Mutex::new(window) }
    }

    /// The same policy while it judges failures that the host made up: its lines are for debugging only.
    pub(super) fn made_up(policy: &str, route: &str) -> Self {
        Self { made_up: true, ..Self::new(policy, route) }
    }

    /// Whether there is room for a line; if so, how many were withheld since the last.
    fn admit(&self) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.began.elapsed() >= Duration::from_secs(1) {
            window.began = Instant::now();
            window.lines = 0;
        }
        if window.lines == LINES_PER_SECOND {
            window.withheld += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.withheld))
    }

    fn withhold(&self) {
        self.window.lock().unwrap_or_else(PoisonError::into_inner).withheld += 1;
    }
}

/// A line that a policy wrote, as it would stand in the host's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// How urgent the policy thinks it is.
    pub level: Level,
    /// The text, on one line.
    pub text: String,
}

/// How urgent a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they are the levels of every log")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl From<wit::Level> for Level {
    fn from(level: wit::Level) -> Self {
        match level {
            wit::Level::Debug => Self::Debug,
            wit::Level::Info => Self::Info,
            wit::Level::Warn => Self::Warn,
            wit::Level::Error => Self::Error,
        }
    }
}

/// The lines of one store.
pub(super) struct LogLines {
    identity: Arc<Identity>,
    written: u32,
    last_error: Option<String>,
    /// Where the lines go instead of the log, and how many there was no room for.
    kept: Option<(Vec<LogLine>, u32)>,
}

impl LogLines {
    pub(super) fn new(identity: Arc<Identity>) -> Self {
        Self { identity, written: 0, last_error: None, kept: None }
    }

    /// Keeps the lines from now on, as many as the log would take, instead of writing them there.
    pub(super) fn keep(&mut self) {
        self.kept = Some((Vec::new(), 0));
    }

    /// The lines that were kept, and how many more there were.
    pub(super) fn take_kept(&mut self) -> (Vec<LogLine>, u32) {
        self.kept.take().unwrap_or_default()
    }

    /// The last line of the level `error`: where the policy panicked, what it panicked with.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    fn write(&mut self, level: Level, message: &str) {
        let line = one_line(message, MAX_LINE);
        if let Some((lines, withheld)) = &mut self.kept {
            if lines.len() == LINES_PER_DECISION as usize {
                *withheld += 1;
            } else {
                lines.push(LogLine { level, text: line.clone() });
            }
        } else if self.written == LINES_PER_DECISION {
            self.identity.withhold();
        } else if let Some(withheld) = self.identity.admit() {
            self.written += 1;
            self.emit(level, &line, withheld);
        }
        // Kept even where the line itself is withheld: it explains a fault.
        if level == Level::Error {
            self.last_error = Some(line);
        }
    }

    fn emit(&self, level: Level, line: &str, withheld: u64) {
        let Identity { policy, route, made_up, .. } = &*self.identity;
        if withheld > 0 {
            tracing::warn!(target: "reprieve::policy", policy, route, "{withheld} lines of this policy were withheld: it writes too many");
        }
        match level {
            _ if *made_up => {
                tracing::debug!(target: "reprieve::policy", policy, route, "of a made-up failure: {line}");
            }
            Level::Debug => tracing::debug!(target: "reprieve::policy", policy, route, "{line}"),
            Level::Info => tracing::info!(target: "reprieve::policy", policy, route, "{line}"),
            Level::Warn => tracing::warn!(target: "reprieve::policy", policy, route, "{line}"),
            Level::Error => tracing::error!(target: "reprieve::policy", policy, route, "{line}"),
        }
    }
}

impl Host for StoreState {
    fn log(&mut self, level: wit::Level, message: String) {
        self.log.write(level.into(), &message);
    }
}

impl types::Host for StoreState {}
