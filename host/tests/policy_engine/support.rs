//! Policies, routes and failures to test with.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use reprieve::policy::rejection::Rejection;
use reprieve::policy::route_record::RouteRecord;
use reprieve::timestamp::Timestamp;
use reprieve::topic::Tier;
use serde_json::{Value, json};

/// With a deadline that only an endless loop misses, however busy the machine is.
static ENGINE: LazyLock<Engine> =
    LazyLock::new(|| engine(EngineLimits { deadline: Duration::from_secs(5), threads: 4, ..EngineLimits::default() }));

pub(crate) fn engine(limits: EngineLimits) -> Engine {
    Engine::new(limits).unwrap()
}

/// A test policy as it comes from the compiler: a core module.
pub(crate) fn module(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/test-policies/{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test-policies`", path.display()))
}

/// The same policy as a component.
pub(crate) fn component(name: &str) -> Vec<u8> {
    wit_component::ComponentEncoder::default().module(&module(name)).unwrap().encode().unwrap()
}

pub(crate) fn route() -> RouteRecord {
    RouteRecord {
        name: "orders".into(),
        source: "orders-queue".into(),
        tiers: vec![Tier { name: "30s".into(), delay: Duration::from_secs(30) }],
        dead_letters: vec!["default".into(), "invalid".into()],
        retry: reprieve_sdk::RetryPolicy { max_attempts: 5, ..Default::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 100,
    }
}

pub(crate) fn load(bytes: &[u8], settings: &Value) -> Result<Revision, Rejection> {
    load_into(&ENGINE, bytes, settings)
}

pub(crate) fn load_into(engine: &Engine, bytes: &[u8], settings: &Value) -> Result<Revision, Rejection> {
    engine.load(&Candidate { name: "test", bytes, route: &route(), settings })
}

/// The policy that does what its settings tell it to, or else a failure's error kind.
pub(crate) fn misbehaving(settings: &Value) -> Revision {
    load(&module("misbehaving"), settings).unwrap()
}

pub(crate) fn rejection(bytes: &[u8]) -> Rejection {
    load(bytes, &json!({})).expect_err("this file is no policy")
}

/// The same without settings: it does what the failure's error kind tells it to.
pub(crate) fn obedient() -> &'static Revision {
    static OBEDIENT: LazyLock<Revision> = LazyLock::new(|| misbehaving(&json!({})));
    &OBEDIENT
}

/// The bytes with every `from` replaced by a `to` of the same length.
pub(crate) fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// A failure whose error is of this kind.
pub(crate) fn failure(kind: &str) -> Failure {
    failure_of(Message::new("body").with_id("m-1"), kind)
}

pub(crate) fn failure_of(message: Message, kind: &str) -> Failure {
    Failure {
        body_size: message.body_size() as u64,
        message: Arc::new(message),
        attempt: 1,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: 0,
        expires_in_ms: None,
        error: HandlerError::new(kind, "it failed"),
        health: Health::default(),
        now: Timestamp(1_700_000_000_000),
        seed: 7,
        attributes: Vec::new(),
    }
}
