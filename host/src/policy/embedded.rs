//! The policies that are part of the program.

use super::folder::PolicyFile;

/// The name of the policy that judges where a route names none.
pub const STANDARD_NAME: &str = "standard";

/// The standard policy: built from `plugins/standard`.
pub const STANDARD: &[u8] = include_bytes!("../../policies/standard.wasm");

pub(super) fn standard() -> PolicyFile {
    PolicyFile::new(STANDARD)
}
