//! The results for people: a line a case, and what is behind each that failed.

mod details;

use std::fmt;
use std::time::Duration;

use super::report::{Group, Outcome, Report};
use crate::cli::style::Style;
use crate::policy::engine::CaseRun;
use details::Details;

/// All that is known of why a case failed: some indented lines.
pub(super) fn explained(run: &CaseRun, style: Style) -> String {
    Details { run, style }.to_string()
}

/// All of them, with the totals at the end.
pub(super) struct Text<'r> {
    pub(super) report: &'r Report,
    pub(super) style: Style,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for group in &self.report.groups {
            self.group(f, group)?;
            writeln!(f)?;
        }
        let Report { left_out, elapsed, note, .. } = self.report;
        let (passed, failed) = (self.report.passed(), self.report.failed());
        let passed = self.coloured(passed, "passed", failed == 0, Style::good);
        let failed = self.coloured(failed, "failed", failed > 0, Style::bad);
        write!(f, "{passed}, {failed}")?;
        if *left_out > 0 {
            write!(f, ", {left_out} left out")?;
        }
        writeln!(f, " in {}", time(*elapsed))?;
        match note {
            Some(note) => writeln!(f, "{}", self.style.dim(&format!("note: {note}"))),
            None => Ok(()),
        }
    }
}

impl Text<'_> {
    fn group(&self, f: &mut fmt::Formatter<'_>, group: &Group) -> fmt::Result {
        writeln!(f, "{}", self.style.bold(&plain(&group.title())))?;
        for outcome in &group.outcomes {
            let Outcome { name, run } = outcome;
            if outcome.passed() {
                writeln!(f, "  {}      {}", self.style.good("ok"), plain(name))?;
            } else {
                writeln!(f, "  {}  {}", self.style.bad("FAILED"), plain(name))?;
                f.write_str(&explained(run, self.style))?;
            }
        }
        Ok(())
    }

    fn coloured(&self, number: usize, what: &str, matters: bool, colour: fn(Style, &str) -> String) -> String {
        let text = format!("{number} {what}");
        if matters { colour(self.style, &text) } else { text }
    }
}

fn time(elapsed: Duration) -> String {
    match elapsed.as_millis() {
        millis @ ..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", elapsed.as_secs_f64()),
    }
}

/// What is wrong, line by line.
pub(super) fn error(error: &anyhow::Error) -> String {
    format!("{error:#}").lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Without control characters, by which a file could do things to the terminal.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
