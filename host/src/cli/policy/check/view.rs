//! The steps, for people.

use std::fmt;

use super::steps::{Mark, Report};
use crate::cli::style::Style;

/// A line for each step, or several.
pub(super) struct View<'r> {
    pub(super) report: &'r Report,
    pub(super) style: Style,
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (report, style) = (self.report, self.style);
        writeln!(f, "{} on route {}\n", style.bold(&report.policy), report.route)?;
        for line in &report.steps {
            let mark = match line.result {
                Mark::Passed => style.good("✓"),
                Mark::Doubtful => style.warning("!"),
                Mark::Failed => style.bad("✗"),
                Mark::NotReached => style.dim("–"),
            };
            for (index, found) in line.found.iter().enumerate() {
                let found = match line.result {
                    Mark::NotReached => style.dim(found),
                    Mark::Failed if index == 0 => style.bad(found),
                    _ => found.clone(),
                };
                let (mark, title) = if index == 0 { (mark.as_str(), line.step.title()) } else { (" ", "") };
                writeln!(f, "  {mark} {title:<12}  {found}")?;
            }
        }
        let verdict = if report.right { style.good("A host would take it.") } else { style.bad("It is not right.") };
        writeln!(f, "\n{verdict}")
    }
}
