//! A policy that takes all memory that it may have, in every decision.

use std::sync::Arc;
use std::time::Duration;

use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision, Start};
use reprieve::timestamp::Timestamp;
use reprieve_tests::small_policy::instructions::{MOST_PAGES, grow_to};
use reprieve_tests::small_policy::{ATTACK, DATA, SmallPolicy};
use serde_json::Value;
use wasm_encoder::{BlockType, InstructionSink, MemArg};

use crate::resident::{Bytes, resident};
use crate::{alone, route};

const WARM_UP: usize = 200;
const DECISIONS: usize = 4000;
const THREADS: usize = 2;
/// What the engine may keep for the next instance on each thread, and some more for the allocator. One of the system's
/// pages that stayed behind in each decision would be as much as this.
const TOLERANCE: Bytes = Bytes::mib(16);
const PAGE: i32 = 64 * 1024;
/// All memory but one page.
const PAGES: i32 = MOST_PAGES - 1;

#[test]
fn a_policy_that_grows_to_just_under_the_limit_in_every_decision_leaves_no_memory_behind() {
    let _alone = alone();
    let engine = Engine::new(EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() }).unwrap();
    let bytes = SmallPolicy { decide: grow_and_touch, ..SmallPolicy::new("calm") }.build();
    let candidate = Candidate { name: "growing", bytes: &bytes, route: &route(), settings: &Value::Null };
    let revision = engine.load(&candidate).unwrap();
    assert_eq!(revision.start(), Start::Snapshot);

    decide(&revision, WARM_UP);
    let before = resident();
    decide(&revision, DECISIONS);
    let after = resident();
    println!("{DECISIONS} decisions that grow to {PAGES} pages each: {before} before, {after} after");
    assert!(after.since(before) < TOLERANCE, "{before} before, {after} after");
}

fn decide(revision: &Revision, times: usize) {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let failure = failure();
                for _ in 0..times / THREADS {
                    // The verdict of an attack has no reason, that on any other failure has one.
                    assert_eq!(revision.decide(&failure).unwrap().reason, "");
                }
            });
        }
    });
}

/// Grows by what is left and writes to each page of it.
fn grow_and_touch(code: &mut InstructionSink<'_>) {
    let pointer = MemArg { offset: 0, align: 2, memory_index: 0 };
    grow_to(code, PAGES);
    // The argument of the function is of no more use, and counts.
    code.i32_const(DATA.cast_signed()).local_set(0);
    code.loop_(BlockType::Empty);
    code.local_get(0).i32_const(1).i32_store(pointer);
    code.local_get(0).i32_const(PAGE).i32_add().local_tee(0);
    code.i32_const(PAGES * PAGE).i32_lt_u().br_if(0).end();
}

fn failure() -> Failure {
    Failure {
        message: Arc::new(Message::new("body")),
        body_size: 4,
        attempt: 1,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: 0,
        expires_in_ms: None,
        error: HandlerError::new(ATTACK, "it failed"),
        health: Health::default(),
        now: Timestamp::now(),
        seed: 0,
        attributes: Vec::new(),
    }
}
