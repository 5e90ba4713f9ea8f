//! What a policy wants to see of each message.

/// What a policy wants to see of each message. Less is faster. By default: every header, no body, no attributes.
///
/// What is not asked for here is not given, and [`Failure`](crate::Failure) looks as if the message did not have it.
///
/// ```
/// use reprieve_sdk::{HeaderNeeds, Needs, attribute};
///
/// let needs = Needs::nothing().with_body(4096).with_header("tenant").with_attribute(attribute::REDRIVES);
/// assert_eq!(needs.body, Some(4096));
/// assert_eq!(needs.headers, HeaderNeeds::Named(vec!["tenant".to_owned()]));
/// assert_eq!(needs.attributes, ["redrives"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// The first so many bytes of the body. The route's [`max_body`](crate::Limits::max_body) bounds it.
    pub body: Option<u32>,
    /// The headers.
    pub headers: HeaderNeeds,
    /// The names of the [attributes](crate::attribute).
    pub attributes: Vec<String>,
}

/// The message headers that a policy reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HeaderNeeds {
    /// All of them, up to the host's limits in number and size.
    #[default]
    All,
    /// Those with these names only, which are compared exactly.
    Named(Vec<String>),
}

impl Needs {
    /// Neither headers nor a body nor attributes: the error and the counts are enough.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { body: None, headers: HeaderNeeds::Named(Vec::new()), attributes: Vec::new() }
    }

    /// The same, and the first so many bytes of the body.
    #[must_use]
    pub const fn with_body(mut self, bytes: u32) -> Self {
        self.body = Some(bytes);
        self
    }

    /// The same, and the headers of this name. Changes nothing where all are asked for.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>) -> Self {
        if let HeaderNeeds::Named(names) = &mut self.headers {
            names.push(name.into());
        }
        self
    }

    /// The same, and the [attribute](crate::attribute) of this name.
    #[must_use]
    pub fn with_attribute(mut self, name: impl Into<String>) -> Self {
        self.attributes.push(name.into());
        self
    }
}
