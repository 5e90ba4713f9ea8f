//! Why a case failed: what was expected, what came, and what the policy said of it.

use std::fmt;
use std::time::Duration;

use super::plain;
use crate::cli::style::Style;
use crate::policy::cases::CaseResult;
use crate::policy::cases::expectation::Difference;
use crate::policy::engine::{CaseRun, Level};
use crate::verdict::{Action, Verdict};

/// Some indented lines.
pub(super) struct Details<'r> {
    pub(super) run: &'r CaseRun,
    pub(super) style: Style,
}

impl fmt::Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.run.result {
            CaseResult::Passed(_) => {}
            CaseResult::Differs { differences, verdict } => {
                for Difference { field, expected, got } in differences {
                    self.line(f, field, &format!("expected  {}", self.style.good(&plain(expected))))?;
                    self.line(f, "", &format!("got       {}", self.style.bad(&plain(got))))?;
                }
                self.line(f, "verdict", &plain(&in_the_words_of_a_case(verdict)))?;
                // Where the reason is another than the expected one, it stands there already.
                if !differences.iter().any(|difference| difference.field == "reason") {
                    let reason = if verdict.reason.is_empty() { "none given" } else { &verdict.reason };
                    self.line(f, "reason", &plain(reason))?;
                }
            }
            CaseResult::Refused(problems) => {
                self.line(f, "refused", "the policy does not take the settings of this case")?;
                for problem in problems {
                    self.line(f, "", &plain(&problem.to_string()))?;
                }
            }
            CaseResult::NotConfigured(fault) => {
                self.line(f, "fault", &plain(&format!("when it took the settings of this case: {fault}")))?;
            }
            CaseResult::Faulted(fault) => self.line(f, "fault", &plain(&fault.to_string()))?,
        }
        for (index, line) in self.run.log.iter().enumerate() {
            let text = plain(&format!("{}  {}", level(line.level), line.text));
            self.line(f, if index == 0 { "log" } else { "" }, &text)?;
        }
        match self.run.withheld {
            0 => Ok(()),
            withheld => self.line(f, "", &format!("and {withheld} lines for which a host's log would have no room")),
        }
    }
}

impl Details<'_> {
    fn line(&self, f: &mut fmt::Formatter<'_>, what: &str, text: &str) -> fmt::Result {
        let width = self.width();
        writeln!(f, "          {}  {text}", self.style.dim(&format!("{:width$}", plain(what))))
    }

    /// Of the longest name that begins a line.
    fn width(&self) -> usize {
        let CaseResult::Differs { differences, .. } = &self.run.result else { return "verdict".len() };
        let fields = differences.iter().map(|difference| difference.field.chars().count());
        fields.chain(["verdict".len()]).max().unwrap_or_default()
    }
}

const fn level(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}

/// Without the reason. What is right of it can be copied into the case.
fn in_the_words_of_a_case(verdict: &Verdict) -> String {
    let duration = |ms| humantime::format_duration(Duration::from_millis(ms)).to_string();
    let mut fields = vec![format!("action = {:?}", verdict.action.name())];
    fields.extend(match &verdict.action {
        Action::Retry { delay_ms } | Action::Delay { delay_ms } => Some(format!("delay = {:?}", duration(*delay_ms))),
        Action::DelayTo { tier } => Some(format!("tier = {tier:?}")),
        Action::DeadLetter { label } => label.as_ref().map(|label| format!("label = {label:?}")),
        Action::Requeue { cooldown_ms } => cooldown_ms.map(|ms| format!("cooldown = {:?}", duration(ms))),
        Action::Drop => None,
    });
    fields.extend(verdict.pause_intake.map(|ms| format!("pause_intake = {:?}", duration(ms))));
    if !verdict.headers.is_empty() {
        let headers: Vec<_> = verdict.headers.iter().map(|(name, value)| format!("{name:?} = {value:?}")).collect();
        fields.push(format!("headers = {{ {} }}", headers.join(", ")));
    }
    fields.join(", ")
}
