//! What each request does.
//!
//! `messages`: produce, consume, replay, settle. `topics`: what topics are like. `control`: what is no Narad's.

mod control;
mod messages;
mod topics;

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::cluster::{Release, Seen, Shared};
use super::faults::{Fault, On};
use super::http::{Answer, Request};

/// A request, read.
pub(super) struct Call<'r> {
    request: &'r Request,
    path: Vec<String>,
    query: Vec<(String, Vec<u8>)>,
}

impl Call<'_> {
    fn parameter(&self, name: &str) -> Option<String> {
        self.bytes(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    fn bytes(&self, name: &str) -> Option<&Vec<u8>> {
        self.query.iter().find(|(parameter, _)| parameter == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.parameter(name)?.parse().ok()
    }
}

/// The answer to a request; `None` where there is to be none.
pub(super) async fn answer(shared: &Shared, request: &Request) -> Option<Answer> {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let call = Call {
        request,
        path: path.split('/').skip(1).map(|part| String::from_utf8_lossy(&decoded(part)).into_owned()).collect(),
        query: query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), decoded(value)))
            .collect(),
    };
    if let Some(answer) = control::answer(shared, &call) {
        return Some(answer);
    }
    let on = kind(&call);
    if on.is_some_and(is_ack) {
        messages::count_acks(shared, &call);
    }
    let fault = on.and_then(|on| shared.faults.strike(on));
    let note = |answer: Option<&(Answer, usize)>| {
        if let Some(on) = on {
            let (status, count) = answer.map_or((0, 0), |(answer, count)| (answer.status, *count));
            shared.note(Seen { on, target: request.target.clone(), status, count });
        }
    };
    let mut done = match &fault {
        Some(Fault::Status(status, text)) => (Answer { status: *status, body: text.clone().into_bytes() }, 0),
        Some(Fault::Drop) => {
            note(None);
            return None;
        }
        _ => match refusal(shared, &call) {
            Some(refusal) => (refusal, 0),
            None => carry_out(shared, &call).await,
        },
    };
    match fault {
        Some(Fault::LoseReply) => {
            note(None);
            return None;
        }
        Some(Fault::Results(status)) => {
            let result = json!({ "status": status, "error": format!("planned {status}") });
            done.0.body = json!({ "results": vec![result; done.1] }).to_string().into_bytes();
        }
        Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    if on == Some(On::Ack) {
        shared.topics().answered_ack(done.0.status);
    }
    note(Some(&done));
    Some(done.0)
}

fn kind(call: &Call<'_>) -> Option<On> {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    Some(match (call.request.method.as_str(), &path[..]) {
        ("POST", ["v1", "topics", _, "produce"]) => On::Produce,
        ("GET", ["v1", "topics", _, "consume"]) if call.bytes("offset").is_some() => On::Replay,
        ("GET", ["v1", "topics", _, "consume"]) => On::Consume,
        ("POST", ["v1", "topics", _, "ack"]) if call.bytes("receipt_handle").is_none() => On::Batch,
        ("POST", ["v1", "topics", _, "ack"]) => match call.parameter("extend").as_deref() {
            Some("true" | "1") => On::Extend,
            Some("0") => On::Nack,
            _ => On::Ack,
        },
        ("POST", ["v1", "topics"]) => On::Create,
        ("GET", ["v1", "topics", ..]) => On::Topic,
        ("GET", ["metrics"]) => On::Metrics,
        _ => return None,
    })
}

const fn is_ack(on: On) -> bool {
    matches!(on, On::Ack | On::Batch)
}

/// What is refused before anything is looked at.
fn refusal(shared: &Shared, call: &Call<'_>) -> Option<Answer> {
    if shared.draining.load(Ordering::SeqCst) {
        return Some(error(503, "the node is going away"));
    }
    let login = shared.login.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some((user, password)) = login {
        let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        if call.request.header("authorization") != Some(&expected) {
            return Some(error(401, "missing or wrong credentials"));
        }
    }
    let typed = call
        .request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/json") || kind.starts_with("application/octet-stream"));
    let guarded = shared.release >= Release::V2_2 && call.request.method == "POST";
    (guarded && !typed && call.request.header("x-narad-client").is_none()).then(|| error(415, "no content type"))
}

async fn carry_out(shared: &Shared, call: &Call<'_>) -> (Answer, usize) {
    match kind(call) {
        Some(On::Produce) => (messages::produce(shared, call), 1),
        Some(On::Consume) => messages::consume(shared, call).await,
        Some(On::Replay) => (messages::replay(shared, call), 1),
        Some(On::Ack | On::Extend | On::Nack | On::Batch) => messages::settle(shared, call),
        Some(On::Topic) => (topics::show(shared, call), 0),
        Some(On::Create) => (topics::create(shared, call), 0),
        Some(On::Metrics) => (topics::metrics(shared), 0),
        None => (Answer { status: 404, body: b"404 page not found\n".to_vec() }, 0),
    }
}

fn error(status: u16, text: &str) -> Answer {
    Answer { status, body: json!({ "error": text }).to_string().into_bytes() }
}

fn no_topic() -> Answer {
    error(404, "topic not found")
}

/// A duration as Go writes it, in the units that clients use.
fn duration(text: &str) -> Option<Duration> {
    if let Some(millis) = text.strip_suffix("ms") {
        return millis.parse().ok().map(Duration::from_millis);
    }
    text.strip_suffix('s')?.parse().ok().map(Duration::from_secs)
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = (first == b'%').then(|| behind.first_chunk::<2>()).flatten();
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    bytes
}
