//! Would a host load what was built?

use anyhow::bail;
use reprieve_toolchain::Toolchain;

use super::hints;
use super::package::Chosen;
use crate::policy::cases::example_route;
use crate::policy::engine::{Candidate, Engine, EngineLimits, Needs};
use crate::policy::rejection::{Problem, Rejection};

/// What a host finds out when it loads the file.
#[derive(Debug)]
pub(super) enum Loaded {
    /// It took the policy without settings, and this is what the policy needs.
    Ready(Needs),
    /// It is a policy, but one that wants settings, or another route.
    WantsSettings(Vec<Problem>),
}

/// Loads the file as for a route without settings.
///
/// # Errors
/// No host would load it, and what to do about that in the crate.
pub(super) fn load(toolchain: &Toolchain, package: &Chosen, file: &[u8]) -> anyhow::Result<Loaded> {
    let engine = Engine::new(EngineLimits::default())?;
    let settings = serde_json::json!({});
    let candidate = Candidate { name: &package.name, bytes: file, route: &example_route(), settings: &settings };
    let rejection = match engine.load(&candidate) {
        Ok(revision) => return Ok(Loaded::Ready(revision.needs().clone())),
        Err(Rejection::Settings(problems)) => return Ok(Loaded::WantsSettings(problems)),
        Err(rejection) => rejection,
    };
    let cure = match &rejection {
        Rejection::NotAPolicy { .. } => {
            Some("export it with one line in src/lib.rs: reprieve_sdk::policy!(MyPolicy);".to_owned())
        }
        Rejection::Imports { .. } => hints::after_imports(toolchain, package),
        _ => None,
    };
    match cure {
        Some(cure) => bail!("no host would load {}: {}\n\nhint: {cure}", package.name, rejection.what()),
        None => bail!("no host would load {}: {rejection}", package.name),
    }
}
