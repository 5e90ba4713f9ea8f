//! Puts messages on the topics of memory brokers and shows what is there. Other brokers have tools of their own.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

use super::{AdminState, MAX_BODY_BYTES};
use crate::broker::PublishError;
use crate::broker::memory::{Depth, MemoryBroker};
use crate::message::{HeaderValue, Message};
use crate::timestamp::Timestamp;

/// The request header that becomes the message's id.
const ID: &str = "reprieve-id";

/// The request header that becomes the message's key.
const KEY: &str = "reprieve-key";

/// Request headers that begin so become message headers: `reprieve-header-tenant: a` becomes `tenant: a`.
const HEADER_PREFIX: &str = "reprieve-header-";

/// Messages shown where the request does not say how many.
const DEFAULT_LIMIT: usize = 10;

/// Messages shown at most.
const MAX_LIMIT: usize = 100;

/// A topic as it is shown.
#[derive(Serialize)]
struct Shown {
    broker: String,
    topic: String,
    #[serde(flatten)]
    depth: Depth,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<Arc<Message>>>,
}

/// Every topic of every memory broker, with its depth.
pub(super) async fn list(State(state): State<AdminState>) -> impl IntoResponse {
    let shown = state.memory_brokers.iter().flat_map(|(name, broker)| {
        broker.queues().into_iter().map(|topic| {
            let depth = broker.depth(&topic);
            Shown { broker: name.clone(), topic, depth, messages: None }
        })
    });
    Json(shown.collect::<Vec<_>>())
}

/// A topic's depth and its first ready messages, which stay there.
pub(super) async fn look(
    State(state): State<AdminState>,
    Path(topic): Path<String>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let (name, broker) = choose(&state, &topic, parameter(&uri, "broker").as_deref())?;
    let limit = match parameter(&uri, "limit") {
        None => DEFAULT_LIMIT,
        Some(limit) => limit.parse().map_err(|_| {
            let text = format!("limit is {limit}, which is not a whole number; up to {MAX_LIMIT} messages are shown");
            Problem(StatusCode::BAD_REQUEST, text)
        })?,
    };
    let messages = Some(broker.peek(&topic, limit.min(MAX_LIMIT)));
    Ok(Json(Shown { broker: name.to_owned(), depth: broker.depth(&topic), topic, messages }))
}

/// Publishes the request's body as a message and answers with its id, which is made where none was given.
pub(super) async fn post(
    State(state): State<AdminState>,
    Path(topic): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<impl IntoResponse, Problem> {
    let (name, broker) = choose(&state, &topic, parameter(&uri, "broker").as_deref())?;
    let body = body.map_err(|rejection| {
        let text = format!("no usable body: {}; at most {MAX_BODY_BYTES} bytes can be posted", rejection.body_text());
        Problem(rejection.status(), text)
    })?;
    let message = message(&headers, body)?;
    let id = message.id.clone();
    broker.publish_to(&topic, message)?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "id": id, "broker": name, "topic": topic }))))
}

/// The value of a parameter in the URI's query.
fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let mut url = reqwest::Url::parse("http://admin/").expect("it is a URL");
    url.set_query(uri.query());
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The memory broker that is meant, which has the topic.
fn choose<'a>(
    state: &'a AdminState,
    topic: &str,
    broker: Option<&str>,
) -> Result<(&'a str, &'a MemoryBroker), Problem> {
    let brokers = &state.memory_brokers;
    let names = || brokers.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let (name, chosen) = match (broker, brokers.len()) {
        (_, 0) => {
            let text = "topics are served for brokers of kind \"memory\" only, and the configuration has none";
            return Err(Problem::not_found(text));
        }
        (Some(broker), _) => brokers
            .get_key_value(broker)
            .ok_or_else(|| Problem::not_found(format!("there is no memory broker {broker}; there is: {}", names())))?,
        (None, 1) => brokers.iter().next().expect("there is exactly one"),
        (None, _) => {
            let text = format!("there are several memory brokers; add ?broker= and one of: {}", names());
            return Err(Problem(StatusCode::CONFLICT, text));
        }
    };
    let topics = chosen.queues();
    if topics.iter().any(|known| known == topic) {
        return Ok((name, chosen));
    }
    // Making the topic would hide a misspelt name: nobody would ever consume what was posted.
    Err(Problem::not_found(format!(
        "memory broker {name} has no topic {topic}; it has those that routes consume or publish to, once these are ready: {}",
        topics.join(", ")
    )))
}

fn message(headers: &HeaderMap, body: Bytes) -> Result<Message, Problem> {
    let id = match headers.get(ID) {
        None => uuid::Uuid::new_v4().to_string(),
        Some(id) => text(ID, id)?,
    };
    let mut message = Message::new(body).with_id(id);
    message.timestamp = Some(Timestamp::now());
    message.key = headers.get(KEY).map(|key| Bytes::copy_from_slice(key.as_bytes()));
    let content_type = headers.get(header::CONTENT_TYPE);
    message.properties.content_type =
        content_type.map(|value| text(header::CONTENT_TYPE.as_str(), value)).transpose()?;
    for (name, value) in headers {
        if let Some(name) = name.as_str().strip_prefix(HEADER_PREFIX).filter(|name| !name.is_empty()) {
            message.headers.push(name, HeaderValue::Text(Bytes::copy_from_slice(value.as_bytes())));
        }
    }
    Ok(message)
}

fn text(name: &str, value: &axum::http::HeaderValue) -> Result<String, Problem> {
    let text = std::str::from_utf8(value.as_bytes())
        .map_err(|error| Problem(StatusCode::BAD_REQUEST, format!("header {name} is not UTF-8 text: {error}")))?;
    Ok(text.to_owned())
}

/// Why a request failed, and what would be right.
pub(super) struct Problem(StatusCode, String);

impl Problem {
    fn not_found(text: impl Into<String>) -> Self {
        Self(StatusCode::NOT_FOUND, text.into())
    }
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        let code = match error {
            PublishError::Outage(_) => StatusCode::SERVICE_UNAVAILABLE,
            PublishError::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            PublishError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        };
        Self(code, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.0, self.1 + "\n").into_response()
    }
}
