//! Ctrl-C: what was seen so far is told.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// What a shell says of a program that Ctrl-C ended.
const ENDED: i32 = 130;

/// Becomes true at the first Ctrl-C; the second ends the program.
pub(super) fn watch() -> io::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = {
        let _within = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&interrupted);
    std::thread::Builder::new().name("ctrl-c".to_owned()).spawn(move || {
        runtime.block_on(async {
            interrupts.recv().await;
            told.store(true, Ordering::Relaxed);
            interrupts.recv().await;
            std::process::exit(ENDED);
        });
    })?;
    Ok(interrupted)
}
