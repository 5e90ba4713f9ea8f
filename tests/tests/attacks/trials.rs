//! Attacks by a candidate: no message of its route, or of another, comes to anything else than without it.

use std::time::{Duration, Instant};

use reprieve::policy::candidate::{CandidateMode, CandidatePlan};
use reprieve::policy::status::{CandidateStatus, RoutePolicyStatus};
use reprieve_tests::small_policy::SmallPolicy;
use serde_json::json;

use crate::arena::{Arena, Attacked};
use crate::built;
use crate::turn::{self, Rulings};

const ROUTE: &str = "orders";
const COUNT: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_shadow_does_the_live_policy_alone_judges() {
    let arena = arena(CandidatePlan::default()).await;
    let calm = turn::calm(&arena).await;
    let attacks = ["panic", "loop", "recurse", "eat-memory", "huge-reason", "reserved-header", "log-flood", "drop"];
    for kind in attacks {
        expect_live(kind, &turn::attack(&arena, &calm, ROUTE, kind, COUNT).await);
    }
    let all = (attacks.len() * COUNT) as u64;
    until("every answer", || candidate(&arena).is_some_and(|it| it.tally.decisions + it.tally.skipped == all)).await;
    let tally = candidate(&arena).unwrap().tally;
    assert_eq!((tally.skipped, tally.faults), (0, 6 * COUNT as u64), "{tally:?}");
    let dropped = tally.changes.iter().find(|(change, _)| (change.from, change.to) == ("dead-letter", "drop"));
    assert_eq!(dropped.map(|(_, count)| *count), Some(COUNT as u64), "{tally:?}");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_that_is_slow_and_flooded_is_waited_for_by_nobody() {
    /// More than may wait, at 200 ms each.
    const FLOOD: usize = 600;
    let arena = arena(CandidatePlan::default()).await;
    let calm = turn::calm(&arena).await;
    expect_live("loop", &turn::attack(&arena, &calm, ROUTE, "loop", FLOOD).await);
    let tally = candidate(&arena).unwrap().tally;
    assert!(tally.skipped > 0 && tally.skipped + tally.decisions < FLOOD as u64, "it is still behind: {tally:?}");
    let metrics = arena.host.observer().metrics().encode();
    let skipped = r#"reprieve_candidate_decisions_total{route="orders",mode="shadow",result="skipped"} "#;
    assert!(metrics.contains(skipped), "{metrics}");
    // What waits for it holds up no end either.
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_that_starts_to_trap_is_taken_back_and_no_message_is_judged_by_the_fallback() {
    for (kind, what) in [("panic", "trap"), ("loop", "timeout")] {
        let plan = CandidatePlan { mode: CandidateMode::Canary, share: 1.0, max_faults: 2, ..CandidatePlan::default() };
        let arena = arena(plan).await;
        let calm = turn::calm(&arena).await;
        for rulings in turn::attack(&arena, &calm, ROUTE, "count", COUNT).await {
            assert_eq!(rulings[0].verdict.reason, "1", "the canary's: {rulings:?}");
        }
        expect_live(kind, &turn::attack(&arena, &calm, ROUTE, kind, COUNT).await);
        until("its end", || candidate(&arena).is_none()).await;
        arena.install("unrelated", &SmallPolicy::new("unrelated").build());
        until("why it is not tried", || route(&arena).candidate_error.is_some()).await;
        let error = route(&arena).candidate_error.unwrap().text;
        assert!(error.contains("rolled back") && error.contains("2 are allowed") && error.contains(what), "{error}");
        expect_live("count", &turn::attack(&arena, &calm, ROUTE, "count", COUNT).await);
        arena.close().await;
    }
}

/// A route with a policy that dead-letters, and a candidate that does what it is told.
async fn arena(plan: CandidatePlan) -> Arena {
    let live = Attacked { route: ROUTE, policy: SmallPolicy::new("live").build(), settings: json!({}) };
    let arena = Arena::open_with(vec![live], plan).await;
    arena.install("orders.next", &built("misbehaving"));
    until("the candidate", || candidate(&arena).is_some()).await;
    arena
}

fn expect_live(kind: &str, rulings: &Rulings) {
    for rulings in rulings {
        let [ruled] = &rulings[..] else { panic!("{kind}: {rulings:?}") };
        assert_eq!((ruled.verdict.reason.as_str(), &ruled.fault), ("live", &None), "{kind}");
    }
}

fn route(arena: &Arena) -> RoutePolicyStatus {
    arena.host.policies().status().routes.into_iter().find(|route| route.route == ROUTE).expect("the route is listed")
}

fn candidate(arena: &Arena) -> Option<CandidateStatus> {
    route(arena).candidate
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
