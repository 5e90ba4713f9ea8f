//! Durable delays: for each tier one fanout exchange and one quorum queue, shared by every route and host.
//!
//! What is published to the exchange waits in the queue for the tier's time; then the broker dead-letters it to
//! the default exchange under the routing key that it was published with, which is the name of the queue that it
//! came from. `at-least-once` keeps it in the tier until that queue has confirmed it.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};

use super::convert;
use super::topology::{Refusal, Topology, quorum, text};
use crate::broker::{BrokerError, PublishError};
use crate::message::{Message, Properties};
use crate::topic::Tier;

/// The name of a tier's exchange and of its queue.
pub(super) fn name(tier: &Tier) -> String {
    format!("reprieve.tier.{}", tier.name)
}

/// The properties to send `message` through a tier with. Its own expiration would bring it back before its time.
pub(super) fn properties(message: &Message) -> Result<BasicProperties, PublishError> {
    if message.properties.expiration.is_none() {
        return convert::properties(message);
    }
    let properties = Properties { expiration: None, ..message.properties.clone() };
    convert::properties(&Message { properties, ..message.clone() })
}

/// Makes sure that the tier is there and made as it must be; with `declare`, makes it.
pub(super) async fn ensure(topology: &Topology<'_>, tier: &Tier, declare: bool) -> Result<(), BrokerError> {
    let unfit =
        |why: String| BrokerError::Unfit(format!("tier '{}' on broker '{}': {why}", tier.name, topology.address.name));
    let milliseconds =
        milliseconds(tier).ok_or_else(|| unfit("RabbitMQ delays by 49 days at most; shorten it".to_owned()))?;
    let name = name(tier);
    let in_the_way = |refusal: Refusal| {
        unfit(format!("{refusal}; delete exchange and queue '{name}' once the queue is empty, or rename the tier"))
    };
    let absent = |refusal: Refusal| {
        unfit(format!(
            "{refusal}; let the host declare it (`declare = true`), or declare a fanout exchange '{name}' and bound to \
             it a quorum queue '{name}' with x-message-ttl {milliseconds}, x-dead-letter-exchange \"\", \
             x-dead-letter-strategy at-least-once and x-overflow reject-publish"
        ))
    };
    if declare {
        topology.declare_queue(&name, arguments(milliseconds)).await?.map_err(in_the_way)?;
        topology.declare_fanout(&name).await?.map_err(in_the_way)
    } else {
        topology.look_for_queue(&name).await?.map_err(absent)?;
        topology.look_for_exchange(&name).await?.map_err(absent)
    }
}

/// The delay in whole milliseconds, never shorter than it was written; none where RabbitMQ cannot count so far.
fn milliseconds(tier: &Tier) -> Option<u32> {
    u32::try_from(tier.delay.as_nanos().div_ceil(1_000_000)).ok()
}

fn arguments(milliseconds: u32) -> FieldTable {
    let mut arguments = quorum();
    arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(milliseconds.into()));
    arguments.insert("x-dead-letter-exchange".into(), text(""));
    arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
    arguments.insert("x-overflow".into(), text("reject-publish"));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn tier(delay: Duration) -> Tier {
        Tier { name: "t".to_owned(), delay }
    }

    #[test]
    fn a_delay_is_rounded_up_and_never_cut() {
        assert_eq!(milliseconds(&tier(Duration::from_micros(1500))), Some(2));
        assert_eq!(milliseconds(&tier(Duration::from_secs(30))), Some(30_000));
        assert_eq!(milliseconds(&tier(Duration::from_secs(50 * 24 * 3600))), None);
        assert_eq!(milliseconds(&tier(Duration::MAX)), None);
    }

    #[test]
    fn an_expiration_does_not_travel_through_a_tier() {
        let mut message = Message::new("body").with_id("id-1");
        message.properties.expiration = Some("5".to_owned());
        message.properties.app_id = Some("shop".to_owned());
        let made = properties(&message).unwrap();
        assert_eq!(*made.expiration(), None);
        assert_eq!(made.app_id().as_ref().map(|text| text.as_str()), Some("shop"));
    }
}
