//! `reprieve status`

use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::Args;
use reqwest::Method;
use serde::Deserialize;

use super::running_host::RunningHost;
use super::{ConfigArgument, FAILED};
use crate::config::Config;

/// Say whether the host that runs with a configuration is ready
///
/// Asks the host's admin listener. Prints each route that does not take messages, and why. Serves as the health check
/// of a container that has no other program in it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArguments {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgument,

    /// Only ask whether the host is alive; it may still wait for a broker or a policy
    #[arg(long)]
    pub alive: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve status               with the file reprieve.toml of this folder
  reprieve status --alive       for a health check that restarts the host

Exit codes:
  0  ready: every route takes messages; with --alive: the host answers
  1  not ready, or no host answers
  2  the arguments or the configuration are wrong";

/// What `/readyz` answers.
#[derive(Deserialize)]
struct Readiness {
    ready: bool,
    /// Left out for those whose token the host does not know.
    not_ready: Option<Vec<NotReady>>,
}

#[derive(Deserialize)]
struct NotReady {
    route: String,
    reason: String,
}

/// Asks, prints the answer, and gives the exit code that stands for it.
///
/// # Errors
/// The configuration is wrong, or no host answers at its admin address.
pub fn status(arguments: &StatusArguments) -> anyhow::Result<ExitCode> {
    let config = Config::load(&arguments.config.config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = RunningHost::new(&config.host)?;
        let path = if arguments.alive { "healthz" } else { "readyz" };
        let answer = host.send(host.request(Method::GET, host.url()?.join(path)?)).await?;
        let code = answer.status();
        let body = answer.text().await.context("the host did not finish its answer")?;
        if arguments.alive {
            ensure!(code.is_success(), "the host answered {code}: {}", body.trim());
            println!("alive");
            return Ok(ExitCode::SUCCESS);
        }
        let Ok(Readiness { ready, not_ready }) = serde_json::from_str(&body) else {
            anyhow::bail!("what answers there is no host of Reprieve; it answered {code}")
        };
        if ready {
            println!("ready");
            return Ok(ExitCode::SUCCESS);
        }
        println!("not ready");
        match not_ready {
            Some(routes) => routes.iter().for_each(|NotReady { route, reason }| println!("  {route}: {reason}")),
            None => println!(
                "  it does not say why: the host that runs does not know the `admin_token` of this configuration; it was \
                 started with another one, and reads it at its start only"
            ),
        }
        Ok(ExitCode::from(FAILED))
    })
}
