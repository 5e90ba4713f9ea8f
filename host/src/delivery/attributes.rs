//! The attributes of a failure: what the policy interface has no field for.

use super::arrival::Past;
use super::{Arrival, Rules, Work};
use crate::failure::attribute;

/// What is known of the message, by documented names. What does not apply is left out.
pub(super) fn attributes(arrival: &Arrival, past: &Past, rules: &Rules) -> Vec<(String, String)> {
    let first_failed_at = past.first_failed_at.map(|at| at.0.to_string());
    let redrives = past.redrives.filter(|times| *times > 0).map(|times| times.to_string());
    let (exchange, routing_key) = match arrival.work {
        Work::Handle => first_published(arrival, past, rules),
        // Of such a message the broker says only how it came to be parked.
        Work::Judge(_) => (None, None),
    };
    [
        (attribute::FIRST_FAILED_AT, first_failed_at),
        (attribute::REDRIVES, redrives),
        (attribute::EXCHANGE, exchange),
        (attribute::ROUTING_KEY, routing_key),
        (attribute::MESSAGE_TYPE, arrival.message.properties.message_type.clone()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

/// The exchange and routing key: on a copy of ours those that it was given when it was made, else the broker's word.
fn first_published(arrival: &Arrival, past: &Past, rules: &Rules) -> (Option<String>, Option<String>) {
    if !past.origin_noted {
        return (arrival.origin.exchange.clone(), arrival.origin.routing_key.clone());
    }
    let noted = |name| rules.names.kept(&arrival.message, past, name)?.as_str().map(str::to_owned);
    (noted(&rules.names.origin_exchange), noted(&rules.names.origin_routing_key))
}
