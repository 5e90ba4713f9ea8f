//! Attacks by a file in the policies folder: each is refused by name, and the route goes on with the policy that it has.

use std::time::{Duration, Instant};

use reprieve::policy::status::LastError;
use reprieve_tests::small_policy::SmallPolicy;
use serde_json::Value;

use crate::arena::{Arena, Attacked};
use crate::candidates::{self, Candidate};
use crate::turn::{self, Rulings};

const ROUTE: &str = "orders";
/// Messages that fail again and again while a candidate is loaded.
const COUNT: usize = 4;
/// Bytes of a message, whatever the file holds.
const LONGEST: usize = 2048;
/// The slowest candidate takes some seconds.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn every_bad_candidate_is_refused_with_its_reason_while_the_policy_before_it_goes_on_judging() {
    let good = SmallPolicy::new("good").build();
    let arena = Arena::open(vec![Attacked { route: ROUTE, policy: good, settings: Value::Null }]).await;
    let calm = turn::calm(&arena).await;
    let first = revision(&arena);
    let mut messages = Vec::new();
    for Candidate { name, bytes } in candidates::bad() {
        let before = refusal(&arena);
        arena.install(ROUTE, &bytes);
        let began = Instant::now();
        let refused = loop {
            expect_judged_by("good", &first, &turn::attack(&arena, &calm, ROUTE, "any", COUNT).await);
            if let Some(refused) = refusal(&arena).filter(|now| before.as_ref() != Some(now)) {
                break refused.text;
            }
            assert!(began.elapsed() < PATIENCE, "{name} is neither taken nor refused");
        };
        expect_judged_by("good", &first, &turn::attack(&arena, &calm, ROUTE, "any", COUNT).await);
        let (_, what) = refused.split_once("/policies/orders.wasm").expect("a refusal names the file");
        assert!(refused.len() < LONGEST && !refused.contains(char::is_control), "{name}: {refused}");
        messages.push(format!("{name}\n  orders.wasm{}", without_progress(what)));
    }
    insta::assert_snapshot!(messages.join("\n"));

    arena.install(ROUTE, &SmallPolicy::new("better").build());
    let began = Instant::now();
    while revision(&arena) == first {
        assert!(began.elapsed() < PATIENCE, "a good policy is taken after all that: {:?}", refusal(&arena));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    expect_judged_by("better", &revision(&arena), &turn::attack(&arena, &calm, ROUTE, "any", COUNT).await);
    assert_eq!(refusal(&arena), None);
    arena.close().await;
}

/// The message, but for how far the host came in time.
fn without_progress(message: &str) -> String {
    match message.split_once(" too long: ") {
        Some((before, after)) => {
            format!("{before} too long: …{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => message.to_owned(),
    }
}

fn expect_judged_by(reason: &str, revision: &str, rulings: &Rulings) {
    for rulings in rulings {
        let [ruled] = &rulings[..] else { panic!("{rulings:?}") };
        assert_eq!((ruled.verdict.reason.as_str(), &ruled.fault), (reason, &None));
        assert_eq!(ruled.revision.as_deref(), Some(revision));
    }
}

fn revision(arena: &Arena) -> String {
    let live = arena.host.policies().handle(ROUTE).and_then(|handle| handle.live());
    live.expect("a route that has a policy never loses it").maker().revision.clone()
}

fn refusal(arena: &Arena) -> Option<LastError> {
    let routes = arena.host.policies().status().routes;
    let route = routes.into_iter().find(|route| route.route == ROUTE).expect("the route is listed");
    route.last_error
}
