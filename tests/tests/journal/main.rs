//! The journal of a host that runs.
//!
//! * `rebuilt`: failures that were read back get the verdicts that they got.
//! * `messages`: messages that differ in everything that a policy can see.

mod messages;
mod rebuilt;

use std::path::Path;
use std::time::Duration;

use reprieve::journal::{Entry, Filter, Order, Reader};

/// Far more than anything here takes; what takes this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// All entries of a journal, the oldest first.
fn entries(journal: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    let reader = Reader::open(journal).expect("there is a journal");
    let read = reader.entries(&Filter::default(), Order::OldestFirst, |entry| {
        entries.push(entry);
        true
    });
    read.expect("it can be read");
    entries
}
