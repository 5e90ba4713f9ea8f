//! Wasmtime, set up for policies.

use std::num::NonZeroUsize;

use wasmtime::{Config, Enabled, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails, WasmFeatures};

use super::limits::{EngineLimits, PAGE};

/// The parts of WebAssembly that a policy may use: what compilers for `wasm32-unknown-unknown` emit, without what is
/// not deterministic (relaxed SIMD, threads) or not needed (64-bit memory, several memories, GC, exceptions).
pub(super) const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::COMPONENT_MODEL)
    .difference(WasmFeatures::GC_TYPES);

/// Core instances of one component: the policy, the shims that wrapping adds, and room for one that is composed.
pub(super) const MAX_CORE_INSTANCES: u32 = 16;
/// Memories of one component.
pub(super) const MAX_MEMORIES: u32 = 4;
/// Tables of one component; wrapping adds some.
pub(super) const MAX_TABLES: u32 = 16;

/// Calls that a backtrace shows. Code that does not recurse has fewer under way.
pub(super) const MAX_FRAMES: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not 0");

/// The guest's part of a thread's stack. Threads have 2 MiB, so host functions have room below.
const MAX_STACK: usize = 512 * 1024;
/// Of an instance's memory, what is wiped for the next rather than given back and faulted in again. More than nearly
/// every policy touches.
const KEEP_RESIDENT: usize = 1024 * 1024;
/// Instances beyond the decision threads': one that is being loaded, the shadows' one, and callers with threads of their own.
const SPARE_SLOTS: usize = 3;
/// Memories that are kept for each decision thread, so that one which decides for this many policies in turn need not map
/// their snapshots anew. At least [`MAX_MEMORIES`].
const MEMORIES_PER_SLOT: u32 = 8;

/// From this many on, Wasmtime keeps a list of free memories, and of free tables, for each core. Below, all threads go
/// through one lock for each, which two threads feel: together they decide 1.4 times as much as one, and 1.7 times with a
/// list each. It costs address space only.
const MIN_SHARDED: u32 = 128;

/// How many instances there can be at the same time.
pub(super) fn pool_size(limits: &EngineLimits) -> usize {
    limits.threads + SPARE_SLOTS
}

/// The largest that a memory gets. Taking a snapshot needs a page of its own.
pub(super) fn pool_memory(limits: &EngineLimits) -> usize {
    limits.memory_pages() + PAGE
}

/// `metered`: count the instructions that run.
pub(super) fn config(limits: &EngineLimits, metered: bool) -> Config {
    let mut config = Config::new();
    config
        .wasm_features(FEATURES.complement(), false)
        .wasm_features(FEATURES, true)
        .shared_memory(false)
        .concurrency_support(false)
        .epoch_interruption(true)
        .consume_fuel(metered)
        // A policy runs for microseconds, most of them spent on starting it, and is compiled for hundreds of milliseconds.
        .cranelift_opt_level(OptLevel::None)
        // The same failure gets the same verdict, on every machine.
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(MAX_STACK)
        .wasm_backtrace_max_frames(Some(MAX_FRAMES))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        // Small reservations: bounds are checked in code, and the pool needs megabytes of address space, not terabytes.
        .memory_reservation(pool_memory(limits) as u64)
        .memory_reservation_for_growth(0)
        .memory_guard_size(PAGE as u64)
        .memory_may_move(false)
        .allocation_strategy(pool(limits));
    config
}

fn pool(limits: &EngineLimits) -> PoolingAllocationConfig {
    let slots = u32::try_from(pool_size(limits)).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_core_instances(slots.saturating_mul(MAX_CORE_INSTANCES))
        .total_memories(slots.saturating_mul(MEMORIES_PER_SLOT).max(MIN_SHARDED))
        .total_tables(slots.saturating_mul(MAX_TABLES).max(MIN_SHARDED))
        .max_unused_warm_slots(slots.saturating_mul(MEMORIES_PER_SLOT))
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_tables_per_module(4)
        .table_elements(limits.table_elements)
        .max_memory_size(pool_memory(limits))
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(PAGE)
        // Only what was written is wiped, where the kernel can tell (Linux 6.7).
        .pagemap_scan(Enabled::Auto);
    pool
}
