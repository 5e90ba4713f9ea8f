//! `reprieve run`

mod log;
mod service_manager;
mod signals;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tracing::{info, warn};

use super::ConfigArgument;
use crate::admin::{self, AdminState};
use crate::config::Config;
use crate::host::{Host, HostSpec};
use crate::telemetry::Telemetry;

pub use log::LogFormat;
use service_manager::ServiceManager;
use signals::{Asked, Signals};

/// Take messages and judge failures until told to stop
///
/// Runs every route of the configuration. SIGTERM or Ctrl-C ends it: no new messages are taken, running attempts may
/// end within the shutdown timeout, and the rest goes back to the broker without counting as failed. SIGHUP reads the
/// routes' policies and settings again.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArguments {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgument,

    /// What to log: a level (error, warn, info, debug, trace), or levels by module
    #[arg(long, value_name = "FILTER", default_value = "info", value_parser = log::parse_filter)]
    pub log: String,

    /// How log lines are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  reprieve run                          the file reprieve.toml of this folder
  reprieve run -c /etc/reprieve.toml    another one
  reprieve run --log reprieve=debug     with every success
  reprieve run --log-format json        for a log collector

Exit codes:
  0  stopped as told
  1  something failed while running
  2  the arguments or the configuration are wrong";

/// The last traces may take so long to reach a collector.
const LONGEST_FLUSH: Duration = Duration::from_secs(5);

/// Runs the host until it is told to stop.
///
/// # Errors
/// The configuration is wrong, the admin address is taken, or the engine cannot start. A broker that is down is no error.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    log::start(&arguments.log, arguments.log_format)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that the host runs on")?;
    let result = runtime.block_on(serve(&arguments.config.config));
    // Threads that wait for a file system that hangs are left behind.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result.map(|()| ExitCode::SUCCESS)
}

async fn serve(path: &Path) -> anyhow::Result<()> {
    // First of all, so that a signal during a slow start is not lost.
    let mut signals = Signals::new()?;
    let manager = ServiceManager::from_environment();
    let mut config = Config::load(path)?;
    let spec = HostSpec::from_config(&mut config)?;
    for warning in &config.warnings {
        warn!("{warning}");
    }
    let listener = admin::server::bind(&config.host.admin.to_string()).await?;
    info!(version = env!("CARGO_PKG_VERSION"), config = %path.display(), admin = %listener.local_addr()?, "starting");

    let telemetry = config.telemetry.as_ref().map(|telemetry| Telemetry::start(telemetry.try_into()?, &spec.observer));
    let telemetry = telemetry.transpose()?;
    let host = tokio::select! {
        host = Host::start(spec) => host?,
        () = signals.stop() => {
            info!("stopped before the policies were loaded; no message was taken");
            return Ok(());
        }
    };
    let state = AdminState::new(Arc::new(host.status()), host.observer().clone(), host.memory_brokers().clone())
        .with_token(config.host.admin_token.clone());
    let (stop_admin, admin_stopped) = tokio::sync::oneshot::channel::<()>();
    let admin = tokio::spawn(admin::server::serve(listener, admin::router(state), async {
        // A sender that was dropped means the same: the host has ended.
        let _ = admin_stopped.await;
    }));

    let ready = host.ready();
    tokio::spawn(async move {
        ready.await;
        info!("ready: every route takes messages");
    });
    manager.ready();
    tokio::select! {
        () = until_stopped(&host, path, &config, &mut signals, &manager) => {}
        never = manager.attend(host.status(), host.pulse()) => match never {},
    }
    manager.stopping();
    end(host, telemetry, &mut signals, stop_admin, admin).await
}

/// Reloads as often as it is asked to.
async fn until_stopped(host: &Host, path: &Path, config: &Config, signals: &mut Signals, manager: &ServiceManager) {
    while signals.next().await == Asked::Reload {
        manager.reloading();
        tokio::select! {
            () = reload(host, path, config) => {}
            () = signals.stop() => return,
        }
        manager.ready();
    }
}

/// Stops in order; a second signal stops at once, which leaves unsettled messages to their brokers.
async fn end(
    host: Host,
    telemetry: Option<Telemetry>,
    signals: &mut Signals,
    stop_admin: tokio::sync::oneshot::Sender<()>,
    admin: tokio::task::JoinHandle<std::io::Result<()>>,
) -> anyhow::Result<()> {
    tokio::select! {
        () = host.shutdown() => {}
        () = signals.stop() => anyhow::bail!("stopped at once by a second signal; messages in work go back to their brokers"),
    }
    if let Some(telemetry) = telemetry {
        telemetry.end(LONGEST_FLUSH).await;
    }
    drop(stop_admin);
    admin.await.context("the admin listener ended badly")?.context("the admin listener failed")
}

/// Takes the policies, what is demanded of them, and the settings of the configuration as it is now. What is wrong changes
/// nothing.
async fn reload(host: &Host, path: &Path, running: &Config) {
    info!(config = %path.display(), "reading policies and settings again");
    let read = Config::load(path).map_err(anyhow::Error::from).and_then(|mut config| {
        let spec = HostSpec::from_config(&mut config)?;
        Ok((config, spec))
    });
    match read {
        Ok((config, spec)) => {
            if !config.differs_only_in_policies(running) {
                warn!(
                    "only policies and settings are taken from a running host's configuration; restart it for the rest"
                );
            }
            host.reconfigure(spec.policies.trust, &spec.routes).await;
        }
        Err(error) => warn!("the configuration stays as it was:\n{error:#}"),
    }
}
