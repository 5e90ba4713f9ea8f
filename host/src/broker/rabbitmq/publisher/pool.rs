//! Channels in confirm mode, each used for one message at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapin::Channel;
use lapin::options::ConfirmSelectOptions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::broker::rabbitmq::session::Session;

/// How many messages may wait for their confirms at once. RabbitMQ's own limit is 2047 channels a connection.
const CHANNELS: usize = 64;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Idle channels, and the right to use one.
pub(super) struct Pool {
    idle: Mutex<Vec<Channel>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { idle: Mutex::default(), permits: Arc::new(Semaphore::new(CHANNELS)) }
    }

    /// The right to use one channel, once there is one to be had.
    pub(super) async fn slot(self: &Arc<Self>) -> Slot {
        let permit = self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        Slot { pool: self.clone(), _permit: permit }
    }

    /// Ends the idle channels.
    pub(super) fn clear(&self) {
        self.idle().clear();
    }

    /// An idle channel that is still open. Those that ended with their connection are forgotten here.
    fn take(&self) -> Option<Channel> {
        let mut idle = self.idle();
        std::iter::from_fn(|| idle.pop()).find(|channel| channel.status().connected())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Channel>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to use one channel.
pub(super) struct Slot {
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Slot {
    /// A channel in confirm mode on which nothing is under way.
    pub(super) async fn channel(&self, session: &Session) -> lapin::Result<Channel> {
        if let Some(channel) = self.pool.take() {
            return Ok(channel);
        }
        let channel = session.channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(channel)
    }

    /// Leaves the channel for the next message.
    pub(super) fn keep(&self, channel: Channel) {
        self.pool.idle().push(channel);
    }

    /// Ends the channel, with whatever is still under way on it.
    pub(super) async fn discard(&self, channel: &Channel) {
        let closed = tokio::time::timeout(CLOSE_TIMEOUT, channel.close(200, "OK".into())).await;
        if let Ok(Err(error)) = closed {
            tracing::debug!(%error, "a publishing channel had ended before it was closed");
        }
    }
}
