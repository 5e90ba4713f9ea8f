//! What a commit says beside its position, in the text that the broker keeps with it.
//!
//! `reprieve/1 clean`, or `reprieve/1 +LIMIT OWNER BITMAP OFFSET:COUNT,…`: all offsets counted from the position, a set bit for
//! an attempt that was under way, the counts of attempts that ended with their host. The broker takes 4,096 bytes.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const VERSION: &str = "reprieve/1";
const CLEAN: &str = "clean";

/// The text is not longer than this, in bytes. What does not fit is left out: the latest attempts under way, and counts.
const LONGEST: usize = 4000;

/// Counts that are written at most. One record that ends hosts runs at a time.
const MOST_COUNTS: usize = 100;

/// A limit that is farther than this from its position was not written here.
const FARTHEST: i64 = 1 << 24;

/// This process: what it left behind itself was not in work when it ended, for it lives.
pub(super) static OWNER: LazyLock<String> = LazyLock::new(|| format!("{:016x}", RandomState::new().hash_one(0)));

/// How far a partition has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    /// Every record below this offset is decided.
    pub(super) position: i64,
    /// No record from this offset on was handed out, nor will be before the next commit is confirmed.
    pub(super) limit: i64,
    /// Attempts under way, by offset in ascending order.
    pub(super) under_way: Vec<i64>,
    /// Attempts that ended with their host, by offset in ascending order.
    pub(super) interruptions: Vec<(i64, u32)>,
    /// See [`super::window::Window::note`].
    pub(super) notes: u64,
}

/// Where a partition begins for its next owner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Start {
    /// What was committed.
    pub(super) position: Option<i64>,
    /// The last owner did not end in order: records from the position to below this one may have been in work.
    pub(super) suspect_below: Option<i64>,
    /// Attempts that ended with their host, by offset.
    pub(super) interruptions: BTreeMap<i64, u32>,
}

impl Progress {
    /// For the next owner, while this one may still end without order. `brief` leaves the attempts out, for a broker that
    /// takes less text.
    pub(super) fn text(&self, brief: bool) -> String {
        let limit = self.limit.saturating_sub(self.position).max(0);
        let mut text = format!("{VERSION} +{limit} {}", *OWNER);
        if brief {
            return text;
        }
        let counts: Vec<String> = self
            .interruptions
            .iter()
            .take(MOST_COUNTS)
            .map(|(offset, count)| format!("{}:{count}", offset.saturating_sub(self.position)))
            .collect();
        let counts = counts.join(",");
        let room = LONGEST.saturating_sub(text.len() + counts.len() + 2);
        text.push(' ');
        text.push_str(&URL_SAFE_NO_PAD.encode(self.bitmap(room / 4 * 3)));
        text.push(' ');
        text.push_str(&counts);
        text
    }

    /// For the next owner, after an orderly end: nothing is under way.
    pub(super) fn clean_text() -> String {
        format!("{VERSION} {CLEAN}")
    }

    fn bitmap(&self, most_bytes: usize) -> Vec<u8> {
        let mut bits = Vec::new();
        for offset in &self.under_way {
            let Ok(bit) = usize::try_from(offset.saturating_sub(self.position)) else { continue };
            let byte = bit / 8;
            if byte >= most_bytes {
                break;
            }
            if bits.len() <= byte {
                bits.resize(byte + 1, 0_u8);
            }
            bits[byte] |= 1 << (bit % 8);
        }
        bits
    }
}

impl Start {
    /// Reads what was committed. A text of another program says nothing.
    pub(super) fn read(position: i64, text: &str) -> Self {
        let clean = Self { position: Some(position), ..Self::default() };
        let mut words = text.split(' ');
        if words.next() != Some(VERSION) {
            return clean;
        }
        let limit = words.next().and_then(|word| word.strip_prefix('+')).and_then(|number| number.parse::<i64>().ok());
        let Some(limit) = limit.filter(|limit| (0..=FARTHEST).contains(limit)) else { return clean };
        let is_ours = words.next() == Some(&*OWNER);
        let mut interruptions = BTreeMap::new();
        let bits =
            words.next().and_then(|word| URL_SAFE_NO_PAD.decode(word).ok()).filter(|_| !is_ours).unwrap_or_default();
        for (byte, bits) in (0_i64..).zip(bits) {
            for bit in (0..8).filter(|bit| bits & (1 << bit) != 0) {
                interruptions.insert(position.saturating_add(byte * 8 + bit), 1);
            }
        }
        for count in words.next().unwrap_or_default().split(',') {
            if let Some((offset, count)) = count.split_once(':')
                && let (Ok(offset), Ok(count)) = (offset.parse::<i64>(), count.parse::<u32>())
            {
                // It stands for the attempt under way as well.
                interruptions.insert(position.saturating_add(offset), count);
            }
        }
        let suspect_below = (!is_ours).then(|| position.saturating_add(limit));
        Self { position: Some(position), suspect_below, interruptions }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn progress(under_way: Vec<i64>, interruptions: Vec<(i64, u32)>) -> Progress {
        Progress { position: 1000, limit: 1064, under_way, interruptions, notes: 0 }
    }

    /// As another process would have written it.
    fn of_another(text: &str) -> String {
        text.replace(&*OWNER, "another")
    }

    #[test]
    fn what_this_process_left_behind_itself_is_not_suspected() {
        let text = progress(vec![1000], vec![(1007, 3)]).text(false);
        let start = Start::read(1000, &text);
        assert_eq!((start.suspect_below, start.interruptions), (None, BTreeMap::from([(1007, 3)])));
    }

    #[test]
    fn the_next_owner_reads_what_the_last_one_wrote() {
        let text = progress(vec![1000, 1007, 1063], vec![(1007, 3)]).text(false);
        let start = Start::read(1000, &of_another(&text));
        assert_eq!(start.suspect_below, Some(1064));
        assert_eq!(start.interruptions, BTreeMap::from([(1000, 1), (1007, 3), (1063, 1)]));
    }

    #[test]
    fn after_an_orderly_end_nothing_is_suspected() {
        let clean = Start { position: Some(7), ..Start::default() };
        assert_eq!(Start::read(7, &Progress::clean_text()), clean);
        assert_eq!(Start::read(7, ""), clean, "another program, or an operator, has put the group there");
    }

    #[test]
    fn a_brief_text_still_tells_an_end_without_order() {
        let start = Start::read(1000, &of_another(&progress(vec![1001], vec![(1001, 2)]).text(true)));
        assert_eq!((start.suspect_below, start.interruptions.len()), (Some(1064), 0));
    }

    proptest! {
        #[test]
        fn the_text_always_fits_and_loses_the_latest_attempts_first(
            offsets in prop::collection::btree_set(0_i64..60_000, 0..300),
            counts in prop::collection::btree_map(0_i64..60_000, 1_u32.., 0..300),
        ) {
            let under_way: Vec<i64> = offsets.iter().map(|offset| 1000 + offset).collect();
            let counts: Vec<(i64, u32)> = counts.into_iter().map(|(offset, count)| (1000 + offset, count)).collect();
            let text = progress(under_way.clone(), counts.clone()).text(false);
            prop_assert!(text.len() <= 4096);
            let start = Start::read(1000, &of_another(&text));
            for (offset, count) in counts.iter().take(MOST_COUNTS) {
                prop_assert_eq!(start.interruptions.get(offset), Some(count));
            }
            let kept = under_way.iter().take_while(|offset| start.interruptions.contains_key(offset)).count();
            prop_assert!(kept == under_way.len() || under_way[kept] > 1000 + 8 * 1000);
        }

        #[test]
        fn no_text_does_harm(position in any::<i64>(), text in "(reprieve/1 )?[ +:,0-9A-Za-z_-]{0,80}") {
            let start = Start::read(position, &text);
            prop_assert!(start.suspect_below.is_none_or(|below| below >= position));
        }
    }
}
