//! What is seen while the demo runs: a table that is drawn again and again, or lines, or nothing.
//!
//! * `table`: the table's lines.
//! * `summary`: what is printed at the end.

pub(super) mod summary;
pub(super) mod table;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::time::Duration;

use super::occurrence::Occurrence;
use super::tally::Tally;
use crate::cli::style::Style;

/// Failures that the table shows below its rows.
const RECENT: usize = 4;
/// A line stays for this long at least, unless something new pushes it up.
const READING_TIME: Duration = Duration::from_millis(400);
/// Between two lines on progress.
const PROGRESS: Duration = Duration::from_secs(1);

/// The state of things at one moment.
pub(super) struct Scene<'t> {
    pub(super) messages: u32,
    pub(super) sent: u32,
    pub(super) elapsed: Duration,
    /// Nothing will change any more.
    pub(super) is_over: bool,
    pub(super) tally: &'t Tally,
}

/// Columns and rows that the live table takes.
const TABLE_WIDTH: u16 = 79;
const TABLE_HEIGHT: u16 = 24;

/// How the demo is watched.
#[derive(Debug)]
pub(super) enum View {
    /// Only the end counts.
    Silent,
    /// One line below the other, for logs.
    Lines { next_progress: Duration },
    /// In place, on a terminal.
    Table { style: Style, recent: VecDeque<String>, told: Duration, drawn: usize },
}

impl View {
    /// What suits the standard output.
    pub(super) fn for_stdout() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        // A table that is cut off cannot be drawn over.
        let holds_the_table = terminal_size::terminal_size()
            .is_none_or(|(width, height)| width.0 >= TABLE_WIDTH && height.0 >= TABLE_HEIGHT);
        if io::stdout().is_terminal() && !is_dumb && holds_the_table {
            Self::Table { style: Style::for_stdout(), recent: VecDeque::new(), told: Duration::ZERO, drawn: 0 }
        } else {
            Self::Lines { next_progress: PROGRESS }
        }
    }

    /// Something will follow.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        const BEGIN: &str = "reprieve demo: loading the policies\n";
        match self {
            Self::Silent => Ok(()),
            Self::Lines { .. } => print(BEGIN),
            Self::Table { drawn, .. } => {
                *drawn = 1;
                print(BEGIN)
            }
        }
    }

    /// A failure was judged.
    pub(super) fn tell(&mut self, occurrence: &Occurrence, elapsed: Duration) -> io::Result<()> {
        match self {
            Self::Lines { .. } if occurrence.is_first => print_line(elapsed, &occurrence.text),
            Self::Table { recent, told, .. } if occurrence.is_first || elapsed >= *told + READING_TIME => {
                *told = elapsed;
                recent.truncate(RECENT - 1);
                recent.push_front(line(elapsed, &occurrence.text));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The policy was swapped. The table shows that by itself.
    pub(super) fn tell_swap(&self, tally: &Tally, elapsed: Duration) -> io::Result<()> {
        match self {
            Self::Lines { .. } => {
                table::policy_lines(tally, Style::PLAIN).iter().try_for_each(|text| print_line(elapsed, text))
            }
            Self::Silent | Self::Table { .. } => Ok(()),
        }
    }

    /// Shows how things are now.
    pub(super) fn draw(&mut self, scene: &Scene<'_>) -> io::Result<()> {
        match self {
            Self::Silent => Ok(()),
            Self::Lines { next_progress } if scene.elapsed < *next_progress => Ok(()),
            Self::Lines { next_progress } => {
                *next_progress = scene.elapsed + PROGRESS;
                let total = scene.tally.total();
                let (sent, messages) = (scene.sent, scene.messages);
                let text = format!("sent {sent} of {messages}, {} of them at their end", total.ended());
                print_line(scene.elapsed, &text)
            }
            Self::Table { style, recent, drawn, .. } => {
                let mut lines = table::lines(scene, *style);
                if !scene.is_over {
                    lines.push(String::new());
                    let width = terminal_size::terminal_size().map_or(usize::MAX, |(width, _)| width.0.into());
                    lines.extend(recent.iter().map(|text| style.dim(&cut(text, width))));
                }
                let frame = frame(&lines, *drawn);
                *drawn = lines.len();
                print(&frame)
            }
        }
    }
}

/// As much of the text as fits, with a mark where something is missing.
fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_owned(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The lines in place of those that were drawn before. The terminal does not wrap them meanwhile, since a wrapped line
/// would put every later frame in the wrong place.
fn frame(lines: &[String], drawn: usize) -> String {
    let mut frame = "\r\x1b[?7l".to_owned();
    if drawn > 0 {
        // Writing to a string cannot fail.
        let _ = write!(frame, "\x1b[{drawn}A");
    }
    for line in lines {
        frame.push_str("\x1b[2K");
        frame.push_str(line);
        frame.push('\n');
    }
    frame.push_str("\x1b[J\x1b[?7h");
    frame
}

fn line(elapsed: Duration, text: &str) -> String {
    format!("{:>5.2}s  {text}", elapsed.as_secs_f64())
}

fn print_line(elapsed: Duration, text: &str) -> io::Result<()> {
    print(&(line(elapsed, text) + "\n"))
}

/// Writes to the standard output; unlike `print!`, without a panic where nobody reads it any more.
pub(super) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
