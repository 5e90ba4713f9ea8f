//! Dead letters that come back to where they failed. Each route counts attempts anew, so such a message would never end.

use std::collections::HashMap;

use toml::Spanned;

use super::Checks;
use crate::config::{HandlerConfig, JudgeConfig};
use crate::topic::Topic;

/// A queue: the broker's name and its own.
type Queue<'a> = (&'a str, &'a str);

/// Reports the dead-letter topics through which a message can come back to its own source.
pub(super) fn check(checks: &Checks<'_, '_>) {
    // Where the dead letters of each consumed queue go.
    let mut targets: HashMap<Queue<'_>, Vec<Queue<'_>>> = HashMap::new();
    for route in checks.routes {
        let (Some(broker), Some(source)) = (&route.broker, &route.source) else { continue };
        let topics = route.dead_letters.values().filter_map(|topic| queue(topic.get_ref()));
        let onward = topics.map(|name| (*broker.get_ref(), name));
        targets.entry((*broker.get_ref(), *source.get_ref())).or_default().extend(onward);
        // What a judge judges are the dead letters of a consumer of its origin.
        if let Some(HandlerConfig::Judge(JudgeConfig { origin: Some(origin), .. })) =
            route.handler.as_ref().map(Spanned::get_ref)
        {
            targets
                .entry((*broker.get_ref(), origin.as_str()))
                .or_default()
                .push((*broker.get_ref(), *source.get_ref()));
        }
    }
    for route in checks.routes {
        let (Some(broker), Some(source)) = (&route.broker, &route.source) else { continue };
        for topic in route.dead_letters.values() {
            let Some(name) = queue(topic.get_ref()) else { continue };
            let message = if name == *source.get_ref() {
                format!("the dead letters of {} would go to its own source", route.title)
            } else if reaches(&targets, (broker.get_ref(), name), (broker.get_ref(), source.get_ref())) {
                format!("the dead letters of {} would come back to its source through other consumers", route.title)
            } else {
                continue;
            };
            checks.problems.error(
                &topic.span(),
                message,
                "a message would fail for ever: name a topic that leads nowhere back",
            );
        }
    }
}

/// The queue that a topic is sure to mean. What an exchange is bound to only the broker knows, but for the default one.
fn queue(topic: &Topic) -> Option<&str> {
    match topic {
        Topic::Named(name) => Some(name),
        Topic::Exchange { exchange, routing_key } => exchange.is_empty().then_some(routing_key),
    }
}

fn reaches<'a>(targets: &HashMap<Queue<'a>, Vec<Queue<'a>>>, from: Queue<'a>, to: Queue<'a>) -> bool {
    let (mut open, mut seen) = (vec![from], Vec::new());
    while let Some(queue) = open.pop() {
        if queue == to {
            return true;
        }
        if !seen.contains(&queue) {
            seen.push(queue);
            open.extend(targets.get(&queue).into_iter().flatten());
        }
    }
    false
}
