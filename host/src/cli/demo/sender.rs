//! The sender, and its own ledger of what it sent.

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

/// Sends `messages` evenly over this time, and calls `half_way` between the two halves without stopping for it.
pub(super) async fn send(
    broker: &MemoryBroker,
    sent: &Sent,
    messages: u32,
    over: Duration,
    half_way: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut half_way = Some(half_way);
    for number in 0..messages {
        if number >= messages / 2
            && let Some(half_way) = half_way.take()
        {
            half_way()?;
        }
        sleep_until(start + over.mul_f64(f64::from(number) / f64::from(messages))).await;
        let id = script::id(number);
        let queue = Kind::of(number).queue;
        broker.publish_to(queue, message(number, &id)).with_context(|| format!("{queue} did not take message {id}"))?;
        sent.lock().push(id);
    }
    Ok(())
}

fn message(number: u32, id: &str) -> Message {
    let mut message = Message::new(json!({ "number": number }).to_string()).with_id(id);
    message.properties.content_type = Some("application/json".to_owned());
    message
}
