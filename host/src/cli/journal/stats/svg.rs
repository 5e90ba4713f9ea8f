//! The counts over time as a drawing: a bar for each span of time, its outcomes on top of each other.

use std::fmt::Write as _;

use super::tally::Tally;
use crate::cli::journal::words;
use crate::timestamp::Timestamp;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 24.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = HEIGHT - 44.0;
/// Lines across, with their counts.
const LINES: u64 = 4;
/// Times beneath.
const TIMES: usize = 5;

/// Readable on white and on black, wherever it is embedded.
const STYLE: &str = include_str!("style.css");

pub(in crate::cli::journal) fn draw(tally: &Tally) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\n\
         <style>{STYLE}</style>\n<rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
    );
    let bucket = humantime::format_duration(tally.bucket());
    text(&mut svg, (16.0, 28.0), "title", "start", &format!("{} failures, a bar is {bucket}", tally.failures));
    legend(&mut svg, tally);
    let totals = tally.totals();
    let most = rounded(totals.iter().copied().max().unwrap_or(0));
    for line in 0..=LINES {
        let y = BOTTOM - (BOTTOM - TOP) * line as f64 / LINES as f64;
        let _ = writeln!(svg, "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\"/>");
        text(&mut svg, (LEFT - 8.0, y + 4.0), "small", "end", &(most / LINES * line).to_string());
    }
    let width = (RIGHT - LEFT) / totals.len() as f64;
    let mut below = vec![0; totals.len()];
    for (name, counts) in tally.series() {
        for (column, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let height = |count: u64| (BOTTOM - TOP) * count as f64 / most as f64;
            let x = LEFT + width * column as f64;
            below[column] += count;
            let y = BOTTOM - height(below[column]);
            let at = words::time(Timestamp(tally.begin() + tally.bucket_ms * column as u64));
            let _ = writeln!(
                svg,
                "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{at}: {count} {name}</title></rect>",
                class(name),
                (width * 0.86).max(0.5),
                height(*count)
            );
        }
    }
    times(&mut svg, tally, totals.len());
    svg + "</svg>\n"
}

fn legend(svg: &mut String, tally: &Tally) {
    let mut x = LEFT;
    for (name, counts) in tally.series() {
        let _ = writeln!(svg, "<rect class=\"{}\" x=\"{x}\" y=\"46\" width=\"14\" height=\"10\"/>", class(name));
        let label = format!("{name} {}", counts.iter().sum::<u64>());
        text(svg, (x + 20.0, 55.0), "small", "start", &label);
        x += 34.0 + 7.0 * label.chars().count() as f64;
    }
}

fn times(svg: &mut String, tally: &Tally, columns: usize) {
    for step in 0..TIMES {
        let share = step as f64 / (TIMES - 1) as f64;
        let anchor = match step {
            0 => "start",
            step if step == TIMES - 1 => "end",
            _ => "middle",
        };
        let at = tally.begin() + (tally.bucket_ms as f64 * columns as f64 * share) as u64;
        let time = words::time(Timestamp(at));
        text(svg, (LEFT + (RIGHT - LEFT) * share, BOTTOM + 20.0), "small", anchor, &time[..time.len() - 4]);
    }
}

/// The next larger number that the lines across divide without rest.
fn rounded(most: u64) -> u64 {
    let unit = 10u64.pow(most.max(1).ilog10()).max(1);
    let step = if most <= LINES { 1 } else { (unit / LINES).max(1) };
    most.max(1).div_ceil(step * LINES) * step * LINES
}

fn class(outcome: &str) -> String {
    outcome.replace(' ', "-")
}

/// Only numbers and names of this program are written: nothing that had to be escaped.
fn text(svg: &mut String, (x, y): (f64, f64), class: &str, anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}
