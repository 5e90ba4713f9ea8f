//! What a policy does where it attacks.

use reprieve::verdict::FaultKind;
use reprieve_tests::small_policy::instructions::{
    flood, grow_past_the_limit, grow_to_the_limit, spin, spin_if_grown, trap, write,
};
use reprieve_tests::small_policy::{Body, DATA, SmallPolicy};
use wasm_encoder::InstructionSink;

use super::{Attack, End, calm};

/// What its functions do.
pub(super) fn of_functions() -> Vec<Attack> {
    let does = |name, decide: Body, ends| Attack { name, policy: SmallPolicy { decide, ..calm() }, ends };
    vec![
        does("trap", trap, End::Fault(FaultKind::Trap, "unreachable")),
        does("loop", spin, End::Fault(FaultKind::Timeout, "deadline")),
        does("grow-to-the-limit", grow_to_the_limit, End::Judged),
        does("grow-past-the-limit", grow_past_the_limit, End::Fault(FaultKind::Memory, "policies.memory")),
        Attack {
            name: "loop-after-the-verdict",
            policy: SmallPolicy { decide: grow_to_the_limit, after_decide: spin_if_grown, ..calm() },
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
pub(super) fn log_lines() -> Vec<Attack> {
    let writes = |name, decide: Body, ends| Attack { name, policy: SmallPolicy { decide, ..calm() }, ends };
    let traps = |text| End::Fault(FaultKind::Trap, text);
    vec![
        writes("line-of-10-mib", write_10_mib, traps("too much data")),
        writes("line-beyond-memory", |code| write(code, 0, u32::MAX - 8, 100), traps("out of bounds")),
        writes("no-such-level", |code| write(code, 9, DATA, 1), traps("discriminant")),
        writes("flood", flood, End::Fault(FaultKind::Timeout, "deadline")),
    ]
}

fn write_10_mib(code: &mut InstructionSink<'_>) {
    grow_to_the_limit(code);
    write(code, 1, DATA, 10 << 20);
}
