//! An orderly end loses no acknowledgement, however many are on their way when it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapin::BasicProperties;
use lapin::types::AMQPValue;
use reprieve::broker::{Broker, Plan, Settlement};
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::route::{RouteSpec, RouteWork};
use reprieve_tests::rabbitmq::Sandbox;

use crate::{driver, next, within};

const KINDS: [&str; 2] = ["classic", "quorum"];
/// More acknowledgements at once than the broker passes on to a quorum queue without holding some back.
const BURST: u16 = 300;

async fn source_with(sandbox: &Sandbox, kind: &str, messages: u32) -> String {
    let source = sandbox.queue(kind, &[("x-queue-type", AMQPValue::LongString(kind.into()))]).await;
    for number in 0..messages {
        let properties = BasicProperties::default().with_message_id(number.to_string().into());
        sandbox.put(&source, b"body", properties).await;
    }
    sandbox.wait_for_count(&source, messages).await;
    source
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_right_before_a_close_does_not_come_back() {
    const ROUNDS: u32 = 3;
    for kind in KINDS {
        for is_stopped in [false, true] {
            let sandbox = Sandbox::new().await;
            let source = source_with(&sandbox, kind, ROUNDS * u32::from(BURST)).await;
            let mut acknowledged = BTreeSet::new();
            for _ in 0..ROUNDS {
                let broker = driver();
                let mut consumer = broker.consume(&Plan::new("orders", &source), BURST).await.unwrap();
                let mut deliveries = Vec::new();
                for _ in 0..BURST {
                    deliveries.push(next(consumer.as_mut()).await);
                }
                if is_stopped {
                    within(consumer.stop()).await;
                }
                for delivery in &deliveries {
                    let id = delivery.message.id.clone().expect("an id");
                    assert!(acknowledged.insert(id), "{kind}, stopped {is_stopped}: it was acknowledged before");
                    delivery.settler.settle(Settlement::Ack).await.unwrap();
                }
                drop((deliveries, consumer));
                within(broker.close()).await;
            }
            sandbox.wait_for_count(&source, 0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_stopped_under_load_leaves_nothing_to_be_handled_twice() {
    const MESSAGES: u32 = 600;
    for kind in KINDS {
        let sandbox = Sandbox::new().await;
        let source = source_with(&sandbox, kind, MESSAGES).await;
        let runs: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
        let handled = || u32::try_from(runs.lock().unwrap().len()).unwrap();
        let mut hosts = 0;
        while handled() < MESSAGES {
            hosts += 1;
            let host = host(&source, &runs).await;
            let enough = MESSAGES.min(handled() + 100);
            within(async {
                while handled() < enough {
                    tokio::task::yield_now().await;
                }
            })
            .await;
            host.shutdown().await;
        }
        assert!(hosts > 1, "{kind}: none was stopped while there was work");
        let twice: Vec<_> =
            runs.lock().unwrap().iter().filter(|(_, runs)| **runs > 1).map(|(id, _)| id.clone()).collect();
        assert!(twice.is_empty(), "{kind}: {twice:?} were handled again");
        sandbox.wait_for_count(&source, 0).await;
    }
}

/// A host whose handler counts the runs of each message.
async fn host(source: &str, runs: &Arc<Mutex<BTreeMap<String, u32>>>) -> Host {
    let runs = Arc::clone(runs);
    let handler = Arc::new(handler_fn(move |call: Call| {
        *runs.lock().unwrap().entry(call.message.id.clone().expect("an id")).or_default() += 1;
        std::future::ready(Ok::<_, HandlerError>(()))
    }));
    let work = RouteWork::Handle { handler, timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("orders", source, Arc::new(driver()), work);
    route.concurrency = 64;
    Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await.unwrap()
}
