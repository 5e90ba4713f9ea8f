//! Narad: a topic that hosts lease messages of, on a node of the rig's own. It is a stand-in, which keeps its topics in a file.
//!
//! * `client` asks the node; `node` is its process. `topics`: their names. `record`: what is sent, and whether it came back so.
//! * `reader` reads dead letters without taking them. `inflict` breaks the node, or has it break. `counts` are the node's own, and
//!   `bound` says how much may come twice, and be handed over again.

mod bound;
mod client;
mod counts;
mod inflict;
mod node;
mod producer;
mod reader;
mod record;
mod topics;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{sleep, timeout};

use crate::books::Books;
use crate::broker::{Broker, Course, Findings, Terms};
use crate::faults::{Kind, Repertoire};
use crate::proxy::Proxy;
use crate::stalls::{Sample, longest_of_hosts};
use crate::within::{PATIENCE, within};
use client::Client;
use counts::Counts;
use node::Node;
use reader::Reader;
use topics::{DEAD, DEAD_TOPICS, INVALID, SOURCE, WAITING};

/// Longer is waited for no sample.
const ANSWER: Duration = Duration::from_secs(2);
/// Between looks.
const PAUSE: Duration = Duration::from_millis(100);

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
    of_all: &[
        Kind::KillBroker,
        Kind::StopBroker,
        Kind::LoseReplies,
        Kind::SlowReplies,
        Kind::Trouble,
        Kind::ExpireLeases,
        Kind::Refuse,
    ],
    repeating: &[
        Kind::KillHost,
        Kind::Cut,
        Kind::Stall,
        Kind::KillBroker,
        Kind::StopBroker,
        Kind::LoseReplies,
        Kind::SlowReplies,
        Kind::Trouble,
        Kind::ExpireLeases,
    ],
    // The longest lease, after which comes back what nobody settled: that of the tiers, which hosts make with Narad's default.
    aftermath: 31.0,
    pauses: [(1500, 4000), (2000, 6000)],
    // In which messages come to their end that no fault touched, also none of before the rest.
    rest: Some((90.0, 50.0)),
};

/// A node, and what the rig has to do with it.
pub(crate) struct Narad {
    client: Client,
    node: AsyncMutex<Node>,
    samples: Mutex<Vec<Sample>>,
    reader: Reader,
    /// The node's own counts, in the end.
    counts: Mutex<Option<Counts>>,
}

impl Narad {
    /// Starts the node that this program is, makes the topics, and gives a proxy for each host.
    pub(crate) async fn start(
        program: PathBuf,
        folder: PathBuf,
        hosts: usize,
    ) -> Result<(Arc<dyn Broker>, Vec<Proxy>)> {
        let mut node = Node::new(program, folder)?;
        let address = node.address();
        eprintln!("torture: starting a stand-in for Narad on {address}");
        node.start().await?;
        let client = Client::new(address);
        topics::create_all(&client).await?;
        let mut proxies = Vec::new();
        for _ in 0..hosts {
            proxies.push(Proxy::start(address).await?);
        }
        let (samples, counts) = (Mutex::default(), Mutex::default());
        let broker = Self { client, node: AsyncMutex::new(node), samples, reader: Reader::new(client), counts };
        Ok((Arc::new(broker), proxies))
    }
}

#[async_trait]
impl Broker for Narad {
    fn repertoire(&self) -> &'static Repertoire {
        &REPERTOIRE
    }

    /// Each host has a login of its own, by which the node tells them apart.
    fn terms(&self, proxy: SocketAddr) -> Terms {
        let user = proxy.port();
        Terms {
            broker: format!("kind = \"narad\"\nurl = \"http://host-{user}:any@{proxy}\"\n"),
            route: format!(
                "source = \"{SOURCE}\"\ndead_letters = {{ default = \"{DEAD}\", invalid = \"{INVALID}\" }}\n"
            ),
        }
    }

    async fn consumed_by(&self, hosts: usize) -> Result<()> {
        while self.client.state(SOURCE).await?.consumers < hosts {
            sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn produce(&self, rate: u32, books: Arc<Books>, stop: watch::Receiver<bool>) {
        producer::produce(self.client, rate, books, stop).await;
    }

    async fn observe(&self, books: Arc<Books>) {
        join_all(DEAD_TOPICS.map(|topic| self.reader.read(topic, &books))).await;
    }

    async fn sample(&self, now: f64) {
        let answer = timeout(ANSWER, self.client.state(SOURCE)).await.ok().and_then(Result::ok);
        let ready = answer.map(|state| state.ready);
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(Sample { at: now, ready });
    }

    async fn inflict(&self, kind: Kind, lasts: Duration, _books: &Books) -> Result<()> {
        self.inflict_on_all(kind, lasts).await
    }

    /// What is acked without an outcome is lost at the end.
    async fn prove(&self, _occasion: &str, _books: &Books) -> Result<()> {
        Ok(())
    }

    async fn waiting(&self) -> Result<u64> {
        let mut waiting = 0;
        for topic in WAITING {
            waiting += self.client.state(topic).await?.open;
        }
        Ok(waiting)
    }

    async fn close(&self, books: &Books) -> Vec<anyhow::Error> {
        let mut errors = Vec::new();
        let read = within(PATIENCE, "the dead letters to be read", self.reader.until_read());
        errors.extend(read.await.err());
        for topic in WAITING {
            match self.client.open(topic).await {
                Ok(payloads) => payloads.iter().for_each(|payload| books.left_over(&record::id_of(payload), topic)),
                Err(error) => errors.push(error.context(format!("what is left on {topic}"))),
            }
        }
        match self.client.counts().await.context("the node's counts") {
            Ok(counts) => *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = Some(counts),
            Err(error) => errors.push(error),
        }
        errors
    }

    fn findings(&self, course: &Course<'_>) -> Findings {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = *self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let storm = bound::handed_over_again(course);
        Findings {
            bound: bound::duplicates(course),
            bound_is: "what was in work at the faults that repeat, or while they lasted",
            stall: longest_of_hosts(&samples, course),
            rows: counts.map_or_else(Vec::new, |counts| counts.rows(storm)),
            failures: counts.and_then(|counts| counts.failure(storm)).into_iter().collect(),
            ..Findings::default()
        }
    }
}
