//! One verdict, explained, for people.

use std::fmt;

use humantime::format_duration;

use super::super::failure_argument::Then;
use super::super::usage::{UsageTable, grouped, rows};
use super::super::words;
use super::Explained;
use crate::cli::style::Style;
use crate::policy::engine::Level;
use crate::verdict::Verdict;

/// What was found, in lines.
pub(super) struct View<'e, 'a> {
    pub(super) explained: &'e Explained<'a>,
    pub(super) style: Style,
}

impl fmt::Display for View<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explained { judged, maker, given, measured, preview, usages } = self.explained;
        let (failure, style) = (&given.failure, self.style);
        let message = failure.message.id.as_ref().map_or(String::new(), |id| format!(" of message {id}"));
        writeln!(
            f,
            "{} judges attempt {}{message} on route {}: {}\n",
            style.bold(maker),
            failure.attempt,
            judged.route.name,
            if failure.error.text.is_empty() { failure.error.kind.clone() } else { failure.error.to_string() },
        )?;
        match &measured.result {
            Ok(verdict) => {
                line(f, "verdict", &style.bold(&words::action(&verdict.action)))?;
                self.verdict(f, verdict)?;
            }
            Err(fault) => {
                line(f, "fault", &style.bad(&fault.to_string()))?;
                line(f, "fallback", &words::action(&preview.verdict.action))?;
                self.verdict(f, &preview.verdict)?;
            }
        }
        line(f, "outcome", &format!("the message {}", words::outcome(&preview.outcome, failure.now)))?;
        if let Some(why) = &preview.overridden {
            line(f, "overridden", &style.warning(why))?;
        }
        if let Some(pause) = preview.pause_intake {
            line(f, "intake", &format!("the route takes no new messages for {}", format_duration(pause)))?;
        }
        if let Some(Then { policy, reason }) = &given.then {
            let policy = policy.as_deref().unwrap_or("dead-lettered");
            line(
                f,
                "at the time",
                &style.dim(&format!("{policy}: {}", reason.as_deref().unwrap_or("no reason was kept"))),
            )?;
        }
        self.log(f)?;
        writeln!(f, "\n{}", UsageTable { rows: &rows(usages), style }.to_string().trim_end())?;
        if let Some(instructions) = measured.instructions {
            writeln!(
                f,
                "  {:<14}{:>10}  {}",
                "instructions",
                grouped(instructions),
                style.dim("no limit of their own")
            )?;
        }
        Ok(())
    }
}

impl View<'_, '_> {
    fn verdict(&self, f: &mut fmt::Formatter<'_>, verdict: &Verdict) -> fmt::Result {
        line(f, "reason", if verdict.reason.is_empty() { "none given" } else { &verdict.reason })?;
        for (index, (name, value)) in verdict.headers.iter().enumerate() {
            line(f, if index == 0 { "headers" } else { "" }, &format!("{name}: {value}"))?;
        }
        Ok(())
    }

    fn log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measured = &self.explained.measured;
        for (index, logged) in measured.log.iter().enumerate() {
            let level = match logged.level {
                Level::Debug => self.style.dim("debug"),
                Level::Info => "info ".to_owned(),
                Level::Warn => self.style.warning("warn "),
                Level::Error => self.style.bad("error"),
            };
            line(f, if index == 0 { "log" } else { "" }, &format!("{level}  {}", logged.text))?;
        }
        if measured.withheld > 0 {
            line(f, "", &format!("and {} more lines, which are withheld", measured.withheld))?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "  {name:<14}{value}")
}
