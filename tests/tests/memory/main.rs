//! What must not make the process grow, however often it is done. A program of its own, and one test at a time, since
//! they measure the memory of the whole process.

mod cases;
mod growth;
mod ledger;
mod resident;
mod swaps;
mod traffic;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reprieve::policy::route_record::RouteRecord;
use reprieve_sdk::RetryPolicy;

/// Keeps the other tests of this program waiting.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing behind that another could trip over.
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A route to load a policy for.
fn route() -> RouteRecord {
    RouteRecord {
        name: "orders".into(),
        source: "orders".into(),
        tiers: Vec::new(),
        dead_letters: vec!["default".into()],
        retry: RetryPolicy::default(),
        max_retry_delay: Duration::ZERO,
        max_body: 0,
    }
}
