//! A million recorded failures judged again, from a journal that is made for it: a week of two routes with an outage.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reprieve::delivery::Rules;
use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::journal::backtest::{Against, Content, Judges, Question, Record, Report, backtest, coverage};
use reprieve::journal::{Entry, FILE, Filter, JournalError, Kept, Log, Outcome, OutcomeKind, Reader};
use reprieve::message::Message;
use reprieve::policy::embedded;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use reprieve::policy::route_record::RouteRecord;
use reprieve::timestamp::Timestamp;
use reprieve::topic::Topic;
use reprieve::verdict::{Action, Fault, Verdict};
use serde_json::json;

use crate::fixture;
use crate::table::Table;

const FAILURES: u64 = 1_000_000;
const GOAL: Duration = Duration::from_secs(15);
const WEEK_MS: u64 = 7 * 24 * 60 * 60 * 1000;
const BEGIN: u64 = 1_767_268_800_000;
const AT_ONCE: u64 = 10_000;
const ROUTES: [&str; 2] = ["orders", "mails"];

/// A policy's revisions by route.
type Revisions = BTreeMap<&'static str, Arc<Revision>>;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let engine = Engine::new(EngineLimits::default())?;
    let load = |name: &str, bytes| -> anyhow::Result<Revisions> {
        let on = |route: &'static str| {
            let record = RouteRecord { name: route.to_owned(), ..fixture::route() };
            let candidate = Candidate { name, bytes, route: &record, settings: &json!({}) };
            Ok((route, Arc::new(engine.load(&candidate)?)))
        };
        ROUTES.into_iter().map(on).collect()
    };
    let (standard, other) = (load("standard", embedded::STANDARD)?, load("by-error-kind", embedded::BY_ERROR_KIND)?);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(FILE);
    let begin = Instant::now();
    generate(&file, &standard)?;
    let size = std::fs::metadata(&file)?.len() / 1_000_000;
    let what = format!("journal of {FAILURES} failures, made ({size} MB)");
    table.row(&what, format!("{:.1?}", begin.elapsed()), "-", true);

    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let (_, _, own) = judge(&file, &standard, threads)?;
    anyhow::ensure!(own.judged == FAILURES && own.changed == 0, "a policy changes what it said itself: {own:?}");
    let (looked, judged, report) = judge(&file, &other, threads)?;
    anyhow::ensure!(report.judged == FAILURES && report.changed > 0, "the other policy changes something");
    let took = looked + judged;
    let what = format!("backtest of {FAILURES} failures, {threads} threads ({looked:.1?} of it for what was kept)");
    table.row(&what, format!("{took:.1?}"), "<= 15 s", took <= GOAL);
    Ok(())
}

/// As `reprieve policy backtest` does it: what was kept first.
fn judge(file: &Path, candidate: &Revisions, threads: usize) -> anyhow::Result<(Duration, Duration, Report)> {
    let mut question = Question { routes: BTreeMap::new(), elsewhere: None, allow_gaps: false, follows: true };
    for (route, candidate) in candidate {
        let mut rules = Rules { tiers: fixture::route().tiers, ..Rules::new(route, route) };
        for label in fixture::route().dead_letters {
            let topic = Topic::from(format!("{route}.{label}").as_str());
            rules.dead_letters.insert(label, topic);
        }
        let candidate = Arc::clone(candidate);
        let judges = Judges { candidate, against: Against::Recorded, rules, has_handler: true };
        question.routes.insert((*route).to_owned(), judges);
    }
    let reader = Reader::open(file)?;
    let feed = |each: &mut dyn FnMut(Record) -> bool| -> Result<(), JournalError> {
        reader.raw_entries(&Filter::default(), |raw| each(Record { journal: 0, content: Content::Raw(raw) }))
    };
    let begin = Instant::now();
    let covered = coverage(&question, threads, || true, feed)?;
    anyhow::ensure!((covered.failures, covered.incomplete) == (FAILURES, 0), "what was withheld is not read");
    let looked = begin.elapsed();
    let report = backtest(&question, threads, || true, feed)?;
    Ok((looked, begin.elapsed() - looked, report))
}

/// Messages with one to five failures each, judged by the policy as a host would have recorded it.
fn generate(file: &Path, judges: &Revisions) -> anyhow::Result<()> {
    let mut log = Log::open(file)?;
    log.set_host("bench")?;
    for first in (0..FAILURES).step_by(AT_ONCE as usize) {
        log.write(|batch| {
            for number in first..FAILURES.min(first + AT_ONCE) {
                let route = ROUTES[usize::from((number / 5).is_multiple_of(3))];
                let (failure, judge) = (failure(number), &judges[route]);
                let answer = judge.decide(&failure);
                let outcome = Some(outcome(&failure, &answer));
                let (maker, kept) = (Some(judge.maker().as_ref().clone()), kept(number));
                batch.add(&Entry {
                    id: 0,
                    route: route.to_owned(),
                    failure,
                    kept,
                    maker,
                    answer,
                    outcome,
                    candidate: None,
                })?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn outcome(failure: &Failure, answer: &Result<Verdict, Fault>) -> Outcome {
    let (kind, place, wait) = match answer {
        Ok(Verdict { action: Action::Retry { delay_ms }, .. }) => (OutcomeKind::RetryScheduled, None, Some(*delay_ms)),
        Ok(Verdict { action: Action::Delay { delay_ms }, .. }) => (OutcomeKind::Delayed, Some("30s"), Some(*delay_ms)),
        _ => (OutcomeKind::DeadLettered, Some("orders.dlq"), None),
    };
    let due = wait.map(|wait| failure.now.after(Duration::from_millis(wait)));
    Outcome { at: failure.now, kind, fallback: None, overridden: None, place: place.map(str::to_owned), due }
}

/// As a host keeps it where nobody says otherwise: no header's value, and no body.
fn kept(number: u64) -> Kept {
    let hash = format!("{:032x}", u128::from(number) << 64 | 0x9e37_79b9_7f4a_7c15);
    let names = ["traceparent", "x-tenant", "x-correlation-id"];
    let withheld_headers = names.map(|name| (name.to_owned(), hash.clone())).into();
    Kept { withheld_headers, body_hash: Some(hash), masked: Vec::new() }
}

fn failure(number: u64) -> Failure {
    // A message's failures are near each other. One message in three fails in the two hours of an outage.
    let (order, attempt) = (number / 5, u32::try_from(number % 5).unwrap_or(0) + 1);
    let spread = order.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let is_outage = order.is_multiple_of(3);
    let at = if is_outage { WEEK_MS / 3 + spread % (2 * 60 * 60 * 1000) } else { spread % WEEK_MS };
    let at = Timestamp(BEGIN + at + u64::from(attempt) * 700);
    let (kind, text) = match spread % 5 {
        _ if is_outage => ("http-503", "the warehouse does not answer"),
        0 => ("timeout", "the handler did not answer within 10s; raise its timeout if it needs longer"),
        1 => ("http-503", "the warehouse does not answer"),
        2 => ("validation", "Not an order: it has no item"),
        3 => ("rate-limit", "too many orders"),
        _ => ("http-500", "an internal error"),
    };
    let mut message = Message::new("").with_id(format!("order-{order}"));
    message.properties.content_type = Some("application/json".to_owned());
    message.timestamp = Some(Timestamp(BEGIN));
    Failure {
        message: Arc::new(message),
        body_size: 700,
        attempt,
        interruptions: 0,
        redelivered: false,
        tier: (attempt > 2).then(|| "30s".to_owned()),
        age_ms: at.0 - BEGIN,
        expires_in_ms: None,
        error: HandlerError::from_kind(kind, text),
        health: Health { attempts: 100, failures: 7, retries: 5, failures_of_this_kind: 3, consecutive_failures: 1 },
        now: at,
        seed: number.wrapping_mul(0xd134_2543_de82_ef95),
        attributes: vec![("first-failed-at".to_owned(), at.0.to_string())],
    }
}
