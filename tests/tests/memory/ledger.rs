//! What happened once, by number, without a mark for each of a million.

use std::collections::BTreeSet;

/// Numbers from 0, in nearly their order.
#[derive(Default)]
pub(crate) struct Ledger {
    /// All below were seen.
    complete: usize,
    /// What was seen of the others.
    ahead: BTreeSet<usize>,
    /// How many were seen again.
    repeated: usize,
}

impl Ledger {
    pub(crate) fn see(&mut self, number: usize) {
        if number < self.complete || !self.ahead.insert(number) {
            self.repeated += 1;
        }
        while self.ahead.remove(&self.complete) {
            self.complete += 1;
        }
    }

    /// Whether each number below `count` was seen once, and no other.
    pub(crate) fn is_complete(&self, count: usize) -> bool {
        (self.complete, self.ahead.len(), self.repeated) == (count, 0, 0)
    }
}

#[test]
fn a_ledger_tells_what_is_missing_and_what_came_twice() {
    let seen = |numbers: &[usize]| {
        let mut ledger = Ledger::default();
        numbers.iter().for_each(|number| ledger.see(*number));
        ledger
    };
    assert!(seen(&[2, 0, 1]).is_complete(3));
    assert!(!seen(&[0, 2]).is_complete(3), "1 is missing");
    assert!(!seen(&[0, 1]).is_complete(3), "the last is missing");
    assert!(!seen(&[0, 1, 2, 1]).is_complete(3), "1 came twice");
    assert!(!seen(&[0, 2, 2, 1]).is_complete(3), "2 came twice before 1");
    assert!(!seen(&[0, 1, 2, 3]).is_complete(3), "nobody sent 3");
}
