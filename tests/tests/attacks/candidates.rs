//! Files that must not become a policy.

use reprieve_tests::small_policy::instructions::{eat_memory, spin, take_time, trap};
use reprieve_tests::small_policy::{ATTACK, Body, SmallPolicy, memory};
use serde_json::{Value, json};
use wasm_encoder::{Component, ComponentExportKind, ComponentExportSection, ComponentInstanceSection, MemoryType};

use crate::built;

pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn bad() -> Vec<Candidate> {
    [behaviours(), features(), versions(), sizes(), cases()].into_iter().flatten().collect()
}

/// What it does before it has judged anything.
fn behaviours() -> Vec<Candidate> {
    let starts = |name, start: Body| of(name, &SmallPolicy { start: Some(start), ..policy() });
    let describes = |name, describe: Body| of(name, &SmallPolicy { describe, ..policy() });
    let configures = |name, configure: Body| of(name, &SmallPolicy { configure, ..policy() });
    vec![
        starts("a start function that loops", spin),
        starts("a start function that traps", trap),
        starts("a start function that takes all memory", eat_memory),
        describes("a loop in describe", spin),
        describes("a trap in describe", trap),
        configures("a loop in configure", spin),
        configures("a trap in configure", trap),
        configures("all memory in configure", eat_memory),
        of("a loop after each verdict", &SmallPolicy { after_decide: spin, ..policy() }),
    ]
}

/// What it is made of.
fn features() -> Vec<Candidate> {
    let has = |name, memories| of(name, &SmallPolicy { memories, ..policy() });
    let own = memory(4, None);
    vec![
        has("two memories", vec![own, own]),
        has("a shared memory", vec![MemoryType { shared: true, ..memory(4, Some(4)) }]),
        has("a memory of 64 bits", vec![MemoryType { memory64: true, ..own }]),
        of("data beyond its memory", &SmallPolicy { data: vec![(u32::MAX - 8, vec![0; 4])], ..policy() }),
        Candidate { name: "native code", bytes: b"\x7fELF\x02\x01\x01 compiled ahead".to_vec() },
    ]
}

/// What it is built for.
fn versions() -> Vec<Candidate> {
    let component = |name, version| Candidate { name, bytes: component_for(version) };
    vec![
        component("a component for a later version", "0.2.0"),
        component("a component for the version before the release", "0.1.0-rc.1"),
        component("a component for the first stable version", "1.0.0"),
        component("a component for an earlier version", "0.0.9"),
        component("a component for a version that is none", "latest"),
        Candidate { name: "a module for a later version", bytes: replaced(&built("counter"), b"@0.1.0", b"@0.3.0") },
    ]
}

fn sizes() -> Vec<Candidate> {
    let mut large = policy().build();
    large.extend([0, 0x80, 0x80, 0x80, 0x08, 0]);
    large.resize(large.len() + (16 << 20) - 1, 0);
    vec![Candidate { name: "a file beyond the limit", bytes: large }]
}

/// What it carries to be judged by.
fn cases() -> Vec<Candidate> {
    let carries = |name, cases: Vec<u8>| of(name, &SmallPolicy { cases: Some(cases), ..policy() });
    let table = |cases: Vec<Value>| json!([{ "case": cases }]).to_string().into_bytes();
    let case = |name: &str| json!({ "name": name, "expect": { "action": "dead-letter" } });
    let endless = json!({ "name": "endless", "failure": { "error": ATTACK }, "expect": { "action": "drop" } });
    let long = json!({ "name": "long ".repeat(20_000), "expect": { "reason": format!("\u{1b}[31m\n{}", "red ".repeat(20_000)) } });
    let endless = SmallPolicy { decide: spin, cases: Some(table(vec![endless])), ..policy() };
    let slow = table((0..1000).map(|number| case(&format!("slow {number}"))).collect());
    let slow = SmallPolicy { configure: take_time, cases: Some(slow), ..policy() };
    vec![
        of("a case that loops", &endless),
        of("a thousand slow cases", &slow),
        carries("1001 cases", table(vec![case("one more"); 1001])),
        carries("a case with a long name and a long expectation", table(vec![long])),
        carries("cases that are no JSON", b"[{ case = 1 }]".to_vec()),
        carries("cases that are none", b"[{ \"case\": [1] }]".to_vec()),
        carries("cases nested 100000 deep", vec![b'['; 100_000]),
        carries("cases of 5 MiB", vec![b' '; 5 << 20]),
    ]
}

fn of(name: &'static str, policy: &SmallPolicy) -> Candidate {
    Candidate { name, bytes: policy.build() }
}

fn policy() -> SmallPolicy {
    SmallPolicy::new("bad")
}

/// A component that exports the policy interface in this version, without anything in it.
fn component_for(version: &str) -> Vec<u8> {
    let mut component = Component::new();
    let mut instances = ComponentInstanceSection::new();
    instances.export_items(std::iter::empty::<(&str, ComponentExportKind, u32)>());
    component.section(&instances);
    let mut exports = ComponentExportSection::new();
    let name = format!("reprieve:policy/policy@{version}");
    exports.export(name.as_str(), ComponentExportKind::Instance, 0, None);
    component.section(&exports);
    component.finish()
}

/// The bytes with every `from` replaced by a `to` of the same length.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}
