//! The one task that loads policies, one at a time, whatever asks for it: the watcher, the clock or the operator.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::announce;
use super::handle::Slot;
use super::load::off_path;
use super::refused_files::RefusedFiles;
use super::route_state::{Found, Patience, RouteState};
use super::unused::Unused;
use super::{CandidateAction, PolicySettings, RoutePolicy};
use crate::observer::Observer;
use crate::policy::embedded;
use crate::policy::engine::Engine;
use crate::policy::folder::{self, Listing, ReadError};
use crate::policy::last_good::LastGoodStore;
use crate::policy::status::{FolderStatus, PoliciesStatus, Source};
use crate::policy::trust::Trust;
use crate::policy::watcher::{FolderWatch, Hinted, hints};

/// A timer takes no period of zero, and scanning without a pause helps nobody.
const SHORTEST_RESCAN: Duration = Duration::from_millis(10);

/// What can be added to any time that the clock shows.
const LONGEST_INTERVAL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What the operator wants, and whom to tell once it is done.
pub(super) enum Command {
    Reconfigure { trust: Trust, routes: Vec<RoutePolicy>, done: oneshot::Sender<()> },
    Steer { route: String, action: CandidateAction, done: oneshot::Sender<Result<String, String>> },
}

/// What every reload needs.
pub(super) struct Tools {
    pub(super) engine: Engine,
    folder: Option<PathBuf>,
    pub(super) trust: Arc<Trust>,
    pub(super) store: LastGoodStore,
    pub(super) refused_files: RefusedFiles,
    pub(super) observer: Observer,
    pub(super) debounce: Duration,
    /// Told when a candidate should be promoted or taken back.
    pub(super) due: Arc<Notify>,
}

impl Tools {
    /// How messages call a policy from this source.
    pub(super) fn title(&self, policy: &str, source: Source) -> String {
        match (source, &self.folder) {
            (Source::Folder, Some(folder)) => folder.join(format!("{policy}.wasm")).display().to_string(),
            (Source::Folder, None) => format!("{policy}.wasm"),
            (Source::Embedded, _) => format!("the embedded policy {policy}"),
            (Source::LastGood, _) => format!("the last good copy of {policy}.wasm"),
            (Source::Promoted, _) => format!("the promoted candidate of {policy}.wasm"),
            (Source::Previous, _) => format!("the kept version of {policy}.wasm"),
        }
    }
}

pub(super) struct Reloader {
    tools: Tools,
    rescan: Duration,
    folder: Option<WatchedFolder>,
    hinted: Hinted,
    routes: Vec<RouteState>,
    listing: Listing,
    unused: Unused,
    /// When to look again at something that may have been half written.
    look_again: Option<Instant>,
    status: Arc<ArcSwap<PoliciesStatus>>,
    stop: CancellationToken,
}

struct WatchedFolder {
    /// Only ever locked by the one scan that runs, on a thread that may wait.
    watch: Arc<Mutex<FolderWatch>>,
    /// Why there is no listing.
    unreadable: Option<String>,
    status: FolderStatus,
}

impl Reloader {
    pub(super) fn new(
        engine: Engine,
        settings: PolicySettings,
        routes: Vec<(Arc<Slot>, RoutePolicy)>,
        observer: Observer,
        status: Arc<ArcSwap<PoliciesStatus>>,
        stop: CancellationToken,
    ) -> Self {
        let (hints, hinted) = hints();
        let store = LastGoodStore::new(settings.state.as_deref());
        Self {
            tools: Tools {
                engine,
                folder: settings.folder.clone(),
                trust: Arc::new(settings.trust),
                store,
                refused_files: RefusedFiles::default(),
                observer,
                debounce: settings.debounce.min(LONGEST_INTERVAL),
                due: Arc::default(),
            },
            rescan: settings.rescan.clamp(SHORTEST_RESCAN, LONGEST_INTERVAL),
            folder: settings.folder.map(|path| WatchedFolder {
                watch: Arc::new(Mutex::new(FolderWatch::new(&path, &hints))),
                unreadable: None,
                status: FolderStatus { path, ..FolderStatus::default() },
            }),
            hinted,
            routes: routes.into_iter().map(|(slot, configured)| RouteState::new(slot, configured)).collect(),
            listing: Listing::default(),
            unused: Unused::default(),
            look_again: None,
            status,
            stop,
        }
    }

    /// Reloads whenever there is a reason, until told to stop.
    pub(super) async fn run(mut self, mut asked: mpsc::Receiver<Command>) {
        let due = Arc::clone(&self.tools.due);
        let mut rescan = interval_at(Instant::now() + self.rescan, self.rescan);
        rescan.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let again = self.look_again;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                request = asked.recv() => match request {
                    Some(Command::Reconfigure { trust, routes, done }) => {
                        self.reconfigure(trust, routes).await;
                        // Whoever asked may have gone.
                        let _ = done.send(());
                    }
                    Some(Command::Steer { route, action, done }) => {
                        let _ = done.send(self.steer(&route, action).await);
                    }
                    None => return,
                },
                () = due.notified() => {
                    for route in &mut self.routes {
                        route.take_turn(&self.tools).await;
                    }
                    self.publish();
                }
                () = self.hinted.changed() => {
                    let stop = self.stop.clone();
                    if stop.run_until_cancelled(self.hinted.settle(self.tools.debounce)).await.is_some() {
                        self.reload(Patience::LookAgain).await;
                    }
                }
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {
                    self.reload(Patience::LookAgain).await;
                }
                _ = rescan.tick() => self.reload(Patience::LookAgain).await,
                () = std::future::ready(()), if !self.unused.is_done() => self.check_one_unused().await,
            }
        }
    }

    /// Looks at everything and answers at once: what cannot be used is an error now.
    pub(super) async fn load_all(&mut self) {
        self.reload(Patience::None).await;
    }

    /// Says what the operator must know before a swap: which files are taken at all.
    pub(super) fn announce(&self) {
        announce::trust(None, &self.tools.trust);
        self.routes.iter().for_each(RouteState::announce_pin);
    }

    async fn steer(&mut self, route: &str, action: CandidateAction) -> Result<String, String> {
        let named = self.routes.iter_mut().find(|state| **state.route() == *route);
        let Some(state) = named else {
            let names: Vec<_> = self.routes.iter().map(|state| state.route().as_ref()).collect();
            return Err(format!("there is no route {route:?}; this host has {}", names.join(", ")));
        };
        let said = state.steer(action, &self.tools).await;
        self.publish();
        said
    }

    async fn reconfigure(&mut self, trust: Trust, routes: Vec<RoutePolicy>) {
        if *self.tools.trust != trust {
            let before = std::mem::replace(&mut self.tools.trust, Arc::new(trust));
            announce::trust(Some(&before), &self.tools.trust);
        }
        for configured in routes {
            let name = configured.record.name.as_str();
            match self.routes.iter_mut().find(|route| **route.route() == *name) {
                Some(route) => route.configure(configured),
                None => tracing::warn!(route = name, "a new route needs a restart; its policy is passed over"),
            }
        }
        self.load_all().await;
    }

    async fn reload(&mut self, patience: Patience) {
        self.scan().await;
        self.tools.refused_files.forget();
        let mut found = HashMap::new();
        let mut look_again = false;
        for index in 0..self.routes.len() {
            if self.stop.is_cancelled() {
                return;
            }
            let policy = self.routes[index].policy().map(str::to_owned);
            let found = match found.entry(policy) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(slot) => {
                    let found = self.find(slot.key().as_deref()).await;
                    slot.insert(found)
                }
            };
            look_again |= self.routes[index].look(found, patience, &self.tools).await;
            let candidate = self.find_candidate(&self.routes[index]).await;
            look_again |= self.routes[index].look_at_candidate(candidate, patience, &self.tools).await;
            self.publish();
        }
        self.look_again = look_again.then(|| Instant::now() + self.tools.debounce);
        let names = |route: &RouteState| [route.policy().map(str::to_owned), Some(route.candidate_name())];
        let named: BTreeSet<_> = self.routes.iter().flat_map(names).flatten().collect();
        self.unused.scanned(self.listing.policies.difference(&named).cloned().collect());
        self.publish();
    }

    /// Sees to it that the folder is watched, then lists it.
    async fn scan(&mut self) {
        let Some(folder) = &mut self.folder else { return };
        let (watch, path) = (Arc::clone(&folder.watch), folder.status.path.clone());
        let scanned = off_path(move || {
            let armed = watch.lock().unwrap_or_else(PoisonError::into_inner).arm();
            (armed, folder::list(&path).map_err(|error| unreadable(&path, &error)))
        });
        let (armed, listing) = scanned.await.unwrap_or_else(|panic| (Ok(()), Err(panic)));
        (self.listing, folder.unreadable) = match listing {
            Ok(listing) => (listing, None),
            Err(error) => (Listing::default(), Some(error)),
        };
        let problem = folder.unreadable.clone().or(armed.err());
        if let Some(problem) = problem.as_ref().filter(|_| problem != folder.status.problem) {
            tracing::warn!(problem, "the policies folder needs attention");
        }
        folder.status.problem = problem;
        folder.status.scans += 1;
    }

    /// Reads what a route names, or says why there is nothing to read.
    async fn find(&self, policy: Option<&str>) -> Found {
        let Some(policy) = policy else { return Found::File(Source::Embedded, embedded::standard()) };
        let Some(folder) = &self.folder else {
            return Found::Missing(format!(
                "there is no policies folder to find {policy}.wasm in; set `folder` under [policies], or leave `policy` out for the embedded standard policy"
            ));
        };
        let path = folder.status.path.join(format!("{policy}.wasm"));
        if !folder::is_policy_name(policy) {
            return Found::Unusable(format!(
                "{policy:?} cannot be a policy's name: it may not begin with a dot, end in `.next` or hold a slash; correct the route's `policy`"
            ));
        }
        if let Some(unreadable) = &folder.unreadable {
            return Found::Missing(unreadable.clone());
        }
        if !self.listing.policies.contains(policy) {
            return Found::Missing(format!("{} does not exist; put the policy there", path.display()));
        }
        let (trust, limit) = (Arc::clone(&self.tools.trust), self.tools.engine.limits().file_size as u64);
        match off_path(move || folder::read_for(&trust, &path, limit)).await {
            Ok(Ok(file)) => Found::File(Source::Folder, file),
            Ok(Err(ReadError::Missing(text))) => Found::Missing(text),
            Ok(Err(error @ ReadError::Unusable { .. })) => Found::Unusable(error.to_string()),
            Err(text) => Found::Unusable(text),
        }
    }

    /// Reads a route's candidate; `None` where none is there.
    async fn find_candidate(&self, route: &RouteState) -> Option<Found> {
        let folder = self.folder.as_ref().filter(|folder| folder.unreadable.is_none())?;
        let name = route.candidate_name();
        let is_there = match name.strip_suffix(".next") {
            Some(policy) => self.listing.candidates.contains(policy),
            None => self.listing.policies.contains(&name),
        };
        let path = is_there.then(|| folder.status.path.join(format!("{name}.wasm")))?;
        let (trust, limit) = (Arc::clone(&self.tools.trust), self.tools.engine.limits().file_size as u64);
        match off_path(move || folder::read_for(&trust, &path, limit)).await {
            Ok(Ok(file)) => Some(Found::File(Source::Folder, file)),
            Ok(Err(ReadError::Missing(_))) => None,
            Ok(Err(error @ ReadError::Unusable { .. })) => Some(Found::Unusable(error.to_string())),
            Err(text) => Some(Found::Unusable(text)),
        }
    }

    async fn check_one_unused(&mut self) {
        if let Some(folder) = &self.folder {
            self.unused.check_one(&folder.status.path, &self.tools).await;
            self.publish();
        }
    }

    fn publish(&self) {
        self.status.store(Arc::new(PoliciesStatus {
            folder: self.folder.as_ref().map(|folder| folder.status.clone()),
            trust: Trust::clone(&self.tools.trust),
            routes: self.routes.iter().map(RouteState::status).collect(),
            unused: self.unused.status(),
            candidates: self.listing.candidates.iter().cloned().collect(),
        }));
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!(
        "cannot read the policies folder {}: {error}; create it, or correct `folder` under [policies]",
        path.display()
    )
}
