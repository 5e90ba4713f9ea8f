//! The clock of the policies: a thread that makes the engine's epoch tick.

use std::io;
use std::thread;
use std::time::Duration;

use wasmtime::EngineWeak;

/// Starts the thread. A thread of the system's and not a task, since a policy that must be stopped may be what holds
/// up the tasks. It holds no engine, and ends when there is none.
pub(super) fn start(engine: EngineWeak, tick: Duration) -> io::Result<()> {
    thread::Builder::new().name("policy-clock".into()).stack_size(64 * 1024).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(tick);
        }
    })?;
    Ok(())
}
