//! Durations in settings: text such as `"100ms"` or `"1h 30m"`, or a number of milliseconds.
//!
//! For a field use `#[serde(with = "reprieve_sdk::duration")]`, and for an `Option`
//! `#[serde(default, with = "reprieve_sdk::duration::option")]`.
//!
//! ```
//! use std::time::Duration;
//!
//! #[derive(serde::Deserialize)]
//! struct Settings {
//!     #[serde(with = "reprieve_sdk::duration")]
//!     give_up_after: Duration,
//! }
//!
//! let settings: Settings = serde_json::from_str(r#"{"give_up_after": "90s"}"#).unwrap();
//! assert_eq!(settings.give_up_after, Duration::from_secs(90));
//! let settings: Settings = serde_json::from_str(r#"{"give_up_after": 250}"#).unwrap();
//! assert_eq!(settings.give_up_after, Duration::from_millis(250));
//! ```

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserializer, Serializer};

/// Writes a duration as text, such as `"1m 30s"`.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_duration(*duration))
}

/// Reads a duration from text or from a number of milliseconds.
///
/// # Errors
/// Whatever is neither, and durations that no `Duration` can hold.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    deserializer.deserialize_any(DurationVisitor)
}

/// The duration as text for people, such as `"1h 30m"`.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(reprieve_sdk::duration::format(Duration::from_secs(5400)), "1h 30m");
/// ```
#[must_use]
pub fn format(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

/// Milliseconds as the interface carries them: rounded up, so that nothing comes back too early, and
/// saturating.
#[must_use]
pub fn to_millis(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(u64::MAX)
}

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"100ms\", or a number of milliseconds")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        humantime::parse_duration(text).map_err(|error| {
            E::custom(format_args!(
                "{text:?} is no duration ({error}): write one such as \"100ms\", \"30s\" or \"1h 30m\""
            ))
        })
    }

    fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Duration, E> {
        Ok(Duration::from_millis(millis))
    }

    fn visit_i64<E: de::Error>(self, millis: i64) -> Result<Duration, E> {
        u64::try_from(millis)
            .map(Duration::from_millis)
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(millis), &self))
    }
}

/// The same for an `Option<Duration>`. Give the field `#[serde(default)]` as well.
pub mod option {
    use std::fmt;
    use std::time::Duration;

    use serde::de::{self, Visitor};
    use serde::{Deserializer, Serializer};

    /// Writes a duration as text, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    /// Reads a duration, or null.
    ///
    /// # Errors
    /// As [`duration::deserialize`](super::deserialize).
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        deserializer.deserialize_option(OptionVisitor)
    }

    struct OptionVisitor;

    impl<'de> Visitor<'de> for OptionVisitor {
        type Value = Option<Duration>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            super::DurationVisitor.expecting(f)
        }

        fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            super::deserialize(deserializer).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_rounded_up_and_saturate() {
        assert_eq!(to_millis(Duration::from_nanos(1)), 1);
        assert_eq!(to_millis(Duration::from_millis(7)), 7);
        assert_eq!(to_millis(Duration::MAX), u64::MAX);
    }
}
