//! What a decision used of what the host allows.

use std::time::Duration;

use serde::Serialize;

use super::engine::{EngineLimits, LINES_PER_DECISION, Measured};
use super::lift::{MAX_HEADER_BYTES, MAX_HEADERS, MAX_REASON};
use super::text::CUT_MARK;
use crate::verdict::FaultKind;

/// One thing that is limited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Which.
    pub what: Resource,
    /// How much was used: nanoseconds, bytes or a number, as the resource has it.
    pub used: u64,
    /// How much may be used.
    pub limit: u64,
    /// The limit stopped the policy, or took from what it gave.
    pub hit: bool,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The time for one decision, in nanoseconds.
    Time,
    /// The instance's memory, in bytes. It is given in pages of 64 KiB.
    Memory,
    /// Lines for the log. More are withheld.
    LogLines,
    /// The reason, in bytes. A longer one is cut.
    Reason,
    /// The headers that the verdict adds. More of them make it invalid.
    Headers,
    /// Names and values of these headers, in bytes.
    HeaderBytes,
    /// The policy's file, in bytes. A larger one is not read.
    FileSize,
}

impl Usage {
    /// What one decision used. A verdict that was refused leaves no count of its reason and its headers.
    #[must_use]
    pub fn of(measured: &Measured, limits: &EngineLimits) -> Vec<Self> {
        let fault = measured.result.as_ref().err().map(|fault| fault.kind);
        let usage = |what, used: usize, limit: usize, hit| Self { what, used: used as u64, limit: limit as u64, hit };
        let mut usages = vec![
            Self::time(measured.elapsed, limits, fault == Some(FaultKind::Timeout)),
            Self::memory(measured.memory, limits, fault == Some(FaultKind::Memory)),
            usage(
                Resource::LogLines,
                measured.log.len() + measured.withheld as usize,
                LINES_PER_DECISION as usize,
                measured.withheld > 0,
            ),
        ];
        if let Ok(verdict) = &measured.result {
            let reason = &verdict.reason;
            let cut = reason.len() + CUT_MARK.len() > MAX_REASON && reason.ends_with(CUT_MARK);
            let bytes = verdict.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
            usages.push(usage(Resource::Reason, reason.len(), MAX_REASON, cut));
            usages.push(usage(Resource::Headers, verdict.headers.len(), MAX_HEADERS, false));
            usages.push(usage(Resource::HeaderBytes, bytes, MAX_HEADER_BYTES, false));
        }
        usages
    }

    /// This time for one decision.
    #[must_use]
    pub fn time(elapsed: Duration, limits: &EngineLimits, hit: bool) -> Self {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Self { what: Resource::Time, used: nanos(elapsed), limit: nanos(limits.deadline), hit }
    }

    /// So many bytes of memory.
    #[must_use]
    pub fn memory(bytes: usize, limits: &EngineLimits, hit: bool) -> Self {
        Self { what: Resource::Memory, used: bytes as u64, limit: limits.memory as u64, hit }
    }

    /// A file of so many bytes.
    #[must_use]
    pub fn file_size(bytes: usize, limits: &EngineLimits) -> Self {
        Self {
            what: Resource::FileSize,
            used: bytes as u64,
            limit: limits.file_size as u64,
            hit: bytes > limits.file_size,
        }
    }

    /// The used part of the limit: 1 is all of it.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.limit == 0 { f64::from(u8::from(self.used > 0)) } else { self.used as f64 / self.limit as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::engine::{Level, LogLine};
    use crate::verdict::{Action, Fault, Verdict};

    fn measured(result: Result<Verdict, Fault>) -> Measured {
        let line = LogLine { level: Level::Info, text: String::new() };
        Measured {
            result,
            elapsed: Duration::from_millis(1),
            instructions: None,
            memory: 1 << 20,
            log: vec![line; 16],
            withheld: 4,
        }
    }

    fn usage(measured: &Measured, what: Resource) -> Option<Usage> {
        Usage::of(measured, &EngineLimits::default()).into_iter().find(|usage| usage.what == what)
    }

    #[test]
    fn what_was_used_stands_beside_its_limit() {
        let mut verdict = Verdict::new(Action::Drop, "never");
        verdict.headers.push(("a".into(), "bc".into()));
        let measured = measured(Ok(verdict));
        let time = usage(&measured, Resource::Time).unwrap();
        assert_eq!((time.used, time.limit, time.hit), (1_000_000, 10_000_000, false));
        assert!((time.share() - 0.1).abs() < 1e-9);
        let lines = usage(&measured, Resource::LogLines).unwrap();
        assert_eq!((lines.used, lines.limit, lines.hit), (20, 16, true));
        let bytes = usage(&measured, Resource::HeaderBytes).unwrap();
        assert_eq!((bytes.used, bytes.hit), (3, false));
    }

    #[test]
    fn a_reason_that_was_cut_is_told_from_one_that_just_fits() {
        let hit =
            |reason: String| usage(&measured(Ok(Verdict::new(Action::Drop, reason))), Resource::Reason).unwrap().hit;
        assert!(hit("x".repeat(MAX_REASON - CUT_MARK.len()) + CUT_MARK));
        assert!(!hit("x".repeat(MAX_REASON)));
        assert!(!hit(format!("and so on{CUT_MARK}")));
    }

    #[test]
    fn a_fault_says_which_limit_it_was() {
        let late = measured(Err(Fault::new(FaultKind::Timeout, "")));
        assert!(usage(&late, Resource::Time).unwrap().hit && !usage(&late, Resource::Memory).unwrap().hit);
        assert_eq!(usage(&late, Resource::Reason), None);
    }
}
