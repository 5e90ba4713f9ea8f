//! Messages for one target go out in batches, and yet each is judged by what became of itself.

use futures_util::future::join_all;
use lapin::types::AMQPValue;
use reprieve::broker::{Broker, PublishError, Target};
use reprieve::message::{HeaderValue, Message};
use reprieve::topic::Topic;
use reprieve_tests::rabbitmq::Sandbox;

use crate::{driver, queue};

const MESSAGES: u32 = 300;

fn numbered(number: u32) -> Message {
    Message::new(format!("body {number}")).with_id(format!("id-{number}"))
}

#[tokio::test]
async fn among_messages_that_go_out_together_just_the_unroutable_fail() {
    let sandbox = Sandbox::new().await;
    let taken = sandbox.queue("taken", &[]).await;
    let exchange = sandbox.headers_exchange("by-header", &taken, "take", &AMQPValue::Boolean(true)).await;
    let target = Target::Topic(Topic::Exchange { exchange, routing_key: String::new() });
    let broker = driver();
    let routable = |number: u32| number.is_multiple_of(3);

    let messages: Vec<Message> =
        (0..MESSAGES).map(|n| numbered(n).with_header("take", HeaderValue::Bool(routable(n)))).collect();
    let outcomes = join_all(messages.iter().map(|message| broker.publish(&target, message))).await;

    for (number, outcome) in (0..).zip(&outcomes) {
        match outcome {
            Ok(()) => assert!(routable(number), "{number} reached no queue and counts as kept"),
            Err(PublishError::Outage(why)) => assert!(!routable(number) && why.contains("NO_ROUTE"), "{number}: {why}"),
            Err(error) => panic!("{number}: {error}"),
        }
    }
    sandbox.wait_for_count(&taken, MESSAGES / 3).await;
}

#[tokio::test]
async fn a_message_that_ends_the_channel_takes_no_other_with_it() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let broker = driver();
    let invalid = |number: u32| number == MESSAGES / 2;

    let messages: Vec<Message> = (0..MESSAGES)
        .map(|number| {
            let mut message = numbered(number);
            message.properties.expiration = invalid(number).then(|| "soon".to_owned());
            message
        })
        .collect();
    let target_queue = queue(&target);
    let outcomes = join_all(messages.iter().map(|message| broker.publish(&target_queue, message))).await;

    for (number, outcome) in (0..).zip(outcomes) {
        match outcome {
            Ok(()) => assert!(!invalid(number)),
            Err(PublishError::Refused(why)) => {
                assert!(invalid(number) && why.contains("expiration"), "{number}: {why}");
            }
            Err(error) => panic!("{number}: {error}"),
        }
    }
    let mut ids = std::collections::BTreeSet::new();
    while let Some(delivery) = sandbox.poll(&target).await {
        ids.insert(delivery.properties.message_id().clone());
    }
    assert_eq!(ids.len() as u32, MESSAGES - 1, "each of the others is there, some of them perhaps twice");
}

#[tokio::test]
async fn a_body_that_is_too_large_fails_alone_beside_small_ones() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let broker = driver();
    let huge = Message::new(vec![0; 128 * 1024 * 1024 + 1]).with_id("huge");
    let small: Vec<Message> = (0..MESSAGES).map(numbered).collect();
    let target_queue = queue(&target);

    let others = join_all(small.iter().map(|message| broker.publish(&target_queue, message)));
    let (refused, others) = tokio::join!(broker.publish(&target_queue, &huge), others);

    assert!(matches!(refused, Err(PublishError::TooLarge(_))), "{refused:?}");
    assert!(others.iter().all(Result::is_ok), "{others:?}");
    // Exactly once: nothing was published again because of the large one.
    sandbox.wait_for_count(&target, MESSAGES).await;
}
