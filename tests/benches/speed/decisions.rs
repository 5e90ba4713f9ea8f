//! The time of one verdict, from a clean configured instance each time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::policy::embedded;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use reprieve::policy::route_record::RouteRecord;
use reprieve::timestamp::Timestamp;
use reprieve::topic::Tier;

use crate::table::{Table, median};

const WARM_UP: usize = 2_000;
const DECISIONS: usize = 20_000;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let engine = Engine::new(EngineLimits::default())?;
    for (name, bytes) in [("standard", embedded::STANDARD), ("by-error-kind", embedded::BY_ERROR_KIND)] {
        let begin = Instant::now();
        let revision = Arc::new(load(&engine, name, bytes)?);
        table.row(&format!("load {name} ({} kB)", bytes.len() / 1000), format!("{:.0?}", begin.elapsed()), "-", true);

        let goal = Duration::from_micros(15);
        let one = decide_in_a_loop(&revision);
        table.row(&format!("verdict of {name}, one thread, median"), format!("{one:.1?}"), "<= 15 µs", one <= goal);

        let threads: Vec<_> = (0..2)
            .map(|_| {
                let revision = Arc::clone(&revision);
                std::thread::spawn(move || decide_in_a_loop(&revision))
            })
            .collect();
        let mut medians: Vec<Duration> = threads.into_iter().map(|thread| thread.join().expect("it decides")).collect();
        let two = median(&mut medians);
        table.row(&format!("verdict of {name}, two threads, median"), format!("{two:.1?}"), "<= 15 µs", two <= goal);
    }
    Ok(())
}

fn load(engine: &Engine, name: &str, bytes: &[u8]) -> anyhow::Result<Revision> {
    let tier = |name: &str, seconds| Tier { name: name.to_owned(), delay: Duration::from_secs(seconds) };
    let route = RouteRecord {
        name: "orders".to_owned(),
        source: "orders".to_owned(),
        tiers: vec![tier("30s", 30), tier("5m", 300)],
        dead_letters: vec!["default".to_owned(), "invalid".to_owned()],
        retry: reprieve_sdk::RetryPolicy { max_attempts: 5, ..reprieve_sdk::RetryPolicy::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 0,
    };
    Ok(engine.load(&Candidate { name, bytes, route: &route, settings: &serde_json::json!({}) })?)
}

fn decide_in_a_loop(revision: &Revision) -> Duration {
    let failure = failure();
    for _ in 0..WARM_UP {
        revision.decide(&failure).expect("it decides");
    }
    let mut times = Vec::with_capacity(DECISIONS);
    for _ in 0..DECISIONS {
        let begin = Instant::now();
        let verdict = revision.decide(&failure);
        times.push(begin.elapsed());
        std::hint::black_box(verdict.expect("it decides"));
    }
    median(&mut times)
}

fn failure() -> Failure {
    let mut message = Message::new(vec![b'x'; 1024]).with_id("3f1c9f9e-order-4711");
    for n in 0..8 {
        message.headers.push(format!("header-{n}"), format!("a value of ordinary length, {n}"));
    }
    Failure {
        body_size: 1024,
        message: Arc::new(message),
        attempt: 2,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: 1_500,
        expires_in_ms: None,
        error: HandlerError::new("http-503", "the service is unavailable"),
        health: Health::default(),
        now: Timestamp(1_700_000_000_000),
        seed: 42,
        attributes: Vec::new(),
    }
}
