use insta::assert_snapshot;

use super::*;
use crate::journal::backtest::{Change, Count, Example, Faults, Followed, Gap, Group, Load, Override, Report, Waits};
use crate::timestamp::Timestamp;

/// When the first of the failures is.
const NOON: Timestamp = Timestamp(1_767_268_800_000);

fn examples(entries: &[u64]) -> Vec<Example> {
    let example = |entry: &u64| Example {
        at: NOON,
        journal: usize::from(entry.is_multiple_of(2)),
        entry: *entry,
        message_id: Some(format!("order-{entry}")),
    };
    entries.iter().map(example).collect()
}

fn group(error_kind: &str, from: &str, to: &str, count: u64) -> Group {
    let change = Change { error_kind: error_kind.to_owned(), from: from.to_owned(), to: to.to_owned() };
    Group { change, count, examples: examples(&[11, 4, 17]) }
}

fn count(before: u64, after: u64) -> Count {
    Count { before, after }
}

/// What came of one that changes something of everything.
fn report() -> Report {
    let waits = |name: &str, at_most_ms, count| Waits { name: name.to_owned(), at_most_ms, count };
    Report {
        failures: 5021,
        judged: 4821,
        incomplete: 200,
        gaps: [(Gap::Header("x-tenant".to_owned()), 180), (Gap::Body(1024), 20)].into(),
        same: 3142,
        changed: 1679,
        groups: vec![
            group("validation", "dead-letter invalid", "retry, at most 1s", 1094),
            group("rate-limit", "delay, at most 5m", "retry, at most 10s", 580),
            group("http-503", "delay, at most 5m", "fault: trap", 5),
        ],
        verdicts: [("retry", count(2790, 4464)), ("delay", count(585, 0)), ("dead-letter", count(1446, 352))].into(),
        outcomes: [("retry", count(2790, 4464)), ("delay", count(585, 0)), ("dead-letter", count(1446, 357))].into(),
        faults: vec![Faults {
            kind: "trap",
            count: count(0, 5),
            text: Some("panicked at src/lib.rs:12:9:\nno rule for http-503".to_owned()),
            examples: examples(&[3, 9]),
        }],
        overrides: vec![Override {
            verdict: "delay",
            outcome: "retry",
            count: count(12, 0),
            text: "the route has no tiers: a short delay is a retry in process".to_owned(),
        }],
        waits: vec![
            waits("at most 100ms", Some(100), count(100, 1200)),
            waits("at most 10s", Some(10_000), count(2690, 3264)),
            waits("at most 5m", Some(300_000), count(585, 0)),
        ],
        load: Load {
            from: NOON,
            span_ms: 3 * 3_600_000,
            attempts: (0..56).map(|n| count(n % 7, if n == 20 { 56 } else { n / 7 })).collect(),
        },
        messages: Some(Followed {
            messages: 3001,
            same: 1122,
            sooner: 60,
            saved_failures: 130,
            otherwise: 9,
            unknown: 1679,
            not_judged: 131,
            failures_without_id: 21,
        }),
    }
}

fn shown(report: &Report, journals: &[&str], violations: &[String]) -> String {
    let judging = vec![Judging {
        route: Some("orders".to_owned()),
        policy: "patient@46f55117edcc".to_owned(),
        against: RECORDED.to_owned(),
    }];
    let journals: Vec<_> = journals.iter().map(|name| (*name).to_owned()).collect();
    let source = format!("{}, route orders", journals.join(", "));
    let (body, is_partial, style) = (Some(1024), false, Style::PLAIN);
    View { judging, source, journals, report, body, is_partial, violations, style }.to_string()
}

#[test]
fn a_report_tells_what_can_be_judged_what_changes_and_what_follows() {
    assert_snapshot!(shown(&report(), &["state/journal.db"], &[]));
}

#[test]
fn entries_of_several_journals_are_told_apart_and_limits_that_are_passed_are_named() {
    let limit: Limit = "dead-letter:1%".parse().unwrap();
    let violation = limit.violation(&report()).unwrap();
    let report = Report { groups: report().groups, failures: 5021, judged: 5021, changed: 1679, ..Report::default() };
    assert_snapshot!(shown(&report, &["a/journal.db", "b/journal.db"], &[violation]));
}

#[test]
fn where_nothing_changes_there_is_little_to_tell() {
    let messages = Some(Followed { messages: 3001, same: 3001, ..Followed::default() });
    let report = Report { failures: 5021, judged: 5021, same: 5021, messages, ..Report::default() };
    assert_snapshot!(shown(&report, &["state/journal.db"], &[]));
}

#[test]
fn several_routes_are_named_each_with_its_revision_and_what_was_interrupted_says_so() {
    let judging = ["orders", "mails"].map(|route| Judging {
        route: Some(route.to_owned()),
        policy: format!("patient@{route}"),
        against: format!("standard@{route}"),
    });
    let report = Report { failures: 12, judged: 12, same: 12, ..Report::default() };
    let view = View {
        judging: judging.into(),
        source: "journal.db".to_owned(),
        journals: Vec::new(),
        report: &report,
        body: None,
        is_partial: true,
        violations: &[],
        style: Style::PLAIN,
    };
    assert_snapshot!(view.to_string());
}

/// Machines read it: it only grows.
#[test]
fn the_report_has_one_form_in_json() {
    let report = Report { groups: report().groups.into_iter().take(1).collect(), ..report() };
    let report = Report { load: Load { attempts: vec![count(1, 2)], ..report.load.clone() }, ..report };
    assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}
