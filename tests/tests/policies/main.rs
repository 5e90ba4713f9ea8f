//! Policies as built files: those that the host embeds, and those that tests use.

mod cases;
mod clean_instances;
mod committed;
mod cookbook;
mod frozen;
mod generated;

use std::path::Path;

/// A policy that `cargo xtask test` built, by its path beneath `target/`.
fn built(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test`", path.display()))
}
