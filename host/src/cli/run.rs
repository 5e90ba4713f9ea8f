//! `reprieve run`

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;

use super::ConfigArgument;
use crate::admin::{self, AdminState};
use crate::config::Config;
use crate::host::{Host, HostSpec};
use crate::telemetry::Telemetry;

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
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log: String,

    /// How log lines are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line, for machines
    Json,
}

const EXAMPLES: &str = "\
Examples:
  reprieve run                              the file reprieve.toml of this folder
  reprieve run -c /etc/reprieve.toml        another one
  reprieve run --log reprieve=debug         with every decision
  reprieve run --log-format json            for a log collector

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
    start_log(arguments)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that the host runs on")?;
    let result = runtime.block_on(serve(&arguments.config.config));
    // Threads that wait for a file system that hangs are left behind.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result.map(|()| ExitCode::SUCCESS)
}

fn start_log(arguments: &RunArguments) -> anyhow::Result<()> {
    // The AMQP client logs whole messages, and as errors what the host asks on purpose. Last wins, so it can be asked for.
    let filter = EnvFilter::try_new(format!("lapin=off,{}", arguments.log)).with_context(|| {
        format!("--log {:?} is no filter; write a level such as info, or reprieve=debug", arguments.log)
    })?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match arguments.log_format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

async fn serve(path: &Path) -> anyhow::Result<()> {
    // First of all, so that a signal during a slow start is not lost.
    let mut signals = Signals::new()?;
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
        () = signals.stop() => anyhow::bail!("stopped before the policies were loaded; no message was taken"),
    };
    let state = AdminState::new(Arc::new(host.status()), host.observer().clone(), host.memory_brokers().clone());
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
    while signals.next().await == Asked::Reload {
        tokio::select! {
            () = reload(&host, path, &config) => {}
            () = signals.stop() => break,
        }
    }
    end(host, telemetry, &mut signals, stop_admin, admin).await
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

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// What the next signal asks for.
    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }

    /// Waits until a signal asks to stop.
    async fn stop(&mut self) {
        while self.next().await != Asked::Stop {}
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Stop,
    Reload,
}
