//! Would a route's policy load? For whoever wants to know before a host runs.

use std::path::Path;

use super::embedded::{self, STANDARD_NAME};
use super::engine::{Candidate, Engine};
use super::folder::{self, ReadError};
use super::registry::RoutePolicy;
use super::rejection::Rejection;

/// Why a route's policy would not load.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no such file.
    Missing,
    /// The file cannot be read, or is no file.
    Unreadable {
        /// Which file, and what is wrong with it.
        what: String,
        /// What to do about it.
        cure: &'static str,
    },
    /// The bytes are no policy, or none for these settings.
    Rejected {
        /// How people call it: its file, or that it is embedded.
        title: String,
        /// What is wrong.
        rejection: Rejection,
    },
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Missing(_) => Self::Missing,
            ReadError::Unusable { what, cure } => Self::Unreadable { what, cure },
        }
    }
}

/// Reads, validates, compiles, configures and tries a route's policy as a host would, and keeps nothing. Blocks for as
/// long as [`Engine::load`] does.
pub(crate) fn try_policy(engine: &Engine, policies: Option<&Path>, route: &RoutePolicy) -> Result<(), Refusal> {
    let (name, title, file) = match (&route.policy, policies) {
        (Some(name), Some(folder)) => {
            let path = folder.join(format!("{name}.wasm"));
            let file = folder::read(&path, engine.limits().file_size as u64)?;
            (name.as_str(), path.display().to_string(), file)
        }
        (Some(_), None) => return Err(Refusal::Missing),
        (None, _) => (STANDARD_NAME, format!("the embedded policy {STANDARD_NAME}"), embedded::standard()),
    };
    let candidate = Candidate { name, bytes: &file.bytes, route: &route.record, settings: &route.settings };
    match engine.load(&candidate) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(Refusal::Rejected { title, rejection }),
    }
}
