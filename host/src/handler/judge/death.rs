//! How a message came to a dead-letter exchange, as RabbitMQ tells it.

use crate::handler::excerpt;
use crate::message::{HeaderValue, Headers};

/// What the names of the host's own tier queues begin with. A message that came back from one expired there, which says
/// nothing of its failure.
const TIER_QUEUES: &str = "reprieve.tier.";

/// Why a broker dead-lettered a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeathReason {
    /// No broker did: it was published here.
    None,
    /// A consumer rejected it.
    Rejected,
    /// It was handed out as often as its queue allows.
    DeliveryLimit,
    /// Its time to live passed.
    Expired,
    /// Its queue was full.
    MaxLength,
    /// A reason that this program does not know.
    Other(String),
}

impl DeathReason {
    fn read(reason: &str) -> Self {
        match reason {
            "rejected" => Self::Rejected,
            "delivery_limit" => Self::DeliveryLimit,
            "expired" => Self::Expired,
            "maxlen" => Self::MaxLength,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Whether the message failed, as far as is known, rather than never having been processed.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        !matches!(self, Self::Expired | Self::MaxLength)
    }

    /// The error kind and text of a message of which nothing else is known.
    pub(super) fn describe(&self, queue: Option<&str>) -> (String, String) {
        let queue = queue.unwrap_or_default();
        let (kind, text) = match self {
            Self::None => ("unknown", "published here, and no header says what it failed with".to_owned()),
            Self::Rejected => ("rejected", format!("rejected from the queue {queue}")),
            Self::DeliveryLimit => ("delivery-limit", format!("given up by the queue {queue} at its delivery limit")),
            Self::Expired => ("expired", format!("expired in the queue {queue}")),
            Self::MaxLength => ("maxlen", format!("pushed out of the queue {queue}, which was full")),
            Self::Other(reason) => {
                let kind = excerpt::kind(&reason.replace('_', "-")).unwrap_or_else(|| "unknown".to_owned());
                return (kind.clone(), format!("dead-lettered by the queue {queue}: {kind}"));
            }
        };
        (kind.to_owned(), text)
    }
}

/// One entry of `x-death`.
pub(super) struct Death {
    pub(super) queue: String,
    pub(super) reason: DeathReason,
    pub(super) count: Option<u64>,
}

impl Death {
    /// The newest death outside of our own tiers. RabbitMQ has one entry for each queue and reason and moves the newest
    /// to the front. Where there is no `x-death`, its companions name the last death (since RabbitMQ 3.13) and the first.
    pub(super) fn newest(headers: &Headers) -> Option<Self> {
        if let Some(HeaderValue::Array(entries)) = headers.get("x-death") {
            return entries.iter().filter_map(Self::read).find(Self::is_foreign);
        }
        let companion = |which: &str| {
            let text = |what: &str| headers.text(&format!("x-{which}-death-{what}"));
            Self::new(text("queue")?, text("reason")?, None)
        };
        companion("last").filter(Self::is_foreign).or_else(|| companion("first").filter(Self::is_foreign))
    }

    fn read(entry: &HeaderValue) -> Option<Self> {
        let HeaderValue::Table(entry) = entry else { return None };
        let count = entry.get("count").and_then(HeaderValue::as_i64).and_then(|count| u64::try_from(count).ok());
        Self::new(entry.text("queue")?, entry.text("reason")?, count)
    }

    fn new(queue: &str, reason: &str, count: Option<u64>) -> Option<Self> {
        let named = !queue.is_empty() && queue.len() <= super::MAX_QUEUE_NAME;
        named.then(|| Self { queue: queue.to_owned(), reason: DeathReason::read(reason), count })
    }

    fn is_foreign(&self) -> bool {
        !self.queue.starts_with(TIER_QUEUES)
    }
}
