//! The `log` import: lines that a policy writes into the host's log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::bindings::reprieve::policy::log::{Host, Level};
use super::super::bindings::reprieve::policy::types;
use super::super::text::one_line;
use super::store::StoreState;

/// The longest line, in bytes.
const MAX_LINE: usize = 2 * 1024;
/// How many lines one decision may write.
const LINES_PER_DECISION: u32 = 16;
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

/// The lines of one store.
pub(super) struct LogLines {
    identity: Arc<Identity>,
    written: u32,
    last_error: Option<String>,
}

impl LogLines {
    pub(super) fn new(identity: Arc<Identity>) -> Self {
        Self { identity, written: 0, last_error: None }
    }

    /// The last line of the level `error`: where the policy panicked, what it panicked with.
    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    fn write(&mut self, level: Level, message: &str) {
        let line = one_line(message, MAX_LINE);
        if self.written == LINES_PER_DECISION {
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
    fn log(&mut self, level: Level, message: String) {
        self.log.write(level, &message);
    }
}

impl types::Host for StoreState {}
