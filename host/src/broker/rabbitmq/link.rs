//! One connection to the broker, made when it is first needed and anew after it was lost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, Shared};
use lapin::{ConnectionProperties, ErrorKind};
use tokio_util::sync::CancellationToken;

use super::address::{Address, Addresses};
use super::reason::reason;
use super::session::Session;
use super::transport::{self, DialError, Tls, dial};
use crate::broker::BrokerError;

/// An address that does not complete the handshake within this is given up for the next one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Everybody who needs the connection while it is being made waits for the same attempt.
type Attempt = Shared<BoxFuture<'static, Result<Arc<Session>, BrokerError>>>;

/// A place for one connection. Lost connections are replaced on the next call, never behind its back:
/// whoever held something on the old one must learn that it is gone.
pub(super) struct Link {
    way: Arc<Way>,
    /// Stands in the connection's name, for the broker's operators.
    purpose: &'static str,
    attempt: Mutex<Option<Attempt>>,
}

/// How to get to a broker.
pub(super) struct Way {
    pub(super) addresses: Addresses,
    pub(super) tls: Tls,
}

impl Link {
    pub(super) fn new(way: Arc<Way>, purpose: &'static str) -> Self {
        Self { way, purpose, attempt: Mutex::default() }
    }

    /// The live connection, or a new one: one try of each address, bounded in time.
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
        let (way, purpose) = (self.way.clone(), self.purpose);
        async move {
            let trying = way.clone();
            // A task of its own, so that the attempt goes on when whoever began it stops waiting.
            let made = tokio::spawn(async move {
                trying.addresses.in_turn(|address| connect(address, trying.tls.clone(), purpose)).await
            });
            made.await.unwrap_or_else(|error| Err(way.addresses.first().unreachable(error)))
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

async fn connect(address: Address, tls: Tls, purpose: &'static str) -> Result<Arc<Session>, BrokerError> {
    let given_up = CancellationToken::new();
    let deadline = given_up.clone().drop_guard();
    let connecting = async {
        let tls = address.is_secure().then_some(&tls);
        let stream = dial(address.host(), address.port(), tls, given_up).await;
        let stream = stream.map_err(|error| address.undialled(&error))?;
        let properties =
            ConnectionProperties::default().with_connection_name(format!("reprieve {} {purpose}", address.name).into());
        transport::connect(stream, address.uri(), properties).await.map_err(|error| refused(&address, &error))
    };
    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(connection) => Ok(Session::start(connection?, address, deadline)),
        // The stream ends with its deadline here, and with it the library's thread for a peer that never answers.
        Err(_) => Err(address.unreachable(format_args!("no answer within {CONNECT_TIMEOUT:?}"))),
    }
}

fn refused(address: &Address, error: &lapin::Error) -> BrokerError {
    match error.kind() {
        ErrorKind::ProtocolError(refusal) => address.turned_away(refusal.get_id(), &reason(error)),
        ErrorKind::ParsingError(_) | ErrorKind::InvalidProtocolVersion(_) => address.not_a_broker(),
        ErrorKind::IOError(broken) => match DialError::of_stream(broken, address.is_secure()) {
            Some(error) => address.undialled(&error),
            None => address.unreachable(broken),
        },
        _ => address.unreachable(reason(error)),
    }
}
