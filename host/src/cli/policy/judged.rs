//! What most commands have in common: a policy file, and the route, settings and limits that it judges with.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use crate::config::{Config, ConfigError, Problem, SettingsFile, Severity};
use crate::delivery::{DEFAULT_LABEL, Rules};
use crate::host::{HostSpec, HostedRoute};
use crate::policy::cases::example_route;
use crate::policy::embedded;
use crate::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use crate::policy::rejection::Rejection;
use crate::policy::route_record::RouteRecord;
use crate::policy::trust::Trust;
use crate::route::RouteWork;
use crate::topic::Topic;

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
    /// Where it was read; `None` for one that is part of this program.
    pub(super) path: Option<PathBuf>,
}

/// All that the engine needs to judge with a policy.
pub(super) struct Judged {
    pub(super) policy: PolicyBytes,
    pub(super) route: RouteRecord,
    pub(super) settings: Value,
    pub(super) limits: EngineLimits,
    /// The route of the configuration, where one was given.
    pub(super) hosted: Option<HostedRoute>,
    /// Which files that configuration lets a host load.
    pub(super) trust: Trust,
    written: Written,
}

/// Where the settings are written.
enum Written {
    /// Nowhere: there are none.
    Nowhere,
    File(SettingsFile),
    /// On the route with this index.
    Route(Box<Config>, usize),
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
        let read = File::open(&self.file).and_then(|file| read_file(file, limit));
        let (bytes, path) = match (read, self.file.to_str()) {
            (Ok(Ok(bytes)), _) => (bytes, Some(self.file.clone())),
            (Ok(Err(too_large)), _) => {
                let (file, what, cure) = (self.file.display(), too_large.what(), too_large.cure());
                return Err(ConfigError::Unusable(format!("{file}: {what}\n = help: {cure}")).into());
            }
            (Err(error), Some(embedded::STANDARD_NAME)) if is_missing(&error) => (embedded::STANDARD.to_vec(), None),
            (Err(error), Some("by-error-kind")) if is_missing(&error) => (embedded::BY_ERROR_KIND.to_vec(), None),
            (Err(error), _) => {
                let reason = match error.kind() {
                    ErrorKind::NotFound => "there is no such file".to_owned(),
                    ErrorKind::IsADirectory => "it is a folder".to_owned(),
                    _ => error.to_string(),
                };
                return Err(ConfigError::Unusable(format!(
                    "cannot read the policy {}: {reason}\n = help: name a .wasm file, or `standard` or `by-error-kind`",
                    self.file.display()
                ))
                .into());
            }
        };
        Ok(PolicyBytes { name: self.name(), bytes, path })
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
        let nothing = Value::Object(Map::new());
        let (route, mut settings, limits, hosted, trust, mut written) = match &self.config {
            None => (example_route(), nothing, EngineLimits::default(), None, Trust::default(), Written::Nowhere),
            Some(path) => {
                let mut config = Config::load(path)?;
                let spec = HostSpec::from_config(&mut config)?;
                let index = choose(&spec.routes, self.route.as_deref(), &self.policy.name())?;
                let hosted = spec.routes[index].clone();
                let route = hosted.route_policy(&spec.limits);
                let written = Written::Route(Box::new(config), index);
                (route.record, route.settings, spec.limits, Some(hosted), spec.policies.trust, written)
            }
        };
        let policy = self.policy.read_within(limits.file_size)?;
        if let Some(path) = &self.settings {
            let file = SettingsFile::load(path)?;
            settings = file.value().clone();
            written = Written::File(file);
        }
        Ok(Judged { policy, route, settings, limits, hosted, trust, written })
    }
}

impl JudgedArguments {
    /// The same for every route of the configuration that names this policy, where several do and none is chosen. A
    /// candidate's file, `NAME.next.wasm`, is for the routes of `NAME`.
    ///
    /// # Errors
    /// As for [`JudgedArguments::read`].
    pub(super) fn read_each(&self) -> anyhow::Result<Vec<Judged>> {
        let (Some(path), None) = (&self.config, &self.route) else { return Ok(vec![self.read()?]) };
        let spec = HostSpec::from_config(&mut Config::load(path)?)?;
        let name = self.policy.name();
        let name = name.strip_suffix(".next").unwrap_or(&name);
        let naming = spec.routes.iter().filter(|hosted| hosted.policy.as_deref() == Some(name));
        let on = |hosted: &HostedRoute| Self { route: Some(hosted.route.name.to_string()), ..self.clone() }.read();
        match naming.map(on).collect::<Result<Vec<_>, _>>()? {
            none if none.is_empty() => Ok(vec![self.read()?]),
            some => Ok(some),
        }
    }
}

impl Judged {
    /// On the example route, without settings.
    #[cfg(test)]
    pub(super) fn example(name: &str, bytes: &[u8]) -> Self {
        Self {
            policy: PolicyBytes { name: name.to_owned(), bytes: bytes.to_vec(), path: None },
            route: example_route(),
            settings: Value::Object(Map::new()),
            limits: EngineLimits::default(),
            hosted: None,
            trust: Trust::default(),
            written: Written::Nowhere,
        }
    }

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

    /// Loads the policy as a host would.
    ///
    /// # Errors
    /// Why a host would not, each problem in the settings at its place.
    pub(super) fn load_or_explain(&self, engine: &Engine) -> Result<Revision, ConfigError> {
        self.load(engine).map_err(|rejection| match &rejection {
            Rejection::Settings(refused) => {
                let problems: Option<Vec<_>> = refused
                    .iter()
                    .map(|problem| {
                        let message = format!("{} refuses a setting: {}", self.policy.name, problem.message);
                        self.problem(Severity::Error, &problem.path, &message)
                    })
                    .collect();
                problems.map_or_else(|| self.unusable(&rejection), ConfigError::Invalid)
            }
            _ => self.unusable(&rejection),
        })
    }

    fn unusable(&self, rejection: &Rejection) -> ConfigError {
        let cure = match rejection {
            Rejection::Settings(_) => {
                "give settings with --settings FILE; `reprieve policy inspect` shows which there are"
            }
            _ => rejection.cure(),
        };
        ConfigError::Unusable(format!("{}: {}\n = help: {cure}", self.policy.name, rejection.what()))
    }

    /// Something is wrong with the setting that a JSON pointer leads to; `None` where no settings are written.
    pub(super) fn problem(&self, severity: Severity, pointer: &str, message: &str) -> Option<Problem> {
        match &self.written {
            Written::Nowhere => None,
            Written::File(file) => Some(file.problem(severity, pointer, message, "correct these settings")),
            Written::Route(config, route) => {
                Some(config.problem_of_setting(severity, *route, pointer, message, "correct the route's `settings`"))
            }
        }
    }

    /// What the host goes by on this route. Where no configuration names topics, they are made up from the labels.
    pub(super) fn rules(&self) -> Rules {
        if let Some(hosted) = &self.hosted {
            return hosted.route.rules();
        }
        let route = &self.route;
        let topic = |label: &String| {
            let name = if label == DEFAULT_LABEL { "dlq" } else { label };
            (label.clone(), Topic::Named(format!("{}.{name}", route.source)))
        };
        Rules {
            tiers: route.tiers.clone(),
            dead_letters: route.dead_letters.iter().map(topic).collect(),
            retry: route.retry.clone(),
            max_retry_delay: route.max_retry_delay,
            ..Rules::new(&route.name, &route.source)
        }
    }

    /// Whether the route calls a handler; else its messages failed elsewhere.
    pub(super) fn has_handler(&self) -> bool {
        self.hosted.as_ref().is_none_or(|hosted| matches!(hosted.route.work, RouteWork::Handle { .. }))
    }
}

/// The bytes, or that there are too many, without reading more than it takes to know.
fn read_file(file: File, limit: usize) -> io::Result<Result<Vec<u8>, Rejection>> {
    let told = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() <= limit {
        return Ok(Ok(bytes));
    }
    let size = usize::try_from(told).unwrap_or(usize::MAX).max(bytes.len());
    Ok(Err(Rejection::TooLarge { size, limit }))
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

/// Which route is meant, as an index.
fn choose(routes: &[HostedRoute], wanted: Option<&str>, policy: &str) -> Result<usize, ConfigError> {
    let names = || routes.iter().map(|hosted| &*hosted.route.name).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = wanted {
        let found = routes.iter().position(|hosted| *hosted.route.name == *wanted);
        return found.ok_or_else(|| {
            ConfigError::Unusable(format!("the configuration has no route {wanted:?}\n = help: it has: {}", names()))
        });
    }
    let naming: Vec<_> = (0..routes.len()).filter(|index| routes[*index].policy.as_deref() == Some(policy)).collect();
    match (routes, &naming[..]) {
        ([_], _) => Ok(0),
        (_, [only]) => Ok(*only),
        _ => Err(ConfigError::Unusable(format!(
            "the configuration has several routes\n = help: choose one with --route: {}",
            names()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        assert!(
            missing.contains("cannot read the policy ") && missing.contains("orders.wasm: there is no such file"),
            "{missing}"
        );
        assert!(is_missing(&File::open(folder.path().join("standard")).unwrap_err()));
        assert!(!is_missing(&io::ErrorKind::PermissionDenied.into()));
    }
}
