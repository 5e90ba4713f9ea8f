//! Ordering by key: what the driver tells of the source, and the order that routes keep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapin::options::{BasicPublishOptions, QueueBindOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Connection, ConnectionProperties};
use reprieve::broker::Broker;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::route::{KeySource, Phase, RouteSpec, RouteWork};
use reprieve_tests::rabbitmq::{Proxy, Sandbox, url};

use crate::{driver, plan, within};

/// Messages of each key.
const EACH: usize = 10;
const KEYS: [&str; 3] = ["a", "b", "c"];

#[tokio::test]
async fn whether_a_source_has_a_single_active_consumer_is_learned() {
    let sandbox = Sandbox::new().await;
    let shared = sandbox.queue("shared", &[]).await;
    let quorum = ("x-queue-type", AMQPValue::LongString("quorum".into()));
    let single = sandbox.queue("single", &[quorum, ("x-single-active-consumer", AMQPValue::Boolean(true))]).await;
    let broker = driver();
    assert_eq!(broker.prepare(&plan(&shared)).await.unwrap().single_active_consumer, Some(false));
    assert_eq!(broker.prepare(&plan(&single)).await.unwrap().single_active_consumer, Some(true));
}

/// What a handler saw, and whether it ever saw two messages of one key at a time.
#[derive(Default)]
struct Seen {
    /// Each key's messages in the order of their first attempts.
    begun: BTreeMap<char, Vec<String>>,
    in_work: BTreeSet<char>,
    attempts: BTreeMap<String, u32>,
    overlaps: Vec<String>,
    done: BTreeSet<String>,
}

async fn handle(seen: Arc<Mutex<Seen>>, call: Call) -> Result<(), HandlerError> {
    let id = call.message.id.clone().expect("the test gives ids");
    let key = id.chars().next().expect("the key");
    let attempts = {
        let mut seen = seen.lock().unwrap();
        if !seen.in_work.insert(key) {
            seen.overlaps.push(id.clone());
        }
        let attempts = seen.attempts.entry(id.clone()).or_default();
        *attempts += 1;
        let attempts = *attempts;
        if attempts == 1 {
            seen.begun.entry(key).or_default().push(id.clone());
        }
        attempts
    };
    tokio::time::sleep(Duration::from_millis(5)).await;
    let mut seen = seen.lock().unwrap();
    seen.in_work.remove(&key);
    // Every third message fails at first, and is tried again in process.
    if attempts == 1 && id.ends_with(['3', '6', '9']) {
        return Err(HandlerError::new("busy", "try again"));
    }
    seen.done.insert(id);
    Ok(())
}

#[tokio::test]
async fn messages_of_one_routing_key_run_in_order_also_over_a_cut() {
    let sandbox = Sandbox::new().await;
    let single = ("x-single-active-consumer", AMQPValue::Boolean(true));
    let source = sandbox.queue("source", &[single]).await;
    let connection = Connection::connect(&url(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    for key in KEYS {
        let key = format!("{source}.{key}").as_str().into();
        let queue = source.as_str().into();
        channel
            .queue_bind(queue, "amq.direct".into(), key, QueueBindOptions::default(), FieldTable::default())
            .await
            .unwrap();
    }
    for number in 0..EACH {
        for key in KEYS {
            let properties = BasicProperties::default().with_message_id(format!("{key}{number}").as_str().into());
            let routing_key = format!("{source}.{key}").as_str().into();
            channel
                .basic_publish("amq.direct".into(), routing_key, BasicPublishOptions::default(), b"", properties)
                .await
                .unwrap();
        }
    }
    sandbox.wait_for_count(&source, u32::try_from(EACH * KEYS.len()).unwrap()).await;

    let proxy = Proxy::start().await;
    let broker = Arc::new(RabbitMq::new(&RabbitMqSettings::new("main", proxy.url())).unwrap());
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let shared = Arc::clone(&seen);
    let handler = Arc::new(handler_fn(move |call: Call| handle(Arc::clone(&shared), call)));
    let mut route =
        RouteSpec::new("orders", &source, broker, RouteWork::Handle { handler, timeout: Duration::from_secs(10) });
    route.ordering = Some(KeySource::Key);
    route.concurrency = 4;
    route.retry.max_attempts = 3;
    route.retry.initial_delay = Duration::from_millis(20);
    let host = Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await.unwrap();
    let wait_for = |count: usize| {
        let seen = Arc::clone(&seen);
        async move {
            while seen.lock().unwrap().done.len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    within(wait_for(EACH)).await;
    assert!(
        matches!(host.routes()[0].state().get().0, Phase::Consuming { remarks } if !remarks.iter().any(|remark| remark.contains("consumer"))),
        "nothing to remark where the source has a single active consumer"
    );
    proxy.cut();
    within(wait_for(EACH * KEYS.len())).await;
    host.shutdown().await;
    assert!(sandbox.poll(&source).await.is_none());
    let seen = seen.lock().unwrap();
    assert_eq!(seen.overlaps, Vec::<String>::new());
    for key in KEYS {
        let expected: Vec<String> = (0..EACH).map(|number| format!("{key}{number}")).collect();
        assert_eq!(seen.begun[&key.chars().next().unwrap()], expected);
    }
}

#[tokio::test]
async fn a_stopped_host_gives_waiting_messages_back_in_their_order() {
    let sandbox = Sandbox::new().await;
    for kind in ["classic", "quorum"] {
        let source = sandbox.queue(kind, &[("x-queue-type", AMQPValue::LongString(kind.into()))]).await;
        stop_while_messages_wait(&sandbox, &source).await;
    }
}

async fn stop_while_messages_wait(sandbox: &Sandbox, source: &str) {
    for number in 0..8 {
        let properties = BasicProperties::default().with_message_id(number.to_string().as_str().into());
        sandbox.put(source, b"", properties).await;
    }
    sandbox.wait_for_count(source, 8).await;
    let begun = Arc::new(tokio::sync::Notify::new());
    let gate = Arc::new(tokio::sync::Notify::new());
    let (enter, opened) = (Arc::clone(&begun), Arc::clone(&gate));
    let handler = Arc::new(handler_fn(move |_: Call| {
        let (enter, opened) = (Arc::clone(&enter), Arc::clone(&opened));
        async move {
            enter.notify_one();
            opened.notified().await;
            Ok::<(), HandlerError>(())
        }
    }));
    let work = RouteWork::Handle { handler, timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("orders", source, Arc::new(driver()), work);
    // All of one key: they were sent straight to the queue.
    route.ordering = Some(KeySource::Key);
    route.concurrency = 1;
    route.prefetch = Some(6);
    let host = Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await.unwrap();
    within(begun.notified()).await;
    sandbox.wait_for_count(source, 2).await;
    let (state, stopping) = (Arc::clone(&host.routes()[0]), tokio::spawn(host.shutdown()));
    within(state.state().wait_for(|phase| *phase == Phase::Draining)).await;
    gate.notify_one();
    within(stopping).await.unwrap();
    sandbox.wait_for_count(source, 7).await;
    let mut back = Vec::new();
    for _ in 0..7 {
        let message = sandbox.take(source).await;
        back.push(message.properties.message_id().as_ref().expect("an id").as_str().to_owned());
    }
    assert_eq!(back, ["1", "2", "3", "4", "5", "6", "7"]);
    assert!(sandbox.poll(source).await.is_none(), "the first was handled");
}
