//! A play as a picture: one row for each failed attempt, its wait as a bar on a line of time.

use std::time::Duration;

use super::play::{End, Outcome, Play, Step};
use super::scale::{Scale, short};
use crate::cli::style::Style;

/// The columns before the bars.
const ATTEMPT: usize = 4;
const WHEN: usize = 10;
const WHAT: usize = 30;
/// The narrowest line of time that shows anything.
const NARROWEST: usize = 14;

/// How pictures are laid out: the same for all that are to be compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    scale: Scale,
    line: usize,
    width: usize,
    style: Style,
}

impl Layout {
    /// For these plays, `width` characters wide.
    pub(super) fn new(plays: &[&Play], width: usize, style: Style) -> Self {
        let line = width.saturating_sub(ATTEMPT + WHEN + WHAT).max(NARROWEST);
        let waits = plays.iter().flat_map(|play| &play.steps).filter_map(|step| step.outcome.wait_ms());
        let total = plays.iter().map(|play| play.span_ms()).max().unwrap_or(0);
        Self { scale: Scale::new(waits, total, line), line, width, style }
    }

    /// The rows of one play, and what came of it.
    pub(super) fn draw(&self, play: &Play) -> Vec<String> {
        let mut lines = vec![self.heading()];
        let mut said = String::new();
        for step in &play.steps {
            lines.push(self.row(step));
            if let Some(why) = &step.ruling.overridden {
                lines.push(self.remark(&format!("not {}: {why}", step.ruling.verdict.action.name()), Style::warning));
            }
            if let Some(fault) = &step.ruling.fault {
                lines.push(self.remark(&format!("the policy failed, the fallback judges: {fault}"), Style::bad));
            }
            if let Some(pause) = step.ruling.verdict.pause_intake {
                let pause = short(Duration::from_millis(pause));
                lines.push(self.remark(&format!("the route takes no new messages for {pause}"), Style::warning));
            }
            let reason = &step.ruling.verdict.reason;
            // The same words in row after row, but for a count in them, say nothing.
            let words: String = reason.chars().filter(|letter| !letter.is_ascii_digit()).collect();
            if words != said && !reason.is_empty() {
                lines.push(self.remark(reason, Style::dim));
            }
            said = words;
        }
        lines.push(String::new());
        lines.push(self.style.bold(&conclusion(play)));
        lines
    }

    fn heading(&self) -> String {
        let mut line = vec![' '; self.line];
        for (column, name) in self.scale.ticks(self.line) {
            for (offset, letter) in name.chars().enumerate() {
                line[column + offset] = letter;
            }
        }
        let line: String = line.into_iter().collect();
        let heading = format!("{:>3} {:<WHEN$}{:<WHAT$}{line}", "#", "failed at", "and then");
        self.style.dim(heading.trim_end())
    }

    fn row(&self, step: &Step) -> String {
        let at = match step.at_ms {
            0 => "0".to_owned(),
            at => short(Duration::from_millis(at)),
        };
        let what = cut(&what(&step.outcome), WHAT - 1);
        let padding = " ".repeat(WHAT - what.chars().count());
        let what = match step.outcome {
            Outcome::DeadLetter { .. } | Outcome::Drop => self.style.bad(&what),
            Outcome::Retry { .. } | Outcome::Delay { .. } | Outcome::Requeue { .. } => what,
        };
        format!("{:>3} {at:<WHEN$}{what}{padding}{}", step.attempt, self.bar(step)).trim_end().to_owned()
    }

    /// The attempt as a dot, the wait behind it as a line: thick where it holds a slot, thin where it does not.
    fn bar(&self, step: &Step) -> String {
        let from = self.scale.column(step.at_ms, self.line);
        let indent = " ".repeat(from);
        let Some(wait) = step.outcome.wait_ms() else {
            return format!("{indent}{}", self.style.bad("●"));
        };
        let until = self.scale.column(step.at_ms.saturating_add(wait), self.line).max(from + 1).min(self.line - 1);
        let (stroke, colour): (_, fn(Style, &str) -> String) = match step.outcome {
            Outcome::Delay { .. } => ("┄", Style::info),
            _ => ("━", Style::warning),
        };
        format!("{indent}●{}", colour(self.style, &stroke.repeat(until - from)))
    }

    fn remark(&self, text: &str, colour: fn(Style, &str) -> String) -> String {
        let indent = ATTEMPT + WHEN;
        format!("{}{}", " ".repeat(indent), colour(self.style, &cut(text, self.width.saturating_sub(indent).max(20))))
    }
}

fn what(outcome: &Outcome) -> String {
    let time = |ms: &u64| short(Duration::from_millis(*ms));
    match outcome {
        Outcome::Retry { wait_ms } => format!("retry after {}", time(wait_ms)),
        Outcome::Delay { tier, wait_ms } if time(wait_ms) == *tier => format!("delay in tier {tier}"),
        Outcome::Delay { tier, wait_ms } => format!("delay {} in tier {tier}", time(wait_ms)),
        Outcome::Requeue { wait_ms } => format!("requeue after {}", time(wait_ms)),
        Outcome::DeadLetter { topic } => format!("dead letter in {topic}"),
        Outcome::Drop => "dropped".to_owned(),
    }
}

fn conclusion(play: &Play) -> String {
    let attempts = match play.steps.len() {
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    };
    let took = match play.total_ms {
        0 => String::new(),
        total => format!(" in {}", short(Duration::from_millis(total))),
    };
    match &play.end {
        End::DeadLettered { topic } => format!("{attempts}{took}, then a dead letter in {topic}"),
        End::Dropped => format!("{attempts}{took}, then dropped"),
        End::GoesOn => format!("{attempts}{took}, and it goes on; show more with --attempts"),
    }
}

pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
