//! How many messages of a topic are not settled, as the nodes' metrics say: they look every five seconds.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::StatusCode;

use super::nodes::{Call, Nodes};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const LAG: &str = "narad_consumer_lag_messages{";

/// The messages of each partition that are not settled; those in somebody's hands count. `None` where a node cannot be asked or
/// does not show its metrics here.
pub(super) async fn lag(nodes: &Nodes, topic: &str) -> Option<HashMap<u32, u64>> {
    let mut partitions = HashMap::new();
    // Each node counts the partitions that it owns.
    for reply in nodes.ask_each(&Call::get(&["metrics"], ANSWER_TIMEOUT)).await {
        let reply = reply.ok().filter(|reply| reply.status == StatusCode::OK)?;
        let text = std::str::from_utf8(&reply.body).ok()?;
        for (partition, lag) in text.lines().filter_map(|line| read(line, topic)) {
            let most = partitions.entry(partition).or_insert(lag);
            *most = lag.max(*most);
        }
    }
    Some(partitions)
}

/// The partition and its lag, where the line is about that of the topic.
fn read(line: &str, topic: &str) -> Option<(u32, u64)> {
    let (labels, value) = line.strip_prefix(LAG)?.split_once("} ")?;
    let label = |name: &str| {
        // No topic's name has a comma or a quote in it.
        let labels = labels.split(',').filter_map(|label| label.split_once('='));
        labels.filter(|(label, _)| *label == name).map(|(_, value)| value.trim_matches('"')).next()
    };
    if label("topic")? != topic {
        return None;
    }
    let value: f64 = value.split_whitespace().next()?.parse().ok()?;
    // Counts are far below where a float has gaps; a negative or absent one is none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it saturates, and a lag is a whole number"
    )]
    let lag = value as u64;
    Some((label("partition")?.parse().ok()?, lag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_metrics_is_read() {
        let line = r#"narad_consumer_lag_messages{partition="1",topic="orders"} 12"#;
        assert_eq!(read(line, "orders"), Some((1, 12)));
        assert_eq!(read(line, "orders2"), None);
        assert_eq!(read(r#"narad_consumer_lag_messages{topic="o",partition="0"} 1e+06"#, "o"), Some((0, 1_000_000)));
        for line in [
            "# HELP narad_consumer_lag_messages{",
            "narad_inflight_size{topic=\"o\"} 1",
            "narad_consumer_lag_messages{",
        ] {
            assert_eq!(read(line, "o"), None, "{line}");
        }
    }
}
