//! A failure as a tree of values, for interpreters: made directly, since a detour through JSON would take longer.
//!
//! The same facts as the interface has, in the same cut: every header, no body.

use reprieve::failure::Failure;

/// What such a tree is made of.
pub(super) trait Value: Sized {
    /// No value.
    fn null() -> Self;
    /// True or false.
    fn boolean(value: bool) -> Self;
    /// A whole number.
    fn integer(number: i64) -> Self;
    /// Text.
    fn text(text: &str) -> Self;
    /// Members with names.
    fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self;
}

/// The tree of a failure.
pub(super) fn of<V: Value>(failure: &Failure) -> V {
    let message = &*failure.message;
    let (error, health) = (&failure.error, &failure.health);
    let headers = message.headers.iter().filter_map(|(name, value)| Some((name, V::text(value.as_str()?))));
    let text = |text: Option<&str>| text.map_or_else(V::null, V::text);
    let natural = |number: u64| V::integer(i64::try_from(number).unwrap_or(i64::MAX));
    let optional = |number: Option<u64>| number.map_or_else(V::null, natural);
    V::object([
        ("id", text(message.id.as_deref())),
        ("headers", V::object(headers)),
        ("body_size", natural(failure.body_size)),
        ("content_type", text(message.properties.content_type.as_deref())),
        ("attempt", natural(failure.attempt.into())),
        ("interruptions", natural(failure.interruptions.into())),
        ("redelivered", V::boolean(failure.redelivered)),
        ("tier", text(failure.tier.as_deref())),
        ("age_ms", natural(failure.age_ms)),
        ("expires_in_ms", optional(failure.expires_in_ms)),
        (
            "error",
            V::object([
                ("kind", V::text(&error.kind)),
                ("text", V::text(&error.text)),
                ("status", optional(error.status.map(Into::into))),
                ("retry_after_ms", optional(error.retry_after)),
                ("detail", text(error.detail.as_deref())),
                ("panicked", V::boolean(error.panicked)),
                ("timed_out", V::boolean(error.timed_out)),
            ]),
        ),
        (
            "health",
            V::object([
                ("attempts", natural(health.attempts.into())),
                ("failures", natural(health.failures.into())),
                ("retries", natural(health.retries.into())),
                ("failures_of_this_kind", natural(health.failures_of_this_kind.into())),
                ("consecutive_failures", natural(health.consecutive_failures.into())),
            ]),
        ),
        ("now", natural(failure.now.0)),
        ("seed", natural(failure.seed)),
    ])
}
