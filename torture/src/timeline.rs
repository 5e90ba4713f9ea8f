//! The run as a drawing: what was sent and what became of it over time, and the faults beneath.

mod axis;
mod rates;
mod svg;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::books::Message;
use crate::faults::{Fault, Kind, Repertoire};
use axis::Axis;
use rates::{Rates, open};
use svg::{escaped, line, polyline, text};

const WIDTH: f64 = 1200.0;
/// The labels of the rows stand left of this.
const LEFT: f64 = 244.0;
const RIGHT: f64 = WIDTH - 24.0;
const RATES: (f64, f64) = (84.0, 250.0);
const OPEN: (f64, f64) = (284.0, 354.0);
const ROWS: f64 = 394.0;
const ROW: f64 = 19.0;

/// Readable on white and on black, wherever it is embedded.
const STYLE: &str = include_str!("timeline/style.css");

/// What is drawn.
pub(crate) struct Timeline<'r> {
    pub(crate) title: String,
    /// The length of the run.
    pub(crate) seconds: f64,
    /// When the faults were over.
    pub(crate) closing: Option<f64>,
    pub(crate) hosts: usize,
    pub(crate) messages: &'r BTreeMap<u64, Message>,
    pub(crate) faults: &'r [Fault],
    pub(crate) repertoire: &'r Repertoire,
}

impl Timeline<'_> {
    /// As SVG.
    pub(crate) fn draw(&self) -> String {
        let rows = self.repertoire.all().count();
        let bottom = ROWS + ROW * rows as f64;
        let height = bottom + 54.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\">\n<style>{STYLE}</style>\n<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
        );
        text(&mut svg, (16.0, 28.0), "title", "start", &self.title);
        let across = Axis::new(self.seconds, LEFT, RIGHT);
        self.times(&mut svg, &across, bottom);
        self.rows(&mut svg, &across, bottom);
        self.rates(&mut svg, &across);
        self.open(&mut svg, &across);
        self.legend(&mut svg, bottom + 42.0);
        svg += "</svg>\n";
        svg
    }

    fn times(&self, svg: &mut String, across: &Axis, bottom: f64) {
        for (second, x) in across.ticks(10, &[5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0]) {
            line(svg, "grid", (x, RATES.0), (x, bottom));
            let (minutes, seconds) = (second / 60.0, second % 60.0);
            text(svg, (x, bottom + 16.0), "small", "middle", &format!("{}:{seconds:02}", minutes.floor()));
        }
        if let Some(closing) = self.closing {
            let x = across.place(closing);
            line(svg, "end", (x, RATES.0 - 6.0), (x, bottom));
            text(svg, (x, RATES.0 - 9.0), "small", "end", "no more faults");
        }
        let downs = self.faults.iter().filter(|fault| matches!(fault.kind, Kind::KillBroker | Kind::StopBroker));
        for fault in downs {
            let (from, to) = self.span(fault, across);
            let (top, end) = (RATES.0, OPEN.1 - RATES.0);
            let _ = writeln!(
                svg,
                "<rect class=\"down\" x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" height=\"{end}\"/>",
                to - from
            );
        }
    }

    fn rates(&self, svg: &mut String, across: &Axis) {
        let rates = Rates::of(self.messages, self.seconds);
        let up = Axis::new(rates.most(), RATES.1, RATES.0);
        panel(svg, &up, RATES, "messages a second");
        for (class, series) in [("sent", &rates.sent), ("handled", &rates.handled), ("dead", &rates.dead_lettered)] {
            let points = series
                .iter()
                .enumerate()
                .map(|(bucket, rate)| (across.place((bucket as f64 + 0.5) * rates.bucket), up.place(*rate)));
            polyline(svg, class, points);
        }
        let mut x = LEFT;
        for (class, name) in [("sent", "sent"), ("handled", "handled"), ("dead", "dead-lettered")] {
            line(svg, &format!("line {class}"), (x, 46.0), (x + 28.0, 46.0));
            text(svg, (x + 34.0, 50.0), "", "start", name);
            x += 130.0;
        }
    }

    fn open(&self, svg: &mut String, across: &Axis) {
        let open = open(self.messages, self.seconds);
        let most = open.iter().map(|(_, count)| *count).fold(1.0, f64::max);
        let up = Axis::new(most, OPEN.1, OPEN.0);
        panel(svg, &up, OPEN, "open: sent, not ended");
        polyline(svg, "open", open.iter().map(|(second, count)| (across.place(*second), up.place(*count))));
    }

    /// A row for each kind of fault, within it a line for each host.
    fn rows(&self, svg: &mut String, across: &Axis, bottom: f64) {
        text(svg, (LEFT, ROWS - 8.0), "small", "start", "faults; in rows of hosts, host 0 is uppermost");
        for (row, kind) in self.repertoire.all().enumerate() {
            let top = ROWS + ROW * row as f64;
            if row % 2 == 0 {
                let _ = writeln!(
                    svg,
                    "<rect class=\"stripe\" x=\"16\" y=\"{top}\" width=\"{}\" height=\"{ROW}\"/>",
                    RIGHT - 16.0
                );
            }
            let of_kind: Vec<&Fault> = self.faults.iter().filter(|fault| fault.kind == kind).collect();
            text(svg, (LEFT - 10.0, top + 14.0), "", "end", &format!("{} ×{}", kind.name(), of_kind.len()));
            for fault in of_kind {
                let (from, to) = self.span(fault, across);
                let (offset, height) = match fault.host {
                    Some(host) => {
                        let share = (ROW - 4.0) / self.hosts as f64;
                        (2.0 + share * host as f64, share - 1.0)
                    }
                    None => (3.0, ROW - 6.0),
                };
                let class = if self.repertoire.repeating.contains(&kind) { "repeats" } else { "fault" };
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
                    top + offset,
                    (to - from).max(2.5),
                    escaped(&title(fault)),
                );
            }
        }
        line(svg, "grid", (LEFT, bottom), (RIGHT, bottom));
    }

    fn legend(&self, svg: &mut String, y: f64) {
        let entries = [
            ("repeats", "a fault that may bring again what is in work", 310.0),
            ("fault", "another fault", 130.0),
            ("down", "the broker is down", 0.0),
        ];
        let mut x = LEFT;
        for (class, name, width) in entries {
            let _ = writeln!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"{}\" width=\"22\" height=\"10\"/>", y - 9.0);
            text(svg, (x + 28.0, y), "small", "start", name);
            x += width;
        }
    }

    fn span(&self, fault: &Fault, across: &Axis) -> (f64, f64) {
        (across.place(fault.begin), across.place(fault.end.unwrap_or(self.seconds)))
    }
}

fn title(fault: &Fault) -> String {
    let whom = fault.host.map(|host| format!(", host {host}")).unwrap_or_default();
    let detail = if fault.detail.is_empty() { String::new() } else { format!(": {}", fault.detail) };
    let end = fault.end.map(|end| format!(" to {end:.1} s")).unwrap_or_default();
    format!("{}{whom}{detail}, {:.1} s{end}", fault.kind.name(), fault.begin)
}

/// Name and grid of a chart.
fn panel(svg: &mut String, up: &Axis, (top, bottom): (f64, f64), name: &str) {
    for (value, y) in
        up.ticks(4, &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0])
    {
        line(svg, "grid", (LEFT, y), (RIGHT, y));
        text(svg, (LEFT - 8.0, y + 4.0), "small", "end", &value.to_string());
    }
    text(svg, (LEFT - 60.0, f64::midpoint(top, bottom) + 4.0), "", "end", name);
}
