//! Which policy revision judges on each route, and how it is swapped while messages flow.

mod admitted;
mod announce;
mod handle;
mod load;
mod refused_files;
mod reloader;
mod route_state;
mod unused;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::candidate::{CandidatePlan, Shadows};
use super::decision_threads::DecisionThreads;
use super::engine::Engine;
use super::route_record::RouteRecord;
use super::status::PoliciesStatus;
use super::trust::{FileDigest, Trust};
use crate::observer::Observer;
pub use handle::PolicyHandle;
use handle::Slot;
use reloader::{Command, Reloader};

/// What a route's policy is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutePolicy {
    /// The route as its policy sees it.
    pub record: RouteRecord,
    /// The file in the policies folder, without `.wasm`; `None` for the embedded standard policy.
    pub policy: Option<String>,
    /// The one file that the route takes, so that it cannot be swapped without another configuration; `None` for whatever
    /// file has the policy's name.
    pub policy_digest: Option<FileDigest>,
    /// Handed to the policy as they are.
    pub settings: Value,
    /// How a candidate is tried, where there is one.
    pub candidate: CandidatePlan,
}

/// What a person can do about a candidate, or about a policy that went live too soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateAction {
    /// The candidate goes live now.
    Promote,
    /// It is neither promoted nor rolled back by itself.
    Hold,
    /// It is again.
    Resume,
    /// The candidate is taken back; without one, the live policy is, and the version before it goes live.
    RollBack,
}

/// Where policies come from and how closely they are watched.
#[derive(Debug, Clone)]
pub struct PolicySettings {
    /// The folder that is watched for `*.wasm`; without one, only embedded policies can be used.
    pub folder: Option<PathBuf>,
    /// The host's state folder, where the last good policies are kept; without one, they are lost at a restart. A swap
    /// that cannot be kept here is put off while an older revision judges, and tried again with every scan. A route's first
    /// revision judges all the same, with a warning: pausing the route would help nobody.
    pub state: Option<PathBuf>,
    /// How long the folder must have been quiet before what was written in place is read. A rename is read at once.
    pub debounce: Duration,
    /// How often the folder is read without any sign of change, for file systems that give none.
    pub rescan: Duration,
    /// What is demanded of files, in the folder and among the last good policies.
    pub trust: Trust,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            folder: None,
            state: None,
            debounce: Duration::from_millis(250),
            rescan: Duration::from_secs(30),
            trust: Trust::default(),
        }
    }
}

/// Every route's policy. Clones share one registry; it ends with the last of them.
#[derive(Debug, Clone)]
pub struct Policies(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    handles: HashMap<String, PolicyHandle>,
    status: Arc<ArcSwap<PoliciesStatus>>,
    commands: mpsc::Sender<Command>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Policies {
    /// Loads every route's first revision, then watches the folder. A route whose policy cannot be loaded and that has no
    /// last good one has no revision yet: that is no error here, but it is in the log and in [`Policies::status`].
    ///
    /// # Errors
    /// Two routes have one name.
    pub async fn start(
        engine: Engine,
        settings: PolicySettings,
        routes: Vec<RoutePolicy>,
        observer: Observer,
    ) -> anyhow::Result<Self> {
        let threads = Arc::new(DecisionThreads::start(engine.limits().threads));
        let shadows = Arc::new(Shadows::start());
        let mut handles = HashMap::new();
        for route in &routes {
            let slot = Slot::new(&route.record.name);
            let handle = PolicyHandle::new(slot, Arc::clone(&threads), Arc::clone(&shadows), observer.clone());
            let other = handles.insert(route.record.name.clone(), handle);
            ensure!(other.is_none(), "two routes are named {:?}; give each a name of its own", route.record.name);
        }
        let routes = routes.into_iter().map(|route| (Arc::clone(handles[&route.record.name].slot()), route)).collect();

        let status = Arc::new(ArcSwap::from_pointee(PoliciesStatus::default()));
        let stop = CancellationToken::new();
        // One place: whoever asks waits for the answer, and a second asker for the first.
        let (commands, asked) = mpsc::channel(1);
        let mut reloader = Reloader::new(engine, settings, routes, observer, Arc::clone(&status), stop.clone());
        reloader.announce();
        reloader.load_all().await;
        let task = tokio::spawn(reloader.run(asked));
        Ok(Self(Arc::new(Shared { handles, status, commands, stop, task: Mutex::new(Some(task)) })))
    }

    /// The policy of one route, for its driver; `None` where no route has this name.
    #[must_use]
    pub fn handle(&self, route: &str) -> Option<PolicyHandle> {
        self.0.handles.get(route).cloned()
    }

    /// Takes other demands on files, and new settings, policy names, digests and route records; loads what changed and tries
    /// again what was rejected. Returns when every route has been looked at. Routes that were not there at the start are
    /// passed over with a warning. A live policy that is no longer trusted judges on until another is taken, and the status
    /// says so; a restart does not bring it back.
    pub async fn reconfigure(&self, trust: Trust, routes: Vec<RoutePolicy>) {
        let (done, answer) = oneshot::channel();
        let asked = self.0.commands.send(Command::Reconfigure { trust, routes, done }).await;
        if asked.is_err() || answer.await.is_err() {
            tracing::warn!("the policies were not reconfigured, since the host is shutting down");
        }
    }

    /// Does something about the candidate of a route, and says what was done.
    ///
    /// # Errors
    /// Why it cannot be done, and what can.
    pub async fn steer(&self, route: &str, action: CandidateAction) -> Result<String, String> {
        let (done, answer) = oneshot::channel();
        let gone = || "the host is shutting down".to_owned();
        let command = Command::Steer { route: route.to_owned(), action, done };
        self.0.commands.send(command).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// What judges on each route, since when, and what is in the way.
    #[must_use]
    pub fn status(&self) -> PoliciesStatus {
        let mut status = PoliciesStatus::clone(&self.0.status.load());
        for candidate in status.routes.iter_mut().filter_map(|route| route.candidate.as_mut()) {
            candidate.refresh();
        }
        status
    }

    /// Stops watching. Live revisions go on judging for those who hold a handle.
    pub async fn shutdown(&self) {
        self.0.stop.cancel();
        let task = self.0.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the task that swaps policies ended badly");
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// They make links and FIFOs.
#[cfg(all(test, unix))]
mod tests;
