//! Tells the broker what is decided: the contiguous position alone (rule 14), until it is confirmed or the assignment has ended
//! (rule 15). One commit at a time, so that none arrives behind a later one.

use std::io;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};
use tracing::{debug, warn};

use super::Poller;
use crate::broker::kafka::consumer::context::Context;
use crate::broker::kafka::consumer::partition::Partition;
use crate::broker::kafka::consumer::progress::Progress;
use crate::broker::kafka::consumer::shared::Shared;

/// Where nothing presses.
const INTERVAL: Duration = Duration::from_secs(1);

/// A commit that follows another one so soon shows that hand-outs are held up by commits.
const HURRIED: Duration = Duration::from_millis(100);

/// After a commit that failed.
const BACK_OFF: Duration = Duration::from_millis(500);

/// Commits, one after the other, on a thread of its own: the library answers only who waits, and the poller must not.
struct Committer {
    jobs: mpsc::Sender<(u64, TopicPartitionList)>,
    answers: mpsc::Receiver<(u64, KafkaResult<()>)>,
    thread: thread::JoinHandle<()>,
}

impl Committer {
    fn start(consumer: Arc<BaseConsumer<Context>>, shared: Arc<Shared>) -> io::Result<Self> {
        let (jobs, todo) = mpsc::channel::<(u64, TopicPartitionList)>();
        let (answer, answers) = mpsc::channel();
        let thread = thread::Builder::new().name("kafka commits".to_owned()).spawn(move || {
            for (number, list) in todo {
                if answer.send((number, consumer.commit(&list, CommitMode::Sync))).is_err() {
                    break;
                }
                shared.wake();
            }
        })?;
        Ok(Self { jobs, answers, thread })
    }
}

/// A commit under way.
struct InFlight {
    number: u64,
    what: Vec<(Arc<Partition>, Progress)>,
}

/// The commit under way, and when the next one may be.
pub(super) struct Commits {
    committer: Committer,
    in_flight: Option<InFlight>,
    made: u64,
    last: Instant,
    /// Not before then.
    held_until: Option<Instant>,
    /// Commits have failed since the last that did not.
    failing: bool,
    /// The broker does not take as much text.
    brief: bool,
}

impl Commits {
    /// Starts the thread that commits.
    pub(super) fn start(consumer: Arc<BaseConsumer<Context>>, shared: Arc<Shared>) -> io::Result<Self> {
        let committer = Committer::start(consumer, shared)?;
        let (in_flight, held_until) = (None, None);
        Ok(Self { committer, in_flight, made: 0, last: Instant::now(), held_until, failing: false, brief: false })
    }

    /// Ends the thread, and returns once it has let go of the consumer; one that waits for an answer is left alone.
    pub(super) fn end(self) {
        let Self { committer: Committer { jobs, thread, .. }, in_flight, .. } = self;
        drop(jobs);
        if in_flight.is_none() && thread.join().is_err() {
            warn!("the thread that commits has panicked");
        }
    }

    /// How long until the next commit, where nothing presses.
    pub(super) fn rest(&self) -> Duration {
        match (&self.in_flight, self.held_until) {
            (Some(_), _) => INTERVAL,
            (None, Some(until)) => until.saturating_duration_since(Instant::now()),
            (None, None) => INTERVAL.saturating_sub(self.last.elapsed()).max(Duration::from_millis(1)),
        }
    }

    fn may_begin(&mut self) -> bool {
        if self.held_until.is_some_and(|until| until <= Instant::now()) {
            self.held_until = None;
        }
        self.in_flight.is_none() && self.held_until.is_none()
    }

    /// What the broker says of the commit under way, once it says so.
    ///
    /// # Errors
    /// It will never take one.
    pub(super) fn take_answer(&mut self) -> Result<(), String> {
        match self.committer.answers.try_recv() {
            Ok((number, answer)) => self.answered(number, answer),
            Err(mpsc::TryRecvError::Empty) => Ok(()),
            Err(mpsc::TryRecvError::Disconnected) => {
                Err("the thread that commits has ended; the log has why".to_owned())
            }
        }
    }

    /// An error concerns one of the partitions at least, and all are committed again.
    fn answered(&mut self, number: u64, answer: KafkaResult<()>) -> Result<(), String> {
        // One that was not waited for to its end.
        let Some(InFlight { what, .. }) = self.in_flight.take_if(|in_flight| in_flight.number == number) else {
            return Ok(());
        };
        if let Err(error) = answer {
            return self.failed(&error);
        }
        for (partition, progress) in what {
            partition.confirm(progress);
        }
        if std::mem::take(&mut self.failing) {
            warn!("commits succeed again");
        }
        Ok(())
    }

    fn failed(&mut self, error: &KafkaError) -> Result<(), String> {
        self.held_until = Some(Instant::now() + BACK_OFF);
        match error.rdkafka_error_code() {
            Some(Code::OffsetMetadataTooLarge) if !self.brief => {
                self.brief = true;
                warn!("the broker keeps less text with a commit than usual: starts are not remembered there");
            }
            Some(Code::GroupAuthorizationFailed | Code::TopicAuthorizationFailed) => {
                return Err(format!("cannot commit: {error}"));
            }
            // The group is being balanced; whoever stays in it commits again.
            Some(Code::RebalanceInProgress | Code::IllegalGeneration | Code::UnknownMemberId) => {
                debug!(%error, "a commit fell into a rebalance");
            }
            _ if !std::mem::replace(&mut self.failing, true) => warn!(%error, "a commit failed; it is made again"),
            _ => {}
        }
        Ok(())
    }
}

impl Poller {
    /// Makes a commit where it is time or something presses.
    pub(super) fn commit(&mut self) -> Result<(), String> {
        self.commits.take_answer()?;
        if !self.commits.may_begin() {
            return Ok(());
        }
        let since = self.commits.last.elapsed();
        let partitions = self.readings.values().map(|reading| &reading.partition);
        let presses = |partition: &Arc<Partition>| partition.with(|window| window.wants_commit()).unwrap_or(false);
        if since < INTERVAL && !partitions.clone().any(presses) && !self.shared.take_commit_soon() {
            return Ok(());
        }
        self.commits.last = Instant::now();
        let progress = |partition: &Arc<Partition>| {
            let progress = partition.with(|window| {
                let hurried = since < HURRIED && window.wants_commit();
                window.progress(hurried)
            });
            Some((Arc::clone(partition), progress.flatten()?))
        };
        let all: Vec<_> = partitions.filter_map(progress).collect();
        let brief = self.commits.brief;
        self.send(all, |progress| progress.text(brief))
    }

    /// Tells the broker what was decided on partitions that have ended, as far as it answers in time. Where this host lives on, or
    /// ends in order, nothing that was under way is suspected of having ended it.
    pub(super) fn commit_last(&mut self, partitions: &[Arc<Partition>], longest: Duration) {
        let deadline = Instant::now() + longest;
        self.wait_for_answer(deadline);
        let last = |partition: &Arc<Partition>| {
            let position = partition.with_last(|window| window.position())?;
            let (limit, notes) = (position, 0);
            let progress = Progress { position, limit, under_way: Vec::new(), interruptions: Vec::new(), notes };
            Some((Arc::clone(partition), progress))
        };
        let all: Vec<_> = partitions.iter().filter_map(last).collect();
        if let Err(reason) = self.send(all, |_| Progress::clean_text()) {
            debug!(reason, "the last commit of partitions that end failed");
        }
        self.wait_for_answer(deadline);
        if self.commits.in_flight.is_some() {
            warn!(source = %self.plans.source, "the last commit was not answered in time: some messages may come again");
        }
    }

    fn send(&mut self, all: Vec<(Arc<Partition>, Progress)>, text: impl Fn(&Progress) -> String) -> Result<(), String> {
        if all.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::with_capacity(all.len());
        for (partition, progress) in &all {
            let mut place = list.add_partition(&partition.place.topic, partition.place.partition);
            place.set_offset(Offset::Offset(progress.position)).map_err(|error| error.to_string())?;
            place.set_metadata(text(progress));
        }
        let commits = &mut self.commits;
        commits.made += 1;
        let number = commits.made;
        let sent = commits.committer.jobs.send((number, list));
        sent.map_err(|_| "the thread that commits has ended; the log has why".to_owned())?;
        commits.in_flight = Some(InFlight { number, what: all });
        Ok(())
    }

    /// Waits for the answer to the commit under way.
    fn wait_for_answer(&mut self, deadline: Instant) {
        while self.commits.in_flight.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok((number, answer)) = self.commits.committer.answers.recv_timeout(left) else { return };
            if let Err(reason) = self.commits.answered(number, answer) {
                warn!(reason, "a last commit was refused");
            }
        }
    }
}
