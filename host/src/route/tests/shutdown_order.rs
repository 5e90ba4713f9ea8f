//! In which order a route ends what it has with its broker.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use super::{Running, Script, always};
use crate::broker::memory::MemoryBroker;
use crate::broker::{
    Broker, BrokerError, Capabilities, Consumer, Delivery, HandBackLimit, Plan, Prepared, PublishError, SettleError,
    Settlement, Settler, Target,
};
use crate::message::Message;
use crate::topic::Topic;
use crate::verdict::Action;

type Seen = Arc<Mutex<Vec<&'static str>>>;

/// A memory broker that takes its time to end a consumer, and writes down what it is asked for.
struct Watched {
    broker: MemoryBroker,
    seen: Seen,
}

#[async_trait]
impl Broker for Watched {
    fn capabilities(&self) -> Capabilities {
        self.broker.capabilities()
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        self.broker.prepare(plan).await
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        let inner = self.broker.consume(plan, prefetch).await?;
        Ok(Box::new(WatchedConsumer { inner, seen: Arc::clone(&self.seen) }))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        self.broker.publish(target, message).await
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        Broker::depth(&self.broker, topic).await
    }

    async fn hand_back_limit(&self, queue: &str) -> Result<HandBackLimit, BrokerError> {
        self.broker.hand_back_limit(queue).await
    }

    async fn close(&self) {
        self.broker.close().await;
    }
}

struct WatchedConsumer {
    inner: Box<dyn Consumer>,
    seen: Seen,
}

#[async_trait]
impl Consumer for WatchedConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        let delivery = self.inner.next().await?;
        let settler = Arc::new(WatchedSettler { inner: delivery.settler, seen: Arc::clone(&self.seen) });
        Ok(Delivery { settler, ..delivery })
    }

    async fn stop(&mut self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.inner.stop().await;
        self.seen.lock().unwrap().push("the consumer has ended");
    }
}

struct WatchedSettler {
    inner: Arc<dyn Settler>,
    seen: Seen,
}

#[async_trait]
impl Settler for WatchedSettler {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        self.seen.lock().unwrap().push(match settlement {
            Settlement::Release => "given back",
            _ => "settled",
        });
        self.inner.settle(settlement).await
    }
}

/// Else the broker would fill the room with a message that waits in the queue, which then goes back as redelivered without
/// ever having been tried.
#[tokio::test(start_paused = true)]
async fn what_sleeps_is_given_back_once_the_broker_hands_out_no_more() {
    let (broker, seen) = (MemoryBroker::new(10), Seen::default());
    let watched = Watched { broker: broker.clone(), seen: Arc::clone(&seen) };
    let script = Script::new([Action::Retry { delay_ms: 20_000 }]);
    let running = Running::start(script, always("x"), |spec| spec.broker = Arc::new(watched)).await;
    broker.publish_to("orders", Message::new("body").with_id("m1")).unwrap();
    broker.wait_for("orders", |depth| depth.unsettled == 1).await;
    // By now it sleeps.
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.stop().await;
    assert_eq!(*seen.lock().unwrap(), ["the consumer has ended", "given back"]);
    assert_eq!(broker.depth("orders").ready, 1);
}
