//! Routes whose failures are recorded by one process and judged again by another, and the other's part of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use reprieve::broker::memory::MemoryBroker;
use reprieve::handler::Handler;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::HostedRoute;
use reprieve::journal::{Entry, Filter, Order, Reader};
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use reprieve::policy::route_record::RouteRecord;
use reprieve::route::{RouteSpec, RouteWork};
use reprieve::topic::Tier;
use reprieve::verdict::{Fault, Verdict};
use serde_json::{Value, json};

/// What a decision may use. Only an endless loop misses the deadline, however busy the machine is.
#[must_use]
pub fn limits() -> EngineLimits {
    EngineLimits { deadline: Duration::from_secs(1), ..EngineLimits::default() }
}

/// The routes, each with a policy and settings of its own. All that fails on them is dead-lettered in the end.
#[must_use]
pub fn routes(broker: &MemoryBroker, handler: &Arc<dyn Handler>) -> Vec<HostedRoute> {
    let rule = |pattern: &str, header: &str| json!({ "pattern": pattern, "header": header, "value": "text", "delay": "10ms", "label": "found" });
    [
        (
            "standard",
            None,
            json!({ "retry": { "max_attempts": 3, "initial_delay": "1ms", "jitter": "full" }, "tiers": ["tick"] }),
        ),
        ("by-error-kind", Some("by-error-kind"), json!({ "max_attempts": 3, "timeout_wait": "1ms", "delay": "5ms" })),
        ("rules", Some("rules"), json!({ "rules": [rule("http-*", "h-1"), rule("timeout", "h-2")] })),
        ("all", Some("misbehaving"), json!({ "do": "echo-digest", "body": 1 << 20 })),
        ("some", Some("misbehaving"), json!({ "do": "echo-digest", "body": 5, "headers": ["h-1", "x-f64"] })),
        ("empty", Some("misbehaving"), json!({ "do": "echo-digest", "body": 0, "headers": [] })),
        ("faults", Some("misbehaving"), json!({})),
    ]
    .into_iter()
    .map(|(name, policy, settings)| {
        let work = RouteWork::Handle { handler: Arc::clone(handler), timeout: Duration::from_secs(60) };
        let mut route = RouteSpec::new(name, name, Arc::new(broker.clone()), work);
        route.tiers = vec![Tier { name: "tick".to_owned(), delay: Duration::from_millis(20) }];
        route.dead_letters.insert("default".to_owned(), format!("{name}.dlq").as_str().into());
        HostedRoute { policy: policy.map(str::to_owned), settings, ..HostedRoute::new(route) }
    })
    .collect()
}

/// The file of a policy: one of the test policies, or one that is part of the program.
#[must_use]
pub fn policy_file(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tests = root.join(format!("target/test-policies/{name}.wasm"));
    if tests.exists() { tests } else { root.join(format!("host/policies/{name}.wasm")) }
}

/// Judges every recorded failure by its route's policy, and hands over what that says now.
///
/// # Errors
/// The journal or a policy cannot be used, or the policy is another one than the one that judged then.
pub fn judge(journal: &Path, mut each: impl FnMut(&Entry, Result<Verdict, Fault>)) -> anyhow::Result<()> {
    let engine = Engine::new(limits())?;
    let nothing: Arc<dyn Handler> = Arc::new(handler_fn(|_| std::future::ready(Ok::<(), HandlerError>(()))));
    let mut revisions = HashMap::new();
    for hosted in routes(&MemoryBroker::new(1), &nothing) {
        revisions.insert(hosted.route.name.to_string(), load(&engine, &hosted)?);
    }
    let mut entries = Vec::new();
    Reader::open(journal)?.entries(&Filter::default(), Order::OldestFirst, |entry| {
        entries.push(entry);
        true
    })?;
    for entry in entries {
        let revision = revisions.get(&entry.route).with_context(|| format!("no route {}", entry.route))?;
        let maker = entry.maker.as_ref().context("a policy judged")?;
        ensure!(*maker == **revision.maker(), "{maker} judged, and here is {}", revision.maker());
        each(&entry, revision.decide(&entry.failure));
    }
    Ok(())
}

fn load(engine: &Engine, hosted: &HostedRoute) -> anyhow::Result<Revision> {
    let route = &hosted.route;
    let name = hosted.policy.as_deref().unwrap_or("standard");
    let file = policy_file(name);
    let bytes = std::fs::read(&file)
        .with_context(|| format!("cannot read {}: run `cargo xtask test-policies` first", file.display()))?;
    let record = RouteRecord {
        name: route.name.to_string(),
        source: route.source.to_string(),
        tiers: route.tiers.clone(),
        dead_letters: route.dead_letters.keys().cloned().collect(),
        retry: route.retry.clone(),
        max_retry_delay: route.retry_bound(),
        max_body: limits().max_body,
    };
    let candidate = Candidate { name, bytes: &bytes, route: &record, settings: &hosted.settings };
    engine.load(&candidate).map_err(|rejection| anyhow::anyhow!("{name}: {rejection}"))
}

/// One line of what another process says.
#[must_use]
pub fn line(id: u64, answer: &Result<Verdict, Fault>) -> Value {
    json!({ "id": id, "answer": answer })
}
