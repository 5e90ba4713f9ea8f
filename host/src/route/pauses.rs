//! When a route takes no new messages: because publishing does not get through, or because a policy says so.

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::delivery::Pause;
use crate::timestamp::Timestamp;

/// The two pauses, each until a moment that may move.
#[derive(Debug, Default)]
pub(super) struct Pauses(watch::Sender<Until>);

#[derive(Debug, Default)]
struct Until {
    outage: Option<Reason>,
    policy: Option<Reason>,
    /// Deliveries that are held and try again.
    held: usize,
}

#[derive(Debug)]
struct Reason {
    until: Instant,
    shown: Pause,
}

impl Until {
    fn reasons(&self) -> impl Iterator<Item = &Reason> {
        let now = Instant::now();
        self.outage.iter().chain(&self.policy).filter(move |reason| reason.until > now)
    }

    fn latest(&self) -> Option<Instant> {
        self.reasons().map(|reason| reason.until).max()
    }
}

impl Pauses {
    /// Pauses until then, or longer where a pause of the same kind is longer already.
    pub(super) fn pause(&self, pause: Pause, now: Timestamp) {
        let until = Instant::now() + pause.until.since(now);
        self.0.send_modify(|current| {
            let kind = if pause.outage { &mut current.outage } else { &mut current.policy };
            if kind.as_ref().is_none_or(|reason| reason.until <= until) {
                *kind = Some(Reason { until, shown: pause });
            }
        });
    }

    /// A delivery is held for an outage, and finds out when it is over.
    pub(super) fn hold(&self) {
        self.0.send_modify(|current| current.held += 1);
    }

    /// A delivery that was held is not any more. Without any nobody tries, and only what comes next can find out.
    pub(super) fn let_go(&self) {
        self.0.send_modify(|current| {
            current.held -= 1;
            if current.held == 0 {
                current.outage = None;
            }
        });
    }

    /// Ends the pause for an outage.
    pub(super) fn end_outage(&self) {
        self.0.send_modify(|current| current.outage = None);
    }

    /// Whether intake rests now.
    pub(super) fn is_paused(&self) -> bool {
        self.0.borrow().latest().is_some()
    }

    /// The pauses that hold now; none while intake goes on.
    pub(super) fn current(&self) -> Vec<Pause> {
        self.0.borrow().reasons().map(|reason| reason.shown.clone()).collect()
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
            let Some(until) = until else { return };
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
        let why = if outage { "no route to orders.dlq" } else { "the shop is closed" };
        (Pause { outage, until: now.after(Duration::from_secs(seconds)), why: why.to_owned() }, now)
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
    async fn it_says_why_intake_rests_for_as_long_as_it_does() {
        let pauses = Pauses::default();
        let (outage, now) = pause(true, 30);
        pauses.pause(outage.clone(), now);
        pauses.pause(pause(false, 60).0, now);
        let reasons = |pauses: &Pauses| pauses.current().into_iter().map(|pause| pause.why).collect::<Vec<_>>();
        assert_eq!(reasons(&pauses), ["no route to orders.dlq", "the shop is closed"]);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(reasons(&pauses), ["the shop is closed"]);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(pauses.current().is_empty() && !pauses.is_paused());
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
    #[tokio::test(start_paused = true)]
    async fn an_outage_pauses_no_longer_than_a_delivery_is_held_for_it() {
        let pauses = Pauses::default();
        let (outage, now) = pause(true, 3600);
        for _ in 0..2 {
            pauses.hold();
        }
        pauses.pause(outage, now);
        pauses.pause(pause(false, 7).0, now);
        pauses.let_go();
        tokio::time::advance(Duration::from_secs(7)).await;
        assert!(pauses.is_paused(), "one is held yet");
        pauses.let_go();
        assert!(!pauses.is_paused());
    }
}
