//! What only the management API shows is found before a message is touched.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection, ConnectionProperties, ExchangeKind};
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, BrokerError, Plan, Prepared};
use reprieve::topic::Topic;
use reprieve_tests::rabbitmq::Node;

use crate::plan;

/// A part of the shared node that no other test uses: everything in it begins with this test's prefix.
struct Part {
    prefix: &'static str,
    channel: Channel,
    _connection: Connection,
}

impl Part {
    async fn new(prefix: &'static str) -> Self {
        let connection = Connection::connect(&Node::shared().url(), ConnectionProperties::default()).await.unwrap();
        Self { prefix, channel: connection.create_channel().await.unwrap(), _connection: connection }
    }

    fn name(&self, role: &str) -> String {
        format!("{}.{role}", self.prefix)
    }

    async fn queue(&self, role: &str, arguments: &[(&str, AMQPValue)]) -> String {
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        let name = self.name(role);
        self.channel.queue_declare(name.as_str().into(), options, table(arguments)).await.unwrap();
        name
    }

    async fn exchange(&self, role: &str, kind: ExchangeKind, arguments: &[(&str, AMQPValue)]) -> String {
        let name = self.name(role);
        let options = ExchangeDeclareOptions { durable: true, ..Default::default() };
        self.channel.exchange_declare(name.as_str().into(), kind, options, table(arguments)).await.unwrap();
        name
    }

    async fn bind(&self, queue: &str, exchange: &str, key: &str) {
        let options = QueueBindOptions::default();
        self.channel.queue_bind(queue.into(), exchange.into(), key.into(), options, table(&[])).await.unwrap();
    }

    /// A policy on the one queue of this role.
    fn policy(&self, role: &str, definition: &str) {
        let name = self.name(role);
        let pattern = format!("^{}$", name.replace('.', "\\."));
        Node::shared().control(&["set_policy", &name, &pattern, definition]);
    }
}

fn table(arguments: &[(&str, AMQPValue)]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in arguments {
        table.insert((*name).into(), value.clone());
    }
    table
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

fn quorum() -> (&'static str, AMQPValue) {
    ("x-queue-type", text("quorum"))
}

fn to(source: &str, topic: impl Into<Topic>) -> Plan {
    Plan { topics: vec![topic.into()], ..plan(source) }
}

fn exchange(exchange: &str, routing_key: &str) -> Topic {
    Topic::Exchange { exchange: exchange.to_owned(), routing_key: routing_key.to_owned() }
}

fn settings() -> RabbitMqSettings {
    let node = Node::shared();
    RabbitMqSettings { management: Some(node.management()), ..RabbitMqSettings::new("main", node.url()) }
}

async fn prepared(plan: &Plan) -> Prepared {
    RabbitMq::new(&settings()).unwrap().prepare(plan).await.unwrap()
}

async fn unfit(plan: &Plan) -> String {
    match RabbitMq::new(&settings()).unwrap().prepare(plan).await {
        Err(BrokerError::Unfit(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_all_is_well_nothing_is_said_and_nothing_left_unchecked() {
    let part = Part::new("well").await;
    let (source, dead) = (part.queue("source", &[quorum()]).await, part.queue("dead", &[quorum()]).await);
    let prepared = prepared(&to(&source, dead.as_str())).await;
    assert_eq!(prepared.remarks, Vec::<String>::new());
    assert!(prepared.requeue_is_safe);
    assert_eq!((prepared.single_active_consumer, prepared.hold), (Some(false), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policys_delivery_limit_without_a_dead_letter_exchange_is_found() {
    let part = Part::new("limit").await;
    let source = part.queue("source", &[quorum()]).await;
    part.policy("source", r#"{"delivery-limit": 3}"#);
    let prepared = prepared_once_known(&plan(&source), "delivery-limit of policy 'limit.source'").await;
    assert!(!prepared.requeue_is_safe);
}

/// The preparation that says `remark`: the plugin learns of a policy with a delay.
async fn prepared_once_known(plan: &Plan, remark: &str) -> Prepared {
    for _ in 0..50 {
        let prepared = prepared(plan).await;
        if prepared.remarks.iter().any(|said| said.contains(remark)) {
            return prepared;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    panic!("{remark} is not said: {:?}", prepared(plan).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_drops_when_full_or_expires_is_not_handed_back_to() {
    let part = Part::new("full").await;
    let source = part.queue("source", &[]).await;
    part.policy("source", r#"{"max-length": 100, "message-ttl": 60000}"#);
    let prepared =
        prepared_once_known(&plan(&source), "max-length of policy 'full.source' makes the broker throw").await;
    assert!(!prepared.requeue_is_safe);
    assert!(
        prepared.remarks.iter().any(|said| said.contains("thrown away, also what comes back from a tier")),
        "{prepared:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_queue_that_a_policy_bounds_is_unfit_and_one_that_expires_is_remarked() {
    let part = Part::new("dead").await;
    let source = part.queue("source", &[]).await;
    let (bounded, expiring) = (part.queue("bounded", &[]).await, part.queue("expiring", &[]).await);
    part.policy("bounded", r#"{"max-length": 10}"#);
    part.policy("expiring", r#"{"message-ttl": 60000}"#);
    prepared_once_known(&to(&source, expiring.as_str()), "what is in it expires (message-ttl of policy").await;
    let text = unfit(&to(&source, bounded.as_str())).await;
    assert!(text.contains("max-length of policy 'dead.bounded'") && text.contains("reject-publish"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_exchange_that_leads_nowhere_is_found() {
    let part = Part::new("nowhere").await;
    let dead_ends = part.exchange("exchange", ExchangeKind::Direct, &[]).await;
    let arguments = |key: &str| {
        let limit = ("x-delivery-limit", AMQPValue::LongInt(3));
        [quorum(), limit, ("x-dead-letter-exchange", text(&dead_ends)), ("x-dead-letter-routing-key", text(key))]
    };
    let (lost, kept) = (part.queue("lost", &arguments("lost")).await, part.queue("kept", &arguments("kept")).await);
    let dead = part.queue("dead", &[]).await;
    part.bind(&dead, &dead_ends, "kept").await;

    let prepared_lost = prepared(&plan(&lost)).await;
    assert!(!prepared_lost.requeue_is_safe);
    assert!(prepared_lost.remarks[0].contains("leads the key 'lost' to no queue"), "{prepared_lost:?}");
    let prepared_kept = prepared(&plan(&kept)).await;
    assert!(prepared_kept.requeue_is_safe, "{prepared_kept:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_target_is_followed_to_its_queues() {
    let part = Part::new("bound").await;
    let source = part.queue("source", &[]).await;
    let (good, bounded) =
        (part.queue("good", &[]).await, part.queue("bounded", &[("x-max-length", AMQPValue::LongInt(5))]).await);
    let topic = part.exchange("topic", ExchangeKind::Topic, &[]).await;
    let fallback = part.exchange("fallback", ExchangeKind::Fanout, &[]).await;
    let direct = part.exchange("direct", ExchangeKind::Direct, &[("alternate-exchange", text(&fallback))]).await;
    part.bind(&good, &topic, "orders.*").await;
    part.bind(&bounded, &topic, "bills.#").await;
    part.bind(&good, &fallback, "").await;

    assert_eq!(prepared(&to(&source, exchange(&topic, "orders.dead"))).await.remarks, Vec::<String>::new());
    assert_eq!(prepared(&to(&source, exchange(&direct, "any"))).await.remarks, Vec::<String>::new());
    assert!(
        unfit(&to(&source, exchange(&topic, "mails.dead"))).await.contains("leads the key 'mails.dead' to no queue")
    );
    assert!(unfit(&to(&source, exchange(&topic, "bills.dead"))).await.contains("x-max-length"));

    part.bind(&source, &topic, "again").await;
    let text = unfit(&to(&source, exchange(&topic, "again"))).await;
    assert!(text.contains("leads the dead letters of route 'orders' to its own source"), "{text}");

    let headers = part.exchange("headers", ExchangeKind::Headers, &[]).await;
    part.bind(&good, &headers, "").await;
    let remarks = prepared(&to(&source, exchange(&headers, ""))).await.remarks;
    assert!(remarks[0].starts_with("not checked: ") && remarks[0].contains("of type headers"), "{remarks:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_internal_exchange_is_refused() {
    let part = Part::new("internal").await;
    let source = part.queue("source", &[]).await;
    let name = part.name("exchange");
    let options = ExchangeDeclareOptions { durable: true, internal: true, ..Default::default() };
    part.channel.exchange_declare(name.as_str().into(), ExchangeKind::Fanout, options, table(&[])).await.unwrap();
    let told = unfit(&to(&source, exchange(&name, ""))).await;
    assert!(told.starts_with(&format!("exchange '{name}' on broker 'main' is internal")), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_whose_dead_letters_come_back_to_it_through_an_exchange_is_refused() {
    let part = Part::new("circle").await;
    let source = part.queue("source", &[]).await;
    let round = part.exchange("round", ExchangeKind::Direct, &[]).await;
    let circle = part.queue("circle", &[("x-dead-letter-exchange", text(&round))]).await;
    let by_default = to(&source, circle.as_str());
    assert_eq!(prepared(&by_default).await.remarks, Vec::<String>::new());

    part.bind(&circle, &round, &circle).await;
    let told = unfit(&by_default).await;
    assert!(told.contains("is its own dead-letter queue"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_active_consumer_and_a_consumer_timeout_are_taken_from_the_queue() {
    let part = Part::new("read").await;
    let arguments =
        [("x-single-active-consumer", AMQPValue::Boolean(true)), ("x-consumer-timeout", AMQPValue::LongInt(600_000))];
    let source = part.queue("source", &arguments).await;
    let prepared = prepared(&plan(&source)).await;
    assert_eq!(prepared.single_active_consumer, Some(true));
    let hold = prepared.hold.expect("limits of the queue's own");
    assert_eq!((hold.max_retry_delay.as_secs(), hold.max_hold.as_secs()), (40, 300));
    // This broker does not compare an argument that it does not know, so AMQP shows only the other one.
    let by_amqp = RabbitMq::new(&RabbitMqSettings { management: None, ..settings() }).unwrap();
    assert_eq!(by_amqp.prepare(&plan(&source)).await.unwrap().single_active_consumer, Some(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_answer_from_the_management_api_what_was_not_checked_is_said_once_with_the_reason() {
    let part = Part::new("silent").await;
    let (source, dead) = (part.queue("source", &[]).await, part.queue("dead", &[]).await);
    let node = Node::shared();
    for (management, reason) in [
        (None, "give [brokers.main] a `management` URL"),
        (Some(node.management().replace("guest:guest", "guest:s3cret")), "does not let this user in"),
        (Some("http://guest:s3cret@127.0.0.1:1".to_owned()), "put `management` of [brokers.main] right"),
    ] {
        let broker = RabbitMq::new(&RabbitMqSettings { management, ..settings() }).unwrap();
        let remarks = broker.prepare(&to(&source, dead.as_str())).await.unwrap().remarks;
        let [remark] = &remarks[..] else { panic!("{remarks:?}") };
        assert!(remark.starts_with("not checked: whether policies") && remark.contains(reason), "{remark}");
        assert!(remark.contains(&source) && remark.contains(&dead) && !remark.contains("s3cret"), "{remark}");
    }
}
