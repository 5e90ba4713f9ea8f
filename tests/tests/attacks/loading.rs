//! Attacks by a file in the policies folder: each is refused by name, and the route goes on with the policy that it has.

use std::time::{Duration, Instant};

use reprieve::observer::Observer;
use reprieve::policy::candidate::CandidatePlan;
use reprieve::policy::engine::{Engine, EngineLimits};
use reprieve::policy::registry::{Policies, PolicySettings, RoutePolicy};
use reprieve::policy::route_record::RouteRecord;
use reprieve::policy::status::LastError;
use reprieve_sdk::RetryPolicy;
use reprieve_tests::small_policy::SmallPolicy;
use reprieve_tests::small_policy::instructions::spin;
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

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_file_that_many_routes_name_is_tried_once_for_all_of_them() {
    const ROUTES: u32 = 40;
    let configure_deadline = Duration::from_millis(500);
    let folder = tempfile::tempdir().unwrap();
    let looping = SmallPolicy { describe: spin, ..SmallPolicy::new("bad") };
    std::fs::write(folder.path().join("shared.wasm"), looping.build()).unwrap();
    let engine = Engine::new(EngineLimits { configure_deadline, ..EngineLimits::default() }).unwrap();
    let settings = PolicySettings { folder: Some(folder.path().to_owned()), ..PolicySettings::default() };
    let began = Instant::now();
    let policies =
        Policies::start(engine, settings, (0..ROUTES).map(sharing).collect(), Observer::new()).await.unwrap();
    assert!(began.elapsed() < configure_deadline * ROUTES / 2, "{:?}", began.elapsed());
    let routes = policies.status().routes;
    assert_eq!(routes.len(), ROUTES as usize);
    for status in routes {
        let error = status.last_error.expect("every route is told").text;
        assert!(error.contains("shared.wasm: the policy failed when describing itself: timeout"), "{error}");
    }
    policies.shutdown().await;
}

/// A route of this number, whose policy others have too.
fn sharing(number: u32) -> RoutePolicy {
    let record = RouteRecord {
        name: format!("route-{number}"),
        source: "orders".into(),
        tiers: Vec::new(),
        dead_letters: vec!["default".into()],
        retry: RetryPolicy::default(),
        max_retry_delay: Duration::ZERO,
        max_body: 0,
    };
    RoutePolicy {
        record,
        policy: Some("shared".into()),
        policy_digest: None,
        settings: Value::Null,
        candidate: CandidatePlan::default(),
    }
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
