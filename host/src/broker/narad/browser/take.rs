//! Takes messages of a topic, each once: leases that are not settled are kept until the end, and given back then.

use std::time::Duration;

use async_trait::async_trait;

use crate::broker::narad::consumer::NaradConsumer;
use crate::broker::{BrokerError, Browser, Consumer as _, Delivery};

/// What is there comes within this; what does not is in other hands.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

/// A consumer that ends where there is nothing more.
pub(in crate::broker::narad) struct Take {
    pub(in crate::broker::narad) consumer: NaradConsumer,
    /// As many as may be there: some of them may be settled already.
    pub(in crate::broker::narad) there: u64,
}

impl Take {
    /// So many are in hand at once, at most.
    pub(in crate::broker::narad) const PREFETCH: u16 = 1000;
}

#[async_trait]
impl Browser for Take {
    fn there(&self) -> u64 {
        self.there
    }

    async fn next(&mut self) -> Result<Option<Delivery>, BrokerError> {
        match tokio::time::timeout(LONGEST_WAIT, self.consumer.next()).await {
            Ok(delivery) => delivery.map(Some),
            Err(_) => Ok(None),
        }
    }

    async fn close(&mut self) {
        self.consumer.give_everything_back().await;
    }
}
