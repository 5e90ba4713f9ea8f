//! Looks at what lies on a topic: nobody notices.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::broker::narad::depth::lag;
use crate::broker::narad::nodes::{Call, Nodes};
use crate::broker::narad::record::{Place, records};
use crate::broker::narad::settings::Envelope;
use crate::broker::narad::topics::existing;
use crate::broker::{BrokerError, Browser, Delivery, Earlier, Origin, SettleError, Settlement, Settler};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Where one partition is read from and to.
struct Span {
    partition: u32,
    next: u64,
    end: u64,
}

/// Reads the partitions of a topic one after the other.
pub(in crate::broker::narad) struct Look {
    nodes: Arc<Nodes>,
    topic: Arc<str>,
    form: Envelope,
    spans: Vec<Span>,
    there: u64,
}

impl Look {
    /// Begins behind what is settled for good, as far as the nodes show that: what was settled above an older message that is
    /// not is seen too.
    pub(in crate::broker::narad) async fn begin(
        nodes: Arc<Nodes>,
        topic: &str,
        form: Envelope,
    ) -> Result<Self, BrokerError> {
        let facts = existing(&nodes, topic).await?;
        let lag = lag(&nodes, topic).await;
        let mut spans = Vec::with_capacity(facts.partition_stats.len());
        for partition in &facts.partition_stats {
            let end = partition.high_watermark;
            let unsettled = lag.as_ref().and_then(|lag| lag.get(&partition.index));
            let settled = unsettled.map_or(0, |unsettled| end.saturating_sub(*unsettled));
            let next = settled.max(partition.oldest_offset).min(end);
            spans.push(Span { partition: partition.index, next, end });
        }
        let there = spans.iter().map(|span| span.end - span.next).sum();
        spans.reverse();
        Ok(Self { nodes, topic: topic.into(), form, spans, there })
    }

    fn lost(&self, reason: String) -> BrokerError {
        BrokerError::Lost { source_topic: self.topic.to_string(), reason }
    }
}

#[async_trait]
impl Browser for Look {
    fn there(&self) -> u64 {
        self.there
    }

    async fn next(&mut self) -> Result<Option<Delivery>, BrokerError> {
        loop {
            let Some(span) = self.spans.last() else { return Ok(None) };
            if span.next >= span.end {
                self.spans.pop();
                continue;
            }
            let (partition, offset) = (span.partition, span.next);
            let call = Call::get(&["v1", "topics", &self.topic, "consume"], ANSWER_TIMEOUT)
                .with("partition", partition.to_string())
                .with("offset", offset.to_string());
            let reply = self.nodes.ask(&call).await.map_err(|none| self.nodes.unreachable(none))?;
            let read = match reply.status {
                StatusCode::OK => {
                    let place = Place { topic: Arc::clone(&self.topic), partition, offset };
                    let records = records(&reply.body).map_err(|error| self.lost(error.to_string()))?;
                    let record = records.first().ok_or_else(|| self.lost("it answered with no message".to_owned()))?;
                    Some(record.open(&place, &self.form).map_err(|error| self.lost(format!("{place}: {error}")))?)
                }
                // Its retention is over.
                StatusCode::GONE | StatusCode::NO_CONTENT => None,
                _ => return Err(self.nodes.refused(&format!("a replay of topic '{}'", self.topic), &reply)),
            };
            if let Some(span) = self.spans.last_mut() {
                span.next += 1;
            }
            if let Some(opened) = read {
                return Ok(Some(Delivery {
                    message: Arc::new(opened.message),
                    origin: Origin::default(),
                    redelivered: false,
                    earlier: Earlier::Nothing,
                    settler: Arc::new(Unsettled),
                    lost: CancellationToken::new(),
                }));
            }
        }
    }

    async fn close(&mut self) {}
}

/// What was only read is in nobody's hands.
struct Unsettled;

#[async_trait]
impl Settler for Unsettled {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        match settlement {
            Settlement::Ack => Err(SettleError::Gone("it was only read, without a lease".to_owned())),
            Settlement::Reject | Settlement::Release => Ok(()),
        }
    }
}
