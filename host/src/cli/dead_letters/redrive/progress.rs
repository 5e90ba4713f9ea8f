//! How far a redrive is: one line that changes on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::dead_letters::redrive::Done;

pub(super) struct Progress {
    on_terminal: bool,
    shown: Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { on_terminal: std::io::stderr().is_terminal(), shown: Instant::now() }
    }

    /// Says how far it is, where that was not said a moment ago.
    pub(super) fn show(&mut self, done: &Done) {
        let pause = Duration::from_millis(if self.on_terminal { 100 } else { 5000 });
        if self.shown.elapsed() < pause {
            return;
        }
        self.shown = Instant::now();
        let stay = done.filtered + done.skipped.len() as u64;
        let line = format!("{} of {} put back, {stay} stay", done.total(), done.depth);
        // Nobody is helped where progress cannot be shown.
        let _ = match self.on_terminal {
            true => write!(std::io::stderr(), "\r\x1b[K{line}"),
            false => writeln!(std::io::stderr(), "{line}"),
        };
    }

    /// Clears the line.
    pub(super) fn end(&self) {
        if self.on_terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
