//! The admin listener's port and the end of its service.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long requests that are running when the shutdown begins may take to finish.
const DRAIN: Duration = Duration::from_secs(2);

/// The admin address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on {address}, the address under `admin` in [host]: {reason}; stop what uses it, or set another one"
)]
pub struct BindError {
    address: String,
    /// Not a source, since the message has it in its middle.
    reason: io::Error,
}

/// Listens on an address such as `127.0.0.1:7878`; port 0 takes any free one.
pub async fn bind(address: &str) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|reason| BindError { address: address.to_owned(), reason })
}

/// Serves until `shutdown` ends and the requests that are running then have been answered, two seconds at most.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let stopping = CancellationToken::new();
    let begun = stopping.clone();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move {
        shutdown.await;
        stopping.cancel();
    });
    tokio::select! {
        ended = server => ended,
        // A client that never finishes its request must not keep the host from stopping.
        () = async { begun.cancelled().await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}
