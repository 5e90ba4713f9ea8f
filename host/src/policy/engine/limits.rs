//! What a policy may use.

use std::time::Duration;

use anyhow::ensure;

/// A page of WebAssembly memory, in bytes: the unit that memory grows in.
pub(super) const PAGE: usize = 64 * 1024;

/// What one instance of a policy may use, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineLimits {
    /// The time for one decision. A thread that the system did not run is not charged for it. At least 1 ms.
    pub deadline: Duration,
    /// The time for `describe` and `configure` each, when a policy is loaded.
    pub configure_deadline: Duration,
    /// The policy's own time for all the cases that its file carries, when it is loaded. A thousand take a tenth of a second.
    pub cases_deadline: Duration,
    /// All memories of an instance together, in bytes; counted in pages of 64 KiB.
    pub memory: usize,
    /// The elements of one table.
    pub table_elements: usize,
    /// The bytes that a policy can make the host copy in one call, such as one log line or one verdict.
    pub hostcall_bytes: usize,
    /// The largest policy file, in bytes.
    pub file_size: usize,
    /// The most bytes of a message body that any policy is given, whatever its route grants.
    pub max_body: u32,
    /// The decisions that run at the same time: the size of the pool of instances. More are waited for.
    pub threads: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(10),
            configure_deadline: Duration::from_secs(2),
            cases_deadline: Duration::from_secs(10),
            memory: 16 * 1024 * 1024,
            table_elements: 10_000,
            hostcall_bytes: 1024 * 1024,
            file_size: 16 * 1024 * 1024,
            max_body: 1024 * 1024,
            threads: std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2)),
        }
    }
}

impl EngineLimits {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            self.deadline >= Duration::from_millis(1),
            "a policy deadline of {} is too short: give at least 1ms",
            humantime::format_duration(self.deadline)
        );
        ensure!(
            self.memory >= 32 * PAGE && self.memory <= 1 << 31,
            "a policy memory of {} bytes is not from 2 MiB to 2 GiB",
            self.memory
        );
        ensure!(self.threads > 0, "policies need at least one thread to decide on");
        Ok(())
    }

    /// How often the clock of the policies ticks: a tenth of the deadline, so that a deadline is missed by little.
    pub(super) fn tick(&self) -> Duration {
        (self.deadline / 10).clamp(Duration::from_micros(200), Duration::from_millis(10))
    }

    /// A duration in ticks, rounded up, plus the one that is running already.
    pub(super) fn ticks(&self, duration: Duration) -> u64 {
        let ticks = duration.as_nanos().div_ceil(self.tick().as_nanos());
        u64::try_from(ticks).unwrap_or(u64::MAX - 1) + 1
    }

    /// Memory in whole pages.
    pub(super) fn memory_pages(&self) -> usize {
        self.memory.div_ceil(PAGE) * PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_shorter_in_ticks() {
        let limits = EngineLimits::default();
        assert_eq!(limits.tick(), Duration::from_millis(1));
        assert_eq!(limits.ticks(Duration::from_millis(10)), 11);
        assert_eq!(limits.ticks(Duration::from_micros(10_001)), 12);
        assert!(limits.ticks(Duration::MAX) > 1 << 60);
    }

    #[test]
    fn limits_that_no_policy_could_live_with_are_refused() {
        let limits = EngineLimits { deadline: Duration::ZERO, ..EngineLimits::default() };
        assert!(limits.check().is_err());
        let limits = EngineLimits { memory: 1000, ..EngineLimits::default() };
        assert!(limits.check().is_err());
        assert!(EngineLimits::default().check().is_ok());
    }
}
