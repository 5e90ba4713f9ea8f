//! Headers that would end the client library's thread, and with it the process.

use reprieve::broker::{Broker, Plan, Settlement};
use reprieve::message::HeaderValue;
use reprieve_tests::rabbitmq::{Sandbox, raw};

use crate::{driver, next, queue};

/// Flags that say: only headers.
const HEADERS: u16 = 1 << 13;
const DEEP: usize = 20_000;

/// How many containers lie in each other, and what is in the innermost.
fn unfold(mut value: &HeaderValue) -> (usize, &HeaderValue) {
    let mut depth = 0;
    while let HeaderValue::Array(values) = value {
        depth += 1;
        let [inner] = &values[..] else { break };
        value = inner;
    }
    (depth, value)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_with_headers_twenty_thousand_levels_deep_is_handled_and_dead_lettered() {
    let sandbox = Sandbox::new().await;
    let (source, dead) = (sandbox.queue("source", &[]).await, sandbox.queue("dead", &[]).await);
    raw::put(&source, HEADERS, &raw::table(b"deep", &raw::nested_arrays(DEEP)), b"body").await;

    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;
    assert_eq!(delivery.message.body.as_deref(), Some(&b"body"[..]));
    let (depth, innermost) = unfold(delivery.message.headers.get("deep").unwrap());
    let HeaderValue::Bytes(kept) = innermost else { panic!("{innermost:?}") };
    // The table itself is the first level. What lies deeper is all there, as it was on the wire.
    assert_eq!(depth, 31);
    assert_eq!(kept.as_ref(), raw::nested_arrays(DEEP - 32));

    broker.publish(&queue(&dead), &delivery.message).await.unwrap();
    delivery.settler.settle(Settlement::Ack).await.unwrap();
    broker.close().await;
    sandbox.wait_for_count(&source, 0).await;
    sandbox.wait_for_count(&dead, 1).await;

    // It is read from there like any other.
    let mut consumer = broker.consume(&Plan::new("orders", &dead), 1).await.unwrap();
    assert_eq!(next(consumer.as_mut()).await.message.headers, delivery.message.headers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_are_no_utf_8_do_not_end_the_connection_over_and_over() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    // A header name in Latin-1, and a message id of the same kind.
    let properties = [&raw::table(b"gr\xfc\xdfe", b"t\x01")[..], b"\x03\xe4-1"].concat();
    raw::put(&source, HEADERS | 1 << 7, &properties, b"body").await;

    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;
    assert_eq!(delivery.message.id.as_deref(), Some("?-1"));
    assert_eq!(delivery.message.headers.get("gr??e"), Some(&HeaderValue::Bool(true)));
}
