//! The configuration file: what it may say, what is wrong with it, and how to put it right.
//!
//! A [`Config`] is complete: defaults are filled in, relative paths are resolved against the file's folder, and
//! routes, brokers and tiers fit together. Whatever is wrong is reported at once, each problem with its place and cure.

mod broker;
mod handler;
mod host;
mod policies;
mod route;
mod secret;

use std::collections::BTreeMap;

pub use broker::{BrokerConfig, MemoryConfig, RabbitMqConfig};
pub use handler::{CommandConfig, HandlerConfig, HttpConfig, JudgeConfig};
pub use host::HostConfig;
pub use policies::PoliciesConfig;
pub use route::{RequeueConfig, RouteConfig};
pub use secret::{Secret, SecretUrl};

/// A configuration that was read and found right.
#[derive(Debug, Clone)]
pub struct Config {
    /// The process as a whole.
    pub host: HostConfig,
    /// Where policies come from and what one decision may use.
    pub policies: PoliciesConfig,
    /// The brokers by name. At least those that routes use.
    pub brokers: BTreeMap<String, BrokerConfig>,
    /// The routes, in the file's order. At least one, their names distinct.
    pub routes: Vec<RouteConfig>,
}
