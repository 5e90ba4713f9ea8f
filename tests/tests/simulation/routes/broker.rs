//! A broker, a handler and a policy that lay everything on the desk and wait.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprieve::broker::{
    Broker, BrokerError, Capabilities, Consumer, Delivery, Earlier, HandBackLimit, Origin, Plan, Prepared,
    PublishError, SettleError, Settlement, Settler, Target,
};
use reprieve::failure::Failure;
use reprieve::handler::{Call, Handler};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::route::Judge;
use reprieve::topic::Topic;
use reprieve::verdict::Decision;
use tokio_util::sync::CancellationToken;

use super::Planted;
use super::desk::{Asked, Desk};
use crate::machines::{decision, how};
use crate::world::{Answer, Place};

pub(super) struct Scripted {
    pub(super) desk: Arc<Desk>,
    pub(super) planted: Option<Planted>,
}

#[async_trait]
impl Broker for Scripted {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "scripted",
            max_retry_delay: Duration::from_secs(60),
            max_hold: Duration::MAX,
            tiers: true,
            answers_settles: false,
            partitions: false,
            tells_of_interruptions: false,
            remembers_starts: "nothing",
            order: "none",
            largest: "any size",
            interruptions: "never",
            keeps: reprieve::broker::Kept::ALL,
        }
    }

    async fn prepare(&self, _: &Plan) -> Result<Prepared, BrokerError> {
        Ok(Prepared {
            hold: None,
            requeue_is_safe: true,
            max_header_bytes: None,
            single_active_consumer: None,
            remarks: Vec::new(),
        })
    }

    async fn consume(&self, _: &Plan, _: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        let channel = self.desk.channel();
        Ok(Box::new(ScriptedConsumer {
            desk: Arc::clone(&self.desk),
            channel,
            planted: self.planted,
            kept: Vec::new(),
        }))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        if self.planted == Some(Planted::ConfirmsWithoutAsking) {
            return Ok(());
        }
        let to = match target {
            Target::Tier { .. } => Place::Tier,
            Target::Topic(_) => Place::DeadLetters,
        };
        let life = self.desk.life_of_task();
        let answer = self.desk.ask(life, Asked::Publish { to, message: Box::new(message.clone()) }).await;
        match answer {
            Answer::Refused if self.planted != Some(Planted::TakesARefusalForAConfirm) => {
                Err(PublishError::Refused("no".to_owned()))
            }
            Answer::Outage => Err(PublishError::Outage("no confirm".to_owned())),
            Answer::TooLarge => Err(PublishError::TooLarge("no".to_owned())),
            _ => Ok(()),
        }
    }

    async fn depth(&self, _: &Topic) -> Result<Option<u64>, BrokerError> {
        Ok(None)
    }

    async fn hand_back_limit(&self, _: &str) -> Result<HandBackLimit, BrokerError> {
        Ok(HandBackLimit::None)
    }

    async fn close(&self) {}
}

struct ScriptedConsumer {
    desk: Arc<Desk>,
    channel: CancellationToken,
    planted: Option<Planted>,
    /// What a planted fault keeps from being dropped.
    kept: Vec<Arc<Settling>>,
}

/// The driver waits for a message as long as this lives.
struct Wants<'a>(&'a Desk);

impl Drop for Wants<'_> {
    fn drop(&mut self) {
        self.0.set_wants(false);
    }
}

#[async_trait]
impl Consumer for ScriptedConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        let desk = Arc::clone(&self.desk);
        desk.set_wants(true);
        let _wants = Wants(&desk);
        loop {
            if self.channel.is_cancelled() {
                return Err(BrokerError::Lost { source_topic: "orders".to_owned(), reason: "cut".to_owned() });
            }
            if let Some(handed) = desk.next_hand_over() {
                let settling = Arc::new(Settling { desk: Arc::clone(&desk), life: handed.life });
                let settles = match self.planted {
                    Some(Planted::SettlesAnother) => {
                        self.kept.push(Arc::clone(&settling));
                        Arc::clone(&self.kept[0])
                    }
                    _ => settling,
                };
                let lost = match self.planted {
                    Some(Planted::OverlooksLosses) => CancellationToken::new(),
                    _ => self.channel.clone(),
                };
                return Ok(Delivery {
                    message: handed.message,
                    origin: Origin::default(),
                    redelivered: handed.redelivered && self.planted != Some(Planted::ForgetsRedeliveries),
                    earlier: Earlier::Nothing,
                    settler: Arc::new(OnDesk(settles)),
                    lost,
                });
            }
            desk.for_consumer.notified().await;
        }
    }

    async fn stop(&mut self) {}
}

struct OnDesk(Arc<Settling>);

struct Settling {
    desk: Arc<Desk>,
    life: u32,
}

impl Drop for Settling {
    fn drop(&mut self) {
        self.desk.ended(self.life);
    }
}

#[async_trait]
impl Settler for OnDesk {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        match self.0.desk.ask(self.0.life, Asked::Settle { how: how(settlement) }).await {
            Answer::Gone => Err(SettleError::Gone("the channel has ended".to_owned())),
            _ => Ok(()),
        }
    }
}

pub(super) struct ScriptedHandler(pub(super) Arc<Desk>);

#[async_trait]
impl Handler for ScriptedHandler {
    async fn handle(&self, call: &Call) -> Result<(), HandlerError> {
        let life = self.0.life_of(&call.message);
        match self.0.ask(life, Asked::Run { attempt: call.attempt }).await {
            Answer::Succeeded => Ok(()),
            _ => Err(HandlerError::new("x", "it failed")),
        }
    }
}

pub(super) struct ScriptedJudge(pub(super) Arc<Desk>);

#[async_trait]
impl Judge for ScriptedJudge {
    async fn decide(&self, failure: &Arc<Failure>) -> Decision {
        let life = self.0.life_of(&failure.message);
        match self.0.ask(life, Asked::Verdict).await {
            Answer::Verdict(said) => decision(said),
            other => unreachable!("a policy is answered with a verdict, not {other:?}"),
        }
    }

    async fn ready(&self) {}
}
