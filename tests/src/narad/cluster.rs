//! What tests see of the stand-in.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::faults::{Fault, Faults, On};
use super::http;
use super::topic::Topic;
use super::topics::Topics;

/// Which Narad it is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// Up to v2.1: any POST is taken.
    V2_0,
    /// From v2.2.0: a POST needs a content type or the client header, else 415.
    V2_2,
    /// From v3.1.0: batches.
    V3_1,
}

/// A request that was answered, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// What it was.
    pub on: On,
    /// Its path and query.
    pub target: String,
    /// The answer's status; 0 where there was none.
    pub status: u16,
    /// How many messages it was about.
    pub count: usize,
}

pub(super) struct Shared {
    pub(super) release: Release,
    pub(super) login: Mutex<Option<(String, String)>>,
    pub(super) topics: Mutex<Topics>,
    pub(super) faults: Faults,
    /// Every request; nothing where nobody looks.
    pub(super) seen: Option<Mutex<Vec<Seen>>>,
    /// Who has asked for messages of which topic, by the login that was sent along.
    pub(super) consumers: Mutex<BTreeSet<(String, String)>>,
    /// It is about to end, and takes on nothing more.
    pub(super) draining: AtomicBool,
}

impl Shared {
    fn new(release: Release) -> Self {
        Self {
            release,
            login: Mutex::default(),
            topics: Mutex::default(),
            faults: Faults::default(),
            seen: Some(Mutex::default()),
            consumers: Mutex::default(),
            draining: AtomicBool::new(false),
        }
    }

    pub(super) fn topics(&self) -> MutexGuard<'_, Topics> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, seen: Seen) {
        if let Some(all) = &self.seen {
            all.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        }
    }
}

/// Requests that do not wait are answered within this.
const LONGEST_ANSWER: Duration = Duration::from_millis(200);

struct Node {
    address: SocketAddr,
    serving: JoinHandle<()>,
    down: CancellationToken,
}

/// A cluster of nodes with the same topics.
pub struct Cluster {
    shared: Arc<Shared>,
    nodes: Vec<Node>,
}

impl Cluster {
    /// Starts so many nodes of a release.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start(release: Release, nodes: usize) -> Self {
        Self::start_at(release, &vec![SocketAddr::from(([127, 0, 0, 1], 0)); nodes]).await
    }

    /// Starts a node of a release at each of these addresses; port 0 is any free one.
    ///
    /// # Panics
    /// One of them is taken.
    pub async fn start_at(release: Release, addresses: &[SocketAddr]) -> Self {
        Self::serve_all(Shared::new(release), addresses).await
    }

    /// Starts one node of the newest release that keeps topics and messages in this file, which it goes on with where it is
    /// there. Leases end with the process.
    ///
    /// # Errors
    /// The file cannot be read or written, or is none of ours.
    ///
    /// # Panics
    /// The address is taken.
    pub async fn durable(address: SocketAddr, file: &Path) -> anyhow::Result<Self> {
        let shared = Shared { topics: Mutex::new(Topics::open(file)?), seen: None, ..Shared::new(Release::V3_1) };
        Ok(Self::serve_all(shared, &[address]).await)
    }

    async fn serve_all(shared: Shared, addresses: &[SocketAddr]) -> Self {
        let shared = Arc::new(shared);
        let mut cluster = Self { shared, nodes: Vec::new() };
        for address in addresses {
            let node = cluster.serve(*address).await;
            cluster.nodes.push(node);
        }
        cluster
    }

    async fn serve(&self, address: SocketAddr) -> Node {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let down = CancellationToken::new();
        let serving = tokio::spawn(http::serve(listener, Arc::clone(&self.shared), down.clone()));
        Node { address, serving, down }
    }

    /// One node of the newest release.
    pub async fn one() -> Self {
        Self::start(Release::V3_1, 1).await
    }

    /// The address of the first node.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(0)
    }

    /// The address of a node, by its number from 0.
    #[must_use]
    pub fn url_of(&self, node: usize) -> String {
        format!("http://{}", self.nodes[node].address)
    }

    /// Ends a node with all of its connections.
    pub async fn stop(&mut self, node: usize) {
        self.nodes[node].down.cancel();
        // Only a panic of the stand-in ends it otherwise, and that is on stderr.
        drop((&mut self.nodes[node].serving).await);
    }

    /// Takes on nothing more, and answers what has come.
    pub async fn drain(&self) {
        self.shared.draining.store(true, Ordering::SeqCst);
        tokio::time::sleep(LONGEST_ANSWER).await;
    }

    /// Starts a node again, where it was.
    pub async fn start_again(&mut self, node: usize) {
        let address = self.nodes[node].address;
        self.nodes[node] = self.serve(address).await;
    }

    /// From now on, whoever asks must log in.
    pub fn demand_login(&self, user: &str, password: &str) {
        let login = Some((user.to_owned(), password.to_owned()));
        *self.shared.login.lock().unwrap_or_else(PoisonError::into_inner) = login;
    }

    /// The next requests of a kind go wrong.
    pub fn fail(&self, on: On, times: u32, fault: Fault) {
        self.shared.faults.plan(on, times, fault);
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.shared.faults.clear();
    }

    /// Makes a topic with three partitions and Narad's defaults.
    pub fn create(&self, name: &str) {
        self.create_with(name, Duration::from_secs(30), Duration::from_secs(7 * 24 * 60 * 60));
    }

    /// Makes a topic with three partitions.
    pub fn create_with(&self, name: &str, visibility: Duration, retention: Duration) {
        self.create_in(name, 3, visibility, retention);
    }

    /// Makes a topic with so many partitions; a real Narad makes at least three.
    pub fn create_in(&self, name: &str, partitions: usize, visibility: Duration, retention: Duration) {
        let retention = u64::try_from(retention.as_millis()).expect("a sensible retention");
        self.shared.topics().topics.insert(name.to_owned(), Topic::new(partitions, retention, visibility));
    }

    /// Deletes a topic with all that is in it.
    pub fn delete(&self, name: &str) {
        self.shared.topics().topics.remove(name);
    }

    /// Says that a topic has a schema.
    pub fn give_schema(&self, name: &str) {
        if let Some(topic) = self.shared.topics().topics.get_mut(name) {
            topic.schema = true;
        }
    }

    /// Makes a topic a child of another.
    pub fn attach(&self, parent: &str, child: &str, delay: Duration) {
        let mut topics = self.shared.topics();
        if let Some(topic) = topics.topics.get_mut(child) {
            topic.parent = Some(parent.to_owned());
            topic.delay_ms = u64::try_from(delay.as_millis()).expect("a sensible delay");
        }
        if let Some(topic) = topics.topics.get_mut(parent) {
            topic.children.push(child.to_owned());
        }
    }

    /// Stores a message on a topic.
    pub fn produce(&self, topic: &str, payload: impl AsRef<[u8]>) {
        self.shared.topics().produce(topic, None, payload.as_ref().to_vec());
    }

    /// Stores a message with a key.
    pub fn produce_with_key(&self, topic: &str, key: &[u8], payload: impl AsRef<[u8]>) {
        self.shared.topics().produce(topic, Some(key.to_vec()), payload.as_ref().to_vec());
    }

    /// The payloads on a topic that are not settled.
    #[must_use]
    pub fn payloads(&self, topic: &str) -> Vec<Vec<u8>> {
        let topics = self.shared.topics();
        topics
            .topics
            .get(topic)
            .map_or_else(Vec::new, |topic| topic.open().into_iter().map(|record| record.payload).collect())
    }

    /// The topics' names.
    #[must_use]
    pub fn topics(&self) -> Vec<String> {
        self.shared.topics().topics.keys().cloned().collect()
    }

    /// How many messages of a topic are in somebody's hands.
    #[must_use]
    pub fn leased(&self, topic: &str) -> usize {
        self.shared.topics().topics.get(topic).map_or(0, Topic::leased)
    }

    /// Every lease ends now, as when its owner has crashed.
    pub fn forget_leases(&self) {
        for topic in self.shared.topics().topics.values_mut() {
            topic.forget_leases();
        }
    }

    /// Every request of a kind so far.
    #[must_use]
    pub fn seen(&self, on: On) -> Vec<Seen> {
        let Some(seen) = &self.shared.seen else { return Vec::new() };
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| seen.on == on).cloned().collect()
    }

    /// Waits until something holds, for ten seconds at most.
    ///
    /// # Panics
    /// It does not hold by then.
    pub async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !holds(self) {
            assert!(Instant::now() < deadline, "not within ten seconds: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &self.nodes {
            node.down.cancel();
        }
    }
}
