//! The cluster's topics: what they are like, and making them.

use std::time::Duration;

use reqwest::StatusCode;
use serde::{Deserialize, Serialize};

use super::nodes::{Call, Nodes};
use crate::broker::BrokerError;

/// Topics are few and asked for rarely.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A topic, of what a node says the part that is used.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct TopicFacts {
    pub(super) partitions: u32,
    /// Zero: for ever.
    pub(super) retention_ms: u64,
    pub(super) visibility_timeout_ms: u64,
    #[serde(default)]
    pub(super) parent: Option<String>,
    #[serde(default)]
    pub(super) children: Vec<String>,
    #[serde(default)]
    pub(super) fanout_delay_ms: u64,
    #[serde(default)]
    pub(super) schema_version: u64,
    #[serde(default)]
    pub(super) partition_stats: Vec<PartitionFacts>,
}

/// Where the log of one partition begins and ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct PartitionFacts {
    pub(super) index: u32,
    pub(super) oldest_offset: u64,
    pub(super) high_watermark: u64,
}

impl TopicFacts {
    pub(super) const fn visibility(&self) -> Duration {
        Duration::from_millis(self.visibility_timeout_ms)
    }

    /// How long messages are kept, handled or not; `None`: for ever.
    pub(super) fn retention(&self) -> Option<Duration> {
        (self.retention_ms > 0).then(|| Duration::from_millis(self.retention_ms))
    }
}

/// A topic to be made. What is left out is as the cluster has it by default.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct NewTopic<'a> {
    pub(super) name: &'a str,
    /// Zero: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retention_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fanout_delay_ms: Option<u64>,
}

/// The topic of this name, if there is one.
pub(super) async fn find(nodes: &Nodes, name: &str) -> Result<Option<TopicFacts>, BrokerError> {
    let call = Call::get(&["v1", "topics", name], ANSWER_TIMEOUT);
    let reply = nodes.ask(&call).await.map_err(|none| nodes.unreachable(none))?;
    let what = || format!("a question for topic '{name}'");
    match reply.status {
        StatusCode::OK => reply.read().map(Some).map_err(|why| nodes.unreachable(why)),
        StatusCode::NOT_FOUND => Ok(None),
        _ => Err(nodes.refused(&what(), &reply)),
    }
}

/// The topic of this name, which somebody else made.
pub(super) async fn existing(nodes: &Nodes, name: &str) -> Result<TopicFacts, BrokerError> {
    find(nodes, name).await?.ok_or_else(|| {
        BrokerError::Unfit(format!(
            "{nodes} has no topic '{name}': create it with POST /v1/topics {{\"name\": \"{name}\"}} (narad topic add \
             {name}), or correct the name"
        ))
    })
}

/// Makes a topic. One that another host has just made is as good.
pub(super) async fn create(nodes: &Nodes, topic: &NewTopic<'_>) -> Result<TopicFacts, BrokerError> {
    let body = serde_json::to_vec(topic).expect("texts and numbers can be written as JSON");
    let call = Call::post(&["v1", "topics"], ANSWER_TIMEOUT).with_body(body);
    let reply = nodes.ask(&call).await.map_err(|none| nodes.unreachable(none))?;
    let what = || format!("the creation of topic '{}'", topic.name);
    match reply.status {
        StatusCode::CREATED => reply.read().map_err(|why| nodes.unreachable(why)),
        StatusCode::CONFLICT => find(nodes, topic.name).await?.ok_or_else(|| {
            // Not this name: one that differs in case, or a parent that takes no such child.
            BrokerError::Unfit(format!(
                "{nodes} answered {} to {}: settle that by hand, or set `declare = false` and create it yourself",
                reply.shown(),
                what()
            ))
        }),
        _ => Err(nodes.refused(&what(), &reply)),
    }
}

/// The names of all topics that begin like this.
pub(super) async fn names(nodes: &Nodes, prefix: &str) -> Result<Vec<String>, BrokerError> {
    #[derive(Deserialize)]
    struct Page {
        topics: Vec<Named>,
        #[serde(default)]
        next_page_token: String,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let (mut names, mut token) = (Vec::new(), String::new());
    loop {
        let mut call = Call::get(&["v1", "topics"], ANSWER_TIMEOUT).with("limit", "1000");
        if !token.is_empty() {
            call = call.with("page_token", &token);
        }
        let reply = nodes.ask(&call).await.map_err(|none| nodes.unreachable(none))?;
        if reply.status != StatusCode::OK {
            return Err(nodes.refused("a question for its topics", &reply));
        }
        let page: Page = reply.read().map_err(|why| nodes.unreachable(why))?;
        names.extend(page.topics.into_iter().map(|topic| topic.name).filter(|name| name.starts_with(prefix)));
        // A page that leads to itself would have no end.
        if page.next_page_token.is_empty() || page.next_page_token == token {
            return Ok(names);
        }
        token = page.next_page_token;
    }
}
