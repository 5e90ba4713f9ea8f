//! What most commands have in common: a policy file, and the route, settings and limits that it judges with.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value};

use crate::config::Config;
use crate::host::{HostSpec, HostedRoute};
use crate::policy::cases::example_route;
use crate::policy::embedded;
use crate::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use crate::policy::rejection::Rejection;
use crate::policy::route_record::RouteRecord;
use crate::toml_json;

/// A policy file.
#[derive(Debug, Clone, Args)]
pub(super) struct PolicyArgument {
    /// The policy: a .wasm file, or `standard` or `by-error-kind`, which are part of this program
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
}

/// A policy file, and what it judges with.
#[derive(Debug, Clone, Args)]
pub(super) struct JudgedArguments {
    #[command(flatten)]
    pub(super) policy: PolicyArgument,

    /// The policy's settings, as TOML or JSON; without it those of the route, else none
    #[arg(short, long, value_name = "FILE")]
    pub(super) settings: Option<PathBuf>,

    /// Judge as on a route of this configuration, with its tiers, dead letters, retry settings and limits; without it, a
    /// route with the default dead-letter topic, tiers of 30s, 5m and 30m, and 5 attempts
    #[arg(short, long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    /// Which route; not needed where there is one, or where one alone names this policy
    #[arg(short, long, value_name = "NAME", requires = "config")]
    pub(super) route: Option<String>,
}

/// A policy's bytes and its name.
#[derive(Debug)]
pub(super) struct PolicyBytes {
    /// The file's, without `.wasm`.
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// All that the engine needs to judge with a policy.
pub(super) struct Judged {
    pub(super) policy: PolicyBytes,
    pub(super) route: RouteRecord,
    pub(super) settings: Value,
    pub(super) limits: EngineLimits,
    /// The route of the configuration, where one was given.
    pub(super) hosted: Option<HostedRoute>,
}

impl PolicyArgument {
    /// Reads the file. One of that name wins over an embedded policy.
    ///
    /// # Errors
    /// It cannot be read, or is larger than a host reads where nobody says otherwise.
    pub(super) fn read(&self) -> anyhow::Result<PolicyBytes> {
        self.read_within(EngineLimits::default().file_size)
    }

    /// The same for a file of at most `limit` bytes.
    fn read_within(&self, limit: usize) -> anyhow::Result<PolicyBytes> {
        let cannot = || format!("cannot read the policy {}", self.file.display());
        let bytes = match (File::open(&self.file), self.file.to_str()) {
            (Ok(file), _) => read_file(file, limit).with_context(cannot)?,
            (Err(error), Some(embedded::STANDARD_NAME)) if is_missing(&error) => embedded::STANDARD.to_vec(),
            (Err(error), Some("by-error-kind")) if is_missing(&error) => embedded::BY_ERROR_KIND.to_vec(),
            (Err(error), _) => return Err(error).with_context(cannot),
        };
        Ok(PolicyBytes { name: self.name(), bytes })
    }

    fn name(&self) -> String {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".wasm").unwrap_or(&name).to_owned()
    }
}

impl JudgedArguments {
    /// Reads the files.
    ///
    /// # Errors
    /// One of them cannot be read or used, or it is not clear which route is meant.
    pub(super) fn read(&self) -> anyhow::Result<Judged> {
        let (route, settings, limits, hosted) = match &self.config {
            None => (example_route(), Value::Object(Map::new()), EngineLimits::default(), None),
            Some(path) => {
                let spec = HostSpec::from_config(&mut Config::load(path)?)?;
                let hosted = choose(&spec.routes, self.route.as_deref(), &self.policy.name())?.clone();
                let route = hosted.route_policy(&spec.limits);
                (route.record, route.settings, spec.limits, Some(hosted))
            }
        };
        let policy = self.policy.read_within(limits.file_size)?;
        let settings = self.settings.as_deref().map_or(Ok(settings), read_settings)?;
        Ok(Judged { policy, route, settings, limits, hosted })
    }
}

impl Judged {
    /// Loads the policy as a host would.
    ///
    /// # Errors
    /// Why a host would not.
    pub(super) fn load(&self, engine: &Engine) -> Result<Revision, Rejection> {
        engine.load(&Candidate {
            name: &self.policy.name,
            bytes: &self.policy.bytes,
            route: &self.route,
            settings: &self.settings,
        })
    }
}

/// Reads no more of it than would be too much.
fn read_file(file: File, limit: usize) -> anyhow::Result<Vec<u8>> {
    let told = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() <= limit {
        return Ok(bytes);
    }
    let size = usize::try_from(told).unwrap_or(usize::MAX).max(bytes.len());
    Err(Rejection::TooLarge { size, limit }.into())
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn choose<'r>(routes: &'r [HostedRoute], wanted: Option<&str>, policy: &str) -> anyhow::Result<&'r HostedRoute> {
    let names = || routes.iter().map(|hosted| &*hosted.route.name).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = wanted {
        let found = routes.iter().find(|hosted| *hosted.route.name == *wanted);
        return found.with_context(|| format!("the configuration has no route {wanted:?}; it has: {}", names()));
    }
    let mut naming = routes.iter().filter(|hosted| hosted.policy.as_deref() == Some(policy));
    match (routes, naming.next(), naming.next()) {
        ([only], ..) | (_, Some(only), None) => Ok(only),
        _ => bail!("the configuration has several routes; choose one with --route: {}", names()),
    }
}

/// Settings as TOML, or as JSON where the file's name ends so.
fn read_settings(path: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the settings {}", path.display()))?;
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let read = if is_json {
        serde_json::from_str(&text).map_err(anyhow::Error::from)
    } else {
        toml_json::parse(&text).map_err(anyhow::Error::from)
    };
    read.with_context(|| format!("{} is not {}", path.display(), if is_json { "JSON" } else { "TOML" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &Path, limit: usize) -> Result<Vec<u8>, String> {
        let policy = PolicyArgument { file: file.to_owned() };
        policy.read_within(limit).map(|policy| policy.bytes).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_file_over_the_limit_is_refused_by_its_size_without_being_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.wasm");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let refused = read(&path, 4).unwrap_err();
        assert!(refused.contains("large.wasm: the file has 1099511627776 bytes, more than the 4 "), "{refused}");
    }

    #[test]
    fn an_embedded_policy_stands_in_for_a_file_that_is_missing_and_for_no_other() {
        assert_eq!(read(Path::new(embedded::STANDARD_NAME), usize::MAX).unwrap(), embedded::STANDARD);
        let folder = tempfile::tempdir().unwrap();
        let missing = read(&folder.path().join("orders.wasm"), usize::MAX).unwrap_err();
        assert!(missing.starts_with("cannot read the policy ") && missing.contains("orders.wasm"), "{missing}");
        assert!(is_missing(&File::open(folder.path().join("standard")).unwrap_err()));
        assert!(!is_missing(&io::ErrorKind::PermissionDenied.into()));
    }
}
