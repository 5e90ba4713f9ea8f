//! What the program prints and does about bad input, as somebody sees it who runs it: a message that says what to do,
//! no panic, no message lost, and the other routes go on.
//!
//! * `configuration`, `check`: what is refused before anything starts.
//! * `policies`: files that are no policies, and settings that a policy refuses.
//! * `trust`: policies that are signed, pinned, or neither.
//! * `handlers`, `messages`, `brokers`: what goes wrong while it runs.
//! * `place`, `program`, `http`, `endpoint`, `text`: what these tests are made with.

mod brokers;
mod check;
mod configuration;
mod endpoint;
mod handlers;
mod http;
mod messages;
mod place;
mod policies;
mod program;
// The same signer as in the host's own tests.
#[path = "../../../host/src/policy/trust/signing.rs"]
mod signing;
mod text;
mod trust;

use std::time::{Duration, Instant};

/// Far more than anything here takes; what takes this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until there is an answer. `what` says what for, should it never come.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        match look() {
            Some(found) => return found,
            None if begin.elapsed() > PATIENCE => panic!("waited {PATIENCE:?} in vain for {what}"),
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}
