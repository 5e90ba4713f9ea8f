//! A way to the broker that can be cut.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;

/// Passes TCP connections on to the broker, until they are cut.
pub struct Proxy {
    address: SocketAddr,
    passing: Arc<Mutex<Vec<AbortHandle>>>,
    accepting: AbortHandle,
}

/// An address where nothing answers yet, and which nobody else can take.
pub struct Down {
    address: SocketAddr,
    socket: TcpSocket,
}

impl Down {
    /// The broker's URL by way of this address.
    #[must_use]
    pub fn url(&self) -> String {
        url_by_way_of(self.address)
    }

    /// Connections are passed on from now on.
    ///
    /// # Panics
    /// Where the system does not let it listen, or no Tokio runtime runs here.
    #[must_use]
    pub fn up(self) -> Proxy {
        Proxy::pass_on(self.socket.listen(128).expect("a bound socket"))
    }
}

impl Proxy {
    /// A proxy before the broker of the tests.
    pub async fn start() -> Self {
        Self::down().up()
    }

    /// A proxy that refuses connections until it is told to be up.
    ///
    /// # Panics
    /// Where there is no free port, or no Tokio runtime runs here.
    #[must_use]
    pub fn down() -> Down {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        Down { address: socket.local_addr().expect("a bound socket has an address"), socket }
    }

    fn pass_on(listener: TcpListener) -> Self {
        let url = super::url();
        let target = host_and_port(&url).to_owned();
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
        Self { address, passing, accepting: accepting.abort_handle() }
    }

    /// The broker's URL by way of this proxy.
    #[must_use]
    pub fn url(&self) -> String {
        url_by_way_of(self.address)
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

fn url_by_way_of(address: SocketAddr) -> String {
    let url = super::url();
    url.replace(host_and_port(&url), &address.to_string())
}

pub(super) fn host_and_port(url: &str) -> &str {
    let authority = url.split_once("://").expect("an amqp URL").1.split('/').next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}
