//! A run: what takes part in it, and its course from start to the last message.

mod closing;
mod inflict;
mod watch;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::sync::{Mutex as AsyncMutex, watch as channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::books::Books;
use crate::client::Client;
use crate::clock::Clock;
use crate::dead_letters::drain;
use crate::endpoint::Endpoint;
use crate::faults::{Deck, Faults, Kind, OF_A_HOST, OF_ALL};
use crate::host::{Host, Peers};
use crate::node::Node;
use crate::policies::{Folders, GOOD};
use crate::producer::produce;
use crate::proxy::Proxy;
use crate::random::Random;
use crate::stalls::Sample;
use crate::topology::{self, DEAD_QUEUES, SOURCE, Source, ready};
use crate::within::{PATIENCE, within};

/// A fault may stop and start a broker, which takes its time on a busy machine.
const LONGEST_FAULT: Duration = Duration::from_secs(300);

/// What a run is like.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) hosts: usize,
    pub(crate) source: Source,
    /// Messages a second.
    pub(crate) rate: u32,
    pub(crate) program: PathBuf,
    pub(crate) node: PathBuf,
    pub(crate) port: u16,
    pub(crate) policies: Folders,
    pub(crate) folder: PathBuf,
}

impl Plan {
    /// The command that runs it again.
    pub(crate) fn command(&self) -> String {
        let Self { seed, hosts, source, rate, .. } = self;
        let (minutes, source) = (self.time.as_secs_f64() / 60.0, format!("{source:?}").to_lowercase());
        format!("cargo xtask torture --minutes {minutes} --seed {seed} --hosts {hosts} --source {source} --rate {rate}")
    }
}

/// Everything that takes part, to be shared by what runs at the same time. Dropped, it ends its processes.
pub(crate) struct Rig {
    pub(crate) plan: Plan,
    pub(crate) clock: Clock,
    pub(crate) books: Arc<Books>,
    pub(crate) faults: Faults,
    hosts: Vec<AsyncMutex<Host>>,
    proxies: Vec<Proxy>,
    node: AsyncMutex<Node>,
    _endpoint: Endpoint,
    /// Dead letters are left on their queues.
    draining_paused: channel::Sender<bool>,
    /// Faults and sending end.
    stop: channel::Sender<bool>,
    samples: Mutex<Vec<Sample>>,
    /// What a host did that it must not, such as to end by itself, or why the rig could not go on.
    complaints: Mutex<Vec<String>>,
    /// When the faults were over.
    closing: OnceLock<f64>,
    /// Every message came to its end.
    drained: AtomicBool,
}

impl Rig {
    /// Starts the broker, the handler and the hosts, and waits until all is in place.
    pub(crate) async fn start(plan: Plan) -> Result<Arc<Self>> {
        let mut node = Node::new(plan.node.clone(), plan.port);
        eprintln!("torture: starting the broker on {}", node.address());
        node.start().await?;
        let mut client = Client::new(node.address());
        let declared = async { topology::declare(&client.channel().await, plan.source).await };
        within(PATIENCE, "queues to be declared", declared).await?;

        let clock = Clock::start();
        let books = Arc::new(Books::new(clock));
        let endpoint = Endpoint::start(plan.seed, Arc::clone(&books)).await?;
        let (mut hosts, mut proxies) = (Vec::new(), Vec::new());
        for number in 0..plan.hosts {
            let proxy = Proxy::start(node.address()).await?;
            let peers = Peers { broker: proxy.address(), handler: endpoint.url(number) };
            let folder = plan.folder.join(format!("host-{number}"));
            let policy = &GOOD[number % GOOD.len()];
            let mut host = Host::new(plan.program.clone(), folder, peers, policy, &plan.policies.file(policy))?;
            host.start()?;
            proxies.push(proxy);
            hosts.push(AsyncMutex::new(host));
        }
        let what = format!("every host to consume; see {}/host-*/host.log", plan.folder.display());
        within(PATIENCE, &what, consumed_by(plan.hosts, &mut client)).await?;
        Ok(Arc::new(Self {
            plan,
            clock,
            books,
            faults: Faults::new(clock),
            hosts,
            proxies,
            node: AsyncMutex::new(node),
            _endpoint: endpoint,
            draining_paused: channel::Sender::new(false),
            stop: channel::Sender::new(false),
            samples: Mutex::default(),
            complaints: Mutex::default(),
            closing: OnceLock::new(),
            drained: AtomicBool::new(false),
        }))
    }

    /// Sends and inflicts faults until the time is over or it is told to stop, then waits for the last message.
    pub(crate) async fn run(self: &Arc<Self>) -> Result<()> {
        let broker = self.node.lock().await.address();
        let mut background = JoinSet::new();
        for queue in DEAD_QUEUES {
            background.spawn(drain(broker, queue, Arc::clone(&self.books), self.draining_paused.subscribe()));
        }
        background.spawn(Arc::clone(self).watch(broker));
        background.spawn(Arc::clone(self).show_progress());
        // What runs in the background ends with its set, after the run.
        tokio::select! {
            outcome = self.run_course(broker) => outcome,
            Some(ended) = background.join_next() => {
                ended.context("what drains dead letters or watches ended badly")?;
                bail!("what drains dead letters or watches ended before the run");
            }
        }
    }

    async fn run_course(&self, broker: SocketAddr) -> Result<()> {
        let sending = tokio::spawn(produce(broker, self.plan.rate, Arc::clone(&self.books), self.stop.subscribe()));
        let faults = tokio::try_join!(self.lane(&OF_A_HOST, 1, (1500, 4000)), self.lane(&OF_ALL, 2, (2000, 6000)));
        self.stop.send_replace(true);
        faults?;
        let sent = async { sending.await.context("the producer ended badly") };
        within(PATIENCE, "the producer to end", sent).await?;
        self.close(broker).await
    }

    /// Ends sending and faults.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Inflicts faults of these kinds, one after another, until the time is over and each has had its turn.
    async fn lane(&self, kinds: &[Kind], purpose: u64, pause: (u64, u64)) -> Result<()> {
        let mut random = Random::new(self.plan.seed, purpose);
        let mut deck = Deck::new(kinds);
        let mut stop = self.stop.subscribe();
        loop {
            let pause = Duration::from_millis(random.between(pause.0, pause.1));
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
                () = sleep(pause) => {}
            }
            if self.clock.now() >= self.plan.time.as_secs_f64() && deck.rounds > 0 {
                return Ok(());
            }
            let kind = deck.deal(&mut random);
            let inflicted = within(LONGEST_FAULT, "its end", self.inflict(kind, &mut random)).await;
            inflicted.with_context(|| format!("fault \"{}\"", kind.name()))?;
        }
    }

    /// Notes a reason for the run to fail.
    pub(crate) fn complain(&self, what: String) {
        eprintln!("torture: {what}");
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// What hosts did that they must not, and why the rig could not go on.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When the faults were over.
    pub(crate) fn closing(&self) -> Option<f64> {
        self.closing.get().copied()
    }

    /// Every message came to its end.
    pub(crate) fn has_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }
}

/// Waits until so many hosts consume: then the tiers are declared. RabbitMQ 3.10 that is killed while it
/// declares a quorum queue may leave it without a leader, which neither a restart nor declaring it again mends.
async fn consumed_by(hosts: usize, client: &mut Client) -> Result<()> {
    while (ready(&client.channel().await, SOURCE).await?.1 as usize) < hosts {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
