//! One message that fails ten times leaves the same trail behind everywhere.

use std::collections::BTreeMap;

use reprieve::event::EventKind;
use reprieve::message::{HeaderValue, Message};
use reprieve::topic::Tier;
use reprieve::verdict::Action;
use serde_json::{Value, json};

use crate::delaying::delay_to;
use crate::failing::DEAD_LETTER;
use crate::running::Running;
use crate::stage::{Stage, kafka, memory, narad, rabbitmq};

/// What only one kind of broker has to tell of a message's origin.
const BROKERS_OWN: [&str; 7] = [
    "reprieve-origin-exchange",
    "reprieve-origin-routing-key",
    "reprieve-origin-timestamp",
    "reprieve-origin-partition",
    "reprieve-origin-offset",
    "reprieve-origin-group",
    "reprieve-id",
];

/// What happened and what is left, without the names that this stage alone has, and without the times.
#[derive(Debug, PartialEq)]
struct Trail {
    events: Vec<Value>,
    letter: Value,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_fails_ten_times_through_three_tiers_leaves_the_same_trail_and_the_same_dead_letter_on_every_broker()
 {
    let memory = memory().await;
    let tiers = [memory.tier(100), memory.tier(150), memory.tier(200)];
    let expected = trail(memory, &tiers).await;
    let names: Vec<&str> = expected.events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, [["consumed", "delayed"].repeat(9), ["consumed", "dead-lettered"].to_vec()].concat());
    assert_eq!(expected.letter["headers"]["reprieve-attempts"], "10");

    for stage in [rabbitmq().await, kafka().await, narad().await] {
        let kind = stage.capabilities().kind;
        assert_eq!(trail(stage, &tiers).await, expected, "{kind}");
    }
}

async fn trail(stage: Stage, tiers: &[Tier]) -> Trail {
    let tiers: Vec<Tier> = tiers.iter().map(|tier| stage.own(tier.clone())).collect();
    // Three times through each.
    let verdicts: Vec<Action> = tiers.iter().flat_map(|tier| vec![delay_to(tier); 3]).chain([DEAD_LETTER]).collect();
    let mut running = Running::start(&stage, &verdicts, |spec| spec.tiers = tiers).await;
    stage.send(&Message::new("body").with_id("m").with_header("tenant", "blue")).await;
    for attempt in 1..=10 {
        assert_eq!(running.attempt().await.fail().attempt, attempt);
    }
    let letter = stage.take_letters(1).await.remove(0);
    let mut events = Vec::new();
    while !events.last().is_some_and(|event| matches!(event, EventKind::DeadLettered { .. })) {
        events.extend(running.happened());
        tokio::task::yield_now().await;
    }
    running.stop().await;
    let events = events.iter().map(|event| plain(&stage, serde_json::to_value(event).expect("plain data"))).collect();
    let trail = Trail { events, letter: plain(&stage, letter_as_json(&letter)) };
    stage.assert_empty().await;
    trail
}

/// Headers as texts, since some brokers have no others.
fn letter_as_json(letter: &Message) -> Value {
    let text = |value: &HeaderValue| match value.as_i64() {
        Some(number) => number.to_string(),
        None => value.as_str().unwrap_or_else(|| panic!("{value:?} is no text")).to_owned(),
    };
    let common = letter.headers.iter().filter(|(name, _)| !BROKERS_OWN.contains(name) && !name.starts_with("x-"));
    let headers: BTreeMap<&str, String> = common.map(|(name, value)| (name, text(value))).collect();
    assert_eq!(letter.properties, Default::default());
    json!({ "id": letter.id, "body": letter.body, "headers": headers })
}

/// The same for every stage.
fn plain(stage: &Stage, mut value: Value) -> Value {
    match &mut value {
        Value::String(text) if humantime::parse_rfc3339(text).is_ok() => "a time".into(),
        Value::String(text) => {
            let names = [(&stage.source, "source"), (&stage.letters, "letters"), (&stage.route, "route")];
            names
                .iter()
                .find(|(name, _)| text == *name)
                .map_or_else(|| text.as_str().into(), |(_, role)| (*role).into())
        }
        Value::Array(values) => values.drain(..).map(|value| plain(stage, value)).collect(),
        Value::Object(members) => {
            let plain = |name: &str, value| if name == "due" { "a time".into() } else { plain(stage, value) };
            std::mem::take(members).into_iter().map(|(name, value)| (name.clone(), plain(&name, value))).collect()
        }
        _ => value,
    }
}
