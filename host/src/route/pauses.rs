//! When a route takes no new messages: because publishing does not get through, or because a policy says so.

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::delivery::Pause;
use crate::timestamp::Timestamp;

/// The two pauses, each until a moment that may move.
#[derive(Debug, Default)]
pub(super) struct Pauses(watch::Sender<Until>);

#[derive(Debug, Clone, Copy, Default)]
struct Until {
    outage: Option<Instant>,
    policy: Option<Instant>,
}

impl Until {
    fn latest(self) -> Option<Instant> {
        self.outage.max(self.policy)
    }
}

impl Pauses {
    /// Pauses until then, or longer where a pause of the same kind is longer already.
    pub(super) fn pause(&self, pause: Pause, now: Timestamp) {
        let until = Instant::now() + pause.until.since(now);
        self.0.send_modify(|current| {
            let kind = if pause.outage { &mut current.outage } else { &mut current.policy };
            *kind = (*kind).max(Some(until));
        });
    }

    /// Ends the pause for an outage.
    pub(super) fn end_outage(&self) {
        self.0.send_modify(|current| current.outage = None);
    }

    /// Whether intake rests now.
    pub(super) fn is_paused(&self) -> bool {
        self.0.borrow().latest().is_some_and(|until| until > Instant::now())
    }

    /// Waits until intake is to rest.
    pub(super) async fn begin(&self) {
        let mut changes = self.0.subscribe();
        while !self.is_paused() {
            // The sender lives in `self`: this cannot fail while we wait.
            let _ = changes.changed().await;
        }
    }

    /// Waits until no pause is left.
    pub(super) async fn over(&self) {
        let mut changes = self.0.subscribe();
        loop {
            let until = changes.borrow_and_update().latest();
            let Some(until) = until.filter(|until| *until > Instant::now()) else { return };
            tokio::select! {
                () = sleep_until(until) => {}
                // The sender lives in `self`: this cannot fail while we wait.
                _ = changes.changed() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pause(outage: bool, seconds: u64) -> (Pause, Timestamp) {
        let now = Timestamp(1_000);
        (Pause { outage, until: now.after(Duration::from_secs(seconds)) }, now)
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_by_itself() {
        let pauses = Pauses::default();
        let (long, now) = pause(true, 30);
        pauses.pause(long, now);
        pauses.pause(pause(true, 5).0, now);
        let begin = Instant::now();
        pauses.over().await;
        assert_eq!(begin.elapsed().as_secs(), 30, "a shorter pause does not cut a longer one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_publish_that_gets_through_ends_the_outage_but_not_the_policys_pause() {
        let pauses = Pauses::default();
        let (outage, now) = pause(true, 3600);
        pauses.pause(outage, now);
        pauses.pause(pause(false, 7).0, now);
        let begin = Instant::now();
        tokio::join!(pauses.over(), async { pauses.end_outage() });
        assert_eq!(begin.elapsed().as_secs(), 7);
    }
}
