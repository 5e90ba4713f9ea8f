//! One live connection, and the promise that whoever consumes on it learns of its end at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::{Channel, ChannelStatus, Connection, Event};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::address::Address;

/// A broker that is blocked or hung may never answer a close; it sees the end of the connection soon enough.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// An open connection.
pub(super) struct Session {
    connection: Connection,
    /// Where it leads.
    pub(super) address: Address,
    channels_opened: AtomicUsize,
    watched: Mutex<Vec<(ChannelStatus, CancellationToken)>>,
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
        self.watched_list().push((channel.status().clone(), lost));
        // It may have ended before it was on the list.
        self.sweep();
    }

    /// Ends the connection.
    pub(super) async fn close(&self) {
        let closed = tokio::time::timeout(CLOSE_TIMEOUT, self.connection.close(200, "OK".into())).await;
        match closed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the connection had ended before it was closed"),
            Err(_) => drop(self.stream.lock().unwrap_or_else(PoisonError::into_inner).take()),
        }
        // A close that we asked for is no event.
        self.watched_list().drain(..).for_each(|(_, lost)| lost.cancel());
    }

    fn sweep(&self) {
        let connected = self.connected();
        self.watched_list().retain(|(channel, lost)| {
            if !connected || !channel.connected() {
                lost.cancel();
            }
            !lost.is_cancelled()
        });
    }

    fn watched_list(&self) -> MutexGuard<'_, Vec<(ChannelStatus, CancellationToken)>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
