//! What one thread has counted, and all of them together.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::change::{KINDS_OF_WAITS, are_same, change, kind_of_wait, longest, name_of_wait};
use super::follow::{Link, Would, follow};
use super::load::minute;
use super::play::{Played, name};
use super::{Change, Count, Coverage, Example, Faults, Group, Load, Override, Report, Waits};
use crate::journal::{Entry, OutcomeKind};
use crate::timestamp::millis;
use crate::verdict::{Fault, Verdict};

/// Entries that are named for each kind of change.
const EXAMPLES: usize = 3;

/// One recorded failure, and where it is from.
pub(super) struct Seen<'a> {
    pub(super) journal: usize,
    pub(super) entry: &'a Entry,
    pub(super) outcome: Option<OutcomeKind>,
}

#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) coverage: Coverage,
    judged: u64,
    changed: u64,
    groups: BTreeMap<Change, Examples>,
    verdicts: BTreeMap<&'static str, Count>,
    outcomes: BTreeMap<&'static str, Count>,
    faults: BTreeMap<&'static str, (Count, Sample, Examples)>,
    overrides: BTreeMap<(&'static str, &'static str), (Count, Sample)>,
    waits: [Count; KINDS_OF_WAITS],
    /// By minute.
    load: BTreeMap<u64, Count>,
    links: Vec<Link>,
    without_id: u64,
    hasher: BuildHasherDefault<DefaultHasher>,
}

/// How many, and the earliest few: whichever thread came upon them.
#[derive(Debug, Default)]
struct Examples {
    count: u64,
    earliest: Vec<Example>,
}

/// The least of the texts that there were: whichever thread came upon it.
#[derive(Debug, Default)]
struct Sample(Option<String>);

const BEFORE: Count = Count { before: 1, after: 0 };
const AFTER: Count = Count { before: 0, after: 1 };

impl Part {
    /// It lacks what a policy reads.
    pub(super) fn leave_out(&mut self, seen: &Seen<'_>) {
        let went_on = seen.outcome.is_none_or(OutcomeKind::goes_on);
        self.add_link(seen, went_on, Would::Unjudged);
    }

    /// It was judged: `played` is what would become of it, before and after.
    pub(super) fn count(
        &mut self,
        seen: &Seen<'_>,
        before: &Result<Verdict, Fault>,
        after: &Result<Verdict, Fault>,
        played: &[Played; 2],
    ) {
        self.judged += 1;
        for (one, answer, played) in [(BEFORE, before, &played[0]), (AFTER, after, &played[1])] {
            match answer {
                Ok(verdict) => self.verdicts.entry(verdict.action.name()).or_default().add(one),
                Err(fault) => {
                    let (count, sample, examples) = self.faults.entry(fault.kind.name()).or_default();
                    count.add(one);
                    if one == AFTER {
                        sample.see(&fault.text);
                        examples.see(seen);
                    }
                }
            }
            self.outcomes.entry(name(&played.outcome)).or_default().add(one);
            if let (Ok(verdict), Some(why)) = (answer, &played.overridden) {
                let key = (verdict.action.name(), name(&played.outcome));
                let (count, sample) = self.overrides.entry(key).or_default();
                count.add(one);
                sample.see(why);
            }
            if let Some(wait) = played.wait {
                self.waits[kind_of_wait(wait)].add(one);
            }
            if let Some(due) = played.due {
                self.load.entry(minute(due)).or_default().add(one);
            }
        }
        if !are_same(before, after) {
            self.changed += 1;
            self.groups.entry(change(&seen.entry.failure.error.kind, before, after)).or_default().see(seen);
        }
    }

    /// It is a part of its message's story: `recorded` and `would` are what followed and what would have.
    pub(super) fn link(&mut self, seen: &Seen<'_>, answer: &Result<Verdict, Fault>, recorded: &Played, would: &Played) {
        // Without a record there is no story.
        if seen.entry.maker.is_none() && seen.outcome.is_none() {
            return;
        }
        let went_on = seen.outcome.map_or(recorded.due.is_some(), OutcomeKind::goes_on);
        let would = match (are_same(&seen.entry.answer, answer) || recorded.outcome == would.outcome, would.due) {
            (true, _) => Would::Same,
            (false, Some(_)) => Would::GoOn,
            (false, None) => Would::End,
        };
        self.add_link(seen, went_on, would);
    }

    fn add_link(&mut self, Seen { journal, entry, .. }: &Seen<'_>, went_on: bool, would: Would) {
        let Some(id) = &entry.failure.message.id else {
            self.without_id += 1;
            return;
        };
        let message = self.hasher.hash_one((&entry.route, id));
        self.links.push(Link { message, at: (entry.failure.now.0, *journal, entry.id), went_on, would });
    }

    pub(super) fn add(&mut self, other: Self) {
        self.coverage.add(other.coverage);
        self.judged += other.judged;
        self.changed += other.changed;
        self.without_id += other.without_id;
        for (change, examples) in other.groups {
            self.groups.entry(change).or_default().add(examples);
        }
        for (all, more) in [(&mut self.verdicts, other.verdicts), (&mut self.outcomes, other.outcomes)] {
            for (action, count) in more {
                all.entry(action).or_default().add(count);
            }
        }
        for (kind, (more, text, some)) in other.faults {
            let (count, sample, examples) = self.faults.entry(kind).or_default();
            count.add(more);
            sample.add(text);
            examples.add(some);
        }
        for (key, (more, text)) in other.overrides {
            let (count, sample) = self.overrides.entry(key).or_default();
            count.add(more);
            sample.add(text);
        }
        for (count, more) in self.waits.iter_mut().zip(other.waits) {
            count.add(more);
        }
        for (minute, more) in other.load {
            self.load.entry(minute).or_default().add(more);
        }
        self.links.extend(other.links);
    }

    pub(super) fn report(self, follows: bool) -> Report {
        let Coverage { failures, incomplete, gaps } = self.coverage;
        let group = |(change, Examples { count, earliest })| Group { change, count, examples: earliest };
        let mut groups: Vec<_> = self.groups.into_iter().map(group).collect();
        groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.change.cmp(&b.change)));
        let fault = |(kind, (count, sample, examples)): (_, (_, Sample, Examples))| Faults {
            kind,
            count,
            text: sample.0,
            examples: examples.earliest,
        };
        let overridden = |((verdict, outcome), (count, sample)): ((_, _), (_, Sample))| Override {
            verdict,
            outcome,
            count,
            text: sample.0.unwrap_or_default(),
        };
        let waits = self.waits.into_iter().enumerate().filter(|(_, count)| *count != Count::default());
        let waits =
            waits.map(|(kind, count)| Waits { name: name_of_wait(kind), at_most_ms: longest(kind).map(millis), count });
        Report {
            failures,
            judged: self.judged,
            incomplete,
            gaps,
            same: self.judged - self.changed,
            changed: self.changed,
            groups,
            verdicts: self.verdicts,
            outcomes: self.outcomes,
            faults: self.faults.into_iter().map(fault).collect(),
            overrides: self.overrides.into_iter().map(overridden).collect(),
            waits: waits.collect(),
            load: Load::new(&self.load),
            messages: follows.then(|| follow(self.links, self.without_id)),
        }
    }
}

impl Examples {
    fn see(&mut self, Seen { journal, entry, .. }: &Seen<'_>) {
        self.count += 1;
        let at = (entry.failure.now, *journal, entry.id);
        if self
            .earliest
            .last()
            .is_some_and(|last| self.earliest.len() == EXAMPLES && at > (last.at, last.journal, last.entry))
        {
            return;
        }
        let message_id = entry.failure.message.id.clone();
        self.earliest.push(Example { at: at.0, journal: at.1, entry: at.2, message_id });
        self.order();
    }

    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.earliest.extend(other.earliest);
        self.order();
    }

    fn order(&mut self) {
        self.earliest.sort_unstable();
        self.earliest.truncate(EXAMPLES);
    }
}

impl Sample {
    fn see(&mut self, text: &str) {
        if self.0.as_deref().is_none_or(|least| text < least) {
            self.0 = Some(text.to_owned());
        }
    }

    fn add(&mut self, other: Self) {
        if let Some(text) = other.0 {
            self.see(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Failure;
    use crate::journal::Kept;
    use crate::timestamp::Timestamp;
    use crate::verdict::FaultKind;

    fn entry(id: u64, now: u64) -> Entry {
        let failure = Failure::from_written(&serde_json::json!({})).unwrap();
        let failure = Failure { now: Timestamp(now), ..failure };
        let answer = Err(Fault::new(FaultKind::NoPolicy, "none"));
        let (route, kept) = ("orders".to_owned(), Kept::default());
        Entry { id, route, failure, kept, maker: None, answer, outcome: None, candidate: None }
    }

    fn examples(entries: &[(u64, u64)]) -> Examples {
        let mut examples = Examples::default();
        for (id, now) in entries {
            examples.see(&Seen { journal: 0, entry: &entry(*id, *now), outcome: None });
        }
        examples
    }

    #[test]
    fn the_earliest_are_named_whichever_thread_came_upon_them() {
        let mut all = examples(&[(7, 70), (1, 90), (4, 40), (6, 60), (5, 50)]);
        all.add(examples(&[(9, 45), (8, 80)]));
        let named: Vec<_> = all.earliest.iter().map(|example| example.entry).collect();
        assert_eq!((all.count, named), (7, vec![4, 9, 5]));
    }

    #[test]
    fn of_texts_the_least_is_shown_whichever_came_first() {
        let mut sample = Sample::default();
        sample.see("b");
        sample.add(Sample(Some("a".to_owned())));
        sample.see("c");
        assert_eq!(sample.0.as_deref(), Some("a"));
    }
}
