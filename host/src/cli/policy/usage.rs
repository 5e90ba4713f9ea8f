//! What was used of what is allowed, as a table.

use std::fmt;
use std::time::Duration;

use bytesize::ByteSize;

use crate::cli::style::Style;
use crate::policy::usage::{Resource, Usage};

/// The cells of a bar.
const BAR: usize = 20;
/// From here on a limit is near.
const NEAR: f64 = 0.5;

/// A row for each.
pub(super) struct UsageTable<'u> {
    /// Each with its title.
    pub(super) rows: &'u [(&'u str, &'u Usage)],
    pub(super) style: Style,
}

/// The rows of one decision.
pub(super) fn rows(usages: &[Usage]) -> Vec<(&str, &Usage)> {
    usages.iter().map(|usage| (title(usage.what), usage)).collect()
}

impl fmt::Display for UsageTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<14}{:>10}  {:>10}", "", "used", "of limit")?;
        for (title, usage) in self.rows {
            let share = usage.share();
            let row = format!(
                "  {:<14}{:>10}  {:>10}  {:>5}  {}",
                title,
                amount(usage.what, usage.used),
                amount(usage.what, usage.limit),
                percent(share),
                bar(share, BAR),
            );
            let row = row.trim_end();
            match share {
                _ if usage.hit => writeln!(f, "{}", self.style.bad(&format!("{row}  {}", hit(usage.what))))?,
                _ if share > 1.0 => writeln!(f, "{}", self.style.bad(&format!("{row}  over")))?,
                _ if share > NEAR => writeln!(f, "{}  near", self.style.warning(row))?,
                _ => writeln!(f, "{row}")?,
            }
        }
        Ok(())
    }
}

const fn title(what: Resource) -> &'static str {
    match what {
        Resource::Time => "time",
        Resource::Memory => "memory",
        Resource::LogLines => "log lines",
        Resource::Reason => "reason",
        Resource::Headers => "headers",
        Resource::HeaderBytes => "header bytes",
        Resource::FileSize => "file",
    }
}

const fn hit(what: Resource) -> &'static str {
    match what {
        Resource::Time | Resource::Memory | Resource::Headers | Resource::HeaderBytes => "over: no verdict",
        Resource::FileSize => "over: not loaded",
        Resource::LogLines => "over: the rest is withheld",
        Resource::Reason => "over: it is cut",
    }
}

fn amount(what: Resource, amount: u64) -> String {
    match what {
        Resource::Time => time(Duration::from_nanos(amount)),
        Resource::Memory | Resource::Reason | Resource::HeaderBytes | Resource::FileSize => bytes(amount),
        Resource::LogLines | Resource::Headers => amount.to_string(),
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 1.0 => "< 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// A bar of at most `cells`, to an eighth of one. What is more than nothing can be seen.
pub(super) fn bar(share: f64, cells: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).ceil() as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// A time with three digits or so.
pub(super) fn time(duration: Duration) -> String {
    let nanos = duration.as_nanos() as f64;
    let (number, unit) = match nanos {
        _ if nanos < 1e3 => return format!("{nanos:.0} ns"),
        _ if nanos < 1e6 => (nanos / 1e3, "µs"),
        _ if nanos < 1e9 => (nanos / 1e6, "ms"),
        _ => (nanos / 1e9, "s"),
    };
    let digits = if number.fract() == 0.0 || number >= 100.0 { 0 } else { 1 };
    format!("{number:.digits$} {unit}")
}

/// Bytes in a unit that suits them.
pub(super) fn bytes(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_is_near_and_what_is_over() {
        let usage = |what, used, limit, hit| Usage { what, used, limit, hit };
        let usages = [
            usage(Resource::Time, 8_300, 10_000_000, false),
            usage(Resource::Memory, 12 << 20, 16 << 20, false),
            usage(Resource::LogLines, 20, 16, true),
            usage(Resource::Reason, 0, 4096, false),
            usage(Resource::Headers, 32, 32, false),
            usage(Resource::HeaderBytes, 100, 8192, false),
        ];
        insta::assert_snapshot!(UsageTable { rows: &rows(&usages), style: Style::PLAIN });
    }

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!((grouped(12), grouped(123)), ("12".into(), "123".into()));
        assert_eq!(time(Duration::from_nanos(8_340)), "8.3 µs");
        assert_eq!(time(Duration::from_millis(10)), "10 ms");
        assert_eq!(time(Duration::from_nanos(812)), "812 ns");
    }

    #[test]
    fn a_little_can_be_seen_and_too_much_stays_in_its_place() {
        assert_eq!((bar(0.0, 4), bar(0.001, 4), bar(0.5, 4)), (String::new(), "▏".into(), "██".into()));
        assert_eq!(bar(7.0, 4), "████");
    }
}
