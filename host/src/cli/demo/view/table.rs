//! The table: what became of whom.

use humantime::format_duration;

use super::Scene;
use crate::cli::demo::occurrence::{Fate, Judge};
use crate::cli::demo::script::{Kind, ORDERS, PREVIEWS};
use crate::cli::demo::stage::{ORDERS_DLQ, ORDERS_INVALID, SWAPPED};
use crate::cli::demo::tally::{Row, Swap, Tally};
use crate::cli::style::Style;

/// The width of the names on the left.
const NAMES: usize = 14;
/// Headings in two lines, and how wide each column is: 79 characters in all, with the names.
const COLUMNS: [(&str, &str, usize); 8] = [
    ("", "sent", 6),
    ("", "succeeded", 10),
    ("", "retried", 8),
    ("", "delayed", 8),
    ("dead-", "lettered", 9),
    ("", "requeued", 9),
    ("", "dropped", 8),
    ("in", "flight", 7),
];

/// Progress, the table, and until the end, who judges.
pub(super) fn lines(scene: &Scene<'_>, style: Style) -> Vec<String> {
    let mut lines = vec![progress(scene, style), String::new()];
    lines.extend(rows(scene, style));
    if !scene.is_over {
        lines.push(String::new());
        lines.extend(policy_lines(scene.tally, style));
    }
    lines
}

fn progress(scene: &Scene<'_>, style: Style) -> String {
    let (messages, sent) = (scene.messages, scene.sent);
    let title = style.bold("reprieve demo");
    format!("{title}   {:.1}s   {sent} of {messages} messages sent", scene.elapsed.as_secs_f64())
}

/// The table alone.
pub(in crate::cli::demo) fn rows(scene: &Scene<'_>, style: Style) -> Vec<String> {
    let heading = |text: fn(&(&'static str, &'static str, usize)) -> &'static str| {
        let cells: String =
            COLUMNS.iter().map(|column| format!("{:>width$}", text(column), width = column.2)).collect();
        style.dim(format!("{:NAMES$}{cells}", "").trim_end())
    };
    let mut lines = vec![heading(|column| column.0), heading(|column| column.1)];
    for (queue, remark) in [
        (ORDERS, format!("one tier; dead letters go to {ORDERS_DLQ} or {ORDERS_INVALID}")),
        (PREVIEWS, "no tiers, no dead-letter topic".to_owned()),
    ] {
        lines.push(format!("{}   {}", style.bold(queue), style.dim(&remark)));
        let kinds = Kind::ALL.into_iter().filter(|kind| kind.queue == queue);
        lines
            .extend(kinds.map(|kind| {
                row(&format!("  {}", kind.trouble.name()), kind.among(scene.sent), &scene.tally.row(kind))
            }));
    }
    lines.push(style.bold(&row("all", scene.sent.into(), &scene.tally.total())));
    lines
}

fn row(name: &str, sent: u64, row: &Row) -> String {
    let counts = [
        sent,
        row.succeeded,
        row.count(|fate| *fate == Fate::Retried),
        row.count(|fate| *fate == Fate::Delayed),
        row.count(Fate::is_dead_lettered),
        row.count(|fate| *fate == Fate::Requeued),
        row.count(|fate| *fate == Fate::Dropped),
        sent.saturating_sub(row.ended()),
    ];
    let cells = counts.iter().zip(COLUMNS).map(|(count, (_, _, width))| match count {
        0 => format!("{:>width$}", "-"),
        count => format!("{count:>width$}"),
    });
    format!("{name:NAMES$}{}", cells.collect::<String>())
}

/// Who judges the orders, in two lines: before the swap and after it.
pub(super) fn policy_lines(tally: &Tally, style: Style) -> [String; 2] {
    let (standard, other) = (Judge::Standard.name(), Judge::ByErrorKind.name());
    let first = &tally.first;
    match tally.swap() {
        None => [
            format!("{ORDERS} are judged by {SWAPPED}.wasm, which is {} ({first})", style.bold(standard)),
            style.dim(&format!("half-way, {other} will be renamed over it while messages flow")),
        ],
        Some(Swap { to, took, meanwhile }) => [
            format!("swapped: {standard} ({first}) -> {} ({to})", style.bold(other)),
            format!("live {} after the rename{}", format_duration(took), unpaused(meanwhile, style)),
        ],
    }
}

/// What shows that nothing paused, where anything does.
fn unpaused(meanwhile: u64, style: Style) -> String {
    match meanwhile {
        0 => String::new(),
        count => format!("; {}: {count} attempts ended meanwhile", style.good("nothing paused")),
    }
}
