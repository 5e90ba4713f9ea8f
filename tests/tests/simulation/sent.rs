//! What is on the source when a simulation begins.

use std::fmt;

use reprieve::message::Message;

use crate::contents::{ContentId, Contents};

/// So many different messages, each sent so often, alike to the byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) messages: u8,
    pub(crate) times: u8,
}

/// One message.
pub(crate) const ONE: Sent = Sent { messages: 1, times: 1 };
/// Two messages.
pub(crate) const TWO: Sent = Sent { messages: 2, times: 1 };
/// One message that its sender sent twice.
pub(crate) const TWINS: Sent = Sent { messages: 1, times: 2 };

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.messages, self.times) {
            (1, 1) => f.write_str("one message"),
            (messages, 1) => write!(f, "{messages} messages"),
            (messages, times) => write!(f, "{messages} message(s), each sent {times} times"),
        }
    }
}

impl Sent {
    pub(crate) fn originals(self, contents: &mut Contents) -> Vec<(ContentId, u8)> {
        let number = |n| contents.number(&Message::new("body").with_id(format!("m{n}")));
        (1..=self.messages).map(number).map(|content| (content, self.times)).collect()
    }
}
