//! What waits to be published to one target, and the channels that it goes out on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lapin::Channel;
use lapin::options::ConfirmSelectOptions;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use super::Publish;
use super::batch;
use crate::broker::PublishError;
use crate::broker::rabbitmq::session::Session;

/// Batches under way at once. One would leave the broker idle while its confirms travel; more only make batches smaller.
const CHANNELS: usize = 4;
/// The messages of one batch at most.
const MESSAGES: usize = 128;
/// The bytes of their bodies at most, but for a message that is larger by itself and goes alone: what one large message
/// meets, a refusal or a slow line, is nobody else's business.
const BYTES: usize = 1024 * 1024;
/// With less time left, a message is not sent any more.
const SHORTEST: Duration = Duration::from_millis(500);

/// A message that waits, and who waits for what becomes of it.
pub(super) struct Job {
    pub(super) publish: Publish,
    pub(super) session: Arc<Session>,
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Result<(), PublishError>>,
}

/// The way to one target. Clones are the same way; it ends with the last of them.
#[derive(Clone)]
pub(super) struct Lane(mpsc::UnboundedSender<Job>);

impl Lane {
    pub(super) fn start() -> Self {
        // Not bounded here: each message holds a slot of its route until it is answered.
        let (waiting, jobs) = mpsc::unbounded_channel();
        tokio::spawn(send_batches(jobs));
        Self(waiting)
    }

    /// What became of the message, by its deadline or a little later.
    pub(super) async fn publish(
        self,
        publish: Publish,
        session: Arc<Session>,
        deadline: Instant,
    ) -> Result<(), PublishError> {
        let (answer, outcome) = oneshot::channel();
        let ended = publish.outage("publishing has ended");
        if self.0.send(Job { publish, session, deadline, answer }).is_err() {
            return Err(ended);
        }
        outcome.await.unwrap_or(Err(ended))
    }
}

async fn send_batches(mut jobs: mpsc::UnboundedReceiver<Job>) {
    let channels = Arc::new(Channels::default());
    let free = Arc::new(Semaphore::new(CHANNELS));
    let mut waiting = VecDeque::new();
    loop {
        let permit = Arc::clone(&free).acquire_owned().await.expect("the semaphore is never closed");
        if waiting.is_empty() {
            match jobs.recv().await {
                Some(job) => waiting.push_back(job),
                None => return,
            }
        }
        waiting.extend(std::iter::from_fn(|| jobs.try_recv().ok()));
        let batch = next_batch(&mut waiting);
        let channels = Arc::clone(&channels);
        // A task of its own: whoever stops waiting must not leave a channel with a confirm still to come.
        tokio::spawn(async move {
            batch::send(batch, &channels).await;
            drop(permit);
        });
    }
}

/// What goes out together: at least one message, and no more than fits.
fn next_batch(waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(job) = waiting.front() {
        bytes += job.publish.body.len();
        if batch.len() == MESSAGES || (bytes > BYTES && !batch.is_empty()) {
            break;
        }
        let Some(job) = waiting.pop_front() else { break };
        if job.answer.is_closed() {
            // Whoever stopped waiting will publish another copy, or never wants this one.
            bytes -= job.publish.body.len();
        } else if job.deadline.saturating_duration_since(Instant::now()) < SHORTEST {
            // Sent now, its confirm would come too late, and it would be published twice.
            let late = job.publish.outage("every channel waits for the broker's confirm");
            batch::answer(job, Err(late));
        } else {
            batch.push(job);
        }
    }
    batch
}

/// Channels in confirm mode on which nothing is under way.
#[derive(Default)]
pub(super) struct Channels(Mutex<Vec<Channel>>);

impl Channels {
    /// An idle channel, or a new one. Those that ended with their connection are forgotten here.
    pub(super) async fn take(&self, session: &Session) -> lapin::Result<Channel> {
        let idle = {
            let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::iter::from_fn(|| idle.pop()).find(|channel| channel.status().connected())
        };
        if let Some(channel) = idle {
            return Ok(channel);
        }
        let channel = session.channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(channel)
    }

    /// Leaves the channel for the next batch.
    pub(super) fn keep(&self, channel: Channel) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(channel);
    }
}
