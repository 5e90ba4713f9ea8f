//! What every broker must do, in the same words for each: a case is written once, against the driver or against a whole route,
//! and runs on all of them. Where brokers differ, a case asks their [`Capabilities`](reprieve::broker::Capabilities) and
//! nothing else. What one broker alone has is tested beside its driver.
//!
//! * `stage`: a place on each of the brokers to play a case in. `running`: a route there, with its handler and judge in the
//!   hands of the case.

mod carrying;
mod cases;
mod consuming;
mod deduplicating;
mod delaying;
mod draining;
mod failing;
mod losing;
mod ordering;
mod publishing;
mod requeueing;
mod running;
mod settling;
mod sharing;
mod stage;
mod trails;
mod watching;

use std::time::Duration;

/// Reached only where something is broken, or the machine is very busy.
const DEADLINE: Duration = Duration::from_secs(40);

/// How long nothing must happen for it to be said that nothing happens.
const QUIET: Duration = Duration::from_millis(300);

/// What `future` comes to, in time.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("an end in time")
}
