//! Breadth-first over every order of events, so that the first law that breaks does so in the fewest events.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::{Duration, Instant};

use crate::machines::{Arena, Machines, Tampering};
use crate::sent::Sent;
use crate::story::Story;
use crate::wander::{Draw, Wandered, wander};
use crate::world::{Broken, Choice, Limits, Times, World};

/// What a search has seen.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) transitions: usize,
    /// Events on the longest way to a state.
    pub(crate) depth: usize,
    /// States in which every message is where it ends.
    pub(crate) ends: usize,
    pub(crate) took: Duration,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, transitions, depth, ends, took } = self;
        let seconds = took.as_secs_f64();
        write!(f, "{states} states ({ends} of them ends), {transitions} steps, {depth} rounds, in {seconds:.1} s")
    }
}

/// The way to a law that does not hold.
#[derive(Debug)]
struct Found {
    way: Vec<Choice>,
    broken: Broken,
}

/// How a state was come by, and where it goes when all goes well.
struct Step {
    from: u32,
    choice: Option<Choice>,
    best: u32,
}

const NOWHERE: u32 = u32::MAX;

/// Searches every order of events with so many faults.
pub(crate) fn search(sent: Sent, tampering: Option<Tampering>, limits: &Limits) -> Result<Seen, String> {
    let arena = RefCell::new(Arena::new());
    let start = start(sent, &arena);
    let found = search_from(&start, &arena, tampering, limits);
    found.map_err(|found| tell(start, &arena, tampering, &found.way, &found.broken))
}

/// Draws so many runs at random.
pub(crate) fn search_at_random(sent: Sent, limits: &Limits, runs: u64) -> Result<Wandered, String> {
    let arena = RefCell::new(Arena::new());
    let start = start(sent, &arena);
    let mut wandered = Wandered::new();
    for seed in 0..runs {
        let mut machines = Machines { arena: &arena, tampering: None };
        wander(start.clone(), &mut machines, limits, &mut Draw::new(seed), &mut wandered)
            .map_err(|(way, broken)| tell(start.clone(), &arena, None, &way, &broken))?;
    }
    Ok(wandered)
}

fn start(sent: Sent, arena: &RefCell<Arena>) -> World {
    let mut world = World::new(&sent.originals(&mut arena.borrow_mut().contents));
    world.hosts.iter_mut().for_each(|host| host.takes = true);
    world
}

/// The way once more, in words.
fn tell(
    mut world: World,
    arena: &RefCell<Arena>,
    tampering: Option<Tampering>,
    way: &[Choice],
    broken: &Broken,
) -> String {
    let mut story = Story::default();
    for choice in way {
        story.tell(&world, *choice, &arena.borrow().contents);
        // The last one breaks the law, as it did before.
        let _ = world.happen(*choice, &mut Machines { arena, tampering });
    }
    let contents = &arena.borrow().contents;
    story.end(broken, &world, contents)
}

fn search_from(
    start: &World,
    arena: &RefCell<Arena>,
    tampering: Option<Tampering>,
    limits: &Limits,
) -> Result<Seen, Box<Found>> {
    let begin = Instant::now();
    let mut steps = vec![Step { from: NOWHERE, choice: None, best: NOWHERE }];
    let mut numbers = HashMap::from([(digest(start, arena), 0)]);
    let (mut transitions, mut depth, mut ends) = (0, 0, 0);
    // What is reached by one fault more waits until everything that takes fewer has been seen.
    let mut layers = vec![vec![(0, start.clone())]];
    while let Some(mut frontier) = layers.pop() {
        let mut after_a_fault = Vec::new();
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for (number, world) in frontier.drain(..) {
                ends += usize::from(world.is_quiet());
                for (place, choice) in world.choices(limits).into_iter().enumerate() {
                    transitions += 1;
                    let mut after = world.clone();
                    let happened = after.happen(choice, &mut Machines { arena, tampering });
                    if let Err(broken) = happened {
                        return Err(Box::new(Found { way: way_to(&steps, number, Some(choice)), broken }));
                    }
                    let is_fault = choice.is_fault(&world);
                    let fresh = u32::try_from(steps.len()).expect("fewer states than that fit into memory");
                    let reached = *numbers.entry(digest(&after, arena)).or_insert(fresh);
                    if reached == fresh {
                        steps.push(Step { from: number, choice: Some(choice), best: NOWHERE });
                        let reached = (fresh, after);
                        if is_fault { after_a_fault.push(reached) } else { next.push(reached) }
                    }
                    if place == 0 && !is_fault {
                        steps[number as usize].best = reached;
                    }
                }
                if steps[number as usize].best == NOWHERE && !world.is_quiet() {
                    let text = "nothing can happen any more, and not every message is where it ends".to_owned();
                    let broken = Broken { law: "every failure reaches an end (rule 5)", text };
                    return Err(Box::new(Found { way: way_to(&steps, number, None), broken }));
                }
            }
            frontier = next;
            depth += usize::from(!frontier.is_empty());
        }
        if !after_a_fault.is_empty() {
            layers.push(after_a_fault);
        }
    }
    everything_comes_to_rest(&steps)?;
    Ok(Seen { states: steps.len(), transitions, depth, ends, took: begin.elapsed() })
}

/// Rule 5: from every state, when nothing else goes wrong, all messages come to their ends.
fn everything_comes_to_rest(steps: &[Step]) -> Result<(), Box<Found>> {
    const FRESH: u32 = 0;
    const RESTS: u32 = u32::MAX;
    let mut marks = vec![FRESH; steps.len()];
    for start in 0..steps.len() {
        // A walk leaves its number on the states that it passes: coming across it again is a circle.
        let walk = u32::try_from(start).expect("a state has a number") + 1;
        let (mut at, mut passed) = (start, Vec::new());
        loop {
            match marks[at] {
                FRESH => marks[at] = walk,
                mark if mark == walk => {
                    let text = "although nothing else goes wrong, it goes round in a circle".to_owned();
                    let broken = Broken { law: "every failure reaches an end (rule 5)", text };
                    let start = u32::try_from(start).expect("a state has a number");
                    return Err(Box::new(Found { way: way_to(steps, start, None), broken }));
                }
                _ => break,
            }
            passed.push(at);
            match steps[at].best {
                NOWHERE => break,
                best => at = best as usize,
            }
        }
        for state in passed {
            marks[state] = RESTS;
        }
    }
    Ok(())
}

fn way_to(steps: &[Step], number: u32, last: Option<Choice>) -> Vec<Choice> {
    let mut way: Vec<Choice> = last.into_iter().collect();
    let mut at = number;
    while at != NOWHERE {
        let step = &steps[at as usize];
        way.extend(step.choice);
        at = step.from;
    }
    way.reverse();
    way
}

/// 64 bits stand for a state: among ten million of them, the odds that any two collide are one to a few hundred thousand.
fn digest(world: &World, arena: &RefCell<Arena>) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(world.canonical(&arena.borrow().contents, Times::Alike))
}
