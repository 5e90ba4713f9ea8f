//! What a failure says beside its fields.

use std::collections::BTreeMap;

use super::world::{START, World, arrival, judged, rules, verdict};
use crate::broker::Origin;
use crate::delivery::{Arrival, Circumstances, Input};
use crate::failure::attribute;
use crate::message::Message;
use crate::timestamp::Timestamp;
use crate::verdict::Action;

/// When the attempt fails.
const LATER: Timestamp = Timestamp(START.0 + 60_000);

fn attributes(arrival: Arrival) -> BTreeMap<String, String> {
    let mut world = World::new(rules(), arrival);
    world.now = LATER;
    world.give(Input::Start(Circumstances::default()));
    // Without a handler it is judged at once.
    if !world.attempts.is_empty() {
        world.fail("x");
    }
    world.failure().attributes.iter().cloned().collect()
}

fn published() -> Arrival {
    let mut message = Message::new("body");
    message.properties.message_type = Some("price".to_owned());
    let origin =
        Origin { exchange: Some("market".to_owned()), routing_key: Some("prices.eur".to_owned()), ..Origin::default() };
    Arrival { origin, ..arrival(message) }
}

fn bare(message: Message) -> Arrival {
    Arrival { origin: Origin::default(), ..arrival(message) }
}

const HOW_IT_WAS_PUBLISHED: [(&str, &str); 3] =
    [("exchange", "market"), ("routing-key", "prices.eur"), ("message-type", "price")];

fn with_first_failure(at: Timestamp, others: &[(&str, &str)]) -> BTreeMap<String, String> {
    let others = others.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    others.chain([("first-failed-at".to_owned(), at.0.to_string())]).collect()
}

#[test]
fn the_first_failure_of_a_message_knows_how_it_was_published() {
    let expected = with_first_failure(LATER, &HOW_IT_WAS_PUBLISHED);
    assert_eq!(attributes(published()), expected);
}

#[test]
fn of_a_bare_message_only_the_time_is_known() {
    assert_eq!(attributes(bare(Message::new("body"))), with_first_failure(LATER, &[]));
}

#[test]
fn a_delayed_copy_tells_of_its_first_failure_and_publication_and_not_of_the_copys() {
    let mut world = World::started(rules(), published());
    world.fail("x").judge(verdict(Action::Delay { delay_ms: 1000 }));
    let copy = world.publication().message;
    let back = Origin { exchange: Some(String::new()), routing_key: Some("orders".to_owned()), ..Origin::default() };

    let seen = attributes(Arrival { origin: back, ..arrival(copy) });
    assert_eq!(seen, with_first_failure(START, &HOW_IT_WAS_PUBLISHED));
}

#[test]
fn redrives_are_counted_where_there_were_any() {
    let redriven = |times: i64| bare(Message::new("body").with_header("reprieve-redrives", times));
    assert_eq!(attributes(redriven(2)), with_first_failure(LATER, &[("redrives", "2")]));
    assert_eq!(attributes(redriven(0)), with_first_failure(LATER, &[]));
}

#[test]
fn a_redriven_message_still_tells_how_it_was_first_published() {
    let message = Message::new("body")
        .with_header("reprieve-redrives", 1u32)
        .with_header("reprieve-origin-exchange", "market")
        .with_header("reprieve-origin-routing-key", "prices.eur");
    let by_redrive =
        Origin { exchange: Some(String::new()), routing_key: Some("orders".to_owned()), ..Origin::default() };
    let attributes = attributes(Arrival { origin: by_redrive, ..arrival(message) });
    assert_eq!(
        attributes,
        with_first_failure(LATER, &[("exchange", "market"), ("routing-key", "prices.eur"), ("redrives", "1")])
    );
}

#[test]
fn where_there_is_no_handler_the_brokers_word_is_of_the_parking_and_is_left_out() {
    assert_eq!(attributes(judged(Message::new("body"))), with_first_failure(LATER, &[]));
}

#[test]
fn the_names_are_those_that_are_documented_for_policies() {
    use reprieve_sdk::attribute as documented;
    let names = [
        documented::FIRST_FAILED_AT,
        documented::REDRIVES,
        documented::EXCHANGE,
        documented::ROUTING_KEY,
        documented::MESSAGE_TYPE,
    ];
    assert_eq!(names, attribute::ALL);
}
