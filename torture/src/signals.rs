//! Being told to stop.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::rig::Rig;

/// Ctrl-C and SIGTERM, which mean the same here.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// Waits for one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Returns at the second signal; the first ends the faults.
    pub(crate) async fn stop_twice(&mut self, rig: &Rig) {
        self.next().await;
        eprintln!("torture: no more faults; once more to end at once");
        rig.stop();
        self.next().await;
    }
}
