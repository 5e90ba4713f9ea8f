//! Where messages are published, and the durable delays.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A place to publish to: a queue or topic by its name, or an exchange with a routing key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Topic {
    /// A queue (RabbitMQ) or topic by its name.
    Named(String),
    /// An AMQP exchange and routing key.
    #[serde(rename_all = "snake_case")]
    Exchange {
        /// The exchange; `""` is the default one.
        exchange: String,
        /// The routing key.
        routing_key: String,
    },
}

impl From<&str> for Topic {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

/// The queue's name, or `exchange/routing-key`.
impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Exchange { exchange, routing_key } => write!(f, "{exchange}/{routing_key}"),
        }
    }
}

/// What the tiers' own queues and exchanges are called on a broker, before the tier's name.
pub(crate) const TIER_QUEUE_PREFIX: &str = "reprieve.tier.";

/// A fixed durable delay. Its name is the delay as it was written, such as `30s`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// What policies, headers and queue names call it.
    pub name: String,
    /// How long a message stays.
    pub delay: Duration,
}
