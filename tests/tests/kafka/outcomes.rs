//! What a route publishes, and what it needs for that.

mod commands;
mod killers;
mod preparing;
mod publishing;
mod redriving;

use reprieve::broker::kafka::{Kafka, KafkaSettings};
use reprieve::broker::{Broker, Plan};
use reprieve::topic::{Tier, Topic};
use reprieve_tests::kafka::{Sandbox, address};

fn settings() -> KafkaSettings {
    let mut settings = KafkaSettings::new("main", address());
    for (name, value) in [("reconnect.backoff.ms", "20"), ("reconnect.backoff.max.ms", "500")] {
        settings.client.insert(name.to_owned(), value.to_owned());
    }
    settings
}

fn kafka() -> Kafka {
    Kafka::new(&settings()).expect("settings that are right")
}

fn tier(name: &str, seconds: u64) -> Tier {
    Tier { name: name.to_owned(), delay: std::time::Duration::from_secs(seconds) }
}

/// A route that dead-letters to one topic.
fn plan(sandbox: &Sandbox, source: &str, dead_letters: &str) -> Plan {
    Plan { topics: vec![Topic::from(dead_letters)], ..Plan::new(&sandbox.name("route"), source) }
}

/// Its error, as people read it.
async fn refusal(broker: &impl Broker, plan: &Plan) -> String {
    broker.prepare(plan).await.expect_err("it must be refused").to_string()
}
