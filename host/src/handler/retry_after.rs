//! How long the failing side asks to be left alone.

use std::time::SystemTime;

use crate::timestamp::millis;

/// Milliseconds from HTTP's `Retry-After`: seconds, or a date that is zero once it has passed. Saturates;
/// nothing where it is neither.
pub(super) fn parse(raw: &str, now: SystemTime) -> Option<u64> {
    let raw = raw.trim();
    if !raw.is_empty() && raw.bytes().all(|byte| byte.is_ascii_digit()) {
        // All digits, so the only way to fail is to be too large.
        return Some(raw.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(1000));
    }
    let due = httpdate::parse_http_date(raw).ok()?;
    Some(due.duration_since(now).map_or(0, millis))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn seconds_become_milliseconds_and_saturate() {
        assert_eq!(parse(" 120 ", at(0)), Some(120_000));
        assert_eq!(parse("0", at(0)), Some(0));
        assert_eq!(parse("99999999999999999999999", at(0)), Some(u64::MAX));
        assert_eq!(parse("18446744073709551615", at(0)), Some(u64::MAX));
    }

    #[test]
    fn a_date_counts_from_now_and_never_below_zero() {
        assert_eq!(parse("Thu, 01 Jan 1970 00:01:00 GMT", at(0)), Some(60_000));
        assert_eq!(parse("Thu, 01 Jan 1970 00:01:00 GMT", at(3600)), Some(0));
    }

    #[test]
    fn anything_else_is_no_hint() {
        for nonsense in ["", "soon", "-5", "1.5", "+3", "Thu, 99 Jan 1970 00:01:00 GMT"] {
            assert_eq!(parse(nonsense, at(0)), None, "{nonsense:?}");
        }
    }
}
