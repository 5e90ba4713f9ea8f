//! What is missing, unfit or doubtful is said before any message is touched.

use lapin::types::AMQPValue;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, BrokerError, Plan};
use reprieve::topic::Topic;
use reprieve_tests::rabbitmq::Sandbox;

use crate::{driver, plan, settings};

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

fn quorum() -> (&'static str, AMQPValue) {
    ("x-queue-type", text("quorum"))
}

fn with_topic(source: &str, topic: Topic) -> Plan {
    Plan { topics: vec![topic], ..plan(source) }
}

async fn unfit(broker: &RabbitMq, plan: &Plan) -> String {
    match broker.prepare(plan).await {
        Err(BrokerError::Unfit(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_missing_source_is_named_with_its_cure() {
    assert_eq!(
        unfit(&driver(), &plan("test.no-such-queue")).await,
        "queue 'test.no-such-queue' does not exist on broker 'main': declare it, or correct `source` of route 'orders'"
    );
}

#[tokio::test]
async fn a_missing_dead_letter_queue_is_declared_durable_and_replicated() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let dead = sandbox.name("dead");

    driver().prepare(&with_topic(&source, dead.as_str().into())).await.unwrap();
    sandbox.declare(&dead, &[quorum()]).await.expect("the same declaration");
    assert!(sandbox.declare(&dead, &[]).await.is_err(), "another declaration");
}

#[tokio::test]
async fn a_missing_dead_letter_queue_is_named_where_declaring_is_not_allowed() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let dead = sandbox.name("dead");
    let broker = RabbitMq::new(&RabbitMqSettings { declare: false, ..settings() }).unwrap();

    let text = unfit(&broker, &with_topic(&source, dead.as_str().into())).await;
    assert_eq!(
        text,
        format!(
            "queue '{dead}' does not exist on broker 'main': declare it, set `declare = true` on the broker, or \
             name another queue in `dead_letters` of route 'orders'"
        )
    );
}

#[tokio::test]
async fn a_missing_exchange_is_never_declared() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let exchange = sandbox.name("exchange");
    let topic = Topic::Exchange { exchange: exchange.clone(), routing_key: "k".to_owned() };

    let text = unfit(&driver(), &with_topic(&source, topic)).await;
    assert!(text.starts_with(&format!("exchange '{exchange}' does not exist on broker 'main'")), "{text}");
}

#[tokio::test]
async fn an_exchange_of_any_kind_will_do() {
    let sandbox = Sandbox::new().await;
    let (source, dead) = (sandbox.queue("source", &[]).await, sandbox.queue("dead", &[]).await);
    for exchange in ["amq.topic", "amq.headers", ""] {
        let topic = Topic::Exchange { exchange: exchange.to_owned(), routing_key: dead.clone() };
        driver().prepare(&with_topic(&source, topic)).await.unwrap();
    }
}

#[tokio::test]
async fn dead_letters_that_would_go_to_the_routes_own_source_are_refused() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let by_default = Topic::Exchange { exchange: String::new(), routing_key: source.clone() };
    for topic in [Topic::from(source.as_str()), by_default] {
        let text = unfit(&driver(), &with_topic(&source, topic)).await;
        assert!(text.contains(&format!("of route 'orders' to its own source '{source}'")), "{text}");
    }
}

#[tokio::test]
async fn a_queue_that_is_its_own_dead_letter_queue_is_refused_as_a_target_and_not_handed_back_to() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    for key in [None, Some(text(&sandbox.name("circle")))] {
        let arguments = [quorum(), ("x-delivery-limit", AMQPValue::LongInt(3)), ("x-dead-letter-exchange", text(""))];
        let key = key.map(|key| ("x-dead-letter-routing-key", key));
        let circle = sandbox.queue("circle", &arguments.into_iter().chain(key).collect::<Vec<_>>()).await;
        let told = unfit(&driver(), &with_topic(&source, circle.as_str().into())).await;
        assert!(
            told.starts_with(&format!("queue '{circle}'")) && told.contains("is its own dead-letter queue"),
            "{told}"
        );

        let prepared = driver().prepare(&plan(&circle)).await.unwrap();
        assert!(!prepared.requeue_is_safe, "{prepared:?}");
        assert!(prepared.remarks.iter().any(|said| said.contains("is its own dead-letter queue")), "{prepared:?}");
        sandbox.delete(&circle).await;
    }
}

#[tokio::test]
async fn handing_back_is_safe_where_the_queue_cannot_lose_by_it() {
    let sandbox = Sandbox::new().await;
    let limit = ("x-delivery-limit", AMQPValue::LongInt(3));
    let dlx = ("x-dead-letter-exchange", text("amq.fanout"));
    let classic = sandbox.queue("classic", &[("x-message-ttl", AMQPValue::LongInt(60_000))]).await;
    let bare = sandbox.queue("bare", &[quorum()]).await;
    let limited = sandbox.queue("limited", &[quorum(), limit.clone()]).await;
    let kept = sandbox.queue("kept", &[quorum(), limit, dlx]).await;

    for (source, safe, remark) in [
        (&classic, true, "message-ttl without a dead-letter exchange"),
        (&kept, true, "not checked: whether policies of the broker"),
        (&limited, false, "x-delivery-limit without a dead-letter exchange"),
        (&bare, false, "not checked: RabbitMQ 4"),
    ] {
        let prepared = driver().prepare(&plan(source)).await.unwrap();
        assert_eq!(prepared.requeue_is_safe, safe, "{prepared:?}");
        assert!(
            prepared.remarks.iter().any(|said| said.contains(remark) && said.contains(source.as_str())),
            "{prepared:?}"
        );
    }
}

#[tokio::test]
async fn looking_into_a_queue_leaves_it_as_it_was() {
    let sandbox = Sandbox::new().await;
    let odd = [
        ("x-max-length", AMQPValue::LongInt(10)),
        ("x-overflow", text("reject-publish")),
        ("x-single-active-consumer", AMQPValue::Boolean(true)),
        ("x-max-priority", AMQPValue::LongInt(5)),
    ];
    let (source, dead) = (sandbox.queue("source", &odd).await, sandbox.queue("dead", &odd).await);
    let prepared = driver().prepare(&with_topic(&source, dead.as_str().into())).await.unwrap();
    assert!(prepared.requeue_is_safe);
    for queue in [source, dead] {
        sandbox.declare(&queue, &odd).await.expect("the same declaration");
    }
}

#[tokio::test]
async fn a_dead_letter_queue_that_throws_away_when_full_is_unfit() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let length = ("x-max-length", AMQPValue::LongInt(10));
    let bounded = sandbox.queue("bounded", std::slice::from_ref(&length)).await;
    let refusing = sandbox.queue("refusing", &[length, ("x-overflow", text("reject-publish"))]).await;

    let text = unfit(&driver(), &with_topic(&source, bounded.as_str().into())).await;
    assert!(text.contains(&bounded) && text.contains("x-overflow reject-publish"), "{text}");
    driver().prepare(&with_topic(&source, refusing.as_str().into())).await.unwrap();
}

#[tokio::test]
async fn a_stream_is_no_source() {
    let sandbox = Sandbox::new().await;
    let stream = sandbox.queue("stream", &[("x-queue-type", text("stream"))]).await;
    assert!(unfit(&driver(), &plan(&stream)).await.contains("is a stream"));
}
