//! Decisions from async code.

use std::sync::Arc;
use std::time::Duration;

use reprieve::policy::decision_threads::DecisionThreads;
use reprieve::policy::engine::{Candidate, EngineLimits, Revision};
use reprieve::verdict::FaultKind;
use serde_json::json;

use crate::support::{engine, failure, load, module, route};

fn named(name: &str, limits: EngineLimits) -> Arc<Revision> {
    let (bytes, settings) = (module("misbehaving"), json!({}));
    let candidate = Candidate { name, bytes: &bytes, route: &route(), settings: &settings };
    Arc::new(engine(limits).load(&candidate).unwrap())
}

#[tokio::test]
async fn decisions_on_several_threads_know_nothing_of_each_other() {
    let threads = DecisionThreads::start(4);
    let revision = Arc::new(load(&module("counter"), &json!({})).unwrap());
    let failure = Arc::new(failure("timeout"));
    let decisions = (0..100).map(|_| threads.decide(Arc::clone(&revision), Arc::clone(&failure)));
    for verdict in futures_util::future::join_all(decisions).await {
        assert_eq!(verdict.unwrap().reason, "1");
    }
}

#[tokio::test]
async fn a_policy_that_uses_up_its_deadline_does_not_keep_others_waiting() {
    let threads = Arc::new(DecisionThreads::start(2));
    let slow = named("slow", EngineLimits { deadline: Duration::from_secs(2), ..EngineLimits::default() });
    let quick = named("quick", EngineLimits { deadline: Duration::from_secs(60), ..EngineLimits::default() });
    let stuck: Vec<_> = (0..3)
        .map(|_| {
            let (threads, slow) = (Arc::clone(&threads), Arc::clone(&slow));
            tokio::spawn(async move { threads.decide(slow, Arc::new(failure("loop"))).await })
        })
        .collect();
    tokio::task::yield_now().await;
    threads.decide(quick, Arc::new(failure("count"))).await.unwrap();
    assert!(stuck.iter().all(|decision| !decision.is_finished()), "the quick one came first");
    for decision in stuck {
        assert_eq!(decision.await.unwrap().unwrap_err().kind, FaultKind::Timeout);
    }
}

#[tokio::test]
async fn a_decision_that_nobody_waits_for_gives_up_its_turn() {
    let threads = DecisionThreads::start(1);
    let revision = named("policy", EngineLimits { deadline: Duration::from_millis(200), ..EngineLimits::default() });
    let impatient = threads.decide(Arc::clone(&revision), Arc::new(failure("loop")));
    let _ = tokio::time::timeout(Duration::from_millis(1), impatient).await;
    let verdict = threads.decide(revision, Arc::new(failure("count"))).await;
    assert_eq!(verdict.unwrap().reason, "1");
}

#[test]
fn more_callers_than_instances_wait_and_are_not_refused() {
    let revision =
        named("policy", EngineLimits { threads: 1, deadline: Duration::from_secs(60), ..EngineLimits::default() });
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(revision.decide(&failure("count")).unwrap().reason, "1");
                }
            });
        }
    });
}
