//! RabbitMQ: quorum queues, or a classic one, on a node of the rig's own.

mod bound;
mod client;
mod closing;
mod dead_letters;
mod inflict;
mod node;
mod producer;
mod topology;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{sleep, timeout};

use crate::books::Books;
use crate::broker::{Broker, Course, Findings, Terms};
use crate::faults::{Kind, Repertoire};
use crate::host::SLOTS;
use crate::proxy::Proxy;
use crate::stalls::{Sample, longest_of_hosts};
use crate::within::{PATIENCE, within};
use client::Client;
use node::Node;
pub(crate) use topology::Source;
use topology::{DEAD, DEAD_QUEUES, EXCHANGE, INVALID, SOURCE, WAITING, ready};

/// Longer is waited for no answer to how much is ready.
const ANSWER: Duration = Duration::from_secs(2);

pub(crate) const REPERTOIRE: Repertoire = Repertoire {
    of_a_host: &[
        Kind::KillHost,
        Kind::TerminateHost,
        Kind::HangUp,
        Kind::Cut,
        Kind::Stall,
        Kind::Swap,
        Kind::BadPolicy,
    ],
    of_all: &[Kind::KillBroker, Kind::StopBroker, Kind::Refuse, Kind::RemoveExchange, Kind::RemoveQueue, Kind::Block],
    repeating: &[Kind::KillHost, Kind::Cut, Kind::Stall, Kind::KillBroker, Kind::StopBroker, Kind::Block],
    aftermath: 0.0,
    pauses: [(1500, 4000), (2000, 6000)],
    rest: None,
};

/// A node, and what the rig has to do with it.
pub(crate) struct RabbitMq {
    address: SocketAddr,
    node: AsyncMutex<Node>,
    /// Of the one that looks how much is ready.
    onlooker: AsyncMutex<Client>,
    samples: Mutex<Vec<Sample>>,
    /// Dead letters are left on their queues.
    draining_paused: watch::Sender<bool>,
}

impl RabbitMq {
    /// Starts the node that a script runs, declares the queues, and gives a proxy for each host.
    pub(crate) async fn start(
        script: PathBuf,
        port: u16,
        source: Source,
        hosts: usize,
    ) -> Result<(Arc<dyn Broker>, Vec<Proxy>)> {
        let mut node = Node::new(script, port);
        let address = node.address();
        eprintln!("torture: starting the broker on {address}");
        node.start().await?;
        let mut client = Client::new(address);
        let declared = async { topology::declare(&client.channel().await, source).await };
        within(PATIENCE, "queues to be declared", declared).await?;
        let mut proxies = Vec::new();
        for _ in 0..hosts {
            proxies.push(Proxy::start(address).await?);
        }
        let broker = Self {
            address,
            node: AsyncMutex::new(node),
            onlooker: AsyncMutex::new(client),
            samples: Mutex::default(),
            draining_paused: watch::Sender::new(false),
        };
        Ok((Arc::new(broker), proxies))
    }
}

#[async_trait]
impl Broker for RabbitMq {
    fn repertoire(&self) -> &'static Repertoire {
        &REPERTOIRE
    }

    fn terms(&self, proxy: SocketAddr) -> Terms {
        let invalid = format!(r#"{{ exchange = "{EXCHANGE}", routing_key = "{INVALID}" }}"#);
        Terms {
            broker: format!("kind = \"rabbitmq\"\nurl = \"amqp://guest:guest@{proxy}/%2f\"\n"),
            route: format!("source = \"{SOURCE}\"\ndead_letters = {{ default = \"{DEAD}\", invalid = {invalid} }}\n"),
        }
    }

    /// Then the tiers are declared. RabbitMQ 3.10 that is killed while it declares a quorum queue may leave it without a
    /// leader, which neither a restart nor declaring it again mends.
    async fn consumed_by(&self, hosts: usize) -> Result<()> {
        let mut client = self.onlooker.lock().await;
        while (ready(&client.channel().await, SOURCE).await?.1 as usize) < hosts {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    async fn produce(&self, rate: u32, books: Arc<Books>, stop: watch::Receiver<bool>) {
        producer::produce(self.address, rate, books, stop).await;
    }

    async fn observe(&self, books: Arc<Books>) {
        let drain =
            |queue| dead_letters::drain(self.address, queue, Arc::clone(&books), self.draining_paused.subscribe());
        join_all(DEAD_QUEUES.map(drain)).await;
    }

    async fn sample(&self, now: f64) {
        let mut client = self.onlooker.lock().await;
        let asked = timeout(ANSWER, async { ready(&client.channel().await, SOURCE).await });
        let answer = asked.await.ok().and_then(Result::ok);
        // No consumer either may mean that the queue did not answer the broker.
        let ready = answer.filter(|answer| *answer != (0, 0)).map(|(ready, _)| ready);
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(Sample { at: now, ready });
    }

    async fn inflict(&self, kind: Kind, lasts: Duration, _books: &Books) -> Result<()> {
        self.inflict_on_all(kind, lasts).await
    }

    /// Acks leave no trace outside of the broker.
    async fn prove(&self, _occasion: &str, _books: &Books) -> Result<()> {
        Ok(())
    }

    async fn waiting(&self) -> Result<u64> {
        self.node.lock().await.messages_on(&WAITING).await
    }

    async fn close(&self, books: &Books) -> Vec<anyhow::Error> {
        closing::close(self.address, books).await
    }

    fn findings(&self, course: &Course<'_>) -> Findings {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        Findings {
            bound: bound::of(course, SLOTS),
            bound_is: "what was in work at the faults that repeat",
            stall: longest_of_hosts(&samples, course),
            ..Findings::default()
        }
    }
}
