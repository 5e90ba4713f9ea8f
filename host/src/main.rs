//! The `reprieve` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    reprieve::cli::main()
}
