//! The `[policies]` section.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Where policies come from and what one decision may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoliciesConfig {
    /// The folder that is watched for `NAME.wasm`. Without it only the embedded standard policy is there.
    pub folder: Option<PathBuf>,
    /// How long one decision may take. More than zero.
    pub deadline: Duration,
    /// The bytes of linear memory that one policy instance may use. At least one 64 KiB page.
    pub memory: u64,
    /// The largest policy file that is read, in bytes.
    pub file_size: u64,
    /// How often the folder is looked through, whether or not the system reported a change. More than zero.
    pub rescan: Duration,
    /// The threads that decide. `None` leaves the number to the engine.
    pub threads: Option<NonZeroUsize>,
}
