//! The sender, and its own ledger of what it sent.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::script::{self, Kind};
use crate::broker::memory::MemoryBroker;
use crate::message::Message;

/// The ids that the broker confirmed, in the order in which they were sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    /// How many.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.lock().len()).unwrap_or(u32::MAX)
    }

    /// Which.
    pub(super) fn ids(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the script's messages, one each `interval`.
pub(super) struct Sender {
    pub(super) broker: MemoryBroker,
    pub(super) sent: Sent,
    pub(super) start: Instant,
    pub(super) interval: Duration,
}

impl Sender {
    /// Sends the messages of these numbers, each when its time has come.
    ///
    /// # Errors
    /// The broker does not take a message.
    pub(super) async fn send(&self, numbers: Range<u32>) -> anyhow::Result<()> {
        for number in numbers {
            sleep_until(self.start + self.interval * number).await;
            let (queue, id) = (Kind::of(number).queue, script::id(number));
            let published = self.broker.publish_to(queue, message(number, &id));
            published.with_context(|| format!("{queue} did not take message {id}"))?;
            self.sent.lock().push(id);
        }
        Ok(())
    }
}

fn message(number: u32, id: &str) -> Message {
    let mut message = Message::new(json!({ "number": number }).to_string()).with_id(id);
    message.properties.content_type = Some("application/json".to_owned());
    message
}
