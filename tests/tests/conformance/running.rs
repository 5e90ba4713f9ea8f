//! A route on a stage, with its handler and its judge in the hands of the case.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use reprieve::event::{Event, EventKind};
use reprieve::failure::Failure;
use reprieve::handler::{Call, Handler};
use reprieve::handler_error::HandlerError;
use reprieve::observer::Observer;
use reprieve::route::{Judge, Phase, Route, RouteSpec, RouteWork, Shutdown};
use reprieve::verdict::{Action, Decision, Verdict};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::stage::Stage;
use crate::within;

type Outcome = Result<(), HandlerError>;

/// An attempt that has begun, and goes on until it is answered or the host gives it up.
pub(crate) struct Attempt {
    pub(crate) call: Call,
    answer: oneshot::Sender<Outcome>,
}

impl Attempt {
    pub(crate) fn id(&self) -> &str {
        self.call.message.id.as_deref().expect("every message of a case has an id")
    }

    pub(crate) fn succeed(self) -> Call {
        self.answer.send(Ok(())).expect("the attempt goes on");
        self.call
    }

    pub(crate) fn fail(self) -> Call {
        self.fail_with(HandlerError::new("out-of-stock", "there is nothing left"))
    }

    pub(crate) fn fail_with(self, error: HandlerError) -> Call {
        self.answer.send(Err(error)).expect("the attempt goes on");
        self.call
    }
}

/// Says that an attempt has begun, and ends it as the case says.
struct Asks(mpsc::UnboundedSender<Attempt>);

#[async_trait]
impl Handler for Asks {
    async fn handle(&self, call: &Call) -> Outcome {
        let (answer, answered) = oneshot::channel();
        // A case that has seen enough hears no more of it.
        let _ = self.0.send(Attempt { call: call.clone(), answer });
        answered.await.unwrap_or_else(|_| Err(HandlerError::new("x", "the case does not care")))
    }
}

/// Gives its verdicts in order.
struct Script(Mutex<VecDeque<Action>>);

#[async_trait]
impl Judge for Script {
    async fn decide(&self, _: &Arc<Failure>) -> Decision {
        let action = self.0.lock().unwrap().pop_front().expect("a verdict for each failure");
        Decision { maker: None, result: Ok(Verdict::new(action, "scripted")) }
    }

    async fn ready(&self) {}
}

pub(crate) struct Running {
    attempts: mpsc::UnboundedReceiver<Attempt>,
    events: broadcast::Receiver<Arc<Event>>,
    route: Arc<Route>,
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl Running {
    /// Starts the stage's route, which dead-letters to the stage's topic, and waits until it takes messages.
    pub(crate) async fn start(stage: &Stage, verdicts: &[Action], change: impl FnOnce(&mut RouteSpec)) -> Self {
        let (asked, attempts) = mpsc::unbounded_channel();
        let work = RouteWork::Handle { handler: Arc::new(Asks(asked)), timeout: Duration::from_secs(120) };
        let mut spec = RouteSpec::new(&stage.route, &stage.source, stage.driver(), work);
        spec.group = stage.group();
        spec.dead_letters.insert("default".to_owned(), stage.letters.as_str().into());
        spec.concurrency = 4;
        change(&mut spec);
        let script = Arc::new(Script(Mutex::new(verdicts.iter().cloned().collect())));
        let (observer, shutdown) = (Observer::new(), Shutdown::default());
        let events = observer.subscribe();
        let route = Arc::new(Route::new(spec, script, observer, shutdown.clone()));
        let task = tokio::spawn(Arc::clone(&route).run());
        let running = Self { attempts, events, route, shutdown, task };
        running.wait_for(|phase| matches!(phase, Phase::Consuming { .. })).await;
        running
    }

    /// The next attempt that begins.
    pub(crate) async fn attempt(&mut self) -> Attempt {
        within(self.attempts.recv()).await.expect("the route runs")
    }

    /// For a while no attempt begins.
    pub(crate) async fn assert_no_attempt(&mut self) {
        if let Ok(attempt) = tokio::time::timeout(crate::QUIET, self.attempts.recv()).await {
            panic!("another attempt: {:#?}", attempt.map(|attempt| attempt.call));
        }
    }

    /// The next event of this name; what comes before it is passed over.
    pub(crate) async fn event(&mut self, name: &str) -> EventKind {
        within(async {
            loop {
                let event = self.events.recv().await.expect("few events");
                if event.kind.name() == name {
                    return event.kind.clone();
                }
            }
        })
        .await
    }

    /// What has happened that was not looked at yet.
    pub(crate) fn happened(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.events.try_recv().ok()).map(|event| event.kind.clone()).collect()
    }

    pub(crate) async fn wait_for(&self, wanted: impl FnMut(&Phase) -> bool) {
        within(self.route.state().wait_for(wanted)).await;
    }

    /// Takes no more messages from now on, and says what is left to do.
    pub(crate) async fn drain(&self) {
        self.shutdown.drain.cancel();
        self.wait_for(|phase| matches!(phase, Phase::Draining | Phase::Stopped)).await;
    }

    /// Ends in order, once nothing is in work.
    pub(crate) async fn stop(mut self) {
        self.drain().await;
        within(&mut self.task).await.expect("it ends in order");
        within(self.route.spec().broker.close()).await;
        if let Ok(attempt) = self.attempts.try_recv() {
            panic!("an attempt that the case does not know of: {:#?}", attempt.call);
        }
    }
}
