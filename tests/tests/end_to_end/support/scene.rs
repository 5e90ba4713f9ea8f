//! What a test has of its own: a folder, queues, tiers, a client.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Client, Handler, Program};

/// Queues and exchanges with names that no other test has are deleted in the end, also after a panic.
pub(crate) struct Scene {
    id: String,
    folder: TempDir,
    names: Mutex<BTreeSet<String>>,
    tiers: Mutex<Vec<String>>,
    /// As it stands in the program's configuration.
    pub(crate) shutdown_timeout: &'static str,
    pub(crate) broker: Client,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("policies")).expect("a writable folder");
        Self {
            id: uuid::Uuid::new_v4().simple().to_string(),
            folder,
            names: Mutex::default(),
            tiers: Mutex::default(),
            shutdown_timeout: "20s",
            broker: Client::start(&reprieve_tests::rabbitmq::url()),
        }
    }

    /// A file in the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The name of a queue for `role`, which is not declared here.
    pub(crate) fn name(&self, role: &str) -> String {
        let name = format!("test.{}.{role}", self.id);
        lock(&self.names).insert(name.clone());
        name
    }

    /// Declares a classic queue for `role` and gives its name.
    pub(crate) fn queue(&self, role: &str) -> String {
        self.queue_with(role, &json!({}))
    }

    /// The same with arguments.
    pub(crate) fn queue_with(&self, role: &str, arguments: &Value) -> String {
        let name = self.name(role);
        self.broker.declare(&name, arguments);
        name
    }

    /// The name of a tier of this many milliseconds, at least 2, that no other test has: tiers are shared by all hosts
    /// of a broker, so each test writes its delay differently.
    pub(crate) fn tier(&self, milliseconds: u64) -> String {
        let nanoseconds = milliseconds * 1_000_000;
        let some = u64::from_str_radix(&self.id[..8], 16).expect("eight hexadecimal digits") % (nanoseconds / 1000);
        let name = format!("{some}us{}ns", nanoseconds - some * 1000);
        lock(&self.tiers).push(name.clone());
        lock(&self.names).insert(format!("reprieve.tier.{name}"));
        name
    }

    /// The queue that messages wait in for this tier.
    pub(crate) fn tier_queue(tier: &str) -> String {
        format!("reprieve.tier.{tier}")
    }

    /// Starts the HTTP handler with the answers to each id.
    pub(crate) fn handler(&self, script: &BTreeMap<String, Value>) -> Handler {
        Handler::start(self.folder.path(), script)
    }

    /// Starts the program on the broker of the tests with these routes.
    pub(crate) fn program(&self, routes: &str) -> Program {
        self.program_on(&reprieve_tests::rabbitmq::url(), routes)
    }

    /// Starts the program with the broker `main` at this address.
    pub(crate) fn program_on(&self, url: &str, routes: &str) -> Program {
        Program::start(&self.configure(url, routes))
    }

    /// Writes the program's configuration and gives its path.
    pub(crate) fn configure(&self, url: &str, routes: &str) -> PathBuf {
        let path = self.path("reprieve.toml");
        std::fs::write(&path, self.configuration(url, routes)).expect("a writable folder");
        path
    }

    /// The program's configuration.
    pub(super) fn configuration(&self, url: &str, routes: &str) -> String {
        let tiers = json!(*lock(&self.tiers));
        let shutdown_timeout = self.shutdown_timeout;
        format!(
            r#"
[host]
admin = "127.0.0.1:0"
tiers = {tiers}
shutdown_timeout = "{shutdown_timeout}"

[policies]
folder = "policies"
deadline = "5s"          # a busy machine is no fault of a policy

[brokers.main]
kind = "rabbitmq"
url = "{url}"

{routes}"#
        )
    }

    /// Renames a policy into the policies folder.
    pub(crate) fn install(&self, name: &str, policy: &[u8]) {
        self.install_in("policies", name, policy);
    }

    /// The same with another policies folder.
    pub(super) fn install_in(&self, folder: &str, name: &str, policy: &[u8]) {
        let (made, live) = (self.path("made.wasm"), self.path(folder).join(name).with_extension("wasm"));
        std::fs::write(&made, policy).expect("a writable folder");
        std::fs::rename(made, live).expect("two places in one folder");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let deleted = self.broker.delete(lock(&self.names).iter().map(String::as_str));
        if !std::thread::panicking() {
            deleted.expect("the test's queues can be deleted");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A policy as it is committed for the host.
pub(crate) fn committed_policy(name: &str) -> Vec<u8> {
    read_policy("host/policies", name)
}

/// A policy that `cargo xtask test-policies` builds.
pub(crate) fn test_policy(name: &str) -> Vec<u8> {
    read_policy("target/test-policies", name)
}

fn read_policy(folder: &str, name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join(name).with_extension("wasm");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test`", path.display()))
}
