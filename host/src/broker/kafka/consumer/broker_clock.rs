//! What a broker's clock shows at least, so that no record comes out of a tier early, whatever the host's clock says.
//!
//! A record has the broker's time when it is appended, so when it is here that time is past. The youngest record that was seen
//! therefore bounds the broker's clock from below, and from then on it is counted on by the host's steady clock.

use std::time::{Duration, Instant};

/// Steady clocks of two machines differ by less than this share: 500 millionths.
const DRIFT: u32 = 2000;

/// The clock of the broker that leads one partition.
#[derive(Debug, Default)]
pub(super) struct BrokerClock {
    /// The broker's time in milliseconds since the Unix epoch, and when it was past at the latest.
    seen: Option<(i64, Instant)>,
}

impl BrokerClock {
    /// A record that was appended at `appended`, in milliseconds since the Unix epoch, is here.
    pub(super) fn see(&mut self, appended: i64, now: Instant) {
        if self.reads(now).is_none_or(|reads| appended >= reads) {
            self.seen = Some((appended, now));
        }
    }

    /// How long until the broker's clock surely shows `time`; zero once it does. `None`: nothing is known of it.
    pub(super) fn until(&self, time: i64, now: Instant) -> Option<Duration> {
        let short = u64::try_from(time.saturating_sub(self.reads(now)?)).unwrap_or(0);
        if short == 0 {
            return Some(Duration::ZERO);
        }
        // As much longer as it is counted slower, and what rounding cuts.
        let short = Duration::from_millis(short);
        Some(short.saturating_add(short / (DRIFT - 1)).saturating_add(Duration::from_millis(1)))
    }

    /// What it surely shows, in milliseconds since the Unix epoch.
    fn reads(&self, now: Instant) -> Option<i64> {
        let (appended, at) = self.seen?;
        let since = now.saturating_duration_since(at);
        let since = since.saturating_sub(since / DRIFT);
        Some(appended.saturating_add(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_fresh_record_is_due_after_its_delay_and_a_little() {
        let (mut clock, now) = (BrokerClock::default(), Instant::now());
        assert_eq!(clock.until(0, now), None);
        clock.see(1_000_000, now);
        let wait = clock.until(1_060_000, now).unwrap();
        assert!(wait >= MINUTE && wait < MINUTE + Duration::from_millis(100), "{wait:?}");
        assert_eq!(clock.until(1_060_000, now + wait), Some(Duration::ZERO));
    }

    #[test]
    fn an_old_record_says_nothing_against_a_younger_one() {
        let (mut clock, now) = (BrokerClock::default(), Instant::now());
        clock.see(2_000_000, now);
        clock.see(1_000_000, now + MINUTE);
        assert_eq!(clock.until(2_059_000, now + MINUTE), Some(Duration::ZERO));
    }

    proptest! {
        #[test]
        fn it_is_never_ahead_of_the_brokers_clock(
            drift in -400..400_i64,
            skew in -100_000_000..100_000_000_i64,
            sights in prop::collection::vec((0..10_000_000_u64, 0..1_000_000_i64), 1..20),
            after in 0..100_000_000_u64,
        ) {
            let begin = Instant::now();
            // Host milliseconds to the broker's time.
            let broker = |host: u64| {
                let host = i64::try_from(host).unwrap();
                1_700_000_000_000 + skew + host + host * drift / 1_000_000
            };
            let mut clock = BrokerClock::default();
            let mut host = 0;
            for (pause, age) in sights {
                host += pause;
                clock.see(broker(host) - age, begin + Duration::from_millis(host));
            }
            host += after;
            // A millisecond for what rounding cuts.
            prop_assert!(clock.reads(begin + Duration::from_millis(host)).unwrap() <= broker(host) + 1);
        }
    }
}
