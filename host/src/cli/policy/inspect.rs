//! `reprieve policy inspect`

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::judged::PolicyArgument;
use crate::policy::inspection::Inspection;

/// Show what a policy file holds
#[derive(Debug, Clone, Args)]
pub(super) struct InspectArguments {
    #[command(flatten)]
    policy: PolicyArgument,
}

pub(super) fn inspect(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    let policy = arguments.policy.read()?;
    let inspection = Inspection::of(&policy.bytes).context("the file is not WebAssembly")?;
    println!("{}", serde_json::to_string_pretty(&inspection)?);
    Ok(ExitCode::SUCCESS)
}
