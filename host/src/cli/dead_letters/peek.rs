//! `reprieve dead-letters peek`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::place::PlaceArguments;
use super::view;
use crate::cli::WRONG;
use crate::cli::style::Style;
use crate::dead_letters::peek::{Peek, Seen, peek as look};
use crate::timestamp::Timestamp;

/// Show dead letters and leave them where they are
///
/// Kafka and Narad let them be read. RabbitMQ hands the letters over and takes them back, in their order: afterwards it says of them
/// that they were redelivered, and a quorum queue has counted one hand-back more. A letter that was handed back so often that the queue's
/// limit comes near is put at the end of the queue as a new message instead, and said so; on a quorum queue whose limit is
/// not known, for want of a `management` URL, every letter is.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PeekArguments {
    #[command(flatten)]
    place: PlaceArguments,

    /// The most to show, up to 1000
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    max: u16,

    /// Only those whose error is of this kind, among the first 1000
    #[arg(short = 'k', long, value_name = "KIND")]
    error_kind: Option<String>,

    /// Show all headers and the whole body
    #[arg(long, conflicts_with = "json")]
    full: bool,

    /// One JSON object for each letter, as `reprieve policy run --failure` reads it
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve dead-letters peek                               where the configuration has one dead-letter queue
  reprieve dead-letters peek --route orders --label invalid --max 50
  reprieve dead-letters peek --topic orders.dlq --error-kind http-503 --full
  reprieve dead-letters peek --max 1 --json | reprieve policy run policies/new.wasm --failure -

Exit codes:
  0  shown, or there was nothing to show
  1  the broker cannot be reached, or the queue is missing or cannot be looked at safely
  2  the arguments or the configuration are wrong";

pub(super) fn peek(arguments: &PeekArguments) -> anyhow::Result<ExitCode> {
    let place = match arguments.place.place() {
        Ok(place) => place,
        Err(wrong) => {
            eprintln!("{wrong}");
            return Ok(ExitCode::from(WRONG));
        }
    };
    let wanted = Peek {
        queue: place.queue.clone(),
        prefixes: place.prefixes.clone(),
        error_kind: arguments.error_kind.clone(),
        max: arguments.max.into(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seen = runtime.block_on(async {
        let seen = look(&*place.broker, &wanted).await;
        place.broker.close().await;
        seen
    })?;
    print(arguments, &place.queue, &place.broker_name, &seen)?;
    Ok(ExitCode::SUCCESS)
}

fn print(arguments: &PeekArguments, queue: &str, broker: &str, seen: &Seen) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let unwritten = "cannot write to standard output";
    if arguments.json {
        for letter in &seen.letters {
            let line = serde_json::to_string(&*letter.message)?;
            writeln!(out, "{line}").context(unwritten)?;
        }
    } else {
        let style = Style::for_stdout();
        for (number, letter) in (1..).zip(&seen.letters) {
            let shown = view::letter(number, letter, arguments.full, Timestamp::now(), style);
            writeln!(out, "{shown}").context(unwritten)?;
        }
        writeln!(out, "{}", summary(arguments, queue, broker, seen)).context(unwritten)?;
    }
    match (&seen.limit_unknown, seen.renewed) {
        (_, 0) => {}
        (None, renewed) => eprintln!(
            "note: {renewed} had been handed back often and went to the end of the queue as new messages, so that no limit \
             of the broker throws them away"
        ),
        (Some(why), renewed) => eprintln!(
            "note: {renewed} went to the end of the queue as new messages: how often this queue takes a letter back before \
             the broker throws it away is not known ({why})"
        ),
    }
    Ok(())
}

fn summary(arguments: &PeekArguments, queue: &str, broker: &str, seen: &Seen) -> String {
    let shown = seen.letters.len();
    let place = format!("'{queue}' on broker '{broker}'");
    match (&arguments.error_kind, seen.depth) {
        (_, 0) => format!("{place} is empty"),
        (None, depth) => format!("{shown} of {depth} shown, in {place}"),
        (Some(kind), depth) => {
            let looked_at = seen.looked_at;
            format!("{shown} of kind {kind:?} among the first {looked_at} of {depth}, in {place}")
        }
    }
}
