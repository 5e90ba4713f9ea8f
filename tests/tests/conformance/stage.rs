//! A place on a broker to play one case in.

mod kafka;
mod memory;
mod narad;
mod rabbitmq;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprieve::broker::{Broker, BrokerError, Capabilities, Consumer, Delivery, Plan, Settlement, Target};
use reprieve::message::Message;
use reprieve::topic::Tier;

use crate::within;

/// A broker, and what can be done to it from outside.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    /// A driver as each host has one of its own.
    fn driver(&self) -> Arc<dyn Broker>;

    /// Makes a topic, with so many partitions where the broker has those.
    async fn make(&self, topic: &str, partitions: i32);

    /// A name that no other case has. What is called so is removed in the end, tiers and their topics included.
    fn name(&self, role: &str) -> String;

    /// What a route made for a tier is removed in the end.
    fn remove_tier_later(&self, route: &str, tier: &str);

    /// Takes from every driver, but not from the onlooker, what it has of the broker: the next it hears is that its deliveries
    /// are lost. It can begin anew at once.
    async fn cut(&self);

    /// Nothing that is published to the topic is taken any more.
    async fn take_away(&self, topic: &str);

    /// What was taken away is there again.
    async fn bring_back(&self, topic: &str);

    /// A broker that takes messages of any size is told not to, for this topic.
    fn bound(&self, _topic: &str, _bytes: usize) {}
}

/// A source and a dead-letter topic on a broker, for one route.
pub(crate) struct Stage {
    pub(crate) place: Arc<dyn Place>,
    /// Sends and looks, and is never cut off.
    pub(crate) onlooker: Arc<dyn Broker>,
    pub(crate) route: String,
    pub(crate) source: String,
    pub(crate) letters: String,
    group: String,
}

/// In this process.
pub(crate) async fn memory() -> Stage {
    Stage::on(Arc::<memory::Memory>::default()).await
}

/// On the RabbitMQ of the tests.
pub(crate) async fn rabbitmq() -> Stage {
    let place = rabbitmq::Rabbit::new().await;
    let onlooker = place.onlooker();
    Stage { onlooker, ..Stage::on(Arc::new(place)).await }
}

/// On the Kafka of the tests.
pub(crate) async fn kafka() -> Stage {
    Stage::on(Arc::<kafka::Kafka>::default()).await
}

/// On a stand-in for Narad.
pub(crate) async fn narad() -> Stage {
    Stage::on(Arc::new(narad::Narad::new().await)).await
}

impl Stage {
    async fn on(place: Arc<dyn Place>) -> Self {
        let [route, source, letters, group] = ["route", "source", "letters", "group"].map(|role| place.name(role));
        place.make(&source, 1).await;
        place.make(&letters, 1).await;
        Self { onlooker: place.driver(), place, route, source, letters, group }
    }

    /// What this broker can do.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.onlooker.capabilities()
    }

    /// A driver of a host of its own.
    pub(crate) fn driver(&self) -> Arc<dyn Broker> {
        self.place.driver()
    }

    /// A tier of this many milliseconds, at least 2, that no other case has: each writes its delay differently, since tiers
    /// may be shared by all hosts of a broker.
    pub(crate) fn tier(&self, milliseconds: u64) -> Tier {
        let nanoseconds = milliseconds * 1_000_000;
        let some = u64::from(uuid::Uuid::new_v4().as_fields().0) % (nanoseconds / 1000);
        let name = format!("{some}us{}ns", nanoseconds - some * 1000);
        self.own(Tier { name, delay: Duration::from_millis(milliseconds) })
    }

    /// The same tier, also of this stage.
    pub(crate) fn own(&self, tier: Tier) -> Tier {
        self.place.remove_tier_later(&self.route, &tier.name);
        tier
    }

    pub(crate) fn group(&self) -> Option<String> {
        Some(self.group.clone())
    }

    /// The plan of the route, without tiers.
    pub(crate) fn plan(&self) -> Plan {
        let topics = vec![self.letters.as_str().into()];
        Plan { group: self.group(), topics, ..Plan::new(&self.route, &self.source) }
    }

    /// Consumes the source as the route does.
    pub(crate) async fn consume(&self, driver: &Arc<dyn Broker>, prefetch: u16) -> Box<dyn Consumer> {
        consume(driver, &self.plan(), prefetch).await
    }

    /// As a sender that is no host of ours.
    pub(crate) async fn send(&self, message: &Message) {
        within(self.onlooker.publish(&self.to_source(), message)).await.expect("a message that is kept");
    }

    /// Sends messages with these ids, in order.
    pub(crate) async fn send_ids(&self, ids: &[&str]) {
        for id in ids {
            self.send(&Message::new(format!("body of {id}")).with_id(*id)).await;
        }
    }

    pub(crate) fn to_source(&self) -> Target {
        Target::Topic(self.source.as_str().into())
    }

    /// Through the tier, back to the source.
    pub(crate) fn to_tier(&self, tier: &Tier) -> Target {
        Target::Tier { tier: tier.clone(), route: self.route.clone(), back_to: self.source.clone() }
    }

    /// Takes this many dead letters, and makes sure that there are no more.
    pub(crate) async fn take_letters(&self, count: usize) -> Vec<Arc<Message>> {
        let plan = Plan { group: Some(format!("{}.letters", self.group)), ..Plan::new("letters", &self.letters) };
        let mut consumer = consume(&self.onlooker, &plan, 10).await;
        let mut letters = Vec::new();
        while letters.len() < count {
            letters.push(take(&mut *consumer).await);
        }
        assert_quiet(&mut *consumer).await;
        within(consumer.stop()).await;
        within(consumer.close()).await;
        letters
    }

    /// Sees to it that the source has nothing more for the route: what is sent now is the next that comes.
    pub(crate) async fn assert_empty(&self) {
        let driver = self.driver();
        let mut consumer = self.consume(&driver, 10).await;
        self.send_ids(&["the last"]).await;
        let next = take(&mut *consumer).await;
        assert_eq!(next.id.as_deref(), Some("the last"), "{next:#?}");
        leave(consumer).await;
        within(driver.close()).await;
    }
}

/// Prepares and consumes.
pub(crate) async fn consume(driver: &Arc<dyn Broker>, plan: &Plan, prefetch: u16) -> Box<dyn Consumer> {
    within(driver.prepare(plan)).await.expect("a broker that serves the route");
    within(driver.consume(plan, prefetch)).await.expect("a consumer")
}

/// The next delivery.
pub(crate) async fn next(consumer: &mut dyn Consumer) -> Delivery {
    within(consumer.next()).await.expect("a delivery")
}

/// Takes the next message for good.
pub(crate) async fn take(consumer: &mut dyn Consumer) -> Arc<Message> {
    let delivery = next(consumer).await;
    delivery.settler.settle(Settlement::Ack).await.expect("an ack");
    delivery.message
}

/// For a while nothing comes.
pub(crate) async fn assert_quiet(consumer: &mut dyn Consumer) {
    if let Ok(delivery) = tokio::time::timeout(crate::QUIET, consumer.next()).await {
        panic!("there is more: {:#?}", delivery.map(|delivery| delivery.message));
    }
}

/// Ends a consumer in order.
pub(crate) async fn leave(mut consumer: Box<dyn Consumer>) {
    within(consumer.stop()).await;
    within(consumer.close()).await;
}

/// The next delivery after the consumer may have been lost, which then begins anew as a route does.
pub(crate) async fn next_after_loss(
    consumer: &mut Box<dyn Consumer>,
    driver: &Arc<dyn Broker>,
    plan: &Plan,
    prefetch: u16,
) -> Delivery {
    within(async {
        loop {
            match consumer.next().await {
                Ok(delivery) => return delivery,
                Err(BrokerError::Lost { .. }) => *consumer = consume(driver, plan, prefetch).await,
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await
}
