//! Can recorded failures be judged exactly, with what was kept of them?

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use super::Judges;
use crate::failure::Failure;
use crate::journal::{JournalError, Kept, RawEntry};
use crate::policy::engine::Needs;

/// What a policy reads and a record lacks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gap {
    /// The value of this header.
    Header(String),
    /// So many bytes of the body, or as many as it has.
    Body(usize),
    /// What masking changed here, such as `error.text`.
    Masked(String),
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header {name} was not kept"),
            Self::Body(bytes) => write!(f, "the first {bytes} bytes of the body were not kept"),
            Self::Masked(place) => write!(f, "{place} was masked"),
        }
    }
}

impl Serialize for Gap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How many failures can be judged exactly.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Failures that were looked at.
    pub failures: u64,
    /// Those of them that lack something.
    pub incomplete: u64,
    /// What they lack, each with the failures that lack it.
    pub gaps: BTreeMap<Gap, u64>,
}

impl Coverage {
    pub(super) fn count(&mut self, gaps: Vec<Gap>) {
        self.failures += 1;
        self.incomplete += u64::from(!gaps.is_empty());
        for gap in gaps {
            *self.gaps.entry(gap).or_default() += 1;
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.failures += other.failures;
        self.incomplete += other.incomplete;
        for (gap, count) in other.gaps {
            *self.gaps.entry(gap).or_default() += count;
        }
    }
}

impl Judges {
    /// What the policies read of a failure and was not kept of it.
    pub(super) fn gaps(&self, failure: &Failure, kept: &Kept) -> Vec<Gap> {
        self.gaps_with(kept, |bytes| kept.has_body(failure, bytes as u64))
    }

    /// The same of an entry, which is read as far as that takes.
    pub(super) fn gaps_of(&self, raw: &RawEntry) -> Result<Vec<Gap>, JournalError> {
        let kept = raw.kept()?;
        if kept.body_hash.is_none() || self.revisions().all(|revision| revision.needs().body.is_none_or(|n| n == 0)) {
            return Ok(self.gaps_with(&kept, |_| true));
        }
        let failure = raw.failure()?;
        Ok(self.gaps(&failure, &kept))
    }

    fn gaps_with(&self, kept: &Kept, has_body: impl Fn(usize) -> bool) -> Vec<Gap> {
        if kept.is_everything() {
            return Vec::new();
        }
        let mut gaps: Vec<_> =
            self.revisions().flat_map(|revision| lacking(revision.needs(), kept, &has_body)).collect();
        gaps.sort_unstable();
        gaps.dedup();
        gaps
    }
}

/// What a policy with these needs would miss. Which texts it reads it does not say.
pub(super) fn lacking(needs: &Needs, kept: &Kept, has_body: impl Fn(usize) -> bool) -> Vec<Gap> {
    let reads = |name: &str| needs.headers.as_ref().is_none_or(|names| names.iter().any(|wanted| wanted == name));
    let headers = kept.withheld_headers.iter().filter(|(name, _)| reads(name));
    let mut gaps: Vec<_> = headers.map(|(name, _)| Gap::Header(name.clone())).collect();
    gaps.extend(needs.body.filter(|bytes| !has_body(*bytes)).map(Gap::Body));
    let masked = kept.masked.iter().filter(|place| place.strip_prefix("headers.").is_none_or(reads));
    gaps.extend(masked.map(|place| Gap::Masked(place.clone())));
    gaps
}
