//! A way to the broker that can be cut.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Passes TCP connections on to the broker, until they are cut.
pub struct Proxy {
    address: SocketAddr,
    upstream: String,
    passing: Arc<Mutex<Vec<AbortHandle>>>,
    accepting: AbortHandle,
}

impl Proxy {
    /// A proxy before the broker of the tests.
    pub async fn start() -> Self {
        let upstream = super::url();
        let target = host_and_port(&upstream).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let passing = Arc::<Mutex<Vec<AbortHandle>>>::default();
        let connections = passing.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let target = target.clone();
                let pass = tokio::spawn(async move {
                    let mut broker = TcpStream::connect(target).await?;
                    tokio::io::copy_bidirectional(&mut client, &mut broker).await
                });
                connections.lock().expect("nobody panics with it").push(pass.abort_handle());
            }
        });
        Self { address, upstream, passing, accepting: accepting.abort_handle() }
    }

    /// The broker's URL by way of this proxy.
    #[must_use]
    pub fn url(&self) -> String {
        self.upstream.replace(host_and_port(&self.upstream), &self.address.to_string())
    }

    /// Cuts every connection; new ones are passed on again.
    pub fn cut(&self) {
        for connection in self.passing.lock().expect("nobody panics with it").drain(..) {
            connection.abort();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

fn host_and_port(url: &str) -> &str {
    let authority = url.split_once("://").expect("an amqp URL").1.split('/').next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}
