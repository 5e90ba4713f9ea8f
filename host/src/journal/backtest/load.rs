//! Attempts that would follow, over time.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Count;
use crate::timestamp::{Timestamp, as_text};

/// What attempts are counted in until their span is known.
const MINUTE_MS: u64 = 60_000;

/// The most spans that are told of.
const MOST: u64 = 60;

/// Minutes that people count in.
const SPANS: [u64; 9] = [1, 5, 15, 60, 3 * 60, 6 * 60, 12 * 60, 24 * 60, 7 * 24 * 60];

/// How many attempts would be due when: the next attempt of each failure that has one. What would come of them, nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Load {
    /// When the first span begins.
    #[serde(serialize_with = "as_text")]
    pub from: Timestamp,
    /// How long each span is.
    pub span_ms: u64,
    /// One for each span, up to the last that has any.
    pub attempts: Vec<Count>,
}

/// The minute that a time is in.
pub(super) const fn minute(at: Timestamp) -> u64 {
    at.0 / MINUTE_MS
}

impl Load {
    pub(super) fn new(minutes: &BTreeMap<u64, Count>) -> Self {
        let (Some((first, _)), Some((last, _))) = (minutes.first_key_value(), minutes.last_key_value()) else {
            return Self::default();
        };
        let fits = |span: &u64| last / span - first / span < MOST;
        let weeks = SPANS[SPANS.len() - 1];
        let span = SPANS.into_iter().find(fits).unwrap_or_else(|| ((last - first) / (MOST - 1) / weeks + 1) * weeks);
        let begin = first / span;
        let mut attempts = vec![Count::default(); usize::try_from(last / span - begin + 1).unwrap_or(0)];
        for (minute, count) in minutes {
            // Every minute is between the first and the last.
            attempts[usize::try_from(minute / span - begin).unwrap_or(0)].add(*count);
        }
        Self { from: Timestamp(begin * span * MINUTE_MS), span_ms: span * MINUTE_MS, attempts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(minutes: &[u64]) -> Load {
        Load::new(&minutes.iter().map(|minute| (*minute, Count { before: 1, after: 2 })).collect())
    }

    #[test]
    fn spans_are_as_short_as_a_line_lets_them_be() {
        assert_eq!(load(&[]), Load::default());
        assert_eq!((load(&[7]).span_ms, load(&[7]).attempts.len()), (60_000, 1));
        let week = load(&[0, 7 * 24 * 60 - 1]);
        assert_eq!((week.span_ms, week.attempts.len()), (3 * 3_600_000, 56));
        for last in [59, 60, 1000, 12_345, 1 << 20, 1 << 30, u64::MAX / 60_000] {
            let load = load(&[3, last]);
            assert!(load.attempts.len() <= 60 && load.attempts.len() > 1, "{last}: {}", load.attempts.len());
            let sum: u64 = load.attempts.iter().map(|count| count.after).sum();
            assert_eq!(sum, 4, "{last}");
        }
    }

    #[test]
    fn a_span_holds_what_falls_into_it() {
        let load = load(&[60, 61, 119, 121]);
        assert_eq!((load.from, load.span_ms), (Timestamp(3_600_000), 5 * 60_000));
        assert_eq!(load.attempts[0], Count { before: 2, after: 4 });
        assert_eq!((load.attempts[11].before, load.attempts[12].before), (1, 1));
    }
}
