//! How long decisions took.

use std::time::Duration;

/// The times of many decisions, sorted. At least one.
#[derive(Debug)]
pub(super) struct Latency {
    nanos: Vec<u64>,
}

/// A range of times, and how many decisions were in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    /// The shortest time that is in it.
    pub(super) from: Duration,
    /// The shortest that no longer is; `None` for the last one.
    pub(super) to: Option<Duration>,
    pub(super) count: usize,
}

/// The rows of a histogram, at most.
const ROWS: usize = 12;
/// What a histogram shows in rows of their own; the slower ones share the last.
const SHOWN: f64 = 0.999;

impl Latency {
    /// `None` where there are no times.
    pub(super) fn new(mut nanos: Vec<u64>) -> Option<Self> {
        nanos.sort_unstable();
        (!nanos.is_empty()).then_some(Self { nanos })
    }

    pub(super) fn count(&self) -> usize {
        self.nanos.len()
    }

    /// The time within which this part of the decisions was made; 1 is all of them.
    pub(super) fn quantile(&self, part: f64) -> Duration {
        let rank = (part * self.nanos.len() as f64).ceil() as usize;
        Duration::from_nanos(self.nanos[rank.clamp(1, self.nanos.len()) - 1])
    }

    /// The decisions by time, from the fastest on.
    pub(super) fn histogram(&self) -> Vec<Bucket> {
        let bounds = bounds(self.nanos[0], nanos(self.quantile(SHOWN)));
        let mut from = 0;
        let mut buckets = Vec::new();
        for (index, low) in bounds.iter().enumerate() {
            let high = bounds.get(index + 1).copied().filter(|_| index + 1 < ROWS);
            let to = high.map_or(self.nanos.len(), |high| self.nanos.partition_point(|nanos| *nanos < high));
            buckets.push(Bucket {
                from: Duration::from_nanos(*low),
                to: high.map(Duration::from_nanos),
                count: to - from,
            });
            from = to;
            if high.is_none() {
                break;
            }
        }
        while buckets.len() > 1 && buckets.last().is_some_and(|bucket| bucket.count == 0) {
            buckets.pop();
        }
        buckets
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Round times that people can read, from the one below `least` to the one above `most`.
fn bounds(least: u64, most: u64) -> Vec<u64> {
    const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];
    let round = |decade: u32| STEPS.map(|step| step.saturating_mul(10_u64.saturating_pow(decade)));
    let all: Vec<u64> = [0].into_iter().chain((0..12).flat_map(round)).collect();
    let first = all.partition_point(|bound| *bound <= least).saturating_sub(1);
    let end = all.partition_point(|bound| *bound <= most);
    all[first..=end.min(all.len() - 1)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(micros: &[u64]) -> Latency {
        Latency::new(micros.iter().map(|micros| micros * 1000).collect()).unwrap()
    }

    #[test]
    fn a_quantile_is_a_time_that_was_measured() {
        let latency = micros(&(1..=100).rev().collect::<Vec<_>>());
        let of = |part| latency.quantile(part).as_micros();
        assert_eq!((of(0.5), of(0.9), of(0.99), of(1.0)), (50, 90, 99, 100));
        assert_eq!(
            (micros(&[7]).quantile(0.5), micros(&[7]).quantile(0.99)),
            (Duration::from_micros(7), Duration::from_micros(7))
        );
        assert!(Latency::new(Vec::new()).is_none());
    }

    #[test]
    fn every_decision_is_in_one_row() {
        let mut times = vec![8; 900];
        times.extend([9, 11, 12, 14, 21, 34, 90, 5000, 90_000]);
        let histogram = micros(&times).histogram();
        assert_eq!(histogram.iter().map(|bucket| bucket.count).sum::<usize>(), times.len());
        assert_eq!(
            histogram[0],
            Bucket { from: Duration::from_micros(7), to: Some(Duration::from_micros(10)), count: 901 }
        );
        assert!(histogram.len() <= ROWS, "{histogram:?}");
        assert_eq!(histogram.last().unwrap().to, None, "the slowest are in the last row");
    }

    #[test]
    fn any_times_can_be_shown() {
        for times in [vec![0], vec![0, u64::MAX / 1000], vec![u64::MAX / 1000], vec![3; 10]] {
            let histogram = micros(&times).histogram();
            assert_eq!(histogram.iter().map(|bucket| bucket.count).sum::<usize>(), times.len(), "{times:?}");
        }
    }
}
