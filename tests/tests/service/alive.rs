//! What stands behind the watchdog: each route's own loop answers, and not a timer beside it.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use reprieve::broker::memory::MemoryBroker;
use reprieve::broker::{
    Broker, BrokerError, Capabilities, Consumer, HandBackLimit, Plan, Prepared, PublishError, Target,
};
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::message::Message;
use reprieve::route::{RouteSpec, RouteWork};
use reprieve::topic::Topic;

/// A broker whose driver blocks the thread that it is called on until it is let go.
struct Blocking {
    broker: MemoryBroker,
    begun: mpsc::Sender<()>,
    let_go: Mutex<mpsc::Receiver<()>>,
}

#[async_trait]
impl Broker for Blocking {
    fn capabilities(&self) -> Capabilities {
        self.broker.capabilities()
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        self.broker.prepare(plan).await
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        self.begun.send(()).expect("the test waits for it");
        let _ = self.let_go.lock().expect("nobody panics with it").recv();
        self.broker.consume(plan, prefetch).await
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        self.broker.publish(target, message).await
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        Broker::depth(&self.broker, topic).await
    }

    async fn hand_back_limit(&self, queue: &str) -> Result<HandBackLimit, BrokerError> {
        self.broker.hand_back_limit(queue).await
    }

    async fn close(&self) {
        self.broker.close().await;
    }
}

fn route(name: &str, broker: Arc<dyn Broker>) -> HostedRoute {
    let handler = Arc::new(handler_fn(|_| async { Ok::<(), HandlerError>(()) }));
    let work = RouteWork::Handle { handler, timeout: Duration::from_secs(10) };
    HostedRoute::new(RouteSpec::new(name, name, broker, work))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_route_whose_loop_is_blocked_is_told_from_those_that_wait_for_messages() {
    let (begun, has_begun) = mpsc::channel();
    let (let_go, is_let_go) = mpsc::channel();
    let broker = MemoryBroker::default();
    let blocking = Blocking { broker: broker.clone(), begun, let_go: Mutex::new(is_let_go) };
    let routes = vec![route("blocked", Arc::new(blocking)), route("orders", Arc::new(broker))];
    let host = Host::start(HostSpec { routes, ..HostSpec::default() }).await.unwrap();
    has_begun.recv().unwrap();

    assert_eq!(host.pulse().silent(Duration::from_millis(300)).await, ["blocked".into()]);
    let_go.send(()).unwrap();
    host.ready().await;
    assert_eq!(host.pulse().silent(Duration::from_secs(60)).await, Vec::<Arc<str>>::new());
    host.shutdown().await;
}
