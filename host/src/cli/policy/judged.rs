//! What most commands have in common: a policy file, and the route, settings and limits that it judges with.

use std::io::ErrorKind;
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
    /// It cannot be read.
    pub(super) fn read(&self) -> anyhow::Result<PolicyBytes> {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".wasm").unwrap_or(&name).to_owned();
        let (bytes, path) = match (std::fs::read(&self.file), self.file.to_str()) {
            (Ok(bytes), _) => (bytes, Some(self.file.clone())),
            (Err(_), Some(embedded::STANDARD_NAME)) => (embedded::STANDARD.to_vec(), None),
            (Err(_), Some("by-error-kind")) => (embedded::BY_ERROR_KIND.to_vec(), None),
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
        Ok(PolicyBytes { name, bytes, path })
    }
}

impl JudgedArguments {
    /// Reads the files.
    ///
    /// # Errors
    /// One of them cannot be read or used, or it is not clear which route is meant.
    pub(super) fn read(&self) -> anyhow::Result<Judged> {
        let policy = self.policy.read()?;
        let nothing = Value::Object(Map::new());
        let (route, mut settings, limits, hosted, trust, mut written) = match &self.config {
            None => (example_route(), nothing, EngineLimits::default(), None, Trust::default(), Written::Nowhere),
            Some(path) => {
                let mut config = Config::load(path)?;
                let spec = HostSpec::from_config(&mut config)?;
                let index = choose(&spec.routes, self.route.as_deref(), &policy.name)?;
                let hosted = spec.routes[index].clone();
                let route = hosted.route_policy(&spec.limits);
                let written = Written::Route(Box::new(config), index);
                (route.record, route.settings, spec.limits, Some(hosted), spec.policies.trust, written)
            }
        };
        if let Some(path) = &self.settings {
            let file = SettingsFile::load(path)?;
            settings = file.value().clone();
            written = Written::File(file);
        }
        Ok(Judged { policy, route, settings, limits, hosted, trust, written })
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
