//! Attacks that a compiled policy can make, one after the other, each on several messages.

use reprieve::verdict::FaultKind;
use serde_json::json;

use crate::arena::{Arena, Attacked};
use crate::built;
use crate::turn::{self, Rulings};

/// Messages of each attack.
const COUNT: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_judged_by_the_fallback_and_counted_and_felt_by_nobody_else() {
    let arena = arena().await;
    let calm = turn::calm(&arena).await;
    let attacks = [
        ("panic", FaultKind::Trap, "told to panic"),
        ("loop", FaultKind::Timeout, "no answer within 200ms, its deadline"),
        ("recurse", FaultKind::StackOverflow, "recursed too deep"),
        ("eat-memory", FaultKind::Memory, "policies.memory"),
        ("huge-reason", FaultKind::InvalidVerdict, "too much data"),
        ("many-headers", FaultKind::InvalidVerdict, "1000 headers"),
        ("reserved-header", FaultKind::InvalidVerdict, "the host's or the broker's own"),
        ("broker-header", FaultKind::InvalidVerdict, "the host's or the broker's own"),
        ("control-header", FaultKind::InvalidVerdict, "visible ASCII"),
        ("nul-label", FaultKind::InvalidVerdict, "is not a name"),
    ];
    for (kind, fault, text) in attacks {
        for rulings in turn::attack(&arena, &calm, "misbehaving", kind, COUNT).await {
            let [ruled] = &rulings[..] else { panic!("{kind}: {rulings:?}") };
            let seen = ruled.fault.as_ref().unwrap_or_else(|| panic!("{kind} is a fault: {ruled:?}"));
            assert!(seen.kind == fault && seen.text.contains(text), "{kind}: {seen}");
            assert!(ruled.verdict.reason.starts_with("the fallback ends it"), "{kind}: {ruled:?}");
        }
        // It is the same policy that goes on, and with nothing left over.
        expect_count(kind, &turn::attack(&arena, &calm, "misbehaving", "count", 1).await);
    }
    let metrics = arena.host.observer().metrics().encode();
    for fault in
        [FaultKind::Trap, FaultKind::Timeout, FaultKind::StackOverflow, FaultKind::Memory, FaultKind::InvalidVerdict]
    {
        let times = COUNT * attacks.iter().filter(|attack| attack.1 == fault).count();
        let line = format!(
            r#"reprieve_policy_faults_total{{route="misbehaving",policy="misbehaving",fault="{fault}"}} {times}"#
        );
        assert!(metrics.lines().any(|one| one == line), "{line} in\n{metrics}");
    }
    assert!(!metrics.contains(r#"policy_faults_total{route="witness""#), "{metrics}");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_policy_loops_again_and_again_the_others_decide_without_waiting_for_it() {
    /// They keep the threads that one policy may have busy for seconds.
    const LOOPING: usize = 24;
    let arena = arena().await;
    let calm = turn::calm(&arena).await;
    let (rulings, outlasting) = turn::attack_and_wait(&arena, &calm, "misbehaving", "loop", LOOPING).await;
    assert!(rulings.iter().flatten().all(|ruled| ruled.fault.is_some()), "{rulings:?}");
    assert!(outlasting >= LOOPING / 2, "{outlasting} of {LOOPING} endless loops were still to end");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn verdicts_that_cannot_be_carried_out_are_overridden_and_felt_by_nobody_else() {
    let arena = arena().await;
    let calm = turn::calm(&arena).await;
    for (kind, why) in [
        ("unknown-label", "no dead-letter topic labelled \"no-such-label\""),
        ("unknown-tier", "no tier \"no-such-tier\""),
        ("endless-retry", "the route has no tiers"),
        ("endless-delay", "the route has no tiers"),
    ] {
        for rulings in turn::attack(&arena, &calm, "misbehaving", kind, COUNT).await {
            let [ruled] = &rulings[..] else { panic!("{kind}: {rulings:?}") };
            let overridden = ruled.overridden.as_deref().unwrap_or_default();
            assert!(ruled.fault.is_none() && overridden.contains(why), "{kind}: {ruled:?}");
        }
    }
    for rulings in turn::attack(&arena, &calm, "misbehaving", "endless-requeue", COUNT).await {
        let [requeued, ended] = &rulings[..] else { panic!("{rulings:?}") };
        assert_eq!(
            (requeued.event, requeued.overridden.as_deref()),
            ("requeued", Some("the longest cool-down is 20ms"))
        );
        assert_eq!((ended.attempt, ended.verdict.reason.as_str()), (2, "1"));
    }
    // A pause for ever is one of minutes, of its own route.
    let rulings = turn::attack(&arena, &calm, "pausing", "endless-pause", 1).await;
    assert_eq!(rulings[0][0].verdict.pause_intake, Some(u64::MAX));
    expect_count("endless-pause", &turn::attack(&arena, &calm, "misbehaving", "count", COUNT).await);
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_that_are_too_many_or_too_long_harm_nobody() {
    let arena = arena().await;
    let calm = turn::calm(&arena).await;
    for kind in ["log-flood", "huge-log"] {
        for rulings in turn::attack(&arena, &calm, "misbehaving", kind, COUNT).await {
            let [ruled] = &rulings[..] else { panic!("{kind}: {rulings:?}") };
            assert_eq!((&ruled.fault, ruled.verdict.reason.as_str()), (&None, "told to"), "{kind}");
        }
    }
    arena.close().await;
}

fn expect_count(after: &str, rulings: &Rulings) {
    for rulings in rulings {
        let reasons: Vec<_> = rulings.iter().map(|ruled| (ruled.verdict.reason.as_str(), &ruled.fault)).collect();
        assert_eq!(reasons, [("1", &None)], "after {after}");
    }
}

async fn arena() -> Arena {
    let attacked = |route| Attacked { route, policy: built("misbehaving"), settings: json!({}) };
    Arena::open(vec![attacked("misbehaving"), attacked("pausing")]).await
}
