use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;
use serde_json::{Value, json};

use super::coverage::lacking;
use super::*;
use crate::delivery::Rules;
use crate::failure::Failure;
use crate::journal::{Entry, FILE, Filter, Kept, Log, Outcome, OutcomeKind, Reader};
use crate::policy::embedded::STANDARD;
use crate::policy::engine::{Candidate, Engine, EngineLimits, Needs, Revision};
use crate::policy::route_record::RouteRecord;
use crate::timestamp::Timestamp;
use crate::topic::Topic;
use crate::verdict::{Fault, FaultKind};

/// When the first of the failures is.
const NOON: u64 = 1_767_268_800_000;

fn standard_on(route: &str, max_attempts: u32) -> Arc<Revision> {
    let record = RouteRecord {
        name: route.to_owned(),
        source: route.to_owned(),
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

fn standard(max_attempts: u32) -> Arc<Revision> {
    standard_on("orders", max_attempts)
}

fn entry(id: u64, message: &str, attempt: u32, judge: &Revision) -> Entry {
    let written: Value = json!({ "message": { "id": message }, "attempt": attempt, "error": "timeout" });
    let failure = Failure { now: Timestamp(NOON + id * 1000), ..Failure::from_written(&written).unwrap() };
    let answer = judge.decide(&failure);
    let (route, kept, maker) = ("orders".to_owned(), Kept::default(), Some(judge.maker().as_ref().clone()));
    Entry { id, route, failure, kept, maker, answer, outcome: None, candidate: None }
}

fn test(question: &Question, entries: Vec<Entry>) -> Report {
    let feed = |each: &mut dyn FnMut(Record) -> bool| {
        entries.into_iter().map(|entry| Record { journal: 0, content: Content::Entry(Box::new(entry)) }).all(each);
        Ok(())
    };
    backtest(question, 2, || true, feed).unwrap()
}

fn rules() -> Rules {
    let mut rules = Rules::new("orders", "orders");
    rules.dead_letters.insert("default".to_owned(), Topic::from("orders.dlq"));
    rules
}

fn judges(candidate: Arc<Revision>, against: Against) -> Judges {
    Judges { candidate, against, rules: rules(), has_handler: true }
}

fn question(candidate: Arc<Revision>, against: Against) -> Question {
    let routes = [("orders".to_owned(), judges(candidate, against))].into();
    Question { routes, elsewhere: None, allow_gaps: false, follows: true }
}

fn recorded(candidate: Arc<Revision>) -> Question {
    question(candidate, Against::Recorded)
}

fn ids(group: &Group) -> Vec<u64> {
    group.examples.iter().map(|example| example.entry).collect()
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
    let report = test(&recorded(Arc::clone(&judge)), three_messages(&judge, 5));
    assert_eq!((report.failures, report.judged, report.same, report.changed), (15, 15, 15, 0));
    let messages = report.messages.unwrap();
    assert_eq!((messages.messages, messages.same), (3, 3));
    assert_eq!(report.verdicts["retry"], Count { before: 12, after: 12 });
    assert!(report.groups.is_empty() && report.gaps.is_empty());
}

#[test]
fn fewer_attempts_end_messages_sooner_and_spare_failures() {
    let report = test(&recorded(standard(3)), three_messages(&standard(5), 5));
    assert_eq!(report.changed, 6, "the third and fourth of each, which were retried");
    assert_eq!(report.outcomes["dead-letter"], Count { before: 3, after: 9 });
    let messages = report.messages.unwrap();
    assert_eq!((messages.sooner, messages.saved_failures), (3, 6));
    let group = &report.groups[0];
    assert_eq!((group.change.from.as_str(), group.change.to.as_str()), ("retry, at most 1s", "dead-letter"));
    assert_eq!((group.count, ids(group)), (6, vec![3, 4, 8]));
    assert_eq!(group.examples[0].message_id.as_deref(), Some("a"));
}

#[test]
fn more_attempts_end_in_what_nobody_knows() {
    let report = test(&recorded(standard(9)), three_messages(&standard(5), 5));
    let messages = report.messages.unwrap();
    assert_eq!(messages.unknown, 3, "each would have been tried again where it ended");
    assert_eq!((messages.sooner, messages.same), (0, 0));
}

#[test]
fn two_policies_are_compared_whatever_was_recorded_and_messages_are_followed_by_the_record() {
    let question = question(standard(3), Against::Policy(standard(3)));
    let report = test(&question, three_messages(&standard(5), 5));
    assert_eq!((report.same, report.changed), (15, 0));
    let messages = report.messages.unwrap();
    assert_eq!((messages.sooner, messages.saved_failures), (3, 6), "what happened is what the record tells");
}

#[test]
fn what_is_said_of_a_failure_that_was_not_recorded_follows_no_message() {
    let mut entries = three_messages(&standard(5), 5);
    for entry in &mut entries {
        (entry.maker, entry.answer) = (None, Err(Fault::new(FaultKind::NoPolicy, "not recorded")));
    }
    let report = test(&question(standard(9), Against::Policy(standard(5))), entries);
    assert_eq!((report.changed, report.messages.unwrap().messages), (3, 0));
}

/// A host overrides what it cannot do: so a message that was to be retried may have ended all the same.
#[test]
fn a_message_is_followed_by_what_became_of_it_and_not_by_what_was_said() {
    let judge = standard(5);
    let mut entries = three_messages(&judge, 2);
    for entry in &mut entries {
        let kind = OutcomeKind::DeadLettered;
        let at = entry.failure.now;
        entry.outcome = Some(Outcome { at, kind, fallback: None, overridden: None, place: None, due: None });
    }
    let messages = test(&recorded(judge), entries.clone()).messages.unwrap();
    assert_eq!((messages.messages, messages.same), (6, 6), "each was put back and came to its end again");
    let messages = test(&recorded(standard(1)), entries).messages.unwrap();
    assert_eq!((messages.otherwise, messages.sooner), (6, 0));
}

#[test]
fn a_fault_is_what_the_fallback_makes_of_it() {
    // It judges as the route's retry settings say, like the policy that it stands in for.
    let judge = standard(2);
    let mut entries = three_messages(&judge, 2);
    for entry in &mut entries {
        entry.answer = Err(Fault::new(FaultKind::Trap, "unreachable"));
    }
    let mut question = recorded(judge);
    question.routes.get_mut("orders").unwrap().rules.retry = RetryPolicy { max_attempts: 2, ..RetryPolicy::default() };
    let report = test(&question, entries);
    assert_eq!((report.changed, report.messages.unwrap().same), (6, 3), "other words for the same outcome");
    assert_eq!((report.faults[0].kind, report.faults[0].count), ("trap", Count { before: 6, after: 0 }));
    assert_eq!(report.outcomes["dead-letter"], Count { before: 3, after: 3 });
    assert!("faults:+0".parse::<Limit>().unwrap().violation(&report).is_none());
}

#[test]
fn verdicts_that_the_host_would_override_are_counted_with_the_reason() {
    let mut question = recorded(standard(3));
    question.routes.get_mut("orders").unwrap().rules.max_retry_delay = Duration::ZERO;
    let report = test(&question, three_messages(&standard(5), 5));
    let [overridden] = &report.overrides[..] else { panic!("{:?}", report.overrides) };
    assert_eq!((overridden.verdict, overridden.outcome), ("retry", "dead-letter"));
    assert_eq!(overridden.count, Count { before: 12, after: 6 });
    assert!(overridden.text.contains("the route has no tiers"), "{}", overridden.text);
    assert_eq!(report.outcomes["dead-letter"], Count { before: 15, after: 15 });
    assert_eq!(report.messages.unwrap().same, 15, "a message's end is what became of it by the record");
}

#[test]
fn attempts_are_counted_when_they_are_due() {
    let judge = standard(5);
    let mut late = entry(1, "a", 1, &judge);
    late.failure.now = Timestamp(NOON + 59_950);
    let report = test(&recorded(judge), vec![entry(2, "b", 1, &standard(5)), late]);
    assert_eq!((report.load.from, report.load.span_ms), (Timestamp(NOON), 60_000));
    assert_eq!(report.load.attempts, [Count { before: 1, after: 1 }, Count { before: 1, after: 1 }]);
    assert_eq!((report.waits[0].at_most_ms, report.waits[0].count.after), (Some(100), 2));
}

#[test]
fn each_failure_is_judged_as_on_its_own_route_and_those_of_other_routes_are_left_alone() {
    let mut entries = three_messages(&standard(5), 5);
    entries.iter_mut().for_each(|entry| entry.route = ["orders", "mails", "other"][entry.id as usize % 3].to_owned());
    let on = |route: &str, attempts| (route.to_owned(), judges(standard_on(route, attempts), Against::Recorded));
    let routes = BTreeMap::from([on("orders", 5), on("mails", 1)]);
    let report = test(&Question { routes, elsewhere: None, allow_gaps: false, follows: false }, entries);
    assert_eq!((report.failures, report.changed, report.messages), (10, 4, None));
}

#[test]
fn what_a_policy_reads_and_nobody_kept_is_named_and_not_judged() {
    let judge = standard(5);
    let mut entries = three_messages(&judge, 2);
    entries[0].kept.masked = vec!["error.text".to_owned(), "error.detail".to_owned()];
    let report = test(&recorded(Arc::clone(&judge)), entries.clone());
    assert_eq!((report.failures, report.judged, report.incomplete), (6, 5, 1));
    let gap = |place: &str| (Gap::Masked(place.to_owned()), 1);
    assert_eq!(report.gaps, [gap("error.detail"), gap("error.text")].into());
    let messages = report.messages.unwrap();
    assert_eq!((messages.same, messages.not_judged), (2, 1), "nobody knows that it would be the same");
    assert_eq!("gaps:0".parse::<Limit>().unwrap().violation(&report).unwrap(), "gaps:0: 1 of 6");
    let report = test(&Question { allow_gaps: true, ..recorded(judge) }, entries);
    assert_eq!((report.judged, report.failures, report.incomplete), (6, 6, 1));
}

#[test]
fn headers_and_bodies_are_missed_only_where_they_are_read() {
    let kept = Kept {
        withheld_headers: ["x-tenant", "x-user"].map(|name| (name.to_owned(), "ab".to_owned())).into(),
        body_hash: Some("cd".to_owned()),
        masked: vec!["headers.x-card".to_owned()],
    };
    let gaps = |headers: Option<&[&str]>, body| {
        let headers = headers.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let needs = Needs { headers, body, attributes: Vec::new() };
        lacking(&needs, &kept, |bytes| bytes <= 4).iter().map(Gap::to_string).collect::<Vec<_>>()
    };
    assert_eq!(gaps(Some(&[]), None), [""; 0]);
    assert_eq!(gaps(Some(&["x-other"]), Some(4)), [""; 0]);
    assert_eq!(gaps(Some(&["x-tenant"]), None), ["header x-tenant was not kept"]);
    assert_eq!(
        gaps(None, None),
        ["header x-tenant was not kept", "header x-user was not kept", "headers.x-card was masked"]
    );
    assert_eq!(gaps(Some(&[]), Some(5)), ["the first 5 bytes of the body were not kept"]);
}

/// As many as take several batches, on two threads, from a file.
#[test]
fn a_journal_is_judged_as_its_entries_are_whatever_the_threads_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let judge = standard(5);
    let entries: Vec<_> =
        (1..=2000_u32).map(|id| entry(id.into(), &(id / 5).to_string(), id % 5 + 1, &judge)).collect();
    Log::open(&file).unwrap().write(|batch| entries.iter().try_for_each(|entry| batch.add(entry))).unwrap();
    let feed = |each: &mut dyn FnMut(Record) -> bool| {
        let reader = Reader::open(&file)?;
        reader.raw_entries(&Filter::default(), |raw| each(Record { journal: 0, content: Content::Raw(raw) }))
    };
    let question = recorded(standard(3));
    let covered = coverage(&question, 2, || true, feed).unwrap();
    assert_eq!((covered.failures, covered.incomplete), (2000, 0));
    let report = backtest(&question, 2, || true, feed).unwrap();
    assert_eq!((report.judged, report.changed), (2000, 800));
    assert_eq!(report, test(&question, entries));
    assert_eq!(report, backtest(&question, 1, || true, feed).unwrap());
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_ends_it() {
    let judge = standard(5);
    let mut entries = (1..=2000).map(|id| entry(id, "a", 1, &judge));
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join(FILE);
    Log::open(&path).unwrap().write(|batch| entries.try_for_each(|entry| batch.add(&entry))).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE failures SET failure = '{' WHERE id = 700", []).unwrap();
    let reader = Reader::open(&path).unwrap();
    let feed = |each: &mut dyn FnMut(Record) -> bool| {
        reader.raw_entries(&Filter::default(), |raw| each(Record { journal: 0, content: Content::Raw(raw) }))
    };
    let error = backtest(&recorded(judge.clone()), 2, || true, feed).unwrap_err().to_string();
    assert!(error.starts_with("row 700 of "), "{error}");
}

#[test]
fn limits_are_read_and_say_how_they_are_passed() {
    let mut report = Report { judged: 200, changed: 21, failures: 200, ..Report::default() };
    report.outcomes.insert("dead-letter", Count { before: 100, after: 106 });
    let count = Count { before: 0, after: 1 };
    report.faults.push(Faults { kind: "trap", count, text: None, examples: Vec::new() });
    let violation = |text: &str| text.parse::<Limit>().unwrap().violation(&report);
    assert_eq!(violation("dead-letter:+6%"), None);
    assert_eq!(violation("dead-letter:+5%").unwrap(), "dead-letter:+5%: 106, before 100");
    assert_eq!(violation("dead-letter:+6"), None);
    assert!(violation("dead-letter:+5").is_some());
    assert_eq!(violation("changed:10%").unwrap(), "changed:10%: 21 of 200");
    assert_eq!(violation("changed:21"), None);
    assert_eq!(violation("faults:0").unwrap(), "faults:0: 1 of 200");
    assert_eq!(violation("drop:+0"), None);
    for wrong in [
        "",
        "changed",
        "changed:",
        "changed:+1",
        "nothing:1",
        "drop:-1",
        "drop:x%",
        "drop:+%",
        "delay-to:1",
        "drop:%",
        "drop:nan%",
    ] {
        assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
    }
}
