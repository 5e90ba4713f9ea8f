//! The store on real files, whole and broken.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use super::handled::Handled;
use super::worker::Record;
use super::{HandledKey, Store, StoreError};
use crate::timestamp::Timestamp;

const WINDOW: Duration = Duration::from_secs(600);
const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn key(number: u64) -> HandledKey {
    let mut digest = [0; 32];
    digest[..8].copy_from_slice(&number.to_be_bytes());
    HandledKey { route: Arc::from("orders"), digest }
}

async fn record(store: &Store, number: u64, at: Timestamp) -> Result<(), StoreError> {
    store.record_handled(key(number), at, WINDOW).await
}

async fn knows(store: &Store, number: u64, now: Timestamp) -> bool {
    store.was_handled(key(number), now, WINDOW).await.unwrap()
}

fn records(count: u64) -> Vec<Record> {
    (0..count).map(|number| Record { key: key(number), at: NOW, until: NOW.after(WINDOW) }).collect()
}

fn rows(file: &Path) -> i64 {
    Connection::open(file).unwrap().query_one("SELECT count(*) FROM handled", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn what_is_recorded_is_known_for_its_window_on_its_route_also_to_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/host.db");
    let store = Store::new(&file).unwrap();
    assert!(!knows(&store, 1, NOW).await);
    record(&store, 1, NOW).await.unwrap();
    drop(store);
    let store = Store::new(&file).unwrap();
    assert!(knows(&store, 1, NOW.after(WINDOW - Duration::from_millis(1))).await);
    assert!(!knows(&store, 1, NOW.after(WINDOW)).await);
    let elsewhere = HandledKey { route: Arc::from("bills"), ..key(1) };
    assert!(!store.was_handled(elsewhere, NOW, WINDOW).await.unwrap());
    assert!(!knows(&store, 2, NOW).await);
}

#[tokio::test]
async fn a_clock_that_was_set_back_makes_nothing_last_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("host.db")).unwrap();
    record(&store, 1, NOW.after(WINDOW * 100)).await.unwrap();
    assert!(!knows(&store, 1, NOW).await);
}

#[tokio::test]
async fn what_is_out_of_date_is_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    let store = Store::new(&file).unwrap();
    for number in 0..50 {
        record(&store, number, NOW).await.unwrap();
    }
    record(&store, 50, NOW.after(WINDOW)).await.unwrap();
    assert_eq!(rows(&file), 1);
}

#[tokio::test]
async fn the_oldest_are_forgotten_where_there_are_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    for from in [0, 10] {
        // The second process counts what the first has left.
        let store = Store::with_limit(&file, 10).unwrap();
        for number in from..from + 10 {
            record(&store, number, NOW.after(Duration::from_secs(number))).await.unwrap();
            record(&store, number, NOW.after(Duration::from_secs(number))).await.unwrap();
        }
        assert_eq!(rows(&file), 10);
        assert!(knows(&store, from, NOW).await && knows(&store, from + 9, NOW).await);
    }
    assert!(!knows(&Store::new(&file).unwrap(), 9, NOW).await);
}

#[tokio::test]
async fn a_corrupt_file_is_set_aside_and_a_new_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    fs::write(&file, "this is no database, and long enough to be read as one".repeat(100)).unwrap();
    let store = Store::new(&file).unwrap();
    record(&store, 1, NOW).await.unwrap();
    assert!(knows(&store, 1, NOW).await);
    let kept: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let aside = kept.iter().filter(|name| name.to_string_lossy().starts_with("host.db.corrupt-")).count();
    assert_eq!(aside, 1, "{kept:?}");
}

#[tokio::test]
async fn a_file_that_is_damaged_inside_is_set_aside_when_that_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    Handled::open(Connection::open(&file).unwrap(), 1000).unwrap().record(&records(500)).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    // All pages but the first, which holds the schema.
    bytes[4096..].fill(0xff);
    fs::write(&file, bytes).unwrap();
    let store = Store::new(&file).unwrap();
    record(&store, 1, NOW).await.unwrap();
    assert!(knows(&store, 1, NOW).await);
    assert_eq!(rows(&file), 1, "it began anew");
}

#[tokio::test]
async fn a_file_that_somebody_holds_is_an_error_and_works_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    let store = Store::new(&file).unwrap();
    record(&store, 1, NOW).await.unwrap();
    let holder = Connection::open(&file).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = record(&store, 2, NOW).await.unwrap_err();
    assert!(error.to_string().contains("host.db") && error.to_string().contains("locked"), "{error}");
    assert!(knows(&store, 1, NOW).await, "it can still be read");
    holder.execute_batch("ROLLBACK").unwrap();
    record(&store, 2, NOW).await.unwrap();
}

#[test]
fn a_disk_that_is_full_is_an_error_and_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    // SQLite's own bound on a file stands in for the disk's.
    let connection = Connection::open(&file).unwrap();
    let mut handled = Handled::open(connection, 1_000_000).unwrap();
    handled.limit_pages(8);
    let error = handled.record(&records(1000)).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    assert!(!handled.find(&key(0), NOW, WINDOW).unwrap(), "none of the batch was kept");
    handled.limit_pages(1000);
    handled.record(&records(1000)).unwrap();
    assert!(handled.find(&key(0), NOW, WINDOW).unwrap());
}

#[tokio::test]
async fn many_records_at_a_time_all_get_their_answer() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path().join("host.db")).unwrap();
    let recording = (0..2000).map(|number| {
        let store = store.clone();
        async move { record(&store, number, NOW).await }
    });
    for result in futures_util::future::join_all(recording).await {
        result.unwrap();
    }
    for number in 0..2000 {
        assert!(knows(&store, number, NOW).await);
    }
}
