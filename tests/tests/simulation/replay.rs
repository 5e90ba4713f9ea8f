//! Runs of the real driver, which cannot be copied half-way: each is played from its start by its choices, and goes on as
//! well as it can from where these end. What else could have happened on the way is played later, the fewest faults first.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::rc::Rc;
use std::time::{Duration, Instant};

use reprieve::observer::Observer;

use crate::contents::{ContentId, Contents};
use crate::routes::{Planted, Routes};
use crate::sent::Sent;
use crate::story::Story;
use crate::wander::{Draw, Wandered, wander};
use crate::world::{Broken, Choice, HOSTS, Limits, Remembered, Times, World};

/// What the runs have seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) runs: usize,
    /// Turns that are known and were not taken.
    pub(crate) left: usize,
    pub(crate) states: usize,
    /// Events of the longest run.
    pub(crate) depth: usize,
    pub(crate) took: Duration,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, left, states, depth, took } = self;
        write!(
            f,
            "{runs} runs through {states} states, {left} turns not taken, {depth} events at most, in {:.1} s",
            took.as_secs_f64()
        )
    }
}

/// A run goes on for so many events at most when nothing else goes wrong. What takes longer never ends.
const LONGEST_REST: usize = 150;

/// Plays every run, those with the fewest faults first, up to so many.
pub(crate) fn play_all(
    sent: Sent,
    limits: &Limits,
    planted: Option<Planted>,
    most_runs: usize,
) -> Result<Seen, String> {
    let begin = Instant::now();
    let contents = Rc::new(RefCell::new(Contents::default()));
    let observer = Observer::new();
    let mut known = HashSet::new();
    let (mut runs, mut depth) = (0, 0);
    let mut layer: VecDeque<Vec<Choice>> = VecDeque::from([Vec::new()]);
    for _ in 0..=limits.faults {
        let mut after_a_fault = VecDeque::new();
        while let Some(way) = layer.pop_front() {
            if runs == most_runs {
                let left = 1 + layer.len() + after_a_fault.len();
                return Ok(Seen { runs, left, states: known.len(), depth, took: begin.elapsed() });
            }
            let mut run = Run::new(sent, &contents, &observer, planted);
            runs += 1;
            let outcome = run.play(&way, limits, &mut known, &mut layer, &mut after_a_fault);
            depth = depth.max(run.way.len());
            if let Err(broken) = outcome {
                return Err(tell(sent, &run.way, planted, &broken));
            }
        }
        layer = after_a_fault;
    }
    Ok(Seen { runs, left: 0, states: known.len(), depth, took: begin.elapsed() })
}

/// Plays so many runs with faults drawn at random.
pub(crate) fn play_at_random(sent: Sent, limits: &Limits, runs: u64) -> Result<Wandered, String> {
    let (contents, observer) = (Rc::new(RefCell::new(Contents::default())), Observer::new());
    let mut wandered = Wandered::new();
    for seed in 0..runs {
        let mut run = Run::new(sent, &contents, &observer, None);
        run.routes.start(&mut run.world).map_err(|broken| tell(sent, &[], None, &broken))?;
        wander(run.world, &mut run.routes, limits, &mut Draw::new(seed), &mut wandered)
            .map_err(|(way, broken)| tell(sent, &way, None, &broken))?;
    }
    Ok(wandered)
}

struct Run {
    world: World,
    routes: Routes,
    way: Vec<Choice>,
    past: Past,
}

impl Run {
    fn new(sent: Sent, contents: &Rc<RefCell<Contents>>, observer: &Observer, planted: Option<Planted>) -> Self {
        let world = World::new(&sent.originals(&mut contents.borrow_mut()));
        Self {
            world,
            routes: Routes::new(Rc::clone(contents), observer.clone(), planted),
            way: Vec::new(),
            past: Past::default(),
        }
    }

    fn step(&mut self, choice: Choice) -> Result<(), Broken> {
        self.past.note(&self.world, choice, &self.routes.contents.borrow());
        self.way.push(choice);
        self.world.happen(choice, &mut self.routes)
    }

    /// Plays the way, and then on until all rests or a state is known; the ways that turn off from there are put down.
    fn play(
        &mut self,
        way: &[Choice],
        limits: &Limits,
        known: &mut HashSet<u64>,
        turns: &mut VecDeque<Vec<Choice>>,
        faulty_turns: &mut VecDeque<Vec<Choice>>,
    ) -> Result<(), Broken> {
        self.routes.start(&mut self.world)?;
        for choice in way {
            self.step(*choice)?;
        }
        let mut rest = 0;
        loop {
            let fresh = known.insert(self.past.digest(&self.world, &self.routes.contents.borrow()));
            // From a known state another run has gone on to the end.
            if !fresh || self.world.is_quiet() {
                return Ok(());
            }
            rest += 1;
            let choices = self.world.choices(limits);
            let best = choices.first().copied().filter(|choice| !choice.is_fault(&self.world) && rest < LONGEST_REST);
            let Some(best) = best else {
                let text = "although nothing else goes wrong, not every message comes to its end".to_owned();
                return Err(Broken { law: "every failure reaches an end (rule 5)", text });
            };
            for other in &choices[1..] {
                let mut way = self.way.clone();
                way.push(*other);
                if other.is_fault(&self.world) { faulty_turns.push_back(way) } else { turns.push_back(way) }
            }
            self.step(best)?;
        }
    }
}

/// What the hosts' drivers were told, which decides what they do next, though no one can look into them. How much is left of a
/// wait is not told apart.
#[derive(Default)]
struct Past {
    /// By delivery.
    lives: HashMap<u32, u64>,
    /// By host and content, for what the process may remember of it.
    processes: [HashMap<ContentId, u64>; HOSTS],
}

impl Past {
    fn note(&mut self, world: &World, choice: Choice, contents: &Contents) {
        match choice {
            Choice::Answer { host, delivery, answer } => {
                let it = &world.hosts[host].deliveries[delivery];
                let told = hash((answer, it.asks.map(|asks| asks.shape(contents)), it.lost));
                let life = self.lives.entry(it.life).or_default();
                *life = hash((*life, told));
                self.tell(host, it.content, told);
            }
            Choice::Unread { host, delivery } => {
                let it = &world.hosts[host].deliveries[delivery];
                self.tell(host, it.content, hash((it.asks.map(|asks| asks.shape(contents)), "unread")));
                self.blow(world, host, "cut");
            }
            Choice::Crash { host } | Choice::Start { host } => self.processes[host].clear(),
            Choice::BrokerRestarts => (0..HOSTS).for_each(|host| self.blow(world, host, "cut")),
            Choice::Cut { host } => self.blow(world, host, "cut"),
            Choice::Drain { host } | Choice::Abort { host } => self.blow(world, host, "stop"),
            Choice::TimePasses { .. }
            | Choice::Deliver { .. }
            | Choice::Keep { .. }
            | Choice::Take { .. }
            | Choice::Return { .. } => {}
        }
    }

    fn tell(&mut self, host: usize, content: ContentId, told: u64) {
        let process = self.processes[host].entry(content).or_default();
        *process = hash((*process, told));
    }

    fn blow(&mut self, world: &World, host: usize, blow: &str) {
        for it in &world.hosts[host].deliveries {
            self.processes[host].entry(it.content).or_default();
            let life = self.lives.entry(it.life).or_default();
            *life = hash((*life, blow));
        }
        self.processes[host].values_mut().for_each(|process| *process = hash((*process, blow)));
    }

    fn digest(&self, world: &World, contents: &Contents) -> u64 {
        let mut world = world.clone();
        for (host, process) in world.hosts.iter_mut().zip(&self.processes) {
            for it in &mut host.deliveries {
                let life = self.lives.get(&it.life).copied().unwrap_or_default();
                it.life = u32::try_from(life & 0xffff_ffff).expect("32 bits");
            }
            host.memory = process.iter().map(|(content, told)| (*content, Remembered::Told(*told))).collect();
        }
        hash(world.canonical(contents, Times::Apart))
    }
}

fn hash(what: impl std::hash::Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(what)
}

/// The run once more, in words.
fn tell(sent: Sent, way: &[Choice], planted: Option<Planted>, broken: &Broken) -> String {
    let contents = Rc::new(RefCell::new(Contents::default()));
    let mut run = Run::new(sent, &contents, &Observer::new(), planted);
    let mut story = Story::default();
    let mut outcome = run.routes.start(&mut run.world);
    for choice in way {
        if outcome.is_err() {
            break;
        }
        story.tell(&run.world, *choice, &contents.borrow());
        outcome = run.step(*choice);
    }
    let told = story.end(broken, &run.world, &contents.borrow());
    match outcome {
        Err(again) if again != *broken => format!("{told}\nPlayed again, it ends otherwise: {again}\n"),
        _ => told,
    }
}
