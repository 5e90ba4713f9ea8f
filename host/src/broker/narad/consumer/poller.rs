//! Asks one topic for messages, one request at a time, for as long as there is room.

use std::cmp;
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::{Arrived, Forwarder, Shared, Source};
use crate::broker::narad::acks::MOST_HANDLES;
use crate::broker::narad::nodes::{Call, NoReply, Reply};
use crate::broker::narad::record::{Place, Record, records};
use crate::delivery::Doubling;

/// A node waits for a message for so long at most before it says that there is none.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Beyond its wait, a node answers within this.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// Between tries after an answer that is none.
const AGAIN: Doubling = Doubling { initial: Duration::from_millis(100), max: Duration::from_secs(5) };

pub(super) struct Poller {
    pub(super) source: Source,
    /// Where the route's messages belong. Those of a tier that belong elsewhere are sent on.
    pub(super) back_to: Arc<str>,
    pub(super) shared: Arc<Shared>,
    pub(super) arrived: mpsc::UnboundedSender<Arrived>,
    pub(super) forwarder: Arc<Forwarder>,
}

/// What a request led to.
enum Polled {
    Messages(Reply),
    Nothing,
    /// It may be otherwise soon.
    Trouble(String),
    /// It will not.
    Refused(String),
}

impl Poller {
    /// Runs until the consumer ends, or ends it.
    pub(super) async fn run(self) {
        let polling = self.shared.polling.clone();
        let (mut failures, mut well) = (0, Instant::now());
        loop {
            // What nobody has room for stays with the broker. The room itself is given to what has come: other topics need
            // it meanwhile.
            let Some(Ok(room)) = polling.run_until_cancelled(self.shared.room.acquire()).await else { return };
            drop(room);
            let room = self.shared.room.available_permits().clamp(1, MOST_HANDLES).min(self.source.batch);
            let asked = Instant::now();
            let Some(polled) = polling.run_until_cancelled(self.poll(room)).await else { return };
            let trouble = match polled {
                Polled::Messages(reply) => {
                    // A node that answers is there, whatever became of the answer.
                    well = Instant::now();
                    self.take(&reply, asked).await.err()
                }
                Polled::Nothing => None,
                Polled::Trouble(why) => Some(why),
                Polled::Refused(why) => return self.shared.fail(why),
            };
            let Some(why) = trouble else {
                (failures, well) = (0, Instant::now());
                continue;
            };
            // By then the leases are gone too, and the route says what is wrong while it connects anew.
            if well.elapsed() > self.source.visibility {
                return self.shared.fail(why);
            }
            tracing::debug!(topic = %self.source.topic, %why, "no messages for now");
            if polling.run_until_cancelled(sleep(AGAIN.after(failures))).await.is_none() {
                return;
            }
            failures = failures.saturating_add(1);
        }
    }

    /// A lease may have begun as early as the request: the wait leaves most of its time.
    fn wait(&self) -> Duration {
        cmp::min(LONGEST_WAIT, self.source.visibility / 3)
    }

    async fn poll(&self, room: usize) -> Polled {
        let wait = self.wait();
        let call = Call::get(&["v1", "topics", &self.source.topic, "consume"], wait + ANSWER_TIMEOUT)
            .with("wait", format!("{}ms", wait.as_millis()))
            .with("max", room.to_string());
        let reply = match self.shared.nodes.ask(&call).await {
            Ok(reply) => reply,
            Err(NoReply::Unsent(why) | NoReply::Unanswered(why)) => return Polled::Trouble(why),
        };
        let said = |reply: &Reply| format!("{} answered {} to a consume", self.shared.nodes, reply.shown());
        match reply.status {
            StatusCode::OK => Polled::Messages(reply),
            StatusCode::NO_CONTENT => Polled::Nothing,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Polled::Trouble(said(&reply)),
            _ if reply.is_trouble() => Polled::Trouble(said(&reply)),
            _ => Polled::Refused(said(&reply)),
        }
    }

    /// Takes on what has come, from when it was asked for. Without room for it, its leases are kept until there is.
    async fn take(&self, reply: &Reply, asked: Instant) -> Result<(), String> {
        let records = records(&reply.body)
            .map_err(|error| format!("{} answered something else than messages: {error}", self.shared.nodes))?;
        if asked.elapsed() >= self.source.visibility {
            return Err("its messages came later than their leases last".to_owned());
        }
        let mut unread = None;
        let mut arrived = Vec::with_capacity(records.len());
        for record in &records {
            match self.read(record, asked) {
                Ok(message) => arrived.push(message),
                Err(why) => unread = Some(why),
            }
        }
        for (arrived, back_to) in arrived {
            let room = Arc::clone(&self.shared.room).acquire_owned();
            let Some(Ok(room)) = self.shared.polling.run_until_cancelled(room).await else {
                self.shared.give_back(arrived.number, &arrived.lease).await;
                continue;
            };
            self.shared.leases.occupy(arrived.number, room);
            match back_to.filter(|back_to| **back_to != *self.back_to) {
                Some(back_to) => self.forward(arrived, back_to),
                // The consumer is gone only after its pollers were told.
                None => drop(self.arrived.send(arrived)),
            }
        }
        unread.map_or(Ok(()), Err)
    }

    fn forward(&self, arrived: Arrived, back_to: String) {
        let Arrived { message, number, lease, .. } = arrived;
        let (settler, lost) = (self.shared.settler(number, &lease), lease.lost.clone());
        let forwarder = Arc::clone(&self.forwarder);
        tokio::spawn(async move { lost.run_until_cancelled(forwarder.forward(&message, &back_to, &settler)).await });
    }

    /// One message and, on one of a tier, where it belongs. What cannot be read is left to its lease, and said.
    fn read(&self, record: &Record<'_>, asked: Instant) -> Result<(Arrived, Option<String>), String> {
        let Source { topic, form, visibility, .. } = &self.source;
        let (partition, offset) = (record.partition, record.offset);
        let place = Place { topic: Arc::clone(topic), partition, offset };
        let unread = |why: &dyn std::fmt::Display| {
            tracing::error!(message = %place, %why, "a message cannot be read: it stays with the broker");
            format!("message {place} cannot be read: {why}")
        };
        let handle = record.receipt_handle.clone().ok_or_else(|| unread(&"it has no receipt handle"))?;
        let opened = record.open(&place, form).map_err(|error| unread(&error))?;
        let (number, lease) = self.shared.leases.add(place, handle, *visibility, asked);
        Ok((Arrived { message: opened.message, stored: record.stored(), number, lease }, opened.back_to))
    }
}
