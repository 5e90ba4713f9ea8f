//! Tells the broker what is decided: the contiguous position alone (rule 14), until it is confirmed or the assignment has ended
//! (rule 15). One commit at a time, so that none arrives behind a later one.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};
use tracing::{debug, warn};

use super::Poller;
use crate::broker::kafka::consumer::context::Event;
use crate::broker::kafka::consumer::partition::Partition;
use crate::broker::kafka::consumer::progress::Progress;

/// Where nothing presses.
const INTERVAL: Duration = Duration::from_secs(1);

/// A commit that follows another one so soon shows that hand-outs are held up by commits.
const HURRIED: Duration = Duration::from_millis(100);

/// After a commit that failed.
const BACK_OFF: Duration = Duration::from_millis(500);

/// The library answers each commit. Where it does not, another one is made.
const NO_ANSWER: Duration = Duration::from_secs(60);

type Answer = KafkaResult<Vec<(String, i32, KafkaResult<()>)>>;

/// The commit under way, and when the next one may be.
pub(super) struct Commits {
    in_flight: Option<(Vec<(Arc<Partition>, Progress)>, Instant)>,
    last: Instant,
    /// Not before then.
    held_until: Option<Instant>,
    /// Commits have failed since the last that did not.
    failing: bool,
    /// The broker does not take as much text.
    brief: bool,
}

impl Default for Commits {
    fn default() -> Self {
        Self { in_flight: None, last: Instant::now(), held_until: None, failing: false, brief: false }
    }
}

impl Commits {
    /// How long until the next commit, where nothing presses.
    pub(super) fn rest(&self) -> Duration {
        match (&self.in_flight, self.held_until) {
            (Some(_), _) => INTERVAL,
            (None, Some(until)) => until.saturating_duration_since(Instant::now()),
            (None, None) => INTERVAL.saturating_sub(self.last.elapsed()).max(Duration::from_millis(1)),
        }
    }

    fn may_begin(&mut self) -> bool {
        if self.in_flight.as_ref().is_some_and(|(_, since)| since.elapsed() > NO_ANSWER) {
            self.in_flight = None;
            warn!("a commit got no answer; it is made again");
        }
        if self.held_until.is_some_and(|until| until <= Instant::now()) {
            self.held_until = None;
        }
        self.in_flight.is_none() && self.held_until.is_none()
    }

    /// What the broker says of the commit under way.
    ///
    /// # Errors
    /// It will never take one.
    pub(super) fn answered(&mut self, answer: Answer) -> Result<(), String> {
        let Some((sent, _)) = self.in_flight.take() else { return Ok(()) };
        let answers = match answer {
            Ok(answers) => answers,
            Err(error) => return self.failed(&error),
        };
        let mut worst = None;
        for (partition, progress) in sent {
            let place = &partition.place;
            let its = answers.iter().find(|(topic, number, _)| **topic == *place.topic && *number == place.partition);
            match its {
                Some((_, _, Ok(()))) => partition.confirm(progress),
                Some((_, _, Err(error))) => worst = Some(error.clone()),
                None => debug!(topic = %place.topic, partition = place.partition, "a commit was not answered for it"),
            }
        }
        if let Some(error) = worst {
            return self.failed(&error);
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
        if self.commits.in_flight.take().is_some() {
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
        match self.consumer.commit(&list, CommitMode::Async) {
            Ok(()) => {
                self.commits.in_flight = Some((all, Instant::now()));
                Ok(())
            }
            Err(error) => self.commits.failed(&error),
        }
    }

    /// Polls for the answer to the commit under way. What else is told is kept for later.
    fn wait_for_answer(&mut self, deadline: Instant) {
        let mut kept = Vec::new();
        while self.commits.in_flight.is_some() && Instant::now() < deadline {
            if let Some(Err(error)) = self.consumer.poll(Duration::ZERO) {
                debug!(%error, "while the answer to a commit was awaited");
            }
            for event in self.consumer.context().take_events() {
                match event {
                    Event::Committed(answer) => {
                        if let Err(reason) = self.commits.answered(answer) {
                            warn!(reason, "a last commit was refused");
                        }
                    }
                    other => kept.push(other),
                }
            }
            if self.commits.in_flight.is_some() {
                thread::park_timeout(Duration::from_millis(20));
            }
        }
        self.consumer.context().put_back(kept);
    }
}
