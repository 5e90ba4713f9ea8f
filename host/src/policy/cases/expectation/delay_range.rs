//! How long a delay is expected to be.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::timestamp::millis;

/// A duration (`"1s"`), or the shortest and the longest (`"1s..2s"`), both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayRange {
    shortest: u64,
    longest: u64,
}

impl DelayRange {
    pub(super) fn contains(self, delay_ms: u64) -> bool {
        (self.shortest..=self.longest).contains(&delay_ms)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            humantime::parse_duration(part.trim()).map(millis).map_err(|_| {
                format!("{text:?} is no duration; write one such as \"1s\", or a range such as \"1s..2s\"")
            })
        };
        let (shortest, longest) = text.split_once("..").unwrap_or((text, text));
        let range = Self { shortest: part(shortest)?, longest: part(longest)? };
        if range.shortest > range.longest {
            return Err(format!("the range {text:?} ends before it begins; write the shorter duration first"));
        }
        Ok(range)
    }
}

/// As in a case.
pub(super) fn duration(ms: u64) -> String {
    humantime::format_duration(Duration::from_millis(ms)).to_string()
}

impl fmt::Display for DelayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration(self.shortest))?;
        if self.shortest != self.longest {
            write!(f, "..{}", duration(self.longest))?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for DelayRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Text)
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = DelayRange;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"1s\", or a range such as \"1s..2s\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<DelayRange, E> {
        DelayRange::parse(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_includes_both_its_ends() {
        let range = DelayRange::parse("1s .. 2s").unwrap();
        assert_eq!([999, 1000, 2000, 2001].map(|ms| range.contains(ms)), [false, true, true, false]);
        assert_eq!(range.to_string(), "1s..2s");
        assert_eq!(DelayRange::parse("1m 30s").unwrap().to_string(), "1m 30s");
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "soon", "1s..", "..2s", "1s..soon", "5"] {
            assert!(DelayRange::parse(text).unwrap_err().starts_with(&format!("{text:?} is no duration")), "{text}");
        }
        assert!(DelayRange::parse("2s..1s").unwrap_err().contains("ends before it begins"));
    }
}
