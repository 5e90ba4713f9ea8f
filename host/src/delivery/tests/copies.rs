//! Rules 10 and 11: what the host publishes is the same message, with bounded headers of ours.

use bytes::Bytes;

use super::world::{START, World, arrival, fault, rules, verdict};
use crate::broker::{PublishError, Target};
use crate::delivery::{Ending, Rules};
use crate::event::EventKind;
use crate::message::{HeaderValue, Headers, Message, Properties};
use crate::verdict::{Action, Decision, FaultKind};

fn dead_letter_of(rules: Rules, message: Message) -> Message {
    let mut world = World::started(rules, arrival(message));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    world.publication().message
}

fn every_type() -> Vec<(String, HeaderValue)> {
    let text = |text: &'static str| HeaderValue::Text(Bytes::from_static(text.as_bytes()));
    let table = [("inner".to_owned(), HeaderValue::I16(-5))].into_iter().collect::<Headers>();
    let values = vec![
        HeaderValue::Null,
        HeaderValue::Bool(true),
        HeaderValue::I8(-1),
        HeaderValue::U8(1),
        HeaderValue::I16(-2),
        HeaderValue::U16(2),
        HeaderValue::I32(-3),
        HeaderValue::U32(3),
        HeaderValue::I64(-4),
        HeaderValue::F32(0.5),
        HeaderValue::F64(0.25),
        HeaderValue::Decimal { scale: 2, value: 314 },
        HeaderValue::ShortText("short".to_owned()),
        text("long"),
        HeaderValue::Text(Bytes::from_static(b"\xff\xfe")),
        HeaderValue::Bytes(Bytes::from_static(b"\x00\x01")),
        HeaderValue::Timestamp(1_700_000_000),
        HeaderValue::Array(vec![HeaderValue::I32(1), text("two"), HeaderValue::Table(table.clone())]),
        HeaderValue::Table(table),
    ];
    values.into_iter().enumerate().map(|(index, value)| (format!("h{index}"), value)).collect()
}

#[test]
fn id_key_body_properties_and_every_header_type_are_kept() {
    let message = Message {
        id: Some("m1".to_owned()),
        key: Some(Bytes::from_static(b"k")),
        headers: every_type().into_iter().collect(),
        body: Some(Bytes::from_static(b"\x00\xffbody")),
        properties: Properties {
            content_type: Some("text/plain".to_owned()),
            correlation_id: Some("c".to_owned()),
            reply_to: Some("r".to_owned()),
            priority: Some(7),
            ..Properties::default()
        },
        timestamp: Some(START),
    };
    let copy = dead_letter_of(rules(), message.clone());
    assert_eq!(
        (&copy.id, &copy.key, &copy.body, &copy.properties, copy.timestamp),
        (&message.id, &message.key, &message.body, &message.properties, message.timestamp)
    );
    for (name, value) in message.headers.iter() {
        assert_eq!(copy.headers.get(name), Some(value), "{name}");
    }
}

#[test]
fn a_null_body_stays_null() {
    assert_eq!(dead_letter_of(rules(), Message::default()).body, None);
}

#[test]
fn every_copy_says_what_happened() {
    let copy = dead_letter_of(rules(), Message::new("b"));
    let text = |name: &str| copy.headers.text(&format!("reprieve-{name}")).map(str::to_owned);
    assert_eq!(copy.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(1)));
    assert_eq!(text("origin-topic").as_deref(), Some("orders"));
    assert_eq!(text("error").as_deref(), Some("it failed"));
    assert_eq!(text("error-kind").as_deref(), Some("x"));
    assert_eq!(text("route").as_deref(), Some("orders"));
    assert_eq!(text("reason").as_deref(), Some("because"));
    assert_eq!(text("policy").as_deref(), Some("test@0123456789ab"));
    assert_eq!(text("origin-exchange").as_deref(), Some("shop"));
    assert_eq!(text("origin-routing-key").as_deref(), Some("order.new"));
    assert_eq!(text("failed-at"), Some(START.to_string()));
    assert_eq!(text("first-failed-at"), Some(START.to_string()));
}

#[test]
fn what_only_the_broker_may_write_is_not_carried_over() {
    let death = HeaderValue::Array(vec![]);
    let mut message = Message::new("b")
        .with_header("x-death", death)
        .with_header("x-first-death-queue", "q")
        .with_header("x-last-death-reason", "rejected")
        .with_header("x-delivery-count", 3_i64)
        .with_header("x-mine", "kept")
        .with_header("CC", "other.queue");
    message.properties.expiration = Some("60000".to_owned());
    message.properties.user_id = Some("alice".to_owned());
    let copy = dead_letter_of(rules(), message);
    let left: Vec<_> =
        copy.headers.iter().map(|(name, _)| name).filter(|name| !name.starts_with("reprieve-")).collect();
    assert_eq!(left, ["x-mine"]);
    assert_eq!((copy.properties.expiration, copy.properties.user_id), (None, None));
    assert_eq!(copy.headers.text("reprieve-expiration"), Some("60000"));
    assert_eq!(copy.headers.text("reprieve-user-id"), Some("alice"));
    assert_eq!(copy.headers.text("reprieve-cc"), Some("other.queue"));
    assert!(copy.headers.text("reprieve-expires-at").is_some());
}

#[test]
fn our_headers_are_replaced_and_never_appended() {
    let mut message = Message::new("b").with_id("m1");
    let mut sizes = Vec::new();
    for _ in 0..5 {
        message = dead_letter_of(rules(), message);
        sizes.push(message.headers.len());
    }
    assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
    assert_eq!(message.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(5)));
}

#[test]
fn the_first_origin_and_failure_are_kept_through_later_copies() {
    let first = dead_letter_of(rules(), Message::new("b").with_id("m1"));
    let mut back = arrival(first);
    back.origin = crate::broker::Origin {
        exchange: Some(String::new()),
        routing_key: Some("orders".to_owned()),
        ..crate::broker::Origin::default()
    };
    let mut world = World::started(rules(), back);
    world.now = world.now.after(std::time::Duration::from_secs(60));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let second = world.publication().message;
    assert_eq!(second.headers.text("reprieve-origin-exchange"), Some("shop"));
    assert_eq!(second.headers.text("reprieve-first-failed-at"), Some(START.to_string().as_str()));
    assert_ne!(second.headers.text("reprieve-failed-at"), Some(START.to_string().as_str()));
}

#[test]
fn the_first_place_in_a_log_is_kept_through_tiers() {
    let at = |topic: &str, partition, offset| crate::broker::Origin {
        position: Some(Box::new(crate::broker::Position {
            topic: topic.into(),
            partition,
            offset,
            group: "readers".into(),
        })),
        ..crate::broker::Origin::default()
    };
    let mut first = arrival(Message::new("b").with_id("m1"));
    first.origin = at("orders", 3, 1042);
    let mut world = World::started(rules(), first);
    world.fail("x").judge(verdict(Action::DelayTo { tier: "5m".to_owned() }));
    let mut copy = world.publication().message;
    // It has waited.
    copy.headers.set("reprieve-due", START.to_string());
    let mut back = arrival(copy);
    back.origin = at("reprieve.tier.orders.5m", 0, 7);
    let mut world = World::started(rules(), back);
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let letter = world.publication().message;
    let noted = ["partition", "offset", "group"].map(|name| letter.headers.text(&format!("reprieve-origin-{name}")));
    assert_eq!(noted, [Some("3"), Some("1042"), Some("readers")]);
}

#[test]
fn the_first_failure_is_the_first_also_where_retries_were_in_process() {
    let mut world = World::started(rules(), arrival(Message::new("b")));
    world.fail("x").judge(verdict(Action::Retry { delay_ms: 9_000 }));
    world.wait();
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let headers = world.publication().message.headers;
    assert_eq!(headers.text("reprieve-first-failed-at"), Some(START.to_string().as_str()));
    assert_ne!(headers.text("reprieve-failed-at"), headers.text("reprieve-first-failed-at"));
}

#[test]
fn a_fallbacks_verdict_does_not_go_by_the_name_of_the_policy_that_failed() {
    let mut world = World::started(rules(), arrival(Message::new("b")));
    let broken = Decision { result: fault(FaultKind::Trap).result, ..verdict(Action::Drop) };
    world.fail("x").judge(broken);
    world.wait();
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let ruled = world.reports.iter().find_map(|report| match report {
        EventKind::RetryScheduled { ruling, .. } => Some(ruling),
        _ => None,
    });
    assert!(ruled.is_some_and(|ruling| ruling.maker.is_none() && ruling.fault.is_some()));
}

#[test]
fn a_message_without_an_id_gets_one_that_stays_through_every_try() {
    let mut world = World::started(rules(), arrival(Message::new("b")));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let first = world.publication().message.id;
    assert!(first.is_some());
    world.publish_ends(Err(PublishError::Outage("no".to_owned())));
    world.wait();
    assert_eq!(world.publication().message.id, first);
}

#[test]
fn another_prefix_is_used_throughout() {
    let mut rules = rules();
    rules.names = crate::delivery::HeaderNames::new("smsg-");
    let copy = dead_letter_of(rules, Message::new("b"));
    assert!(copy.headers.iter().all(|(name, _)| name.starts_with("smsg-")));
}

#[test]
fn long_text_is_cut_at_a_character_with_a_mark() {
    let mut world = World::started(rules(), arrival(Message::new("b")));
    let error = crate::handler_error::HandlerError::new("x", "é".repeat(200_000));
    world.give(crate::delivery::Input::Handled(Err(error), crate::delivery::Circumstances::default()));
    world.judge(verdict(Action::DeadLetter { label: None }));
    let copy = world.publication().message;
    let text = copy.headers.text("reprieve-error").expect("an error header");
    assert!(text.len() <= 4096 && text.ends_with("… (cut)"), "{} bytes", text.len());
}

#[test]
fn text_of_ours_makes_room_for_the_senders_headers() {
    let mut rules = rules();
    rules.max_header_bytes = Some(103_000);
    let message = Message::new("b").with_header("big", "x".repeat(100_000));
    let mut world = World::started(rules, arrival(message));
    let error = crate::handler_error::HandlerError::new("x", "y".repeat(300_000));
    world.give(crate::delivery::Input::Handled(Err(error), crate::delivery::Circumstances::default()));
    world.judge(verdict(Action::DeadLetter { label: None }));
    let headers = world.publication().message.headers;
    assert_eq!(headers.text("big").map(str::len), Some(100_000));
    assert!(headers.text("reprieve-error").is_some_and(|text| text.len() < 600));
}

#[test]
fn a_copy_that_is_too_large_loses_headers_before_it_is_given_up() {
    let message = Message::new("b").with_id("m1").with_header("big", "x");
    let mut world = World::started(rules(), arrival(message));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let too_large = || Err(PublishError::TooLarge("headers".to_owned()));
    world.publish_ends(too_large());
    let short = world.publication().message;
    assert_eq!(short.headers.text("big"), Some("x"));
    assert_eq!(short.headers.get("reprieve-reason"), None);
    world.publish_ends(too_large());
    let minimal = world.publication().message;
    assert_eq!(minimal.headers.get("big"), None);
    assert_eq!(minimal.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(1)));
    world.publish_ends(too_large());
    assert!(world.publication().message.headers.is_empty());
    world.publish_ends(too_large());
    world.wait();
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn what_is_to_be_handled_again_keeps_the_senders_headers_or_is_parked() {
    let message = Message::new("b").with_header("tenant", "acme");
    let mut world = World::started(rules(), arrival(message));
    world.fail("x").judge(verdict(Action::Delay { delay_ms: 1 }));
    world.publish_ends(Err(PublishError::TooLarge("headers".to_owned())));
    let short = world.publication();
    assert!(matches!(short.target, Target::Tier { .. }));
    assert_eq!(short.message.headers.text("tenant"), Some("acme"));
    assert!(short.message.headers.get("reprieve-attempts").is_some());
    world.publish_ends(Err(PublishError::TooLarge("headers".to_owned())));
    assert_eq!(world.target(), Target::Topic("orders.dlq".into()));
}

#[test]
fn a_policys_headers_cannot_take_our_names_whatever_the_prefix() {
    let mut rules = rules();
    rules.names = crate::delivery::HeaderNames::new("smsg-");
    let mut world = World::started(rules, arrival(Message::new("b")));
    let mut decision = verdict(Action::DeadLetter { label: None });
    if let Ok(verdict) = &mut decision.result {
        verdict.headers = vec![("smsg-attempts".to_owned(), "99".to_owned()), ("team".to_owned(), "blue".to_owned())];
    }
    world.fail("x").judge(decision);
    let headers = world.publication().message.headers;
    assert_eq!(headers.get("smsg-attempts"), Some(&HeaderValue::I64(1)));
    assert_eq!(headers.iter().filter(|(name, _)| *name == "smsg-attempts").count(), 1);
    assert_eq!(headers.text("team"), Some("blue"));
}

#[test]
fn another_routes_dead_letter_keeps_what_its_sender_set() {
    let expires = START.after(std::time::Duration::from_secs(60)).to_string();
    let letter = Message::new("b")
        .with_header("reprieve-route", "billing")
        .with_header("reprieve-user-id", "alice")
        .with_header("reprieve-expires-at", expires.clone());
    let copy = dead_letter_of(rules(), letter);
    assert_eq!(copy.headers.text("reprieve-user-id"), Some("alice"));
    assert_eq!(copy.headers.text("reprieve-expires-at"), Some(expires.as_str()));
}

#[test]
fn an_origin_that_is_no_text_was_not_noted_by_us_and_is_not_kept() {
    let message = Message::new("body")
        .with_id("m1")
        .with_header("reprieve-route", "orders")
        .with_header("reprieve-origin-exchange", HeaderValue::I64(7))
        .with_header("reprieve-origin-routing-key", "order.new");
    let mut world = World::started(rules(), arrival(message));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    let headers = &world.publication().message.headers;
    assert_eq!(headers.get("reprieve-origin-exchange"), None);
    assert_eq!(headers.text("reprieve-origin-routing-key"), Some("order.new"));
}
