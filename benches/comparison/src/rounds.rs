//! The measurement: rounds in which every way has its turn, on one thread or on several at once.

use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::sample::Sample;
use crate::way::{Decider, Way};

const ROUNDS: usize = 25;
/// One way's turn ends with the samples in which it has taken so long or made so many decisions.
const TURN: Duration = Duration::from_millis(40);
const DECISIONS: usize = 20_000;

/// What was measured of one way: the median of the rounds, each.
pub(crate) struct Figures {
    /// The median decision.
    pub(crate) median: Duration,
    /// What 99 of 100 decisions do not exceed.
    pub(crate) p99: Duration,
    /// Decisions a second, of all threads together.
    pub(crate) rate: f64,
}

/// The figures of each way, in their order.
pub(crate) fn measure(ways: &[Box<dyn Way>], samples: &[Sample], threads: usize) -> anyhow::Result<Vec<Figures>> {
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..threads {
            let (orders, received) = channel();
            let (done, turns) = channel();
            let thread = scope.spawn(move || work(ways, samples, &received, &done));
            workers.push((orders, turns, thread));
        }
        let mut rounds: Vec<Vec<Figures>> = ways.iter().map(|_| Vec::new()).collect();
        // The first round warms up, and the loop ends early where a worker has.
        'rounds: for round in 0..=ROUNDS {
            for (way, figures) in rounds.iter_mut().enumerate() {
                let told = workers.iter().all(|(orders, ..)| orders.send(way).is_ok());
                let turns: Option<Vec<Turn>> = workers.iter().map(|(_, turns, _)| turns.recv().ok()).collect();
                match turns {
                    Some(turns) if told && round > 0 => figures.push(of_turns(turns)),
                    Some(_) if told => {}
                    _ => break 'rounds,
                }
            }
        }
        for (orders, _, thread) in workers {
            drop(orders);
            thread.join().expect("a worker returns its errors")?;
        }
        Ok(rounds.into_iter().map(of_rounds).collect())
    })
}

/// One way's turn on one thread.
struct Turn {
    /// In nanoseconds, of each decision.
    times: Vec<u64>,
    /// From the first to the last.
    took: Duration,
}

fn work(
    ways: &[Box<dyn Way>],
    samples: &[Sample],
    orders: &Receiver<usize>,
    done: &Sender<Turn>,
) -> anyhow::Result<()> {
    let mut deciders = ways.iter().map(|way| way.decider()).collect::<anyhow::Result<Vec<_>>>()?;
    while let Ok(way) = orders.recv() {
        // Nobody listens any more where another worker has failed.
        let _ = done.send(turn(&mut *deciders[way], samples)?);
    }
    Ok(())
}

fn turn(decider: &mut dyn Decider, samples: &[Sample]) -> anyhow::Result<Turn> {
    let mut times = Vec::with_capacity(DECISIONS + samples.len());
    let begin = Instant::now();
    let mut last = begin;
    while times.len() < DECISIONS && last - begin < TURN {
        for sample in samples {
            black_box(decider.decide(black_box(sample))?);
            let now = Instant::now();
            times.push(u64::try_from((now - last).as_nanos())?);
            last = now;
        }
    }
    Ok(Turn { times, took: last - begin })
}

/// All threads' turns, as one.
fn of_turns(turns: Vec<Turn>) -> Figures {
    let rate = turns.iter().map(|turn| turn.times.len() as f64 / turn.took.as_secs_f64()).sum();
    let mut times: Vec<u64> = turns.into_iter().flat_map(|turn| turn.times).collect();
    times.sort_unstable();
    let at = |hundredths: usize| Duration::from_nanos(times[(times.len() * hundredths / 100).min(times.len() - 1)]);
    Figures { median: at(50), p99: at(99), rate }
}

fn of_rounds(rounds: Vec<Figures>) -> Figures {
    Figures {
        median: median(rounds.iter().map(|round| round.median)),
        p99: median(rounds.iter().map(|round| round.p99)),
        rate: median(rounds.iter().map(|round| round.rate)),
    }
}

/// The middle one.
pub(crate) fn median<T: Copy + PartialOrd>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).expect("measurements can be compared"));
    values[values.len() / 2]
}

/// What the clock adds to each decision: the median of readings in a row.
pub(crate) fn cost_of_the_clock() -> Duration {
    let readings: Vec<Instant> = (0..10_000).map(|_| Instant::now()).collect();
    median(readings.windows(2).map(|pair| pair[1] - pair[0]))
}
