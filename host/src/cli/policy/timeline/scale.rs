//! Where a moment stands on a line of so many characters.

use std::time::Duration;

/// How time is laid out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// Each character is as long as any other.
    Even {
        /// The whole line.
        span_ms: f64,
    },
    /// Each decade is as long as any other, so that milliseconds can be seen beside hours.
    Magnitudes {
        /// About the shortest wait: below it the line is even.
        unit_ms: f64,
        /// The whole line.
        span_ms: f64,
    },
}

/// A shorter part of an even line than this cannot be seen.
const VISIBLE: f64 = 0.6;

impl Scale {
    /// The layout on which the shortest of these waits can be seen, within `total_ms` on `width` characters.
    pub(super) fn new(waits_ms: impl Iterator<Item = u64>, total_ms: u64, width: usize) -> Self {
        let span_ms = total_ms.max(1) as f64;
        let shortest = waits_ms.filter(|wait| *wait > 0).min().unwrap_or(1) as f64;
        if shortest / span_ms * width as f64 >= VISIBLE {
            Self::Even { span_ms }
        } else {
            Self::Magnitudes { unit_ms: shortest, span_ms }
        }
    }

    /// The share of the line that lies before this moment.
    fn share(self, at_ms: f64) -> f64 {
        match self {
            Self::Even { span_ms } => at_ms / span_ms,
            Self::Magnitudes { unit_ms, span_ms } => (at_ms / unit_ms).ln_1p() / (span_ms / unit_ms).ln_1p(),
        }
        .clamp(0.0, 1.0)
    }

    /// The character that this moment stands on.
    pub(super) fn column(self, at_ms: u64, width: usize) -> usize {
        (self.share(at_ms as f64) * width.saturating_sub(1) as f64).round() as usize
    }

    /// Moments to name below the line, with their columns; no two names touch.
    pub(super) fn ticks(self, width: usize) -> Vec<(usize, String)> {
        let mut ticks: Vec<(usize, String)> = vec![(0, "0".to_owned())];
        let last = match self {
            Self::Even { span_ms } | Self::Magnitudes { span_ms, .. } => span_ms,
        };
        for moment in self.moments().take_while(|moment| (*moment as f64) <= last) {
            let (column, name) = (self.column(moment, width), short(Duration::from_millis(moment)));
            let end = ticks.last().map_or(0, |(column, name)| column + name.len());
            if column > end + 1 && column + name.len() <= width {
                ticks.push((column, name));
            }
        }
        ticks
    }

    /// Round moments, in order.
    fn moments(self) -> Box<dyn Iterator<Item = u64>> {
        const SECOND: u64 = 1000;
        const MINUTE: u64 = 60 * SECOND;
        const HOUR: u64 = 60 * MINUTE;
        const DAY: u64 = 24 * HOUR;
        match self {
            Self::Even { span_ms } => {
                let steps = [
                    1,
                    2,
                    5,
                    10,
                    20,
                    50,
                    100,
                    200,
                    500,
                    SECOND,
                    2 * SECOND,
                    5 * SECOND,
                    10 * SECOND,
                    20 * SECOND,
                    30 * SECOND,
                    MINUTE,
                    2 * MINUTE,
                    5 * MINUTE,
                    10 * MINUTE,
                    20 * MINUTE,
                    30 * MINUTE,
                    HOUR,
                    2 * HOUR,
                    4 * HOUR,
                    6 * HOUR,
                    12 * HOUR,
                    DAY,
                    2 * DAY,
                    7 * DAY,
                ];
                let step = steps.into_iter().find(|step| *step as f64 * 5.0 >= span_ms).unwrap_or(30 * DAY);
                Box::new((1..).map(move |n| n * step))
            }
            Self::Magnitudes { .. } => Box::new(
                [
                    1,
                    10,
                    100,
                    SECOND,
                    10 * SECOND,
                    MINUTE,
                    10 * MINUTE,
                    HOUR,
                    6 * HOUR,
                    DAY,
                    7 * DAY,
                    30 * DAY,
                    365 * DAY,
                ]
                .into_iter(),
            ),
        }
    }
}

/// A duration in at most two units, such as `250ms`, `30.7s`, `12m 31s`, `2h 5m`, `3d 4h`.
pub(super) fn short(duration: Duration) -> String {
    let (ms, seconds) = (duration.as_millis(), duration.as_secs());
    let two = |big: u64, unit: &str, small: u64, rest: &str| match small {
        0 => format!("{big}{unit}"),
        small => format!("{big}{unit} {small}{rest}"),
    };
    match seconds {
        0 => format!("{ms}ms"),
        1..60 if ms % 1000 == 0 => format!("{seconds}s"),
        // Not rounded: what is shorter than a minute is not to look like one.
        1..60 => format!("{seconds}.{}s", ms % 1000 / 100),
        60..3600 => two(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_one_magnitude_are_drawn_to_scale() {
        let scale = Scale::new([100, 200, 400].into_iter(), 700, 40);
        assert_eq!(scale, Scale::Even { span_ms: 700.0 });
        assert_eq!([0, 100, 350, 700].map(|at| scale.column(at, 41)), [0, 6, 20, 40]);
    }

    #[test]
    fn milliseconds_can_be_seen_beside_hours() {
        let scale = Scale::new([100, 3_600_000].into_iter(), 3_600_100, 40);
        assert!(matches!(scale, Scale::Magnitudes { .. }));
        assert!(scale.column(100, 40) > 0);
        assert_eq!(scale.column(3_600_100, 40), 39);
    }

    #[test]
    fn names_of_moments_never_touch() {
        for total in [1, 7, 999, 61_000, 3_600_000, 90_000_000, u64::from(u32::MAX)] {
            for width in [10, 23, 80] {
                let ticks = Scale::new([1, total / 2].into_iter(), total, width).ticks(width);
                for pair in ticks.windows(2) {
                    assert!(pair[0].0 + pair[0].1.len() < pair[1].0, "{ticks:?}");
                }
                assert!(ticks.iter().all(|(column, name)| column + name.len() <= width), "{ticks:?} on {width}");
            }
        }
    }

    #[test]
    fn a_duration_has_at_most_two_units() {
        let texts = [0, 250, 1000, 30_700, 59_999, 60_000, 751_000, 7_500_000, 273_600_000]
            .map(|ms| short(Duration::from_millis(ms)));
        assert_eq!(texts, ["0ms", "250ms", "1s", "30.7s", "59.9s", "1m", "12m 31s", "2h 5m", "3d 4h"]);
    }
}
