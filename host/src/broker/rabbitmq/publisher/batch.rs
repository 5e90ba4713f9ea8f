//! Messages that go out together on a channel that carries nothing else, and what becomes of each.
//!
//! The broker names no message when it returns one, and one confirm may cover several. But a return comes before the confirm
//! of its message, and the channel carries this batch alone: the returns that concern what is confirmed are all here, and
//! the content tells which is whose.

use std::time::Duration;

use futures_util::stream::{self, FuturesUnordered};
use futures_util::{FutureExt, StreamExt};
use lapin::message::BasicReturnMessage;
use lapin::options::BasicPublishOptions;
use lapin::{Channel, Confirmation};
use tokio::time::{Instant, timeout_at};

use super::Publish;
use super::lane::{Channels, Job};
use crate::broker::PublishError;
use crate::broker::rabbitmq::reason::{publish_error, reason};

const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How many of a batch whose channel ended are sent alone at a time.
const CHANNELS_AFTER_AN_END: usize = 8;

/// Publishes the batch and answers every message of it.
pub(super) async fn send(batch: Vec<Job>, channels: &Channels) {
    let open = attempt(batch, channels).await;
    // The channel ended under them all, because of one: each by itself shows which.
    stream::iter(open)
        .for_each_concurrent(CHANNELS_AFTER_AN_END, |job| async {
            for left in attempt(vec![job], channels).await {
                let ended = left.publish.outage("the channel ended");
                answer(left, Err(ended));
            }
        })
        .await;
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
    let confirmations = confirmations(&batch, &channel, deadline).await;
    if confirmations.iter().all(|confirmation| matches!(confirmation, Some(Ok(_)))) {
        channels.keep(channel);
    } else if confirmations.iter().any(Option::is_none) {
        // A confirm that comes late must not be taken for the next message's.
        discard(&channel).await;
    }
    judge(batch, confirmations)
}

/// What the broker said of each message by the deadline.
async fn confirmations(
    batch: &[Job],
    channel: &Channel,
    deadline: Instant,
) -> Vec<Option<lapin::Result<Confirmation>>> {
    let mut confirmations: Vec<_> = batch.iter().map(|_| None).collect();
    let published = batch.iter().enumerate();
    let mut under_way: FuturesUnordered<_> =
        published.map(|(index, job)| async move { (index, publish(channel, &job.publish).await) }).collect();
    while let Ok(Some((index, confirmation))) = timeout_at(deadline, under_way.next()).await {
        confirmations[index] = Some(confirmation);
    }
    // A return is handed out with the first confirm that comes behind it. Whatever came with one that was seen has come too.
    while let Some(Some((index, confirmation))) = under_way.next().now_or_never() {
        confirmations[index] = Some(confirmation);
    }
    confirmations
}

async fn publish(channel: &Channel, publish: &Publish) -> lapin::Result<Confirmation> {
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let (exchange, routing_key) = (publish.exchange.clone(), publish.routing_key.clone());
    let confirm = channel.basic_publish(exchange, routing_key, options, &publish.body, publish.properties.clone());
    confirm.await?.await
}

/// Answers what is decided. An error of the channel decides only about a message that was alone on it.
fn judge(batch: Vec<Job>, confirmations: Vec<Option<lapin::Result<Confirmation>>>) -> Vec<Job> {
    let (mut confirmed, mut late, mut open, mut returns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let alone = batch.len() == 1;
    for (job, confirmation) in batch.into_iter().zip(confirmations) {
        match confirmation {
            Some(Ok(Confirmation::Ack(returned))) => {
                returns.extend(returned);
                confirmed.push((job, true));
            }
            Some(Ok(Confirmation::Nack(returned))) => {
                returns.extend(returned);
                confirmed.push((job, false));
            }
            Some(Ok(Confirmation::NotRequested)) => {
                let unsure = job.publish.outage("the channel gives no confirms");
                answer(job, Err(unsure));
            }
            Some(Err(error)) if alone => {
                let failed = publish_error(&job.publish.target, &error);
                answer(job, Err(failed));
            }
            Some(Err(_)) => open.push(job),
            None => late.push(job),
        }
    }
    let undecided = || open.iter().chain(&late);
    let unroutable = unroutable(&confirmed, undecided(), &returns);
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
    answer_all(late, "no confirm in time");
    open
}

/// For each confirmed message, the broker's words where it was returned. A confirm for a message that no queue took comes
/// behind its return, so whatever concerns these is among `returns`; which is which, only the content tells.
fn unroutable<'j>(
    confirmed: &[(Job, bool)],
    undecided: impl Iterator<Item = &'j Job> + Clone,
    returns: &[BasicReturnMessage],
) -> Vec<Option<String>> {
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
        if !matched && !undecided.clone().any(|job| is(returned, &job.publish)) {
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

pub(super) fn answer(job: Job, outcome: Result<(), PublishError>) {
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
