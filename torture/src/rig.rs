//! A run: what takes part in it, and its course from start to the last message.

mod closing;
mod inflict;
mod watch;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::sync::{Mutex as AsyncMutex, watch as channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::books::Books;
use crate::broker::{Broker, Course, Findings};
use crate::clock::Clock;
use crate::endpoint::Endpoint;
use crate::faults::{Deck, Fault, Faults, Kind, Repertoire};
use crate::host::{Host, Peers};
use crate::kafka::Kafka;
use crate::narad::Narad;
use crate::policies::{Folders, GOOD};
use crate::proxy::Proxy;
use crate::rabbitmq::{RabbitMq, Source};
use crate::random::Random;
use crate::within::{PATIENCE, within};

/// A fault may stop and start a broker, which takes its time on a busy machine.
const LONGEST_FAULT: Duration = Duration::from_secs(300);

/// What a run is like.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) hosts: usize,
    pub(crate) on: On,
    /// Messages a second.
    pub(crate) rate: u32,
    pub(crate) program: PathBuf,
    pub(crate) policies: Folders,
    pub(crate) folder: PathBuf,
}

/// The broker that a run is on.
#[derive(Debug, Clone)]
pub(crate) enum On {
    /// A node that a script starts, which answers on this port.
    Rabbitmq { node: PathBuf, port: u16, source: Source },
    /// A node in the folder of the run.
    Kafka,
    /// A stand-in that this program is.
    Narad { node: PathBuf },
}

impl Plan {
    /// The command that runs it again.
    pub(crate) fn command(&self) -> String {
        let Self { seed, hosts, rate, .. } = self;
        let minutes = self.time.as_secs_f64() / 60.0;
        let on = match &self.on {
            On::Rabbitmq { source, .. } => format!("--source {}", source.name()),
            On::Kafka => "--broker kafka".to_owned(),
            On::Narad { .. } => "--broker narad".to_owned(),
        };
        format!("cargo xtask torture {on} --minutes {minutes} --seed {seed} --hosts {hosts} --rate {rate}")
    }

    /// In a few words.
    pub(crate) fn title(&self) -> String {
        let on = match &self.on {
            On::Rabbitmq { source, .. } => format!("on a {} queue", source.name()),
            On::Kafka => "on Kafka".to_owned(),
            On::Narad { .. } => "on a stand-in for Narad".to_owned(),
        };
        format!("torture: seed {}, {} hosts {on}", self.seed, self.hosts)
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
    broker: Arc<dyn Broker>,
    _endpoint: Endpoint,
    /// Faults and sending end.
    stop: channel::Sender<bool>,
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
        let (broker, proxies) = match plan.on.clone() {
            On::Rabbitmq { node, port, source } => RabbitMq::start(node, port, source, plan.hosts).await?,
            On::Kafka => Kafka::start(plan.folder.join("broker"), plan.hosts).await?,
            On::Narad { node } => Narad::start(node, plan.folder.join("broker"), plan.hosts).await?,
        };
        let clock = Clock::start();
        let books = Arc::new(Books::new(clock));
        let endpoint = Endpoint::start(plan.seed, Arc::clone(&books)).await?;
        let mut hosts = Vec::new();
        for (number, proxy) in proxies.iter().enumerate() {
            let peers = Peers { terms: broker.terms(proxy.address()), handler: endpoint.url(number) };
            let folder = plan.folder.join(format!("host-{number}"));
            let policy = &GOOD[number % GOOD.len()];
            let mut host = Host::new(plan.program.clone(), folder, peers, policy, &plan.policies.file(policy))?;
            host.start()?;
            hosts.push(AsyncMutex::new(host));
        }
        let what = format!("every host to consume; see {}/host-*/host.log", plan.folder.display());
        within(PATIENCE, &what, broker.consumed_by(plan.hosts)).await?;
        Ok(Arc::new(Self {
            plan,
            clock,
            books,
            faults: Faults::new(clock),
            hosts,
            proxies,
            broker,
            _endpoint: endpoint,
            stop: channel::Sender::new(false),
            complaints: Mutex::default(),
            closing: OnceLock::new(),
            drained: AtomicBool::new(false),
        }))
    }

    /// Sends and inflicts faults until the time is over or it is told to stop, then waits for the last message.
    pub(crate) async fn run(self: &Arc<Self>) -> Result<()> {
        let mut background = JoinSet::new();
        let (broker, books) = (Arc::clone(&self.broker), Arc::clone(&self.books));
        background.spawn(async move { broker.observe(books).await });
        background.spawn(Arc::clone(self).watch());
        background.spawn(Arc::clone(self).show_progress());
        // What runs in the background ends with its set, after the run.
        tokio::select! {
            outcome = self.run_course() => outcome,
            Some(ended) = background.join_next() => {
                ended.context("what observes or watches ended badly")?;
                bail!("what observes or watches ended before the run");
            }
        }
    }

    async fn run_course(&self) -> Result<()> {
        let (broker, books, stop) = (Arc::clone(&self.broker), Arc::clone(&self.books), self.stop.subscribe());
        let rate = self.plan.rate;
        let sending = tokio::spawn(async move { broker.produce(rate, books, stop).await });
        let repertoire = self.broker.repertoire();
        let [of_a_host, of_all] = repertoire.pauses;
        let faults =
            tokio::try_join!(self.lane(repertoire.of_a_host, 1, of_a_host), self.lane(repertoire.of_all, 2, of_all));
        self.stop.send_replace(true);
        faults?;
        let sent = async { sending.await.context("the producer ended badly") };
        within(PATIENCE, "the producer to end", sent).await?;
        self.close().await
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
            let rests = self.broker.repertoire().rests(self.clock.now());
            if rests > 0.0 {
                sleep(Duration::from_secs_f64(rests)).await;
                continue;
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

    /// What the broker has to say of it all.
    pub(crate) fn findings(&self, faults: &[Fault]) -> Findings {
        let (hosts, seconds) = (self.plan.hosts, self.clock.now());
        self.books.read(|messages| self.broker.findings(&Course { messages, faults, hosts, seconds }))
    }

    pub(crate) fn repertoire(&self) -> &'static Repertoire {
        self.broker.repertoire()
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
