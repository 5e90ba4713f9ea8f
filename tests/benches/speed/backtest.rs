//! A million recorded failures judged again, from a journal that is made for it: a week with two outages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::journal::backtest::{Against, Question, Record, Report, backtest};
use reprieve::journal::{Entry, FILE, Filter, Kept, Log, Outcome, OutcomeKind, Reader};
use reprieve::message::Message;
use reprieve::policy::embedded;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use reprieve::timestamp::Timestamp;
use serde_json::json;

use crate::fixture;
use crate::table::Table;

const FAILURES: u64 = 1_000_000;
const GOAL: Duration = Duration::from_secs(15);
const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;
const BEGIN: u64 = 1_767_268_800_000;
const AT_ONCE: u64 = 10_000;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let engine = Engine::new(EngineLimits::default())?;
    let load = |name, bytes| -> anyhow::Result<Arc<Revision>> {
        let candidate = Candidate { name, bytes, route: &fixture::route(), settings: &json!({}) };
        Ok(Arc::new(engine.load(&candidate)?))
    };
    let (standard, candidate) =
        (load("standard", embedded::STANDARD)?, load("by-error-kind", embedded::BY_ERROR_KIND)?);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(FILE);
    let begin = Instant::now();
    generate(&file, &standard)?;
    let size = std::fs::metadata(&file)?.len() / 1_000_000;
    table.row(
        &format!("journal of {FAILURES} failures, made ({size} MB)"),
        format!("{:.1?}", begin.elapsed()),
        "-",
        true,
    );

    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let run = |candidate: &Arc<Revision>| -> anyhow::Result<(Duration, Report)> {
        let question = Question { candidate: Arc::clone(candidate), against: Against::Recorded, allow_gaps: false };
        let reader = Reader::open(&file)?;
        let begin = Instant::now();
        let report = backtest(&Arc::new(question), threads, |each| {
            reader.raw_entries(&Filter::default(), |raw| each(Record::Raw(raw)))
        })?;
        Ok((begin.elapsed(), report))
    };
    let (_, own) = run(&standard)?;
    anyhow::ensure!(own.judged == FAILURES && own.changed == 0, "a policy changes what it said itself: {own:?}");
    let (took, report) = run(&candidate)?;
    anyhow::ensure!(report.judged == FAILURES && report.changed > 0, "the other policy changes something");
    let what = format!("backtest of {FAILURES} failures, {threads} threads");
    table.row(&what, format!("{took:.1?}"), "<= 15 s", took <= GOAL);
    Ok(())
}

/// Messages with one to five failures each, judged by the policy as a host would have recorded it.
fn generate(file: &std::path::Path, judge: &Revision) -> anyhow::Result<()> {
    let mut log = Log::open(file)?;
    log.set_host("bench")?;
    let maker = judge.maker().as_ref().clone();
    for first in (0..FAILURES).step_by(AT_ONCE as usize) {
        log.write(|batch| {
            for number in first..FAILURES.min(first + AT_ONCE) {
                let failure = failure(number);
                let answer = judge.decide(&failure);
                let outcome = Outcome {
                    at: failure.now,
                    kind: if failure.attempt < 5 { OutcomeKind::RetryScheduled } else { OutcomeKind::DeadLettered },
                    fallback: None,
                    overridden: None,
                    place: None,
                    due: None,
                };
                let (route, kept) = ("orders".to_owned(), Kept::default());
                let (maker, outcome) = (Some(maker.clone()), Some(outcome));
                batch.add(&Entry { id: 0, route, failure, kept, maker, answer, outcome, candidate: None })?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn failure(number: u64) -> Failure {
    // Two hours of outage a week, in which half of all failures are.
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let at = if number.is_multiple_of(2) { spread % WEEK_MS } else { WEEK_MS / 3 + spread % (2 * 60 * 60 * 1000) };
    let (kind, text) = match spread % 5 {
        0 => ("timeout", "the handler did not answer within 10s; raise its timeout if it needs longer"),
        1 => ("http-503", "the warehouse does not answer"),
        2 => ("validation", "Not an order: it has no item"),
        3 => ("rate-limit", "too many orders"),
        _ => ("http-500", "an internal error"),
    };
    let mut message = Message { body: None, ..Message::default() }.with_id(format!("order-{}", number / 5));
    message.properties.content_type = Some("application/json".to_owned());
    message.timestamp = Some(Timestamp(BEGIN + at));
    Failure {
        message: Arc::new(message),
        body_size: 0,
        attempt: u32::try_from(number % 5).unwrap_or(0) + 1,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: spread % 100_000,
        expires_in_ms: None,
        error: HandlerError::from_kind(kind, text),
        health: Health { attempts: 100, failures: 7, retries: 5, failures_of_this_kind: 3, consecutive_failures: 1 },
        now: Timestamp(BEGIN + at),
        seed: spread,
        attributes: vec![("first-failed-at".to_owned(), (BEGIN + at).to_string())],
    }
}
