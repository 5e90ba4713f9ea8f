//! One message fails, is delayed through two tiers on two hosts, meets a policy that traps, is dead-lettered, is redriven
//! and succeeds.

use std::path::Path;

use serde_json::json;

use super::merge::latest;
use super::show::life;
use super::source::Source;
use super::{export, query, stats, story, tail};
use crate::cli::style::Style;
use crate::failure::Failure;
use crate::journal::{End, EndKind, Entry, FILE, Filter, Kept, Log, Outcome, OutcomeKind};
use crate::timestamp::Timestamp;
use crate::verdict::{Action, Fault, FaultKind, Maker, Verdict};

/// 2026-03-01T12:00:00Z
const NOON: u64 = 1_772_366_400_000;

fn entry(message: &str, attempt: u32, second: u64, attributes: &[(&str, &str)]) -> Entry {
    let failure = Failure::from_written(&json!({
        "message": { "id": message },
        "error": { "kind": "http-503", "text": "503 Service Unavailable, \"later\"" },
        "attempt": attempt,
        "now": NOON + second * 1000,
        "attributes": attributes,
    }));
    Entry {
        id: 0,
        route: "orders".to_owned(),
        failure: failure.unwrap(),
        kept: Kept::default(),
        maker: Some(Maker { policy: "patient".to_owned(), revision: "ab".repeat(32) }),
        answer: Ok(Verdict::new(Action::DelayTo { tier: "30s".to_owned() }, "the other side is down")),
        outcome: None,
        candidate: None,
    }
}

fn outcome(kind: OutcomeKind, second: u64, place: &str) -> Option<Outcome> {
    let at = Timestamp(NOON + second * 1000);
    let due = (kind == OutcomeKind::Delayed).then_some(Timestamp(at.0 + 30_000));
    Some(Outcome { at, kind, fallback: None, overridden: None, place: Some(place.to_owned()), due })
}

fn write(folder: &Path, host: &str, entries: &[Entry], ends: &[End]) -> Source {
    let mut log = Log::open(folder.join(host).join(FILE)).unwrap();
    log.set_host(host).unwrap();
    log.write(|batch| {
        entries.iter().try_for_each(|entry| batch.add(entry))?;
        ends.iter().try_for_each(|end| batch.add_end(end))
    })
    .unwrap();
    Source::open(&folder.join(host)).unwrap()
}

/// Its life in the journals of two hosts, beside another message's.
fn two_hosts(folder: &Path) -> Vec<Source> {
    let first = Entry { outcome: outcome(OutcomeKind::Delayed, 0, "30s"), ..entry("A7", 1, 0, &[]) };
    let unknown = entry("B2", 1, 7, &[]);
    let mut second = Entry { outcome: outcome(OutcomeKind::Delayed, 31, "5m"), ..entry("A7", 2, 31, &[]) };
    second.answer = Err(Fault::new(FaultKind::Trap, "it panicked"));
    second.failure.tier = Some("30s".to_owned());
    if let Some(outcome) = &mut second.outcome {
        outcome.fallback = Some(Verdict::new(Action::Delay { delay_ms: 300_000 }, "the route's own retry settings"));
        outcome.overridden = Some("no tier is as short".to_owned());
    }
    let mut last = Entry { outcome: outcome(OutcomeKind::DeadLettered, 332, "orders.dlq"), ..entry("A7", 4, 332, &[]) };
    last.answer = Ok(Verdict::new(Action::DeadLetter { label: None }, "the attempts are used up"));
    let again = entry("A7", 1, 3600, &[("redrives", "1")]);
    let end = End {
        at: Timestamp(NOON + 3_631_000),
        route: "orders".to_owned(),
        message_id: Some("A7".to_owned()),
        attempt: 2,
        kind: EndKind::Succeeded,
        detail: None,
    };
    vec![write(folder, "host-1", &[first, unknown, last], &[end]), write(folder, "host-2", &[second, again], &[])]
}

#[test]
fn a_message_has_one_story_across_hosts_tiers_and_a_redrive() {
    let folder = tempfile::tempdir().unwrap();
    let sources = two_hosts(folder.path());
    let events = life(&sources, "A7").unwrap();
    insta::assert_snapshot!("story", story::tell(&events, Style::PLAIN).join("\n"));
    assert_eq!(life(&sources[..1], "#1").unwrap(), life(&sources[..1], "A7").unwrap());
    let several = life(&sources, "#1").unwrap_err().to_string();
    assert!(several.contains("several of these journals"), "{several}");
    let nothing = life(&sources, "C").unwrap_err().to_string();
    assert!(nothing.contains("nothing is recorded of a message \"C\"") && nothing.contains("--journal"), "{nothing}");
}

#[test]
fn the_latest_of_several_journals_come_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let sources = two_hosts(folder.path());
    let found = latest(&sources, &Filter::default(), 4).unwrap();
    insta::assert_snapshot!("query", query::view(&found, true, Style::PLAIN).join("\n"));
    let dead = Filter { outcome: Some(OutcomeKind::DeadLettered), ..Filter::default() };
    assert_eq!(latest(&sources, &dead, 4).unwrap().len(), 1);
}

#[test]
fn what_is_written_out_is_whole_and_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let sources = two_hosts(folder.path());
    let mut out = Vec::new();
    export::write(&sources, &Filter::default(), export::Format::Csv, &mut out).unwrap();
    insta::assert_snapshot!("csv", String::from_utf8(out).unwrap().replace("\r\n", "␍␊\n"));
    let mut out = Vec::new();
    export::write(&sources, &Filter::default(), export::Format::Jsonl, &mut out).unwrap();
    let read: Vec<Entry> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("host").unwrap();
            serde_json::from_value(line).unwrap()
        })
        .collect();
    let seconds: Vec<_> = read.iter().map(|entry| (entry.failure.now.0 - NOON) / 1000).collect();
    assert_eq!(seconds, [0, 7, 31, 332, 3600]);
}

#[test]
fn more_than_one_page_of_a_journal_is_written_out_once() {
    let folder = tempfile::tempdir().unwrap();
    let entries: Vec<_> = (0..600).map(|second| entry("A", 1, second, &[])).collect();
    let source = write(folder.path(), "host-1", &entries, &[]);
    let mut out = Vec::new();
    export::write(&[source], &Filter::default(), export::Format::Jsonl, &mut out).unwrap();
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 600);
}

#[test]
fn failures_are_counted_and_drawn_over_time() {
    let folder = tempfile::tempdir().unwrap();
    let tally = stats::counted(&two_hosts(folder.path()), &Filter::default(), None).unwrap();
    insta::assert_snapshot!("stats", stats::view(&tally, Style::PLAIN).join("\n"));
    insta::assert_snapshot!("svg", stats::drawing(&tally));
    let second = Some(std::time::Duration::from_millis(1));
    let many = stats::counted(&two_hosts(tempfile::tempdir().unwrap().path()), &Filter::default(), second).unwrap_err();
    assert!(many.to_string().contains("--bucket"), "{many}");
}

#[test]
fn who_follows_waits_for_a_young_failures_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let mut young = entry("B", 1, 0, &[]);
    young.failure.now = Timestamp::now().after(std::time::Duration::from_secs(600));
    let source = write(folder.path(), "host-1", &[entry("A", 1, 0, &[]), young], &[]);
    let mut after = 0;
    let found = tail::settled(&source, &Filter::default(), &mut after).unwrap();
    assert_eq!((found.len(), after), (1, 1));
    insta::assert_snapshot!(tail::line(&found[0], true, Style::PLAIN), @"2026-03-01 12:00:00.000  host-1  orders  A attempt 1  http-503 → not known  the other side is down");
    let dead = outcome(OutcomeKind::DeadLettered, 1, "dlq").unwrap();
    let mut log = Log::open(folder.path().join("host-1").join(FILE)).unwrap();
    log.write(|batch| batch.set_outcome(2, &dead)).unwrap();
    assert_eq!(tail::settled(&source, &Filter::default(), &mut after).unwrap().len(), 1);
    assert_eq!(after, 2);
}

#[test]
fn the_latest_of_a_million_are_found_without_reading_the_others() {
    let folder = tempfile::tempdir().unwrap();
    drop(write(folder.path(), "host-1", &[], &[]));
    let file = folder.path().join("host-1").join(FILE);
    // Nothing but the last twenty can be read: whoever touches another one fails.
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection
        .execute_batch(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
             INSERT INTO failures (at, route, error_kind, attempt, failure, answer) SELECT i, 'r', 'k', 1, '-', '-' FROM n",
        )
        .unwrap();
    let mut log = Log::open(&file).unwrap();
    log.write(|batch| (0..20).try_for_each(|second| batch.add(&entry("A", 1, second, &[])))).unwrap();
    let source = Source::open(&file).unwrap();
    assert_eq!(latest(&[source], &Filter::default(), 20).unwrap().len(), 20);
}

#[test]
fn a_time_is_a_moment_or_how_long_ago_it_was() {
    assert_eq!(super::asked::time("2026-03-01T12:00:00Z"), Ok(Timestamp(NOON)));
    assert!(Timestamp::now().since(super::asked::time("7d").unwrap()).as_secs().abs_diff(7 * 24 * 3600) < 60);
    assert!(super::asked::time("yesterday").unwrap_err().contains("7d"));
}
