//! Brings messages that come out of a tier to a topic that the route does not consume: in `judge` mode, another consumer does.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::broker::narad::nodes::Nodes;
use crate::broker::narad::publisher::Publisher;
use crate::broker::narad::settings::NaradSettings;
use crate::broker::{SettleError, Settlement, Settler};
use crate::delivery::Doubling;
use crate::message::Message;

/// Between tries. The message is in its tier meanwhile, and its lease is kept.
const AGAIN: Doubling = Doubling { initial: Duration::from_millis(500), max: Duration::from_secs(30) };

/// Publishes what has waited.
pub(in crate::broker::narad) struct Forwarder {
    pub(in crate::broker::narad) nodes: Arc<Nodes>,
    pub(in crate::broker::narad) settings: Arc<NaradSettings>,
}

impl Forwarder {
    /// Publishes, and only then settles (rule 1). Ends once the broker knows, or when it is dropped.
    pub(super) async fn forward(&self, message: &Message, back_to: &str, settler: &dyn Settler) {
        let publisher = Publisher {
            nodes: &self.nodes,
            prefixes: &self.settings.header_prefixes,
            timeout: self.settings.publish_timeout,
        };
        let form = self.settings.envelope(back_to);
        let mut tries = 0;
        while let Err(error) = publisher.publish(back_to, message, None, form).await {
            tracing::warn!(%error, id = message.id, "a message that has waited cannot be brought to '{back_to}' yet");
            sleep(AGAIN.after(tries)).await;
            tries = tries.saturating_add(1);
        }
        tries = 0;
        while let Err(SettleError::Retry(_)) = settler.settle(Settlement::Ack).await {
            sleep(AGAIN.after(tries)).await;
            tries = tries.saturating_add(1);
        }
    }
}
