//! Something is done to the broker at the very moment at which an outcome is durable and its delivery not settled yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use reprieve::broker::{
    Broker, BrokerError, Capabilities, Consumer, HandBackLimit, Plan, Prepared, PublishError, Target,
};
use reprieve::message::Message;
use reprieve::topic::Topic;

use crate::stage::{Place, Stage};

/// A driver that is cut off once, behind the first message that it publishes.
pub(crate) struct CutAfterPublishing {
    driver: Arc<dyn Broker>,
    place: Arc<dyn Place>,
    was_cut: AtomicBool,
}

impl CutAfterPublishing {
    pub(crate) fn on(stage: &Stage) -> Arc<dyn Broker> {
        Arc::new(Self { driver: stage.driver(), place: Arc::clone(&stage.place), was_cut: AtomicBool::new(false) })
    }
}

#[async_trait]
impl Broker for CutAfterPublishing {
    fn capabilities(&self) -> Capabilities {
        self.driver.capabilities()
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        self.driver.prepare(plan).await
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        self.driver.consume(plan, prefetch).await
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        self.driver.publish(target, message).await?;
        if !self.was_cut.swap(true, Ordering::SeqCst) {
            self.place.cut().await;
        }
        Ok(())
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        self.driver.depth(topic).await
    }

    async fn hand_back_limit(&self, queue: &str) -> Result<HandBackLimit, BrokerError> {
        self.driver.hand_back_limit(queue).await
    }

    async fn close(&self) {
        self.driver.close().await;
    }
}
