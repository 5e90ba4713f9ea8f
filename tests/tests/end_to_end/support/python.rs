//! The other side's programs, `tests/python/*.py`.

use std::path::Path;
use std::process::Command;

/// The interpreter with what those programs need.
const VARIABLE: &str = "REPRIEVE_TEST_PYTHON";

/// One of our Python programs, to be given its arguments.
///
/// # Panics
/// Where the variable is not set: a test that cannot run has failed.
pub(crate) fn python(program: &str) -> Command {
    let python = std::env::var(VARIABLE)
        .unwrap_or_else(|_| panic!("{VARIABLE} is not set: run `cargo xtask test`, which sets the Python up"));
    let mut command = Command::new(python);
    // Without -B it would leave compiled files beside the sources.
    command.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(program));
    command
}
