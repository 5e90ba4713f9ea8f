//! The `reprieve` program.

fn main() {}
