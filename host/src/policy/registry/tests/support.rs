use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reprieve_sdk::RetryPolicy;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::broadcast;

pub(super) use super::tiny_policy::policy;
use crate::event::{CandidateStep, Event, EventKind};
use crate::observer::Observer;
use crate::policy::candidate::CandidatePlan;
use crate::policy::engine::{Engine, EngineLimits};
use crate::policy::folder::PolicyFile;
use crate::policy::registry::{Policies, PolicySettings, RoutePolicy};
use crate::policy::route_record::RouteRecord;
use crate::policy::status::{PoliciesStatus, RoutePolicyStatus, Source};
use crate::policy::trust::Trust;

/// Short, so that tests are; a test that needs a file to be half written does not depend on it.
const DEBOUNCE: Duration = Duration::from_millis(30);

/// Waits for a condition, not for a time; says what was waited for when it does not come.
pub(super) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(super) fn digest(bytes: &[u8]) -> String {
    PolicyFile::new(bytes.to_vec()).digest
}

/// Settings that the policy refuses.
pub(super) fn bad_settings() -> Value {
    json!({"no_such_setting": true})
}

/// A route of this name whose policy is `policy`.
pub(super) fn route(name: &str, policy: Option<&str>) -> RoutePolicy {
    RoutePolicy {
        record: RouteRecord {
            name: name.to_owned(),
            source: name.to_owned(),
            tiers: Vec::new(),
            dead_letters: vec!["default".to_owned()],
            retry: RetryPolicy::default(),
            max_retry_delay: Duration::from_secs(30),
            max_body: 1024,
        },
        policy: policy.map(str::to_owned),
        policy_digest: None,
        settings: json!({}),
        candidate: CandidatePlan::default(),
    }
}

pub(super) fn with_settings(route: RoutePolicy, settings: Value) -> RoutePolicy {
    RoutePolicy { settings, ..route }
}

/// A place for a policies folder and a state folder.
pub(super) struct Place(TempDir);

impl Place {
    pub(super) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.folder()).unwrap();
        fs::create_dir(place.elsewhere()).unwrap();
        place
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.0.path().join("policies")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// A folder on the same file system that nobody watches.
    pub(super) fn elsewhere(&self) -> PathBuf {
        self.0.path().join("elsewhere")
    }

    pub(super) fn file(&self, policy: &str) -> PathBuf {
        self.folder().join(format!("{policy}.wasm"))
    }

    /// Puts a file in place the way it should be done.
    pub(super) fn install(&self, policy: &str, bytes: &[u8]) {
        let temporary = self.elsewhere().join(policy);
        fs::write(&temporary, bytes).unwrap();
        fs::rename(&temporary, self.file(policy)).unwrap();
    }

    pub(super) fn settings(&self) -> PolicySettings {
        PolicySettings {
            folder: Some(self.folder()),
            state: Some(self.state()),
            debounce: DEBOUNCE,
            // Never, so that only the watcher can have noticed.
            rescan: Duration::from_secs(24 * 60 * 60),
            trust: Trust::default(),
        }
    }

    pub(super) async fn start(&self, routes: Vec<RoutePolicy>) -> Running {
        Running::start(self.settings(), routes).await
    }
}

pub(super) struct Running {
    pub(super) policies: Policies,
    events: broadcast::Receiver<Arc<Event>>,
}

impl Running {
    pub(super) async fn start(settings: PolicySettings, routes: Vec<RoutePolicy>) -> Self {
        let observer = Observer::new();
        let events = observer.subscribe();
        let engine = Engine::new(EngineLimits::default()).unwrap();
        Self { policies: Policies::start(engine, settings, routes, observer).await.unwrap(), events }
    }

    /// Takes other routes, and demands nothing of their files.
    pub(super) async fn reconfigure(&self, routes: Vec<RoutePolicy>) {
        self.policies.reconfigure(Trust::default(), routes).await;
    }

    pub(super) fn status(&self) -> PoliciesStatus {
        self.policies.status()
    }

    pub(super) fn route(&self, name: &str) -> RoutePolicyStatus {
        self.status().routes.into_iter().find(|route| route.route == name).unwrap()
    }

    /// Whether the route judges by these bytes.
    pub(super) fn runs(&self, route: &str, bytes: &[u8]) -> bool {
        let live = self.policies.handle(route).unwrap().live();
        live.is_some_and(|revision| revision.file_digest() == digest(bytes))
    }

    pub(super) fn source(&self, route: &str) -> Option<Source> {
        self.route(route).live.map(|live| live.source)
    }

    pub(super) fn error(&self, route: &str) -> Option<String> {
        self.route(route).last_error.map(|error| error.text)
    }

    pub(super) async fn until_runs(&self, route: &str, bytes: &[u8]) {
        until(&format!("the new policy on {route}, which has {:?}", self.route(route)), || self.runs(route, bytes))
            .await;
    }

    pub(super) async fn until_error(&self, route: &str, text: &str) {
        until(text, || self.error(route).is_some_and(|error| error.contains(text))).await;
    }

    pub(super) fn scans(&self) -> u64 {
        self.status().folder.unwrap().scans
    }

    /// Waits until the folder has been read since `scans`, and is left alone again.
    pub(super) async fn until_quiet_after(&self, scans: u64) {
        until("a scan", || self.scans() > scans).await;
        let mut last = (self.scans(), Instant::now());
        until("the end of scanning", || {
            if self.scans() != last.0 {
                last = (self.scans(), Instant::now());
            }
            last.1.elapsed() > DEBOUNCE * 6
        })
        .await;
    }

    /// Steps of candidates since the last question.
    pub(super) fn steps(&mut self) -> Vec<CandidateStep> {
        let events = std::iter::from_fn(|| self.events.try_recv().ok());
        let step = |event: Arc<Event>| match event.kind {
            EventKind::CandidateChanged { step, .. } => Some(step),
            _ => None,
        };
        events.filter_map(step).collect()
    }

    /// The swaps since the last question.
    pub(super) fn swaps(&mut self) -> usize {
        std::iter::from_fn(|| self.events.try_recv().ok())
            .filter(|event| matches!(event.kind, EventKind::PolicySwapped { .. }))
            .count()
    }

    pub(super) async fn stop(self) {
        self.policies.shutdown().await;
    }
}

/// Starts with one policy on one route, does something to the folder, and waits until the other policy judges.
pub(super) async fn swaps_by<F: Future<Output = ()>>(change: impl FnOnce(PathBuf, Vec<u8>) -> F) {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    assert!(running.runs("orders", &policy(1)));
    change(place.folder(), policy(2)).await;
    running.until_runs("orders", &policy(2)).await;
    assert_eq!(running.error("orders"), None);
    // Whatever was done, the folder is still watched.
    fs::write(place.file("orders"), policy(3)).unwrap();
    running.until_runs("orders", &policy(3)).await;
    running.stop().await;
}

pub(super) fn link(target: &str, path: &Path) {
    std::os::unix::fs::symlink(target, path).unwrap();
}
