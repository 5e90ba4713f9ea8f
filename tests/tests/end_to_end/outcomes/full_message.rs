//! A message with everything that one can carry.

use std::sync::LazyLock;
use std::time::SystemTime;

use serde_json::json;

use crate::support::Message;

/// A message with every property, and headers of every type that pika can write.
pub(super) fn full_message(id: &str) -> Message {
    let message = Message {
        body: format!("\u{0}\u{ff}\r\n{{\"order\": \"{id}\"}}"),
        headers: serde_json::from_value(json!({
            "tenant": { "text": "blå" },
            "raw": { "bytes": "\u{0}\u{80}\u{ff}" },
            "small": { "int": -7 },
            "large": { "long": 9_007_199_254_740_993_i64 },
            "vip": { "bool": true },
            "nothing": { "null": null },
            "since": { "timestamp": 1_700_000_000 },
            "price": { "decimal": "12.5" },
            "steps": { "list": [{ "int": 1 }, { "text": "two" }, { "list": [] }] },
            "trace": { "table": { "id": { "text": "a1" }, "flags": { "table": { "sampled": { "bool": false } } } } },
        }))
        .expect("headers"),
        ..Message::new(id)
    };
    message
        .with("delivery_mode", 1)
        .with("content_type", "application/json")
        .with("content_encoding", "identity")
        .with("priority", 3)
        .with("correlation_id", format!("correlation of {id}"))
        .with("reply_to", "answers")
        .with("expiration", "600000")
        .with("timestamp", now())
        .with("type", "order.placed")
        .with("user_id", login())
        .with("app_id", "shop")
        .with("cluster_id", "warehouse")
}

/// One time for all messages of a run, so that each can be made again to compare with.
fn now() -> u64 {
    static NOW: LazyLock<u64> =
        LazyLock::new(|| SystemTime::UNIX_EPOCH.elapsed().expect("it is later than 1970").as_secs());
    *NOW
}

/// The broker takes no other user id than that of the connection.
fn login() -> String {
    let url = reprieve_tests::rabbitmq::url();
    let authority = url.split_once("://").expect("an amqp URL").1;
    authority.split_once([':', '@']).expect("a login in the URL").0.to_owned()
}
