//! Which records of a partition were taken.

use std::ops::Range;

use crate::broker::kafka::cluster::Committed;

/// The most that brokers keep beside a position by default, in characters.
const LONGEST: usize = 4096;
/// What one more record can add: it cuts a run in two, and each length has at most 13 digits.
const ONE_MORE: usize = 39;
/// What ours begins with.
const MARK: &str = "reprieve-taken:";
/// Digits of five bits, those with a sixth bit have another behind them.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Everything below the position, and runs behind it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Passed {
    /// The first record that stays.
    position: i64,
    /// In order, apart from each other and from the position, none empty.
    runs: Vec<Range<i64>>,
}

impl Passed {
    /// What a group has committed. What others wrote beside the position says nothing here.
    pub(super) fn read(committed: &Committed) -> Self {
        let position = committed.offset.unwrap_or(0);
        let runs = committed.metadata.strip_prefix(MARK).and_then(|text| runs(text, position));
        Self { position, runs: runs.unwrap_or_default() }
    }

    /// The first record that was not passed.
    pub(super) const fn position(&self) -> i64 {
        self.position
    }

    pub(super) fn is_passed(&self, offset: i64) -> bool {
        offset < self.position || self.runs.iter().any(|run| run.contains(&offset))
    }

    /// Passes these records.
    pub(super) fn pass(&mut self, records: Range<i64>) {
        let (mut start, mut end) = (records.start.max(self.position), records.end);
        if start >= end {
            return;
        }
        self.runs.retain(|run| {
            let touches = run.start <= end && start <= run.end;
            if touches {
                start = start.min(run.start);
                end = end.max(run.end);
            }
            !touches
        });
        if start == self.position {
            self.position = end;
        } else {
            let place = self.runs.partition_point(|run| run.start < start);
            self.runs.insert(place, start..end);
        }
    }

    /// How many records below `end` were not passed.
    pub(super) fn left(&self, end: i64) -> u64 {
        let behind: i64 = self.runs.iter().map(|run| run.end.min(end) - run.start.min(end)).sum();
        u64::try_from(end - self.position - behind).unwrap_or(0)
    }

    /// Whether one more fits beside the position.
    pub(super) fn has_room(&self) -> bool {
        self.written().len() + ONE_MORE <= LONGEST
    }

    /// What stands beside the position: the lengths of what stays and of what was passed, in turn.
    pub(super) fn written(&self) -> String {
        let mut text = String::from(MARK);
        let mut from = self.position;
        for run in &self.runs {
            write_number(&mut text, run.start - from);
            write_number(&mut text, run.end - run.start);
            from = run.end;
        }
        text
    }
}

fn write_number(text: &mut String, number: i64) {
    let mut rest = number.unsigned_abs();
    loop {
        let more = if rest >= 32 { 32 } else { 0 };
        text.push(char::from(DIGITS[usize::try_from(rest % 32 + more).unwrap_or(0)]));
        rest /= 32;
        if more == 0 {
            return;
        }
    }
}

/// `None` where the text is not what [`Passed::written`] writes.
fn runs(text: &str, position: i64) -> Option<Vec<Range<i64>>> {
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0i64, 0u32);
    for character in text.bytes() {
        let digit = i64::try_from(DIGITS.iter().position(|known| *known == character)?).ok()?;
        let part = (digit % 32).checked_mul(1i64.checked_shl(shift).filter(|unit| *unit > 0)?)?;
        number = number.checked_add(part)?;
        shift += 5;
        if digit < 32 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    let mut from = position;
    let mut runs = Vec::new();
    for pair in numbers.chunks(2) {
        let [stays, passed] = pair else { return None };
        let start = from.checked_add(*stays)?;
        let end = start.checked_add(*passed)?;
        if *stays == 0 || *passed == 0 {
            return None;
        }
        runs.push(start..end);
        from = end;
    }
    (shift == 0).then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(position: i64, records: &[i64]) -> Passed {
        let mut passed = Passed { position, runs: Vec::new() };
        for record in records {
            passed.pass(*record..record + 1);
        }
        passed
    }

    fn read_again(passed: &Passed) -> Passed {
        Passed::read(&Committed { offset: Some(passed.position()), metadata: passed.written() })
    }

    #[test]
    fn the_position_stays_at_the_first_record_that_stays() {
        let mut passed = passed(10, &[12, 13, 15]);
        assert_eq!(passed.position(), 10);
        assert!(passed.is_passed(9) && passed.is_passed(13) && !passed.is_passed(14) && !passed.is_passed(10));
        assert_eq!(passed.left(16), 3);
        passed.pass(10..12);
        assert_eq!((passed.position(), passed.left(16)), (14, 1));
        passed.pass(14..15);
        assert_eq!((passed.position(), passed.left(16)), (16, 0));
    }

    #[test]
    fn records_that_are_not_there_are_passed_over() {
        let mut passed = passed(10, &[30]);
        passed.pass(0..20);
        assert_eq!(passed.position(), 20);
        passed.pass(20..31);
        assert_eq!((passed.position(), passed.runs.len()), (31, 0));
    }

    #[test]
    fn what_was_passed_is_read_again_as_it_was_written() {
        for records in [&[][..], &[11], &[12, 14, 16, 18], &[1_000_000, 1_000_001, i64::MAX - 1]] {
            let passed = passed(10, records);
            assert_eq!(read_again(&passed), passed, "{}", passed.written());
        }
    }

    #[test]
    fn what_others_wrote_is_as_nothing() {
        for metadata in [
            "",
            "theirs",
            "reprieve-taken:!",
            "reprieve-taken:B",
            "reprieve-taken:AA",
            "reprieve-taken:_____________________B",
        ] {
            let read = Passed::read(&Committed { offset: Some(5), metadata: metadata.to_owned() });
            assert_eq!(read, passed(5, &[]), "{metadata}");
        }
    }

    #[test]
    fn two_thousand_letters_from_between_others_can_be_remembered_and_no_more_than_fits() {
        let mut passed = passed(0, &[]);
        let mut count = 0;
        while passed.has_room() {
            count += 1;
            passed.pass(count * 2..count * 2 + 1);
        }
        assert!((2000..2100).contains(&count), "{count}");
        assert!(passed.written().len() <= LONGEST);
    }
}
