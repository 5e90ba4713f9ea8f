//! What was measured, what each way isolates, and on what machine.

use std::time::Duration;

use crate::rounds::{Figures, cost_of_the_clock};
use crate::way::Way;

/// What Reprieve is held to, on Linux 6.7 or newer.
const MEDIAN_GOAL: Duration = Duration::from_micros(10);
const TWO_THREADS_GOAL: f64 = 1.7;

/// The processor, the kernel, and how busy the machine is before the measurement.
pub(crate) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = read("/proc/loadavg");
    format!(
        "{}, {cores} cores, Linux {}, load {} at the beginning",
        model.unwrap_or("unknown processor"),
        read("/proc/sys/kernel/osrelease").trim(),
        load.split(' ').next().unwrap_or_default(),
    )
}

/// Prints it all. The first way is the one with goals.
pub(crate) fn print(machine: &str, ways: &[Box<dyn Way>], one: &[Figures], two: &[Figures]) {
    println!("{machine}; reading the clock takes {} µs, which is in each time", micros(cost_of_the_clock()));

    let header = ["one decision, µs", "median", "p99", "a second", "2 threads: median", "p99", "a second", "times one"];
    let mut rows = vec![header.map(str::to_owned)];
    for ((way, one), two) in ways.iter().zip(one).zip(two) {
        rows.push([
            way.name(),
            micros(one.median),
            micros(one.p99),
            format!("{:.0}", one.rate),
            micros(two.median),
            micros(two.p99),
            format!("{:.0}", two.rate),
            format!("{:.2}", two.rate / one.rate),
        ]);
    }
    table(&rows);

    let header = ["what it isolates", "what crosses", "state between decisions", "around the policy"];
    let mut rows = vec![header.map(str::to_owned)];
    for way in ways {
        rows.push([way.name(), way.boundary().to_owned(), way.state().to_owned(), way.sandbox().to_owned()]);
    }
    table(&rows);

    let (median, ratio) = (one[0].median, two[0].rate / one[0].rate);
    let mark = |met| if met { "yes" } else { "NO" }.to_owned();
    table(&[
        ["goal", "measured", "met"].map(str::to_owned),
        [format!("a median of at most {MEDIAN_GOAL:?}"), format!("{} µs", micros(median)), mark(median <= MEDIAN_GOAL)],
        [
            format!("on two threads at least {TWO_THREADS_GOAL} times the rate of one"),
            format!("{ratio:.2}"),
            mark(ratio >= TWO_THREADS_GOAL),
        ],
    ]);
}

fn micros(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e6)
}

/// The first row is the header.
fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    println!();
    for (number, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        println!("| {} |", cells.join(" | "));
        if number == 0 {
            println!("| {} |", widths.map(|width| "-".repeat(width)).join(" | "));
        }
    }
}
