//! The host of the demo: two routes on a broker in memory, and a folder of policies.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use reprieve_sdk::RetryPolicy;
use tempfile::TempDir;

use super::handler::{Ledger, handler};
use super::script::{ORDERS, PREVIEWS};
use crate::broker::memory::MemoryBroker;
use crate::delivery::Doubling;
use crate::host::{HostSpec, HostedRoute};
use crate::observer::Observer;
use crate::policy::embedded;
use crate::policy::registry::PolicySettings;
use crate::route::{RouteSpec, RouteWork};
use crate::topic::Tier;

/// Where the orders' dead letters go.
pub(super) const ORDERS_DLQ: &str = "orders.dlq";
/// Where invalid orders go, with a policy that tells them apart.
pub(super) const ORDERS_INVALID: &str = "orders.invalid";
/// The only tier that the script needs.
const TIER: (&str, Duration) = ("500ms", Duration::from_millis(500));
/// The orders' policy: a file that holds one policy at first and another one later.
pub(super) const SWAPPED: &str = "demo";
/// The previews' policy.
pub(super) const BY_ERROR_KIND: &str = "by-error-kind";

/// The folders that the host works with. They are removed when this is dropped.
pub(super) struct Stage {
    root: TempDir,
}

impl Stage {
    /// Makes the folders, with the standard policy as the one that will be swapped.
    pub(super) fn new() -> anyhow::Result<Self> {
        let root = tempfile::tempdir().context("cannot make a temporary folder for the policies")?;
        let stage = Self { root };
        fs::create_dir(stage.policies())?;
        fs::write(stage.policy(SWAPPED), embedded::STANDARD)?;
        fs::write(stage.policy(BY_ERROR_KIND), embedded::BY_ERROR_KIND)?;
        fs::write(stage.waiting(), embedded::BY_ERROR_KIND)?;
        Ok(stage)
    }

    /// Renames the other policy into the folder, over the first. The host's watcher does the rest.
    pub(super) fn swap(&self) -> std::io::Result<()> {
        fs::rename(self.waiting(), self.policy(SWAPPED))
    }

    fn policies(&self) -> PathBuf {
        self.root.path().join("policies")
    }

    fn policy(&self, name: &str) -> PathBuf {
        self.policies().join(name).with_extension("wasm")
    }

    /// Outside of the policies folder, and on the same file system.
    fn waiting(&self) -> PathBuf {
        self.root.path().join("waiting.wasm")
    }

    /// The host, for so many messages.
    pub(super) fn host(&self, broker: &MemoryBroker, ledger: &Ledger, messages: u32) -> HostSpec {
        // Room for every event, so that the table misses none however fast they come.
        let observer = Observer::with_capacity((messages as usize).saturating_mul(4));
        // A retry holds its slot, and a tenth of the messages retry for more than a second.
        let concurrency = u16::try_from(messages / 10).unwrap_or(u16::MAX).max(32);
        let route = |name: &str, max_retry_delay| RouteSpec {
            concurrency,
            retry: RetryPolicy { max_attempts: 3, initial_delay: Duration::from_millis(50), ..RetryPolicy::default() },
            max_retry_delay,
            requeue: Doubling { initial: Duration::from_millis(400), max: Duration::from_secs(1) },
            ..RouteSpec::new(
                name,
                name,
                Arc::new(broker.clone()),
                RouteWork::Handle { handler: handler(ledger), timeout: Duration::from_millis(300) },
            )
        };
        let orders = RouteSpec {
            tiers: vec![Tier { name: TIER.0.to_owned(), delay: TIER.1 }],
            dead_letters: BTreeMap::from([
                ("default".to_owned(), ORDERS_DLQ.into()),
                ("invalid".to_owned(), ORDERS_INVALID.into()),
            ]),
            ..route(ORDERS, Duration::from_secs(2))
        };
        let previews = route(PREVIEWS, Duration::from_millis(500));
        let hosted = |route, policy: &str| HostedRoute { policy: Some(policy.to_owned()), ..HostedRoute::new(route) };
        HostSpec {
            routes: vec![hosted(orders, SWAPPED), hosted(previews, BY_ERROR_KIND)],
            policies: PolicySettings {
                folder: Some(self.policies()),
                state: Some(self.root.path().join("state")),
                // Soon enough for the demo where the file system tells of no changes.
                rescan: Duration::from_secs(1),
                ..PolicySettings::default()
            },
            shutdown_timeout: Duration::from_secs(2),
            observer,
            ..HostSpec::default()
        }
    }
}
