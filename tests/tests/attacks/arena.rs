//! A host with routes that are attacked, and one that is not: the witness.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reprieve::broker::memory::MemoryBroker;
use reprieve::delivery::Doubling;
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::message::Message;
use reprieve::policy::candidate::CandidatePlan;
use reprieve::policy::engine::EngineLimits;
use reprieve::policy::registry::PolicySettings;
use reprieve::route::{RouteSpec, RouteWork};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const WITNESS: &str = "witness";

/// A route whose policy attacks. The policy's file has the route's name.
pub(crate) struct Attacked {
    pub(crate) route: &'static str,
    pub(crate) policy: Vec<u8>,
    pub(crate) settings: Value,
}

pub(crate) struct Arena {
    place: TempDir,
    pub(crate) broker: MemoryBroker,
    pub(crate) host: Host,
    turns: AtomicUsize,
}

impl Arena {
    pub(crate) async fn open(attacked: Vec<Attacked>) -> Self {
        Self::open_with(attacked, CandidatePlan::default()).await
    }

    /// The same with a plan for the candidates of the attacked routes.
    pub(crate) async fn open_with(attacked: Vec<Attacked>, candidate: CandidatePlan) -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("policies")).unwrap();
        let broker = MemoryBroker::default();
        let mut routes =
            vec![HostedRoute { settings: witness_settings(), ..HostedRoute::new(route(WITNESS, &broker)) }];
        for Attacked { route: name, policy, settings } in attacked {
            install(place.path(), name, &policy);
            routes.push(HostedRoute {
                policy: Some(name.to_owned()),
                settings,
                candidate: candidate.clone(),
                ..HostedRoute::new(route(name, &broker))
            });
        }
        let host = Host::start(HostSpec {
            routes,
            policies: PolicySettings {
                folder: Some(place.path().join("policies")),
                state: Some(place.path().join("state")),
                debounce: Duration::from_millis(20),
                ..PolicySettings::default()
            },
            limits: EngineLimits {
                // Only an endless loop misses them, however busy the machine is.
                deadline: Duration::from_millis(200),
                configure_deadline: Duration::from_secs(1),
                threads: 4,
                ..EngineLimits::default()
            },
            ..HostSpec::default()
        })
        .await
        .unwrap();
        tokio::time::timeout(Duration::from_secs(60), host.ready())
            .await
            .unwrap_or_else(|_| panic!("every route has a policy: {:#?}", host.policies().status().routes));
        Self { place, broker, host, turns: AtomicUsize::new(0) }
    }

    /// Puts a file in the place of a route's policy, as it should be done.
    pub(crate) fn install(&self, route: &str, policy: &[u8]) {
        install(self.place.path(), route, policy);
    }

    /// The number of the next turn, for ids that are not used twice.
    pub(crate) fn next_turn(&self) -> usize {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a message that fails with this kind of error, and with the kind `count` if it is tried again.
    pub(crate) fn send(&self, route: &str, id: &str, kind: &str) {
        let mut message = Message::new("body").with_id(id).with_header("kind", kind);
        if route != WITNESS {
            message = message.with_header("then", "count");
        }
        self.broker.publish_to(route, message).unwrap();
    }

    pub(crate) async fn close(self) {
        self.host.shutdown().await;
    }
}

fn install(place: &Path, name: &str, policy: &[u8]) {
    let temporary = place.join("next");
    std::fs::write(&temporary, policy).unwrap();
    std::fs::rename(temporary, place.join(format!("policies/{name}.wasm"))).unwrap();
}

fn route(name: &str, broker: &MemoryBroker) -> RouteSpec {
    let handler = handler_fn(|call: Call| async move {
        let headers = &call.message.headers;
        let then = headers.text("then").filter(|_| call.attempt > 1);
        Err::<(), _>(HandlerError::new(then.or(headers.text("kind")).unwrap_or_default(), "told to fail"))
    });
    let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(60) };
    let mut route = RouteSpec::new(name, name, Arc::new(broker.clone()), work);
    route.dead_letters.insert("default".to_owned(), format!("{name}.dlq").as_str().into());
    route.dead_letters.insert("invalid".to_owned(), format!("{name}.invalid").as_str().into());
    route.requeue = Doubling { initial: Duration::from_millis(1), max: Duration::from_millis(20) };
    route
}

/// Retries twice, but not what is invalid, which has a topic of its own.
fn witness_settings() -> Value {
    json!({
        "retry": { "max_attempts": 3, "initial_delay": "1ms" },
        "rules": [{ "kinds": ["invalid"], "retry": { "max_attempts": 1 }, "exhausted": { "dead-letter-to": "invalid" } }],
    })
}
