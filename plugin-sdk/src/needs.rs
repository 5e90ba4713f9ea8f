//! What a policy wants to see of each message.

/// What a policy wants to see of each message. Less is faster. By default: every header, no body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// The first so many bytes of the body. The route's `max_body` limit bounds it.
    pub body: Option<u32>,
    /// The headers.
    pub headers: HeaderNeeds,
}

/// The message headers that a policy reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HeaderNeeds {
    /// All of them.
    #[default]
    All,
    /// Those with these names only.
    Named(Vec<String>),
}

impl Needs {
    /// Neither headers nor a body: the error and the counts are enough.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { body: None, headers: HeaderNeeds::Named(Vec::new()) }
    }
}
