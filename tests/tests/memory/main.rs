//! What must not make the process grow, however often it is done. A program of its own, and one test at a time, since
//! they measure the memory of the whole process.

mod growth;
mod resident;
mod swaps;
mod traffic;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps the other tests of this program waiting.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    // A test that failed has left nothing behind that another could trip over.
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}
