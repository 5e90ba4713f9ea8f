//! The broker's process, which is the rig's own to kill.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use reprieve_kafka_node::{Node as Server, Settings, free_ports};
use tokio::task::spawn_blocking;

use crate::proxy::Proxy;

/// At most so many hosts.
const MOST: usize = 3;

/// A node. Dropped, it ends.
pub(super) struct Node {
    address: String,
    /// Nothing only where a start or an end of it has failed.
    server: Option<Server>,
}

impl Node {
    /// A node that is not started yet, and a proxy for each host. Clients go where the broker says it is, so there is a
    /// listener behind each proxy, which says that it is where the proxy is.
    pub(super) async fn new(folder: PathBuf, hosts: usize) -> Result<(Self, Vec<Proxy>)> {
        let [port, controller_port, behind @ ..] = free_ports::<{ MOST + 2 }>()?;
        let mut proxies = Vec::new();
        let (mut listeners, mut advertised, mut protocols) = (String::new(), String::new(), String::new());
        for (number, behind) in behind.into_iter().take(hosts).enumerate() {
            let proxy = Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, behind))).await?;
            listeners += &format!(",HOST{number}://127.0.0.1:{behind}");
            advertised += &format!(",HOST{number}://{}", proxy.address());
            protocols += &format!(",HOST{number}:PLAINTEXT");
            proxies.push(proxy);
        }
        let own = format!("PLAINTEXT://127.0.0.1:{port}");
        let properties = [
            ("listeners", format!("{own},CONTROLLER://127.0.0.1:{controller_port}{listeners}")),
            ("advertised.listeners", format!("{own}{advertised}")),
            ("listener.security.protocol.map", format!("PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT{protocols}")),
        ];
        let properties = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let server = Server::new(Settings { folder, port, controller_port, proxied: None, properties });
        Ok((Self { address: server.address(), server: Some(server) }, proxies))
    }

    pub(super) fn address(&self) -> String {
        self.address.clone()
    }

    /// Starts it and waits until clients are let in.
    pub(super) async fn start(&mut self) -> Result<()> {
        self.with(Server::start).await
    }

    /// `kill -9`.
    pub(super) async fn kill(&mut self) -> Result<()> {
        self.with(Server::kill).await
    }

    /// Stops it in order.
    pub(super) async fn stop(&mut self) -> Result<()> {
        self.with(Server::stop).await
    }

    /// Away from the threads that everything else goes on in.
    async fn with(&mut self, work: impl FnOnce(&mut Server) -> Result<()> + Send + 'static) -> Result<()> {
        let mut server = self.server.take().context("the broker is in an unknown state")?;
        let worked = spawn_blocking(move || {
            let outcome = work(&mut server);
            (server, outcome)
        });
        let (server, outcome) = worked.await.context("what starts and ends the broker ended badly")?;
        self.server = Some(server);
        outcome
    }
}
