//! `reprieve policy inspect`

mod settings;
mod view;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use super::judged::{Judged, JudgedArguments};
use crate::cli::style::Style;
use crate::config::ConfigError;
use crate::policy::engine::{Description, Engine, INTERFACE_VERSION, Needs};
use crate::policy::inspection::Inspection;
use crate::policy::settings_schema::{self, Setting};
use view::View;

/// Show what a policy is, which settings it takes, and what is in its file
///
/// What it needs of a message it says once it is configured: with the settings that are given, or with none.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InspectArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy inspect standard
  reprieve policy inspect my-policy.wasm --settings settings.toml
  reprieve policy inspect my-policy.wasm --json | jq .settings

Exit codes:
  0  shown, also where a host would not load it
  1  the command failed
  2  the arguments or the configuration are wrong, or the file is not WebAssembly";

/// What a file says of itself.
#[derive(Debug, Serialize)]
struct Inspected {
    policy: String,
    /// The version of the interface that this host takes, where the policy has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Description>,
    /// Why a host would not load it.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// What it wants to see of each message, with these settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<Needs>,
    settings: Vec<Setting>,
    cases: Vec<String>,
    file: Inspection,
}

pub(super) fn inspect(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read()?;
    let engine = Engine::new(judged.limits.clone()).context("cannot start the policy engine")?;
    let inspected = Inspected::new(&judged, &engine)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&inspected).context("cannot write it as JSON")?)?;
    } else {
        let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
        write!(out, "{}", View { inspected: &inspected, width, style: Style::for_stdout() })?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Inspected {
    fn new(judged: &Judged, engine: &Engine) -> Result<Self, ConfigError> {
        let policy = &judged.policy;
        let file = Inspection::of(&policy.bytes).map_err(|error| {
            ConfigError::Unusable(format!(
                "{} is not WebAssembly: {error}\n = help: give the `.wasm` file that the build made",
                policy.name
            ))
        })?;
        let described = engine.describe(&policy.name, &policy.bytes);
        let loaded = described.as_ref().ok().map(|_| judged.load(engine));
        let refused = described.as_ref().err().or_else(|| loaded.as_ref()?.as_ref().err()).map(ToString::to_string);
        let needs = loaded.and_then(|loaded| Some(loaded.ok()?.needs().clone()));
        let description = described.ok();
        let schema = description.as_ref().and_then(|description| description.settings_schema.as_ref());
        // Those that cannot be read are among why it is refused.
        let cases = Inspection::cases(&policy.bytes).unwrap_or_default();
        Ok(Self {
            policy: policy.name.clone(),
            interface: description.as_ref().map(|_| INTERFACE_VERSION),
            refused,
            needs,
            settings: schema.map_or_else(Vec::new, settings_schema::settings),
            cases: cases.into_iter().map(|case| case.name).collect(),
            description,
            file,
        })
    }
}

#[cfg(test)]
mod tests;
