//! Random arrivals, failures and delays over a few keys: the order holds, and nothing stands still.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;

use crate::broker::memory::MemoryBroker;
use crate::failure::Failure;
use crate::handler::{Call, Handler};
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::route::Judge;
use crate::route::tests::{Running, work};
use crate::verdict::{Action, Decision, Verdict};

/// What becomes of an attempt after so many milliseconds.
#[derive(Debug, Clone, Copy)]
enum End {
    Success,
    /// Tried again after so many milliseconds.
    Retry(u64),
    DeadLetter,
}

#[derive(Debug, Clone)]
struct Planned {
    /// One of a few; none has no key.
    key: Option<u8>,
    /// After the message before it, in milliseconds.
    comes_after: u64,
    /// The attempts in order; beyond them it succeeds.
    attempts: Vec<(u64, End)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Begin { number: usize, attempt: u32 },
    End { number: usize, last: bool },
}

/// Runs the plan, and writes down what it sees.
#[derive(Clone)]
struct Stage {
    plan: Arc<Vec<Planned>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

fn number(message: &Message) -> usize {
    message.id.as_ref().unwrap().parse().unwrap()
}

#[async_trait]
impl Handler for Stage {
    async fn handle(&self, call: &Call) -> Result<(), HandlerError> {
        let number = number(&call.message);
        let (takes, end) =
            self.plan[number].attempts.get(call.attempt as usize - 1).copied().unwrap_or((1, End::Success));
        self.seen.lock().unwrap().push(Seen::Begin { number, attempt: call.attempt });
        tokio::time::sleep(Duration::from_millis(takes)).await;
        let last = !matches!(end, End::Retry(_));
        self.seen.lock().unwrap().push(Seen::End { number, last });
        match end {
            End::Success => Ok(()),
            End::Retry(wait) => Err(HandlerError::new("retry", wait.to_string())),
            End::DeadLetter => Err(HandlerError::new("dead", "no")),
        }
    }
}

#[async_trait]
impl Judge for Stage {
    async fn decide(&self, failure: &Arc<Failure>) -> Decision {
        // A judging takes time as well, and holds its key.
        tokio::time::sleep(Duration::from_millis(3)).await;
        let action = match failure.error.text.parse() {
            Ok(delay_ms) => Action::Retry { delay_ms },
            Err(_) => Action::DeadLetter { label: None },
        };
        Decision { maker: None, result: Ok(Verdict::new(action, "planned")) }
    }

    async fn ready(&self) {}
}

async fn play(plan: Vec<Planned>, concurrency: u16, prefetch: u16) -> Vec<Seen> {
    let stage = Stage { plan: Arc::new(plan), seen: Arc::default() };
    let judge = Arc::new(stage.clone());
    let running = Running::start_on(MemoryBroker::new(1000), judge, work(stage.clone()), |spec| {
        spec.ordering = Some("header:customer".parse().unwrap());
        spec.concurrency = concurrency;
        spec.prefetch = Some(prefetch);
    })
    .await;
    for (number, planned) in stage.plan.iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(planned.comes_after)).await;
        let message = Message::new("b").with_id(number.to_string());
        let message = match planned.key {
            Some(key) => message.with_header("customer", i64::from(key)),
            None => message,
        };
        running.broker.publish_to("orders", message).unwrap();
    }
    let all = tokio::time::timeout(Duration::from_secs(3600), running.quiet());
    all.await.expect("every message ends within the hour");
    running.stop().await;
    std::mem::take(&mut *stage.seen.lock().unwrap())
}

fn planned() -> impl Strategy<Value = Planned> {
    let end = prop_oneof![
        2 => Just(End::Success),
        2 => (0..200u64).prop_map(End::Retry),
        1 => Just(End::DeadLetter),
    ];
    let attempts = prop::collection::vec((0..50u64, end), 0..4);
    (prop::option::weighted(0.9, 0..3u8), 0..40u64, attempts).prop_map(|(key, comes_after, attempts)| Planned {
        key,
        comes_after,
        attempts,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_of_one_key_run_one_at_a_time_in_the_order_of_arrival(
        plan in prop::collection::vec(planned(), 1..25),
        concurrency in 1..5u16,
        ahead in 1..20u16,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let seen = runtime.block_on(play(plan.clone(), concurrency, concurrency + ahead));
        let mut in_work = BTreeMap::new();
        let mut begun: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
        let mut ended = 0;
        for event in seen {
            match event {
                Seen::Begin { number, attempt } => {
                    let Some(key) = plan[number].key else { continue };
                    let other = in_work.insert(key, number);
                    prop_assert!(other.is_none_or(|other| other == number), "{number} ran beside {other:?}");
                    if attempt == 1 {
                        begun.entry(key).or_default().push(number);
                    }
                }
                Seen::End { number, last: true } => {
                    ended += 1;
                    if let Some(key) = plan[number].key {
                        in_work.remove(&key);
                    }
                }
                Seen::End { last: false, .. } => {}
            }
        }
        prop_assert_eq!(ended, plan.len());
        for (key, begun) in begun {
            let arrived: Vec<usize> = (0..plan.len()).filter(|number| plan[*number].key == Some(key)).collect();
            prop_assert_eq!(begun, arrived);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_keys_go_on_while_one_is_held_by_a_retry() {
    let slow = Planned { key: Some(0), comes_after: 0, attempts: vec![(1, End::Retry(50_000)), (1, End::Success)] };
    let quick = |key| Planned { key: Some(key), comes_after: 0, attempts: Vec::new() };
    let plan = vec![slow, quick(0), quick(0), quick(1), quick(1), quick(2)];
    let seen = play(plan, 2, 16).await;
    let order: Vec<usize> = seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::End { number, last: true } => Some(*number),
            _ => None,
        })
        .collect();
    assert_eq!(order.iter().position(|number| *number == 0), Some(3), "three of other keys are done first: {order:?}");
    assert_eq!(order[4..], [1, 2]);
}
