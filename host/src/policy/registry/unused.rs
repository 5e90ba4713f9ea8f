//! The files that no route names: checked when there is nothing else to do, so that a mistake shows before a route
//! depends on it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;
use serde_json::{Map, Value};

use super::load::off_path;
use crate::policy::engine::{Candidate, Engine};
use crate::policy::folder;
use crate::policy::rejection::Rejection;
use crate::policy::route_record::RouteRecord;
use crate::policy::status::UnusedPolicy;

#[derive(Debug, Default)]
pub(super) struct Unused {
    checked: BTreeMap<String, UnusedPolicy>,
    to_check: VecDeque<String>,
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
    pub(super) async fn check_one(&mut self, folder: &Path, engine: &Engine) {
        let Some(name) = self.to_check.pop_front() else { return };
        let known = self.checked.get(&name).and_then(|checked| checked.file_digest.clone());
        let (path, engine, policy) = (folder.join(format!("{name}.wasm")), engine.clone(), name.clone());
        let checked = off_path(move || check(policy, &path, known.as_deref(), &engine)).await;
        match checked {
            Ok(Some(checked)) => {
                // What cannot be read has no digest to tell it by, and is looked at in every scan.
                let told = self.checked.get(&name).is_some_and(|before| before.error == checked.error);
                match &checked.error {
                    Some(error) if !told => {
                        tracing::warn!(policy = name, error, "an unused file in the policies folder is no policy");
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
        self.checked.values().cloned().collect()
    }
}

/// `None` where the file is the one whose digest is `known`.
fn check(policy: String, path: &Path, known: Option<&str>, engine: &Engine) -> Option<UnusedPolicy> {
    let file = match folder::read(path, engine.limits().file_size as u64) {
        Ok(file) => file,
        Err(error) => {
            return Some(UnusedPolicy { policy, file_digest: None, description: None, error: Some(error.to_string()) });
        }
    };
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
    Some(UnusedPolicy { policy, file_digest: Some(file.digest), description, error })
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
