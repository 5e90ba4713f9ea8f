//! The results as build servers read them: JUnit XML.

use std::fmt;
use std::time::Duration;

use super::report::{Group, Outcome, Report};
use super::text::explained;
use crate::cli::style::Style;
use crate::policy::cases::CaseResult;

/// A verdict that is not as expected is a failure there, a policy that gives none an error.
pub(super) struct Junit<'r>(pub(super) &'r Report);

impl fmt::Display for Junit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let outcomes: Vec<_> = report.groups.iter().flat_map(|group| &group.outcomes).collect();
        writeln!(f, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(f, r#"<testsuites name="{}" {}>"#, Attribute(&report.name), Totals(&outcomes, report.elapsed))?;
        for group in &report.groups {
            suite(f, &report.name, group)?;
        }
        writeln!(f, "</testsuites>")
    }
}

fn suite(f: &mut fmt::Formatter<'_>, policy: &str, group: &Group) -> fmt::Result {
    let outcomes: Vec<_> = group.outcomes.iter().collect();
    let elapsed = outcomes.iter().map(|outcome| outcome.run.elapsed).sum();
    writeln!(f, r#"  <testsuite name="{}" {}>"#, Attribute(&group.title()), Totals(&outcomes, elapsed))?;
    for outcome in outcomes {
        let Outcome { name, run } = outcome;
        let time = Seconds(run.elapsed);
        write!(f, r#"    <testcase classname="{}" name="{}" time="{time}""#, Attribute(policy), Attribute(name))?;
        let Some(message) = run.result.failure() else {
            writeln!(f, "/>")?;
            continue;
        };
        let kind = if is_error(outcome) { "error" } else { "failure" };
        let details = explained(run, Style::PLAIN);
        writeln!(f, ">")?;
        writeln!(f, r#"      <{kind} message="{}">"#, Attribute(&message))?;
        writeln!(f, "{}      </{kind}>", Content(&details))?;
        writeln!(f, "    </testcase>")?;
    }
    writeln!(f, "  </testsuite>")
}

const fn is_error(outcome: &Outcome) -> bool {
    !matches!(outcome.run.result, CaseResult::Passed(_) | CaseResult::Differs { .. })
}

struct Totals<'r>(&'r [&'r Outcome], Duration);

impl fmt::Display for Totals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(outcomes, elapsed) = self;
        let errors = outcomes.iter().filter(|outcome| is_error(outcome)).count();
        let failures = outcomes.iter().filter(|outcome| !outcome.passed()).count() - errors;
        let (tests, time) = (outcomes.len(), Seconds(*elapsed));
        write!(f, r#"tests="{tests}" failures="{failures}" errors="{errors}" time="{time}""#)
    }
}

struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0.as_secs_f64())
    }
}

/// Text within quotes, where a reader would take a newline for a space.
struct Attribute<'t>(&'t str);

/// Text within an element.
struct Content<'t>(&'t str);

impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, self.0, "&#10;")
    }
}

impl fmt::Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, self.0, "\n")
    }
}

/// What XML cannot hold becomes a replacement character.
fn escaped(f: &mut fmt::Formatter<'_>, text: &str, newline: &str) -> fmt::Result {
    text.chars().try_for_each(|c| match c {
        '&' => f.write_str("&amp;"),
        '<' => f.write_str("&lt;"),
        '>' => f.write_str("&gt;"),
        '"' => f.write_str("&quot;"),
        '\n' => f.write_str(newline),
        '\u{fffe}' | '\u{ffff}' => f.write_str("\u{fffd}"),
        c if c.is_control() => f.write_str("\u{fffd}"),
        c => write!(f, "{c}"),
    })
}
