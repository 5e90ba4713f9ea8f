//! The queues that delayed messages go back to. A tier dead-letters at least once: it keeps a message whose queue is
//! missing, and after a few of those it lets no other out. So a queue is looked for before anything is sent its way.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::topology::Topology;
use crate::broker::PublishError;

/// How long a queue that was there is believed to be.
const BELIEVED: Duration = Duration::from_secs(60);
/// Queues remembered; in `judge` mode messages name them, so there is no other bound.
const CAPACITY: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Origins(Mutex<HashMap<String, Instant>>);

impl Origins {
    /// Refuses a queue that is not there.
    pub(super) async fn check(&self, topology: &Topology<'_>, queue: &str) -> Result<(), PublishError> {
        let now = Instant::now();
        if self.seen(queue).is_some_and(|seen| now.duration_since(seen) < BELIEVED) {
            return Ok(());
        }
        match topology.look_for_queue(queue).await {
            Ok(Ok(())) => {
                self.remember(queue, now);
                Ok(())
            }
            Ok(Err(refusal)) if refusal.is_missing() => {
                Err(PublishError::Refused(format!("the queue '{queue}' that it would go back to does not exist")))
            }
            Ok(Err(refusal)) => Err(PublishError::Refused(format!("the queue '{queue}' cannot be used: {refusal}"))),
            Err(error) => Err(PublishError::Outage(error.to_string())),
        }
    }

    fn seen(&self, queue: &str) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(queue).copied()
    }

    fn remember(&self, queue: &str, now: Instant) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= CAPACITY {
            seen.clear();
        }
        seen.insert(queue.to_owned(), now);
    }
}
