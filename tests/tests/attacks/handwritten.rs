//! Attacks that no compiler makes: what the policy hands out breaks the interface, or shows the same bytes many times.

use std::time::{Duration, Instant};

use reprieve::verdict::FaultKind;
use reprieve_tests::small_policy::{ATTACK, Body, DATA, LOG, RawVerdict, SmallPolicy};
use serde_json::Value;
use wasm_encoder::{BlockType, InstructionSink};

use crate::arena::{Arena, Attacked};
use crate::turn;

const COUNT: usize = 4;
/// The memory that it may have, in pages of 64 KiB.
const PAGES: i32 = 256;
/// The pages that it has from the start.
const FIRST_PAGES: i32 = 4;

struct Attack {
    name: &'static str,
    policy: SmallPolicy,
    ends: End,
}

enum End {
    /// The fallback judges, since the policy did this, and the text of the fault holds that.
    Fault(FaultKind, &'static str),
    /// The verdict is overridden, and why holds this.
    Overridden(&'static str),
    /// As the policy said.
    Judged,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attack_ends_as_it_should_and_is_felt_by_nobody_else() {
    let attacks = attacks();
    let attacked =
        |attack: &Attack| Attacked { route: attack.name, policy: attack.policy.build(), settings: Value::Null };
    let arena = Arena::open(attacks.iter().map(attacked).collect()).await;
    let calm = turn::calm(&arena).await;
    for Attack { name, ends, .. } in &attacks {
        let began = Instant::now();
        for rulings in turn::attack(&arena, &calm, name, ATTACK, COUNT).await {
            let last = rulings.last().unwrap_or_else(|| panic!("{name}: no ruling"));
            let first = &rulings[0];
            match ends {
                End::Fault(kind, text) => {
                    let fault = first.fault.as_ref().unwrap_or_else(|| panic!("{name} is a fault: {first:?}"));
                    assert!(fault.kind == *kind && fault.text.contains(text), "{name}: {fault}");
                    assert!(last.verdict.reason.starts_with("the fallback ends it"), "{name}: {last:?}");
                }
                End::Overridden(why) => {
                    let overridden = first.overridden.as_deref().unwrap_or_default();
                    assert!(first.fault.is_none() && overridden.contains(why), "{name}: {first:?}");
                }
                End::Judged => assert_eq!((&first.fault, &first.overridden), (&None, &None), "{name}"),
            }
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{name} took {:?}", began.elapsed());
        // The policy itself goes on as well.
        for rulings in turn::attack(&arena, &calm, name, "count", 1).await {
            assert_eq!(
                (rulings.len(), &rulings[0].fault, rulings[0].verdict.reason.as_str()),
                (1, &None, "calm"),
                "{name}"
            );
        }
    }
    arena.close().await;
}

fn attacks() -> Vec<Attack> {
    [behaviours(), log_lines(), delays(), verdicts()].into_iter().flatten().collect()
}

/// What it does.
fn behaviours() -> Vec<Attack> {
    let does = |name, decide: Body, ends| Attack { name, policy: SmallPolicy { decide, ..calm() }, ends };
    vec![
        does("trap", trap, End::Fault(FaultKind::Trap, "unreachable")),
        does("loop", spin, End::Fault(FaultKind::Timeout, "deadline")),
        does("grow-to-the-limit", grow_to_the_limit, End::Judged),
        does("grow-past-the-limit", grow_past_the_limit, End::Fault(FaultKind::Memory, "policies.memory")),
        Attack {
            name: "loop-after-the-verdict",
            policy: SmallPolicy { after_decide: spin_if_attacking, ..grown() },
            ends: End::Fault(FaultKind::Timeout, "deadline"),
        },
        Attack {
            name: "loop-when-asked-for-room",
            policy: SmallPolicy { reallocate: spin, ..calm() },
            ends: End::Fault(FaultKind::Timeout, "deadline"),
        },
        Attack {
            name: "no-room",
            policy: SmallPolicy {
                reallocate: |code| {
                    code.i32_const(-8).return_();
                },
                ..calm()
            },
            ends: End::Fault(FaultKind::InvalidVerdict, "memory"),
        },
    ]
}

/// What it writes into the log.
fn log_lines() -> Vec<Attack> {
    let writes = |name, decide: Body, ends| Attack { name, policy: SmallPolicy { decide, ..calm() }, ends };
    let trap = |text| End::Fault(FaultKind::Trap, text);
    vec![
        writes("line-of-10-mib", write_10_mib, trap("too much data")),
        writes("line-beyond-memory", |code| write(code, 0, u32::MAX - 8, 100), trap("out of bounds")),
        writes("no-such-level", |code| write(code, 9, DATA, 1), trap("discriminant")),
        writes("flood", flood, End::Fault(FaultKind::Timeout, "deadline")),
    ]
}

/// Delays that are no numbers where they are read as such, and those at every end of what there is.
fn delays() -> Vec<Attack> {
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
fn verdicts() -> Vec<Attack> {
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
        gives("headers-beyond-memory", RawVerdict { headers: (DATA, u32::MAX), ..dead_letter }, ""),
        gives("headers-between-words", RawVerdict { headers: (DATA + 1, 1), ..dead_letter }, "aligned"),
        gives("reason-beyond-memory", RawVerdict { reason: (u32::MAX - 8, 100), ..dead_letter }, "out of bounds"),
        in_memory(gives("reason-not-utf8", RawVerdict { reason: (DATA, 2), ..dead_letter }, "utf-8"), vec![0xc3, 0x28]),
        gives("no-such-action", RawVerdict { action: 6, ..dead_letter }, "discriminant"),
        gives("no-such-option", RawVerdict { payload: [2, 0, 0, 0], ..dead_letter }, ""),
        gives("tier-without-a-name", RawVerdict::delay_to(DATA, 0), "is not a name"),
        gives("tier-of-zeros", RawVerdict::delay_to(DATA, 9), "is not a name"),
        gives("label-of-1000-bytes", RawVerdict { payload: [1, DATA, 1000, 0], ..dead_letter }, "is not a name"),
    ]
}

fn calm() -> SmallPolicy {
    SmallPolicy::new("calm")
}

/// One that has all its memory where it attacks, by which its other functions can tell.
fn grown() -> SmallPolicy {
    SmallPolicy { decide: grow_to_the_limit, ..calm() }
}

fn write(code: &mut InstructionSink<'_>, level: i32, address: u32, length: u32) {
    code.i32_const(level).i32_const(address.cast_signed()).i32_const(length.cast_signed()).call(LOG);
}

fn write_10_mib(code: &mut InstructionSink<'_>) {
    grow_to_the_limit(code);
    write(code, 1, DATA, 10 << 20);
}

fn flood(code: &mut InstructionSink<'_>) {
    code.loop_(BlockType::Empty);
    write(code, 2, DATA, 3);
    code.br(0).end();
}

fn trap(code: &mut InstructionSink<'_>) {
    code.unreachable();
}

fn spin(code: &mut InstructionSink<'_>) {
    code.loop_(BlockType::Empty).br(0).end();
}

fn spin_if_attacking(code: &mut InstructionSink<'_>) {
    code.memory_size(0).i32_const(FIRST_PAGES).i32_gt_u().if_(BlockType::Empty);
    spin(code);
    code.end();
}

/// Traps where it cannot grow.
fn grow_to_the_limit(code: &mut InstructionSink<'_>) {
    code.i32_const(PAGES - FIRST_PAGES).memory_grow(0).i32_const(FIRST_PAGES).i32_ne();
    code.if_(BlockType::Empty).unreachable().end();
}

fn grow_past_the_limit(code: &mut InstructionSink<'_>) {
    grow_to_the_limit(code);
    code.i32_const(1).memory_grow(0).drop();
}
