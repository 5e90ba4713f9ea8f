//! Waiting for what must come to pass.

use std::time::{Duration, Instant};

/// No test waits longer for anything. It is reached only where something is broken.
const DEADLINE: Duration = Duration::from_secs(40);

/// Waits until `seen` gives something.
///
/// # Panics
/// At the deadline.
pub(crate) fn wait_until<T>(what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(seen) = seen() {
            return seen;
        }
        assert!(begun.elapsed() < DEADLINE, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
