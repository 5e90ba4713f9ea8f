//! The `[policies]` section.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::section::Section;
use super::trust::read_trust;
use crate::policy::trust::Trust;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// Where policies come from and what one decision may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoliciesConfig {
    /// The folder that is watched for `NAME.wasm`. Without it only the embedded standard policy is there.
    pub folder: Option<PathBuf>,
    /// How long one decision may take. At least a millisecond.
    pub deadline: Duration,
    /// The bytes of linear memory that one policy instance may use. From 2 MiB to 2 GiB.
    pub memory: u64,
    /// The largest policy file that is read, in bytes.
    pub file_size: u64,
    /// How often the folder is looked through, whether or not the system reported a change. At least a millisecond.
    pub rescan: Duration,
    /// The threads that decide. `None` leaves the number to the engine.
    pub threads: Option<NonZeroUsize>,
    /// What is demanded of policy files.
    pub trust: Trust,
}

impl PoliciesConfig {
    pub(super) fn read(section: Option<Section<'_>>, folder: &Path) -> Self {
        let mut policies = Self {
            folder: None,
            deadline: Duration::from_millis(10),
            memory: 16 * MIB,
            file_size: 16 * MIB,
            rescan: Duration::from_secs(30),
            threads: None,
            trust: Trust::default(),
        };
        let Some(section) = section else { return policies };
        policies.folder = section.text("folder").map(|text| folder.join(text.get_ref()));
        if let Some(deadline) = section.positive_duration("deadline") {
            policies.deadline = deadline.into_inner();
        }
        if let Some(memory) = section.size("memory", 2 * MIB..=2 * GIB) {
            policies.memory = memory;
        }
        if let Some(size) = section.size("file_size", KIB..=GIB) {
            policies.file_size = size;
        }
        if let Some(rescan) = section.positive_duration("rescan") {
            policies.rescan = rescan.into_inner();
        }
        policies.threads =
            section.integer("threads", 1..=1024).and_then(|threads| NonZeroUsize::new(usize::try_from(threads).ok()?));
        policies.trust = read_trust(&section);
        section.finish();
        policies
    }
}
