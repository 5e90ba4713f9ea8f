//! The blocking work of a reload, each piece on a thread that may wait: reading, loading, keeping.

use std::sync::Arc;

use serde_json::Value;

use super::RoutePolicy;
use super::admitted::Admitted;
use super::reloader::Tools;
use crate::policy::engine::{Candidate, Revision};
use crate::policy::history::{History, Previous};
use crate::policy::last_good::{LastGood, LastGoodStore};

/// Runs `work` off the message path. A panic in it, which would be a bug, costs this one piece of work.
pub(super) async fn off_path<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| format!("the host failed while loading: {error}"))
}

/// Validates, compiles and configures a policy for a route.
pub(super) async fn load(
    tools: &Tools,
    route: &Arc<RoutePolicy>,
    admitted: &Admitted,
) -> Result<Arc<Revision>, String> {
    let (engine, refused) = (tools.engine.clone(), tools.refused_files.clone());
    let (route, policy) = (Arc::clone(route), admitted.policy().clone());
    if let Some(why) = refused.why(&policy.file) {
        return Err(why);
    }
    off_path(move || {
        let candidate = Candidate {
            name: &policy.policy,
            bytes: &policy.file.bytes,
            route: &route.record,
            settings: &policy.settings,
        };
        if let Err(rejection) = engine.check_file(&candidate) {
            refused.remember(&policy.file, rejection.to_string());
            return Err(rejection.to_string());
        }
        engine.load(&candidate).map(Arc::new).map_err(|rejection| rejection.to_string())
    })
    .await?
}

/// Puts what is about to go live on disk.
pub(super) async fn keep(store: &LastGoodStore, route: &Arc<str>, policy: &LastGood) -> Result<(), String> {
    let (store, route, policy) = (store.clone(), Arc::clone(route), policy.clone());
    off_path(move || store.keep(&route, &policy)).await?
}

/// Reads what the route last ran on.
pub(super) async fn read_kept(store: &LastGoodStore, route: &Arc<str>, limit: u64) -> Result<Option<LastGood>, String> {
    let (store, route) = (store.clone(), Arc::clone(route));
    off_path(move || store.read(&route, limit)).await?
}

/// Reads what the route's policies came to.
pub(super) async fn read_history(store: &LastGoodStore, route: &Arc<str>) -> Result<History, String> {
    let (store, route) = (store.clone(), Arc::clone(route));
    off_path(move || store.history(&route)).await?
}

/// Puts it on disk.
pub(super) async fn keep_history(store: &LastGoodStore, route: &Arc<str>, history: &History) -> Result<(), String> {
    let (store, route, history) = (store.clone(), Arc::clone(route), history.clone());
    off_path(move || store.keep_history(&route, &history)).await?
}

/// Reads a version that was live before.
pub(super) async fn read_previous(
    store: &LastGoodStore,
    route: &Arc<str>,
    previous: &Previous,
    limit: u64,
) -> Result<LastGood, String> {
    let (store, route, previous) = (store.clone(), Arc::clone(route), previous.clone());
    off_path(move || store.read_previous(&route, &previous, limit)).await?
}

/// The same policy with other settings.
pub(super) fn with_settings(policy: &LastGood, settings: &Value) -> LastGood {
    LastGood { settings: settings.clone(), ..policy.clone() }
}
