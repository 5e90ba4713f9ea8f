//! Would a route's policy load? For whoever wants to know before a host runs.

use std::path::Path;

use bytes::Bytes;

use super::embedded::{self, STANDARD_NAME};
use super::engine::{Candidate, Engine};
use super::folder::{self, ReadError};
use super::registry::{PolicySettings, RoutePolicy};
use super::rejection::Rejection;
use super::trust::{Distrust, FileDigest, Trust};

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
    /// The file is not trusted. Nothing of it was compiled.
    Untrusted {
        /// Which file.
        title: String,
        /// What it lacks.
        distrust: Distrust,
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
pub(crate) fn try_policy(engine: &Engine, policies: &PolicySettings, route: &RoutePolicy) -> Result<(), Refusal> {
    let (name, title, bytes) = match (&route.policy, &policies.folder) {
        (Some(name), Some(folder)) => {
            let path = folder.join(format!("{name}.wasm"));
            let limit = engine.limits().file_size as u64;
            let bytes = read_trusted(&path, limit, &policies.trust, route.policy_digest.as_ref())?;
            (name.as_str(), path.display().to_string(), bytes)
        }
        (Some(_), None) => return Err(Refusal::Missing),
        (None, _) => (STANDARD_NAME, format!("the embedded policy {STANDARD_NAME}"), embedded::standard().bytes),
    };
    let candidate = Candidate { name, bytes: &bytes, route: &route.record, settings: &route.settings };
    match engine.load(&candidate) {
        Ok(_) => Ok(()),
        Err(rejection) => Err(Refusal::Rejected { title, rejection }),
    }
}

/// The bytes of the policy at `path`, of at most `limit` bytes, where a host that demands this would load them on a route
/// that takes any file, or only the one with the digest `pin`.
pub(crate) fn read_trusted(path: &Path, limit: u64, trust: &Trust, pin: Option<&FileDigest>) -> Result<Bytes, Refusal> {
    let file = folder::read_for(trust, path, limit)?;
    match trust.check(&file, pin) {
        Ok(_) => Ok(file.bytes),
        Err(distrust) => Err(Refusal::Untrusted { title: path.display().to_string(), distrust }),
    }
}
