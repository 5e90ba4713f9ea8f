//! A point in time, as every record, header and policy sees it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The host's clock now.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// A time as it is displayed, or with another precision.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        humantime::parse_rfc3339(text).ok().map(Self::from)
    }

    /// This time plus `delay`; the end of time where that overflows.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(millis(delay)))
    }

    /// How long after `earlier` this is; zero where it is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, millis))
    }
}

/// RFC 3339 with milliseconds, in UTC.
impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Past the year 9999 the format has no name for the time; show the last moment that has one.
        let shown = self.0.min(253_402_300_799_999);
        let time = UNIX_EPOCH + Duration::from_millis(shown);
        write!(f, "{}", humantime::format_rfc3339_millis(time))
    }
}

/// For `serde(serialize_with)`: the time as people read it, instead of its milliseconds.
pub(crate) fn as_text<S: serde::Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// A duration in whole milliseconds, saturating.
#[must_use]
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp(1).after(Duration::MAX), Timestamp(u64::MAX));
        assert_eq!(Timestamp(1).since(Timestamp(9)), Duration::ZERO);
    }

    #[test]
    fn the_end_of_time_can_be_shown() {
        assert_eq!(Timestamp(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
    }
}
