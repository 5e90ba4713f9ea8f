//! The admin listener: is the host alive, is it ready, what is live, how much has happened, and for memory brokers
//! a way to put messages in and to look at what is there.
//!
//! * `candidates`: `/routes/{name}/candidate/{action}`.
//! * `status`: `/healthz`, `/readyz`, `/status`, `/metrics`.
//! * `token`: who may ask for what.
//! * `topics`: `/topics` and `/topics/{name}`.
//! * [`server`]: the port and the end of service.

mod candidates;
pub mod server;
mod status;
mod token;
mod topics;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, post};
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::broker::memory::MemoryBroker;
use crate::config::Secret;
use crate::observer::Observer;
use crate::policy::registry::CandidateAction;

/// The largest message body that can be posted, in bytes.
pub const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// What the host tells the admin listener of its routes.
pub trait StatusSource: Send + Sync + 'static {
    /// Every route that does not consume yet or has no policy; none when the host is ready.
    fn not_ready(&self) -> Vec<NotReady>;

    /// Routes, live policies and whatever else is worth showing. `/status` puts its own members beside these.
    fn status(&self) -> serde_json::Map<String, serde_json::Value>;

    /// Does something about the candidate of a route, and says what was done; or why it cannot be done.
    fn steer(&self, route: String, action: CandidateAction) -> BoxFuture<'_, Result<String, String>>;
}

/// A route that cannot work now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotReady {
    /// The route's name.
    pub route: String,
    /// What it waits for, for a person.
    pub reason: String,
}

/// What the admin listener serves from.
#[derive(Clone)]
pub struct AdminState {
    source: Arc<dyn StatusSource>,
    observer: Observer,
    memory_brokers: Arc<BTreeMap<String, MemoryBroker>>,
    started: Instant,
    token: Option<Secret>,
}

impl AdminState {
    /// Uptime counts from here. The memory brokers are keyed by their names in the configuration.
    pub fn new(
        source: Arc<dyn StatusSource>,
        observer: Observer,
        memory_brokers: BTreeMap<String, MemoryBroker>,
    ) -> Self {
        Self { source, observer, memory_brokers: Arc::new(memory_brokers), started: Instant::now(), token: None }
    }

    /// The same, but only for callers that send `Authorization: Bearer` and this token. Anybody may ask `/healthz`, and
    /// `/readyz` whether the host is ready.
    #[must_use]
    pub fn with_token(self, token: Option<Secret>) -> Self {
        Self { token, ..self }
    }
}

/// Everything that the admin listener answers.
pub fn router(state: AdminState) -> Router {
    Router::new()
        .route("/healthz", get(status::healthz))
        .route("/readyz", get(status::readyz))
        .route("/status", get(status::status))
        .route("/metrics", get(status::metrics))
        .route("/routes/{name}/candidate/{action}", post(candidates::steer))
        .route("/topics", get(topics::list))
        .route("/topics/{name}", get(topics::look).post(topics::post))
        .fallback(unknown_path)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(state.clone(), token::demand))
        .with_state(state)
}

async fn unknown_path() -> (StatusCode, &'static str) {
    (
        StatusCode::NOT_FOUND,
        "try /healthz, /readyz, /status, /metrics, /topics, /topics/{name}, or POST /routes/{name}/candidate/{promote, hold, resume or rollback}\n",
    )
}

#[cfg(test)]
mod tests;
