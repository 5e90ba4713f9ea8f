//! The names of our headers, and which headers are not the sender's.

/// Our header names under one prefix, made once a route.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each name says what its header holds")]
pub struct HeaderNames {
    pub prefix: String,
    pub attempts: String,
    pub origin_topic: String,
    pub error: String,
    pub route: String,
    pub error_kind: String,
    pub first_failed_at: String,
    pub failed_at: String,
    pub reason: String,
    pub policy: String,
    pub tier: String,
    pub due: String,
    pub expires_at: String,
    pub redrives: String,
    pub origin_exchange: String,
    pub origin_routing_key: String,
    pub origin_timestamp: String,
    pub origin_partition: String,
    pub origin_offset: String,
    pub origin_group: String,
    pub expiration: String,
    pub user_id: String,
    pub cc: String,
    pub bcc: String,
}

impl HeaderNames {
    /// The names under `prefix`, such as `reprieve-`.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        let name = |rest: &str| format!("{prefix}{rest}");
        Self {
            prefix: prefix.to_owned(),
            attempts: name("attempts"),
            origin_topic: name("origin-topic"),
            error: name("error"),
            route: name("route"),
            error_kind: name("error-kind"),
            first_failed_at: name("first-failed-at"),
            failed_at: name("failed-at"),
            reason: name("reason"),
            policy: name("policy"),
            tier: name("tier"),
            due: name("due"),
            expires_at: name("expires-at"),
            redrives: name("redrives"),
            origin_exchange: name("origin-exchange"),
            origin_routing_key: name("origin-routing-key"),
            origin_timestamp: name("origin-timestamp"),
            origin_partition: name("origin-partition"),
            origin_offset: name("origin-offset"),
            origin_group: name("origin-group"),
            expiration: name("expiration"),
            user_id: name("user-id"),
            cc: name("cc"),
            bcc: name("bcc"),
        }
    }

    /// Whether a header of the message goes on its copy: not ours, which are made anew, and not the broker's
    /// (republished `x-death` makes RabbitMQ see a cycle and drop the message).
    /// `CC` and `BCC` would send the copy to more queues.
    #[must_use]
    pub fn is_senders(&self, header: &str) -> bool {
        !(header.starts_with(&self.prefix) || is_broker_owned(header) || is_carbon_copy(header))
    }
}

/// Whether this header would send a message to more queues.
#[must_use]
pub(crate) fn is_carbon_copy(header: &str) -> bool {
    matches!(header, "CC" | "BCC")
}

/// Whether a broker writes this header itself.
#[must_use]
pub(crate) fn is_broker_owned(header: &str) -> bool {
    header.starts_with("x-death")
        || header.starts_with("x-first-death-")
        || header.starts_with("x-last-death-")
        || is_counted_by_broker(header)
        || header == "x-opt-deaths"
}

/// Whether a broker counts hand-overs in this header, so that it differs from one to the next of the same copy.
#[must_use]
pub(crate) fn is_counted_by_broker(header: &str) -> bool {
    matches!(header, "x-delivery-count" | "x-acquired-count")
}
