//! One store: the time, memory and log lines of one instance.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::{ResourceLimiter, Store, UpdateDeadline};

use super::Engine;
use super::config::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES, pool_memory};
use super::log_lines::{Identity, LogLines};
use super::slots::Slot;

/// What a store knows beside the instance.
pub(super) struct StoreState {
    pub(super) log: LogLines,
    budget: Budget,
    deadline: Duration,
    /// How many more times the policy may be seen at work when the clock ticks.
    ticks_left: u64,
    ticks_seen: u64,
}

impl Engine {
    /// A store for one instance, which has to end within `deadline`. The slot is the proof that there is room for it,
    /// and keeps the clock running.
    pub(super) fn store(&self, _: &Slot<'_>, identity: &Arc<Identity>, deadline: Duration) -> Store<StoreState> {
        let limits = &self.shared.limits;
        let state = StoreState {
            log: LogLines::new(Arc::clone(identity)),
            budget: Budget { memory: limits.memory_pages(), used: 0, table_elements: limits.table_elements },
            deadline,
            ticks_left: limits.ticks(deadline),
            ticks_seen: 0,
        };
        let mut store = Store::new(&self.shared.wasmtime, state);
        if self.shared.metered {
            store.set_fuel(u64::MAX).expect("a metered engine has fuel");
        }
        store.limiter(|state| &mut state.budget);
        store.set_hostcall_fuel(limits.hostcall_bytes);
        // The clock is looked at on every tick instead of once at the end. A policy that the system kept from running
        // meanwhile sees one tick and not all those that it slept through: it is charged for its own time only.
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut context| {
            let state = context.data_mut();
            state.ticks_left = state.ticks_left.saturating_sub(1);
            state.ticks_seen += 1;
            Ok(if state.ticks_left == 0 { UpdateDeadline::Interrupt } else { UpdateDeadline::Continue(1) })
        });
        store
    }

    /// The instructions that ran in `store` so far, where they are counted.
    pub(super) fn instructions(&self, store: &Store<StoreState>) -> Option<u64> {
        store.get_fuel().ok().map(|left| u64::MAX - left)
    }

    /// Gives the instance in `store` a new deadline.
    pub(super) fn allow_time(&self, store: &mut Store<StoreState>, deadline: Duration) {
        let state = store.data_mut();
        state.deadline = deadline;
        state.ticks_left = self.shared.limits.ticks(deadline);
        store.set_epoch_deadline(1);
    }

    /// Lets `store` hand its whole memory to the host, for which memory has to grow by a page.
    pub(super) fn allow_snapshot(&self, store: &mut Store<StoreState>) {
        let limits = &self.shared.limits;
        store.data_mut().budget.memory = pool_memory(limits) * MAX_MEMORIES as usize;
        store.set_hostcall_fuel(pool_memory(limits) + limits.hostcall_bytes);
    }
}

impl StoreState {
    /// The time that the instance may take.
    pub(super) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// How many times the policy was at work when the clock ticked: its own time, in ticks.
    pub(super) const fn ticks_seen(&self) -> u64 {
        self.ticks_seen
    }

    /// Bytes of memory that the instance has, whether or not it touched them.
    pub(super) const fn memory_used(&self) -> usize {
        self.budget.used
    }
}

/// What the instance may take, and has taken.
struct Budget {
    /// All memories together, in bytes.
    memory: usize,
    used: usize,
    table_elements: usize,
}

/// A policy asked for more than it may have. Ends the call: growth that merely fails makes most allocators abort, which
/// would look like any other trap.
#[derive(Debug, thiserror::Error)]
pub(super) enum OverBudget {
    #[error("asked for {asked} bytes of memory, of which it may have {limit} (`policies.memory`)")]
    Memory { asked: usize, limit: usize },
    #[error("asked for a table of {asked} elements, of which it may have {limit}")]
    Table { asked: usize, limit: usize },
}

impl ResourceLimiter for Budget {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let asked = self.used.saturating_add(desired.saturating_sub(current));
        if asked > self.memory {
            return Err(OverBudget::Memory { asked, limit: self.memory }.into());
        }
        self.used = asked;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.table_elements {
            return Err(OverBudget::Table { asked: desired, limit: self.table_elements }.into());
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES as usize
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES as usize
    }
}
