//! The files that no route names: checked when there is nothing else to do, so that a mistake shows before a route
//! depends on it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;
use serde_json::{Map, Value};

use super::load::off_path;
use super::reloader::Tools;
use crate::policy::engine::{Candidate, Engine};
use crate::policy::folder;
use crate::policy::rejection::Rejection;
use crate::policy::route_record::RouteRecord;
use crate::policy::status::UnusedPolicy;
use crate::policy::trust::Trust;

#[derive(Debug, Default)]
pub(super) struct Unused {
    checked: BTreeMap<String, Checked>,
    to_check: VecDeque<String>,
}

#[derive(Debug, Clone)]
struct Checked {
    status: UnusedPolicy,
    /// Only what is trusted was looked into.
    trusted: bool,
}

impl Unused {
    /// Forgets what is gone and looks at everything else again.
    pub(super) fn scanned(&mut self, names: BTreeSet<String>) {
        self.checked.retain(|name, _| names.contains(name));
        self.to_check = names.into_iter().collect();
    }

    pub(super) fn is_done(&self) -> bool {
        self.to_check.is_empty()
    }

    /// Checks one file, unless it is the same as before.
    pub(super) async fn check_one(&mut self, folder: &Path, tools: &Tools) {
        let Some(name) = self.to_check.pop_front() else { return };
        let known = self.checked.get(&name).filter(|checked| checked.trusted);
        let known = known.and_then(|checked| checked.status.file_digest.clone());
        let (path, policy) = (folder.join(format!("{name}.wasm")), name.clone());
        let (engine, trust) = (tools.engine.clone(), Arc::clone(&tools.trust));
        let checked = off_path(move || check(policy, &path, known.as_deref(), &engine, &trust)).await;
        match checked {
            Ok(Some(checked)) => {
                // What cannot be read has no digest to tell it by, and is looked at in every scan, as is what is not trusted.
                let told = self.checked.get(&name).is_some_and(|before| before.status.error == checked.status.error);
                match &checked.status.error {
                    Some(error) if !told => {
                        tracing::warn!(policy = name, error, "an unused file in the policies folder could not be used");
                    }
                    None => tracing::info!(policy = name, "a policy in the folder is unused: no route names it"),
                    Some(_) => {}
                }
                self.checked.insert(name, checked);
            }
            Ok(None) => {}
            Err(error) => tracing::error!(policy = name, error, "a file in the policies folder could not be checked"),
        }
    }

    pub(super) fn status(&self) -> Vec<UnusedPolicy> {
        self.checked.values().map(|checked| checked.status.clone()).collect()
    }
}

/// `None` where the file is the one whose digest is `known`.
fn check(policy: String, path: &Path, known: Option<&str>, engine: &Engine, trust: &Trust) -> Option<Checked> {
    let unusable = |policy, file_digest, error: &dyn ToString| {
        let status = UnusedPolicy { policy, file_digest, description: None, error: Some(error.to_string()) };
        Some(Checked { status, trusted: false })
    };
    let file = match folder::read_for(trust, path, engine.limits().file_size as u64) {
        Ok(file) => file,
        Err(error) => return unusable(policy, None, &error),
    };
    if let Err(distrust) = trust.check(&file, None) {
        return unusable(policy, Some(file.digest), &distrust);
    }
    if known == Some(file.digest.as_str()) {
        return None;
    }
    let candidate =
        Candidate { name: &policy, bytes: &file.bytes, route: &neutral_route(), settings: &Value::Object(Map::new()) };
    let (description, error) = match engine.load(&candidate) {
        Ok(revision) => (Some(revision.description().clone()), None),
        // It got as far as reading its settings, and nobody has written any for it yet.
        Err(Rejection::Settings(_)) => (None, None),
        Err(rejection) => (None, Some(rejection.to_string())),
    };
    Some(Checked { status: UnusedPolicy { policy, file_digest: Some(file.digest), description, error }, trusted: true })
}

/// No route at all: it has no tiers and no dead-letter topics that a policy could rely on.
fn neutral_route() -> RouteRecord {
    RouteRecord {
        name: String::new(),
        source: String::new(),
        tiers: Vec::new(),
        dead_letters: Vec::new(),
        retry: RetryPolicy::default(),
        max_retry_delay: Duration::ZERO,
        max_body: 0,
    }
}
