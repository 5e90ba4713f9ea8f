//! What decisions cost, for people.

use std::fmt;

use super::super::usage::{UsageTable, bar, grouped, time};
use super::Measurement;
use crate::cli::style::Style;
use crate::policy::usage::{Resource, Usage};

/// The cells of the longest bar.
const BAR: usize = 30;
/// The quantiles that are told.
const QUANTILES: [(&str, f64); 4] = [("half", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("all", 1.0)];

pub(super) struct View<'m> {
    pub(super) measurement: &'m Measurement,
    pub(super) style: Style,
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (measurement, style) = (self.measurement, self.style);
        let failure = &measurement.failure;
        writeln!(
            f,
            "{} judging attempt {}, error {}: {} decisions\n",
            style.bold(&measurement.maker),
            failure.attempt,
            failure.error.kind,
            grouped(measurement.decisions as u64),
        )?;
        let timed = measurement.latency.count();
        if timed < measurement.decisions {
            let kept = format!("The times are those of the first {}.", grouped(timed as u64));
            writeln!(f, "  {}\n", style.dim(&kept))?;
        }
        if let Some(fault) = &measurement.fault {
            let faults = grouped(measurement.faults as u64);
            writeln!(f, "  {}\n", style.bad(&format!("{faults} of them gave no verdict: {fault}")))?;
        }
        self.limits(f)?;
        self.histogram(f)?;
        let (one, two) = (measurement.one_thread, measurement.two_threads);
        writeln!(f, "\n  one thread      {:>10} decisions a second", grouped(one as u64))?;
        writeln!(
            f,
            "  two threads     {:>10} decisions a second, {:.1} times as many",
            grouped(two as u64),
            two / one
        )?;
        if let Some(instructions) = measurement.instructions {
            writeln!(f, "  one decision    {:>10} instructions", grouped(instructions))?;
        }
        writeln!(f, "  loading         {:>10}, away from the messages", time(measurement.load))?;
        if cfg!(debug_assertions) {
            writeln!(f, "\n{}", style.warning("This is a debug build of the program: a release is much faster."))?;
        }
        Ok(())
    }
}

impl View<'_> {
    fn limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measurement = self.measurement;
        let latencies = QUANTILES.map(|(title, part)| {
            let nanos = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            let (used, limit) = (nanos(measurement.latency.quantile(part)), nanos(measurement.deadline));
            (format!("{title} within"), Usage { what: Resource::Time, used, limit, hit: false })
        });
        let mut rows: Vec<_> = latencies.iter().map(|(title, usage)| (title.as_str(), usage)).collect();
        rows.extend([("memory", &measurement.memory), ("file", &measurement.file)]);
        write!(f, "{}", UsageTable { rows: &rows, style: self.style })?;
        if measurement.faults == 0 && measurement.latency.quantile(1.0) > measurement.deadline {
            let why = "None missed the deadline: a policy is not charged for the time in which the system runs others.";
            writeln!(f, "\n  {}", self.style.dim(why))?;
        }
        Ok(())
    }

    fn histogram(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let histogram = self.measurement.latency.histogram();
        let most = histogram.iter().map(|bucket| bucket.count).max().unwrap_or(1).max(1) as f64;
        writeln!(f)?;
        for bucket in histogram {
            let range = match bucket.to {
                Some(to) => format!("{} to {}", time(bucket.from), time(to)),
                None => format!("from {}", time(bucket.from)),
            };
            let bar = bar(bucket.count as f64 / most, BAR);
            let row = format!("  {range:<18} {:>9}  {}", grouped(bucket.count as u64), self.style.info(&bar));
            writeln!(f, "{}", row.trim_end())?;
        }
        Ok(())
    }
}
