//! Attacks that no compiler makes: what the policy hands out breaks the interface, or shows the same bytes many times.

mod behaviours;
mod verdicts;

use std::time::{Duration, Instant};

use reprieve::verdict::FaultKind;
use reprieve_tests::small_policy::{ATTACK, SmallPolicy};
use serde_json::Value;

use crate::arena::{Arena, Attacked};
use crate::turn;

const COUNT: usize = 4;
/// For one attack on all of its messages, which are judged several times as fast.
const PATIENCE: Duration = Duration::from_secs(30);

struct Attack {
    name: &'static str,
    policy: SmallPolicy,
    ends: End,
}

enum End {
    /// The fallback judges, since the policy did this, and the text of the fault holds that.
    Fault(FaultKind, &'static str),
    /// The verdict is overridden, and why holds this.
    Overridden(&'static str),
    /// As the policy said.
    Judged,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attack_ends_as_it_should_and_is_felt_by_nobody_else() {
    let attacks = attacks();
    let attacked =
        |attack: &Attack| Attacked { route: attack.name, policy: attack.policy.build(), settings: Value::Null };
    let arena = Arena::open(attacks.iter().map(attacked).collect()).await;
    let calm = turn::calm(&arena).await;
    for Attack { name, ends, .. } in &attacks {
        let began = Instant::now();
        for rulings in turn::attack(&arena, &calm, name, ATTACK, COUNT).await {
            let last = rulings.last().unwrap_or_else(|| panic!("{name}: no ruling"));
            let first = &rulings[0];
            match ends {
                End::Fault(kind, text) => {
                    let fault = first.fault.as_ref().unwrap_or_else(|| panic!("{name} is a fault: {first:?}"));
                    assert!(fault.kind == *kind && fault.text.contains(text), "{name}: {fault}");
                    assert!(last.verdict.reason.starts_with("the fallback ends it"), "{name}: {last:?}");
                }
                End::Overridden(why) => {
                    let overridden = first.overridden.as_deref().unwrap_or_default();
                    assert!(first.fault.is_none() && overridden.contains(why), "{name}: {first:?}");
                }
                End::Judged => assert_eq!((&first.fault, &first.overridden), (&None, &None), "{name}"),
            }
        }
        assert!(began.elapsed() < PATIENCE, "{name} took {:?}", began.elapsed());
        // The policy itself goes on as well.
        for rulings in turn::attack(&arena, &calm, name, "count", 1).await {
            assert_eq!(
                (rulings.len(), &rulings[0].fault, rulings[0].verdict.reason.as_str()),
                (1, &None, "calm"),
                "{name}"
            );
        }
    }
    arena.close().await;
}

fn attacks() -> Vec<Attack> {
    let all = [behaviours::of_functions(), behaviours::log_lines(), verdicts::delays(), verdicts::invalid()];
    all.into_iter().flatten().collect()
}

/// The policy that each of them is where it does not attack.
fn calm() -> SmallPolicy {
    SmallPolicy::new("calm")
}
