//! How many messages wait in the routes' dead-letter queues, asked now and then beside the message path.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::observer::Observer;
use crate::route::{Route, RouteSpec};
use crate::topic::Topic;

/// From one question to the next.
const INTERVAL: Duration = Duration::from_secs(15);

/// Until the first question: routes declare what is missing when they start.
const FIRST: Duration = Duration::from_secs(2);

/// The last known depths. A depth that could not be learned when it was last asked for is unknown, not old.
pub(super) struct DeadLetterDepths {
    routes: Vec<Arc<Route>>,
    observer: Observer,
    /// By broker, of which the address tells which, and topic.
    known: Mutex<HashMap<(usize, Topic), u64>>,
}

impl DeadLetterDepths {
    pub(super) fn new(routes: Vec<Arc<Route>>, observer: Observer) -> Self {
        Self { routes, observer, known: Mutex::default() }
    }

    /// Asks until told to stop, and leaves nothing behind that would grow old.
    pub(super) async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let asking = async {
            tokio::time::sleep(FIRST).await;
            loop {
                self.ask().await;
                tokio::time::sleep(INTERVAL).await;
            }
        };
        stop.run_until_cancelled(asking).await;
        self.lock().clear();
        self.publish();
    }

    /// What `/status` shows of a route: each label with its topic, and how many wait there; null where that is not known.
    pub(super) fn of_route(&self, route: &RouteSpec) -> Value {
        let known = self.lock();
        let letters = route.dead_letters.iter().map(|(label, topic)| {
            let depth = known.get(&key(route, topic));
            json!({ "label": label, "topic": topic.to_string(), "depth": depth })
        });
        letters.collect()
    }

    async fn ask(&self) {
        let mut asked = HashMap::new();
        for route in &self.routes {
            let spec = route.spec();
            for topic in spec.dead_letters.values() {
                let key = key(spec, topic);
                if asked.contains_key(&key) {
                    continue;
                }
                let answer = spec.broker.depth(topic).await;
                if let Err(error) = &answer {
                    tracing::debug!(%error, route = %spec.name, %topic, "the number of dead letters is not known");
                }
                asked.insert(key, answer.ok().flatten());
            }
        }
        *self.lock() = asked.into_iter().filter_map(|(key, depth)| Some((key, depth?))).collect();
        self.publish();
    }

    fn publish(&self) {
        let known = self.lock();
        for route in &self.routes {
            let spec = route.spec();
            for (label, topic) in &spec.dead_letters {
                let depth = known.get(&key(spec, topic)).copied();
                self.observer.metrics().set_dead_letter_depth(&spec.name, label, &topic.to_string(), depth);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(usize, Topic), u64>> {
        // What is guarded is replaced whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(route: &RouteSpec, topic: &Topic) -> (usize, Topic) {
    (Arc::as_ptr(&route.broker).cast::<()>().addr(), topic.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::memory::MemoryBroker;
    use crate::handler::Call;
    use crate::handler::closure::handler_fn;
    use crate::handler_error::HandlerError;
    use crate::host::{Host, HostSpec, HostedRoute};
    use crate::message::Message;
    use crate::route::RouteWork;

    async fn host(broker: &MemoryBroker) -> Host {
        let handler = Arc::new(handler_fn(|_: Call| async { Ok::<(), HandlerError>(()) }));
        let work = RouteWork::Handle { handler, timeout: Duration::from_secs(10) };
        let mut route = RouteSpec::new("orders", "orders", Arc::new(broker.clone()), work);
        route.dead_letters.insert("default".to_owned(), "orders.dlq".into());
        let spec = HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() };
        Host::start(spec).await.unwrap()
    }

    fn metric(host: &Host) -> Option<String> {
        let metrics = host.observer().metrics().encode();
        metrics.lines().find(|line| line.starts_with("reprieve_dead_letter_depth{")).map(str::to_owned)
    }

    #[tokio::test(start_paused = true)]
    async fn the_depth_of_each_label_is_a_metric_and_is_in_the_status() {
        let broker = MemoryBroker::default();
        let host = host(&broker).await;
        host.ready().await;
        broker.publish_to("orders.dlq", Message::new("1")).unwrap();
        tokio::time::sleep(INTERVAL * 2).await;
        let expected = "reprieve_dead_letter_depth{route=\"orders\",label=\"default\",topic=\"orders.dlq\"} 1";
        assert_eq!(metric(&host).as_deref(), Some(expected));
        let shown = host.depths.of_route(host.routes()[0].spec());
        assert_eq!(shown, json!([{ "label": "default", "topic": "orders.dlq", "depth": 1 }]));
        host.shutdown().await;
    }

    #[tokio::test]
    async fn a_depth_that_is_not_known_any_more_is_not_shown() {
        let broker = MemoryBroker::default();
        let host = host(&broker).await;
        host.ready().await;
        host.depths.ask().await;
        assert!(metric(&host).is_some());
        host.depths.lock().clear();
        host.depths.publish();
        assert_eq!(metric(&host), None);
        host.shutdown().await;
    }
}
