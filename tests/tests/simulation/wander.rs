//! Runs that are drawn at random, for more faults than every order of events can be searched for.

use std::fmt;
use std::time::{Duration, Instant};

use crate::world::{Broken, Choice, Hosts, Limits, World};

/// A small generator (xorshift64*): the same seed draws the same runs on every machine.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(bits).expect("31 bits") % bound
    }
}

/// What random runs have seen.
#[derive(Debug)]
pub(crate) struct Wandered {
    pub(crate) runs: usize,
    pub(crate) events: usize,
    /// The most faults that a run met.
    pub(crate) faults: u8,
    pub(crate) took: Duration,
}

impl fmt::Display for Wandered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, events, faults, took } = self;
        write!(f, "{runs} runs of {events} events, up to {faults} faults in one, in {:.1} s", took.as_secs_f64())
    }
}

impl Wandered {
    pub(crate) fn new() -> Self {
        Self { runs: 0, events: 0, faults: 0, took: Duration::ZERO }
    }
}

/// Events of one run: more than any that comes to an end has.
const LONGEST: usize = 600;

/// Plays one run to its end. Every third event or so is a fault, until there have been enough.
pub(crate) fn wander(
    mut world: World,
    hosts: &mut impl Hosts,
    limits: &Limits,
    draw: &mut Draw,
    wandered: &mut Wandered,
) -> Result<(), (Vec<Choice>, Broken)> {
    let begin = Instant::now();
    let mut way = Vec::new();
    while !world.is_quiet() {
        let choices = world.choices(limits);
        let good = choices.iter().filter(|choice| !choice.is_fault(&world)).count();
        if good == 0 || way.len() >= LONGEST {
            let text = "although nothing else goes wrong, not every message comes to its end".to_owned();
            return Err((way, Broken { law: "every failure reaches an end (rule 5)", text }));
        }
        let goes_wrong = choices.len() > good && draw.below(3) == 0;
        let choice =
            if goes_wrong { choices[good + draw.below(choices.len() - good)] } else { choices[draw.below(good)] };
        way.push(choice);
        world.happen(choice, hosts).map_err(|broken| (way.clone(), broken))?;
    }
    wandered.runs += 1;
    wandered.events += way.len();
    wandered.faults = wandered.faults.max(world.faults);
    wandered.took += begin.elapsed();
    Ok(())
}
