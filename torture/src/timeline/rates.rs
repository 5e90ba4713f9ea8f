//! What happened in each bucket of time.

use std::collections::BTreeMap;

use crate::books::Message;

/// Finer would be noise, however long the run.
const BUCKETS: f64 = 240.0;

/// Messages a second, by buckets.
pub(super) struct Rates {
    /// Seconds in each.
    pub(super) bucket: f64,
    pub(super) sent: Vec<f64>,
    pub(super) handled: Vec<f64>,
    pub(super) dead_lettered: Vec<f64>,
}

impl Rates {
    pub(super) fn of(messages: &BTreeMap<u64, Message>, seconds: f64) -> Self {
        let bucket = (seconds / BUCKETS).max(1.0);
        let successes = |message: &Message| {
            let runs: Vec<f64> = message.runs.iter().filter(|run| run.succeeded).filter_map(|run| run.ended).collect();
            runs
        };
        Self {
            bucket,
            sent: rate(messages.values().filter_map(|message| message.confirmed), seconds, bucket),
            handled: rate(messages.values().flat_map(successes), seconds, bucket),
            dead_lettered: rate(
                messages.values().flat_map(|message| &message.dead_letters).map(|letter| letter.at),
                seconds,
                bucket,
            ),
        }
    }

    pub(super) fn most(&self) -> f64 {
        self.sent.iter().chain(&self.handled).chain(&self.dead_lettered).copied().fold(1.0, f64::max)
    }
}

fn rate(moments: impl Iterator<Item = f64>, seconds: f64, bucket: f64) -> Vec<f64> {
    let mut counts = vec![0.0; (seconds / bucket).ceil().max(1.0) as usize];
    let last = counts.len() - 1;
    for moment in moments {
        counts[((moment / bucket) as usize).min(last)] += 1.0 / bucket;
    }
    counts
}

/// How many messages were sent and had not ended, at moments of the run.
pub(super) fn open(messages: &BTreeMap<u64, Message>, seconds: f64) -> Vec<(f64, f64)> {
    let mut changes = Vec::new();
    for message in messages.values() {
        let Some(confirmed) = message.confirmed else { continue };
        changes.push((confirmed, 1.0));
        // A message that was dropped ended with its last error.
        let end = message.ends().first().copied().or_else(|| message.is_dropped().then(|| message.last_seen()));
        changes.extend(end.map(|end| (end.max(confirmed), -1.0)));
    }
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut points, mut count, step) = (Vec::new(), 0.0, seconds / (2.0 * BUCKETS));
    let mut changes = changes.into_iter().peekable();
    for number in 0..=(2.0 * BUCKETS) as u32 {
        let now = f64::from(number) * step;
        while let Some((_, change)) = changes.next_if(|(at, _)| *at <= now) {
            count += change;
        }
        points.push((now, count));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_open_from_its_confirm_to_its_end() {
        let message = |confirmed: f64| Message { confirmed: Some(confirmed), ..Message::default() };
        let messages = BTreeMap::from([(0, message(10.0)), (1, message(20.0))]);
        let points = open(&messages, 100.0);
        let at = |second: f64| points.iter().rfind(|(at, _)| *at <= second).unwrap().1;
        assert_eq!((at(5.0), at(15.0), at(99.0)), (0.0, 1.0, 2.0));
        assert_eq!(rate([0.5, 0.6, 3.0].into_iter(), 4.0, 1.0), [2.0, 0.0, 0.0, 1.0]);
    }
}
