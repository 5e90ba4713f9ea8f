//! What a policy answers where it attacks.

use reprieve::verdict::FaultKind;
use reprieve_tests::small_policy::instructions::grow_to_the_limit;
use reprieve_tests::small_policy::{DATA, RawVerdict, SmallPolicy};

use super::{Attack, End, calm};

/// Delays that are no numbers where they are read as such, and those at every end of what there is.
pub(super) fn delays() -> Vec<Attack> {
    let gives =
        |name, verdict, why| Attack { name, policy: SmallPolicy { verdict, ..calm() }, ends: End::Overridden(why) };
    let no_tiers = "the route has no tiers";
    let (not_a_number, infinite) = (f64::NAN.to_bits(), f64::INFINITY.to_bits());
    vec![
        gives("retry-nan", RawVerdict::retry(not_a_number), no_tiers),
        gives("retry-infinite", RawVerdict::retry(infinite), no_tiers),
        gives("retry-negative", RawVerdict::retry((-1_i64).cast_unsigned()), no_tiers),
        gives("retry-least", RawVerdict::retry(i64::MIN.cast_unsigned()), no_tiers),
        gives("delay-nan", RawVerdict::delay(not_a_number), no_tiers),
        gives("delay-most", RawVerdict::delay(u64::MAX), no_tiers),
        gives("requeue-nan", RawVerdict::requeue(not_a_number), "the longest cool-down is 20ms"),
        gives("requeue-most", RawVerdict::requeue(u64::MAX), "the longest cool-down is 20ms"),
    ]
}

/// Verdicts that are none.
pub(super) fn invalid() -> Vec<Attack> {
    let dead_letter = RawVerdict::dead_letter();
    let gives = |name, verdict, text| Attack {
        name,
        policy: SmallPolicy { verdict, ..calm() },
        ends: End::Fault(FaultKind::InvalidVerdict, text),
    };
    let in_memory = |attack: Attack, bytes: Vec<u8>| {
        let policy = SmallPolicy { data: vec![(DATA, bytes)], ..attack.policy };
        Attack { policy, ..attack }
    };
    let in_much_memory = |attack: Attack| {
        let policy = SmallPolicy { decide: grow_to_the_limit, ..attack.policy };
        Attack { policy, ..attack }
    };
    // A thousand headers whose values all show the same 100 KiB: 100 MB from a policy that has 256 KiB.
    let amplified: Vec<u8> =
        (0..1000).flat_map(|_| [DATA, 1, DATA + (20 << 10), 100 << 10]).flat_map(u32::to_le_bytes).collect();
    vec![
        in_much_memory(gives(
            "reason-of-10-mib",
            RawVerdict { reason: (DATA, 10 << 20), ..dead_letter },
            "too much data",
        )),
        in_much_memory(gives(
            "100000-headers",
            RawVerdict { headers: (DATA, 100_000), ..dead_letter },
            "too much data",
        )),
        in_memory(gives("amplified", RawVerdict { headers: (DATA, 1000), ..dead_letter }, "too much data"), amplified),
        gives("headers-beyond-memory", RawVerdict { headers: (DATA, u32::MAX), ..dead_letter }, "out of bounds"),
        gives("headers-between-words", RawVerdict { headers: (DATA + 1, 1), ..dead_letter }, "aligned"),
        gives("reason-beyond-memory", RawVerdict { reason: (u32::MAX - 8, 100), ..dead_letter }, "out of bounds"),
        in_memory(gives("reason-not-utf8", RawVerdict { reason: (DATA, 2), ..dead_letter }, "utf-8"), vec![0xc3, 0x28]),
        gives("no-such-action", RawVerdict { action: 6, ..dead_letter }, "discriminant"),
        gives("no-such-option", RawVerdict { payload: [2, 0, 0, 0], ..dead_letter }, "discriminant"),
        gives("tier-without-a-name", RawVerdict::delay_to(DATA, 0), "is not a name"),
        gives("tier-of-zeros", RawVerdict::delay_to(DATA, 9), "is not a name"),
        gives("label-of-1000-bytes", RawVerdict { payload: [1, DATA, 1000, 0], ..dead_letter }, "is not a name"),
    ]
}
