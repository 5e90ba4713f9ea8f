//! The clock of the policies: a thread that makes the engine's epoch tick.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::EngineWeak;

use super::slots::Slots;

/// How many ticks nothing has to run before the clock stops. It starts again with the next instance.
const IDLE_TICKS: u32 = 100;

/// Starts the thread. A thread of the system's and not a task, since a policy that must be stopped may be what holds
/// up the tasks. It holds no engine, and ends when there is none.
pub(super) fn start(engine: EngineWeak, slots: Arc<Slots>, tick: Duration) -> io::Result<()> {
    thread::Builder::new().name("policy-clock".into()).stack_size(64 * 1024).spawn(move || {
        let mut idle_ticks = 0;
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(tick);
            idle_ticks = if slots.all_free() { idle_ticks + 1 } else { 0 };
            if idle_ticks >= IDLE_TICKS && !slots.wait_for_work() {
                return;
            }
        }
    })?;
    Ok(())
}
