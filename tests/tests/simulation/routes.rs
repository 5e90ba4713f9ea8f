//! Hosts made of the real route driver, on a broker whose every operation waits until the scheduler answers it. Each host has
//! a runtime of its own, on one thread, whose clock stands still: so a run is told by its choices alone, and can be repeated.

mod broker;
mod desk;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use reprieve::observer::Observer;
use reprieve::route::{Route, RouteSpec, RouteWork, Shutdown};
use reprieve::topic::Tier;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::contents::{BEGIN, Contents};
use crate::world::{Answer, Asks, Broken, HOSTS, Hosts, Phase, World};
use broker::{Scripted, ScriptedHandler, ScriptedJudge};
use desk::{Desk, Happened};

/// A handler may take so long.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Longer than anything that a host waits for, and so short that a run is over before a host forgets what it did.
const FOR_EVER: Duration = Duration::from_secs(100);

/// Rounds in which nothing is asked before a host counts as quiet: longer than any chain of tasks that wake each other.
const QUIET_ROUNDS: usize = 4;

/// Faults between the driver and its broker that are planted to see that the simulation finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Planted {
    ConfirmsWithoutAsking,
    TakesARefusalForAConfirm,
    SettlesAnother,
    OverlooksLosses,
    ForgetsRedeliveries,
}

pub(crate) struct Routes {
    pub(crate) contents: Rc<RefCell<Contents>>,
    processes: Vec<Process>,
    next_life: u32,
    planted: Option<Planted>,
    observer: Observer,
}

/// One host's process. With its runtime all its tasks die.
struct Process {
    runtime: Runtime,
    begin: Instant,
    desk: Arc<Desk>,
    shutdown: Shutdown,
}

impl Process {
    fn start(observer: &Observer, planted: Option<Planted>) -> Self {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime without I/O needs nothing");
        let desk = Arc::new(Desk::default());
        let handler = Arc::new(ScriptedHandler(Arc::clone(&desk)));
        let broker = Arc::new(Scripted { desk: Arc::clone(&desk), planted });
        let mut spec = RouteSpec::new("orders", "orders", broker, RouteWork::Handle { handler, timeout: TIMEOUT });
        spec.concurrency = 2;
        spec.tiers = vec![Tier { name: "30s".to_owned(), delay: Duration::from_secs(30) }];
        spec.dead_letters.insert("default".to_owned(), "orders.dlq".into());
        spec.retry.max_attempts = 2;
        spec.publish.tries = 2;
        let shutdown = Shutdown::default();
        let inside = runtime.enter();
        let begin = Instant::now();
        let judge = Arc::new(ScriptedJudge(Arc::clone(&desk)));
        let route = Route::new(spec, judge, observer.clone(), shutdown.clone())
            .with_clock(Arc::new(move || BEGIN.after(begin.elapsed())));
        runtime.spawn(Arc::new(route).run());
        drop(inside);
        Self { runtime, begin, desk, shutdown }
    }

    /// Lets every task run until all wait for an answer or for time to pass.
    fn run(&self) {
        self.runtime.block_on(async {
            let (mut seen, mut still) = (self.desk.count(), 0);
            while still < QUIET_ROUNDS {
                tokio::task::yield_now().await;
                let now = self.desk.count();
                still = if now == seen { still + 1 } else { 0 };
                seen = now;
            }
        });
    }
}

impl Routes {
    pub(crate) fn new(contents: Rc<RefCell<Contents>>, observer: Observer, planted: Option<Planted>) -> Self {
        let processes = (0..HOSTS).map(|_| Process::start(&observer, planted)).collect();
        Self { contents, processes, next_life: 0, planted, observer }
    }

    /// Lets both hosts come to ask for their first messages.
    pub(crate) fn start(&mut self, world: &mut World) -> Result<(), Broken> {
        (0..HOSTS).try_for_each(|host| self.quiet(world, host))
    }

    /// Lets a host run until it waits, and takes down what it asks for.
    fn quiet(&mut self, world: &mut World, host: usize) -> Result<(), Broken> {
        let process = &self.processes[host];
        process.run();
        world.hosts[host].takes = process.desk.wants_a_message();
        for (life, happened) in process.desk.happened() {
            let place = world.hosts[host].deliveries.iter().position(|it| it.life == life);
            match (happened, place) {
                (Happened::Asked(asked), Some(place)) => {
                    let asks = asked.into_asks(&mut self.contents.borrow_mut());
                    world.asked(host, place, asks, &self.contents.borrow())?;
                }
                (Happened::LetGo, Some(place)) => world.let_go(host, place),
                (Happened::Ended, Some(place)) => world.ended(host, place)?,
                (Happened::LetGo | Happened::Ended, None) => {}
                (Happened::Asked(_), None) => {
                    let text = "a host asks for something on a delivery that it was done with".to_owned();
                    return Err(Broken { law: "a settle belongs to its channel (rule 13)", text });
                }
            }
        }
        // Who has an answer and asks for nothing waits for time to pass.
        for place in 0..world.hosts[host].deliveries.len() {
            if world.hosts[host].deliveries[place].asks.is_none() {
                world.asked(host, place, Asks::Time, &self.contents.borrow())?;
            }
        }
        Ok(())
    }
}

impl Hosts for Routes {
    fn begin(&mut self, world: &mut World, host: usize, delivery: usize) -> Result<(), Broken> {
        let it = &mut world.hosts[host].deliveries[delivery];
        it.life = self.next_life;
        self.next_life += 1;
        let (life, content) = (it.life, it.content);
        let redelivered = it.holds.is_some_and(|letter| letter.redelivered);
        let process = &self.processes[host];
        // A tier gives nothing back before it is due; what else is due until then happens on the way.
        let (message, due) = {
            let contents = self.contents.borrow();
            (Arc::clone(contents.message(content)), contents.due(content))
        };
        let until = process.begin + due.since(BEGIN);
        process.runtime.block_on(async { tokio::time::sleep_until(until).await });
        process.desk.hand_over(life, &message, redelivered);
        self.quiet(world, host)
    }

    fn answer(&mut self, world: &mut World, host: usize, delivery: usize, answer: Answer) -> Result<(), Broken> {
        self.processes[host].desk.answer(world.hosts[host].deliveries[delivery].life, answer);
        self.quiet(world, host)
    }

    fn cut(&mut self, world: &mut World, host: usize, _: &[usize]) -> Result<(), Broken> {
        self.processes[host].desk.cut();
        self.quiet(world, host)
    }

    fn replace(&mut self, world: &mut World, host: usize) -> Result<(), Broken> {
        self.processes[host] = Process::start(&self.observer, self.planted);
        self.quiet(world, host)
    }

    fn stop(&mut self, world: &mut World, host: usize, now: bool) -> Result<(), Broken> {
        debug_assert_ne!(world.hosts[host].phase, Phase::Up);
        let shutdown = &self.processes[host].shutdown;
        let token = if now { &shutdown.abort } else { &shutdown.drain };
        token.cancel();
        self.quiet(world, host)
    }

    fn let_time_pass(&mut self, world: &mut World, host: usize) -> Result<(), Broken> {
        let Process { runtime, desk, .. } = &self.processes[host];
        desk.calm();
        // A host that stirs is first: the clock only moves once nothing else can.
        runtime.block_on(async { tokio::time::timeout(FOR_EVER, desk.stirs()).await.unwrap_or(()) });
        self.quiet(world, host)
    }
}
