//! The entries of several journals in the order of time.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use super::source::Source;
use crate::journal::{Entry, Filter, JournalError, Order};

/// Entries that are held of each journal while several are merged.
const AT_ONCE: usize = 256;

/// An entry, and the host that recorded it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(in crate::cli) struct Recorded {
    pub(in crate::cli) host: Arc<str>,
    #[serde(flatten)]
    pub(in crate::cli) entry: Entry,
}

/// The latest `limit` entries, the latest first. Reads no more of each journal than that.
pub(super) fn latest(sources: &[Source], filter: &Filter, limit: usize) -> Result<Vec<Recorded>, JournalError> {
    let mut all = Vec::new();
    for source in sources {
        all.extend(some(source, filter, Order::LatestFirst, limit)?);
    }
    all.sort_by_key(|recorded| std::cmp::Reverse(recorded.entry.failure.now));
    all.truncate(limit);
    Ok(all)
}

/// Hands over all entries, the oldest first, and holds few of them at a time.
pub(super) fn oldest_first<E: From<JournalError>>(
    sources: &[Source],
    filter: &Filter,
    mut each: impl FnMut(Recorded) -> Result<(), E>,
) -> Result<(), E> {
    let mut cursors: Vec<_> = sources.iter().map(|source| Cursor::new(source, filter)).collect();
    loop {
        for cursor in &mut cursors {
            cursor.fill()?;
        }
        let heads = cursors.iter_mut().filter(|cursor| !cursor.held.is_empty());
        let Some(next) = heads.min_by_key(|cursor| cursor.held.front().map(|recorded| recorded.entry.failure.now))
        else {
            return Ok(());
        };
        if let Some(recorded) = next.held.pop_front() {
            each(recorded)?;
        }
    }
}

/// A place in one journal.
struct Cursor<'s> {
    source: &'s Source,
    filter: Filter,
    held: VecDeque<Recorded>,
    is_read: bool,
}

impl<'s> Cursor<'s> {
    fn new(source: &'s Source, filter: &Filter) -> Self {
        Self { source, filter: filter.clone(), held: VecDeque::new(), is_read: false }
    }

    fn fill(&mut self) -> Result<(), JournalError> {
        if !self.held.is_empty() || self.is_read {
            return Ok(());
        }
        self.held = some(self.source, &self.filter, Order::OldestFirst, AT_ONCE)?.into();
        self.is_read = self.held.len() < AT_ONCE;
        self.filter.after = self.held.back().map(|last| last.entry.id).or(self.filter.after);
        Ok(())
    }
}

fn some(source: &Source, filter: &Filter, order: Order, most: usize) -> Result<Vec<Recorded>, JournalError> {
    let mut found = Vec::new();
    if most == 0 {
        return Ok(found);
    }
    source.reader.entries(filter, order, |entry| {
        found.push(Recorded { host: Arc::clone(&source.host), entry });
        found.len() < most
    })?;
    Ok(found)
}
