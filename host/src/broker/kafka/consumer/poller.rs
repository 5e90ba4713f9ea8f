//! The thread of one consumer. It alone talks to the client library, and never waits for the route: so the group never takes
//! the host for dead, whatever its handlers do (rule 12).
//!
//! Each partition has a queue of its own in the library, and is read only while there is room for its records; what is not
//! read the library keeps, up to its bounds.
//!
//! * `rebalance`: partitions come and go. `commits`: what is decided is told to the broker.
//! * `reading`: one partition's records. `tier`: when a record of a tier is due.

mod commits;
mod reading;
mod rebalance;
mod tier;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use self::commits::Commits;
use self::reading::{Reading, Stop};
use self::tier::Prober;
use super::Plans;
use super::context::{Context, Event};
use super::settler::Out;
use super::shared::Shared;
use super::window::Limits;
use crate::broker::kafka::publisher::Publisher;

/// The poller looks around at least this often, so that the library sees that it lives and no wake-up that is missed does harm.
const LONGEST_REST: Duration = Duration::from_millis(500);

/// What the last commit may take, at the end.
const LAST_COMMIT: Duration = Duration::from_millis(1500);

/// What is said of a connection that fails is said again after this time at the earliest.
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// Everything that the thread owns.
pub(super) struct Poller {
    consumer: Arc<BaseConsumer<Context>>,
    shared: Arc<Shared>,
    plans: Plans,
    limits: Limits,
    /// By topic and partition.
    readings: HashMap<(Arc<str>, i32), Reading>,
    /// The partition that is read first; each in its turn.
    turn: usize,
    records: mpsc::Sender<Out>,
    commits: Commits,
    prober: Prober,
    publisher: Arc<Publisher>,
    runtime: Handle,
    warned: Option<Instant>,
    /// A topic does not exist any more. Another may stand in its place soon, and must not be given the position on this one.
    is_topic_gone: bool,
}

impl Poller {
    pub(super) fn new(
        consumer: Arc<BaseConsumer<Context>>,
        shared: Arc<Shared>,
        plans: Plans,
        limits: Limits,
        records: mpsc::Sender<Out>,
        publisher: Arc<Publisher>,
    ) -> io::Result<Self> {
        let prober = Prober::new(plans.producer.clone());
        let commits = Commits::start(Arc::clone(&consumer), Arc::clone(&shared))?;
        Ok(Self {
            consumer,
            shared,
            plans,
            limits,
            readings: HashMap::new(),
            turn: 0,
            records,
            commits,
            prober,
            publisher,
            runtime: Handle::current(),
            warned: None,
            is_topic_gone: false,
        })
    }

    /// Runs until the consumer is closed or cannot go on. Says why it cannot.
    pub(super) fn run(&mut self) -> Result<(), String> {
        self.shared.poller_is(&thread::current());
        let mut looks_everywhere = true;
        while !self.shared.is_closing() {
            self.serve()?;
            let (goes_on, wait) = self.read(looks_everywhere)?;
            self.commit()?;
            if goes_on {
                looks_everywhere = false;
                continue;
            }
            let rest = wait.min(self.commits.rest()).min(LONGEST_REST);
            let begin = Instant::now();
            thread::park_timeout(rest);
            looks_everywhere = begin.elapsed() >= rest;
        }
        Ok(())
    }

    /// Ends every assignment, tells the broker what was decided, and leaves the group.
    pub(super) fn leave(mut self) {
        let left: Vec<_> = self.readings.drain().map(|(_, reading)| reading).collect();
        let partitions: Vec<_> = left.iter().map(|reading| Arc::clone(&reading.partition)).collect();
        // First, so that the commit has all that was settled in time.
        partitions.iter().for_each(|partition| partition.end());
        if !self.is_topic_gone {
            self.commit_last(&partitions, LAST_COMMIT);
        }
        left.into_iter().for_each(|reading| self.forget(reading));
        self.consumer.context().leave();
        // Every event that the library waits for is dealt with from here on by the context.
        for event in self.consumer.context().take_events() {
            let answer = match event {
                Event::Assigned(partitions) => super::context::assign(&self.consumer, &partitions),
                Event::Revoked { partitions, .. } => super::context::unassign(&self.consumer, &partitions),
            };
            if let Err(error) = answer {
                debug!(%error, "partitions could not be let go of at the end");
            }
        }
        self.commits.end();
        // What is left is the last handle on the consumer: its end leaves the group.
    }

    /// Deals with what the library tells.
    fn serve(&mut self) -> Result<(), String> {
        loop {
            match self.consumer.poll(Duration::ZERO) {
                None => {}
                Some(Ok(record)) => {
                    use rdkafka::Message as _;
                    let (topic, partition) = (record.topic(), record.partition());
                    return Err(format!("a record of {topic}, partition {partition}, came outside of its queue"));
                }
                Some(Err(error)) => {
                    self.sort_out(&error)?;
                    continue;
                }
            }
            let events = self.consumer.context().take_events();
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                self.take(event)?;
            }
        }
    }

    fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Assigned(partitions) => self.assigned(partitions),
            Event::Revoked { partitions, lost } => self.revoked(&partitions, lost),
        }
    }

    /// Reads where there are records and room. Says whether there may be more at once, else how long to wait if nothing
    /// happens.
    fn read(&mut self, looks_everywhere: bool) -> Result<(bool, Duration), String> {
        let (mut goes_on, mut wait) = (false, LONGEST_REST);
        if self.shared.is_stopped() {
            return Ok((goes_on, wait));
        }
        let count = self.readings.len();
        self.turn = self.turn.wrapping_add(1);
        let turn = self.turn.checked_rem(count).unwrap_or_default();
        let mut problem = None;
        let Self { plans, readings, records, shared, publisher, prober, runtime, .. } = self;
        let mut all: Vec<&mut Reading> = readings.values_mut().collect();
        all.rotate_left(turn);
        for reading in all {
            if !reading.wants_look(looks_everywhere) {
                wait = wait.min(reading.wait());
                continue;
            }
            let around = reading::Around { due_header: &plans.due_header, records, shared, publisher, prober, runtime };
            match reading.read(&around) {
                Ok(Stop::Later) => goes_on = true,
                Ok(Stop::Empty | Stop::NoRoomInWindow) => {}
                Ok(Stop::NotDue) => wait = wait.min(reading.wait()),
                Ok(Stop::NoRoomOutside) => {
                    // Looked at again, lest the room came between the look and the wish.
                    shared.want_room();
                    goes_on |= records.capacity() > 0;
                }
                Err(error) => {
                    problem = Some(error);
                    break;
                }
            }
        }
        match problem {
            None => Ok((goes_on, wait)),
            Some(reading::Problem::Broken(reason)) => Err(reason),
            Some(reading::Problem::Library(error)) => self.sort_out(&error).map(|()| (true, wait)),
        }
    }

    /// Goes on after what the library mends by itself, and ends the consumer after the rest: a record that it skipped would
    /// count as decided.
    fn sort_out(&mut self, error: &KafkaError) -> Result<(), String> {
        let code = error.rdkafka_error_code();
        let mends = matches!(
            code,
            Some(
                Code::BrokerTransportFailure
                    | Code::AllBrokersDown
                    | Code::Resolve
                    | Code::OperationTimedOut
                    | Code::BrokerNotAvailable
                    | Code::LeaderNotAvailable
                    | Code::NotLeaderForPartition
                    | Code::CoordinatorNotAvailable
                    | Code::CoordinatorLoadInProgress
                    | Code::NotCoordinator
                    | Code::NodeUpdate
                    | Code::PollExceeded
                    | Code::PartitionEOF
                    | Code::RequestTimedOut
                    | Code::NetworkException
                    | Code::Authentication
                    | Code::SSL
            )
        );
        self.is_topic_gone |=
            matches!(code, Some(Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition));
        if !mends || matches!(error, KafkaError::MessageConsumptionFatal(_)) {
            return Err(error.to_string());
        }
        if self.warned.is_none_or(|at| at.elapsed() >= SAY_AGAIN) {
            self.warned = Some(Instant::now());
            warn!(source = %self.plans.source, %error, "the broker is not reached now; it is tried again");
        }
        Ok(())
    }
}
