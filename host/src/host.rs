//! The whole host: brokers, policies and routes, started and ended in order. For the program and for embedders.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use std::{sync::Arc, time::Duration};
//! use reprieve::broker::memory::MemoryBroker;
//! use reprieve::handler::{Call, closure::handler_fn};
//! use reprieve::handler_error::HandlerError;
//! use reprieve::host::{Host, HostSpec, HostedRoute};
//! use reprieve::route::{RouteSpec, RouteWork};
//!
//! let broker = MemoryBroker::new(10_000);
//! let handler = handler_fn(|call: Call| async move {
//!     if call.attempt < 3 { Err(HandlerError::new("busy", "try again")) } else { Ok(()) }
//! });
//! let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(10) };
//! let mut route = RouteSpec::new("orders", "orders", Arc::new(broker.clone()), work);
//! route.retry.max_attempts = 5;
//!
//! let host = Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await?;
//! broker.publish_to("orders", reprieve::message::Message::new("hello"))?;
//! host.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub(crate) mod configured;
mod dead_letter_depths;
mod pulse;
mod state_folder;
mod status;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{info, warn};

use dead_letter_depths::DeadLetterDepths;
pub use pulse::HostPulse;
use state_folder::StateFolder;
pub use status::HostStatus;

use crate::broker::Broker;
use crate::broker::memory::MemoryBroker;
use crate::failure::Failure;
use crate::journal::{Journal, JournalSettings, Ticket};
use crate::observer::Observer;
use crate::policy::candidate::CandidatePlan;
use crate::policy::engine::{Engine, EngineLimits};
use crate::policy::registry::{Policies, PolicyHandle, PolicySettings, RoutePolicy};
use crate::policy::route_record::RouteRecord;
use crate::policy::trust::{FileDigest, Trust};
use crate::route::{Judge, Phase, Route, RouteSpec, RouteWork, Shutdown, Suspects};
use crate::verdict::Decision;

/// A policy that is being loaded at shutdown is waited for so long.
const LONGEST_LOAD: Duration = Duration::from_secs(5);

/// The last entries may take so long to be in the journal.
const LONGEST_FLUSH: Duration = Duration::from_secs(5);

/// What a host is made of.
pub struct HostSpec {
    /// At least one, their names distinct.
    pub routes: Vec<HostedRoute>,
    /// Where policies come from.
    pub policies: PolicySettings,
    /// What one decision may use.
    pub limits: EngineLimits,
    /// The folder where the host keeps what it must know after an end that was not orderly. No other host may have it at
    /// the same time. Without one, a message that ends the process again and again is not told from the others.
    pub state: Option<PathBuf>,
    /// How failures and their outcomes are recorded; `None` where they are not.
    pub journal: Option<JournalSettings>,
    /// How long running attempts may take to end at shutdown.
    pub shutdown_timeout: Duration,
    /// Brokers in this process, by name, for the admin listener's `/topics`.
    pub memory_brokers: BTreeMap<String, MemoryBroker>,
    /// Where events go.
    pub observer: Observer,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            routes: Vec::new(),
            policies: PolicySettings::default(),
            limits: EngineLimits::default(),
            state: None,
            journal: None,
            shutdown_timeout: Duration::from_secs(30),
            memory_brokers: BTreeMap::new(),
            observer: Observer::new(),
        }
    }
}

/// A route with its policy.
#[derive(Clone)]
pub struct HostedRoute {
    /// The route.
    pub route: RouteSpec,
    /// What its broker is called, for `/status`; the broker's kind where nothing else is known.
    pub broker_name: String,
    /// The file in the policies folder, without `.wasm`; `None` for the embedded standard policy.
    pub policy: Option<String>,
    /// The one file that the route takes, so that it cannot be swapped without another configuration; `None` for whatever
    /// file has the policy's name.
    pub policy_digest: Option<FileDigest>,
    /// Handed to the policy as they are.
    pub settings: serde_json::Value,
    /// How a candidate is tried, where there is one.
    pub candidate: CandidatePlan,
}

impl HostedRoute {
    /// A route that the embedded standard policy judges.
    #[must_use]
    pub fn new(route: RouteSpec) -> Self {
        let settings = serde_json::Value::Object(serde_json::Map::new());
        let broker_name = route.broker.capabilities().kind.to_owned();
        Self { route, broker_name, policy: None, policy_digest: None, settings, candidate: CandidatePlan::default() }
    }

    /// The route as its policy sees it.
    pub(crate) fn route_policy(&self, limits: &EngineLimits) -> RoutePolicy {
        let route = &self.route;
        let tiers = if route.broker.capabilities().tiers { route.tiers.clone() } else { Vec::new() };
        let record = RouteRecord {
            name: route.name.to_string(),
            source: route.source.to_string(),
            tiers,
            dead_letters: route.dead_letters.keys().cloned().collect(),
            retry: route.retry.clone(),
            // Nothing sleeps where there is no handler.
            max_retry_delay: match route.work {
                RouteWork::Handle { .. } => route.retry_bound(),
                RouteWork::Judge(_) => Duration::ZERO,
            },
            max_body: limits.max_body,
        };
        RoutePolicy {
            record,
            policy: self.policy.clone(),
            policy_digest: self.policy_digest.clone(),
            settings: self.settings.clone(),
            candidate: self.candidate.clone(),
        }
    }
}

/// A host that runs. Dropped without [`Host::shutdown`], it stops without waiting for anything: deliveries in work go back
/// to their brokers.
pub struct Host {
    policies: Policies,
    routes: Vec<Arc<Route>>,
    /// One for each route.
    broker_names: Vec<String>,
    running: JoinSet<()>,
    pulse: HostPulse,
    brokers: Vec<Arc<dyn Broker>>,
    memory_brokers: BTreeMap<String, MemoryBroker>,
    limits: EngineLimits,
    state: Option<StateFolder>,
    observer: Observer,
    depths: Arc<DeadLetterDepths>,
    shutdown: Shutdown,
    shutdown_timeout: Duration,
}

impl Host {
    /// Loads the policies and starts every route. A broker that is down and a policy that is missing are no errors here:
    /// their routes wait and say so, the others work.
    ///
    /// # Errors
    /// The engine's limits make no sense, two routes have one name, or the state folder cannot be used: another host may
    /// have it.
    pub async fn start(spec: HostSpec) -> anyhow::Result<Self> {
        let state = spec.state.as_deref().map(StateFolder::take).transpose()?;
        if let Some(journal) = spec.journal {
            let metrics = spec.observer.metrics().journal();
            let journal = Journal::start(journal, metrics).context("cannot start the journal's thread")?;
            // An observer that is shared with a host before has that one's.
            if spec.observer.record_in(journal).is_err() {
                warn!("failures go on to be recorded in the journal of the host that the observer belonged to before");
            }
        }
        let told = spec.routes.iter().any(|hosted| hosted.route.broker.capabilities().tells_of_interruptions);
        let ended_badly = state.as_ref().is_some_and(StateFolder::ended_badly);
        let suspects = Suspects::open(state.as_ref().map(StateFolder::path), ended_badly, told);
        let engine = Engine::new(spec.limits.clone()).context("cannot start the policy engine")?;
        let route_policies = spec.routes.iter().map(|hosted| hosted.route_policy(&spec.limits)).collect();
        let policies = Policies::start(engine, spec.policies, route_policies, spec.observer.clone()).await?;
        let shutdown = Shutdown::default();
        let mut running = JoinSet::new();
        let mut pulse = HostPulse::default();
        let mut routes = Vec::with_capacity(spec.routes.len());
        let broker_names = spec.routes.iter().map(|hosted| hosted.broker_name.clone()).collect();
        let mut brokers: Vec<Arc<dyn Broker>> = Vec::new();
        for HostedRoute { route, .. } in spec.routes {
            if !brokers.iter().any(|known| Arc::ptr_eq(known, &route.broker)) {
                brokers.push(Arc::clone(&route.broker));
            }
            let policy = policies.handle(&route.name).context("a route's policy was started with it")?;
            let route = Route::new(route, Arc::new(policy), spec.observer.clone(), shutdown.clone());
            routes.push(Arc::new(match &suspects {
                Some(suspects) => route.with_suspects(suspects),
                None => route,
            }));
        }
        for route in &routes {
            running.spawn(pulse.attend(Arc::clone(&route.spec().name), Arc::clone(route).run()));
        }
        let depths = Arc::new(DeadLetterDepths::new(routes.clone(), spec.observer.clone()));
        running.spawn(Arc::clone(&depths).watch(shutdown.drain.clone()));
        Ok(Self {
            policies,
            routes,
            broker_names,
            running,
            pulse,
            brokers,
            memory_brokers: spec.memory_brokers,
            limits: spec.limits,
            state,
            observer: spec.observer,
            depths,
            shutdown,
            shutdown_timeout: spec.shutdown_timeout,
        })
    }

    /// Where this host's events go.
    #[must_use]
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// The live policies.
    #[must_use]
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The routes, in the order that they were given.
    #[must_use]
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// Brokers in this process, by name.
    #[must_use]
    pub fn memory_brokers(&self) -> &BTreeMap<String, MemoryBroker> {
        &self.memory_brokers
    }

    /// What the admin listener shows of this host.
    #[must_use]
    pub fn status(&self) -> HostStatus {
        HostStatus::new(
            self.routes.clone(),
            self.broker_names.clone(),
            self.policies.clone(),
            Arc::clone(&self.depths),
            self.observer.journal().cloned(),
        )
    }

    /// Whether every route's loop still runs. It does not keep the host running.
    #[must_use]
    pub fn pulse(&self) -> HostPulse {
        self.pulse.clone()
    }

    /// Waits until every route has taken messages. The future does not borrow the host.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        let routes = self.routes.clone();
        async move {
            for route in &routes {
                route.state().wait_for(|phase| matches!(phase, Phase::Consuming { .. })).await;
            }
        }
    }

    /// Takes other demands on policy files, and policy names, digests and settings of the routes that run; nothing else of
    /// them changes, so a policy is shown the tiers and labels that its route really has. Rejected policies keep the last
    /// good one live.
    pub async fn reconfigure(&self, trust: Trust, routes: &[HostedRoute]) {
        let running = |hosted: &HostedRoute| {
            let spec = self.routes.iter().map(|route| route.spec()).find(|spec| spec.name == hosted.route.name);
            let route = spec.unwrap_or(&hosted.route).clone();
            HostedRoute { route, ..hosted.clone() }.route_policy(&self.limits)
        };
        self.policies.reconfigure(trust, routes.iter().map(running).collect()).await;
    }

    /// Stops taking messages, lets handlers finish for as long as the shutdown may take, hands everything else back
    /// uncounted, and ends the connections.
    pub async fn shutdown(mut self) {
        info!(within = %humantime::format_duration(self.shutdown_timeout), "draining");
        self.shutdown.drain.cancel();
        if timeout(self.shutdown_timeout, self.routes_end()).await.is_err() {
            warn!("handlers are still running: their messages go back uncounted");
            self.shutdown.abort.cancel();
            self.routes_end().await;
        }
        for broker in &self.brokers {
            broker.close().await;
        }
        // A policy that is being loaded from a file system that hangs is not waited for.
        if timeout(LONGEST_LOAD, self.policies.shutdown()).await.is_err() {
            warn!("a policy was still being loaded");
        }
        if let Some(journal) = self.observer.journal() {
            journal.flush(LONGEST_FLUSH).await;
        }
        if let Some(Err(error)) = self.state.map(StateFolder::end_in_order) {
            warn!(%error, "the state folder does not say that the end was orderly: the next start is a careful one");
        }
        info!("stopped");
    }

    async fn routes_end(&mut self) {
        while let Some(ended) = self.running.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a route ended badly; its deliveries are the broker's again");
            }
        }
    }
}

#[async_trait]
impl Judge for PolicyHandle {
    async fn decide(&self, failure: &Arc<Failure>) -> Decision {
        Self::decide(self, Arc::clone(failure)).await
    }

    async fn decide_recorded(&self, failure: &Arc<Failure>, ticket: Option<Ticket>) -> Decision {
        Self::decide_recorded(self, Arc::clone(failure), ticket).await
    }

    async fn ready(&self) {
        Self::ready(self).await;
    }
}
