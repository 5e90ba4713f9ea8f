//! The `[[routes]]` sections.

mod candidate;
mod deduplicate;
mod ordering;
mod written;

use std::collections::BTreeMap;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;
pub(super) use written::WrittenRoute;

use super::{EnvelopeConfig, HandlerConfig};
use crate::policy::candidate::CandidatePlan;
use crate::policy::trust::FileDigest;
use crate::route::KeySource;
use crate::topic::{Tier, Topic};

/// One configured flow.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteConfig {
    /// Unique in the configuration.
    pub name: String,
    /// A key of `Config::brokers`.
    pub broker: String,
    /// The queue to consume. No two routes share one on the same broker.
    pub source: String,
    /// What processes the messages.
    pub handler: HandlerConfig,
    /// The consumer group to consume it in, where the broker has such a thing; `None`: one of the route's own.
    pub group: Option<String>,
    /// How many messages are held at a time. From 1 to 65535.
    pub concurrency: u16,
    /// How many messages the broker hands over ahead, those in work included; not below `concurrency`, and above it under
    /// ordering. `None`: as many as `concurrency` says, and under ordering four times as many.
    pub prefetch: Option<u16>,
    /// Where the key is whose messages run one at a time, in order of arrival.
    pub ordering: Option<KeySource>,
    /// Which messages are not handled again.
    pub deduplicate: Option<DeduplicateConfig>,
    /// The policy's name, the file's without `.wasm`; `None` is the embedded standard policy.
    pub policy: Option<String>,
    /// The one file that the route takes: it is pinned, and cannot be swapped without another configuration.
    pub policy_digest: Option<FileDigest>,
    /// Where dead letters go, by label. `default` is for those without a label.
    pub dead_letters: BTreeMap<String, Topic>,
    /// The durable delays that this route may use, shortest first.
    pub tiers: Vec<Tier>,
    /// When to retry, with `[defaults.retry]` and the built-in defaults filled in.
    pub retry: RetryPolicy,
    /// Handed to the policy as it is. An object, empty where nothing is set.
    pub settings: serde_json::Value,
    /// How a candidate policy is tried.
    pub candidate: CandidatePlan,
    /// What the names of our own headers begin with. Not empty.
    pub header_prefix: String,
    /// What stands around payloads, on a broker without headers.
    pub envelope: EnvelopeConfig,
    /// How a requeue is slowed down.
    pub requeue: RequeueConfig,
    /// A policy's fault may end in a drop where nothing else is left. An infeasible verdict never does.
    pub allow_drop_on_fault: bool,
    /// Attempts that may end without a result before there is no other. From 1.
    pub max_interruptions: Option<u32>,
    /// The longest retry in process; `None` is a minute. The broker's own bound holds in any case.
    pub max_retry_delay: Option<Duration>,
}

/// Which messages count as handled before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeduplicateConfig {
    /// What two sendings of one message have in common. Not a key, which many messages share.
    pub by: KeySource,
    /// For how long after its success a message is known. At least a millisecond.
    pub window: Duration,
}

/// How a requeue is slowed down, so that a message that always fails does not spin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequeueConfig {
    /// The first cool-down. At least a millisecond; each further one doubles it.
    pub cooldown: Duration,
    /// The longest cool-down. Not below `cooldown`.
    pub max_cooldown: Duration,
}
