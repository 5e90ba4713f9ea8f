//! The program as a service: what its service manager is told, where its secrets are, how a folder of policies is
//! replaced under it, and whether the files in `examples/deployment` fit the program.

mod alive;
mod backtest;
mod config_map;
mod deployment;
mod journal;
mod log;
mod place;
mod program;
mod secrets;
mod systemd;
mod token;

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
