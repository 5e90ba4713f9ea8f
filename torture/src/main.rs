//! Sends messages through hosts and a broker that are killed, cut off and refused, and keeps the books.
//!
//! * `endpoint` (the handler) and the broker's side, `rabbitmq`, `kafka` or `narad`, see the messages from outside; `books` holds what
//!   they saw. `broker` is what all kinds have in common.
//! * `host`, the broker (each a `process`) and `proxy` are what faults are inflicted on, by `rig`.
//! * `report`, `story` and `timeline` are for people.

mod books;
mod broker;
mod clock;
mod endpoint;
mod faults;
mod host;
mod kafka;
mod narad;
mod policies;
mod process;
mod proxy;
mod rabbitmq;
mod random;
mod report;
mod rig;
mod script;
mod signals;
mod stalls;
mod story;
mod timeline;
mod within;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use clap::Parser;

use policies::Folders;
use rabbitmq::Source;
use report::Report;
use rig::{On, Plan, Rig};
use signals::Signals;
use timeline::Timeline;

/// What `cargo xtask torture` runs; its help says more.
#[derive(Parser)]
struct Args {
    /// How long faults go on, at least until each has had its turn
    #[arg(long, value_name = "MINUTES")]
    minutes: f64,

    /// What decides the faults and the handler's answers; by default a number from the clock
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Host processes on the one queue or topic
    #[arg(long, value_name = "NUMBER")]
    hosts: u8,

    /// Which broker to run on
    #[arg(long, value_enum)]
    broker: Kind,

    /// RabbitMQ: the kind of the queue that is consumed
    #[arg(long, value_enum, default_value = "quorum")]
    source: Source,

    /// Messages sent a second
    #[arg(long, value_name = "NUMBER")]
    rate: u32,

    /// The `reprieve` program
    #[arg(long, value_name = "FILE")]
    program: PathBuf,

    /// RabbitMQ: the script that starts and tells the node. Narad: the stand-in
    #[arg(long, value_name = "FILE", required_if_eq_any([("broker", "rabbitmq"), ("broker", "narad")]))]
    node: Option<PathBuf>,

    /// RabbitMQ: where the node answers, on 127.0.0.1
    #[arg(long, value_name = "PORT", required_if_eq("broker", "rabbitmq"))]
    port: Option<u16>,

    /// The policies that the host embeds
    #[arg(long, value_name = "DIR")]
    policies: PathBuf,

    /// The policies that misbehave
    #[arg(long, value_name = "DIR")]
    test_policies: PathBuf,

    /// Where logs, the table and the drawing go
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Rabbitmq,
    Kafka,
    Narad,
}

fn main() -> ExitCode {
    let outcome = tokio::runtime::Runtime::new().context("cannot start threads").and_then(|runtime| {
        let passed = runtime.block_on(run(Args::parse()));
        runtime.shutdown_timeout(Duration::from_secs(1));
        passed
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the run was as it must be.
async fn run(args: Args) -> Result<bool> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let plan = Plan {
        seed: args.seed.unwrap_or(now),
        time: Duration::try_from_secs_f64(args.minutes * 60.0).context("--minutes is no length of time")?,
        hosts: args.hosts.into(),
        on: match args.broker {
            Kind::Rabbitmq => On::Rabbitmq {
                node: args.node.context("RabbitMQ is started by a script: --node")?,
                port: args.port.context("RabbitMQ needs a --port")?,
                source: args.source,
            },
            Kind::Kafka => On::Kafka,
            Kind::Narad => On::Narad { node: args.node.context("Narad is started from a program: --node")? },
        },
        rate: args.rate,
        program: args.program,
        policies: Folders { embedded: args.policies, test: args.test_policies },
        folder: args.folder,
    };
    println!("{}, logs in {}", plan.title(), plan.folder.display());
    let mut signals = Signals::new()?;
    let rig = tokio::select! {
        rig = Rig::start(plan) => rig?,
        () = signals.next() => anyhow::bail!("stopped before anything was sent"),
    };
    let interrupted = tokio::select! {
        outcome = rig.run() => {
            // What it came to until then is worth a table.
            outcome.as_ref().err().into_iter().for_each(|error| rig.complain(format!("{error:#}")));
            outcome.is_err()
        }
        () = signals.stop_twice(&rig) => true,
    };
    let report = Report::of(&rig, interrupted);
    print!("\n{report}");
    let table = rig.plan.folder.join("table.txt");
    std::fs::write(&table, report.to_string()).with_context(|| format!("cannot write {}", table.display()))?;
    let drawing = rig.plan.folder.join("timeline.svg");
    std::fs::write(&drawing, draw(&rig)).with_context(|| format!("cannot write {}", drawing.display()))?;
    println!("table: {}\ntimeline: {}", table.display(), drawing.display());
    if !interrupted {
        story::tell(&rig, &report.judgement.troubles);
    }
    Ok(report.passed())
}

fn draw(rig: &Rig) -> String {
    let faults = rig.faults.all();
    let (title, hosts, repertoire) = (rig.plan.title(), rig.plan.hosts, rig.repertoire());
    let (seconds, closing) = (rig.clock.now(), rig.closing());
    rig.books.read(|messages| Timeline { title, seconds, closing, hosts, messages, faults: &faults, repertoire }.draw())
}
