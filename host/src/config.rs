//! The configuration file: what it may say, what is wrong with it, and how to put it right.
//!
//! A [`Config`] is complete: defaults are filled in, relative paths are resolved against the file's folder, and
//! routes, brokers and tiers fit together. Whatever is wrong is reported at once, each problem with its place and cure.

mod address;
mod broker;
mod capabilities;
mod checks;
mod dead_letters;
mod document;
mod error;
mod files;
mod handler;
mod host;
mod journal;
mod json_place;
mod name;
mod policies;
mod problem;
mod retry;
mod route;
mod secret;
mod section;
mod settings;
mod settings_file;
mod source;
mod suggestion;
mod telemetry;
mod tiers;
mod trust;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

pub use broker::{BrokerConfig, EnvelopeConfig, KafkaConfig, MemoryConfig, NaradConfig, RabbitMqConfig};
pub use error::ConfigError;
pub(crate) use error::Report;
pub use handler::{CommandConfig, HandlerConfig, HttpConfig, JudgeConfig};
pub use host::HostConfig;
pub use journal::JournalConfig;
pub use policies::PoliciesConfig;
pub use problem::{Problem, Severity};
pub use route::{DeduplicateConfig, RequeueConfig, RouteConfig};
pub use secret::{Secret, SecretUrl};
pub(crate) use settings_file::SettingsFile;
use source::Source;
pub use telemetry::TelemetryConfig;

use crate::policy::candidate::CandidatePlan;
use crate::policy::trust::Trust;

/// A configuration that was read and found right.
#[derive(Debug, Clone)]
pub struct Config {
    /// The process as a whole.
    pub host: HostConfig,
    /// Where policies come from and what one decision may use.
    pub policies: PoliciesConfig,
    /// What is recorded of failures; `None` where nothing is.
    pub journal: Option<JournalConfig>,
    /// Where traces go; `None` where nothing is traced.
    pub telemetry: Option<TelemetryConfig>,
    /// The brokers by name. At least those that routes use.
    pub brokers: BTreeMap<String, BrokerConfig>,
    /// The routes, in the file's order. At least one, their names distinct.
    pub routes: Vec<RouteConfig>,
    /// What works, though probably not as it was meant, in the file's order.
    pub warnings: Vec<Problem>,
    /// Kept for what can only be checked later, against files and brokers.
    source: Source,
    /// One for each route.
    places: Vec<Places>,
}

/// Where a route says what is checked later.
#[derive(Debug, Clone)]
struct Places {
    /// Its name.
    route: Range<usize>,
    policy: Option<Range<usize>>,
    policy_digest: Option<Range<usize>>,
    tiers: Option<Range<usize>>,
    max_retry_delay: Option<Range<usize>>,
    group: Option<Range<usize>>,
    ordering: Option<Range<usize>>,
}

impl Config {
    /// Reads and checks a file. Looks at no other file but those that hold its secrets, and connects to nothing.
    ///
    /// # Errors
    /// Where the file cannot be read, and where it has at least one error.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
        Self::parse(text, path)
    }

    /// Checks the text of a configuration, and reads the secrets that it names from the environment and from files. `path`
    /// is what messages call it, and its folder is what relative paths are of.
    ///
    /// # Errors
    /// Where the text has at least one error.
    pub fn parse(text: impl Into<String>, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let source = Source::new(path.as_ref().to_owned(), text.into());
        document::read(&source).map_err(ConfigError::Invalid)
    }

    /// Whether a host that runs with `other` can take this one: only policy names, digests, settings and what is demanded of
    /// policy files differ.
    pub(crate) fn differs_only_in_policies(&self, other: &Self) -> bool {
        let fixed = |route: &RouteConfig| RouteConfig {
            policy: None,
            policy_digest: None,
            settings: Value::Null,
            candidate: CandidatePlan::default(),
            ..route.clone()
        };
        let watched = |policies: &PoliciesConfig| PoliciesConfig { trust: Trust::default(), ..policies.clone() };
        self.host == other.host
            && watched(&self.policies) == watched(&other.policies)
            && self.journal == other.journal
            && self.telemetry == other.telemetry
            && self.brokers == other.brokers
            && self.routes.iter().map(fixed).eq(other.routes.iter().map(fixed))
    }
}

#[cfg(test)]
mod tests;
