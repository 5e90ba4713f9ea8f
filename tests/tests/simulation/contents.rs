//! Every message and copy that was ever seen, each once, so that states can name them by a number.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use reprieve::message::Message;
use reprieve::timestamp::Timestamp;

/// A message or copy to the byte: the same number, the same copy to a host.
pub(crate) type ContentId = u16;

/// When every simulation begins.
pub(crate) const BEGIN: Timestamp = Timestamp(1_700_000_000_000);

#[derive(Default)]
pub(crate) struct Contents {
    all: Vec<Content>,
    numbers: HashMap<String, ContentId>,
}

struct Content {
    message: Arc<Message>,
    attempts: u32,
    shape: u64,
    due: Timestamp,
}

impl Contents {
    pub(crate) fn number(&mut self, message: &Message) -> ContentId {
        let text = format!("{message:?}");
        if let Some(known) = self.numbers.get(&text) {
            return *known;
        }
        let number = ContentId::try_from(self.all.len()).expect("a simulation makes fewer copies than that");
        let attempts = message.headers.get("reprieve-attempts").and_then(|value| value.as_i64()).unwrap_or(0);
        let due = message
            .headers
            .text("reprieve-due")
            .map(|due| Timestamp::from(humantime::parse_rfc3339(due).expect("a host writes times that can be read")));
        let names: Vec<&str> = message.headers.iter().map(|(name, _)| name).collect();
        let shape = BuildHasherDefault::<DefaultHasher>::default().hash_one((&message.id, attempts, names));
        self.all.push(Content {
            shape,
            message: Arc::new(message.clone()),
            attempts: u32::try_from(attempts).expect("a host writes counts that can be read"),
            due: due.unwrap_or(BEGIN),
        });
        self.numbers.insert(text, number);
        number
    }

    pub(crate) fn message(&self, content: ContentId) -> &Arc<Message> {
        &self.all[usize::from(content)].message
    }

    /// The count on it.
    pub(crate) fn attempts(&self, content: ContentId) -> u32 {
        self.all[usize::from(content)].attempts
    }

    /// Nothing but the message is left of it.
    pub(crate) fn is_bare(&self, content: ContentId) -> bool {
        self.message(content).headers.is_empty()
    }

    /// What it is but for the times in it.
    pub(crate) fn shape(&self, content: ContentId) -> u64 {
        self.all[usize::from(content)].shape
    }

    /// When it may be handled.
    pub(crate) fn due(&self, content: ContentId) -> Timestamp {
        self.all[usize::from(content)].due
    }
}
