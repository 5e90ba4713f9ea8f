//! Every decision has a clean instance, also on a route with many messages in work and a policy that keeps failing.

use std::sync::Arc;
use std::time::Duration;

use reprieve::broker::memory::MemoryBroker;
use reprieve::event::EventKind;
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::message::{HeaderValue, Message};
use reprieve::policy::engine::EngineLimits;
use reprieve::policy::registry::PolicySettings;
use reprieve::route::{RouteSpec, RouteWork};
use reprieve::verdict::FaultKind;

use crate::built;

#[tokio::test(flavor = "multi_thread")]
async fn a_static_counter_is_1_in_every_decision() {
    let letters = dead_letters("counter", ["any"; 200]).await;
    assert_eq!(letters.reasons, vec![("any".to_owned(), "1".to_owned()); 200]);
    assert_eq!(letters.faults, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_counter_is_1_after_every_fault_too() {
    let kinds = ["count", "panic", "count", "recurse", "count", "eat-memory", "count", "many-headers", "count", "loop"];
    let letters = dead_letters("misbehaving", kinds.into_iter().cycle().take(50)).await;

    let (counts, others): (Vec<_>, Vec<_>) = letters.reasons.into_iter().partition(|(kind, _)| kind == "count");
    assert_eq!(counts, vec![("count".to_owned(), "1".to_owned()); 25]);
    assert_eq!(others.len(), 25);
    for (kind, reason) in others {
        assert!(reason.contains("the fallback"), "{kind}: {reason}");
    }
    for kind in
        [FaultKind::Trap, FaultKind::StackOverflow, FaultKind::Memory, FaultKind::InvalidVerdict, FaultKind::Timeout]
    {
        let times = letters.faults.iter().filter(|fault| **fault == kind).count();
        assert_eq!(times, 5, "{kind} among {:?}", letters.faults);
    }
}

struct Letters {
    /// The error kind and the policy's reason of each dead letter.
    reasons: Vec<(String, String)>,
    /// What the policy did wrong meanwhile.
    faults: Vec<FaultKind>,
}

/// Sends a message for each error kind to fail with, to a host with this test policy.
async fn dead_letters(policy: &str, kinds: impl IntoIterator<Item = &'static str>) -> Letters {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(format!("{policy}.wasm")), built(&format!("test-policies/{policy}.wasm")))
        .unwrap();

    let broker = MemoryBroker::default();
    let handler = handler_fn(|call: Call| async move {
        let kind = call.message.headers.text("kind").unwrap_or_default();
        Err::<(), _>(HandlerError::new(kind, "told to"))
    });
    let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(60) };
    let mut route = RouteSpec::new("orders", "orders", Arc::new(broker.clone()), work);
    route.dead_letters.insert("default".to_owned(), "orders.dlq".into());
    let host = Host::start(HostSpec {
        routes: vec![HostedRoute { policy: Some(policy.to_owned()), ..HostedRoute::new(route) }],
        policies: PolicySettings { folder: Some(folder.path().to_owned()), ..PolicySettings::default() },
        // Only an endless loop misses it, however busy the machine is.
        limits: EngineLimits { deadline: Duration::from_secs(1), ..EngineLimits::default() },
        ..HostSpec::default()
    })
    .await
    .unwrap();
    let mut events = host.observer().subscribe();

    let mut sent = 0;
    for kind in kinds {
        broker.publish_to("orders", Message::new("body").with_header("kind", kind)).unwrap();
        sent += 1;
    }
    let all = broker.wait_for("orders.dlq", |depth| depth.ready == sent);
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("every message dead-lettered");
    host.shutdown().await;

    let text =
        |message: &Message, header| message.headers.get(header).and_then(HeaderValue::as_str).unwrap().to_owned();
    let letters = broker.drain("orders.dlq");
    let reasons = letters.iter().map(|letter| (text(letter, "kind"), text(letter, "reprieve-reason"))).collect();
    let mut faults = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let EventKind::PolicyFailed { fault, .. } = &event.kind {
            faults.push(fault.kind);
        }
    }
    Letters { reasons, faults }
}
