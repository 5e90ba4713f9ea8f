//! Messages that go out together on a channel that carries nothing else, and what becomes of each.
//!
//! The broker names no message when it returns one, and one confirm may cover several. So a batch is judged as a whole:
//! once everything is confirmed, every return has arrived, and the message that it is belongs to this batch.

use std::time::Duration;

use futures_util::future::join_all;
use lapin::message::BasicReturnMessage;
use lapin::options::BasicPublishOptions;
use lapin::{Channel, Confirmation};
use tokio::time::timeout_at;

use super::Publish;
use super::lane::{Channels, Job};
use crate::broker::PublishError;
use crate::broker::rabbitmq::reason::{publish_error, reason};

const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Publishes the batch and answers every message of it.
pub(super) async fn send(batch: Vec<Job>, channels: &Channels) {
    let alone = batch.len() == 1;
    let again = attempt(batch, channels).await;
    for job in again {
        // The channel ended under them all, because of one: each by itself shows which.
        if alone {
            let ended = job.publish.outage("the channel ended");
            answer(job, Err(ended));
        } else {
            Box::pin(send(vec![job], channels)).await;
        }
    }
}

/// Publishes on one channel. Gives back what the end of the channel left open.
async fn attempt(batch: Vec<Job>, channels: &Channels) -> Vec<Job> {
    // All are of the same lane; the latest was given the latest connection.
    let Some(last) = batch.last() else { return Vec::new() };
    let deadline = last.deadline;
    let channel = match timeout_at(deadline, channels.take(&last.session)).await {
        Ok(Ok(channel)) => channel,
        Ok(Err(error)) => return answer_all(batch, &format!("no channel: {}", reason(&error))),
        Err(_) => return answer_all(batch, "no channel in time"),
    };
    let published = batch.iter().map(|job| publish(&channel, &job.publish));
    match timeout_at(deadline, join_all(published)).await {
        Err(_) => {
            // A confirm that comes late must not be taken for the next message's.
            discard(&channel).await;
            answer_all(batch, "no confirm in time")
        }
        Ok(confirmations) => {
            let open = judge(batch, confirmations);
            if channel.status().connected() {
                channels.keep(channel);
            }
            open
        }
    }
}

async fn publish(channel: &Channel, publish: &Publish) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let (exchange, routing_key) = (publish.exchange.clone(), publish.routing_key.clone());
    let confirm = channel.basic_publish(exchange, routing_key, options, &publish.body, publish.properties.clone());
    confirm.await?.await
}

/// Answers what is decided. An error of the channel decides only about a message that was alone on it.
fn judge(batch: Vec<Job>, confirmations: Vec<lapin::Result<Confirmation>>) -> Vec<Job> {
    let mut returns = Vec::new();
    let mut open = Vec::new();
    let alone = batch.len() == 1;
    let mut confirmed = Vec::with_capacity(batch.len());
    for (job, confirmation) in batch.into_iter().zip(confirmations) {
        match confirmation {
            Ok(Confirmation::Ack(returned)) => {
                returns.extend(returned);
                confirmed.push((job, true));
            }
            Ok(Confirmation::Nack(returned)) => {
                returns.extend(returned);
                confirmed.push((job, false));
            }
            Ok(Confirmation::NotRequested) => {
                let unsure = job.publish.outage("the channel gives no confirms");
                answer(job, Err(unsure));
            }
            Err(error) if alone => {
                let failed = publish_error(&job.publish.target, &error);
                answer(job, Err(failed));
            }
            Err(_) => open.push(job),
        }
    }
    let unroutable = unroutable(&confirmed, &open, &returns);
    for ((job, kept), returned) in confirmed.into_iter().zip(unroutable) {
        let outcome = match (returned, kept) {
            (Some(why), _) => Err(job
                .publish
                .outage(&format!("no queue takes it ({why}): declare the queue, or bind one to the exchange"))),
            (None, true) => Ok(()),
            (None, false) => Err(job.publish.outage("the broker refused it: a queue is full or unavailable")),
        };
        answer(job, outcome);
    }
    open
}

/// For each confirmed message, the broker's words where it was returned. A confirm for a message that no queue took comes
/// behind its return, so whatever concerns these is among `returns`; which is which, only the content tells.
fn unroutable(confirmed: &[(Job, bool)], open: &[Job], returns: &[BasicReturnMessage]) -> Vec<Option<String>> {
    let mut reasons = vec![None; confirmed.len()];
    for returned in returns {
        let mut matched = false;
        for ((job, _), reason) in confirmed.iter().zip(&mut reasons) {
            if is(returned, &job.publish) {
                *reason = Some(returned.reply_text.to_string());
                matched = true;
            }
        }
        // Recognised by nobody: rather published twice than lost.
        if !matched && !open.iter().any(|job| is(returned, &job.publish)) {
            reasons.iter_mut().for_each(|reason| *reason = Some(returned.reply_text.to_string()));
        }
    }
    reasons
}

fn is(returned: &BasicReturnMessage, publish: &Publish) -> bool {
    returned.routing_key == publish.routing_key
        && returned.data == publish.body
        && returned.properties == publish.properties
}

fn answer(job: Job, outcome: Result<(), PublishError>) {
    // An error means that nobody waits any more; what is kept then is one copy too many, never one too few.
    let _ = job.answer.send(outcome);
}

fn answer_all(batch: Vec<Job>, why: &str) -> Vec<Job> {
    for job in batch {
        let failed = job.publish.outage(why);
        answer(job, Err(failed));
    }
    Vec::new()
}

/// Ends the channel, with whatever is still under way on it.
async fn discard(channel: &Channel) {
    let closed = tokio::time::timeout(CLOSE_TIMEOUT, channel.close(200, "OK".into())).await;
    if let Ok(Err(error)) = closed {
        tracing::debug!(%error, "a publishing channel had ended before it was closed");
    }
}
