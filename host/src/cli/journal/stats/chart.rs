//! The counts over time, in characters: a row for all failures and one for each outcome.

use super::tally::Tally;
use crate::cli::journal::words;
use crate::cli::style::Style;
use crate::timestamp::Timestamp;

const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The widest that a line gets.
const WIDTH: usize = 80;

pub(super) fn draw(tally: &Tally, style: Style) -> Vec<String> {
    let totals = tally.totals();
    // Where there are more columns than there is room, neighbours are added up.
    let together = totals.len().div_ceil(WIDTH).max(1);
    let joined = |counts: &[u64]| counts.chunks(together).map(|some| some.iter().sum()).collect::<Vec<u64>>();
    let row = |name: &str, counts: &[u64], colour: fn(Style, &str) -> String| {
        let counts = joined(counts);
        let most = counts.iter().copied().max().unwrap_or(0);
        let bars: String = counts.iter().map(|count| bar(*count, most)).collect();
        format!("{name:<16}{}  {}", colour(style, &bars), style.dim(&format!("most {most}")))
    };
    let mut lines = vec![row("failures", &totals, Style::bold)];
    for (name, counts) in tally.series() {
        let colour: fn(Style, &str) -> String = match name {
            "dead-lettered" | "dropped" | "parked" => Style::bad,
            "delayed" => Style::info,
            _ => Style::warning,
        };
        lines.push(row(name, counts, colour));
    }
    let column = humantime::format_duration(tally.bucket() * u32::try_from(together).unwrap_or(1));
    let begin = words::time(Timestamp(tally.begin()));
    lines.push(style.dim(&format!("{:<16}from {begin}, a column is {column}", "")));
    lines
}

/// Something is never nothing, however small beside the largest.
fn bar(count: u64, most: u64) -> char {
    let height = (count * 8).div_ceil(most.max(1));
    HEIGHTS[usize::try_from(height).unwrap_or(8).min(8)]
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_among_very_many_is_seen_and_none_is_not() {
        assert_eq!([0, 1, 500, 1000].map(|count| super::bar(count, 1000)), [' ', '▁', '▄', '█']);
        assert_eq!(super::bar(0, 0), ' ');
    }
}
