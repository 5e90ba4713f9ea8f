//! Which records of one partition are out, and how far the commit may go (rule 14). Without I/O.
//!
//! Each commit says beside its position up to which offset records may be handed out until the next one is confirmed. So
//! whoever takes the partition over after a crash knows which records can have been in work, and how many at most come again.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use super::progress::{Progress, Start};

/// How far the records in work may lie apart, in offsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// From the position; at least 1.
    pub(super) widest: i64,
    /// Ahead of what was taken, where little happens; from 1 to `widest`.
    pub(super) narrowest: i64,
}

/// Names one record of one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// What became of a record that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is in the window.
    Yes {
        /// To settle it by.
        ticket: Ticket,
        /// It may have been in work when its last owner ended; so many attempts are known to have ended with one.
        interrupted: Option<u32>,
    },
    /// It must wait for a commit, or for records before it.
    NoRoom,
    /// Offsets went back: the log is not the one that was read before.
    Rewound,
}

/// The records of one assignment of one partition.
#[derive(Debug)]
pub(super) struct Window {
    limits: Limits,
    /// In the order of their offsets. The front one is undecided.
    records: VecDeque<Record>,
    /// The front record's ticket.
    front: u64,
    /// Decided records that no confirmed commit has passed, below the front one, with the digest of each.
    passed: VecDeque<(i64, u64)>,
    /// Where the next record is expected, at the earliest. Unknown before the first one where nothing was ever committed.
    next: Option<i64>,
    /// The records below this may be handed out: a confirmed commit says so.
    limit: Option<i64>,
    /// How far that limit is put ahead of what was taken.
    ahead: i64,
    /// A record that found no room.
    refused: Option<i64>,
    /// `next` at the last commit.
    next_at_commit: i64,
    /// What the broker has confirmed.
    confirmed: Option<Progress>,
    /// Records below this may have been in work when the last owner ended.
    suspect_below: i64,
    /// Attempts that ended with their host, by offset.
    interruptions: BTreeMap<i64, u32>,
    /// How often `interruptions` has changed.
    notes: u64,
}

#[derive(Debug)]
struct Record {
    offset: i64,
    state: State,
    /// Its interruptions before the note that stands while an attempt runs.
    before: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing runs.
    Open,
    /// An attempt runs.
    UnderWay,
    /// Its outcome is durable; the digest tells its content.
    Decided(u64),
}

impl Window {
    /// The window of a partition that was just assigned.
    pub(super) fn new(start: Start, limits: Limits) -> Self {
        let widest = limits.widest.max(1);
        let limits = Limits { widest, narrowest: limits.narrowest.clamp(1, widest) };
        Self {
            limits,
            records: VecDeque::new(),
            front: 0,
            passed: VecDeque::new(),
            next: start.position,
            limit: None,
            ahead: limits.narrowest,
            refused: None,
            next_at_commit: start.position.unwrap_or(0),
            confirmed: None,
            suspect_below: start.suspect_below.unwrap_or(i64::MIN),
            interruptions: start.interruptions,
            notes: 0,
        }
    }

    /// Offers the next record of the partition.
    pub(super) fn take(&mut self, offset: i64) -> Taken {
        if self.next.is_some_and(|next| offset < next) {
            if self.front > 0 || !self.records.is_empty() || self.refused.is_some() {
                return Taken::Rewound;
            }
            // What was committed lies beyond the log's end: another log stands under this name.
            (self.next, self.suspect_below) = (None, i64::MIN);
            self.interruptions.clear();
        }
        if self.records.is_empty() {
            // Nothing is between: compacted away, or markers of transactions.
            self.next = Some(offset);
        }
        if self.limit.is_none_or(|limit| offset >= limit) {
            self.refused = Some(offset);
            return Taken::NoRoom;
        }
        self.refused = None;
        self.next = Some(offset.saturating_add(1));
        let ticket = Ticket(self.front + self.records.len() as u64);
        self.records.push_back(Record { offset, state: State::Open, before: None });
        let interrupted =
            (offset < self.suspect_below).then(|| self.interruptions.get(&offset).copied().unwrap_or_default());
        Taken::Yes { ticket, interrupted }
    }

    /// A record's outcome is durable. Says whether a commit now makes room for one that waits.
    pub(super) fn decide(&mut self, ticket: Ticket, digest: u64) -> bool {
        let Some(record) = self.record(ticket) else { return false };
        record.state = State::Decided(digest);
        let offset = record.offset;
        if self.interruptions.remove(&offset).is_some() {
            self.notes += 1;
        }
        let before = self.front;
        while let Some(Record { offset, state: State::Decided(digest), .. }) = self.records.front() {
            self.passed.push_back((*offset, *digest));
            self.records.pop_front();
            self.front += 1;
        }
        self.front > before && self.refused.is_some()
    }

    /// Whether a record may go back to be handed out again: not where it is all that keeps a full window from moving on.
    pub(super) fn may_return(&self, ticket: Ticket) -> bool {
        let Some(position) = self.position() else { return true };
        let is_full = self.refused.is_some_and(|offset| offset - position >= self.limits.widest);
        !(is_full && ticket.0 == self.front)
    }

    /// An attempt begins.
    pub(super) fn begin(&mut self, ticket: Ticket) {
        if let Some(record) = self.record(ticket) {
            record.state = State::UnderWay;
        }
    }

    /// The attempt has ended, and did not end its host: what was noted in case it would is not so.
    pub(super) fn end(&mut self, ticket: Ticket) {
        let Some(record) = self.record(ticket) else { return };
        record.state = State::Open;
        if let Some(before) = record.before.take() {
            let offset = record.offset;
            self.set_interruptions(offset, before);
        }
    }

    /// Notes that so many attempts of a record have ended with their host, should the one that begins now do so. A progress of
    /// this number of notes, or a greater one, says so.
    pub(super) fn note(&mut self, ticket: Ticket, interruptions: u32) -> u64 {
        if let Some(offset) = self.record(ticket).map(|record| record.offset) {
            let before = self.interruptions.get(&offset).copied().unwrap_or_default();
            if let Some(record) = self.record(ticket) {
                record.before.get_or_insert(before);
            }
            self.set_interruptions(offset, interruptions);
        }
        self.notes
    }

    fn set_interruptions(&mut self, offset: i64, count: u32) {
        match count {
            0 => self.interruptions.remove(&offset),
            _ => self.interruptions.insert(offset, count),
        };
        self.notes += 1;
    }

    /// The offset below which every record is decided. Unknown before the first record where nothing was ever committed.
    pub(super) fn position(&self) -> Option<i64> {
        self.records.front().map(|record| record.offset).or(self.next)
    }

    /// Whether a commit is worth it before its time: it makes room that is needed now or soon.
    pub(super) fn wants_commit(&self) -> bool {
        let (Some(next), Some(position)) = (self.next, self.position()) else { return false };
        let limit = self.limit.unwrap_or(i64::MIN);
        let is_near = self.refused.is_some() || limit.saturating_sub(next) < self.ahead / 2;
        is_near && self.next_limit(next, position) > limit
    }

    /// What is to be committed, if it differs from what is. `hurried` says that the commit before was only just made, and for
    /// want of room; hand-outs go further ahead from then on.
    pub(super) fn progress(&mut self, hurried: bool) -> Option<Progress> {
        let (next, position) = (self.next?, self.position()?);
        if hurried {
            self.ahead = self.ahead.saturating_mul(2).min(self.limits.widest);
        } else if next - self.next_at_commit < self.ahead / 8 {
            self.ahead = (self.ahead / 2).max(self.limits.narrowest);
        }
        self.next_at_commit = next;
        let under_way = |record: &&Record| record.state == State::UnderWay;
        let progress = Progress {
            position,
            limit: self.next_limit(next, position),
            under_way: self.records.iter().filter(under_way).map(|record| record.offset).collect(),
            interruptions: self.interruptions.range(position..).map(|(offset, count)| (*offset, *count)).collect(),
            notes: self.notes,
        };
        if self.confirmed.as_ref() == Some(&progress) {
            return None;
        }
        // Until it is known which of the two stands, both hold.
        self.limit = self.limit.map(|limit| limit.min(progress.limit));
        Some(progress)
    }

    /// The broker has it.
    pub(super) fn confirm(&mut self, progress: Progress) {
        while self.passed.front().is_some_and(|(offset, _)| *offset < progress.position) {
            self.passed.pop_front();
        }
        self.limit = Some(progress.limit);
        self.confirmed = Some(progress);
    }

    /// How often what the broker has confirmed of interruptions had changed.
    pub(super) fn confirmed_notes(&self) -> Option<u64> {
        self.confirmed.as_ref().map(|progress| progress.notes)
    }

    /// What is decided though no confirmed commit says so, by offset with the digest of the record; and where the next record
    /// is expected.
    pub(super) fn leave(&self) -> (Option<i64>, BTreeMap<i64, u64>) {
        let beyond = self.records.iter().filter_map(|record| match record.state {
            State::Decided(digest) => Some((record.offset, digest)),
            State::Open | State::UnderWay => None,
        });
        (self.next, self.passed.iter().copied().chain(beyond).collect())
    }

    fn next_limit(&self, next: i64, position: i64) -> i64 {
        let limit = next.saturating_add(self.ahead).min(position.saturating_add(self.limits.widest));
        // Those of the last owner stay suspects for the next one.
        limit.max(self.suspect_below)
    }

    /// The record, while it is undecided or waits for one before it.
    fn record(&mut self, ticket: Ticket) -> Option<&mut Record> {
        let index = usize::try_from(ticket.0.checked_sub(self.front)?).ok()?;
        self.records.get_mut(index).filter(|record| !matches!(record.state, State::Decided(_)))
    }
}
