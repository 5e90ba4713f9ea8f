//! What a node is told.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;

use crate::ports::free_ports;

/// Where a node is, and what is special about it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its configuration, data, log and process ids. What is there is kept, and served again at the next start.
    pub folder: PathBuf,
    /// Where it answers clients, on 127.0.0.1.
    pub port: u16,
    /// Where it answers itself as the controller, on 127.0.0.1.
    pub controller_port: u16,
    /// A second way in, for clients that come through a proxy.
    pub proxied: Option<Proxied>,
    /// The broker's own settings by their names, over those that are set here.
    pub properties: Vec<(String, String)>,
}

/// Kafka's clients connect to the address that the broker tells them, so a proxy stands before a listener of its own.
#[derive(Debug, Clone, Copy)]
pub struct Proxied {
    /// Where the node listens for the proxy, on 127.0.0.1.
    pub port: u16,
    /// The proxy's port on 127.0.0.1, which clients that come through it are told.
    pub advertised: u16,
}

impl Settings {
    /// On free ports, with a folder of its own beneath [`crate::folder`].
    ///
    /// # Errors
    /// Where there are no free ports.
    pub fn new() -> Result<Self> {
        let [port, controller_port] = free_ports()?;
        let folder = crate::folder().join(format!("node-{port}"));
        Ok(Self { folder, port, controller_port, proxied: None, properties: Vec::new() })
    }

    /// As Kafka reads it from a file.
    pub(crate) fn properties(&self) -> String {
        let Self { folder, port, controller_port, proxied, properties } = self;
        let mut listeners = format!("PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}");
        let mut advertised = format!("PLAINTEXT://127.0.0.1:{port}");
        if let Some(proxied) = proxied {
            let _ = write!(listeners, ",PROXIED://127.0.0.1:{}", proxied.port);
            let _ = write!(advertised, ",PROXIED://127.0.0.1:{}", proxied.advertised);
        }
        // No topic is made by asking for it, as it should be where messages matter. Members of a group may be missed soon
        // and need not wait for others, and a node that was killed is soon believed to be gone, so that it is let in again:
        // all this would only take the tests time.
        let mut text = format!(
            "process.roles=broker,controller\n\
             node.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller_port}\n\
             controller.listener.names=CONTROLLER\n\
             listeners={listeners}\n\
             advertised.listeners={advertised}\n\
             listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             inter.broker.listener.name=PLAINTEXT\n\
             log.dirs={}\n\
             auto.create.topics.enable=false\n\
             offsets.topic.replication.factor=1\n\
             offsets.topic.num.partitions=4\n\
             transaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\n\
             transaction.state.log.num.partitions=4\n\
             broker.session.timeout.ms=3000\n\
             broker.heartbeat.interval.ms=500\n\
             group.initial.rebalance.delay.ms=0\n\
             group.min.session.timeout.ms=1000\n\
             group.consumer.min.session.timeout.ms=1000\n\
             group.consumer.min.heartbeat.interval.ms=500\n\
             log.cleaner.dedupe.buffer.size=16777216\n",
            folder.join("data").display()
        );
        for (name, value) in properties {
            let _ = writeln!(text, "{name}={value}");
        }
        text
    }
}
