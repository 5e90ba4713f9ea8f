//! How to reach a Narad cluster, and what stands around payloads there.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::broker::tls::TlsSettings;

/// How to reach a Narad cluster, and what may be done there.
#[derive(Clone)]
pub struct NaradSettings {
    /// The broker's name in the configuration, for messages.
    pub name: String,
    /// `http://user:password@host:7942` of the nodes, or `https://`; at least one. Each is tried in turn, from the last good one
    /// on. They stay out of every message and log.
    pub urls: Vec<String>,
    /// For `https` addresses.
    pub tls: TlsSettings,
    /// Create tiers and missing dead-letter topics; otherwise they are only checked.
    pub declare: bool,
    /// How long a publish may take before it counts as failed.
    pub publish_timeout: Duration,
    /// What stands around payloads on a topic, where that is not [`Envelope::Ours`].
    pub envelopes: BTreeMap<String, Envelope>,
    /// What our headers may begin with: `delivery_count` in an envelope is what they say of attempts.
    pub header_prefixes: Vec<String>,
}

/// What stands around payloads on a topic. Narad itself has no headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Envelope {
    /// Copies carry our envelope. Bare payloads are read too.
    #[default]
    Ours,
    /// Nothing, since other consumers of the topic could not read it: a copy is its payload alone.
    None,
    /// As ours, and what senders count is believed: the `delivery_count` beside their `payload`, the `attempts` of the Go SDK.
    Counted {
        /// The route whose attempts are counted.
        route: String,
        /// What its headers begin with.
        prefix: String,
    },
}

impl NaradSettings {
    /// The settings for one address with everything else as by default: missing topics are created, 10 s for a publish.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            urls: vec![url.into()],
            tls: TlsSettings::default(),
            declare: true,
            publish_timeout: Duration::from_secs(10),
            envelopes: BTreeMap::new(),
            header_prefixes: vec!["reprieve-".to_owned()],
        }
    }

    /// What stands around payloads on this topic.
    pub(super) fn envelope(&self, topic: &str) -> &Envelope {
        self.envelopes.get(topic).unwrap_or(&Envelope::Ours)
    }
}
