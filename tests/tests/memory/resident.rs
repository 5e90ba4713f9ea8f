//! How much memory this process holds.

use std::fmt;

const MIB: f64 = 1024.0 * 1024.0;

/// Bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bytes(pub(crate) u64);

impl Bytes {
    pub(crate) const fn mib(number: u64) -> Self {
        Self(number * 1024 * 1024)
    }

    /// How much more this is.
    pub(crate) fn since(self, before: Self) -> Self {
        Self(self.0.saturating_sub(before.0))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} MiB", self.0 as f64 / MIB)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What of this process is in memory.
pub(crate) fn resident() -> Bytes {
    read("VmRSS:")
}

/// The most that ever was.
pub(crate) fn peak() -> Bytes {
    read("VmHWM:")
}

fn read(name: &str) -> Bytes {
    let status = std::fs::read_to_string("/proc/self/status").expect("this test needs Linux");
    let line = status.lines().find(|line| line.starts_with(name)).expect("the process has memory");
    let kibibytes: u64 = line.split_whitespace().nth(1).and_then(|text| text.parse().ok()).expect("a number");
    Bytes(kibibytes * 1024)
}
