//! Room for instances in the pool.

use std::sync::{Condvar, Mutex, PoisonError};

/// As many as there are instances in the pool. A full pool would refuse an instance; whoever takes a slot first waits
/// instead. Decision threads never wait here, since there are no more of them than slots.
pub(super) struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
}

/// One slot; free again when dropped.
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), freed: Condvar::new() }
    }

    /// Takes a slot, once there is one.
    pub(super) fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
