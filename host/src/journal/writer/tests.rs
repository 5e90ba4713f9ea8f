use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::journal::{Entry, Filter, Order, OutcomeKind, Reader};
use crate::observer::Observer;
use crate::verdict::{Action, Verdict};

const PATIENCE: Duration = Duration::from_secs(30);

struct Written {
    folder: tempfile::TempDir,
    observer: Observer,
}

impl Written {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), observer: Observer::new() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("state").join(crate::journal::FILE)
    }

    fn journal(&self) -> Journal {
        let settings = JournalSettings {
            file: self.file(),
            host: "a".to_owned(),
            max_age: Duration::from_secs(3600),
            max_size: 1 << 30,
            keeping: Keeping::default(),
        };
        Journal::start(settings, self.observer.metrics().journal()).unwrap()
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let reader = Reader::open(self.file()).unwrap();
        reader
            .entries(&Filter::default(), Order::OldestFirst, |entry| {
                entries.push(entry);
                true
            })
            .unwrap();
        entries
    }

    fn lost(&self, why: &str) -> u64 {
        let metrics = self.observer.metrics().encode();
        let line =
            metrics.lines().find(|line| line.starts_with(&format!("reprieve_journal_lost_total{{why=\"{why}\"}}")));
        line.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
    }
}

fn failure() -> Arc<Failure> {
    Arc::new(Failure::from_written(&json!({ "error": "timeout", "now": Timestamp::now().0 })).unwrap())
}

fn decision() -> Decision {
    Decision { maker: None, result: Ok(Verdict::new(Action::Drop, "")) }
}

fn outcome(kind: OutcomeKind) -> Outcome {
    Outcome { at: Timestamp(1), kind, fallback: None, overridden: None, place: None, due: None }
}

fn tell(journal: &Journal) -> Ticket {
    let ticket = journal.ticket();
    journal.failed(ticket, &"orders".into(), &failure(), &decision());
    ticket
}

#[tokio::test]
async fn outcomes_find_their_failures_in_the_same_batch_and_in_later_ones() {
    let written = Written::new();
    let journal = written.journal();
    let (first, second) = (tell(&journal), tell(&journal));
    journal.outcome(second, outcome(OutcomeKind::Dropped));
    journal.flush(PATIENCE).await;
    journal.outcome(first, outcome(OutcomeKind::Delayed));
    tell(&journal);
    journal.flush(PATIENCE).await;
    let kinds: Vec<_> =
        written.entries().into_iter().map(|entry| (entry.id, entry.outcome.map(|it| it.kind))).collect();
    assert_eq!(kinds, [(1, Some(OutcomeKind::Delayed)), (2, Some(OutcomeKind::Dropped)), (3, None)]);
    assert!(written.observer.metrics().encode().contains("reprieve_journal_entries_total 3"));
}

#[tokio::test]
async fn a_new_start_goes_on_behind_the_last_entry() {
    let written = Written::new();
    for _ in 0..2 {
        let journal = written.journal();
        tell(&journal);
        journal.flush(PATIENCE).await;
    }
    assert_eq!(written.entries().iter().map(|entry| entry.id).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_file_that_is_held_by_another_holds_nobody_up_and_what_is_dropped_is_counted() {
    let written = Written::new();
    let journal = written.journal();
    journal.flush(PATIENCE).await;
    let other = rusqlite::Connection::open(written.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // More than the queue takes while the thread waits for the file.
    for _ in 0..QUEUE + 2 * 4096 + 2 {
        tell(&journal);
    }
    assert!(written.lost("queue-full") > 0);
    other.execute_batch("COMMIT").unwrap();
    journal.flush(PATIENCE).await;
    assert!(!written.entries().is_empty());
}

#[tokio::test]
async fn bodies_that_wait_take_no_more_than_a_bound_of_memory() {
    let written = Written::new();
    let journal = written.journal();
    journal.flush(PATIENCE).await;
    let other = rusqlite::Connection::open(written.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let message = crate::message::Message::new(vec![0; 1 << 24]).into();
    let large = Arc::new(Failure { message, ..Failure::clone(&failure()) });
    for _ in 0..8 {
        journal.failed(journal.ticket(), &"orders".into(), &large, &decision());
    }
    assert!(written.lost("memory") >= 3, "eight times 16 MiB are more than 64");
    other.execute_batch("COMMIT").unwrap();
}

#[tokio::test]
async fn a_damaged_file_is_set_aside_and_a_new_one_begun() {
    let written = Written::new();
    std::fs::create_dir_all(written.file().parent().unwrap()).unwrap();
    std::fs::write(written.file(), "this is no database, though it is long enough to be taken for one".repeat(100))
        .unwrap();
    let journal = written.journal();
    tell(&journal);
    journal.flush(PATIENCE).await;
    assert_eq!(written.entries().len(), 1);
    let names: Vec<_> = std::fs::read_dir(written.file().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.contains(".corrupt-")), "{names:?}");
}

#[tokio::test]
async fn what_cannot_be_opened_is_said_and_its_records_are_counted_as_lost() {
    let written = Written::new();
    std::fs::write(written.folder.path().join("state"), "a file where the folder should be").unwrap();
    let journal = written.journal();
    tell(&journal);
    journal.flush(PATIENCE).await;
    assert!(journal.trouble().unwrap().contains("journal.db"), "{:?}", journal.trouble());
    assert_eq!(written.lost("file"), 1);
}

#[test]
fn entries_that_are_too_old_or_too_many_are_taken_out_from_the_oldest_on() {
    let written = Written::new();
    let mut log = crate::journal::Log::open(written.file()).unwrap();
    let entry = |at: u64| {
        let failure =
            Failure::from_written(&json!({ "error": { "kind": "k", "detail": "x".repeat(4000) }, "now": at }));
        Entry {
            id: 0,
            route: "orders".to_owned(),
            failure: failure.unwrap(),
            kept: crate::journal::Kept::default(),
            maker: None,
            answer: decision().result,
            outcome: None,
            candidate: None,
        }
    };
    log.write(|batch| (1..=3000).try_for_each(|at| batch.add(&entry(at)))).unwrap();
    log.prune(Timestamp(11), u64::MAX).unwrap();
    assert_eq!(written.entries().first().map(|entry| entry.id), Some(11));
    let before = log.prune(Timestamp(0), u64::MAX).unwrap().bytes;
    let mut pruned = log.prune(Timestamp(0), before / 2).unwrap();
    while pruned.goes_on {
        pruned = log.prune(Timestamp(0), before / 2).unwrap();
    }
    let left = written.entries();
    assert!(left.len() < 2990 && left.last().map(|entry| entry.id) == Some(3000), "{}", left.len());
    assert!(pruned.bytes < before, "the room is given back");
}

#[test]
fn numbers_of_entries_that_were_taken_out_are_not_given_again() {
    let written = Written::new();
    let mut log = crate::journal::Log::open(written.file()).unwrap();
    let entry = Entry {
        id: 7,
        route: "orders".to_owned(),
        failure: Failure::clone(&failure()),
        kept: crate::journal::Kept::default(),
        maker: None,
        answer: decision().result,
        outcome: None,
        candidate: None,
    };
    log.write(|batch| batch.add(&entry)).unwrap();
    let pruned = log.prune(Timestamp(u64::MAX), u64::MAX).unwrap();
    assert_eq!((pruned.oldest, written.entries().len(), log.last_id().unwrap()), (None, 0, 7));
}

#[test]
fn a_duplicate_of_what_never_failed_is_no_end_and_one_of_a_failed_message_is() {
    let skipped = |attempt| {
        let subject = Subject { id: Some("1".to_owned()), source: "orders".into(), attempt };
        let event = EventKind::Skipped { subject, why: crate::event::SkipReason::Duplicate };
        End::of(&"orders".into(), &event, Timestamp(1)).map(|end| (end.kind, end.attempt))
    };
    assert_eq!(skipped(0), None);
    assert_eq!(skipped(2), Some((crate::journal::EndKind::Skipped, 2)));
}

#[test]
fn headers_and_texts_of_errors_that_wait_are_counted_as_bodies_are() {
    let mut message = crate::message::Message::new("body");
    message.headers.push("x-large", "v".repeat(5000));
    let mut large = Failure::clone(&failure());
    large.message = message.into();
    large.error.detail = Some("d".repeat(3000));
    assert!((8000..9000).contains(&size(&large)), "{}", size(&large));
}
