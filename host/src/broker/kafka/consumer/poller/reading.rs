//! Reads one partition, as far as there is room for its records.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::Message as _;
use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tracing::warn;

use super::tier::{self, Due, Prober, TierClock, forward, is_probe, still_early};
use crate::broker::kafka::consumer::context::Context;
use crate::broker::kafka::consumer::partition::Partition;
use crate::broker::kafka::consumer::remembered::{Past, Place, digest};
use crate::broker::kafka::consumer::settler::Out;
use crate::broker::kafka::consumer::shared::Shared;
use crate::broker::kafka::consumer::window::Taken;
use crate::broker::kafka::publisher::Publisher;
use crate::broker::kafka::{convert, tiers};
use crate::broker::{Earlier, Position};
use crate::message::Message;

/// Records of one partition that are read before it is another one's turn.
const AT_A_TIME: usize = 64;

/// One assigned partition as the poller sees it.
pub(super) struct Reading {
    pub(super) partition: Arc<Partition>,
    source: Arc<str>,
    queue: PartitionQueue<Context>,
    /// The library's queue may have records.
    ready: Arc<AtomicBool>,
    /// The next record, which has found no room yet or is not due.
    in_hand: Option<InHand>,
    /// What this host remembers of the partition, less what was read again.
    pub(super) past: Past,
    /// `None` where its records do not wait.
    clock: Option<Arc<TierClock>>,
    not_before: Option<Instant>,
    /// It was said that the broker's times are missing.
    warned: bool,
}

struct InHand {
    offset: i64,
    appended: rdkafka::Timestamp,
    message: Message,
}

/// Whom a reading hands its records to.
pub(super) struct Around<'p> {
    pub(super) due_header: &'p str,
    pub(super) records: &'p mpsc::Sender<Out>,
    pub(super) shared: &'p Arc<Shared>,
    pub(super) publisher: &'p Arc<Publisher>,
    pub(super) prober: &'p Prober,
    pub(super) runtime: &'p Handle,
}

/// Why a reading has stopped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There may be more, when it is its turn again.
    Later,
    /// The library has no more now.
    Empty,
    /// A commit or an earlier record is waited for.
    NoRoomInWindow,
    /// Nobody has taken what was read before.
    NoRoomOutside,
    /// The next record of the tier is not due.
    NotDue,
}

/// Why a partition cannot be read on.
pub(super) enum Problem {
    Library(KafkaError),
    Broken(String),
}

impl Reading {
    pub(super) fn new(
        partition: Arc<Partition>,
        past: Past,
        mut queue: PartitionQueue<Context>,
        shared: &Arc<Shared>,
        source: Arc<str>,
    ) -> Self {
        let ready = Arc::new(AtomicBool::new(true));
        queue.set_nonempty_callback({
            let (ready, shared) = (Arc::clone(&ready), Arc::clone(shared));
            move || {
                ready.store(true, Ordering::Release);
                shared.wake();
            }
        });
        let clock = partition.delay.map(|_| Arc::default());
        Self { partition, source, queue, ready, in_hand: None, past, clock, not_before: None, warned: false }
    }

    /// Whether something may have come of a look.
    pub(super) fn wants_look(&self, looks_everywhere: bool) -> bool {
        match self.not_before {
            Some(until) => until <= Instant::now() || self.clock.as_ref().is_some_and(|clock| clock.take_news()),
            None => looks_everywhere || self.in_hand.is_some() || self.ready.load(Ordering::Acquire),
        }
    }

    /// How long until the next record may be due.
    pub(super) fn wait(&self) -> Duration {
        self.not_before.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Hands out what there is room for.
    pub(super) fn read(&mut self, around: &Around<'_>) -> Result<Stop, Problem> {
        self.not_before = None;
        // Before the look, so that what comes during it is seen next time.
        self.ready.store(false, Ordering::Release);
        for _ in 0..AT_A_TIME {
            let next = match self.in_hand.take() {
                Some(next) => next,
                None => match self.poll()? {
                    Some(next) => next,
                    None => return Ok(Stop::Empty),
                },
            };
            if let Some(until) = self.not_due(&next, around) {
                (self.in_hand, self.not_before) = (Some(next), Some(until));
                return Ok(Stop::NotDue);
            }
            if let Some((next, stop)) = self.hand_out(next, around)? {
                self.in_hand = Some(next);
                return Ok(stop);
            }
        }
        self.ready.store(true, Ordering::Release);
        Ok(Stop::Later)
    }

    fn poll(&mut self) -> Result<Option<InHand>, Problem> {
        // Also where an error is in the way of more.
        let record = match self.queue.poll(Duration::ZERO) {
            None => return Ok(None),
            Some(Err(error)) => {
                self.ready.store(true, Ordering::Release);
                return Err(Problem::Library(error));
            }
            Some(Ok(record)) => record,
        };
        Ok(Some(in_hand(&self.partition, &record)))
    }

    /// When to look again, where the record must wait in its tier.
    fn not_due(&mut self, next: &InHand, around: &Around<'_>) -> Option<Instant> {
        let (clock, delay) = (self.clock.as_ref()?, self.partition.delay?);
        if is_probe(&next.message) {
            return None;
        }
        if !self.warned && !matches!(next.appended, rdkafka::Timestamp::LogAppendTime(_)) {
            self.warned = true;
            let Place { topic, partition, .. } = &self.partition.place;
            warn!(%topic, partition, "{}", tier::WITHOUT_BROKER_TIME);
        }
        match clock.due(next.appended, delay, Instant::now()) {
            Due::Now => None,
            Due::At(at) => Some(at),
            Due::AskFirst(at) => {
                around.prober.ask(&self.partition.place, clock, around.shared, around.runtime);
                Some(at)
            }
        }
    }

    /// Puts the record into the window and sends it on; gives it back where there is no room.
    fn hand_out(&mut self, next: InHand, around: &Around<'_>) -> Result<Option<(InHand, Stop)>, Problem> {
        // The room first: a record in the window must come out.
        let Ok(room) = around.records.try_reserve() else { return Ok(Some((next, Stop::NoRoomOutside))) };
        let place = &self.partition.place;
        let (ticket, interrupted) = match self.partition.with(|window| window.take(next.offset)) {
            Some(Taken::Yes { ticket, interrupted }) => (ticket, interrupted),
            Some(Taken::NoRoom) => return Ok(Some((next, Stop::NoRoomInWindow))),
            Some(Taken::Rewound) => {
                self.begin_anew(next.offset, around);
                return Ok(Some((next, Stop::Later)));
            }
            // The last commit says where to begin again: at the first of those records.
            Some(Taken::CutOff) => {
                let (topic, partition, offset) = (&place.topic, place.partition, next.offset);
                return Err(Problem::Broken(format!(
                    "the log of {topic}, partition {partition}, was cut off at {offset}, behind records that are undecided"
                )));
            }
            None => {
                let (topic, partition) = (&place.topic, place.partition);
                return Err(Problem::Broken(format!("{topic}, partition {partition}, is no longer assigned here")));
            }
        };
        let InHand { offset, mut message, .. } = next;
        let is_done = self.past.decided.remove(&offset).is_some_and(|before| before == digest(&message));
        let earlier = match interrupted {
            _ if is_done => Earlier::Done,
            Some(0) => Earlier::InDoubt,
            Some(interruptions) => Earlier::UnderWay { interruptions },
            None => Earlier::Nothing,
        };
        let redelivered = interrupted.is_some() || self.past.seen_below.is_some_and(|below| offset < below);
        let way = match self.clock {
            Some(_) => out_of_tier(&mut message, &self.source, is_done),
            None => Way::Route,
        };
        let out = Out {
            partition: Arc::clone(&self.partition),
            ticket,
            offset,
            message: Arc::new(message),
            redelivered,
            earlier,
            permit: None,
        };
        match way {
            // An assignment that has ended has nothing to decide.
            Way::None => drop(out.decide(around.shared)),
            Way::Elsewhere(topic) => {
                let (publisher, shared) = (Arc::clone(around.publisher), Arc::clone(around.shared));
                let early = still_early(&out, around.due_header);
                around.runtime.spawn(forward(out, topic, early, publisher, shared, around.records.clone()));
            }
            Way::Route => room.send(out),
        }
        Ok(None)
    }

    /// Another log stands in the place of the one that was read: the topic was made anew, or its end was lost. The old position
    /// must not be committed on it, for the records up to there would be skipped.
    fn begin_anew(&mut self, offset: i64, around: &Around<'_>) {
        let Place { topic, partition, .. } = &self.partition.place;
        warn!(%topic, partition, offset, "the log goes on at an offset that was read before: another is read from there on");
        self.partition = Arc::new(self.partition.begin_anew(offset, around.shared.lost.child_token()));
        self.past = Past::default();
    }
}

/// Where a record goes that is due.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Route,
    /// To a topic that is not the route's source.
    Elsewhere(String),
    /// It has done what it is for.
    None,
}

/// The way of a record of a tier. `is_done` says that it was put back, or settled, by an assignment before this one.
fn out_of_tier(message: &mut Message, source: &str, is_done: bool) -> Way {
    if is_probe(message) {
        return Way::None;
    }
    let elsewhere = message.headers.text(tiers::BACK_TO).filter(|to| **to != *source).map(str::to_owned);
    message.headers.retain(|name| name != tiers::BACK_TO);
    match elsewhere {
        Some(_) if is_done => Way::None,
        Some(topic) => Way::Elsewhere(topic),
        None => Way::Route,
    }
}

fn in_hand(partition: &Partition, record: &BorrowedMessage<'_>) -> InHand {
    let place = &partition.place;
    let position = Position {
        topic: Arc::clone(&place.topic),
        partition: place.partition,
        offset: record.offset(),
        group: Arc::clone(&place.group),
    };
    InHand { offset: record.offset(), appended: record.timestamp(), message: convert::message(record, &position) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_another_topic_is_put_back_there_once() {
        let mut waits = Message::new("a").with_header(tiers::BACK_TO, "invoices");
        assert_eq!(out_of_tier(&mut waits.clone(), "orders", false), Way::Elsewhere("invoices".to_owned()));
        assert_eq!(out_of_tier(&mut waits, "orders", true), Way::None, "it is there already");
    }

    #[test]
    fn a_message_of_the_source_comes_out_here_without_the_name_of_it() {
        for is_done in [false, true] {
            let mut message = Message::new("a").with_header(tiers::BACK_TO, "orders").with_header("tenant", "7");
            assert_eq!(out_of_tier(&mut message, "orders", is_done), Way::Route);
            assert_eq!(message, Message { id: message.id.clone(), ..Message::new("a").with_header("tenant", "7") });
        }
    }
}
