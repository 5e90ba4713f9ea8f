//! What stands around payloads: only where a broker has no headers, and one thing on each topic.

use std::collections::HashMap;

use super::Checks;
use crate::config::{BrokerConfig, EnvelopeConfig};
use crate::topic::Topic;

pub(super) fn check(checks: &Checks<'_, '_>) {
    let mut topics = HashMap::new();
    for route in checks.routes {
        let envelope = route.envelope.as_ref();
        let Some(broker) = checks.broker(route) else { continue };
        if !matches!(broker, BrokerConfig::Narad(_)) {
            if let Some(envelope) = envelope {
                let message = format!("a broker of kind \"{}\" has headers, and so no envelopes", broker.kind());
                checks.problems.error(&envelope.span(), message, "leave `envelope` out");
            }
            continue;
        }
        let says = envelope.map_or(EnvelopeConfig::Own, |envelope| *envelope.get_ref());
        let dead_letters = route.dead_letters.values().filter_map(|topic| match topic.get_ref() {
            Topic::Named(name) => Some((name.as_str(), topic.span())),
            Topic::Exchange { .. } => None,
        });
        let source = route.source.as_ref().map(|source| (*source.get_ref(), source.span()));
        let name = route.broker.as_ref().map(|broker| *broker.get_ref());
        for (topic, span) in source.into_iter().chain(dead_letters) {
            let (first, title) = *topics.entry((name, topic.to_owned())).or_insert((says, &route.title));
            if first != says {
                checks.problems.error(
                    &span,
                    format!("{title} and {} say different things of the envelope on `{topic}`", route.title),
                    "give both the same `envelope`, or each a topic of its own",
                );
            }
        }
    }
}
