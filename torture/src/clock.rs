//! The run's time, in seconds since its begin.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// When a run began, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    begin: Instant,
    epoch: f64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        Self { begin: Instant::now(), epoch }
    }

    pub(crate) fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// What a moment of the run is as seconds since 1970, for people who look into logs.
    pub(crate) fn since_epoch(&self, moment: f64) -> f64 {
        self.epoch + moment
    }
}
