//! A host's way to the broker, which can be cut and stalled.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Passes connections on to the broker.
pub(crate) struct Proxy {
    address: SocketAddr,
    passing: Arc<Mutex<Vec<AbortHandle>>>,
    stalled: watch::Sender<bool>,
    accepting: AbortHandle,
}

impl Proxy {
    pub(crate) async fn start(broker: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("the proxy finds no free port")?;
        let address = listener.local_addr()?;
        let passing = Arc::<Mutex<Vec<AbortHandle>>>::default();
        let (stalled, stall) = watch::channel(false);
        let connections = Arc::clone(&passing);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // Where there is no broker, the client's connection ends.
                let pass = tokio::spawn(pass(client, broker, stall.clone()));
                let mut connections = lock(&connections);
                connections.retain(|connection| !connection.is_finished());
                connections.push(pass.abort_handle());
            }
        });
        Ok(Self { address, passing, stalled, accepting: accepting.abort_handle() })
    }

    /// Where hosts connect to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every connection; what was on its way is gone.
    pub(crate) fn cut(&self) {
        for connection in lock(&self.passing).drain(..) {
            connection.abort();
        }
    }

    /// Holds up every connection, or lets them go on.
    pub(crate) fn stall(&self, stalled: bool) {
        self.stalled.send_replace(stalled);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn pass(client: TcpStream, broker: SocketAddr, stall: watch::Receiver<bool>) -> std::io::Result<()> {
    let broker = TcpStream::connect(broker).await?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_broker, to_broker) = broker.into_split();
    // Either side's end is the end of both.
    tokio::select! {
        result = copy(from_client, to_broker, stall.clone()) => result,
        result = copy(from_broker, to_client, stall) => result,
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut stall: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        // The proxy lives as long as its connections do, so the sender is there.
        let _ = stall.wait_for(|stalled| !stalled).await;
        to.write_all(&buffer[..read]).await?;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
