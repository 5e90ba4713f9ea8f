//! wip
mod contents;
mod machines;
mod replay;
mod routes;
mod search;
mod story;
mod world;

use std::cell::RefCell;
use reprieve::delivery::Rules;
use reprieve::message::Message;
use reprieve::topic::Tier;
use std::time::Duration;

fn rules() -> Rules {
    let mut rules = Rules::new("orders", "orders");
    rules.tiers = vec![Tier { name: "30s".to_owned(), delay: Duration::from_secs(30) }];
    rules.dead_letters.insert("default".to_owned(), "orders.dlq".into());
    rules.retry.max_attempts = 2;
    rules.publish.tries = 2;
    rules.max_interruptions = 2;
    rules
}

#[test]
fn wip() {
    let get = |n: &str, d: u8| std::env::var(n).ok().and_then(|x| x.parse().ok()).unwrap_or(d);
    let limits = world::Limits { faults: get("F", 2), slots: get("S", 2) as usize, time: false };
    let arena = RefCell::new(machines::Arena::new(rules()));
    let originals: Vec<_> = (1..=get("M", 1)).map(|n| arena.borrow_mut().contents.number(&Message::new("body").with_id(format!("m{n}")))).map(|c| (c, get("T", 1))).collect();
    let mut start = world::World::new(&originals);
    for host in &mut start.hosts { host.takes = true; }
    let seen = search::search(&start, &arena, None, &limits);
    println!("{seen:#?} {:?}", arena.borrow().size());
}

#[test]
fn wip2() {
    let get = |n: &str, d: u8| std::env::var(n).ok().and_then(|x| x.parse().ok()).unwrap_or(d);
    let limits = world::Limits { faults: get("F", 1), slots: 2, time: true };
    let sent = replay::Sent { messages: get("M", 1), times: get("T", 1) };
    match replay::play_all(sent, &limits, None, Duration::from_secs(40)) {
        Ok(seen) => println!("{seen:#?}"),
        Err(story) => panic!("{story}"),
    }
}
