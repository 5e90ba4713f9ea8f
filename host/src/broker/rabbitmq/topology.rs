//! Looking for queues and exchanges and declaring them. Each operation has a channel of its own, since the broker
//! ends the channel of one that it refuses.

use std::fmt;
use std::time::Duration;

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};

use super::address::Address;
use super::convert::short;
use super::reason::{reason, reply_code};
use super::session::Session;
use crate::broker::BrokerError;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const NOT_FOUND: u16 = 404;

/// Why the broker would not do something, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    code: u16,
    text: String,
}

impl Refusal {
    /// What was asked for is not there.
    pub(super) fn is_missing(&self) -> bool {
        self.code == NOT_FOUND
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The queues and exchanges of one broker. The outer error of every method says that the broker could not be asked.
pub(super) struct Topology<'a> {
    pub(super) session: &'a Session,
    pub(super) address: &'a Address,
}

impl Topology<'_> {
    /// Whether the queue is there, without touching it.
    pub(super) async fn look_for_queue(&self, queue: &str) -> Result<Result<(), Refusal>, BrokerError> {
        let options = QueueDeclareOptions { passive: true, ..Default::default() };
        self.queue(queue, options, FieldTable::default()).await
    }

    /// Whether the exchange is there, without touching it.
    pub(super) async fn look_for_exchange(&self, exchange: &str) -> Result<Result<(), Refusal>, BrokerError> {
        let options = ExchangeDeclareOptions { passive: true, ..Default::default() };
        let exchange = self.name(exchange)?;
        self.ask(move |channel: Channel| async move {
            channel.exchange_declare(exchange, ExchangeKind::Direct, options, FieldTable::default()).await
        })
        .await
    }

    /// Declares a durable queue.
    pub(super) async fn declare_queue(
        &self,
        queue: &str,
        arguments: FieldTable,
    ) -> Result<Result<(), Refusal>, BrokerError> {
        self.queue(queue, QueueDeclareOptions { durable: true, ..Default::default() }, arguments).await
    }

    /// Declares a queue with these options, or asks whether it is like that.
    pub(super) async fn queue(
        &self,
        queue: &str,
        options: QueueDeclareOptions,
        arguments: FieldTable,
    ) -> Result<Result<(), Refusal>, BrokerError> {
        let queue = self.name(queue)?;
        self.ask(
            move |channel: Channel| async move { channel.queue_declare(queue, options, arguments).await.map(|_| ()) },
        )
        .await
    }

    /// Declares a durable fanout exchange and binds the queue of the same name to it.
    pub(super) async fn declare_fanout(&self, name: &str) -> Result<Result<(), Refusal>, BrokerError> {
        let name = self.name(name)?;
        let options = ExchangeDeclareOptions { durable: true, ..Default::default() };
        self.ask(move |channel: Channel| async move {
            channel.exchange_declare(name.clone(), ExchangeKind::Fanout, options, FieldTable::default()).await?;
            let any_key = ShortString::default();
            channel.queue_bind(name.clone(), name, any_key, QueueBindOptions::default(), FieldTable::default()).await
        })
        .await
    }

    async fn ask<F, Answer>(&self, question: F) -> Result<Result<(), Refusal>, BrokerError>
    where
        F: FnOnce(Channel) -> Answer,
        Answer: Future<Output = lapin::Result<()>>,
    {
        let asked = async {
            let channel = self.session.channel().await?;
            question(channel.clone()).await?;
            channel.close(200, "OK".into()).await
        };
        match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
            Ok(Ok(())) => Ok(Ok(())),
            Ok(Err(error)) => match reply_code(&error) {
                // The connection stands, so this was about the channel.
                Some(code) if self.session.connected() => Ok(Err(Refusal { code, text: reason(&error) })),
                _ => Err(self.address.unreachable(reason(&error))),
            },
            Err(_) => Err(self.address.unreachable(format_args!("no answer within {ANSWER_TIMEOUT:?}"))),
        }
    }

    fn name(&self, name: &str) -> Result<ShortString, BrokerError> {
        short(name, || format!("the name '{name}'"))
            .map_err(|error| BrokerError::Unfit(format!("broker '{}': {error}", self.address.name)))
    }
}

/// A text argument of a queue.
pub(super) fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

/// The arguments of a quorum queue, to which others may be added.
pub(super) fn quorum() -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text("quorum"));
    arguments
}
