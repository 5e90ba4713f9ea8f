//! A broker of kind `narad`.

use std::collections::BTreeMap;
use std::path::Path;

use super::addresses::{Addresses, read_tls, tls_in_use};
use crate::broker::TlsSettings;
use crate::broker::narad::Envelope;
use crate::config::address::read_url;
use crate::config::section::Section;
use crate::config::{RouteConfig, SecretUrl};
use crate::topic::Topic;

const ADDRESSES: Addresses = Addresses {
    missing: "add url = \"http://host:7942\"",
    several: "[\"http://one:7942\", \"http://two:7942\"]",
    with_user: "http://user@host:7942",
};

/// A connection to Narad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NaradConfig {
    /// `http://user:password@host:port`, or `https://`, with the password where that was written apart. At least one; several are
    /// nodes of one cluster, and tried in turn.
    pub urls: Vec<SecretUrl>,
    /// For `https` addresses. Paths are resolved.
    pub tls: TlsSettings,
    /// Create missing topics; otherwise they are only checked.
    pub declare: bool,
    /// What stands around payloads on the topics of routes, where that is not our own envelope.
    pub envelopes: BTreeMap<String, Envelope>,
    /// What the headers of its routes begin with, each once.
    pub header_prefixes: Vec<String>,
}

/// What stands around the payloads of a route's topics, on a broker without headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EnvelopeConfig {
    /// Our own envelope.
    #[default]
    Own,
    /// Nothing.
    None,
    /// Our own, and the counts of senders are believed.
    Counted,
}

impl NaradConfig {
    pub(super) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        let declare = section.boolean("declare").unwrap_or(true);
        let tls = read_tls(section, folder);
        let urls = ADDRESSES.read(section, |text| {
            let scheme = if text.get_ref().expose().starts_with("https:") { "https" } else { "http" };
            read_url(section, text, scheme)
        })?;
        let cure = "write https:// and the port at which TLS ends, or leave `tls` out";
        let tls = tls_in_use(section, tls, urls.iter().any(|url| url.expose().scheme() == "https"), cure);
        Some(Self { urls, tls, declare, envelopes: BTreeMap::new(), header_prefixes: Vec::new() })
    }

    /// Notes what a route of this broker says of its topics. What the first route says of a topic holds.
    pub(in crate::config) fn note(&mut self, route: &RouteConfig) {
        if !self.header_prefixes.contains(&route.header_prefix) {
            self.header_prefixes.push(route.header_prefix.clone());
        }
        let envelope = match route.envelope {
            EnvelopeConfig::Own => return,
            EnvelopeConfig::None => Envelope::None,
            EnvelopeConfig::Counted => {
                Envelope::Counted { route: route.name.clone(), prefix: route.header_prefix.clone() }
            }
        };
        let dead_letters = route.dead_letters.values().filter_map(|topic| match topic {
            Topic::Named(name) => Some(name),
            Topic::Exchange { .. } => None,
        });
        for topic in dead_letters.chain([&route.source]) {
            self.envelopes.entry(topic.clone()).or_insert_with(|| envelope.clone());
        }
    }
}
