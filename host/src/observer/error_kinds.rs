//! The bound on how many error kinds a route can name.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds that a route may name; whatever comes after them is counted as [`OTHER`].
pub(super) const MAX_KINDS: usize = 256;

/// The kind that stands for those past the bound.
pub(super) const OTHER: &str = "other";

/// A kind longer than this many bytes is not a name and counts as [`OTHER`].
const MAX_KIND_BYTES: usize = 128;

/// The error kinds seen so far, first come, first named. Handlers choose the kinds, so without a bound one that puts
/// an id into them would fill the memory.
#[derive(Debug, Default)]
pub(super) struct ErrorKinds {
    known: Mutex<HashSet<Arc<str>>>,
}

impl ErrorKinds {
    /// The kind itself if it is among the first [`MAX_KINDS`], else [`OTHER`].
    pub(super) fn bounded(&self, kind: &str) -> Arc<str> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(kind) {
            return Arc::clone(known);
        }
        if kind.len() > MAX_KIND_BYTES || known.len() >= MAX_KINDS {
            return OTHER.into();
        }
        let kind: Arc<str> = kind.into();
        known.insert(Arc::clone(&kind));
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_256_kinds_keep_their_names_and_the_rest_are_other() {
        let kinds = ErrorKinds::default();
        for n in 0..MAX_KINDS {
            assert_eq!(*kinds.bounded(&format!("kind-{n}")), *format!("kind-{n}"));
        }
        assert_eq!(&*kinds.bounded("one-too-many"), OTHER);
        assert_eq!(&*kinds.bounded("kind-0"), "kind-0");
    }

    #[test]
    fn a_kind_that_is_a_page_of_text_is_other() {
        let kinds = ErrorKinds::default();
        assert_eq!(&*kinds.bounded(&"x".repeat(MAX_KIND_BYTES + 1)), OTHER);
    }
}
