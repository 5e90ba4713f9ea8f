//! What was done, how long each of it took, and what failed.

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;

/// The steps that were taken, in order.
#[derive(Default)]
pub(super) struct Steps(Vec<Step>);

struct Step {
    name: &'static str,
    took: Duration,
    failed: bool,
}

impl Steps {
    /// Takes a step, under a heading.
    pub(super) fn take<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n== {name}");
        let began = Instant::now();
        let outcome = work();
        self.0.push(Step { name, took: began.elapsed(), failed: outcome.is_err() });
        outcome
    }
}

/// A table, with the sum beneath.
impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Step { name, took, failed } in &self.0 {
            writeln!(f, "{name:<22} {:>7.1} s{}", took.as_secs_f64(), if *failed { "  FAILED" } else { "" })?;
        }
        let all: Duration = self.0.iter().map(|step| step.took).sum();
        write!(f, "{:<22} {:>7.1} s", "in all", all.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_failed_is_marked_and_its_error_handed_on() {
        let mut steps = Steps::default();
        steps.take("first", || Ok(())).unwrap();
        let error = steps.take("second", || -> Result<()> { anyhow::bail!("out of order") }).unwrap_err();
        assert_eq!(error.to_string(), "out of order");

        let table = steps.to_string();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        assert!(lines[0].starts_with("first ") && lines[0].ends_with(" s"), "{table}");
        assert!(lines[1].starts_with("second ") && lines[1].ends_with(" s  FAILED"), "{table}");
        assert!(lines[2].starts_with("in all "), "{table}");
    }
}
