//! One connection to the broker, made when it is first needed and anew after it was lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use lapin::{Connection, ConnectionProperties, ErrorKind};

use super::address::Address;
use super::reason::reason;
use super::session::Session;
use crate::broker::BrokerError;

/// A broker that does not complete the handshake within this is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Everybody who needs the connection while it is being made waits for the same attempt.
type Attempt = Shared<BoxFuture<'static, Result<Arc<Session>, BrokerError>>>;

/// A place for one connection. Lost connections are replaced on the next call, never behind its back:
/// whoever held something on the old one must learn that it is gone.
pub(super) struct Link {
    address: Arc<Address>,
    /// Stands in the connection's name, for the broker's operators.
    purpose: &'static str,
    attempt: Mutex<Option<Attempt>>,
    /// The last attempt was taken up by something that then stayed silent.
    silent: Arc<AtomicBool>,
}

impl Link {
    pub(super) fn new(address: Arc<Address>, purpose: &'static str) -> Self {
        Self { address, purpose, attempt: Mutex::default(), silent: Arc::default() }
    }

    /// The live connection, or a new one: one try, bounded in time.
    pub(super) async fn session(&self) -> Result<Arc<Session>, BrokerError> {
        let attempt = {
            let mut slot = self.slot();
            match slot.as_ref() {
                Some(attempt) if may_serve(attempt) => attempt.clone(),
                _ => slot.insert(self.connect()).clone(),
            }
        };
        attempt.await
    }

    /// Ends the connection, if there is one. The next call of [`Self::session`] would make another.
    pub(super) async fn close(&self) {
        let attempt = self.slot().take();
        if let Some(Ok(session)) = attempt.as_ref().and_then(|attempt| attempt.peek()) {
            session.close().await;
        }
    }

    fn connect(&self) -> Attempt {
        let address = self.address.clone();
        let name = format!("reprieve {} {}", address.name, self.purpose);
        let silent = self.silent.clone();
        async move {
            // A task of its own, so that the attempt goes on when whoever began it stops waiting.
            let made = tokio::spawn(connect(address.clone(), name, silent)).await;
            made.unwrap_or_else(|error| Err(address.unreachable(error)))
        }
        .boxed()
        .shared()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Attempt>> {
        // What is guarded is replaced whole, so a panic elsewhere cannot have left it half-made.
        self.attempt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt under way, or one that led to a connection which still stands and has channels to give.
fn may_serve(attempt: &Attempt) -> bool {
    match attempt.peek() {
        None => true,
        Some(Ok(session)) => session.takes_more(),
        Some(Err(_)) => false,
    }
}

async fn connect(address: Arc<Address>, name: String, silent: Arc<AtomicBool>) -> Result<Arc<Session>, BrokerError> {
    // The client library keeps a thread for a peer that took the connection and never answered, however long
    // that lasts. So after one such attempt, ask first.
    if silent.load(Ordering::Relaxed) {
        address.answers(CONNECT_TIMEOUT).await.map_err(|error| address.unreachable(error))?;
    }
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    match tokio::time::timeout(CONNECT_TIMEOUT, Connection::connect_uri(address.uri(), properties)).await {
        Ok(Ok(connection)) => {
            silent.store(false, Ordering::Relaxed);
            Ok(Session::start(connection))
        }
        Ok(Err(error)) => Err(match error.kind() {
            ErrorKind::ProtocolError(refusal) => address.turned_away(refusal.get_id(), &reason(&error)),
            ErrorKind::ParsingError(_) | ErrorKind::InvalidProtocolVersion(_) => address.not_a_broker(),
            _ => address.unreachable(reason(&error)),
        }),
        Err(_) => {
            silent.store(true, Ordering::Relaxed);
            Err(address.unreachable(format_args!("no answer within {CONNECT_TIMEOUT:?}")))
        }
    }
}
