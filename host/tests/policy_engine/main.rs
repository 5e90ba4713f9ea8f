//! What the engine promises of policies, with real ones: `cargo xtask test-policies` builds them.

mod bad_files;
mod bounds;
mod decision_threads;
mod embedded;
mod faults;
mod loading;
mod purity;
mod support;
