//! Room for instances in the pool, and whether any is taken.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// As many slots as there are instances in the pool. A full pool would refuse an instance; whoever takes a slot first
/// waits instead. The clock runs for as long as one is taken.
///
/// Slots are taken and given back by every decision on every thread, so this takes the lock only where somebody waits.
/// Whoever is about to wait says so first and looks once more after that; whoever changes `free` looks for those who wait
/// afterwards. So one of the two sees the other, in the one order that all these accesses have.
pub(super) struct Slots {
    count: usize,
    free: AtomicUsize,
    /// Callers that wait for a slot, or are about to.
    waiting: AtomicUsize,
    /// The clock waits for a slot to be taken, or is about to.
    clock_waits: AtomicBool,
    closed: Mutex<bool>,
    freed: Condvar,
    work: Condvar,
}

/// One slot; free again when dropped. Has to outlive the instance that it is for.
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self {
            count,
            free: AtomicUsize::new(count),
            waiting: AtomicUsize::new(0),
            clock_waits: AtomicBool::new(false),
            closed: Mutex::new(false),
            freed: Condvar::new(),
            work: Condvar::new(),
        }
    }

    /// Takes a slot, once there is one.
    pub(super) fn take(&self) -> Slot<'_> {
        if !self.try_take() {
            let lock = self.lock();
            self.waiting.fetch_add(1, SeqCst);
            drop(self.freed.wait_while(lock, |_| !self.try_take()).unwrap_or_else(PoisonError::into_inner));
            self.waiting.fetch_sub(1, SeqCst);
        }
        if self.clock_waits.load(SeqCst) && self.clock_waits.swap(false, SeqCst) {
            let _lock = self.lock();
            self.work.notify_one();
        }
        Slot(self)
    }

    fn try_take(&self) -> bool {
        self.free.fetch_update(SeqCst, SeqCst, |free| free.checked_sub(1)).is_ok()
    }

    /// Whether no slot is taken.
    pub(super) fn all_free(&self) -> bool {
        self.free.load(SeqCst) == self.count
    }

    /// Waits until a slot is taken. False once there will be none any more.
    pub(super) fn wait_for_work(&self) -> bool {
        let closed = self.lock();
        self.clock_waits.store(true, SeqCst);
        if !self.all_free() {
            self.clock_waits.store(false, SeqCst);
        }
        // Not for as long as all are free: a slot may be taken and free again before this thread looks.
        let waits = |closed: &mut bool| self.clock_waits.load(SeqCst) && !*closed;
        !*self.work.wait_while(closed, waits).unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every wait for work.
    pub(super) fn close(&self) {
        *self.lock() = true;
        self.work.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, SeqCst);
        if self.0.waiting.load(SeqCst) > 0 {
            let _lock = self.0.lock();
            self.0.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_taken_slot_is_waited_for() {
        let slots = Slots::new(1);
        let first = slots.take();
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _second = slots.take();
                sender.send(()).unwrap();
            });
            while slots.waiting.load(SeqCst) == 0 {
                thread::yield_now();
            }
            assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
            drop(first);
            receiver.recv().unwrap();
        });
        assert!(slots.all_free());
    }

    #[test]
    fn nobody_waits_for_ever_and_no_slot_is_given_twice() {
        const SLOTS: usize = 2;
        let slots = Slots::new(SLOTS);
        let held = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 * SLOTS {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let _slot = slots.take();
                        assert!(held.fetch_add(1, SeqCst) < SLOTS);
                        thread::yield_now();
                        held.fetch_sub(1, SeqCst);
                    }
                });
            }
        });
        assert!(slots.all_free());
    }

    #[test]
    fn the_clock_does_not_wait_while_a_slot_is_taken() {
        let slots = Slots::new(2);
        let _slot = slots.take();
        assert!(slots.wait_for_work());
    }

    #[test]
    fn the_clock_wakes_for_a_slot_that_is_free_again_at_once() {
        let slots = Slots::new(2);
        thread::scope(|scope| {
            let clock = scope.spawn(|| slots.wait_for_work());
            while !slots.clock_waits.load(SeqCst) {
                thread::yield_now();
            }
            drop(slots.take());
            assert!(clock.join().unwrap());
        });
    }

    #[test]
    fn the_clock_ends_with_the_engine() {
        let slots = Slots::new(2);
        thread::scope(|scope| {
            let clock = scope.spawn(|| slots.wait_for_work());
            slots.close();
            assert!(!clock.join().unwrap());
        });
    }
}
