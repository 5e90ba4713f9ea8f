//! A policy for tests that does what it is told: every kind of fault, and every verdict.
//!
//! What it does in `decide` is the setting `do`; without it, the failure's error kind where that names
//! a behaviour; else `count`. So one configured policy can be driven from fault to fault.

mod behaviour;
mod echo;

use std::time::Duration;

use behaviour::Behaviour;
use reprieve_sdk::{Failure, HeaderNeeds, Needs, Policy, Problem, Route, Verdict, log};
use serde::Deserialize;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// What `decide` does.
    r#do: Option<Behaviour>,
    /// What `configure` does in place of configuring.
    configure: Option<ConfigureBehaviour>,
    /// The delay, wait or cool-down of a verdict that has one.
    millis: Option<u64>,
    /// The label or tier of a verdict that has one.
    name: Option<String>,
    /// How long a text `huge-reason` and `huge-log` make.
    bytes: Option<usize>,
    /// The first so many bytes of each body.
    body: Option<u32>,
    /// The only headers to be given.
    headers: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum ConfigureBehaviour {
    Panic,
    Loop,
    EatMemory,
    Reject,
    Log,
}

struct Misbehaving {
    settings: Settings,
    route: Route,
}

impl Policy for Misbehaving {
    type Settings = Settings;

    fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
        match settings.configure {
            Some(ConfigureBehaviour::Panic) => panic!("told to panic in configure"),
            Some(ConfigureBehaviour::Loop) => behaviour::spin(),
            Some(ConfigureBehaviour::EatMemory) => behaviour::eat_memory(),
            Some(ConfigureBehaviour::Reject) => {
                return Err(vec![
                    Problem::at("/configure", "told to reject this setting"),
                    Problem::new("told to reject the settings as a whole"),
                ]);
            }
            Some(ConfigureBehaviour::Log) => log::info!("configured for {}", route.name),
            None => {}
        }
        Ok(Self { settings, route: route.clone() })
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        let named_by_kind = || serde_json::from_value(failure.error.kind.as_str().into()).ok();
        self.settings.r#do.or_else(named_by_kind).unwrap_or(Behaviour::Count).act(self, failure)
    }

    fn needs(&self) -> Needs {
        let headers = self.settings.headers.clone().map_or(HeaderNeeds::All, HeaderNeeds::Named);
        Needs { body: self.settings.body, headers, ..Needs::default() }
    }

    fn settings_schema() -> Option<&'static str> {
        Some(r#"{"type": "object"}"#)
    }
}

impl Misbehaving {
    fn duration(&self) -> Duration {
        Duration::from_millis(self.settings.millis.unwrap_or(0))
    }

    fn name(&self) -> String {
        self.settings.name.clone().unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        self.settings.bytes.unwrap_or(4 << 20)
    }
}

reprieve_sdk::policy!(Misbehaving);
