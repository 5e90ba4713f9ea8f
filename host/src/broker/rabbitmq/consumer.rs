//! Taking messages from one queue, on a channel of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};
use lapin::Channel;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, BasicRejectOptions,
};
use lapin::types::{DeliveryTag, FieldTable};
use tokio_util::sync::CancellationToken;

use super::convert::{self, short};
use super::reason::reason;
use super::session::{CONSUMER_TAG, Session};
use crate::broker::{BrokerError, Consumer, Delivery, Earlier, Origin, SettleError, Settlement, Settler};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the library may take to say why a channel ended that is known to have.
const LAST_WORDS: Duration = Duration::from_secs(1);
const BACK: BasicNackOptions = BasicNackOptions { multiple: false, requeue: true };

/// A channel that deliveries came on. It lives as long as one of them may be settled.
struct Epoch {
    channel: Channel,
    lost: CancellationToken,
    /// Keeps the connection, and the watch over this channel.
    session: Arc<Session>,
}

impl Epoch {
    /// Gives up the channel: everything unsettled on it is the broker's again.
    fn end(&self) {
        self.session.end(&self.channel, &self.lost);
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        self.end();
    }
}

/// One consumer of one queue.
pub(super) struct RabbitConsumer {
    source: String,
    epoch: Arc<Epoch>,
    deliveries: lapin::Consumer,
    /// No more deliveries come from here, for this reason.
    ended: Option<String>,
}

impl RabbitConsumer {
    /// Starts to consume `source`.
    pub(super) async fn start(session: Arc<Session>, source: &str, prefetch: u16) -> Result<Self, BrokerError> {
        let lost = |reason: String| BrokerError::Lost { source_topic: source.to_owned(), reason };
        let queue = short(source, || "the queue's name".to_owned()).map_err(|error| lost(error.to_string()))?;
        let started = async {
            let channel = session.channel().await?;
            // Zero would mean no limit.
            channel.basic_qos(prefetch.max(1), BasicQosOptions::default()).await?;
            let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
            let deliveries = channel.basic_consume(queue, CONSUMER_TAG.into(), options, arguments).await?;
            Ok((channel, deliveries))
        };
        let (channel, deliveries) = match tokio::time::timeout(ANSWER_TIMEOUT, started).await {
            Ok(started) => started.map_err(|error: lapin::Error| lost(reason(&error)))?,
            Err(_) => return Err(lost(format!("no answer within {ANSWER_TIMEOUT:?}"))),
        };
        let lost = CancellationToken::new();
        session.watch(&channel, lost.clone());
        let epoch = Arc::new(Epoch { channel, lost, session });
        Ok(Self { source: source.to_owned(), epoch, deliveries, ended: None })
    }

    fn delivery(&self, delivery: lapin::message::Delivery) -> Delivery {
        let lapin::message::Delivery { exchange, routing_key, redelivered, properties, data, delivery_tag, .. } =
            delivery;
        Delivery {
            message: Arc::new(convert::message(&properties, data)),
            origin: Origin {
                exchange: Some(exchange.into()),
                routing_key: Some(routing_key.into()),
                ..Origin::default()
            },
            redelivered,
            earlier: Earlier::Nothing,
            settler: Arc::new(RabbitSettler {
                tag: delivery_tag,
                settled: AtomicBool::new(false),
                epoch: self.epoch.clone(),
            }),
            lost: self.epoch.lost.clone(),
        }
    }

    /// Why there are no more deliveries where nobody gave a reason.
    fn cancelled(&self) -> &'static str {
        if self.epoch.session.connected() {
            "the broker cancelled the consumer: the queue was deleted or has moved"
        } else {
            "the connection was closed"
        }
    }

    fn end(&mut self, why: String) -> BrokerError {
        self.epoch.end();
        self.ended = Some(why.clone());
        self.lost(why)
    }

    fn lost(&self, reason: String) -> BrokerError {
        BrokerError::Lost { source_topic: self.source.clone(), reason }
    }
}

#[async_trait]
impl Consumer for RabbitConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        if let Some(why) = &self.ended {
            return Err(self.lost(why.clone()));
        }
        let lost = self.epoch.lost.clone();
        match lost.run_until_cancelled(self.deliveries.next()).await {
            Some(Some(Ok(delivery))) => Ok(self.delivery(delivery)),
            Some(Some(Err(error))) => Err(self.end(reason(&error))),
            Some(None) => Err(self.end(self.cancelled().to_owned())),
            None => {
                // What is still in the library's hands is the broker's again; behind it comes the reason.
                let last_words = async {
                    loop {
                        match self.deliveries.next().await {
                            Some(Ok(_)) => {}
                            Some(Err(error)) => break reason(&error),
                            None => break self.cancelled().to_owned(),
                        }
                    }
                };
                let why = tokio::time::timeout(LAST_WORDS, last_words).await;
                Err(self.end(why.unwrap_or_else(|_| "the connection or its channel has ended".to_owned())))
            }
        }
    }

    fn lost(&self) -> CancellationToken {
        self.epoch.lost.clone()
    }

    async fn stop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some("it was stopped".to_owned());
        let cancelled = self.epoch.channel.basic_cancel(self.deliveries.tag(), BasicCancelOptions::default());
        if !matches!(tokio::time::timeout(ANSWER_TIMEOUT, cancelled).await, Ok(Ok(()))) {
            // Nothing can be handed back on a channel that does not answer, except all of it.
            self.epoch.end();
            return;
        }
        // The cancel's answer comes behind the last delivery, so the stream has an end now.
        while let Some(Ok(delivery)) = self.deliveries.next().await {
            if let Err(error) = delivery.nack(BACK).await {
                tracing::debug!(%error, source = self.source, "a prefetched message goes back with its channel");
            }
        }
    }
}

impl Drop for RabbitConsumer {
    fn drop(&mut self) {
        // Without a stop, prefetched messages would stay with nobody for as long as another delivery is held.
        if self.ended.is_none() {
            self.epoch.end();
        }
    }
}

/// Settles one delivery on the channel that it came on.
struct RabbitSettler {
    tag: DeliveryTag,
    settled: AtomicBool,
    epoch: Arc<Epoch>,
}

#[async_trait]
impl Settler for RabbitSettler {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        if self.epoch.lost.is_cancelled() {
            return Err(SettleError::Gone("its channel has ended".to_owned()));
        }
        // The broker ends a channel on which a delivery is settled twice.
        if self.settled.swap(true, Ordering::Relaxed) {
            return Err(SettleError::Gone("it was settled before".to_owned()));
        }
        // Straight on the channel: the library's own handle takes two tasks more for each.
        let channel = &self.epoch.channel;
        // Once asked, the frame is in line to be written, and the session waits for it before an orderly end. To wait here
        // would cost each message a turn of the scheduler and tell little: the broker does not answer, and what is
        // written may be lost all the same (rule 15). No more than the prefetch wait in line, since the broker hands out
        // no more before it has them.
        let asked = match settlement {
            Settlement::Ack => channel.basic_ack(self.tag, BasicAckOptions::default()).now_or_never(),
            Settlement::Reject => channel.basic_reject(self.tag, BasicRejectOptions { requeue: true }).now_or_never(),
            Settlement::Release => channel.basic_nack(self.tag, BACK).now_or_never(),
        };
        match asked {
            Some(Err(error)) => Err(SettleError::Gone(reason(&error))),
            Some(Ok(())) | None => Ok(()),
        }
    }
}
