//! `reprieve policy promote`, `hold`, `resume` and `rollback`: what a person does about a candidate of a running host.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use reqwest::{Method, StatusCode};

use crate::cli::running_host::RunningHost;
use crate::cli::{ConfigArgument, FAILED};
use crate::config::Config;

/// The route whose candidate it is.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SteerArguments {
    /// The route
    #[arg(value_name = "ROUTE")]
    route: String,

    /// Which configuration.
    #[command(flatten)]
    config: ConfigArgument,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy promote orders        the candidate NAME.next.wasm goes live now
  reprieve policy hold orders           it is neither promoted nor rolled back by itself
  reprieve policy resume orders         it is again
  reprieve policy rollback orders       the candidate is taken back; without one, the live policy is, and
                                        the version before it goes live
  curl http://127.0.0.1:7878/status     what is tried on each route, and what has come of it

Exit codes:
  0  done
  1  it cannot be done, or no host answers
  2  the arguments or the configuration are wrong";

/// Asks the host that runs with the configuration, and prints what it says.
///
/// # Errors
/// The configuration is wrong, or no host answers at its admin address.
pub(super) fn steer(arguments: &SteerArguments, action: &str) -> anyhow::Result<ExitCode> {
    let config = Config::load(&arguments.config.config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = RunningHost::new(&config.host)?;
        let mut url = host.url()?;
        let mut path = url.path_segments_mut().ok().context("an admin address has a path")?;
        path.pop_if_empty().extend(["routes", &arguments.route, "candidate", action]);
        drop(path);
        let answer = host.send(host.request(Method::POST, url)).await?;
        let code = answer.status();
        let said = answer.text().await.context("the host did not finish its answer")?;
        match code {
            StatusCode::OK => {
                println!("{}", said.trim_end());
                Ok(ExitCode::SUCCESS)
            }
            StatusCode::CONFLICT => {
                eprintln!("{}", said.trim_end());
                Ok(ExitCode::from(FAILED))
            }
            code => anyhow::bail!("the host answered {code}: {}", said.trim_end()),
        }
    })
}
