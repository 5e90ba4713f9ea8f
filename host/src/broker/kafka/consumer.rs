//! Consumes one route's source and the topics of its tiers, in one group.
//!
//! * `poller`: the thread that reads, commits and rebalances. `context`: what the client library tells it.
//! * `partition`: one assignment of one partition. `window`: which of its records are out, and how far a commit may go.
//!   `progress`: what a commit says beside that.
//! * `settler`: a record that is out. `remembered`: what was decided on partitions that have left.
//! * `broker_clock`: when records of tiers are due. `read_ahead`: how much is read ahead.
//! * `shared`: what all of these share.

mod broker_clock;
mod context;
mod partition;
mod poller;
mod progress;
mod read_ahead;
mod remembered;
mod settler;
mod shared;
#[cfg(test)]
mod tests;
mod window;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::{ClientConfig, Offset};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::error;

use self::context::Context;
use self::poller::Poller;
pub(super) use self::read_ahead::{bound_read_ahead, partitions};
pub(super) use self::remembered::Remembered;
use self::settler::Out;
use self::shared::Shared;
use self::window::Limits;
use super::cluster::unfit_settings;
use super::publisher::Publisher;
use super::{KafkaSettings, group, tiers};
use crate::broker::{BrokerError, Consumer, Delivery, Plan};

/// Records that are read ahead of those that were taken, at least.
const READ_AHEAD: usize = 128;

/// How long leaving the group may take before it goes on alone.
const LONGEST_CLOSE: Duration = Duration::from_secs(5);

/// What the poller reads.
struct Plans {
    source: Arc<str>,
    group: Arc<str>,
    topics: Vec<TopicPlan>,
    /// See [`Plan::due_header`].
    due_header: String,
    /// For the records that ask brokers for their time.
    producer: ClientConfig,
}

/// One topic that is read.
struct TopicPlan {
    topic: Arc<str>,
    /// How long its records wait, where it is a tier's.
    delay: Option<Duration>,
    /// Where a partition begins that the group has committed nothing of.
    begin: Offset,
}

/// One consumer of one source.
pub(super) struct KafkaConsumer {
    source: Arc<str>,
    shared: Arc<Shared>,
    /// As many as may be unsettled.
    permits: Arc<Semaphore>,
    records: mpsc::Receiver<Out>,
    given_back: mpsc::UnboundedReceiver<Out>,
}

impl KafkaConsumer {
    /// Joins the group. Records come once it has assigned partitions here.
    ///
    /// # Errors
    /// The library does not take the settings, or cannot start.
    pub(super) fn start(
        settings: &KafkaSettings,
        plan: &Plan,
        prefetch: u16,
        remembered: Arc<Remembered>,
        publisher: Arc<Publisher>,
    ) -> Result<Self, BrokerError> {
        let lost = |reason: String| BrokerError::Lost { source_topic: plan.source.clone(), reason };
        let group = group::of_route(plan);
        let (config, begin) = config(settings, &group);
        let mut consumer: BaseConsumer<Context> = config
            .create_with_context(Context::new(&settings.name))
            .map_err(|error| unfit_settings(&settings.name, &error))?;
        let (shared, given_back) = Shared::new(remembered);
        consumer.set_nonempty_callback({
            let shared = Arc::clone(&shared);
            move || shared.wake()
        });
        let plans = Plans {
            source: plan.source.as_str().into(),
            group: group.into(),
            topics: topics(plan, begin),
            due_header: plan.due_header.clone(),
            producer: settings.producer_config(),
        };
        let names: Vec<&str> = plans.topics.iter().map(|topic| &*topic.topic).collect();
        consumer.subscribe(&names).map_err(|error| lost(error.to_string()))?;
        let prefetch = prefetch.max(1);
        let limits = Limits { widest: settings.window.into(), narrowest: 2 * i64::from(prefetch) };
        let (sender, records) = mpsc::channel(READ_AHEAD.max(usize::from(prefetch)));
        let source = Arc::clone(&plans.source);
        let poller = Poller::new(Arc::new(consumer), Arc::clone(&shared), plans, limits, sender, publisher)
            .map_err(|error| lost(format!("no thread to commit in: {error}")))?;
        let thread = thread::Builder::new().name(format!("kafka {}", plan.route));
        let spawned = thread.spawn({
            let shared = Arc::clone(&shared);
            move || live(poller, &shared)
        });
        spawned.map_err(|error| lost(format!("no thread to poll in: {error}")))?;
        let permits = Arc::new(Semaphore::new(prefetch.into()));
        Ok(Self { source, shared, permits, records, given_back })
    }

    /// Ends the consumer from elsewhere.
    pub(super) fn end(&self) -> End {
        End(Arc::downgrade(&self.shared))
    }

    fn ended(&self) -> BrokerError {
        BrokerError::Lost { source_topic: self.source.to_string(), reason: self.shared.reason() }
    }

    /// The next record that nobody has seen, once one more may be unsettled. Dropping the future loses none.
    async fn fresh(permits: &Arc<Semaphore>, records: &mut mpsc::Receiver<Out>, shared: &Shared) -> Option<Out> {
        let permit = Arc::clone(permits).acquire_owned().await.ok()?;
        let out = records.recv().await?;
        if records.len() < records.max_capacity() / 2 {
            shared.has_room();
        }
        Some(Out { permit: Some(permit), ..out })
    }
}

/// The life of the poller's thread.
fn live(mut poller: Poller, shared: &Arc<Shared>) {
    // A panic, in the library's callbacks or in what is made of a record, must not leave the route waiting for ever.
    let result = catch_unwind(AssertUnwindSafe(|| poller.run()))
        .unwrap_or_else(|_| Err("a panic while it was polled; the log has it".to_owned()));
    if let Err(reason) = result {
        shared.end(reason);
    }
    if catch_unwind(AssertUnwindSafe(|| poller.leave())).is_err() {
        error!("a panic while a consumer left its group");
    }
    shared.end("it was closed".to_owned());
    shared.left.cancel();
}

/// What the library goes by, and where a partition of the source begins that the group has committed nothing of.
fn config(settings: &KafkaSettings, group: &str) -> (ClientConfig, Offset) {
    let mut config = settings.client_config();
    let mut default = |name: &str, value: &str| {
        if !settings.client.contains_key(name) {
            config.set(name, value);
        }
    };
    // Partitions stay where they are while others come and go.
    default("partition.assignment.strategy", "cooperative-sticky");
    default("queued.min.messages", "10000");
    // A second as by the library's own default would be waited each time that what is read ahead is used up.
    default("fetch.queue.backoff.ms", "10");
    let begin = match settings.client.get("auto.offset.reset").map(String::as_str) {
        Some("latest" | "largest" | "end") => Offset::End,
        Some("error") => Offset::Stored,
        _ => Offset::Beginning,
    };
    // Where the log is not there any more that was committed, nothing of what is there is skipped.
    if begin != Offset::Stored {
        config.set("auto.offset.reset", "earliest");
    }
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("enable.partition.eof", "false")
        .set("allow.auto.create.topics", "false");
    (config, begin)
}

fn topics(plan: &Plan, begin: Offset) -> Vec<TopicPlan> {
    let source = TopicPlan { topic: plan.source.as_str().into(), delay: None, begin };
    let tiers = plan.tiers.iter().map(|tier| TopicPlan {
        topic: tiers::topic(&plan.route, tier).into(),
        delay: Some(tier.delay),
        begin: Offset::Beginning,
    });
    std::iter::once(source).chain(tiers).collect()
}

#[async_trait]
impl Consumer for KafkaConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        loop {
            if self.shared.is_stopped() || self.shared.lost.is_cancelled() {
                return Err(self.ended());
            }
            let Self { permits, records, given_back, shared, .. } = self;
            let out = tokio::select! {
                biased;
                Some(out) = given_back.recv() => out,
                // Those that are lost may keep every permit for as long as their handlers run.
                () = shared.lost.cancelled() => return Err(self.ended()),
                fresh = Self::fresh(permits, records, shared) => match fresh {
                    Some(out) => out,
                    None => return Err(self.ended()),
                },
            };
            if !out.partition.lost.is_cancelled() {
                return Ok(out.delivery(&self.shared));
            }
        }
    }

    fn given_back(&mut self) -> Option<Delivery> {
        while let Ok(out) = self.given_back.try_recv() {
            if !out.partition.lost.is_cancelled() {
                return Some(out.delivery(&self.shared));
            }
        }
        None
    }

    fn lost(&self) -> CancellationToken {
        self.shared.lost.clone()
    }

    async fn stop(&mut self) {
        self.shared.stop();
    }

    async fn close(&mut self) {
        leave(&self.shared, &self.source).await;
    }
}

/// Ends a consumer that somebody else has.
pub(super) struct End(Weak<Shared>);

impl End {
    pub(super) fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Leaves the group. What is unsettled is the broker's again.
    pub(super) async fn leave(self, broker: &str) {
        if let Some(shared) = self.0.upgrade() {
            leave(&shared, broker).await;
        }
    }
}

async fn leave(shared: &Shared, of: &str) {
    shared.close();
    if timeout(LONGEST_CLOSE, shared.left.cancelled()).await.is_err() {
        tracing::warn!(of, "leaving the group takes long; it goes on alone");
    }
}

impl Drop for KafkaConsumer {
    fn drop(&mut self) {
        self.shared.close();
    }
}
