//! A way to the broker that can be cut.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;

use super::frames::{Frames, Method};

/// Passes TCP connections on to the broker, until they are cut.
pub struct Proxy {
    address: SocketAddr,
    passing: Arc<Mutex<Vec<AbortHandle>>>,
    accepting: AbortHandle,
    ear: Arc<Ear>,
}

/// What is heard of the clients.
#[derive(Default)]
struct Ear {
    swallowing_from: Mutex<Option<Method>>,
    passed: Mutex<Vec<Method>>,
    swallowed: Mutex<Vec<Method>>,
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
        let (connections, ear) = (passing.clone(), Arc::<Ear>::default());
        let heard = ear.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, ear) = (target.clone(), heard.clone());
                let pass = tokio::spawn(async move {
                    let broker = TcpStream::connect(target).await?;
                    ear.pass(client, broker).await
                });
                connections.lock().expect("nobody panics with it").push(pass.abort_handle());
            }
        });
        Self { address, passing, accepting: accepting.abort_handle(), ear }
    }

    /// The broker's URL by way of this proxy.
    #[must_use]
    pub fn url(&self) -> String {
        url_by_way_of(self.address)
    }

    /// From the next such method on nothing that its client sends on that connection reaches the broker. The client does
    /// not notice until the next cut, which ends this.
    pub fn swallow_from(&self, method: Method) {
        *self.ear.swallowing_from.lock().expect("nobody panics with it") = Some(method);
    }

    /// Waits, for up to ten seconds, until a method was swallowed.
    ///
    /// # Panics
    /// Where none was.
    pub async fn has_swallowed(&self, method: Method) {
        for _ in 0..500 {
            if self.ear.swallowed.lock().expect("nobody panics with it").contains(&method) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{method:?} was not swallowed within ten seconds");
    }

    /// How often clients have sent a method that was passed on.
    #[must_use]
    pub fn count(&self, method: Method) -> usize {
        let passed = self.ear.passed.lock().expect("nobody panics with it");
        passed.iter().filter(|passed| **passed == method).count()
    }

    /// Cuts every connection; new ones are passed on again.
    pub fn cut(&self) {
        // Not before they are cut: what was swallowed leaves a gap.
        let connections: Vec<_> = self.passing.lock().expect("nobody panics with it").drain(..).collect();
        for connection in connections {
            connection.abort();
        }
        *self.ear.swallowing_from.lock().expect("nobody panics with it") = None;
    }
}

impl Ear {
    /// Passes one connection on, in both directions, until both have ended.
    async fn pass(&self, mut client: TcpStream, mut broker: TcpStream) -> io::Result<()> {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_broker, mut to_broker) = broker.split();
        let down = async {
            tokio::io::copy(&mut from_broker, &mut to_client).await?;
            to_client.shutdown().await
        };
        let up = async {
            let (mut frames, mut buffer, mut swallows) = (Frames::default(), vec![0; 64 * 1024], false);
            loop {
                let length = from_client.read(&mut buffer).await?;
                if length == 0 {
                    return to_broker.shutdown().await;
                }
                let methods = frames.read(&buffer[..length]);
                let from = *self.swallowing_from.lock().expect("nobody panics with it");
                swallows |= from.is_some_and(|from| methods.contains(&from));
                if !swallows {
                    to_broker.write_all(&buffer[..length]).await?;
                }
                let heard = if swallows { &self.swallowed } else { &self.passed };
                heard.lock().expect("nobody panics with it").extend(methods);
            }
        };
        tokio::try_join!(down, up).map(|_| ())
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
