//! What the engine promises of policies, with real ones: `cargo xtask test-policies` builds them.

mod bad_files;
mod bounds;
mod cases;
mod decision_threads;
mod embedded;
mod faults;
mod loading;
mod log;
mod purity;
mod support;
