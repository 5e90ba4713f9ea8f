//! Which queues an exchange leads a routing key to.

use std::collections::BTreeSet;

use super::Management;

/// Exchanges bound to exchanges; beyond that many it is a maze that nobody meant.
const MOST_EXCHANGES: usize = 32;

/// Where messages with one routing key end up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::broker::rabbitmq) struct Reached {
    pub(in crate::broker::rabbitmq) queues: BTreeSet<String>,
    /// Why there may be more; none where these are all.
    pub(in crate::broker::rabbitmq) doubt: Option<String>,
    /// An exchange on the way that clients may not publish to, where it is the first.
    pub(in crate::broker::rabbitmq) internal: bool,
}

#[derive(serde::Deserialize)]
struct Exchange {
    #[serde(rename = "type")]
    kind: String,
    internal: bool,
    arguments: serde_json::Value,
    policy: Option<String>,
}

#[derive(serde::Deserialize)]
struct Binding {
    destination: String,
    destination_type: String,
    routing_key: String,
}

impl Management {
    /// Follows the bindings from `exchange` with this routing key.
    pub(in crate::broker::rabbitmq) async fn reached(
        &self,
        virtual_host: &str,
        exchange: &str,
        key: &str,
    ) -> Result<Reached, String> {
        let mut reached = Reached::default();
        let (mut seen, mut next) = (BTreeSet::new(), vec![exchange.to_owned()]);
        while let Some(name) = next.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if seen.len() > MOST_EXCHANGES {
                reached.doubt = Some(format!("more than {MOST_EXCHANGES} exchanges are bound to each other"));
                break;
            }
            let described: Exchange = self.get(&["exchanges", virtual_host, &name]).await?;
            reached.internal |= described.internal && name == exchange;
            let bindings: Vec<Binding> = self.get(&["exchanges", virtual_host, &name, "bindings", "source"]).await?;
            let mut led = false;
            for binding in bindings {
                match leads(&described.kind, &binding.routing_key, key) {
                    Some(false) => continue,
                    Some(true) => led = true,
                    None => {
                        reached.doubt = Some(format!("'{name}' is an exchange of type {}", described.kind));
                        continue;
                    }
                }
                if binding.destination_type == "queue" {
                    reached.queues.insert(binding.destination);
                } else {
                    next.push(binding.destination);
                }
            }
            if !led {
                match (&described.arguments["alternate-exchange"], &described.policy) {
                    (serde_json::Value::String(alternate), _) => next.push(alternate.clone()),
                    // A policy may name one, and only its author may read it.
                    (_, Some(policy)) => {
                        reached.doubt = Some(format!("policy '{policy}' may give '{name}' an alternate exchange"));
                    }
                    _ => {}
                }
            }
        }
        Ok(reached)
    }
}

/// Whether a binding with this key leads `key` on; none where the exchange's type decides by something else.
fn leads(kind: &str, binding: &str, key: &str) -> Option<bool> {
    match kind {
        "direct" => Some(binding == key),
        "fanout" => Some(true),
        "topic" => {
            let words = |text: &'_ str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
            Some(matches(&words(binding), &words(key)))
        }
        _ => None,
    }
}

/// `*` stands for one word, `#` for any number of them.
fn matches(pattern: &[String], words: &[String]) -> bool {
    // One row for each word of the pattern: whether the pattern so far covers the first n words.
    let mut covered: Vec<bool> = (0..=words.len()).map(|count| count == 0).collect();
    for part in pattern {
        let before = covered.clone();
        for count in 0..=words.len() {
            covered[count] = match part.as_str() {
                "#" => before[count] || (count > 0 && covered[count - 1]),
                "*" => count > 0 && before[count - 1],
                word => count > 0 && before[count - 1] && words[count - 1] == word,
            };
        }
    }
    covered[words.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_exchange_goes_by_words() {
        for (pattern, key, led) in [
            ("orders.dead", "orders.dead", true),
            ("orders.*", "orders.dead", true),
            ("orders.*", "orders", false),
            ("orders.*", "orders.dead.eu", false),
            ("orders.#", "orders", true),
            ("orders.#", "orders.dead.eu", true),
            ("#.eu", "orders.dead.eu", true),
            ("#", "", true),
            ("*", "", true),
            ("#.dead.#", "a.dead.b.dead", true),
            ("*.dead", "a.b.dead", false),
        ] {
            assert_eq!(leads("topic", pattern, key), Some(led), "{pattern} and {key}");
        }
    }

    #[test]
    fn other_exchanges_go_by_the_key_or_cannot_be_told() {
        assert_eq!(leads("direct", "k", "k"), Some(true));
        assert_eq!(leads("direct", "k", "l"), Some(false));
        assert_eq!(leads("fanout", "k", "l"), Some(true));
        assert_eq!(leads("headers", "", ""), None);
    }
}
