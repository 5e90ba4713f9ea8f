//! One policy after another, each a file of its own, while messages fail: `cargo xtask swaps` makes more of them.

use std::path::Path;
use std::time::{Duration, Instant};

use reprieve::broker::memory::MemoryBroker;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::policy::engine::EngineLimits;
use reprieve::policy::registry::PolicySettings;
use reprieve_tests::small_policy::SmallPolicy;
use reprieve_tests::small_policy::instructions::trap;

use crate::alone;
use crate::resident::{Bytes, resident};
use crate::traffic::Traffic;

/// How many, where the variable does not say.
const SWAPS: usize = 500;
const VARIABLE: &str = "REPRIEVE_TEST_SWAPS";
/// Swaps after which the process has what it needs.
const WARM_UP: usize = 100;
/// After so many swaps comes a file that is no policy.
const BAD_AFTER: usize = 5;
const PATIENCE: Duration = Duration::from_secs(60);
/// How much the process may grow in the swaps after the first hundred.
const TOLERANCE: Bytes = Bytes::mib(16);

const SWAPPED: &str = "swapped";
const WITNESS: &str = "witness";

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "the other tests wait for all of this one, on threads of their own")]
async fn policies_are_swapped_again_and_again_and_no_message_is_lost_and_no_memory() {
    let _alone = alone();
    let swaps = std::env::var(VARIABLE).map_or(SWAPS, |text| text.parse().expect("REPRIEVE_TEST_SWAPS is a number"));
    assert!(swaps > WARM_UP, "{VARIABLE} has to be more than the {WARM_UP} that the process needs to warm up");
    let place = tempfile::tempdir().unwrap();
    let broker = MemoryBroker::default();
    let (mut swapped, mut witness) = (Traffic::new(SWAPPED, &broker), Traffic::new(WITNESS, &broker));
    let host = start(place.path(), [&swapped, &witness]).await;
    swapped.begin();
    witness.begin();

    let (began, mut refused, mut before) = (Instant::now(), 0, resident());
    for swap in 1..=swaps {
        let reason = format!("policy {swap}");
        install(place.path(), SWAPPED, &SmallPolicy::new(&reason).build());
        until(&format!("a verdict of policy {swap}: {:?}", refusal(&host)), || {
            swapped.look();
            witness.look();
            swapped.has_seen(&reason)
        })
        .await;
        if swap.is_multiple_of(BAD_AFTER) {
            until("the end of an earlier refusal", || refusal(&host).is_none()).await;
            install(place.path(), SWAPPED, &bad(refused));
            until("a refusal", || refusal(&host).is_some()).await;
            refused += 1;
        }
        if swap == WARM_UP {
            before = resident();
        }
        if swap.is_multiple_of((swaps / 20).max(50)) {
            let seconds = began.elapsed().as_secs_f64();
            eprintln!("{swap:>6} of {swaps} swaps, {refused} files refused, {} resident, {seconds:.1} s", resident());
        }
    }
    let after = resident();
    let (messages, witnessed) = (swapped.end().await, witness.end().await);
    host.shutdown().await;
    println!(
        "{swaps} swaps, {refused} files refused, {messages} messages on the route and {witnessed} beside it, each \
         handled and judged once, in {:.1} s; {before} resident after {WARM_UP} swaps, {after} at the end",
        began.elapsed().as_secs_f64()
    );
    // Not one verdict of the fallback, and none of a file that was refused.
    let mut reasons = swapped.reasons();
    reasons.retain(|reason| !reason.starts_with("policy "));
    assert_eq!((reasons, witness.reasons()), (vec!["before"], vec!["before"]));
    assert!(after.since(before) < TOLERANCE, "{before} after {WARM_UP} swaps, {after} after {swaps}");
}

async fn start(place: &Path, traffic: [&Traffic; 2]) -> Host {
    std::fs::create_dir(place.join("policies")).unwrap();
    let routes = traffic.map(|traffic| {
        let route = traffic.route();
        install(place, &route.name, &SmallPolicy::new("before").build());
        HostedRoute { policy: Some(route.name.to_string()), ..HostedRoute::new(route) }
    });
    let host = Host::start(HostSpec {
        routes: routes.into(),
        policies: PolicySettings {
            folder: Some(place.join("policies")),
            state: Some(place.join("state")),
            // What is no policy is refused so soon.
            debounce: Duration::from_millis(5),
            ..PolicySettings::default()
        },
        // Nothing here misses it, however busy the machine is.
        limits: EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() },
        ..HostSpec::default()
    })
    .await
    .unwrap();
    tokio::time::timeout(PATIENCE, host.ready()).await.expect("both routes are ready");
    host
}

/// A file that is refused, of several kinds in turn.
fn bad(number: usize) -> Vec<u8> {
    let good = SmallPolicy::new(format!("bad {number}"));
    match number % 4 {
        0 => format!("no policy at all: {number}").into_bytes(),
        1 => good.build()[..300 + number % 300].to_vec(),
        2 => SmallPolicy { configure: trap, ..good }.build(),
        _ => SmallPolicy { start: Some(trap), ..good }.build(),
    }
}

fn install(place: &Path, name: &str, policy: &[u8]) {
    let temporary = place.join("next");
    std::fs::write(&temporary, policy).unwrap();
    std::fs::rename(temporary, place.join(format!("policies/{name}.wasm"))).unwrap();
}

fn refusal(host: &Host) -> Option<String> {
    let routes = host.policies().status().routes;
    let route = routes.into_iter().find(|route| route.route == SWAPPED).expect("the route is listed");
    route.last_error.map(|error| error.text)
}

async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
