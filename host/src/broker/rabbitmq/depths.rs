//! How many messages a queue has, asked again and again.

use std::time::Duration;

use lapin::Channel;
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use tokio::sync::Mutex;

use super::address::Address;
use super::convert::short;
use super::reason::{reason, reply_code};
use super::session::Session;
use crate::broker::BrokerError;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks for depths on a channel that is kept: a connection has a bounded number of channels to give, and this question
/// is asked for as long as the host runs.
#[derive(Default)]
pub(super) struct Depths {
    channel: Mutex<Option<Channel>>,
}

impl Depths {
    /// The number of ready messages, by declaring the queue passively, which changes nothing.
    pub(super) async fn ask(&self, session: &Session, address: &Address, queue: &str) -> Result<u64, BrokerError> {
        let unfit = |why: &dyn std::fmt::Display| {
            BrokerError::Unfit(format!("queue '{queue}' on broker '{}': {why}", address.name))
        };
        let name = short(queue, || format!("the name '{queue}'")).map_err(|error| unfit(&error))?;
        let mut kept = self.channel.lock().await;
        let asked = async {
            let channel = match kept.take().filter(|channel| channel.status().connected()) {
                Some(channel) => channel,
                None => session.channel().await?,
            };
            let options = QueueDeclareOptions { passive: true, ..Default::default() };
            let answer = channel.queue_declare(name, options, FieldTable::default()).await?;
            // One that was refused is the broker's to close, and one that gave no answer is not asked again.
            *kept = Some(channel);
            Ok(answer.message_count().into())
        };
        match tokio::time::timeout(ANSWER_TIMEOUT, asked).await {
            Ok(Ok(count)) => Ok(count),
            Ok(Err(error)) if reply_code(&error).is_some() && session.connected() => Err(unfit(&reason(&error))),
            Ok(Err(error)) => Err(address.unreachable(reason(&error))),
            Err(_) => Err(address.unreachable(format_args!("no answer within {ANSWER_TIMEOUT:?}"))),
        }
    }
}
