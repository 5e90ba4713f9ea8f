//! Apache Kafka: a topic that a group of hosts consumes, on a node of the rig's own.
//!
//! * `reader` reads source, tiers and dead letters raw, into the `log` and the books; `onlooker` asks what the group committed.
//! * `proof` demands an outcome for every record below a commit. `again` and `idle` judge what was run twice or not at all, `bare`
//!   what came without headers; `bound` says how much may come twice.

mod again;
mod bare;
mod bound;
mod idle;
mod inflict;
mod log;
mod node;
mod onlooker;
mod producer;
mod proof;
mod reader;
mod record;
mod topics;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::time::{sleep, timeout};

use crate::books::Books;
use crate::broker::{Broker, Course, Findings, Terms};
use crate::faults::{Kind, Repertoire};
use crate::proxy::Proxy;
use crate::within::{PATIENCE, within};
use log::Log;
use node::Node;
use onlooker::Onlooker;
use proof::Proofs;
use topics::{Admin, COMMITTED, DEAD, GROUP, INVALID, SOURCE, TOPICS};

/// After so long without a sign of life the group goes on without a host.
const SESSION: Duration = Duration::from_secs(6);
/// How far the records in work of one partition may lie apart. Few, so that it is full at times.
const WINDOW: u32 = 32;
/// Longer is waited for no sample.
const ANSWER: Duration = Duration::from_secs(2);
/// Between looks.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) const REPERTOIRE: Repertoire = Repertoire {
    of_a_host: &[
        Kind::KillHost,
        Kind::TerminateHost,
        Kind::Away,
        Kind::HangUp,
        Kind::Cut,
        Kind::Stall,
        Kind::Swap,
        Kind::BadPolicy,
    ],
    of_all: &[Kind::KillBroker, Kind::StopBroker, Kind::Refuse, Kind::RemoveTopic],
    // Whoever leaves or joins makes others let go of partitions, and of what they have in work there.
    repeating: &[
        Kind::KillHost,
        Kind::TerminateHost,
        Kind::Away,
        Kind::Cut,
        Kind::Stall,
        Kind::KillBroker,
        Kind::StopBroker,
    ],
    // The session, and the rebalance that follows its end.
    aftermath: SESSION.as_secs_f64() + 6.0,
    pauses: [(1500, 4000), (3000, 8000)],
    // In which messages come to their end that no fault touched.
    rest: Some((90.0, 30.0)),
};

/// A node, and what the rig has to do with it.
pub(crate) struct Kafka {
    server: String,
    node: AsyncMutex<Node>,
    admin: Admin,
    onlooker: Onlooker,
    log: Arc<Mutex<Log>>,
    proofs: Mutex<Proofs>,
    /// How often the topic of invalid dead letters was deleted.
    deleted: watch::Sender<u32>,
    /// That topic may be missing now.
    is_missing: AtomicBool,
}

impl Kafka {
    /// Starts the node in this folder, makes the topics, and gives a proxy for each host.
    pub(crate) async fn start(folder: PathBuf, hosts: usize) -> Result<(Arc<dyn Broker>, Vec<Proxy>)> {
        let (mut node, proxies) = Node::new(folder, hosts).await?;
        let server = node.address();
        eprintln!("torture: starting Kafka on {server}");
        node.start().await?;
        let admin = Admin::new(&server)?;
        admin.create_all().await?;
        let broker = Self {
            onlooker: Onlooker::new(&server)?,
            server,
            node: AsyncMutex::new(node),
            admin,
            log: Arc::default(),
            proofs: Mutex::default(),
            deleted: watch::Sender::new(0),
            is_missing: AtomicBool::new(false),
        };
        Ok((Arc::new(broker), proxies))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }

    /// Waits until all that is on the topics now was written down, but for a topic that is not there: that was read to its
    /// end before.
    async fn until_read(&self) -> Result<()> {
        for topic in TOPICS {
            let read = async {
                loop {
                    let may_be_missing = topic == INVALID && self.is_missing.load(Ordering::SeqCst);
                    // A broker that has just come up may know of no topics yet.
                    let ends = self.onlooker.ends(topic).await.ok().filter(|ends| may_be_missing || !ends.is_empty());
                    if ends.is_some_and(|ends| self.log().has_read(&ends)) {
                        return Ok(());
                    }
                    sleep(PAUSE).await;
                }
            };
            within(PATIENCE, &format!("topic {topic} to be read to its end"), read).await?;
        }
        Ok(())
    }

    /// What the group has committed, as soon as the broker says so.
    async fn committed(&self) -> Result<onlooker::Offsets> {
        let answered = async {
            loop {
                if let Ok(committed) = self.onlooker.committed(&COMMITTED).await {
                    return Ok(committed);
                }
                sleep(PAUSE).await;
            }
        };
        within(PATIENCE, "what the group has committed", answered).await
    }
}

#[async_trait]
impl Broker for Kafka {
    fn repertoire(&self) -> &'static Repertoire {
        &REPERTOIRE
    }

    fn terms(&self, proxy: SocketAddr) -> Terms {
        let (session, heartbeat) = (SESSION.as_millis(), SESSION.as_millis() / 4);
        Terms {
            broker: format!(
                r#"kind = "kafka"
servers = ["{proxy}"]
window = {WINDOW}

[brokers.main.settings]
"session.timeout.ms" = {session}
"heartbeat.interval.ms" = {heartbeat}
"#
            ),
            route: format!(
                r#"source = "{SOURCE}"
group = "{GROUP}"
dead_letters = {{ default = "{DEAD}", invalid = "{INVALID}" }}
"#
            ),
        }
    }

    async fn consumed_by(&self, hosts: usize) -> Result<()> {
        while !self.onlooker.members().await.is_ok_and(|members| members == hosts) {
            sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn produce(&self, rate: u32, books: Arc<Books>, stop: watch::Receiver<bool>) {
        if let Err(error) = producer::produce(&self.server, rate, books, stop).await {
            eprintln!("torture: the producer: {error:#}");
        }
    }

    async fn observe(&self, books: Arc<Books>) {
        let never = watch::Sender::new(0);
        let read = |topic| {
            let deleted = if topic == INVALID { &self.deleted } else { &never }.subscribe();
            reader::read(&self.server, topic, deleted, &self.log, &books)
        };
        join_all(TOPICS.map(read)).await;
    }

    async fn sample(&self, now: f64) {
        let asked = Instant::now();
        // Without an answer, what is committed by now counts from a later moment on.
        if let Ok(Ok(committed)) = timeout(ANSWER, self.onlooker.committed(&COMMITTED)).await {
            // The answer may tell of commits that were made while it was waited for.
            self.log().committed(now + asked.elapsed().as_secs_f64(), &committed);
        }
    }

    async fn inflict(&self, kind: Kind, lasts: Duration, _books: &Books) -> Result<()> {
        self.inflict_on_all(kind, lasts).await
    }

    async fn prove(&self, occasion: &str, books: &Books) -> Result<()> {
        // First what is committed, and then all that may speak for it.
        let committed = self.committed().await?;
        self.until_read().await?;
        let log = self.log();
        books.read(|messages| lock(&self.proofs).add(occasion, &committed, &log, messages));
        Ok(())
    }

    async fn waiting(&self) -> Result<u64> {
        let (committed, mut waiting) = (self.committed().await?, 0);
        for topic in COMMITTED {
            for ((topic, partition), end) in self.onlooker.ends(topic).await? {
                let begin = committed.get(&(topic, partition)).copied().unwrap_or(0);
                waiting += u64::try_from(end - begin).unwrap_or(0);
            }
        }
        Ok(waiting)
    }

    async fn close(&self, books: &Books) -> Vec<anyhow::Error> {
        let mut errors = Vec::new();
        errors.extend(self.until_read().await.err());
        match self.committed().await {
            Ok(committed) => self.log().left_over(&committed).for_each(|(number, topic)| {
                books.left_over(&crate::books::id(number), topic);
            }),
            Err(error) => errors.push(error),
        }
        errors
    }

    fn findings(&self, course: &Course<'_>) -> Findings {
        let (log, proofs) = (self.log(), lock(&self.proofs));
        let mut failures = proofs.failures();
        failures.extend(log.complaints().iter().cloned());
        let mut rows = proofs.rows();
        rows.push((
            "dead letters without headers",
            bare::count(course),
            "of the sender's, after they were refused for their size".to_owned(),
        ));
        Findings {
            bound: bound::of(course, &log),
            bound_is: "for each fault that repeats, twice the most that hosts had begun and the group not committed",
            stall: idle::longest(course, &log),
            troubles: proofs.troubles().chain(again::troubles(course, &log)).chain(bare::troubles(course)).collect(),
            rows,
            failures,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
