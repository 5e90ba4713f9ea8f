use std::time::Duration;

use reprieve_sdk::RetryPolicy;
use serde_json::{Value, json};

use super::follow::{Link, follow};
use super::*;
use crate::failure::Failure;
use crate::journal::Kept;
use crate::policy::embedded::STANDARD;
use crate::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use crate::policy::route_record::RouteRecord;

fn standard(max_attempts: u32) -> Arc<Revision> {
    let record = RouteRecord {
        name: "orders".to_owned(),
        source: "orders".to_owned(),
        tiers: Vec::new(),
        dead_letters: vec!["default".to_owned()],
        retry: RetryPolicy { max_attempts, ..RetryPolicy::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 1024,
    };
    let engine = Engine::new(EngineLimits::default()).unwrap();
    let candidate = Candidate { name: "standard", bytes: STANDARD, route: &record, settings: &json!({}) };
    Arc::new(engine.load(&candidate).unwrap())
}

fn entry(id: u64, message: &str, attempt: u32, judge: &Revision) -> Entry {
    let written: Value = json!({ "message": { "id": message }, "attempt": attempt, "error": "timeout" });
    let failure = Failure::from_written(&written).unwrap();
    let answer = judge.decide(&failure);
    let (route, kept, maker) = ("orders".to_owned(), Kept::default(), Some(judge.maker().as_ref().clone()));
    Entry { id, route, failure, kept, maker, answer, outcome: None, candidate: None }
}

fn test(question: Question, entries: Vec<Entry>) -> Report {
    let feed = |each: &mut dyn FnMut(Record) -> bool| {
        entries.into_iter().map(|entry| Record::Entry(Box::new(entry))).all(each);
        Ok(())
    };
    backtest(&Arc::new(question), 2, feed).unwrap()
}

fn recorded(candidate: Arc<Revision>) -> Question {
    Question { candidate, against: Against::Recorded, allow_gaps: false }
}

/// Three messages that fail until their attempts are used up.
fn three_messages(judge: &Revision, attempts: u32) -> Vec<Entry> {
    let mut entries = Vec::new();
    for message in ["a", "b", "c"] {
        for attempt in 1..=attempts {
            entries.push(entry(entries.len() as u64 + 1, message, attempt, judge));
        }
    }
    entries
}

#[test]
fn a_policy_changes_nothing_of_what_it_said_itself() {
    let judge = standard(5);
    let report = test(recorded(Arc::clone(&judge)), three_messages(&judge, 5));
    assert_eq!((report.failures, report.judged, report.same, report.changed), (15, 15, 15, 0));
    assert_eq!((report.messages.messages, report.messages.same), (3, 3));
    assert_eq!(report.actions["retry"], Count { before: 12, after: 12 });
    assert!(report.groups.is_empty() && report.gaps.is_empty());
}

#[test]
fn fewer_attempts_end_messages_sooner_and_spare_failures() {
    let report = test(recorded(standard(3)), three_messages(&standard(5), 5));
    assert_eq!(report.changed, 6, "the third and fourth of each, which were retried");
    assert_eq!(report.actions["dead-letter"], Count { before: 3, after: 9 });
    assert_eq!((report.messages.sooner, report.messages.saved_failures), (3, 6));
    let group = &report.groups[0];
    assert_eq!((group.change.from.as_str(), group.change.to.as_str()), ("retry, at most 1s", "dead-letter"));
    assert_eq!((group.count, &group.examples[..]), (6, &[3, 4, 8][..]));
}

#[test]
fn more_attempts_end_in_what_nobody_knows() {
    let report = test(recorded(standard(9)), three_messages(&standard(5), 5));
    assert_eq!(report.messages.unknown, 3, "each would have been tried again where it ended");
    assert_eq!((report.messages.sooner, report.messages.same), (0, 0));
}

#[test]
fn two_policies_are_compared_whatever_was_recorded() {
    let question = Question { candidate: standard(3), against: Against::Policy(standard(3)), allow_gaps: false };
    let report = test(question, three_messages(&standard(5), 5));
    assert_eq!((report.same, report.changed), (15, 0));
}

#[test]
fn what_a_policy_reads_and_nobody_kept_is_named_and_not_judged() {
    let judge = standard(5);
    let mut entries = three_messages(&judge, 1);
    entries[0].kept.masked.push("error.text".to_owned());
    let report = test(recorded(Arc::clone(&judge)), entries.clone());
    assert_eq!((report.failures, report.judged), (3, 2));
    assert_eq!(report.gaps, [("error.text was masked".to_owned(), 1)].into());
    let report = test(Question { allow_gaps: true, ..recorded(judge) }, entries);
    assert_eq!((report.judged, report.failures, report.gaps.len()), (3, 3, 1));
}

#[test]
fn headers_and_bodies_are_missed_only_where_they_are_read() {
    let needs = |headers: Option<&[&str]>, body| crate::policy::engine::Needs {
        headers: headers.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        body,
        attributes: Vec::new(),
    };
    let failure = Failure::from_written(&json!({ "body_size": 10, "message": {} })).unwrap();
    let kept = Kept {
        withheld_headers: vec![("x-tenant".to_owned(), "ab".to_owned())],
        body_hash: Some("cd".to_owned()),
        masked: vec!["headers.x-card".to_owned()],
    };
    let gap = |headers, body| gap(&needs(headers, body), &failure, &kept);
    assert_eq!(gap(Some(&[]), None), None);
    assert_eq!(gap(Some(&["x-other"]), Some(0)), None);
    assert_eq!(gap(Some(&["x-tenant"]), None).unwrap(), "header x-tenant was not kept");
    assert_eq!(gap(None, None).unwrap(), "header x-tenant was not kept");
    assert!(gap(Some(&[]), Some(1)).unwrap().contains("body"));
    assert_eq!(gap(Some(&["x-card"]), None).unwrap(), "headers.x-card was masked");
}

#[test]
fn a_message_is_followed_to_its_first_change_and_no_further() {
    let link = |entry, is_same, before, after| Link { message: 1, entry, is_same, before, after };
    let ends = |links: Vec<Link>| follow(links);
    assert_eq!(ends(vec![link(2, true, false, false), link(1, true, true, true)]).same, 1);
    let sooner = ends(vec![link(1, false, true, false), link(2, false, false, true), link(3, true, false, false)]);
    assert_eq!((sooner.sooner, sooner.saved_failures, sooner.unknown), (1, 2, 0));
    assert_eq!(ends(vec![link(1, false, true, true), link(2, true, false, false)]).unknown, 1, "at another time");
    assert_eq!(ends(vec![link(1, false, false, false)]).otherwise, 1);
}

#[test]
fn limits_are_read_and_say_how_they_are_passed() {
    let mut report = Report { judged: 200, changed: 21, failures: 200, ..Report::default() };
    report.actions.insert("dead-letter".to_owned(), Count { before: 100, after: 106 });
    report.actions.insert("fault: trap".to_owned(), Count { before: 0, after: 1 });
    let violation = |text: &str| text.parse::<Limit>().unwrap().violation(&report);
    assert_eq!(violation("dead-letter:+6%"), None);
    assert_eq!(violation("dead-letter:+5%").unwrap(), "dead-letter:+5%: 106, before 100");
    assert_eq!(violation("dead-letter:+6"), None);
    assert!(violation("dead-letter:+5").is_some());
    assert_eq!(violation("changed:10%").unwrap(), "changed:10%: 21 of 200");
    assert_eq!(violation("changed:21"), None);
    assert_eq!(violation("faults:0").unwrap(), "faults:0: 1 of 200");
    assert_eq!(violation("drop:+0"), None);
    for wrong in ["", "changed", "changed:", "changed:+1", "nothing:1", "drop:-1", "drop:x%", "drop:+%"] {
        assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
    }
}
