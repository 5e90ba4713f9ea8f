//! Policies that attack the host, on routes beside one whose messages and verdicts must not feel any of it.

mod arena;
mod candidates;
mod compiled;
mod handwritten;
mod loading;
mod trials;
mod turn;

use std::path::Path;

/// A test policy as it comes from the compiler.
fn built(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../target/test-policies/{name}.wasm"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test-policies`", path.display()))
}
