//! The time of one verdict, from a clean configured instance each time, and how many two threads give.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use reprieve::policy::embedded;
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use serde_json::{Value, json};

use crate::fixture;
use crate::table::{Table, median, percentile};

/// Short, so that one and two threads are measured in turn under the same conditions.
const WINDOW: Duration = Duration::from_millis(20);
const ROUNDS: usize = 60;
const WARM_UP: usize = 200;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let engine = Engine::new(EngineLimits::default())?;
    measure_policy(table, &engine, "standard", embedded::STANDARD, &json!({}))?;
    measure_policy(table, &engine, "by-error-kind", embedded::BY_ERROR_KIND, &json!({}))?;
    measure_policy(table, &engine, "rules", &fixture::rules_policy()?, &fixture::twenty_rules())
}

fn measure_policy(
    table: &mut Table,
    engine: &Engine,
    name: &str,
    bytes: &[u8],
    settings: &Value,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    let revision = Arc::new(engine.load(&Candidate { name, bytes, route: &fixture::route(), settings })?);
    table.row(&format!("load {name} ({} kB)", bytes.len() / 1000), format!("{:.0?}", begin.elapsed()), "-", true);

    let (mut one, mut two) = (Vec::new(), Vec::new());
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let alone = decide_on_threads(&revision, 1, &mut one);
        let together = decide_on_threads(&revision, 2, &mut two);
        rates.push(together);
        ratios.push(together / alone);
    }
    // The goals are for a policy with settings and headers; the others have less to do.
    let has_goals = name == "rules";
    let goal = |goal: &'static str| if has_goals { goal } else { "-" };
    let most = Duration::from_micros(10);
    let (alone, together) = (median(&mut one), median(&mut two));
    table.row(
        &format!("verdict of {name}, one thread, median"),
        format!("{alone:.1?}"),
        goal("<= 10 µs"),
        !has_goals || alone <= most,
    );
    table.row(&format!("verdict of {name}, one thread, p99"), format!("{:.1?}", percentile(&mut one, 99)), "-", true);
    table.row(&format!("verdict of {name}, two threads, median"), format!("{together:.1?}"), "-", true);
    table.row(&format!("verdict of {name}, two threads, p99"), format!("{:.1?}", percentile(&mut two, 99)), "-", true);
    let (rate, ratio) = (median(&mut rates), median(&mut ratios));
    table.row(&format!("verdicts of {name} a second, two threads"), format!("{rate:.0}"), "-", true);
    table.row(
        &format!("two threads / one thread, {name}"),
        format!("{ratio:.2}"),
        goal(">= 1.70"),
        !has_goals || ratio >= 1.7,
    );
    Ok(())
}

/// Decisions a second, all threads together.
fn decide_on_threads(revision: &Revision, count: usize, times: &mut Vec<Duration>) -> f64 {
    let start = Barrier::new(count);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(|| decide_for_a_window(revision, &start))).collect();
        let mut rate = 0.0;
        for thread in threads {
            let (own_rate, own_times) = thread.join().expect("it decides");
            rate += own_rate;
            times.extend(own_times);
        }
        rate
    })
}

fn decide_for_a_window(revision: &Revision, start: &Barrier) -> (f64, Vec<Duration>) {
    let failure = fixture::failure();
    for _ in 0..WARM_UP {
        revision.decide(&failure).expect("it decides");
    }
    let mut times = Vec::with_capacity(10_000);
    start.wait();
    let begin = Instant::now();
    while begin.elapsed() < WINDOW {
        let before = Instant::now();
        let verdict = revision.decide(&failure);
        times.push(before.elapsed());
        std::hint::black_box(verdict.expect("it decides"));
    }
    (times.len() as f64 / begin.elapsed().as_secs_f64(), times)
}
