//! What a policy says, who said it, and how a policy can fail to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A policy's answer to one failure.
///
/// As JSON: `{"action": "retry", "delay_ms": 1000, "reason": "…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What is to be done.
    #[serde(flatten)]
    pub action: Action,
    /// Stop taking new messages on the route for so many milliseconds.
    #[serde(rename = "pause_intake_ms", default, skip_serializing_if = "Option::is_none")]
    pub pause_intake: Option<u64>,
    /// Why, for a person.
    #[serde(default)]
    pub reason: String,
    /// Headers to add to a copy, where one is published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
}

/// The six things that a policy can ask for. Delays are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Run the handler again in this process, after a wait that holds the slot.
    Retry {
        /// How long to wait.
        delay_ms: u64,
    },
    /// Bring the message back through a durable tier, not before this delay has passed.
    Delay {
        /// The least delay.
        delay_ms: u64,
    },
    /// Bring the message back through the tier of this name.
    DelayTo {
        /// A tier of the route.
        tier: String,
    },
    /// Park the message in the dead-letter topic that this label means, or in the default one.
    DeadLetter {
        /// A label from the route's `dead_letters`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Hand the delivery back to the broker, after a cool-down.
    Requeue {
        /// The least cool-down.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cooldown_ms: Option<u64>,
    },
    /// Acknowledge the message and forget it.
    Drop,
}

impl Action {
    /// The action's name, as in JSON.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Delay { .. } => "delay",
            Self::DelayTo { .. } => "delay-to",
            Self::DeadLetter { .. } => "dead-letter",
            Self::Requeue { .. } => "requeue",
            Self::Drop => "drop",
        }
    }
}

impl Verdict {
    /// This action, with a reason.
    pub fn new(action: Action, reason: impl Into<String>) -> Self {
        Self { action, pause_intake: None, reason: reason.into(), headers: Vec::new() }
    }
}

/// A verdict or a fault, and the policy that it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Who decided; `None` where the route has no policy.
    pub maker: Option<Arc<Maker>>,
    /// What was said.
    pub result: Result<Verdict, Fault>,
}

/// The maker of a decision: a policy, in one revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maker {
    /// The policy's name: the file's, without `.wasm`.
    pub policy: String,
    /// Hexadecimal digest of policy bytes, route record, settings and interface version.
    pub revision: String,
}

/// `standard@1f3870be274f`: the name and the first twelve digits.
impl std::fmt::Display for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.policy, self.revision.get(..12).unwrap_or(&self.revision))
    }
}

/// How a policy failed to give a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {text}")]
pub struct Fault {
    /// The class, for counting and branching.
    pub kind: FaultKind,
    /// What happened, for a person.
    pub text: String,
}

impl Fault {
    /// A fault of this class.
    pub fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// The classes of policy faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The policy trapped: a panic, mostly.
    Trap,
    /// The policy did not answer within its deadline.
    Timeout,
    /// The policy asked for more memory or larger tables than it may have.
    Memory,
    /// The policy recursed too deep.
    StackOverflow,
    /// The policy answered what no verdict may be.
    InvalidVerdict,
    /// The route has no policy that could be loaded.
    NoPolicy,
}

impl FaultKind {
    /// The class's name, as in JSON and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Timeout => "timeout",
            Self::Memory => "memory",
            Self::StackOverflow => "stack-overflow",
            Self::InvalidVerdict => "invalid-verdict",
            Self::NoPolicy => "no-policy",
        }
    }
}

impl std::fmt::Display for FaultKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
