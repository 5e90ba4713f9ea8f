//! What an attacking policy is made to do, and what it is made of for that.

use wasm_encoder::{BlockType, InstructionSink};

use super::LOG;

/// The pages of 64 KiB that a policy's memory has from the start, where nothing else is said.
pub const FIRST_PAGES: i32 = 4;
/// The pages that it may have, by the limit that a host sets where nothing else is said.
pub const MOST_PAGES: i32 = 256;

/// Fails at once.
pub fn trap(code: &mut InstructionSink<'_>) {
    code.unreachable();
}

/// Loops for ever.
pub fn spin(code: &mut InstructionSink<'_>) {
    code.loop_(BlockType::Empty).br(0).end();
}

/// Loops for ever where the memory has grown, as it has only where the policy attacks.
pub fn spin_if_grown(code: &mut InstructionSink<'_>) {
    code.memory_size(0).i32_const(FIRST_PAGES).i32_gt_u().if_(BlockType::Empty);
    spin(code);
    code.end();
}

/// Loops for some tenths of a second, in a function that has an argument and no more use for it.
pub fn take_time(code: &mut InstructionSink<'_>) {
    code.i32_const(100_000_000).local_set(0).loop_(BlockType::Empty);
    code.local_get(0).i32_const(1).i32_sub().local_tee(0).br_if(0).end();
}

/// Takes memory for ever.
pub fn eat_memory(code: &mut InstructionSink<'_>) {
    code.loop_(BlockType::Empty).i32_const(1).memory_grow(0).drop().br(0).end();
}

/// Grows to so many pages, and fails where it is not given them.
pub fn grow_to(code: &mut InstructionSink<'_>, pages: i32) {
    code.i32_const(pages - FIRST_PAGES).memory_grow(0).i32_const(FIRST_PAGES).i32_ne();
    code.if_(BlockType::Empty).unreachable().end();
}

/// Grows as far as it may.
pub fn grow_to_the_limit(code: &mut InstructionSink<'_>) {
    grow_to(code, MOST_PAGES);
}

/// Grows as far as it may, and asks for more.
pub fn grow_past_the_limit(code: &mut InstructionSink<'_>) {
    grow_to_the_limit(code);
    code.i32_const(1).memory_grow(0).drop();
}

/// Writes a line of this level into the host's log.
pub fn write(code: &mut InstructionSink<'_>, level: i32, address: u32, length: u32) {
    code.i32_const(level).i32_const(address.cast_signed()).i32_const(length.cast_signed()).call(LOG);
}

/// Writes lines for ever.
pub fn flood(code: &mut InstructionSink<'_>) {
    code.loop_(BlockType::Empty);
    write(code, 2, 0, 3);
    code.br(0).end();
}
