//! Delivery limits that a policy of the broker sets, which only its management API shows.

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use reprieve_tests::rabbitmq::Node;

use crate::stage::{Stage, quorum};

/// A quorum queue with two letters and a delivery limit that a policy sets, and a configuration that names it.
struct Limited {
    stage: Stage,
    dlq: String,
    channel: Channel,
    _connection: Connection,
}

impl Limited {
    async fn new(role: &str, limit: u32, management: bool) -> Self {
        let stage = Stage::new().await;
        let node = Node::shared();
        let dlq = stage.sandbox.name(role);
        let pattern = format!("^{}$", dlq.replace('.', "\\."));
        let definition = format!("{{\"delivery-limit\": {limit}}}");
        node.control(&["set_policy", "--apply-to", "queues", &dlq, &pattern, &definition]);
        let connection = Connection::connect(&node.url(), ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        let mut arguments = FieldTable::default();
        for (name, value) in quorum() {
            arguments.insert(name.into(), value);
        }
        let durable = QueueDeclareOptions { durable: true, ..Default::default() };
        channel.queue_declare(dlq.as_str().into(), durable, arguments).await.unwrap();
        for id in ["A1", "A2"] {
            let properties = BasicProperties::default().with_message_id(id.into()).with_delivery_mode(2);
            let options = BasicPublishOptions::default();
            let sent = channel.basic_publish("".into(), dlq.as_str().into(), options, b"body", properties).await;
            sent.unwrap().await.unwrap();
        }
        let management = if management { format!("management = \"{}\"\n", node.management()) } else { String::new() };
        let config = format!(
            "[brokers.main]\nkind = \"rabbitmq\"\nurl = \"{}\"\n{management}\n\
             [[routes]]\nname = \"orders\"\nbroker = \"main\"\nsource = \"orders\"\n\
             handler = {{ kind = \"command\", program = [\"true\"] }}\ndead_letters = {{ default = \"{dlq}\" }}\n",
            node.url()
        );
        std::fs::write(stage.path("reprieve.toml"), config).unwrap();
        let limited = Self { stage, dlq, channel, _connection: connection };
        limited.wait_for_two().await;
        limited
    }

    async fn wait_for_two(&self) {
        let mut seen = 0;
        for _ in 0..500 {
            let passive = QueueDeclareOptions { passive: true, ..Default::default() };
            let asked = self.channel.queue_declare(self.dlq.as_str().into(), passive, FieldTable::default()).await;
            seen = asked.unwrap().message_count();
            if seen == 2 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{seen} letters, not two, after ten seconds");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn peeking_loses_nothing_to_a_limit_that_it_cannot_see_and_says_so() {
    // The broker throws a message away the first time that it comes back.
    let limited = Limited::new("unseen", 0, false).await;
    for _ in 0..4 {
        let peeked = limited.stage.run(&["peek"]).await;
        peeked.ended(0);
        assert!(
            peeked.err().contains("2 went to the end") && peeked.err().contains("`management`"),
            "{}",
            peeked.err()
        );
        limited.wait_for_two().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_a_policy_that_leaves_no_room_is_refused() {
    let limited = Limited::new("seen", 2, true).await;
    for command in ["peek", "redrive"] {
        let refused = limited.stage.run(&[command]).await;
        assert_eq!(refused.code(), Some(1), "{}", refused.err());
        assert!(refused.err().contains("x-delivery-limit 2"), "{}", refused.err());
    }
    limited.wait_for_two().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_handed_back_as_far_as_a_policy_allows_and_then_renewed() {
    let limited = Limited::new("known", 4, true).await;
    let mut renewed = Vec::new();
    // The second letter is in hand half as often as the first.
    for most in ["1", "2", "1", "2", "2", "2", "2"] {
        let peeked = limited.stage.run(&["peek", "--max", most]).await;
        peeked.ended(0);
        renewed.push(peeked.err().contains("went to the end"));
        limited.wait_for_two().await;
    }
    assert_eq!(renewed[..3], [false, false, true], "half of the limit is two");
}
