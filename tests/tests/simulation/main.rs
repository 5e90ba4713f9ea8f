//! Every order of events: deliveries, answers, faults, crashes. Two hosts share one source, and the rules of settlement hold in
//! every state that can be reached, or the test prints the shortest way to one where they do not, as a story.
//!
//! * [`world`]: the broker, the books, and the laws; what can happen next.
//! * [`machines`]: hosts made of the pure machine and a model of what its driver remembers; [`search`] goes breadth-first
//!   through all states.
//! * [`routes`]: hosts made of the real route driver, whose every operation waits for the scheduler; [`replay`] plays all runs.
//! * [`wander`]: runs drawn at random, for more faults than can be searched.
//!
//! A handler that fails is a fault, as is everything else that should not happen. How many faults are gone through can be
//! raised: `REPRIEVE_SIMULATION_FAULTS=4 cargo test -p reprieve-tests --test simulation -- --nocapture`. Each more takes
//! some fifteen times as long, and as much more memory.

mod contents;
mod machines;
mod planted;
mod replay;
mod routes;
mod search;
mod sent;
mod story;
mod wander;
mod world;

use sent::{ONE, Sent, TWINS, TWO};
use world::Limits;

/// Faults a run: what is asked for, or what a test affords.
fn faults(usual: u8) -> u8 {
    match std::env::var("REPRIEVE_SIMULATION_FAULTS") {
        Ok(text) => text.parse().expect("REPRIEVE_SIMULATION_FAULTS is a small number"),
        Err(_) => usual,
    }
}

/// Searches the machine's states and demands that there were at least so many.
fn machine(sent: Sent, usual: u8, slots: usize, least: usize) {
    let limits = Limits { faults: faults(usual), slots, time: false };
    let seen = search::search(sent, None, &limits).unwrap_or_else(|story| panic!("{story}"));
    println!("{sent}, {limits}: {seen}");
    assert!(seen.states >= least && seen.ends > 0, "it has not searched what it says: {seen:?}");
}

#[test]
fn one_message_keeps_the_rules_in_every_order_of_events() {
    machine(ONE, 3, 2, 300_000);
}

#[test]
fn one_message_keeps_the_rules_where_a_host_has_one_slot() {
    machine(ONE, 4, 1, 300_000);
}

#[test]
fn two_messages_keep_the_rules_in_every_order_of_events() {
    machine(TWO, 2, 2, 30_000);
}

#[test]
fn a_message_that_was_sent_twice_is_not_lost() {
    machine(TWINS, 2, 1, 5_000);
}

#[test]
fn with_six_faults_a_message_no_run_that_was_drawn_breaks_a_rule() {
    let limits = Limits { faults: faults(12), slots: 2, time: false };
    let wandered = search::search_at_random(TWO, &limits, 100_000).unwrap_or_else(|story| panic!("{story}"));
    println!("{TWO}, {limits}: {wandered}");
    assert!(wandered.runs == 100_000 && wandered.faults == limits.faults, "{wandered:?}");
}

/// Plays the real driver, at most so many runs unless a depth is asked for, and demands that it came through so many states.
fn driver(sent: Sent, usual: u8, most_runs: usize, least: usize) {
    let limits = Limits { faults: faults(usual), slots: 2, time: true };
    let most_runs = if std::env::var_os("REPRIEVE_SIMULATION_FAULTS").is_some() { usize::MAX } else { most_runs };
    let seen = replay::play_all(sent, &limits, None, most_runs).unwrap_or_else(|story| panic!("{story}"));
    println!("{sent}, {limits}: {seen}");
    assert!(seen.states >= least, "it has not played what it says: {seen:?}");
}

#[test]
fn the_route_driver_keeps_the_rules_in_every_order_of_events_with_one_fault() {
    driver(ONE, 1, usize::MAX, 200);
}

#[test]
fn the_route_driver_keeps_the_rules_in_the_first_runs_with_two_faults() {
    driver(ONE, 2, 10_000, 2_000);
}

#[test]
fn the_route_driver_keeps_the_rules_in_the_first_runs_on_two_messages() {
    driver(TWO, 1, 10_000, 2_000);
}

#[test]
fn the_route_driver_does_not_lose_a_message_that_was_sent_twice() {
    driver(TWINS, 1, 10_000, 2_000);
}

#[test]
fn the_route_driver_keeps_the_rules_in_every_run_with_six_faults_a_message_that_was_drawn() {
    let limits = Limits { faults: faults(12), slots: 2, time: true };
    let wandered = replay::play_at_random(TWO, &limits, 20_000).unwrap_or_else(|story| panic!("{story}"));
    println!("{TWO}, {limits}: {wandered}");
    assert!(wandered.runs == 20_000 && wandered.faults == limits.faults, "{wandered:?}");
}
