//! How the watcher's thread wakes the registry's task: one place that holds counts, so that nothing queues up, nothing
//! is lost, and the watcher never waits.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The longest that changes are waited out, so that a file that is written to for ever cannot stop all other swaps.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How often something happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::policy) struct Changes {
    /// Anything but reading.
    pub(in crate::policy) any: u64,
    /// A rename, which needs no waiting.
    pub(in crate::policy) renames: u64,
}

/// The watcher's end.
#[derive(Debug, Clone)]
pub(crate) struct Hints(watch::Sender<Changes>);

/// The registry's end.
#[derive(Debug)]
pub(crate) struct Hinted {
    changes: watch::Receiver<Changes>,
    renames: u64,
}

/// Both ends.
pub(crate) fn hints() -> (Hints, Hinted) {
    let (sender, changes) = watch::channel(Changes::default());
    (Hints(sender), Hinted { changes, renames: 0 })
}

impl Hints {
    /// Adds to the counts; wakes nobody where there is nothing to add.
    pub(in crate::policy) fn add(&self, more: Changes) {
        if more != Changes::default() {
            self.0.send_modify(|changes| {
                changes.any = changes.any.wrapping_add(more.any);
                changes.renames = changes.renames.wrapping_add(more.renames);
            });
        }
    }
}

impl Hinted {
    /// Waits for a change that was not waited for yet. Dropping the future loses none.
    pub(crate) async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // Nobody watches any more, so nothing will ever come.
            std::future::pending::<()>().await;
        }
    }

    /// After a change: waits until nothing has changed for `quiet`, or something was renamed.
    pub(crate) async fn settle(&mut self, quiet: Duration) {
        let latest = Instant::now() + LONGEST_WAIT.max(quiet);
        loop {
            let seen = *self.changes.borrow_and_update();
            if seen.renames != self.renames {
                self.renames = seen.renames;
                return;
            }
            let until = latest.min(Instant::now() + quiet);
            match timeout_at(until, self.changes.changed()).await {
                Ok(Ok(())) if Instant::now() < latest => {}
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Duration = Duration::from_millis(250);
    const WRITE: Changes = Changes { any: 1, renames: 0 };

    #[tokio::test(start_paused = true)]
    async fn a_write_is_waited_out() {
        let (hints, mut hinted) = hints();
        let start = Instant::now();
        hints.add(WRITE);
        hinted.changed().await;
        hinted.settle(QUIET).await;
        assert_eq!(start.elapsed(), QUIET);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rename_is_not_waited_out() {
        let (hints, mut hinted) = hints();
        let start = Instant::now();
        hints.add(WRITE);
        hints.add(Changes { any: 1, renames: 1 });
        hinted.changed().await;
        hinted.settle(QUIET).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn writing_for_ever_is_not_waited_out_for_ever() {
        let (hints, mut hinted) = hints();
        let start = Instant::now();
        hints.add(WRITE);
        hinted.changed().await;
        let writer = tokio::spawn(async move {
            loop {
                hints.add(WRITE);
                tokio::time::sleep(QUIET / 2).await;
            }
        });
        hinted.settle(QUIET).await;
        writer.abort();
        assert!(start.elapsed() <= LONGEST_WAIT);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_while_nobody_waits_are_one_change_later() {
        let (hints, mut hinted) = hints();
        hints.add(WRITE);
        hints.add(WRITE);
        hinted.changed().await;
        hinted.settle(QUIET).await;
        assert!(tokio::time::timeout(Duration::from_secs(60), hinted.changed()).await.is_err());
        hints.add(Changes::default());
        assert!(tokio::time::timeout(Duration::from_secs(60), hinted.changed()).await.is_err());
    }
}
