//! What a person should know at the end.

use super::{Scene, table};
use crate::cli::demo::occurrence::Judge;
use crate::cli::demo::report::{Counts, Report};
use crate::cli::demo::script::{Kind, ORDERS, PREVIEWS, Trouble};
use crate::cli::demo::tally::Row;
use crate::cli::style::Style;

/// The width of the names on the left, and of what a policy did.
const NAMES: usize = 14;
const COLUMN: usize = 32;

const NEXT: &str = "\
What to try next:
  reprieve demo --messages 5000    more of it
  reprieve run --help              with your own broker, handler and policies
  examples/quickstart/README.md    to start from, in the source folder
";

/// The summary. `with_table` where the table is not on the screen already.
pub(in crate::cli::demo) fn text(report: &Report, with_table: bool, style: Style) -> String {
    let mut lines = Vec::new();
    if with_table {
        let (messages, tally) = (report.show.messages, &report.tally);
        let scene = Scene { messages, sent: report.sent, elapsed: report.took, is_over: true, tally };
        lines.push(String::new());
        lines.extend(table::rows(&scene, style));
    }
    lines.push(String::new());
    lines.extend(by_policy(report, style));
    lines.push(String::new());
    lines.extend(conclusion(report, style));
    lines.push(String::new());
    lines.push(NEXT.to_owned());
    lines.join("\n")
}

/// What each policy did with each kind of failure.
fn by_policy(report: &Report, style: Style) -> Vec<String> {
    let before = format!("{} (before the swap)", Judge::Standard.name());
    let after = format!("{} (after it)", Judge::ByErrorKind.name());
    let heading = format!("{:NAMES$}{before:COLUMN$}{after}", "what failed");
    let mut lines = vec![style.dim(&heading)];
    for queue in [ORDERS, PREVIEWS] {
        let remark = if queue == ORDERS { "" } else { "   by-error-kind from the start" };
        lines.push(format!("{}{}", style.bold(queue), style.dim(remark)));
        for kind in Kind::ALL.into_iter().filter(|kind| kind.queue == queue && kind.trouble != Trouble::None) {
            let row = report.tally.row(kind);
            let (standard, other) = (said(&row, Judge::Standard), said(&row, Judge::ByErrorKind));
            lines.push(format!("  {:width$}{standard:COLUMN$}{other}", kind.trouble.name(), width = NAMES - 2));
        }
    }
    let total = report.tally.total();
    let by_fallback: u64 =
        total.failures.iter().filter(|((judge, _), _)| *judge == Judge::Fallback).map(|(_, count)| count).sum();
    if by_fallback > 0 {
        lines.push(format!("The host's fallback judged {by_fallback} failures, since the policy gave no verdict."));
    }
    lines
}

/// "12 retried, 6 to orders.dlq"
fn said(row: &Row, judge: Judge) -> String {
    let parts = row.failures.iter().filter(|((by, _), _)| *by == judge);
    let parts: Vec<_> = parts.map(|((_, fate), count)| format!("{count} {fate}")).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

fn conclusion(report: &Report, style: Style) -> Vec<String> {
    let Counts { succeeded, dead_lettered, dropped, .. } = report.counts();
    let (sent, took) = (report.sent, report.took.as_secs_f64());
    let lost = match report.lost.as_slice() {
        [] => style.good("lost: 0"),
        [first, others @ ..] => {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            style.bad(&format!("lost: {} ({first}{more})", report.lost.len()))
        }
    };
    let mut lines = vec![
        format!(
            "{sent} messages in {took:.1}s: {succeeded} succeeded, {dead_lettered} dead-lettered, {dropped} dropped, {lost}"
        ),
        style.dim("(lost: the sender's ids against the handler's and the queues'; not from events)"),
    ];
    match report.tally.swap() {
        Some(_) => lines.extend(table::policy_lines(&report.tally, style)),
        None if report.stopped_early => {}
        None => lines.push(style.bad(&format!(
            "the policy was not swapped: {}",
            report.policy_problem.as_deref().unwrap_or("the change in the policies folder was not noticed")
        ))),
    }
    if report.stopped_early {
        lines.push("Stopped early: what was not processed is still in its queue, and not lost.".to_owned());
    }
    lines
}
