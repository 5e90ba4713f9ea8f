//! One live connection, and the promise that whoever consumes on it learns of its end at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::options::BasicCancelOptions;
use lapin::{Channel, Connection, Event};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::address::Address;

/// The consumer's name on its channel, for the broker's operators. A channel has one consumer.
pub(super) const CONSUMER_TAG: &str = "reprieve";
/// A broker that is blocked or hung may never answer a close; it sees the end of the connection soon enough.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// While many settles of a quorum queue wait for the queue's log, the broker keeps more of them in the channel, and forgets
/// those when the channel ends: acknowledged messages would come back. Nothing tells when they are through, and the log
/// takes less than this.
const SETTLES_ARRIVE: Duration = Duration::from_millis(250);

/// An open connection.
pub(super) struct Session {
    connection: Connection,
    /// Where it leads.
    pub(super) address: Address,
    channels_opened: AtomicUsize,
    /// With a handle to each channel. The library closes a channel whose last handle is dropped; where that meets the close
    /// of the connection it takes it for an error and throws away what is still to be written, settles too.
    watched: Mutex<Vec<(Channel, CancellationToken)>>,
    /// Channels that are being closed.
    ending: Mutex<JoinSet<()>>,
    _watcher: DropGuard,
    /// Ends the stream beneath, should the broker never answer the end of the connection.
    stream: Mutex<Option<DropGuard>>,
}

impl Session {
    /// Takes charge of a connection that has just been made. Its stream ends with `stream`.
    pub(super) fn start(connection: Connection, address: Address, stream: DropGuard) -> Arc<Self> {
        let ended = CancellationToken::new();
        // The library hands each event to one listener only, so this must stay the only one.
        let mut events = connection.events_listener().boxed();
        let session = Arc::new(Self {
            connection,
            address,
            channels_opened: AtomicUsize::new(0),
            watched: Mutex::default(),
            ending: Mutex::default(),
            _watcher: ended.clone().drop_guard(),
            stream: Mutex::new(Some(stream)),
        });
        let watched = Arc::downgrade(&session);
        tokio::spawn(ended.run_until_cancelled_owned(async move {
            while let Some(event) = events.next().await {
                match (event, watched.upgrade()) {
                    (Event::Error(_), Some(session)) => session.sweep(),
                    (_, Some(_)) => {}
                    (_, None) => break,
                }
            }
        }));
        session
    }

    /// Opens a channel.
    pub(super) async fn channel(&self) -> lapin::Result<Channel> {
        self.channels_opened.fetch_add(1, Ordering::Relaxed);
        self.connection.create_channel().await
    }

    /// Whether the connection stands.
    pub(super) fn connected(&self) -> bool {
        self.connection.status().connected()
    }

    /// Whether more channels should be opened here. A number whose channel the broker ended cannot be used again:
    /// the client library would answer everything on it with the old error. So a connection that has used up most
    /// of its numbers serves those who have a channel there, and nobody new.
    pub(super) fn takes_more(&self) -> bool {
        let numbers = usize::from(self.connection.configuration().channel_max());
        self.connected() && self.channels_opened.load(Ordering::Relaxed) < numbers - numbers / 4
    }

    /// Whether the broker takes no publishes on this connection, because of a memory or disk alarm.
    pub(super) fn blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// The negotiated size of the largest frame in bytes.
    pub(super) fn frame_max(&self) -> usize {
        self.connection.configuration().frame_max().try_into().unwrap_or(usize::MAX)
    }

    /// Cancels `lost` when `channel` or this connection ends, also while nobody reads from them.
    pub(super) fn watch(&self, channel: &Channel, lost: CancellationToken) {
        self.watched_list().push((channel.clone(), lost));
        // It may have ended before it was on the list.
        self.sweep();
    }

    /// Gives up a watched channel: nothing can be settled on it from now on. When what was settled before has arrived, the
    /// rest is the broker's again.
    pub(super) fn end(self: &Arc<Self>, channel: &Channel, lost: &CancellationToken) {
        if lost.is_cancelled() {
            return;
        }
        lost.cancel();
        // Outside of a runtime everything ends, and the connection with it.
        let Ok(runtime) = Handle::try_current() else { return };
        let (session, channel) = (self.clone(), channel.clone());
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        while ending.try_join_next().is_some() {}
        let ended = async move {
            if let Err(error) = close_in_order(&channel).await {
                tracing::debug!(%error, "a consuming channel had ended before it was closed");
            }
            // Until here: without it the connection would end.
            drop(session);
        };
        ending.spawn_on(ended, &runtime);
    }

    /// Ends the channels that are watched, and then the connection.
    pub(super) async fn close(self: &Arc<Self>) {
        let watched = std::mem::take(&mut *self.watched_list());
        watched.iter().for_each(|(channel, lost)| self.end(channel, lost));
        let mut ending = std::mem::take(&mut *self.ending.lock().unwrap_or_else(PoisonError::into_inner));
        let closed = async {
            while ending.join_next().await.is_some() {}
            self.connection.close(200, "OK".into()).await
        };
        match timeout(CLOSE_TIMEOUT, closed).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the connection had ended before it was closed"),
            Err(_) => drop(self.stream.lock().unwrap_or_else(PoisonError::into_inner).take()),
        }
    }

    fn sweep(&self) {
        let connected = self.connected();
        self.watched_list().retain(|(channel, lost)| {
            if !connected || !channel.status().connected() {
                lost.cancel();
            }
            !lost.is_cancelled()
        });
    }

    fn watched_list(&self) -> MutexGuard<'_, Vec<(Channel, CancellationToken)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn close_in_order(channel: &Channel) -> lapin::Result<()> {
    // What comes now would only go back, redelivered. And the answer says that all that was sent before has been read; it
    // comes also where the consumer was cancelled before.
    let cancelled = channel.basic_cancel(CONSUMER_TAG.into(), BasicCancelOptions::default());
    // Closed also where the broker is slow to answer: nothing else gives back what is unsettled.
    timeout(CLOSE_TIMEOUT, cancelled).await.unwrap_or(Ok(()))?;
    sleep(SETTLES_ARRIVE).await;
    timeout(CLOSE_TIMEOUT, channel.close(200, "OK".into())).await.unwrap_or(Ok(()))
}
