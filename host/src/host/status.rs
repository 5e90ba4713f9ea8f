//! What the admin listener shows of a host.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::DeadLetterDepths;
use crate::admin::{NotReady, StatusSource};
use crate::delivery::Pause;
use crate::journal::Journal;
use crate::policy::registry::{CandidateAction, Policies};
use crate::route::{Phase, Route};

/// A view of a host's routes and policies. It does not keep the host running.
pub struct HostStatus {
    routes: Vec<Arc<Route>>,
    /// One for each route.
    broker_names: Vec<String>,
    policies: Policies,
    depths: Arc<DeadLetterDepths>,
    journal: Option<Journal>,
}

impl HostStatus {
    pub(super) fn new(
        routes: Vec<Arc<Route>>,
        broker_names: Vec<String>,
        policies: Policies,
        depths: Arc<DeadLetterDepths>,
        journal: Option<Journal>,
    ) -> Self {
        Self { routes, broker_names, policies, depths, journal }
    }

    /// How many routes the host has.
    #[must_use]
    pub fn routes(&self) -> usize {
        self.routes.len()
    }
}

fn paused(pause: &Pause) -> String {
    let Pause { outage, until, why } = pause;
    let cause = if *outage { "outcomes cannot be published" } else { "its policy asked for it" };
    format!("intake is paused until {until}, because {cause}: {why}")
}

fn pause(pause: &Pause) -> Value {
    let because = if pause.outage { "outage" } else { "policy" };
    json!({ "because": because, "until": pause.until.to_string(), "why": pause.why })
}

impl StatusSource for HostStatus {
    fn not_ready(&self) -> Vec<NotReady> {
        let policies = self.policies.status();
        let no_policy = |name: &str| {
            let error =
                policies.routes.iter().find(|route| route.route == name).and_then(|route| route.last_error.as_ref());
            error.map_or_else(|| "its policy is being loaded".to_owned(), |error| format!("no policy: {}", error.text))
        };
        let reason = |name: &str, phase: Phase, pauses: &[Pause]| match phase {
            Phase::Consuming { .. } => pauses.first().map(paused),
            Phase::WaitingForPolicy => Some(no_policy(name)),
            Phase::Connecting { error: None } => Some("connecting to its broker".to_owned()),
            Phase::Connecting { error: Some(error) } => Some(error),
            Phase::Draining => Some("shutting down".to_owned()),
            Phase::Stopped => Some("stopped".to_owned()),
        };
        let not_ready = |route: &Arc<Route>| {
            let name = &route.spec().name;
            Some(NotReady { route: name.to_string(), reason: reason(name, route.state().get().0, &route.pauses())? })
        };
        self.routes.iter().filter_map(not_ready).collect()
    }

    fn steer(&self, route: String, action: CandidateAction) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move { self.policies.steer(&route, action).await })
    }

    fn status(&self) -> Map<String, Value> {
        let routes = self.routes.iter().zip(&self.broker_names).map(|(route, broker)| {
            let (phase, since) = route.state().get();
            let spec = route.spec();
            json!({
                "route": spec.name,
                "source": spec.source,
                "broker": broker,
                "broker_kind": spec.broker.capabilities().kind,
                "concurrency": spec.concurrency,
                "phase": phase,
                "since": since.to_string(),
                "intake_paused": route.pauses().iter().map(pause).collect::<Vec<_>>(),
                "dead_letters": self.depths.of_route(spec),
            })
        });
        let mut status = Map::new();
        status.insert("routes".to_owned(), routes.collect());
        status.insert("policies".to_owned(), json!(self.policies.status()));
        if let Some(journal) = &self.journal {
            status.insert("journal".to_owned(), json!({ "file": journal.file(), "trouble": journal.trouble() }));
        }
        status
    }
}
