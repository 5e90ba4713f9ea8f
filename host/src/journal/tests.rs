use serde_json::json;

use super::*;
use crate::failure::Failure;
use crate::timestamp::Timestamp;
use crate::verdict::{Action, Fault, FaultKind, Maker, Verdict};

fn entry(message: &str, kind: &str, at: u64) -> Entry {
    let failure = Failure::from_written(&json!({ "message": { "id": message }, "error": kind, "now": at })).unwrap();
    Entry {
        id: 0,
        route: "orders".to_owned(),
        failure,
        kept: Kept::default(),
        maker: Some(Maker { policy: "standard".to_owned(), revision: "ab".repeat(32) }),
        answer: Ok(Verdict::new(Action::Retry { delay_ms: 100 }, "again")),
        outcome: None,
        candidate: None,
    }
}

fn written(entries: &[Entry]) -> (tempfile::TempDir, Log) {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path().join(FILE)).unwrap();
    log.write(|batch| entries.iter().try_for_each(|entry| batch.add(entry))).unwrap();
    (folder, log)
}

fn read(folder: &tempfile::TempDir, filter: &Filter, order: Order) -> Vec<Entry> {
    let mut entries = Vec::new();
    let reader = Reader::open(folder.path().join(FILE)).unwrap();
    reader
        .entries(filter, order, |entry| {
            entries.push(entry);
            true
        })
        .unwrap();
    entries
}

#[test]
fn what_is_written_is_read_as_it_was() {
    let mut first = entry("1", "timeout", 1_000);
    first.answer = Err(Fault::new(FaultKind::Trap, "it panicked"));
    first.kept.withheld_headers.push(("x-token".to_owned(), "abc".to_owned()));
    first.candidate = Some(Candidate {
        mode: CandidateMode::Shadow,
        maker: first.maker.clone().unwrap(),
        answer: Ok(Verdict::new(Action::Drop, "")),
    });
    let second = entry("2", "validation", 2_000);
    let (folder, mut log) = written(&[first.clone(), second.clone()]);
    let outcome = Outcome {
        at: Timestamp(2_001),
        kind: OutcomeKind::Delayed,
        fallback: None,
        overridden: Some("no such tier".to_owned()),
        place: Some("30s".to_owned()),
        due: Some(Timestamp(32_001)),
    };
    assert!(log.write(|batch| batch.set_outcome(2, &outcome)).unwrap());
    assert!(!log.write(|batch| batch.set_outcome(3, &outcome)).unwrap());

    let all = read(&folder, &Filter::default(), Order::OldestFirst);
    assert_eq!(all, [Entry { id: 1, ..first }, Entry { id: 2, outcome: Some(outcome), ..second }]);
    assert_eq!(log.last_id().unwrap(), 2);
}

#[test]
fn each_filter_leaves_out_what_does_not_meet_it() {
    let (folder, _log) = written(&[entry("1", "timeout", 1_000), entry("2", "validation", 2_000)]);
    let ids = |filter: &Filter| -> Vec<_> {
        read(&folder, filter, Order::LatestFirst).into_iter().map(|entry| entry.id).collect()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(ids(&Filter::default()), [2, 1]);
    assert_eq!(ids(&Filter { error_kind: text("timeout"), ..Filter::default() }), [1]);
    assert_eq!(ids(&Filter { message_id: text("2"), ..Filter::default() }), [2]);
    assert_eq!(ids(&Filter { route: text("payments"), ..Filter::default() }), [0; 0]);
    assert_eq!(ids(&Filter { policy: text("standard"), ..Filter::default() }), [2, 1]);
    assert_eq!(ids(&Filter { outcome: Some(OutcomeKind::Dropped), ..Filter::default() }), [0; 0]);
    assert_eq!(ids(&Filter { since: Some(Timestamp(2_000)), ..Filter::default() }), [2]);
    assert_eq!(ids(&Filter { until: Some(Timestamp(2_000)), ..Filter::default() }), [1]);
    assert_eq!(ids(&Filter { after: Some(1), ..Filter::default() }), [2]);
    let reader = Reader::open(folder.path().join(FILE)).unwrap();
    assert_eq!(reader.count(&Filter { after: Some(1), ..Filter::default() }).unwrap(), 1);
    assert_eq!(reader.entry_of(2).unwrap().unwrap().failure.error.kind, "validation");
    assert!(reader.entry_of(3).unwrap().is_none());
}

#[test]
fn a_missing_journal_and_one_of_another_layout_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    assert!(Reader::open(&file).unwrap_err().to_string().contains("there is no journal"));
    rusqlite::Connection::open(&file).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(Reader::open(&file).unwrap_err().to_string().contains("layout 99"));
    assert!(Log::open(&file).unwrap_err().to_string().contains("layout 99"));
}

#[test]
fn steps_and_ends_are_read_by_route_and_message() {
    let (folder, mut log) = written(&[]);
    let step = Step {
        at: Timestamp(1),
        route: "orders".to_owned(),
        kind: StepKind::RolledBack,
        maker: None,
        replaced: None,
        digest: None,
        size: None,
        signed_by: None,
        decisions: Some(12),
        faults: Some(3),
        reason: "3 of 12 decisions were faults".to_owned(),
    };
    let end = End {
        at: Timestamp(2),
        route: "orders".to_owned(),
        message_id: Some("1".to_owned()),
        attempt: 2,
        kind: EndKind::Succeeded,
        detail: None,
    };
    log.write(|batch| {
        batch.add_step(&step)?;
        batch.add_end(&end)
    })
    .unwrap();
    let reader = Reader::open(folder.path().join(FILE)).unwrap();
    assert_eq!(reader.steps(Some("orders")).unwrap(), std::slice::from_ref(&step));
    assert_eq!(reader.steps(None).unwrap(), [step]);
    assert_eq!(reader.steps(Some("payments")).unwrap(), []);
    assert_eq!(reader.ends(Some("1")).unwrap(), [end]);
    assert_eq!(reader.ends(Some("2")).unwrap(), []);
}
