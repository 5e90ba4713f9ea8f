//! Failures out of a seed: the same ones each time, on each machine.

use std::sync::Arc;

use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::timestamp::Timestamp;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// What policies tell apart, what they are close to, and what they may have no name for.
const KINDS: [&str; 20] = [
    "timeout",
    "timeout-read",
    "timeou",
    "rate-limit",
    "rate-limited",
    "validation",
    "validation-schema",
    "Validation",
    "invalid",
    "invalid-json",
    "http-400",
    "http-429",
    "http-500",
    "http-503",
    "connect",
    "panic",
    "expired",
    "error",
    "",
    "größe 🦀\n",
];

/// The first ones, those around the limits in the settings, and the largest.
const ATTEMPTS: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 1000, 1 << 31, u32::MAX - 1, u32::MAX];
const STATUSES: [u16; 7] = [0, 1, 400, 429, 500, 503, u16::MAX];
const DURATIONS: [u64; 12] = [0, 1, 999, 1000, 29_999, 30_000, 5 * MINUTE, HOUR - 1, HOUR, DAY - 1, DAY, u64::MAX];
const TIERS: [&str; 3] = ["30s", "5m", "gone"];

pub(crate) fn failures(seed: u64) -> impl Iterator<Item = Failure> {
    let mut random = Random(seed);
    std::iter::repeat_with(move || failure(&mut random))
}

fn failure(random: &mut Random) -> Failure {
    let body = "b".repeat(random.pick(&[0, 1, 100, 5000]));
    let mut message = Message::new(body.clone());
    message.id = random.sometimes(|random| format!("m-{}", random.next()));
    message.body = random.sometimes(|_| body.clone().into());
    message.properties.content_type = random.sometimes(|_| "application/json".to_owned());
    for n in 0..random.pick(&[0, 1, 8]) {
        message.headers.push(format!("header-{n}"), random.bits_32());
    }
    Failure {
        message: Arc::new(message),
        body_size: body.len() as u64,
        attempt: if random.one_in(8) { random.bits_32().max(1) } else { random.pick(&ATTEMPTS) },
        interruptions: random.pick(&[0, 0, 1, 5, u32::MAX]),
        redelivered: random.one_in(2),
        tier: random.sometimes(|random| random.pick(&TIERS).to_owned()),
        age_ms: duration(random),
        expires_in_ms: random.sometimes(duration),
        error: HandlerError {
            kind: random.pick(&KINDS).to_owned(),
            text: "it failed".to_owned(),
            status: random.sometimes(|random| random.pick(&STATUSES)),
            retry_after: random.sometimes(duration),
            detail: random.sometimes(|_| "at line 1".to_owned()),
            panicked: random.one_in(4),
            timed_out: random.one_in(8),
        },
        health: Health {
            attempts: random.bits_32(),
            failures: random.bits_32(),
            retries: random.bits_32(),
            failures_of_this_kind: random.bits_32(),
            consecutive_failures: random.pick(&[1, 2, 100, u32::MAX]),
        },
        now: Timestamp(1_700_000_000_000 + u64::from(random.bits_32())),
        seed: random.next(),
        attributes: random.sometimes(|_| vec![("shard".to_owned(), "7".to_owned())]).unwrap_or_default(),
    }
}

/// In milliseconds.
fn duration(random: &mut Random) -> u64 {
    if random.one_in(4) { u64::from(random.bits_32()) } else { random.pick(&DURATIONS) }
}

/// SplitMix64: a generator that fits in a few lines and never changes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn bits_32(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }

    fn sometimes<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.one_in(2).then(|| make(self))
    }
}
