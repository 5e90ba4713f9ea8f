//! What the policy can be told to do.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reprieve_sdk::{Failure, Verdict, log};
use serde::Deserialize;

use crate::{Misbehaving, echo};

static DECISIONS: AtomicU32 = AtomicU32::new(0);

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Behaviour {
    /// Answers how often this instance has decided, as the reason of a dead letter.
    Count,
    /// Answers the failure and the route as it sees them, as JSON, as the reason of a dead letter.
    Echo,
    /// The same behind a digest of all of it, since a reason is cut.
    EchoDigest,

    // Faults.
    Panic,
    Loop,
    Recurse,
    EatMemory,

    // Verdicts and log lines that a host must bound or refuse.
    HugeReason,
    HugeLog,
    LogFlood,
    ManyHeaders,
    ReservedHeader,
    BrokerHeader,
    ControlHeader,
    NulLabel,
    UnknownLabel,
    UnknownTier,
    EndlessRetry,
    EndlessDelay,
    EndlessRequeue,
    EndlessPause,

    // Verdicts as they should be, with the settings `millis` and `name`.
    Retry,
    Delay,
    DelayTo,
    DeadLetter,
    DeadLetterTo,
    Requeue,
    Drop,
}

impl Behaviour {
    pub(crate) fn act(self, policy: &Misbehaving, failure: &Failure) -> Verdict {
        let verdict = match self {
            Self::Count => {
                let count = DECISIONS.fetch_add(1, Ordering::Relaxed) + 1;
                return Verdict::dead_letter().because(count.to_string());
            }
            Self::Echo => return Verdict::dead_letter().because(echo::json(&policy.route, failure)),
            Self::EchoDigest => {
                let seen = echo::json(&policy.route, failure);
                return Verdict::dead_letter().because(format!("{:016x} {seen}", digest(&seen)));
            }

            Self::Panic => panic!("told to panic in decide"),
            Self::Loop => spin(),
            Self::Recurse => return Verdict::drop().because(recurse(failure.seed).to_string()),
            Self::EatMemory => eat_memory(),

            Self::HugeReason => return Verdict::dead_letter().because("r".repeat(policy.bytes())),
            Self::HugeLog => {
                log::info!("{}", "l".repeat(policy.bytes()));
                Verdict::dead_letter()
            }
            Self::LogFlood => {
                (0..10_000).for_each(|line| log::warn!("line {line} of a flood"));
                Verdict::dead_letter()
            }
            Self::ManyHeaders => {
                (0..1000).fold(Verdict::dead_letter(), |verdict, n| verdict.with_header(format!("h{n}"), "value"))
            }
            Self::ReservedHeader => Verdict::dead_letter().with_header("reprieve-attempts", "0"),
            Self::BrokerHeader => Verdict::dead_letter().with_header("x-death", "none"),
            Self::ControlHeader => Verdict::dead_letter().with_header("two\r\nlines", "a\0b"),
            Self::NulLabel => Verdict::dead_letter_to("inv\0alid"),
            Self::UnknownLabel => Verdict::dead_letter_to("no-such-label"),
            Self::UnknownTier => Verdict::delay_to("no-such-tier"),
            Self::EndlessRetry => Verdict::retry(Duration::MAX),
            Self::EndlessDelay => Verdict::delay(Duration::MAX),
            Self::EndlessRequeue => Verdict::requeue_after(Duration::MAX),
            Self::EndlessPause => Verdict::dead_letter().pause_intake(Duration::MAX),

            Self::Retry => Verdict::retry(policy.duration()),
            Self::Delay => Verdict::delay(policy.duration()),
            Self::DelayTo => Verdict::delay_to(policy.name()),
            Self::DeadLetter => Verdict::dead_letter(),
            Self::DeadLetterTo => Verdict::dead_letter_to(policy.name()),
            Self::Requeue => Verdict::requeue_after(policy.duration()),
            Self::Drop => Verdict::drop(),
        };
        verdict.because("told to")
    }
}

/// FNV-1a: a change anywhere shows.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(crate) fn spin() -> ! {
    loop {
        black_box(());
    }
}

pub(crate) fn eat_memory() -> ! {
    let mut eaten = Vec::new();
    loop {
        eaten.push(black_box(vec![1u8; 1 << 20]));
    }
}

/// Deeper than any stack, without the tail call that a compiler could make a loop of.
#[allow(unconditional_recursion, reason = "the stack overflow is the purpose")]
fn recurse(depth: u64) -> u64 {
    black_box(recurse(black_box(depth.wrapping_add(1)))).wrapping_add(1)
}
