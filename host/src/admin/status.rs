//! Alive, ready, live, counted.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};

use super::AdminState;
use crate::observer::metrics;

/// The process answers, so it is alive.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// 200 once every route consumes and has a policy; until then 503 with what each waits for. What routes wait for is for
/// callers with the token only, where there is one: it names brokers and queues.
pub(super) async fn readyz(State(state): State<AdminState>, headers: HeaderMap) -> impl IntoResponse {
    let not_ready = state.source.not_ready();
    let code = if not_ready.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut answer = json!({ "ready": not_ready.is_empty() });
    if state.admits(&headers) {
        answer["not_ready"] = json!(not_ready);
    }
    (code, Json(answer))
}

/// Version, uptime, readiness, and what the host says of its routes.
pub(super) async fn status(State(state): State<AdminState>) -> Json<Map<String, Value>> {
    let mut status = state.source.status();
    let not_ready = state.source.not_ready();
    status.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    status.insert("uptime_seconds".into(), state.started.elapsed().as_secs().into());
    status.insert("ready".into(), not_ready.is_empty().into());
    status.insert("not_ready".into(), json!(not_ready));
    Json(status)
}

/// For a Prometheus scrape.
pub(super) async fn metrics(State(state): State<AdminState>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], state.observer.metrics().encode())
}
