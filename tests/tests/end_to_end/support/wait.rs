//! Waiting for what must come to pass.

use std::time::{Duration, Instant};

/// No test waits longer for anything. It is reached only where something is broken.
const DEADLINE: Duration = Duration::from_secs(40);

/// Waits until `seen` gives something.
///
/// # Panics
/// At the deadline.
pub(crate) fn wait_until<T>(what: &str, seen: impl FnMut() -> Option<T>) -> T {
    wait_for(seen).unwrap_or_else(|| panic!("not within {DEADLINE:?}: {what}"))
}

/// What `seen` gives, or nothing at the deadline.
pub(crate) fn wait_for<T>(mut seen: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        if let Some(seen) = seen() {
            return Some(seen);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}
