//! Room for instances in the pool, and whether any is taken.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// As many slots as there are instances in the pool. A full pool would refuse an instance; whoever takes a slot first
/// waits instead. The clock runs for as long as one is taken.
pub(super) struct Slots {
    count: usize,
    state: Mutex<State>,
    freed: Condvar,
    work: Condvar,
}

struct State {
    free: usize,
    /// Callers that wait for a slot.
    waiting: usize,
    /// The clock waits for a slot to be taken.
    clock_waits: bool,
    closed: bool,
}

/// One slot; free again when dropped. Has to outlive the instance that it is for.
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        let state = State { free: count, waiting: 0, clock_waits: false, closed: false };
        Self { count, state: Mutex::new(state), freed: Condvar::new(), work: Condvar::new() }
    }

    /// Takes a slot, once there is one.
    pub(super) fn take(&self) -> Slot<'_> {
        let mut state = self.lock();
        if state.free == 0 {
            state.waiting += 1;
            state = self.freed.wait_while(state, |state| state.free == 0).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state.free -= 1;
        // Neither wakes anybody unless somebody waits: waking costs more than all the rest.
        if std::mem::take(&mut state.clock_waits) {
            self.work.notify_one();
        }
        Slot(self)
    }

    /// Whether no slot is taken.
    pub(super) fn all_free(&self) -> bool {
        self.lock().free == self.count
    }

    /// Waits until a slot is taken. False once there will be none any more.
    pub(super) fn wait_for_work(&self) -> bool {
        let mut state = self.lock();
        state.clock_waits = state.free == self.count;
        // Not for as long as all are free: a slot may be taken and free again before this thread looks.
        let waits = |state: &mut State| state.clock_waits && !state.closed;
        !self.work.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner).closed
    }

    /// Ends every wait for work.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.free += 1;
        if state.waiting > 0 {
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
            assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
            drop(first);
            receiver.recv().unwrap();
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
            while !slots.lock().clock_waits {
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
