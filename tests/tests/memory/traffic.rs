//! Messages that fail and are dead-lettered, counted one by one: whose each verdict is, and that none is lost.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprieve::broker::memory::MemoryBroker;
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::route::{RouteSpec, RouteWork};
use tokio::task::JoinHandle;

use crate::ledger::Ledger;

/// Messages that are published at a time.
const BATCH: usize = 8;
/// Messages that wait at most.
const BACKLOG: usize = 64;
const PAUSE: Duration = Duration::from_millis(10);

/// The messages of one route. A message's id is its number.
pub(crate) struct Traffic {
    route: &'static str,
    broker: MemoryBroker,
    /// The messages that were handled.
    handled: Arc<Mutex<Ledger>>,
    /// The messages that were found dead-lettered.
    parked: Ledger,
    /// Who judged, by the reason that a policy gives.
    judges: HashMap<String, String>,
    stop: Arc<AtomicBool>,
    publisher: Option<JoinHandle<usize>>,
}

impl Traffic {
    pub(crate) fn new(route: &'static str, broker: &MemoryBroker) -> Self {
        Self {
            route,
            broker: broker.clone(),
            handled: Arc::default(),
            parked: Ledger::default(),
            judges: HashMap::new(),
            stop: Arc::default(),
            publisher: None,
        }
    }

    /// The route that they are on, with a handler that always fails.
    pub(crate) fn route(&self) -> RouteSpec {
        let handled = Arc::clone(&self.handled);
        let handler = handler_fn(move |call: Call| {
            let number = number(&call.message);
            handled.lock().unwrap().see(number);
            async { Err::<(), _>(HandlerError::new("busy", "told to fail")) }
        });
        let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(60) };
        let mut route = RouteSpec::new(self.route, self.route, Arc::new(self.broker.clone()), work);
        route.dead_letters.insert("default".to_owned(), self.topic().as_str().into());
        route
    }

    /// Begins to publish, as fast as they are worked off, but not faster than 800 a second.
    pub(crate) fn begin(&mut self) {
        let (broker, route, stop) = (self.broker.clone(), self.route, Arc::clone(&self.stop));
        self.publisher = Some(tokio::spawn(async move {
            let mut sent = 0;
            while !stop.load(Ordering::Relaxed) {
                if broker.depth(route).ready < BACKLOG {
                    for _ in 0..BATCH {
                        broker.publish_to(route, Message::new("body").with_id(sent.to_string())).unwrap();
                        sent += 1;
                    }
                }
                tokio::time::sleep(PAUSE).await;
            }
            sent
        }));
    }

    /// Takes what was dead-lettered by now into account.
    pub(crate) fn look(&mut self) {
        for letter in self.broker.drain(&self.topic()) {
            self.parked.see(number(&letter));
            let header = |name| letter.headers.text(name).unwrap_or_else(|| panic!("{name} in {letter:?}")).to_owned();
            let (reason, judge) = (header("reprieve-reason"), header("reprieve-policy"));
            let known = self.judges.entry(reason).or_insert_with(|| judge.clone());
            assert_eq!(*known, judge, "one policy's reason in the name of another");
        }
    }

    /// Whether a verdict with this reason was seen.
    pub(crate) fn has_seen(&self, reason: &str) -> bool {
        self.judges.contains_key(reason)
    }

    /// The reasons that were seen.
    pub(crate) fn reasons(&self) -> Vec<&str> {
        self.judges.keys().map(String::as_str).collect()
    }

    /// Ends publishing, waits until all is worked off, and checks that each message was handled once and is dead-lettered
    /// once. Gives their number.
    pub(crate) async fn end(&mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let sent = self.publisher.take().expect("it was begun").await.unwrap();
        let quiet = self.broker.wait_for(self.route, |depth| depth.ready == 0 && depth.unsettled == 0);
        tokio::time::timeout(Duration::from_secs(60), quiet).await.expect("everything is worked off");
        self.look();
        let handled = self.handled.lock().unwrap().is_complete(sent);
        assert!(handled, "{}: each of {sent} messages is handled once", self.route);
        assert!(self.parked.is_complete(sent), "{}: each of {sent} messages is dead-lettered once", self.route);
        sent
    }

    fn topic(&self) -> String {
        format!("{}.dlq", self.route)
    }
}

fn number(message: &Message) -> usize {
    message.id.as_deref().and_then(|id| id.parse().ok()).expect("an id that is a number")
}
