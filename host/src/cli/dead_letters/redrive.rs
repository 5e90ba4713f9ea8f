//! `reprieve dead-letters redrive`

mod progress;
mod summary;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use self::progress::Progress;
use self::summary::Summary;
use super::place::{Place, PlaceArguments};
use super::rate::{Rate, parse_rate};
use crate::cli::style::Style;
use crate::cli::{FAILED, WRONG};
use crate::dead_letters::redrive::{Done, Ended, Redrive, redrive as put_back};

/// Letters that were asked for are still in the queue.
const LEFT: u8 = 3;

/// Put dead letters back on the queue that they failed on
///
/// Each message goes back as its sender made it, to be handled as if for the first time: attempts start at zero, what was
/// noted of its failure and its expiry are taken off, and its redrives are raised by one. It leaves the dead-letter queue once the broker
/// has confirmed it on its origin. Letters that are not asked for stay, in their order. Only letters that are there at the
/// start are looked at, so one that fails again meanwhile is not put back twice.
///
/// Ctrl-C finishes the letter under way and hands back the rest. Killed at any point, nothing is lost, and at most one
/// message is in both queues.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RedriveArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// Only those whose error is of this kind
    #[arg(short = 'k', long, value_name = "KIND")]
    error_kind: Option<String>,

    /// The most to put back; without it, all
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,

    /// How fast, such as 50/s, 600/m or 1000/h
    #[arg(long, value_name = "RATE", default_value = "50/s", value_parser = parse_rate)]
    rate: Rate,

    /// Leave letters that were redriven so often already
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    max_redrives: u32,

    /// Put them on this queue instead; also those that no host wrote on, which have no known origin
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,

    /// Say what would be put back, and leave everything where it is
    #[arg(long)]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve dead-letters redrive --dry-run
  reprieve dead-letters redrive --route orders --error-kind http-503 --rate 10/s
  reprieve dead-letters redrive --topic orders.dlq --max 1 --to orders.trial

Exit codes:
  0  all that was asked for is back on its origin
  1  it was interrupted or had to stop; what was not put back is in the dead-letter queue
  2  the arguments or the configuration are wrong
  3  all was looked at, and some letters stay: redriven too often, without a known origin, or refused by the broker";

pub(super) fn redrive(arguments: &RedriveArguments) -> anyhow::Result<ExitCode> {
    let place = match arguments.place.place() {
        Ok(place) => place,
        Err(wrong) => {
            eprintln!("{wrong}");
            return Ok(ExitCode::from(WRONG));
        }
    };
    let wanted = Redrive {
        queue: place.queue.clone(),
        prefixes: place.prefixes.clone(),
        error_kind: arguments.error_kind.clone(),
        max: arguments.max,
        interval: arguments.rate.0,
        max_redrives: arguments.max_redrives,
        to: arguments.to.clone(),
        dry_run: arguments.dry_run,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let started = Instant::now();
    let (done, ended) = runtime.block_on(run(&place, &wanted))?;
    let summary = Summary {
        place: &place,
        wanted: &wanted,
        done: &done,
        ended: &ended,
        took: started.elapsed(),
        style: Style::for_stdout(),
    };
    println!("{summary}");
    Ok(match ended {
        Ended::Interrupted | Ended::Full | Ended::Elsewhere | Ended::Stopped(_) => ExitCode::from(FAILED),
        Ended::All | Ended::Max if done.skipped.is_empty() => ExitCode::SUCCESS,
        Ended::All | Ended::Max => ExitCode::from(LEFT),
    })
}

async fn run(place: &Place, wanted: &Redrive) -> anyhow::Result<(Done, Ended)> {
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for signals")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let mut progress = Progress::new();
    let stopped = stop.clone();
    let result = {
        let work = put_back(&*place.broker, wanted, &stop, |done| progress.show(done));
        tokio::pin!(work);
        loop {
            tokio::select! {
                result = &mut work => break result,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if stopped.is_cancelled() {
                anyhow::bail!("stopped at once by a second signal; the letter under way may be in both queues");
            }
            eprintln!("\nstopping: the letter under way is finished, the rest is handed back");
            stopped.cancel();
        }
    };
    progress.end();
    // Behind this, the broker has every acknowledgement.
    place.broker.close().await;
    Ok(result?)
}
